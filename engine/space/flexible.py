"""A link that bends by its modes: inertia, momentum and forces of small bending to the first or the second order."""

from __future__ import annotations

import itertools
import math
import types
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from engine import ops
from engine.checks import number, numbers, one_of, shown, warn, whole
from engine.components.actuators import require_moving
from engine.components.component import Component, Context, Effect, SimulationError, SimulationWarning
from engine.components.forces import MOMENTUM, WRENCH
from engine.dynamics.modal_momentum import Bend
from engine.model import Model
from engine.space.beams import beam_modes, end_slope, positive
from engine.spatial import inertia, se3, so3

Array = np.ndarray
#: where a beam lies, and the inertia across it, per ∫ x²
ALONG, ACROSS = np.eye(3)[0], np.diag([0.0, 1.0, 1.0])
#: of the first mode's frequency: how fast a link with modes of the first order may turn
FAST = 0.1


@dataclass(frozen=True, eq=False)
class Modes:
    """Mode shapes φ_i of a link, by integrals over its mass about the link's origin, in its axes (n modes).

    Parameters
    ----------
    stiffness, damping : K and Z (n, n); mass : M (n, n), one by default
    S0, S2 : ∫ φ_i and ∫ r × φ_i (3, n)
    S3 : ∫ φ_i × φ_j (n, n, 3)
    C : ∫ (r·φ_i 1 − r φ_iᵀ) (n, 3, 3)
    D : ∫ (φ_i·φ_j 1 − φ_i φ_jᵀ) (n, n, 3, 3); zero: to the first order
    spin, pull : ∫ φ_i' φ_j' ∫_x m̄ ξ and ∫ φ_i' φ_j' ∫_x m̄ of a beam along x (n, n), by which its mass comes nearer as it bends, by
        ½ ηᵀ (…) η: so turning about y and z, and pulling along x, stiffen it
    tip : Φ, the turn and the shift of its end by the modes (6, n); place : of the end, m (3)
    short : by which the end comes nearer along x as it bends, by ½ ηᵀ (…) η (n, n), 1/m

    Raises
    ------
    SimulationError : a matrix has another shape, K or M is not symmetric and positive, Z not from zero

    >>> import numpy as np
    >>> from engine.space import Modes
    >>> beam = Modes.beam(length=1.0, mass=1.0, EI=1.0, n=1)
    >>> print(np.sqrt(beam.stiffness[0, 0]).round(6))  # rad/s: β² √(EI/(m l³)), 1.875104²
    3.516015
    """

    stiffness: Any
    S0: Any
    S2: Any
    S3: Any
    C: Any
    D: Any = None
    damping: Any = None
    mass: Any = None
    spin: Any = None
    pull: Any = None
    tip: Any = None
    place: Any = None
    short: Any = None

    def __post_init__(self) -> None:
        n = len(np.atleast_2d(self.stiffness))
        shapes = {"stiffness": (n, n), "damping": (n, n), "mass": (n, n), "spin": (n, n), "pull": (n, n), "S0": (3, n), "S2": (3, n),
                  "S3": (n, n, 3), "C": (n, 3, 3), "D": (n, n, 3, 3), "tip": (6, n), "place": (3,), "short": (n, n)}  # fmt: skip
        for name, shape in shapes.items():
            given = getattr(self, name)
            x = (np.eye(n) if name == "mass" else np.zeros(shape)) if given is None else numbers(f"modes' {name}", given, SimulationError)
            if x.shape != shape:
                raise SimulationError(f"modes' {name} has shape {x.shape}; expected {shape}")
            object.__setattr__(self, name, x)
        for name, least in (("stiffness", 1e-300), ("mass", 1e-300), ("damping", -1e-12), ("spin", -np.inf), ("pull", -np.inf)):
            x = getattr(self, name)
            if not np.allclose(x, x.T, rtol=1e-9, atol=0.0) or np.linalg.eigvalsh(x)[0] < least:
                raise SimulationError(f"modes' {name} is not symmetric and positive; expected a matrix of a structure that gives way")

    @classmethod
    def from_craig_bampton(cls, M: Any, K: Any, damping: float = 0.0) -> tuple[Modes, Array]:
        """Return the modes, and the inertia G₀ (6×6) of what is straight, of matrices reduced by Craig and Bampton to an interface whose
        six motions [turns; shifts] come first and n fixed-interface modes: L = M_bq, G₀ = M_bb, K = K_qq.

        Such matrices know nothing of how inertia changes with bending: C, D and K_g are zero, which holds for slow turning, below a tenth
        of the first mode's frequency. ``damping`` is ζ of each mode.

        Raises
        ------
        SimulationError : M and K are no square matrices of one size; M_bb is no rigid body's to 1e-6, or K_qq not positive

        Reference: Craig & Bampton, *Coupling of substructures for dynamic analyses*, AIAA J. 6 (1968).

        >>> modes, G = Modes.from_craig_bampton(np.eye(7), np.diag([0, 0, 0, 0, 0, 0, 4.0]))
        >>> modes.stiffness, float(G[5, 5])
        (array([[4.]]), 1.0)
        """
        M, K = numbers("M", M, SimulationError), numbers("K", K, SimulationError)
        if M.ndim != 2 or M.shape != K.shape or M.shape[0] != M.shape[1] or len(M) < 7:
            raise SimulationError(f"M and K have the shapes {M.shape} and {K.shape}; expected two of (6 + n, 6 + n)")
        G, coupled, own = M[:6, :6], M[:6, 6:], K[6:, 6:]
        m = np.trace(G[3:, 3:]) / 3.0
        h = 0.5 * (so3.vee(G[:3, 3:]) + so3.vee(G[3:, :3].T))
        rigid = np.block([[G[:3, :3], so3.hat(h)], [-so3.hat(h), m * np.eye(3)]])
        if np.abs(rigid - G).max() > 1e-6 * np.abs(G).max():
            raise SimulationError(f"M_bb differs from a rigid body's inertia by {np.abs(rigid - G).max():.3g}; expected one to 1e-6 of it, "
                                  "[turns; shifts] about the interface")  # fmt: skip
        n = len(own)
        L = np.linalg.cholesky(M[6:, 6:])
        squares, V = np.linalg.eigh(np.linalg.solve(L, np.linalg.solve(L, own).T))
        Z = L @ V @ np.diag(2.0 * damping * np.sqrt(np.maximum(squares, 0.0))) @ V.T @ L.T
        return cls(own, coupled[3:], coupled[:3], np.zeros((n, n, 3)), np.zeros((n, 3, 3)), damping=0.5 * (Z + Z.T), mass=M[6:, 6:]), rigid

    @classmethod
    def beam(cls, length: float, mass: float, EI: float, n: int, root: float = 0.0, damping: float = 0.0, order: str = "full",
             stiffening: bool = True) -> Modes:  # fmt: skip
        """Return the first n modes in y, and n in z, of a uniform beam along x that is fixed at x = ``root``; mass-normalised.

        Parameters
        ----------
        damping : ζ of each mode
        order : "full", with D, or "first": turning about z softens what bends in y by D
        stiffening : whether turning and pulling stiffen, K_g = ∫ N φ_i' φ_j' with N = ∫_x m̄ ((ω_y² + ω_z²) ξ − a_x), ξ from the link's
            origin and a_x its acceleration along the beam, less gravity

        >>> round(float(Modes.beam(1.0, 1.0, 1.0, 1).spin[0, 0]), 9)
        1.193336374
        """
        length, mass, EI = positive(length=length, mass=mass, EI=EI)
        n = whole("n", n, "a whole number from 1", least=1, error=SimulationError)
        one_of("order", order, ("full", "first"), SimulationError)
        zeta = number("damping", damping, "ζ from 0", least=0.0, error=SimulationError)
        found, y, z = beam_modes(n), np.eye(3)[1], np.eye(3)[2]
        k, unit = math.sqrt(mass), np.array([y] * n + [z] * n)
        a = k * np.array([m.a for m in found] * 2)
        b = k * np.array([length * m.b + root * m.a for m in found] * 2)
        w = np.array([m.beta**2 * math.sqrt(EI / (mass * length**3)) for m in found] * 2)
        same = np.kron(np.ones((2, 2)), np.eye(n))                             # ∫ φ_i φ_j of shapes, whatever their plane
        across = np.array([[np.cross(u, v) for v in unit] for u in unit])
        D = np.array([[(u @ v) * np.eye(3) - np.outer(u, v) for v in unit] for u in unit])
        spin, pull, short = (np.kron(np.eye(2), x) if stiffening else None for x in stiffened(n, length, root))
        short = None if short is None else short / mass
        end = 2.0 * np.array([(-1.0) ** i for i in range(n)] * 2) / k           # φ and φ' of a cantilever's end, mass-normalised
        slope = end * np.array([end_slope(m) for m in found] * 2) / length
        tip = np.concatenate([np.cross(np.eye(3)[0], unit).T * slope, end * unit.T])
        return cls(np.diag(w * w), a * unit.T, np.cross(np.eye(3)[0], unit).T * b, same[..., None] * across,
                   np.array([-s * np.outer(np.eye(3)[0], u) for s, u in zip(b, unit, strict=True)]),
                   same[..., None, None] * D if order == "full" else None, np.diag(2.0 * zeta * w), None, spin, pull,
                   tip, np.array([root + length, 0.0, 0.0]), short)  # fmt: skip

    def with_tip(self, G: Any) -> Modes:
        """Return the modes with a rigid body of inertia G (6×6) on their end, about it, in the link's axes: an antenna, a camera, a mass.

        Modes stay those of the bare structure, so that many are needed where what they carry is heavy; its turns count to the first order
        in η, its mass as the modes' own does. The link's own inertia is to have G at ``place`` too
        (:func:`engine.spatial.inertia.transformed`).

        Raises
        ------
        SimulationError : modes without a ``tip``, or G is no rigid body's

        >>> modes = Modes.beam(2.0, 3.0, 5.0, 1).with_tip(inertia.sphere(0.5, 0.1))
        >>> bool(modes.mass[0, 0] > 1.0 + 0.5 * 4.0 / 3.0)                      # φ(l)² is 4/m
        True
        """
        G = numbers("a tip's inertia", G, SimulationError)
        if G.shape != (6, 6) or not inertia.is_rigid(G) or not self.tip.any():
            raise SimulationError("a tip wants the inertia (6, 6) of a rigid body, and modes with a tip, such as Modes.beam; expected both")
        m, c, turn, shift = inertia.mass(G), inertia.center(G), self.tip[:3], self.tip[3:]
        phi, r, P = shift + np.cross(turn.T, c).T, self.place + c, se3.pose(np.eye(3), self.place)
        L = inertia.transformed(P, G) @ np.concatenate([turn, shift - np.cross(turn.T, self.place).T])      # of the link's origin's motion
        S3 = m * np.cross(phi.T[:, None], phi.T[None])
        C = m * ((r @ phi)[:, None, None] * np.eye(3) - np.einsum("a,bi->iab", r, phi))
        D = m * ((phi.T @ phi)[..., None, None] * np.eye(3) - np.einsum("ai,bj->ijab", phi, phi)) if self.D.any() else None
        return replace(self, mass=self.mass + self.tip.T @ G @ self.tip, S0=self.S0 + L[3:], S2=self.S2 + L[:3], S3=self.S3 + S3,
                       C=self.C + C, D=None if D is None else self.D + D, spin=self.spin + m * r[0] * self.short,
                       pull=self.pull + m * self.short)  # fmt: skip


def stiffened(n: int, length: float, root: float) -> tuple[Array, ...]:
    """Return ∫ N φ_i' φ_j' dx (n, n) of a beam's mass-normalised modes, N = ∫_x m̄ (root + ξ) dξ, ∫_x m̄ dξ and the beam's mass, by Gauss's
    rule on pieces."""
    x, weight = np.polynomial.legendre.leggauss(8)
    edges = np.linspace(0.0, 1.0, 4 * n + 5)
    s = np.concatenate([0.5 * (a + b) + 0.5 * (b - a) * x for a, b in itertools.pairwise(edges)])
    ds = np.concatenate([0.5 * (b - a) * weight for a, b in itertools.pairwise(edges)])
    slopes = []
    for m in beam_modes(n):
        t, u = m.beta * s, 0.5 * m.a * m.beta                                  # σ = a β/2
        slopes.append(m.beta * (np.sinh(t) + np.sin(t) - u * (np.cosh(t) - np.cos(t))))
    loads = (root + 0.5 * length) - (root * s + 0.5 * length * s * s), 1.0 - s, 1.0     # per mass, which shapes have been divided by
    return tuple(np.array([[np.sum(ds * N * p * q) for q in slopes] for p in slopes]) / length for N in loads)


class FlexibleBody(Component):
    """A link that bends: its modes' coordinates η and momenta π are states, coupled with the link's motion as the kinetic energy says.

    T = ½ Vᵀ G(η) V + Vᵀ L(η) η̇ + ½ η̇ᵀ M η̇. With π = Lᵀ V + M η̇, which knows no acceleration, the link moves as a body of the inertia
    G − L M⁻¹ Lᵀ (no rigid one's) that carries the momentum b = L M⁻¹ π::

        η̇ = M⁻¹ (π − Lᵀ V),   π̇_k = ½ Vᵀ G_k V + Vᵀ L_k η̇ − (K η + Z η̇)_k,   wrench −(G − L M⁻¹ Lᵀ)˙ V − ḃ − V ×* b           (1)

    G = G₀ + Σ η_k …, L = [S2 + Σ η_i S3_i; S0], and G_k, L_k their derivatives, with what comes nearer as it bends (``spin``, ``pull``);
    G₀, the link's own inertia in the robot, is that of link and straight panel, with what is on its end (:meth:`Modes.with_tip`). It is a
    leaf: what hangs on the link by joints hangs on its rigid frame; a joint on the end of something that bends is for :func:`add_modes`
    (``tip=``) and :func:`add_chain`. Loads at its end are its command. Momentum, :meth:`Trajectory.momentum` and its own signal, is kept to
    rounding. In an orbit its modes feel the field, and its gradient by their size.

    Parameters
    ----------
    link : that bends
    modes : a :class:`Modes`
    initial : η and η̇ at first (2, n)

    A simulation's parameters "name.stiffness" and "name.damping", (n, n), are other K and Z, for a batch's rows.

    Command: [moment; force] (6) on the end, in the link's axes, N·m and N, of modes with a ``tip``.

    Signals: ``eta``, ``rate`` (n), ``momentum`` (6), world axes, about the world's origin: what is the robot's besides
    :meth:`Trajectory.momentum`; ``energy``, J, besides its kinetic one.

    References: Likins, *Finite element appendage equations*, JPL TR 32-1329 (1969); Wasfy & Noor, Appl. Mech. Rev. 56 (2003).

    >>> FlexibleBody("hub", Modes.beam(10.0, 20.0, 1000.0, 2, root=1.0)).state.shape
    (8,)
    """

    rigid = False
    units = types.MappingProxyType({"": WRENCH, "momentum": MOMENTUM})

    def __init__(self, link: str, modes: Modes, initial: Any = None, name: str = "") -> None:
        self.link, self.modes, self.name = link, modes, name or f"modes of {link}"
        if not isinstance(modes, Modes):
            raise SimulationError(f"{self.name}: modes are {shown(modes)}; expected an engine.space.Modes, such as Modes.beam(…)")
        self.n = n = len(modes.stiffness)
        self.initial = np.zeros((2, n)) if initial is None else numbers(f"{self.name}: initial", initial, SimulationError)
        if self.initial.shape != (2, n):
            raise SimulationError(f"{self.name}: initial has shape {self.initial.shape}; expected η and η̇, (2, {n})")
        self.command = (6,) if np.any(modes.tip) else None
        self.inverse = np.linalg.inv(modes.mass)
        self.first_order = not (np.any(modes.D) or np.any(modes.spin))
        self.state = np.concatenate([self.initial[0], modes.mass @ self.initial[1]])

    def bind(self, model: Model, dt: float) -> None:
        require_moving(model, self.link, self.name)
        self.own = np.array(model.link(self.link).inertia)
        if np.linalg.eigvalsh(self.effective(np.zeros(self.n)) + self.own)[0] < -1e-9 * np.abs(self.own).max():
            raise SimulationError(f"{self.name}: its modes carry more than '{self.link}' weighs; expected the inertia of link and panel")

    def require_parameter(self, what: str, x: Array, shape: tuple[int, ...]) -> None:
        if what in ("stiffness", "damping"):
            if shape != (self.n, self.n):
                raise SimulationError(f"parameter '{self.name}.{what}' has shape {shape}; expected {(self.n, self.n)}")
            if np.abs(x - np.swapaxes(x, -1, -2)).max() > 1e-9 * np.abs(x).max() or np.linalg.eigvalsh(x).min() < -1e-12:
                raise SimulationError(f"parameter '{self.name}.{what}' is not symmetric and from zero; expected a matrix of a structure")

    def begun(self, s: Context) -> Array:
        """Return its state at first (2 n), of η̇ and the link's twist: π = Lᵀ V + M η̇."""
        eta, rate = self.initial
        w = math.sqrt(np.linalg.eigvals(self.inverse @ self.modes.stiffness).real.min())
        known = ops.graph_of(twist := s.twist(self.link)) is None
        if known and self.first_order and (turn := float(np.linalg.norm(twist[:3]))) > FAST * w:
            warn(f"{self.name}: '{self.link}' turns at {turn:.3g} rad/s, and its modes are of the first order, from {w:.3g} rad/s: they "
                 f"know nothing of what turning stiffens; expected less than {FAST:g} of that", SimulationWarning)  # fmt: skip
        return np.concatenate([eta, self.coupling(eta).T @ twist + self.modes.mass @ rate])

    # ------------------------------------------------------------ inertia and its derivatives

    def coupling(self, eta: Array) -> Array:
        """Return the coupling matrix L(η) (6, n) of body and modes: the modes' momenta are Lᵀ V + M η̇."""
        turned = self.modes.S2 + sum((e * self.modes.S3[i].T for i, e in enumerate(eta)), np.zeros((3, self.n)))
        return np.concatenate([turned, self.modes.S0 - np.outer(ALONG, self.modes.pull @ eta)])

    def change(self, eta: Array) -> Array:
        """Return G(η) − G₀ (6×6)."""
        I: Any = np.zeros((3, 3))
        for i, e in enumerate(eta):
            I = I + e * (self.modes.C[i] + self.modes.C[i].T)
            I = I + sum((e * f * self.modes.D[i, j] for j, f in enumerate(eta)), np.zeros((3, 3)))
        I = I - (eta @ (self.modes.spin @ eta)) * ACROSS
        H = so3.hat(self.modes.S0 @ eta - 0.5 * (eta @ (self.modes.pull @ eta)) * ALONG)
        return np.block([[I, H], [-H, np.zeros((3, 3))]])

    def slope(self, k: int, eta: Array) -> tuple[Array, Array]:
        """Return ∂G/∂η_k (6×6) and ∂L/∂η_k (6, n)."""
        m = self.modes
        I = m.C[k] + m.C[k].T + sum((e * (m.D[k, j] + m.D[j, k]) for j, e in enumerate(eta)), np.zeros((3, 3)))
        I = I - 2.0 * (m.spin[k] @ eta) * ACROSS
        H = so3.hat(m.S0[:, k] - (m.pull[k] @ eta) * ALONG)
        return np.block([[I, H], [-H, np.zeros((3, 3))]]), np.concatenate([m.S3[k].T, -np.outer(ALONG, m.pull[k])])

    def effective(self, eta: Array) -> Array:
        """Return the link's inertia, less G₀, where π is held: G − G₀ − L M⁻¹ Lᵀ (6×6)."""
        L = self.coupling(eta)
        return self.change(eta) - L @ self.inverse @ L.T

    def bodies(self, state: Array, rate: Any) -> Mapping[str, tuple[Array, Any]]:
        return {self.link: (self.effective(state[: self.n]), None)}

    def modal(self, state: Array) -> Mapping[str, Bend]:
        L = self.coupling(state[: self.n]) @ self.inverse
        return {self.link: Bend(L @ self.modes.mass @ L.T, L @ state[self.n :])}

    # ------------------------------------------------------------ motion

    def act(self, s: Context, state: Array, memory: Array, command: Any) -> Effect:
        m, n, Mi = self.modes, self.n, self.inverse
        eta, pi, V, T = state[:n], state[n:], s.twist(self.link), s.pose(self.link)
        R, L = T[:3, :3], self.coupling(eta)
        rate = Mi @ (pi - L.T @ V)
        slopes = [self.slope(k, eta) for k in range(n)]
        Gdot = sum((e * G for e, (G, _) in zip(rate, slopes, strict=True)), np.zeros((6, 6)))
        Ldot = sum((e * own for e, (_, own) in zip(rate, slopes, strict=True)), np.zeros((6, n)))
        pushed, moved = self.pushed(eta, command)
        K, Z = (s.parameters.get(f"{self.name}.{what}", getattr(m, what)) for what in ("stiffness", "damping"))
        forces = ops.array([0.5 * (V @ (G @ V)) + V @ (own @ rate) for G, own in slopes]) - K @ eta - Z @ rate + moved
        fallen = np.concatenate([np.zeros(3), R.T @ np.asarray(s.gravity)])
        forces = forces + (L.T @ fallen if s.frame is None else s.frame.bend(s, self.link, [G for G, _ in slopes]))
        b, more = L @ (Mi @ pi), L @ Mi @ L.T
        change = Ldot @ (Mi @ pi) + L @ (Mi @ forces)
        fall = Gdot - Ldot @ Mi @ L.T - L @ Mi @ Ldot.T
        turned = np.concatenate([ops.cross(V[:3], b[:3]) + ops.cross(V[3:], b[3:]), ops.cross(V[:3], b[3:])])
        inner = -(fall @ V + change + turned)
        carried = se3.wrench_to_parent(T, b)
        energy = 0.5 * (pi @ (Mi @ pi)) + 0.5 * (eta @ (K @ eta))
        if s.frame is None:                                                    # what the potential of the inertia's weight lacks
            energy = energy - np.asarray(s.gravity) @ (more[5, 5] * T[:3, 3] + R @ inertia.first_moment(more))
        else:                                                                  # what the origin's speed makes of the modes' momentum
            energy = energy + s.origin[1] @ (R @ (L @ rate)[3:])
        return Effect(wrenches={self.link: inner + more @ fallen + pushed}, rate=np.concatenate([rate, forces]), inner={self.link: inner},
                      signals={"eta": eta, "rate": rate, "momentum": carried, "energy": energy})  # fmt: skip

    def pushed(self, eta: Array, command: Any) -> tuple[Any, Any]:
        """Return the wrench (6) on the link, and the forces (n) on the modes, of a wrench (6) on the end."""
        if command is None:
            return np.zeros(6), np.zeros(self.n)
        m = self.modes
        arm = m.place + m.tip[3:] @ eta
        return np.concatenate([command[:3] + ops.cross(arm, command[3:]), command[3:]]), m.tip.T @ command
