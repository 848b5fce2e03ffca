"""Laws that tick: memory, delays, and noise by counter."""

import pickle

import numpy as np
import pytest

import engine
from engine import Law, ops
from tests.components.test_written_controllers import MODEL

Q, V = np.array([0.1, 0.3, -0.2]), np.array([0.2, -0.1, 0.4])


def run(controller=None, q=Q, v=V, duration=0.05, dt=1e-3, parameters=None, **options):
    return engine.Simulator(MODEL, dt=dt, controller=controller, **options).run(q, v, duration=duration, parameters=parameters)


def counter(t, q, v, memory):
    return 0.1 * memory[0] * np.ones(3), memory + [1.0, t]


def steered_noisily(t, q, v, noise):
    return -10.0 * (q + 0.01 * noise(3)) - v + 0.1 * noise.uniform(1)


def alternates(t, q, v, memory):
    return np.where(memory[0] > 0.5, 0.3, -0.3) * np.ones(3), 1.0 - memory


def test_memory_from_tick_to_tick():
    """It counts the ticks and adds up their times; without a period it ticks at every step; plain and compiled alike."""
    for compiled in (True, False):
        tau = run(Law(counter, memory=[0.0, 0.0], period=0.01), compiled=compiled).tau[:, 0]
        np.testing.assert_allclose(tau, 0.1 * np.floor(np.arange(51) / 10 + 1e-9), atol=1e-15)
        assert run(Law(alternates, memory=[0.0]), compiled=compiled).tau[:5, 0].tolist() == [-0.3, 0.3, -0.3, 0.3, -0.3]


def remembers_in_place(t, q, v, memory):
    memory[2:] = 0.9 * memory[2:]
    ring = memory.reshape(2, 3)
    ring[0] += q
    memory[memory > 3.0] = 3.0
    return -memory[:3], memory


def test_a_memory_may_be_written_into():
    """As on floats: the array is the tick's own."""
    compiled, plain = (run(Law(remembers_in_place, memory=np.zeros(6), period=0.002), compiled=c) for c in (True, False))
    np.testing.assert_allclose(compiled.tau, plain.tau, rtol=0, atol=1e-13)
    assert np.abs(compiled.tau[-1]).max() > 0.1


def test_gravity_is_an_array():
    compiled, plain = (run(lambda t, q, v, gravity: 0.1 * np.array([-gravity[2], 0.0, 0.0]) + 0.0 * (2 * gravity), compiled=c)
                       for c in (True, False))  # fmt: skip
    np.testing.assert_allclose(compiled.q, plain.q, rtol=0, atol=1e-14)


def test_a_delay_acts_later():
    """τ is q as it was two ticks before; nothing until then. With none, as it was at the tick."""
    now, late = (run(Law(lambda t, q, v: 1.0 * q, period=0.01, delay=delay)) for delay in (0.0, 0.02))
    np.testing.assert_array_equal(now.tau[::10], now.q[::10])
    np.testing.assert_array_equal(late.tau[20::10], late.q[:-20:10])
    assert not late.tau[:20].any()
    step = run(Law(lambda t, q, v: 1.0 * q, delay=0.003))                     # of every step, if there is no period
    np.testing.assert_array_equal(step.tau[3:], step.q[:-3])


def test_noise_is_a_function_of_seed_run_and_tick():
    """Alone and in a batch, compiled and plain; of NumPy's Philox; and other runs and seeds have others."""
    law = Law(steered_noisily, period=0.005)
    batch = run(law, np.tile(Q, (5, 1)), np.tile(V, (5, 1)), parameters={"noise.run": np.arange(5.0), "noise.seed": 7})
    for k in (0, 3):
        alone = run(law, parameters={"noise.run": k, "noise.seed": 7})
        np.testing.assert_array_equal(alone.q, batch.q[k])
        plain = run(law, parameters={"noise.run": k, "noise.seed": 7}, compiled=False)
        np.testing.assert_allclose(plain.q, alone.q, rtol=0, atol=1e-14)
    assert (batch.tau[0] != batch.tau[1]).all() and (run(law).tau != run(law, parameters={"noise.seed": 1.0}).tau).all()
    assert (np.diff(batch.tau[0, ::5], axis=0) != 0).all()
    np.testing.assert_array_equal(run(law).tau, run(law).tau)


def test_noise_has_its_moments():
    """Mean and deviation of 60 000 normal numbers within five of theirs, and no correlation between calls, ticks and runs."""
    def says(t, q, v, noise):
        return np.concatenate([noise(2), noise(1)])

    found = run(says, np.zeros((200, 3)), np.zeros((200, 3)), duration=0.1, parameters={"noise.run": np.arange(200.0)}).tau[:, :-1]
    n = found.size
    assert abs(found.mean()) < 5 / np.sqrt(n) and abs(found.std() - 1) < 5 / np.sqrt(2 * n) and n == 60_000
    for a, b in ((found[..., 0], found[..., 1]), (found[..., 0], found[..., 2]), (found[:, 1:], found[:, :-1]), (found[1:], found[:-1])):
        assert abs(np.mean(a * b)) < 5 / np.sqrt(a.size)


@pytest.mark.parametrize("n", [0, 1, 3, 4, 9])
def test_numbers_are_numpys_philox(n):
    """Compiled, interpreted and plain; each entry of a batch by itself."""
    rng = np.random.default_rng(n)
    given = rng.integers(0, 2**52, size=(11, 5)).astype(float)
    f = engine.gufunc(lambda x: ops.uniform(n, *x), f"(5)->({n})")
    expected = [np.random.Generator(np.random.Philox(key=int(s) + (int(stream) << 64), counter=[0, int(a), int(b), int(c)])).random(n)
                for s, stream, a, b, c in given]  # fmt: skip
    for found in (f(given), [f(x) for x in given], engine.compiler.interpret(f.program, given), [ops.uniform(n, *x) for x in given]):
        np.testing.assert_array_equal(found, np.reshape(expected, (11, n)))
    g = engine.gufunc(lambda x: ops.normal(n, *x), f"(5)->({n})")
    np.testing.assert_allclose(g(given), np.reshape([ops.normal(n, *x) for x in given], (11, n)), rtol=0, atol=1e-14)


def test_what_is_no_whole_number_draws_the_same_alone_and_in_a_batch():
    f = engine.gufunc(lambda x: ops.uniform(5, *x), "(5)->(5)")
    given = np.tile([7.0, 1.0, 2.0, 3.0, 4.0], (40, 1))
    given[np.arange(40), np.arange(40) % 5] = np.repeat([np.nan, np.inf, -np.inf, -1.0, -(2.0**63), 2.0**63, 1e300, 0.5], 5)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(f(given), [f(x) for x in given])


def test_forces_tick_too():
    """Gusts in generalized forces, and in a wrench on a link, that last for a tick."""
    gusts = run(forces=[Law(lambda t, q, v, noise: noise(3), period=0.01)]).vdot
    assert np.abs(np.diff(gusts, axis=0)[9::10]).min() > 20 * np.abs(np.diff(gusts, axis=0)[4::10]).max() * 0.01
    pushed = run(forces=[Law(lambda t, q, v, memory: ({"link2": np.array([0, memory[0], 0, 0, 0, 0])}, 0.5 * memory), memory=[1.0])])
    assert np.abs(pushed.v[-1] - run().v[-1]).max() > 1e-3
    two = run(forces=[Law(lambda t, q, v, noise: noise(3)), Law(lambda t, q, v, noise: -noise(3))])
    assert np.abs(two.v[-1] - run().v[-1]).max() > 1e-4                        # each has a stream of its own: they do not cancel


def test_a_run_in_two_parts_and_from_a_file(tmp_path):
    """Ticks, memories and noise go on, and a pickled simulator is the same."""
    simulator = engine.Simulator(MODEL, controller=Law(steered_noisily, period=0.004, delay=0.008))
    whole = simulator.run(Q, V, duration=0.05)
    state = simulator.step(simulator.step(simulator.start(Q, V), 17), 33)
    np.testing.assert_array_equal(state.q, whole.q[-1])
    path = simulator.run(Q, V, duration=0.02, out=tmp_path / "run.h5")
    np.testing.assert_array_equal(engine.load_trajectory(simulator.resume(path, duration=0.05)).q, whole.q)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(simulator)).run(Q, V, duration=0.05).q, whole.q)


def test_what_is_not_due_is_not_computed():
    """A policy of 10⁵ weights that ticks once is hardly slower than none: the step holds it in a branch."""
    weights = [(np.ones((300, 6)) / 9, np.zeros(300)), (np.ones((300, 300)) / 300, np.zeros(300)), (np.ones((3, 300)) / 300, np.zeros(3))]
    policy = engine.policy(weights)
    simulator = engine.Simulator(MODEL, controller=Law(lambda t, q, v: policy(np.concatenate([q, v])), period=0.01))
    assert any(node[0] == "loop" and node[2] == 1 for node in simulator._process.programs[0].nodes)


CALLS = []


def by_dictionary(t, q, v):
    """What cannot be traced: it looks at numbers, and keeps what it has seen."""
    CALLS.append((round(t, 9), np.shape(q)))
    tau = -10.0 * q - v
    return np.array([[2.0 * x if x > 0.5 else x for x in row] for row in np.atleast_2d(tau)]).reshape(np.shape(q))


def the_same(t, q, v):
    tau = -10.0 * q - v
    return np.where(tau > 0.5, 2.0 * tau, tau)


@pytest.mark.parametrize("delay", [0.0, 0.02])
@pytest.mark.parametrize("record_every", [1, 7])
def test_plain_python_at_its_ticks(delay, record_every):
    """Asked once at each tick, wherever records are; it steers as the same law compiled."""
    CALLS.clear()
    asked, compiled = (engine.Simulator(MODEL, controller=Law(fn, period=0.01, delay=delay, python=fn is by_dictionary)).run(
        Q, V, duration=0.0555, record_every=record_every) for fn in (by_dictionary, the_same))  # fmt: skip
    assert [t for t, _ in CALLS] == [round(0.01 * k, 9) for k in range(6)] and {shape for _, shape in CALLS} == {(3,)}
    np.testing.assert_allclose(asked.q, compiled.q, rtol=0, atol=1e-14)
    np.testing.assert_allclose(asked.tau, compiled.tau, rtol=0, atol=1e-13)
    plain = engine.Simulator(MODEL, controller=Law(by_dictionary, period=0.01, delay=delay, python=True), compiled=False)
    np.testing.assert_allclose(plain.run(Q, V, duration=0.0555, record_every=record_every).q, asked.q, rtol=0, atol=1e-13)


def test_plain_python_of_batches_in_parts_and_in_files(tmp_path):
    """A batch gets arrays; each row is as alone; steps, files and resumed runs are the same bits, and a file says who was asked."""
    simulator = engine.Simulator(MODEL, controller=Law(by_dictionary, period=0.01, python=True))
    CALLS.clear()
    q = Q * np.linspace(0.5, 2.0, 5)[:, None]
    batch = simulator.run(q, np.tile(V, (5, 1)), duration=0.05)
    assert CALLS[0] == (0.0, (5, 3))
    alone = simulator.run(q[3], V, duration=0.05)
    np.testing.assert_array_equal(batch.q[3], alone.q)
    np.testing.assert_array_equal(simulator.step(simulator.step(simulator.start(q[3], V), 17), 33).q, alone.q[-1])
    path = simulator.run(q[3], V, duration=0.02, out=tmp_path / "run.h5")
    CALLS.clear()
    np.testing.assert_array_equal(engine.load_trajectory(simulator.resume(path, duration=0.05)).q, alone.q)
    assert [t for t, _ in CALLS] == [0.03, 0.04, 0.05]                         # what it said at 0.02 is in the file
    with engine.recording.Recording.open(path) as recording:
        assert recording.header["asked"] == "by_dictionary"
    other = engine.Simulator(MODEL, controller=Law(lambda t, q, v: -q, period=0.01, python=True))
    with pytest.raises(engine.EngineError, match="function"):
        other.resume(path, duration=0.06)


def test_plain_python_with_parameters():
    simulator = engine.Simulator(MODEL, parameters={"gain": 5.0}, controller=Law(lambda t, q, v, gain: -gain[..., None] * q, period=0.01,
                                                                                 python=True))  # fmt: skip
    gains = np.array([1.0, 20.0])
    found = simulator.run(np.tile(Q, (2, 1)), np.tile(V, (2, 1)), duration=0.02, parameters={"gain": gains})
    np.testing.assert_allclose(found.tau[:, 0], -gains[:, None] * Q, rtol=1e-15)


def asks(t, q, v, memory):
    return 0.0 * q


@pytest.mark.parametrize(("make", "message"), [
    (lambda: Law(counter, memory=[np.nan]), "counter: the memory holds NaN or infinity"),
    (lambda: Law(counter, delay=-1.0), "counter: the delay is -1.0; expected seconds"),
    (lambda: Law(counter, period=0.0), "counter: the period is 0.0; expected seconds greater than zero"),
    (lambda: Law(counter, memory=[0.0], state=[0.0]), "counter has a continuous state, and a memory or delay; expected one of both"),
    (lambda: run(Law(lambda t, q, v, state, noise: (q, state), state=[0.0])), "has a continuous state, and asks for noise"),
    (lambda: run(Law(lambda t, q, v: q, memory=[0.0])), "has a memory of its own and takes .*; expected a parameter named memory"),
    (lambda: run(asks), r"asks asks for a memory, and has none; expected engine.Law\(asks, memory="),
    (lambda: run(Law(asks, memory=[0.0])), r"asks returned ndarray; expected \(result, its memory \(1,\)\)"),
    (lambda: run(Law(lambda t, q, v: q, period=0.01, delay=0.015, python=True)), "a delay of 0.015 s; expected a multiple of its period"),
    (lambda: run(Law(lambda t, q, v: q, period=1e-4)), "is shorter than dt 0.001 s; expected dt or more"),
    (lambda: run(events=[lambda t, q, v, noise: noise(1)[0]]), "the event function <lambda> asks for noise"),
    (lambda: Law(counter, python=True), "counter is plain Python: it is asked at ticks, and remembers by itself; expected a period"),
    (lambda: run(Law(lambda t, q, v, pose: q, period=0.01, python=True)), "is plain Python, and asks for 'pose'; expected t, q, v"),
    (lambda: run(Law(lambda t, q, v: q[:2], period=0.01, python=True)), r"returned shape \(2,\) for 'tau' at t = 0 s; expected \(3,\)"),
    (lambda: run(Law(lambda t, q, v: {"tua": q}, period=0.01, python=True)), "commands 'tua'.*'tau'"),
    (lambda: run(Law(lambda t, q, v: q * np.nan, period=0.01, python=True)), "returned NaN or infinity"),
    (lambda: run(Law(lambda t, q, v: 1 / 0, period=0.01, python=True)), "raised ZeroDivisionError at t = 0 s: division by zero"),
    (lambda: run(Law(lambda t, q, v: "much", period=0.01, python=True)), "returned 'much' at t = 0 s; expected numbers"),
    (lambda: run(Law(lambda t, q, v: None, period=0.01, python=True)), "returned None at t = 0 s; expected numbers"),
    (lambda: run(forces=[Law(lambda t, q, v: q, period=0.01, python=True)]), "is a force in plain Python; expected a controller"),
    (lambda: ops.uniform(2.5), "uniform: n is 2.5; expected how many numbers"),
    (lambda: ops.uniform(2, seed=-1), "uniform: seed is -1; expected a whole number"),
    (lambda: ops.uniform(2, run=0.5), "uniform: run is 0.5; expected a whole number"),
])  # fmt: skip
def test_what_is_refused(make, message):
    with pytest.raises(engine.EngineError, match=message):
        make()
