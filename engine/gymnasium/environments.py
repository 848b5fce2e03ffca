"""Environments that are registered with Gymnasium: ``gymnasium.make("engine/CartPole-v0")``, ``gymnasium.make_vec(…, num_envs=…)``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from engine import dynamics, ops
from engine.examples import example
from engine.gymnasium.env import Env
from engine.gymnasium.vector_env import VectorEnv
from engine.io import load_urdf
from engine.model import Builder, Geometry, Material, Model, combine
from engine.simulation import Simulator
from engine.spatial import inertia, quaternion, se3

Array = np.ndarray
#: rad: the arm of the servicer at first
ARM = np.array([0.3, -0.2, 0.2, 1.4, 0.1, 0.6, 0.2])
#: N·m: of its joints' motors at standstill, a tenth of what they bear; rad/s: at which they push no more, the joints' limits; kg·m²: of
#: their rotors behind the gears, large enough that steps of 0.05 s resolve T/v₀ whatever the arm's posture
TORQUES = np.array([30.0, 30.0, 15.0, 15.0, 6.0, 6.0, 6.0])
SPEEDS = np.array([0.25, 0.25, 0.25, 0.25, 0.3, 0.3, 0.3])
ROTORS = np.array([10.0, 10.0, 6.0, 6.0, 2.0, 2.0, 2.0])
#: m, m/s: at the handle, and at rest beside it
NEAR, SLOW = 0.1, 0.05
#: m: from the target's handle to its centre
OFFSET = np.array([0.65, 0.0, 0.0])


# ---------------------------------------------------------------- cart-pole


def cart_pole() -> dict[str, Any]:
    """A pole on a cart, to be kept upright by pushes of 10 N to the left (0) or right (1).

    With the numbers of Gymnasium's CartPole-v1: a cart of 1 kg, a pole of 0.1 kg and 1 m, 9.8 m/s², 0.02 s an action; it ends beyond 2.4 m
    or 12°, or after 500 actions, each worth 1. Observed are x, ẋ, θ, θ̇. It is stepped by cg4, not by Euler's method.
    """
    builder = Builder("cart_pole")
    steel, wood, dark = (Material(n, c) for n, c in (("steel", (0.55, 0.57, 0.6, 1.0)), ("wood", (0.72, 0.52, 0.3, 1.0)),
                                                    ("dark", (0.2, 0.21, 0.23, 1.0))))  # fmt: skip
    middle = se3.pose(np.eye(3), np.array([0.0, 0.0, 0.5]))
    builder.add_link("rail", visuals=(Geometry("box", (4.8, 0.04, 0.04), material=steel),))
    builder.add_link("cart", inertia=inertia.box(1.0, (0.4, 0.2, 0.2)), visuals=(Geometry("box", (0.4, 0.2, 0.2), material=dark),))
    builder.add_link("pole", inertia=inertia.from_mass(0.1, np.array([0.0, 0.0, 0.5]), np.diag([1.0, 1.0, 0.0]) * 0.1 / 12.0),
                     visuals=(Geometry("cylinder", (0.03, 1.0), middle, material=wood),))  # fmt: skip
    builder.add_joint("slide", "prismatic", "rail", "cart", se3.pose(np.eye(3), np.array([0.0, 0.0, 0.2])), axis=(1.0, 0.0, 0.0))
    builder.add_joint("hinge", "continuous", "cart", "pole", axis=(0.0, 1.0, 0.0))

    def push(t: Any, q: Array, v: Array, action: Any) -> Array:
        return np.array([20.0 * action - 10.0, 0.0])

    def seen(t: Any, q: Array, v: Array) -> Array:
        return np.array([q[0], v[0], q[1], v[1]])

    def fallen(t: Any, q: Array, v: Array) -> Any:
        return (abs(q[0]) > 2.4) | (abs(q[1]) > np.radians(12.0))

    def begun(random: Any) -> tuple[Array, Array]:
        x = 0.1 * random.uniform(4) - 0.05
        return np.array([x[0], x[2]]), np.array([x[1], x[3]])

    simulator = Simulator(builder.model(), dt=0.02, gravity=(0.0, 0.0, -9.8), controller=push, parameters={"action": 0.0})
    return {"simulator": simulator, "observation": seen, "reward": lambda t, q, v: 1.0, "terminated": fallen, "reset": begun,
            "action": spaces.Discrete(2), "horizon": 10.0}  # fmt: skip


# ---------------------------------------------------------------- a free flyer


def servicer() -> Model:
    """The example robot, with its motors' rotors."""
    model = load_urdf(example("free_flyer"), floating_base=True)
    return model.with_armature(dict(zip([j.name for j in model.joints if j.kind == "revolute"], ROTORS, strict=True)))


def motors(action: Any, v: Array) -> Array:
    """Torques (7) of motors whose pull falls with speed: T (action − v/v₀)."""
    return TORQUES * (action - v / SPEEDS)


def reach() -> dict[str, Any]:
    """A servicer of 500 kg, held by nothing, brings its gripper to a point within 5 s by torques on seven joints; the base reacts.

    An action, in [−1, 1] a joint, lasts 0.1 s. Observed are, in the base's axes, the way from the gripper to the point and the gripper's
    velocity, the joints' angles from the first posture and rates, the base's attitude (the vector of its quaternion) and its twist. The
    reward is −distance (m) − 0.01 |action|².
    """
    model = servicer()
    q0 = model.neutral()
    q0[7:] = ARM
    at_first = dynamics.forward_kinematics(model, q0)[model.link_index("gripper")][:3, 3]

    def push(t: Any, q: Array, v: Array, action: Any) -> Array:
        return np.concatenate([np.zeros(6), motors(action, v[6:])])

    def seen(t: Any, q: Array, v: Array, pose: Any, twist: Any, target: Any) -> Array:
        R, T = quaternion.to_matrix(q[:4]), pose("gripper")
        gap, speed = R.T @ (target - T[:3, 3]), R.T @ (T[:3, :3] @ twist("gripper")[3:])
        return np.concatenate([gap, speed, q[7:] - ARM, 5.0 * v[6:], 10.0 * q[1:4], 10.0 * v[:6]])

    def worth(t: Any, q: Array, v: Array, pose: Any, target: Any, action: Any) -> Any:
        return -ops.norm(pose("gripper")[:3, 3] - target) - 0.01 * (action @ action)

    def begun(random: Any) -> dict[str, Array]:
        spin, drift, place = 0.003 * random(3), 0.003 * random(3), 1.2 * random.uniform(3) - 0.6
        return {"q": q0, "v": np.concatenate([spin, drift, np.zeros(7)]), "target": at_first + place}

    simulator = Simulator(model, dt=0.05, integrator="rkmk4", gravity=(0.0, 0.0, 0.0), joint_dynamics="explicit", controller=push,
                          parameters={"action": np.zeros(7)})  # fmt: skip
    return {"simulator": simulator, "observation": seen, "reward": worth, "reset": begun, "horizon": 5.0, "action_repeat": 2,
            "action": spaces.Box(-1.0, 1.0, (7,), np.float32)}  # fmt: skip


def tumbler() -> Model:
    """A target of 180 kg, in the frame of its handle."""
    white, grey = Material("white", (0.8, 0.8, 0.79, 1.0)), Material("grey", (0.5, 0.52, 0.55, 1.0))
    builder, T = Builder("target"), se3.pose(np.eye(3), OFFSET)
    across = se3.pose(np.roll(np.eye(3), 1, axis=0), np.zeros(3))
    looks = (Geometry("capsule", (0.02, 0.2), across, material=grey), Geometry("box", (0.9, 0.8, 0.8), T, material=white),
             Geometry("box", (0.2, 0.1, 0.1), se3.pose(np.eye(3), np.array([0.1, 0.0, 0.0])), material=grey))  # fmt: skip
    builder.add_link("handle", inertia=inertia.transformed(T, inertia.box(180.0, (0.9, 0.8, 0.8))), visuals=looks)
    return builder.model(floating_base=True)


def capture() -> dict[str, Any]:
    """The servicer of :func:`reach` brings its gripper to the handle of a target that drifts and tumbles, and along with it, within 10 s.

    Two free bodies, which do not touch. Observed are, in the base's axes, the way from the gripper to the handle and the handle's velocity
    past the gripper, the target's angular velocity, the joints' angles and rates, and the base's twist. The reward is −distance (m)
    − speed past each other (m/s) − 0.01 |action|², and 10 where the handle is within 0.1 m at less than 0.05 m/s, which ends it.
    """
    model = combine(servicer=servicer(), target=tumbler())
    q0, arm = model.neutral(), slice(7, 14)
    q0[arm] = ARM
    there = dynamics.forward_kinematics(model, q0)[model.link_index("servicer/gripper")][:3, 3]

    def push(t: Any, q: Array, v: Array, action: Any) -> Array:
        return np.concatenate([np.zeros(6), motors(action, v[6:13]), np.zeros(6)])

    def past(pose: Any, twist: Any) -> tuple[Array, Array]:
        """The way and the velocity of the handle past the gripper, in the world's axes."""
        hand, handle = pose("servicer/gripper"), pose("target/handle")
        V, W = twist("servicer/gripper"), twist("target/handle")
        return handle[:3, 3] - hand[:3, 3], handle[:3, :3] @ W[3:] - hand[:3, :3] @ V[3:]

    def seen(t: Any, q: Array, v: Array, pose: Any, twist: Any) -> Array:
        R, (gap, speed) = quaternion.to_matrix(q[:4]), past(pose, twist)
        spin = R.T @ (pose("target/handle")[:3, :3] @ v[13:16])
        return np.concatenate([R.T @ gap, R.T @ speed, 10.0 * spin, q[arm] - ARM, 5.0 * v[6:13], 10.0 * v[:6]])

    def caught(t: Any, q: Array, v: Array, pose: Any, twist: Any) -> Any:
        gap, speed = past(pose, twist)
        return (ops.norm(gap) < NEAR) & (ops.norm(speed) < SLOW)

    def worth(t: Any, q: Array, v: Array, pose: Any, twist: Any, action: Any) -> Any:
        gap, speed = past(pose, twist)
        bonus = ops.where(caught(t, q, v, pose, twist), 10.0, 0.0)
        return bonus - ops.norm(gap) - ops.norm(speed) - 0.01 * (action @ action)

    def begun(random: Any) -> tuple[Array, Array]:
        place, spin, drift = 0.6 * random.uniform(3) + [0.2, -0.3, -0.3], 0.02 * random(3), 0.01 * random(3)
        q = np.concatenate([q0[:14], quaternion.exp(0.2 * random(3)), there + place])
        return q, np.concatenate([np.zeros(13), spin, drift])

    simulator = Simulator(model, dt=0.05, integrator="rkmk4", gravity=(0.0, 0.0, 0.0), joint_dynamics="explicit", controller=push,
                          parameters={"action": np.zeros(7)})  # fmt: skip
    return {"simulator": simulator, "observation": seen, "reward": worth, "terminated": caught, "reset": begun, "horizon": 10.0,
            "action_repeat": 2, "action": spaces.Box(-1.0, 1.0, (7,), np.float32)}  # fmt: skip


#: by Gymnasium's name: what makes it, and how it is looked at
ENVIRONMENTS: dict[str, tuple[Callable[[], dict[str, Any]], dict[str, Any]]] = {
    "engine/CartPole-v0": (cart_pole, {"view": "right"}),
    "engine/FreeFlyerReach-v0": (reach, {"view": (-0.8, 0.35), "point": "target"}),
    "engine/Capture-v0": (capture, {"view": (-0.8, 0.35)}),
}


def single(name: str, **options: Any) -> Env:
    """Return a registered environment; options are those of :class:`Env`, instead of its own.

    >>> single("engine/CartPole-v0").action_space
    Discrete(2)
    """
    made, looks = ENVIRONMENTS[name]
    return Env(**{**made(), **looks, **options})


def vector(name: str, num_envs: int = 1, **options: Any) -> VectorEnv:
    """Return a registered environment of many rows; options are those of :class:`VectorEnv`, instead of its own."""
    made, _ = ENVIRONMENTS[name]
    return VectorEnv(num_envs=num_envs, **{**made(), **options})


def register() -> None:
    """Tell Gymnasium of the environments, once.

    >>> import engine.gymnasium
    >>> import gymnasium
    >>> engine.gymnasium.register()
    >>> any(name.startswith("engine/") for name in gymnasium.registry)
    True
    """
    for name in ENVIRONMENTS:
        if name not in gymnasium.registry:
            gymnasium.register(name, functools.partial(single, name), vector_entry_point=functools.partial(vector, name))
