"""Each component of the room by what is done with simulators: rows of batches, parameters, runs that go on, C, derivatives; a table of all
of it, which the docs have too."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

import engine
from engine.components.actuators import ReactionWheels
from engine.components.lugre import LuGre
from engine.space import (
    ASTRONOMICAL_UNIT,
    EARTH_J2,
    ControlMomentGyros,
    Dipole,
    Drag,
    Facets,
    FlexibleBody,
    GravityField,
    Magnetorquers,
    Modes,
    Plume,
    ReferenceOrbit,
    SimulationError,
    SolarPressure,
    Tank,
    Thrusters,
    add_chain,
    add_modes,
    add_slosh,
)
from engine.spatial import inertia, se3
from tests.code.programs import FLAGS, FMA, needed, reported

PLATES = Facets({"hub": [((0, 0, 0.1), (0, 1, 0), 4.0), ((0, 0, 0), (1, 0, 0), 2.0)]})
BEAM = Modes.beam(3.0, 2.0, 60.0, 1, damping=0.01)
SUN = lambda t: ASTRONOMICAL_UNIT * np.array([0.6, 0.8, 0.0])
#: by component: the parameter that it has and two values, or None: it has none, and says so; and what is commanded
TABLE = {
    "Tank, Thrusters": ("tank.fuel", (30.0, 12.0), {"thrusters": np.array([4.0])}),
    "Thrusters": ("thrusters.most", (5.0, 3.0), {"thrusters": np.array([4.0])}),
    "add_slosh, SloshingTank": ("tank.fuel", (30.0, 12.0), {"thrusters": np.array([4.0])}),
    "add_modes": ("spring of beam mode 1 joint.stiffness", (3.0, 5.0), {}),
    "add_chain": ("spring of beam 1 joint.damping", (0.1, 0.5), {}),
    "FlexibleBody": ("boom.stiffness", (BEAM.stiffness, 1.3 * BEAM.stiffness), {"boom": np.array([0, 0, 0.01, 0.02, 0, 0.03])}),
    "Drag": ("drag.cd", (2.2, 2.8), {}),
    "SolarPressure": ("light.specular", (0.1, 0.6), {}),
    "Magnetorquers": ("magnetorquers.most", (5.0, 3.0), {"magnetorquers": np.array([4.0, -4.0, 2.0])}),
    "ReferenceOrbit": (None, (), {}),
    "Plume": (None, (), {"thrusters": np.array([4.0])}),
    "ControlMomentGyros": (None, (), {"gyros": np.array([0.02, -0.01, 0.03])}),
    "ReactionWheels, out of balance": (None, (), {"wheels": np.array([0.02, -0.01, 0.03])}),
    "LuGre": (None, (), {}),
}
#: what each would be asked for in vain
IN_VAIN = {"ReferenceOrbit": "frame.start", "Plume": "plume.exponent", "ControlMomentGyros": "gyros.momentum",
           "ReactionWheels, out of balance": "wheels.inertia", "LuGre": "rubs.coulomb"}  # fmt: skip


def simulator(name, given=()):
    """A hub with an arm, and a component."""
    builder, forces, actuators, frame = engine.Builder("sat"), [], [], None
    rod = inertia.transformed(se3.pose(np.eye(3), [1.5, 0, 0]), inertia.from_mass(2.0, np.zeros(3), np.diag([0.0, 1.5, 1.5])))
    builder.add_link("hub", inertia=inertia.box(300.0, [1.0, 1.2, 1.5]) + rod)
    builder.add_link("arm", inertia=inertia.from_mass(8.0, np.array([0.5, 0, 0]), np.diag([0.1, 0.7, 0.7])))
    builder.add_joint("elbow", "revolute", "hub", "arm", se3.pose(np.eye(3), [0, 0.7, 0]), axis=(0, 0, 1))
    tank, orbit = Tank("hub", 60.0, 30.0, shape="sphere", placement=(0, 0, -0.3)), ReferenceOrbit((6578137.0, 0, 0), (0, 5000.0, 5900.0))
    where = [[0.02, 0, -0.8]], [[0, 0.01, 1.0]]
    match name:
        case "Tank, Thrusters":
            actuators = [Thrusters("hub", *where, most=5.0, tank=tank, isp=100.0), tank]
        case "Thrusters":
            actuators = [Thrusters("hub", *where, most=5.0)]
        case "add_slosh, SloshingTank":
            slosh = add_slosh(builder, tank, "spring", 0.01, 0.1)
            forces, actuators = [*slosh.springs], [Thrusters("hub", *where, most=5.0, tank=slosh.tank, isp=100.0), slosh.tank]
        case "add_modes":
            forces = add_modes(builder, "hub", 5.0, 12.0, 400.0, 1)
        case "add_chain":
            forces = add_chain(builder, "hub", 5.0, 12.0, 400.0, 2, damping=0.1)
        case "FlexibleBody":
            forces = [FlexibleBody("hub", BEAM, [[0.0, 0.05], [0.0, 0.1]], name="boom")]
        case "Drag":
            forces, frame = [Drag(PLATES)], orbit
        case "SolarPressure":
            forces, frame = [SolarPressure(PLATES, SUN)], orbit
        case "Magnetorquers":
            actuators, frame = [Magnetorquers("hub", most=5.0, field=Dipole())], orbit
        case "ReferenceOrbit":
            frame = ReferenceOrbit((6578137.0, 0, 0), (0, 5000.0, 5900.0), GravityField(zonals={2: EARTH_J2}))
        case "Plume":
            plume = Plume("hub", *where, Facets({"arm": [((0.5, 0, 0), (0, 0, 1), 1.0)]}))
            actuators = [Thrusters("hub", [[0, 0.7, 3.0]], [[0, 0, 1.0]], most=5.0, plume=plume), plume]
        case "ControlMomentGyros":
            actuators = [ControlMomentGyros.pyramid("hub", 2.0, initial=np.radians([20.0, -35.0, 50.0, 70.0]))]
        case "ReactionWheels, out of balance":
            actuators = [ReactionWheels("hub", initial=[1.0, -2.0, 0.5], inertia=0.01, static=1e-5, dynamic=2e-7)]
        case "LuGre":
            forces = [LuGre("elbow", 0.5, 0.7, 1e3, 3.0, 0.1, 0.1, name="rubs")]
    command = TABLE[name][2]
    control = (lambda t, q, v: command) if command else None
    return engine.Simulator(builder.model(floating_base=True), dt=0.02, gravity=(0, 0, 0), frame=frame, forces=forces, actuators=actuators,
                            controller=control, parameters=dict(given), joint_dynamics=None)  # fmt: skip


def begun(model):
    q, v = model.neutral(), np.zeros(model.nv)
    v[:7] = [0.02, -0.01, 0.03, 0.1, -0.2, 0.05, 0.1]
    return q, v


@pytest.mark.parametrize("name", TABLE)
def test_all_of_it(name, tmp_path):
    needed("gcc")
    what, values, _ = TABLE[name]
    made = simulator(name, {} if what is None else {what: values[0]})
    model, (q, v) = made.model, begun(made.model)
    whole = made.run(q, v, 0.6)
    # rows of a batch, and of parameters, are runs
    rows = {} if what is None else {what: np.array(values)}
    batch = made.run(q, np.array([v, v if rows else 1.5 * v]), 0.6, parameters=rows)
    assert (batch.q[0] == whole.q).all()
    assert all((batch(n)[0] == whole(n)).all() for n in whole.signals)
    if rows:
        assert (made.run(q, v, 0.6, parameters={what: values[1]}).v == batch.v[1]).all()
        assert np.abs(batch.v[1] - batch.v[0]).max() > 1e-12
    # a run that goes on
    made.run(q, v, 0.3, out=tmp_path / "a.h5")
    made.resume(tmp_path / "a.h5", 0.6)
    again = engine.load_trajectory(tmp_path / "a.h5")
    assert (again.q == whole.q).all()
    assert all((again(n) == whole(n)).all() for n in whole.signals)
    # the step in C
    engine.export_code(made, tmp_path / "flies.c", part="step", q0=q, v0=v)
    assert reported(tmp_path, "flies", "gcc", *FLAGS, "-O0", *FMA).startswith("ok: flies")
    # its derivatives, by differences of steps; what modes carry stays
    A, _ = made.linearize(q, v)
    first = made.start(q, v)
    stepped = lambda v: made.step(dataclasses.replace(first, v=v)).v
    for k in (1, 6):
        d = 1e-3 * np.eye(model.nv)[k]
        slope = (8.0 * (stepped(v + d) - stepped(v - d)) - (stepped(v + 2.0 * d) - stepped(v - 2.0 * d))) / 12e-3
        assert np.abs(A[model.nv : 2 * model.nv, model.nv + k] - slope).max() < 1e-9


@pytest.mark.parametrize("name", [name for name, (what, *_) in TABLE.items() if what is not None])
def test_a_step_s_derivative_by_its_parameter(name):
    """From how a run begins with it until a step later, against differences of the fourth order of compiled steps."""
    what, (_, value), _ = TABLE[name]                                          # the second one, which is a limit that is met
    made = simulator(name, {what: value})
    (q, v), stepper = begun(made.model), made.stepper
    begin = stepper.at(q, v, stepper.nominal())
    value, place = np.asarray(value, dtype=float), stepper.parameters.slices[what]
    way = value if value.any() else np.ones(value.shape)                       # a matrix grows as a whole

    def along(x):
        p = np.array([*stepper.nominal()], dtype=object)
        p[place] = value.reshape(-1) + x[0] * way.reshape(-1)
        return stepper.step(0.0, 0.0, stepper.dt, p, stepper.at(q, v, p))

    def stepped(x):
        p, state = stepper.begin(q, v, {what: value + x * way})
        return stepper.advance(p, state)

    slope, d = engine.jacobian(along)(np.zeros(1))[:, 0], 1e-3
    found = (8.0 * (stepped(d) - stepped(-d)) - (stepped(2.0 * d) - stepped(-2.0 * d))) / (12.0 * d)
    scale = np.maximum(np.maximum(np.abs(begin), np.abs(slope)), 1.0)          # what rounding of a state makes of differences
    assert (np.abs(slope - found) / scale).max() < 1e-9
    assert np.abs(slope).max() > 1e-12


@pytest.mark.parametrize("name", IN_VAIN)
def test_what_is_no_parameter_is_told(name):
    made = None
    with pytest.raises(SimulationError, match=f"nothing reads the parameter '{IN_VAIN[name]}'"):
        made = simulator(name, {IN_VAIN[name]: 1.0})
        made.run(*begun(made.model), 0.02)


def test_the_docs_have_the_table():
    text = (Path(engine.__file__).parent / "docs" / "orbits.md").read_text(encoding="utf-8")
    for name, (what, *_) in TABLE.items():
        (row,) = [line for line in text.splitlines() if line.startswith(f"| {name} |")]
        assert (f"`{what}`" in row) == (what is not None)
