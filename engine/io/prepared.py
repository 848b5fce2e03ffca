"""Mesh files made ready for trimesh's readers: bounded by what they hold, and without what the readers take for something else."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from engine.checks import free_memory
from engine.io.errors import RobotFileError

#: primitives, instances and nodes; materials of an .obj, each of which is a mesh to its reader
MOST_PARTS, MOST_MATERIALS = 10_000, 1000
MOST_TRIANGLES = 20_000_000
#: bytes in an entry of a glTF accessor, by its component's type, and components by its type
BYTES = {5120: 1, 5121: 1, 5122: 2, 5123: 2, 5125: 4, 5126: 4}
COMPONENTS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT2": 4, "MAT3": 9, "MAT4": 16}
#: bytes of memory that a triangle takes while it is read and drawn (measured: 880 to 1250, of any format); how many are told of
TAKEN, MUCH = 1250, 2 * 10**9
#: bytes of text for a triangle, about (measured: 41 and 64)
TEXT = {".stl": 250, ".obj": 41, ".off": 41, ".dae": 64}
FACES = re.compile(rb"\Aply[^\0]*?^element face (\d{1,12})\s", re.MULTILINE)
#: views and accessors may share bytes of a buffer, so many times over
SHARED = 10
#: extensions of glTF that change no triangle
LOOKS = ("KHR_materials_", "KHR_texture_", "EXT_texture_", "KHR_lights_")

#: a line of an .obj that trimesh would not see, or take for another: indented, with a tab, with an index from the end, or zero
UNUSUAL = re.compile(rb"^[ \t]+(?:f|v|vn|vt|usemtl)[ \t]|^(?:f|v|vn|vt|usemtl)\t|^f[^\n]*?[ /](?:-|0+(?![0-9]))", re.MULTILINE)
MATERIAL = re.compile(rb"^usemtl +([^\n]*)", re.MULTILINE)
CORNER = re.compile(rb"^[ \t]*vertex[ \t]", re.MULTILINE | re.IGNORECASE)
BETWEEN_SOLIDS = re.compile(rb"^[ \t]*endsolid[^\n]*\n\s*solid[^\n]*\n", re.MULTILINE | re.IGNORECASE)
NAME_OF_SOLID = re.compile(rb"\A\s*solid[^\n]*\n", re.IGNORECASE)


def weighed(data: bytes, kind: str) -> str:
    """Return what is said of a file that takes very much memory, as its header or its size has it; nothing of others.

    Raises
    ------
    RobotFileError : it takes more than there is
    """
    count = counted(data, kind)
    if count * TAKEN <= MUCH:
        return ""
    said = f"the mesh has about {count} triangles, which take about {count * TAKEN / 1e9:.2g} GB of memory"
    if count * TAKEN > (free := free_memory()):
        raise RobotFileError(f"{said}, and {free / 1e9:.2g} GB are free; expected fewer triangles (most programs for meshes decimate them)")
    return f"{said}; fewer would look the same (most programs for meshes decimate them)"


def counted(data: bytes, kind: str) -> int:
    """Return about how many triangles a mesh file holds, without reading them; 0 where it does not say."""
    if kind == ".stl" and len(data) == 84 + 50 * int.from_bytes(data[80:84], "little"):
        return (len(data) - 84) // 50
    if kind == ".ply":
        return int(found[1]) if (found := FACES.search(data[: 1 << 16])) else 0
    if kind in (".glb", ".gltf"):
        try:
            held = json.loads(data[20 : 20 + int.from_bytes(data[12:16], "little")] if data[:4] == b"glTF" else data)
            of = [p["indices"] if "indices" in p else p["attributes"]["POSITION"] for m in held["meshes"] for p in m["primitives"]]
            return sum(held["accessors"][k]["count"] for k in of) // 3
        except (ValueError, LookupError, TypeError):
            return 0
    return len(data) // TEXT[kind]


def prepared(data: bytes, kind: str, named: Any) -> bytes:
    """Return a mesh file as its reader reads it right, with the files that it names (:class:`engine.io.mesh.Named`).

    Raises
    ------
    RobotFileError : it wants more memory than it is large, or is written in a way that its reader would misread
    """
    if kind == ".stl":
        return stl(data)
    if kind == ".obj":
        return obj(data, named)
    if kind == ".off":
        return text(data)
    if kind in (".glb", ".gltf"):
        check_gltf(data, named)
    return data


def text(data: bytes) -> bytes:
    """Return text in UTF-8; what is none is taken for Latin-1, in which every byte is a letter."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1").encode()
    return data


def stl(data: bytes) -> bytes:
    """Return an ASCII file with all its solids in one, without a name, which could be any word."""
    announced = int.from_bytes(data[80:84], "little")
    if len(data) >= 84 and len(data) == 84 + 50 * announced:
        return data
    if data.strip() and not CORNER.search(data) and (b"\0" in data or not NAME_OF_SOLID.match(data + b"\n")):
        said = f"its {len(data)} bytes are not those of the {announced} triangles that it announces, and no text of triangles"
        raise RobotFileError(f"the mesh cannot be read ({said}); expected a whole .stl file")
    return NAME_OF_SOLID.sub(b"solid\n", BETWEEN_SOLIDS.sub(b"", text(data).replace(b"\r\n", b"\n")))


def obj(data: bytes, named: Any) -> bytes:
    """Return a file whose faces count vertices from the first one, and whose materials, if there are very many, are left out."""
    data = text(data).replace(b"\r\n", b"\n").replace(b"\\\n", b" ")
    if UNUSUAL.search(data):
        data = b"\n".join(usual(data))
    if len(used := set(MATERIAL.findall(data))) > MOST_MATERIALS:
        named.faults["usemtl"] = f"it has {len(used)} materials; expected at most {MOST_MATERIALS}"
        data = MATERIAL.sub(b"", data)
    return data


def usual(data: bytes) -> Iterator[bytes]:
    """Yield an .obj's lines with a single space after the first word, and faces' indices from the end as ones from the beginning."""
    counts = {b"v": 0, b"vt": 0, b"vn": 0}
    for line in data.split(b"\n"):
        word, _, rest = line.strip().replace(b"\t", b" ").partition(b" ")
        if word in counts:
            counts[word] += 1
        elif word == b"f":
            rest = b" ".join(b"/".join(map(from_first, corner.split(b"/"), counts.values())) for corner in rest.split())
        yield word + b" " + rest


def from_first(index: bytes, count: int) -> bytes:
    """Return an index from 1, of one that may count back from the last of those so far, or be none."""
    i = int(index or 1)
    if (i := i + count + 1 if i < 0 else i) < 1:
        raise RobotFileError(f"a face has the index {index.decode()} of {count} vertices so far; expected one of them")
    return b"%d" % i if index else index


def check_gltf(data: bytes, named: Any) -> None:
    """Refuse a glTF file that claims more than it holds, or holds triangles in a form that is not read: compressed, sparse, normalised."""
    end = 20 + int.from_bytes(data[12:16], "little")
    if data[:4] == b"glTF" and end > len(data):
        raise RobotFileError(f"the mesh has {len(data)} bytes, and says that its header ends at {end}; expected a whole .glb file")
    held = json.loads(data[20:end] if data[:4] == b"glTF" else data)
    if odd := [x for x in held.get("extensionsRequired", ()) if not x.startswith(LOOKS)]:
        raise RobotFileError(f"the mesh requires the extension {odd[0]}, which is not read; expected plain glTF")
    accessors, views, meshes = (held.get(name, []) for name in ("accessors", "bufferViews", "meshes"))
    primitives = [p for m in meshes for p in m["primitives"]]
    for what, count in (("nodes", len(held.get("nodes", ()))), ("primitives", len(primitives))):
        if count > MOST_PARTS:
            raise RobotFileError(f"the mesh has {count} {what}; expected at most {MOST_PARTS}")
    if any("bufferView" not in a or "sparse" in a for a in accessors):
        raise RobotFileError("the mesh has an accessor that is sparse, compressed or without data, which is not read; expected plain glTF")
    files = {b["uri"] for b in held.get("buffers", ()) if "uri" in b and "base64," not in b["uri"]}
    there = len(data) + sum(len(named.get(name)) for name in files)
    sizes = [a["count"] * BYTES[a["componentType"]] * COMPONENTS[a["type"]] for a in accessors]
    claimed = max(sum(v["byteLength"] for v in views), sum(sizes))
    if claimed > SHARED * there:
        raise RobotFileError(f"the mesh claims {claimed} bytes of data, and holds {there}; expected no more than it holds")
    used = [accessors[p["attributes"]["POSITION"]] for p in primitives if "POSITION" in p.get("attributes", ())]
    if any(a.get("normalized") for a in used):
        raise RobotFileError("the mesh has normalised positions, which are not read; expected plain glTF")
    corners = sum(a["count"] for a in [*used, *(accessors[p["indices"]] for p in primitives if "indices" in p)])
    if corners > 6 * MOST_TRIANGLES:
        raise RobotFileError(f"the mesh has {corners} vertices and corners; expected at most {6 * MOST_TRIANGLES}")
