"""Inverse kinematics: configurations that bring links to where they should be, within the joints' limits."""

from __future__ import annotations

import math
import sys
import types
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from engine.calls import call_checked
from engine.checks import number, shown, whole
from engine.constraints import Constraint, ConstraintError, Loops
from engine.inverse_kinematics.problem import Problem
from engine.inverse_kinematics.result import IKResult
from engine.inverse_kinematics.targets import Target, checked_targets
from engine.model import Model, StateError

__all__ = ["IKResult", "Target", "inverse_kinematics"]


@call_checked
def inverse_kinematics(model: Model, targets: Any, q0: Any = None, base: str = "free", limits: bool = True, tolerance: float = 1e-9,
                       seeds: int = 50, constraints: Sequence[Constraint] = ()) -> IKResult:  # fmt: skip
    """Return a configuration in which links are where they should be, or the nearest to it that was found; or a batch of them.

    It minimises ½ |r|² over the configurations within the limits. A target adds to r its angle and its distance, by its weights w::

        r_R = w_R log(R*ᵀ R)                      rotation vector from goal to link, in the goal's axes                   (1)
        r_p = w_p (p + R c − p*)                  from goal to the link's point c, in world axes                          (2)
        J_R = w_R dexp(−log(R*ᵀ R))⁻¹ J_ω         with the body Jacobian J = [J_ω; J_v] of the link                       (3)
        J_p = w_p R (J_v − [c] J_ω)                                                                                       (4)

    by Levenberg's and Marquardt's damped steps q ← q ⊕ d on the manifold, each the least squares solution within the box of limits::

        d = argmin ½ |J d + r|² + ½ λ |d|²,  lower ≤ q + d ≤ upper,  λ ∝ |r|²                                             (5)

    which converges quadratically to targets that can be reached, at redundant arms too. A guess from which they are not reached is
    followed by another: one close to q0, then random ones within the limits. Where none reaches them, the best is brought to the
    minimum by Newton's method with all of the Hessian; it is a local minimum: the nearest found, not known to be the nearest.

    Loops, φ(q) = 0, are rows of r beside the targets' until both are reached, loops to 1e-11 m and rad. Where they are not, loops are
    closed first, by (5) with φ alone for r; Newton's method then goes along them, by the Hessian of ½ |r|² + y·φ, y the multipliers, on
    the null space of ∂φ̇/∂v, and closes them again after each step.

    Parameters
    ----------
    targets : ``{link: goal}``, or :class:`Target` objects, one or several; a goal is a pose T_WL (..., 4, 4), the position of the link's
        origin (..., 3) in m, or a rotation R_WL (..., 3, 3), all in the world
    q0 : the guess (..., nq), by default ``model.neutral()``; it is brought within the limits. Joints that move no target, and no
        loop, stay there. Leading dimensions of goals and q0 broadcast: a batch, every row of which is found as it would be alone, to the
        same bits
    base : whether every floating joint on the world is "free" or "fixed" at q0, a robot's own and those of free bodies beside it
    limits : whether joints of angles and lengths (universal ones' two too) keep within their limits, mimic joints within their own
    tolerance : angle (rad) and distance (m) within which a target is reached
    seeds : how many guesses may follow q0; they are the same at every call
    constraints : closed loops and couplings, as a simulation has them: ``[engine.Hinge("rod", "crank", ...)]``; q0 need not close them.
        Velocities that they allow are v = N u, where with ``J = engine.constraints.Loops(model, constraints).jacobian(q, {})`` the
        columns of ``N = scipy.linalg.null_space(J)`` are a basis; a link's twist is then ``robot.jacobian(q, link) @ N @ u``

    Raises
    ------
    ModelError : no link of that name; a joint whose limits leave it no configuration
    StateError : a target, guess or option is not what is expected
    ConstraintError : a constraint does not fit the model, or is a grip, which closes where its links are

    References
    ----------
    Sugihara, *Solvability-unconcerned inverse kinematics by the Levenberg–Marquardt method*, IEEE Trans. Robotics 2011;
    Yamashita & Fukushima, *On the rate of convergence of the Levenberg–Marquardt method*, 2001; Nocedal & Wright, *Numerical
    Optimization*, §10.3 and §16.5 (active sets).

    Examples
    --------
    Two rods of 1 m in the plane bring their tip to (−1, 1), and no further than 2 m:

    >>> from engine.model import Builder
    >>> from engine.spatial import se3
    >>> arm, ahead = Builder(), se3.pose(np.eye(3), np.array([1.0, 0, 0]))
    >>> _ = [arm.add_link(name) for name in ("base", "upper", "fore", "tip")]
    >>> _ = arm.add_joint("shoulder", "revolute", "base", "upper"), arm.add_joint("elbow", "revolute", "upper", "fore", placement=ahead)
    >>> _ = arm.add_joint("end", "fixed", "fore", "tip", placement=ahead)
    >>> model = arm.model()
    >>> solution = inverse_kinematics(model, {"tip": [-1.0, 1.0, 0.0]}, q0=[1.0, 1.0])
    >>> solution.converged, solution.q.round(9)
    (True, array([1.57079633, 1.57079633]))
    >>> solution = inverse_kinematics(model, {"tip": [0.0, 3.0, 0.0]})
    >>> solution.converged, solution.residual.round(9)
    (False, array([[0., 1.]]))
    >>> solution.reason
    "link 'tip' is 1 m off at the nearest that was found"

    A batch of places to go to, of which the first and the last can be reached:

    >>> goals = np.array([[1.5, 0.0, 0.0], [0.0, 3.0, 0.0], [0.0, 0.5, 0.0], [0.0, -0.5, 0.0]])
    >>> many = inverse_kinematics(model, {"tip": goals}, q0=[1.0, 1.0])
    >>> many, many.converged, many[1].reason
    (<4 configurations: 3 reach their targets>, array([ True, False,  True,  True]), "link 'tip' is 1 m off at the nearest that was found")

    With a rod of 1 m from the shoulder to the tip, as the third side of a triangle, the elbow is at 120°, and (0, 1) the nearest:

    >>> from engine.constraints import Distance
    >>> solution = inverse_kinematics(model, {"tip": [0.0, 3.0, 0.0]}, q0=[1.0, 1.0], constraints=[Distance("base", "tip")])
    >>> abs(solution.q[1]).round(9), solution.residual.round(9)
    (np.float64(2.094395102), array([[0., 2.]]))
    """
    if not isinstance(model, Model):
        raise StateError(f"inverse_kinematics got a {type(model).__name__}; expected a Model (engine.load_urdf makes one from a file)")
    if base not in ("free", "fixed"):
        raise StateError(f"base is {base!r}; expected 'free' or 'fixed'")
    seeds = whole("seeds", seeds, "a whole number of guesses from 0", error=StateError)
    tolerance = number("tolerance", tolerance, "a positive number (rad and m)", above=0, error=StateError)
    wanted = checked_targets(model, targets)
    try:
        q = model.neutral() if q0 is None else np.asarray(q0)
    except ValueError:
        raise StateError(f"q0 is not rectangular; expected (..., {model.nq}) numbers for '{model.name}'") from None
    q = model.normalized(model.checked("q0", q, batched=True))
    try:
        batch = np.broadcast_shapes(q.shape[:-1], *[t.batch for t in wanted])
    except ValueError:
        shapes = " and ".join(f"'{t.link}' {t.goal.shape}" for t in wanted)
        raise StateError(f"q0 {q.shape} and the goals of {shapes} do not broadcast; expected equal leading dimensions, or 1") from None
    if isinstance(constraints, (str, Mapping)) or not isinstance(constraints, Iterable):
        raise ConstraintError(f"constraints is {shown(constraints)}; expected a list of them")
    loops = Loops(model, [*constraints]).constraints
    problem = Problem(model, wanted, base == "fixed", bool(limits), tolerance, loops)
    goals = np.stack([np.broadcast_to(t.pose, (*batch, 4, 4)) for t in wanted], axis=-3)
    q = np.clip(np.broadcast_to(q, (*batch, model.nq)), problem.lower, problem.upper)
    rows = math.prod(batch)
    return problem.solved(q.reshape(rows, model.nq), goals.reshape(rows, len(wanted), 4, 4), batch, seeds)


class Room(types.ModuleType):
    """Class of this package, which makes it callable: ``engine.inverse_kinematics(model, targets)``."""

    __call__ = staticmethod(inverse_kinematics)


sys.modules[__name__].__class__ = Room
