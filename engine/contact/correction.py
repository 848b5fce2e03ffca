"""The velocity solve at the end of a step: v⁺ with the impulses of friction, stops and contacts, and the q that it leads to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from engine import ops
from engine.constraints import Schur
from engine.contact.hunt_crossley import EVENLY
from engine.contact.newton import Law, Unsolved, balanced, minimum
from engine.model import Model

Array = np.ndarray


#: passes, after which friction goes with the normal impulses of the pass before
PASSES = 10
#: of what acts where no impulses are found, how many are named
NAMED = 3


def velocity_after(M: Array, law: Law, before: Array, free: Array, J: Array | None = None) -> tuple[Array, Any]:
    """Return v⁺ (nv) after the impulses of a step from the velocity ``before`` (nv), whose flight ends at ``free`` (nv), with the inertia M
    there, and the Jacobian J (n, nv) of what constraints hold; and the friction that goes with it.

    Friction is found with the normal impulses of ``before``, and with those that this leads to, until they agree. Where Newton's method
    does not converge it is NaN, and on floats an error that names what acts. Derivatives are those of what both agree on.

    >>> import numpy as np
    >>> from engine.contact import JointCoordinate, JointLaws, velocity_after
    >>> slide = JointCoordinate("slide", 0, 0, 1.0, 0.0, 0.0, 3.0, -np.inf, np.inf, np.inf, np.inf, 0.5, 0.5)  # friction of 3 N
    >>> free = np.array([2.0])
    >>> law = JointLaws([slide], 1e-5, lambda c: 0.0, 0.0).step(0.1, free, np.zeros(1), free)
    >>> velocity_after(np.array([[2.0]]), law, free, free)[0].round(9)  # m/s: 2 − 3 N · 0.1 s/2 kg
    array([1.85])
    """
    start = before if J is None else free + Schur(M, J).without(before - free)

    def unbalanced(v: Array) -> Array:
        """M (v − ṽ) − γ(v), with friction by what is normal at v; where constraints hold, the change of v that this asks for."""
        impulse, G = law.impulse(v, law.lagged(v, friction)[0])
        residual = M @ (v - free) - impulse
        return residual if J is None else -Schur(ops.stop_gradient(M + G), J).accelerations(-residual, J @ (v - free))[0]

    def checked(after: Array, friction: Any, found: Any) -> Any:
        if after.dtype != object and not found and np.isfinite(free).all():
            left = M @ (after - free) - law.impulse(after, friction)[0]
            unsolved = Unsolved(describe_unsolved(law, after, friction, left, None if J is None else Schur(M, J)))
            unsolved.overrun = not np.isfinite(left).all()
            raise unsolved
        return found

    def solved(start: Array, friction: Any) -> tuple[Array, Any]:
        after, found = minimum(M, free, law, friction, start, J)
        return after, checked(after, friction, found)

    friction = law.friction
    if any(map(is_table, ops.structure(friction)[0])):
        after, friction, found = balanced(M, free, law, start, J)
        found = checked(after, friction, found)
        return ops.where(found, 1.0, np.nan) * ops.implicit(unbalanced, after), agreed(law, after, friction)
    if not any(map(len, ops.structure(friction)[0])):
        after, found = solved(start, friction)
        return ops.where(found, 1.0, np.nan) * ops.implicit(unbalanced, after), friction

    def again(z: dict[str, Any]) -> tuple[dict[str, Any], Any]:
        after, found = solved(z["v"], z["friction"])
        rubs, agrees = law.lagged(after, z["friction"])
        failed = ops.logical_not(found)
        return {"v": after, "friction": rubs, "failed": ops.where(failed, 1.0, 0.0)}, ops.logical_or(agrees, failed)

    z, _ = ops.while_loop(again, {"v": start, "friction": friction, "failed": 0.0}, PASSES)
    friction = z["friction"]
    after = ops.implicit(unbalanced, z["v"])
    return ops.where(z["failed"] > 0.5, np.nan, 1.0) * after, agreed(law, after, friction)


def agreed(law: Law, v: Array, friction: Any) -> Any:
    """Return the friction that goes with v (nv), with its derivatives: numbers by those of what they are, tables found once more."""
    leaves, built = ops.structure(friction)
    if any(map(is_table, leaves)):
        return law.lagged(v, friction)[0]
    ends = np.cumsum([len(leaf) for leaf in leaves])[:-1]
    rubs = ops.implicit(lambda x: x - np.concatenate(ops.structure(law.lagged(v, friction)[0])[0]), np.concatenate(leaves))
    return built(np.split(rubs, ends))


def is_table(x: Any) -> bool:
    """Return whether something is a table of numbers: an array has one axis."""
    return hasattr(x, "by_rows") or np.ndim(x) > 1


def describe_unsolved(law: Law, v: Array, friction: Array, left: Array, constraints: Schur | None) -> str:
    """Return in words that M (v − ṽ) − γ(v) = ``left`` (nv) at the last v (nv), of which constraints take a part, and what acts there with
    a friction (n)."""
    if constraints is not None:
        left = left + constraints.J.T @ constraints.accelerations(-left, np.zeros(len(constraints.J)))[1]
    acting = [f"{name} ({size:.3g})" for size, name in sorted(law.acting(v, friction), reverse=True)[:NAMED]]
    return (f"Newton's method did not find the impulses of a step: {np.abs(left).max():.3g} N·s or N·m·s are not balanced, beside "
            f"{', '.join(acting) or 'nothing'}; expected a smaller dt, or gentler forces")


def corrected(model: Model, h: Any, q: Array, free: Array, after: Array, settle: Callable[[Array, Array], Array], still: Array,
              way: float = EVENLY) -> Array:  # fmt: skip
    """Return ``settle(q, v)`` of q (nq) and v (nv) at the end of a step of h whose flight ends at q and ``free`` (nv), and whose impulses
    leave ``after`` (nv).

    The impulses act evenly over the step, so that q goes on by half of what they change of v, times h, or ``way`` instead of a half. Where
    nothing changes, it is ``still``, to the bit.

    >>> import numpy as np
    >>> import engine
    >>> from engine.contact import corrected
    >>> builder = engine.Builder()
    >>> _ = builder.add_link("base"), builder.add_link("cart", engine.spatial.inertia.sphere(2.0, 0.1))
    >>> _ = builder.add_joint("rail", "prismatic", "base", "cart", axis=[1, 0, 0])
    >>> q, before, after = np.array([1.0]), np.array([2.0]), np.array([0.0])
    >>> settle = lambda q, v: np.concatenate([q, v])
    >>> corrected(builder.model(), 0.1, q, before, after, settle, settle(q, before))  # m: 1 − ½ · 2 · 0.1
    array([0.9, 0. ])
    """
    return ops.when(ops.largest(after - free) > 0.0, lambda: settle(model.manifold.plus(q, way * h * (after - free)), after), still)
