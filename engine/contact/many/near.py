"""Broad phase of many shapes: which pairs may touch within a step, by boxes along the world's axes in a grid of cells."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.ops import floats, ints, procedure

#: pairs that there is room for at first, of each shape
ROOM = 8
#: of the mean half size of all shapes: those that are larger are held against each, and lie in no cell
LARGE = 4.0
#: what cells' coordinates are multiplied by, for their place in a table
ONE, OTHER = 40503, 30011


def excluded(start: Any, others: Any, a: Any, b: Any) -> float:
    """Return 1 if b is among the numbers that may not touch a, else 0."""
    for k in range(int(start[a]), int(start[a + 1])):
        if int(others[k]) == b:
            return 1.0
    return 0.0


def kept(key: Any, found: Any, a: Any, b: Any) -> None:
    """Keep a pair, where there is room."""
    if found < len(key):
        key[found, 0], key[found, 1] = a, b


def over_ground(boxes: Any, i: Any, grounds: Any, g: Any) -> float:
    """Return the height of a box above a half-space, m."""
    height = grounds[g, 0] * boxes[i, 0] + grounds[g, 1] * boxes[i, 1] + grounds[g, 2] * boxes[i, 2] - grounds[g, 3]
    return height - abs(grounds[g, 0]) * boxes[i, 3] - abs(grounds[g, 1]) * boxes[i, 4] - abs(grounds[g, 2]) * boxes[i, 5]


def tested(boxes: Any, start: Any, others: Any, i: Any, j: Any, key: Any, found: Any) -> int:
    """Keep two shapes, if they may touch, and return how many there are then."""
    for k in range(3):
        if abs(boxes[i, k] - boxes[j, k]) > boxes[i, 3 + k] + boxes[j, 3 + k]:
            return found
    if boxes[i, 6] == boxes[j, 6] or excluded(start, others, i, j) > 0.0:
        return found
    a, b = min(i, j), max(i, j)
    if boxes[b, 6] < 0.0 or (boxes[a, 6] >= 0.0 and boxes[b, 7] < boxes[a, 7]):
        kept(key, found, b, a)
    else:
        kept(key, found, a, b)
    return found + 1


def bucket(x: Any, y: Any, z: Any, mask: Any) -> int:
    """The place of a cell in a table."""
    return (x & mask) * ONE + (y & mask) * OTHER + (z & mask) & mask


def search(boxes: Any, start: Any, others: Any, grounds: Any, large: Any, many: Any, cell: Any, begin: Any, within: Any, mask: Any,
           key: Any) -> int:  # fmt: skip
    """Put into ``key`` the pairs that may touch, as many as there is room for, and return how many there are."""
    found = 0
    for g in range(len(grounds)):
        s = int(grounds[g, 4])
        for i in range(len(boxes)):
            if boxes[i, 6] >= 0.0 and over_ground(boxes, i, grounds, g) < 0.0 and excluded(start, others, s, i) == 0.0:
                kept(key, found, s, i)
                found += 1
    for x in range(many):
        i = large[x]
        for j in range(len(boxes)):
            if cell[4 * j + 3] == 0 or (cell[4 * j + 3] == 1 and j > i):
                found = tested(boxes, start, others, i, j, key, found)
    for i in range(len(boxes)):
        if cell[4 * i + 3] != 0:
            continue
        cx, cy, cz = cell[4 * i], cell[4 * i + 1], cell[4 * i + 2]
        for z in range(cz, cz + 2):                                            # its own cell, and one of each two opposite to each other
            for y in range(cy if z == cz else cy - 1, cy + 2):
                for x in range(cx if z == cz and y == cy else cx - 1, cx + 2):
                    h = bucket(x, y, z, mask)
                    for k in range(begin[h], begin[h + 1]):
                        j = within[k]
                        if cell[4 * j] == x and cell[4 * j + 1] == y and cell[4 * j + 2] == z and (
                                j > i or x != cx or y != cy or z != cz):  # fmt: skip
                            found = tested(boxes, start, others, i, j, key, found)
    return found


@procedure
def near_pairs(boxes: Any, start: Any, others: Any, grounds: Any, kinds: Any) -> Any:
    """Return the pairs (m, 3) that may touch: the numbers of both shapes, in their order, and k_a K + k_b of their kinds.

    Parameters
    ----------
    boxes : (n, 8), centre and half sizes along the world's axes, with what the shape may move within the step; body (−1: the world), and
        kind
    start, others : (n + 1) and (m), for each shape the numbers of those that may not touch it
    grounds : (g, 5), normal and offset of half-spaces, outside which nothing touches the shape of this number
    kinds : K, how many there are

    Of two shapes the first is the one that stands still, or else that of the lower kind, or number.
    """
    n = len(boxes)
    cell = ints(4 * n)                                                         # of each shape, and 1 if it is large, 2 if it is ground
    for g in range(len(grounds)):
        cell[4 * int(grounds[g, 4]) + 3] = 2
    mean = 0.0
    count = 0
    for i in range(n):
        if cell[4 * i + 3] == 0:
            mean += max(boxes[i, 3], max(boxes[i, 4], boxes[i, 5]))
            count += 1
    mean = mean / max(count, 1)
    large = ints(n)
    many = 0
    edge = 0.0
    for i in range(n):
        half = max(boxes[i, 3], max(boxes[i, 4], boxes[i, 5]))
        if cell[4 * i + 3] == 0:
            if half > LARGE * mean:
                cell[4 * i + 3] = 1
                large[many] = i
                many += 1
            else:
                edge = max(edge, half)
    edge = max(2.0 * edge, 1e-300)
    size = 16
    while size < 2 * n:
        size = size * 2
    mask = size - 1
    begin = ints(size + 1)
    within = ints(n)
    for i in range(n):
        if cell[4 * i + 3] == 0:
            for k in range(3):
                cell[4 * i + k] = int(np.floor(max(min(boxes[i, k] / edge, 1e15), -1e15))) + (1 << 52)
            begin[bucket(cell[4 * i], cell[4 * i + 1], cell[4 * i + 2], mask) + 1] += 1
    for h in range(size):
        begin[h + 1] += begin[h]
    fill = ints(size)
    for i in range(n):
        if cell[4 * i + 3] == 0:
            h = bucket(cell[4 * i], cell[4 * i + 1], cell[4 * i + 2], mask)
            within[begin[h] + fill[h]] = i
            fill[h] += 1
    some = floats(ROOM * n, 2)
    found = search(boxes, start, others, grounds, large, many, cell, begin, within, mask, some)
    more = floats(found if found > ROOM * n else 0, 2)
    if found > ROOM * n:
        search(boxes, start, others, grounds, large, many, cell, begin, within, mask, more)
    first = ints(n + 1)                                                        # sorted by both numbers, so that cells are forgotten
    for k in range(found):
        first[int(more[k, 0] if found > ROOM * n else some[k, 0]) + 1] += 1
    for i in range(n):
        first[i + 1] += first[i]
    done = ints(n)
    pairs = floats(found, 3)
    for k in range(found):
        a = int(more[k, 0] if found > ROOM * n else some[k, 0])
        b = more[k, 1] if found > ROOM * n else some[k, 1]
        at = first[a] + done[a]
        done[a] += 1
        while at > first[a] and pairs[at - 1, 1] > b:
            pairs[at, 1] = pairs[at - 1, 1]
            at -= 1
        pairs[at, 1] = b
    for a in range(n):
        for k in range(first[a], first[a + 1]):
            pairs[k, 0] = a
            pairs[k, 2] = boxes[a, 7] * kinds + boxes[int(pairs[k, 1]), 7]
    return pairs


__all__ = ["near_pairs"]
