"""A few cases of every fuzzer, in this process."""

import pytest

from tests.fuzz import NAMES
from tests.fuzz.__main__ import tried

#: cases of each, but of those that compile
DOSE, FEWER = 20, {"metamorphic": 6, "tables": 6}
CASES = [(name, k) for name in NAMES for k in range(FEWER.get(name, DOSE))]


@pytest.mark.parametrize(("name", "k"), CASES)
def test_it_ends_well(name, k):
    assert tried(name, 0, k)


@pytest.mark.parametrize("name", NAMES)
def test_a_case_is_made_of_its_seed_alone(name):
    assert tried(name, 1, 0) == tried(name, 1, 0)
