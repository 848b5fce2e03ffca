"""Ideal impacts: an event where shapes meet, and Newton's law for what they rebound with."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from engine import ops
from engine.checks import number, warn
from engine.components.component import SimulationWarning
from engine.contact import ContactError, ContactLaws
from engine.contact.world_axes import WorldAxes
from engine.dynamics import crba
from engine.dynamics.kinematics import body_poses
from engine.integrate import Event
from engine.model import Model
from engine.simulation.contacts import Contacts
from engine.simulation.events import Barrier

Array = np.ndarray
#: m: points no farther apart than this touch, where one of them does; and how deep the first is then, so that what touches at first counts
TOUCHES, FIRST = 1e-9, 1e-12
#: of the coordinates: a gap that is rounding, as far from the world's origin
FAR = 16.0 * float(np.finfo(float).eps)
#: impacts that follow each other at once, at the most; and of the speeds, one that is rounding
MOST, ROUNDED = 1000, 1e-12


def impact(model: Model, contacts: Contacts, restitution: float, rest: float = 1e-7) -> Event:
    """Return an event at which shapes of a model meet and rebound without friction, by Newton's law: each point opens at e times the
    speed at which it closed, unless others throw it off faster. Points that close at the same time act together, and what closes by that,
    as in a cradle whose balls touch, after them.

    Give it to a Simulator among its ``events``, without ``contacts``; its materials are of no account. Constraints pass a blow on to all
    that they join. Of all bounces, which follow each
    other ever faster, the one after which nothing opens at more than ``rest`` ends the run, with a warning: what lies still needs contacts.
    Momentum is kept, and of the energy each impact takes its part. Steps are to be shorter than what is thin takes to be passed; shapes
    that are found in each other end the run with an error.

    Parameters
    ----------
    contacts : what may meet: ground and pairs
    restitution : e, above 0, up to 1: what does not rebound needs contacts
    rest : m/s

    Raises
    ------
    ContactError : a restitution that is none, and what :meth:`Contacts.bind` refuses; in a run, shapes in each other

    Examples
    --------
    A ball let fall from 1 m comes to rest after √(2h/g) (1 + e)/(1 − e):

    >>> import engine, warnings
    >>> ball = engine.Builder("ball")
    >>> _ = ball.add_link("ball", inertia=engine.spatial.inertia.sphere(1.0, 0.1), collisions=[engine.Geometry("sphere", (0.1,))])
    >>> ball = ball.model(floating_base=True)
    >>> bounce = engine.impact(ball, engine.Contacts(engine.HalfSpace()), restitution=0.5)
    >>> with warnings.catch_warnings():                                        # that it comes to rest
    ...     warnings.simplefilter("ignore")
    ...     run = engine.Simulator(ball, events=[bounce]).run([1, 0, 0, 0, 0, 0, 1.1], np.zeros(6), 5.0)
    >>> bool(abs(run.t[-1] - 3.0 * np.sqrt(2.0 / 9.81)) < 1e-6), len(run.events)
    (True, 26)

    Reference: Moreau, *Unilateral contact and dry friction in finite freedom dynamics*, 1988, §3.
    """
    number("restitution of an impact", restitution, "a number above 0, up to 1: what does not rebound needs Contacts", above=0.0, most=1.0,
           error=ContactError)  # fmt: skip
    number("rest of an impact", rest, "a number above 0, m/s", above=0.0, error=ContactError)
    if not isinstance(contacts, Contacts):
        raise ContactError(f"contacts of an impact is {contacts!r}; expected engine.Contacts(...)")
    laws = contacts.bind(model)

    def least_gap(t: float, q: Array, v: Array) -> Array:
        """The least gap, and a little, of what closes; of what opens, or lies still, one that is rounding is none."""
        slow, near = -2.0 * ROUNDED * ops.largest(v), 2.0 * contact_gap(q)
        gaps = [ops.where(rate < slow, gap + FIRST, gap + near) for s in laws.seen(q, v) for gap, rate in zip(s.gap, s.before, strict=True)]
        return functools.reduce(ops.minimum, gaps)

    def require_apart(q: Array, when: str = "at the start") -> None:
        for row in q.reshape(-1, model.nq):
            gaps = np.asarray(laws.gaps(row), dtype=float)
            if gaps.min() < -contact_gap(row):
                raise ContactError(f"'{laws.names[int(gaps.argmin())]}' overlap by {-gaps.min():.3g} m {when}; expected shapes that "
                                   "touch at most, as an impact happens where they meet")  # fmt: skip

    def rebound(t: float, q: Array, v: Array, held: Array) -> tuple[Array, Array] | bool:
        require_apart(q, f"at t = {t:.6g} s")
        J, M, after = normal_rows(laws, q), crba(model, q), v
        for _ in range(MOST):
            closing = J @ after < -ROUNDED * np.abs(v).max(initial=0.0)
            if not closing.any():
                break
            after = rebounding(M, J[closing], after, restitution, held)
        if np.max(J @ after) >= rest:
            return q, after
        warn(f"'{model.name}': at t = {t:.6g} s a body comes to rest on another, and the run ends; expected contacts, for what lies still",
             SimulationWarning)  # fmt: skip
        return False

    return Barrier(least_gap, direction=-1, action=rebound, check=require_apart, laws=laws)


def contact_gap(q: Array) -> Any:
    """Return how far apart, m, points at most are at q (nq) that touch. Traceable."""
    return TOUCHES + FAR * ops.largest(q)


def normal_rows(laws: ContactLaws, q: Array) -> Array:
    """Return the rows J (points, nv) of the rates J v at which the gaps of points that touch at q (nq) open."""
    near = contact_gap(q)
    axes = WorldAxes(laws.model, q, body_poses(laws.model, q), np.zeros(3), frozenset(range(laws.model.nv)))
    rows = []
    for t in laws.seen(q, np.zeros(laws.model.nv), near):
        J = axes.relative(t.pair.a.body, t.pair.b.body)
        for x, n in (point for *point, gap in zip(t.position, t.normal, t.gap, strict=True) if gap <= near):
            row, along = np.zeros(laws.model.nv), np.concatenate([np.cross(x, n), n])
            row[list(J)] = [along @ column for column in J.values()]
            rows.append(row)
    return np.array(rows)


def rebounding(M: Array, J: Array, v: Array, e: float, held: Array) -> Array:
    """Return v⁺ = v + M⁻¹ (Jᵀ γ + Kᵀ λ) with 0 ≤ γ ⊥ J v⁺ + e J v ≥ 0 and K v⁺ = 0, where constraints have the Jacobian K = ``held``.

    γ is the least of ½ |A γ + (1 + e) Lᵀ v|² with M = L Lᵀ and A = L⁻¹ Jᵀ, of which constraints leave what is normal to L⁻¹ Kᵀ.

    >>> float(rebounding(np.eye(1), np.eye(1), np.array([-1.0]), 0.5, np.zeros((0, 1)))[0])
    0.5
    >>> rebounding(np.eye(2), np.array([[1.0, 0.0]]), np.array([-1.0, -1.0]), 0.5, np.array([[1.0, -1.0]])).round(9)
    array([0.5, 0.5])
    """
    from scipy.linalg import orth
    from scipy.optimize import nnls

    L = np.linalg.cholesky(M)
    A = np.linalg.solve(L, J.T)
    if held.any():
        K = orth(np.linalg.solve(L, held.T))
        A = A - K @ (K.T @ A)
    A = A / np.linalg.norm(A, axis=0)                                          # so that what is light weighs no more than what is heavy
    return v + np.linalg.solve(L.T, A @ nnls(A, -(1.0 + e) * (L.T @ v))[0])
