"""Ready controllers of one tree of several, a servicer beside its target or an arm beside a box, against that robot alone."""

import inspect
import re

import numpy as np
import pytest

import engine
from engine import dynamics
from engine.components.actuators import ReactionWheels, Thrusters
from engine.components.controllers import minimum_jerk, minimum_jerk_pose
from engine.simulation import Context, controllers
from engine.spatial import inertia, quaternion, se3
from tests import trees
from tests.components.test_controllers import jets
from tests.numeric import check_lives

NONE = (0, 0, 0)
START = np.concatenate([quaternion.normalize(np.array([1.0, 0.2, -0.1, 0.3])), [1.0, 2.0, -1.0], [0.3, -0.6, 0.4, 1.2]])
MOVING = np.concatenate([[0.01, 0.02, -0.01, 0.1, 0.0, -0.05], 0.05 * np.ones(4)])


def box():
    b = engine.Builder("box")
    b.add_link("hull", inertia=inertia.box(20.0, (0.5, 0.6, 0.4)))
    return b.model(floating_base=True)


@pytest.fixture(scope="module")
def servicer():
    """A free flyer with four geared joints, alone, and after its target in one model."""
    alone = trees.flyer(4, 50.0)
    alone = alone.with_armature({f"joint{k}": 0.1 * (k + 1) for k in range(4)})
    return alone, engine.combine(target=box(), servicer=alone)


@pytest.fixture(scope="module")
def arm():
    """A fixed arm of three joints, alone and beside a box."""
    b = engine.Builder("arm")
    b.add_link("foot")
    for k, axis in enumerate(np.eye(3)):
        b.add_link(f"link{k}", inertia=inertia.from_mass(2.0 - 0.5 * k, [0.2, 0.01, -0.02], 0.1 * np.eye(3)))
        place = se3.pose(np.eye(3), np.array([0.4, 0.1, 0.0]))
        b.add_joint(f"joint{k}", "revolute", f"link{k - 1}" if k else "foot", f"link{k}", place, axis=axis)
    return b.model(), engine.combine(box=box(), arm=b.model())


def goal(model, q, link):
    """A link's reference from where it is at q."""
    T = dynamics.forward_kinematics(model, q)[model.link_index(link)]
    return minimum_jerk_pose(T, T @ se3.exp(np.array([0.1, -0.05, 0.1, 0.05, 0.05, -0.05])), 1.0)


#: of a model, the name's beginning of a robot's links in it, the robot alone, its q, and how its tree is named
FURTHER = np.r_[np.zeros(7), 0.2 * np.ones(4)]
FLYERS = {
    "computed_torque": lambda m, p, a, q, **tree: controllers.computed_torque(m, minimum_jerk(a, q, q + FURTHER, 1.0), **tree),
    "pd_gravity": lambda m, p, a, q, **tree: controllers.pd_gravity(m, q + FURTHER, np.r_[np.zeros(6), 5.0 * np.ones(4)], 1.0, **tree),
    "resolved_rate": lambda m, p, a, q, **tree: controllers.resolved_rate(m, f"{p}link3", goal(a, q, "link3"), regular=1e-3),
    "generalized_jacobian_control": lambda m, p, a, q, **tree: controllers.generalized_jacobian_control(
        m, f"{p}link3", goal(a, q, "link3"), regular=1e-3),
    "reaction_null_space_motion": lambda m, p, a, q, **tree: controllers.reaction_null_space_motion(m, lambda t: 0.05 * np.ones(4), **tree),
}  # fmt: skip
ARMS = {
    "computed_torque": lambda m, p, a, q, **tree: controllers.computed_torque(m, minimum_jerk(a, q, q + 0.3, 1.0), **tree),
    "operational_space": lambda m, p, a, q, **tree: controllers.operational_space(m, f"{p}link2", goal(a, q, "link2"), regular=1e-3),
    "resolved_rate": lambda m, p, a, q, **tree: controllers.resolved_rate(m, f"{p}link2", goal(a, q, "link2"), **tree),
}  # fmt: skip


def said(control, model, t, q, v, states=()):
    """What a controller says in a state, on floats, given what it asks for."""
    s = Context(model, t, q, v, {}, (0.1, -0.2, -9.81), dict(states))
    return control(t, q, v, **{name: np.asarray(s.gravity) if name == "gravity" else getattr(s, name)
                               for name in [*inspect.signature(control).parameters][3:]})  # fmt: skip


def same(alone, forest, name, control, beside, q, v):
    """A robot is told the same in a forest as alone, within rounding, and nobody else is told anything."""
    tree = forest.tree(name)
    q_all, v_all = forest.random(np.random.default_rng(0))
    q_all[tree.q], v_all[tree.v] = q, v
    for t in (0.0, 0.4):
        tau = said(beside, forest, t, q_all, v_all)
        one = said(control, alone, t, q, v)
        np.testing.assert_allclose(tau[tree.v], one, rtol=0, atol=1e-10 * np.abs(one).max())
        assert not np.delete(tau, np.r_[tree.v]).any() and one.any()


def compared(alone, forest, name, control, beside, q, v, gravity, acts=(), acts_beside=()):
    """Runs of a robot alone and in a forest, in which ``beside`` it goes on as it does without it."""
    tree = forest.tree(name)
    q_all, v_all = forest.neutral(), np.zeros(forest.nv)
    q_all[tree.q], v_all[tree.v] = q, v
    how = {"dt": 5e-3, "gravity": gravity, "integrator": "semi_implicit_euler", "joint_dynamics": False}
    one = engine.Simulator(alone, controller=control, actuators=acts, **how).run(q, v, 0.2)
    both = engine.Simulator(forest, controller=beside, actuators=acts_beside, **how).run(q_all, v_all, 0.2)
    np.testing.assert_allclose(both.q[:, tree.q], one.q, rtol=0, atol=1e-12)
    np.testing.assert_allclose(both.v[:, tree.v], one.v, rtol=0, atol=1e-11)
    assert not np.delete(both.tau, np.r_[tree.v], axis=1).any() and np.abs(one.v[-1] - v).max() > 1e-4


@pytest.mark.parametrize("which", FLYERS)
def test_a_servicer_beside_its_target_is_steered_as_alone(servicer, which):
    alone, forest = servicer
    controls = FLYERS[which](alone, "", alone, START), FLYERS[which](forest, "servicer/", alone, START, tree="servicer")
    same(alone, forest, "servicer", *controls, START, MOVING)


@pytest.mark.parametrize("which", ARMS)
def test_an_arm_beside_a_box_is_steered_as_alone(arm, which):
    alone, forest = arm
    q = np.array([0.3, 0.5, -0.4])
    controls = ARMS[which](alone, "", alone, q), ARMS[which](forest, "arm/", alone, q, tree="arm/link0")
    same(alone, forest, "arm", *controls, q, 0.1 * np.ones(3))
    if which == "operational_space":
        compared(alone, forest, "arm", *controls, q, 0.1 * np.ones(3), (0, 0, -9.81))


@pytest.mark.parametrize("kind", ["attitude_control", "momentum_dumping"])
def test_the_attitude_of_one_of_several(servicer, kind):
    """By wheels whose link says which; the joints are steered by another controller of the whole."""
    alone, forest = servicer
    turning = lambda t: quaternion.product(START[:4], quaternion.exp(0.05 * t * np.array([1.0, 2.0, -1.0])))

    def acts(link):
        thrusters = jets()
        return ReactionWheels(link, initial=[0.5, -0.3, 0.2]), Thrusters(link, thrusters.positions, thrusters.directions, most=20.0)

    def made(model, wheels, thrusters, **tree):
        if kind == "momentum_dumping":
            return controllers.momentum_dumping(model, wheels, thrusters, target=turning, **tree)
        arm = controllers.computed_torque(model, minimum_jerk(alone, START, START + FURTHER, 1.0), **tree)
        return controllers.attitude_control(model, wheels, turning, also=arm)

    one, other = acts("bus"), acts("servicer/bus")
    compared(alone, forest, "servicer", made(alone, *one), made(forest, *other, tree="servicer"), START, MOVING, NONE,
             one, other)  # fmt: skip


def test_a_target_of_the_state_is_of_all_of_it(servicer):
    """The servicer's x axis points to the target, which flies by."""
    alone, forest = servicer
    near, far = forest.tree("servicer"), forest.tree("target")

    def towards(t, q, v):
        d = q[far.q][4:7] - q[near.q][4:7]
        return quaternion.exp(np.arctan2(d[1], d[0]) * np.array([0, 0, 1.0]))

    q, v = forest.neutral(), np.zeros(forest.nv)
    q[near.q], q[far.q][4:], v[far.v][3:] = alone.neutral(), [3.0, 0.0, 0.0], [0.0, 0.3, 0.0]
    v[near.v][2] = 0.1
    wheels = ReactionWheels("servicer/bus")
    stay = controllers.computed_torque(forest, minimum_jerk(alone, alone.neutral(), alone.neutral(), 1.0), tree="servicer")
    control = controllers.attitude_control(forest, wheels, towards, bandwidth=1.0, also=stay)
    how = {"dt": 0.01, "gravity": NONE, "integrator": "semi_implicit_euler", "joint_dynamics": False}
    run = engine.Simulator(forest, actuators=[wheels], controller=control, **how).run(q, v, 5.0)
    off = [quaternion.log(quaternion.product(quaternion.conjugate(q[near.q][:4]), towards(0.0, q, None))) for q in run.q]
    assert np.abs(off).max() < 0.02 and abs(run.q[-1][near.q][3]) > 0.1


def test_three_lives(servicer):
    alone, forest = servicer
    tree = forest.tree("servicer")
    of_joints, of_link = (FLYERS[n](forest, "servicer/", alone, START, tree="servicer") for n in ("computed_torque", "resolved_rate"))
    of_base = controllers.attitude_control(forest, ReactionWheels("servicer/bus"), START[:4])

    def said(t, q, v):
        more = {"gravity": np.zeros(3), "armature": forest.armature}
        poses = dynamics.forward_kinematics(forest, q)
        of = {"pose": lambda link: poses[forest.link_index(link)], "jacobian": lambda link: dynamics.jacobian(forest, q, link)}
        return of_joints(t, q, v, **more), of_link(t, q, v, **of, **more), of_base(t, q, v)["wheels"]

    rng = np.random.default_rng(0)
    q, v = (np.array(x) for x in zip(*[forest.random(rng) for _ in range(3)], strict=True))
    q[:, tree.q] = alone.integrate(START, 0.1 * v[:, tree.v])
    check_lives(said, np.array([0.1, 0.5, 2.0]), q, v, tolerance=1e-11)


def test_inverse_kinematics_moves_the_tree_of_its_link(servicer):
    """As of the servicer alone; the others stay where they are."""
    alone, forest = servicer
    tree, q = forest.tree("servicer"), forest.neutral()
    q[tree.q] = START
    there = dynamics.forward_kinematics(alone, START)[-1][:3, 3] + [0.1, -0.1, 0.05]
    one = engine.inverse_kinematics(alone, {"link3": there}, START)
    all_ = engine.inverse_kinematics(forest, {"servicer/link3": there}, q)
    assert one.converged and all_.converged
    np.testing.assert_allclose(all_.q[tree.q], one.q, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(np.delete(all_.q, np.r_[tree.q]), np.delete(q, np.r_[tree.q]))


# ---------------------------------------------------------------- bad input

STANDS = lambda t: (np.zeros(1), np.zeros(1), np.zeros(1))


@pytest.mark.parametrize(("make", "message"), [
    (lambda m: controllers.computed_torque(m, STANDS), "computed_torque: 'target+servicer' moves in the world by 'target/floating_base' "
     "(floating), 'servicer/floating_base' (floating); expected one floating joint that carries all the "
     "others, or a fixed base, or one tree of it, as tree='target' or 'servicer'"),
    (lambda m: controllers.reaction_null_space_motion(m, STANDS), "or one tree of it, as tree='target' or 'servicer'"),
    (lambda m: controllers.computed_torque(m, STANDS, tree="servicr"), "no tree 'servicr' in 'target+servicer' (did you mean 'servicer'?); "
     "expected one of 'target', 'servicer', or a link of one"),
    (lambda m: controllers.pd_gravity(m, START, 1.0, 1.0, tree=3), "no tree 3 in 'target+servicer'; expected one of 'target'"),
    (lambda m: controllers.resolved_rate(m, "gripper", STANDS), "no link 'gripper' in 'target+servicer'"),
    (lambda m: controllers.resolved_rate(m, "target/hull", STANDS, tree="servicer"), "no link 'target/hull' in 'servicer'"),
    (lambda m: controllers.operational_space(m, "servicer/link3", STANDS), "operational_space: 'servicer' floats; expected a fixed base"),
    (lambda m: controllers.attitude_control(m, ReactionWheels("servicer/link0")), "'wheels' is on link 'servicer/link0'; expected it "
     "on the base, 'servicer/bus'"),
    (lambda m: controllers.attitude_control(m, ReactionWheels("bus")), "no link 'bus' in 'target+servicer'"),
    (lambda m: controllers.attitude_control(m, ReactionWheels("servicer/bus"), tree="target"), "no link 'servicer/bus' in 'target'"),
])  # fmt: skip
def test_what_is_no_tree_is_said(servicer, make, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        make(servicer[1])
