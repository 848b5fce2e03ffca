"""What a robot's file describes, as a simulator; through pickle, text, combine and other parameters; known answers by hand."""

import pickle

import numpy as np
import pytest

from engine import Builder, SimulationError, combine, load, simulator_of
from engine.checks import EngineWarning
from engine.components.box_drag import BoxDrag
from engine.components.component import Context
from engine.constraints import Ball, Coupling, Weld
from engine.io import model_from_text, model_hash, model_text
from engine.simulation.from_file import build_part

ARM = """<mujoco model="arm"><option timestep="0.001" gravity="0 0 -9"/><worldbody><geom type="plane" size="1 1 1"/>
  <geom name="wall" type="box" size=".1 1 1" pos="2 0 0" contype="2" conaffinity="2"/>
  <body name="cart" pos="0 0 .5"><freejoint name="root"/><geom size=".1" friction="0.3"/>
    <body name="arm"><joint name="hip" axis="0 1 0" ref="30" stiffness="2" springref="60" damping=".1"/>
      <geom type="capsule" fromto="0 0 0 0 0 1" size=".05"/><site name="tip" pos="0 0 1"/></body></body>
  <body name="post" pos="3 0 0"><joint name="k1" axis="0 1 0"/><joint name="k2" axis="1 0 0"/><geom size="0.1" pos="0 0 1"/></body>
  </worldbody>
  <equality><connect body1="arm" body2="cart" anchor="0 0 0.1" active="false"/>
    <joint joint1="k1" joint2="k2" polycoef="0.1 2 0 0 0"/></equality>
  <actuator><position name="servo" joint="hip" kp="5" kv="1" ctrlrange="-1 1"/><motor name="jet" site="tip" gear="0 0 1 0 0 0"/></actuator>
  <sensor><gyro name="g" site="tip"/></sensor>
  <keyframe><key name="home" qpos="1 2 3 0.6 0 0.8 0 .3 0 0" qvel="1 0 0 0 0 2 3 0 0" ctrl="1 2"/></keyframe></mujoco>"""


@pytest.fixture(scope="module")
def arm():
    with pytest.warns(UserWarning, match="it is not active at first"):
        return load(ARM)


def test_a_file_says_what_acts(arm):
    said = arm.described
    assert (said.gravity, said.dt) == ((0.0, 0.0, -9.0), 0.001)
    np.testing.assert_allclose(said.q, [1, 0, 0, 0, 0, 0, 0.5, np.radians(30), 0, 0], atol=1e-15)
    (coupling,) = map(build_part, said.constraints)
    assert isinstance(coupling, Coupling) and (coupling.ratio, coupling.offset) == (2.0, 0.1)
    assert [build_part(p).name for p in said.actuators] == ["servo", "jet"]
    (spring,) = map(build_part, said.forces)
    assert (spring.stiffness, spring.rest) == (2.0, np.radians(60))
    contacts = build_part(said.contacts)
    assert set(contacts.pairs) == {("world", "cart"), ("world", "arm"), ("world", "post"), ("cart", "post"), ("arm", "post")}
    rubs = contacts.materials["cart"].with_surface(contacts.ground.material, contacts.combine).friction
    assert rubs == 1.0 and contacts.ground.normal == (0.0, 0.0, 1.0)
    assert said.sensors == {"g": ("gyro", "tip")}


def test_a_keyframe_is_in_our_coordinates(arm):
    home = arm.described.keyframes["home"]
    np.testing.assert_allclose(home.q, [0.6, 0, 0.8, 0, 1, 2, 3, 0.3, 0, 0])
    R = np.array([[-0.28, 0, 0.96], [0, 1, 0], [-0.96, 0, -0.28]])
    np.testing.assert_allclose(home.v, [0, 0, 2, *(R.T @ [1, 0, 0]), 3, 0, 0], atol=1e-15)
    assert home.commands == {"servo": 1.0, "jet": 2.0}


def test_it_survives_pickle_text_and_other_numbers(arm):
    text = model_text(arm)
    for other in (pickle.loads(pickle.dumps(arm)), model_from_text(text), arm.with_parameters({"mass.cart": arm.link("cart").mass})):
        assert model_text(other) == text
    assert model_hash(arm) == model_hash(model_from_text(text))
    assert arm.with_armature({"hip": 1.0}).described is arm.described


def test_models_without_keep_the_text_they_had():
    b = Builder("stone")
    b.add_link("stone")
    assert "described" not in model_text(b.model())


def test_combined_robots_keep_what_acts_on_each(arm):
    with pytest.warns(EngineWarning, match="the contacts that the file of 'a' and 'b' describes are of one robot alone, and are left out"):
        both = combine(a=arm, b=arm)
    said = both.described
    assert [build_part(p).name for p in said.actuators] == ["a/servo", "a/jet", "b/servo", "b/jet"]
    assert build_part(said.constraints[1]).joint1 == "b/k1" and said.contacts is None and said.keyframes == {}
    np.testing.assert_allclose(said.q[: arm.nq], arm.described.q)
    assert said.gravity == arm.described.gravity and both.nq == 2 * arm.nq


def test_a_simulator_of_it_moves_as_it_should():
    pendulum = load("""<mujoco><option gravity="0 0 -10"/><worldbody><body><joint name="hip" axis="0 1 0" stiffness="3" springref="90"/>
        <inertial mass="2" pos="0 0 -0.5" diaginertia="0.001 0.001 0.001"/></body></worldbody></mujoco>""")
    found = simulator_of(pendulum).run([0.0], [0.0], 0.002)
    assert found.vdot[0, 0] == pytest.approx(3.0 * np.pi / 2 / (2 * 0.25 + 0.001))      # m g l sin(0) = 0; k (π/2 − 0) alone
    assert found.t[-1] == 0.002 and len(found.t) == 2


def test_changes_stand_in_place_of_what_the_file_says(arm):
    quiet = simulator_of(arm, dt=0.004, gravity=(0, 0, 0), contacts=None, actuators=[], forces=[], constraints=[])
    assert quiet.dt == 0.004 and "acting" not in repr(quiet).replace("acting: friction", "")
    with pytest.raises(SimulationError, match="nothing described besides its tree"):
        b = Builder("stone")
        b.add_link("stone")
        simulator_of(b.model(floating_base=True))


def test_equalities_of_bodies_hold_what_they_held_in_the_file():
    model = load("""<mujoco><worldbody><body name="a" pos="0 0 1"><freejoint/><geom size="0.1"/><site name="s" pos="0.1 0 0"/></body>
        <body name="b" pos="1 0 1" euler="0 0 90"><freejoint/><geom size="0.1"/><site name="t" pos="0.2 0 0"/></body></worldbody>
        <equality><connect body1="a" body2="b" anchor="0.5 0 0"/><weld body1="a" body2="b"/><connect site1="s" site2="t"/>
        <weld body1="a" relpose="0 0 -1 1 0 0 0"/></equality></mujoco>""")
    ball, weld, sites, held = map(build_part, model.described.constraints)
    assert isinstance(ball, Ball) and isinstance(weld, Weld)
    np.testing.assert_allclose(ball.point_b, [0, 0.5, 0], atol=1e-15)                   # a's (0.5, 0, 0), in b, which is turned by 90°
    np.testing.assert_allclose(np.array(weld.pose_ab)[:3, 3], [1, 0, 0], atol=1e-15)
    assert (sites.link_a, sites.link_b) == ("s", "t") and held.link_b == "world"
    np.testing.assert_allclose(np.array(held.pose_ab)[:3, 3], [0, 0, -1])


def test_a_floating_base_is_asked_for():
    text = '<mujoco><worldbody><body name="a" pos="0 0 1"><geom size="0.1"/></body></worldbody></mujoco>'
    assert load(text).nv == 0
    floating = load(text, floating_base=True)
    assert floating.nv == 6 and floating.floats
    np.testing.assert_allclose(floating.described.q, [1, 0, 0, 0, 0, 0, 1])


def test_a_box_in_a_fluid_is_slowed_as_its_sides_say():
    model = load("""<mujoco><option gravity="0 0 0" density="1000" viscosity="2" wind="0 0 1"/><worldbody><body name="fin">
        <joint name="x" type="slide" axis="1 0 0"/><geom type="box" size="0.05 0.1 0.15" mass="3"/></body></worldbody></mujoco>""")
    drag = build_part(model.described.forces[0])
    drag.bind(model, 1e-3)
    F = drag.act(Context(model, 0.0, np.zeros(1), np.array([2.0]), {}, np.zeros(3), {}), drag.state, drag.memory, None).wrenches["fin"]
    viscous = 3.0 * np.pi * 2.0 * 0.2                                                   # the mean edge is 0.2 m
    np.testing.assert_allclose(F, [0, 0, 0, -viscous * 2.0 - 500.0 * 0.2 * 0.3 * 4.0, 0, viscous + 500.0 * 0.1 * 0.2], atol=1e-9)
    assert simulator_of(model).run([0.0], [2.0], 1.0).v[-1, 0] < 0.2
    flat = {"fin": ((0, 1, 1), np.eye(4))}
    for given, expected in (({"density": -1.0}, "density"), ({"wind": (1.0,)}, "wind"), ({"boxes": flat}, "edges")):
        with pytest.raises(SimulationError, match=expected):
            BoxDrag(**{"boxes": {}, **given}).bind(model, 1e-3)


def test_a_path_is_no_model():
    with pytest.raises(SimulationError, match=r"simulator_of got 'a\.usda'; expected a model, such as engine\.load"):
        simulator_of("a.usda")
