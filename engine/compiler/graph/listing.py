"""Programs as text: an operation a line, in the order of computation, with its source lines where these are known.

Inputs and constants stand where they are read; what is called stands below its first call, further in. Numbers that stand side by side are
written once: ``x[0…5]``.
"""

from __future__ import annotations

import linecache
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from engine.compiler.graph.notes import NOWHERE, Line, notes_of
from engine.compiler.graph.operations import CALLS, operands

INDENT = "    "
#: the column that lines of source stand in
COLUMN = 44


def text(program: Any) -> str:
    """The text of a program."""
    return "\n".join(Listing().block(program, ""))


class Listing:
    """Text of programs, each of which is written once."""

    def __init__(self) -> None:
        self.titles: dict[str, str] = {}                                       # program's key -> what it is called here
        self.taken: dict[str, int] = {}

    def title(self, program: Any) -> str:
        """A program's name, with a number where several have one."""
        if program.key not in self.titles:
            self.taken[program.name] = n = self.taken.get(program.name, 0) + 1
            self.titles[program.key] = program.name if n == 1 else f"{program.name} #{n}"
        return self.titles[program.key]

    def block(self, program: Any, indent: str) -> Iterator[str]:
        """Lines of a program, and of what it calls first."""
        names = labels(program)
        given = [f"{name} {said(s)}".rstrip() for name, s in zip(names, program.shapes_in, strict=True)]
        yield f"{indent}{self.title(program)}({collapsed(given)}): {program.count()} operations"
        indent, notes, x = indent + INDENT, notes_of(program.nodes), inputs(program, names)
        words: list[str] = []                                                  # what a node is written as where it is read
        for i, node in enumerate(program.nodes):
            op = node[0]
            if op in ("input", "const", "get"):
                words.append(x[node[1]] if op == "input" else f"{node[1]}" if op == "const" else f"%{node[1]}.{node[2]}")
                continue
            words.append(f"%{i}")
            f = program.functions[node[1]] if op in CALLS else None
            new = f is not None and f.key not in self.titles
            what = f"{op} {self.title(f)}" if f is not None else op
            passes = "" if op != "loop" else " if not done" if node[2] == 1 else f" up to {node[2]} times"
            line = f"{indent}%{i} = {what}{passes} {collapsed([words[j] for j in operands(node)])}".rstrip()
            yield f"{line:{COLUMN + len(indent)}}{source(notes[i])}".rstrip()
            for inner in ((f,) if f.nodes else f.within) if new and f is not None else ():
                yield from self.block(inner, indent + INDENT)
        yield from results(program, [words[i] for i in program.outputs], indent)


def said(shape: Sequence[int]) -> str:
    """A shape, as (3, 4), or (n, 3) of a table."""
    return f"({', '.join('n' if n < 0 else str(n) for n in shape)})" if shape else ""


def labels(program: Any) -> list[str]:
    """The names of a program's arguments."""
    known = program.arguments
    return [known[k] if k < len(known) else f"x{k}" for k in range(len(program.shapes_in))]


def inputs(program: Any, names: Sequence[str]) -> list[str]:
    """Return each input scalar's text in a listing: ``q[0]``, ``T[1, 2]``, or a table's name."""
    found: list[str] = []
    for name, shape in zip(names, program.shapes_in, strict=True):
        if not shape or shape[0] < 0:
            found.append(name)
            continue
        places: list[str] = [""]
        for n in shape:
            places = [f"{p}{', ' if p else ''}{k}" for p in places for k in range(n)]
        found += [f"{name}[{p}]" for p in places]
    return found


def results(program: Any, words: Sequence[str], indent: str) -> Iterator[str]:
    """Yield a line for each result; one for all carried values of a loop's body."""
    shapes: list[Any] = program.shapes_out
    if len(shapes) > 1 and not any(shapes) and not program.names:
        shapes = [(len(shapes),)]
    k = 0
    for name, shape in zip(program.names or [""] * len(shapes), shapes, strict=True):
        n = 1 if shape[:1] == (-1,) else math.prod(shape)
        yield f"{indent}{' '.join(filter(None, ('return', name, said(shape))))}: {collapsed(words[k : k + n])}"
        k += n


def collapsed(words: Iterable[str]) -> str:
    """Join words with commas, those numbered one after the other as one: a[0], a[1], a[2] is a[0…2]."""
    runs: list[list[str]] = []
    for word in words:
        if runs and follows(runs[-1][-1], word):
            runs[-1].append(word)
        else:
            runs.append([word])
    return ", ".join(", ".join(run) if len(run) < 3 else joined(run[0], run[-1]) for run in runs)


def numbered(word: str) -> tuple[str, str, str]:
    """Split a word at its last number: what stands before it, the number, and what stands after it."""
    body = word.removesuffix("]")
    head = body.rstrip("0123456789")
    return head, body[len(head) :], word[len(body) :]


def follows(a: str, b: str) -> bool:
    """Return whether two names end in successive numbers, as ``q[1]`` and ``q[2]`` do."""
    (head, k, end), (other, n, last) = numbered(a), numbered(b)
    return (head[:1].isalpha() or head[:1] == "%") and (head, end) == (other, last) and bool(k and n) and int(n) == int(k) + 1


def joined(first: str, last: str) -> str:
    """Write a run of words as one."""
    head, k, end = numbered(first)
    return f"{head}{k}…{numbered(last)[1]}{end}"


def source(note: Any) -> str:
    """Return the source lines that made a node: the user's, and the engine's where there is no other, or beside it."""
    return "  ".join(f"# {place}" for place in (located(note.user), located(note.own)) if place)


def located(line: Line) -> str:
    """A line of source: its file, number and text."""
    if line == NOWHERE:
        return ""
    return f"{os.path.basename(line[0])}:{line[1]}: {linecache.getline(*line).strip()}"
