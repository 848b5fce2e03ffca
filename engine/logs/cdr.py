"""Messages of ROS 2 as bytes (CDR, little-endian): many of one type at once.

A message is plain data by the names of its fields. What differs from one to the next is in arrays, a row for each; all else, texts and
lengths among it, they share. So each number is at one place in all of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray
#: what is before a message: it is little-endian, and has no options
HEADER = np.array([[0, 1, 0, 0]], dtype=np.uint8)


def encoded(store: Any, name: str, message: Any) -> Array:
    """Return messages of a type, by the definitions of a ``store`` of rosbags, as bytes (T, n); of those without an array T is 1.

    >>> from rosbags.typesys import Stores, get_typestore
    >>> times = {"sec": np.array([1, 258]), "nanosec": 5}
    >>> encoded(get_typestore(Stores.ROS2_HUMBLE), "builtin_interfaces/msg/Time", times).tolist()
    [[0, 1, 0, 0, 1, 0, 0, 0, 5, 0, 0, 0], [0, 1, 0, 0, 2, 1, 0, 0, 5, 0, 0, 0]]
    """
    rows = Rows(store)
    rows.add_message(name, message)
    return rows.joined()


class Rows:
    """Bytes of messages that grow side by side: each aligned by its own size, as counted behind the header."""

    def __init__(self, store: Any) -> None:
        self.store, self.size, self.parts = store, 0, [HEADER]

    def joined(self) -> Array:
        """Return the serialised messages as bytes (T, n), one a row."""
        out = np.empty((max(map(len, self.parts)), len(HEADER[0]) + self.size), dtype=np.uint8)
        at = 0
        for part in self.parts:
            out[:, at : at + part.shape[1]] = part
            at += part.shape[1]
        return out

    def add(self, raw: Array) -> None:
        """Add bytes (T, n), or (1, n) of all."""
        self.parts.append(raw)
        self.size += raw.shape[1]

    def add_numbers(self, kind: str, x: Any) -> None:
        """Add numbers: an array's rows, or one or a list of all."""
        rows = len(x) if isinstance(x, np.ndarray) else 1
        numbers = np.ascontiguousarray(x, dtype=np.dtype(kind).newbyteorder("<")).reshape(rows, -1)
        if numbers.size:                                                       # of an empty sequence nothing is aligned
            self.add(np.zeros((1, -self.size % numbers.itemsize), dtype=np.uint8))
            self.add(numbers.view(np.uint8))

    def add_text(self, text: str) -> None:
        """Add a text, its length with the zero behind it first."""
        raw = np.frombuffer(text.encode() + b"\0", dtype=np.uint8)
        self.add_numbers("uint32", len(raw))
        self.add(raw[None])

    def add_message(self, name: str, message: Any) -> None:
        """Add the fields of a message."""
        for field, kind in self.store.fielddefs[name][1]:
            self.add_value(kind, message[field])

    def add_value(self, kind: Any, x: Any) -> None:
        """Add what has a kind of rosbags."""
        from rosbags.interfaces import Nodetype

        node, of = kind
        if node == Nodetype.NAME:
            return self.add_message(of, x)
        if node == Nodetype.BASE:
            return self.add_text(x) if of[0] == "string" else self.add_numbers(of[0], x)
        if node == Nodetype.SEQUENCE:
            self.add_numbers("uint32", x.shape[1] if isinstance(x, np.ndarray) else len(x))
        element = of[0]
        if element[0] == Nodetype.BASE and element[1][0] != "string":
            return self.add_numbers(element[1][0], x)
        for y in x:
            self.add_value(element, y)
        return None
