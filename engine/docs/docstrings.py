"""Docstrings as the engine has them, for Sphinx: sections of "name : what it is", prose with |bars| and *shape, links by public names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from docutils.nodes import Element
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.nodes import make_refnode

#: sections of entries; others are prose
ENTRIES = {"Parameters", "Attributes", "Returns", "Raises", "Warns"}


def prose(line: str) -> str:
    """Return a line without what reStructuredText would take for markup of its own, outside of ``code``."""
    own = r"(?<!\\)\||\*(?=(?:shape|x|fn|fp|the curve)\b)|(?<=\w)_(?=[ ,.)']|$)"
    return "``".join(part if k % 2 else re.sub(own, r"\\\g<0>", part) for k, part in enumerate(line.split("``")))


def rewritten(lines: list[str]) -> Iterator[str]:
    """Give a docstring's lines as reStructuredText: "names : what they are" is a term in code and its definition."""
    section, literal, defining = "", False, False
    for k, line in enumerate(lines):
        after, before = lines[k + 1] if k + 1 < len(lines) else "", lines[k - 1] if k else ""
        if line and not line.startswith(" ") and re.fullmatch("-+", after) and len(after) == len(line):
            section, literal, defining = line, False, False
            yield from (f".. rubric:: {line}", "")
        elif re.fullmatch("-+", line) and len(before) == len(line):
            yield ""
        elif (literal and (not line or line.startswith(" "))) or line.startswith((">>>", "...")) or re.match(" *=+  =+", line):
            yield line
        elif section in ENTRIES and line and not line.startswith(" "):
            names, colon, text = line.partition(" : " if " : " in line else " -> ")
            yield from ["", f"``{names}``", f"    {prose(text)}"] if colon else [""] * defining + [prose(line)]
            literal, defining = False, bool(colon)
        else:
            yield prose(line)
            literal = line.endswith("::")


def process(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Rewrite a docstring in place."""
    lines[:] = [*rewritten(lines)]


def resolve(app: Sphinx, env: BuildEnvironment, node: pending_xref, content: Element) -> Element | None:
    """Return the link that is meant by a name as users and files write it: engine.Simulator.run, engine.dynamics.rnea.rnea."""
    wanted = node.get("reftarget", "").removeprefix("~").split(".")
    if node.get("refdomain") != "py":
        return None
    objects = {name: (page, at) for name, _, _, page, at, _ in env.get_domain("py").get_objects()}
    for count in (2, 1):
        ends = "." + ".".join(wanted[-count:])
        found = [name for name in objects if name.endswith(ends)] if len(wanted) >= count else []
        if len(found) == 1:
            page, at = objects[found[0]]
            return make_refnode(app.builder, node["refdoc"], page, at, content, found[0])
    return None


def setup(app: Sphinx) -> dict[str, bool]:
    """Have Sphinx read docstrings so."""
    app.connect("autodoc-process-docstring", process)
    app.connect("missing-reference", resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
