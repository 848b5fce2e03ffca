"""What the tests of integrators share: systems, their motion by DOP853, and methods compiled into a loop that never normalises."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from engine import Model, dynamics, gufunc, ops
from engine.compiler.scan import rollout_ufunc
from engine.compiler.transforms.trace import calling, trace
from engine.integrate import FreeBody, Mechanical, Method, step
from engine.spatial import inertia, quaternion, se3
from engine.spatial.manifold import MOTION, PLANE, ROTATION, Manifold
from tests.trees import random_inertia, random_tree

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Case:
    """A mechanical system, which is traceable too, where it begins, and how orders are measured on it: t seconds, from so many steps."""

    system: Mechanical
    x: Array
    t: float = 1.0
    steps: int = 20

    def takes(self, method: Method) -> bool:
        """Whether the method is made for it."""
        return isinstance(self.system, method.takes)

    @functools.cached_property
    def shapes(self) -> list[tuple[int, ...]]:
        c = self.system.configuration
        return [(), (c.nq,), (c.nv + self.system.states,)]

    @functools.cached_property
    def traced(self) -> Mechanical:
        """The same system; its acceleration is one function in the machine code."""
        s, acceleration = self.system, calling(trace(self.system.acceleration, self.shapes))
        if isinstance(s, FreeBody):
            return FreeBody(s.configuration, acceleration, s.inertia, s.wrench)
        return Mechanical(s.configuration, acceleration, s.states)

    @functools.cached_property
    def reference(self) -> Callable[[float], Array]:
        """x after a time, from the ordinary differential equation of the coordinates, by DOP853."""
        c = self.system.configuration
        acceleration = gufunc(self.system.acceleration, "(),(q),(v)->(v)", q=c.nq, v=c.nv + self.system.states)

        def rate(t: float, x: Array) -> Array:
            q, v = self.system.split(x)
            return np.concatenate([coordinate_rate(c, q, self.system.velocity(v)), acceleration(t, c.normalized(q), v)])

        @functools.cache
        def after(t: float) -> Array:
            x = solve_ivp(rate, (0, t), self.x, method="DOP853", rtol=3e-14, atol=3e-14).y[:, -1]
            return self.system.space.normalized(x)

        return after


def coordinate_rate(manifold: Manifold, q: Array, v: Array) -> Array:
    """q̇ in coordinates, without the manifold's own exponential."""
    if manifold.factors:
        return np.concatenate([coordinate_rate(m, q[i], v[j]) for m, i, j in manifold.factors])
    if manifold is ROTATION:
        return quaternion.rate(q, v)
    if manifold is MOTION:
        return np.concatenate([quaternion.rate(q[:4], v[:3]), quaternion.to_matrix(quaternion.normalize(q[:4])) @ v[3:]])
    if manifold is PLANE:
        c, s = np.cos(q[2]), np.sin(q[2])
        return np.array([c * v[0] - s * v[1], s * v[0] + c * v[1], v[2]])
    return v


# ---------------------------------------------------------------- a method repeated


@functools.cache
def kernel(method: Method, case: Case) -> Any:
    """(counts, t0, k, h, x) -> states: the method's steps in machine code, and nothing else."""
    shapes = [(), (), (), (0,), case.x.shape]
    one = trace(lambda t0, k, h, p, x: step(method, case.traced, t0 + k * h, h, x), shapes)
    kernel, none = rollout_ufunc(one, trace(lambda t0, k, h, p, x: x, shapes), 1), np.zeros(0)
    return lambda counts, t0, k, h, x: kernel(counts, t0, k, h, none, x)


def run(method: Method, case: Case, h: float, counts: Any, x: Array | None = None) -> Array:
    """The states (len(counts), nx) after so many, and so many more, steps."""
    return kernel(method, case)(np.array(counts, dtype=float), 0.0, 0.0, h, case.x if x is None else x)


def missed(method: Method, case: Case, steps: int) -> float:
    """|x − x(t)| after the case's time in so many steps."""
    return float(np.linalg.norm(case.system.space.minus(case.reference(case.t), run(method, case, case.t / steps, [steps])[0])))


def measured_order(method: Method, case: Case) -> float:
    """The slope of log |x − x(t)| over log h, from three step sizes that suit the method's nominal order."""
    steps = case.steps * {1: 50, 2: 2, 3: 2}.get(method.order, 1) * np.array([1, 2, 4])
    return float(-np.polyfit(np.log(steps), np.log([missed(method, case, n) for n in steps]), 1)[0])


def energy(case: Case, x: Array) -> Array:
    """Kinetic energy ½ Vᵀ G V of a free body, (...)."""
    V = x[..., 7:]
    return 0.5 * np.vecdot(V, V @ case.system.inertia)


def momentum(case: Case, x: Array) -> Array:
    """Spatial momentum Ad(T)⁻ᵀ G V of a free body about the world's origin, (..., 6)."""
    T = se3.pose(quaternion.to_matrix(quaternion.normalize(x[..., :4])), x[..., 4:7])
    return se3.wrench_to_parent(T, x[..., 7:] @ case.system.inertia)


def momentum_error(case: Case, x: Array) -> float:
    """The largest change of momentum along the states, relative to the momentum, times the distance for the moment of the linear one."""
    P, far = momentum(case, x), np.abs(x[:, 4:7]).max()
    L, p = np.linalg.norm(P[0, :3]), np.linalg.norm(P[0, 3:])
    return float(np.abs((P - P[0]) / np.repeat([L + far * p, p], 3)).max())


def start_and(case: Case, records: Array) -> Array:
    """The first state and those recorded."""
    return np.concatenate([case.x[None], records])


# ---------------------------------------------------------------- systems


def free_body(G: Array, v: Array, wrench: Callable[[Any, Array, Array], Array] | None = None, q: Array | None = None) -> Case:
    """G V̇ = ad(V)ᵀ G V + W: a body of any inertia about any point."""

    def acceleration(t: Any, q: Array, v: Array) -> Array:
        F = se3.ad(v).T @ (G @ v)
        return ops.solve(G, F if wrench is None else F + wrench(t, q, v))

    x = np.concatenate([MOTION.neutral() if q is None else q, v])
    return Case(FreeBody(MOTION, acceleration, G, wrench), x)


def dense(seed: int) -> Array:
    """A symmetric positive definite 6×6 with nothing zero and no two entries alike: a body with added mass."""
    A = np.random.default_rng(seed).standard_normal((6, 6))
    return A @ A.T / 6 + np.diag([1.0, 1.5, 2.0, 2.0, 2.5, 3.0])


def pushed(t: Any, q: Array, v: Array) -> Array:
    """A wrench in the body that depends on time, place, attitude and velocity."""
    back = quaternion.conjugate(q[:4])
    spring = quaternion.rotate(back, -3.0 * q[4:] + np.array([0.0, 0.0, -2.0]))
    return np.concatenate([0.5 * ops.cos(3.0 * t) * np.array([1.0, -2.0, 0.5]) - 0.3 * v[:3], spring - 0.2 * v[3:] + 0.1 * v[:3]])


def states(turn: float, count: int) -> Array:
    """(count, 13) of free bodies at the origin; a step of 1 s turns by so many radians, and flies as many metres."""
    w, v = np.random.default_rng(3).standard_normal((2, count, 3))
    w, v = (turn * x / np.linalg.norm(x, axis=1)[:, None] for x in (w, v))
    return np.concatenate([np.tile(MOTION.neutral(), (count, 1)), w, v], axis=1)


TWIST = np.array([0.9, -1.4, 0.6, 0.5, -0.3, 0.8])


@functools.cache
def cases() -> dict[str, Case]:
    """What orders are measured on."""
    rng = np.random.default_rng(11)
    arm = random_tree(rng, 5, kinds=("revolute",), floating_base=True)
    every = random_tree(np.random.default_rng(3), 8, floating_base=True)                          # one joint of each kind
    few = random_tree(np.random.default_rng(4), 3, kinds=("planar", "spherical", "revolute"))

    def load(t: Any, q: Array, v: Array) -> Array:
        return 0.5 * ops.cos(3.0 * t) - 0.3 * v + 0.2 * ops.sin(q[-1])

    def loaded(model: Model, t: float, steps: int) -> Case:
        def acceleration(t: Any, q: Array, v: Array) -> Array:
            return dynamics.aba(model, q, v, load(t, q, v), (0.0, 0.0, -2.0))

        q, v = model.random(rng)
        return Case(Mechanical(model.manifold, acceleration), np.concatenate([q, 0.5 * v]), t, steps)

    def lagging(t: Any, q: Array, w: Array) -> Array:
        """A planar, a spherical and a turning joint driven by motors that lag: ż = −3 z − 2 v − cos 2t, first-order states."""
        v, z = w[: few.nv], w[few.nv :]
        return np.concatenate([dynamics.aba(few, q, v, z, (0.0, 0.0, -2.0)), -3.0 * z - 2.0 * v - ops.cos(2.0 * t)])

    def coupled(t: Any, q: Array, v: Array) -> Array:
        """Every velocity is turned by its neighbour: joints of a plane, a ball and a hinge, without the equations of an arm."""
        return load(t, q, v) + 0.4 * v * v[::-1]

    q, v = few.random(np.random.default_rng(8))
    lag = Case(Mechanical(few.manifold, lagging, few.nv), np.concatenate([q, 0.5 * v, 0.1 * v]), 1.0, 40)
    return {
        "centre of mass": free_body(inertia.box(2.0, [0.5, 1.5, 2.5]), TWIST),
        "offset": free_body(random_inertia(np.random.default_rng(1)), TWIST),
        "added mass": free_body(dense(2), TWIST),
        "forced": free_body(dense(3), TWIST, pushed, MOTION.random(np.random.default_rng(5))),
        "arm": loaded(arm, 1.0, 80),
        "every joint": loaded(every, 2.0, 160),
        "few joints": loaded(few, 1.0, 40),
        "product": Case(Mechanical(few.manifold, coupled), np.concatenate([q, 0.5 * v])),
        "lagging motors": lag,
    }


FREE, TREES = ("centre of mass", "offset", "added mass"), ("arm", "every joint", "lagging motors")
BODIES = (*FREE, "forced")
