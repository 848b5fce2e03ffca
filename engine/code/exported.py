"""A program to be written as code, with names and meanings of its arguments and results, and samples of it."""

from __future__ import annotations

import dataclasses
import functools
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from engine.checks import EngineError, shown
from engine.code.functions import ExportError
from engine.code.reserved import RESERVED, is_taken
from engine.compiler.graph.program import Program, Shape, is_table, size
from engine.compiler.gufunc import Gufunc
from engine.compiler.signature import signature_of

Array = np.ndarray
#: what is in every file that is written, and says that it may be written anew
WRITER = "articulated-engine"
#: samples that a self-test holds, and numbers in all of them
SAMPLES, NUMBERS = 20, 20_000
#: what is passed beside a table: how many rows there are, and for how many there is room
OF_TABLES = ("_rows", "_room")


@dataclass(frozen=True)
class Value:
    """An argument or a result: its name in C, its shape, what it is, and what its entries are (from where on, names).

    ``bound`` is the number that stands for an argument which nobody gives; ``passed`` whether one is given at all.
    """

    name: str
    shape: Shape
    text: str = ""
    parts: tuple[tuple[int, str, tuple[str, ...]], ...] = ()
    bound: float | None = None

    @property
    def size(self) -> int:
        """Number of entries."""
        return size(self.shape)

    @property
    def columns(self) -> int:
        """Numbers in a row of a table; 0 of anything else."""
        return math.prod(self.shape[1:]) if is_table(self.shape) else 0

    @property
    def passed(self) -> bool:
        """True if the value is a parameter of the C function: not bound to a constant, and not empty."""
        return self.bound is None and self.size > 0


@dataclass
class Exported:
    """A function that is written as code.

    Attributes
    ----------
    name : in C
    given, results : of the program's arguments and results, all of them in order
    strict : whether arguments that are not finite are reported too
    summary : what it is, paragraphs
    draw : arguments at random, from a generator
    first : arguments to begin with; each sample's result then begins the next, by ``again``; half of the way they begin at random ones
    again : (arguments, results) -> the next sample's arguments
    initial : arguments at first, by name
    rows : how many rows tables have at most, as a rule, where they may have more than what is given
    """

    program: Program
    name: str
    given: list[Value]
    results: list[Value]
    strict: bool
    summary: list[str]
    draw: Callable[[np.random.Generator], Sequence[Any]]
    first: Sequence[Any] | None = None
    again: Callable[[Sequence[Any], Sequence[Any]], Sequence[Any]] | None = None
    initial: dict[str, Array] = field(default_factory=dict)
    rows: int = 0

    def __post_init__(self) -> None:
        if not self.returned:
            raise ExportError(f"{self.summary[0]} has no results; expected some")
        taken = {self.name, "memory", "memory_size"}                           # which WebAssembly has, and functions with tables
        self.given, self.results = named(self.given, taken), named(self.results, taken)

    @property
    def parameters(self) -> list[Value]:
        """The arguments that C takes."""
        return [a for a in self.given if a.passed]

    @property
    def returned(self) -> list[Value]:
        """The results that C fills in."""
        return [r for r in self.results if r.size]

    @property
    def tables(self) -> list[Value]:
        """The arguments that are tables."""
        return [a for a in self.given if a.columns]

    @functools.cached_property
    def compiled(self) -> Gufunc:
        """The engine's compiled function, without warnings of NaN and infinity."""
        return Gufunc(self.program, signature_of(self.program), [a.name for a in self.given])

    def call(self, *arguments: Any) -> tuple[Array, ...]:
        """Return the engine's results."""
        with np.errstate(invalid="ignore"):
            found = self.compiled(*arguments)
        return tuple(np.asarray(x) for x in (found if isinstance(found, tuple) else (found,)))

    def samples(self) -> list[tuple[list[Array], list[Array]]]:
        """Arguments and results, those that C has, flat: the same ones each time. There are no results where a number is not that of a
        row, or tables differ in how many they have."""
        rng = np.random.default_rng(0)
        width = sum(x.size for x in (*self.parameters, *self.returned))
        x, found = self.first or self.draw(rng), []
        count = max(2, min(SAMPLES, NUMBERS // max(width, 1)))
        for k in range(1, count + 1):
            x, y = self.arguments_and_results(x, rng)
            found.append(([np.ravel(a) for a, of in zip(x, self.given, strict=True) if of.passed],
                          [np.ravel(r) for r, of in zip(y, self.results, strict=True) if of.size] if y else []))  # fmt: skip
            x = self.again(x, y) if self.again and y and k != count // 2 else self.draw(rng)   # what rests at first goes on resting
        return found

    def arguments_and_results(self, x: Sequence[Any], rng: np.random.Generator) -> tuple[Sequence[Any], tuple[Array, ...]]:
        """Yield arguments and their results; arrays (n) of row numbers hold such."""
        try:
            return x, self.call(*x)
        except IndexError:
            if self.again:                                                     # states and times, which are no numbers of rows
                return x, ()
            least = max(1, min(len(a) for a in x if np.ndim(a)))
            x = [rng.integers(0, least, len(a)).astype(float) if np.ndim(a) == 1 else a for a in x]
        except EngineError:
            return x, ()
        try:
            return x, self.call(*x)
        except (IndexError, EngineError):
            return x, ()


def identifier(name: str, taken: Iterable[str] = ()) -> str:
    """Return a valid name in C: other characters become _, and a reserved name gets one more."""
    found = re.sub(r"\W", "_", name.replace("⁺", "_next").encode("ascii", "replace").decode().replace("?", "_")) or "_"
    found = f"x{found}" if not found[0].isalpha() else found
    while found in RESERVED or found in taken or re.fullmatch(r"(t|sc|st|top|columns)\d+|in|out|i", found):
        found += "_"
    return found


def require_export(path: Path, there: bytes) -> None:
    """Refuse to write over a file in which no export has said what it is."""
    if WRITER.encode() not in there:
        raise ExportError(f"'{path}' is there already, and no export wrote it; expected another name, or that file elsewhere")


def require_name(name: Any) -> str:
    """Return a function's name; ExportError where C has no such."""
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise ExportError(f"name is {shown(name)}; expected an identifier of C: letters, digits and _, no digit first")
    if is_taken(name):
        raise ExportError(f"name is '{name}', which C, its library or exported code has already; expected another")
    return name


def named(values: list[Value], taken: set[str]) -> list[Value]:
    """Return values with valid names in C, each once, and none that is reserved."""
    found = []
    for value in values:
        name = identifier(value.name, taken)
        while value.columns and not taken.isdisjoint(f"{name}{end}" for end in OF_TABLES):
            name = identifier(f"{name}_", taken)
        found.append(dataclasses.replace(value, name=name))
        taken |= {name, *(f"{name}{end}" for end in OF_TABLES if value.columns)}
    return found


def results_of(program: Program) -> list[Value]:
    """Return the results of a program, by its own names or as they are numbered."""
    many = len(program.shapes_out) > 1
    names = program.names or tuple(f"result_{k}" if many else "result" for k in range(len(program.shapes_out)))
    return [Value(n, s) for n, s in zip(names, program.shapes_out, strict=True)]
