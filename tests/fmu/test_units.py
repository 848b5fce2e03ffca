"""Units of what is set and read, as FMPy reads them: names, and exponents of SI's base units."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from engine.components.forces import JointFriction, JointSpring
from engine.components.lugre import LuGre
from engine.fmu.variables import exponents
from engine.space import ControlMomentGyros, FlexibleBody, GravityField, Magnetorquers, Modes, ReferenceOrbit, Tank, Thrusters
from tests.fmu.robots import arm, driven, fallen, midway, servicer
from tests.fmu.test_export import satellite

fmpy = pytest.importorskip("fmpy")
#: by hand, of force = mass · acceleration and so on
BASE = {
    "N": {"kg": 1, "m": 1, "s": -2}, "N.m": {"kg": 1, "m": 2, "s": -2}, "N.m.s/rad": {"kg": 1, "m": 2, "s": -1, "rad": -1},
    "N.s/m": {"kg": 1, "s": -1}, "N.m/rad": {"kg": 1, "m": 2, "s": -2, "rad": -1}, "N/m": {"kg": 1, "s": -2}, "kg": {"kg": 1},
    "kg/s": {"kg": 1, "s": -1}, "Pa": {"kg": 1, "m": -1, "s": -2}, "A.m2": {"A": 1, "m": 2}, "T": {"kg": 1, "s": -2, "A": -1},
    "N.m.s": {"kg": 1, "m": 2, "s": -1}, "N.s": {"kg": 1, "m": 1, "s": -1}, "J": {"kg": 1, "m": 2, "s": -2}, "kg/m3": {"kg": 1, "m": -3},
    "W": {"kg": 1, "m": 2, "s": -3}, "kg.m2": {"kg": 1, "m": 2}, "s/m": {"s": 1, "m": -1}, "m/s2": {"m": 1, "s": -2},
}  # fmt: skip


def read(path, version: str) -> dict[str, str | None]:
    """Return the units of an FMU's variables, each of which is defined, with the right exponents."""
    from fmpy.validation import validate_fmu

    assert validate_fmu(str(path)) == []
    found = fmpy.read_model_description(str(path))
    defined = {u.name: u.baseUnit for u in found.unitDefinitions}
    for name, base in defined.items():
        own = {n: k for n in ("kg", "m", "s", "A", "K", "mol", "cd", "rad") if (k := int(getattr(base, n) or 0))}
        assert (float(base.factor or 1.0), float(base.offset or 0.0)) == (1.0, 0.0)
        assert own == BASE.get(name, own) == exponents(name)
    assert {v.unit for v in found.modelVariables} - {None} == {*defined}
    return {v.name: v.unit for v in found.modelVariables}


def exported(simulator, tmp_path, version="3.0", **more):
    path = engine.export_fmu(simulator, tmp_path / "a.fmu", version=version, platforms=[], **more)
    return read(path, version)


def of_all(simulator, tmp_path, **more):
    """Units with everything that a record has as outputs."""
    return exported(simulator, tmp_path, outputs=[n for n in simulator.stepper.programs[1].names if n not in ("t", "x")], **more)


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_what_is_handed_to_actuators_has_their_units(tmp_path, version):
    """An input, or a gain that is none: of torques those of joints, of thrusts N."""
    found = exported(driven(), tmp_path, version, inputs=["torque"])
    assert (found["torque[1]"], found["torque[2]"]) == ("N.m", "N")            # a hinge, and a slider
    found = exported(servicer(), tmp_path, version, inputs=["thrust"])
    assert found["thrust" + ("[1]" if version == "2.0" else "")] == "N"
    twice = engine.Simulator(arm(), dt=1e-3, controller=lambda t, q, v, u: {"tau": np.array([u, u])}, parameters={"u": 0.0})
    assert exported(twice, tmp_path, version, inputs=["u"])["u"] is None       # both N·m and N
    scaled = engine.Simulator(arm(), dt=1e-3, controller=lambda t, q, v, u: -u * q, parameters={"u": 1.0})
    assert exported(scaled, tmp_path, version, inputs=["u"])["u"] is None      # who knows


def test_parameters_of_components(tmp_path):
    """Stiffness and damping by what a joint moves in."""
    springs = [JointSpring("shoulder", 10.0), JointSpring("elbow", 20.0)]
    values = {f"{s.name}.{what}": getattr(s, what) for s in springs for what in ("stiffness", "damping", "rest")}
    found = exported(engine.Simulator(arm(), dt=1e-3, forces=springs, parameters=values), tmp_path)
    expected = {"shoulder": ("N.m/rad", "N.m.s/rad", "rad"), "elbow": ("N/m", "N.s/m", "m")}
    for joint, units in expected.items():
        assert tuple(found[f"'spring of {joint}'.{what}"] for what in ("stiffness", "damping", "rest")) == units


def test_parameters_of_spacecraft(tmp_path):
    builder = engine.Builder("bus")
    builder.add_link("bus", inertia=engine.spatial.inertia.box(100.0, [0.8, 1.0, 1.2]))
    frame = ReferenceOrbit((6778137.0, 0, 0), (0, 5000.0, 5800.0), GravityField())
    tank = Tank("bus", 10.0, pressure=2e6, gas=0.01)
    jets = Thrusters("bus", [[0, 0, -1]], [[0, 0, 1]], most=1.0, name="jets")
    main = Thrusters("bus", [[0, 0, -1]], [[0, 0, 1]], most=10.0, tank=tank, isp=200.0)
    coils = Magnetorquers("bus", most=5.0, field=lambda r, t: np.array([3e-5, 0.0, 0.0]))
    gyros = ControlMomentGyros.pyramid("bus", momentum=1.0)
    simulator = engine.Simulator(
        builder.model(floating_base=True), dt=0.01, gravity=(0, 0, 0), frame=frame, actuators=[jets, main, tank, coils, gyros],
        controller=lambda t, q, v, dipole, moment: {"magnetorquers": dipole, "gyros": moment},
        forces=[FlexibleBody("bus", Modes.beam(2.0, 1.0, 100.0, 1))],
        parameters={"tank.fuel": 5.0, "jets.most": 1.0, "magnetorquers.most": 5.0,
                    "dipole": np.zeros(3), "moment": np.zeros(3)})  # fmt: skip
    with pytest.warns(engine.EngineWarning, match=r"^tank.fuel is set and put out under one name"):
        found = of_all(simulator, tmp_path, inputs=["dipole", "moment"])
    expected = {
        "tank.fuel": "kg", "output.tank.fuel": "kg", "jets.most": "N", "magnetorquers.most": "A.m2", "dipole": "A.m2", "moment": "N.m",
        "tank.flow": "kg/s", "tank.pressure": "Pa", "tank.momentum[1]": "N.m.s", "tank.momentum[6]": "N.s", "jets.thrust": "N",
        "magnetorquers.field": "T", "magnetorquers.dipole": "A.m2", "gyros.angles": "rad", "gyros.rates": "rad/s",
        "gyros.momentum": "N.m.s", "gyros.missed": "N.m", "gyros.power": "W", "'modes of bus'.energy": "J",
        "'modes of bus'.momentum[4]": "N.s", "jets.saturated": None, "'modes of bus'.eta": None}  # fmt: skip
    assert {n: found[n] for n in expected} == expected


def test_numbers_of_models_and_of_surfaces(tmp_path):
    found = of_all(midway(), tmp_path)
    expected = {"gravity": "m/s2", "damping.shoulder": "N.m.s/rad", "friction.elbow": "N", "displacement.elbow[3]": "rad",
                "displacement.elbow[4]": "m", "center.tip": "m"}  # fmt: skip
    assert {n: found[n] for n in expected} == expected
    values = {"contact_stiffness.crate": 1e5, "contact_dissipation.crate": 1.0, "contact_friction.crate": 0.5}
    s = fallen()
    simulator = engine.Simulator(s.model, contacts=engine.Contacts(engine.HalfSpace()), parameters=values)
    found = exported(simulator, tmp_path, q0=[1.0, 0, 0, 0, 0, 0, 1.0])
    assert [found[n] for n in values] == ["N/m", "s/m", None]
    rotors = engine.Simulator(arm(), dt=1e-3, parameters={"armature.shoulder": 0.1, "armature.elbow": 0.1})
    found = exported(rotors, tmp_path)
    assert (found["armature.shoulder"], found["armature.elbow"]) == ("kg.m2", "kg")


def test_what_forces_say(tmp_path):
    """Of a hinge N·m and of a slider N, by numbers where they are of both."""
    bristles = [LuGre("shoulder", 1.0), LuGre("elbow", 1.0)]
    simulator = engine.Simulator(arm(), dt=1e-3, forces=[JointFriction(damping=0.1), *bristles], joint_dynamics=None)
    found = of_all(simulator, tmp_path)
    expected = {
        "friction.force[1]": "N.m", "friction.force[2]": "N", "friction.power": "W", "'bristles of shoulder'.force": "N.m",
        "'bristles of elbow'.bristle": "m", "'bristles of elbow'.energy": "J"}  # fmt: skip
    assert {n: found[n] for n in expected} == expected
    found = of_all(servicer(), tmp_path, inputs=["thrust"])
    assert [found[n] for n in ("frame.origin", "frame.velocity", "drag.density", "drag.force", "tank.fuel", "friction.force[7]",
                               "stops.force[4]")] == ["m", "m/s", "kg/m3", "N", "kg", "N.m", "N"]  # fmt: skip


def test_commands_of_a_controller_alone(tmp_path):
    """Torques by joints, and what actuators are told."""
    found = exported(satellite(), tmp_path, part="controller")
    assert found["wheels"] == "N.m"
    found = exported(driven(), tmp_path, part="controller")
    assert (found["tau.shoulder"], found["tau.elbow"], found["torque[2]"]) == ("N.m", "N", "N")
