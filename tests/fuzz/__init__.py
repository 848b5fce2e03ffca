"""Fuzzers: seeded cases that may be refused, but must not crash, hang, take memory without bound, or be wrong without a word.

``python -m tests.fuzz NAME --cases N`` runs any number of one fuzzer's cases, ``tests/fuzz/test_fuzz.py`` a few of each. A fuzzer is a
module here with a function ``case(rng, folder) -> str``: it makes one input out of ``rng`` alone, tries it, and returns a word for how it
ended ("loaded", "refused", …); whatever it raises is a failure. ``folder`` is an empty one of the case's own.
"""

import pkgutil

#: all fuzzers, by name
NAMES = sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith(("_", "test_")))
