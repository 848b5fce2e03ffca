"""Examples of methods and functions, kept beside their class or module and added to the docstrings, so that ``help`` shows them."""

from __future__ import annotations

import inspect
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
        found.__doc__ = f"{inspect.cleandoc(found.__doc__ or '')}\n\nExamples\n--------\n{text.strip()}"
