"""A model as a text of its own (JSON), to be kept with what was computed from it, and read back the same.

A text may come from anybody, and the meshes and textures that it names lie outside of it: a text holds a digest of each, of all its bytes,
and a file that is not the one that was there when the text was written is not read.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
import os
import stat
import warnings
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

from engine.checks import warn
from engine.model import Described, Geometry, Joint, Keyframe, Limits, Link, Material, Mimic, Model, ModelError, Part
from engine.model.graph import floating

CLASSES = {c.__name__: c for c in (Described, Geometry, Joint, Keyframe, Limits, Link, Material, Mimic, Part)}
FILES = ("mesh", "texture")
#: what a dictionary by names is called in a text
MAPPING = "names"
LATER = ("acceleration", "deceleration", "jerk")  # limits that are no part of the hash where there are none
WHOLE = "sha256:"  # stands before a digest of all of a file
ENDS = 1 << 12  # bytes of a file's beginning and of its end that one of an earlier version is of
LARGEST = 1 << 32  # bytes of a file that is read for its digest; no mesh has more
PIECE = 1 << 20  # bytes that are read in one go


@functools.lru_cache(maxsize=16)
def model_text(model: Model) -> str:
    """Return all of a model's links and joints, and what its file describes besides, as JSON; every number to its last bit.

    >>> import engine
    >>> json.loads(model_text(engine.load(engine.example("free_flyer"))))["name"]
    'free_flyer'
    """
    graph = model.graph
    plain = {
        "name": model.name,
        "floating_base": bool(model.joints) and model.joints[0].parent == "" and model.joints[0].kind == "floating",
        "links": [pack_part(graph.nodes[n]["link"]) for n in graph],
        "joints": [pack_part(j) for _, _, j in graph.edges.data("joint")],
    }
    if plain["floating_base"] and pack_part(base := model.joints[0]) != pack_part(floating(base.child, {j.name for j in model.joints[1:]})):
        plain["base"] = pack_part(base)
    if model.described is not None:
        plain["described"] = pack_part(model.described)
    return json.dumps(plain, sort_keys=True)


@functools.lru_cache(maxsize=16)
def model_hash(model: Model) -> str:
    """Return the SHA-256 of what a model is, its links and joints, without what it looks like and what acts on it.

    >>> import engine
    >>> model = engine.load(engine.example("free_flyer"))
    >>> model_hash(model) == model_hash(engine.io.model_from_text(model_text(model))), len(model_hash(model))
    (True, 64)
    """
    return text_hash(model_text(model))


def text_hash(text: str) -> str:
    """Return the :func:`model_hash` of the model that a text is of.

    >>> import engine
    >>> model = engine.load(engine.example("free_flyer"))
    >>> text_hash(model_text(model)) == model_hash(model)
    True
    """
    seen = json.loads(text)
    seen.pop("described", None)
    for link in seen["links"]:
        del link["visuals"], link["collisions"]
    for joint in seen["joints"]:
        if not joint["armature"]:
            del joint["armature"]  # joints without keep the hash they had before joints had one
        for which in LATER:
            if joint["limits"].get(which) == math.inf:
                del joint["limits"][which]
    return hashlib.sha256(json.dumps(seen, sort_keys=True).encode()).hexdigest()


def model_from_text(text: str) -> Model:
    """Return the model of a text that :func:`model_text` wrote; a mesh that is another file by now has no path, and a fault.

    >>> from engine.model import Builder
    >>> arm = Builder("arm")
    >>> _ = arm.add_link("base"), arm.add_link("rod"), arm.add_joint("pivot", "revolute", "base", "rod")
    >>> model_from_text(model_text(arm.model()))
    <model 'arm': 2 links, 1 joints, nq 1, nv 1>
    """
    try:
        plain, unsure = json.loads(text), list[str]()
        graph: Any = nx.DiGraph(name=plain["name"])
        for link in unpack_part(plain["links"], unsure):
            graph.add_node(link.name, link=link)
        for joint in unpack_part(plain["joints"], unsure):
            graph.add_edge(joint.parent, joint.child, joint=joint)
        if "base" in plain:
            base = unpack_part(plain["base"], unsure)
            graph.nodes[base.child]["joint"] = base
        model = Model.from_graph(graph, bool(plain["floating_base"]))
        model = replace(model, described=unpack_part(plain["described"], unsure)) if "described" in plain else model
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(f"the text of a model cannot be read ({error}); expected what engine.io.model_text writes") from None
    if unsure:
        more = f", and {len(unsure) - 1} more," if len(unsure) > 1 else ""
        warn(f"the text of '{model.name}' is of an earlier version, and knows of '{unsure[0]}'{more} the size and both ends alone; "
             "expected that what lies between is as it was")  # fmt: skip
    return model


def pack_part(x: Any) -> Any:
    """Return the plain lists, dictionaries, numbers and texts of a model's parts."""
    if is_dataclass(x) and not isinstance(x, type):
        plain = {f.name: pack_part(getattr(x, f.name)) for f in fields(x)}
        named = [plain[n] for n in FILES if plain.get(n)]
        return {"is": type(x).__name__, **plain, **({"digest": digest(named[0])} if named else {})}
    if isinstance(x, Mapping):
        return {"is": MAPPING, "items": {name: pack_part(y) for name, y in x.items()}}
    if isinstance(x, np.ndarray):
        return x.tolist()
    if isinstance(x, (tuple, list)):
        return [pack_part(y) for y in x]
    if isinstance(x, Path):
        return str(x)
    return x.item() if isinstance(x, np.generic) else x


def unpack_part(x: Any, unsure: list[str]) -> Any:
    """Return the part that :func:`pack_part` made plain; files whose digest of an earlier version knows only their ends are ``unsure``."""
    if isinstance(x, dict):
        if x["is"] == MAPPING:
            return {n: tupled(unpack_part(y, unsure)) for n, y in x["items"].items()}
        given = {n: unpack_part(y, unsure) for n, y in x.items() if n not in ("is", "digest")}
        for n in ("placement", "axis", "axis2", "inertia"):
            if n in given:
                given[n] = np.array(given[n])
        for n in FILES:
            if given.get(n):
                path, known = given[n], str(x.get("digest"))
                there = digest(path, known)
                same = there == known
                if same and WHOLE not in known and int(known.split(" ")[0]) > 2 * ENDS:
                    unsure.append(path)
                given[n] = Path(path) if same else None
                text = f"'{path}' is {'another file than it was' if there else 'not there, as it was,'} when this was recorded"
                if not same and n == "mesh":
                    given["fault"] = f"{text}; expected the same file"
                elif not same:
                    warnings.warn(f"the texture {text}; what it belongs to is drawn without it", stacklevel=2)
        for n in ("visuals", "collisions", "size", "color", "gravity", "constraints", "actuators", "forces"):
            if given.get(n) is not None:
                given[n] = tuple(given[n])
        return CLASSES[x["is"]](**given)
    return [unpack_part(y, unsure) for y in x] if isinstance(x, list) else x


def tupled(x: Any) -> Any:
    """Return a list, and those in it, as tuples."""
    return tuple(map(tupled, x)) if isinstance(x, list) else x


def digest(path: str, known: str | None = None) -> str:
    """Return a file's size and the SHA-256 of all its bytes, which nobody can give who has not seen it; "" if there is none.

    To compare it with one that is ``known``, no more is read than that takes: nothing of a file of another size, whose digest is its size
    alone, and the beginning and the end where it is of an earlier version.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # does not wait at a pipe
    except (OSError, ValueError):
        return ""
    try:
        there = os.fstat(fd)
        left = size = there.st_size
        if not stat.S_ISREG(there.st_mode) or size > LARGEST:
            return ""
        if known is not None and known.split(" ")[0] != str(size):
            return str(size)
        if known is not None and WHOLE not in known:
            return f"{size} {hashlib.sha256(os.pread(fd, ENDS, 0) + os.pread(fd, ENDS, max(0, size - ENDS))).hexdigest()}"
        seen = hashlib.sha256()
        while left and (piece := os.read(fd, min(left, PIECE))):
            seen.update(piece)
            left -= len(piece)
        return f"{size} {WHOLE}{seen.hexdigest()}"
    except OSError:
        return ""
    finally:
        os.close(fd)
