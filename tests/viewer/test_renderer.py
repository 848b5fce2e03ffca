"""Pictures hold what is there: silhouettes, places, shadows, transparency; drawn off screen."""

from dataclasses import replace

import numpy as np
import pytest
import trimesh

import engine
from engine.viewer.draw.ambient_occlusion import AmbientOcclusion
from engine.viewer.draw.canvas import Canvas
from engine.viewer.draw.context import open_window
from engine.viewer.draw.renderer import Renderer
from engine.viewer.scene import Actor, Scene
from engine.viewer.scene.camera import Camera
from engine.viewer.scene.light import DAY, LIGHTS
from tests.dynamics.support import ROBOTS
from tests.dynamics.support import robot as full

SIZE = (320, 240)
RED, BLUE, WHITE = (0.9, 0.05, 0.05, 1.0), (0.05, 0.1, 0.9, 1.0), (1.0, 1.0, 1.0, 1.0)


@pytest.fixture(scope="module")
def draw():
    """draw(scene, camera, size, samples) -> picture (h, w, 3) as numbers in [0, 1]."""
    window = open_window(visible=False, width=16, height=16)
    renderers = {}

    def drawn(scene, camera, size=SIZE, samples=4, t=0.0, **changes):
        window.switch_to()
        if samples not in renderers:
            renderers[samples] = Renderer(samples)
        drawing = scene.drawing(t)
        for name, value in changes.items():
            setattr(drawing, name, value)
        renderers[samples].draw(drawing, camera, size)
        return renderers[samples].pixels() / 255.0

    drawn.renderers = renderers
    yield drawn
    window.switch_to()
    for renderer in renderers.values():
        renderer.delete()
    window.close()


def robot(*shapes, floating=True):
    """A chain of links 1 m apart along x, each with one shape (kind, size, colour)."""
    builder = engine.Builder("robot")
    for k, (kind, size, color) in enumerate(shapes):
        look = engine.Geometry(kind, size, material=engine.Material(color=color))
        builder.add_link(f"link{k}", inertia=engine.spatial.inertia.sphere(1.0, 0.1), visuals=(look,))
        if k:
            along = engine.spatial.se3.pose(np.eye(3), np.array([1.0, 0, 0]))
            builder.add_joint(f"joint{k}", "revolute", f"link{k - 1}", f"link{k}", axis=(0, 1, 0), placement=along)
    return builder.model(floating_base=floating)


def at(model, x=0.0, y=0.0, z=0.0):
    q = model.neutral()
    q[4:7] = x, y, z
    return q


def camera_for(scene, size=SIZE, **where):
    camera = Camera(**where)
    camera.fit(scene.points, size[0] / size[1])
    return camera


# ---------------------------------------------------------------- what is seen where


def seen_by_rays(scene, camera, size, t=0.0):
    """The silhouette (h, w) by casting a ray through every pixel's middle."""
    drawing = scene.drawing(t)
    meshes = []
    for k, T in zip(drawing.which, drawing.poses, strict=True):
        s = drawing.surfaces[k]
        meshes.append(trimesh.Trimesh(s.positions, s.faces, process=False).apply_transform(T))
    x, y = np.meshgrid(np.arange(size[0]) + 0.5, np.arange(size[1]) + 0.5)
    origin, directions = camera.ray(x.ravel(), y.ravel(), size)
    return trimesh.util.concatenate(meshes).ray.intersects_any(np.tile(origin, (len(directions), 1)), directions).reshape(size[::-1])


@pytest.mark.parametrize("samples", [0, 4])
@pytest.mark.parametrize("name", ["free flyer", "panda"])
def test_silhouette(draw, name, samples):
    """Against rays through every pixel: what both cover is at least 98 % of what either does."""
    rng = np.random.default_rng(3)
    if name == "panda":
        model = engine.load_urdf(ROBOTS / "panda_description/urdf/panda.urdf")
    else:
        model = engine.load_urdf(engine.example("free_flyer"), floating_base=True)
    scene = Scene(Actor(model, q=model.random(rng)[0], color=(0.9, 0.1, 0.1)), environment="plain")
    size = (480, 360) if samples else (960, 720)
    camera = camera_for(scene, size, azimuth=float(rng.uniform(-3, 3)), elevation=0.3)
    picture = draw(scene, camera, size, samples)
    covered = picture[0, 0, 1] - picture[:, :, 1] > 0.35          # more than half of a pixel: the robot's green is dark
    rays = seen_by_rays(scene, camera, size)
    assert rays.mean() > 0.04
    assert (covered & rays).sum() / (covered | rays).sum() >= 0.98


def test_links_are_where_they_should_be(draw):
    """Small balls at the links' origins, in three colours: the middle of each colour is the projection of the link's origin."""
    colors = np.eye(3)
    model = robot(*(("sphere", (0.03,), (*c, 1.0)) for c in colors))
    rng = np.random.default_rng(5)
    for _ in range(3):
        q, _ = model.random(rng)
        q[4:7] = rng.uniform(-1, 1, 3)
        scene = Scene(Actor(model, q=q), environment="plain")
        camera = camera_for(scene, azimuth=float(rng.uniform(-3, 3)), elevation=float(rng.uniform(-1, 1)))
        origins = engine.compile(model).forward_kinematics(q)[:, :3, 3]
        for k, (x, y) in enumerate(camera.project(origins, SIZE)):
            shown = np.ones((3, 4))
            shown[np.arange(3) != k, 3] = 0.0                   # the others could hide it
            picture = draw(scene, camera, colors=shown)
            rows, columns = np.nonzero(picture[:, :, k] - picture.min(axis=2) > 0.25)
            assert abs(columns.mean() + 0.5 - x) < 1.0 and abs(rows.mean() + 0.5 - y) < 1.0


def test_scales_and_mirrors(draw):
    """A cube, a flat box and a long one are one surface in three scales; each is as large as it says, and lit from the same side."""
    for size in ((1.0, 1.0, 1.0), (0.1, 1.0, 1.0), (2.0, 0.2, 0.2)):
        model = robot(("box", size, WHITE))
        scene = Scene(model, environment="plain")
        camera = Camera(azimuth=0.0, elevation=0.0, distance=10.0, radius=1.0)
        covered = np.abs(draw(scene, camera) - draw(scene, camera)[0, 0]).max(axis=2) > 0.02
        front = 10.0 - size[0] / 2
        expected = [size[1], size[2]] / (2 * front * np.tan(camera.fov / 2)) * SIZE[1]
        assert np.ptp(np.nonzero(covered.any(axis=0))[0]) + 1 == pytest.approx(expected[0], abs=1.5)
        assert np.ptp(np.nonzero(covered.any(axis=1))[0]) + 1 == pytest.approx(expected[1], abs=1.5)


def test_the_nearer_hides_the_farther(draw):
    model = robot(("box", (0.3, 0.3, 0.3), RED), ("box", (0.3, 0.3, 0.3), BLUE))
    scene = Scene(model, environment="plain")
    for azimuth, first in ((np.pi, RED), (0.0, BLUE)):
        picture = draw(scene, Camera(target=np.array([0.5, 0, 0]), azimuth=azimuth, elevation=0.0, distance=5.0))
        middle = picture[SIZE[1] // 2, SIZE[0] // 2]
        assert np.argmax(middle) == np.argmax(first[:3])


# ---------------------------------------------------------------- light


def test_a_shadow_lies_where_the_light_is_hidden(draw):
    """The ground without the ball and with it: what becomes darker lies about the point where the key light through the ball meets it."""
    model = robot(("sphere", (0.3,), WHITE))
    z = 1.0
    scene = Scene(Actor(model, q=at(model, z=z)), environment="ground")
    camera = Camera(target=np.zeros(3), azimuth=0.3, elevation=1.2, distance=8.0, radius=1.0)
    empty = scene.drawing(0.0)
    colors = np.array(empty.colors)
    colors[:, 3] = 0.0                                          # seen through, and casting nothing
    dark = draw(scene, camera, colors=colors).mean(axis=2) - draw(scene, camera).mean(axis=2)
    foot = -DAY.key / DAY.key[2] * z + [0, 0, z]
    (x, y), = camera.project(foot, SIZE)
    assert dark[int(y), int(x)] > 0.2
    rows, columns = np.nonzero(dark > 0.2)
    assert abs(columns.mean() - x) < 4 and abs(rows.mean() - y) < 4
    far, = camera.project([0.0, 2.0, 0.0], SIZE)
    assert abs(dark[int(far[1]), int(far[0])]) < 0.01
    below, = camera.project([0.0, 0.0, 0.0], SIZE)
    assert 0.005 < dark[int(below[1]), int(below[0])] < dark[int(y), int(x)]   # less of the sky, under it


def test_a_shadow_stays_while_the_camera_goes_along(draw):
    """Near the ground, which reaches far, a shadow is as dark from everywhere: what has no shadow does not show through it."""
    model, size = robot(("box", (0.4, 0.3, 0.1), WHITE)), (640, 360)
    for k in range(30):
        x = 0.045 * k
        scene = Scene(Actor(model, q=at(model, x=x, z=0.3)), environment="ground")
        camera = Camera(np.array([x, 0.016, 0.145 + 4e-4 * k]), distance=0.96, azimuth=-0.9, elevation=0.2, radius=0.44, floor=0.0)
        picture = draw(scene, camera, size, 0, floor=0.0, extent=(np.array([0.6, 0.011, 0.19]), 1.035)).mean(axis=2)
        (column, row), = camera.project(np.array([x, 0.0, 0.3]) - DAY.key / DAY.key[2] * 0.3, size)
        assert picture[int(row) - 4:int(row) + 5, int(column) - 20:int(column) + 21].max() < 0.6         # 0.75 in the light


def test_what_is_small_among_the_large_casts_its_own_shadow(draw):
    """A ball's stand-in for shadows is as round as the ball: there are no spots of shadow on its bright side."""
    model = robot(("sphere", (0.05,), WHITE), ("box", (0.6, 0.6, 0.02), WHITE))
    scene = Scene(Actor(model, q=at(model, z=0.15)), environment="ground")
    camera = Camera(np.array([0.0, 0.0, 0.15]), azimuth=float(np.arctan2(DAY.key[1], DAY.key[0])), elevation=0.4, distance=0.6, radius=0.1)
    bright = draw(scene, camera, (400, 400), 0, floor=0.0).mean(axis=2)[170:230, 170:230]
    assert np.abs(np.diff(bright, 2, axis=0)).max() < 0.07


def test_light_comes_from_its_side(draw):
    model = robot(("sphere", (0.5,), WHITE))
    scene = Scene(model, environment="plain")
    azimuth = float(np.arctan2(DAY.key[1], DAY.key[0]))
    camera = Camera(azimuth=azimuth + np.pi / 2, elevation=0.0, distance=4.0)
    picture = draw(scene, camera).mean(axis=2)
    (w, h), r = SIZE, 25
    to_the_right = picture[h // 2, w // 2 + r] - picture[h // 2, w // 2 - r]
    assert abs(to_the_right) > 0.1
    assert np.sign(to_the_right) == np.sign(camera.axes[:, 0] @ DAY.key)
    assert picture[h // 2 - r, w // 2] > picture[h // 2 + r, w // 2]


@pytest.mark.parametrize("environment", ["ground", "space"])
@pytest.mark.parametrize("seed", [1, 2])
def test_a_face_in_shade_is_even(draw, environment, seed):
    """What lies above a tilted cube hides the sky from nothing of the cube itself: no face has a lighter frame along its edges."""
    model = robot(("box", (1.0, 1.0, 1.0), WHITE))
    turn = np.random.default_rng(seed).standard_normal(4)
    q = at(model, z=1.0)
    q[:4] = turn / np.linalg.norm(turn)
    scene = Scene(Actor(model, q=q), environment)
    camera = camera_for(scene, (720, 720))
    picture = draw(scene, camera, (720, 720))
    origin, R = q[4:7], engine.compile(model).forward_kinematics(q)[0, :3, :3]
    across = np.array(np.meshgrid(*[np.linspace(-0.46, 0.46, 24)] * 2)).reshape(2, -1)
    shaded = 0
    for axis in range(3):
        for side in (-0.5, 0.5):
            N = np.sign(side) * R[:, axis]
            if N @ (camera.eye - origin - 0.5 * N) < 0.2 or N @ LIGHTS[environment].key > -0.1:
                continue
            points = origin + np.insert(across, axis, side, axis=0).T @ R.T
            x, y = camera.project(points, (720, 720)).astype(int).T
            shaded += 1
            assert np.ptp(picture[y, x].mean(axis=-1)) < 0.05
    assert shaded


@pytest.mark.parametrize("samples", [0, 4])
def test_creases_are_darker_and_nothing_else_is(draw, samples):
    """A ball before a wall on a floor: where these meet it is darker, in the open it is not, nor beside the ball, which is far away."""
    builder = engine.Builder("corner")
    looks = [engine.Geometry(kind, size, engine.spatial.se3.pose(np.eye(3), np.array(place)), material=engine.Material(color=WHITE))
             for kind, size, place in (("box", (2.0, 2.0, 0.1), (0, 0, -0.05)), ("box", (0.1, 2.0, 1.0), (-0.55, 0, 0.5)),
                                       ("sphere", (0.15,), (0.6, 0.0, 0.5)))]  # fmt: skip
    builder.add_link("corner", visuals=looks)
    size, scene = (640, 480), Scene(builder.model(), "plain")
    camera = camera_for(scene, size, azimuth=0.3, elevation=0.35)
    draw(scene, camera, size, samples)
    renderer = draw.renderers[samples]
    kept, pictures = renderer.occlusion, []
    for creases in (None, kept or AmbientOcclusion()):
        renderer.occlusion = creases
        pictures.append(draw(scene, camera, size, samples).mean(axis=-1))
    renderer.occlusion = kept
    left = pictures[1] / pictures[0]

    def seen(*points):
        x, y = camera.project(np.array(points, float), size).astype(int).T
        return left[y, x]

    along = np.linspace(0.1, 0.85, 30)                          # the ball hides what is behind it
    deep = np.concatenate([seen(*((x, y, z) for y in along)) for x, z in ((-0.47, 0.0), (-0.5, 0.03))])
    open_ = [seen(*((x, y, 0.0) for y in along)) for x in (-0.1, 0.2, 0.6)]
    open_ += [seen(*((-0.5, y, z) for y in along)) for z in (0.4, 0.7)]
    assert np.median(deep) < 0.95 and deep.max() < 0.99
    assert np.abs(np.concatenate(open_) - 1.0).max() < 0.01
    around = np.linspace(0.3, np.pi - 0.3, 60)                  # above where wall and floor meet
    beside = np.array([0.6, 0.0, 0.5]) + 0.165 * (np.cos(around)[:, None] * camera.axes[:, 0] + np.sin(around)[:, None] * camera.axes[:, 1])
    assert seen(*beside).min() > 0.99
    assert left.max() < 1.01


@pytest.mark.parametrize("samples", [0, 4])
def test_the_open_ground_has_no_creases(draw, samples):
    """Up to the horizon: a small box on it, seen from low above."""
    scene = box_at(0.0, 0.0, 0.2, environment="ground")
    camera = scene.camera(SIZE, view=(0.7, 0.06))
    draw(scene, camera, samples=samples)
    renderer = draw.renderers[samples]
    kept, pictures = renderer.occlusion, []
    for creases in (None, kept or AmbientOcclusion()):
        renderer.occlusion = creases
        pictures.append(draw(scene, camera, samples=samples))
    renderer.occlusion = kept
    changed = (np.abs(pictures[1] - pictures[0]).max(axis=-1) > 0.02).any(axis=1)
    foot = camera.project([0.0, 0.0, 0.0], SIZE)[0, 1]
    assert changed.any() and not changed[: int(foot) - 45].any()


def test_transparency(draw):
    """Half of blue before red is between them; what is transparent hides nothing, whatever the order of links."""
    through = {}
    for k, shapes in enumerate(((RED, (*BLUE[:3], 0.5)), ((*BLUE[:3], 0.5), RED))):
        model = robot(*(("box", (0.3, 0.3, 0.3), c) for c in shapes))
        scene = Scene(model, environment="plain")
        camera = Camera(target=np.array([0.5, 0, 0]), azimuth=0.0 if k == 0 else np.pi, elevation=0.0, distance=5.0)
        picture = draw(scene, camera)
        through[k] = picture[SIZE[1] // 2, SIZE[0] // 2]
        assert through[k][0] > 0.2 and through[k][2] > 0.2
    np.testing.assert_allclose(through[0], through[1], atol=0.12)


def test_textures_are_the_right_way_up(draw, tmp_path):
    """A square with a picture of four colours, as an OBJ file gives it."""
    from PIL import Image

    image = np.zeros((64, 64, 3), np.uint8)
    image[:32, :32], image[:32, 32:], image[32:, :32], image[32:, 32:] = (255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 0)
    Image.fromarray(image).save(tmp_path / "four.png")
    (tmp_path / "four.mtl").write_text("newmtl four\nmap_Kd four.png\n")
    corners = "v 0 -1 -1\nv 0 1 -1\nv 0 1 1\nv 0 -1 1\nvt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\n"
    (tmp_path / "square.obj").write_text(f"mtllib four.mtl\n{corners}usemtl four\nf 1/1 2/2 3/3\nf 1/1 3/3 4/4\n")
    shape = '<visual><geometry><mesh filename="square.obj"/></geometry></visual>'
    (tmp_path / "robot.urdf").write_text(f'<robot name="r"><link name="l">{shape}</link></robot>')
    scene = Scene(engine.load_urdf(tmp_path / "robot.urdf"), environment="plain")
    picture = draw(scene, Camera(azimuth=0.0, elevation=0.0, distance=5.0))
    h, w = picture.shape[:2]
    for row, column, color in ((-20, -20, (1, 0, 0)), (-20, 20, (0, 1, 0)), (20, -20, (0, 0, 1)), (20, 20, (1, 1, 0))):
        found = picture[h // 2 + row, w // 2 + column]
        assert (found > 0.5 * found.max()).tolist() == np.array(color, bool).tolist()


# ---------------------------------------------------------------- how it is drawn


def test_instances_are_as_robots_one_by_one(draw):
    model = robot(("box", (0.3, 0.2, 0.1), RED), ("sphere", (0.15,), BLUE))
    rng = np.random.default_rng(2)
    qs = np.array([model.random(rng)[0] for _ in range(6)])
    together, apart = Scene(Actor(model, q=qs)), Scene([Actor(model, q=q) for q in qs])
    camera = camera_for(together)
    first = draw(together, camera)
    draw(together, replace(camera, distance=2.0 * camera.distance))            # so that nothing is kept behind
    assert np.array_equal(first, draw(apart, camera))


def test_the_same_picture_twice_and_after_another_size(draw):
    scene = Scene(engine.load_urdf(engine.example("free_flyer"), floating_base=True))
    camera = camera_for(scene)
    first = draw(scene, camera)
    assert draw(scene, camera, (200, 100)).shape == (100, 200, 3)
    assert np.array_equal(draw(scene, camera), first)


def test_smoothing_afterwards_is_near_to_samples(draw):
    """Without samples stairs are left at edges, but the picture is the same elsewhere, and its edges are nearer than unsmoothed ones."""
    model = robot(("box", (0.6, 0.4, 0.5), RED))
    scene = Scene(Actor(model, q=at(model, z=0.5)))
    camera = camera_for(scene, azimuth=0.4)
    fine, smooth = draw(scene, camera, samples=4), draw(scene, camera, samples=0)
    assert np.abs(fine - smooth).mean() < 0.004
    steps = [np.abs(np.diff(p.mean(axis=2), axis=0)).max() for p in (fine, smooth)]
    assert steps[1] < 1.6 * steps[0]


def test_wireframe_lets_the_background_through(draw):
    scene = Scene(robot(("box", (0.5, 0.5, 0.5), RED)), environment="plain")
    camera = camera_for(scene)
    covered = [(np.abs(p - p[0, 0]).max(axis=2) > 0.05).mean() for p in (draw(scene, camera, wireframe=w) for w in (False, True))]
    assert 0 < covered[1] < 0.9 * covered[0]


def test_picking(draw):
    """The link under a pixel, and the point where the line of sight meets it, by a ray through the mesh."""
    model = robot(("box", (0.3, 0.3, 0.3), RED), ("sphere", (0.2,), BLUE))
    scene = Scene([Actor(model, q=[at(model), at(model, y=1.0)]), Actor(model, q=at(model, y=-1.0))])
    camera = camera_for(scene, azimuth=0.9)
    draw(scene, camera)
    renderer, drawing = draw.renderers[4], scene.drawing(0.0)
    meshes = [trimesh.Trimesh(drawing.surfaces[k].positions, drawing.surfaces[k].faces, process=False).apply_transform(T)
              for k, T in zip(drawing.which, drawing.poses, strict=True)]  # fmt: skip
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(40):
        which = int(rng.integers(len(drawing.which)))
        x, y = (int(v) for v in camera.project(drawing.poses[which, :3, 3] + rng.uniform(-0.12, 0.12, 3), SIZE)[0])
        number, point = renderer.pick(drawing, camera, x, y, SIZE)
        o, d = camera.ray(x + 0.5, y + 0.5, SIZE)
        reach = []
        for mesh in meshes:
            where, _, _ = mesh.ray.intersects_location([o], [d])
            reach.append(min((float((p - o) @ d) for p in where), default=np.inf))
        if not np.isfinite(min(reach)):
            continue
        hits += 1
        assert number == 1 + int(np.argmin(reach))
        np.testing.assert_allclose(point, o + min(reach) * d, atol=5e-3)
        actor, instance, part = scene.found(number)
        order = [(0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1), (1, 0, 0), (1, 0, 1)]                   # actor, instance, link
        assert (scene.actors.index(actor), instance, part.link) == order[number - 1]
    assert hits > 25
    assert renderer.pick(drawing, camera, 0, 0, SIZE)[0] == 0


def test_space_and_ground_and_plain(draw):
    scene = Scene(robot(("box", (0.3, 0.3, 0.3), RED)))
    camera = camera_for(scene)
    pictures = {e: draw(scene, camera, environment=e) for e in ("ground", "space", "plain")}
    assert pictures["space"][:40, :40].mean() < 0.15 < 0.6 < pictures["plain"][:40, :40].mean()
    assert np.ptp(pictures["plain"][:, :20]) < 0.01 < np.ptp(pictures["ground"][:, :20])


# ---------------------------------------------------------------- near and far, above and below


def box_at(*place, size=0.4, environment="plain"):
    model = robot(("box", (size, size, size), RED))
    return Scene([Actor(model, q=at(model, *place))], environment)


@pytest.mark.parametrize("place", [(6.778e6, 0.0, 0.0), (1.5e8, -2e8, 3e7), (1.5e11, 0.0, 0.0)], ids=["orbit", "Moon", "Sun"])
def test_far_from_the_origin_a_picture_is_the_same(draw, place):
    """To an ulp of a place: 1e-9 m in orbit, 3e-5 m at an astronomical unit."""
    near, far = box_at(environment="space"), box_at(*place, environment="space")
    pictures = [draw(scene, scene.camera(SIZE)) for scene in (near, far)]
    assert red(pictures[0]).sum() > 3000
    assert np.abs(pictures[0] - pictures[1]).mean() < 2e-3 and (red(pictures[0]) != red(pictures[1])).mean() < 2e-3


def red(picture):
    return (picture[..., 0] > 1.6 * picture[..., 1]) & (picture[..., 0] > 0.15)


@pytest.mark.parametrize("times", [3.0, 30.0, 150.0])
@pytest.mark.parametrize("elevation", [0.05, 0.35, 1.2])
def test_the_ground_is_there_from_far_away(draw, times, elevation):
    """Below the horizon every pixel is ground, or fades into the horizon: none is what is cleared, nor the sky's colour from above."""
    scene = box_at(0.0, 0.0, 0.2, environment="ground")
    camera = scene.camera(SIZE, view=(0.7, elevation))
    camera.distance *= times
    picture = draw(scene, camera, samples=0)
    bottom = picture[-8:].mean(axis=(0, 1))
    close = draw(scene, scene.camera(SIZE, view=(0.7, elevation)), samples=0)[-8:].mean(axis=(0, 1))
    reach = camera.distance * np.sin(elevation) / np.tan(elevation + 0.5 * camera.fov)
    if reach > 0.0:
        assert np.abs(bottom - close).max() < 0.12
    assert np.ptp(picture[SIZE[1] // 2 + 20, :40].mean(axis=-1)) < 0.15


def test_from_below_the_ground_hides_little(draw):
    scene = box_at(0.0, 0.0, 0.2, environment="ground")
    above, below = (red(draw(scene, scene.camera(SIZE, view=(0.7, e)))).sum() for e in (0.4, -0.4))
    assert below > 0.7 * above
    bottom = scene.camera(SIZE, view="bottom")
    assert red(draw(scene, bottom)).sum() > 2000


def test_films_are_as_good_as_stills(draw):
    """Structural similarity (Wang et al. 2004) of a film's picture to that of the full meshes."""
    scene = Scene([Actor(full("panda"))], "ground")
    camera, size = scene.camera((960, 540)), (960, 540)
    quick = draw(scene, camera, size, samples=0)
    renderer = draw.renderers[0]
    kept, renderer.detail = renderer.detail, np.inf
    whole = draw(scene, camera, size, samples=0)
    renderer.detail = kept
    assert similarity(quick, whole) > 0.98


def similarity(a, b):
    from scipy.ndimage import gaussian_filter

    a, b = (gaussian_filter(x.mean(axis=-1), 0.0) for x in (a, b))
    smooth = lambda x: gaussian_filter(x, 1.5)
    p, q = smooth(a), smooth(b)
    var_a, var_b, both = smooth(a * a) - p * p, smooth(b * b) - q * q, smooth(a * b) - p * q
    return float(((2 * p * q + 1e-4) * (2 * both + 9e-4) / ((p * p + q * q + 1e-4) * (var_a + var_b + 9e-4))).mean())


def test_the_second_picture_is_the_first(draw):
    """What is below the floor stays hidden, when the background is kept from the picture before."""
    model = robot(("box", (0.4, 0.4, 2.0), RED))
    scene = Scene([Actor(model, q=at(model, 0.0, 0.0, 0.0))], "ground")
    scene.floor = 0.0
    camera = scene.camera(SIZE)
    camera.floor = 0.0
    pictures = [draw(scene, camera, samples=0) for _ in range(3)]
    np.testing.assert_array_equal(pictures[0], pictures[1])
    np.testing.assert_array_equal(pictures[0], pictures[2])
    assert red(pictures[0]).sum() < 0.8 * red(draw(scene, camera, samples=0, environment="plain")).sum()


@pytest.mark.parametrize("samples", [0, 4])
def test_what_is_kept_behind_is_what_would_be_drawn(samples):
    """A camera's first picture draws all; then what lies behind is kept, with its samples, and depths are those near the robot."""
    window = open_window(visible=False, width=16, height=16)
    scene = Scene(engine.load_urdf(engine.example("seven_joint_arm")), "ground")
    camera, renderer = scene.camera((320, 240)), Renderer(samples, occlusion=True)
    first, *_, last = (renderer.draw(scene.drawing(0.0), camera, (320, 240)) and renderer.pixels().astype(int) for _ in range(4))
    away = np.abs(last - first).max(axis=2)
    assert renderer._behind_key is not None and away.max() < 16 and (away > 0).mean() < 1e-3
    renderer.delete()
    window.close()


def test_nothing_of_what_lay_over_a_picture_stays_in_the_next(draw):
    """A window of software OpenGL whose camera stands still: no samples, no creases, a background that is kept, and panels over it."""
    scene = Scene(engine.load_urdf(engine.example("seven_joint_arm")), environment="ground")
    camera = camera_for(scene)
    first = [draw(scene, camera, samples=0) for _ in range(3)][-1]
    renderer = draw.renderers[0]
    panel = Canvas(1.0)
    panel.rect(0, 0, *SIZE, (0.0, 0.0, 0.0, 0.5))
    renderer.overlay(panel)
    assert renderer.pixels().mean() / 255.0 < 0.7 * first.mean()
    np.testing.assert_array_equal(draw(scene, camera, samples=0), first)
