"""Linear equations in the unknowns, Φ (x − x₀) = y, row by row of what is measured: the joints' forces, or (``momentum``) the momentum."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.compiled.robot import robot_of
from engine.compiler.gufunc import Gufunc
from engine.compiler.signature import signature_of
from engine.compiler.transforms.trace import trace
from engine.dynamics.friction import damping_matrix, dry_friction
from engine.dynamics.regressor import momentum_regressor, regressor
from engine.identification.motions import Motion
from engine.identification.unknowns import Unknowns
from engine.model import Model

Array = np.ndarray
#: numbers in memory at a time, about
PIECE = 4_000_000
#: of a joint's root-mean-square speed, below which the sign of its friction is not known
SLOW = 0.02


@dataclass(frozen=True, eq=False)
class Equations:
    """Rows of Φ (x − x₀) = y, reduced: of each kind of row k (nv joint coordinates, or all of momentum) the triangle of [Φ_k, y_k].

    Attributes
    ----------
    R : (kinds, n + 1, n + 1): ‖R_k [x − x₀; −1]‖² are the squares of the rows' errors
    size : (kinds) of Φ_k x₀, y_k and the forces themselves, root-mean-square
    counts : how many rows there are (kinds), less what constants are found from them
    left : rows that were left out, as friction has no sign in them (nv, or 6)
    """

    R: Array
    size: Array
    counts: Array
    left: Array

    @classmethod
    def of_forces(cls, unknowns: Unknowns, motions: list[Motion]) -> Equations:
        """Return the equations of the joints' forces."""
        n, kinds = len(unknowns.names), unknowns.model.nv
        R, counts, left = np.zeros((kinds, n + 1, n + 1)), np.zeros(kinds), np.zeros(kinds, dtype=int)
        squares = np.zeros(kinds)
        for motion in motions:
            squares += (motion.tau**2).sum(axis=0)                             # type: ignore[operator]
            for Phi, y, good in force_rows(unknowns, motion):
                rows = np.where(good[..., None], np.concatenate([Phi, y[..., None]], axis=-1), 0.0)
                squares += ((rows[..., :n] @ unknowns.values) ** 2 + rows[..., n] ** 2).sum(axis=0)
                R = triangle(np.concatenate([R, np.moveaxis(rows, 0, 1)], axis=1))
                counts += good.sum(axis=0)
                left += (~good).sum(axis=0)
        return cls(R, np.sqrt(squares / np.maximum(counts, 1.0)), counts, left)

    def errors(self, x: Array) -> Array:
        """Return the root-mean-square errors (kinds) that x − x₀ (n) leaves."""
        left: Array = np.linalg.norm(self.R @ np.append(x, -1.0), axis=1)
        return left / np.sqrt(np.maximum(self.counts, 1.0))

    def weighed(self, sigma: Array) -> Array:
        """Return the triangle (n + 1, n + 1) of all rows, each over its own noise (kinds)."""
        n = self.R.shape[-1]
        return triangle((self.R / sigma[:, None, None]).reshape(-1, n))


def triangle(rows: Array) -> Array:
    """Return the triangle (..., n, n) of rows (..., m, n), m ≥ n, that has their squares: Rᵀ R = Aᵀ A."""
    R: Any = np.linalg.qr(rows, mode="r")
    return np.asarray(R)


def force_rows(unknowns: Unknowns, motion: Motion) -> Iterator[tuple[Array, Array, Array]]:
    """Give Φ (T, nv, n), y (T, nv) and which rows say something (T, nv), a part of the motion at a time::

        y = tau − (rnea + losses of the model),   Φ = [Y E, v, sign(v), v̇]
    """
    model, n = unknowns.model, len(unknowns.names)
    assert motion.vdot is not None and motion.tau is not None
    signs, good = directions(unknowns, motion)
    step = max(n + 1, PIECE // (model.nv * (n + 1)))
    for k in range(0, len(motion.q), step):
        part = slice(k, k + step)
        y = motion.tau[part] - forces(model, motion, part, signs[part])
        yield force_columns(unknowns, motion, part, signs[part]), y, good[part]


def force_columns(unknowns: Unknowns, motion: Motion, part: slice, signs: Array) -> Array:
    """Return Φ (T, nv, n) of a part of a motion."""
    assert motion.vdot is not None
    q, v, vdot = motion.q[part], motion.v[part], motion.vdot[part]
    Phi = losses(unknowns, v if motion.rubs else 0.0 * v, vdot, signs if motion.rubs else 0.0 * signs)
    columns = tuple(np.flatnonzero(unknowns.E.any(axis=1)).tolist())
    return Phi + regressor_columns(unknowns.model, columns, motion.gravity)(q, v, vdot) @ unknowns.E[list(columns)] if columns else Phi


def losses(unknowns: Unknowns, v: Array, vdot: Array, signs: Array) -> Array:
    """Return the columns (..., nv, n) of damping, friction and armature; a mimic joint's as :mod:`engine.dynamics.friction` says."""
    Phi = np.zeros((*v.shape, len(unknowns.names)))
    for kind, each, power in (("damping", v, 2), ("friction", signs, 1), ("armature", vdot, 2)):
        for j, body in unknowns.of_bodies(kind):
            rows = np.arange(body.v.start, body.v.stop)
            Phi[..., rows, j] = abs(body.ratio) ** power * each[..., rows]
    return Phi


def forces(model: Model, motion: Motion, part: slice, signs: Array) -> Array:
    """Return the forces (T, nv) that a model says a motion takes, with its losses."""
    v = motion.v[part]
    tau: Array = robot_of(model, motion.gravity).rnea(motion.q[part], v, motion.vdot[part])          # type: ignore[index]
    if motion.rubs:
        tau = tau + v @ damping_matrix(model) + sum((ratio * f * signs for ratio, f in dry_friction(model).items()), np.zeros(v.shape))
    return tau


def directions(unknowns: Unknowns, motion: Motion) -> tuple[Array, Array]:
    """Return sign(v) (T, nv), and where the forces of that joint can be told (T, nv): where it rubs, not near rest, nor beside a record in
    which it moves the other way: friction is anything there up to its largest."""
    v, model = motion.v, unknowns.model
    signs = np.sign(v)
    rubbing = np.zeros(model.nv, dtype=bool)
    for f in dry_friction(model).values():
        rubbing |= f > 0.0
    for _, body in unknowns.of_bodies("friction"):
        rubbing[body.v] = True
    moving = np.abs(v) > SLOW * np.sqrt((v**2).mean(axis=0))
    same = np.ones(v.shape, dtype=bool)
    if motion.ordered:
        same[1:] &= signs[1:] == signs[:-1]
        same[:-1] &= signs[:-1] == signs[1:]
    return signs, ~(rubbing & motion.rubs) | (moving & same)


@functools.lru_cache(maxsize=16)
def regressor_columns(model: Model, columns: tuple[int, ...], gravity: tuple[float, ...] | None) -> Gufunc:
    """Return some columns of the regressor of forces ``(q, v, vdot) -> (nv, n)``, or without gravity of momentum ``(q, v) -> (6, n)``."""
    each = list(columns)

    def of_forces(q: Array, v: Array, vdot: Array) -> Any:
        return regressor(model, q, v, vdot, gravity)[:, each]

    def of_momentum(q: Array, v: Array) -> Any:
        return momentum_regressor(model, q, v)[:, each]

    if gravity is None:
        program = trace(of_momentum, [(model.nq,), (model.nv,)])
        return Gufunc(program, signature_of(program), ["q", "v"])
    program = trace(of_forces, [(model.nq,), (model.nv,), (model.nv,)])
    return Gufunc(program, signature_of(program), ["q", "v", "vdot"])
