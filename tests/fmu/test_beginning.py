"""Where an FMU begins, by what is set before it does, and within what ranges numbers of components and sensors are set."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from engine import sensors, space
from engine.spatial import inertia
from tests.fmu.instances import Instance, fmpy


def hub(floating: bool = True) -> engine.Model:
    b = engine.Builder("craft")
    b.add_link("hub", inertia=inertia.box(100.0, [0.8, 1.0, 1.2]))
    return b.model(floating_base=floating)


def craft(**tank) -> engine.Simulator:
    tank = space.Tank("hub", capacity=60.0, fuel=40.0, **tank)
    jet = space.Thrusters("hub", [[0, 0, -0.8]], [[0, 0, 1.0]], most=20.0, tank=tank, isp=220.0)
    return engine.Simulator(hub(), dt=0.01, gravity=(0, 0, 0), actuators=[jet, tank],
                            sensors=[sensors.Gyro("hub", period=0.05, noise=0.0, quantum=1e-4, limit=1.0)],
                            controller=lambda t, q, v, u: {"thrusters": u * np.ones(1)},
                            parameters={"tank.fuel": 40.0, "u": 10.0, "thrusters.most": 20.0, "mass.hub": 100.0})  # fmt: skip


START = [1.0, 0, 0, 0, 0.1, 0, 0]
SPIN = [0.3, 0.2, 0, 0, 0, 0.1]
BLOWDOWN = {"pressure": 2e6, "gas": 0.02, "shape": "sphere"}


@pytest.fixture(scope="module", params=["2.0", "3.0"])
def made(tmp_path_factory, request):
    s = craft(**BLOWDOWN)
    where = tmp_path_factory.mktemp("beginning") / "craft.fmu"
    with pytest.warns(engine.EngineWarning, match="'output.tank.fuel'"):
        path = engine.export_fmu(s, where, inputs=["u"], outputs=["q", "v", "gyro", "tank.fuel"], q0=START, v0=SPIN, version=request.param)
    return s, path


@pytest.mark.parametrize("fuel", [0.0, 20.0, 60.0])
def test_a_tank_begins_with_the_fuel_that_is_set(made, fuel):
    s, path = made
    f = Instance(path)
    f.begin(tank_fuel=fuel)
    f.step(0.0, 1.0)
    run = s.run(START, SPIN, 1.0, parameters={"tank.fuel": fuel}, record_every=100)
    assert f.get("q").tobytes() == run.q[-1].tobytes()
    assert f.get("v").tobytes() == run.v[-1].tobytes()
    assert f.get("output.tank.fuel")[0] == run("tank.fuel")[-1]
    f.close()


def test_the_start_may_be_another_with_a_tank(made):
    s, path = made
    q0, v0 = [0.6, 0, 0.8, 0, 1.0, 2.0, 3.0], [0.1, 0, 0, 1.0, 0, 0]
    f = Instance(path)
    f.begin(start_q=q0, start_v=v0, tank_fuel=5.0)
    f.step(0.0, 0.5)
    assert f.get("q").tobytes() == s.run(q0, v0, 0.5, parameters={"tank.fuel": 5.0}, record_every=50).q[-1].tobytes()
    f.close()


def test_other_masses_on_the_way_leave_the_fuel(made, tmp_path):
    s, path = made
    f = Instance(path)
    f.begin(tank_fuel=20.0)
    f.step(0.0, 0.5)
    f.set("mass.hub", 130.0)
    f.step(0.5, 0.5)
    state = s.step(s.start(START, SPIN, {"tank.fuel": 20.0}), 50)
    state = s.step(state, 50, {"mass.hub": 130.0})
    assert f.get("q").tobytes() == state.q.tobytes()
    f.close()


def test_by_what_it_begins_is_fixed_and_no_input(made, tmp_path):
    s, path = made
    f = Instance(path)
    (fuel,) = (v for v in f.d.modelVariables if v.name == "tank.fuel")
    assert fuel.variability == "fixed"
    f.begin()
    f.refused("'tank.fuel' is a parameter by which a component begins; expected it in initialization mode", f.set, "tank.fuel", 20.0)
    f.close()
    with pytest.raises(engine.ExportError, match=r"inputs have 'tank\.fuel', by which a component begins"):
        engine.export_fmu(s, tmp_path / "other.fmu", inputs=["tank.fuel"], platforms=[])


@pytest.mark.parametrize(("name", "value", "said", "run"), [
    ("tank.fuel", -1.0, "is set to -1; expected a number from 0 to 60", "is -1 kg, and 60 kg fit in; expected a number from 0 to that"),
    ("tank.fuel", 60.5, "is set to 60.5; expected a number from 0 to 60", "is 60.5 kg, and 60 kg fit in"),
    ("thrusters.most", -5.0, "is set to -5; expected a number from 0", "is -5; expected a number from 0"),
    ("gyro.limit", [-1.0] * 3, "is set to -1; expected a number above 0", "expected numbers above 0"),
    ("gyro.quantum", [0.0] * 3, "is set to 0; expected a number above 0", "expected numbers above 0"),
    ("gyro.noise", [-1.0] * 3, "is set to -1; expected a number from 0", "expected numbers from 0"),
])  # fmt: skip
def test_ranges_are_those_of_a_run(made, name, value, said, run):
    s, path = made
    f = Instance(path)
    own = [v for v in f.d.modelVariables if v.name.split("[")[0] == name]
    assert {float(v.min) for v in own} == {0.0}
    assert {v.max for v in own} == ({"60.0"} if name == "tank.fuel" else {None})
    f.refused(said, f.set, name, value)
    f.close()
    with pytest.raises(engine.SimulationError, match=run):
        s.run(START, SPIN, 0.1, parameters={name: value})


def panel() -> engine.Simulator:
    modes = space.Modes.beam(4.0, 1.0, 100.0, 2, root=0.1)
    own = space.FlexibleBody("hub", modes, initial=[[0.01, 0, 0, 0], [0, 0.02, 0, 0]], name="panel")
    return engine.Simulator(hub(), dt=0.01, gravity=(0, 0, 0), forces=[own],
                            parameters={"panel.stiffness": modes.stiffness, "panel.damping": modes.damping})  # fmt: skip


def test_modes_begin_with_the_twist_that_is_set(tmp_path):
    s = panel()
    path = engine.export_fmu(s, tmp_path / "panel.fmu", q0=START, v0=SPIN)
    for start in ({}, {"start_v": [0.0, 0.1, 0.2, 0.0, 0.3, 0.0]}):
        f = Instance(path)
        f.begin(**start)
        f.step(0.0, 1.0)
        run = s.run(START, start.get("start_v", SPIN), 1.0, record_every=100)
        # what starts elsewhere is begun in C, whose multiply-adds are fused: a few ulp of the largest, here that of a second's 100 steps
        assert np.abs(f.get("v") - run.v[-1]).max() <= (100 * np.finfo(float).eps if start else 0.0)
        f.close()


def test_matrices_are_checked_as_a_whole(tmp_path):
    path = engine.export_fmu(panel(), tmp_path / "panel.fmu", platforms=[])
    assert not [v.name for v in fmpy.read_model_description(str(path)).modelVariables if "stiffness" in v.name]
    with pytest.raises(engine.ExportError, match=r"'panel\.stiffness' would have to be checked as a whole"):
        engine.export_fmu(panel(), tmp_path / "panel.fmu", inputs=["panel.stiffness"], platforms=[])


def led() -> engine.Simulator:
    """A joint that moves as told, from a place that a parameter says."""
    b = engine.Builder("led")
    for name in ("base", "arm"):
        b.add_link(name, inertia=inertia.box(1.0, [0.3, 0.1, 0.1]))
    b.add_joint("hinge", "revolute", "base", "arm", axis=[0, 1, 0])
    move = engine.Prescribed("hinge", lambda t, first: first + 0.1 * t)
    return engine.Simulator(b.model(), dt=0.01, constraints=[move], parameters={"first": 0.2})


def test_what_moves_as_told_begins_where_it_is_told(tmp_path):
    path = engine.export_fmu(led(), tmp_path / "led.fmu", q0=[0.2], v0=[0.1])
    f = Instance(path).begin()
    f.step(0.0, 0.01)
    assert abs(f.get("q")[0] - 0.201) < 1e-12
    f.close()
    for at, more in ((0.0, {"first": 0.5}), (3.0, {})):
        f = Instance(path)
        f.refused("constraints that move are not closed at the start", f.begin, at, **more)
        f.close()


def shining(**parameters) -> engine.Simulator:
    """A plate in the light of the Sun, with shares of 0.25 and 0.5."""
    plate = space.Facets({"hub": [((0, 0, 0), (1, 0, 0), 10.0)]})
    light = space.SolarPressure(plate, lambda t: np.array([1.5e11, 0, 0]), specular=0.25, diffuse=0.5)
    orbit = space.ReferenceOrbit([7e6, 0, 0], [0, 7.5e3, 0])
    return engine.Simulator(hub(), dt=1.0, frame=orbit, gravity=(0, 0, 0), forces=[light], parameters=parameters)


def test_shares_of_light_are_set_beside_the_other_or_not_at_all(tmp_path):
    path = engine.export_fmu(shining(**{"light.specular": 0.25}), tmp_path / "one.fmu", platforms=[])
    (own,) = (v for v in fmpy.read_model_description(str(path)).modelVariables if v.name == "light.specular")
    assert (own.min, own.max) == ("0.0", "0.5")
    both = engine.export_fmu(shining(**{"light.specular": 0.25, "light.diffuse": 0.5}), tmp_path / "both.fmu", platforms=[])
    assert not [v.name for v in fmpy.read_model_description(str(both)).modelVariables if v.name.startswith("light.")]
