"""Structures of values: tuples, named tuples and dictionaries of arrays and tables, taken apart and put together again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.checks import EngineError


def structure(x: Any) -> tuple[list[Any], Callable[[list[Any]], Any]]:
    """Return the arrays and tables of a structure, and what makes it again of others in their places.

    >>> leaves, built = structure({"x": 1.0, "y": (2.0, 3.0)})
    >>> leaves, built([4.0, 5.0, 6.0])
    ([1.0, 2.0, 3.0], {'x': 4.0, 'y': (5.0, 6.0)})
    """
    if not isinstance(x, (tuple, dict)):
        return [x], lambda leaves: leaves[0]
    parts = [structure(y) for y in (x.values() if isinstance(x, dict) else x)]
    ends = [0]
    for leaves, _ in parts:
        ends.append(ends[-1] + len(leaves))

    def built(leaves: list[Any]) -> Any:
        made = [build(leaves[a:b]) for (_, build), a, b in zip(parts, ends, ends[1:], strict=False)]
        if isinstance(x, dict):
            return dict(zip(x, made, strict=True))
        return type(x)(*made) if hasattr(x, "_fields") else tuple(made)

    return [leaf for leaves, _ in parts for leaf in leaves], built


def alike(x: Any, y: Any) -> list[Any]:
    """Return the arrays and tables of a structure y like x, in the order of x.

    Raises
    ------
    EngineError : y is not like x

    >>> alike({"x": 1.0, "y": (2.0, 3.0)}, {"y": (5.0, 6.0), "x": 4.0})
    [4.0, 5.0, 6.0]
    """
    names = [*x] if isinstance(x, dict) else range(len(x)) if isinstance(x, tuple) else None
    kind = dict if isinstance(x, dict) else tuple
    if names is None and not isinstance(y, (tuple, dict)):
        return [y]
    if names is None or not isinstance(y, kind) or len(y) != len(names) or (kind is dict and {*y} != {*names}):
        raise EngineError(f"a loop or branch of {describe(x)} returns {describe(y)}; expected as it begins with")
    return [leaf for name in names for leaf in alike(x[name], y[name])]


def describe(x: Any) -> str:
    """A structure in words.

    >>> describe({"x": 1.0, "y": 2.0}), describe((1.0, 2.0)), describe(1.0)
    ("entries 'x', 'y'", '2 values', 'one value')
    """
    if isinstance(x, dict):
        return f"entries {', '.join(map(repr, x))}"
    return f"{len(x)} values" if isinstance(x, tuple) else "one value"


def form(x: Any) -> Any:
    """Return what structures have in common that differ in their values alone.

    >>> form({"x": 1.0, "y": (2.0, 3.0)}) == form({"x": 4.0, "y": (5.0, 6.0)})
    True
    """
    if isinstance(x, dict):
        return dict, tuple((name, form(y)) for name, y in x.items())
    return (type(x), tuple(map(form, x))) if isinstance(x, tuple) else None
