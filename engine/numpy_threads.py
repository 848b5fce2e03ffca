"""NumPy's import, after which the threads of its linear algebra sleep.

OpenBLAS begins its threads as it is loaded, and they look for work for 2²⁶ cycles before they fall asleep: some 30 ms of each processor,
in every process, for nothing. A user's own OPENBLAS_THREAD_TIMEOUT counts, and so does NumPy where it is loaded already.
"""

from __future__ import annotations

import os

NAME = "OPENBLAS_THREAD_TIMEOUT"
#: log₂ of the cycles that they look for work: a fraction of a millisecond, in which one product follows another
TIMEOUT = "20"


def load_numpy() -> None:
    """Load NumPy; the environment is as it was afterwards."""
    chosen = NAME in os.environ
    os.environ.setdefault(NAME, TIMEOUT)
    try:
        import numpy  # noqa: F401
    finally:
        if not chosen:
            del os.environ[NAME]
