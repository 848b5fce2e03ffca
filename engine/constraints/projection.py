"""Projection: the configuration and the velocity nearest to given ones, in the metric of M, at which the constraints hold.

Gauss–Newton on the manifold, the velocity with it, by the J of where q has come to::

    q ← q ⊕ −M⁻¹ Jᵀ Λ⁻¹ φ(q),   v ← v − M⁻¹ Jᵀ Λ⁻¹ J(q) v                            (1)

It is what keeps J v̇ + J̇ v = 0 from drifting: no gains, and no stiffness. Reference: Hairer & Wanner, *Solving Ordinary Differential
Equations II*, §VII.2.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from engine import ops
from engine.constraints.kinds import ConstraintError
from engine.constraints.loops import Held, Loops
from engine.constraints.multipliers import Schur, accelerations, schur
from engine.dynamics import crba
from engine.model import Model

Array = np.ndarray
#: φ, of 1 and the largest entry of q, that counts as closed
CLOSED = 2e-14
#: a pass that moves q by less is the last: Λ is as good as at its end
NEAR = 1e-9
#: the same where all is nearly in line, and φ hardly tells where q is
NEARER = 1e-12
#: φ, and J v of the largest of v, of a stage that is beside the constraints
BESIDE = 1e-13
#: φ that rounding leaves in bad postures, at most, of 1 and the largest entry of q; and whatever q is
OPEN, MOST_OPEN = 1e-10, 1e-6
#: passes after a step, and at a stage within it
PASSES, STAGE = 20, 3


def projected(model: Model, loops: Loops, q: Array, v: Array, held: Held, passes: int = PASSES) -> tuple[Array, Array, Any]:
    """Return q (nq) and v (nv) on the constraints, and whether they could be closed. Traceable.

    >>> import numpy as np
    >>> import engine
    >>> from engine.constraints import Loops, projected
    >>> builder, sphere = engine.Builder(), engine.spatial.inertia.sphere  # sliders of 1 kg and 3 kg, geared to move together
    >>> _ = builder.add_link("base"), builder.add_link("a", sphere(1.0, 0.1)), builder.add_link("b", sphere(3.0, 0.1))
    >>> _ = [builder.add_joint(f"rail_{name}", "prismatic", "base", name, axis=[1, 0, 0]) for name in ("a", "b")]
    >>> model = builder.model()
    >>> loops = Loops(model, [engine.Coupling("rail_b", "rail_a")])
    >>> q, v, closed = projected(model, loops, np.array([0.0, 0.04]), np.array([4.0, 0.0]), {})
    >>> q.round(6), v.round(6), bool(closed)
    (array([0.03, 0.03]), array([1., 1.]), True)
    """
    size, start = 1.0 + ops.largest(q), np.concatenate([q, v])

    def advance(x: Array) -> tuple[Array, Any]:
        where, moves = x[: model.nq], x[model.nq :]
        solver, error = schur(model, loops, where, held), loops.residual(where, held)
        d = solver.motion(solver.solve(error))
        on = model.manifold.plus(where, -d)                                                                 # (1)
        u = solver.motion(solver.gentle(loops.rate(loops.jacobian(on, held), moves, held)))
        near = ops.where(solver.weak, ops.maximum(ops.largest(d), ops.largest(u) / (1.0 + ops.largest(moves))) <= NEARER,
                         ops.largest(d) <= NEAR)  # fmt: skip
        done = ops.logical_and(near, ops.largest(loops.residual(on, held)) <= CLOSED * size)
        return np.concatenate([on, moves - u]), done

    def differentiated(x: Array) -> Array:
        """x less than what two passes lead to, whose derivatives are those of all: what the others see is small to the fourth order."""
        return x - advance(advance(start)[0])[0]

    x, _ = ops.while_loop(advance, start, passes)
    x = ops.implicit(differentiated, x)
    q, v = model.manifold.normalized(x[: model.nq]), x[model.nq :]
    return q, v, ops.largest(loops.residual(q, held)) <= ops.minimum(OPEN * size, MOST_OPEN)


def moved_whole(model: Model, loops: Loops, q: Array, v: Array, held: Held, led: bool) -> tuple[Array, Array]:
    """Return q (nq) and v (nv) with floating trees moved towards the constraints as rigid bodies, one step of (1) in which joints keep
    their places and rates: two trees that a weld joins move as the one tree that they are. Traceable.

    Where one tree ``led`` the others (:meth:`Loops.movable`) their momentum changes, which is set right then.

    >>> import numpy as np
    >>> import engine
    >>> from engine.constraints import Loops, moved_whole
    >>> builder, sphere = engine.Builder(), engine.spatial.inertia.sphere  # sliders of 1 kg and 3 kg, geared to move together
    >>> _ = builder.add_link("base"), builder.add_link("a", sphere(1.0, 0.1)), builder.add_link("b", sphere(3.0, 0.1))
    >>> _ = [builder.add_joint(f"rail_{name}", "prismatic", "base", name, axis=[1, 0, 0]) for name in ("a", "b")]
    >>> model = builder.model()
    >>> loops = Loops(model, [engine.Coupling("rail_b", "rail_a")])
    >>> moved_whole(model, loops, np.array([0.0, 0.2]), np.zeros(2), {}, led=False)[0]  # nothing floats, nothing moves
    array([0. , 0.2])
    """
    roots = [k for i in loops.movable(led) for k in range(model.bodies[i].v.start, model.bodies[i].v.stop)]
    if not roots:
        return q, v
    solver = Schur(crba(model, q)[np.ix_(roots, roots)], loops.jacobian(q, held)[:, roots])

    def step(error: Array) -> Array:
        d: list[Any] = [0.0] * model.nv
        for k, y in zip(roots, solver.motion(solver.gentle(error)), strict=True):
            d[k] = y
        return ops.array(d)

    on = model.manifold.plus(q, -step(loops.residual(q, held)))
    return on, v - step(loops.rate(loops.jacobian(on, held), v, held))


def constraint_violation(loops: Loops, q: Array, v: Array, held: Held, J: Array | None = None) -> Any:
    """Return how much q and v violate the constraints: the larger of max|φ|/(1 + max|q|) and max|φ̇|/(1 + max|v|). Traceable.

    >>> import numpy as np
    >>> import engine
    >>> from engine.constraints import Loops, constraint_violation
    >>> builder, sphere = engine.Builder(), engine.spatial.inertia.sphere  # sliders of 1 kg and 3 kg, geared to move together
    >>> _ = builder.add_link("base"), builder.add_link("a", sphere(1.0, 0.1)), builder.add_link("b", sphere(3.0, 0.1))
    >>> _ = [builder.add_joint(f"rail_{name}", "prismatic", "base", name, axis=[1, 0, 0]) for name in ("a", "b")]
    >>> model = builder.model()
    >>> loops = Loops(model, [engine.Coupling("rail_b", "rail_a")])
    >>> float(constraint_violation(loops, np.array([0.0, 1.0]), np.zeros(2), {}))  # open by 1 m: 1/(1 + 1)
    0.5
    """
    J = loops.jacobian(q, held) if J is None else J
    return ops.maximum(ops.largest(loops.residual(q, held)) / (1.0 + ops.largest(q)),
                       ops.largest(loops.rate(J, v, held)) / (1.0 + ops.largest(v)))  # fmt: skip


def accelerations_beside(model: Model, loops: Loops, q: Array, v: Array, tau: Array, gravity: Any, wrenches: Array | None,
                         held: Held) -> tuple[Array, Array]:  # fmt: skip
    """Return v̇ (nv) and a λ (n) at a stage of a step, which lies beside the constraints by the square of the step or less. Traceable.

    Where loops are redundant, or nearly, that little is divided by nearly nothing: there they are those of the place on the constraints
    that is next to it, which as a field is as smooth, and the same on them.

    >>> import numpy as np
    >>> import engine
    >>> from engine.constraints import Loops, accelerations_beside
    >>> builder, sphere = engine.Builder(), engine.spatial.inertia.sphere  # sliders of 1 kg and 3 kg, geared to move together
    >>> _ = builder.add_link("base"), builder.add_link("a", sphere(1.0, 0.1)), builder.add_link("b", sphere(3.0, 0.1))
    >>> _ = [builder.add_joint(f"rail_{name}", "prismatic", "base", name, axis=[1, 0, 0]) for name in ("a", "b")]
    >>> model = builder.model()
    >>> loops = Loops(model, [engine.Coupling("rail_b", "rail_a")])
    >>> vdot, force = accelerations_beside(model, loops, np.zeros(2), np.zeros(2), np.array([4.0, 0.0]), np.zeros(3), None, {})
    >>> vdot.round(6), force.round(6)  # m/s²: 4 N/4 kg; N: what moves the 3 kg
    (array([1., 1.]), array([3.]))
    """
    vdot, forces, solver = accelerations(model, loops, q, v, tau, gravity, wrenches, held)

    def on() -> Array:
        q_on, v_on, _ = projected(model, loops, q, v, held, STAGE)
        return np.concatenate(accelerations(model, loops, q_on, v_on, tau, gravity, wrenches, held)[:2])

    off = constraint_violation(loops, q, v, held, solver.J)
    found = np.concatenate([vdot, forces])
    nearer = ops.when(ops.logical_and(solver.weak, off > BESIDE), on, found)
    found = found + ops.stop_gradient(nearer - found)                          # derivatives do not pass through loops: those of beside do
    return found[: model.nv], found[model.nv :]


def allowed(model: Model, loops: Loops, q: Array, v: Array, held: Held) -> Array:
    """Return the velocity (nv) nearest to v that the constraints allow at q: what an impulse leaves that closes them. Traceable.

    >>> import numpy as np
    >>> import engine
    >>> from engine.constraints import Loops, allowed
    >>> builder, sphere = engine.Builder(), engine.spatial.inertia.sphere  # sliders of 1 kg and 3 kg, geared to move together
    >>> _ = builder.add_link("base"), builder.add_link("a", sphere(1.0, 0.1)), builder.add_link("b", sphere(3.0, 0.1))
    >>> _ = [builder.add_joint(f"rail_{name}", "prismatic", "base", name, axis=[1, 0, 0]) for name in ("a", "b")]
    >>> model = builder.model()
    >>> loops = Loops(model, [engine.Coupling("rail_b", "rail_a")])
    >>> allowed(model, loops, np.zeros(2), np.array([4.0, 0.0]), {}).round(6)  # m/s: the momentum stays, 4 kg·m/s
    array([1., 1.])
    """
    solver = schur(model, loops, q, held)
    return v - solver.motion(solver.solve(loops.rate(solver.J, v, held)))


def redundancy(loops: Loops, q: Array) -> int:
    """Return how many rows follow from the others at q, where all grips are open; on floats.

    >>> import numpy as np
    >>> import engine
    >>> from engine.constraints import Loops, redundancy
    >>> builder, sphere = engine.Builder(), engine.spatial.inertia.sphere  # sliders of 1 kg and 3 kg, geared to move together
    >>> _ = builder.add_link("base"), builder.add_link("a", sphere(1.0, 0.1)), builder.add_link("b", sphere(3.0, 0.1))
    >>> _ = [builder.add_joint(f"rail_{name}", "prismatic", "base", name, axis=[1, 0, 0]) for name in ("a", "b")]
    >>> model = builder.model()
    >>> loops = Loops(model, [engine.Coupling("rail_b", "rail_a")])
    >>> redundancy(loops, np.zeros(2))  # no row follows from another
    0
    """
    J = loops.jacobian(q, loops.open())
    sizes = np.abs(J).max(axis=1, initial=0.0)
    scaled = J[sizes > 0.0] / sizes[sizes > 0.0, None]
    grips = sum(part.n for part in loops.grips.values())
    return loops.n - grips - (int(np.linalg.matrix_rank(scaled, tol=1e-7)) if scaled.size else 0)


def generic_redundancy(model: Model, loops: Loops) -> int | None:
    """Return the redundancy where nothing is in line by chance: the least of some closed configurations; None where none is found.

    >>> import numpy as np
    >>> import engine
    >>> from engine.constraints import Loops, generic_redundancy
    >>> builder, sphere = engine.Builder(), engine.spatial.inertia.sphere  # sliders of 1 kg and 3 kg, geared to move together
    >>> _ = builder.add_link("base"), builder.add_link("a", sphere(1.0, 0.1)), builder.add_link("b", sphere(3.0, 0.1))
    >>> _ = [builder.add_joint(f"rail_{name}", "prismatic", "base", name, axis=[1, 0, 0]) for name in ("a", "b")]
    >>> model = builder.model()
    >>> loops = Loops(model, [engine.Coupling("rail_b", "rail_a")])
    >>> generic_redundancy(model, loops)  # no row follows from another
    0
    """
    rng, found = np.random.default_rng(0), list[int]()
    for size in (0.1, 0.3, 1.0):
        q = model.manifold.plus(model.neutral(), size * rng.standard_normal(model.nv))
        with np.errstate(all="ignore"):
            q, _, closed = projected(model, loops, q, np.zeros(model.nv), loops.open(), 60)
        if np.isfinite(q).all() and closed:
            found.append(redundancy(loops, q))
    return min(found, default=None)


def farthest(loops: Loops, q: Array) -> tuple[str, float, float]:
    """Return the constraint that is open the most at q, and how far, in m and in rad; on floats.

    >>> import numpy as np
    >>> import engine
    >>> from engine.constraints import Loops, farthest
    >>> builder, sphere = engine.Builder(), engine.spatial.inertia.sphere  # sliders of 1 kg and 3 kg, geared to move together
    >>> _ = builder.add_link("base"), builder.add_link("a", sphere(1.0, 0.1)), builder.add_link("b", sphere(3.0, 0.1))
    >>> _ = [builder.add_joint(f"rail_{name}", "prismatic", "base", name, axis=[1, 0, 0]) for name in ("a", "b")]
    >>> model = builder.model()
    >>> loops = Loops(model, [engine.Coupling("rail_b", "rail_a")])
    >>> farthest(loops, np.array([0.0, 0.2]))
    ("Coupling of 'rail_b' and 'rail_a'", 0.2, 0.0)
    """
    gaps = [(c.title, *part.gap(q)) for c, (part, _) in zip(loops.constraints, loops.parts, strict=True)]
    return max(gaps, key=lambda gap: gap[1] + gap[2], default=("", 0.0, 0.0))


def gap_text(metres: float, radians: float) -> str:
    """Return a gap in words.

    >>> gap_text(0.25, 0.0), gap_text(0.0, 0.1)
    ('0.25 m', '0.1 rad')
    """
    parts = [f"{x:.3g} {unit}" for x, unit in ((metres, "m"), (radians, "rad"))
             if x > 1e-6 * max(metres, radians)]  # fmt: skip
    return " and ".join(parts) or "0 m"


def closed_start(model: Model, loops: Loops, q: Array, v: Array, most: float, held: Held) -> tuple[Array, Array]:
    """Return q and v on the constraints, of a start that is open by ``most`` (m, rad) at most; on floats.

    Raises
    ------
    ConstraintError : it is open farther, or cannot be closed: says how far which constraint is

    >>> import numpy as np
    >>> import engine
    >>> from engine.constraints import Loops, closed_start
    >>> builder, sphere = engine.Builder(), engine.spatial.inertia.sphere  # sliders of 1 kg and 3 kg, geared to move together
    >>> _ = builder.add_link("base"), builder.add_link("a", sphere(1.0, 0.1)), builder.add_link("b", sphere(3.0, 0.1))
    >>> _ = [builder.add_joint(f"rail_{name}", "prismatic", "base", name, axis=[1, 0, 0]) for name in ("a", "b")]
    >>> model = builder.model()
    >>> loops = Loops(model, [engine.Coupling("rail_b", "rail_a")])
    >>> q, v = closed_start(model, loops, np.array([0.0, 0.04]), np.zeros(2), most=0.1, held={})
    >>> q.round(6)  # the lighter one moves three times as far
    array([0.03, 0.03])
    """
    title, metres, radians = farthest(loops, q)
    if not metres + radians <= most:
        raise ConstraintError(f"{title} is open by {gap_text(metres, radians)} at the start; expected a configuration that closes it, to "
                              f"{most:g} m and rad")  # fmt: skip
    with np.errstate(all="ignore"):
        on, moves, closed = projected(model, loops, q, v, held, 100)
    if not (closed and np.isfinite(on).all()):
        left = f", and {gap_text(*farthest(loops, on)[1:])} at best" if np.isfinite(on).all() else ""
        raise ConstraintError(f"{title} cannot be closed: it is open by {gap_text(metres, radians)} at the start{left}; expected lengths "
                              "and a configuration that close it")  # fmt: skip
    return on, moves
