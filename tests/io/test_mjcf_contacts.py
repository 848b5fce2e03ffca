"""Contacts of MJCF files: as soft as MuJoCo's, between the geoms that may touch, and as rough."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import engine
from engine.io import RobotFileWarning, check, load
from engine.simulation.from_file import build_part

FLOOR = '<geom name="floor" type="plane" size="5 5 1"/>'


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Where MuJoCo writes its log."""
    monkeypatch.chdir(tmp_path)


def falling(geoms: str, height: float, floor: str = FLOOR) -> str:
    return f"<mujoco><worldbody>{floor}<body name='a' pos='0 0 {height}'><freejoint/>{geoms}</body></worldbody></mujoco>"


def heights(text: str, duration: float):
    """How high a body is over time, m."""
    model = load(text)
    return engine.simulator_of(model).run(model.described.q, np.zeros(model.nv), duration=duration).q[:, -1]


def test_a_ball_does_not_bounce():
    z = heights(falling('<geom size="0.1"/>', 0.6), 1.0)
    landed = int(np.argmax(z < 0.1))
    assert z[landed:].max() - 0.1 < 0.02 * 0.5


@pytest.mark.parametrize("mass", [0.01, 1000.0])
def test_a_body_rests_as_deep_as_in_mujoco_whatever_its_mass(mass):
    mujoco = pytest.importorskip("mujoco")
    text = falling(f'<geom size="0.1" mass="{mass}"/>', 0.1)
    m = mujoco.MjModel.from_xml_string(text)
    d = mujoco.MjData(m)
    mujoco.mj_step(m, d, 1000)
    assert 0.1 - heights(text, 1.0)[-1] == pytest.approx(0.1 - d.qpos[2], rel=0.05)


def test_a_heavy_cube_rests_on_the_ground():
    z = heights(falling('<geom type="box" size="0.2 0.2 0.2" mass="1000"/>', 0.2), 0.5)
    assert 0.0 < 0.2 - z[-1] < 1e-3


@pytest.mark.parametrize("name", ["walker2d", "hopper"])
def test_a_walker_lands_as_it_does_in_mujoco(name):
    mujoco, gymnasium = pytest.importorskip("mujoco"), pytest.importorskip("gymnasium")
    path = Path(gymnasium.__file__).parent / "envs/mujoco/assets" / f"{name}.xml"
    m = mujoco.MjModel.from_xml_path(str(path))
    d = mujoco.MjData(m)
    mujoco.mj_step(m, d, round(0.3 / m.opt.timestep))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RobotFileWarning)
        model = load(path)
    q = engine.simulator_of(model).run(model.described.q, np.zeros(model.nv), duration=0.3).q[-1]
    assert np.abs(q - engine.convert.from_mujoco(model, d.qpos, d.qvel)[0]).max() < 0.03            # measured: 0.0025 of both


TWO = '<geom name="large" size="0.4" contype="2" conaffinity="2"/><geom name="small" size="0.1"/>'


def test_a_geom_that_may_touch_nothing_does_not():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = load(falling(TWO, 0.5))
    assert [g.name for g in model.link("a").collisions] == ["small"] and len(model.link("a").visuals) == 2
    z = engine.simulator_of(model).run(model.described.q, np.zeros(6), duration=1.0).q[-1, -1]
    assert z == pytest.approx(0.1, abs=1e-3)


def test_a_geom_of_a_file_without_ground_is_left():
    assert len(load(falling(TWO, 0.5, floor="")).link("a").collisions) == 2


def test_a_geom_that_may_touch_some_touches_these_alone():
    other = '<body name="b" pos="2 0 0.5"><freejoint/><geom size="0.1" contype="2" conaffinity="2"/></body>'
    pairs = load(falling(TWO, 0.5, floor=FLOOR + other)).described.contacts.values["pairs"]
    assert {frozenset(pair) for pair in pairs} == {frozenset(("world", "a/small")), frozenset(("a/large", "b/0"))}


def friction_on_the_floor(model):
    """What a link's material makes of the floor's."""
    contacts = build_part(model.described.contacts)
    return contacts.bind(model).pairs[0].material.friction


@pytest.mark.parametrize(("floor", "geom", "expected"), [
    ("", 'friction="0.7"', 1.0), ("", 'friction="2"', 2.0), ('friction="0.2"', 'friction="0.8"', 0.8), ("", 'condim="1"', 1.0),
    ('condim="1"', 'condim="1"', 0.0), ("", 'condim="1" priority="1"', 0.0), ('friction="0.3" priority="1"', 'friction="0.8"', 0.3),
])  # fmt: skip
def test_a_body_rubs_on_the_ground_as_in_mujoco(floor, geom, expected):
    mujoco = pytest.importorskip("mujoco")
    text = falling(f'<geom size="0.1" {geom}/>', 0.09, FLOOR.replace("<geom", f"<geom {floor}"))
    m = mujoco.MjModel.from_xml_string(text)
    d = mujoco.MjData(m)
    mujoco.mj_forward(m, d)
    assert (d.contact[0].friction[0] if d.contact[0].dim > 1 else 0.0) == pytest.approx(expected)
    assert friction_on_the_floor(load(text)) == pytest.approx(expected)


@pytest.mark.parametrize(("text", "expected"), [
    (falling('<geom size="0.1"/>', 0.5).replace("<freejoint", '<freejoint align="true"'), "align: the body keeps the frame"),
    (falling('<geom size="0.1"/>', 0.5).replace("<mujoco>", '<mujoco><compiler alignfree="true"/>'), "free bodies keep the frames"),
    (falling('<geom size="0.1"/>', 0.5).replace("<freejoint", '<joint actuatorgravcomp="true" actuatorfrcrange="-1 1"'),
     "actuatorgravcomp: what holds against gravity"),
])  # fmt: skip
def test_what_moves_otherwise_is_warned_of(text, expected):
    with pytest.warns(RobotFileWarning, match="engine.check tells of each"):
        load(text)
    assert expected in str(check(text))


def test_broken_xml_is_not_taken_for_urdf():
    assert "expected a complete robot file" in str(check("<mujoco><worldbody>"))


@pytest.mark.parametrize("what", ["solref='1e-300 1e300'", "solref='1e300 1e-300'", "solref='-1e300 -1e300'", "solref='-1e-300 0'",
                                  "solimp='0 0 0 0 0'", "solimp='1e300 0 1e-300 1e300 1e300'", "solref='0.01'"])  # fmt: skip
def test_absurd_softness_is_no_traceback(what):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RobotFileWarning)
        load(falling(f'<geom size="0.1" {what}/>', 0.5, FLOOR))


def test_a_margin_is_not_kept_and_said():
    """MuJoCo holds bodies off by it; where a gap is as large it does nothing."""
    for margins, told in (('margin="0.05"', True), ('margin="0.05" gap="0.05"', False), ("", False)):
        text = falling(f"<geom size='0.1' {margins}/>", 1.0)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            load(text)
        assert any("its margin of 0.05 m is not kept" in str(w.message) for w in said) == told


@pytest.mark.parametrize("scale", ["1 1 1", "1 -1 2"])
def test_a_mesh_whose_corners_lie_in_the_text_is_touched_as_in_mujoco(scale, tmp_path):
    """An octahedron 6 cm high, turned unevenly too; saved, it is the same in MuJoCo, which reads no file of a cache."""
    mujoco = pytest.importorskip("mujoco")
    corners = "0.06 0 0  -0.06 0 0  0 0.06 0  0 -0.06 0  0 0 0.06  0 0 -0.06"
    text = f"""<mujoco><asset><mesh name="m" vertex="{corners}" scale="{scale}" refquat="0.8 0.6 0 0"/></asset><worldbody>
      <geom type="plane" size="3 3 .1"/><body pos="0 0 .2"><freejoint/>
      <geom type="mesh" mesh="m" density="1000"/></body></worldbody></mujoco>"""
    model = load(text)
    again = mujoco.MjModel.from_xml_path(str(engine.save_mjcf(model, tmp_path / "again.xml")))
    theirs = mujoco.MjModel.from_xml_string(text)
    data = [mujoco.MjData(m) for m in (theirs, again)]
    for m, d in zip((theirs, again), data, strict=True):
        mujoco.mj_step(m, d, 1000)
    run = engine.simulator_of(model).run(model.initial(), np.zeros(6), 2.0, record_every=1000)
    assert abs(run.q[-1, 6] - data[0].qpos[2]) < 1e-4 and abs(data[1].qpos[2] - data[0].qpos[2]) < 1e-6
