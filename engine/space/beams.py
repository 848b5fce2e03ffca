"""Panels and booms: beams as chains of pieces, or as their modes, in a robot that is built by hand."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from engine.checks import number, numbers, one_of, whole
from engine.components.assembly import SPRUNG
from engine.components.component import SimulationError
from engine.components.forces import JointSpring
from engine.model import Builder, Mimic
from engine.space.slosh import add_mass
from engine.spatial import inertia, se3

Array = np.ndarray


class BeamMode(NamedTuple):
    """A bending mode of a uniform cantilever of mass and length 1, with ∫φ² = 1: β of cos β cosh β = −1, a = ∫φ and b = ∫xφ.

    >>> from engine.space import beam_modes
    >>> round(beam_modes(1)[0].beta, 6)  # of cos β cosh β = −1
    1.875104
    """

    beta: float
    a: float
    b: float


def beam_modes(n: int) -> list[BeamMode]:
    """Return the first n bending modes of a uniform cantilever.

    φ = cosh βx − cos βx − σ (sinh βx − sin βx), σ = (cosh β + cos β)/(sinh β + sin β); a = 2σ/β, b = 2/β².
    Reference: Rao, *Mechanical Vibrations*, §8.5.

    >>> [round(x, 9) for x in beam_modes(1)[0]]
    [1.875104069, 0.782991756, 0.568825744]
    """
    found = []
    for k in range(n):
        x = 1.875 if k == 0 else (k + 0.5) * math.pi
        for _ in range(20):
            x -= (math.cos(x) + 1.0 / math.cosh(x)) / (-math.sin(x) - math.tanh(x) / math.cosh(x))
        c, s = 1.0 / math.cosh(x), math.tanh(x)
        sigma = (1.0 + math.cos(x) * c) / (s + math.sin(x) * c)
        found.append(BeamMode(x, 2.0 * sigma / x, 2.0 / (x * x)))
    return found


def add_chain(builder: Builder, link: str, length: float, mass: float, EI: float, n: int, placement: Any = np.eye(4), damping: float = 0.0,
              name: str = "beam") -> list[JointSpring]:  # fmt: skip
    """Add a beam along x, which bends in z, to a link: n hinges with springs n EI/l, at the middles of n pieces.

    Half a piece is fixed to the link, and one ends the chain; errors of frequencies fall as 1/n² (hinges at the pieces' ends, with n EI/l
    at the root too, as 1/n). It bends by as much as one likes.

    Parameters
    ----------
    length, mass : of the beam, m and kg
    EI : its stiffness in bending, N·m²
    placement : of its root in the link's frame: a place (3), or a pose (4, 4)
    damping : of a hinge by its stiffness, s: ζ of a mode is half of it times ω

    Returns
    -------
    springs : for a simulator's ``forces``

    Raises
    ------
    SimulationError : a number is not above zero; ModelError : the link is not there, or the name is taken

    Examples
    --------
    >>> import engine
    >>> builder = engine.Builder("satellite")
    >>> _ = builder.add_link("hub", inertia=engine.spatial.inertia.sphere(400.0, 1.0))
    >>> springs = add_chain(builder, "hub", length=10.0, mass=20.0, EI=1000.0, n=5)
    >>> builder.model(floating_base=True).nv, springs[0].stiffness
    (11, 500.0)
    """
    length, mass, EI = positive(length=length, mass=mass, EI=EI)
    n = whole("n", n, "a whole number from 1", least=1, error=SimulationError)
    piece, before = length / n, link
    pieces = [0.5 * piece, *[piece] * (n - 1), 0.5 * piece]
    damping, springs, at = number("damping", damping, "s from 0", least=0.0, error=SimulationError), [], pose_of(name, placement)
    for k, size in enumerate(pieces):
        own = f"{name} {k}"
        builder.add_link(own, rod(mass * size / length, size))
        if k == 0:
            builder.add_joint(f"{own} joint", "fixed", before, own, at)
        else:
            builder.add_joint(f"{own} joint", "revolute", before, own, at, axis=(0.0, -1.0, 0.0))
            builder.graph.edges[before, own][SPRUNG] = "add_chain"
            springs.append(JointSpring(f"{own} joint", n * EI / length, damping=damping * n * EI / length))
        before, at = own, se3.pose(np.eye(3), [size, 0.0, 0.0])
    return springs


def end_slope(m: BeamMode) -> float:
    """Return l φ'/φ at the end of a cantilever's mode: β (1/tan β + 1/tanh β)."""
    return m.beta * (1.0 / math.tan(m.beta) + 1.0 / math.tanh(m.beta))


def add_modes(builder: Builder, link: str, length: float, mass: float, EI: float, n: int, kind: str = "points", placement: Any = np.eye(4),
              damping: float = 0.0, name: str = "beam", tip: str | None = None) -> list[JointSpring]:  # fmt: skip
    """Add a beam along x, which bends little, in z, to a link: each of its first n modes is a point mass on a spring.

    With a = ∫φ and b = ∫xφ, mass-normalised, a mode is a mass a² that slides in z at b/a from the root, with the spring a² ω²: forces and
    moments on the root are the mode's. What they leave of the rigid beam goes to the link. In one plane of bending it is exact; momentum
    and its projection need nothing new.

    Parameters are those of :func:`add_chain`; ``damping`` is ζ of each mode; ``kind`` is "points". ``tip`` is the name of a link that is
    added at the beam's free end and goes with it, by Σ φ_i(l) η_i and turned by Σ φ_i'(l) η_i, as joints that mimic the modes': whatever
    hangs on it, an antenna, an arm, loads, bends the beam.

    Returns
    -------
    springs : for a simulator's ``forces``

    Raises
    ------
    SimulationError : a number is not above zero, or the link is not there

    Examples
    --------
    >>> import engine
    >>> builder = engine.Builder("satellite")
    >>> _ = builder.add_link("hub", inertia=engine.spatial.inertia.sphere(400.0, 1.0))
    >>> springs = add_modes(builder, "hub", length=10.0, mass=20.0, EI=1000.0, n=2)
    >>> builder.model(floating_base=True).nv
    8
    """
    one_of("kind", kind, ("points",), SimulationError)
    length, mass, EI = positive(length=length, mass=mass, EI=EI)
    n = whole("n", n, "a whole number from 1", least=1, error=SimulationError)
    damping = number("damping", damping, "ζ from 0", least=0.0, error=SimulationError)
    if link not in builder.graph:
        raise SimulationError(f"'{name}' is to be part of the link '{link}', which is not there; expected add_link first")
    root, rest, springs = pose_of(name, placement), rod(mass, length), []
    for k, mode in enumerate(beam_modes(n)):
        m, lever, w = mass * mode.a**2, length * mode.b / mode.a, mode.beta**2 * math.sqrt(EI / (mass * length**3))
        own, joint = f"{name} mode {k + 1}", f"{name} mode {k + 1} joint"
        place = se3.pose(np.eye(3), [lever, 0.0, 0.0])
        G = inertia.from_mass(m, np.zeros(3), np.zeros((3, 3)))
        builder.add_link(own, G)
        builder.add_joint(joint, "prismatic", link, own, root @ place, axis=(0.0, 0.0, 1.0))
        builder.graph.edges[link, own][SPRUNG] = "add_modes"
        springs.append(JointSpring(joint, m * w * w, damping=2.0 * damping * m * w))
        rest = rest - inertia.transformed(place, G)
    if np.linalg.eigvalsh(rest)[0] < -1e-9 * mass * max(1.0, length**2):
        raise SimulationError(f"what {n} modes leave of '{name}' has no positive inertia; expected fewer")
    add_mass(builder, link, inertia.transformed(root, rest))
    if tip is not None:
        add_tip(builder, link, root @ se3.pose(np.eye(3), [length, 0.0, 0.0]), springs, length, tip)
    return springs


def add_tip(builder: Builder, link: str, at: Array, springs: list[JointSpring], length: float, tip: str) -> None:
    """Add a link at a beam's free end: each mode shifts it in z by a φ(l) of its joint, φ(l) = 2 (−1)^k, and all turn it about −y."""
    modes = list(enumerate(zip(beam_modes(len(springs)), springs, strict=True)))
    steps = [("prismatic", (0.0, 0.0, 1.0), spring.joint, 2.0 * (-1.0) ** k * m.a) for k, (m, spring) in modes]
    steps += [("revolute", (0.0, -1.0, 0.0), spring.joint, 2.0 * (-1.0) ** k * m.a * end_slope(m) / length) for k, (m, spring) in modes]
    before = link
    for k, (kind, axis, source, ratio) in enumerate(steps, 1):
        own = tip if k == len(steps) else f"{tip} {k}"
        builder.add_link(own)
        builder.add_joint(f"{own} joint", kind, before, own, at, axis=axis, mimic=Mimic(source, ratio, 0.0))
        before, at = own, np.eye(4)


def pose_of(name: str, placement: Any) -> Array:
    """Return the pose (4, 4) of a place (3) or a pose."""
    place = numbers(f"the placement of '{name}'", placement, SimulationError)
    if place.shape not in ((3,), (4, 4)):
        raise SimulationError(f"the placement of '{name}' has shape {place.shape}; expected a place (3), or a pose (4, 4)")
    return se3.pose(np.eye(3), place) if place.shape == (3,) else place


def rod(mass: float, length: float) -> Array:
    """Return the inertia (6×6) of a thin rod along x about its beginning."""
    across = mass * length**2 / 12.0
    return inertia.from_mass(mass, np.array([0.5 * length, 0.0, 0.0]), np.diag([0.0, across, across]))


def positive(**given: Any) -> list[float]:
    """Return numbers; refuse those that are not above zero, by name."""
    return [number(f"a beam's {what}", x, "a number above 0", above=0.0, error=SimulationError) for what, x in given.items()]
