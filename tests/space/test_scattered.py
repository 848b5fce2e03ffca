"""Fuel, modes, coefficients and thrusts as parameters: rows of a batch are simulators that have those numbers; and what is done with
them."""

import dataclasses
import pickle

import numpy as np
import pytest

import engine
from engine.components.forces import JointSpring
from engine.space import (
    Drag,
    Facets,
    FlexibleBody,
    GravityField,
    Modes,
    ReferenceOrbit,
    SimulationError,
    SolarPressure,
    Tank,
    Thrusters,
    add_modes,
    add_slosh,
)
from engine.spatial import inertia, se3

MODES = Modes.beam(6.0, 2.0, 60.0, 1, damping=0.01)
STIFF = "spring of panel mode 1 joint.stiffness"
GIVEN = {"tank.fuel": 30.0, "thrusters.most": 5.0, "drag.cd": 2.2, "light.specular": 0.1, "boom.stiffness": MODES.stiffness, STIFF: 3.0}


def satellite(parameters=(), slosh=False, orbit=True, **own):
    """A hub with a panel as a mode, a boom that bends, and a tank, in an orbit; ``own`` are its numbers, some of them parameters."""
    own = {**GIVEN, **own}
    builder = engine.Builder("sat")
    rod = inertia.transformed(se3.pose(np.eye(3), [3.0, 0, 0]), inertia.from_mass(2.0, np.zeros(3), np.diag([0.0, 6.0, 6.0])))
    builder.add_link("hub", inertia=inertia.box(300.0, [1.0, 1.2, 1.5]) + rod)
    (panel,) = add_modes(builder, "hub", 5.0, 12.0, 400.0, 1, placement=se3.pose(np.diag([-1.0, -1.0, 1.0]), [-0.8, 0, 0]), name="panel")
    panel.stiffness = own[STIFF]
    tank, springs = Tank("hub", 60.0, own["tank.fuel"], shape="sphere", placement=(0, 0, -0.3)), ()
    if slosh:
        found = add_slosh(builder, tank, "spring", 0.01, 0.1)
        tank, springs = found.tank, found.springs
    jets = Thrusters("hub", [[0.02, 0, -0.8]], [[0, 0.01, 1.0]], most=own["thrusters.most"], tank=tank, isp=100.0)
    boom = FlexibleBody("hub", Modes(**{**vars(MODES), "stiffness": own["boom.stiffness"]}), [[0.0, 0.05], [0.0, 0.1]], name="boom")
    facets = Facets({"hub": [((0, 0, 0.1), (0, 1, 0), 4.0), ((0, 0, 0), (1, 0, 0), 2.0)]})
    sun = lambda t: 1.5e11 * np.array([0.6, 0.8, 0.0])
    acting = [Drag(facets, cd=own["drag.cd"]), SolarPressure(facets, sun, specular=own["light.specular"])] if orbit else []
    frame = ReferenceOrbit((6578137.0, 0, 0), (0, 5000.0, 5900.0), GravityField()) if orbit else None
    return engine.Simulator(builder.model(floating_base=True), dt=0.05, gravity=(0, 0, 0), frame=frame, actuators=[jets, tank],
                            forces=[panel, *springs, boom, *acting], controller=burning,
                            parameters={n: GIVEN[n] for n in parameters})  # fmt: skip


def burning(t, q, v):
    return {"thrusters": np.array([10.0])}


def begun(simulator):
    q, v = simulator.model.neutral(), np.zeros(simulator.model.nv)
    v[:3], v[6] = [0.02, -0.01, 0.03], 0.05
    return q, v


@pytest.fixture(scope="module")
def scattered():
    return satellite(GIVEN)


def test_rows_are_simulators_with_those_numbers(scattered):
    """A batch in which all are scattered, against one simulator for each row."""
    q, v = begun(scattered)
    rows = {"tank.fuel": np.array([30.0, 12.0]), "thrusters.most": np.array([5.0, 3.0]), "drag.cd": np.array([2.2, 2.8]),
            STIFF: np.array([3.0, 5.0]), "light.specular": np.array([0.1, 0.6]),
            "boom.stiffness": np.array([MODES.stiffness, 1.3 * MODES.stiffness])}  # fmt: skip
    batch = scattered.run(q, v, 5.0, parameters=rows, record_every=20)
    for k in range(2):
        alone = satellite(**{n: x[k] for n, x in rows.items()}).run(q, v, 5.0, record_every=20)
        assert np.abs(batch.q[k] - alone.q).max() < 1e-12
        for name in ("tank.fuel", "boom.eta", "drag.force", "light.force", "thrusters.thrust"):
            assert np.abs(batch(name)[k] - alone(name)).max() < 1e-12 * max(1.0, np.abs(alone(name)).max()), name
    assert batch("tank.fuel")[1, -1] == pytest.approx(12.0 - 5.0 * 3.0 / (100.0 * 9.80665), rel=1e-12)
    assert np.abs(batch.q[0, -1] - batch.q[1, -1]).max() > 1e-4


def test_resume_pickles_adaptive_runs_and_steps(scattered, tmp_path):
    q, v = begun(scattered)
    given = {"tank.fuel": 12.0, "boom.stiffness": 1.3 * MODES.stiffness}
    whole = scattered.run(q, v, 2.0, parameters=given)
    scattered.run(q, v, 1.0, parameters=given, out=tmp_path / "a.h5")
    scattered.resume(tmp_path / "a.h5", 2.0)
    assert (engine.load_trajectory(tmp_path / "a.h5").q == whole.q).all()
    state = scattered.step(scattered.start(q, v, given), 40)
    assert (state.q == whole.q[-1]).all()
    end, _ = scattered.solve(q, v, 2.0, tolerance=1e-9, parameters=given)(2.0)
    assert np.abs(end - whole.q[-1]).max() < 1e-5
    P = whole.momentum() + whole("tank.momentum") + whole("boom.momentum")
    assert np.isfinite(P).all()


def test_derivatives_by_parameters(scattered):
    """The step's matrices by differences."""
    q, v = begun(scattered)
    A, _ = scattered.linearize(q, v)
    nv, first = scattered.model.nv, scattered.start(q, v)
    step = lambda x: scattered.step(dataclasses.replace(first, v=x)).v          # what the modes carry stays
    for k in (2, 6):
        d = 1e-4 * np.eye(nv)[k]
        assert np.abs(A[nv : 2 * nv, nv + k] - (step(v + d) - step(v - d)) / 2e-4).max() < 1e-6


def test_its_step_is_written_as_c(scattered, tmp_path):
    assert "boom" in engine.export_code(scattered, tmp_path / "step.c", part="step").with_suffix(".h").read_text()


def test_of_a_liquid_that_swings_the_fuel_is_scattered_too():
    simulator = satellite(["tank.fuel"], slosh=True, orbit=False)
    q, v = begun(simulator)
    batch = simulator.run(q, v, 3.0, parameters={"tank.fuel": np.array([30.0, 10.0])}, record_every=10)
    mass = batch("inertia.slosh of tank")[1, :, 5, 5]
    assert mass[0] == pytest.approx(engine.space.slosh_of(Tank("hub", 60.0, 10.0, shape="sphere")).m1, rel=1e-9)
    P = batch.momentum() + batch("tank.momentum") + batch("boom.momentum")
    assert np.abs(P - P[:, :1]).max() < 1e-7


def test_what_does_not_fit_is_refused(scattered):
    q, v = begun(scattered)
    with pytest.raises(SimulationError, match=r"'tank\.fuel' is 61 kg, and 60 kg fit in"):
        scattered.run(q, v, 1.0, parameters={"tank.fuel": np.array([30.0, 61.0])})
    with pytest.raises(engine.EngineError, match=r"tank\.fule"):
        satellite(["tank.fuel"]).run(q, v, 1.0, parameters={"tank.fule": 1.0})
    for name, bad, text in (("thrusters.most", -1.0, "is -1; expected a number from 0"), ("drag.cd", [-2.0, 1.0], "is -2"),
                            ("boom.stiffness", [[-1.0, 0.0], [0.0, 1.0]], "not symmetric and from zero")):  # fmt: skip
        with pytest.raises(SimulationError, match=text):
            scattered.run(q, v, 1.0, parameters={name: bad})
    with pytest.raises(SimulationError, match="has shape"):
        engine.Simulator(scattered.model, gravity=(0, 0, 0), parameters={"boom.stiffness": 1.0},
                         forces=[FlexibleBody("hub", MODES, name="boom"), JointSpring("panel mode 1 joint", 1.0)])  # fmt: skip
    assert pickle.loads(pickle.dumps(Tank("hub", 60.0))).fuel == 60.0


def test_what_holds_from_a_start_alone_is_refused_in_a_step():
    """A blow-down's pressure would go by a fuel that never was; what may change does, and a start takes both."""
    tank = Tank("hub", 60.0, 40.0, pressure=2e6, gas=0.02)
    jet = Thrusters("hub", [[0, 0, -1]], [[0, 0, 1]], most=20.0, tank=tank, isp=220.0)
    b = engine.Builder("craft")
    b.add_link("hub", inertia=inertia.box(100.0, [0.8, 1.0, 1.2]))
    simulator = engine.Simulator(b.model(floating_base=True), dt=0.01, gravity=(0, 0, 0), actuators=[jet, tank],
                                 controller=lambda t, q, v: {"thrusters": np.array([10.0])},
                                 parameters={"tank.fuel": 40.0, "thrusters.most": 20.0})  # fmt: skip
    assert simulator.stepper.firsts == ("tank.fuel",)
    state = simulator.start([1.0, 0, 0, 0, 0, 0, 0], np.zeros(6), {"tank.fuel": 20.0})
    text = r"^parameter 'tank\.fuel' says how a run begins, and nothing after that; expected it in start\(…, parameters=…\)$"
    with pytest.raises(engine.SimulationError, match=text):
        simulator.step(state, 10, {"tank.fuel": 30.0, "thrusters.most": 5.0})
    after = simulator.step(state, 10, {"thrusters.most": 5.0})
    assert after.signals["thrusters.thrust"][0] < 5.0 + 1e-12
