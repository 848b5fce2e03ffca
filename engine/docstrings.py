"""Examples of methods and functions, kept beside their class or module and added to the docstrings, so that ``help`` shows them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from types import ModuleType


def add_examples(owner: type | ModuleType, examples: Mapping[str, str]) -> None:
    """Add examples, by names, to the docstrings of what a class or a module has.

    >>> class Scale:
    ...     def read(self):
    ...         '''Return the mass, kg.'''
    >>> add_examples(Scale, {"read": ">>> scale.read()"})
    >>> Scale.read.__doc__.splitlines()
    ['Return the mass, kg.', '', 'Examples', '--------', '>>> scale.read()']
    """
    for name, text in examples.items():
        found = inspect.getattr_static(owner, name)
        doc = found.__doc__ or ""
        margin = re.search(r"\n( *)\S", doc)                                    # of its lines after the first
        added = f"\n\nExamples\n--------\n{text.strip()}".replace("\n", "\n" + margin[1] if margin else "\n")
        for x in (found, getattr(found, "__func__", found)):                    # a class's method, and the function that help reads
            x.__doc__ = doc.rstrip() + added
