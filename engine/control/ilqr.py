"""Optimal control over a horizon of a simulator's own steps, by the iterative linear-quadratic regulator."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from numpy.typing import ArrayLike

from engine.checks import warn, whole
from engine.control.horizon import ControlError, Horizon
from engine.control.plan import Plan, Problem
from engine.simulation import SimulationWarning, Simulator


def ilqr(simulator: Simulator, q: ArrayLike, v: ArrayLike, running: Callable[..., Any], final: Callable[..., Any] | None = None, *,
         steps: int, u: ArrayLike | None = None, limits: tuple[ArrayLike, ArrayLike] | None = None, t: float = 0.0,
         parameters: Mapping[str, ArrayLike] | None = None, iterations: int = 100, tolerance: float = 1e-9) -> Plan:  # fmt: skip
    """Return controls u_k that minimise Σ ½ |running(t_k, q_k, v_k)|² + ½ |final(t_N, q_N, v_N)|² over steps of a simulator.

    The step is the simulator's own: motors, friction, contacts and constraints are in it, and its exact derivatives A, B
    (:meth:`Simulator.linearize`), of all knots in one batch. From the end back, with [Q_x, Q_u] and Q of the costs to go (of residuals, by
    Gauss and Newton)::

        κ = argmin ½ κᵀ Q_uu κ + Q_uᵀ κ   within the limits,   K = −Q_uu⁻¹ Q_ux of those that are free              (1)
        P = Q_xx + Q_uxᵀ K,   s = Q_x + Q_uxᵀ κ                                                                     (2)

    and forward u ← u + α κ + K [q ⊖ q_k; v − v_k], eight lengths α at once, of which the best is taken. Without u it begins from standing
    at q, v, which no motion is: what the steps lack until the next state is closed on the way (multiple shooting).

    Parameters
    ----------
    q, v : where it begins (nq), (nv); t : when, s
    running, final : functions of ``t, q, v`` that return residuals, weighted by their square roots; they may ask for ``u``, for ``pose``,
        ``poses``, ``twist`` and the like, and for the simulation's parameters, as controllers do
    steps : N
    u : controls at first, for all steps or each, (*shape) or (N, *shape): of the simulation's parameter "u", which its forces and
        controller read, its value by default; where there is none, generalized forces (nv) besides all others, by default those that hold
        q at rest
    limits : lowest and highest u (*shape), infinite where there is none; u is put within them
    parameters : values of the simulation's others, and of those that these functions alone ask for
    iterations, tolerance : it ends where an iteration is expected to lower the cost by less than that part of it

    Raises
    ------
    ControlError : what is no cost, no limits; costs or steps that are not finite
    SimulationError : what cannot be linearized

    Notes
    -----
    The steps are those of a run, states of actuators and controllers, and forces of contacts that last, among what goes from step to step;
    gains are of q and v alone. A plan that has not converged is returned with a warning; one without u that would end worse than the
    controls at first begins from these. Where the cost has no slope at the controls at first, they may cost least, or lie at a saddle, as
    those of a pendulum that hangs: it seeks from others beside them too, and if these lead to less, warns and returns that plan. Many
    motions cost less than all near them: another u may lead to a better one.

    What u costs shall be of one order for forces and torques in what they bring about: where a torque that turns a body often costs
    nothing, many ways are as good, and few steps lead on.

    Examples
    --------
    A cart of 2 kg is brought 1 m further within a second, with least force, and rests there: 6 m s/T² = 12 N at first.

    >>> import engine, numpy as np
    >>> rail = engine.Builder("rail")
    >>> _ = rail.add_link("world"), rail.add_link("cart", inertia=engine.spatial.inertia.sphere(2.0, 0.1))
    >>> _ = rail.add_joint("slide", "prismatic", "world", "cart", axis=(1, 0, 0))
    >>> cart = engine.Simulator(rail.model(), dt=0.01)
    >>> plan = ilqr(cart, [0.0], [0.0], lambda t, q, v, u: 1e-3 * u, lambda t, q, v: 1e3 * np.concatenate([q - 1, v]), steps=100)
    >>> plan.converged, plan.q[-1].round(4), plan.u[[0, 49, 99], 0].round(1)
    (True, array([1.]), array([ 11.9,   0.1, -11.9]))

    References
    ----------
    Tassa, Mansard & Todorov, *Control-limited differential dynamic programming*, ICRA 2014; Mastalli et al., *Crocoddyl*, ICRA 2020.
    """
    N = whole("steps", steps, "a whole number from 1", 1, ControlError)
    problem = Problem(Horizon(simulator, running, final, parameters or {}), N, limits)
    sought = functools.partial(problem.solve, q, v, t=t, parameters=parameters or {}, iterations=iterations, tolerance=tolerance)
    plan = sought(u=u)
    if u is None and plan.cost > problem.cost_at_first(plan):
        plan = sought(u=problem.first(None, plan.q[0]))
    if plan.stationary and plan.cost > 0.0:
        plan = better(plan, sought)
    if iterations and not plan.converged:
        why = ("from controls beside those at first, which are stationary, the search did not come back" if plan.stationary else
               "no step lowers the cost any more" if len(plan.costs) - 1 < iterations else "there were no more")  # fmt: skip
        warn(f"the plan has not converged after {len(plan.costs) - 1} iterations, as {why}: cost {plan.cost:.6g}; expected costs and steps "
             "that are smooth, or more iterations", SimulationWarning)  # fmt: skip
    return plan


def better(plan: Plan, sought: Callable[..., Plan]) -> Plan:
    """Return a plan whose controls were stationary at first, or a better one, sought from controls beside them, and say so.

    A search that comes back was at a minimum; one that does neither leaves it open, and the plan has not converged.
    """
    try:
        other = sought(u=plan.problem.pushed(plan))
    except ControlError:                                                       # the costs end there
        return plan
    if other.cost < plan.cost - 10.0 * plan.tolerance * abs(plan.cost):
        warn(f"the controls at first are stationary (no small change of them lowers the cost, {plan.cost:.6g}, to first order), but not "
             f"the best: from others beside them it came to {other.cost:.6g}; expected others to begin with, as u=...",
             SimulationWarning)  # fmt: skip
        return other
    back = other.converged or other.cost - plan.cost < 1e-3 * (other.costs[0] - plan.cost)
    return plan if back else replace(plan, converged=False)
