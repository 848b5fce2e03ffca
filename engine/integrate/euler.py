"""Methods of order one.

Lie–Euler in body axes is the simplest of all, and unstable: a freely spinning body that flies gains speed as exp(½ h|ω|² t), because the
velocity is turned by a tangent, not by a rotation. The form in world axes keeps it. Both are here to be compared with.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from engine import ops
from engine.integrate.commutator_free import Tableau, method
from engine.integrate.method import Method, register
from engine.integrate.system import Mechanical, during
from engine.spatial import quaternion
from engine.spatial.manifold import MOTION, PLANE

Array = np.ndarray

LIE_EULER = method("lie_euler", 1, Tableau(a=((),), b=((1.0,),)), "Iserles et al. 2000, §3")


def lie_euler_world(system: Mechanical, t: Any, h: Any, x: Array) -> Array:
    """Lie–Euler that integrates the velocity of free bodies in world axes.

    With R⁺ = R exp(h [ω]), ω⁺ = ω + h ω̇ and u = R v the velocity of the origin::

        p⁺ = p + h u,   u⁺ = u + h R (v̇ + ω × v),   v⁺ = R⁺ᵀ u⁺ = exp(h [ω])ᵀ (v + h (v̇ + ω × v))

    All else is as in Lie–Euler.
    """
    q, w = system.split(x)
    wdot = system.acceleration(during(t, 0.0, h), q, w)
    to, velocity = [], []
    for manifold, i, j in system.configuration.parts:
        own, V, Vdot = q[i], w[j], wdot[j]
        if manifold is MOTION:
            r = quaternion.exp(h * V[:3])
            a = Vdot[3:] + ops.cross(V[:3], V[3:])
            to += [quaternion.product(own[:4], r), own[4:] + h * quaternion.rotate(own[:4], V[3:])]
            velocity += [V[:3] + h * Vdot[:3], quaternion.rotate(quaternion.conjugate(r), V[3:] + h * a)]
        elif manifold is PLANE:
            (vx, vy, turn), (ax, ay, alpha) = V, Vdot
            c, s = ops.cos(own[2] * 1.0), ops.sin(own[2] * 1.0)
            to.append(ops.array([own[0] + h * (c * vx - s * vy), own[1] + h * (s * vx + c * vy), own[2] + h * turn]))
            ux, uy = vx + h * (ax - turn * vy), vy + h * (ay + turn * vx)
            c, s = ops.cos(h * turn), ops.sin(h * turn)
            velocity.append(ops.array([c * ux + s * uy, c * uy - s * ux, turn + h * alpha]))
        else:
            to.append(manifold.plus(own, h * V))
            velocity.append(V + h * Vdot)
    further = slice(system.configuration.nv, None)
    return np.concatenate([*to, *velocity, w[further] + h * wdot[further]])


LIE_EULER_WORLD = register(Method("lie_euler_world", 1, lie_euler_world, 1, 1, "the text above", takes=Mechanical))


def semi_implicit_euler(system: Mechanical, t: Any, h: Any, x: Array) -> Array:
    """w⁺ = w + h K(t, q, w), q⁺ = q ⊕ h v⁺."""
    q, w = system.split(x)
    w = w + h * system.acceleration(during(t, 0.0, h), q, w)
    return np.concatenate([system.configuration.plus(q, h * system.velocity(w)), w])


SEMI_IMPLICIT_EULER = register(Method(
    "semi_implicit_euler", 1, semi_implicit_euler, 1, 1, "Hairer, Lubich & Wanner 2006, §I.1", takes=Mechanical))  # fmt: skip
