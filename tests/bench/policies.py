"""Networks and tables in compiled functions: how fast a policy compiles and runs, against NumPy's BLAS on one thread."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from tests.bench.__main__ import Table

ROWS = 8192
#: of W
SHAPES = ((256, 24), (256, 256), (256, 256), (8, 256))
PRODUCTS = sum(n * m for n, m in SHAPES)
#: seconds of a product of matrices 1024×1024, and of the network of each activation on all rows, by NumPy
PEER = """
import numpy as np
from tests.bench.policies import ROWS, layers
from tests.bench.timing import median
A, x = np.random.default_rng(0).normal(size=(1024, 1024)), np.random.default_rng(0).normal(size=(ROWS, 24))
def forward(act):
    y = x
    for k, (W, b) in enumerate(layers()):
        y = y @ W.T + b
        y = act(y) if k < 3 else y
    return y
print(median(lambda: A @ A, 5), *(median(lambda: forward(act), 5) for act in (lambda y: np.maximum(y, 0), np.tanh)))
"""


def layers() -> list[tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(0)
    return [(rng.normal(size=shape) / 16, rng.normal(size=shape[0])) for shape in SHAPES]


def policies(table: Table) -> None:
    """A policy of two hidden layers of 256, and a table of 10⁵ entries."""
    import engine
    from engine import ops
    from tests.bench.timing import in_turn, median

    one = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", PEER], env=one, capture_output=True, text=True, check=True)
    product, *numpys = map(float, done.stdout.split())
    rng, threads = np.random.default_rng(0), engine.get_threads()
    x = rng.normal(size=(ROWS, 24))
    engine.set_threads(1)
    try:
        for activation, peer in zip(("relu", "tanh"), numpys, strict=True):
            begun = time.perf_counter()
            f = engine.gufunc(engine.policy(layers(), activation=activation), "(24)->(8)")
            f(x[:16])
            compiled = time.perf_counter() - begun
            table.add("policies", f"256×256×2, {activation}: to the first batch", compiled, "s", "< 1", compiled < 1.0)
            t = median(lambda f=f: f(x))
            rate, peak = PRODUCTS * ROWS / t, 1024**3 / product
            table.add("policies", f"256×256×2, {activation}: {ROWS} rows", rate / peak, "of dgemm's rate", ">= 0.5", rate / peak >= 0.5,
                      us_a_row=1e6 * t / ROWS, numpy_us=1e6 * peer / ROWS, GMAC_s=rate / 1e9)  # fmt: skip
            table.add("policies", f"256×256×2, {activation}: one call", 1e6 * median(lambda f=f: f(x[0])), "us")
    finally:
        engine.set_threads(threads)
    xp = np.cumsum(rng.uniform(0.5, 1.0, 100_000))
    fp, at = np.sin(1e-3 * xp), rng.uniform(0.0, xp[-1], 4096)
    begun = time.perf_counter()
    look: Callable[..., np.ndarray] = engine.gufunc(lambda x: ops.interp(x, xp, fp), "()->()")
    assert np.abs(look(at) - np.interp(at, xp, fp)).max() < 1e-14
    table.add("policies", "a table of 1e5: to the first batch", time.perf_counter() - begun, "s", "< 1", time.perf_counter() - begun < 1.0)
    t, u = in_turn(lambda: look(at), lambda: np.interp(at, xp, fp))
    table.add("policies", "a table of 1e5: 4096 look-ups", u / t, "x np.interp", ours_ns=1e9 * t / len(at))
