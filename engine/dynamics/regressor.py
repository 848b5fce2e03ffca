"""Joint forces, momentum and energy as linear functions of the links' inertial parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine import ops
from engine.dynamics.coriolis import add
from engine.dynamics.kinematics import GRAVITY, body_motion, body_poses, checked_gravity, falling
from engine.dynamics.stages import swept
from engine.model import Model
from engine.spatial.inertia import first_moment, mass
from engine.spatial.se3 import twist_to_child, wrench_to_parent
from engine.spatial.so3 import hat

Array = np.ndarray
#: where the six moments of inertia stand in I: xx, xy, yy, xz, yz, zz
MOMENTS = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))
#: of a link
NUMBER = 10


def inertial_parameters(model: Model) -> Array:
    """Return π (10 nlinks): of each link, in the order of ``model.links``, [m, m c_x, m c_y, m c_z, I_xx, I_xy, I_yy, I_xz, I_yz, I_zz],
    with c and I about the link's origin, in its axes: kg, kg m, kg m².

    >>> import numpy as np
    >>> from engine.model import Builder
    >>> from engine.spatial import inertia
    >>> arm = Builder()
    >>> _ = arm.add_link("base", inertia=inertia.from_mass(2.0, [3.0, 0, 0], np.diag([1.0, 2.0, 3.0])))
    >>> inertial_parameters(arm.model())
    array([ 2.,  6.,  0.,  0.,  1.,  0., 20.,  0.,  0., 21.])
    """
    return np.concatenate([[mass(G), *first_moment(G), *(G[i, j] for i, j in MOMENTS)] for G in (link.inertia for link in model.links)])


def regressor(model: Model, q: Array, v: Array, vdot: Array, gravity: Any = GRAVITY) -> Array:
    """Return Y(q, v, v̇) (nv, 10 nlinks): τ = Y π + a v̇ are the forces of :func:`engine.dynamics.rnea.rnea` without wrenches, a the
    armature, with π of :func:`inertial_parameters`.

    In the axes of a link, with L(w) (3, 6) for which I w = L(w) [I_xx, …, I_zz], and the acceleration a = v̇ + ω × v of its origin::

        F = [[0, −[a], L(ω̇) + [ω] L(ω)], [a, [ω̇] + [ω] [ω], 0]] π                            (1)
        Y_j = S_jᵀ Ad(T_jL)⁻ᵀ F   for each joint j that carries the link                        (2)

    Parameters, raised errors and units are those of :func:`engine.dynamics.rnea.rnea`. Of a link whose G is no rigid body's the rest is
    left out.

    Examples
    --------
    A rod on a pivot, held horizontally: 9.81 N·m for each kg m along it, and nothing of its mass at the pivot.

    >>> import numpy as np
    >>> from engine.model import Builder
    >>> arm = Builder()
    >>> _ = arm.add_link("base"), arm.add_link("rod"), arm.add_joint("pivot", "revolute", "base", "rod", axis=[0, -1, 0])
    >>> regressor(arm.model(), np.zeros(1), np.zeros(1), np.zeros(1))[0, 10:14].round(12) + 0.0
    array([0.  , 9.81, 0.  , 0.  ])

    References
    ----------
    Atkeson, An & Hollerbach, *Estimation of inertial parameters of manipulator loads and links*, IJRR 1986.
    """
    q, v, vdot = model.checked("q", q), model.checked("v", v), model.checked("vdot", vdot)
    seen, Y = swept(model, q, v, vdot, falling(gravity)), [[0.0] * (NUMBER * len(model.links)) for _ in range(model.nv)]
    last = {stage.body: k for k, stage in enumerate(seen.stages)}
    for n, (body, T_BL) in enumerate(model.carrier):
        if body < 0:
            continue
        T = seen.T[body] @ T_BL
        V, Vdot = twist_to_child(T, seen.V[body]), twist_to_child(T, seen.A[body])
        a = Vdot[3:] + ops.cross(V[:3], V[3:])
        W, w = hat(V[:3]), linear(V[:3])
        top, low = [np.zeros((3, 1)), -hat(a), linear(Vdot[:3]) + W @ w], [a[:, None], hat(Vdot[:3]) + W @ W, np.zeros((3, 6))]
        F = np.block([top, low])                                                                                # (1)
        seen_F = np.stack([wrench_to_parent(T, column) for column in F.T], axis=1)
        k = last[body]
        while k >= 0:
            stage = seen.stages[k]
            add(Y, stage.rows, range(NUMBER * n, NUMBER * (n + 1)), stage.S.T @ seen_F)                         # (2)
            k = stage.before
    return np.array(Y).reshape(model.nv, NUMBER * len(model.links))


def momentum_regressor(model: Model, q: Array, v: Array) -> Array:
    """Return Y_P(q, v) (6, 10 nlinks): Y_P π is the momentum of :func:`engine.dynamics.momentum.momentum`, in the axes of a link::

        P = [[0, −[v], L(ω)], [v, [ω], 0]] π                                                    (1)

    Examples
    --------
    A link that slides along x at 3 m/s: its mass times that.

    >>> import numpy as np
    >>> from engine.model import Builder
    >>> rail = Builder()
    >>> _ = rail.add_link("rail"), rail.add_link("cart"), rail.add_joint("slide", "prismatic", "rail", "cart", axis=[1, 0, 0])
    >>> momentum_regressor(rail.model(), np.zeros(1), np.array([3.0]))[3, 10:14]
    array([3., 0., 0., 0.])
    """
    q, v = model.checked("q", q), model.checked("v", v)
    T_W, V, blocks = body_poses(model, q), body_motion(model, q, v).V, []
    for body, T_BL in model.carrier:
        V_L, zero = twist_to_child(T_BL, V[body]), np.zeros((3, 1))
        P = np.block([[zero, -hat(V_L[3:]), linear(V_L[:3])], [V_L[3:, None], hat(V_L[:3]), np.zeros((3, 6))]]) # (1)
        blocks.append(np.stack([wrench_to_parent(T_W[body] @ T_BL, column) for column in P.T], axis=1))
    return np.concatenate(blocks, axis=1)


def energy_regressor(model: Model, q: Array, v: Array, gravity: Any = GRAVITY) -> tuple[Array, Array]:
    """Return Y_K(q, v) and Y_U(q) (10 nlinks): Y_K π + ½ Σ a v² and Y_U π are the energies.

    They are those of :func:`engine.dynamics.energy.energy`, with::

        K = ½ m v·v + v·(ω × h) + ½ ω·I ω,   U = −g·(R h + m p)   of every link                 (1)

    >>> import numpy as np
    >>> from engine.model import Builder
    >>> from engine.spatial import inertia
    >>> arm = Builder()
    >>> _ = arm.add_link("base"), arm.add_link("rod", inertia=inertia.from_mass(2.0, [3.0, 0, 0], np.zeros((3, 3))))
    >>> _ = arm.add_joint("pivot", "revolute", "base", "rod", axis=[0, -1, 0])
    >>> Y_K, Y_U = energy_regressor(arm.model(), np.zeros(1), np.array([2.0]))
    >>> float(Y_K @ inertial_parameters(arm.model()))                            # ½ 2 kg (3 m · 2 rad/s)²
    36.0
    """
    q, v = model.checked("q", q), model.checked("v", v)
    T_W, V, g = body_poses(model, q), body_motion(model, q, v).V, checked_gravity(gravity)
    kinetic, potential = [], []
    for body, T_BL in model.carrier:
        V_L, T = twist_to_child(T_BL, V[body]), T_W[body] @ T_BL
        pull = g if body >= 0 else np.zeros(3)                                                                  # what stands has no energy
        kinetic += [0.5 * (V_L[3:] @ V_L[3:]), *ops.cross(V_L[3:], V_L[:3]), *(0.5 * (V_L[:3] @ linear(V_L[:3])))]      # (1)
        potential += [-(pull @ T[:3, 3]), *(-(pull @ T[:3, :3])), *[0.0] * 6]
    return np.array(kinetic), np.array(potential)


def linear(w: Array) -> Array:
    """Return L(w) (3, 6), for which I w = L(w) [I_xx, I_xy, I_yy, I_xz, I_yz, I_zz].

    >>> linear(np.array([1.0, 2.0, 3.0])) @ np.array([1.0, 0.0, 1.0, 0.0, 0.0, 1.0])
    array([1., 2., 3.])
    """
    x, y, z = w
    o = 0.0 * x
    return ops.array([[x, y, o, z, o, o], [o, x, y, o, z, o], [o, o, o, x, y, z]])
