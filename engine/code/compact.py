"""Compaction of generated C for archives: within straight-line functions, names of values that are no longer read are used again.

Each value is a name of its own before, in the order of the graph, whose growing numbers do not squeeze well: the step of a quadruped
falls from 696 to 450 kB in a zip archive. A compiler sees the same values.
"""

from __future__ import annotations

import re
from collections import defaultdict

#: where functions begin, values' declarations, and values
FUNCTION = re.compile(r"(?m)^(?=(?:APART |static |int ))")
DECLARED, VALUE = re.compile(r"^    const (double|int|lanes\d+) (t\d+) = "), re.compile(r"\bt\d+\b")
#: declarations within loops and branches
WITHIN = re.compile(r"(?m)^ {5,}(?:const )?(?:double|int|lanes\d+) t\d+\b")


def compact(text: str) -> str:
    """Return C as :func:`engine.code.texts.source` writes it with names that are used again.

    >>> print(compact("static void f(void)\\n{\\n    const double t7 = 1.0;\\n    const double t9 = t7 + t7;\\n    out[0] = t9;\\n}"))
    static void f(void)
    {
        double t0 = 1.0;
        t0 = t0 + t0;
        out[0] = t0;
    }
    """
    return "".join(map(reused, FUNCTION.split(text)))


def reused(text: str) -> str:
    """Return a function with names that are used again; as it is where it declares values in another way, such as within loops and
    branches, whose names may be declared outside, too."""
    if WITHIN.search(text):
        return text
    lines = text.split("\n")
    declared = {m[2]: m[1] for line in lines if (m := DECLARED.search(line))}
    last = {name: k for k, line in enumerate(lines) for name in VALUE.findall(line)}
    if last.keys() - declared.keys():
        return text
    over = defaultdict[int, list[str]](list)
    for name, k in last.items():
        over[k].append(name)
    free, own, made, count = defaultdict[str, list[str]](list), dict[str, str](), list[str](), 0
    for k, line in enumerate(lines):
        m = DECLARED.search(line)
        head, body = ("", line) if m is None else (m[0], line[m.end() :])
        body = VALUE.sub(lambda v: own[v[0]], body)
        for name in [n for n in over[k] if n in own]:                          # before what is written here, which may take its place
            free[declared[name]].append(own.pop(name))
        if m is not None:
            kind, name = m[1], m[2]
            new = not free[kind]
            own[name] = f"t{count}" if new else free[kind].pop()
            head, count = f"    {kind + ' ' if new else ''}{own[name]} = ", count + new
            if last[name] == k:
                free[kind].append(own.pop(name))
        made.append(head + body)
    return "\n".join(made)
