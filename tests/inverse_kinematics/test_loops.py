"""Inverse kinematics of closed loops: a four-bar and a hexapod in closed form, Bricard's six-bar by scipy, and what cannot be closed."""

import numpy as np
import pytest
from scipy.optimize import least_squares, lsq_linear, minimize_scalar
from scipy.spatial.transform import Rotation

import engine
from engine import Limits, Target, dynamics, inverse_kinematics
from engine.checks import EngineError
from engine.constraints import Ball, ConstraintError, Coupling, Distance, Grip, Hinge, Loops, Weld, projected
from engine.inverse_kinematics import problem as module
from engine.inverse_kinematics.problem import Problem
from engine.inverse_kinematics.targets import checked_targets
from engine.spatial import se3, so3
from tests.constraints.mechanisms import Z, at, bricard, four_bars, upright
from tests.inverse_kinematics.test_batches import same
from tests.inverse_kinematics.test_inverse_kinematics import moved, off, planar_arm, pose, within
from tests.numeric import derivative

#: crank, coupler, rocker and ground of a crank and rocker (Grashof: 0.3 + 1.0 < 0.8 + 0.7), m; and a point of its coupler
CRANK, COUPLER, ROCKER, GROUND = 0.3, 0.8, 0.7, 1.0
POINT = (0.5, 0.4, 0.0)


def four_bar(**crank):
    """The model, from 'ground' to 'crank', 'coupler' and 'rocker' about z, and its loop."""
    builder = engine.Builder("four-bar")
    _ = [builder.add_link(name) for name in ("ground", "crank", "coupler", "rocker")]
    builder.add_joint("a", "revolute", "ground", "crank", axis=Z, **crank)
    builder.add_joint("b", "revolute", "crank", "coupler", at(CRANK, 0, 0), axis=Z)
    builder.add_joint("c", "revolute", "ground", "rocker", at(GROUND, 0, 0), axis=Z)
    return builder.model(), [Hinge("coupler", "rocker", (COUPLER, 0, 0), (ROCKER, 0, 0), name="pin")]


def open_branch(angle):
    """The three joints' angles at a crank's, with the pin above the line from pivot to pin: circles about both that meet."""
    A, C = CRANK * np.array([np.cos(angle), np.sin(angle)]), np.array([GROUND, 0.0])
    d = np.linalg.norm(C - A)
    along, across = (C - A) / d, np.array([A[1] - C[1], C[0] - A[0]]) / d
    x = (COUPLER**2 - ROCKER**2 + d * d) / (2 * d)
    B = A + x * along + np.sqrt(COUPLER**2 - x * x) * across
    return np.array([angle, np.arctan2(*(B - A)[::-1]) - angle, np.arctan2(*(B - C)[::-1])])


def coupler_point(angle):
    """Where the coupler's point is, at a crank's angle."""
    turn, A = open_branch(angle)[:2].sum(), CRANK * np.array([np.cos(angle), np.sin(angle)])
    return A + np.array([np.cos(turn) * POINT[0] - np.sin(turn) * POINT[1], np.sin(turn) * POINT[0] + np.cos(turn) * POINT[1]])


def hexapod():
    """Six legs of universal and prismatic joints, of 0.6 to 1.8 m, under a platform that floats; its loops; the legs' ends, two (6, 3)."""
    builder = engine.Builder("hexapod")
    below = [np.array([np.cos(a), np.sin(a), 0.0]) for a in np.radians([-10, 10, 110, 130, 230, 250])]
    above = [0.5 * np.array([np.cos(a), np.sin(a), 0.0]) for a in np.radians([-50, 50, 70, 170, 190, 290])]
    builder.add_link("ground"), builder.add_link("platform")
    for k, p in enumerate(below):
        builder.add_link(f"low{k}"), builder.add_link(f"high{k}")
        builder.add_joint(f"foot{k}", "universal", "ground", f"low{k}", at(*p))
        builder.add_joint(f"leg{k}", "prismatic", f"low{k}", f"high{k}", axis=Z, limits=Limits(0.6, 1.8))
    builder.add_joint("free", "floating", "ground", "platform", at(0, 0, 1))
    return builder.model(), [Ball("platform", f"high{k}", p) for k, p in enumerate(above)], np.array(below), np.array(above)


def gaps(model, constraints, q):
    """The largest φ of rows of configurations."""
    loops = Loops(model, constraints)
    assert max(loops.turned(x) for x in q) < 1e-3
    return max(np.abs(loops.residual(x, {})).max() for x in q)


# ---------------------------------------------------------------- closed forms


def test_a_four_bar_s_coupler_by_circles_that_meet():
    """From the crank's angle; a point to 1e-9 m is an angle to 1e-9 m/0.3 m, which the coupler turns on by less than one to one."""
    model, loop = four_bar()
    angles = np.linspace(-3.0, 3.0, 25)
    expected = np.array([open_branch(a) for a in angles])
    goals = CRANK * np.stack([np.cos(angles), np.sin(angles), 0.0 * angles], axis=-1)
    q0 = expected + np.random.default_rng(0).uniform(-0.2, 0.2, expected.shape)
    found = inverse_kinematics(model, Target("coupler", goals, kind="position"), q0=q0, constraints=loop)
    assert found.converged.all() and (found.guesses == 1).all() and gaps(model, loop, found.q) < 1e-15
    assert np.abs(found.q - expected).max() < 1e-8


def test_a_coupler_point_goes_to_the_nearest_point_of_its_curve():
    """Both branches of the four-bar are tried; of what is outside of both curves the distance is a minimum over one angle."""
    model, loop = four_bar()
    rng = np.random.default_rng(1)
    angles = rng.uniform(-np.pi, np.pi, 12)
    on = np.array([[*coupler_point(a), 0.0] for a in angles])
    found = inverse_kinematics(model, Target("coupler", on, POINT, kind="position"), q0=open_branch(0.5), constraints=loop)
    assert found.converged.all() and gaps(model, loop, found.q) < 1e-15
    curve = np.linspace(-np.pi, np.pi, 2000)
    far = np.array([[1.5, 1.5, 0.0], [0.5, 2.0, 0.0], [-1.0, 1.0, 0.3]])
    found = inverse_kinematics(model, Target("coupler", far, POINT, kind="position"), q0=open_branch(0.5), constraints=loop)
    assert not found.converged.any() and gaps(model, loop, found.q) < 1e-15
    for goal, q, left in zip(far, found.q, found.residual[:, 0, 1], strict=True):
        away = lambda a, goal=goal: np.linalg.norm([*coupler_point(a), 0.0] - goal)
        start = curve[np.argmin([away(a) for a in curve])]
        best = minimize_scalar(away, bounds=(start - 0.01, start + 0.01), method="bounded", options={"xatol": 1e-10})
        assert left == pytest.approx(best.fun, abs=1e-12) and np.cos(q[0] - best.x) > 1.0 - 1e-12


def test_a_hexapod_s_legs_are_as_long_as_their_ends_are_apart():
    """|p + R a − b| of each leg; and a row is what it would be alone, to the bit."""
    model, loops, below, above = hexapod()
    rng = np.random.default_rng(2)
    goals = np.array([se3.pose(so3.exp(0.3 * rng.uniform(-1, 1, 3)), [0, 0, 1.1] + 0.2 * rng.uniform(-1, 1, 3)) for _ in range(20)])
    robot = engine.compile(model)
    found = robot.inverse_kinematics({"platform": goals}, constraints=loops)
    assert found.converged.all() and gaps(model, loops, found.q) < 1e-14 and all(within(model, q) for q in found.q)
    lengths = np.linalg.norm(goals[:, None, :3, 3] + above @ np.swapaxes(goals[:, :3, :3], 1, 2) - below, axis=-1)
    legs = [model.q_slice(f"leg{k}").start for k in range(6)]
    assert np.abs(found.q[:, legs] - lengths).max() < 1e-8
    for k in (0, 7):
        same(inverse_kinematics(model, {"platform": goals[k]}, constraints=loops), found[k])


def test_gears_that_fold_an_arm_along_a_line():
    """q2 = −2 q1 with equal rods: x = 2 l cos q1."""
    model = planar_arm(1.0, 1.0)
    found = inverse_kinematics(model, {"tip": [1.2, 0, 0]}, q0=[0.5, 0.0], constraints=[Coupling("j2", "j1", ratio=-2.0)])
    assert found.converged and np.abs(found.q - np.arccos(0.6) * np.array([1, -2])).max() < 1e-8
    found = inverse_kinematics(model, {"tip": [1.2, 0.5, 0]}, q0=[0.5, 0.0], constraints=[Coupling("j2", "j1", ratio=-2.0)])
    assert not found.converged and found.residual[0, 1] == pytest.approx(0.5, abs=1e-12)
    assert found.reason == "link 'tip' is 0.5 m off at the nearest that was found"


# ---------------------------------------------------------------- second routes


@pytest.mark.parametrize("seed", range(4))
def test_bricards_six_bar_as_scipy_solves_it(seed):
    """It has as many conditions as freedoms, and moves. From the same start the same place, of the target's and the loop's rows in one."""
    model, loops = bricard()
    rng, on = np.random.default_rng(seed), Loops(model, loops)
    there, _, closed = projected(model, on, 0.1 * rng.standard_normal(5), np.zeros(5), {}, 100)
    assert closed
    goal, q0 = pose(model, there, "bar2"), there + 0.05 * rng.standard_normal(5)

    def rows(q):
        T = pose(model, q, "bar2")
        return np.concatenate([Rotation.from_matrix(goal[:3, :3].T @ T[:3, :3]).as_rotvec(), T[:3, 3] - goal[:3, 3], on.residual(q, {})])

    theirs = least_squares(rows, q0, xtol=1e-15, ftol=1e-15, gtol=1e-15).x
    found = inverse_kinematics(model, {"bar2": goal}, q0=q0, seeds=0, constraints=loops)
    assert found.converged and gaps(model, loops, [found.q]) < 1e-14 and max(off(pose(model, found.q, "bar2"), goal)) < 1e-9
    assert np.abs(found.q - theirs).max() < 1e-7


def pull(model, constraints, q, link, goal):
    """What is left of the force to a goal that neither loops nor limits take, of all of it: Karush, Kuhn and Tucker."""
    force = dynamics.jacobian(model, q, link, "world_aligned")[3:].T @ (goal - pose(model, q, link)[:3, 3])
    J = Loops(model, constraints).jacobian(q, {})
    walls = []
    for b in (b for b in model.bodies if b.kind.adds):
        for i in range(b.kind.nv):
            x, e = b.coordinates(q)[i], np.eye(model.nv)[b.v.start + i]
            walls += [e] if x > b.joint.limits.upper - 1e-12 else [-e] if x < b.joint.limits.lower + 1e-12 else []
    A = np.array([*J, *walls]).T
    lower = np.concatenate([np.full(len(J), -np.inf), np.zeros(len(walls))])
    return np.linalg.norm(A @ lsq_linear(A, force, (lower, np.inf), tol=1e-14).x - force) / np.linalg.norm(force), len(walls)


def test_what_is_out_of_reach_pulls_at_loops_and_limits_alone():
    model, loops, *_ = hexapod()
    rng = np.random.default_rng(3)
    goals = np.array([0.0, 0.0, 1.5]) + rng.uniform(-1.5, 1.5, (12, 3))
    found = inverse_kinematics(model, {"platform": goals}, constraints=loops, seeds=5)
    far = ~found.converged
    assert far.sum() > 5 and gaps(model, loops, found.q) < 1e-14 and all(within(model, q) for q in found.q)
    left = [pull(model, loops, q, "platform", goal) for q, goal in zip(found.q[far], goals[far], strict=True)]
    assert max(rest for rest, _ in left) < 1e-9 and max(walls for _, walls in left) > 1


@pytest.mark.parametrize("goal", [[3.0, 0.3, 3.0], [2.0, 0.0, -5.0]])
def test_a_row_of_redundant_four_bars(goal):
    """A parallelogram's coupler goes around on a circle about (k, 0), of the cranks' length; three redundant rows a loop."""
    model, loops = four_bars(3)
    found = inverse_kinematics(model, {"coupler2": goal}, q0=upright(model, 1.0)[0], constraints=loops, seeds=5)
    assert not found.converged and gaps(model, loops, [found.q]) < 1e-12
    assert found.residual[0, 1] == pytest.approx(np.hypot(np.hypot(goal[0] - 2.0, goal[2]) - 1.0, goal[1]), abs=1e-12)


def test_the_jacobian_of_rows_with_loops():
    (model, loop), rng = bricard(), np.random.default_rng(4)
    problem = Problem(model, checked_targets(model, {"bar2": np.eye(4)}), False, True, 1e-9, tuple(loop))
    q, d, y = rng.uniform(-1, 1, 5), rng.standard_normal(5), rng.standard_normal(5)
    goals = np.eye(4)[None]
    r, J = problem.task.residual(q, goals, problem.points)
    assert r.shape == (11,) and np.array_equal(J[6:], problem.task.across(q))
    rate = derivative(lambda t: problem.task.residual(problem.task.plus(q, t * d), goals, problem.points)[0], h=1e-3)
    np.testing.assert_allclose(J @ d, rate, atol=1e-9 * np.abs(rate).max())
    _, _, g = problem.task.slope(q, np.zeros(5), goals, problem.points, problem.own, y)
    np.testing.assert_allclose(g, J[:6].T @ r[:6] + J[6:].T @ y, atol=1e-13)


def test_the_descent_compiled_is_the_one_in_numpy():
    (model, loop), rng = four_bar(), np.random.default_rng(5)
    problem = Problem(model, checked_targets(model, {"coupler": [0.2, 0.2, 0.0]}), False, True, 1e-9, tuple(loop))
    for weights in (problem.weights, problem.closing):
        arguments = (rng.uniform(-0.5, 0.5, 3) + open_branch(0.6), np.array([moved(0.2, 0.2, 0)]), problem.points, weights,
                     problem.lower, problem.upper, problem.tolerance)  # fmt: skip
        plain, compiled = problem.task.descent(*arguments), module.compiled(problem.task, "descent")(*arguments)
        for a, b in zip(plain, compiled, strict=True):
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-9)


# ---------------------------------------------------------------- what moves, and limits


def test_a_crank_that_is_limited_stays_within():
    model, loop = four_bar(limits=Limits(0.2, 1.0))
    found = inverse_kinematics(model, {"coupler": [-CRANK, 0, 0]}, q0=open_branch(0.5), constraints=loop)
    assert not found.converged and found.limits == ("a",) and found.q[0] == 1.0 and gaps(model, loop, [found.q]) < 1e-15
    assert found.reason == "link 'coupler' is 0.527 m off at the nearest that was found, with a at its limit"
    assert found.residual[0, 1] == pytest.approx(2 * CRANK * np.cos(0.5), abs=1e-12)      # the chord of π − 1


def test_loops_far_from_the_target_are_closed_and_what_is_in_neither_stays():
    (model, _), arm = four_bar(), planar_arm(1.0, 1.0)
    both = engine.combine(bar=model, arm=arm, idle=arm)
    loops = [Hinge("bar/coupler", "bar/rocker", (COUPLER, 0, 0), (ROCKER, 0, 0))]
    q0 = np.concatenate([open_branch(0.5) + 0.1, [0.3, 0.9], [0.1, 0.2]])
    found = inverse_kinematics(both, {"arm/tip": [1.0, 1.0, 0.0]}, q0=q0, constraints=loops)
    assert found.converged and gaps(both, loops, [found.q]) < 1e-15 and np.array_equal(found.q[5:], q0[5:])
    alone = inverse_kinematics(arm, {"tip": [1.0, 1.0, 0.0]}, q0=q0[3:5])
    assert np.abs(found.q[3:5] - alone.q).max() < 1e-8


def test_no_constraints_change_no_bit():
    model = planar_arm(1.0, 1.0)
    goals = np.array([[1.0, 1.0, 0.0], [3.0, 0.0, 0.0]])
    one, other = (inverse_kinematics(model, Target("tip", goals, kind="position"), **options) for options in ({}, {"constraints": []}))
    assert np.array_equal(one.q, other.q)


def test_equal_constraints_are_compiled_once():
    """Points as tuples, lists and arrays; another point is another loop."""
    model, _ = four_bar()
    goal = checked_targets(model, {"coupler": [0.2, 0.2, 0.0]})
    task = lambda *p: Problem(model, goal, False, True, 1e-9, (Hinge("coupler", "rocker", *p),)).task
    same_points = [task(kind([COUPLER, 0.0, 0.0]), kind([ROCKER, 0.0, 0.0])) for kind in (tuple, list, np.array)]
    assert len({*same_points}) == 1 and task((COUPLER, 0.0, 1e-15), (ROCKER, 0.0, 0.0)) not in same_points


def test_velocities_that_loops_allow():
    """As the docstring says: N of the null space turns coupler and rocker as the derivative of the closed form does."""
    model, loop = four_bar()
    q = inverse_kinematics(model, {"coupler": [0.0, CRANK, 0.0]}, q0=open_branch(1.0), constraints=loop).q
    J = engine.constraints.Loops(model, loop).jacobian(q, {})
    N = np.linalg.svd(J)[2][np.linalg.matrix_rank(J, tol=1e-9) :].T
    assert N.shape == (3, 1)
    np.testing.assert_allclose(N[:, 0] / N[0, 0], derivative(lambda t: open_branch(0.5 * np.pi + t), h=1e-3), atol=1e-9)


# ---------------------------------------------------------------- what cannot be closed, and bad input


def test_a_loop_that_cannot_be_closed_says_by_how_far_it_is_open():
    model = planar_arm(0.3, 0.4)
    found = inverse_kinematics(model, {"tip": [0.5, 0, 0]}, constraints=[Distance("base", "tip", length=1.0, name="strut")], seeds=3)
    assert not found.converged and "strut is open by 0.3 m" in found.reason
    both = inverse_kinematics(model, {"tip": np.zeros((2, 3))}, constraints=[Distance("base", "tip", length=1.0)], seeds=3)
    assert not both.converged.any() and all("Distance of 'base' and 'tip' is open by 0.3 m" in reason for reason in both.reason)


def test_half_a_turn_is_not_closed():
    """φ of a hinge is zero there as well."""
    builder = engine.Builder("ball")
    builder.add_link("base"), builder.add_link("top")
    builder.add_joint("ball", "spherical", "base", "top")
    model, hinge = builder.model(), [Hinge("base", "top", name="pin")]
    over = so3.exp(np.array([np.pi, 0.0, 0.0]))
    for q0 in (model.neutral(), [0.0, 1.0, 0.0, 0.0], [0.6, 0.8, 0.0, 0.0]):
        found = inverse_kinematics(model, {"top": over}, q0=q0, constraints=hinge)
        assert not found.converged and gaps(model, hinge, [found.q]) < 1e-12 and found.residual[0, 0] == pytest.approx(np.pi)


@pytest.mark.parametrize(("constraints", "message"), [
    ([Grip("base", "tip")], r"constraints holds the grip 'grip', which closes where its links are; expected a loop, such as engine.Weld"),
    ("pin", "constraints is 'pin'; expected a list of them"),
    (Hinge("base", "tip"), "constraints is Hinge.*; expected a list of them"),
    (None, "constraints is None; expected a list of them"),
    ({"pin": Hinge("base", "tip")}, "constraints is .*; expected a list of them"),
    (["pin"], "a constraint is 'pin'; expected engine.Hinge, Ball, Weld"),
    ([[1.0]], r"a constraint is \[1.0\]; expected engine.Hinge, Ball, Weld"),
    ([Hinge("base", "tap")], "no link 'tap' in 'planar arm'"),
    ([Weld("rod2", "tip")], "Weld of 'rod2' and 'tip': the links are welded together already"),
    ([Coupling("j1", "j3")], "no joint 'j3'"),
])  # fmt: skip
def test_bad_constraints_are_one_clear_sentence(constraints, message):
    with pytest.raises(EngineError, match=message) as caught:
        inverse_kinematics(planar_arm(1.0, 1.0), {"tip": [1.0, 0.0, 0.0]}, constraints=constraints)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 250
    assert isinstance(caught.value, (ConstraintError, engine.ModelError))
