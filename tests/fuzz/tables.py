"""Random programs with tables alone, of those that :mod:`tests.fuzz.programs` makes."""

from pathlib import Path

import numpy as np

from tests.fuzz.programs import quietly, tabled_case

#: s that a case may take: it is compiled five times
SECONDS = 60.0


def case(rng: np.random.Generator, folder: Path) -> str:
    """Make a program with tables, and try it plain, interpreted, compiled at any number of rows in the lanes, and as C."""
    with quietly():
        return tabled_case(rng, folder)
