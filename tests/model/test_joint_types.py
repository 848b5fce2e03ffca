"""Kinds of joint: S is the derivative of the pose, ⊕ and ⊖ undo one another, Pinocchio's joints, machine code."""

import numpy as np
import pytest

from engine.model import KINDS, Builder, Joint, Limits, ModelError
from engine.model.joint_types import plane
from engine.spatial import quaternion, se3
from tests.numeric import PI, ROUNDED, check_lives, close, derivative

AXES = {"z": [0.0, 0, 1], "-x": [-1.0, 0, 0], "oblique": [0.36, -0.48, 0.8]}
SECOND = {"z": [1.0, 0, 0], "-x": [0, 0.6, 0.8], "oblique": [0.1, 0.7, -0.4]}
JOINTS = [Joint(f"{kind} {name}", kind, "a", "b", axis=AXES[name], axis2=SECOND[name], pitch=0.3) for kind in KINDS for name in AXES]
GROUPS = [j for j in JOINTS if j.kind != "universal"]                         # where S is constant

every = pytest.mark.parametrize("joint", JOINTS, ids=lambda j: j.name)


@pytest.fixture
def rng():
    return np.random.default_rng(6)


def signed(joint, q, like):
    """q with its quaternion on the sheet of another's."""
    if not joint.type.manifold.attitude:
        return q
    sign = np.where(np.vecdot(q[..., :4], like[..., :4]) < 0, -1.0, 1.0)
    return np.concatenate([q[..., :4] * sign[..., None], q[..., 4:]], axis=-1)


def samples(joint, rng, n=6):
    """Configurations from neutral on, and velocities."""
    q = np.array([joint.type.manifold.neutral(), *(joint.type.random(joint, rng) for _ in range(n - 1))])
    return q, rng.uniform(-1, 1, (n, joint.type.nv))


# ---------------------------------------------------------------- pose, subspace, rate


@every
def test_shapes(joint, rng):
    kind = joint.type
    q = kind.random(joint, rng)
    assert kind.name == joint.kind
    assert kind.manifold.neutral().shape == q.shape == (kind.nq,)
    assert kind.pose(joint, q).shape == (4, 4)
    assert kind.subspace(joint, q).shape == (6, kind.nv)
    assert not kind.nv or np.linalg.matrix_rank(kind.subspace(joint, q)) == kind.nv
    np.testing.assert_array_equal(kind.pose(joint, kind.manifold.neutral()), np.eye(4))


@every
def test_subspace_is_the_derivative_of_the_pose(joint, rng):
    """d/dt T(q ⊕ v t) = T [S v]: what S means."""
    kind = joint.type
    for q, v in zip(*samples(joint, rng), strict=True):
        T = kind.pose(joint, q)
        dT = derivative(lambda t: kind.pose(joint, kind.manifold.plus(q, t * v)))
        close(se3.inv(T) @ dT + np.eye(4), se3.hat(kind.subspace(joint, q) @ v) + np.eye(4), 1e-13)


@every
def test_rate_is_the_derivative_of_the_subspace(joint, rng):
    kind = joint.type
    for q, v in zip(*samples(joint, rng), strict=True):
        dS = derivative(lambda t: kind.subspace(joint, kind.manifold.plus(q, t * v)))
        S = kind.subspace(joint, q)
        if kind.subspace_rate is None:
            np.testing.assert_array_equal(S, kind.subspace(joint, kind.manifold.neutral()))
        else:
            close(S + kind.subspace_rate(joint, q, v), S + dS, 1e-13)
            assert np.abs(dS).max() > 0.01                                    # there was something to see


@pytest.mark.parametrize("joint", GROUPS, ids=lambda j: j.name)
def test_poses_move_by_the_exponential(joint, rng):
    """T(q ⊕ d) = T(q) exp[S d] where S is constant, for large and small steps."""
    kind = joint.type
    for q, d in zip(*samples(joint, rng), strict=True):
        for step in (d, 3 * d, 1e-9 * d, 0 * d):
            moved = kind.pose(joint, kind.manifold.plus(q, step))
            close(moved, kind.pose(joint, q) @ se3.exp(kind.subspace(joint, q) @ step), 2e-15)


def test_universal_turns_about_its_axis_and_then_its_second():
    """With x and y as the axes: R_x(q1) R_y(q2)."""
    joint = Joint("u", "universal", "a", "b", axis=[1, 0, 0], axis2=[0, 1, 0])
    R = joint.type.pose(joint, np.array([PI / 2, PI / 2]))[:3, :3]
    close(R, [[0, 0, 1], [1, 0, 0], [0, 1, 0]], ROUNDED)


def test_screw_advances_by_its_pitch():
    joint = Joint("s", "screw", "a", "b", axis=[0, 0, 2], pitch=0.25)
    T = joint.type.pose(joint, np.array([PI / 2]))
    close(T, [[0, -1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0.25 * PI / 2], [0, 0, 0, 1]], ROUNDED)
    np.testing.assert_array_equal(joint.type.subspace(joint, np.zeros(1))[:, 0], [0, 0, 1, 0, 0, 0.25])


def test_planes_are_right_handed_and_cyclic():
    for k in range(3):
        e1, e2 = plane(np.eye(3)[k])
        np.testing.assert_array_equal([e1, e2], [np.eye(3)[(k + 1) % 3], np.eye(3)[(k + 2) % 3]])
    for joint in JOINTS:
        e1, e2 = plane(joint.axis)
        close(np.array([e1, e2, joint.axis]) @ np.array([e1, e2, joint.axis]).T, np.eye(3), ROUNDED)
        close(np.cross(e1, e2), joint.axis, ROUNDED)


# ---------------------------------------------------------------- ⊕ and ⊖


@every
def test_minus_undoes_plus(joint, rng):
    kind = joint.type
    for q, d in zip(*samples(joint, rng, 20), strict=True):
        for step in (d, 1.7 * d, 1e-4 * d, 1e-9 * d, 1e-12 * d, 0 * d):
            got = kind.manifold.minus(q, kind.manifold.plus(q, step))
            np.testing.assert_allclose(got, step, rtol=0, atol=3e-15)
            from_neutral = kind.manifold.minus(kind.manifold.neutral(), kind.manifold.plus(kind.manifold.neutral(), step))
            close(from_neutral, step, 2e-15)                                  # relative to the step, however small


@every
def test_plus_undoes_minus(joint, rng):
    kind = joint.type
    q0, q1 = samples(joint, rng, 20)[0], samples(joint, rng, 20)[0]
    back = signed(joint, kind.manifold.plus(q0, kind.manifold.minus(q0, q1)), q1)
    if kind.name != "planar":                                                 # where turns of more than π are not shortened
        np.testing.assert_allclose(back, q1, rtol=0, atol=4e-15)
    np.testing.assert_allclose(back, q1, rtol=0, atol=1e-13)
    assert np.abs(kind.manifold.minus(q0, q0)).max(initial=0) < ROUNDED


@every
def test_plus_is_a_flow(joint, rng):
    """(q ⊕ a v) ⊕ b v = q ⊕ (a + b) v."""
    kind = joint.type
    for q, v in zip(*samples(joint, rng), strict=True):
        a, b = rng.uniform(-1, 1, 2)
        twice = kind.manifold.plus(kind.manifold.plus(q, a * v), b * v)
        np.testing.assert_allclose(twice, kind.manifold.plus(q, (a + b) * v), rtol=0, atol=3e-15)


@every
def test_batches_are_rows(joint, rng):
    kind = joint.type
    q, v = samples(joint, rng, 6)
    q1 = samples(joint, rng, 6)[0]
    for f, x in ((kind.manifold.plus, v), (kind.manifold.minus, q1)):
        close(f(q, x), [f(*row) for row in zip(q, x, strict=True)], 1e-15)
        close(f(q[:, None], x[None]), [[f(a, b) for b in x] for a in q], 1e-15)
        close(f(q[0], x), f(q, x)[:0].tolist() + [f(q[0], b) for b in x], 1e-15)


def test_slow_joints_turn():
    """1e-6 rad/s for 1e-3 s is 1e-9 rad, not none."""
    for joint in JOINTS:
        kind = joint.type
        if kind.nv:
            v = 1e-6 * np.ones(kind.nv)
            got = kind.manifold.minus(kind.manifold.neutral(), kind.manifold.plus(kind.manifold.neutral(), v * 1e-3))
            np.testing.assert_allclose(got, 1e-9, rtol=1e-14)


# ---------------------------------------------------------------- random configurations


@pytest.mark.parametrize("kind", ["revolute", "continuous", "prismatic", "screw", "universal"])
def test_random_is_within_limits(kind, rng):
    for lower, upper in ((-0.2, 0.5), (3.0, 4.0), (1.0, 1.0), (-np.inf, -7.0), (6.0, np.inf), (-np.inf, np.inf)):
        joint = Joint("j", kind, "a", "b", limits=Limits(lower, upper))
        q = np.array([joint.type.random(joint, rng) for _ in range(200)])
        assert q.min() >= lower
        assert q.max() <= upper
        if lower < upper:
            assert q.std() > 0.05
    reach = 1.0 if kind == "prismatic" else PI
    joint = Joint("j", kind, "a", "b")
    q = np.array([joint.type.random(joint, rng) for _ in range(500)])
    assert 0.9 * reach < np.abs(q).max() <= reach


def test_limits_that_are_crossed_leave_no_room():
    with pytest.raises(ModelError, match="joint 'elbow': the lower limit 1 exceeds the upper one, -1; expected a range"):
        Joint("elbow", "revolute", "a", "b", limits=Limits(1.0, -1.0))


@pytest.mark.parametrize(("given", "said"), [
    ({"damping": -1.0}, "damping is -1.0; expected a finite number, zero or more"),
    ({"friction": -0.1}, "friction is -0.1; expected a finite number, zero or more"),
    ({"limits": Limits(effort=-2.0)}, "the effort limit is -2; expected zero or more"),
    ({"limits": Limits(velocity=-2.0)}, "the velocity limit is -2; expected zero or more"),
    ({"limits": Limits(1.0, -1.0)}, "the lower limit 1 exceeds the upper one, -1; expected a range"),
    ({"limits": Limits(np.inf, np.inf)}, "both limits are inf; expected a range, -inf … inf for none"),
])  # fmt: skip
def test_a_builder_refuses_what_no_joint_has(given, said):
    builder = Builder()
    builder.add_link("a"), builder.add_link("b")
    with pytest.raises(ModelError, match=f"joint 'elbow': {said}"):
        builder.add_joint("elbow", "revolute", "a", "b", **given)
    builder.add_joint("elbow", "revolute", "a", "b")


def test_random_attitudes_are_unit(rng):
    for kind in ("spherical", "floating"):
        joint = Joint("j", kind, "a", "b")
        for _ in range(20):
            assert np.linalg.norm(joint.type.random(joint, rng)[:4]) == pytest.approx(1, abs=1e-15)


# ---------------------------------------------------------------- Pinocchio's joints


def same(x):
    return x


#: kind -> Pinocchio's joint, its q from ours, ours from its; its free flyer has the linear velocity first
PEERS = {
    "revolute": (lambda pin, j: pin.JointModelRevoluteUnaligned(j.axis), same, same),
    "prismatic": (lambda pin, j: pin.JointModelPrismaticUnaligned(j.axis), same, same),
    "screw": (lambda pin, j: pin.JointModelHelicalUnaligned(j.axis, j.pitch), same, same),
    "universal": (lambda pin, j: pin.JointModelUniversal(j.axis, j.axis2), same, same),
    "planar": (lambda pin, j: pin.JointModelPlanar(), lambda q: np.array([q[0], q[1], np.cos(q[2]), np.sin(q[2])]),
               lambda q: np.array([q[0], q[1], np.arctan2(q[3], q[2])])),
    "spherical": (lambda pin, j: pin.JointModelSpherical(), lambda q: q[[1, 2, 3, 0]], lambda q: q[[3, 0, 1, 2]]),
    "floating": (lambda pin, j: pin.JointModelFreeFlyer(), lambda q: q[[4, 5, 6, 1, 2, 3, 0]], lambda q: q[[6, 3, 4, 5, 0, 1, 2]]),
}  # fmt: skip
PAIRS = [j for j in JOINTS if j.kind in PEERS
         and not (j.kind == "planar" and j.axis[2] < 1)                       # theirs is about z
         and not (j.kind == "universal" and abs(j.axis @ j.axis2) > 1e-15)]   # theirs has axes at right angles  # fmt: skip


@pytest.mark.parametrize("joint", PAIRS, ids=lambda j: j.name)
def test_joints_are_pinocchios(joint, rng):
    """Pose, twist S v, ⊕ and ⊖."""
    import pinocchio as pin
    make, theirs, ours = PEERS[joint.kind]
    model, kind, swap = pin.Model(), joint.type, np.r_[3:6, 0:3]
    model.addJoint(0, make(pin, joint), pin.SE3.Identity(), "j")
    data = model.createData()
    swapped = (lambda v: v[swap]) if joint.kind == "floating" else same
    digits = 1e-11 if joint.kind == "planar" else 1e-14                       # theirs cancels some in (1 − cos ω)/ω
    for q, v in zip(*samples(joint, rng), strict=True):
        pin.forwardKinematics(model, data, theirs(q), swapped(v))
        close(kind.pose(joint, q), data.oMi[1].homogeneous, 2e-15)
        close(kind.subspace(joint, q) @ v, data.v[1].vector[swap], 2e-15)
        moved = kind.manifold.plus(q, v)
        expected = signed(joint, ours(pin.integrate(model, theirs(q), swapped(v))), moved)
        if joint.kind == "planar":                                            # their angle is wrapped
            expected[2] += 2 * PI * np.round((moved[2] - expected[2]) / (2 * PI))
        close(moved, expected, digits)
        difference = swapped(pin.difference(model, theirs(q), theirs(moved)))
        np.testing.assert_allclose(kind.manifold.minus(q, moved), difference, rtol=0, atol=digits)


# ---------------------------------------------------------------- machine code


@pytest.mark.parametrize("joint", [j for j in JOINTS if j.type.nv], ids=lambda j: j.name)
def test_plain_interpreted_compiled_agree(joint, rng):
    kind = joint.type
    q, v = samples(joint, rng, 11)
    v = v * np.resize([0.0, 1e-12, 1e-9, 1e-4, 1.0, 2.0, 3.0], (11, 1))
    q1 = np.array([kind.manifold.plus(*row) for row in zip(q, v, strict=True)])

    def everything(q, v):
        rate = () if kind.subspace_rate is None else (kind.subspace_rate(joint, q, v),)
        return kind.pose(joint, q), kind.subspace(joint, q), kind.manifold.plus(q, v), *rate

    check_lives(everything, q, v, tolerance=3e-15)
    check_lives(lambda q, d: kind.manifold.minus(q, kind.manifold.plus(q, d)) + 1.0, q, v, tolerance=3e-15)
    if kind.manifold.attitude:
        q[-1, :4], q1[-1, :4] = quaternion.identity(), [0, 0, 0.6, 0.8]       # half a turn
    check_lives(lambda q, q1: kind.manifold.minus(q, q1) + 1.0, q, q1, tolerance=3e-15)
