"""Spatial inertias: symmetric 6×6 matrices G = [[I, [h]], [−[h], m 1]] about a frame's origin, rotation first.

h = m c is the first moment of mass, I the rotational inertia about the origin, m the mass. F = G V is the momentum of twist V.
A general symmetric 6×6 (added mass, an articulated inertia) is as welcome as a rigid body's.
References: Featherstone, *Rigid Body Dynamics Algorithms*, §2.13; Traversaro et al., *Identification of fully physical
consistent inertial parameters*, IROS 2016 (the triangle inequality).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from engine import ops
from engine.checks import EngineError, number, numbers
from engine.ops.linear import is_nonzero
from engine.spatial import se3, so3
from engine.spatial.filled import filled

Array = np.ndarray
#: m: of longer solids masses and moments are not finite
LONGEST = 1e50


def from_mass(mass: float, center: Array, tensor: Array) -> Array:
    """Return G of a rigid body: mass (kg), centre of mass c (3, m) and tensor about the **centre of mass** (3×3, kg·m²).

    Raise EngineError for a negative mass, and for what is not finite or of another shape; whether a body can have such a tensor is told by
    :func:`faults`.

    >>> from_mass(2.0, np.array([0.0, 0.0, 1.0]), np.eye(3))[:3, :3].diagonal()
    array([3., 3., 1.])
    """
    m = number("mass", mass, "a mass in kg, zero or more", least=0.0)
    c, I = numbers("center", center), numbers("tensor", tensor)
    if c.shape != (3,) or I.shape != (3, 3):
        raise EngineError(f"center has shape {c.shape} and tensor {I.shape}; expected (3,) and (3, 3)")
    C, G = so3.hat(c), np.zeros((6, 6))
    G[:3, :3], G[:3, 3:], G[3:, :3], G[3:, 3:] = I - m * C @ C, m * C, -m * C, m * np.eye(3)
    return G


def box(mass: float | None = None, size: Any = None, density: float | None = None) -> Array:
    """Return G of a solid box with full edge lengths (3, m), about its centre: m (w² + h²)/12.

    Of this and the other solids either the mass (kg) is given or the density (kg/m³). Raise EngineError for both or neither, and for
    numbers that are negative or not finite.

    >>> box(12.0, [1.0, 2.0, 3.0]).diagonal()
    array([13., 10.,  5., 12., 12., 12.])
    >>> box(size=[1.0, 2.0, 3.0], density=2.0).diagonal()
    array([13., 10.,  5., 12., 12., 12.])
    """
    x, y, z = _lengths("size", size, 3)
    return _solid(mass, density, x * y * z, np.array([y * y + z * z, z * z + x * x, x * x + y * y]) / 12)


def cylinder(mass: float | None = None, radius: Any = None, length: Any = None, density: float | None = None) -> Array:
    """Return G of a solid cylinder along z, about its centre: Ixx = Iyy = m (3r² + H²)/12, Izz = m r²/2; mass or density as of :func:`box`.

    >>> cylinder(12.0, 2.0, 3.0).diagonal()
    array([21., 21., 24., 12., 12., 12.])
    """
    r, h = *_lengths("radius", radius), *_lengths("length", length)
    across = (3 * r**2 + h**2) / 12
    return _solid(mass, density, np.pi * r**2 * h, np.array([across, across, r**2 / 2]))


def capsule(mass: float | None = None, radius: Any = None, length: Any = None, density: float | None = None) -> Array:
    """Return G of a solid capsule along z, about its centre: a cylinder (length without the ends) and half a ball at either end.

    With the share s = 3H / (3H + 4r) of the mass in the cylinder: Izz/m = s r²/2 + (1 − s) 2r²/5,
    Ixx/m = Iyy/m = s (3r² + H²)/12 + (1 − s) (2r²/5 + 3rH/8 + H²/4). Mass or density as of :func:`box`.

    >>> capsule(5.0, 1.0, 0.0).diagonal()
    array([2., 2., 2., 5., 5., 5.])
    """
    r, h = *_lengths("radius", radius), *_lengths("length", length)
    s = 3 * h / (3 * h + 4 * r) if h else 0.0
    across = s * (3 * r**2 + h**2) / 12 + (1 - s) * (2 * r**2 / 5 + 3 * r * h / 8 + h**2 / 4)
    along = s * r**2 / 2 + (1 - s) * 2 * r**2 / 5
    return _solid(mass, density, np.pi * r**2 * (h + 4 * r / 3), np.array([across, across, along]))


def ellipsoid(mass: float | None = None, semiaxes: Any = None, density: float | None = None) -> Array:
    """Return G of a solid ellipsoid with semi-axes (3, m), about its centre: m (b² + c²)/5; mass or density as of :func:`box`.

    >>> ellipsoid(5.0, [1.0, 2.0, 3.0]).diagonal()
    array([13., 10.,  5.,  5.,  5.,  5.])
    """
    a, b, c = _lengths("semiaxes", semiaxes, 3)
    return _solid(mass, density, 4 * np.pi / 3 * a * b * c, np.array([b * b + c * c, c * c + a * a, a * a + b * b]) / 5)


def sphere(mass: float | None = None, radius: Any = None, density: float | None = None) -> Array:
    """Return G of a solid sphere about its centre: 2 m r²/5; mass or density as of :func:`box`.

    >>> sphere(5.0, 3.0).diagonal()
    array([18., 18., 18.,  5.,  5.,  5.])
    """
    (r,) = _lengths("radius", radius)
    return _solid(mass, density, 4 * np.pi / 3 * r**3, np.full(3, 2 * r**2 / 5))


def _lengths(what: str, x: Any, n: int = 1) -> list[float]:
    """Return n lengths, zero or more."""
    a = numbers(what, [] if x is None else x)
    if a.size != n or a.ndim > 1 or (a < 0).any():
        raise EngineError(f"{what} is {x!r}; expected {f'{n} lengths' if n > 1 else 'a length'} in m, zero or more")
    if (a > LONGEST).any():
        raise EngineError(f"{what} is {x!r}; expected at most {LONGEST:g} m")
    return [float(y) for y in a.reshape(n)]


def _solid(mass: float | None, density: float | None, volume: float, moments: Array) -> Array:
    """Return G of a solid about its centre, of its moments (3) per kg."""
    if (mass is None) == (density is None):
        raise EngineError(f"mass is {mass!r} and density {density!r}; expected one of them")
    if density is not None:
        mass = volume * number("density", density, "a density in kg/m³, zero or more", least=0.0)
    m = number("mass", mass, "a mass in kg, zero or more", least=0.0)
    return from_mass(m, np.zeros(3), m * np.diag(moments))


def from_mesh(mesh: Any, density: float | Callable[[Any, Any, Any], Any]) -> Array:
    """Return G of a closed mesh (a ``trimesh.Trimesh``, in metres) filled with the density (kg/m³), about the mesh's origin.

    The density is a number, or a function ρ(x, y, z) of the place in the mesh's axes, m, of arrays or numbers. Its integral is exact but
    for rounding for polynomials up to degree 3, and to some 1e-9 of the mass for what is smooth.

    Raise EngineError if the mesh encloses no volume (open, or inside out), or for a density that is none. Warn where the integral of a
    function is less exact, as of one that jumps.

    >>> import trimesh
    >>> from engine.spatial import inertia
    >>> G = inertia.from_mesh(trimesh.creation.box((1.0, 1.0, 1.0)), density=6.0)
    >>> G[0, 0].round(6), G[3, 3].round(6)  # kg·m², m a²/6, and kg
    (np.float64(1.0), np.float64(6.0))
    """
    if not mesh.is_watertight or mesh.volume <= 0:
        raise EngineError(f"the mesh is not a closed surface (volume {mesh.volume:.3g} m³); expected one that encloses a volume")
    if callable(density):
        return from_second_moments(*filled(mesh.triangles, density))
    rho = number("density", density, "a density in kg/m³, zero or more, or a function ρ(x, y, z) of it", least=0.0)
    volume = float(mesh.volume)
    return from_mass(rho * volume, mesh.center_mass, rho / float(mesh.density) * np.asarray(mesh.moment_inertia))


def from_second_moments(mass: float, center: Array, E: Array) -> Array:
    """Return G of a rigid body: mass (kg), centre of mass c (3, m) and Euler's matrix E = ∫ r rᵀ dm about it (3×3, kg·m²), whose tensor is
    tr(E) 1 − E. It undoes :func:`second_moments`, and raises as :func:`from_mass`.

    >>> from_second_moments(3.0, np.zeros(3), np.diag([1.0, 2.0, 3.0])).diagonal()
    array([5., 4., 3., 3., 3., 3.])
    """
    moments = numbers("E", E)
    if moments.shape != (3, 3):
        raise EngineError(f"E has shape {moments.shape}; expected (3, 3)")
    return from_mass(mass, center, np.trace(moments) * np.eye(3) - moments)


def second_moments(G: Array) -> Array:
    """Return Euler's matrix E = ∫ r rᵀ dm of rigid bodies G (..., 6, 6) about their centres of mass (..., 3, 3), kg·m²: ½ tr(I) 1 − I.

    About the frame's origin it is E + m c cᵀ. A body's is positive semidefinite, which says all that the triangle inequality does.

    >>> second_moments(box(12.0, [1.0, 2.0, 3.0])).diagonal()                   # m x²/12
    array([1., 4., 9.])
    """
    I = _about_center(G)
    return 0.5 * np.trace(I, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - I


def mass(G: Array) -> Any:
    """Return the mass m (kg).

    >>> from engine.spatial import inertia
    >>> float(inertia.mass(inertia.sphere(2.0, 0.1)))
    2.0
    """
    return G[..., 5, 5]


def first_moment(G: Array) -> Array:
    """Return the first moment h = m c (..., 3), kg·m.

    >>> import numpy as np
    >>> from engine.spatial import inertia
    >>> inertia.first_moment(inertia.from_mass(2.0, [0, 0, 0.5], np.eye(3)))
    array([0., 0., 1.])
    """
    return so3.vee(G[..., :3, 3:])


def center(G: Array) -> Array:
    """Return the centre of mass c of a rigid body's inertia (the origin, for a body without mass).

    >>> import numpy as np
    >>> from engine.spatial import inertia
    >>> inertia.center(inertia.from_mass(2.0, [0, 0, 0.5], np.eye(3)))
    array([0. , 0. , 0.5])
    """
    m = mass(G)
    if ops.graph_of(m) is not None:
        return first_moment(G) / m
    massless = m == 0
    return first_moment(G) / np.where(massless, 1.0, m)[..., None]


def recentered(G: Array, center: Array) -> Array:
    """Return a rigid body's inertia G (6×6) with its centre of mass elsewhere (3), and the same tensor about that.

    >>> recentered(sphere(2.0, 0.5), np.array([1.0, 0.0, 0.0])).diagonal()
    array([0.2, 2.2, 2.2, 2. , 2. , 2. ])
    """
    C = so3.hat(center)
    H = mass(G) * C
    return np.block([[_about_center(G) - H @ C, H], [-H, G[3:, 3:]]])


def transformed(T_AB: Array, G_B: Array) -> Array:
    """Return Ad(T_AB)⁻ᵀ G_B Ad(T_AB)⁻¹: the inertia of a body given in frame B, seen from frame A (shape (6, 6)).

    By 3×3 blocks, which costs half of the 6×6 products: rotate I, H, M, then shift by p. Reads the upper triangle of G_B.

    >>> import numpy as np
    >>> from engine.spatial import inertia, se3
    >>> point = inertia.from_mass(2.0, [0, 0, 0], np.zeros((3, 3)))
    >>> inertia.transformed(se3.pose(np.eye(3), np.array([3.0, 0, 0])), point)[1, 1]  # m d², kg·m²
    np.float64(18.0)
    """
    R, p = se3.rotation(T_AB), se3.position(T_AB)
    k = axis_of(R)
    if G_B.dtype == object and T_AB.dtype != object and k is None and is_rigid(G_B):
        h, m, shift = first_moment(G_B), mass(G_B), so3.hat(p)
        back, H_A = so3.hat(R @ h), so3.hat(R @ h + m * p)
        I_A = _turned(R, k, mirrored(G_B[:3, :3])) + shift @ back.T - H_A @ shift
        return np.block([[mirrored(I_A), H_A], [H_A.T, G_B[3:, 3:]]])
    P = so3.hat(p) if any(map(is_nonzero, p.tolist())) else None
    I, H, M = _turned(R, k, mirrored(G_B[:3, :3])), _turned(R, k, G_B[:3, 3:]), mirrored(_turned(R, k, mirrored(G_B[3:, 3:])))
    if P is not None:
        H_A = H + P @ M
        I, H = I + P @ H.T - H_A @ P, H_A
    return np.concatenate([np.concatenate([mirrored(I), H], axis=1), np.concatenate([H.T, M], axis=1)])


def rotated(R: Array, A: Array) -> Array:
    """Return R A Rᵀ, with half the products where R turns about a coordinate axis.

    In the plane of such a turn, the trace and the antisymmetric part of A stay, and the rest turns by 2θ.

    >>> import numpy as np
    >>> from engine.spatial import inertia
    >>> inertia.rotated(np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]]), np.diag([1.0, 2.0, 3.0])) + 0.0  # a quarter turn about z
    array([[2., 0., 0.],
           [0., 1., 0.],
           [0., 0., 3.]])
    """
    return _turned(R, axis_of(R), A)


def _turned(R: Array, k: int | None, A: Array) -> Array:
    """Return :func:`rotated`, where R turns about the coordinate axis k, or about another where that is None."""
    if k is None:
        return R @ A @ R.T
    i, j = (k + 1) % 3, (k + 2) % 3
    r, a = R.tolist(), A.tolist()                                              # scalars of Python's: the same bits, in less time
    c, s = r[i][i], r[j][i]
    if A.dtype != object and not is_nonzero(s) and c == 1.0:
        return A + 0.0
    d, o = a[i][i] - a[j][j], a[i][j] + a[j][i]
    x, y = s * (s * d + c * o), s * (c * d - s * o)
    B: list[list[Any]] = [[None] * 3 for _ in range(3)]
    B[i][i], B[j][j], B[k][k] = a[i][i] - x, a[j][j] + x, a[k][k]
    B[i][j], B[j][i] = a[i][j] + y, a[j][i] + y
    B[i][k], B[j][k] = c * a[i][k] - s * a[j][k], s * a[i][k] + c * a[j][k]
    B[k][i], B[k][j] = c * a[k][i] - s * a[k][j], s * a[k][i] + c * a[k][j]
    return np.array(B)


def axis_of(R: Array) -> int | None:
    """Return the coordinate axis about which a rotation turns, by its structure; None where it is another, or traced.

    >>> axis_of(np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]))
    2
    """
    r = R.tolist()
    for k in range(3):
        if isinstance(r[k][k], float) and r[k][k] == 1.0:
            off = (r[k][k - 1], r[k][k - 2], r[k - 1][k], r[k - 2][k])
            if all(isinstance(x, float) and x == 0.0 for x in off):
                return k
    return None


def mirrored(A: Array) -> Array:
    """Return the symmetric matrix with A's upper triangle.

    >>> import numpy as np
    >>> from engine.spatial import inertia
    >>> inertia.mirrored(np.array([[1.0, 2.0], [0.0, 3.0]]))
    array([[1., 2.],
           [2., 3.]])
    """
    return A[upper(len(A))]


@functools.cache
def upper(n: int) -> tuple[Array, Array]:
    """Return of each entry of a symmetric matrix (n, n) the row and the column in its upper triangle.

    >>> from engine.spatial import inertia
    >>> inertia.upper(2)[0], inertia.upper(2)[1]
    (array([[0, 0],
           [0, 1]]), array([[0, 1],
           [1, 1]]))
    """
    k = np.arange(n)
    return np.minimum.outer(k, k), np.maximum.outer(k, k)


def is_rigid(G: Array) -> bool:
    """Return whether G has a rigid body's form, [[I, [h]], [−[h], m 1]], and not, say, added mass.

    >>> import numpy as np
    >>> from engine.spatial import inertia
    >>> inertia.is_rigid(inertia.sphere(2.0, 0.1)), inertia.is_rigid(np.diag([1.0, 1, 1, 2, 3, 4]))
    (True, False)
    """
    if G.dtype == object:                                                      # traced: where it is by its structure
        return not any(map(is_nonzero, [*(G[:3, 3:] - -G[:3, 3:].T).flat, *(G[3:, 3:] - G[5, 5] * np.eye(3)).flat]))
    H, M, m = G[:3, 3:], G[3:, 3:], G[5, 5]
    return bool(np.abs(M - m * np.eye(3)).max() <= 1e-12 * m and np.abs(H + H.T).max() <= 1e-12 * np.abs(H).max())


def wrench(G: Array, V: Array, Vdot: Array) -> Array:
    """Return the wrench that a motion takes, F = G V̇ − ad(V)ᵀ G V (6).

    Of a rigid body it is Newton's and Euler's equations about the origin, with its acceleration a = v̇ + ω × v::

        f = m a + ω̇ × h + ω × (ω × h),   m = I ω̇ + ω × I ω + h × a

    which are the same numbers for fewer operations.

    >>> G = from_mass(2.0, np.array([1.0, 0.0, 0.0]), np.zeros((3, 3)))
    >>> wrench(G, np.array([0.0, 0.0, 3.0, 0.0, 0.0, 0.0]), np.zeros(6))        # a point on a string: m ω² r inwards
    array([  0.,   0.,   0., -18.,   0.,   0.])
    """
    if not is_rigid(G):
        return G @ Vdot - se3.ad(V).T @ (G @ V)
    I, h = G[:3, :3], first_moment(G)
    w, wdot = V[:3], Vdot[:3]
    a = Vdot[3:] + ops.cross(w, V[3:])
    f = mass(G) * a + ops.cross(wdot, h) + ops.cross(w, ops.cross(w, h))
    return np.concatenate([I @ wdot + ops.cross(w, I @ w) + ops.cross(h, a), f])


def principal_moments(G: Array) -> Array:
    """Return the principal moments about the centre of mass (..., 3), kg·m², the least first, of inertias G (..., 6, 6).

    >>> principal_moments(from_mass(2.0, [5.0, 0.0, 0.0], np.diag([3.0, 1.0, 2.0])))
    array([1., 2., 3.])
    """
    return np.linalg.eigvalsh(_about_center(G))


def _about_center(G: Array) -> Array:
    C = so3.hat(center(G))
    return G[..., :3, :3] + mass(G)[..., None, None] * C @ C


def unphysical(G: Array) -> Array:
    """Return whether no rigid body has the inertias G (..., 6, 6), all finite and symmetric, but for rounding; :func:`faults` says why.

    >>> unphysical(np.array([from_mass(1.0, np.zeros(3), np.diag([1.0, 1.0, z])) for z in (2.0, 3.0)]))
    array([False,  True])
    """
    m, moments, slack = mass(G), principal_moments(G), _slack(G)
    apart = (moments[..., 0] < -slack) | (moments[..., :2].sum(axis=-1) < moments[..., 2] - slack)
    return (m < 0) | np.where(m == 0, G.any(axis=(-2, -1)), apart)


def _slack(G: Array) -> Array:
    """Return what rounding may take from principal moments: it is of m c², which may be larger than they are."""
    return 1e-9 * np.abs(_about_center(G)).max(axis=(-2, -1)) + 1e-14 * np.abs(G[..., :3, :3]).max(axis=(-2, -1))


def faults(G: Array) -> list[str]:
    """Return the reasons in words why G is no rigid body's inertia; an empty list if it may be one.

    >>> faults(from_mass(1.0, np.zeros(3), np.diag([1.0, 1.0, 3.0])))
    ['principal moments 1, 1, 3 kg·m² violate the triangle inequality (the largest exceeds the sum of the others)']
    """
    G = np.asarray(G, dtype=float)
    if G.shape != (6, 6):
        return [f"inertia has shape {G.shape}; expected (6, 6)"]
    if not np.isfinite(G).all():
        return ["inertia holds NaN or infinity"]
    if not np.allclose(G, G.T, rtol=1e-9, atol=1e-12 * np.abs(G).max()):
        return [f"inertia is not symmetric (by up to {np.abs(G - G.T).max():.3g})"]
    if mass(G) < 0:
        return [f"mass is {mass(G):g} kg; expected a positive one"]
    if not is_rigid(G):
        return ["inertia has not the form [[I, [h]], [−[h], m 1]] of a rigid body's"]
    if not unphysical(G):
        return []
    if mass(G) == 0:
        return ["mass is zero but the rotational inertia is not"]
    moments = principal_moments(G)
    text = ", ".join(f"{x:.6g}" for x in moments)
    if moments[0] < -_slack(G):
        return [f"principal moments {text} kg·m² are not all positive"]
    return [f"principal moments {text} kg·m² violate the triangle inequality (the largest exceeds the sum of the others)"]


def equivalent_box(G: Array) -> tuple[Array, Array]:
    """Return the edges (3), m, of the box of even density that has a rigid body's inertia G (6×6), and the box's pose (4×4).

    >>> size, T = equivalent_box(box(2.0, [0.1, 0.2, 0.3]))
    >>> sorted(size.round(12).tolist())
    [0.1, 0.2, 0.3]
    """
    m, c = mass(G), center(G)
    moments, axes = np.linalg.eigh(_about_center(G))
    size = np.sqrt(np.maximum(6.0 / m * (moments.sum() - 2.0 * moments), 1e-12))
    return size, se3.pose(axes * np.sign(np.linalg.det(axes)), c)


def kinetic_energy(G: Array, V: Array) -> Array:
    """Return ½ Vᵀ G V, J (...), of inertias G (..., 6, 6) and twists V (..., 6).

    >>> kinetic_energy(np.diag([1.0, 1, 1, 2, 2, 2]), np.array([0, 0, 2.0, 3.0, 0, 0]))
    np.float64(11.0)
    """
    return 0.5 * np.vecdot(V, np.matvec(G, V))


def world_momentum(T: Array, G: Array, V: Array) -> Array:
    """Return Ad(T)⁻ᵀ G V, [angular about the world's origin; linear] in world axes (..., 6): constant where no force acts.

    >>> import numpy as np
    >>> from engine.spatial import inertia, se3
    >>> T, G = se3.pose(np.eye(3), [0, 3.0, 0]), inertia.sphere(2.0, 0.1)
    >>> inertia.world_momentum(T, G, np.array([0, 0, 0, 1.0, 0, 0])) + 0.0  # 2 kg at 1 m/s along x, 3 m beside the origin
    array([ 0.,  0., -6.,  2.,  0.,  0.])
    """
    return se3.wrench_to_parent(T, np.matvec(G, V))
