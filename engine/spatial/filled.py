"""Mass, centre and inertia of a body of varying density: its integral over what a closed mesh encloses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.checks import EngineError, shown, warn

Array = np.ndarray
#: Gauss's points in each of three directions, one rule after the other until two agree: the first is exact for polynomials up to degree 3
RULES = (4, 6, 8, 10)
#: what two rules may be apart, relative to the whole, in proportion to a tetrahedron's volume
TOLERANCE = 1e-9
#: tetrahedra at a time, which bounds memory, and those that are made by cutting, which bounds time
AT_ONCE, MOST = 1024, 1 << 14
#: corners and middles of edges (corner i, corner j) of the eight tetrahedra that one is cut into
CUT = (
    ((0, 0), (0, 1), (0, 2), (0, 3)), ((0, 1), (1, 1), (1, 2), (1, 3)), ((0, 2), (1, 2), (2, 2), (2, 3)), ((0, 3), (1, 3), (2, 3), (3, 3)),
    ((0, 1), (0, 2), (0, 3), (1, 3)), ((0, 1), (0, 2), (1, 2), (1, 3)), ((0, 2), (0, 3), (1, 3), (2, 3)), ((0, 2), (1, 2), (1, 3), (2, 3)),
)  # fmt: skip


def filled(triangles: Any, density: Callable[..., Any]) -> tuple[float, Array, Array]:
    """Return the mass m (kg), the centre of mass c (3), m, and the second moments about it E = ∫ (r − c)(r − c)ᵀ dm (3×3), kg·m².

    ::

        m = ∫ ρ dV,   m c = ∫ ρ r dV,   ∫ ρ r rᵀ dV = Σ_t ± ∫_t ρ r rᵀ dV                    (1)

    over the tetrahedra t between a point amid the mesh and its triangles, by Gauss's rule in three directions; those where two rules
    disagree are cut into eight.

    Parameters
    ----------
    triangles : corners (n, 3, 3), m, of a closed surface, counter-clockwise as seen from outside
    density : ρ(x, y, z), kg/m³, of arrays or of three numbers. Of a body that is not star-shaped it is evaluated outside of it too

    Raises
    ------
    EngineError : a density that is no number, or below zero on the surface

    Warns
    -----
    EngineWarning : the integral is not exact to 1e-8 of the mass, as of a density that jumps
    """
    triangles = np.asarray(triangles, dtype=float)
    amid = triangles.reshape(-1, 3).mean(axis=0)
    size = float(np.abs(triangles - amid).max())
    corners = (triangles - amid) / size                                        # so that moments of all orders are alike
    evaluate = _vectorized(density)
    if (least := evaluate(triangles.reshape(-1, 3))).min() < 0.0:
        where = triangles.reshape(-1, 3)[least.argmin()]
        raise EngineError(f"the density at ({', '.join(f'{x:.3g}' for x in where)}) is {least.min():.3g} kg/m³; expected zero or more")

    def at(r: Array) -> Array:
        return evaluate((amid + size * r).reshape(-1, 3)).reshape(r.shape[:-1])

    tetrahedra = np.concatenate([np.zeros((len(corners), 1, 3)), corners], axis=1)
    J, doubt = _integral(tetrahedra, at)
    J, doubt = J * size**3, doubt * size**3
    m = float(J[0, 0])
    if doubt > 1e-8 * abs(m):
        warn(f"the integral of the density is uncertain by {doubt / abs(m):.1g} of the mass; expected a density without jumps (a body of "
             "several materials is the sum of meshes)")  # fmt: skip
    if not m > 0.0:
        raise EngineError(f"a body of this density has {m:.3g} kg; expected a mass above zero")
    c = J[0, 1:] / m
    return m, amid + size * c, size * size * (J[1:, 1:] - m * np.outer(c, c))


def _integral(tetrahedra: Array, at: Callable[[Array], Array]) -> tuple[Array, float]:
    """Return ∫ ρ [1; r] [1; r]ᵀ dV (4×4) over tetrahedra (n, 4, 3), and how far it may be off."""
    total, doubt, volume, cut = np.zeros((4, 4)), 0.0, float(np.abs(_volumes(tetrahedra)).sum()), 0
    scale = float(np.abs(_rule(RULES[0], tetrahedra[:AT_ONCE], at)[:, 0, 0]).sum())       # of the mass: refined as it adds up
    while len(tetrahedra):
        apart: list[Array] = []
        for k in range(0, len(tetrahedra), AT_ONCE):
            some = tetrahedra[k : k + AT_ONCE]
            allowed = TOLERANCE * max(scale, total[0, 0]) * np.abs(_volumes(some)) / volume
            before = _rule(RULES[0], some, at)
            for n in RULES[1:]:
                after = _rule(n, some, at)
                off = np.abs(after - before).max(axis=(1, 2))
                good = (off <= allowed) | ((cut >= MOST) & (n == RULES[-1]))
                total, doubt = total + after[good].sum(axis=0), doubt + float(off[good].sum())
                some, before, allowed = some[~good], after[~good], allowed[~good]
            apart.append(_cut(some))
        tetrahedra = np.concatenate(apart)
        cut += len(tetrahedra)
    return total, doubt


def _rule(n: int, tetrahedra: Array, at: Callable[[Array], Array]) -> Array:
    """Return ∫ ρ [1; r] [1; r]ᵀ dV (k, 4, 4) of each, by n Gauss's points along a, b and c: r = r0 + a (e1 + b (e2 + c e3)) with the volume
    6 V a² b da db dc."""
    x, w = np.polynomial.legendre.leggauss(n)
    x, w = 0.5 * (x + 1.0), 0.5 * w
    a, b, c = (y.reshape(-1) for y in np.meshgrid(x, x, x, indexing="ij"))
    weights = 6.0 * np.einsum("i,j,k->ijk", w * x * x, w * x, w).reshape(-1)
    parts = np.stack([1.0 - a, a * (1.0 - b), a * b * (1.0 - c), a * b * c], axis=1)     # barycentric
    r = parts @ tetrahedra
    dm = _volumes(tetrahedra)[:, None] * weights * at(r)
    X = np.concatenate([np.ones((*r.shape[:2], 1)), r], axis=2)
    return np.swapaxes(dm[..., None] * X, 1, 2) @ X


def _volumes(tetrahedra: Array) -> Array:
    """Return their volumes (n), below zero where a triangle is seen from inside."""
    return np.linalg.det(tetrahedra[:, 1:] - tetrahedra[:, :1]) / 6.0


def _cut(tetrahedra: Array) -> Array:
    """Return the eight parts of each (8 n, 4, 3), of its orientation."""
    middle = 0.5 * (tetrahedra[:, :, None] + tetrahedra[:, None])
    parts = np.stack([np.stack([middle[:, i, j] for i, j in corners], axis=1) for corners in CUT], axis=1)
    turned = np.sign(_volumes(parts.reshape(-1, 4, 3))).reshape(-1, 8) * np.sign(_volumes(tetrahedra))[:, None] < 0
    parts[turned] = parts[turned][:, [1, 0, 2, 3]]
    return parts.reshape(-1, 4, 3)


def _vectorized(density: Callable[..., Any]) -> Callable[[Array], Array]:
    """Return the density at points (n, 3): of arrays, or, of a function that does not take these, point by point."""

    def evaluate(r: Array) -> Array:
        try:
            found = np.asarray(density(*r.T), dtype=float)
        except (TypeError, ValueError):                                         # math.exp of an array, if on one
            try:
                found = np.array([float(density(*map(float, p))) for p in r])
            except (TypeError, ValueError) as error:
                raise EngineError(f"the density of ({', '.join(f'{x:.3g}' for x in r[0])}) is no number ({error}); expected ρ(x, y, z), "
                                  "kg/m³") from None  # fmt: skip
        if found.shape not in ((), (len(r),)) or not np.isfinite(found).all():
            raise EngineError(f"the density of {len(r)} points is {shown(found)}; expected a finite number of each, kg/m³")
        return np.broadcast_to(found, len(r))

    return evaluate
