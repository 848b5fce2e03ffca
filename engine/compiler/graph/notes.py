"""Debug information of nodes: the source lines that made each, and the part of a profile that it belongs to.

Lines are noted where ``ENGINE_DEBUG`` is 3, for whoever reads a program's text, and make tracing twice as long; parts where a program is
traced for a profile.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from engine.compiler.graph.operations import Node

#: a file and a line in it; ("", 0) is nowhere
Line = tuple[str, int]
NOWHERE: Line = ("", 0)
#: rooms whose lines say how something is computed, not what
TOOLS = ("compiler", "ops", "spatial")
#: file -> whether its lines are the user's, the engine's, passed over, or where tracing begins
KINDS: dict[str, str] = {}
ENGINE = Path(__file__).parents[2]


class Note(NamedTuple):
    """The part of a computation that a node belongs to, the user's line that made it, and the engine's."""

    part: str = ""
    user: Line = NOWHERE
    own: Line = NOWHERE


class Noted(list[Node]):
    """Nodes with a note each."""

    def __init__(self, nodes: Iterable[Node] = (), notes: Iterable[Note] = (), lines: bool = False) -> None:
        super().__init__(nodes)
        self.notes, self.lines, self.part = [*notes], lines, ""

    def append(self, node: Node) -> None:
        super().append(node)
        self.notes.append(Note(self.part, *(places(sys._getframe(1)) if self.lines else ())))

    @contextlib.contextmanager
    def within(self, part: str) -> Iterator[None]:
        """Note a part of nodes that are made within; the innermost counts."""
        before, self.part = self.part, part
        try:
            yield
        finally:
            self.part = before

    def __reduce__(self) -> Any:
        return list, ([*self],)                                                # lines of this machine's files stay here


def carried(before: list[Node], after: list[Node], new: Iterable[tuple[int, int]]) -> list[Node]:
    """Copy the notes of nodes to those made of them: ``new`` pairs old and new numbers, −1 is none."""
    if type(before) is not Noted:
        return after
    notes = [Note()] * len(after)
    for i, k in new:
        if k >= 0:
            notes[k] = before.notes[i]
    return Noted(after, notes)


def notes_of(nodes: list[Node]) -> list[Note]:
    """The nodes' notes: empty ones where nobody asked."""
    return nodes.notes if isinstance(nodes, Noted) else [Note()] * len(nodes)


def places(frame: FrameType | None) -> tuple[Line, Line]:
    """Return the innermost line of the user's function that is being traced, and the engine's innermost one outside of tools."""
    found = {"user": NOWHERE, "own": NOWHERE}
    while frame is not None:
        file = frame.f_code.co_filename
        kind = KINDS.get(file) or KINDS.setdefault(file, kind_of(file, frame.f_globals.get("__name__", "")))
        if kind == "trace":
            break
        if kind != "tool" and found[kind] is NOWHERE:
            found[kind] = file, frame.f_lineno
            if kind == "user":
                break
        frame = frame.f_back
    return found["user"], found["own"]


def kind_of(file: str, module: str) -> str:
    """Classify the lines of a file: one of ``KINDS``."""
    if module == "engine.compiler.transforms.trace":
        return "trace"
    if not module.startswith("engine.") or not file.startswith(str(ENGINE)):
        return "tool" if module.startswith("numpy") or "site-packages" in file or file.startswith("<frozen") else "user"
    return "tool" if module.split(".")[1] in TOOLS else "own"
