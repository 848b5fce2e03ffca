"""DQVI: its equations, what it keeps over long times, how Newton's method fares, and steps too long for it."""

import functools
import re

import numpy as np
import pytest

import engine
from engine import ops
from engine.integrate import DQVI, METHODS, SUBSTEPS, step, variational
from engine.spatial import dual_quaternion, inertia, quaternion, se3
from engine.spatial.manifold import MOTION
from tests.integrate.cases import FREE, TWIST, cases, dense, energy, free_body, momentum_error, pushed, run, start_and, states
from tests.numeric import close, derivative

TURN = np.linalg.norm(TWIST[:3])


@pytest.fixture
def newton(monkeypatch):
    """Every equation that is solved: (residual, derivative, guess, root, Newton's steps)."""
    solved, root = [], ops.root

    def recorded(residual, x, derivative=None, **options):
        steps = [0]

        def counted(xi):
            steps[0] += 1
            return derivative(xi) if derivative else ops.jacobian(residual, xi)

        xi, converged = root(residual, x, counted, **options)
        solved.append((residual, derivative, x, xi, steps[0]))
        return xi, converged

    monkeypatch.setattr(ops, "root", recorded)
    return solved


# ---------------------------------------------------------------- equations


def test_newtons_matrix_is_the_derivative(newton):
    for seed, x in enumerate(states(0.4, 5)):
        variational.attempt(free_body(dense(seed), TWIST).system, 0.0, 1.0, x[:7], x[7:])
        residual, matrix, guess, *_ = newton[-1]
        columns = [derivative(lambda s, e=e: residual(guess + s * e)) for e in np.eye(6)]
        close(matrix(guess), np.stack(columns, axis=-1), 3e-13)


def test_determinant():
    A = np.random.default_rng(1).standard_normal((20, 6, 6))
    close([variational.determinant(a) for a in A], np.linalg.det(A), 1e-13)


def test_a_step_is_the_equations(newton):
    """(1) to (3) of the docstring with dual quaternions of its own, the mirror image of (1) among them, and Π⁺ = Ad(F)ᵀ Π."""
    case, h, t = cases()["forced"], 0.1, 0.3
    (q, v), G, W = case.system.split(case.x), case.system.inertia, case.system.wrench
    q1, v1 = case.system.split(step(DQVI, case.system, t, h, case.x))
    xi = newton[0][3]
    f, d = 0.5 * h * xi[:3], 0.5 * h * xi[3:]
    f0 = np.sqrt(1 - f @ f)
    d0 = -f @ d / f0
    (m, n), kicked = np.split(G @ xi, 2), G @ v + 0.5 * h * W(t, q, v)
    close(np.concatenate([f0 * m + np.cross(f, m) + d0 * n + np.cross(d, n), f0 * n + np.cross(f, n)]), kicked, 1e-15)
    F = np.array([f0, *f, d0, *d])
    Q = dual_quaternion.product(dual_quaternion.from_pose_parts(q[:4], q[4:]), F)
    close(np.concatenate([Q[:4], dual_quaternion.position(Q)]), q1, 1e-15)
    mirrored = np.concatenate([f0 * m - np.cross(f, m) + d0 * n - np.cross(d, n), f0 * n - np.cross(f, n)])
    close(mirrored, se3.Ad(dual_quaternion.to_matrix(F)).T @ kicked, 1e-15)
    close(G @ v1, mirrored + 0.5 * h * W(t + h, q1, v1), 2e-15)


# ---------------------------------------------------------------- long times


@pytest.mark.parametrize("name", FREE)
def test_a_hundred_thousand_steps(name):
    """h = 0.05: the energy is bounded (its trend is looked at with those of other methods), and the momentum in the world stays."""
    case = cases()[name]
    x = start_and(case, run(DQVI, case, 0.05, [20] * 5000))
    E = energy(case, x) / energy(case, case.x) - 1
    assert np.abs(E).max() < 0.1 * (0.05 * TURN) ** 2
    assert momentum_error(case, x) < 1e-12


def test_energy_in_a_potential_is_bounded():
    """Weight and a spring at a point off the centre of mass: 1000 s, of which the last tenth strays as little as the first.

    CG3, of a higher order, strays further and further.
    """
    G, hook = inertia.from_mass(2.0, [0.1, -0.2, 0.15], np.diag([0.3, 0.4, 0.6])), np.array([0.2, 0.1, -0.3])
    weight, stiffness = np.array([0.0, 0.0, -4.0]), 3.0

    def wrench(t, q, v):
        back = quaternion.conjugate(q[:4])
        pull = quaternion.rotate(back, -stiffness * (q[4:] + quaternion.rotate(q[:4], hook)))
        down = quaternion.rotate(back, weight)
        return np.concatenate([ops.cross(hook, pull) + ops.cross(inertia.center(G), down), pull + down])

    case = free_body(G, 0.5 * TWIST, wrench)

    def strays(method):
        """|E − E(0)| over the range of the kinetic energy: its largest value in each tenth of the time."""
        x = start_and(case, run(METHODS[method], case, 0.02, [5] * 10000))
        R = quaternion.to_matrix(quaternion.normalize(x[:, :4]))
        stretched, centre = (x[:, 4:7] + R @ p for p in (hook, inertia.center(G)))
        E = energy(case, x) + 0.5 * stiffness * np.vecdot(stretched, stretched) - centre @ weight
        return [np.abs(e - E[0]).max() / np.ptp(energy(case, x)) for e in np.array_split(E, 10)]

    first, *_, last = strays("dqvi")
    assert last < 1.5 * first < 0.01
    first, *_, last = strays("cg3")
    assert last > 5 * first


# ---------------------------------------------------------------- Newton's method


@pytest.mark.parametrize("h", [0.01, 0.05, 0.1])
def test_newtons_iterations(newton, h):
    """At most four a step, the last of which only polishes, and as few for the velocity that a force depends on."""
    for case in (cases()["added mass"], free_body(dense(3), TWIST, pushed)):
        newton.clear()
        x = case.x
        for k in range(50):
            x = step(DQVI, case.system, k * h, h, x)
        assert np.mean([steps for *_, steps in newton]) <= 4


@pytest.mark.parametrize(("turn", "share"), [(0.1, 1.0), (0.2, 1.0), (0.4, 1.0), (0.6, 0.7), (3.0, 0.0)])
def test_how_often_newtons_method_converges(turn, share):
    with np.errstate(all="ignore"):
        good = [bool(variational.attempt(free_body(dense(k % 10), TWIST).system, 0.0, 1.0, x[:7], x[7:])[2])
                for k, x in enumerate(states(turn, 60))]  # fmt: skip
    assert np.mean(good) >= share and (share > 0 or not any(good))


# ---------------------------------------------------------------- steps too long


@functools.cache
def body(seed):
    return free_body(dense(seed), TWIST)


@pytest.mark.parametrize("turn", [1.0, 1.5, 3.0])
def test_a_long_step_is_never_silently_wrong(turn):
    """What is returned is a coarse step's result, not that of another root of (1), which can be off by anything."""
    for seed in (0, 4, 7, 10):
        case, x = body(seed), states(turn, 300)
        end, true = run(DQVI, case, 1.0, [1], x)[:, 0], run(METHODS["cg4"], case, 1 / 200, [200], x)[:, 0]
        assert np.linalg.norm(MOTION.minus(true[:, :7], end[:, :7])[:, :3], axis=1).max() < 0.4 * turn
        assert np.abs(energy(case, end) / energy(case, x) - 1).max() < 0.2


def by_hand(case, h, n):
    """The state after n steps of h/n, None if one does not converge."""
    q, v = case.system.split(case.x)
    for k in range(n):
        q, v, converged = variational.attempt(case.system, k * h / n, h / n, q, v)
        if not converged:
            return None
    return np.concatenate([q, v])


@pytest.mark.parametrize(("name", "turn", "shorter"), [("offset", 0.4, 1), ("offset", 0.9, 2), ("offset", 1.5, 4), ("offset", 6.0, 16),
                                                       ("offset", 25.0, 64), ("forced", 0.4, 1), ("forced", 1.5, 2)])  # fmt: skip
def test_a_step_that_does_not_converge_is_many_shorter_ones(name, turn, shorter):
    """Found by trying: as many as it takes, and no more."""
    case, h = cases()[name], turn / TURN
    with np.errstate(all="ignore"):
        attempts = {n: by_hand(case, h, n) for n in 2 ** np.arange(7)}
    assert min(n for n, x in attempts.items() if x is not None) == shorter <= SUBSTEPS
    close(run(DQVI, case, h, [1])[0], attempts[shorter], 1e-13)


def test_substeps_keep_the_order():
    """At h|ω| around 1 every step is cut, and the error still falls as h²; momentum is kept all the same."""
    case, t = cases()["offset"], 8.0
    x = start_and(case, run(DQVI, case, 1.5 / TURN, [1] * 1000))
    assert momentum_error(case, x) < 1e-13
    end = case.reference(t)
    cut, whole = (np.linalg.norm(case.system.space.minus(end, run(DQVI, case, t / n, [n])[0])) for n in (10, 160))
    assert cut < 300 * whole


def test_past_the_bound_the_error_says_when_what_and_how_fast():
    builder = engine.Builder("stone")
    builder.add_link("stone", inertia=cases()["offset"].system.inertia)
    simulator = engine.Simulator(builder.model(floating_base=True), dt=0.1, integrator="dqvi", gravity=(0, 0, 0))
    spin = 2e4 * TWIST / TURN
    with pytest.raises(engine.SimulationError) as caught:
        simulator.run(MOTION.neutral(), spin, 1.0)
    said = re.search(r"joint 'floating_base' is no longer finite at t = 0\.1 s .*h\|ω\| = ([\d.e+]+), even cut into 64", str(caught.value))
    assert said and float(said[1]) == pytest.approx(2000, rel=0.01)
    assert len(caught.value.trajectory) == 1
