"""Messages on stderr of what is compiled, and why: set ``ENGINE_DEBUG``.

- 1: a line for each thing that is compiled or found in the cache: why it was not there, the seconds of each stage, and how large it is;
- 2: and the seconds of every pass, and each function's nodes; procedures that are compiled look whether entries are there;
- 3: and the program's text, with the lines that made its nodes, and its LLVM IR. To find these lines makes tracing twice as long.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from engine import cache
from engine.checks import EngineError

LEVELS = ("0", "1", "2", "3")
#: passes by the stage that they are of; what is none of these is a stage itself
STAGES = {"fusing": "optimised", "packing": "optimised", "planning": "optimised"}
#: what a report knows of programs besides the parts of their key
BESIDE = ("outline", "shared", "numbers")
#: why other numbers may be other code
EQUALS = "one that equals another, or has another sign, is other code"
#: seconds of LLVM's own passes, summed over the threads that run them
WITHIN_LLVM = ("LLVM reads", "LLVM's passes", "LLVM's code")


def level() -> int:
    """Return the level of ``ENGINE_DEBUG``, 0 by default.

    Raises
    ------
    EngineError : it is set to something else than 0, 1, 2 or 3
    """
    chosen = os.environ.get("ENGINE_DEBUG", "")
    if chosen and chosen not in LEVELS:
        raise EngineError(f"ENGINE_DEBUG is {chosen!r}; expected 0, 1, 2 or 3")
    return int(chosen or 0)


def say(text: str) -> None:
    """Write a line, if ``ENGINE_DEBUG`` asks for any."""
    if level():
        sys.stderr.write(f"engine: {text}\n")


class Stopwatch(threading.local):
    """Seconds of a thread's nested stages, the innermost last."""

    def __init__(self) -> None:
        self.within: list[float] = []


WATCH = Stopwatch()
#: the report of what is being compiled: one at a time, under the lock of LLVM, whose threads add to it too
REPORTS: list[Report] = []


@contextlib.contextmanager
def timed(add: Callable[[float], None]) -> Iterator[None]:
    """Give the seconds of what is done within, except for what is timed within it."""
    begun = time.perf_counter()
    WATCH.within.append(0.0)
    try:
        yield
    finally:
        whole = time.perf_counter() - begun
        add(whole - WATCH.within.pop())
        if WATCH.within:
            WATCH.within[-1] += whole


def stage(name: str) -> contextlib.AbstractContextManager[None]:
    """Time what is done within, if somebody reads it."""
    return timed(REPORTS[-1].adding(name)) if REPORTS else contextlib.nullcontext()


@contextlib.contextmanager
def share(name: str) -> Iterator[None]:
    """Time a share of the stage around it, in this thread or another, if somebody reads it."""
    begun, report = time.perf_counter(), REPORTS[-1] if REPORTS else None
    yield
    if report is not None:
        report.adding(name)(time.perf_counter() - begun)


class Report:
    """Message on one thing that is compiled.

    Parameters
    ----------
    what : such as "one call"; programs : what it is of
    parts : of its key, by what they say; beside them the programs' "outline", whatever their numbers are, their key "shared" with
        programs of other numbers, and their "numbers"
    """

    def __init__(self, what: str, programs: Sequence[Any], parts: dict[str, Any]) -> None:
        self.what, self.programs, self.parts = what, programs, parts
        self.seconds: dict[str, float] = {}
        self.found, self.text = False, ""
        self.functions = unique(programs)

    def adding(self, name: str) -> Callable[[float], None]:
        """A context that adds its seconds to a stage."""

        def add(seconds: float) -> None:
            self.seconds[name] = self.seconds.get(name, 0.0) + seconds

        return add

    @property
    def name(self) -> str:
        """Name of what is compiled."""
        return " ".join([self.what, *(["of"] if self.programs else []), " and ".join(p.name for p in self.programs)]).strip()

    def why(self) -> str:
        """Return why it is compiled: by which part its key differs from the last one of the same name."""
        if self.found:
            return "found in the cache"
        if cache.folder() is None:
            return "compiled, as there is no cache to keep it in (ENGINE_CACHE)"
        try:
            before = json.loads(cache.load(f"debug|{self.name}") or b"{}")
        except ValueError:
            before = {}
        if not before:
            return "compiled, the first of this name"
        changed = [part for part, x in self.parts.items() if before.get(part) != x and part not in BESIDE]
        if "the program" in changed:
            changed[changed.index("the program")] = program_words(before, self.parts)
        return f"compiled, as other than before: {', '.join(changed)}" if changed else "compiled, as the cache no longer has it"

    def lines(self, level: int) -> Iterator[str]:
        """Yield the lines of the report at a level."""
        stages = {"traced": sum(f.seconds for f in self.functions)}
        for name, x in self.seconds.items():
            if name not in WITHIN_LLVM:
                stages[STAGES.get(name, name)] = stages.get(STAGES.get(name, name), 0.0) + x
        nodes = sum(len(f.nodes) for f in self.functions)
        yield (f"engine: {self.name}: {self.why()}; {', '.join(f'{name} {x:.3f} s' for name, x in stages.items())}; "
               f"{nodes} nodes, {len(self.functions)} functions")  # fmt: skip
        if level >= 2:
            yield from (f"engine:   {x:9.4f} s  {name}" for name, x in sorted(self.seconds.items(), key=lambda item: -item[1]))
            by_size = sorted(self.functions, key=lambda f: (-len(f.nodes), f.name))
            yield from (f"engine:   {len(f.nodes):7d} nodes  {f.name}" for f in by_size)
        if level >= 3:
            yield from (str(p) for p in self.programs)
            yield self.text or "engine: its IR was not made, as it was found in the cache; ENGINE_CACHE=0 makes it"


def program_words(before: dict[str, Any], now: dict[str, Any]) -> str:
    """Return in which way a program is another: by its numbers alone, or by what it does.

    >>> program_words({"outline": "a", "numbers": [2.0, 3.0]}, {"outline": "b", "numbers": [3.0]})
    'the program, without the number 2'
    >>> program_words({"outline": "a", "shared": "b", "numbers": [2.0]}, {"outline": "a", "shared": "b", "numbers": [4.0]})
    'the numbers of the program, 2 before and 4 now (its code is of these alone, or the cache has lost it)'
    """
    had, has = (set(parts.get("numbers", ())) for parts in (before, now))
    gone, come = (", ".join(f"{x:.6g}" for x in sorted(some)[:3]) + ", …" * (len(some) > 3) for some in (had - has, has - had))
    if before.get("outline") == now.get("outline"):
        same = before.get("shared") == now.get("shared")
        why = "its code is of these alone, or the cache has lost it" if same else EQUALS
        words = " and".join(f" {x} {when}" for x, when in ((gone, "before"), (come, "now")) if x)
        return f"the numbers of the program{words and ','}{words} ({why})"
    return "the program" + (f", without the number {gone}" if gone and not come else "")


def unique(programs: Sequence[Any]) -> list[Any]:
    """Programs and all that they call, each once."""
    found: dict[str, Any] = {}
    waiting = [*programs]
    while waiting:
        if (p := waiting.pop()).key not in found:
            found[p.key] = p
            waiting += p.within
    return [*found.values()]


@contextlib.contextmanager
def reported(what: str, programs: Sequence[Any], parts: Callable[[], dict[str, Any]]) -> Iterator[Report | None]:
    """Collect what is done within for a report, and write it in the end, if ``ENGINE_DEBUG`` asks for one."""
    if not (asked := level()):
        yield None
        return
    report = Report(what, programs, parts())
    REPORTS.append(report)
    try:
        yield report
    finally:
        REPORTS.pop()
    sys.stderr.write("\n".join(report.lines(asked)) + "\n")
    with contextlib.suppress(ValueError):                                     # numbers that JSON has not
        cache.store(f"debug|{report.name}", json.dumps(report.parts).encode())
