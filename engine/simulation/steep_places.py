"""Search for states where a force is steepest (sliding modes, saturation, walls, taut ropes), for the stiffness test.

Slopes that differ have a bend of the forces between them. On lines through all that joints reach, the largest bend is followed through
ever shorter pieces, and the slopes beside it are those that count. Forces that are straight on all lines have the same slopes everywhere.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from engine.model import Model

Array = np.ndarray
#: diagonals of the box of what joints reach and of their speeds; pieces that a line is cut into, how often
LINES, PIECES, TIMES = 8, 32, 6
#: rad or m: how far a joint without a limit is looked at; rad/s or m/s: how fast
REACH, SPEED = np.pi, 1.0
#: of the largest force: less is straight, but for rounding
STRAIGHT = 1e-9
#: times the median of what a law asks for: more is beside a pole, as of laws that have singular postures, and nobody is there
ORDINARY = 4.0
#: times the median of the bends on a line: less is round, and nothing to follow
SMOOTH = 10.0
#: where a line is looked at first, at its ends and between
FIRST = np.array([0.0, 0.382, 1.0])


def lines(model: Model) -> Callable[[Array], tuple[Array, Array]]:
    """Return the map of s (..., LINES) from 0 to 1 to q (..., LINES, nq) and v (..., LINES, nv) on lines on which every coordinate of
    joints goes from an end of its range to the other, and its velocity from one sign to the other; what floats is at its place."""
    rng, neutral = np.random.default_rng(0), model.neutral()
    middle, half = np.zeros(model.nv), np.full(model.nv, 1.0)
    for b in model.bodies:
        if b.kind.floats:
            half[b.v] = 0.0
        elif b.kind.nq == b.kind.nv == 1 and not b.mimics:
            low, high = b.joint.limits.lower, b.joint.limits.upper
            low, high = (low if np.isfinite(low) else min(high, REACH) - 2.0 * REACH if np.isfinite(high) else -REACH,
                         high if np.isfinite(high) else max(low, -REACH) + 2.0 * REACH if np.isfinite(low) else REACH)  # fmt: skip
            middle[b.v], half[b.v] = 0.5 * (low + high) - neutral[b.q], 0.5 * (high - low)
    ways, speeds = rng.choice([-1.0, 1.0], (2, LINES, model.nv))
    speeds = SPEED * np.where(half > 0.0, speeds, 0.0)

    def at(s: Array) -> tuple[Array, Array]:
        along = (2.0 * s - 1.0)[..., None]
        return model.manifold.plus(np.broadcast_to(neutral, (*s.shape, model.nq)), middle + along * half * ways), along * speeds

    return at


def bent(values: Array) -> Array:
    """Return which components' forces (3, LINES, components, n), at FIRST of each line, are not straight on some line (components)."""
    a, b, c = values
    off = np.abs(b - a - FIRST[1] * (c - a)).max(axis=(0, 2))
    return off > STRAIGHT * np.abs(values).max(axis=(0, 1, 3))


def followed(values: Callable[[Array], Array], w: Array) -> tuple[Array, Array, float]:
    """Return where (3, LINES) on lines the largest bends of forces are: on both sides of each, and between; how much they change
    velocities there (3, LINES), and ordinarily.

    Parameters
    ----------
    values : forces (..., LINES, n) at s (..., LINES)
    w : what forces change velocities by (n), 1/kg or 1/(kg·m²)
    """
    low, high, every, ordinary = np.zeros(LINES), np.ones(LINES), np.arange(LINES), np.nan
    for _ in range(TIMES):
        s = np.linspace(low, high, PIECES + 1)
        found = values(s) * w
        bends, sizes = np.abs(np.diff(found, 2, axis=0)).max(axis=-1), np.abs(found).max(axis=-1)
        places = bends.argmax(axis=0) + np.arange(3)[:, None]
        low, high = s[places[0], every], s[places[2], every]
        if np.isnan(ordinary):
            ordinary = float(np.median(sizes))
            if (bends.max(axis=0) <= SMOOTH * np.median(bends, axis=0)).all():
                break
    return s[places, every], sizes[places, every], ordinary
