"""Marks that teach how bodies move: ω, Poinsot's ellipsoid with its polhode and herpolhode, screw axes, the path of the centre of mass."""

from __future__ import annotations

import numpy as np

from engine.spatial import inertia, quaternion
from engine.viewer.scene.quantities import MOST, Quantities
from engine.viewer.scene.shown import Names, Shown
from engine.viewer.scene.sources import Played, Source, States
from engine.viewer.scene.surface import sphere
from engine.viewer.scene.symbols import Symbols, chain, norms

Array = np.ndarray
RATE, BODY, SPACE, SCREW = (0.15, 0.85, 0.45, 1.0), (0.15, 0.85, 0.45, 1.0), (1.0, 0.80, 0.20, 0.9), (0.95, 0.35, 0.75, 1.0)
ROLLING, PATH = (0.25, 0.75, 0.50, 0.22), (0.95, 0.95, 0.95, 1.0)
#: of the robot's size: the longest arrow of ω; times of a motion that curves are drawn through; rad/s and m/s of no motion
LONG, TIMES, STILL = 0.8, 600, 1e-9


def teach(symbols: Symbols, source: Source, known: Quantities, now: States, poses: Array, t: float, shown: Shown) -> None:
    """Add what is shown of how one robot moves."""
    if (shown.rates or shown.polhode) and source.model.base is not None:
        show_rates(symbols, source, known, now, poses, t, shown)
    if shown.screws:
        show_screws(symbols, known, now, poses, shown.screws)
    if shown.center_path and source.moves and known.mass.any():
        show_center_path(symbols, source, known, now, t, shown.trail_time)


def show_rates(symbols: Symbols, source: Source, known: Quantities, now: States, poses: Array, t: float, shown: Shown) -> None:
    """Draw ω of the floating base at its centre of mass, and its curves in the body's axes and in the world's."""
    base = source.model.base
    assert base is not None
    i = source.model.link_index(base.joint.child)
    top = known.longest(source, now, "rate", lambda s: norms(s.v[:, base.v][:, :3]))
    if not top > STILL:
        return
    size = LONG * known.whole / top
    R, center = poses[:, i, :3, :3], (poses[:, i, :3] @ known.centers[i])
    omega = now.v[:, base.v][:, :3]
    symbols.legend.append((f"ω: longest {top:.3g} rad/s", RATE))
    symbols.arrows(center, (R @ omega[:, :, None])[..., 0] * size, RATE, 0.008 * known.whole)
    if not shown.polhode or not isinstance(source, Played):
        return
    flight = source.rollout(0)
    some = flight[:: -(-len(flight) // TIMES)]
    rates, turned = some.v[:, base.v][:, :3], quaternion.to_matrix(some.q[:, base.q][:, :4])
    until = int(np.searchsorted(some.t, t, side="right"))
    symbols.lines(chain(center[0] + size * rates @ R[0].T), BODY, 2.5)
    world = np.concatenate([(turned[:until] @ rates[:until, :, None])[..., 0], (R[0] @ omega[0])[None]])
    symbols.lines(chain(center[0] + size * world), SPACE, 2.0)
    symbols.legend += [("polhode, in the body's axes", BODY), ("herpolhode, in the world's", SPACE)]
    if len(source.model.bodies) == 1:
        symbols.place(sphere()[0].surface, poinsot(source.model.links[i].inertia, omega[0], size, poses[0, i], center[0])[None], ROLLING)


def poinsot(G: Array, omega: Array, size: float, T: Array, center: Array) -> Array:
    """Return the matrix (4, 4) that makes a ball of radius 1 the ellipsoid ωᵀ I ω = 2 K of a body of inertia G (6, 6) at a pose T, on which
    ω lies, with so many metres to a rad/s, about its centre of mass; it rolls on a plane that L is normal to.

    >>> G = inertia.box(1.0, (1.0, 2.0, 3.0))
    >>> omega = np.array([0.3, -0.2, 0.5])
    >>> A = poinsot(G, omega, 1.0, np.eye(4), np.zeros(3))
    >>> round(float(np.linalg.norm(np.linalg.solve(A[:3, :3], omega))), 12)
    1.0
    """
    m, c = float(inertia.mass(G)), inertia.center(G)
    moments, axes = np.linalg.eigh(G[:3, :3] - m * (c @ c * np.eye(3) - np.outer(c, c)))
    twice = float(omega @ (axes * moments) @ axes.T @ omega)
    A = np.eye(4)
    A[:3, :3] = T[:3, :3] @ axes * (np.linalg.det(axes) * size * np.sqrt(twice / np.maximum(moments, 1e-300)))
    A[:3, 3] = center
    return A


def show_screws(symbols: Symbols, known: Quantities, now: States, poses: Array, named: Names) -> None:
    """Draw the axes about which links turn and along which they slide now, with the pitch, m to a radian."""
    links = known.model.links
    chosen = range(len(links)) if named is True else [known.model.link_index(n) for n in (named or ())]
    for i in chosen:
        V = (known.robot.jacobian(now.q, links[i].name) @ now.v[:, :, None])[..., 0]
        R, p = poses[:, i, :3, :3], poses[:, i, :3, 3]
        w, v = ((R @ x[:, :, None])[..., 0] for x in (V[:, :3], V[:, 3:]))
        for k in np.flatnonzero(norms(w) > STILL):
            point, along, pitch = screw(w[k], v[k], p[k])
            foot = point + ((p[k] - point) @ along) * along                    # beside the link
            symbols.center_lines(foot[None], along[None], 0.7 * known.whole, SCREW)
            symbols.arrows(foot[None], 0.35 * known.whole * along[None], SCREW, 0.006 * known.whole)
            if not k:
                symbols.labels.append((foot + 0.4 * known.whole * along, f"{links[i].name}: {pitch:+.3g} m/rad".replace("-", "−"), SCREW))


def screw(w: Array, v: Array, p: Array) -> tuple[Array, Array, float]:
    """Return a point (3) of the axis of a twist, its direction (3), and its pitch, of ω and the velocity v of a point p.

    >>> point, along, pitch = screw(np.array([0.0, 0.0, 2.0]), np.array([0.0, 1.0, 0.4]), np.zeros(3))
    >>> point.tolist(), along.tolist(), pitch
    ([-0.5, 0.0, 0.0], [0.0, 0.0, 1.0], 0.2)
    """
    square = float(w @ w)
    return p + np.cross(w, v) / square + 0.0, w / np.sqrt(square), float(w @ v) / square


def show_center_path(symbols: Symbols, source: Source, known: Quantities, now: States, t: float, lasts: float) -> None:
    """Draw the path of the centre of mass of all that moves over the last seconds."""
    first = max(t - lasts, source.span[0])
    times = np.linspace(first, t, 120) if isinstance(source, Played) and t > first else np.array([t])
    q = source.configurations(times)[:MOST] if isinstance(source, Played) else now.q[:, None]
    poses = source.links(q)
    centers = np.einsum("l,ntli->nti", known.mass, (poses[..., :3, :] @ known.centers[:, :, None])[..., 0]) / known.mass.sum()
    for path in centers:
        symbols.lines(chain(path), PATH, 2.5)
    symbols.balls(centers[:, -1], np.full(len(centers), 0.02 * known.whole))
