"""States in the libraries' vectors: Pinocchio and MuJoCo themselves, and by what velocities, accelerations and power are, all four."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np
import pinocchio as pin
import pytest

import engine
from engine import Builder, Mimic, Model, StateError, convert, dynamics
from engine.convert import libraries
from engine.spatial import inertia, quaternion, se3, so3
from tests.dynamics import oracle_mujoco, oracle_pinocchio
from tests.dynamics.support import ROBOTS, error, file, robot, sensitivity, without_mimics
from tests.numeric import check_lives, derivative
from tests.trees import random_tree

Array = np.ndarray
SWAP = [3, 4, 5, 0, 1, 2]
LIBRARIES: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    name: (getattr(convert, f"to_{name}"), getattr(convert, f"from_{name}")) for name in ("pinocchio", "mujoco", "drake", "ros")}
ROWS = {name: getattr(libraries, name.upper()).joints for name in LIBRARIES}
each = pytest.mark.parametrize("name", LIBRARIES)


def tree(name: str, seed: int = 0, floating: bool = True, mimics: float = 0.0) -> Model:
    """A random tree of all joints that a library has, planes normal to z."""
    rng = np.random.default_rng(seed)
    kinds = [k for k in ROWS[name] if k not in ("planar", "floating")]
    model = random_tree(rng, 2 * len(kinds), kinds, floating_base=floating, mimics=mimics)
    if "planar" not in ROWS[name]:
        return model
    builder = Builder("with a plane")
    builder.graph.add_nodes_from(model.graph.nodes(data=True))
    builder.graph.add_edges_from(model.graph.edges(data=True))
    builder.add_link("sled", inertia=inertia.from_mass(2.0, [0.1, 0.2, 0.3], np.diag([0.3, 0.4, 0.5])))
    builder.add_joint("plane", "planar", "l1", "sled", placement=se3.pose(so3.from_rpy([0.3, -0.2, 0.5]), np.array([0.1, 0.0, -0.2])))
    return builder.model(floating_base=floating)


def states(model: Model, *batch: int, seed: int = 1) -> tuple[Array, ...]:
    """q, v, v̇ and tau (..., n)."""
    rng = np.random.default_rng(seed)
    pairs = [model.random(rng) for _ in range(int(np.prod(batch)))]
    q, v = (np.array(x).reshape(*batch, -1) for x in zip(*pairs, strict=True))
    return q, v, rng.standard_normal(v.shape), rng.standard_normal(v.shape)


def wrapped(q: Array, model: Model) -> Array:
    """q with angles of continuous and planar joints from −π to π, and scalars of quaternions above zero, to compare."""
    q = q.copy()
    for body in model.bodies:
        if body.kind.name in ("continuous", "planar") and not body.mimics:
            q[..., body.q.stop - 1] = np.angle(np.exp(1j * q[..., body.q.stop - 1]))
        if body.kind.manifold.attitude:
            own = q[..., body.q.start : body.q.start + 4]
            own *= np.where(own[..., :1] < 0, -1.0, 1.0)
    return q


# ---------------------------------------------------------------- what holds of all


@each
@pytest.mark.parametrize("batch", [(), (7,), (2, 3), (0,)])
def test_there_and_back(name: str, batch: tuple[int, ...]) -> None:
    to, back = LIBRARIES[name]
    for model in (tree(name), tree(name, 1, False), tree(name, 2, mimics=0.5)):
        q, v, vdot, tau = states(model, *batch) if 0 not in batch else (np.zeros((0, n)) for n in (model.nq, *[model.nv] * 3))
        again = back(model, *to(model, q, v, vdot=vdot, tau=tau)[:2], vdot=to(model, q, v, vdot=vdot)[2], tau=to(model, q, tau=tau)[1])
        assert [x.shape for x in again] == [(*batch, model.nq), *[(*batch, model.nv)] * 3]
        for x, y in zip((wrapped(again[0], model), *again[1:]), (wrapped(q, model), v, vdot, tau), strict=True):
            assert error(x, y, 1.0) < 2e-14
        assert (to(model, q) == to(model, q, v)[0]).all()


@each
def test_velocities_accelerations_and_power(name: str) -> None:
    """Along a motion: the rates of the library's own coordinates where these are vectors, the rate of its velocity, and tau·v."""
    to, _ = LIBRARIES[name]
    model = tree(name, 3, mimics=0.3)
    q, v, vdot, tau = states(model)
    theirs = to(model, q, v, vdot=vdot, tau=tau)

    def at(t: float) -> tuple[Array, ...]:
        return to(model, model.integrate(q, v + 0.5 * t * vdot, t), v + t * vdot)

    assert error(theirs[2], derivative(lambda t: at(t)[1], h=2e-3), 1.0) < 1e-10
    assert abs(theirs[1] @ theirs[3] - v @ tau) < 1e-13 * (np.abs(v) @ np.abs(tau))
    rates, i, j = derivative(lambda t: at(t)[0], h=2e-3), 0, 0
    for part in engine.convert.parts.parts_of(getattr(libraries, name.upper()), model, None):
        own, V = slice(i, i + part.convention.nq), theirs[1][j : j + part.body.kind.nv]
        i, j, kind = own.stop, j + part.body.kind.nv, part.body.kind.name
        x, xdot = theirs[0][own], rates[own]
        if kind == "floating":
            p, r = (slice(4, 7), slice(0, 4)) if name == "drake" else (slice(0, 3), slice(3, 7))
            Q, Qdot = (convert.xyzw_to_wxyz(y[r]) if name in ("pinocchio", "ros") else y[r] for y in (x, xdot))
            R = quaternion.to_matrix(Q)
            w_world = 2 * quaternion.product(Qdot, quaternion.conjugate(Q))[1:]
            in_body, mixed = [R.T @ xdot[p], R.T @ w_world], [xdot[p], R.T @ w_world]
            expected = {"pinocchio": in_body, "ros": in_body, "mujoco": mixed, "drake": [w_world, xdot[p]]}[name]
            assert error(V, np.concatenate(expected), 1.0) < 1e-11
        elif kind == "spherical" and name == "drake":
            R, Rdot = so3.from_rpy(x), derivative(lambda t, x=x, xdot=xdot: so3.from_rpy(x + t * xdot), h=2e-3)
            assert error(V, so3.vee(Rdot @ R.T), 1.0) < 1e-9
        elif kind == "spherical":
            Q, Qdot = (convert.xyzw_to_wxyz(y) if name == "pinocchio" else y for y in (x, xdot))
            assert error(V, 2 * quaternion.product(quaternion.conjugate(Q), Qdot)[1:], 1.0) < 1e-11
        elif kind == "planar" and name == "pinocchio":
            c, s = x[2:]
            assert error(V, [c * xdot[0] + s * xdot[1], c * xdot[1] - s * xdot[0], c * xdot[3] - s * xdot[2]], 1.0) < 1e-11
        elif part.convention.nq == part.body.kind.nv:
            assert error(V, xdot, 1.0) < 1e-11
        else:
            assert kind == "continuous" and error(V, [x[0] * xdot[1] - x[1] * xdot[0]], 1.0) < 1e-11


@each
def test_batches_are_rows(name: str) -> None:
    to, back = LIBRARIES[name]
    model = tree(name, 4)
    q, v, vdot, tau = states(model, 5)
    every = to(model, q, v, vdot=vdot, tau=tau)
    for k in range(5):
        for x, y in zip(to(model, q[k], v[k], vdot=vdot[k], tau=tau[k]), every, strict=True):
            np.testing.assert_allclose(x, y[k], rtol=1e-15, atol=1e-15)
    one = to(model, q[0], v)                                                    # one q, many v
    assert one[0].shape == (5, every[0].shape[-1]) and error(one[1][0], every[1][0]) < 1e-15
    assert all(isinstance(x, np.ndarray) for x in back(model, *[x.tolist() for x in every[:2]]))


@each
def test_three_lives(name: str) -> None:
    """A controller may be written in the library's coordinates: there and back is traced as well."""
    to, back = LIBRARIES[name]
    model = tree(name, 5)
    q, v, vdot, tau = states(model, 4)
    check_lives(lambda q, v, a, f: to(model, q, v, vdot=a, tau=f), q, v, vdot, tau, tolerance=4e-15)
    theirs = to(model, q, v, vdot=vdot, tau=tau)
    check_lives(lambda q, v, a, f: back(model, q, v, vdot=a, tau=f), *theirs, tolerance=2e-14)


def test_quaternions() -> None:
    q = quaternion.random(np.random.default_rng(0), (5,))
    np.testing.assert_array_equal(convert.wxyz_to_xyzw(q), q[:, [1, 2, 3, 0]])
    np.testing.assert_array_equal(convert.xyzw_to_wxyz(convert.wxyz_to_xyzw(q)), q)
    with pytest.raises(engine.EngineError, match=r"q has shape \(3,\); expected \(\.\.\., 4\)"):
        convert.xyzw_to_wxyz([0, 0, 1])


# ---------------------------------------------------------------- Pinocchio


def against_pinocchio(model: Model, theirs: Any, tolerance: float, **options: Any) -> None:
    """Places, velocities and accelerations of links, M, and forward dynamics, in its own vectors."""
    theirs.gravity = pin.Motion(np.array([0.3, -0.2, -9.81]), np.zeros(3))
    theirs.armature = np.zeros(theirs.nv)
    data, (q, v, vdot, tau) = theirs.createData(), states(model)
    Q, V, A, F = convert.to_pinocchio(model, q, v, vdot=vdot, tau=tau, **options)
    assert len(Q) == theirs.nq and len(V) == theirs.nv
    pin.forwardKinematics(theirs, data, Q, V, A)
    pin.updateFramePlacements(theirs, data)
    poses, twists = dynamics.forward_kinematics(model, q), dynamics.twists(model, q, v)
    for i, link in enumerate(model.links):
        k = theirs.getFrameId(link.name, pin.FrameType.BODY)
        assert error(data.oMf[k].homogeneous, poses[i], 1.0) < tolerance
        assert error(pin.getFrameVelocity(theirs, data, k, pin.LOCAL).vector[SWAP], twists[i], 1.0) < tolerance
        J, Jdot = dynamics.jacobian(model, q, link.name), dynamics.jacobian_dot(model, q, v, link.name)
        acceleration = pin.getFrameAcceleration(theirs, data, k, pin.LOCAL).vector[SWAP]
        scale = float(np.abs(J).max(initial=1.0) * np.abs(vdot).max() + np.abs(v).max() ** 2)
        assert error(acceleration, J @ vdot + Jdot @ v, scale) < tolerance
    M = pin.crba(theirs, data, Q)
    M = np.triu(M) + np.triu(M, 1).T
    B = np.array([convert.to_pinocchio(model, q, e, **options)[1] for e in np.eye(model.nv)]).T
    ours = dynamics.crba(model, q) - np.diag(model.armature)
    assert error(B.T @ M @ B, ours) < tolerance
    if not any(body.mimics for body in model.bodies):
        back = convert.from_pinocchio(model, Q, V, vdot=pin.aba(theirs, data, Q, V, F), **options)[2]
        scale = sensitivity(ours, tau, dynamics.bias(model, q, v))
        assert error(back, dynamics.aba(model, q, v, tau, (0.3, -0.2, -9.81), armature=np.zeros(model.nv)), scale) < tolerance
        assert error(convert.from_pinocchio(model, Q, tau=pin.rnea(theirs, data, Q, V, A), **options)[1],
                     dynamics.rnea(model, q, v, vdot, (0.3, -0.2, -9.81)) - model.armature * vdot) < 10 * tolerance  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
def test_pinocchio_of_trees(seed: int) -> None:
    model = tree("pinocchio", seed, bool(seed % 2))
    theirs = oracle_pinocchio.built(model)
    for name in [body.joint.name for body in model.bodies if body.kind.name == "continuous"]:
        assert theirs.nqs[theirs.getJointId(name)] == 1                        # built with one coordinate; its reader's have two
    free = Model.from_graph(revolute(model), floating_base=bool(seed % 2))
    against_pinocchio(free, theirs, 1e-13, joints=list(theirs.names))


def revolute(model: Model) -> Any:
    """The graph with revolute joints for continuous ones."""
    import dataclasses

    graph = model.graph.copy()
    for parent, child, joint in list(graph.edges.data("joint")):
        if joint.kind == "continuous":
            graph.edges[parent, child]["joint"] = dataclasses.replace(joint, kind="revolute")
    return graph


@pytest.mark.parametrize(("name", "floating"), [("talos", True), ("g1", True), ("tiago", False), ("pr2", False), ("ur5", True)])
def test_pinocchio_of_robots(name: str, floating: bool) -> None:
    """In the order of its reader, told by it or known; continuous joints are circles there."""
    model = without_mimics(robot(name, floating))
    theirs = oracle_pinocchio.from_urdf(file(name), floating)
    against_pinocchio(model, theirs, 1e-11, joints=list(theirs.names))
    assert (convert.to_pinocchio(model, model.neutral()) == convert.to_pinocchio(model, model.neutral(), joints=theirs.names)).all()


@pytest.mark.parametrize("path", sorted(str(p.relative_to(ROBOTS)) for p in ROBOTS.rglob("*.urdf"))[::3])
def test_the_order_of_pinocchios_reader_is_known(path: str) -> None:
    try:
        model, theirs = robot(path, True), oracle_pinocchio.from_urdf(file(path), True)
    except (engine.RobotFileError, ValueError):
        return
    parts = engine.convert.parts.parts_of(libraries.PINOCCHIO, model, None)
    assert [part.body.joint.name for part in parts][1:] == list(theirs.names)[2:]
    assert [part.convention.nq for part in parts] == list(theirs.nqs)[1:]


@pytest.mark.parametrize(("name", "mimic"), [("panda", False), ("panda", True), ("pr2", False)])
def test_pinocchio_of_mimic_joints(name: str, mimic: bool) -> None:
    """As joints like others, which it makes of them, or as what it calls mimic joints, which have no coordinates."""
    model = robot(name)
    theirs = oracle_pinocchio.from_urdf(file(name), mimic=mimic)
    names = [n for n, k in zip(theirs.names, theirs.nqs, strict=True) if k]
    assert any(body.mimics for body in model.bodies)
    against_pinocchio(model, theirs, 1e-11, joints=names)


# ---------------------------------------------------------------- MuJoCo


def against_mujoco(model: Model, theirs: Any, tolerance: float, **options: Any) -> None:
    """Places and velocities of links, M, and forward dynamics, in its own vectors."""
    theirs.opt.gravity[:] = gravity = (0.3, -0.2, -9.81)
    theirs.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    theirs.dof_armature[:] = theirs.dof_damping[:] = theirs.dof_frictionloss[:] = theirs.qpos_spring[:] = 0.0
    data, (q, v, vdot, tau) = mujoco.MjData(theirs), states(model)
    Q, V, A, F = convert.to_mujoco(model, q, v, vdot=vdot, tau=tau, **options)
    data.qpos[:], data.qvel[:], data.qfrc_applied[:] = Q, V, F
    mujoco.mj_forward(theirs, data)
    poses, twists = dynamics.forward_kinematics(model, q), dynamics.twists(model, q, v)
    for i, link in enumerate(model.links):
        k, found = mujoco.mj_name2id(theirs, mujoco.mjtObj.mjOBJ_BODY, link.name), np.zeros(6)
        if k > 0:
            mujoco.mj_objectVelocity(theirs, data, mujoco.mjtObj.mjOBJ_XBODY, k, found, 1)
            assert error(data.xpos[k], poses[i][:3, 3], 1.0) < tolerance and error(data.xmat[k].reshape(3, 3), poses[i][:3, :3]) < tolerance
            assert error(found, twists[i], 1.0) < tolerance
    M = np.zeros((theirs.nv, theirs.nv))
    mujoco.mj_fullM(theirs, data, M)
    B = np.array([convert.to_mujoco(model, q, e, **options)[1] for e in np.eye(model.nv)]).T
    ours = dynamics.crba(model, q) - np.diag(model.armature)
    assert error(B.T @ M @ B, ours) < tolerance
    back = convert.from_mujoco(model, Q, V, vdot=data.qacc, **options)[2]
    scale = sensitivity(ours, tau, dynamics.bias(model, q, v))
    assert error(back, dynamics.aba(model, q, v, tau, gravity, armature=np.zeros(model.nv)), scale) < tolerance
    data.qacc[:] = A
    mujoco.mj_inverse(theirs, data)
    expected = dynamics.rnea(model, q, v, vdot, gravity) - model.armature * vdot
    assert error(convert.from_mujoco(model, Q, tau=data.qfrc_inverse, **options)[1], expected) < 10 * tolerance


def names_of(theirs: Any) -> list[str]:
    return [theirs.joint(i).name for i in range(theirs.njnt)]


@pytest.mark.parametrize("seed", range(4))
def test_mujoco_of_trees(seed: int) -> None:
    """Our order is its own; its planar joints are three, by other names than in the reader of files."""
    model = tree("mujoco", seed, bool(seed % 2))
    against_mujoco(model, oracle_mujoco.built(model), 1e-13)


@pytest.mark.parametrize(("name", "floating"), [("talos", True), ("g1", True), ("panda", False), ("ur5", False)])
def test_mujoco_of_robots(name: str, floating: bool) -> None:
    model = without_mimics(robot(name, floating))
    theirs = oracle_mujoco.from_urdf(file(name), model.links[0].name if floating else "")
    against_mujoco(model, theirs, 1e-12, joints=names_of(theirs))
    assert (convert.to_mujoco(model, model.neutral()) == convert.to_mujoco(model, model.neutral(), joints=names_of(theirs))).all()


def test_mujoco_reads_planar_and_floating_joints_of_files(tmp_path: Any) -> None:
    """A free body off the origin, and a sled with a wheel: by the names that MuJoCo gives their joints."""
    body = '<inertial><origin xyz="0.1 0 0.2"/><mass value="2"/><inertia ixx="1" iyy="1.2" izz="1.5" ixy="0.1" ixz="0" iyz="0"/></inertial>'
    text = f"""<robot name="several"><link name="ground"/><link name="free">{body}</link><link name="sled">{body}</link>
      <link name="wheel">{body}</link>
      <joint name="fly" type="floating"><origin xyz="1 2 3" rpy="0.1 0.2 0.3"/><parent link="ground"/><child link="free"/></joint>
      <joint name="slide" type="planar"><origin xyz="0 1 0"/><parent link="ground"/><child link="sled"/><axis xyz="0 0 1"/></joint>
      <joint name="turn" type="continuous"><parent link="sled"/><child link="wheel"/><axis xyz="0 1 0"/></joint></robot>"""
    (tmp_path / "several.urdf").write_text(text)
    model, theirs = engine.load_urdf(tmp_path / "several.urdf"), mujoco.MjModel.from_xml_string(text)
    assert names_of(theirs) == ["fly", "slide_TX", "slide_TY", "slide_RZ", "turn"]
    against_mujoco(model, theirs, 1e-13, joints=names_of(theirs))
    with pytest.raises(StateError, match="joints holds 'slide_TY' without the rest of 'slide'; expected slide_TX, slide_TY, slide_RZ"):
        convert.to_mujoco(model, model.neutral(), joints=["fly", "slide_TY", "slide_TX", "slide_RZ", "turn"])


# ---------------------------------------------------------------- ROS, Drake: the definitions by hand


def test_ros_messages() -> None:
    """nav_msgs/Odometry: pose and twist, the latter in the child's frame; then joints as the JointState names them."""
    arm = Builder("arm")
    for name in ("base", "one", "two"):
        arm.add_link(name, inertia=inertia.sphere(1.0, 0.1))
    arm.add_joint("shoulder", "revolute", "base", "one")
    arm.add_joint("elbow", "prismatic", "one", "two")
    model = arm.model(floating_base=True)
    half = np.sqrt(0.5)
    q, v = [half, 0, 0, half, 1, 2, 3, 0.4, 0.5], [0, 0, 0.3, 4, 0, 0, 0.6, 0.7]
    message = convert.to_ros(model, q, v, joints=["elbow", "shoulder"])
    np.testing.assert_array_equal(message[0], [1, 2, 3, 0, 0, half, half, 0.5, 0.4])
    np.testing.assert_array_equal(message[1], [4, 0, 0, 0, 0, 0.3, 0.7, 0.6])
    np.testing.assert_array_equal(convert.from_ros(model, *message, joints=["elbow", "shoulder"])[0], q)
    later = convert.to_ros(model, q, v, joints=["elbow", "the base", "shoulder"])[0]
    np.testing.assert_array_equal(later, [0.5, 1, 2, 3, 0, 0, half, half, 0.4])


def test_drakes_ball_joints_are_roll_pitch_yaw() -> None:
    ball = Builder("ball")
    _ = ball.add_link("base"), ball.add_link("tip", inertia=inertia.sphere(1.0, 1.0)), ball.add_joint("b", "spherical", "base", "tip")
    model, half = ball.model(), np.sqrt(0.5)
    q, v = convert.to_drake(model, [half, 0, half, 0], [1.0, 0, 0])              # a quarter turn about y: x of the body is −z
    assert np.abs(so3.from_rpy(q) - so3.about([0, 1, 0], np.pi / 2)).max() < 1e-15
    assert np.abs(v - [0, 0, -1]).max() < 1e-15


# ---------------------------------------------------------------- what is refused


def test_what_is_refused() -> None:
    def one(kind: str, floating: bool = False, **more: Any) -> Model:
        builder = Builder("robot")
        for name in ("base", "arm", "hand"):
            builder.add_link(name, inertia=inertia.sphere(1.0, 1.0))
        builder.add_joint("wrist", kind, "base", "arm", **more)
        builder.add_joint("finger", "revolute", "arm", "hand")
        return builder.model(floating_base=floating)

    mimic = Builder("robot")
    for name in ("base", "arm", "hand"):
        mimic.add_link(name, inertia=inertia.sphere(1.0, 1.0))
    mimic.add_joint("wrist", "revolute", "base", "arm")
    mimic.add_joint("finger", "revolute", "arm", "hand", mimic=Mimic("wrist", 2.0, 0.1))
    follower, arm, free = mimic.model(), one("revolute"), one("revolute", True)
    to, back, zero = convert.to_pinocchio, convert.from_pinocchio, np.zeros(2)
    for call, words in (
        (lambda: convert.to_mujoco(one("screw"), zero), "joint 'wrist' of 'robot' is screw, which MuJoCo has no joint for; expected one"),
        (lambda: convert.to_ros(one("spherical"), [1, 0, 0, 0, 0]), "joint 'wrist' of 'robot' is spherical, which ROS has no joint for"),
        (lambda: convert.to_mujoco(one("floating", True), np.eye(15)[0]), "joint 'wrist' of 'robot' floats within the tree; expected"),
        (lambda: convert.to_drake(one("planar", axis=[1, 0, 0]), np.zeros(4)), r"'wrist' of 'robot' is planar about \[1.0, 0.0, 0.0\]"),
        (lambda: to(arm, np.zeros(3)), r"q has shape \(3,\); expected \(\.\.\., 2\) for 'robot'"),
        (lambda: back(arm, np.zeros(3)), r"q has shape \(3,\); expected \(\.\.\., 2\), Pinocchio's of 'robot'"),
        (lambda: back(one("continuous"), np.zeros(3)), r"q of joint 'wrist' holds no cosine and sine"),
        (lambda: back(arm, [0, np.nan]), "q holds NaN or infinity; expected finite numbers"),
        (lambda: to(arm, zero, vdot=zero), "vdot is given without v; expected both"),
        (lambda: to(arm, np.zeros((3, 2)), np.zeros((4, 2))), r"the batches of q \(3, 2\), v \(4, 2\) do not broadcast"),
        (lambda: to(arm, zero, joints=["wrist", "fingr"]), r"joints holds 'fingr', which 'robot' has not \(did you mean 'finger'"),
        (lambda: to(arm, zero, joints=["wrist"]), "joints has no 'finger'; expected each joint of 'robot' that moves"),
        (lambda: to(arm, zero, joints=["wrist", "finger", "wrist"]), "joints holds 'wrist' twice"),
        (lambda: to(arm, zero, joints="wrist"), "joints is 'wrist'; expected names of joints, in Pinocchio's order"),
        (lambda: to(arm, zero, joints=5), "joints is 5; expected names of joints"),
        (lambda: to(free, np.zeros(9)), r"q of joint 'floating_base' has the quaternion .* of length 0; expected a unit one"),
        (lambda: convert.from_mujoco(free, [1, 2, 3, 0, 0, 0, 0.5, 0, 0]), "q of joint 'floating_base' has the quaternion .* 0.5"),
        (lambda: convert.from_ros(follower, [0.2, 0.6]), "q of joint 'finger' is off by 0.1 from what 'wrist' makes of it, which it mim"),
        (lambda: convert.from_ros(follower, [0.2, 0.5], [1.0, 1.0]), "v of joint 'finger' is off by 1 from what 'wrist' makes of it"),
    ):  # fmt: skip
        with pytest.raises(StateError, match=words):
            call()
    assert (convert.from_ros(follower, [0.2, 0.5], [1.0, 2.0], tau=[3.0, 4.0])[2] == [11.0]).all()       # 3 + 2·4 at the source
    assert (convert.from_ros(follower, [0.2], joints=["wrist"]) == [0.2]).all()
