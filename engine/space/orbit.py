"""An orbit as the world's origin: it falls freely through the whole field, and what is near it feels what differs from its own fall."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine import ops
from engine.checks import number, shown, warn
from engine.components.component import Beyond, Context, Effect, SimulationError, SimulationWarning
from engine.components.frame import Frame
from engine.space.elements import Elements, motion
from engine.space.gravity import GravityField, difference
from engine.space.kepler import Ellipse
from engine.spatial import inertia

Array = np.ndarray
#: from its start, in which δ is integrated at once
MOST_TURNS = 1000
#: of the planet's pull: what a third body pulls more at an orbit than at the centre
MOST_PULL = 0.1
#: of its distance from the planet's centre: what begins farther from the origin is hardly meant
FAR = 0.1
#: of (ω h)^(order + 1) and of how large δ is beside the orbit, together: more than a step's error
GROSS = 0.03


class ReferenceOrbit(Frame):
    """The origin O of a simulation's world, in free fall about a planet, for ``Simulator(model, gravity=(0, 0, 0), frame=…)``.

    O is at r_O = r_K(t) + δ, in axes that do not turn: r_K is Kepler's ellipse through the first place, in closed form, and δ a state of
    its own, zero at ``start``, where the field is more than a point mass's. Runs begin at t = 0, with the δ that it has then. With
    Δ(r, ρ) the difference of the point mass's pull at r + ρ and r, and a_p the rest of the field::

        δ̈ = Δ(r_K, δ) + a_p(r_O),   and on a link of mass m whose centre is at ρ:  m (Δ(r_O, ρ) + a_p(r_O + ρ) − a_p(r_O))       (1)

    so that neither r_O nor its 7 km/s is ever subtracted from itself: places relative to O keep a millionth of what they lose about the
    planet's centre. Where the field has a gradient, a link of moments I about its centre feels the moment −ε (Γ I), of Γ = ∇∇U, and what
    the energy ½ tr(Γ I) adds to the force.

    Drag and other forces act on bodies only; O falls on. δ grows by some 70 km a turn under J2: :meth:`rectified` begins a new ellipse.

    Parameters
    ----------
    position, velocity : of O at t = ``start``, m and m/s (3), about the planet's centre, in axes that do not turn
    field : a :class:`GravityField`
    start : the time to which they belong, s

    Signals: ``origin`` r_O (3), ``velocity`` (3), and ``energy``, J: with the kinetic energy relative to O it is the whole energy about the
    planet, Σ m (ṙ²/2 − U(r)) + ½ tr(Γ I).

    Raises
    ------
    SimulationError : position and velocity are of no ellipse, or within the planet; the field is none; ``start`` is a thousand turns or
        more from t = 0

    Warns
    -----
    SimulationWarning : the ellipse leads through the planet

    References: Battin, *An Introduction to the Mathematics and Methods of Astrodynamics*, §8.4 (Encke); Hughes, *Spacecraft Attitude
    Dynamics*, §8.1.

    Examples
    --------
    >>> import engine
    >>> stone = engine.Builder("stone")
    >>> _ = stone.add_link("stone", inertia=engine.spatial.inertia.sphere(1.0, 0.1))
    >>> frame = ReferenceOrbit((7e6, 0, 0), (0, 7546.0, 0), GravityField(zonals={2: 1.08262668e-3}))
    >>> simulator = engine.Simulator(stone.model(floating_base=True), dt=1.0, gravity=(0, 0, 0), frame=frame)
    >>> flight = simulator.run([1.0, 0, 0, 0, 0, 10.0, 0], np.zeros(6), duration=60.0, record_every=60)
    >>> r_O, rho = flight.orbit("stone")
    >>> bool(np.linalg.norm(r_O[-1]) > 6.9e6), rho[-1].round(3).tolist()
    (True, [0.001, 9.979, 0.0])
    """

    def __init__(self, position: Any, velocity: Any, field: GravityField | None = None, start: float = 0.0) -> None:
        self.field = GravityField() if field is None else field
        if not isinstance(self.field, GravityField):
            raise SimulationError(f"the field of an orbit is {shown(field)}; expected an engine.space.GravityField")
        self.start = number("start", start, "a time, s", error=SimulationError)
        self.ellipse = Ellipse(self.field.mu, position, velocity)
        require_above(self.field, self.ellipse)
        require_distant(self.field, self.ellipse, self.start)
        self.known = (self.field.mu, *self.ellipse.position, *self.ellipse.velocity, self.start)
        self.renewed = False                                                   # whether it is another's from its start on
        self.state = self.at(np.zeros(()))

    @classmethod
    def from_elements(cls, elements: Elements, field: GravityField | None = None, start: float = 0.0) -> ReferenceOrbit:
        """Return the orbit of osculating :class:`Elements` at t = ``start``.

        >>> from engine.space import EARTH_MU, Elements, ReferenceOrbit
        >>> orbit = ReferenceOrbit.from_elements(Elements.of([7e6, 0, 0], [0, 7546.0, 0], EARTH_MU))
        >>> round(orbit.period)  # s
        5828
        """
        field = GravityField() if field is None else field
        if not isinstance(elements, Elements) or not isinstance(field, GravityField):
            raise SimulationError(f"an orbit of {shown(elements)} in the field {shown(field)}; expected from_elements(Elements(…), "
                                  "GravityField(…))")  # fmt: skip
        position, velocity = elements.state_about(field.mu)                    # which is checked against the field's planet
        return cls(position, velocity, field, start)

    @property
    def period(self) -> float:
        """Period of a revolution on the ellipse, s.

        >>> from engine.space import ReferenceOrbit
        >>> round(ReferenceOrbit((7e6, 0, 0), (0, 7546.0, 0)).period)  # s: 2π √(a³/μ)
        5828
        """
        return self.ellipse.period

    def rectified(self, state: Any) -> ReferenceOrbit:
        """Return the orbit whose ellipse osculates at this state (Encke's rectification), so that the deviation δ begins at zero there.

        ``state`` is a :class:`~engine.simulation.state.State` of a simulator with this frame (one, no batch), or a trajectory, whose last
        record is taken; the new orbit's ``start`` is that time.

        A simulator with it goes on by :meth:`Simulator.step` from that state, as from others of this frame: δ is taken over."""
        if f"{self.name}.origin" not in getattr(state, "signals", {}):
            raise SimulationError(f"an orbit is rectified by {shown(state)}; expected a state or a trajectory with this frame")
        origin, velocity = (np.asarray(state.signals[f"{self.name}.{what}"]) for what in ("origin", "velocity"))
        t = np.asarray(state.t).reshape(-1)[-1]
        if origin.ndim > 2:
            raise SimulationError(f"an orbit is rectified by a batch of {origin.shape[:-2]}; expected one state")
        found = type(self)(origin.reshape(-1, 3)[-1], velocity.reshape(-1, 3)[-1], self.field, float(t))
        found.renewed = True
        return found

    def begins(self, t: float, places: Array) -> None:
        away, far = np.linalg.norm(places, axis=-1).max(initial=0.0), np.linalg.norm(self.ellipse.position)
        if away > FAR * far:
            warn(f"a body begins {away:.4g} m from the orbit's origin, which is {far:.4g} m from the planet's centre; expected q from the "
                 "origin: where q is zero the body is on the orbit", SimulationWarning)  # fmt: skip
        if self.renewed and t != self.start:
            warn(f"a run begins at t = {t:g} s, and the orbit goes on from t = {self.start:g} s, by rectified: its origin is where it was "
                 "at that other time; expected simulator.step(state) to go on with the state", SimulationWarning)  # fmt: skip

    def at(self, t: Array) -> Array:
        if self.field.bare:
            return np.zeros((*np.shape(t), 0))
        times = np.reshape(t, -1)
        if (turns := np.abs(times - self.start).max(initial=0.0) / self.period) > MOST_TURNS:
            raise SimulationError(f"an orbit starts at {self.start:g} s, and is asked for {turns:.3g} turns from there; expected no more "
                                  f"than {MOST_TURNS}, or an orbit that is rectified")  # fmt: skip
        found, order = np.zeros((times.size, 6)), np.argsort(times)
        for part in (order[times[order] >= self.start], order[times[order] < self.start][::-1]):
            now, y = self.start, np.zeros(6)
            for k in part:
                now, y = times[k], self.fallen(now, y, times[k], 1e-13)
                found[k] = y
        return found.reshape(*np.shape(t), 6)

    def fall(self, t: float, x: Array, u: Array) -> Array:
        """Return δ̈ (3), on floats, where δ is x (3)."""
        r = self.ellipse(t - self.start)[0]
        return np.asarray(difference(self.field.mu, r, x) + self.field.perturbation(r + x, t))

    def fallen(self, t: float, y: Array, to: float, part: float) -> Array:
        """Return δ and its rate (6) at another time than t, at which they are y, on floats, to a part of them in each step."""
        from scipy.integrate import solve_ivp

        falls = lambda t, y: np.concatenate([y[3:], self.fall(t, y[:3], y[3:])])
        return y if t == to else np.asarray(solve_ivp(falls, (t, to), y, method="DOP853", rtol=part, atol=1e4 * part).y[:, -1])

    def missed(self, advance: Callable[..., Array], order: int, dt: float) -> float:
        """A step at the perigee, a turn or so on, against two of half of it: what it changes the velocity by there, for as long as the
        passage lasts, changes the semi-major axis, by 2 a² v dv/μ, and so what is covered in a turn. δ grows with turns, and so does that:
        four times in three turns."""
        ellipse, mu = self.ellipse, self.field.mu
        r = ellipse.a * (1.0 - math.hypot(ellipse.c, ellipse.s))
        v = math.sqrt(mu * (2.0 / r - 1.0 / ellipse.a))
        rate, far = v / r, 4.0 * 6.0 * math.pi * ellipse.a**2 * v / mu
        if self.field.bare or r < self.field.surface or far * GROSS * (rate * dt) ** order * rate * ellipse.a < 1.0:
            return 0.0                                                         # or it ends in the planet before
        E = math.atan2(ellipse.s, ellipse.c)
        t = self.start + (2.0 * math.pi - E + ellipse.s) / ellipse.n
        try:
            y = self.fallen(self.start, np.zeros(6), t, 1e-6)
            whole, half = advance(self.fall, t, dt, y), advance(self.fall, t + 0.5 * dt, 0.5 * dt, advance(self.fall, t, 0.5 * dt, y))
        except Beyond:                                                         # tables of third bodies end before
            return 0.0
        off = (whole - half) / (1.0 - 0.5**order)
        dv = float(np.linalg.norm(off[3:]) + mu / r**3 / rate * np.linalg.norm(off[:3]))
        return far * dv / (rate * dt)

    def through(self, t: float, r: Array, v: Array) -> Array:
        r_K, v_K = self.ellipse(t - self.start)
        return np.concatenate([r - r_K, v - v_K], axis=-1) if len(self.state) else np.zeros((*np.shape(r)[:-1], 0))

    def place(self, t: Any, state: Array) -> tuple[Array, Array]:
        r, v = self.ellipse(t - self.start)
        return (r + state[:3], v + state[3:]) if len(state) else (r, v)

    def pull_at(self, s: Context, state: Array, place: Array) -> Array:
        (r_O, _), field = s.origin, self.field
        return np.asarray(difference(field.mu, r_O, place) + (field.perturbation(r_O + place, s.t) - field.perturbation(r_O, s.t)))

    def act(self, s: Context, state: Array, memory: Array, command: Any) -> Effect:
        r_O, v_O = s.origin
        own = self.field.perturbation(r_O, s.t)
        wrenches, energy = {}, 0.0
        for link, T, V in zip(s.model.links, s.poses, s.twists, strict=True):
            if ops.graph_of(link.mass) is None and not link.mass:              # a mass among the parameters is none of these
                continue
            wrenches[link.name], E = self.pull(s.t, s.weighs(link.name), T, V, r_O, v_O, own)
            energy = energy + E
        signals = {"origin": r_O, "velocity": v_O, "energy": energy}
        if not len(state):
            return Effect(wrenches=wrenches, signals=signals)
        fall = difference(self.field.mu, r_O - state[:3], state[:3]) + own     # r_K to r_O's last bit
        return Effect(wrenches=wrenches, rate=np.concatenate([state[3:], fall]), signals=signals)

    def bend(self, s: Context, link: str, slopes: Sequence[Array]) -> Array:
        """Return −∂E/∂η (n) of the energy that :meth:`pull` has: h_k·(a − Γ c) + ½ tr(Γ J_k), of the field a at the centre c, its gradient
        Γ, and the slopes h_k and J_k of the first and the second moments."""
        field, T = self.field, s.pose(link)
        R, c, (r_O, _) = T[:3, :3], inertia.center(s.weighs(link)), s.origin
        rho = T[:3, 3] + R @ c
        r = r_O + rho
        a = R.T @ (difference(field.mu, r_O, rho) + (field.perturbation(r, s.t) - field.perturbation(r_O, s.t)))
        found, h = [], [inertia.first_moment(G) for G in slopes]
        if not field.gradient:
            return ops.array([x @ a for x in h])
        d = ops.norm(r)
        n = R.T @ r / d
        tensor = field.mu / (d * d * d) * (3.0 * np.outer(n, n) - np.eye(3)) + R.T @ field.tensor(r) @ R
        for G, x in zip(slopes, h, strict=True):
            J = 0.5 * np.trace(G[:3, :3]) * np.eye(3) - G[:3, :3]
            found.append(x @ (a - tensor @ c) + 0.5 * np.trace(tensor @ J))
        return ops.array(found)

    def pull(self, t: Any, G: Array, T: Array, V: Array, r_O: Array, v_O: Array, own: Array) -> tuple[Array, Any]:
        """Return the wrench (6) on a link of inertia G at the pose T, in its axes, and its energy, J, with the twist V."""
        field, R, m, c = self.field, T[:3, :3], inertia.mass(G), inertia.center(G)
        rho = T[:3, 3] + R @ c
        r = r_O + rho
        f = m * (R.T @ (difference(field.mu, r_O, rho) + (field.perturbation(r, t) - own)))
        velocity = R @ (V[3:] + ops.cross(V[:3], c))
        energy = m * (0.5 * (v_O @ v_O) + v_O @ velocity - field.potential(r, t))
        if not field.gradient:
            return np.concatenate([ops.cross(c, f), f]), energy
        I = G[:3, :3] + m * (np.outer(c, c) - c @ c * np.eye(3))               # about the centre of mass
        r2 = r @ r
        d = ops.sqrt(r2)
        n, k = R.T @ r / d, field.mu / (r2 * d)
        In, tr = I @ n, np.trace(I)
        if field.gradient != "moment":
            f = f + (1.5 * k / d) * ((5.0 * (n @ In) - tr) * n - 2.0 * In)
        moment, energy = 3.0 * k * ops.cross(n, In), energy - 0.5 * k * (tr - 3.0 * (n @ In))
        if field.zonals:
            A = R.T @ field.tensor(r) @ R @ I
            moment = moment - ops.array([A[2, 1] - A[1, 2], A[0, 2] - A[2, 0], A[1, 0] - A[0, 1]])
            energy = energy + 0.5 * np.trace(A)
        return np.concatenate([moment + ops.cross(c, f), f]), energy


def require_distant(field: GravityField, ellipse: Ellipse, t: float) -> None:
    """Refuse third bodies that pull at an orbit as a planet does, as where their places are in kilometres."""
    r = ellipse.position
    for body in field.third_bodies:
        pull, away = (float(np.linalg.norm(x)) for x in (body.acceleration(r, np.float64(t)), body.place(np.float64(t))))
        if pull > MOST_PULL * field.mu / float(r @ r):
            raise SimulationError(f"a third body of {body.mu:g} m³/s² is {away:.4g} m from the centre, and pulls {pull:.3g} m/s² more at "
                                  "the orbit than there; expected its place in m, far beyond the orbit")  # fmt: skip


def require_above(field: GravityField, ellipse: Ellipse) -> None:
    """Refuse an orbit that begins within its planet, as of kilometres, and warn of one that leads through it."""
    place, speed = ellipse.r0, float(np.linalg.norm(ellipse.velocity))
    if place < field.surface:
        raise SimulationError(f"an orbit begins {place:.6g} m from the centre of a planet whose radius is {field.radius:.6g} m; expected "
                              "metres and m/s, outside it")  # fmt: skip
    nearest = ellipse.a * (1.0 - math.hypot(ellipse.c, ellipse.s))
    if nearest < field.surface:
        warn(f"an orbit of {speed:.6g} m/s at {place:.6g} m leads {max(nearest, 0.0):.6g} m from the centre of a planet whose radius is "
             f"{field.radius:.6g} m, and through it; expected m/s, about {math.sqrt(field.mu / place):.4g} for a circle", SimulationWarning)


def mean_motion(mu: float, a: float) -> tuple[float, float]:
    """Return n = √(μ/a³), rad/s, and the period 2π/n, s, of a semi-major axis, m.

    Raises
    ------
    SimulationError : one of them is not above zero

    Warns
    -----
    SimulationWarning : it lies within what pulls so, or lasts longer than the universe

    >>> [round(x, 12) for x in mean_motion(3.986004418e14, 6778137.0)]
    [0.001131366654, 5553.624271252228]
    """
    n = motion(mu, a)
    return n, 2.0 * math.pi / n


def clohessy_wiltshire(n: float, x: Any, v: Any, t: Any) -> tuple[Array, Array]:
    """Return place and velocity (3), m and m/s, at t of what is at x, moves with v at 0, near a circular orbit of mean motion n, rad/s.

    In axes that turn with the orbit: x from the centre, y along the motion, z across; right to the first order in |x|/a.

    Raises
    ------
    SimulationError : x or v has another shape

    Reference: Clohessy & Wiltshire, *Terminal guidance system for satellite rendezvous*, J. Aerospace Sci. 27 (1960).

    >>> clohessy_wiltshire(1e-3, (0.0, 100.0, 0.0), np.zeros(3), 600.0)[0]
    array([  0., 100.,   0.])
    """
    x, v = np.asarray(x), np.asarray(v)
    for name, at in ("x", x), ("v", v):
        if at.shape[:1] != (3,):
            raise SimulationError(f"clohessy_wiltshire: {name} has shape {at.shape}; expected (3,)")
    (x0, y0, z0), (u, w, h) = x, v
    c, s = ops.cos(n * t), ops.sin(n * t)
    place = ops.array([(4.0 - 3.0 * c) * x0 + s / n * u + 2.0 * (1.0 - c) / n * w,
                       6.0 * (s - n * t) * x0 + y0 - 2.0 * (1.0 - c) / n * u + (4.0 * s / n - 3.0 * t) * w,
                       c * z0 + s / n * h])  # fmt: skip
    rate = ops.array([3.0 * n * s * x0 + c * u + 2.0 * s * w,
                      6.0 * n * (c - 1.0) * x0 - 2.0 * s * u + (4.0 * c - 3.0) * w, c * h - n * s * z0])  # fmt: skip
    return place, rate
