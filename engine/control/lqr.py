"""The linear-quadratic regulator of a simulator's own step about an equilibrium."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from engine.checks import numbers, shown
from engine.control.horizon import ControlError
from engine.dynamics import rnea
from engine.model import Model
from engine.simulation import Simulator
from engine.simulation.linearization import ticking

Array = np.ndarray
#: by how much a step may change an equilibrium, of what it changes by the pull of a unit of each
STILL = 1e-6
#: a mode that neither grows nor fades
MARGIN = 1e-9
#: s: a time at which the step is to be the same as at first
LATER = 1.2345


@dataclass(frozen=True, eq=False)
class LQR:
    """A regulator u = u₀ − K [q ⊖ q₀; v]; call it with t, q, v, as a controller: ``engine.Law(found, period=simulator.dt)``.

    Attributes
    ----------
    K : gains (nu, 2 nv); P : the cost to go is δxᵀ P δx (2 nv, 2 nv)
    A, B : of the step; q, u : where it rests, and what holds it there

    Where u is a parameter, it goes where that went: ``controller=lambda t, q, v: np.array([found(t, q, v), 0.0])``.

    >>> import numpy as np
    >>> import engine
    >>> rail = engine.Builder()
    >>> _ = rail.add_link("world"), rail.add_link("cart", engine.spatial.inertia.sphere(2.0, 0.1))
    >>> _ = rail.add_joint("slide", "prismatic", "world", "cart", axis=[1, 0, 0])
    >>> held = engine.lqr(engine.Simulator(rail.model(), dt=0.01), [0.0], R=0.01)
    >>> print(held.K.shape, held(0.0, np.array([0.1]), np.zeros(1))[0] < 0.0)  # it pushes back
    (1, 2) True
    """

    model: Model
    K: Array
    P: Array
    A: Array
    B: Array
    q: Array
    u: Array

    def __call__(self, t: Any, q: Array, v: Array) -> Array:
        """Return u at one state, traced or not."""
        return (self.u.reshape(-1) - self.K @ np.concatenate([self.model.manifold.minus(self.q, q), v])).reshape(self.u.shape)[()]

    def __repr__(self) -> str:
        return f"<regulator of '{self.model.name}': {len(self.K)} inputs, slowest mode {np.abs(self.modes).max():.6g}>"

    @property
    def modes(self) -> Array:
        """Eigenvalues of the regulated step, complex (2 nv): all within the unit circle."""
        return np.linalg.eigvals(self.A - self.B @ self.K)


def lqr(simulator: Simulator, q: ArrayLike, Q: ArrayLike = 1.0, R: ArrayLike = 1.0, u: ArrayLike | None = None) -> LQR:
    """Return the regulator that minimises Σ δxᵀ Q δx + δuᵀ R δu over all steps of a simulator from near a state at rest on, δx = (δq, δv).

    With A, B of :meth:`Simulator.linearize`, P solves Riccati's equation, and K = (R + Bᵀ P B)⁻¹ Bᵀ P A. With constraints, A leads back
    onto them: along the motions that they allow, K and P are those of these motions alone.

    Parameters
    ----------
    q : where it rests (nq)
    Q : (2 nv, 2 nv), its diagonal (2 nv), or a number; R : (nu, nu), (nu), or a number; Q from zero, R above zero
    u : what holds it, of the simulation's parameter "u", its value by default; where there is none, generalized forces (nv), by default
        those of inverse dynamics at rest. A controller without "u" is part of what is regulated: u acts beside it

    Raises
    ------
    ControlError : no equilibrium; weights that are none; a mode that does not fade, and that u does not reach
    SimulationError : what cannot be linearized

    Examples
    --------
    A pendulum of 1 m and 2 kg is held upright:

    >>> import engine
    >>> arm = engine.Builder("pendulum")
    >>> _ = arm.add_link("base"), arm.add_link("bob", inertia=engine.spatial.inertia.from_mass(2.0, [0, 0, 1.0], np.zeros((3, 3))))
    >>> _ = arm.add_joint("pivot", "revolute", "base", "bob", axis=[0, 1, 0])
    >>> held = lqr(engine.Simulator(arm.model(), dt=0.01), [0.0], R=0.01)
    >>> held.K.round(2), bool(np.abs(held.modes).max() < 1.0)
    (array([[40.76, 15.88]]), True)

    Reference: Anderson & Moore, *Optimal Control: Linear Quadratic Methods*, 1990, §2.4.
    """
    from scipy.linalg import solve_discrete_are

    if not isinstance(simulator, Simulator):
        raise ControlError(f"lqr got a {type(simulator).__name__}; expected a Simulator")
    model = simulator.model
    q, v = model.normalized(model.checked("q", q)), np.zeros(model.nv)
    forced = "u" not in simulator.parameters
    given = u if u is not None else rnea(model, q, v, np.zeros(model.nv), simulator.gravity) if forced else simulator.parameters["u"]
    held = np.asarray(given, dtype=float)
    if forced and held.shape != (model.nv,):
        raise ControlError(f"u has shape {held.shape}; expected ({model.nv},), the forces that hold q, behind Q and R")
    for c in ticking(simulator):
        if abs(c.period - simulator.dt) > 1e-9 * simulator.dt:
            raise ControlError(f"{c.called.name} is held for {c.period:g} s, and a step lasts {simulator.dt:g} s; expected a simulator "
                               "whose dt is that period")  # fmt: skip
    (A, later_A), (B, later_B) = simulator.linearize(q, v, held, np.array([0.0, LATER]))
    if max(np.abs(A - later_A).max(), np.abs(B - later_B).max()) > 1e-6 * max(1.0, np.abs(A).max()):
        raise ControlError(f"the step is another at t = {LATER:g} s than at 0; expected forces and controllers that do not depend on time")
    if len(A) != 2 * model.nv:
        raise ControlError("the simulator has states of actuators or controllers, which u = −K δx does not know; expected one without")
    require_still(simulator, q, held, forced)
    n, m = B.shape
    Q, R = weight("Q", Q, n), weight("R", R, m)
    require_reached(model, A, B)
    try:
        P = solve_discrete_are(A, B, Q, R)
    except (np.linalg.LinAlgError, ValueError) as error:
        raise ControlError(f"Riccati's equation has no solution ({error}); expected Q that sees every mode that does not fade") from None
    found = LQR(model, np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A), P, A, B, q, held)
    if not np.abs(found.modes).max() < 1.0 - MARGIN:
        raise ControlError("a mode stays that does not fade, as it costs nothing; expected Q that sees it")
    return found


def weight(name: str, x: ArrayLike, n: int) -> Array:
    """Return a weight as a symmetric matrix (n, n), positive definite, or for Q semidefinite."""
    a = numbers(f"lqr: {name}", x, ControlError)
    W = a * np.eye(n) if a.ndim == 0 else np.diag(a) if a.shape == (n,) else a
    if W.shape != (n, n) or not np.isfinite(W).all() or np.abs(W - W.T).max() > 1e-12 * np.abs(W).max(initial=0.0):
        raise ControlError(f"{name} has shape {a.shape}; expected a symmetric ({n}, {n}), its diagonal ({n},), or a number")
    least = np.linalg.eigvalsh(W)[0]
    if least < -1e-12 * np.abs(W).max() or (name == "R" and least <= 0.0):
        raise ControlError(f"{name} is {shown(x)}, with the eigenvalue {least:.3g}; expected none {'at or ' * (name == 'R')}below zero")
    return W


def require_still(simulator: Simulator, q: Array, u: Array, forced: bool) -> None:
    """Refuse a state that a step from rest changes."""
    model, runs, dt = simulator.model, simulator.linearization.simulator, simulator.dt
    after = runs.step(runs.start(q, np.zeros(model.nv), {"u": u}))
    moved = np.concatenate([model.difference(q, after.q), after.v])
    k = int(np.argmax(np.abs(moved)))
    if abs(moved[k]) > STILL * dt * (1.0 + float(np.abs(u).max(initial=0.0)) + float(np.linalg.norm(simulator.gravity))):
        what = f"'{model.entries('v')[k % model.nv]}'"
        more = ", or u=... besides what carries it (by default all of its weight)" if forced else ", with u=... that holds it"
        raise ControlError(f"q and u are no equilibrium: a step of {dt:g} s from rest moves {what} by {moved[k]:.3g}; expected a state "
                           f"that stays{more}")  # fmt: skip


def require_reached(model: Model, A: Array, B: Array) -> None:
    """Refuse a mode that does not fade and that u does not reach (the test of Popov, Belevitch and Hautus)."""
    n, values = len(A), np.linalg.eigvals(A)
    repeated = [1.0] * bool((np.abs(values - 1.0) < 1e-3).any())               # of which computed ones are not exact
    tried = repeated + [x for x in values if abs(x) >= 1.0 - MARGIN]
    for value in tried:
        left, sizes, _ = np.linalg.svd(np.hstack([A - value * np.eye(n), B / max(np.abs(B).max(initial=0.0), 1e-300)]))
        if sizes[-1] < 1e-10 * sizes[0]:
            k = int(np.argmax(np.abs(left[:, -1])))
            name = f"{'q' if k < model.nv else 'v'} of '{model.entries('v')[k % model.nv]}'"
            raise ControlError(f"u does not reach a mode that does not fade, which is mostly {name}; expected inputs that do, or a model "
                               "without what floats away")  # fmt: skip
