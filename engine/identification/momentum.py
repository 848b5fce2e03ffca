"""Identification by conservation of momentum: P = A(q) v + [h; 0] is constant where a base floats, and v is measured with noise.

A is linear in the unknowns x, so the noise n of v is in P and in the derivative of it by x, Y(v). Of all x, P and n with

    A(x) (v − n) + [h; 0] = P,   Σ nᵀ Σ⁻¹ n least                                                            (1)

the noise of a row is n = Σ Aᵀ C⁻¹ e, with e = A v + [h; 0] − P and C = A Σ Aᵀ, and leaves Σ eᵀ C⁻¹ e, whose slope by x is

    2 Σ Y(v − n)ᵀ C⁻¹ e                                                                                       (2)

So Gauss and Newton's equations are those of rows L⁻¹ [Y(v − n), −1] [x; P], C = L Lᵀ, by the velocities without their noise: least squares
by v itself would find too small what shows by noise alone. Σ is diagonal: the angular and the linear velocities of bases, and the joints',
each as noisy as it turns out to be.

References: Fuller, *Measurement Error Models*, 1987, §3.2; Boggs, Byrd & Schnabel, *A stable and efficient algorithm for nonlinear
orthogonal distance regression*, SIAM J. Sci. Stat. Comput. 1987 (1).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from engine.compiled.robot import robot_of
from engine.identification.equations import Equations, regressor_columns, triangle
from engine.identification.motions import Motion
from engine.identification.unknowns import Unknowns

Array = np.ndarray
#: of the noisiest velocity: what any is taken to be noisy by
QUIET = 1e-3
#: standard deviations of a correlation
SURE = 5.0


class Linear(NamedTuple):
    """The rows of momentum about some x.

    Attributes
    ----------
    equations : (2), in units of the velocities' noise
    off : mean squares of the errors of v (nv), by the expectation of each row's
    errors : of the momentum, root-mean-square (6)
    size : of v in units of its noise, root-mean-square
    goes_on : the correlation of rows' errors with those of the next, of the entry where it is largest; zero where rows are too few
    """

    equations: Equations
    off: Array
    errors: Array
    size: float
    goes_on: float


def linear(unknowns: Unknowns, motions: list[Motion], P: Array | None, x: Array, noise: Array, corrected: bool) -> Linear:
    """Return the equations about x (n), of velocities with mean squares of noise in such ratios (nv), corrected by it or as they are."""
    n = len(x)
    R, squares, off, hidden = np.zeros((n + 1, n + 1)), 0.0, 0.0 * noise, 0.0 * noise
    errors, along, across = np.zeros(6), np.zeros(6), np.zeros(6)
    count = sum(6 * len(m.q) - 6 * (P is None) for m in motions)
    rows = sum(len(m.q) for m in motions)
    for motion in motions:
        own = momentum_errors(unknowns, motion, P, x, noise)
        reduced = reduced_rows(unknowns, motion, P, x, own, corrected)
        R = triangle(np.concatenate([R, reduced]))
        squares += float((reduced[:, :n] @ unknowns.values) @ (reduced[:, :n] @ unknowns.values) + reduced[:, n] @ reduced[:, n])
        off += (own.n**2).sum(axis=0)
        hidden += (noise - noise**2 * ((own.inverse @ own.A) ** 2).sum(axis=1)).sum(axis=0)
        errors += (own.e**2).sum(axis=0)
        along, across = along + (own.white[1:] * own.white[:-1]).sum(axis=0), across + (own.white**2).sum(axis=0)
    off = (off + hidden * float(across.sum()) / max(count, 1)) / rows
    speed = np.sqrt(sum(float((m.v**2 / noise).sum()) for m in motions) / (6 * rows))
    goes_on = float((along / np.where(across > 0.0, across, np.inf)).max())
    equations = Equations(R[None], np.array([np.sqrt(squares / max(count, 1))]), np.array([float(count)]), np.zeros(6, dtype=int))
    return Linear(equations, off, np.sqrt(errors / rows), speed, goes_on * (goes_on > SURE / np.sqrt(rows)))


class Errors(NamedTuple):
    """The rows of a motion, with what (1) says of their noise.

    Attributes
    ----------
    A : of the momentum (T, 6, nv)
    inverse : L⁻¹ (T, 6, 6)
    total : A v + [h; 0] (T, 6)
    e : of the momentum (T, 6), from P, or from the P that fits best
    white : L⁻¹ e (T, 6)
    n : Σ Aᵀ C⁻¹ e, the noise of v (T, nv)
    """

    A: Array
    inverse: Array
    total: Array
    e: Array
    white: Array
    n: Array


def momentum_errors(unknowns: Unknowns, motion: Motion, P: Array | None, x: Array, noise: Array) -> Errors:
    """Return the errors of a motion's momentum about x (n)."""
    A, v = matrices(unknowns, motion, P, x), motion.v
    inverse = inverse_factor(A, noise)
    total = np.einsum("tij,tj->ti", A, v) + np.pad(motion.spin, ((0, 0), (0, 3)))
    if P is None:
        P = np.linalg.lstsq(inverse.reshape(-1, 6), np.einsum("tij,tj->ti", inverse, total).ravel(), rcond=None)[0]
    e = total - P
    white = np.einsum("tij,tj->ti", inverse, e)
    return Errors(A, inverse, total, e, white, noise * np.einsum("tji,tj->ti", inverse @ A, white))


def inverse_factor(A: Array, noise: Array) -> Array:
    """Return L⁻¹ (T, 6, 6) with L Lᵀ = A Σ Aᵀ."""
    found: Array = np.linalg.inv(np.linalg.cholesky((A * noise) @ np.swapaxes(A, 1, 2)))
    return found


def reduced_rows(unknowns: Unknowns, motion: Motion, P: Array | None, x: Array, own: Errors, corrected: bool) -> Array:
    """Return a motion's rows L⁻¹ [Y(v − n), y] (n + 1, n + 1), of which a P that is not known has been eliminated."""
    Phi = columns(unknowns, motion, P, motion.v - own.n * corrected)
    y = Phi @ (x - unknowns.values) - own.total + (0.0 if P is None else P)
    eliminated = [] if P is not None else [-np.broadcast_to(np.eye(6), (len(y), 6, 6))]
    each = (own.inverse @ np.concatenate([*eliminated, Phi, y[..., None]], axis=-1)).reshape(6 * len(y), -1)
    first = 6 * len(eliminated)
    return triangle(np.concatenate([each, np.zeros((each.shape[1], each.shape[1]))]))[first:, first:]


def columns(unknowns: Unknowns, motion: Motion, P: Array | None, v: Array) -> Array:
    """Return Y(v) (T, 6, n), the derivatives of momentum by the unknowns, about the world's origin, or near by where P is not known."""
    entries = tuple(np.flatnonzero(unknowns.E.any(axis=1)).tolist())
    found: Array = regressor_columns(unknowns.model, entries, None)(near(unknowns, motion, P), v) @ unknowns.E[list(entries)]
    return found


def near(unknowns: Unknowns, motion: Motion, P: Array | None) -> Array:
    """Return q (T, nq) with floating bases about the middle of where they are: any point will do for a P that is not known."""
    q = motion.q.copy()
    if P is None:
        roots = [unknowns.model.bodies[i].q for i in unknowns.model.roots]
        about = np.mean([q[:, own][:, 4:7].mean(axis=0) for own in roots], axis=0)
        for own in roots:
            q[:, own][:, 4:7] -= about
    return q


def matrices(unknowns: Unknowns, motion: Motion, P: Array | None, x: Array) -> Array:
    """Return the momentum matrix A of each record (T, 6, nv), P = A v, for the unknown parameters x (n)."""
    model, q = unknowns.model, near(unknowns, motion, P)
    momentum = robot_of(model, motion.gravity).momentum
    unit = [np.broadcast_to(e, motion.v.shape) for e in np.eye(model.nv)]
    return np.stack([momentum(q, e) + columns(unknowns, motion, P, e) @ (x - unknowns.values) for e in unit], axis=-1)


def noise_of_rows(unknowns: Unknowns, motions: list[Motion], P: Array | None, x: Array, noise: Array) -> Array:
    """Return Σ Y(n)ᵀ C⁻¹ Y(n) (n, n) as expected of noise n in the velocities of mean squares ``noise`` (nv)."""
    N = np.zeros((len(x), len(x)))
    for motion in motions:
        A = matrices(unknowns, motion, P, x)
        inverse = inverse_factor(A, noise)
        for e, square in zip(np.eye(unknowns.model.nv), noise, strict=True):
            Phi = (inverse @ columns(unknowns, motion, P, np.broadcast_to(e, motion.v.shape))).reshape(-1, len(x))
            N += square * Phi.T @ Phi
    return N


def shared(unknowns: Unknowns, off: Array) -> Array:
    """Return mean squares of noise (nv) in the ratios of those that were found: one each of bases' angular and linear velocities, of joints
    that turn and of those that slide."""
    kinds = [(b.kind.floats, unit) for b in unknowns.model.bodies if not b.mimics for unit in b.kind.units]
    found = np.zeros(len(off))
    for kind in set(kinds):
        own = [k for k, other in enumerate(kinds) if other == kind]
        found[own] = off[own].mean()
    return np.maximum(found / found.max(), QUIET**2) if found.max() > 0.0 else np.ones(len(off))
