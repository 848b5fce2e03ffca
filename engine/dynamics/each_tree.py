"""Equations of many trees that nothing joins: traced once for each kind of tree, whose trees are rows."""

from __future__ import annotations

import contextlib
import contextvars
import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any, ParamSpec, TypeVar

import numpy as np

from engine import ops
from engine.model import EqualTrees, Model, many_equal_trees

Array = np.ndarray
P = ParamSpec("P")
R = TypeVar("R")
#: of equal trees so many are a straight line sooner than a loop
MANY = 32
#: arguments that have entries of each tree, by where these lie
OWN = {"q": "q", "v": "v", "vdot": "v", "tau": "v", "armature": "v", "wrenches": "links"}
#: whether many trees are loops here
LOOPS = contextvars.ContextVar("loops over trees", default=False)


@contextlib.contextmanager
def loops_over_trees() -> Iterator[None]:
    """Have many equal trees as loops over them within, in place of a straight line."""
    token = LOOPS.set(True)
    try:
        yield
    finally:
        LOOPS.reset(token)


def each_tree(whole: Callable[[Model, list[tuple[EqualTrees, Any]]], Any]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a function of a model, traced within :func:`loops_over_trees`, be one of each of its trees where many are equal: their results
    (n, …) by kinds are made one by ``whole(model, results)``."""

    def decorated(f: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(f)

        @functools.wraps(f)
        def of(*args: P.args, **named: P.kwargs) -> R:
            if not LOOPS.get():
                return f(*args, **named)
            given = dict(signature.bind(*args, **named).arguments)
            model, *_ = given.values()
            traced = ops.graph_of(*[x for x in given.values() if isinstance(x, np.ndarray)]) is not None
            if not (kinds := many_equal_trees(model, MANY) if traced else []):
                return f(*args, **named)
            for name in given.keys() & (OWN.keys() - {"wrenches"}):
                given[name] = model.checked(name, given[name])
            return whole(model, [(kind, evaluate_kind(f, kind, given)) for kind in kinds])

        return of

    return decorated


def evaluate_kind(f: Callable[..., Any], kind: EqualTrees, given: dict[str, Any]) -> Any:
    """Return a function's results (n, …) for trees of a kind."""
    own = [name for name in OWN if given.get(name) is not None]
    tables = [np.asarray(given[name])[getattr(kind, OWN[name])] for name in own]
    _, *rest = (x for x in given.items() if x[0] not in own)

    def one(*row: Any) -> Any:
        numbers = dict(zip(kind.numbers, row[len(own) :], strict=True))
        model = kind.first.model.with_numbers(numbers) if numbers else kind.first.model
        return f(model, **dict(zip(own, row, strict=False)), **dict(rest))

    return ops.rows(one, *tables, *kind.numbers.values())


def velocities(model: Model, results: list[tuple[EqualTrees, Any]]) -> Array:
    """Return what has an entry for each velocity (nv)."""
    return place_parts(np.zeros(model.nv, dtype=object), [(kind.v, x) for kind, x in results])


def links(model: Model, results: list[tuple[EqualTrees, Any]]) -> Array:
    """Return what has a row for each link (nlinks, …)."""
    shape = np.asarray(results[0][1]).shape[2:]
    return place_parts(np.zeros((len(model.links), *shape), dtype=object), [(kind.links, x) for kind, x in results])


def blocks(model: Model, results: list[tuple[EqualTrees, Any]]) -> Array:
    """Return a matrix (nv, nv) that has a block for each tree."""
    found = np.zeros((model.nv, model.nv), dtype=object)
    for kind, x in results:
        found[kind.v[:, :, None], kind.v[:, None, :]] = np.asarray(x)
    return found


def sums(model: Model, results: list[tuple[EqualTrees, Any]]) -> Any:
    """Return the sum over all trees, or a tuple of sums."""
    if isinstance(results[0][1], tuple):
        return tuple(sum(ops.total(x[k]) for _, x in results) for k in range(len(results[0][1])))
    return sum(ops.total(x) for _, x in results)


def place_parts(whole: Array, parts: list[tuple[Array, Any]]) -> Array:
    """Return an array with parts where they belong."""
    for places, x in parts:
        whole[places] = np.asarray(x)
    return whole
