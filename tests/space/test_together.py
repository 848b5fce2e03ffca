"""All of it at once: a servicer in orbit, an arm that rubs and stops, a tank that drains, drag; and what is done with simulators."""

import pickle

import numpy as np
import pytest

import engine
from engine.space import EARTH_J2, Drag, Ephemeris, Facets, GravityField, ReferenceOrbit, Tank, ThirdBody, Thrusters
from engine.spatial import inertia, se3


@pytest.fixture(scope="module")
def simulator():
    builder = engine.Builder("servicer")
    builder.add_link("hub", inertia=inertia.box(300.0, [1.0, 1.2, 1.5]))
    builder.add_link("arm", inertia=inertia.box(10.0, [1.0, 0.2, 0.2]))
    builder.add_joint("elbow", "revolute", "hub", "arm", se3.pose(np.eye(3), [0.6, 0, 0]), limits=engine.Limits(-1, 1), friction=0.1,
                      damping=0.1)  # fmt: skip
    moon = ThirdBody(4.9e12, Ephemeris(lambda t: 3.8e8 * np.array([np.cos(2.6e-6 * t), np.sin(2.6e-6 * t), 0.0]), 1e5))
    frame = ReferenceOrbit((6778137.0, 0, 0), (0, 5000.0, 5800.0), GravityField(zonals={2: EARTH_J2}, third_bodies=[moon]))
    tank = Tank("hub", 100.0, 60.0, shape="cylinder", radius=0.4)
    jet = Thrusters("hub", [[0, 0, -1]], [[0, 0, 1]], most=10.0, tank=tank, isp=200.0)
    return engine.Simulator(builder.model(floating_base=True), dt=0.1, gravity=(0, 0, 0), frame=frame, actuators=[jet, tank],
                            forces=[Drag(Facets({"hub": [((0, 0, 0), (1, 0, 0), 2.0)]}))], controller=pushing,
                            parameters={"mass.arm": 10.0})  # fmt: skip


def pushing(t, q, v):
    return {"thrusters": np.array([4.0])}


def test_batches_parameters_pickles_and_adaptive_runs(simulator):
    q, v = simulator.model.neutral(), np.zeros(simulator.model.nv)
    v[6] = 0.2
    one = simulator.run(q, v, 3.0)
    batch = simulator.run(q, np.array([v] * 3), 3.0, parameters={"mass.arm": np.array([5.0, 10.0, 20.0])})
    assert (batch.q[1] == one.q).all()
    assert (batch.momentum()[1] == one.momentum()).all()
    assert np.abs(batch.q[0, -1] - one.q[-1]).max() > 1e-6
    assert (pickle.loads(pickle.dumps(simulator)).run(q, v, 1.0).q == one.q[:11]).all()
    end, _ = simulator.solve(q, v, 1.0, tolerance=1e-9)(1.0)
    assert np.abs(end - one.q[10]).max() < 1e-4


def test_derivatives_and_code(simulator, tmp_path):
    """The step's matrices by differences; and it is written as C."""
    q, v = simulator.model.neutral(), np.zeros(simulator.model.nv)
    A, B = simulator.linearize(q, v)
    assert np.isfinite(A).all() and np.isfinite(B).all()
    step = lambda x: simulator.step(simulator.start(q, x)).v
    for k in (0, 5):
        d = 1e-4 * np.eye(simulator.model.nv)[k]
        column = (step(v + d) - step(v - d)) / 2e-4
        assert np.abs(A[7:14, 7 + k] - column).max() < 1e-6
    assert "tank" in engine.export_code(simulator, tmp_path / "step.c", part="step").with_suffix(".h").read_text()
