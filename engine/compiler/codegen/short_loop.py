"""Loops with short bodies: the body is inlined, and the carried values stay in registers."""

from __future__ import annotations

from typing import Any

from engine.compiler.codegen.interrupt_checks import next_pass
from engine.compiler.graph import vecmath
from engine.compiler.graph.program import Program
from engine.compiler.graph.vecmath import literal, splat


def short_loop(module: Any, f: Program, name: str, long: bool) -> str:
    """Return IR of the function that repeats a short body, of n carried values whose last is the flag that ends the loop; if it is
    ``long``, it looks for Ctrl-C."""
    n, D, lines = len(f.outputs), module.D, ["  %constants = getelementptr i8, ptr @constants, i64 0"]
    lines += ["  %arena = load ptr, ptr %work"] * f.tabled
    for k in range(f.n_in):
        lines += [f"  %in{k} = getelementptr inbounds {D}, ptr %in, i64 {k}", f"  %begin{k} = load {D}, ptr %in{k}"]
    given = [f"%x{k}" if k < n else f"%begin{k}" for k in range(f.n_in)]
    inside, results = module.straight(f, given, module, module.width == 1)
    last = next((line[:-1] for line in reversed(inside) if line.endswith(":")), "again")
    one = splat("double", module.width, literal(1.0))
    on, limit = ("on", "%limit.now") if long else (last, "%limit")
    lines += ["  br label %head", "head:", f"  %i = phi i64 [0, %entry], [%next, %{on}]",
              *["  %limit.now = phi i64 [%limit, %entry], [%limit.next, %on]"] * long,
              *(f"  %x{k} = phi {D} [%begin{k}, %entry], [{y}, %{on}]" for k, y in enumerate(results)),
              f"  %left = fcmp une {D} %x{n - 1}, {one}", f"  %some = {vecmath.some(module.width, '%left')}",
              f"  %more = icmp slt i64 %i, {limit}", "  %go = and i1 %some, %more", "  br i1 %go, label %again, label %end",
              "again:", *inside, "  %next = add i64 %i, 1", next_pass(last) if long else "  br label %head", "end:"]  # fmt: skip
    for k in range(n):
        lines += [f"  %out{k} = getelementptr inbounds {D}, ptr %out, i64 {k}", f"  store {D} %x{k}, ptr %out{k}"]
    head = f"define internal void {name}(ptr %in, ptr %out, ptr %work, i64 %limit) noinline nounwind {{"
    return "\n".join([head, "entry:", *lines, "  ret void", "}"])
