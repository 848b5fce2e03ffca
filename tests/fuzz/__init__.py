"""Fuzzers: seeded cases that may be refused, but must not crash, hang, take memory without bound, or be wrong without a word.

``python -m tests.fuzz NAME --cases N`` runs any number of one file's cases, ``tests/fuzz/test_fuzz.py`` a few of each. A fuzzer is a file,
or a folder, here with a function ``case(rng, folder) -> str``: it makes one input out of ``rng`` alone, tries it, and returns a word for how it ended
("loaded", "refused", …); whatever it raises is a failure. ``folder`` is an empty one of the case's own.
"""

from pathlib import Path

#: all fuzzers, by name
HERE = Path(__file__).parent
NAMES = sorted(p.stem for p in (*HERE.glob("*.py"), *(p.parent for p in HERE.glob("*/__init__.py"))) if not p.stem.startswith(("_", "test_")))
