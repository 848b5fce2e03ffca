"""Call counters and cycle timers in machine code, for profiles.

A call is two readings of the processor's clock and three additions, some tens of cycles. What is counted lies in one array, whose entries
a text beside it names, so that code out of the cache knows them too.
"""

from __future__ import annotations

import ctypes
import platform
from typing import Any, NamedTuple

#: the instruction that reads a clock that runs evenly: the other one is not for users on ARM
CLOCK = "llvm.readsteadycounter" if platform.machine() in ("arm64", "aarch64") else "llvm.readcyclecounter"
#: who calls what is called from outside; a clock's two readings with nothing between them, and those around these
OUTSIDE, CLOCK_INSIDE, CLOCK_AROUND = "outside", "clock", "clocks"


class Count(NamedTuple):
    """Number of calls between two functions, and the clock's ticks that they took."""

    calls: float
    ticks: float

    def more(self, other: Count, weight: float = 1.0) -> Count:
        """Add another count, weighted."""
        return Count(self.calls + weight * other.calls, self.ticks + weight * other.ticks)


class Counters:
    """Counters of a module, made while its text is written."""

    def __init__(self) -> None:
        self.places: dict[tuple[str, str], int] = {}  # (keys of the function that calls, and of what it calls) -> place
        self.sites = 0

    def around(self, caller: str, called: str, call: str) -> list[str]:
        """Surround the line of a call with the lines that count it."""
        begin, end = self.begun(caller, called)
        return [*begin, call, *end]

    def begun(self, caller: str, called: str) -> tuple[list[str], list[str]]:
        """Return the lines before and after a call that count it."""
        self.sites += 1
        place, s = 16 * self.places.setdefault((caller, called), len(self.places)), f"%site{self.sites}"
        return [f"  {s}.begun = call i64 @{CLOCK}()"], [
            f"  {s}.ended = call i64 @{CLOCK}()", f"  {s}.took = sub i64 {s}.ended, {s}.begun",
            f"  {s}.n = load i64, ptr getelementptr (i8, ptr @counts, i64 {place})", f"  {s}.n1 = add i64 {s}.n, 1",
            f"  store i64 {s}.n1, ptr getelementptr (i8, ptr @counts, i64 {place})",
            f"  {s}.t = load i64, ptr getelementptr (i8, ptr @counts, i64 {place + 8})", f"  {s}.t1 = add i64 {s}.t, {s}.took",
            f"  store i64 {s}.t1, ptr getelementptr (i8, ptr @counts, i64 {place + 8})"]  # fmt: skip

    def whole(self) -> tuple[list[str], list[str]]:
        """Return the lines before and after all that is counted; those before it also measure the clock itself."""
        (begin, end), (before, after), (first, last) = (self.begun("", what) for what in (CLOCK_INSIDE, CLOCK_AROUND, OUTSIDE))
        return [*before, *begin, *end, *after, *first], last

    def __str__(self) -> str:
        names = " ".join(f"{caller}>{called}" for caller, called in self.places)
        return (f"@counts = global [{2 * len(self.places)} x i64] zeroinitializer\n"
                f'@counted = global [{len(names) + 1} x i8] c"{names}\\00"')  # fmt: skip


class Counted:
    """The counters of loaded code."""

    def __init__(self, code: Any) -> None:
        names = ctypes.string_at(code.variable("counted")).decode().split()
        self.edges = [(caller, called) for caller, _, called in (name.partition(">") for name in names)]
        self.numbers = (ctypes.c_int64 * (2 * len(names))).from_address(code.variable("counts"))
        self.code = code                                                       # which keeps them

    def clear(self) -> None:
        """Set all counters to zero."""
        ctypes.memset(self.numbers, 0, ctypes.sizeof(self.numbers))

    def read(self) -> dict[tuple[str, str], Count]:
        """Return the counts, by the keys of the calling and the called program."""
        return {edge: Count(self.numbers[2 * k], self.numbers[2 * k + 1]) for k, edge in enumerate(self.edges)}
