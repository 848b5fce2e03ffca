"""Signatures, such as ``"(n),(n,3)->(3)"``: the shapes of a compiled function's arguments and results as text."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable

from engine.compiler.graph.program import Program, is_table
from engine.compiler.graph.refusals import ArgumentError


def shapes_in_text(text: str, signature: str) -> list[tuple[str, ...]]:
    """Return the shapes in a part of a signature.

    >>> shapes_in_text("(n),(n,3),()", "(n),(n,3),()->()")
    [('n',), ('n', '3'), ()]
    """
    if not re.fullmatch(r"\((\w+(,\w+)*)?\)(,\((\w+(,\w+)*)?\))*", text):
        raise ArgumentError(f"gufunc got the signature {signature!r}; expected shapes in parentheses, such as '(n),(m)->(k)'")
    return [tuple(d for d in part.split(",") if d) for part in re.findall(r"\(([^)]*)\)", text)]


def unsized(signature: str, dimensions: Iterable[str]) -> list[str]:
    """Return the names in the first places of arguments' shapes that stand for no number: these arguments are tables."""
    shapes = shapes_in_text(signature.replace(" ", "").split("->")[0], signature)
    return [s[0] for s in shapes if s and not s[0].isdigit() and s[0] not in dimensions]


def signature_of(program: Program) -> str:
    """Return the shapes of a program's arguments and results, such as ``"(3),(2)->(3,2)"``."""
    return "->".join(",".join(f"({','.join(map(str, s))})" for s in shapes) for shapes in (program.shapes_in, program.shapes_out))


def equal_counts(signature: str, program: Program) -> list[tuple[str, int, int]]:
    """Return the names that tables have for how many rows they have, among arguments and results, and which of both they are."""
    if "(" not in signature or "-1" in signature:                              # of a program, without names
        return []
    left, right = (shapes_in_text(part, signature) for part in signature.replace(" ", "").split("->"))
    pairs = itertools.product(enumerate(zip(left, program.shapes_in, strict=True)), enumerate(zip(right, program.shapes_out, strict=True)))
    return [(a[0], i, k) for (i, (a, s)), (k, (b, t)) in pairs if is_table(s) and is_table(t) and a[0] == b[0]]
