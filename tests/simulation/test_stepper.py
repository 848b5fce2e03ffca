"""The stepper: what other rooms repeat is the simulator's own step, from its own beginning."""

import numpy as np

import engine
from engine.compiler import interpret, trace
from tests.contact.scenes import UPRIGHT, ball
from tests.numeric import ROUNDED, close


def flyer(**options):
    return engine.Simulator(engine.load(engine.example("free_flyer")), dt=0.01, parameters={"gravity": (0.0, 0.0, -1.0)}, **options)


def test_its_steps_are_the_simulators():
    """Plain on floats, interpreted, and compiled; the state by name."""
    simulator, plain = flyer(), flyer(compiled=False).stepper
    stepper, model = simulator.stepper, simulator.model
    q0, v0 = model.random(np.random.default_rng(0))
    p, x = stepper.begin(q0, v0)
    assert np.array_equal(stepper.nominal(), p) and np.array_equal(stepper.at(q0, v0, p), x)
    traced = trace(lambda q, v: stepper.at(q, v, p), [(model.nq,), (model.nv,)])
    assert np.array_equal(interpret(traced, q0, v0), x)
    state, tolerance = simulator.start(q0, v0), ROUNDED * np.linalg.cond(engine.dynamics.crba(model, q0))       # v̇ = M⁻¹ f
    for k in range(3):
        given = 0.0, float(k), stepper.dt, p, x
        x, state = stepper.advance(p, x, k=k), simulator.step(state)
        close(interpret(stepper.program, *given), x, tolerance)
        close(plain.step(*given), x, tolerance)
        assert np.array_equal(stepper.state(x).q, state.q) and np.array_equal(stepper.state(x).v, state.v)
    assert {*plain.observe(0.0, 3.0, plain.dt, p, x)} == {*stepper.record.shapes}
    assert np.array_equal(stepper.advance(*stepper.begin(q0, v0), steps=3), x)


def test_a_batch_begins_with_its_own_parameters():
    stepper, model = (simulator := flyer()).stepper, simulator.model
    gravity = np.array([[0.0, 0.0, -1.0], [0.0, 0.0, -2.0]])
    p, x = stepper.begin(model.neutral(), np.zeros(model.nv), {"gravity": gravity})
    assert np.array_equal(stepper.parameters.split(p)["gravity"], gravity) and x.shape == (2, stepper.layout.n)
    assert stepper.seen(p[0], x[0]).q.shape == (1, model.nq)


def test_what_lies_in_each_other_is_not_apart():
    """On floats and traced, as a run refuses it."""
    simulator = engine.Simulator(ball(0.05), dt=0.01, contacts=engine.Contacts(engine.HalfSpace()), compiled=False)
    stepper = simulator.stepper
    for height, apart in ((0.04, True), (0.02, False)):
        q = np.array([*UPRIGHT, 0.0, 0.0, height])
        (found,) = stepper.apart(q, stepper.nominal())
        program = trace(lambda q: np.array([engine.ops.where(stepper.apart(q, stepper.nominal())[0], 1.0, 0.0)]), [(7,)])
        assert bool(found) == bool(interpret(program, q)[0]) == apart
    assert engine.Simulator(ball(), dt=0.01, compiled=False).stepper.apart(q, stepper.nominal()) == []
