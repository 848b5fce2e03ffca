"""Examples of the methods of ``Scene`` and ``Camera``, which ``help`` shows."""

BALL = """
>>> import numpy as np
>>> import engine
>>> builder = engine.Builder("ball")  # of 0.5 m, that falls from 3 m
>>> _ = builder.add_link("ball", engine.spatial.inertia.sphere(1.0, 0.5), visuals=[engine.Geometry("sphere", (0.5,))])
>>> fall = engine.Simulator(builder.model(floating_base=True), dt=0.01).run([1, 0, 0, 0, 0, 0, 3.0], np.zeros(6), 0.5)
>>> scene = engine.Scene(fall)
"""

#: of ``Scene``, by method, what it is tried on and the calls
OF_SCENES = {name: BALL + calls for name, calls in {
    "along": """\
>>> points = scene.along("ball", 0.0)
>>> print(points.max(axis=0))  # who goes along with it sees a box of its size, where it is at first
[0.5 0.5 3.5]
""",
    "go_along": """\
>>> camera = scene.camera((640, 360), "front")
>>> scene.go_along(camera, "ball", 0.0)
>>> before = camera.target.copy()
>>> scene.go_along(camera, "ball", 0.1)
>>> print((camera.target - before).round(3))  # − ½ g · (0.1 s)²
[ 0.     0.    -0.049]
""",
    "camera": """\
>>> camera = scene.camera((640, 360), "front")
>>> print(camera.azimuth, camera.elevation)
0.0 0.0
""",
    "carrier": """\
>>> print(scene.carrier("ball").name)
ball
""",
    "drawing": """\
>>> print(scene.drawing(0.0).poses[0, :3, 3])
[0. 0. 3.]
""",
    "extent": """\
>>> middle, radius = scene.extent
>>> print(middle.round(2))  # between 3.5 m, and 0.5 m below where it comes to, 3 m − ½ g t²
[0.   0.   2.39]
""",
    "floor": """\
>>> scene.floor  # of the world, as nothing says another
0.0
""",
    "found": """\
>>> actor, instance, part = scene.found(1)
>>> print(actor.name, instance, part.surface.name)
ball 0 sphere
""",
    "globe": """\
>>> print(scene.globe(0.0))  # nothing orbits here
None
""",
    "grounds": """\
>>> scene.grounds  # no contacts with one
[]
""",
    "place": """\
>>> print(scene.place("ball", 0.1).round(3))  # 3 m − ½ g · (0.1 s)²
[0.    0.    2.951]
""",
    "planet_around": """\
>>> print(scene.planet_around(0.0).shape)  # points of none
(0, 3)
""",
    "points": """\
>>> print(scene.points.max(axis=0))
[0.5 0.5 3.5]
""",
    "reshape": """\
>>> scene.reshape("visual")
>>> print(len(scene.actors[0].parts))
1
""",
    "robots": """\
>>> scene.robots
1
""",
    "span": """\
>>> scene.span
(0.0, 0.5)
""",
    "times": """\
>>> print(scene.times[0], scene.times[-1])
0.0 0.5
""",
    "upright": """\
>>> print(scene.upright(0.0).tolist())  # the world's axes, as there is no planet
[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
""",
}.items()}  # fmt: skip

FRONT = """
>>> import numpy as np
>>> import engine
>>> camera = engine.viewer.Camera(distance=3.0, azimuth=0.0, elevation=0.0, fov=np.pi / 2)  # on the x axis
"""

#: of ``Camera``
OF_CAMERAS = {name: FRONT + calls for name, calls in {
    "along": """\
>>> camera.along(np.zeros(3))  # whom it goes along with
>>> camera.along(np.array([0.0, 0.0, 2.0]))
>>> print(camera.target)
[0. 0. 2.]
""",
    "keep_clear": """\
>>> ball = np.array([[[0.0, y, z] for y in (-0.5, 0.5) for z in (-0.5, 0.5)]])
>>> camera.keep_clear(ball, (640, 360), [(0.0, 0.0, 300.0, 360.0)])  # a panel on the left
>>> print(bool(camera.project(ball[0], (640, 360))[:, 0].min() > 300.0))
True
""",
    "axes": """\
>>> right, up, back = camera.axes.T
>>> print(right + 0.0, back)
[0. 1. 0.] [1. 0. 0.]
""",
    "dolly": """\
>>> camera.dolly(2.0)
>>> camera.distance
6.0
""",
    "eye": """\
>>> print(camera.eye)
[3. 0. 0.]
""",
    "fit": """\
>>> camera.fit([[0.0, -1, 0], [0, 1, 0]], aspect=1.0, margin=1.0)
>>> print(round(camera.distance, 9))  # 2.2 times the radius at least: 1 m would fill the 90°
2.2
""",
    "look": """\
>>> camera.look("left")
>>> print(camera.eye.round(9))
[0. 3. 0.]
""",
    "matrix": """\
>>> x, y, z, w = camera.matrix(1.0) @ [0.0, 3.0, 0.0, 1.0]
>>> print(round(float(x / w), 9))  # 3 m to the right at 3 m is the edge
1.0
""",
    "orbit": """\
>>> camera.orbit(-np.pi / 2, 0.0)
>>> print(camera.eye.round(9))
[0. 3. 0.]
""",
    "pan": """\
>>> camera.pan(0.5, 0.0)  # of the height at the target, 6 m
>>> print(camera.target.round(9))
[0. 3. 0.]
""",
    "planes": """\
>>> camera.planes
(0.02, 63.0)
""",
    "project": """\
>>> print(camera.project([[0.0, 0.0, 0.0], [0.0, 3.0, 0.0]], (200, 100)))  # the middle, and 3 m to the right
[[100.  50.]
 [150.  50.]]
""",
    "projection": """\
>>> print(camera.projection(1.0)[:2, :2].round(9).tolist())  # 1/tan(fov/2)
[[1.0, 0.0], [0.0, 1.0]]
""",
    "ray": """\
>>> origin, direction = camera.ray(100, 50, (200, 100))  # through the middle
>>> print(origin, direction)
[3. 0. 0.] [-1.  0.  0.]
""",
    "rays": """\
>>> print(camera.rays(1.0) @ [1.0, 0.0, 0.0, 1.0])  # through the right edge, at 45°
[-1.  1.  0.  0.]
""",
    "view": """\
>>> print(camera.view() @ [0.0, 0.0, 0.0, 1.0])  # the target is 3 m ahead, along −z
[ 0.  0. -3.  1.]
""",
}.items()}  # fmt: skip
