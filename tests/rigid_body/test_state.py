"""States by name: built, taken apart, moved and compared, in all attitude parameters and velocity axes, against SciPy's rotations; mixed
states of several rotations and vectors; what is said about states that are none."""

import pickle
import re

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from scipy.stats import kstest

import engine
from engine import LieState, RigidBodyState, StateError
from engine.rigid_body import Indices, RigidBody
from tests.numeric import ROUNDED, check_lives, close, derivative
from tests.rigid_body.bodies import ATTITUDES, CHOICES, Burning, Loaded, compiled, parameters, rotation, states

choices = pytest.mark.parametrize(("attitude", "frame"), CHOICES)
MIXED = LieState("quaternion", 3, "mrp", 2, "rodrigues", "rotation_vector", 1)
PARTS = ("quaternion", None, "mrp", None, "rodrigues", "rotation_vector", None)


def body(attitude="quaternion", frame="world", **properties):
    return RigidBody(**{"mass": 2.0, "inertia": np.diag([1.0, 2.0, 3.0]), **properties}, attitude=attitude, velocity_frame=frame)


def cayley(R):
    """δ = tan(θ/2) n of a rotation, by SciPy."""
    q = R.as_quat(scalar_first=True)
    return q[1:] / q[0]


def mixed(rng):
    """A state with attitudes up to 2.5 rad, and the rotations in it, by SciPy."""
    turns = [Rotation.from_rotvec(rng.uniform(-1, 1, 3) * 1.44) for _ in PARTS]
    return np.concatenate([parameters(a, R) if a else rng.standard_normal(i.stop - i.start)
                           for a, R, i in zip(PARTS, turns, MIXED.x, strict=True)]), turns  # fmt: skip


# ---------------------------------------------------------------- by name


@choices
def test_what_is_built_is_taken_apart(attitude, frame):
    for s in states(20):
        b, R = body(attitude, frame), rotation(s)
        v = s.linear_velocity if frame == "world" else R.inv().apply(s.linear_velocity)
        x = b.build_state(s.position, s.orientation, v, s.angular_velocity)
        own = parameters(attitude, R)
        own = own * np.sign(own @ b.orientation(x)) if attitude == "quaternion" else own
        assert len(x) == b.state.n == (13 if attitude == "quaternion" else 12) and b.state.ne == 12
        close(x, np.concatenate([own, s.position, s.angular_velocity, v]), 1e-14)
        for part, slice_, again in zip((s.position, own, v, s.angular_velocity), (b.indices.position, b.indices.orientation,
                                       b.indices.linear_velocity, b.indices.angular_velocity), b.parse_state(x), strict=True):  # fmt: skip
            close(x[slice_], part, 1e-14)
            close(again, x[slice_], ROUNDED)                                                    # a quaternion is normalised again
        np.testing.assert_array_equal(np.concatenate([b.position(x), b.linear_velocity(x), b.angular_velocity(x)]),
                                      np.concatenate([s.position, v, s.angular_velocity]))  # fmt: skip
        close(b.rotation(x), R.as_matrix(), 1e-14)
        close(np.abs(b.quaternion(x)), np.abs(s.orientation), 1e-14)
        for orientation in (R.as_matrix(), own, -s.orientation):                              # three more ways to say the same
            assert b.rigid_body_state(b.build_state(s.position, orientation, v, s.angular_velocity)).isclose(s, 1e-14)
        assert b.rigid_body_state(b.build_state(s)).isclose(s, 1e-14)


@choices
def test_batches_are_built_and_taken_apart_row_by_row(attitude, frame):
    b, some = body(attitude, frame), states(6)
    rows = np.array([b.build_state(s) for s in some]).reshape(2, 3, -1)
    p, q, v, w = b.parse_state(rows)
    again, by_matrix = b.build_state(p, q, v, w), b.build_state(p, b.rotation(rows), v, w)
    for k in np.ndindex(2, 3):
        close(again[k], rows[k], ROUNDED)
        assert b.rigid_body_state(by_matrix[k]).isclose(b.rigid_body_state(rows[k]), 1e-14)
    assert b.build_state(p[0, 0], linear_velocity=v).shape == rows.shape                      # one position for all
    np.testing.assert_array_equal(b.rotation(rows)[1, 2], b.rotation(rows[1, 2]))


def test_indices_name_every_entry_once():
    for attitude in ATTITUDES:
        b = body(attitude, controls=2)
        assert Indices._fields == ("orientation", "position", "angular_velocity", "linear_velocity", "controls")
        assert np.concatenate([np.arange(b.state.n + 5)[i] for i in b.indices]).tolist() == list(range(b.state.n + 2))


def test_rest_is_the_neutral_state_and_what_is_built_of_nothing():
    for attitude in ATTITUDES:
        b = body(attitude)
        np.testing.assert_array_equal(b.build_state(), b.neutral())
        assert b.rigid_body_state(b.neutral()) == RigidBodyState() and not b.position(b.neutral()).any()
        np.testing.assert_array_equal(b.rotation(b.neutral()), np.eye(3))


def test_quaternions_near_unit_length_are_normalised():
    b, q = body(), np.array([0.8, 0.0, 0.6, 0.0])
    for length in (1 - 0.9e-3, 1 + 0.9e-3):
        for normalised in (b.build_state(orientation=length * q)[:4], RigidBodyState(orientation=length * q).orientation,
                           b.parse_state(np.append(length * q, np.zeros(9)))[1]):  # fmt: skip
            close(normalised, q, ROUNDED)


# ---------------------------------------------------------------- RigidBodyState


def test_plus_turns_on_the_bodys_side_and_minus_takes_it_back():
    rng = np.random.default_rng(4)
    for s, s1 in zip(states(20), states(20, 1), strict=True):
        delta = rng.standard_normal(12)
        moved = s + delta
        turn = Rotation.from_rotvec(2 * np.arctan(np.linalg.norm(delta[:3])) * delta[:3] / np.linalg.norm(delta[:3]))
        close(rotation(moved).as_matrix(), (rotation(s) * turn).as_matrix(), 1e-14)
        close(np.concatenate([moved.position - s.position, moved.angular_velocity - s.angular_velocity,
                              moved.linear_velocity - s.linear_velocity]), delta[3:], 1e-14)  # fmt: skip
        close(moved - s, delta, 2e-14)
        assert (s + (s1 - s)).isclose(s1, 1e-13 * max(1, np.abs(s1 - s).max()))
        close((s1 - s)[:3], cayley(rotation(s).inv() * rotation(s1)), 1e-13)
        assert not np.abs(s - s).max() > ROUNDED and (s + np.zeros(12)).isclose(s, ROUNDED)


def test_equality_is_up_to_the_quaternions_sign_and_nothing_else():
    s = states(1)[0]
    same = RigidBodyState(s.position, -s.orientation, s.linear_velocity, s.angular_velocity)
    assert s == same and s.isclose(same, 0.0)
    for k in range(12):
        other = s + 1e-6 * np.eye(12)[k]
        assert s != other and s.isclose(other, 2e-6) and not s.isclose(other, 4e-7)
        assert not same.isclose(other, 4e-7) and same.isclose(other, 2e-6)
    assert s != s.vector.tolist()
    with pytest.raises(TypeError, match="unhashable"):
        hash(s)


def test_a_rigid_body_state_is_its_vector():
    for s in states(5):
        assert RigidBodyState.from_vector(s.vector) == s and RigidBodyState.from_vector(1.0005 * s.vector).normalized().isclose(
            RigidBodyState(1.0005 * s.position, s.orientation, 1.0005 * s.linear_velocity, 1.0005 * s.angular_velocity), 1e-15)  # fmt: skip
        np.testing.assert_array_equal(np.concatenate([s.orientation, s.position, s.angular_velocity, s.linear_velocity]), s.vector)
        assert eval(repr(s), {"RigidBodyState": RigidBodyState}).isclose(s, 1e-5)


# ---------------------------------------------------------------- RigidBodyState as an array, and batches of it


def test_a_rigid_body_state_is_an_array_of_its_entries():
    s = states(1)[0]
    assert np.asarray(s).shape == s.shape == (13,) and np.array(s, dtype=np.float32).dtype == np.float32 and len(s) == 13
    for array in (np.asarray(s), np.array([*s]), np.array([s[k] for k in range(-13, 0)]), np.concatenate([s[:4], s[4:]]), s[[*range(13)]]):
        np.testing.assert_array_equal(array, s.vector)
    assert s[..., 4:7].tolist() == s.position.tolist() and s[:] == s and s[None].shape == (1, 13) and 2.0 * s[0] == 2.0 * s.vector[0]
    with pytest.raises(IndexError):
        s[13]
    for sum_ in (lambda: np.ones(13) + s, lambda: np.ones(12) - s, lambda: np.sin(s), lambda: 2.0 * s):     # not entry by entry
        with pytest.raises(TypeError):
            sum_()


def near(found, expected):
    """Equal but for some roundings of the largest: BLAS sums the four of a quaternion by where they lie in memory."""
    for x, y in zip(*((a if isinstance(a, tuple) else (a,)) for a in (found, expected)), strict=True):
        np.testing.assert_allclose(x, y, rtol=0, atol=16 * np.spacing(np.abs(y).max()))


def test_a_batch_of_rigid_body_states_is_its_rows():
    rows, others = states(6), states(6, 1)
    s, s1 = RigidBodyState.from_vector(np.asarray(rows).reshape(2, 3, 13)), RigidBodyState.from_vector(others).vector.reshape(2, 3, 13)
    s1, delta = RigidBodyState.from_vector(s1), 0.3 * np.random.default_rng(5).standard_normal((2, 3, 12))
    for k, (i, j) in enumerate(np.ndindex(2, 3)):
        assert s[i, j] == s[i][j] == rows[k] and s[..., 7:10][i, j].tolist() == rows[k].angular_velocity.tolist()
        near((s1 - s)[i, j], others[k] - rows[k])
        near((s1 - rows[0])[i, j], others[k] - rows[0])                                         # one for all
        assert (s + delta)[i, j].isclose(rows[k] + delta[i, j], 1e-15)
    assert s[:, 1:].shape == (2, 2, 13) and isinstance(s[1], RigidBodyState) and [row.shape for row in s] == [(3, 13)] * 2
    assert s[s.position[..., 0] > 0.0].shape == ((s.position[..., 0] > 0.0).sum(), 13)
    again = RigidBodyState(s.position, rotation(s[0, 0]).as_matrix(), s.linear_velocity, s.angular_velocity)
    assert again[0, 0].isclose(s[0, 0], 1e-14) and not again.isclose(s) and s.isclose(s + 0.0 * delta, ROUNDED)
    assert s != s[0] and s == s[::1] and eval(repr(s), {"RigidBodyState": RigidBodyState}).isclose(s, 1e-5)
    assert RigidBodyState.random(np.random.default_rng(2), (2, 3)) == RigidBodyState.from_vector(
        [[RigidBodyState.random(rng) for _ in range(3)] for rng in [np.random.default_rng(2)] for _ in range(2)])


@choices
def test_a_body_takes_states_of_every_kind_as_its_own(attitude, frame):
    """Whatever is done with a RigidBodyState is what is done with the body's x of it, in plain functions and compiled ones."""
    b, rows, u = Loaded(attitude=attitude, velocity_frame=frame), states(3), np.arange(4.0)
    own = np.array([b.build_state(s) for s in rows])
    for given, x in ((rows[0], own[0]), (rows, b.build_state(rows)), ([rows, rows[::-1]], np.stack([own, own[::-1]]))):
        for what in (b.position, b.orientation, b.linear_velocity, b.angular_velocity, b.rotation, b.quaternion, b.parse_state):
            near(what(given), what(x))
    b, s = Burning(attitude=attitude, velocity_frame=frame), rows[0]
    x, x0 = b.build_state(s), b.build_state(rows[1])
    for what in (b.dynamics, b.acceleration, b.wrench, b.spatial_inertia):
        near(what(s, u, 0.3), what(x, u, 0.3))
    near(b.state_diff(s, rows[1]), b.state_diff(x, x0))
    near(b.state_plus(s, np.ones(12)), b.state_plus(x, np.ones(12)))
    near(b.error_jacobian(s), b.error_jacobian(x))
    near(b.error_jacobian_rate(s, x), b.error_jacobian_rate(x, x))
    c = compiled(Loaded, attitude, frame)
    near(c.dynamics(s, u, 0.3), c.dynamics(c.system.build_state(s), u, 0.3))
    near(c.dynamics(rows, u, 0.3)[1], c.dynamics(rows[1], u, 0.3))
    near(c.state_diff(x=rows, x0=s)[2], c.state_diff(c.system.build_state(rows[2]), c.system.build_state(s)))
    assert b.rigid_body_state(b.build_state(RigidBodyState.from_vector(rows))).isclose(RigidBodyState.from_vector(rows), 1e-14)


def test_a_run_starts_from_rigid_body_states():
    for attitude, frame in (("quaternion", "body"), ("mrp", "world")):
        c, rows = engine.compile(body(attitude, frame, integrator="lie_euler")), states(3)
        x = np.array([c.system.build_state(s) for s in rows])
        one, batch = c.simulate(rows[0], 0.05, 0.01), c.simulate(RigidBodyState.from_vector(rows), 0.05, 0.01)
        near(one.x, c.simulate(x[0], 0.05, 0.01).x)
        near(batch.x, c.simulate(x, 0.05, 0.01).x)
        near(c.simulate(rows, 0.05, 0.01).x, batch.x)
        assert c.system.rigid_body_state(batch.x)[:, 0].isclose(RigidBodyState.from_vector(rows), 1e-14)
    near(c.solve(rows[0], 0.05, tolerance=1e-3)(0.05), c.solve(x[0], 0.05, tolerance=1e-3)(0.05))


def test_a_trajectory_is_made_of_rigid_body_states():
    b, rows = body("mrp", "body", controls=0), states(3)
    made = engine.BodyTrajectory.of(b, np.arange(3.0), rows, np.zeros((3, 0)))
    np.testing.assert_array_equal(made.x, [b.build_state(s) for s in rows])


def test_half_a_turn_of_a_state_has_no_rodrigues_parameters():
    with pytest.raises(StateError, match="RigidBodyState: orientation is half a turn, which has no rodrigues parameters; expected less"):
        body("rodrigues").position(RigidBodyState(orientation=[0, 0, 0, 1]))


def test_a_bodys_layout_is_that_of_its_parameters_now():
    b, s = body(), states(1)[0]
    for attitude, frame in CHOICES:
        b.build_state(s)
        b.attitude, b.velocity_frame = attitude, frame
        np.testing.assert_array_equal(b.build_state(s), body(attitude, frame).build_state(s))
        again = pickle.loads(pickle.dumps(b.state))
        assert repr(again) == f"BodyLayout({attitude!r}, {frame!r})"
        np.testing.assert_array_equal(again.vector(s), b.build_state(s))


def uniform(R, rest):
    """p-values: cos of a turned axis is uniform (Archimedes) whichever axis; the angle has (θ − sin θ)/π; the rest is normal."""
    angle = R.magnitude()
    yield kstest(angle, lambda t: (t - np.sin(t)) / np.pi).pvalue
    for i in range(3):
        yield from (kstest(R.as_matrix()[:, j, i], "uniform", (-1, 2)).pvalue for j in range(3))
        yield kstest((R.as_rotvec() / angle[:, None])[:, i], "uniform", (-1, 2)).pvalue
    yield from (kstest(column, "norm").pvalue for column in rest.T)


@pytest.mark.parametrize("attitude", ATTITUDES)
def test_random_orientations_are_uniform(attitude):
    b, rng = body(attitude), np.random.default_rng(8)
    x = np.array([b.random(rng) for _ in range(1500)])
    assert min(uniform(Rotation.from_matrix(b.rotation(x)), x[:, b.indices.position.start :])) > 1e-3


def test_random_rigid_body_states_are_uniform():
    rng = np.random.default_rng(3)
    x = np.array([RigidBodyState.random(rng).vector for _ in range(1500)])
    assert min(uniform(Rotation.from_quat(x[:, :4], scalar_first=True), x[:, 4:])) > 1e-3


# ---------------------------------------------------------------- the error state of a body


@choices
def test_state_diff_is_the_difference_of_rigid_body_states(attitude, frame):
    """In world axes; in body axes the velocities' difference is that of the body's own numbers."""
    b = body(attitude, frame)
    for s, s0 in zip(states(10), states(10, 1), strict=True):
        x, x0 = b.build_state(s), b.build_state(s0)
        delta = b.state_diff(x, x0)
        wanted = s - s0 if frame == "world" else np.append((s - s0)[:9], b.linear_velocity(x) - b.linear_velocity(x0))
        close(delta, wanted, 1e-12)
        assert b.rigid_body_state(b.state_plus(x0, delta)).isclose(s, 1e-12)


def test_state_functions_are_plain_interpreted_and_compiled_alike():
    rng = np.random.default_rng(0)
    x, x0 = (np.array([MIXED.normalized(mixed(rng)[0]) for _ in range(3)]) for _ in range(2))
    delta = rng.standard_normal((3, MIXED.ne))
    b = rng.standard_normal((3, MIXED.n))

    def everything(x, x0, delta, b):
        return (MIXED.cayley_plus(x, delta), MIXED.cayley_minus(x0, x), MIXED.error_jacobian(x), MIXED.rate(x, delta),
                MIXED.error_jacobian_rate(x, b), MIXED.error_projection(x))  # fmt: skip

    check_lives(everything, x, x0, delta, b, tolerance=1e-13)


def test_compiled_state_functions_are_the_bodys_own():
    b = body("mrp", "body")
    compiled, x = engine.compile(b), np.array([b.build_state(s) for s in states(9)])
    delta = np.random.default_rng(1).standard_normal((9, 12))
    close(compiled.state_plus(x, delta), b.state_plus(x, delta), 1e-14)
    close(compiled.state_diff(x, x[0]), b.state_diff(x, x[0]), 1e-14)


# ---------------------------------------------------------------- mixed states


def test_layout():
    s = LieState("quaternion", 3, 6)
    assert (s.n, s.ne, s.x, s.e) == (13, 12, [slice(0, 4), slice(4, 7), slice(7, 13)], [slice(0, 3), slice(3, 6), slice(6, 12)])
    assert (MIXED.n, MIXED.ne) == (19, 18) and repr(s) == "LieState('quaternion', 3, 6)" and s.manifold.nq == 13 and s.manifold.nv == 12
    assert [np.arange(19)[i].tolist() for i in MIXED.x][-2:] == [[15, 16, 17], [18]]


def test_mixed_states_move_part_by_part():
    """cayley_plus and cayley_minus in each part are SciPy's product with exp of 2 atan|δ|, or a sum; batches are rows."""
    rng = np.random.default_rng(2)
    rows = [(*mixed(rng), rng.standard_normal(MIXED.ne) * 0.3) for _ in range(6)]
    for x, turns, delta in rows:
        wanted = []
        for a, R, i, j in zip(PARTS, turns, MIXED.x, MIXED.e, strict=True):
            d = delta[j]
            angle = 2 * np.arctan(np.linalg.norm(d)) / np.linalg.norm(d)
            p = parameters(a, R * Rotation.from_rotvec(angle * d)) if a else x[i] + d
            wanted.append(p if a != "quaternion" else p * np.sign(p @ x[i]))
        close(MIXED.cayley_plus(x, delta), np.concatenate(wanted), 1e-13)
        close(MIXED.cayley_minus(x, MIXED.cayley_plus(x, delta)), delta, 1e-13)
    x, _, delta = (np.array(column) if k != 1 else None for k, column in enumerate(zip(*rows, strict=True)))
    np.testing.assert_array_equal(MIXED.cayley_plus(x, delta), [MIXED.cayley_plus(*row) for row in zip(x, delta, strict=True)])
    np.testing.assert_array_equal(MIXED.cayley_minus(x[1:], x[:-1]), [MIXED.cayley_minus(*row) for row in zip(x[1:], x[:-1], strict=True)])
    np.testing.assert_array_equal(MIXED.rate(x, delta), [MIXED.rate(*row) for row in zip(x, delta, strict=True)])


def test_error_jacobians_of_mixed_states_are_derivatives():
    """E of cayley_plus, its inverse from the left of cayley_minus, and the derivative of Eᵀ b along an error."""
    rng = np.random.default_rng(5)
    for _ in range(4):
        x, b = mixed(rng)[0], rng.standard_normal(MIXED.n)
        E, one = MIXED.error_jacobian(x), np.eye(MIXED.ne)
        close(E, np.stack([derivative(lambda h, e=e: MIXED.cayley_plus(x, h * e)) for e in one], axis=1), 1e-11)
        close(MIXED.error_jacobian_rate(x, b),
              np.stack([derivative(lambda h, e=e: MIXED.error_jacobian(MIXED.cayley_plus(x, h * e)).T @ b) for e in one], axis=1), 1e-10)
        close(MIXED.error_projection(x) @ E, one, 1e-14)
        slopes = [derivative(lambda h, e=e: MIXED.cayley_minus(x, x + h * e), 1 / 256) for e in np.eye(MIXED.n)]
        close(MIXED.error_projection(x), np.stack(slopes, axis=1), 1e-10)


def test_rate_is_the_derivative_of_a_turn():
    """ẋ of ξ: every rotation turned by SciPy along ω, every vector moved."""
    rng = np.random.default_rng(6)
    x, turns = mixed(rng)
    xi = rng.standard_normal(MIXED.ne) * 0.5

    def after(t):
        parts = [parameters(a, R * Rotation.from_rotvec(xi[j] * t)) if a else x[i] + xi[j] * t
                 for a, R, i, j in zip(PARTS, turns, MIXED.x, MIXED.e, strict=True)]  # fmt: skip
        return np.concatenate(parts)

    close(MIXED.rate(x, xi), derivative(after), 1e-11)


@pytest.mark.parametrize("attitude", ATTITUDES)
def test_the_manifold_of_a_mixed_state_is_its_rotations(attitude):
    """⊕ by exponentials and ⊖ by logarithms, against SciPy; also through half a turn, where parameters jump."""
    m, rng = LieState(attitude, 2).manifold, np.random.default_rng(7)
    for R in Rotation.random(20, rng=rng):
        d = rng.standard_normal(5)
        x = np.append(parameters(attitude, R), [0.3, 0.4])
        to = m.plus(x, d)
        turned = Rotation.from_matrix(body(attitude).rotation(np.append(to[:-2], np.zeros(9))))
        close(turned.as_matrix(), (R * Rotation.from_rotvec(d[:3])).as_matrix(), 1e-11)
        back = m.minus(x, to)
        close(Rotation.from_rotvec(back[:3]).as_matrix(), Rotation.from_rotvec(d[:3]).as_matrix(), 1e-11)
        close(np.append(to[-2:] - x[-2:], back[3:]), np.append(d[3:], d[3:]), 1e-14)


# ---------------------------------------------------------------- what is no state


@pytest.mark.parametrize(("given", "message"), [
    ({"orientation": [0, 0, 0, 0]}, "RigidBody: orientation[..., 0:4] is a quaternion of length 0; expected a unit one"),
    ({"orientation": [1.002, 0, 0, 0]}, "is a quaternion of length 1.002; expected a unit one, [qw qx qy qz]"),
    ({"orientation": [1, 0, 0]}, "RigidBody: orientation has shape (3,); expected a quaternion (4) or a matrix (3×3)"),
    ({"orientation": np.diag([1, 1, -1])}, "RigidBody: orientation is no rotation matrix; expected R Rᵀ = 1 and det R = 1"),
    ({"orientation": 2 * np.eye(3)}, "orientation is no rotation matrix"),
    ({"orientation": np.full(4, np.nan)}, "orientation[0] is nan; expected a finite number"),
    ({"position": [1, 2]}, "RigidBody: position has shape (2,); expected (..., 3)"),
    ({"position": RigidBodyState(), "angular_velocity": [0, 0, 1]}, "RigidBody: build_state got a RigidBodyState and more; expected a"),
    ({"position": "here"}, "RigidBody: position holds <U4; expected real numbers"),
    ({"linear_velocity": [0, 0, np.nan]}, "RigidBody: linear_velocity holds NaN or infinity; expected finite numbers"),
    ({"angular_velocity": [1, 2, [3]]}, "RigidBody: angular_velocity is not rectangular; expected an array of real numbers"),
    ({"position": np.zeros((2, 3)), "linear_velocity": np.zeros((5, 3))}, "have shapes (4,), (2, 3), (3,), (5, 3); expected batches"),
])  # fmt: skip
def test_states_that_cannot_be_built(given, message):
    with pytest.raises(StateError, match=re.escape(message)):
        body().build_state(**given)


def test_half_a_turn_has_no_rodrigues_parameters():
    with pytest.raises(StateError, match="orientation is half a turn, which has no rodrigues parameters"):
        body("rodrigues").build_state(orientation=[0, 0, 0, 1])
    message = "orientation has shape (2,); expected a quaternion (4) or a matrix (3×3), or the 3 parameters of 'mrp'"
    with pytest.raises(StateError, match=re.escape(message)):
        body("mrp").build_state(orientation=[0, 0])


@pytest.mark.parametrize(("x", "message"), [
    (np.zeros(12), "x has shape (12,); expected (..., 13): quaternion (4) + R3 + R3 + R3"),
    (np.append([0.5, 0, 0, 0], np.zeros(9)), "x[..., 0:4] is a quaternion of length 0.5; expected a unit one"),
    ([np.append([1.0, 0, 0, 0], np.zeros(9)), np.append([1, 0, 0, 0, np.inf], np.zeros(8))], "x[1, 4] is inf; expected a finite number"),
    ([RigidBodyState(), np.zeros(13)], "the states hold RigidBodyState and ndarray; expected all of one kind"),
    (None, "x holds NoneType; expected real numbers"),
    ([None] * 13, "x holds object; expected real numbers"),
    ([[1, 2], [3]], "x is not rectangular"),
    (np.ones(13) * 1j, "x holds complex128; expected real numbers"),
])  # fmt: skip
def test_vectors_that_are_no_states(x, message):
    with pytest.raises(StateError, match=re.escape(message)):
        body().parse_state(x)


@pytest.mark.parametrize(("call", "message"), [
    (lambda s: RigidBodyState(position=[1, 2]), "RigidBodyState: position has shape (2,); expected (..., 3)"),
    (lambda s: RigidBodyState(orientation=[0, 0, 0, 0]), "is a quaternion of length 0"),
    (lambda s: RigidBodyState(orientation=2 * np.eye(3)), "RigidBodyState: orientation is no rotation matrix"),
    (lambda s: RigidBodyState(linear_velocity="fast"), "RigidBodyState: linear_velocity holds <U4; expected real numbers"),
    (lambda s: RigidBodyState.from_vector(np.zeros((2, 13))), "x[..., 0:4] is a quaternion of length 0"),
    (lambda s: RigidBodyState.from_vector(np.tile(s.vector, (13, 1))[:, :12]), "x has shape (13, 12); expected (..., 13)"),
    (lambda s: RigidBodyState(np.zeros((2, 3)), linear_velocity=np.zeros((5, 3))),
     "the parts of a RigidBodyState have shapes (4,), (2, 3), (3,), (5, 3); expected batches that broadcast"),
    (lambda s: s + np.zeros(3), "an error of a RigidBodyState has shape (3,); expected (..., 12)"),
    (lambda s: s[None][[0, 0]] + np.zeros((3, 12)), "a RigidBodyState and its error have shapes (2, 13), (3, 12); expected batches that"),
    (lambda s: s + np.full(12, np.inf), "an error of a RigidBodyState holds NaN or infinity"),
    (lambda s: s - RigidBodyState(orientation=[0, 0, 0, 1]), "two orientations are half a turn apart, where tan(θ/2) is infinite"),
])  # fmt: skip
def test_rigid_body_states_that_cannot_be(call, message):
    with pytest.raises(StateError, match=re.escape(message)):
        call(RigidBodyState())
    with pytest.raises(TypeError, match="unsupported operand"):
        RigidBodyState() - 3


@pytest.mark.parametrize(("parts", "message"), [
    ((), "a state has no parts; expected at least one vector or rotation"),
    (("quat",), "no attitude 'quat' (did you mean 'quaternion'?); expected one of quaternion, mrp, rodrigues, rotation_vector"),
    ((0,), "a part of a state is 0; expected the size of a vector"),
    ((2.5,), "a part of a state is 2.5"),
    ((True,), "a part of a state is True"),
])  # fmt: skip
def test_layouts_that_cannot_be(parts, message):
    with pytest.raises(StateError, match=re.escape(message)):
        LieState(*parts)
