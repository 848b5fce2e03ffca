"""What waits for a look at many states together: the numbers that it reads of each. What a record has of a state is copied at once."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import NamedTuple

from engine.compiler.graph.notes import carried
from engine.compiler.graph.program import Program, live

#: states of one rollout that are looked at together
SHELF = 16
#: numbers in between that go along, rather than that there is one more run
BETWEEN = 8
#: so many numbers, from one place to another
Run = tuple[int, int, int]


class Shelf(NamedTuple):
    """A look (:func:`shelved`) in three parts.

    Attributes
    ----------
    look : the function of the numbers that wait, (n) -> (m), …, of those of a record that are not copied
    read : (place in a state, place among what waits, how many)
    made : (number of a result of ``look``, place in a record, how many)
    copied : (place in a state, place in a record, how many)
    """

    look: Program
    read: list[Run]
    made: list[Run]
    copied: list[Run]

    @property
    def waits(self) -> int:
        """How many numbers of each state wait."""
        return self.look.n_in


def shelved(observe: Program) -> Shelf:
    """Return the parts of a look at a state.

    >>> from engine.compiler import trace
    >>> look = trace(lambda x: (x[:20], x[0] + x[19], x[30:]), [(50,)])
    >>> list(shelved(look)[1:])
    [[(0, 0, 1), (19, 1, 1)], [(0, 20, 1)], [(0, 0, 20), (30, 21, 20)]]
    """
    there = given(observe)
    made = [(first, first, many) for first, many in gathered([k for k, x in enumerate(there) if x < 0])]
    own = [k for first, _, many in made for k in range(first, first + many)]
    nodes, outputs = live(observe.nodes, [observe.outputs[k] for k in own])
    read, at = list[Run](), 0
    for first, many in gathered(sorted({node[1] for node in nodes if node[0] == "input"})):
        read.append((first, at, many))
        at += many
    place = {first + k: to + k for first, to, many in read for k in range(many)}
    short = carried(nodes, [("input", place[node[1]]) if node[0] == "input" else node for node in nodes], enumerate(range(len(nodes))))
    look = Program(short, outputs, [(at,)], [(many,) for *_, many in made], observe.functions, observe.name)
    return Shelf(look, read, [(k, to, many) for k, (_, to, many) in enumerate(made)], copies(there, {*own}))


def given(observe: Program) -> list[int]:
    """Return which of its inputs each result of a function is; −1 where it is none."""
    return [node[1] if (node := observe.nodes[i])[0] == "input" else -1 for i in observe.outputs]


def gathered(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Return runs of ascending numbers, first and how many, with those that a few are in between.

    >>> gathered([0, 1, 4, 30])
    [(0, 5), (30, 1)]
    """
    runs = list[tuple[int, int]]()
    for k in numbers:
        if runs and k - sum(runs[-1]) < BETWEEN:
            runs[-1] = runs[-1][0], k + 1 - runs[-1][0]
        else:
            runs.append((k, 1))
    return runs


def copies(there: Sequence[int], own: Container[int]) -> list[Run]:
    """Return the runs by which a record, but for its ``own`` numbers, is copied from ``there``."""
    runs = list[Run]()
    for k, x in enumerate(there):
        if k in own:
            continue
        if runs and (x, k) == (runs[-1][0] + runs[-1][2], runs[-1][1] + runs[-1][2]):
            runs[-1] = *runs[-1][:2], runs[-1][2] + 1
        else:
            runs.append((x, k, 1))
    return runs
