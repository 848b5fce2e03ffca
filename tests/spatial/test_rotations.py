"""Attitude parametrisations: SciPy's rotations, exact flows, error Jacobians and their derivatives, singular points, machine code."""

from fractions import Fraction
from math import factorial

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from engine import ops
from engine.compiler.graph.operations import OPERATIONS
from engine.compiler.transforms.trace import Program, trace
from engine.ops.elementwise import stumpff_next
from engine.spatial import quaternion, rotations, so3
from engine.spatial.rotations import ATTITUDES, rodrigues_from_quaternion, rodrigues_to_quaternion
from tests.numeric import ANGLES, AXES, PI, ROUNDED, check_lives, close, derivative

NAMES = ["quaternion", "mrp", "rodrigues", "rotation_vector"]
every = pytest.mark.parametrize("attitude", ATTITUDES.values(), ids=ATTITUDES)
BELOW_PI = np.array([t * n for t in ANGLES if t < PI for n in AXES])
#: where no row of the table is close to its singular point, and no branch of its series ends
REGULAR = np.array([t * n for t in (0.0, 1e-9, 1e-4, 0.5, 2.0) for n in AXES])
#: beyond half a turn, on the parameters' own sheet
BEYOND = np.array([t * n for t in (4.2, 5.0) for n in AXES])
A, B = np.array([0.36, -0.48, 0.8]), np.array([0.5, 0.7, -0.1])


def parameters(name, w):
    """p of the rotation vectors ω, by definition."""
    theta = np.linalg.norm(w, axis=-1, keepdims=True)
    n = w / np.where(theta > 0, theta, 1.0)
    return {"quaternion": np.concatenate([np.cos(theta / 2), np.sin(theta / 2) * n], axis=-1), "mrp": np.tan(theta / 4) * n,
            "rodrigues": np.tan(theta / 2) * n, "rotation_vector": w}[name]  # fmt: skip


def followed(name, q):
    """p of a quaternion that turned on from the neutral one: it does not jump at half a turn, as from_quaternion does."""
    w, v = q[0], q[1:]
    n = ops.norm(v)
    return {"quaternion": q, "mrp": v / (1.0 + w), "rodrigues": v / w, "rotation_vector": 2.0 * ops.arctan2(n, w) / n * v}[name]


def magnified(attitude, w):
    """How much larger rounding is than in a quaternion: of an MRP beyond half a turn, v/(1 + qw), by 1/(1 + qw)."""
    theta = np.linalg.norm(w)
    return 1.0 / (1.0 + np.cos(theta / 2)) if attitude.name == "mrp" and theta > PI else 1.0


def turned(attitude, w, delta):
    """p · cay(2δ), on the sheet of p beyond half a turn."""
    if np.linalg.norm(w) < PI:
        return attitude.cayley_plus(parameters(attitude.name, w), delta)
    return followed(attitude.name, quaternion.product(quaternion.exp(w), rodrigues_to_quaternion(delta)))


@pytest.fixture
def rng():
    return np.random.default_rng(11)


# ---------------------------------------------------------------- derivatives by the chain rule, node by node


def c2_slope(x):
    return 0.5 * (2.0 * stumpff_next(x)[0] - ops.c3(x))


def c3_slope(x):
    c4, c5 = stumpff_next(x)
    return 0.5 * (3.0 * c5 - c4)


#: partial derivatives of an operation of its operands' values
PARTIALS = {
    "add": lambda a, b: (1.0, 1.0), "sub": lambda a, b: (1.0, -1.0), "mul": lambda a, b: (b, a), "div": lambda a, b: (1 / b, -a / b**2),
    "neg": lambda a: (-1.0,), "sqrt": lambda a: (0.5 / np.sqrt(a),), "sin": lambda a: (np.cos(a),), "cos": lambda a: (-np.sin(a),),
    "atan2": lambda a, b: (b / (a * a + b * b), -a / (a * a + b * b)), "c2": lambda x: (c2_slope(x),), "c3": lambda x: (c3_slope(x),),
    "lt": lambda a, b: (0.0, 0.0), "select": lambda c, a, b: (0.0, 1.0 * bool(c), 1.0 - bool(c)),
}  # fmt: skip


def slopes(fn, x):
    """Value and Jacobian of fn at x, (outputs) and (outputs, inputs); every node's, taken or not, must be finite."""
    x = np.asarray(x, dtype=float)
    program = fn if isinstance(fn, Program) else trace(fn, [x.shape])
    values, rows = [], []
    with np.errstate(divide="raise", invalid="raise", over="raise"):
        for op, *args in program.nodes:
            if op in ("input", "const"):
                value = x.ravel()[args[0]] if op == "input" else np.float64(args[0])
                row = np.eye(x.size)[args[0]] if op == "input" else np.zeros(x.size)
            else:
                operands = [np.float64(values[i]) for i in args]
                value = OPERATIONS[op].numpy(*operands)
                row = sum(d * rows[i] for d, i in zip(PARTIALS[op](*operands), args, strict=True))
            assert np.isfinite(value) and np.all(np.isfinite(row)), f"{op} of {[values[i] for i in args]}"
            values.append(value)
            rows.append(row)
    return np.array([values[i] for i in program.outputs]), np.array([rows[i] for i in program.outputs])


def test_the_chain_rule_finds_what_is_singular():
    close(slopes(lambda x: x[0] * x[1] ** 2 / x[2], [1.0, 2.0, 4.0])[1], [[1.0, 1.0, -0.25]], 0.0)
    guarded = lambda x: ops.where(x > 0.0, ops.sin(x) / x, 1.0)
    for singular in (ops.sqrt, guarded, lambda x: ops.where(x > 0.0, ops.sqrt(x), 1.0)):
        with pytest.raises((AssertionError, FloatingPointError)):
            slopes(singular, 0.0)


# ---------------------------------------------------------------- the table


def test_the_table():
    assert list(ATTITUDES) == NAMES
    for name, attitude in ATTITUDES.items():
        assert attitude.name == name
        assert attitude.neutral().shape == (attitude.n,) == ((4,) if name == "quaternion" else (3,))
        np.testing.assert_array_equal(attitude.to_matrix(attitude.neutral()), np.eye(3))
        np.testing.assert_array_equal(attitude.from_quaternion(np.eye(4)[0]), attitude.neutral())
        assert attitude.neutral() is not attitude.neutral()                   # to be written to


@every
def test_parameters_are_what_they_are_called(attitude):
    """tan(θ/4) n and so on, from 0 through half a turn."""
    w = np.array([t * n for t in (*ANGLES, 3.5, 5.0, 2 * PI - 1e-4) for n in AXES])
    q, expected = attitude.to_quaternion(parameters(attitude.name, w)), quaternion.exp(w)
    if attitude.name == "rodrigues":                                          # of q and −q the one with qw ≥ 0
        assert (q[:, 0] > 0).all()
        expected *= np.sign(np.vecdot(q, expected))[:, None]
    close(q, expected, (1 + PI) * ROUNDED, rows=len(w))                       # half of θ, up to π, is rounded too
    w = w[np.linalg.norm(w, axis=-1) < (2.5 if attitude.name == "rodrigues" else PI - 1e-6)]  # tan θ/2 loses digits towards π
    close(attitude.from_quaternion(quaternion.exp(w)), parameters(attitude.name, w), 2e-15, rows=len(w))


@every
def test_round_trips(attitude, rng):
    q = quaternion.random(rng, (500,))
    back = attitude.to_quaternion(attitude.from_quaternion(q))
    close(back * np.sign(np.vecdot(back, q))[:, None], q, 2e-15)
    p = attitude.from_quaternion(q)
    close(attitude.from_quaternion(back), p, 2e-14 if attitude.name == "rodrigues" else 2e-15)
    if attitude.name != "quaternion":
        close(attitude.from_quaternion(-q), p, 0.0)                           # q and −q are one rotation
    part = {"mrp": 1 / 4, "rotation_vector": 1.0}.get(attitude.name, 1 / 2)
    for tiny in (1e-12, 1e-100, 1e-200):
        close(attitude.from_quaternion(quaternion.exp(tiny * A))[-3:], part * tiny * A, 2e-15)


def test_they_are_scipys(rng):
    q = quaternion.random(rng, (500,))
    scipys = Rotation.from_quat(q, scalar_first=True)
    mrp, vector = ATTITUDES["mrp"], ATTITUDES["rotation_vector"]
    close(mrp.from_quaternion(q), scipys.as_mrp(), 2e-15)
    close(vector.from_quaternion(q), scipys.as_rotvec(), 2e-15)
    for attitude in ATTITUDES.values():
        close(attitude.to_matrix(attitude.from_quaternion(q)), scipys.as_matrix(), 2e-15)
    p = rng.uniform(-3, 3, (300, 3))                                          # most are beyond half a turn
    close(mrp.to_matrix(p), Rotation.from_mrp(p).as_matrix(), 2e-15)
    close(vector.to_matrix(p), Rotation.from_rotvec(p).as_matrix(), 2e-15)


def test_rodrigues_parameters_are_cayleys_transform(rng):
    """R = (1 − [g])⁻¹ (1 + [g])."""
    g = rng.uniform(-2, 2, (100, 3))
    G = so3.hat(g)
    close(ATTITUDES["rodrigues"].to_matrix(g), np.linalg.solve(np.eye(3) - G, np.eye(3) + G), 2e-15)


def test_rodrigues_parameters_and_quaternions(rng):
    delta = rng.uniform(-2, 2, (50, 3))
    q = rodrigues_to_quaternion(delta)
    close(np.linalg.norm(q, axis=-1), np.ones(50), ROUNDED)
    close(q[:, 1:] / q[:, :1], delta, ROUNDED)
    for scale in (1.0, -1.0, 2.0):                                            # of any length and sign
        close(rodrigues_from_quaternion(scale * q), delta, ROUNDED)
    close(rodrigues_to_quaternion(np.tan(0.4) * A), quaternion.exp(0.8 * A), ROUNDED)
    close(rodrigues_to_quaternion(1e9 * A), np.append(1e-9, A), ROUNDED)
    np.testing.assert_array_equal(rodrigues_to_quaternion(np.zeros(3)), [1.0, 0, 0, 0])


# ---------------------------------------------------------------- half a turn, and what is singular


def test_from_quaternion_goes_the_short_way():
    for n in AXES:
        for name, at_pi in (("mrp", 1.0), ("rotation_vector", PI)):
            attitude = ATTITUDES[name]
            half = attitude.from_quaternion(np.append(0.0, n))
            close(half, at_pi * n, ROUNDED)
            close(attitude.to_matrix(half), 2 * np.outer(n, n) - np.eye(3), 2e-15)
            for beyond in (1e-9, 1e-3, 1.0, PI - 1e-9):
                p = attitude.from_quaternion(quaternion.exp((PI + beyond) * n))
                np.testing.assert_allclose(p, parameters(name, -(PI - beyond) * n), rtol=0, atol=2e-15)
    for attitude in (ATTITUDES["mrp"], ATTITUDES["rotation_vector"]):
        p = attitude.random(np.random.default_rng(0), (1000,))
        assert np.linalg.norm(p, axis=-1).max() <= (1.0 if attitude.name == "mrp" else PI) * (1 + ROUNDED)


def test_an_mrp_and_its_shadow_are_one_rotation(rng):
    """p and −p/p²; all the parameters from 0 to 2π are in use, and none is changed by normalized."""
    p = rng.uniform(-2, 2, (200, 3))
    shadow = -p / np.vecdot(p, p)[:, None]
    mrp = ATTITUDES["mrp"]
    close(mrp.to_matrix(p), mrp.to_matrix(shadow), 2e-15)
    short = np.where(np.linalg.norm(p, axis=-1, keepdims=True) <= 1, p, shadow)
    close(mrp.cayley_plus(p, np.zeros(3)), short, 2e-15)
    close(mrp.to_quaternion(shadow), -mrp.to_quaternion(p), 2e-15)
    assert mrp.normalized(p) is p


def test_rodrigues_parameters_are_infinite_at_half_a_turn():
    rodrigues = ATTITUDES["rodrigues"]
    for n in AXES:
        q = np.append(0.0, n)
        with np.errstate(all="ignore"):
            assert not np.isfinite(rodrigues.from_quaternion(q)).all()
            away = ATTITUDES["mrp"].cayley_minus(np.zeros(3), n)                # |n|² is 1 to rounding, and so tan(θ/2) infinite or near it
        assert not np.abs(away).max() < 0.1 / ROUNDED
        for short in (1e-3, 1e-9):
            g = rodrigues.from_quaternion(quaternion.exp((PI - short) * n))
            close(g, n / np.tan(short / 2), ROUNDED * PI / short)             # of θ, which is close to π
            close(rodrigues.to_matrix(g), so3.exp((PI - short) * n), ROUNDED * PI)


@pytest.mark.parametrize("short", [1.0, 1e-3, 1e-6])
def test_rates_close_to_a_whole_turn(short):
    """A rotation vector's φ̇ solves dexp(−φ) φ̇ = ω, and an MRP's |ṗ| = ¼ (1 + p²) |ω|, up to 2π, where both grow without bound."""
    for n in AXES:
        phi = (2 * PI - short) * n
        rate = ATTITUDES["rotation_vector"].rate(phi, A)
        assert np.linalg.norm(rate) > 1.0 / short * np.linalg.norm(np.cross(n, A))
        close(so3.dexp(-phi) @ rate, A, 1e-14 / short)
        p = parameters("mrp", phi)
        assert np.linalg.norm(ATTITUDES["mrp"].rate(p, A)) == pytest.approx(0.25 * (1 + p @ p), rel=1e-14)


# ---------------------------------------------------------------- rates


@every
def test_rate_is_the_derivative_of_the_exact_flow(attitude):
    for w in (*REGULAR, *BEYOND):
        flow = derivative(lambda t: followed(attitude.name, quaternion.product(quaternion.exp(w), quaternion.exp(t * A))), 1 / 128)
        close(attitude.rate(parameters(attitude.name, w), A), flow, 3e-13)


def test_rates_are_those_of_the_books():
    """q̇ = ½ q ⊗ [0; ω]; Rodrigues' ½ (ω + g × ω + g (g·ω)), with ω body-fixed; at g = z, ω = x: ½ (x + y)."""
    q = quaternion.exp(0.3 * B)
    close(ATTITUDES["quaternion"].rate(q, A), quaternion.rate(q, A), ROUNDED)
    close(ATTITUDES["quaternion"].rate(3.0 * q, A), quaternion.rate(3.0 * q, A), ROUNDED)
    x, y, z = np.eye(3)
    np.testing.assert_array_equal(ATTITUDES["rodrigues"].rate(z, x), 0.5 * (x + y))
    np.testing.assert_array_equal(ATTITUDES["rodrigues"].rate(z, z), z)       # ½ (1 + g²)
    np.testing.assert_array_equal(ATTITUDES["mrp"].rate(z, x), 0.5 * y)       # the half turn: ¼ (1 − p²) = 0
    close(ATTITUDES["rotation_vector"].rate(2.0 * B, B), B, 2e-15)            # about the axis itself


def test_a_quaternions_rate_keeps_its_length(rng):
    q, w = rng.uniform(-2, 2, (50, 4)), rng.uniform(-2, 2, (50, 3))
    assert np.abs(np.vecdot(q, ATTITUDES["quaternion"].rate(q, w))).max() < 2e-15


# ---------------------------------------------------------------- errors


@every
def test_cayley_plus_is_a_rotation_in_body_axes(attitude, rng):
    p, delta = attitude.random(rng, (100,)), rng.uniform(-1, 1, (100, 3))
    R, S = attitude.to_matrix(p), quaternion.to_matrix(rodrigues_to_quaternion(delta))
    close(attitude.to_matrix(attitude.cayley_plus(p, delta)), R @ S, 3e-15)
    close(attitude.to_matrix(attitude.cayley_plus(p, np.zeros(3))), R, 3e-15)
    vectors = so3.log(quaternion.to_matrix(rodrigues_to_quaternion(0.3 * delta)))
    close(attitude.cayley_plus(attitude.neutral(), 0.3 * delta), parameters(attitude.name, vectors), 2e-15)


@every
def test_errors_compose(attitude):
    """δ and then ε is the error (δ + ε + δ × ε)/(1 − δ·ε)."""
    p, d, e = parameters(attitude.name, B), 0.3 * A, np.array([0.1, 0.2, -0.4])
    both = (d + e + np.cross(d, e)) / (1 - d @ e)
    close(attitude.cayley_plus(attitude.cayley_plus(p, d), e), attitude.cayley_plus(p, both), 2e-15)


@every
def test_normalized(attitude, rng):
    p = 3.0 * attitude.random(rng, (20,))
    if attitude.name == "quaternion":
        close(attitude.normalized(p), p / np.linalg.norm(p, axis=-1, keepdims=True), ROUNDED)
        close(attitude.to_matrix(p), attitude.to_matrix(attitude.normalized(p)), 2e-15)
    else:
        assert attitude.normalized(p) is p


@every
def test_random_is_uniform(attitude):
    p = attitude.random(np.random.default_rng(5), (100, 200))
    assert p.shape == (100, 200, attitude.n)
    R = attitude.to_matrix(p)
    assert np.abs(R.mean(axis=(0, 1))).max() < 5 / np.sqrt(3 * 20000)
    assert np.abs((R**2).mean(axis=(0, 1)) - 1 / 3).max() < 5 * np.sqrt(4 / 45 / 20000)
    assert attitude.random(np.random.default_rng(5)).shape == (attitude.n,)


# ---------------------------------------------------------------- error Jacobians, to rounding by the chain rule


@every
def test_error_jacobian_is_the_derivative_of_cayley_plus(attitude):
    for w in (*REGULAR, *BEYOND):
        p = parameters(attitude.name, w)
        close(attitude.error_jacobian(p), slopes(lambda d: turned(attitude, w, d), np.zeros(3))[1], 2e-15 * magnified(attitude, w))
        columns = [derivative(lambda t: turned(attitude, w, t * e), 1 / 256) for e in np.eye(3)]
        close(attitude.error_jacobian(p), np.stack(columns, axis=-1), 3e-13)


@every
def test_error_jacobian_rate_is_the_derivative_of_the_error_jacobian(attitude):
    b = np.append(B, 0.4)[-attitude.n :]
    for w in (*REGULAR, *BEYOND):
        p = parameters(attitude.name, w)
        D = attitude.error_jacobian_rate(p, b)
        by_rule = slopes(lambda d: np.matvec(attitude.error_jacobian(turned(attitude, w, d)).T, b), np.zeros(3))[1]
        close(D, by_rule, 4e-15 * magnified(attitude, w) ** 2)
        columns = [derivative(lambda t: attitude.error_jacobian(turned(attitude, w, t * e)).T @ b, 1 / 256) for e in np.eye(3)]
        close(D, np.stack(columns, axis=-1), 1e-12)


@every
def test_error_hessian_is_the_second_derivative(attitude):
    """aᵀ H a = d²/dt² b·(p · cay(2 t a)), and H is symmetric; E(p · cay(2δ))ᵀ b varies by H + [Eᵀ b]."""
    b = np.append(B, 0.4)[-attitude.n :]
    for w in (*REGULAR, *BEYOND):
        p = parameters(attitude.name, w)
        H = attitude.error_hessian(p, b)
        np.testing.assert_array_equal(H, H.T)
        plus = trace(lambda d: turned(attitude, w, d), [(3,)])
        for a in (*np.eye(3), A, B):
            second = derivative(lambda t: b @ slopes(plus, t * a)[1] @ a, 1 / 256)
            np.testing.assert_allclose(a @ H @ a, second, rtol=0, atol=5e-13 * np.abs(attitude.error_jacobian(p)).max() ** 2)
        skew = attitude.error_jacobian_rate(p, b) - H
        np.testing.assert_allclose(skew, so3.hat(attitude.error_jacobian(p).T @ b), rtol=0, atol=2e-15 * np.abs(H).max() + 2e-15)


def test_error_jacobians_have_the_inverses_they_should():
    """Quaternion: orthonormal columns across q. MRP: Eᵀ E = ¼ (1 + p²)². Rodrigues: E (1 − [g]) = 1 + g². Vector: E⁻¹ = ½ dexp(−φ)."""
    for w in np.array([t * n for t in (*ANGLES, 4.0, 6.0, 2 * PI - 1e-4) for n in AXES]):
        q, p, g = (parameters(name, w) for name in ("quaternion", "mrp", "rodrigues"))
        E = ATTITUDES["quaternion"].error_jacobian(q)
        close(np.column_stack([q, E]).T @ np.column_stack([q, E]), np.eye(4), ROUNDED)
        E = ATTITUDES["mrp"].error_jacobian(p)
        close(E.T @ E, 0.25 * (1 + p @ p) ** 2 * np.eye(3), 2e-15)
        E = ATTITUDES["rodrigues"].error_jacobian(g)
        if np.linalg.norm(g) < 1e3:
            np.testing.assert_allclose(E @ (np.eye(3) - so3.hat(g)), (1 + g @ g) * np.eye(3), rtol=0, atol=2e-15 * (1 + g @ g) ** 1.5)
        E = ATTITUDES["rotation_vector"].error_jacobian(w)
        close(E @ so3.dexp(-w), 2 * np.eye(3), 2e-15 * (2 * PI / (2 * PI - np.linalg.norm(w))))


@pytest.mark.parametrize("theta2", [0.0, 1e-300, 1e-18, 1e-8, 0.25, np.nextafter(1.0, 0.0), 1.0, 1.5, 4.0, 9.0, 20.0, 30.0])
def test_slope_of_the_inverse_coefficient(theta2):
    """By rational arithmetic: D = (1 − N/M)/x with N = cos √y, M = sin √y/√y, y = x/4."""
    got = rotations.inverse_slope(theta2, so3.inverse_coefficient(theta2))
    if theta2 < 1e-200:
        assert got == 1 / 720
        return
    x = Fraction(theta2)
    y = x / 4
    (N, dN), (M, dM) = ((sum((-y) ** k / factorial(2 * k + f) for k in range(40)),
                         sum(k * (-1) ** k * y ** (k - 1) / factorial(2 * k + f) for k in range(1, 40))) for f in (0, 1))  # fmt: skip
    D = (1 - N / M) / x
    exact = float(-(dN * M - N * dM) / M**2 / 4 / x - D / x)
    rounding = ROUNDED * float(Fraction(1, 4) + 3 * D + x * D * D) / theta2 * 4 * PI**2 / (4 * PI**2 - theta2)  # of D, which cancels
    np.testing.assert_allclose(got, exact, rtol=0, atol=rounding if theta2 >= 1 else 1e-13 * exact)


# ---------------------------------------------------------------- traced, differentiated, in batches


@every
def test_no_node_is_singular(attitude):
    """Values and derivatives of all nodes, branches not taken included, at 0, where series end, at half a turn and just beside it."""
    angles = [0.0, 1e-300, 1e-9, 2e-4, 1e-4, 0.5, 1.0, 2.0, PI - 1e-9, PI + 1e-9]
    b = np.append(B, 0.4)[-attitude.n :]
    for w in (t * n for t in angles for n in AXES):
        p, q = parameters(attitude.name, w), quaternion.exp(w)
        slopes(attitude.to_matrix, p)
        slopes(lambda x: (attitude.rate(x, A), attitude.normalized(x)), p)
        slopes(lambda x: attitude.error_jacobian_rate(x, b), p)
        slopes(attitude.from_quaternion, q)
        slopes(attitude.from_quaternion, -q)
        slopes(lambda x: (attitude.cayley_plus(x, 0.1 * A), attitude.cayley_minus(attitude.neutral(), x)), p)
        slopes(lambda d: attitude.cayley_plus(p, d), np.zeros(3))
    if attitude.name != "rodrigues":
        slopes(attitude.from_quaternion, np.append(0.0, A))


@every
def test_batches_are_rows(attitude, rng):
    p, w = attitude.random(rng, (4, 5)), rng.uniform(-1, 1, (4, 5, 3))
    b = rng.uniform(-1, 1, (5, attitude.n))
    two = ((attitude.rate, w), (attitude.cayley_plus, w), (attitude.cayley_minus, p[::-1]), (attitude.error_hessian, b),
           (attitude.error_jacobian_rate, b))  # fmt: skip
    for f in (attitude.to_quaternion, attitude.to_matrix, attitude.error_jacobian, attitude.normalized):
        assert f(p[:0]).shape == (0, *f(p).shape[1:])
        close(f(p), [[f(x) for x in row] for row in p], 2e-15)
    for f, given in two:
        y = np.broadcast_to(given, (4, 5, given.shape[-1]))
        each = [[f(p[i, j], y[i, j]) for j in range(5)] for i in range(4)]
        close(f(p, given), each, 2e-15)
        close(f(p[0, 0], y[0]), [f(p[0, 0], x) for x in y[0]], 2e-15)          # one with many, and many with one
        close(f(p[0], y[0, 0]), [f(x, y[0, 0]) for x in p[0]], 2e-15)


@every
def test_plain_interpreted_compiled_agree(attitude, rng):
    w = np.concatenate([BELOW_PI[: -len(AXES)], BEYOND])
    p = parameters(attitude.name, w)
    q = np.concatenate([quaternion.exp(w), -quaternion.exp(w), quaternion.random(rng, (9,))])
    x, b = rng.uniform(-1, 1, (len(p), 3)), rng.uniform(-1, 1, (len(p), attitude.n))
    check_lives(lambda p, w: (attitude.to_quaternion(p), attitude.to_matrix(p), attitude.rate(p, w), attitude.error_jacobian(p)), p, x,
                tolerance=4e-15)  # fmt: skip
    check_lives(lambda p, b: (attitude.error_hessian(p, b), attitude.error_jacobian_rate(p, b)), p, b, tolerance=2e-14)
    check_lives(attitude.from_quaternion, q, tolerance=2e-15)
    check_lives(lambda p, d: (attitude.cayley_plus(p, d), attitude.cayley_minus(p, attitude.cayley_plus(p, d))), p, 0.3 * x,
                tolerance=1e-13)  # fmt: skip


def test_rodrigues_parameters_live(rng):
    x = rng.uniform(-2, 2, (9, 3))
    check_lives(lambda d: (rodrigues_to_quaternion(d), rodrigues_from_quaternion(rodrigues_to_quaternion(d))), x, tolerance=2e-15)
