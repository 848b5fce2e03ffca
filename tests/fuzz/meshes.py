"""Mesh files of every format, mutated: finite triangles or one error of the engine, in bounded memory, and nothing printed."""

from __future__ import annotations

import contextlib
import functools
import io
import re
import resource
import sysconfig
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import trimesh
from PIL import Image

from engine import Geometry, RobotFileError, load_mesh
from engine.io.mesh import triangles
from engine.viewer.scene import surface

ROBOTS = Path(sysconfig.get_path("purelib")) / "cmeel.prefix/share/example-robot-data/robots"
FORMATS = (".stl", ".obj", ".dae", ".ply", ".off", ".glb", ".gltf")
#: bytes by which a process may grow with a file of some kB
GROWTH = 256 << 20
#: bytes of a file after its mutations
LARGEST = 400_000

WORDS = [b"nan", b"inf", b"1e999", b"-1", b"0", b"999999999", b"4294967295", b"18446744073709551615", b"-2147483648", b"1e308", b"1e30",
         b"", b" ", b"x", b"\0", b"\n", b'"', b"{", b"[", b"null", b"true", b"1.5", b"\xff\xff\xff\xff", b"\xe9", b"../../etc/passwd",
         b"/etc/passwd", b"file:///etc/passwd", b"http://127.0.0.1:9/x", b"data:;base64,AAAA"]  # fmt: skip
ENTRIES = [b"\xff" * 4, b"\0" * 4, b"\0\0\xc0\x7f", b"\0\0\x80\x7f", b"\xff\xff\xff\x7f", b"\0\0\0\x40"]
NUMBER, WORD = re.compile(rb"-?\d+\.?\d*(?:e-?\d+)?"), re.compile(rb"[A-Za-z_#]{3,}")


class Wrong(AssertionError):
    """What must not be."""


def case(rng: np.random.Generator, folder: Path) -> str:
    """Make a mesh file with what it names, and read it; then make what is drawn of it."""
    files, beside = seeds()
    name = pick(rng, sorted(files))
    for other, data in beside.items():
        (folder / other).write_bytes(changed(rng, data) if rng.random() < 0.15 else data)
    path = folder / (name if rng.random() < 0.95 else f"x{pick(rng, FORMATS)}")
    path.write_bytes(changed(rng, files[name]))
    shape = Geometry("mesh", (1.0, 1.0, 1.0), mesh=path, up_axis=False)
    printed, before = io.StringIO(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with warnings.catch_warnings(), contextlib.redirect_stderr(printed), contextlib.redirect_stdout(printed):
        warnings.simplefilter("error")
        read = tried(load_mesh, shape)
        warnings.filterwarnings("ignore", re.escape(str(path)), UserWarning)      # that names the file, and what is not drawn of it
        drawn = tried(surface.surfaces, shape)
    for held in (triangles, surface.of_file, surface.image_of):
        held.cache_clear()
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    require(grown << 10 < GROWTH, f"the process grew by {grown >> 10} MiB")
    require(not printed.getvalue(), f"printed: {printed.getvalue()[:300]}")
    if isinstance(read, str):
        require(isinstance(drawn, str), f"it is drawn, but not read: {read}")
        return "refused"
    require(len(read.faces) and read.vertices.shape[1:] == (3,) and np.isfinite(read.vertices).all(), f"vertices {read.vertices}")
    require(read.faces.min() >= 0 and read.faces.max() < len(read.vertices), f"faces {read.faces} of {len(read.vertices)} vertices")
    if isinstance(drawn, str):
        require("no area" in drawn, f"it is read, but not drawn: {drawn}")
        return "read"
    for part, placement in drawn:
        numbers = [part.positions, part.normals, placement, part.color, part.metallic, part.roughness, 0 if part.uv is None else part.uv]
        require(all(np.isfinite(x).all() for x in numbers), f"what is drawn is not finite: {numbers}")
        require(part.faces.max() < len(part.positions), "what is drawn has faces of vertices that are not there")
    return "drawn"


def tried(function: Any, shape: Geometry) -> Any:
    """Return what a function makes of a shape; of an error the text."""
    try:
        return function(shape)
    except RobotFileError as problem:
        text = str(problem)
        require("\n" not in text and len(text) < 2000, f"said in {len(text)} characters: {text[:300]}")
        require("MemoryError" not in text and "allocate" not in text, text)
        return text


def require(fine: Any, text: str) -> None:
    if not fine:
        raise Wrong(text)


def pick(rng: np.random.Generator, items: Any) -> Any:
    return items[rng.integers(len(items))]


# ---------------------------------------------------------------- files


@functools.cache
def seeds() -> tuple[dict[str, bytes], dict[str, bytes]]:
    """Return files of every format, by name, and the files that some of them name."""
    ball, box, card = trimesh.creation.icosphere(subdivisions=1), trimesh.creation.box(), trimesh.creation.box()
    picture = Image.fromarray((np.random.default_rng(0).random((8, 8, 3)) * 255).astype("u1"))
    material = trimesh.visual.material.SimpleMaterial(image=picture)
    card.visual = trimesh.visual.TextureVisuals(uv=card.vertices[:, :2], material=material)
    box.visual.vertex_colors = np.random.default_rng(1).integers(0, 255, (8, 4))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        collada = trimesh.exchange.dae.export_collada([ball, box])
        text, named = trimesh.exchange.obj.export_obj(card, return_texture=True, mtl_name="card.mtl")
        parts = trimesh.exchange.gltf.export_gltf(trimesh.Scene([ball, card, box]))
        files = {"ball.stl": ball.export(file_type="stl"), "text.stl": ball.export(file_type="stl_ascii").encode(),
                 "solids.stl": 3 * box.export(file_type="stl_ascii").encode(), "ball.off": ball.export(file_type="off").encode(),
                 "ball.ply": ball.export(file_type="ply"), "text.ply": box.export(file_type="ply", encoding="ascii"),
                 "card.obj": text.encode(), "ball.obj": ball.export(file_type="obj").encode(), "relative.obj": RELATIVE,
                 "scene.gltf": parts.pop("model.gltf"),
                 "scene.glb": trimesh.Scene([ball, card, box]).export(file_type="glb"), "scene.dae": collada}  # fmt: skip
    for file in sorted(ROBOTS.rglob("*.dae"), key=lambda f: f.stat().st_size)[:4]:
        files[f"robot{len(files)}.dae"] = file.read_bytes()
    return files, {**parts, **{name: x if isinstance(x, bytes) else x.encode() for name, x in named.items()}}


RELATIVE = b"""o a
v 0 0 0
v 1 0 0
v 0 1 0
vt 0 0
vt 1 1
usemtl red
f -3/-2 -2/-1 -1/-1
v 0 0 1
f 1 2 3 4
f 1//  2// 4//
"""


def changed(rng: np.random.Generator, data: bytes) -> bytes:
    """Return bytes with some of them, or some numbers, words or lines among them, changed, cut or repeated."""
    held = bytearray(data)
    for _ in range(int(pick(rng, [0, 1, 1, 1, 1, 2, 3, 10]))):
        if not held:
            break
        del held[LARGEST:]
        k, i = int(rng.integers(12)), int(rng.integers(len(held) if rng.random() < 0.6 else min(len(held), 600)))
        if k < 3:
            held[i] ^= 1 << int(rng.integers(8))
        elif k == 3:
            held[i : i + 4] = pick(rng, ENTRIES)
        elif k == 4 and rng.random() < 0.3:
            del held[i:]
        elif k == 5:
            del held[i : i + int(pick(rng, [1, 4, 50, 1000]))]
        elif k == 6:
            held[i:i] = held[i : i + int(pick(rng, [1, 50, 2000]))]
        elif k in (7, 8, 9) and (found := NUMBER.search(held, i)):
            held[found.start() : found.end()] = pick(rng, WORDS)
        elif k == 10 and (found := WORD.search(held, i)):
            other = WORD.search(held, int(rng.integers(len(held)))) or found
            held[found.start() : found.end()] = pick(rng, [other.group(), pick(rng, WORDS)])
        elif k == 11:
            lines = bytes(held).split(b"\n")
            lines[rng.integers(len(lines))] = pick(rng, lines) * int(pick(rng, [1, 1, 50]))
            held = bytearray(b"\n".join(lines))
    return bytes(held)
