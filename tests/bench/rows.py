"""Loops over rows against C by gcc -O3, which keeps to IEEE's order as the engine does: gravity, a cloth, and heat in a rod."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import engine
from engine import ops
from tests.bench.timing import in_turn

if TYPE_CHECKING:
    from tests.bench.__main__ import Table

SOURCE = r"""
#include <math.h>
#include <string.h>
void gravity(const double *restrict x, const double *restrict m, long n, double *restrict a)
{
    memset(a, 0, 24 * n);
    for (long i = 0; i < n; ++i)
        for (long j = i + 1; j < n; ++j) {
            double r[3], s = 1e-4;
            for (int k = 0; k < 3; ++k) {
                r[k] = x[3 * j + k] - x[3 * i + k];
                s += r[k] * r[k];
            }
            double w = 1.0 / (s * sqrt(s)), wi = w * m[j], wj = w * m[i];
            for (int k = 0; k < 3; ++k) {
                a[3 * i + k] += wi * r[k];
                a[3 * j + k] -= wj * r[k];
            }
        }
}
void cloth(const double *restrict x, const double *restrict i, const double *restrict j, long n, long e, double *restrict f)
{
    memset(f, 0, 24 * n);
    for (long p = 0; p < e; ++p) {
        const double *a = x + 3 * (long)i[p], *b = x + 3 * (long)j[p];
        double r[3], s = 0;
        for (int k = 0; k < 3; ++k) {
            r[k] = b[k] - a[k];
            s += r[k] * r[k];
        }
        double length = sqrt(s), t = 100.0 * (length - 0.1) / length;
        for (int k = 0; k < 3; ++k) {
            f[3 * (long)i[p] + k] += t * r[k];
            f[3 * (long)j[p] + k] -= t * r[k];
        }
    }
}
void heat(const double *restrict begin, double *restrict u, double *restrict other, long n, long passes)
{
    memcpy(u, begin, 8 * n);
    for (long p = 0; p < passes; ++p) {
        for (long i = 0; i < n; ++i) {
            double left = u[i ? i - 1 : 0], right = u[i < n - 1 ? i + 1 : i];
            other[i] = u[i] + 0.25 * (left - 2.0 * u[i] + right);
        }
        memcpy(u, other, 8 * n);
    }
}
/* many times: what a call from Python costs is not C's */
#define BARRIER __asm__ volatile("" ::: "memory")
void gravity_times(const double *x, const double *m, long n, double *a, long times)
{
    for (long k = 0; k < times; ++k) {
        gravity(x, m, n, a);
        BARRIER;
    }
}
void cloth_times(const double *x, const double *i, const double *j, long n, long e, double *f, long times)
{
    for (long k = 0; k < times; ++k) {
        cloth(x, i, j, n, e, f);
        BARRIER;
    }
}
void heat_times(const double *begin, double *u, double *other, long n, long passes, long times)
{
    for (long k = 0; k < times; ++k) {
        heat(begin, u, other, n, passes);
        BARRIER;
    }
}
"""
#: passes of the equation of heat
PASSES, TIMES = 100, 20


def gravity(x: Any, m: Any) -> Any:
    """Accelerations of n bodies by each other."""
    def on(a: Any) -> Any:
        def pull(b: Any, mass: Any) -> Any:
            r = b - a
            s = r @ r + 1e-4
            return mass / (s * np.sqrt(s)) * r

        return ops.total(ops.rows(pull, x, m))

    return ops.rows(on, x)


def cloth(x: Any, i: Any, j: Any) -> Any:
    """Forces on the knots of a cloth by the springs between knots i and j."""
    def pull(a: Any, b: Any) -> Any:
        r = b - a
        length = np.sqrt(r @ r)
        f = 100.0 * (length - 0.1) / length * r
        return f, -f

    return ops.add_at(0.0 * x, (i, j), ops.rows(pull, ops.gather(x, i), ops.gather(x, j)))


def heat(u: Any) -> Any:
    """Temperatures in a rod, isolated at its ends, some steps later."""
    last = ops.total(ops.rows(lambda _: 1.0, u)) - 1.0
    left, right = ops.maximum(ops.row_numbers(u) - 1.0, 0.0), ops.minimum(ops.row_numbers(u) + 1.0, last)

    def step(u: Any) -> Any:
        return ops.rows(lambda a, b, c: b + 0.25 * (a - 2.0 * b + c), ops.gather(u, left), u, ops.gather(u, right)), False

    return ops.while_loop(step, u, PASSES)[0]


def edges(side: int) -> tuple[np.ndarray, np.ndarray]:
    """Knots that are beside each other in a square cloth."""
    k = np.arange(side * side, dtype=float).reshape(side, side)
    return np.r_[k[:, :-1].ravel(), k[:-1].ravel()], np.r_[k[:, 1:].ravel(), k[1:].ravel()]


def rows(table: Table) -> None:
    """The time of a call, and to the first one."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "rows.c"
        source.write_text(SOURCE)
        library = Path(folder) / "rows.so"
        subprocess.run(["gcc", "-O3", "-march=native", "-shared", "-fPIC", "-o", library, source, "-lm"], check=True)
        c = ctypes.CDLL(str(library))

    def of(*arrays: np.ndarray) -> list[Any]:
        return [ctypes.c_void_p(a.ctypes.data) for a in arrays]  # of arrays that are kept below

    rng = np.random.default_rng(0)
    for n in (100, 1000):
        side = round(n**0.5)
        x, m, knots, (i, j) = rng.standard_normal((n, 3)), rng.random(n), rng.standard_normal((side * side, 3)), edges(side)
        out, knots_out, u, other = np.empty_like(x), np.empty_like(knots), rng.standard_normal(n), np.empty((2, n))
        for f, signature, given, theirs in (
            (gravity, "(n,3),(n)->(n,3)", (x, m), lambda x=x, m=m, out=out, n=n: c.gravity_times(*of(x, m), n, *of(out), TIMES)),
            (cloth, "(n,3),(k),(k)->(n,3)", (knots, i, j),
             lambda k=knots, i=i, j=j, out=knots_out: c.cloth_times(*of(k, i, j), len(k), len(i), *of(out), TIMES)),
            (heat, "(n)->(n)", (u,), lambda u=u, other=other, n=n: c.heat_times(*of(u, other[0], other[1]), n, PASSES, TIMES)),
        ):
            begun = time.perf_counter()
            mine = engine.gufunc(f, signature)
            mine(*given)
            if n == 100:
                first = time.perf_counter() - begun
                table.add("rows", f"{f.__name__}, to the first", first, "s", "< 1", first < 1.0)
            t, s = in_turn(lambda mine=mine, given=given: mine(*given), theirs)
            s /= TIMES
            table.add("rows", f"{f.__name__}, {n} rows", s / t, "x C", ">= 1", s / t >= 1.0, ours_us=t * 1e6, theirs_us=s * 1e6)
