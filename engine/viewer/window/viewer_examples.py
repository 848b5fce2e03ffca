"""Examples of ``Viewer``'s methods, which ``help`` shows; they run where there is a display, in the tests of the window."""

import re

ARM = """
>>> import engine
>>> arm = engine.load(engine.example("seven_joint_arm"))
>>> viewer = engine.Viewer(arm, size=(320, 240))
>>> viewer.frame()
"""

#: by method, what it is tried on and the calls
CALLS = {
    "camera": """\
>>> viewer.camera.orbit(0.1, 0.0)  # rad, to the right
""",
    "choose": """\
>>> viewer.choose(viewer.scene.actors[0], 0, "forearm")
>>> viewer.picked[2]
'forearm'
""",
    "click": """\
>>> viewer.click((0, 0), double=False)  # on nothing, in the corner
>>> print(viewer.picked)
None
""",
    "close": """\
>>> viewer.close()
>>> viewer.closed
True
""",
    "drag": """\
>>> viewer.drag((10, 10))  # nothing is held
""",
    "drawing": """\
>>> viewer.drawing().environment
'ground'
""",
    "escape": """\
>>> viewer.escape()  # nothing is picked
>>> viewer.closed
True
""",
    "facts": """\
>>> viewer.facts().title
'seven_joint_arm'
""",
    "fit": """\
>>> viewer.camera.dolly(3.0)
>>> viewer.fit()  # all of it is seen again
""",
    "four_views": """\
>>> viewer.four_views()
>>> len(viewer.cameras)
4
""",
    "frame": """\
>>> viewer.frame()  # one picture; run() draws them until the window is closed
""",
    "fullscreen": """\
>>> viewer.fullscreen()
>>> viewer.fullscreen()  # no more
""",
    "go_along": """\
>>> viewer.choose(viewer.scene.actors[0], 0, "forearm")
>>> viewer.go_along()
>>> viewer.followed
'forearm'
""",
    "help": """\
>>> viewer.help()
>>> viewer.helping
True
""",
    "let_go": """\
>>> viewer.let_go()
>>> print(viewer.grip)
None
""",
    "live": """\
>>> print(viewer.live)  # no simulation runs
None
""",
    "look": """\
>>> viewer.look("front")
>>> viewer.camera.azimuth
0.0
""",
    "measure": """\
>>> viewer.measure()
>>> viewer.toast
'click on two points'
""",
    "open": """\
>>> viewer.open([engine.example("free_flyer")])
>>> viewer.scene.actors[0].name
'free_flyer'
""",
    "pick": """\
>>> print(viewer.pick((0, 0)))  # nothing is in the corner
None
""",
    "picture": """\
>>> viewer.picture().shape
(240, 320, 3)
""",
    "playback": """\
>>> viewer.playback.span  # of a robot at rest
(0.0, 0.0)
""",
    "record": """\
>>> viewer.record()  # until it is called again
>>> viewer.recording.path.name
'seven_joint_arm-000.mp4'
>>> viewer.record()
""",
    "run": """\
>>> viewer.escape()
>>> viewer.run()  # until the window is closed, which it is
""",
    "save": """\
>>> viewer.save().name
'seven_joint_arm-000.png'
""",
    "say": """\
>>> viewer.say("landed")
>>> viewer.toast
'landed'
""",
    "seeing": """\
>>> camera, pixel, size = viewer.seeing((10, 20))
>>> pixel, size  # of one view
((10, 20), (320, 240))
""",
    "shapes": """\
>>> viewer.shapes()
>>> viewer.geometry
'collision'
""",
    "surroundings": """\
>>> viewer.surroundings()
>>> viewer.scene.environment
'space'
""",
    "switch": """\
>>> viewer.switch("joint_axes")
>>> viewer.shown.joint_axes
True
""",
    "switch_display": """\
>>> viewer.switch_display()
>>> viewer.display
False
""",
    "t": """\
>>> viewer.t
0.0
""",
    "take_hold": """\
>>> viewer.take_hold((0, 0), free=True)  # nothing is there
>>> print(viewer.grip)
None
""",
    "trail": """\
>>> viewer.choose(viewer.scene.actors[0], 0, "forearm")
>>> viewer.trail()
>>> viewer.shown.trails
('forearm',)
""",
}

#: none of them runs without a display
EXAMPLES = {name: re.sub(r"(?m)^(>>> .*)$", r"\1  # doctest: +SKIP", ARM + calls) for name, calls in CALLS.items()}
