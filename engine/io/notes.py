"""Notes on a file's elements that are not read, or not as they are meant: gathered while it is read."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from engine.model import Part

#: pairs of what may touch that are listed; a simulation takes far fewer
MOST_TOUCHING = 20_000
#: a coefficient of friction beyond which none is read
ROUGHEST = 1e15


class Placed(Protocol):
    """An element: what it is called in messages, and its line."""

    @property
    def place(self) -> str: ...

    @property
    def line(self) -> int: ...


class Note(NamedTuple):
    """A note on a file's element: a "warning" where the motion is another than the file means, a "note" where only looks and the like are.
    """

    severity: str
    node: Placed
    message: str


class Notes(list[Note]):
    """Notes on one file."""

    file = ""

    def warn(self, node: Placed, message: str) -> None:
        """Add what makes the motion another than the file means."""
        self.append(Note("warning", node, message))

    def note(self, node: Placed, message: str) -> None:
        """Add what makes no difference to it."""
        self.append(Note("note", node, message))

    def unlisted(self, node: Placed) -> Part:
        """Say that more may touch than is listed, and return the contacts: ``pairs`` is the number of pairs that there are more than."""
        self.warn(node, f"more than {MOST_TOUCHING} pairs of shapes may touch, and are not listed: a simulation with contacts asks for "
                        "contacts=Contacts(pairs=[...]) of those that matter")  # fmt: skip
        return Part("Contacts", {"pairs": MOST_TOUCHING})
