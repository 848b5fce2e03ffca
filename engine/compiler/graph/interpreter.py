"""The interpreter: a program run node by node with NumPy. Slow, obvious, and the compiled code's oracle."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from engine.compiler.graph.kernel import Kernel
from engine.compiler.graph.operations import OPERATIONS
from engine.compiler.graph.program import Program, is_table, size


def interpret(program: Program, *arguments: Any) -> Any:
    """Return the results of ``program`` on arrays whose trailing dimensions are its argument shapes; leading ones broadcast.

    >>> from engine.compiler.transforms.trace import trace
    >>> float(interpret(trace(lambda x: x @ x, [(2,)]), [3.0, 4.0]))
    25.0
    """
    arrays = [np.asarray(a, dtype=float) for a in arguments]
    if program.tabled or any(map(is_table, (*program.shapes_in, *program.shapes_out))):
        return each(program, arrays)
    batch = np.broadcast_shapes(*[a.shape[: a.ndim - len(s)] for a, s in zip(arrays, program.shapes_in, strict=True)])
    flat = [np.broadcast_to(a, batch + s).reshape(batch + (size(s),)) for a, s in zip(arrays, program.shapes_in, strict=True)]
    inputs = np.moveaxis(np.concatenate(flat, axis=-1), -1, 0) if flat else np.empty((0,))
    values = run(program, inputs)
    results, k = [], 0
    for shape in program.shapes_out:
        part = [np.broadcast_to(np.asarray(v, dtype=float), batch) for v in values[k : k + size(shape)]]
        results.append(np.stack(part, axis=-1).reshape(batch + shape) if part else np.empty(batch + shape))
        k += size(shape)
    return results[0] if len(results) == 1 else tuple(results)


def each(program: Program, arrays: list[Any]) -> Any:
    """Return the results of a program with tables, run sample after sample: a table in the results has as many rows in each."""
    batch = np.broadcast_shapes(*[a.shape[: a.ndim - len(s)] for a, s in zip(arrays, program.shapes_in, strict=True)])
    whole = [np.broadcast_to(a, batch + a.shape[a.ndim - len(s) :]) for a, s in zip(arrays, program.shapes_in, strict=True)]
    found = [sample(program, [a[k] for a in whole]) for k in np.ndindex(batch)]
    results = [np.stack(parts).reshape(batch + parts[0].shape) for parts in zip(*found, strict=True)]
    return results[0] if len(results) == 1 else tuple(results)


def sample(program: Program, arrays: list[Any]) -> list[Any]:
    """Return the results of one sample."""
    inputs: list[Any] = []
    for a, s in zip(arrays, program.shapes_in, strict=True):
        inputs += [a.reshape(len(a), math.prod(s[1:]))] if is_table(s) else list(a.ravel())
    values, results = iter(run(program, inputs)), []
    for s in program.shapes_out:
        own = [next(values) for _ in range(size(s))]
        results.append(np.array(own[0]).reshape(-1, *s[1:]) if is_table(s) else np.array([float(x) for x in own]).reshape(s))
    return results


def run(program: Program, inputs: Any) -> list[Any]:
    """Return every output scalar for the given input scalars, each a number or an array."""
    value: list[Any] = []
    with np.errstate(all="ignore"):
        for op, *args in program.nodes:
            if op == "input":
                value.append(inputs[args[0]])
            elif op == "const":
                value.append(args[0])
            elif op == "call":
                value.append([number(x) for x in called(program.functions[args[0]], [number(value[i]) for i in args[1:]])])
            elif op == "loop":
                f, limit, *given = args
                value.append(repeated(program.functions[f], limit, [number(value[i]) for i in given]))
            elif op == "root":
                value.append([value[i] for i in args[1:][: len(program.functions[args[0]].outputs)]])
            elif op == "get":
                value.append(value[args[0]][args[1]])
            else:
                value.append(OPERATIONS[op].numpy(*[value[i] for i in args]))
    return [value[i] for i in program.outputs]


def called(f: Program, given: list[Any]) -> list[Any]:
    """Return the results of a function that a program calls."""
    return f.run(given) if isinstance(f, Kernel) else run(f, given)


def repeated(body: Program, limit: int, given: list[Any]) -> list[Any]:
    """Return a loop's carried values, the flag that ends it last, after at most ``limit`` passes."""
    n = len(body.outputs)
    for _ in range(limit):
        if np.all(given[n - 1]):
            break
        given = [number(x) for x in run(body, given)] + given[n:]
    return given[:n]


def number(x: Any) -> Any:
    """Return a boolean as 1 or 0."""
    return np.asarray(x, dtype=float) if np.asarray(x).dtype == bool else x
