"""What every method must do, and what its flags promise."""

import numpy as np
import pytest

from engine import ops
from engine.compiler import interpret, trace
from engine.integrate import METHODS, FreeBody, Mechanical, System, step
from engine.spatial import inertia, manifold, quaternion
from tests.integrate.cases import FREE, TWIST, cases, dense, energy, free_body, momentum_error, run, start_and, states
from tests.numeric import check_lives

each = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)


def taken(*names):
    """Each method of each of these cases that it is made for."""
    return pytest.mark.parametrize("method, name", [pytest.param(m, name, id=f"{m.name}-{name}") for m in METHODS.values()
                                                    for name in names if cases()[name].takes(m)])  # fmt: skip


# ---------------------------------------------------------------- plain = interpreted = compiled


@pytest.mark.parametrize(("method", "name"), [(m, name) for k, m in enumerate(METHODS.values()) for name in ("forced", "product")
                                              if cases()[name].takes(m) and (name == "forced" or m.implicit or k % 2)],
                         ids=lambda x: getattr(x, "name", x))  # fmt: skip
def test_three_lives(method, name):
    """The last step is long: implicit methods take many passes, or cut it."""
    case = cases()[name]
    rng, h = np.random.default_rng(6), np.array([0.05, -0.02, 0.8 if name == "forced" else 0.1])
    x = np.array([np.concatenate([case.system.configuration.random(rng), rng.uniform(-1, 1, case.shapes[2])]) for _ in h])
    check_lives(lambda t, h, x: step(method, case.system, t, h, x), rng.uniform(0, 1, 3), h, x, tolerance=2e-14)


@pytest.mark.parametrize("method", [m for m in METHODS.values() if not issubclass(m.takes, FreeBody)], ids=lambda m: m.name)
@pytest.mark.parametrize("then", [lambda t: ops.less(t, 0.3), lambda t: ops.less_equal(t, 0.3)], ids=["<", "<="])
def test_a_force_that_jumps_where_a_step_ends_acts_as_it_did_until_then(method, then):
    """One way for three steps of 0.1 s, the other way for three more: what it gave it takes."""
    push = Mechanical(manifold.vector(1), lambda t, q, v: np.array([ops.where(then(t), 1.0, -1.0)]))
    x = np.zeros(2)
    for k in range(6):
        x = step(method, push, np.float64(0.1 * k), 0.1, x)
    np.testing.assert_allclose(x, [0.09 if method.order > 1 else x[0], 0.0], rtol=0, atol=1e-15)


# ---------------------------------------------------------------- slow, and still


@each
def test_slow_spin_turns(method):
    """1e-6 rad/s for a thousand steps of 1 ms is 1e-6 rad, not nothing: there is no angle too small to count."""
    spin = np.array([0.0, 0.0, 1e-6, 0.0, 0.0, 0.0])
    end = run(method, free_body(inertia.box(2.0, [0.5, 1.5, 2.5]), spin), 1e-3, [1000])[0]
    np.testing.assert_allclose(quaternion.log(end[:4]), [0.0, 0.0, 1e-9 * 1000], rtol=1e-12, atol=1e-24)
    np.testing.assert_allclose(end[7:], spin, rtol=0, atol=1e-20)


@each
def test_rest_is_rest(method):
    """Nothing moves what does not move; no division by zero on the way."""
    case = free_body(dense(2), np.zeros(6), q=np.array([0.8, 0.0, 0.6, 0.0, 1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(run(method, case, 0.1, [100])[0], case.x)


@pytest.mark.parametrize("method", [m for m in METHODS.values() if m.implicit], ids=lambda m: m.name)
def test_what_does_not_converge_is_nan_as_a_whole(method):
    """Steps of 50 rad: a state is NaN, or the solution of the equations, which keeps what the method keeps."""
    case, x = free_body(dense(4), TWIST), states(50.0, 200)
    end = run(method, case, 1.0, [1], x)[:, 0]
    nan = np.isnan(end)
    assert (nan.any(axis=1) == nan.all(axis=1)).all() and nan.any()
    pairs = np.stack([x, end], axis=1)[~nan[:, 0]]
    assert all(momentum_error(case, pair) < 1e-12 for pair in pairs)


# ---------------------------------------------------------------- flags


@each
def test_conserves(method):
    """1e4 steps of free bodies of any inertia: what a method is said to keep, and nothing else, is kept."""
    kept = {"energy": [], "momentum": []}
    for name in FREE:
        case = cases()[name]
        x = start_and(case, run(method, case, 0.02, [10] * (10 if method.order == 1 else 1000)))
        E = energy(case, x)
        kept["energy"].append(np.abs(E / E[0] - 1).max())
        kept["momentum"].append(momentum_error(case, x))
    for what, changes in kept.items():
        if what in method.conserves:
            assert max(changes) < {"energy": 1e-13, "momentum": 3e-13}[what]
        else:
            assert min(changes) > 1e-10


@taken("forced", "few joints")
def test_reversible(method, name):
    """A step of −h undoes a step of h, with forces in t, T and V too; of other methods it does not."""
    case, h = cases()[name], 0.1
    shapes = [(), (), case.x.shape]
    back = trace(lambda t, h, x: step(method, case.traced, t + h, -h, step(method, case.traced, t, h, x)), shapes)
    missed = np.linalg.norm(case.system.space.minus(case.x, np.asarray(interpret(back, 0.2, h, case.x))))
    assert missed < 2e-15 if method.reversible else missed > 1e-9


@each
def test_symplectic(method):
    """The energy error of 5000 s at h = 0.05 has no trend, or has one that stands out of its scatter."""
    if method.order == 1:
        assert not method.symplectic
        return
    case = free_body(dense(3), TWIST)
    E = energy(case, start_and(case, run(method, case, 0.05, [20] * 5000)))
    keeps = method.symplectic or "energy" in method.conserves
    slope, error = trend((E if keeps or method.order > 2 else E[:500]) / E[0] - 1)  # later an error of order two feeds on itself
    if keeps:
        assert abs(slope) < max(4 * error, 5000 * 2.0**-53)                     # a block is 5000 steps, rounded by half an ulp each at most
    else:
        assert abs(slope) > 30 * error


def trend(y):
    """Slope of the means of twenty blocks, and its standard error by their scatter."""
    means = np.array([block.mean() for block in np.array_split(y, 20)])
    t = np.arange(20) - 9.5
    slope = (t @ means) / (t @ t)
    scatter = means - means.mean() - slope * t
    return slope, np.sqrt((scatter @ scatter) / 18 / (t @ t))


@each
def test_evaluations(method, monkeypatch):
    """Calls of what is integrated in a step, with one pass of Newton's method in each of its solutions."""
    case, calls = cases()["forced"], []

    def counted(fn):
        return lambda t, q, v: calls.append(t) or fn(t, q, v)

    s = case.system
    monkeypatch.setattr(ops, "root", lambda residual, x, *_, **options: (x + residual(x) * 0.0, True))
    step(method, FreeBody(s.configuration, counted(s.acceleration), s.inertia, counted(s.wrench)), 0.0, 0.1, case.x)
    assert len(calls) == method.evaluations


@pytest.mark.parametrize("method", [m for m in METHODS.values() if m.takes is not FreeBody], ids=lambda m: m.name)
def test_exponentials(method, monkeypatch):
    """Different exponentials, and Cayley's maps, of rotations in a step's program: what it begins alike is computed once."""
    seen = set()

    def counted(fn):
        def call(*arrays):
            if (graph := ops.graph_of(*arrays)) is not None:                    # of constants it is one
                seen.add((fn.__name__, *(graph.index(x) for a in arrays for x in np.ravel(a))))
            return fn(*arrays)

        return call

    monkeypatch.setattr(quaternion, "exp", counted(quaternion.exp))
    monkeypatch.setattr(manifold, "rotation_cayley", counted(manifold.rotation_cayley))
    monkeypatch.setattr(ops, "root", lambda residual, x, *_, **options: (x - residual(x), True))
    case = cases()["forced"]
    trace(lambda t, h, x: step(method, case.system, t, h, x), [(), (), case.x.shape])
    assert len(seen) == method.exponentials


def test_flags_are_of_what_there_is():
    for name, m in METHODS.items():
        assert m.name == name and m.takes in (System, Mechanical, FreeBody) and set(m.conserves) <= {"energy", "momentum"}
        assert m.source and m.order in range(1, 9) and (m.embedded is None or m.takes is System)


# ---------------------------------------------------------------- Euler's methods


def test_semi_implicit_euler_preserves_area():
    """Of an oscillator, (q, v) -> (q + h v⁺, v⁺) with v⁺ = v − h q: a matrix of determinant 1."""
    swing, h = Mechanical(manifold.vector(1), lambda t, q, v: -q), 0.3
    A = np.stack([step(METHODS["semi_implicit_euler"], swing, 0.0, h, x) for x in np.eye(2)], axis=-1)
    np.testing.assert_allclose(A, [[1 - h * h, h], [-h, 1]], rtol=1e-15)


def test_lie_euler_in_body_axes_gains_speed_and_in_world_axes_does_not():
    """exp(½ h |ω|² t) = 1.2214 for 2 rad/s, h = 0.01, 10 s: √(1 + h² |ω|²) a step."""
    case = free_body(2.0 * np.eye(6), np.array([0.0, 0.0, 2.0, 1.0, 0.0, 0.0]))
    body, world = (np.linalg.norm(run(METHODS[name], case, 0.01, [1000])[0, 10:]) for name in ("lie_euler", "lie_euler_world"))
    assert abs(body - (1 + 0.02**2) ** 500) < 1e-12 and abs(body / np.exp(0.2) - 1) < 1e-4
    assert abs(world - 1) < 1e-13


@pytest.mark.parametrize("name", ["lie_euler", "lie_euler_world"])
def test_the_same_in_the_plane(name):
    """A disc that slides and spins on a plane: SE(2) as SE(3)."""
    def coasting(t, q, v):                                                     # v̇ = −ω × v
        return ops.array([v[2] * v[1], -v[2] * v[0], 0.0 * v[2]])

    system, x = Mechanical(manifold.PLANE, coasting), np.array([0.3, -0.2, 0.7, 1.0, 0.5, 2.0])
    q = np.array([np.cos(0.35), 0.0, 0.0, np.sin(0.35), 0.3, -0.2, 0.0])
    flat = free_body(2.0 * np.eye(6), np.array([0.0, 0.0, 2.0, 1.0, 0.5, 0.0]), q=q)
    y = flat.x
    for _ in range(20):
        x, y = step(METHODS[name], system, 0.0, 0.01, x), step(METHODS[name], flat.system, 0.0, 0.01, y)
    np.testing.assert_allclose(x[[0, 1, 3, 4, 5]], y[[4, 5, 10, 11, 9]], rtol=0, atol=1e-14)
    np.testing.assert_allclose(x[2], quaternion.log(y[:4])[2], rtol=0, atol=1e-14)
