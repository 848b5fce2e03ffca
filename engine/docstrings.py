"""Examples of methods, kept beside their class and added to its docstrings, so that ``help`` shows them."""

from __future__ import annotations

import inspect
from collections.abc import Mapping


def add_examples(owner: type, examples: Mapping[str, str]) -> None:
    """Add examples, by names of methods and properties, to the docstrings of a class.

    >>> class Scale:
    ...     def read(self):
    ...         '''Return the mass, kg.'''
    >>> add_examples(Scale, {"read": ">>> scale.read()"})
    >>> Scale.read.__doc__.splitlines()
    ['Return the mass, kg.', '', 'Examples', '--------', '>>> scale.read()']
    """
    for name, text in examples.items():
        method = inspect.getattr_static(owner, name)
        method.__doc__ = f"{inspect.cleandoc(method.__doc__ or '')}\n\nExamples\n--------\n{text.strip()}"
