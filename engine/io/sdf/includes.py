"""Files within files: an <include> becomes the model that it names, with its own name, pose and the like put over that one's."""

from __future__ import annotations

import os
from dataclasses import replace

from engine.io.errors import RobotFileError, short
from engine.io.given import Given
from engine.io.paths import CONFIG
from engine.io.sdf.document import DEEPEST, EXPECTED, Document, Node
from engine.io.xml import root_of

#: what of an <include> is no part of the model
OWN = ("uri", "name")


def expanded(document: Document, node: Node, above: tuple[str, ...] = ()) -> Node:
    """Return an element with models in place of all that it and what lies in it include; ``above`` are the files it is in."""
    found = replace(node, children=[])
    for child in node.children:
        if child.tag == "include" and node.tag in ("world", "model"):
            child = included(document, child, above or (os.path.realpath(node.file),))
        elif child.tag in ("world", "model"):
            child = expanded(document, child, above)
        found.children.append(replace(child, parent=found))
    return found


def included(document: Document, node: Node, above: tuple[str, ...]) -> Node:
    """Return the model that an <include> stands for."""
    uri = node.part("uri")
    path = file_of(document, uri)
    if (real := os.path.realpath(path)) in above:
        raise uri.error(f"the file '{short(uri.words)}' includes itself; expected another")
    if len(above) > DEEPEST:
        raise uri.error(f"more than {DEEPEST} files lie within one another; expected fewer")
    root = document.included(uri, path)
    models = [*root.all("model")]
    if len(models) != 1:
        raise uri.error(f"the file '{short(uri.words)}' has {len(models)} models of its own; expected one")
    model = expanded(document, models[0], (*above, real))
    over = [n for n in node.children if n.tag not in OWN]
    attributes = dict(model.attributes)
    if node.text("name"):
        attributes["name"] = node.text("name")
    for n in over:
        if n.tag == "placement_frame":
            attributes["placement_frame"] = n.words
            if node.first("pose") is None:
                raise n.error("a <placement_frame> is given without a <pose>; expected both")
    if node.truth(node.attributes.get("merge", "false")):
        attributes["merge"] = "true"
    changed = {n.tag for n in over} & {"pose", "static"}
    model = replace(model, attributes=attributes, parent=node.parent)
    model.children = [replace(n, parent=model) for n in (*over, *(c for c in model.children if c.tag not in changed))
                      if n.tag != "placement_frame"]  # fmt: skip
    return model


def file_of(document: Document, uri: Node) -> str:
    """Return the path of the file that an <include> names: itself, or that of the newest version in a model's folder."""
    finder, folder = document.finder(uri), uri.words.rstrip("/")
    config = finder.find(f"{folder}/{CONFIG}")
    if config.path is None:
        found = finder.find(uri.words)
        if found.path is None:
            raise uri.error(f"the included file '{short(uri.words)}' {found.fault}")
        return str(found.path)
    named = root_of(Given(str(config.path)).read(EXPECTED), str(config.path), "a complete model.config").findall("sdf")
    versions = [(tuple(int(p) if p.isdigit() else 0 for p in (e.get("version") or "0").split(".")), (e.text or "").strip()) for e in named]
    if not versions:
        raise RobotFileError("it names no SDF file; expected <sdf version=\"...\">model.sdf</sdf>", str(config.path))
    found = finder.find(f"{folder}/{max(versions)[1]}")
    if found.path is None:
        raise RobotFileError(f"the file '{short(max(versions)[1])}' {found.fault}", str(config.path))
    return str(found.path)
