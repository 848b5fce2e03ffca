"""Several trees in one model: free bodies, one beside a fixed arm, a servicer and its target; by every method, alone and in batch."""


import numpy as np
import pytest

import engine
from engine.dynamics import momentum
from engine.integrate import METHODS, FreeBody
from engine.spatial import inertia, se3, so3
from tests.trees import random_inertia

EACH = [name for name, m in METHODS.items() if m.takes is not FreeBody]
EXPLICIT = [name for name in EACH if not METHODS[name].implicit]
DOWN = (0.0, 0.0, -10.0)


def grounded(*links):
    """A builder whose root is the world, with bodies that float in it: (name, inertia, pose of its joint)."""
    builder = engine.Builder("several")
    builder.add_link("world")
    for name, G, T in links:
        builder.add_link(name, inertia=G)
        builder.add_joint(f"{name} floats", "floating", "world", name, placement=T)
    return builder


def two_bodies(T=np.eye(4)):
    G = [inertia.box(2.0, [0.1, 0.2, 0.3]), random_inertia(np.random.default_rng(1))]
    return grounded(("first", G[0], np.eye(4)), ("second", G[1], T)).model(), G


def alone(G, placement=np.eye(4)):
    return grounded(("body", G, placement)).model()


def body_beside_arm():
    """A free body, declared before or after an arm of two joints on the world."""
    def build(first):
        builder = grounded(("box", inertia.box(2.0, [0.1, 0.2, 0.3]), np.eye(4))) if first else grounded()
        rod = inertia.from_mass(1.0, [0.0, 0.0, -0.5], 0.1 * np.eye(3))
        builder.add_link("upper", inertia=rod), builder.add_link("lower", inertia=rod)
        builder.add_joint("shoulder", "revolute", "world", "upper", axis=[0, 1, 0])
        builder.add_joint("elbow", "revolute", "upper", "lower", axis=[0, 1, 0], placement=se3.pose(np.eye(3), np.array([0, 0, -1.0])))
        if not first:
            builder.add_link("box", inertia=inertia.box(2.0, [0.1, 0.2, 0.3]))
            builder.add_joint("box floats", "floating", "world", "box")
        return builder.model()

    return build(True), build(False)


def state(model, seed=0):
    q, v = model.random(np.random.default_rng(seed))
    return q, v


@pytest.mark.filterwarnings("ignore:.*errors of momentum:engine.SimulationWarning")        # of methods of order 1
@pytest.mark.parametrize("method", EACH)
def test_two_free_bodies_fall_as_each_would_alone(method):
    """1 s in 10 m/s²: −5 m for each centre of mass; and to rounding what each body does in a model of its own, by every other method."""
    T = se3.pose(so3.exp(np.array([0.3, -0.5, 0.8])), np.array([1.0, 2.0, 3.0]))
    model, G = two_bodies(T)
    q, v = state(model)
    both = engine.Simulator(model, dt=0.02, integrator=method, gravity=DOWN).run(q, v, 1.0)
    for k in (EACH.index(method) % 2,) if METHODS[method].order > 1 else (0, 1):
        g, placement = G[k], (np.eye(4), T)[k]
        one = engine.Simulator(alone(g, placement), dt=0.02, integrator=method, gravity=DOWN)
        one = one.run(q[7 * k : 7 * k + 7], v[6 * k : 6 * k + 6], 1.0)
        np.testing.assert_allclose(both.q[:, 7 * k : 7 * k + 7], one.q, rtol=0, atol=2e-12)
        np.testing.assert_allclose(both.v[:, 6 * k : 6 * k + 6], one.v, rtol=0, atol=2e-11)
        c = np.array([inertia.center(g)])
        place = one.poses()[:, -1]
        centre = place[:, :3, 3] + (place[:, :3, :3] @ c[0])
        P = one.momentum()[0, 3:] / inertia.mass(g)
        np.testing.assert_allclose(centre[-1] - centre[0], P + [0, 0, -5.0], atol=1e-11 if METHODS[method].order > 1 else 0.11)


@pytest.mark.filterwarnings("ignore:.*errors of momentum:engine.SimulationWarning")
@pytest.mark.parametrize("method", EXPLICIT)
def test_a_free_body_beside_a_fixed_arm(method):
    """The box keeps to its own momentum, the arm to its own motion, in whichever order they were declared, by every other method."""
    for model in (body_beside_arm()[EXPLICIT.index(method) % 2],):
        q, v = state(model)
        simulator = engine.Simulator(model, dt=0.01, integrator=method, gravity=DOWN)
        motion = simulator.run(q, v, 0.5)
        box = engine.Simulator(alone(inertia.box(2.0, [0.1, 0.2, 0.3])), dt=0.01, integrator=method, gravity=DOWN)
        i, j = model.q_slice("box floats"), model.v_slice("box floats")
        one = box.run(q[i], v[j], 0.5)
        np.testing.assert_allclose(motion.q[:, i], one.q, rtol=0, atol=1e-12)
        np.testing.assert_allclose(motion.v[:, j], one.v, rtol=0, atol=1e-11)
        builder = engine.Builder("arm")
        for link in ("world", "upper", "lower"):
            builder.add_link(link, inertia=model.link(link).inertia)
        for joint in ("shoulder", "elbow"):
            old = model.joint(joint)
            builder.add_joint(joint, "revolute", old.parent, old.child, axis=old.axis, placement=old.placement)
        arm = builder.model()
        own = [model.q_slice(n).start for n in ("shoulder", "elbow")], [model.v_slice(n).start for n in ("shoulder", "elbow")]
        swing = engine.Simulator(arm, dt=0.01, integrator=method, gravity=DOWN).run(q[own[0]], v[own[1]], 0.5)
        np.testing.assert_allclose(motion.q[:, own[0]], swing.q, rtol=0, atol=1e-12)


def servicer_and_target():
    """A free-flyer with an arm of two joints and a tumbling box, in one model."""
    builder = grounded(("target", random_inertia(np.random.default_rng(2)), np.eye(4)))
    links = "bus", "arm", "gripper"
    for k, link in enumerate(links):
        builder.add_link(link, inertia=random_inertia(np.random.default_rng(3 + k)))
    builder.add_joint("floating_base", "floating", "world", "bus")
    for parent, child, axis in zip(links, links[1:], np.eye(3), strict=False):
        builder.add_joint(f"{child} turns", "revolute", parent, child, axis=axis, placement=se3.pose(np.eye(3), np.array([0.5, 0.1, 0.0])))
    return builder.model()


def momenta(motion, joints):
    """The momentum of each tree, summed over its links."""
    model, found = motion.model, []
    poses = motion.poses()
    V = engine.compile(model).twists(motion.q, motion.v)
    for joint in joints:
        root = next(i for i, b in enumerate(model.bodies) if b.joint.name == joint)
        tree = next(t for t in model.trees if t[0] == root)
        P = 0.0
        for k, link in enumerate(model.links):
            if model.carrier[k][0] in tree:
                P = P + se3.wrench_to_parent(poses[..., k, :, :], np.matvec(link.inertia, V[..., k, :]))
        found.append(P)
    return found


@pytest.mark.filterwarnings("ignore:.*errors of momentum:engine.SimulationWarning")
@pytest.mark.parametrize("method", ["cg4", "rkmk4", "semi_implicit_euler", "lie_euler_world"])
def test_a_servicer_and_its_target_keep_each_their_own_momentum(method, tmp_path):
    """Joints that are driven hard change neither; alone, in a batch, and over an interruption of a recording, to the bit."""
    model = servicer_and_target()
    assert not model.floats and len(model.trees) == 2
    joints = ("target floats", "floating_base")
    base = np.r_[model.v_slice(joints[0]), model.v_slice(joints[1])]
    driven = np.setdiff1d(np.arange(model.nv), base)
    push = np.zeros(model.nv)
    push[driven] = 1.0
    simulator = engine.Simulator(model, dt=0.01, integrator=method, gravity=(0, 0, 0),
                                 controller=lambda t, q, v: push * np.cos(3.0 * t) - push * v)  # fmt: skip
    states = [state(model, k) for k in range(3)]
    q, v = np.array([s[0] for s in states]), 0.1 * np.array([s[1] for s in states])
    batch = simulator.run(q, v, 1.0)
    for P in momenta(batch, joints):
        scale = np.abs(P).max()
        assert np.abs(P - P[:, :1]).max() < 1e-11 * scale
    np.testing.assert_allclose(sum(momenta(batch, joints)), batch.momentum(), rtol=0, atol=1e-9)
    for k in range(3):
        np.testing.assert_array_equal(simulator.run(q[k], v[k], 1.0).q, batch.q[k])
    path = simulator.run(q, v, 0.5, out=tmp_path / "run.h5")
    simulator.resume(path, 1.0)
    np.testing.assert_array_equal(engine.load_trajectory(path).q, batch.q)


@pytest.mark.filterwarnings("ignore:.*beyond its limits:engine.SimulationWarning")
def test_momentum_can_be_left_to_the_method():
    """Without the projection the momentum drifts with the method's error; with it the drift is rounding; both move alike to the order."""
    model = servicer_and_target()
    q, v = state(model)
    runs = {c: engine.Simulator(model, dt=0.02, gravity=(0, 0, 0), conserve_momentum=c).run(q, v, 1.0) for c in (True, False)}
    drift = {c: np.abs(r.momentum() - r.momentum()[0]).max() / np.abs(r.momentum()[0]).max() for c, r in runs.items()}
    assert drift[True] < 1e-12 < 1e-10 < drift[False]
    assert 0 < np.abs(runs[True].v - runs[False].v).max() < 1e-3


def test_steps_that_choose_their_size_conserve_it_too():
    model, _ = two_bodies()
    q, v = state(model)
    solution = engine.Simulator(model, gravity=(0, 0, 0), integrator="rkmk5").solve(q, v, 2.0, 1e-6)
    P = np.array([momentum(model, *solution(t)) for t in np.linspace(0.0, 2.0, 9)])
    assert np.abs(P - P[0]).max() < 1e-12 * np.abs(P).max()
