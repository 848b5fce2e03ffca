"""Signatures, such as ``"(n),(n,3)->(3)"``: the shapes of a compiled function's arguments and results as text."""

from __future__ import annotations

import re
from collections.abc import Iterable

from engine.compiler.graph.program import Program, Shape, is_table
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
    """Return the shapes of a program's arguments and results, such as ``"(3),(2)->(3,2)"``.

    >>> import engine
    >>> from engine.compiler import signature_of
    >>> signature_of(engine.gufunc(lambda x, y: x * y, "(3),(3)->(3)").program)
    '(3),(3)->(3)'
    """
    return written(program.shapes_in, program.shapes_out)


def written(*sides: Iterable[Shape]) -> str:
    """Return shapes as signatures have them.

    >>> written([(3, 2), ()], [(3,)])
    '(3,2),()->(3)'
    """
    return "->".join(",".join(f"({','.join(map(str, s))})" for s in shapes) for shapes in sides)


def equal_counts(signature: str, program: Program) -> dict[str, tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return, by the names that tables have for how many rows they have, which arguments are to have as many, and which results."""
    if "(" not in signature or "-1" in signature:                              # of a program, without names
        return {}
    sides = zip(signature.replace(" ", "").split("->"), (program.shapes_in, program.shapes_out), strict=True)
    left, right = ([s[0] if is_table(shape) else "" for s, shape in zip(shapes_in_text(part, signature), shapes, strict=True)]
                   for part, shapes in sides)  # fmt: skip
    places = {name: tuple(tuple(k for k, n in enumerate(names) if n == name) for names in (left, right)) for name in left if name}
    return {name: (same, made) for name, (same, made) in places.items() if len(same) + len(made) > 1}
