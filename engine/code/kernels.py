"""C of kernels, as loops: dense layers, look-ups, random numbers, products, and triangular solves with many right sides.

Each does to every number what the engine's own loops do, in the same order; inner loops go along what stands side by side.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.code.translate import decimal
from engine.compiler.graph.kernel import Kernel
from engine.compiler.kernels.dense import Dense
from engine.compiler.kernels.lookups import Rows, Search
from engine.compiler.kernels.philox import PHILOX, WEYL, Uniform
from engine.compiler.kernels.products import Products
from engine.compiler.kernels.solves import Solves

#: the high half of a product
HIGH = """static uint64_t high(uint64_t x, uint64_t y)
{
    const uint64_t low = 0xffffffffu, a = x >> 32, b = x & low, c = y >> 32, d = y & low;
    const uint64_t middle = (b * d >> 32) + (a * d & low) + (b * c & low);
    return a * c + (a * d >> 32) + (b * c >> 32) + (middle >> 32);
}"""


def table(name: str, x: Any, kind: str = "double") -> str:
    """Return C of constant numbers in memory."""
    texts = [decimal(y) if kind == "double" else str(int(y)) for y in np.ravel(x)] or ["0"]   # C has no arrays of nothing
    rows = ["    " + ", ".join(texts[k : k + 6]) for k in range(0, len(texts), 6)]
    return f"static const {kind} {name}[{len(texts)}] = {{\n" + ",\n".join(rows) + "\n};"


def function(name: str, *lines: str) -> str:
    """Return C of a kernel's function of numbers at ``in``, with results at ``out``."""
    return "\n".join([f"static void {name}(const double *restrict in, double *restrict out)", "{", *(f"    {x}" for x in lines), "}"])


def dense(f: Dense, name: str) -> list[str]:
    """y = W x + b."""
    n, m = f.n, f.m
    if f.W is None:
        return [function(name, f"const double *W = in + {m}, *b = W + {n * m};", f"for (int i = 0; i < {n}; ++i) {{",
                         "    double y = b[i];", f"    for (int j = 0; j < {m}; ++j)", f"        y = fma(W[{m} * i + j], in[j], y);",
                         "    out[i] = y;", "}")]  # fmt: skip
    assert f.b is not None
    return [table(f"{name}_W", f.W.T), table(f"{name}_b", f.b),
            function(name, f"for (int i = 0; i < {n}; ++i)", f"    out[i] = {name}_b[i];", f"for (int j = 0; j < {m}; ++j)",
                     f"    for (int i = 0; i < {n}; ++i)", f"        out[i] = fma({name}_W[{n} * j + i], in[j], out[i]);")]  # fmt: skip


def search(f: Search, name: str) -> list[str]:
    """Find the last breakpoint that is reached, by bisection."""
    return [table(f"{name}_at", f.breakpoints),
            function(name, "int k = 0;", f"for (int n = {len(f.breakpoints)}, h; n > 1; n -= h) {{", "    h = n / 2;",
                     f"    if (in[0] >= {name}_at[k + h])", "        k += h;", "}", "out[0] = k;")]  # fmt: skip


def rows(f: Rows, name: str) -> list[str]:
    """A row of a table."""
    n, m = f.rows.shape
    return [table(f"{name}_rows", f.rows),
            function(name, f"const int k = in[0] >= {n - 1} ? {n - 1} : in[0] > 0.0 ? (int)in[0] : 0;",
                     f"for (int j = 0; j < {m}; ++j)", f"    out[j] = {name}_rows[{m} * k + j];")]  # fmt: skip


def uniform(f: Uniform, name: str) -> list[str]:
    """Draw random numbers by Philox-4×64-10, four at a time."""
    n, (p, q), (v, w) = len(f.outputs), PHILOX, (x % 2**64 for x in WEYL)
    return [HIGH, function(
        name, f"for (int first = 0; first < {n}; first += 4) {{",
        "    uint64_t c[4] = {(uint64_t)first / 4 + 1, whole(in[2]), whole(in[3]), whole(in[4])};",
        "    uint64_t key[2] = {whole(in[0]), whole(in[1])};", "    for (int turn = 0; turn < 10; ++turn) {",
        f"        const uint64_t p = UINT64_C({p:#x}), q = UINT64_C({q:#x});",
        "        const uint64_t next[4] = {high(c[2], q) ^ c[1] ^ key[0], c[2] * q, high(c[0], p) ^ c[3] ^ key[1], c[0] * p};",
        "        for (int k = 0; k < 4; ++k)", "            c[k] = next[k];", f"        key[0] += UINT64_C({v:#x});",
        f"        key[1] += UINT64_C({w:#x});", "    }", f"    for (int k = 0; k < 4 && first + k < {n}; ++k)",
        f"        out[first + k] = (double)(c[k] >> 11) * {decimal(2.0**-53)};", "}")]  # fmt: skip


def products(f: Products, name: str) -> list[str]:
    """C = A B."""
    return [function(name, f"const double *B = in + {f.n * f.k};", f"for (int i = 0; i < {f.n}; ++i) {{",
                     f"    double *C = out + {f.m} * i;", f"    for (int j = 0; j < {f.m}; ++j)", "        C[j] = 0.0;",
                     f"    for (int l = 0; l < {f.k}; ++l)", f"        for (int j = 0; j < {f.m}; ++j)",
                     f"            C[j] = fma(in[{f.k} * i + l], B[{f.m} * l + j], C[j]);", "}")]  # fmt: skip


def solves(f: Solves, name: str) -> list[str]:
    """Solve L D Lᵀ x = b: forward along the entries of L, and back."""
    e, m = len(f.entries), f.m
    number = {pair: j for j, pair in enumerate(f.entries)}
    up = [(i, k, number[k, i]) for i in reversed(range(f.n)) for k in range(i + 1, f.n) if i in f.pattern[k]]
    ends = [sum(i >= row for i, _, _ in up) for row in range(f.n)]
    less = f"for (int j = 0; j < {m}; ++j)", "    x[j] = fma(-l, y[j], x[j]);"
    down = [(*pair, j) for pair, j in number.items()]
    tables = [table(f"{name}_{n}", x, "int") for n, x in (("down", down), ("up", up)) if x] + [table(f"{name}_ends", ends, "int")]

    def along(which: str, first: str, last: str) -> list[str]:
        return [f"for (int e = {first}; e < {last}; ++e) {{", f"    const int *of = {name}_{which} + 3 * e;",
                "    const double l = in[of[2]];", f"    const double *y = out + {m} * of[1];", f"    double *x = out + {m} * of[0];",
                *(f"    {line}" for line in less), "}"]  # fmt: skip

    there = along("down", "0", str(e)) if e else []
    back = along("up", f"i < {f.n - 1} ? {name}_ends[i + 1] : 0", f"{name}_ends[i]") if e else []
    lines = [f"for (int j = 0; j < {f.n * m}; ++j)", f"    out[j] = in[{e + f.n} + j];", *there,
             f"for (int i = {f.n - 1}; i >= 0; --i) {{", f"    for (int j = 0; j < {m}; ++j)",
             f"        out[{m} * i + j] = out[{m} * i + j] * in[{e} + i];", *(f"    {x}" for x in back), "}"]  # fmt: skip
    return [*(tables if e else ()), function(name, *lines)]


KINDS: dict[type[Kernel], Callable[[Any, str], list[str]]] = {Dense: dense, Search: search, Rows: rows, Uniform: uniform,
                                                              Products: products, Solves: solves}
