"""Inverse kinematics: closed forms, real arms with their limits, Pinocchio's placements, scipy's minima, what it says about bad input."""

import dataclasses
import functools
import itertools

import numpy as np
import pytest
from scipy.optimize import lsq_linear, minimize

import engine
from engine import Limits, Mimic, ModelError, StateError, Target, dynamics, inverse_kinematics
from engine.inverse_kinematics import problem as module
from engine.inverse_kinematics.problem import Problem, Task, joint_box, moving_velocities
from engine.inverse_kinematics.targets import checked_targets
from engine.model import KINDS
from engine.ops.box_qp import box_qp
from engine.spatial import quaternion, se3, so3
from tests.dynamics.oracle_pinocchio import Pinocchio, from_urdf
from tests.dynamics.support import file, floats, robot, without_mimics
from tests.numeric import check_lives, close, derivative
from tests.trees import ONE_COORDINATE, random_tree

HANDS, SOLES = ["arm_left_7_link", "arm_right_7_link"], ["left_sole_link", "right_sole_link"]
BOTH = pytest.mark.parametrize("sign", [1, -1], ids=["elbow up", "elbow down"])


def pose(model, q, link):
    return dynamics.forward_kinematics(model, q)[model.link_index(link)]


def off(T, goal):
    """Angle and distance between two poses."""
    return float(np.linalg.norm(so3.log(goal[:3, :3].T @ T[:3, :3]))), float(np.linalg.norm(T[:3, 3] - goal[:3, 3]))


def planar_arm(*lengths, **joint):
    """Rods in the plane, from 'base' to 'tip', with joints 'j1', 'j2', … about z."""
    arm, ahead = engine.Builder("planar arm"), 0.0
    arm.add_link("base")
    for i, length in enumerate(lengths, 1):
        arm.add_link(f"rod{i}")
        arm.add_joint(f"j{i}", "revolute", "base" if i == 1 else f"rod{i - 1}", f"rod{i}", placement=moved(ahead, 0, 0), **joint)
        ahead = length
    arm.add_link("tip")
    arm.add_joint("end", "fixed", f"rod{len(lengths)}", "tip", placement=moved(ahead, 0, 0))
    return arm.model()


def moved(x, y, z):
    return se3.pose(np.eye(3), np.array([x, y, z], dtype=float))


def problem_of(model, targets, tolerance=1e-9):
    """The problem with these targets, and their poses."""
    wanted = checked_targets(model, targets)
    return Problem(model, wanted, False, True, tolerance), np.array([t.pose for t in wanted])


def within(model, q, slack=1e-14):
    """Every joint of numbers, mimics too, lies within its limits."""
    for b in model.bodies:
        if b.kind.manifold.name == f"R{b.kind.nv}":
            own, room = b.coordinates(q), slack * (1.0 + abs(b.offset)) * max(1.0, abs(b.ratio)) * b.mimics
            if not ((b.joint.limits.lower - room <= own) & (own <= b.joint.limits.upper + room)).all():
                return False
    return True


def limited(model, rng, share=1.0):
    """The model with random limits on its joints of numbers."""
    graph = model.graph.copy()
    for parent, child, joint in model.graph.edges.data("joint"):
        if joint.kind in (*ONE_COORDINATE, "universal") and rng.random() < share:
            low = rng.uniform(-1.5, 0.0)
            graph.edges[parent, child]["joint"] = dataclasses.replace(joint, limits=Limits(low, low + rng.uniform(0.5, 2.0)))
    return engine.Model.from_graph(graph, floating_base=floats(model))


# ---------------------------------------------------------------- closed forms


@BOTH
def test_two_rods_by_the_law_of_cosines(sign):
    a, b, model = 0.7, 0.5, planar_arm(0.7, 0.5)
    for x, y in [(0.6, 0.7), (-0.3, 0.5), (0.1, -0.9), (1.0, 0.0), (-0.25, -0.05)]:
        elbow = sign * np.arccos((x * x + y * y - a * a - b * b) / (2 * a * b))
        shoulder = np.arctan2(y, x) - np.arctan2(b * np.sin(elbow), a + b * np.cos(elbow))
        solution = inverse_kinematics(model, {"tip": [x, y, 0]}, q0=[shoulder + 0.2, elbow - 0.1 * sign])
        assert solution.converged and solution.guesses == 1 and solution.limits == ()
        np.testing.assert_allclose(solution.q, [shoulder, elbow], atol=1e-8)


def spherical_wrist(wrist="three"):
    """An arm of yaw, shoulder and elbow with a wrist whose axes meet at 'hand': roll, pitch, roll, or a ball."""
    arm = engine.Builder("spherical wrist")
    _ = [arm.add_link(name) for name in ("base", "waist", "upper", "fore", "hand")]
    arm.add_joint("yaw", "revolute", "base", "waist", axis=[0, 0, 1])
    arm.add_joint("shoulder", "revolute", "waist", "upper", axis=[0, 1, 0], placement=moved(0, 0, 0.4))
    arm.add_joint("elbow", "revolute", "upper", "fore", axis=[0, 1, 0], placement=moved(0.6, 0, 0))
    if wrist == "ball":
        arm.add_joint("ball", "spherical", "fore", "hand", placement=moved(0.5, 0, 0))
        return arm.model()
    _ = arm.add_link("roll"), arm.add_link("pitch")
    arm.add_joint("w1", "revolute", "fore", "roll", axis=[1, 0, 0], placement=moved(0.5, 0, 0))
    arm.add_joint("w2", "revolute", "roll", "pitch", axis=[0, 1, 0])
    arm.add_joint("w3", "revolute", "pitch", "hand", axis=[1, 0, 0])
    return arm.model()


def arm_angles(p):
    """The four (yaw, shoulder, elbow) that bring the wrist to p; a positive shoulder turns x towards −z."""
    a, b, (x, y, z) = 0.6, 0.5, p
    for turned, sign in itertools.product((1, -1), (1, -1)):
        r, h = turned * np.hypot(x, y), 0.4 - z
        elbow = sign * np.arccos((r * r + h * h - a * a - b * b) / (2 * a * b))
        yield np.arctan2(turned * y, turned * x), np.arctan2(h, r) - np.arctan2(b * np.sin(elbow), a + b * np.cos(elbow)), elbow


def wrist_angles(R):
    """The two (w1, w2, w3) with Rx(w1) Ry(w2) Rx(w3) = R."""
    for sign in (1, -1):
        w2 = sign * np.arccos(R[0, 0])
        yield np.arctan2(sign * R[1, 0], -sign * R[2, 0]), w2, np.arctan2(sign * R[0, 1], sign * R[0, 2])


def turn(yaw, shoulder, elbow):
    return so3.about(np.array([0.0, 0, 1]), yaw) @ so3.about(np.array([0.0, 1, 0]), shoulder + elbow)


def test_a_spherical_wrist_has_eight_solutions():
    model, rng, found = spherical_wrist(), np.random.default_rng(1), set()
    for _ in range(60):
        T = pose(model, rng.uniform(-2.5, 2.5, 6), "hand")
        eight = [(*arm, *w) for arm in arm_angles(T[:3, 3]) for w in wrist_angles(turn(*arm).T @ T[:3, :3])]
        assert max(max(off(pose(model, np.array(q), "hand"), T)) for q in eight) < 1e-12
        solution = inverse_kinematics(model, {"hand": T}, q0=rng.uniform(-np.pi, np.pi, 6), limits=False)
        gaps = [np.abs(np.exp(1j * np.array(q)) - np.exp(1j * solution.q)).max() for q in eight]
        assert solution.converged and min(gaps) < 1e-6
        found.add(int(np.argmin(gaps)))
    assert len(found) == 8


def test_a_ball_for_a_wrist():
    model, rng = spherical_wrist("ball"), np.random.default_rng(2)
    for _ in range(20):
        T = pose(model, model.random(rng)[0], "hand")
        solution = inverse_kinematics(model, {"hand": T})
        assert solution.converged and abs(np.linalg.norm(solution.q[3:]) - 1) < 1e-15
        gaps = [max(np.abs(np.exp(1j * np.array(arm)) - np.exp(1j * solution.q[:3])).max(),
                    *off(moved(0, 0, 0) @ se3.pose(quaternion.to_matrix(solution.q[3:]), np.zeros(3)),
                         se3.pose(turn(*arm).T @ T[:3, :3], np.zeros(3)))) for arm in arm_angles(T[:3, 3])]  # fmt: skip
        assert min(gaps) < 1e-7


# ---------------------------------------------------------------- real arms


@functools.cache
def theirs(name):
    return Pinocchio(robot(name), from_urdf(file(name)), (0, 0, -9.81))


@pytest.mark.parametrize(("name", "link", "least"), [
    ("panda", "panda_hand", 0.99), ("ur5", "tool0", 0.99), ("kinova", "j2s6s200_end_effector", 0.99), ("talos", HANDS[0], 0.99),
])  # fmt: skip
def test_arms_reach_random_poses_within_their_limits(name, link, least):
    model, rng, solved = robot(name), np.random.default_rng(0), 0
    for _ in range(100):
        T = pose(model, model.random(rng)[0], link)
        solution = inverse_kinematics(model, {link: T})
        assert within(model, solution.q)
        if solution.converged:
            solved += 1
            assert max(off(pose(model, solution.q, link), T)) < 1.1e-9
            assert solution.residual.shape == (1, 2) and solution.residual.max() <= 1e-9
            if name != "panda":                                                # Pinocchio's has its mimic finger free: below
                assert max(off(theirs(name).pose(solution.q, link), T)) < 2e-9
    assert solved >= least * 100


def test_the_panda_in_pinocchio():
    model, rng = without_mimics(robot("panda")), np.random.default_rng(3)
    reference = Pinocchio(model, from_urdf(file("panda")), (0, 0, -9.81))
    for _ in range(20):
        T = reference.pose(model.random(rng)[0], "panda_hand")
        solution = inverse_kinematics(model, {"panda_hand": T})
        assert solution.converged and max(off(reference.pose(solution.q, "panda_hand"), T)) < 1.1e-9


def test_without_restarts_a_near_guess_stays_near():
    model, rng = robot("panda"), np.random.default_rng(4)
    for _ in range(50):
        q, _ = model.random(rng)
        solution = inverse_kinematics(model, {"panda_hand": pose(model, q, "panda_hand")}, q0=q + 0.02 * rng.standard_normal(8), seeds=0)
        assert solution.converged and solution.guesses == 1
        assert np.abs(solution.q - q).max() < 0.3 and within(model, solution.q)


def test_both_hands():
    model, rng = robot("talos"), np.random.default_rng(5)
    for _ in range(10):
        q, _ = model.random(rng)
        solution = inverse_kinematics(model, {hand: pose(model, q, hand) for hand in HANDS})
        assert solution.converged and within(model, solution.q)
        for hand in HANDS:
            assert max(off(pose(model, solution.q, hand), pose(model, q, hand))) < 1.1e-9


# ---------------------------------------------------------------- bases


def test_a_floating_base_moves_or_is_held():
    model, rng = robot("a1", floating_base=True), np.random.default_rng(6)
    feet = [f"{leg}_foot" for leg in ("FR", "FL", "RR", "RL")]
    goals = dict(zip(feet, ([3.2, -0.1, 0], [3.2, 0.2, 0], [2.9, -0.1, 0.02], [2.9, 0.2, 0]), strict=True))
    free = inverse_kinematics(model, goals)
    assert free.converged and within(model, free.q) and abs(np.linalg.norm(free.q[:4]) - 1) < 1e-15
    for foot, p in goals.items():
        assert np.abs(pose(model, free.q, foot)[:3, 3] - p).max() < 1e-9
    q0 = np.concatenate([quaternion.random(rng), [0.3, 0.1, 0.4], model.random(rng)[0][7:]])
    there = {foot: pose(model, np.concatenate([q0[:7], model.random(rng)[0][7:]]), foot)[:3, 3] for foot in feet}
    held = inverse_kinematics(model, there, q0=q0, base="fixed")
    assert held.converged and np.abs(held.q[:7] - q0[:7]).max() < 1e-15
    assert not inverse_kinematics(model, goals, base="fixed", seeds=2).converged


def test_a_free_base_far_away():
    model = robot("a1", floating_base=True)
    T = se3.pose(so3.exp(np.array([0.5, 1.0, 3.0])), np.array([1e3, -2e3, 500.0]))
    solution = inverse_kinematics(model, {"trunk": T})
    assert solution.converged and max(off(pose(model, solution.q, "trunk"), T)) < 1e-9
    np.testing.assert_array_equal(solution.q[7:], np.clip(0, *np.array([(b.joint.limits.lower, b.joint.limits.upper)
                                                                       for b in model.bodies[1:]]).T))  # fmt: skip


def trees(*kinds):
    """Arms 0, 1, … of four joints beside each other, each on the world by a joint of its kind; 'floating alone' is a free body."""
    builder = engine.Builder("trees")
    builder.add_link("world")
    for k, kind in enumerate(kinds):
        kind, _, alone = kind.partition(" ")
        builder.add_link(f"base{k}")
        builder.add_joint(f"root{k}", kind, "world", f"base{k}", placement=moved(0, 2.0 * k, 0))
        above = f"base{k}"
        for i, axis in enumerate(np.eye(3)[[2, 1, 0, 1]] if not alone else []):
            rod, ahead = builder.add_link(f"rod{k}{i}").name, moved(0.3, 0, 0.1)
            builder.add_joint(f"j{k}{i}", "revolute", above, rod, axis=axis, placement=ahead, limits=Limits(-2.0, 1.5))
            above = rod
        builder.add_link(f"hand{k}")
        builder.add_joint(f"end{k}", "fixed", above, f"hand{k}", placement=moved(0.3, 0, 0))
    return builder.model()


def test_two_floating_arms_in_one_model():
    """Each reaches, free and held; the arm that nothing is asked of stays, up to the length of its quaternion."""
    model, rng = trees("floating", "floating"), np.random.default_rng(31)
    bases = [model.q_slice("root0"), model.q_slice("root1")]
    assert len(model.trees) == 2 and model.base is None
    for k in range(4):
        q0, q = model.random(rng)[0], model.random(rng)[0]
        free = inverse_kinematics(model, {f"hand{i}": pose(model, q, f"hand{i}") for i in (0, 1)}, q0=q0)
        assert free.converged and within(model, free.q)
        for i in (0, 1):
            assert max(off(pose(model, free.q, f"hand{i}"), pose(model, q, f"hand{i}"))) < 1.1e-9
            assert np.abs(free.q[bases[i]] - q0[bases[i]]).max() > 1e-3
        for base in bases:
            q[base] = q0[base]
        held = inverse_kinematics(model, {f"hand{i}": pose(model, q, f"hand{i}")[:3, 3] for i in (0, 1)}, q0=q0, base="fixed")
        assert held.converged and within(model, held.q)
        for base in bases:
            assert np.abs(held.q[base] - q0[base]).max() < 1e-15
        asked = k % 2
        one = inverse_kinematics(model, {f"hand{asked}": pose(model, q, f"hand{asked}")}, q0=q0)
        other = slice(11 * (1 - asked), 11 * (2 - asked))
        assert one.converged and np.abs(one.q[other] - q0[other]).max() < 1e-15


def test_a_guess_leaves_every_floating_base_in_its_place():
    model, rng = trees("floating", "planar", "floating"), np.random.default_rng(32)
    problem, _ = problem_of(model, {f"hand{i}": np.eye(4) for i in range(3)})
    q0 = model.random(rng)[0]
    guess = problem.anywhere(q0[None], rng)[0]
    positions = [i for i, name in enumerate(model.labels("q")) if name.split(".")[-1] in "xyz"]
    assert len(positions) == 8 and (np.delete(guess - q0, positions) != 0).all()
    np.testing.assert_array_equal(guess[positions], q0[positions])


@pytest.mark.parametrize("kinds", [("fixed", "floating alone"), ("floating alone", "fixed")])
def test_a_free_body_beside_a_fixed_arm(kinds):
    model, rng = trees(*kinds), np.random.default_rng(33)
    arm = kinds.index("fixed")
    hand, body = f"hand{arm}", f"base{1 - arm}"
    there = model.q_slice(f"root{1 - arm}")
    joints = np.delete(np.arange(model.nq), np.arange(there.start, there.stop))
    for _ in range(3):
        q0, q = model.random(rng)[0], model.random(rng)[0]
        goals = {hand: pose(model, q, hand)[:3, 3], body: pose(model, q, body)}
        both = inverse_kinematics(model, goals, q0=q0)
        assert both.converged and max(off(pose(model, both.q, body), goals[body])) < 1.1e-9
        for base in ("free", "fixed"):
            only = inverse_kinematics(model, {hand: goals[hand]}, q0=q0, base=base)
            assert only.converged and np.abs(only.q[there] - q0[there]).max() < 1e-15
        held = inverse_kinematics(model, goals, q0=q0, base="fixed")
        assert not held.converged and np.abs(held.q[there] - q0[there]).max() < 1e-15
        assert held.residual[0].max() < 1e-6 and held.residual[1].max() > 0.01
        alone = inverse_kinematics(model, {body: goals[body]}, q0=q0)
        assert alone.converged and alone.limits == ()
        np.testing.assert_array_equal(alone.q[joints], q0[joints])


@pytest.mark.parametrize("kind", ["floating", "planar"])
def test_far_ways_are_straight(kind):
    arm = engine.Builder()
    _ = [arm.add_link(name) for name in ("world", "base", "upper", "hand")]
    arm.add_joint("base", kind, "world", "base", axis=[0.0, 0.6, 0.8])
    arm.add_joint("shoulder", "revolute", "base", "upper", axis=[1, 0, 0], placement=moved(0.2, 0.3, 0.5))
    arm.add_joint("elbow", "continuous", "upper", "hand", axis=[0, 1, 0], placement=moved(0.7, 0.1, 0))
    model, rng, steps = arm.model(), np.random.default_rng(18), []
    for scale in np.repeat([1.0, 1e3, 1e6], 5):
        q, _ = model.random(rng)
        q[:2] = (scale * rng.standard_normal(2)) if kind == "planar" else q[:2]
        q[4:7] = scale * rng.standard_normal(3) if kind == "floating" else q[4:7]
        solution = inverse_kinematics(model, {"hand": pose(model, q, "hand")}, tolerance=1e-9 * scale)
        assert solution.converged and solution.guesses == 1
        steps.append(solution.iterations)
    assert max(steps) <= 20


def test_hands_and_feet_of_a_humanoid_that_floats():
    model, rng = robot("talos", floating_base=True), np.random.default_rng(7)
    links = [*HANDS, *SOLES]
    for _ in range(3):
        q, _ = model.random(rng)
        solution = inverse_kinematics(model, {link: pose(model, q, link) for link in links})
        assert solution.converged and within(model, solution.q)
        assert max(max(off(pose(model, solution.q, link), pose(model, q, link))) for link in links) < 1.1e-9


# ---------------------------------------------------------------- every kind of joint, limits, mimics


@pytest.mark.parametrize("seed", range(4))
def test_random_trees_of_every_kind(seed):
    rng = np.random.default_rng(seed)
    model = limited(random_tree(rng, 10, floating_base=seed % 2 == 0), rng, 0.7)
    links = [f"l{i}" for i in (10, 7)]
    for _ in range(10):
        q, _ = model.random(rng)
        solution = inverse_kinematics(model, {link: pose(model, q, link) for link in links}, q0=model.random(rng)[0])
        assert solution.converged and within(model, solution.q)
        np.testing.assert_allclose(model.normalized(solution.q), solution.q, atol=1e-15)
        assert max(max(off(pose(model, solution.q, link), pose(model, q, link))) for link in links) < 1e-8


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_each_kind_alone(kind):
    rng = np.random.default_rng(11)
    model = random_tree(rng, 2, (kind,))
    q, _ = model.random(rng)
    solution = inverse_kinematics(model, {"l1": pose(model, q, "l1"), "l2": pose(model, q, "l2")}, q0=model.random(rng)[0])
    assert solution.converged
    assert max(max(off(pose(model, solution.q, link), pose(model, q, link))) for link in ("l1", "l2")) < 1e-8


@pytest.mark.parametrize("seed", range(2))
def test_mimics_follow_within_their_own_limits(seed):
    rng = np.random.default_rng(20 + seed)
    model = random_tree(rng, 8, ("revolute", "prismatic", "screw"), mimics=0.5)
    assert sum(b.mimics for b in model.bodies) > 1
    graph, centre = model.graph.copy(), rng.uniform(-1, 1, model.nq)
    for b in model.bodies:
        c = float(b.coordinates(centre)[0])
        key = b.joint.parent, b.joint.child
        graph.edges[key]["joint"] = dataclasses.replace(b.joint, limits=Limits(c - rng.uniform(0.1, 1), c + rng.uniform(0.1, 1)))
    model = engine.Model.from_graph(graph)
    lower, upper = joint_box(model)
    for _ in range(15):
        q = rng.uniform(lower, upper)
        solution = inverse_kinematics(model, {"l8": pose(model, q, "l8")}, q0=rng.uniform(lower, upper))
        assert solution.converged and within(model, solution.q)
        away = inverse_kinematics(model, {"l8": pose(model, q, "l8") @ moved(4, 0, 0)}, q0=q, seeds=3)
        assert within(model, away.q)


def test_the_limit_of_a_mimic_binds_and_is_named():
    arm = engine.Builder()
    _ = [arm.add_link(name) for name in ("base", "a", "b")]
    arm.add_joint("ja", "prismatic", "base", "a", axis=[1, 0, 0], limits=Limits(-1.0, 1.0))
    arm.add_joint("jb", "prismatic", "a", "b", axis=[1, 0, 0], mimic=Mimic("ja", -2.0, 0.3), limits=Limits(-0.5, 5.0))
    model = arm.model()                                                        # b is at 0.3 − q, and 0.3 − 2 q ≥ −0.5: q ≤ 0.4
    assert inverse_kinematics(model, {"b": [0.2, 0, 0]}).q == pytest.approx([0.1], abs=1e-9)
    solution = inverse_kinematics(model, {"b": [-0.7, 0, 0]})
    assert not solution.converged and solution.limits == ("jb",)
    assert solution.q == pytest.approx([0.4], abs=1e-14) and solution.residual[0, 1] == pytest.approx(0.6, abs=1e-12)
    beyond = inverse_kinematics(model, {"b": [-0.7, 0, 0]}, limits=False)
    assert beyond.converged and beyond.q == pytest.approx([1.0], abs=1e-9) and beyond.limits == ()


def test_a_target_at_the_limits():
    model = robot("panda")
    q = np.array([b.joint.limits.upper if i % 2 else b.joint.limits.lower for i, b in enumerate(model.bodies[:7])] + [0.0])
    solution = inverse_kinematics(model, {"panda_hand": pose(model, q, "panda_hand")}, q0=q * 0.98)
    assert solution.converged and within(model, solution.q, 0.0)


def test_limits_bind_where_the_target_is_beyond():
    model = planar_arm(1.0, 1.0, limits=Limits(-0.5, 0.5))
    solution = inverse_kinematics(model, {"tip": [0.0, 2.0, 0.0]})
    np.testing.assert_array_equal(solution.q, [0.5, 0.5])
    assert solution.limits == ("j1", "j2") and not solution.converged
    free = inverse_kinematics(model, {"tip": [0.0, 2.0, 0.0]}, limits=False)
    assert free.converged and free.limits == () and free.q == pytest.approx([np.pi / 2, 0.0], abs=1e-4)


@pytest.mark.parametrize("side", [1, -1], ids=["upper", "lower"])
def test_the_nearest_at_a_limit_is_approached_quadratically(side):
    model, rng, goal = planar_arm(1.0, 1.0, 0.5, limits=Limits(-0.5, 0.5)), np.random.default_rng(22), {"tip": [2.2, side * 2.0, 0.0]}
    solution = inverse_kinematics(model, goal)
    assert solution.limits == ("j1",) and not solution.converged
    problem, goals = problem_of(model, goal)
    q, _, steps = problem.settled(np.clip(solution.q + 0.1 * rng.standard_normal((10, 3)), -0.5, 0.5), np.tile(goals, (10, 1, 1, 1)))
    np.testing.assert_allclose(q, np.tile(solution.q, (10, 1)), atol=1e-12)
    assert (steps <= 6).all()


@pytest.mark.parametrize("side", [1, -1], ids=["upper", "lower"])
def test_a_guess_that_is_there_but_outside(side):
    model = planar_arm(1.0, 1.0, limits=Limits(-0.5, 0.5))
    solution = inverse_kinematics(model, {"tip": pose(model, np.array([0.7 * side, 0.0]), "tip")[:3, 3]}, q0=[0.7 * side, 0.0])
    assert not solution.converged and within(model, solution.q) and solution.limits[0] == "j1"
    near = inverse_kinematics(model, {"tip": pose(model, np.array([0.499 * side, 0.1]), "tip")[:3, 3]}, q0=[0.4 * side, 0.2])
    assert near.converged and near.limits == ()


def test_a_guess_outside_is_brought_within_and_idle_joints_stay():
    model = robot("talos")
    q0 = np.full(model.nq, 0.1)
    q0[model.q_slice("leg_left_4_joint")] = -9.0
    solution = inverse_kinematics(model, {HANDS[0]: pose(model, model.random(np.random.default_rng(8))[0], HANDS[0])}, q0=q0)
    idle = [i for i, name in enumerate(model.entries("q")) if not name.startswith(("torso", "arm_left"))]
    assert solution.converged and within(model, solution.q)
    np.testing.assert_array_equal(solution.q[idle], np.clip(q0, *joint_box(model))[idle])
    assert solution.q[model.q_slice("leg_left_4_joint")] == [model.joint("leg_left_4_joint").limits.lower]


# ---------------------------------------------------------------- kinds of targets


def test_points_rotations_and_weights():
    model, rng, link = robot("ur5"), np.random.default_rng(9), "tool0"
    T = pose(model, model.random(rng)[0], link)
    points = rng.uniform(-0.2, 0.2, (3, 3))
    three = inverse_kinematics(model, [Target(link, T[:3, :3] @ c + T[:3, 3], point=c) for c in points])    # fix the pose
    assert three.converged and three.residual.shape == (3, 2) and (three.residual[:, 0] == 0).all()
    assert max(off(pose(model, three.q, link), T)) < 1e-7
    both = inverse_kinematics(model, [Target(link, T[:3, :3]), Target(link, T[:3, 3])])
    assert both.converged and max(off(pose(model, both.q, link), T)) < 1.1e-9
    only = inverse_kinematics(model, Target(link, T, weights=(1, 0)))
    angle, distance = off(pose(model, only.q, link), T)
    assert only.converged and only.residual[0, 1] == 0 and angle < 1e-9 < distance
    offset = inverse_kinematics(model, Target(link, T @ moved(*points[0]), point=points[0]))
    assert offset.converged and max(off(pose(model, offset.q, link), T)) < 2e-9


def test_weights_share_what_cannot_be_had():
    arm = engine.Builder()
    _ = arm.add_link("base"), arm.add_link("slider")
    arm.add_joint("j", "prismatic", "base", "slider", axis=[1, 0, 0])
    targets = [Target("slider", [1.0, 0, 0], weights=(0, 3.0)), Target("slider", [2.0, 0, 0], weights=(0, 2.0))]
    solution = inverse_kinematics(arm.model(), targets)
    assert solution.q == pytest.approx([(9 * 1 + 4 * 2) / (9 + 4)], abs=1e-12)
    np.testing.assert_allclose(solution.residual, [[0, 4 / 13], [0, 9 / 13]], atol=1e-12)


def test_weights_do_not_change_what_can_be_had():
    model, rng = robot("ur5"), np.random.default_rng(21)
    for weights in [(30.0, 0.03), (0.03, 30.0)]:
        for _ in range(5):
            q = rng.uniform(0.3, 1.5, 6)
            solution = inverse_kinematics(model, Target("tool0", pose(model, q, "tool0"), weights=weights), q0=q + 0.1, seeds=0)
            assert solution.converged and solution.residual.max() < 1e-9 and solution.iterations < 30


def test_a_target_that_nothing_moves():
    model = robot("ur5")
    here, away = (inverse_kinematics(model, {"world": T}) for T in (np.eye(4), moved(1, 0, 0)))
    assert here.converged and not away.converged and away.residual.tolist() == [[0.0, 1.0]]
    np.testing.assert_array_equal(here.q, np.zeros(6))


# ---------------------------------------------------------------- unreachable targets


def cost(model, link, goal, q):
    angle, distance = off(engine.compile(model).forward_kinematics(q)[model.link_index(link)], goal)
    return 0.5 * (angle**2 + distance**2)


@pytest.mark.parametrize(("name", "link"), [("ur5", "tool0"), ("panda", "panda_hand")])
def test_no_configuration_near_the_nearest_is_nearer(name, link):
    model, rng = robot(name), np.random.default_rng(10)
    bounds = np.array(joint_box(model)).T
    for k in range(2):
        T = pose(model, model.random(rng)[0], link)
        T = se3.pose(T[:3, :3], T[:3, 3] * (1.5 + 0.2 * k) / np.linalg.norm(T[:3, 3]))
        ours = inverse_kinematics(model, {link: T})
        assert not ours.converged and within(model, ours.q)
        mine = cost(model, link, T, ours.q)
        assert mine == pytest.approx(0.5 * np.sum(ours.residual**2), rel=1e-12)
        fine = {"ftol": 1e-15, "gtol": 1e-9}
        near = minimize(lambda q: cost(model, link, T, q), ours.q, bounds=bounds, method="L-BFGS-B", options=fine)
        assert near.fun >= mine * (1 - 1e-12)                                  # a local minimum
        others = [minimize(lambda q: cost(model, link, T, q), rng.uniform(*bounds.T), bounds=bounds, method="L-BFGS-B").fun
                  for _ in range(3)]  # fmt: skip
        assert min(others) >= mine * (1 - 1e-7)                                # nor is any found from elsewhere


def test_the_nearest_point_of_a_disc():
    model = planar_arm(1.0, 0.6)
    for angle, distance, expected in [(0.3, 5.0, 3.4), (2.0, 1.7, 0.1), (-2.5, 0.1, 0.3)]:
        solution = inverse_kinematics(model, {"tip": [distance * np.cos(angle), distance * np.sin(angle), 0.0]})
        assert not solution.converged and solution.residual[0, 1] == pytest.approx(expected, abs=1e-12)
        tip = pose(model, solution.q, "tip")[:2, 3]
        assert np.abs(np.cross([*tip, 0], [np.cos(angle), np.sin(angle), 0])[2]) < 1e-9    # on the ray to the target
        assert np.sin(solution.q[1]) == pytest.approx(0, abs=1e-9)             # the arm is straight, or folded


# ---------------------------------------------------------------- convergence


def steps_of(model, targets, q0, tries, monkeypatch):
    """|r| after 0, 1, 2, … steps, in NumPy."""
    problem, goals = problem_of(model, targets, 1e-300)
    sizes = []
    for k in range(tries):
        monkeypatch.setattr(module, "TRIES", k)
        _, r, *_ = problem.task.descent(q0, goals, problem.points, problem.weights, problem.lower, problem.upper, 1e-300)
        sizes.append(np.sqrt(r @ r))
    return np.array(sizes)


@pytest.mark.parametrize(("name", "link"), [("panda", "panda_hand"), ("ur5", "tool0")])  # redundant, and not
def test_convergence_is_quadratic(name, link, monkeypatch):
    model, rng = robot(name), np.random.default_rng(12)
    q = np.array(joint_box(model)).mean(axis=0) + 0.3 * rng.standard_normal(model.nq)
    e = steps_of(model, {link: pose(model, q, link)}, q + 0.1 * rng.standard_normal(model.nq), 9, monkeypatch)
    last = int(np.argmax(e < 1e-11))
    assert 2 < last < 9 and e[-1] < 2e-15
    falling = np.log(e[e > 1e-14][-3:])
    order = (falling[2] - falling[1]) / (falling[1] - falling[0])
    assert 1.7 < order < 2.5


def test_no_step_makes_it_worse(monkeypatch):
    model, rng, refused = spherical_wrist(), np.random.default_rng(19), 0
    for _ in range(8):
        T = pose(model, rng.uniform(-2, 2, 6), "hand")
        e = steps_of(model, {"hand": T}, rng.uniform(-3, 3, 6), 9, monkeypatch)
        assert (np.diff(e) <= 0).all()
        refused += int(((np.diff(e) == 0) & (e[1:] > 1e-6)).sum())
    assert refused


def test_a_tighter_tolerance_costs_a_step():
    model, rng = robot("panda"), np.random.default_rng(13)
    for _ in range(10):
        T = pose(model, model.random(rng)[0], "panda_hand")
        loose, tight = (inverse_kinematics(model, {"panda_hand": T}, tolerance=t) for t in (1e-6, 1e-12))
        assert loose.converged and tight.converged and tight.residual.max() <= 1e-12
        assert loose.iterations <= tight.iterations <= loose.iterations + 2


def test_from_a_straight_arm():
    model = planar_arm(1.0, 1.0, 0.5)
    stuck = inverse_kinematics(model, {"tip": [1.2, 0, 0]}, q0=[0, 0, 0], seeds=0)
    assert not stuck.converged                                                 # pulled along itself, a straight arm does not bend
    solution = inverse_kinematics(model, {"tip": [1.2, 0, 0]}, q0=[0, 0, 0])
    assert solution.converged and solution.guesses == 2 and np.abs(solution.q).max() < 2.5
    for x in (2.5, 2.5 - 1e-9):                                                # to a straight arm, where the root is double
        assert inverse_kinematics(model, {"tip": [x, 0, 0]}, q0=[0.3, -0.4, 0.5]).converged
    for name, link in [("ur5", "tool0"), ("panda", "panda_hand")]:
        model = robot(name)
        q = np.array(joint_box(model)).mean(axis=0) + 0.5
        assert inverse_kinematics(model, {link: pose(model, q, link)}, q0=np.zeros(model.nq)).converged


def test_half_a_turn_away():
    arm = engine.Builder()
    _ = arm.add_link("base"), arm.add_link("top")
    arm.add_joint("ball", "spherical", "base", "top")
    for axis in np.vstack([np.eye(3), [[0.36, 0.48, 0.8]]]):
        solution = inverse_kinematics(arm.model(), {"top": so3.exp(np.pi * axis)})
        assert solution.converged and solution.guesses == 1


def test_the_same_call_the_same_bits():
    model, rng = robot("panda"), np.random.default_rng(14)
    for k in range(5):
        T = pose(model, model.random(rng)[0], "panda_hand")
        T = T @ moved(0, 0, 5.0 * (k == 0))
        one, two = (inverse_kinematics(model, {"panda_hand": T}) for _ in range(2))
        np.testing.assert_array_equal(one.q, two.q)
        assert (one.iterations, one.guesses) == (two.iterations, two.guesses)
        np.testing.assert_array_equal(one.residual, two.residual)


# ---------------------------------------------------------------- the parts


@pytest.mark.parametrize("seed", range(3))
def test_the_jacobian_of_the_residual(seed):
    rng = np.random.default_rng(30 + seed)
    model = random_tree(rng, 9, floating_base=seed == 1, mimics=0.3)
    links, kinds = ("l9", "l4", "l9"), ("pose", "position", "rotation")
    task = Task(model, tuple(zip(links, kinds, strict=True)), moving_velocities(model, links, False))
    goals = np.stack([se3.pose(quaternion.to_matrix(quaternion.random(rng)), rng.standard_normal(3)) for _ in links])
    points, q = rng.standard_normal((3, 3)), model.random(rng)[0]
    _, J = task.residual(q, goals, points)
    d = rng.standard_normal(len(task.moving))
    rate = derivative(lambda t: task.residual(task.plus(q, t * d), goals, points)[0], h=1e-3)
    np.testing.assert_allclose(J @ d, rate, atol=1e-9 * np.abs(rate).max())
    w = rng.uniform(0.1, 3.0, len(J))
    _, r, g = task.slope(q, np.zeros(len(d)), goals, points, w, np.zeros(0))
    slope = derivative(lambda t: 0.5 * np.sum((w * task.residual(task.plus(q, t * d), goals, points)[0]) ** 2), h=1e-3)
    assert g @ d == pytest.approx(slope, abs=1e-9 * np.sum((w * r) ** 2))


def test_the_descent_compiled_is_the_one_in_numpy():
    model, rng = robot("ur5"), np.random.default_rng(15)
    for _ in range(5):
        problem, goals = problem_of(model, {"tool0": pose(model, model.random(rng)[0], "tool0")})
        arguments = (model.random(rng)[0], goals, problem.points, problem.weights, problem.lower, problem.upper, problem.tolerance)
        plain, compiled = problem.task.descent(*arguments), module.compiled(problem.task, "descent")(*arguments)
        assert (plain[2], plain[3]) == compiled[2:]
        np.testing.assert_allclose(compiled[0], plain[0], atol=1e-6)


def test_least_squares_in_a_box_against_scipy():
    rng = np.random.default_rng(16)
    for n in (1, 2, 5, 9):
        for k in range(30):
            A, b = rng.standard_normal((n + 2, n)), 3.0 * rng.standard_normal(n + 2)
            low, high = -rng.uniform(0, 1, n), rng.uniform(0, 1, n)
            low[rng.random(n) < 0.2], high[rng.random(n) < 0.2] = 0.0, np.inf
            expected = lsq_linear(A, b, (low, high + 1e-300), method="bvls", tol=1e-14).x if (low < high).all() else None
            d = box_qp(A.T @ A, -A.T @ b, low, high)
            assert (low <= d).all() and (d <= high).all()
            if expected is not None:
                np.testing.assert_allclose(d, expected, atol=1e-9, err_msg=f"{n} {k}")


def test_least_squares_in_a_box_lives_three_times():
    rng, n, m = np.random.default_rng(17), 4, 12
    A = rng.standard_normal((m, n + 1, n))
    check_lives(box_qp, np.einsum("kij,kil->kjl", A, A), 3 * rng.standard_normal((m, n)), -rng.uniform(0, 1, (m, n)),
                rng.uniform(0, 1, (m, n)), tolerance=1e-12)  # fmt: skip


def test_guesses_lie_within_the_limits_and_do_not_fly_away():
    rng = np.random.default_rng(23)
    model = limited(random_tree(rng, 9, floating_base=True), rng, 0.5)
    link = max((n.name for n in model.links), key=lambda name: len(moving_velocities(model, (name,), False)))
    problem, _ = problem_of(model, {link: np.eye(4)})
    q0 = np.clip(model.random(rng)[0], problem.lower, problem.upper)
    q0[4:7] = [100.0, -50.0, 20.0]
    idle = [i for i, name in enumerate(model.entries("q")) if model.v_slice(name).start not in problem.moving]
    guesses = np.array([problem.anywhere(q0[None], rng)[0] for _ in range(50)])
    assert idle and all(within(model, q) for q in guesses)
    np.testing.assert_array_equal(guesses[:, [4, 5, 6, *idle]], np.tile(q0[[4, 5, 6, *idle]], (50, 1)))
    others = [i for i in range(7, model.nq) if i not in idle]
    assert len(others) > 2 and (np.ptp(guesses[:, :4], axis=0) > 0.5).all()
    for b in model.bodies[1:]:
        if b.v.start in problem.moving and b.kind.nv == 1:
            assert np.ptp(guesses[:, b.q]) > 0.8 * min(problem.upper[b.q][0] - problem.lower[b.q][0], 2.0)


def test_locked_and_empty_boxes():
    model = planar_arm(1.0, 1.0, limits=Limits(0.3, 0.3))
    solution = inverse_kinematics(model, {"tip": [0.0, 1.0, 0.0]}, seeds=2)
    np.testing.assert_array_equal(solution.q, [0.3, 0.3])
    close(box_qp(np.eye(2), np.array([1.0, -1.0]), np.zeros(2), np.zeros(2)), np.zeros(2))
    builder = engine.Builder("coupled")                                         # where one is within its limits, the other is not
    builder.add_link("base")
    for link in ("one", "tip"):
        builder.add_link(link)
    builder.add_joint("j1", "revolute", "base", "one", limits=Limits(0.3, 0.4))
    builder.add_joint("j2", "revolute", "one", "tip", moved(1, 0, 0), limits=Limits(0.5, 0.6), mimic=Mimic("j1"))
    empty = builder.model()
    with pytest.raises(ModelError, match=r"joint 'j2': its limits.*leave no configuration; expected lower ≤ upper, or limits=False"):
        inverse_kinematics(empty, {"tip": [0.0, 1.0, 0.0]})
    assert inverse_kinematics(empty, {"tip": [0.0, 1.0, 0.0]}, limits=False).converged  # j1 turns by a quarter


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(("targets", "options", "message"), [
    ({"tp": [1, 0, 0]}, {}, r"no link 'tp' in 'planar arm' \(did you mean 'tip'\?\)"),
    ({3: [1, 0, 0]}, {}, "no link '3' in 'planar arm'"),
    ({}, {}, "there are no targets; expected at least one link"),
    ([], {}, "there are no targets"),
    ("tip", {}, r"targets is 'tip'; expected \{link: goal\}, as .*, or engine.Target\(link, goal\)"),
    (None, {}, "targets is None; expected"),
    ([("tip", [1, 0, 0])], {}, r"targets\[0\] is .*; expected engine.Target\(link, goal\)"),
    ({"tip": [1, 0]}, {}, r"the target of link 'tip' has shape \(2,\); expected a pose \(..., 4, 4\), a rotation"),
    ({"tip": "there"}, {}, "the target of link 'tip' is 'there'; expected a pose"),
    ({"tip": [[1, 0], [1]]}, {}, r"the target of link 'tip' is \[\[1, 0\], \[1\]\]; expected a pose"),
    ({"tip": [True, False, True]}, {}, "the target of link 'tip' is"),
    ({"tip": [1, np.nan, 0]}, {}, "the target of link 'tip' holds nan; expected finite numbers"),
    ({"tip": [1, np.inf, 0]}, {}, "the target of link 'tip' holds inf; expected finite numbers"),
    ({"tip": [1, 1e200, 0]}, {}, "the target of link 'tip' holds 1e\\+200; expected finite numbers"),
    ({"tip": np.diag([1.0, 1, -1, 1])}, {}, "the target of link 'tip' is no pose; expected an orthogonal, right-handed matrix"),
    ({"tip": 2 * np.eye(3)}, {}, "the target of link 'tip' is no rotation; expected"),
    ({"tip": np.eye(4) + np.eye(4)[3][:, None] * [1, 0, 0, 0]}, {}, r"no pose: its last row is \[1.0, 0.0, 0.0, 1.0\]; expected 0 0 0 1"),
    (Target("tip", [1, 0, 0], point=[1, 2]), {}, r"the point of the target of link 'tip' has shape \(2,\); expected three numbers"),
    (Target("tip", [1, 0, 0], weights=(1, -1)), {}, r"the weights of the target of link 'tip' are \[1.0, -1.0\]; expected none below zero"),
    (Target("tip", [1, 0, 0], weights=(1, 0)), {}, r"the weights of .* are \[1.0, 0.0\]; expected none below zero, and one above"),
    (Target("tip", [1, 0, 0], weights=2.0), {}, r"the weights of .* has shape \(\); expected two numbers"),
    ({"tip": [1, 0, 0]}, {"q0": [0, 0, 0]}, r"q0 has shape \(3,\); expected \(..., 2\) for 'planar arm'"),
    ({"tip": [1, 0, 0]}, {"q0": [0, np.nan]}, r"q0\[1\] \(joint 'j2'\) is nan; expected a finite number"),
    ({"tip": [1, 0, 0]}, {"q0": "zero"}, "q0 holds"),
    ({"tip": [1, 0, 0]}, {"q0": [[0, 0], [0]]}, "q0 is not rectangular; expected"),
    ({"tip": [1, 0, 0]}, {"base": "floating"}, "base is 'floating'; expected 'free' or 'fixed'"),
    ({"tip": [1, 0, 0]}, {"seeds": -1}, "seeds is -1; expected a whole number of guesses from 0"),
    ({"tip": [1, 0, 0]}, {"seeds": 1.5}, "seeds is 1.5; expected"),
    ({"tip": [1, 0, 0]}, {"tolerance": 0}, "tolerance is 0; expected a positive number"),
    ({"tip": [1, 0, 0]}, {"tolerance": np.nan}, "tolerance is nan; expected"),
    ({"tip": [1, 0, 0]}, {"tolerance": "1e-9"}, "tolerance is '1e-9'; expected"),
])  # fmt: skip
def test_bad_input_is_one_clear_sentence(targets, options, message):
    with pytest.raises((ModelError, StateError), match=message) as caught:
        inverse_kinematics(planar_arm(1.0, 1.0), targets, **options)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 250


def test_it_takes_a_model():
    with pytest.raises(StateError, match=r"inverse_kinematics got a str; expected a Model \(engine.load_urdf makes one"):
        inverse_kinematics("arm.urdf", {"tip": [1, 0, 0]})


def test_a_pose_with_the_digits_of_a_file_is_taken():
    model = robot("ur5")
    T = pose(model, np.array([0.3, -1.0, 1.2, 0.4, 0.5, 0.6]), "tool0").round(7)
    solution = inverse_kinematics(model, {"tool0": T})
    assert solution.converged and np.abs(pose(model, solution.q, "tool0") - T).max() < 2e-7
    R = checked_targets(model, {"tool0": T})[0].goal[:3, :3]
    np.testing.assert_allclose(R.T @ R, np.eye(3), atol=1e-15)


def test_what_is_given_is_not_changed():
    model, T, q0 = planar_arm(1.0, 1.0), np.eye(4), np.array([0.1, 0.2])
    inverse_kinematics(model, {"tip": T}, q0=q0, seeds=1)
    np.testing.assert_array_equal(T, np.eye(4))
    np.testing.assert_array_equal(q0, [0.1, 0.2])
