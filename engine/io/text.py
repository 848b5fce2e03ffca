"""A model as a text of its own (JSON), to be kept with what was computed from it, and read back the same."""

from __future__ import annotations

import functools
import hashlib
import json
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

from engine.model import Geometry, Joint, Limits, Link, Material, Mimic, Model, ModelError

CLASSES = {c.__name__: c for c in (Geometry, Joint, Limits, Link, Material, Mimic)}


@functools.lru_cache(maxsize=16)
def model_text(model: Model) -> str:
    """Return all of a model's links and joints as JSON; every number to its last bit."""
    graph = model.graph
    plain = {
        "name": model.name,
        "floating_base": bool(model.joints) and model.joints[0].parent == "" and model.joints[0].kind == "floating",
        "links": [packed(graph.nodes[n]["link"]) for n in graph],
        "joints": [packed(j) for _, _, j in graph.edges.data("joint")],
    }
    return json.dumps(plain, sort_keys=True)


@functools.lru_cache(maxsize=16)
def model_hash(model: Model) -> str:
    """Return the SHA-256 of what a model is, without what it looks like."""
    seen = json.loads(model_text(model))
    for link in seen["links"]:
        del link["visuals"], link["collisions"]
    for joint in seen["joints"]:
        if not joint["armature"]:
            del joint["armature"]  # joints without keep the hash they had before joints had one
    return hashlib.sha256(json.dumps(seen, sort_keys=True).encode()).hexdigest()


def model_from_text(text: str) -> Model:
    """Return the model of a text that :func:`model_text` wrote.

    >>> from engine.model import Builder
    >>> arm = Builder("arm")
    >>> _ = arm.add_link("base"), arm.add_link("rod"), arm.add_joint("pivot", "revolute", "base", "rod")
    >>> model_from_text(model_text(arm.model()))
    <model 'arm': 2 links, 1 joints, nq 1, nv 1>
    """
    try:
        plain = json.loads(text)
        graph: Any = nx.DiGraph(name=plain["name"])
        for link in map(unpacked, plain["links"]):
            graph.add_node(link.name, link=link)
        for joint in map(unpacked, plain["joints"]):
            graph.add_edge(joint.parent, joint.child, joint=joint)
        return Model.from_graph(graph, bool(plain["floating_base"]))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(f"the text of a model cannot be read ({error}); expected what engine.io.model_text writes") from None


def packed(x: Any) -> Any:
    """Return the plain lists, dictionaries, numbers and texts of a model's parts."""
    if is_dataclass(x) and not isinstance(x, type):
        return {"is": type(x).__name__, **{f.name: packed(getattr(x, f.name)) for f in fields(x)}}
    if isinstance(x, np.ndarray):
        return x.tolist()
    if isinstance(x, (tuple, list)):
        return [packed(y) for y in x]
    if isinstance(x, Path):
        return str(x)
    return x.item() if isinstance(x, np.generic) else x


def unpacked(x: Any) -> Any:
    """Return the part that :func:`packed` made plain."""
    if isinstance(x, dict):
        given = {n: unpacked(y) for n, y in x.items() if n != "is"}
        for n in ("placement", "axis", "axis2", "inertia"):
            if n in given:
                given[n] = np.array(given[n])
        for n in ("mesh", "texture"):
            if given.get(n):
                given[n] = Path(given[n])
        for n in ("visuals", "collisions", "size", "color"):
            if given.get(n) is not None:
                given[n] = tuple(given[n])
        return CLASSES[x["is"]](**given)
    return [unpacked(y) for y in x] if isinstance(x, list) else x
