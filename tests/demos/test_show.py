"""What the demos share: rigid bodies that can be looked at, and the options that show them."""

import argparse
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest

import engine
from engine.spatial import inertia
from engine.viewer.draw.opengl import settle

DEMOS = Path(__file__).parents[2] / "demos"


@pytest.fixture(scope="module")
def show():
    sys.path.insert(0, str(DEMOS))
    try:
        import show

        yield show
    finally:
        sys.path.remove(str(DEMOS))


@pytest.fixture(scope="module")
def motions():
    """Of a body alone and of two, whose velocities are in world axes."""
    body = engine.RigidBody(inertia=np.diag([0.1, 0.2, 0.25]), mass=2.0)
    x = body.build_state([1, 2, 3], linear_velocity=[0.1, 0.2, -0.3], angular_velocity=[[0.3, 2.0, 0.1], [3.0, 0.2, 0.4]])
    compiled = engine.compile(body)
    return compiled.simulate(x[0], 2.0, 0.01), compiled.simulate(x, 2.0, 0.01)


def test_a_body_moves_as_it_was_simulated(show, motions):
    shapes = [show.shape("box", (0.3, 0.2, 0.1), (1.0, 0.0, 0.0))]
    for motion in motions:
        seen = show.body(motion, "brick", shapes)
        assert np.allclose(seen.pose("brick"), motion.poses(), atol=1e-12)
        assert np.allclose(seen.energy()[0], motion.kinetic_energy(), rtol=1e-12) and seen.model.link("brick").mass == 2.0
        assert np.allclose(seen.momentum(), motion.momentum(), atol=1e-12)
        middle = seen.at(motion.t[:-1] + 0.005).pose("brick")                  # between the states, too
        assert np.allclose(middle[..., :3, 3], (motion.poses()[..., :-1, :3, 3] + motion.poses()[..., 1:, :3, 3]) / 2, atol=1e-4)


@pytest.mark.parametrize(("along", "axis"), [("x", 0), ("y", 1), ("z", 2)])
def test_shapes_lie_along_an_axis(show, along, axis):
    rod = show.shape("cylinder", (0.1, 2.0), (0.2, 0.3, 0.4), at=(1.0, 2.0, 3.0), along=along)
    builder = engine.Builder("rod")
    builder.add_link("rod", visuals=(rod,))
    corners = engine.viewer.Scene(builder.model()).points - [1.0, 2.0, 3.0]
    assert np.ptp(corners, axis=0) == pytest.approx(np.where(np.arange(3) == axis, 2.0, 0.2), abs=1e-3)
    assert rod.material.color == (0.2, 0.3, 0.4, 1.0) and np.linalg.det(rod.placement[:3, :3]) == pytest.approx(1.0)


def options(show, *arguments):
    parser = argparse.ArgumentParser()
    show.add_options(parser)
    return parser.parse_args([*map(str, arguments)])


def test_options(show, motions, tmp_path, monkeypatch, capsys):
    drawn, viewed = [], []
    monkeypatch.setattr(engine, "render", lambda source, path, **look: drawn.append((source, path, look)))
    monkeypatch.setattr(engine, "view", lambda source, **look: viewed.append((source, look)))
    source = show.body(motions[0], "brick", [show.shape("box", (0.3, 0.2, 0.1), (1.0, 0.0, 0.0))])
    show.show(options(show), source, view="left")
    assert not drawn and not viewed
    show.show(options(show, "--view", "--video", tmp_path / "new" / "x.mp4"), source, speed=2.0, view="left")
    ((what, path, look),) = drawn
    assert what is source and path == tmp_path / "new" / "x.mp4" and path.parent.is_dir()
    assert look == {"speed": 2.0, "camera": None, "progress": False, "view": "left", "bars": (), "signals": (), "clock": True,
                    "samples": 4}  # fmt: skip
    assert viewed == [(source, {"view": "left"})]
    assert capsys.readouterr().out == f"wrote {path}\n"


def test_what_cannot_be_shown_is_one_sentence(show, motions, tmp_path, monkeypatch):
    import pyglet

    settle()                                                                   # so that it is put back to what holds here
    monkeypatch.setattr(pyglet.options, "headless", True)
    source = show.body(motions[0], "brick", [show.shape("box", (0.3, 0.2, 0.1), (1.0, 0.0, 0.0))])
    with pytest.raises(SystemExit, match=r"^error: '.*x\.avi' ends in '\.avi'; expected"):
        show.show(options(show, "--video", tmp_path / "x.avi"), source)
    with pytest.raises(SystemExit, match=r"^error: there is no display"):
        show.show(options(show, "--view"), source)


def test_the_handle_balances_and_its_middle_axis_is_the_stem(show):
    import runpy

    demo = runpy.run_path(str(DEMOS / "dzhanibekov.py"))
    G = demo["T_HANDLE"]
    assert inertia.mass(G) == pytest.approx(0.52) and np.abs(inertia.first_moment(G)).max() < 1e-12
    assert G[0, 0] < G[1, 1] < G[2, 2] and np.abs(G - np.diag(np.diag(G))).max() < 1e-12
    assert demo["looks"]().keys() == demo["BODIES"].keys()                     # each is in the film


def test_each_method_has_a_line_of_its_own(show):
    import runpy

    demo = runpy.run_path(str(DEMOS / "integrators.py"))
    for each in (demo["COLORS"], demo["MARKS"]):
        assert each.keys() == engine.integrate.METHODS.keys() and len({*each.values()}) == len(each)


@pytest.mark.parametrize("name", ["tracking", "drone_arm"])
def test_a_demo_of_robots_that_are_not_there_says_what_to_install(demo, name, monkeypatch):
    monkeypatch.setattr(sysconfig, "get_path", lambda name: "/nowhere")
    with pytest.raises(SystemExit, match=r"^error: .*; expected it: pip install example-robot-data$"):
        demo(name)


def test_a_film_says_a_story_and_a_quick_mechanism_is_filmed_slowly(show, motions, tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(engine, "render", lambda source, path, **look: drawn.append(look))
    source = show.body(motions[0], "brick", [show.shape("box", (0.3, 0.2, 0.1), (1.0, 0.0, 0.0))])
    story = [(0.0, "it begins"), (0.5, "it ends")]
    show.show(options(show, "--video", tmp_path / "x.mp4"), source, view="left", story=story)
    show.show(options(show, "--video", tmp_path / "x.mp4"), source, follow="brick", story=story)
    show.show(options(show, "--video", tmp_path / "x.png"), source, view="left", story=story)
    one, along, still = drawn
    assert [(x.t, x.view, x.caption) for x in one["shots"]] == [(0.0, "left", "it begins"), (1.0, "left", "it ends")] and "view" not in one
    assert along["shots"][0].view == engine.Follow("brick") and "follow" not in along
    assert "shots" not in still and still["view"] == "left" and one["clock"] and "clock" not in still


def test_andrews_squeezer_is_a_film_and_not_above_the_earth(monkeypatch, tmp_path):
    import runpy

    drawn = []
    monkeypatch.syspath_prepend(DEMOS)
    monkeypatch.setattr(engine, "render", lambda source, path, **look: drawn.append((source, look)))
    monkeypatch.setattr(sys, "argv", ["mechanisms.py", "squeezer", "--out", str(tmp_path), "--video", str(tmp_path / "x.mp4")])
    runpy.run_path(str(DEMOS / "mechanisms.py"), run_name="__main__")
    (((motion, spring), look),) = drawn
    assert motion.t[-1] / look["speed"] == pytest.approx(24.0) and look["environment"] == "ground" and len(look["shots"]) == 3
    pulls = motion.pose("gamma")                                               # the last ring ends where the spring pulls
    ends = pulls[:, :3, 3] + pulls[:, :3, :3] @ [0.02, -0.018, 0.0]
    first, last = (spring.pose(f"ring{k}")[:, :3, 3] for k in (0, 13))
    assert np.abs(last + (last - first) / 26.0 - ends).max() < 1e-12
