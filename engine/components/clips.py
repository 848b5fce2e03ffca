"""Clips of what laws say, found in a law's graph, as limits of effort beside what it asks for within them.

A clip is min(max(x, low), top), in either order and of one side or both, as np.clip, np.minimum and np.maximum write it; also times, or
plus, what depends on neither q nor v, as its ends do. Several in each other are one::

    max(clip(x, low, top), c) = clip(x, max(low, c), max(top, c)),   min(…) likewise,   −clip(x, low, top) = clip(−x, −top, −low)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from engine import ops
from engine.compiler.graph.expr import Expr, Graph
from engine.compiler.graph.interp import interpret
from engine.compiler.graph.operations import operands
from engine.compiler.graph.rewrite import inlined, operand
from engine.compiler.transforms.trace import trace
from engine.components.component import Context
from engine.components.layout import Layout

Array = np.ndarray
#: the end of a clip that has none: infinity times a gain that is zero would be no number
NO_END = 1e300
EXTREMES: dict[str, Callable[[Any, Any], Any]] = {"min": ops.minimum, "max": ops.maximum}


class Clip(NamedTuple):
    """min(max(x, low), top)."""

    x: Any
    low: Any
    top: Any

    def plus(self, c: Any) -> Clip:
        """Return the clip plus c."""
        return Clip(*(x + c for x in self))

    def times(self, c: Any) -> Clip:
        """Return the clip times c, of either sign."""
        x, low, top = (x * c for x in self)
        return Clip(x, ops.minimum(low, top), ops.maximum(low, top))


def moving(g: Graph, symbols: Iterable[Any]) -> set[int]:
    """Return the nodes of a graph that depend on some of its symbols."""
    found = {x.i for x in symbols}
    for i, node in enumerate(g.nodes):
        if not found.isdisjoint(operands(node)):
            found.add(i)
    return found


def clip_of(x: Any, moves: set[int]) -> Clip | None:
    """Return the clip that a traced scalar is, among nodes of which some move, if it is one: x moves, and its ends do not.

    >>> def law(q, limit):
    ...     return tuple(clip_of(-2.0 * np.clip(q, -limit, 1.0), moving(q.g, [q])))
    >>> [float(y) for y in interpret(trace(law, [(), ()]), 3.0, 0.5)]
    [-6.0, -2.0, 1.0]
    """
    if not isinstance(x, Expr) or x.i not in moves:
        return None
    node = x.g.nodes[x.i]
    parts = [operand(x, k + 1) for k in range(len(operands(node)))] if node[0] in FORMS else []
    own = [part for part in parts if isinstance(part, Expr) and part.i in moves]
    if node[0] == "select" and isinstance(parts[2], float) and math.isnan(parts[2]):                         # no number where it is not finite
        return clip_of(parts[1], moves)
    if len(own) != 1:
        return None
    inner, still = clip_of(own[0], moves), [part for part in parts if part is not own[0]]
    if node[0] in EXTREMES:
        extreme, (x, low, top) = EXTREMES[node[0]], inner or Clip(own[0], -NO_END, NO_END)
        return Clip(x, extreme(low, *still), extreme(top, *still))
    return None if inner is None else FORMS[node[0]](inner, own[0] is parts[0], *still)


#: operation -> the clip that it makes of one, which is its first operand or not, and of the other operand
FORMS: dict[str, Any] = {
    "min": None, "max": None, "select": None,
    "neg": lambda clip, first: clip.times(-1.0),
    "add": lambda clip, first, c: clip.plus(c),
    "sub": lambda clip, first, c: clip.plus(-c) if first else clip.times(-1.0).plus(c),
    "mul": lambda clip, first, c: clip.times(c),
    "div": lambda clip, first, c: clip.times(1.0 / c) if first else None,
}  # fmt: skip


class Unclipped:
    """What a law says without its clips, and their ends, as it is traced once: a function of what it is called with.

    Parameters
    ----------
    said : what it says by name, and the rate of its own state, at a Context
    at : the Context at t, q, v, z and p
    shapes : of these
    states, parameters : the layouts of z and p

    Attributes
    ----------
    own : which (n) of the numbers that it says are clipped
    """

    def __init__(self, said: Callable[[Context], tuple[dict[str, Any], Any]], at: Callable[..., Context], shapes: list[tuple[int, ...]],
                 states: Layout, parameters: Layout) -> None:  # fmt: skip
        self.states, self.parameters, self.says, self.own = states, parameters, Layout({}), np.zeros(0, dtype=int)

        def split(t: Any, q: Array, v: Array, *others: Array) -> tuple[Array, ...]:
            found, rate = said(at(t, q, v, *others))
            self.says = Layout({name: np.shape(x) for name, x in found.items()})
            flat, moves = self.says.join(found), moving(t.g, [*q, *v])
            clips = {k: clip for k, x in enumerate(flat) if (clip := clip_of(x, moves)) is not None}
            self.own = np.array([*clips], dtype=int)
            free = ops.array([clips[k].x if k in clips else x for k, x in enumerate(flat)])
            low, top = (ops.array([clip[k] for clip in clips.values()]) for k in (1, 2))
            return free, low, top, np.zeros(0) if rate is None else rate

        self.program = trace(split, shapes)

    def __call__(self, s: Context, bounded: Callable[..., tuple[Array, Array]]) -> tuple[dict[str, Any], Any, Array]:
        """Return what it says by name, as ``bounded(x, low, top)`` has it within its limits, the rate of its own state, and what is beyond
        these of :meth:`Context.bounded`."""
        given = s.t, s.q, s.v, self.states.join(s.states), self.parameters.join(dict(s.parameters))          # read by the law, not here
        free, low, top, rate = self.found(*given)
        within, beyond = bounded(free[self.own], low, top)
        said = list(free)
        for k, x in zip(self.own, within, strict=True):
            said[k] = x
        return self.says.split(ops.array(said)), rate if len(rate) else None, beyond

    def found(self, *given: Any) -> tuple[Array, ...]:
        """Return the results of its program, traced or on floats."""
        if (graph := ops.graph_of(*given)) is None:
            return tuple(interpret(self.program, *given))
        flat = inlined(self.program, graph, [x for a in given for x in np.ravel(a)])
        ends = np.cumsum([math.prod(shape) for shape in self.program.shapes_out])
        return tuple(ops.array(list(part)) for part in np.split(np.array([*flat, None], dtype=object)[:-1], ends[:-1]))
