"""Surfaces: triangles of one material, as they are drawn."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from engine.io import RobotFileError, RobotFileWarning
from engine.io.dae import ColladaMesh
from engine.io.errors import short
from engine.io.mesh import FORMATS, MAX_BYTES, file_of, grid, read, suffix, turn_of
from engine.io.prepared import MUCH, TAKEN, counted
from engine.io.unchanged import while_unchanged
from engine.io.xml import bytes_of
from engine.model import Geometry
from engine.viewer.scene import kept_arrays
from engine.viewer.scene.materials import ROUGHNESS, WHITE, Color, Look, look_of, pixels
from engine.viewer.scene.triangles import area_of, corner_normals, crossed, distinct, inside_out, packed, smoothed, welded

Array = np.ndarray
GREY: Color = (0.72, 0.73, 0.75, 1.0)
#: corners around a round shape
SEGMENTS = 64


@dataclass(frozen=True, eq=False, repr=False)
class Surface:
    """Triangles of one material, in metres, in the frame of the geometry they belong to. Equal ones are one object: see :func:`surfaces`.

    Attributes
    ----------
    positions (n, 3), normals (n, 3) : float32; a vertex for every normal, so that edges stay sharp
    faces (m, 3) : uint32, counter-clockwise seen from outside
    color : red, green, blue, opacity in [0, 1] (sRGB); multiplies the vertices' colours and the texture
    colors (n, 4) : of the vertices, uint8 (sRGB), or None
    uv (n, 2) : float32, from the lower left corner, and texture (h, w, 4) : uint8 (sRGB), first row on top, or None
    metallic, roughness : in [0, 1], as in glTF
    closed : whether it is (with the others of its file) the outside of a solid, whose inside is never seen
    ground : whether it is what robots stand on, and no other ground is drawn above it
    """

    positions: Array
    normals: Array
    faces: Array
    color: Color = GREY
    colors: Array | None = None
    uv: Array | None = None
    texture: Array | None = None
    metallic: float = 0.0
    roughness: float = ROUGHNESS
    name: str = ""
    closed: bool = False
    ground: bool = False

    def __repr__(self) -> str:
        return f"<surface '{self.name}': {len(self.faces)} triangles>"


def surfaces(shape: Geometry) -> list[tuple[Surface, Array]]:
    """Return the surfaces of a shape, each with a matrix (4, 4) that places it in the shape's frame (a scale, of meshes also a turn).

    Surfaces are shared: the same file, or two boxes of any size, of one material give the same objects, so that they are uploaded and
    drawn as one; of other materials they share their arrays. The matrix never mirrors: a mirrored mesh is a surface of its own.

    What a mesh's file says of its looks (materials, colours of vertices or faces) comes first, and the robot file's material is for what
    it says nothing of: so do ROS's viewers. A texture that is not there or cannot be read is a warning, and not drawn.

    Raises
    ------
    RobotFileError : the mesh's file is not there, or not to be read (:func:`engine.io.load_mesh`)
    """
    material = shape.material
    if material and material.fault:
        warnings.warn(f"{material.fault}; its shape is drawn without it", RobotFileWarning, stacklevel=2)
    color = material.color if material else None
    texture = str(material.texture) if material and material.texture else None
    look: Any = (tuple(float(np.clip(c, 0, 1)) for c in color) if color else None, texture)
    if shape.kind == "mesh":
        # a size of zero stays a matrix that can be inverted
        size = np.array([s if s else 1e-9 for s in shape.size])
        placed = np.eye(4)
        placed[:3, :3] = np.diag(size) @ turn_of(shape) * [np.prod(np.sign(size)), 1, 1]
        return [(s, placed) for s in dressed(of_file(file_of(shape), bool(np.prod(size) < 0)), *look)]
    if shape.heights is not None:
        return [(s, np.eye(4)) for s in dressed(landscape(shape.heights.tobytes(), shape.heights.shape, shape.size), *look)]
    extent = np.maximum(np.abs(shape.size), 1e-9)
    if shape.kind == "capsule":
        return [(s, np.eye(4)) for s in dressed(capsule(*map(float, extent)), *look)]
    ball = {"sphere": (sphere, extent[[0, 0, 0]]), "ellipsoid": (sphere, extent)}
    unit, scale = {"box": (box, extent), "cylinder": (cylinder, extent[[0, 0, -1]]), **ball}[shape.kind]
    return [(s, np.diag([*scale, 1.0])) for s in dressed(unit(), *look)]


class Bare(NamedTuple):
    """A surface, and whether its file says nothing of its looks."""

    surface: Surface
    bare: bool = True


@dataclass(frozen=True, eq=False)
class Picture:
    """The pixels (h, w, 4) of a file, or None where it has none; the same object for as long as the file is the same."""

    pixels: Array | None


def dressed(found: tuple[Bare, ...], color: Color | None, texture: str | None) -> tuple[Surface, ...]:
    """Return surfaces with the robot file's material on what has none of its own."""
    return worn(found, color, image_of(texture) if texture and any(bare and s.uv is not None for s, bare in found) else None)


@lru_cache(maxsize=2048)
def worn(found: tuple[Bare, ...], color: Color | None, image: Picture | None) -> tuple[Surface, ...]:
    """Return surfaces with a colour and a picture, if there is one, on what has none of its own."""
    if color is None and image is None:
        return tuple(s for s, _ in found)
    result = []
    for s, bare in found:
        drape = None if s.uv is None or image is None else image.pixels
        result.append(replace(s, color=color or (GREY if drape is None else WHITE), texture=drape) if bare else s)
    return tuple(result)


# ---------------------------------------------------------------- files


@while_unchanged(512)
@np.errstate(all="ignore")      # normals and uv may be any numbers, which then are of no use
def of_file(path: str, mirrored: bool = False) -> tuple[Bare, ...]:
    """Return the surfaces of a file, one for each material, in its frame and metres; or of its mirror image, x to −x."""
    if mirrored:
        flip = np.array([-1, 1, 1], dtype=np.float32)
        return tuple(Bare(replace(s, positions=s.positions * flip, normals=s.normals * flip, faces=s.faces[:, ::-1].copy()), bare)
                     for s, bare in of_file(path))  # fmt: skip
    key = key_of(path)
    if key and (arrays := kept_arrays.load(key)) is not None:
        return tuple(unpacked(*row) for row in kept_arrays.parted(arrays))
    soup = gathered(path)
    places = welded(soup.points)[soup.faces]
    area = np.linalg.norm(crossed(soup.points, soup.faces), axis=1)
    apart = (places != places[:, [1, 2, 0]]).all(axis=1) & (area > 1e-16 * np.ptp(soup.points, axis=0).max() ** 2)
    if not apart.any():
        raise RobotFileError("the mesh's triangles have no area; expected a surface", path)
    faces, places, look = soup.faces[apart], places[apart], soup.look[apart]
    turned, whole = inside_out(soup.points, faces, places)
    faces[turned], places[turned] = faces[turned, ::-1], places[turned, ::-1]
    normals = corner_normals(soup.points, faces, places, soup.normals)
    found = tuple(made(soup, k, faces[look == k], places[look == k], normals[look == k], whole) for k in np.unique(look))
    if key and soup.alone and key == key_of(path):
        kept_arrays.store(key, kept_arrays.joined([in_arrays(*bare) for bare in found]))
    return found


def key_of(path: str) -> str | None:
    """Return the key under which a file's surfaces are kept, by its bytes; None where more may be said of them: of a file that takes very
    much memory, and of pictures, which glTF holds."""
    if (kind := suffix(path)) not in FORMATS or kind in (".glb", ".gltf"):
        return None
    data = bytes_of(path, MAX_BYTES, "a mesh")
    return None if counted(data, kind) * TAKEN > MUCH else kept_arrays.key_of(f"surfaces of a file{kind}", np.frombuffer(data, np.uint8))


def in_arrays(s: Surface, bare: bool) -> tuple[Array, ...]:
    """Return a surface without a texture, and whether it is bare, as arrays."""
    colors = np.zeros((0, 4), np.uint8) if s.colors is None else s.colors
    uv = np.zeros((0, 2), np.float32) if s.uv is None else s.uv
    return s.positions, s.normals, s.faces, colors, uv, np.array([(*s.color, s.metallic, s.roughness, s.closed, bare)]), np.array([s.name])


def unpacked(positions: Array, normals: Array, faces: Array, colors: Array, uv: Array, looks: Array, name: Array) -> Bare:
    """Return the surface that :func:`in_arrays` made arrays of."""
    r, g, b, opacity, metallic, roughness, closed, bare = looks[0].tolist()
    surface = Surface(positions, normals, faces, (r, g, b, opacity), colors if len(colors) else None, uv if len(uv) else None, None,
                      metallic, roughness, str(name[0]), bool(closed))  # fmt: skip
    return Bare(surface, bool(bare))


class Soup(NamedTuple):
    """Triangles of a file: points with normals and uv (n, .), NaN where there are none, and colours (n, 4); faces and their looks (m).
    Alone is what no other file and no picture has a part in."""

    points: Array
    normals: Array
    uv: Array
    colors: Array
    faces: Array
    look: Array
    looks: list[Look]
    textures: list[Array | None]
    alone: bool


def gathered(path: str) -> Soup:
    """Read a file's meshes into one frame, equal materials made one; warn of what their looks lack."""
    meshes, named = read(path)
    looks: dict[Any, tuple[int, Look]] = {}
    parts = []
    count = 0
    for mesh, T in meshes:
        points = mesh.vertices @ T[:3, :3].T + T[:3, 3]
        faces = np.asarray(mesh.faces)
        look, uv, colors = look_of(mesh, path)
        # as it was read: to ask for mesh.vertex_normals would compute them where the file has none
        normals = mesh.normals if isinstance(mesh, ColladaMesh) else mesh._cache.cache.get("vertex_normals")
        normals = np.full_like(points, np.nan) if normals is None else normals @ np.linalg.pinv(T[:3, :3])
        uv = np.full((len(points), 2), np.nan) if uv is None or np.shape(uv) != (len(points), 2) else uv
        if np.linalg.det(T[:3, :3]) < 0:
            faces = faces[:, ::-1]
        if mesh.visual.kind == "face" and colors is not None:
            points, normals, uv = (x[faces].reshape(-1, x.shape[1]) for x in (points, normals, uv))
            colors, faces = np.repeat(colors, 3, axis=0), np.arange(faces.size).reshape(-1, 3)
        k, _ = looks.setdefault(look._replace(image=id(look.image), name=""), (len(looks), look))
        colors = np.full((len(points), 4), 255, dtype=np.uint8) if colors is None else colors
        parts.append((points, normals, uv, colors, faces + count, np.full(len(faces), k)))
        count += len(points)
    for fault in named.faults.values():
        warnings.warn(f"{path}: {fault}; the mesh is drawn without it", stacklevel=2)
    listed = [look for _, look in looks.values()]
    points, normals, uv, colors, faces, which = (np.concatenate(x) for x in zip(*parts, strict=True))
    alone = not (named.data or named.faults) and all(x.image is None for x in listed)
    return Soup(points, normals, uv, colors, faces, which, listed, [pixels(x.image, x.opaque, path) for x in listed], alone)


def made(soup: Soup, k: int, faces: Array, places: Array, normals: Array, closed: bool) -> Bare:
    """Return the surface of the faces of look k: a vertex for every place, normal, uv and colour."""
    look, texture = soup.looks[k], soup.textures[k]
    corner, normals = faces.reshape(-1), normals.reshape(-1, 3)
    columns = [places.reshape(-1), packed(normals, -1.0, 2 / 1000, bits=10)]
    uv = soup.uv[corner].astype(np.float32)
    drapes = bool(np.isfinite(uv).any()) and (texture is not None or look.color is None)
    if drapes:
        uv = np.nan_to_num(uv)
        columns += [uv[:, 0].copy().view(np.int32).astype(np.int64), uv[:, 1].copy().view(np.int32).astype(np.int64)]
    colors = np.ascontiguousarray(soup.colors[corner])
    if look.colored:
        columns.append(colors.view(np.uint32)[:, 0].astype(np.int64))
    first, vertex = distinct(*columns)
    surface = Surface(
        soup.points[corner[first]].astype(np.float32),
        normals[first].astype(np.float32),
        vertex.reshape(-1, 3).astype(np.uint32),
        GREY if look.color is None else look.color,
        colors[first] if look.colored else None,
        uv[first] if drapes else None,
        texture if drapes else None,
        look.metallic,
        look.roughness,
        look.name,
        closed,
    )
    return Bare(surface, look.color is None)


# ---------------------------------------------------------------- textures


@while_unchanged(64)
def image_of(path: str) -> Picture:
    """Return what a picture file shows, after a warning nothing."""
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            image = Image.open(path)
    except Exception as e:  # whatever its many formats raise
        said = short(f"{type(e).__name__}: {e}")
        warnings.warn(f"{path}: the texture cannot be read ({said}); expected a picture; its shape is drawn without it", stacklevel=2)
        return Picture(None)
    with image:
        return Picture(pixels(image, False, path))


# ---------------------------------------------------------------- simple shapes


def boxed(surface: Surface) -> Surface:
    """Return a box in the middle of a surface, of the bounding box's size but no more area than the surface, in its mean colour."""
    ((cube, _),) = box()
    low, high = surface.positions.min(axis=0), surface.positions.max(axis=0)
    sides, area = high - low, area_of(surface.positions, surface.faces)
    sides = sides * min(1.0, float(np.sqrt(area / max(2.0 * (sides * np.roll(sides, 1)).sum(), 1e-30))))
    tints = [x.reshape(-1, 4).mean(axis=0) for x in (surface.colors, surface.texture) if x is not None]
    colors = np.tile(np.round(255 * np.prod([np.divide(x, 255) for x in tints], axis=0)), (len(cube.positions), 1)) if tints else None
    return replace(cube, positions=((low + high) / 2 + cube.positions * sides).astype(np.float32), color=surface.color, uv=None,
                   colors=None if colors is None else colors.astype(np.uint8), metallic=surface.metallic, roughness=surface.roughness,
                   name=surface.name)  # fmt: skip


@lru_cache(maxsize=1)
def box() -> tuple[Bare, ...]:
    """Return a cube of side 1 about the origin."""
    corner = 0.5 * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
    sides, normals = [], []
    for axis in range(3):
        for sign in (1.0, -1.0):
            side = np.empty((4, 3))
            side[:, axis] = 0.5 * sign
            side[:, [(axis + 1) % 3, (axis + 2) % 3]] = corner * [sign, 1]
            sides.append(side)
            normals.append(np.tile(sign * np.eye(3)[axis], (4, 1)))
    faces = (4 * np.arange(6)[:, None, None] + [[0, 1, 2], [0, 2, 3]]).reshape(-1, 3)
    return simple("box", np.concatenate(sides), np.concatenate(normals), faces, np.tile(corner + 0.5, (6, 1)))


@lru_cache(maxsize=1)
def sphere() -> tuple[Bare, ...]:
    """Return a ball of radius 1."""
    angle = np.linspace(-np.pi / 2, np.pi / 2, SEGMENTS // 2 + 1)
    arc = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return revolved("sphere", arc, arc)


@lru_cache(maxsize=1)
def cylinder() -> tuple[Bare, ...]:
    """Return a cylinder of radius 1 and height 1 about the origin, along z."""
    profile = np.array([[0, -0.5], [1, -0.5], [1, -0.5], [1, 0.5], [1, 0.5], [0, 0.5]])
    normals = np.array([[0, -1], [0, -1], [1, 0], [1, 0], [0, 1], [0, 1]])
    return revolved("cylinder", profile, normals)


@lru_cache(maxsize=256)
def capsule(radius: float, length: float) -> tuple[Bare, ...]:
    """Return a cylinder of a radius and length along z, with half a ball at either end, m."""
    angle = np.linspace(-np.pi / 2, 0, SEGMENTS // 4 + 1)
    lower = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    arc = np.concatenate([lower, lower[::-1] * [1, -1]])
    profile = radius * arc + 0.5 * length * np.sign(np.arange(len(arc)) - len(lower) + 0.5)[:, None] * [0, 1]
    return revolved("capsule", profile, arc)


@lru_cache(maxsize=64)
def landscape(heights: bytes, shape: tuple[int, ...], size: tuple[float, ...]) -> tuple[Bare, ...]:
    """Return the surface of a height field, with sides down to its lowest place."""
    points, faces = grid(np.frombuffer(heights).reshape(shape), size)
    numbers = np.arange(len(points)).reshape(shape)
    border = np.concatenate([numbers[0, :-1], numbers[:-1, -1], numbers[-1, :0:-1], numbers[:0:-1, 0]])
    low = len(points) + np.arange(len(border))
    points = np.concatenate([points, np.column_stack([points[border, :2], np.full(len(border), points[:, 2].min())])])
    ahead = np.roll(np.arange(len(border)), -1)
    faces = np.concatenate([faces, np.stack([border, low, low[ahead]], axis=1), np.stack([border, low[ahead], border[ahead]], axis=1)])
    faces = faces[np.linalg.norm(crossed(points, faces), axis=1) > 0.0]
    normals = smoothed(points, faces, faces)
    (bare,) = simple("heightfield", points[faces].reshape(-1, 3), normals.reshape(-1, 3), np.arange(faces.size).reshape(-1, 3),
                     (points[:, :2] / size + 0.5)[faces].reshape(-1, 2))  # fmt: skip
    return (Bare(replace(bare.surface, closed=False, ground=True)),)


def revolved(name: str, profile: Array, normals: Array) -> tuple[Bare, ...]:
    """Return the surface that a profile (k, 2) of distances from z and heights, with normals (k, 2), sweeps; upwards it is outside."""
    turn = 2 * np.pi * np.arange(SEGMENTS + 1) / SEGMENTS
    around = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    around[-1] = around[0]                                                      # the seam of uv

    def swept(x: Array) -> Array:
        return np.concatenate([x[:, None, :1] * around, np.broadcast_to(x[:, None, 1:], (len(x), SEGMENTS + 1, 1))], axis=2).reshape(-1, 3)

    height = np.linspace(0, 1, len(profile))
    uv = np.stack(np.broadcast_arrays(turn / (2 * np.pi), height[:, None]), axis=2).reshape(-1, 2)
    start = (np.arange(len(profile) - 1)[:, None] * (SEGMENTS + 1) + np.arange(SEGMENTS)).reshape(-1)
    low, high = start[:, None], start[:, None] + SEGMENTS + 1
    faces = np.concatenate([np.hstack([low, low + 1, high + 1]), np.hstack([low, high + 1, high])])
    points = swept(profile)
    area = np.linalg.norm(crossed(points, faces), axis=1)
    return simple(name, points, swept(normals), faces[area > 1e-9 * area.max()], uv)


def simple(name: str, points: Array, normals: Array, faces: Array, uv: Array) -> tuple[Bare, ...]:
    single = (x.astype(np.float32) for x in (points, normals, uv))
    p, n, t = single
    return (Bare(Surface(p, n, faces.astype(np.uint32), uv=t, name=name, closed=True)),)
