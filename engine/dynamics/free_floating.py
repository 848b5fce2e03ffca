"""Arms on a base that floats: what is left of Jacobian, inertia and forces when nothing holds the base.

The base's twist V0 (its six velocities) and the joints' velocities q̇ share the equations of motion::

    [[Hb, Hbm], [Hbmᵀ, Hm]] [V̇0; q̈] + [b0; bm] = [0; tau]

Every function here takes those of V0's rows that move freely, e, out of them by M_ee V̇_e + M_ek u̇ + b_e = 0, and keeps the rest, u.
``base`` says which are free (rows are of body axes, about the base's origin):

- "fixed": none; the base does not move
- "floating": all six; nothing acts on the base
- "rotation": the three angular ones; the base's origin is held
- "translation": the three linear ones; the base's attitude is held
- "flying": none; the base is driven like a joint, and its six rows come before the joints' in u and in all results

What is held is held at rest. Of several robots as one model, J* is that of the tree that carries the link, by the joints of that tree; the
other functions take one tree alone, which :meth:`engine.Model.tree` gives.

References: Umetani & Yoshida, *Resolved motion rate control of space manipulators with generalized
Jacobian matrix*, IEEE Trans. Robotics and Automation 1989; Papadopoulos & Dubowsky, *Dynamic singularities in free-floating space
manipulators*, ASME J. Dynamic Systems, Measurement, and Control 1993; Nenchev, Yoshida & Uchiyama, *Reaction null-space based control of
flexible structure mounted manipulator systems*, CDC 1996.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from engine import ops
from engine.checks import array, number, one_of, shown
from engine.dynamics.aba import bodies_of_rows, require_inertia
from engine.dynamics.crba import crba
from engine.dynamics.jacobian import jacobian
from engine.dynamics.kinematics import GRAVITY, body_wrenches, falling, vector
from engine.dynamics.rnea import bias, rnea
from engine.model import Model, ModelError, StateError
from engine.spatial.inertia import mirrored, wrench
from engine.spatial.se3 import Ad, twist_to_child

Array = np.ndarray
Part = str | slice | Sequence[str]
#: the rows of a twist
TWIST = ("wx", "wy", "wz", "vx", "vy", "vz")
#: base: the rows e of the base's twist that are free, and the row from which velocities are kept
BASES = {"fixed": (slice(0, 0), 6), "floating": (slice(0, 6), 6), "rotation": (slice(0, 3), 6), "translation": (slice(3, 6), 6),
         "flying": (slice(0, 0), 0)}  # fmt: skip


def generalized_jacobian(model: Model, q: Array, link: str, base: str = "floating") -> Array:
    """Return the generalized Jacobian J*(q) (6, nv − 6) of a link.

    When the base moves freely, the link's twist in its own frame is J* q̇ + J_b Hb⁻¹ P0, with J* = J_k − J_e M_ee⁻¹ M_ek, of a floating
    base J_m − J_b Hb⁻¹ Hbm. P0 = Hb V0 + Hbm q̇ is the momentum [angular about the base's origin; linear] in the base's axes. Of a flying
    base it is the body Jacobian (6, nv).

    Raises
    ------
    ModelError : the model does not hang from one floating joint, or has no such link
    StateError : q is not what is expected, or base is not one of those above

    Examples
    --------
    A 1 kg slider on a 3 kg base: pushed out at 1 m/s, it moves at 0.75 m/s and the base back at 0.25 m/s.

    >>> import numpy as np
    >>> from engine.model import Builder
    >>> from engine.spatial import inertia
    >>> arm = Builder()
    >>> _ = arm.add_link("base", inertia=inertia.sphere(3.0, 1.0)), arm.add_link("slider", inertia=inertia.sphere(1.0, 1.0))
    >>> _ = arm.add_joint("slide", "prismatic", "base", "slider", axis=[1, 0, 0])
    >>> model = arm.model(floating_base=True)
    >>> generalized_jacobian(model, model.neutral(), "slider")[:, 0]
    array([0.  , 0.  , 0.  , 0.75, 0.  , 0.  ])
    """
    model, q = carrying(model, q, link)
    e, k = free_and_kept_rows(model, base)
    J = jacobian(model, q, link)
    M = crba(model, q)
    return J[:, k] - J[:, e] @ yielding(model, M, e, M[e, k])


def free_floating_inertia(model: Model, q: Array, base: str = "floating") -> Array:
    """Return the inertia M*(q) (nv − 6, nv − 6) that the joints feel: M* = M_kk − M_ke M_ee⁻¹ M_ek, of a floating base Hm − Hbmᵀ Hb⁻¹ Hbm.

    Symmetric; ½ q̇ᵀ M* q̇ is the kinetic energy at zero momentum. Of a flying base it is all of M (nv, nv).

    Examples
    --------
    A 1 kg slider on a 3 kg base feels the reduced mass 1·3/(1 + 3):

    >>> import numpy as np
    >>> from engine.model import Builder
    >>> from engine.spatial import inertia
    >>> arm = Builder()
    >>> _ = arm.add_link("base", inertia=inertia.sphere(3.0, 1.0)), arm.add_link("slider", inertia=inertia.sphere(1.0, 1.0))
    >>> _ = arm.add_joint("slide", "prismatic", "base", "slider", axis=[1, 0, 0])
    >>> model = arm.model(floating_base=True)
    >>> free_floating_inertia(model, model.neutral()), free_floating_inertia(model, model.neutral(), base="fixed")
    (array([[0.75]]), array([[1.]]))
    """
    e, k = free_and_kept_rows(model, base)
    M = crba(model, q)
    return mirrored(M[k, k] - M[k, e] @ yielding(model, M, e, M[e, k])).reshape(M[k, k].shape)


def free_floating_bias(model: Model, q: Array, v: Array, gravity: Any = GRAVITY, base: str = "floating",
                       wrenches: Array | None = None) -> Array:  # fmt: skip
    """Return the rest b* (nv − 6) of the joints' own equations M* q̈ + b* = tau: b* = b_k − M_ke M_ee⁻¹ b_e with b = C v + g − Σ Jᵀ F.

    At any momentum: v is the whole velocity (nv), the base's included. A floating base falls with its arm, so that b* does not depend
    on gravity. Of a flying base it is all of b (nv). ``wrenches`` (nlinks, 6) are those of :func:`~engine.dynamics.rnea.rnea`.

    Examples
    --------
    A 1 kg slider 2 m out on a 3 kg base, the whole turning with 1 rad/s about their common centre of mass, 0.5 m from the base: to hold
    it takes 1 kg · 1.5 m · (1 rad/s)².

    >>> import numpy as np
    >>> from engine.model import Builder
    >>> from engine.spatial import inertia
    >>> arm = Builder()
    >>> _ = arm.add_link("base", inertia=inertia.sphere(3.0, 1.0)), arm.add_link("slider", inertia=inertia.sphere(1.0, 1.0))
    >>> _ = arm.add_joint("slide", "prismatic", "base", "slider", axis=[1, 0, 0])
    >>> model = arm.model(floating_base=True)
    >>> q, v = np.append(model.neutral()[:7], 2.0), np.array([0.0, 0.0, 1.0, 0.0, -0.5, 0.0, 0.0])
    >>> free_floating_bias(model, q, v)
    array([-1.5])
    """
    e, k = free_and_kept_rows(model, base)
    b, M = bias(model, q, v, gravity, wrenches), crba(model, q)
    return b[k] - M[k, e] @ yielding(model, M, e, b[e])


def floating_inverse_dynamics(model: Model, q: Array, v: Array, qddot: Array, gravity: Any = GRAVITY,
                              base: str = "floating", wrenches: Array | None = None) -> tuple[Array, Array]:  # fmt: skip
    """Return joint forces that make the joints accelerate as wanted while the base moves freely, and how the base then accelerates.

    From the forces τ of the same motion with V̇_e = 0 (:func:`~engine.dynamics.rnea.rnea`)::

        V̇_e = −M_ee⁻¹ τ_e,   tau = τ_k + M_ke V̇_e

    Parameters
    ----------
    q, v : configuration (nq) and velocity (nv), the base's included
    qddot : accelerations of the joints (nv − 6), of a flying base those of all velocities (nv)
    wrenches : [moment; force] acting on each link, in the link's frame about its origin (nlinks, 6), or None

    Returns
    -------
    tau : forces of the joints (nv − 6), of a flying base of all velocities (nv)
    V0dot : rate of the base's twist (6), in its frame

    Examples
    --------
    >>> import numpy as np
    >>> from engine.model import Builder
    >>> from engine.spatial import inertia
    >>> arm = Builder()
    >>> _ = arm.add_link("base", inertia=inertia.sphere(3.0, 1.0)), arm.add_link("slider", inertia=inertia.sphere(1.0, 1.0))
    >>> _ = arm.add_joint("slide", "prismatic", "base", "slider", axis=[1, 0, 0])
    >>> model = arm.model(floating_base=True)
    >>> tau, V0dot = floating_inverse_dynamics(model, model.neutral(), np.zeros(7), np.ones(1), gravity=(0, 0, 0))
    >>> float(tau[0]), float(V0dot[3])
    (0.75, -0.25)
    """
    e, k = free_and_kept_rows(model, base)
    wanted = array("qddot", qddot, StateError)
    if wanted.shape != (model.nv - k.start,):
        raise StateError(f"qddot has shape {wanted.shape}; expected ({model.nv - k.start},) for '{model.name}' with its base {base}")
    vdot = np.concatenate([np.zeros(k.start), wanted])
    tau, M = rnea(model, q, v, vdot, gravity, wrenches), crba(model, q)
    V_e = -yielding(model, M, e, tau[e])
    return tau[k] + M[k, e] @ V_e, np.concatenate([vdot[: e.start], V_e, vdot[e.stop : 6]])


def base_reaction(model: Model, q: Array, v: Array, vdot: Array, gravity: Any = GRAVITY, wrenches: Array | None = None) -> Array:
    """Return the wrench [m; f] (6) that all that hangs from the base exerts on it, at its frame's origin in its axes.

    G0 V̇0 − ad(V0)ᵀ G0 V0, what the base's own motion (and weight) takes, less what acts on the base from outside: the first six of
    :func:`~engine.dynamics.rnea.rnea`, and of the ``wrenches`` (nlinks, 6) those on its links. The base is the root link and all that is
    welded to it.

    Examples
    --------
    A 1 kg slider on a 3 kg base, pushed out at 1 m/s² from it: the base recoils with 0.25 m/s².

    >>> import numpy as np
    >>> from engine.model import Builder
    >>> from engine.spatial import inertia
    >>> arm = Builder()
    >>> _ = arm.add_link("base", inertia=inertia.sphere(3.0, 1.0)), arm.add_link("slider", inertia=inertia.sphere(1.0, 1.0))
    >>> _ = arm.add_joint("slide", "prismatic", "base", "slider", axis=[1, 0, 0])
    >>> model = arm.model(floating_base=True)
    >>> base_reaction(model, model.neutral(), np.zeros(7), np.array([0.0, 0, 0, -0.25, 0, 0, 1.0]), gravity=(0, 0, 0))
    array([ 0.  ,  0.  ,  0.  , -0.75,  0.  ,  0.  ])
    """
    free_and_kept_rows(model)
    q, v, vdot = model.checked("q", q), model.checked("v", v), model.checked("vdot", vdot)
    root = model.bodies[0]
    V0dot = twist_to_child(root.pose(q), falling(gravity)) + vdot[:6]
    outside = rnea(model, q, v, vdot, gravity, wrenches)[:6] + body_wrenches(model, wrenches)[0]
    return wrench(root.inertia, v[:6], V0dot) + model.armature[:6] * vdot[:6] - outside


def velocity_from_momentum(model: Model, q: Array, P: Array, qdot: Array | None = None) -> Array:
    """Return the velocity v (nv) at which a floating model has a given momentum: V0 = Hb⁻¹ (Ad(T_WB)ᵀ P − Hbm q̇), the inverse of
    :func:`~engine.dynamics.momentum.momentum`.

    It is how a run starts from a momentum; of a single free body, which "dqvi" steps, v = G⁻¹ Ad(T_WB)ᵀ P.

    Parameters
    ----------
    P : momentum [angular about the world's origin, N·m·s; linear, N·s] in world axes (6)
    qdot : velocities of the joints (nv − 6); zeros by default

    Raises
    ------
    ModelError : the model does not hang from one floating joint
    StateError : a shape or value that is not what is expected, or a base that moves no mass

    Examples
    --------
    A 2 kg ball with 6 N·s along x flies with 3 m/s:

    >>> import numpy as np
    >>> from engine.model import Builder
    >>> from engine.spatial import inertia
    >>> stone = Builder()
    >>> _ = stone.add_link("stone", inertia=inertia.sphere(2.0, 1.0))
    >>> model = stone.model(floating_base=True)
    >>> velocity_from_momentum(model, model.neutral(), [0, 0, 0, 6.0, 0, 0])
    array([0., 0., 0., 3., 0., 0.])
    """
    e, k = free_and_kept_rows(model)
    n = model.nv - 6
    q = model.checked("q", q)
    P = vector("P", P, 6, "six finite numbers, [angular about the world's origin; linear] in world axes")
    u = np.zeros(n) if qdot is None else vector("qdot", qdot, n, f"{n} finite numbers, the velocities of the joints")
    M = crba(model, q)
    P0 = Ad(model.bodies[0].pose(q)).T @ P
    return np.concatenate([yielding(model, M, e, P0 - M[e, k] @ u), u])


def reaction_null_space(model: Model, q: Array) -> Array:
    """Return the projector N(q) (nv − 6, nv − 6) onto joint velocities that do not turn the base.

    At zero momentum ω of the base is −B q̇, and B N = 0.

    B is rows 1–3 of Hb⁻¹ Hbm. N = 1 − Bᵀ (B Bᵀ)⁻¹ B, as 1 − Σ u uᵀ with B's rows made orthonormal (Gram and Schmidt, twice). Where B
    loses rank (an arm with fewer than three joints, in a plane, at a singularity), a row that the ones before it leave less than 1e-12
    of B's largest entry counts as theirs: N is then the projector of higher rank, and jumps.

    Examples
    --------
    Two equal wheels on one axle leave the base's attitude alone when they turn oppositely:

    >>> import numpy as np
    >>> from engine.model import Builder
    >>> from engine.spatial import inertia
    >>> satellite, ball = Builder(), inertia.sphere(1.0, 1.0)
    >>> _ = satellite.add_link("base", inertia=ball), satellite.add_link("one", inertia=ball), satellite.add_link("two", inertia=ball)
    >>> _ = satellite.add_joint("w1", "continuous", "base", "one"), satellite.add_joint("w2", "continuous", "base", "two")
    >>> model = satellite.model(floating_base=True)
    >>> reaction_null_space(model, model.neutral()).round(12)
    array([[ 0.5, -0.5],
           [-0.5,  0.5]])
    """
    e, k = free_and_kept_rows(model)
    M = crba(model, q)
    B = yielding(model, M, e, M[e, k])[:3]
    least = 1e-12 * ops.largest(B.ravel())
    U: list[Any] = []
    for b in B:
        for u in U + U:
            b = b - (u @ b) * u
        length = ops.norm(b)
        there = length > least
        U.append(ops.where(there, b, 0.0) / ops.where(there, length, 1.0))
    return np.eye(model.nv - 6) - sum(np.outer(u, u) for u in U)


def dynamic_manipulability(model: Model, q: Array, link: str, part: Part = "all", length: float = 1.0) -> Any:
    """Return how far joint forces of a given size can accelerate a link on a floating base: √det(J* M*⁻¹ J*ᵀ), of J*'s rows ``part``.

    ``part`` and ``length`` are those of :func:`dynamic_singularity`. An arm with fewer joints than rows moves its link in fewer
    directions; of those it is √(det(J*ᵀ J*)/det M*). Zero at a dynamic singularity (to some 1e-8 of what it is elsewhere: it is a root).

    References
    ----------
    Yoshikawa, *Dynamic manipulability of robot manipulators*, Journal of Robotic Systems 1985, with ‖M*^−½ tau‖ ≤ 1.

    Examples
    --------
    The 1 kg slider on a 3 kg base: 0.75/√0.75.

    >>> import numpy as np
    >>> from engine.model import Builder
    >>> from engine.spatial import inertia
    >>> arm = Builder()
    >>> _ = arm.add_link("base", inertia=inertia.sphere(3.0, 1.0)), arm.add_link("slider", inertia=inertia.sphere(1.0, 1.0))
    >>> _ = arm.add_joint("slide", "prismatic", "base", "slider", axis=[1, 0, 0])
    >>> model = arm.model(floating_base=True)
    >>> round(float(dynamic_manipulability(model, model.neutral(), "slider") ** 2), 12)
    0.75
    """
    model, q = carrying(model, q, link)
    J, M = generalized_part(model, q, link, part, length), free_floating_inertia(model, q)
    r, n = J.shape
    require_inertia(M, np.abs(M).max(initial=0.0) if M.dtype != object else 0.0, bodies_of_rows(model)[6:])
    return ops.sqrt(determinant(J @ ops.solve(M, J.T)) if r <= n else determinant(J.T @ J) / determinant(M))


def dynamic_singularity(model: Model, q: Array, link: str, part: Part = "all", length: float = 1.0) -> float:
    """Return the distance from a dynamic singularity: the smallest singular value of J*'s rows ``part``. Not traceable.

    The length of the slowest motion that joint velocities of length 1 can give the link (of as many directions as there are joints). A link
    that cannot move in one direction may still turn: of "all" rows the number is then not zero. Singularities in print are often those of
    the "linear" ones, or in a plane of ("vx", "vy").

    Parameters
    ----------
    part : "all" rows of the link's twist, in its own axes, the "angular" or the "linear" ones, or some of "wx", "wy", "wz", "vx", "vy",
        "vz"; or a slice of the six
    length : m; where both kinds are taken, 1 rad/s counts as so many m/s, as at a point so far from the axis

    Raises
    ------
    ModelError : the model does not hang from one floating joint, or has no such link
    StateError : no such rows; a length that is none

    Examples
    --------
    The slider of 1 kg on a base of 3 kg:

    >>> import numpy as np
    >>> from engine.model import Builder
    >>> from engine.spatial import inertia
    >>> arm = Builder()
    >>> _ = arm.add_link("base", inertia=inertia.sphere(3.0, 1.0)), arm.add_link("slider", inertia=inertia.sphere(1.0, 1.0))
    >>> _ = arm.add_joint("slide", "prismatic", "base", "slider", axis=[1, 0, 0])
    >>> model = arm.model(floating_base=True)
    >>> dynamic_singularity(model, model.neutral(), "slider"), dynamic_singularity(model, model.neutral(), "slider", ["vy", "vz"])
    (0.75, 0.0)
    """
    return float(np.linalg.svd(generalized_part(model, q, link, part, length), compute_uv=False)[-1])


def generalized_part(model: Model, q: Array, link: str, part: Part, length: float) -> Array:
    """Return some rows of J*, the angular ones times a length where there are linear ones too."""
    length = number("length", length, "a length in m greater than zero", above=0.0, error=StateError)
    k = checked_part(part)
    mixed = min(k) < 3 <= max(k)
    return generalized_jacobian(model, q, link)[k] * np.array([[length if mixed and i < 3 else 1.0] for i in k])


def checked_part(part: Part) -> list[int]:
    """Return which rows of a twist are meant."""
    known: dict[Any, Part] = {"all": slice(6), "angular": slice(3), "linear": slice(3, 6)}
    meant = known.get(part, (part,)) if isinstance(part, str) else part
    if isinstance(meant, slice):
        found = list(range(6))[meant]
    elif isinstance(meant, Sequence) and all(name in TWIST for name in meant):
        found = [TWIST.index(name) for name in meant]
    else:
        found = []
    if not found or len(set(found)) < len(found):
        raise StateError(f"part is {shown(part)}; expected one of {', '.join(known)}, some of {', '.join(TWIST)}, or a slice of the six")
    return found


# ---------------------------------------------------------------- the one idea: some rows are free, the others are kept


def carrying(model: Model, q: Array, link: str) -> tuple[Model, Array]:
    """Return the tree that carries a link, alone, and its part of q; a model that is one tree, and one that does not move the link, as it
    is."""
    body, _ = model.carrier[model.link_index(link)]
    if len(model.tree_names) < 2 or body < 0:
        return model, q
    tree = model.tree(link)
    return tree.model, model.checked("q", q)[tree.q]


def free_and_kept_rows(model: Model, base: str = "floating") -> tuple[slice, slice]:
    """Return which rows e of the base's twist are free, and which rows k of all velocities are kept."""
    if not model.floats:
        roots = [model.bodies[i] for i in model.roots]
        found = ", ".join(f"'{body.joint.name}' ({body.kind.name})" for body in roots) or "no joint"
        trees = f", or one tree alone, model.tree('{model.tree_names[0]}').model" if len(model.tree_names) > 1 else ""
        raise ModelError(f"'{model.name}' moves in the world by {found}; expected one floating joint that carries all the others, "
                         f"as load_urdf(..., floating_base=True) makes{trees}")  # fmt: skip
    e, first = BASES[one_of("base", base, BASES, StateError)]
    return e, slice(first, model.nv)


def yielding(model: Model, M: Array, e: slice, b: Array) -> Array:
    """Return M_ee⁻¹ b: how the free rows move under forces b, or, of the columns of M_ek, at zero momentum with −M_ee⁻¹ M_ek u."""
    H = M[e, e]
    require_inertia(H, np.abs(H).max(initial=0.0) if H.dtype != object else 0.0, [model.bodies[0]] * len(H))
    return ops.solve(H, b).reshape(b.shape)


def determinant(A: Array) -> Any:
    """Return det A of a symmetric matrix, positive semidefinite but for rounding: the product of the pivots of LDLᵀ, none below zero."""
    result: Any = 1.0
    while len(A):
        d, a = ops.maximum(A[0, 0], 0.0), A[0, 1:]
        result = result * d
        A = A[1:, 1:] - np.outer(a, a) / ops.where(d > 0.0, d, 1.0)
    return result
