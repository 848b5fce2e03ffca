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

    The margin is that of the prose, also where a formula comes first:

    >>> Scale.read.__doc__ = "Read::\\n\\n        m = F/g\\n\\n    in kg."
    >>> add_examples(Scale, {"read": ">>> scale.read()"})
    >>> Scale.read.__doc__.splitlines()[-1]
    '    >>> scale.read()'
    """
    for name, text in examples.items():
        found = inspect.getattr_static(owner, name)
        doc = found.__doc__ or ""
        margin = min(re.findall(r"\n( *)\S", doc), default="")                  # of its lines after the first
        added = f"\n\nExamples\n--------\n{text.strip()}".replace("\n", "\n" + margin)
        for x in (found, getattr(found, "__func__", found)):                    # a class's method, and the function that help reads
            x.__doc__ = doc.rstrip() + added
