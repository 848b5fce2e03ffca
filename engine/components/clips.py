"""Saturations (clips) in a law's traced graph, taken as limits of effort beside what it asks for within them.

A clip is min(max(x, low), top), in either order and of one side or both, as np.clip, np.minimum and np.maximum write it, whose ends depend
on neither q nor v; also times what depends on neither, and plus anything. Several in each other are one::

    max(clip(x, low, top), c) = clip(x, max(low, c), max(top, c)),   min(…) likewise,   −clip(x, low, top) = clip(−x, −top, −low)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from engine import ops
from engine.compiler.graph.expr import Expr, Graph
from engine.compiler.graph.interpreter import interpret
from engine.compiler.graph.operations import Node, operands
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


def clips_of(g: Graph, symbols: Iterable[Any]) -> dict[int, Clip]:
    """Return the nodes of a graph that are clips of what depends on some of its symbols.

    >>> def law(q, limit):
    ...     force = -2.0 * np.clip(q, -limit, 1.0)
    ...     return tuple(clips_of(q.g, [q])[force.i])
    >>> [float(y) for y in interpret(trace(law, [(), ()]), 3.0, 0.5)]
    [-6.0, -2.0, 1.0]
    """
    moves, clips = {x.i for x in symbols}, dict[int, Clip]()
    for i, node in enumerate([*g.nodes]):
        if moves.isdisjoint(operands(node)):
            continue
        moves.add(i)
        if node[0] in EXTREMES or node[0] in FORMS or node[0] == "select":
            x = Expr(g, i)
            if (clip := clip_of(node, [operand(x, k + 1) for k in range(len(operands(node)))], moves, clips)) is not None:
                clips[i] = clip
    return clips


def clip_of(node: Node, parts: list[Any], moves: set[int], clips: dict[int, Clip]) -> Clip | None:
    """Return the clip that a node with these operands is, if it is one, of the nodes that move and the clips before it."""
    own = [k for k, part in enumerate(parts) if isinstance(part, Expr) and part.i in moves]
    clipped = [k for k in own if parts[k].i in clips]
    if node[0] == "select":                                                    # a number, or none where it is not finite
        return clips[parts[1].i] if 1 in clipped and isinstance(parts[2], float) and math.isnan(parts[2]) else None
    if node[0] in EXTREMES and len(own) == 1:
        extreme, (k,), c = EXTREMES[node[0]], own, parts[1 - own[0]]
        x, low, top = clips[parts[k].i] if clipped else Clip(parts[k], -NO_END, NO_END)
        return Clip(x, extreme(low, c), extreme(top, c))
    if node[0] not in FORMS or len(clipped) != 1 or (node[0] in SCALING and len(own) > 1):
        return None
    (k,) = clipped
    return FORMS[node[0]](clips[parts[k].i], k == 0, *parts[:k], *parts[k + 1 :])


#: operation -> the clip that it makes of one, which is its first operand or not, and of the other operand
FORMS: dict[str, Callable[..., Clip | None]] = {
    "neg": lambda clip, first: clip.times(-1.0),
    "add": lambda clip, first, c: clip.plus(c),
    "sub": lambda clip, first, c: clip.plus(-c) if first else clip.times(-1.0).plus(c),
    "mul": lambda clip, first, c: clip.times(c),
    "div": lambda clip, first, c: clip.times(1.0 / c) if first else None,
}  # fmt: skip
SCALING = "mul", "div"


class Unclipped:
    """A law's outputs without its clips, and the clips' bounds, traced once: a function of the law's arguments.

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
            flat, known = self.says.join(found), clips_of(t.g, [*q, *v])
            clips = {k: known[x.i] for k, x in enumerate(flat) if isinstance(x, Expr) and x.i in known}
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
