"""Inputs of a program that belong to equal parts, such as the angles of a robot's legs, found by the expressions that read them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

Array = np.ndarray
#: how far from the inputs colours look
ROUNDS = 3
#: what speaks against two inputs being equal, and what must speak for some that are
DOUBT, SURE = 0.3, 2.0
#: numbers of the shortest argument of which two blocks of two may be equal, and of the longest that is looked at
SHORTEST, LONGEST = 4, 256


class Looks(NamedTuple):
    """Similarity of an argument's n numbers, by colours of the nodes that read them.

    Attributes
    ----------
    node : of each number its node, −1 where nobody reads it
    alike : (n, n) for how many rounds two numbers look the same, less one
    says : (n, rounds) what it says of two numbers that they look the same so long: −log of how many do, doubt taken off
    """

    node: Array
    alike: Array
    says: Array


def colours(kinds: Sequence[str], reads: Sequence[Sequence[int]], readers: Sequence[Sequence[int]]) -> Array:
    """Return colours of n nodes after each round of Weisfeiler–Leman refinement (rounds, n): hashes of 64 bits, equal for nodes of the same
    kind whose neighbours, operands and readers, have equal colours."""
    number = {kind: k + 1 for k, kind in enumerate(dict.fromkeys(kinds))}
    around = [(np.fromiter(itertools.chain(*near), dtype=np.intp), np.cumsum([0, *map(len, near)])) for near in (reads, readers)]
    found = [scattered(np.array([number[kind] for kind in kinds], dtype=np.uint64))]
    for _ in range(ROUNDS):
        new = found[-1]
        for j, ends in around:
            sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(found[-1][j])])       # modulo 2⁶⁴
            new = scattered(new + sums[ends[1:]] - sums[ends[:-1]])
        found.append(new)
    return np.array(found)


def scattered(x: Array) -> Array:
    """Hash n numbers of 64 bits (SplitMix64's finaliser).

    Reference: Steele, Lea & Flood, *Fast splittable pseudorandom number generators*, OOPSLA 2014.
    """
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def looks(node: Array, colour: Array) -> Looks:
    """Return the similarity of an argument's numbers, by their nodes (n) and the colours of all nodes."""
    same = (colour[:, node, None] == colour[:, None, node]) & (node >= 0) & (node >= 0)[:, None]
    says = np.log(len(node) / np.maximum(same.sum(axis=2), 1)) - DOUBT
    return Looks(node, same.sum(axis=0) - 1, says.T)


def equal_inputs(arguments: Sequence[Looks], lanes: int) -> list[tuple[int, ...]]:
    """Return groups of inputs, nodes, one for each lane, that are equal in blocks: in each argument, a run of numbers similar to those at a
    distance, and at its multiples.

    The distance is the one that says most in all arguments together: a leg has as many positions as velocities.
    """
    distances = max((len(own.node) for own in arguments), default=0) // lanes
    left = [Blocks(own, lanes, distances) for own in arguments]
    equal: list[tuple[int, ...]] = []
    enough = SURE
    while True:
        bounds = sum((own.bounds for own in left), np.zeros(distances + 1))
        total, best, runs = 0.0, 0, list[range]()
        for distance in np.argsort(-bounds, kind="stable").tolist():           # those that may say most first
            if bounds[distance] < max(enough, total):
                break
            tried = [own.best_run(distance) for own in left]
            said = sum(x for x, _ in tried)
            if said > total or (said == total and distance < best):            # of two that say as much, the shorter one
                total, best, runs = said, distance, [run for _, run in tried]
        if total < enough:
            return equal
        enough = max(enough, total / 4)                                        # what says much less says nothing
        for own, run in zip(left, runs, strict=True):
            blocks = np.arange(run.start, run.stop)[:, None] + best * np.arange(lanes)
            equal += map(tuple, own.node[blocks].tolist())
            own.take(blocks.ravel())


class Blocks:
    """Evidence that an argument's numbers are equal in blocks: a number, and those at a distance and at its multiples, one for each lane.

    Attributes
    ----------
    worth : of blocks, by their distance and their first number; −∞ where there is none, or something of it was taken
    """

    def __init__(self, own: Looks, lanes: int, distances: int) -> None:
        self.node, self.lanes, n = own.node, lanes, len(own.node)
        first, distance = np.arange(n), np.arange(distances + 1)[:, None]
        rounds = np.min([own.alike[first, np.minimum(first + i * distance, n - 1)] for i in range(1, lanes)], axis=0)
        whole = (first + (lanes - 1) * distance < n) & (distance >= 2) & (rounds >= 0)
        self.worth = np.where(whole, own.says[first, rounds], -np.inf)

    @property
    def bounds(self) -> Array:
        """Upper bound of the evidence of a run of blocks, by their distance, which is as long as a run may be."""
        distances, n = self.worth.shape
        so_far = np.cumsum(np.pad(np.maximum(self.worth, 0.0), ((0, 0), (1, 0))), axis=1)
        end = np.minimum(np.arange(n) + np.arange(distances)[:, None], n)
        most: Array = (np.take_along_axis(so_far, end, axis=1) - so_far[:, :-1]).max(axis=1) * (1.0 + 1e-9) + 1e-9
        return most

    def best_run(self, distance: int) -> tuple[float, range]:
        """Return the evidence of the best run of two or more blocks at a distance, and their first numbers."""
        each = np.append(self.worth[distance], np.full(distance - 1, -np.inf))
        totals = np.cumsum(np.lib.stride_tricks.sliding_window_view(each, distance), axis=1)     # from each first number on
        first, more = divmod(int(np.argmax(totals[:, 1:])), distance - 1)
        best = float(totals[first, more + 1])
        return (best, range(first, first + more + 2)) if best > 0.0 else (0.0, range(0))

    def take(self, numbers: Array) -> None:
        """Exclude numbers, and the blocks that they are in, from further runs."""
        distance = np.arange(2, len(self.worth))[:, None]
        for i in range(self.lanes):
            first = numbers - i * distance
            row, column = np.nonzero(first >= 0)
            self.worth[row + 2, first[row, column]] = -np.inf
