"""Impulses of stops, friction and contacts where exact constraints hold: one problem, on the velocities that the constraints allow."""

import functools

import numpy as np
import pytest
from scipy.optimize import root

import engine
from engine.compiler.graph.interpreter import interpret
from engine.compiler.transforms.trace import trace
from engine.contact import JointCoordinate, JointLaws, joint_laws, velocity_after
from engine.spatial import inertia, quaternion
from tests.constraints.mechanisms import at, rod

AWAY = {"gravity": (0.0, 0.0, 0.0)}
BESIDE = at(0.6, 0.3, 0.1)
NAMES = ("yaw", "elbow")


def rubbing(seed, n=5, rows=2, redundant=False):
    """A mass matrix, joints that rub and end, a velocity before a step, one after its flight, and constraints, one of them twice."""
    rng = np.random.default_rng(seed)
    A, J = rng.standard_normal((n, n)), rng.standard_normal((rows, n))
    joints = [JointCoordinate(f"j{k}", k, k, 1.0, 0.0, 0.5, 2.0, -0.1, 0.1, 3.0, np.inf, 1.0, 1.0) for k in range(n)]
    laws = JointLaws(joints, 1e-5, lambda row: 1e4, 1.0)
    before, free, q = rng.standard_normal(n), rng.standard_normal(n), rng.uniform(-0.15, 0.15, n)
    return A @ A.T + np.eye(n), laws, before, q, free, np.vstack([J, J[:1]]) if redundant else J


def after(M, laws, before, q, free, J, h=1e-2):
    return velocity_after(M, laws.step(h, before, q, free), before, free, J)[0]


@pytest.mark.parametrize("redundant", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_impulses_balance_on_what_constraints_leave_free(seed, redundant):
    """M (v − ṽ) = γ + Jᵀ λ for some λ, and J (v − ṽ) = 0."""
    M, laws, before, q, free, J = rubbing(seed, redundant=redundant)
    v = after(M, laws, before, q, free, J)
    left = M @ (v - free) - laws.step(1e-2, before, q, free).impulse(v, np.zeros(0))[0]
    multipliers = np.linalg.lstsq(J.T, left, rcond=None)[0]
    size = np.abs(M).max() * np.abs(v - free).max()
    assert np.abs(left - J.T @ multipliers).max() < 1e-8 * size and np.abs(multipliers).max() > 1e-3
    assert np.abs(J @ (v - free)).max() < 1e-12 * np.abs(J).max() * np.abs(v - free).max()


@pytest.mark.parametrize("seed", range(3))
def test_what_nearly_redundant_constraints_hold_stays_to_rounding(seed):
    """A step of Newton's method is off by rounding over a pivot of Λ, 1e-10 here; the next one takes that off again."""
    M, laws, before, q, free, J = rubbing(seed, redundant=True)
    J[-1] += 1e-5 * np.random.default_rng(seed).standard_normal(len(free))
    change = after(M, laws, before, q, free, J) - free
    assert np.abs(J @ change).max() < 1e-12 * np.abs(J).max() * np.abs(change).max()


@pytest.mark.parametrize("seed", range(3))
def test_scipy_finds_the_same_root(seed):
    """The problem is strictly convex: SciPy's root of its conditions, begun elsewhere, is the velocity."""
    M, laws, before, q, free, J = rubbing(seed)
    law, n = laws.step(1e-2, before, q, free), len(free)

    def conditions(x):
        v, multipliers = np.split(x, [n])
        return np.concatenate([M @ (v - free) - law.impulse(v, law.friction)[0] - J.T @ multipliers, J @ (v - free)])

    v = after(M, laws, before, q, free, J)
    found = root(conditions, np.concatenate([v + 0.01, np.zeros(len(J))]), method="lm", options={"xtol": 1e-14, "ftol": 1e-14})
    assert np.abs(found.fun).max() < 1e-10 and np.abs(found.x[:n] - v).max() < 1e-8


@pytest.mark.parametrize("redundant", [False, True])
def test_plain_is_interpreted_is_compiled(redundant):
    M, laws, before, q, free, J = rubbing(3, redundant=redundant)

    def f(M, before, q, free, J):
        return after(M, laws, before, q, free, J)

    given = M, before, q, free, J
    plain = f(*given)
    np.testing.assert_allclose(interpret(trace(f, [x.shape for x in given]), *(x[None] for x in given))[0], plain, rtol=0, atol=1e-9)
    compiled = engine.gufunc(f, f"(n,n),(n),(n),(n),({len(J)},n)->(n)", n=5)
    np.testing.assert_allclose(compiled(*given), plain, rtol=0, atol=1e-9)
    rows = [np.array([x] * 3) for x in given]
    np.testing.assert_array_equal(compiled(*rows)[1], compiled(*given))


# ---------------------------------------------------------------- an arm that holds something


def servicer():
    """A floating base with two joints that end."""
    builder = engine.Builder("servicer")
    builder.add_link("base", inertia=inertia.box(50.0, (1.0, 0.8, 0.6)))
    for k, (name, above) in enumerate(zip(NAMES, ("base", "yaw"), strict=True)):
        builder.add_link(name, inertia=rod(3.0, 0.6))
        builder.add_joint(name, "revolute", above, name, at(0.6, 0.1, 0.0), axis=np.eye(3)[2 - k], limits=engine.Limits(-1.0, 1.0))
    return builder.model(floating_base=True)


@functools.cache
def held(mass):
    """The servicer with a body fixed to its arm, and beside one that it grips, with the same stiffness of stops; and the grip."""
    body = engine.Builder("body")
    body.add_link("body", inertia=inertia.box(mass, (0.5, 0.7, 0.9)))
    two = engine.combine(servicer=servicer(), target=body.model(floating_base=True))
    one = engine.combine(servicer=servicer(), target=engine.Mounted(body.model(), on="servicer/elbow", placement=BESIDE))
    joint_laws.MOBILITIES[one] = tuple(w[: one.nv] for w in joint_laws.mobilities(two))
    return one, two, [engine.Grip("servicer/elbow", "target/body")]


@functools.cache
def gripped(mass, dt):
    """A simulator of the servicer that holds a body all the time."""
    _, two, grip = held(mass)
    return engine.Simulator(two, dt=dt, constraints=grip, controller=closed, **AWAY)


def beginning(one, joint, side, rate=0.5):
    """A state near a joint's stop, of the model with a body fixed to it, and the same with the body beside it."""
    q, v = one.neutral(), np.zeros(one.nv)
    q[one.q_slice("servicer/yaw")], q[one.q_slice("servicer/elbow")] = 0.3, -0.4
    q[one.q_slice(f"servicer/{joint}")], v[one.v_slice(f"servicer/{joint}")] = side * 0.99, side * rate
    T = engine.dynamics.forward_kinematics(one, q)[one.link_index("target/body")]
    J = engine.dynamics.jacobian(one, q, "target/body")
    return (q, v), (np.concatenate([q, quaternion.from_matrix(T[:3, :3]), T[:3, 3]]), np.concatenate([v, J @ v]))


def closed(t, q, v):
    return {"grip": 1.0}


@pytest.mark.parametrize("mass, dt", [(1.0, 2e-3), (5000.0, 1e-3)])
def test_a_joint_at_its_stop_while_the_arm_grips_moves_as_with_the_body_fixed(mass, dt):
    """The grip passes on the stops' impulses as a rigid joint does; what is left is the method's own error."""
    one, _, _ = held(mass)
    fixed = engine.Simulator(one, dt=dt, **AWAY)
    starts = [beginning(one, joint, side) for joint in NAMES for side in (-1.0, 1.0)]
    (q1, v1), (q2, v2) = ([np.array([start[k][i] for start in starts]) for i in (0, 1)] for k in (0, 1))
    x, y = fixed.run(q1, v1, 1.5), gripped(mass, dt).run(q2, v2, 1.5)
    assert np.abs(x("stops.force")).max(axis=(1, 2)).min() > 0.1
    assert np.abs(x.q - y.q[..., : one.nq]).max() < 1e-6
    P = y.momentum()
    assert np.abs(P - P[:, :1]).max() < 1e-12 * np.abs(P).max()


@pytest.mark.parametrize("constraint", ["Grip", "Hinge"])
def test_stops_and_friction_beside_constraints_never_make_energy(constraint):
    """Before a stop is met, and after it is left, there is no more kinetic energy than there was."""
    one, two, _ = held(1.0)
    hinge = engine.Hinge("servicer/elbow", "target/body", point_a=BESIDE[:3, 3], axis_a=(0, 1, 0), axis_b=(0, 1, 0))
    simulator = gripped(1.0, 2e-3) if constraint == "Grip" else engine.Simulator(two, dt=2e-3, constraints=[hinge], **AWAY)
    starts = [beginning(one, joint, side)[1] for joint in NAMES for side in (-1.0, 1.0)]
    run = simulator.run(np.array([q for q, _ in starts]), np.array([v for _, v in starts]), 2.0)
    K, pressed = run.energy()[0], np.abs(run("stops.force")).max(axis=-1) > 0.0
    for energy, at_stop in zip(K, pressed, strict=True):
        apart = energy[~at_stop]
        assert at_stop.any() and (np.diff(apart) < 1e-9 * apart[0]).all() and apart[-1] < 0.9999 * apart[0]


def test_a_floating_robot_welded_to_the_world_is_one_with_a_fixed_base():
    """Its joints' stops, friction and loads are those of the arm that stands."""
    builder = engine.Builder("arm")
    builder.add_link("base", inertia=inertia.box(5.0, (0.2, 0.2, 0.2)))
    for k, above in enumerate(("base", "l0")):
        builder.add_link(f"l{k}", rod())
        builder.add_joint(f"j{k}", "revolute", above, f"l{k}", at(k, 0, 0), axis=(0, 1, 0), friction=0.3, limits=engine.Limits(-1.0, 1.0))
    stands, floats = builder.model(), builder.model(floating_base=True)
    w = joint_laws.mobilities(floats)
    joint_laws.MOBILITIES[stands] = tuple(x[6:] for x in w)
    q, v = np.array([0.2, -0.3]), np.array([1.0, 0.5])
    x = engine.Simulator(stands, dt=1e-3).run(q, v, 1.0)
    y = engine.Simulator(floats, dt=1e-3, constraints=[engine.Weld("world", "base")]).run(
        np.concatenate([floats.neutral()[:7], q]), np.concatenate([np.zeros(6), v]), 1.0)
    assert np.abs(x("stops.force")).max() > 1.0
    assert np.abs(x.q - y.q[:, 7:]).max() < 1e-9 and np.abs(y.v[:, :6]).max() < 1e-12
    assert np.abs(x.vdot - y.vdot[:, 6:]).max() < 1e-6 * np.abs(x.vdot).max()


@pytest.mark.filterwarnings("ignore:.*starts outside its limits")
def test_a_step_at_a_stop_beside_a_gear_is_differentiated():
    """Two blocks that a gear joins, the one beyond its stop: B of a linearized step against differences of steps under other forces."""
    rails = engine.Builder("rails")
    rails.add_link("rail")
    for name, end in (("a", 0.1), ("b", np.inf)):
        rails.add_link(name, inertia.sphere(1.0, 0.1))
        rails.add_joint(name, "prismatic", "rail", name, axis=[1, 0, 0], limits=engine.Limits(-1.0, end))
    model = rails.model()
    simulator = engine.Simulator(model, dt=2e-3, constraints=[engine.Coupling("b", "a", ratio=-2.0)], **AWAY)
    q, v, e = np.array([0.102, -0.204]), np.array([0.3, -0.6]), 1e-3
    pushed = simulator.with_force(lambda t, q, v, u: u, {"u": np.zeros(2)})
    B = simulator.linearize(q, v)[1][:4]
    for k in range(2):
        ends = [pushed.step(pushed.start(q, v, {"u": sign * e * np.eye(2)[k]})) for sign in (-1.0, 1.0)]
        difference = np.concatenate([ends[1].q - ends[0].q, ends[1].v - ends[0].v]) / (2.0 * e)
        assert np.abs(B[:, k] - difference).max() < 1e-7 * np.abs(difference).max()


@pytest.mark.parametrize("compiled", [True, False])
def test_what_is_not_found_beside_a_grip_is_named(compiled, monkeypatch):
    one, two, grip = held(1.0)
    monkeypatch.setattr("engine.contact.newton.STEPS", 1)
    simulator = engine.Simulator(two, dt=2e-3, constraints=grip, controller=closed, compiled=compiled, **AWAY)
    words = r"[\d.e-]+ N·s or N·m·s are not balanced, beside the stop of joint 'servicer/elbow' \(.*constraints: grip \(6 rows"
    with pytest.raises(engine.SimulationError, match=words):
        simulator.run(*beginning(one, "elbow", 1.0)[1], 0.1)
