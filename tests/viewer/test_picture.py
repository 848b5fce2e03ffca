"""Pictures and films from Python: what is written, when, and what is refused before anything is drawn."""

import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import engine
from engine.viewer import Actor, Camera, Scene, Shown
from engine.viewer.draw.panes import Panes
from engine.viewer.files.picture import Told, film_times
from engine.viewer.scene.marks import mark
from tests.viewer.mechanism import mechanism

SMALL = (96, 64)


@pytest.fixture(scope="module")
def model():
    builder = engine.Builder("arm")
    box = engine.Geometry("box", (0.2, 0.2, 0.2), material=engine.Material(color=(0.9, 0.1, 0.1, 1.0)))
    rod = engine.Geometry("box", (1.0, 0.1, 0.1), engine.spatial.se3.pose(np.eye(3), np.array([0.5, 0, 0])))
    builder.add_link("base", visuals=(box,))
    builder.add_link("rod", inertia=engine.spatial.inertia.box(1.0, (1.0, 0.1, 0.1)), visuals=(rod,))
    builder.add_joint("hinge", "revolute", "base", "rod", axis=(0, 1, 0))
    return builder.model()


@pytest.fixture(scope="module")
def swing(model):
    return engine.Simulator(model, dt=0.01).run([0.0], [2.0], 1.0)


def test_without_a_path_the_picture_is_returned(model, swing):
    picture = engine.render(model, size=SMALL)
    assert picture.shape == (64, 96, 3) and picture.dtype == np.uint8
    assert not np.array_equal(engine.render(swing, t=0.0, size=SMALL), engine.render(swing, size=SMALL))


def test_a_film_lasts_as_long_as_the_motion(swing, tmp_path):
    import av

    for speed, count in ((1.0, 11), (2.0, 6), (0.5, 21)):
        path = engine.render(swing, tmp_path / "swing.mp4", size=SMALL, fps=10, speed=speed)
        with av.open(str(path)) as film:
            assert sum(1 for _ in film.decode(video=0)) == count
    np.testing.assert_allclose(film_times((0.0, 1.0), 10), np.arange(11) / 10)
    assert len(film_times((0.0, 0.0), 30)) == 1


def test_pictures_of_a_sequence_move(swing, tmp_path):
    from PIL import Image

    engine.render(swing, tmp_path / "%03d.png", size=SMALL, fps=3)
    files = sorted(tmp_path.glob("*.png"))
    pictures = [np.asarray(Image.open(f)) for f in files]
    assert len(files) == 4 and all(not np.array_equal(a, b) for a, b in pairwise(pictures))


def test_a_camera_that_goes_along_keeps_the_link_where_it_is(tmp_path):
    """A ball that falls: followed it stays in the middle of the picture, otherwise it leaves it."""
    from PIL import Image

    builder = engine.Builder("ball")
    ball = engine.Geometry("sphere", (0.1,), material=engine.Material(color=(1.0, 0.0, 0.0, 1.0)))
    builder.add_link("ball", inertia=engine.spatial.inertia.sphere(1.0, 0.1), visuals=(ball,))
    model = builder.model(floating_base=True)
    q = model.neutral()
    q[6] = 10.0
    fall = engine.Simulator(model, dt=0.01).run(q, np.zeros(6), 1.0)
    middles = {}
    for follow in ("ball", None):
        camera = Camera(np.array([0, 0, 10.0]), 8.0, 0.0, 0.0)
        engine.render(fall, tmp_path / "%d.png", size=SMALL, fps=2, camera=camera, follow=follow, environment="plain")
        pictures = [np.asarray(Image.open(tmp_path / f"{k}.png")).astype(float) for k in range(3)]
        red = [np.nonzero(p[:, :, 0] - p[:, :, 1] > 40)[0] for p in pictures]
        middles[follow] = [rows.mean() if len(rows) else np.inf for rows in red]
    assert np.ptp(middles["ball"]) < 1.0 < np.ptp(np.clip(middles[None], 0, 1e3))


@pytest.mark.parametrize(("arguments", "said"), [
    ({"path": "x.bmp"}, "'x.bmp' ends in '.bmp'; expected .mp4, .gif, .png, .jpg, .jpeg, .webp, or a folder"),
    ({"path": "nowhere/x.png"}, "there is no folder 'nowhere'"),
    ({"path": "x.mp4", "fps": 0}, "fps is 0"),
    ({"path": "x.png", "size": (0, 10)}, "the size is"),
    ({"view": "above"}, "view 'above' is not known; expected one of front, back"),
    ({"environment": "sea"}, "environment 'sea' is not known; expected one of ground, space, plain"),
    ({"geometry": "pretty"}, "geometry 'pretty' is not known; expected 'visual' or 'collision'"),
    ({"geometry": "collision"}, "the links of 'arm' have no collision shapes"),
])  # fmt: skip
def test_what_is_refused(model, arguments, said):
    with pytest.raises(engine.ViewerError) as caught:
        engine.render(model, **arguments)
    assert said in str(caught.value)


def test_motions_that_cannot_be_shown(model, swing):
    bad = swing.q.copy()
    bad[7:] = np.nan
    with pytest.raises(engine.ViewerError, match=r"the trajectory of 'arm' is not finite from t = 0.07 s"):
        engine.render(replace(swing, q=bad))
    with pytest.raises(engine.ViewerError, match="holds no states"):
        engine.render(swing[:0])
    with pytest.raises(engine.ViewerError, match="cannot show a str"):
        engine.render("robot.urdf")
    with pytest.raises(engine.ViewerError, match="there is nothing to show"):
        engine.render([])
    with pytest.raises(ValueError, match=r"no link 'rob' .*did you mean 'rod'"):
        engine.render(swing, follow="rob")


def test_a_scene_stands_on_the_ground_or_above_it(model):
    assert Scene(model).floor < -0.05                           # half of the box is below its origin
    free = engine.Builder("ball")
    free.add_link("ball", inertia=engine.spatial.inertia.sphere(1.0, 0.1), visuals=(engine.Geometry("sphere", (0.1,)),))
    ball = free.model(floating_base=True)
    q = ball.neutral()
    q[6] = 3.0
    assert Scene(Actor(ball, q=q)).floor == 0.0
    weightless = engine.Simulator(ball, gravity=(0, 0, 0)).run(q, np.zeros(6), 0.1)
    assert Scene(weightless).environment == "space" and Scene(ball).environment == "ground"


@pytest.mark.parametrize(("options", "message"), [
    ({"t": "a"}, "t is 'a'; expected a time of the motion, s"), ({"t": np.nan}, "t is nan; expected a time"),
    ({"camera": "front"}, "camera is 'front'; expected a Camera, or view='front' for one of front, back"),
    ({"shown": True}, "shown is True; expected a Shown"), ({"size": 160}, "the size is 160; expected (width, height)"),
    ({"size": (160, 0)}, "the size is (160, 0); expected (width, height)"), ({"view": (np.nan, 0.0)}, "view holds NaN"),
    ({"view": (1.0, 2.0, 3.0)}, "view is (1.0, 2.0, 3.0); expected one of front"),
])  # fmt: skip
def test_what_is_no_picture(options, message):
    builder = engine.Builder("box")
    builder.add_link("box", visuals=[engine.Geometry("box", (1.0, 1.0, 1.0))])
    with pytest.raises(engine.ViewerError, match=re.escape(message)):
        engine.render(builder.model(), **{"size": (64, 48), **options})


def test_a_rate_that_is_no_number_is_named():
    builder = engine.Builder("box")
    builder.add_link("box", inertia=engine.spatial.inertia.sphere(1.0, 0.1), visuals=[engine.Geometry("box", (1.0, 1.0, 1.0))])
    model = builder.model(floating_base=True)
    motion = engine.Simulator(model, dt=0.01).run(model.neutral(), np.zeros(6), 0.1)
    v = motion.v.copy()
    v[5, 2] = np.nan
    with pytest.raises(engine.ViewerError, match=r"holds v that are not finite, first at t = 0.05 s \(state 5\)"):
        engine.render(replace(motion, v=v), t=0.055, size=(64, 48))


# ---------------------------------------------------------------- what is told over a picture


def test_a_caption_the_time_and_plots_lie_over_the_picture(swing):
    size, camera = (480, 320), engine.viewer.Camera()                          # one that keeps clear of nothing
    bare = engine.render(swing, size=size, samples=0, camera=camera).astype(int)
    for told, where in (({"caption": "a swing"}, np.s_[270:, 150:330]), ({"clock": True}, np.s_[:60, :240]),
                        ({"signals": ["q.hinge"]}, np.s_[:100, 240:])):  # fmt: skip
        picture = engine.render(swing, size=size, samples=0, camera=camera, **told)
        changed = np.abs(picture - bare).max(axis=-1) > 8
        assert changed[where].sum() > 0.9 * changed.sum() > 0, told
    with pytest.raises(engine.ViewerError, match=r"no signal 'q.hinges'"):
        engine.render(swing, size=size, signals=["q.hinges"])


def test_a_robot_is_alone_beside_what_is_no_robot(swing):
    scene = Scene(swing)
    scene.add(target=(0.0, 0.0, 1.0))
    assert Told(scene, "", True, ["q.hinge"], (320, 240)).title == ""
    assert Told(Scene([swing, Actor(swing, name="other")]), "", True, ["q.hinge"], (320, 240)).title == "arm"


def test_views_lie_side_by_side(model):
    size = (240, 160)
    both = engine.render(model, size=size, view=["front", "top"], samples=0)
    for half, view in ((both[:, :120], "front"), (both[:, 120:], "top")):
        assert np.array_equal(half, engine.render(model, size=(120, 160), view=view, samples=0))
    with pytest.raises(engine.ViewerError, match="camera and view are both given; expected one of them"):
        engine.render(model, size=size, view=["front", "top"], camera=Camera())


def test_colours_of_their_own_are_in_the_legend(model, swing):
    pair = [Actor(swing, name="one"), Actor(model, q=[-0.5], name="other")]
    drawing = mark(Scene(pair), 0.0, Shown(colors="robots"))
    assert [text for text, _ in drawing.legend] == ["one", "other"]
    own = np.array([s.color[:3] for s in drawing.surfaces])[drawing.which] * drawing.colors[:, :3]
    hue = own / own.max(axis=1, keepdims=True)
    assert np.allclose(hue[:2], hue[0]) and np.allclose(hue[2:], hue[2]) and np.abs(hue[0] - hue[2]).max() > 0.3
    batch = engine.Simulator(model, dt=0.01).run(np.zeros((20, 1)), np.linspace(0, 2, 20)[:, None], 0.1)
    drawing = mark(Scene(batch), 0.1, Shown(colors="rollouts"))
    assert len(drawing.legend) == 8 and drawing.legend[0][0] == "arm, rollout 0" and drawing.legend[-1][0] == "arm, rollout 19"
    with pytest.raises(engine.ViewerError, match="colors: got 'robot'; expected 'robots', 'rollouts'"):
        mark(Scene(model), 0.0, Shown(colors="robot"))


def test_hidden_links_are_not_drawn_and_the_others_keep_their_numbers(model):
    whole, part = (mark(Scene([model, model]), 0.0, Shown(hidden=hidden)) for hidden in ((), ("base",)))
    assert whole.numbers.tolist() == [1, 2, 3, 4] and part.numbers.tolist() == [2, 4]
    assert engine.render(model, size=SMALL, shown=Shown(hidden=("base", "rod"))).shape == (64, 96, 3)
    with pytest.raises(engine.ViewerError, match="hidden: no link is named 'bse'"):
        mark(Scene(model), 0.0, Shown(hidden=("bse",)))


@pytest.fixture(scope="module")
def drift():
    model = engine.load_urdf(engine.example("free_flyer"), floating_base=True)
    return engine.Simulator(model, dt=0.01, gravity=(0, 0, 0)).run(model.neutral(), np.full(model.nv, 0.2), 0.5)


def test_what_is_told_in_a_small_picture_hardly_covers_the_robot(drift, monkeypatch):
    hidden = Shown(hidden=tuple(link.name for link in drift.model.links))
    said = {"size": (320, 240), "caption": "A servicer drifts", "clock": True, "signals": ["q.shoulder_yaw", "q.shoulder_pitch"]}
    told = engine.render(drift, **said).astype(int)
    monkeypatch.setattr(Panes, "overlay", lambda panes, canvas: None)          # what lies under it
    bare, none = (engine.render(drift, **said, **more).astype(int) for more in ({}, {"shown": hidden}))
    robot, covered = (abs(x - bare).max(axis=2) > 8 for x in (none, told))
    assert covered.mean() > 0.05 and robot.mean() > 0.03
    assert (robot & covered).sum() < 0.03 * robot.sum()


@pytest.mark.parametrize("size", [(320, 240), (640, 360)])
def test_a_legend_stands_above_a_caption_in_its_way(drift, size):
    named, colors = Actor(drift, name="a servicer with an arm and two wings"), Shown(colors="robots")
    bare, told, both = (engine.render(named, size=size, **more).astype(int) for more in (
        {}, {"caption": "A servicer drifts along"}, {"caption": "A servicer drifts along", "shown": colors}))
    caption = abs(told - bare).max(axis=2) > 8
    assert caption.sum() > 1000 and abs(both - told)[caption].max() <= 2


@pytest.mark.parametrize(("given", "said"), [
    ({"t": 9.0, "clock": True}, "t is 9 s, and the motion lasts from 0 to 1 s"), ({"view": []}, "0 views in 96×64 pixels"),
    ({"view": ["front"] * 300}, "300 views in 96×64 pixels"), ({"samples": -1}, "samples is -1; expected a whole number"),
    ({"samples": "4"}, "samples"), ({"caption": 3}, "caption is 3; expected a text"),
    ({"signals": ["q.hinge"] * 3}, "3 signals are to be plotted in a picture of 64 pixels' height"),
    ({"shown": Shown(centers=3)}, "centers is 3; expected names in a tuple"),
    ({"shown": Shown(trails="rod")}, "trails is 'rod'; expected names"),
    ({"path": "film.gif", "t": 0.5}, r"t is given for 'film\.gif', a film of the whole motion"),
])  # fmt: skip
def test_what_would_be_ignored_is_refused(swing, tmp_path, monkeypatch, given, said):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(engine.ViewerError, match=said):
        engine.render(swing, **{"size": SMALL, **given})
    assert not list(tmp_path.iterdir())


def test_a_scene_has_its_own_surroundings(model):
    scene = Scene(model, "plain")
    for given in ({"environment": "space"}, {"geometry": "collision"}):
        with pytest.raises(engine.ViewerError, match="is given beside a scene, which has its own"):
            engine.render(scene, size=SMALL, **given)


def test_a_rollout_that_diverges_is_drawn_as_it_was_last(model):
    batch = engine.Simulator(model, dt=0.01).run(np.zeros((3, 1)), np.ones((3, 1)), 0.2)
    q = batch.q.copy()
    q[1, 8:] = np.nan
    with pytest.warns(UserWarning, match=r"1 of 3 rollouts of 'arm' stopped being finite \(1; the first at t = 0\.08 s\)"):
        scene = Scene(replace(batch, q=q))
    poses = [scene.actors[0].poses(t) for t in (0.07, 0.2)]
    np.testing.assert_allclose(poses[1][1], poses[0][1], atol=1e-12)
    assert np.abs(poses[1][0] - poses[0][0]).max() > 1e-3


def test_trails_have_the_colours_of_their_rollouts(model):
    batch = engine.Simulator(model, dt=0.01).run(np.zeros((3, 1)), np.array([[1.0], [2.0], [-1.0]]), 0.2)
    drawing = mark(Scene(batch), 0.2, Shown(colors="rollouts", trails=(("rod", (1.0, 0.0, 0.0)),)))
    own = drawing.lines[1][:, :3].reshape(3, -1, 3)
    assert all(np.ptp(x, axis=0).max() == 0.0 for x in own)
    np.testing.assert_allclose(own[:, 0], [color[:3] for _, color in drawing.legend])


def test_a_camera_far_away_sees_the_ground():
    """From 40 m away a camera of one's own sees ground down to the lower edge, as the scene's own does."""
    camera = Camera(target=np.array([0.0, 0.0, 0.1]), distance=40.0, elevation=0.1)
    picture = engine.render(mechanism(), size=(160, 120), camera=camera, samples=0).astype(int)
    ground = picture[-12:].reshape(-1, 3)
    assert np.ptp(ground, axis=0).max() < 40 and np.abs(ground.mean(axis=0) - [186, 188, 192]).max() < 25
