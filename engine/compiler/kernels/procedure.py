"""Procedures, loops as people write them, as kernels: nodes that take tables and numbers, and make tables."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np

from engine.compiler import debug
from engine.compiler.graph.kernel import Call, Kernel, for_one
from engine.compiler.graph.program import COUNTED
from engine.compiler.graph.refusals import TraceError
from engine.compiler.kernels.arena import put_arena
from engine.compiler.kernels.procedure_code import module_of
from engine.ops.procedure import run_procedure

#: of an input: it is a number; a table (n), and not one of columns
NUMBER, PLAIN = -1, 0


@functools.lru_cache(maxsize=1024)
def written(fn: Callable[..., Any], given: tuple[int, ...], checked: bool) -> tuple[str, tuple[int, ...]]:
    """Return IR of a procedure, named @procedure, of inputs of so many columns, and how many columns its results have."""
    text, made = module_of(fn, "@procedure", given, checked)
    return text, tuple(made)


class Procedure(Kernel):
    """A procedure, or its lines ``fn``, of tables and numbers, which are given by how many columns they have: NUMBER, PLAIN or more."""

    tabled = True

    def __init__(self, procedure: Callable[..., Any], given: tuple[int, ...]) -> None:
        self.procedure, self.given_columns, self.checked = procedure, given, debug.level() >= 2      # pickles find it by its name
        self.text, self.made_columns = written(self.fn, given, self.checked)
        super().__init__(len(given), len(self.made_columns), procedure.__name__)
        self.shapes_in = [() if m == NUMBER else (COUNTED, max(m, 1)) for m in given]
        self.shapes_out = [(COUNTED, max(m, 1)) for m in self.made_columns]
        self.digest = hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def fn(self) -> Callable[..., Any]:
        """The procedure's lines, a function of Python."""
        return getattr(self.procedure, "__wrapped__", self.procedure)

    def run(self, inputs: list[Any]) -> list[Any]:
        """Run the procedure as Python."""
        given = [float(x) if m == NUMBER else np.asarray(x).reshape((len(x),) if m == PLAIN else (len(x), m))
                 for x, m in zip(inputs, self.given_columns, strict=True)]  # fmt: skip
        found = run_procedure(self.fn, given, self.checked)
        made = found if isinstance(found, tuple) else (found,)
        return [y.reshape(len(y), max(m, 1)) for y, m in zip(made, self.made_columns, strict=True)]

    def emit(self, module: Any, name: str) -> int:
        """Write the call of the procedure, which is a module of its own that LLVM's loop passes go over."""
        put_arena(module)
        own = f"@procedure.{self.digest[:32]}"
        module.once(own, f"declare void {own}(ptr, ptr, ptr)")
        module.apart[own] = self.text.replace("@procedure(", f"{own}(")
        module.text.append(for_one(name, ["  %arena = load ptr, ptr %work", f"  call void {own}(ptr %arena, ptr %in, ptr %out)"]))
        return 1

    def tangents(self, call: Call, inputs: list[Any], directions: list[Any]) -> list[Any]:
        raise TraceError(f"the derivative of the procedure '{self.name}' is asked for; expected what it makes within engine.ops.implicit, "
                         "or engine.ops.stop_gradient of what it is given")  # fmt: skip

    def adjoints(self, call: Call, inputs: list[Any], weights: list[Any], wanted: set[int]) -> dict[int, Any]:
        self.tangents(call, inputs, [])
        return {}
