"""Which geoms of MJCF files touch, and how they rub: as MuJoCo has it, geom by geom."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import engine
from engine.io import RobotFileWarning, load
from engine.simulation.from_file import build_part

mujoco = pytest.importorskip("mujoco")
G = 9.81


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Where MuJoCo writes its log."""
    monkeypatch.chdir(tmp_path)


def file(bodies: str, floor: str = "", more: str = "") -> str:
    """Bodies on a floor, each of a name and the attributes of its geoms, which lie in each other and in the floor."""
    made = ""
    for i, body in enumerate(bodies.split("|")):
        geoms = "".join(f'<geom name="{chr(97 + i)}{k}" size="0.1" pos="{0.003 * (i + 1)} {0.004 * k} 0" {geom}/>'
                        for k, geom in enumerate(body.split("&")))  # fmt: skip
        made += f'<body name="{"ABC"[i]}" pos="0 0 0.08"><freejoint/>{geoms}</body>'
    floor = f'<geom name="floor" type="plane" size="5 5 1" {floor}/>'
    return f"<mujoco>{more}<worldbody>{floor}{made}</worldbody></mujoco>"


PAIR = '<contact><pair geom1="a0" geom2="b1" {}/></contact>'
SCENES = [
    file("|"),
    file('friction="0.3"&friction="0.9"|friction="0.5"', 'friction="0.4"'),
    file('friction="0.3" condim="1"|friction="0.5"', 'condim="1"'),
    file('friction="0.3" condim="1"&|friction="0.2" condim="1"', 'condim="1" friction="0.1"'),
    file('friction="0.3" priority="1"&friction="2"|friction="0.5" priority="1"', 'friction="0.7"'),
    file('friction="0.3" priority="2"&friction="2" priority="1" condim="1"|friction="0.5"', 'friction="0.7" priority="-1"'),
    file('contype="2"&contype="4" conaffinity="4"|conaffinity="4"&contype="2" conaffinity="2"'),
    file('contype="0" conaffinity="0"&|&contype="0" conaffinity="0"', more=PAIR.format('friction="0.25"')),
    file('&friction="0.2"|&friction="3"', more=PAIR.format('condim="1"')),
    file('friction="0.4"&|friction="0.6"&friction="0.8"', more=PAIR.format("")),
    file('|friction="0.5"|friction="2"', more='<contact><exclude body1="A" body2="B"/></contact>'),
    file('class="x"&|class="x"', more='<default><default class="x"><geom friction="0.15" priority="3"/></default></default>'),
    file('condim="4"|friction="0.5 0.02 0.001" condim="6"', 'friction="0.4 0.01 0.003"'),
    file('condim="4" friction="0.3 0.03" priority="1"&|condim="6" friction="0.5 0.02 0.001"', 'condim="1" friction="2 0.01 0.003"'),
    file('condim="4"&|&condim="6"', more=PAIR.format('condim="6" friction="0.3 0.3 0.02 0.004 0.004"')),
    file('condim="4"&|&condim="6"', more=PAIR.format('condim="4" friction="0.3"')),
    file('&friction="0.5"', more='<option><flag contact="enable" filterparent="disable"/></option>'),
]  # fmt: skip


def of_mujoco(text: str) -> dict[frozenset[str], tuple[float, float, float]]:
    """The frictions of each two geoms that touch: sliding, torsional, rolling."""
    m = mujoco.MjModel.from_xml_string(text)
    d = mujoco.MjData(m)
    mujoco.mj_forward(m, d)
    counts = {1: (0, 0, 0), 3: (1, 0, 0), 4: (1, 1, 0), 6: (1, 1, 1)}
    return {frozenset(m.geom(int(g)).name for g in c.geom): tuple(c.friction[[0, 2, 3]] * counts[c.dim]) for c in d.contact}


def of_engine(model: engine.Model) -> dict[frozenset[str], tuple[float, float, float]]:
    """The same, of all that may touch."""
    laws = build_part(model.described.contacts).bind(model)
    named = {shape: g.name for link in model.links for shape, g in zip(link.shapes, link.collisions, strict=True)} | {"": "floor"}
    return {frozenset((named[p.a.part], named[p.b.part])): (p.material.friction, *p.material.turning) for p in laws.pairs}


@pytest.mark.parametrize("text", SCENES)
def test_what_touches_and_how_it_rubs_is_mujocos(text):
    """Contacts have no more to say of: nothing is warned of."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = load(text)
    found, expected = of_engine(model), of_mujoco(text)
    assert found.keys() == expected.keys() and len(expected) > 1
    np.testing.assert_allclose([found[p] for p in expected], [*expected.values()], rtol=1e-12)


def test_rolling_along_two_directions_is_warned_of():
    with pytest.warns(RobotFileWarning, match=r"resists rolling differently along two directions \(0\.001 and 0\.002\)"):
        load(file("&|&", more=PAIR.format('condim="6" friction="0.3 0.3 0.02 0.001 0.002"')))


def test_what_is_welded_into_one_model_keeps_its_surfaces():
    """Its names move with those of links, and what is cut off takes its own along."""
    model = load(file('friction="2" condim="1"&|friction="0.5" condim="1"', 'friction="0.1"'))
    graph = model.graph.copy()
    graph.remove_node("B")
    with pytest.warns(engine.EngineWarning, match="no longer there"):
        rest = engine.Model.from_graph(graph)
    values = rest.described.contacts.values
    assert set(values["pairs"]) == {("world", "A")} and not any("B" in n for key in values["materials"] for n in key)
    renamed = model.described.renamed(lambda name: {"A": "R"}.get(name, name), str, str).contacts.values
    assert {"R", "R/a1", ("R/a0", "B/b0")} <= {*renamed["materials"]} and ("world", "R") in renamed["pairs"]


def test_pads_of_different_friction_brake_a_block_by_their_mean():
    """A block on rails presses equally on two pads: (0.2 + 0.6) g/2, on the floor's 0.1; MuJoCo's creeps, and brakes as much."""
    pads = "".join(f'<geom name="{n}" size="0.02" pos="{x} 0 0" friction="{mu}"/>' for n, x, mu in (("p", -1, 0.2), ("q", 1, 0.6)))
    text = ('<mujoco><option timestep="0.001"/><worldbody><geom type="plane" size="9 9 1" friction="0.1"/>'
            '<body name="block" pos="0 0 0.0199">'
            f'<joint name="x" type="slide" axis="1 0 0"/><joint name="z" type="slide"/>{pads}</body></worldbody></mujoco>')  # fmt: skip
    model = load(text)
    simulator = engine.simulator_of(model)
    run = simulator.run([0.0, 0.0], [2.0, 0.0], 0.4, record_every=100)
    assert -np.diff(run.v[:, 0])[1:] / 0.1 == pytest.approx(0.4 * G, rel=1e-4)
    narrow = engine.simulator_of(model, contacts=build_part(model.described.contacts).with_pairs([("world", "block/q")]))
    run = narrow.run([0.0, 0.0], [2.0, 0.0], 0.3, record_every=100)
    assert -np.diff(run.v[:, 0])[1:] / 0.1 == pytest.approx(0.6 * G, rel=1e-4)


def test_a_belt_carries_as_mujocos_does():
    """A surface that runs, turned in its geom's frame: both have the belt's speed at the end, in its direction."""
    text = ('<mujoco><option timestep="0.002"/><worldbody>'
            '<geom type="box" size="5 5 .1" pos="0 0 -.1" euler="0 0 90" surfacevel="0.5 0 0"/>'
            '<body pos="0 0 0.1"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/><joint type="slide"/>'
            '<geom size=".1" friction="0.5"/></body></worldbody></mujoco>')  # fmt: skip
    m = mujoco.MjModel.from_xml_string(text)
    d = mujoco.MjData(m)
    mujoco.mj_step(m, d, 250)
    model = load(text)
    v = engine.simulator_of(model).run(model.described.q, np.zeros(3), 0.5).v[-1]
    np.testing.assert_allclose(v, [0.0, 0.5, 0.0], atol=1e-6)
    np.testing.assert_allclose(v, d.qvel, atol=1e-3)
    with pytest.warns(RobotFileWarning, match="a surface that turns is not read"):
        load(text.replace("0.5 0 0", "0.5 0 0 0 0 1"))


@pytest.mark.parametrize(("floor", "geom"), [("0.02 1", "0.1 1"), ("-2000 -80", "-400 -40"), ("0.02 1", "-400 -40")])
def test_what_mujoco_mixes_rests_as_deep_as_there(floor, geom):
    text = file(f'solref="{geom}" mass="2"', f'solref="{floor}"').replace("0 0 0.08", "0 0 0.1")
    m = mujoco.MjModel.from_xml_string(text)
    d = mujoco.MjData(m)
    mujoco.mj_step(m, d, 2000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        said = build_part(load(text).described.contacts)
    deep = 2.0 * G / said.materials["A"].with_surface(said.ground.material).stiffness
    assert deep == pytest.approx(0.1 - d.qpos[2], rel=1e-3)


def test_two_that_are_otherwise_soft_together_are_warned_of():
    with pytest.warns(RobotFileWarning, match=r"another than that of a geom that it meets \(1 pairs of geoms"):
        load(file('solref="0.1 1"|', more='<option><flag filterparent="enable"/></option>'))


def test_friction_along_two_directions_is_warned_of():
    with pytest.warns(RobotFileWarning, match=r"two directions \(0.5 and 0.7\); the first counts"):
        load(file("&|&", more=PAIR.format('friction="0.5 0.7"')))
