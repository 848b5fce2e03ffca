"""The elements of an MJCF file: plain, with their lines and files, and with what the file includes in its place."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any

from engine.checks import nearest
from engine.io.errors import RobotFileError, short
from engine.io.given import TEXT, Given, given
from engine.io.paths import Finder
from engine.io.xml import require_outermost, root_of

EXPECTED = "an MJCF file"
#: elements of a file with all that it includes and repeats
MOST = 300_000


@dataclass
class Node:
    """An element: its attributes as they are written, or as its class completes them, and its children."""

    tag: str
    attributes: dict[str, str]
    children: list[Node] = field(default_factory=list)
    line: int = 0
    file: str = TEXT

    @property
    def place(self) -> str:
        """Name of the element in messages: "joint 'knee'", or "<joint>"."""
        name = self.attributes.get("name") or self.attributes.get("class" if self.tag == "default" else "", "")
        return f"{self.tag} '{short(name)}'" if name else f"<{self.tag}>"

    def error(self, reason: str) -> RobotFileError:
        """Return the error that says where: the file, the line and the element."""
        return RobotFileError(reason, self.file, self.line, self.place)

    def all(self, *tags: str) -> Iterator[Node]:
        """Yield its children of some tags."""
        return (child for child in self.children if child.tag in tags)

    def first(self, tag: str) -> Node | None:
        """Return its first child of a tag, or None."""
        return next(self.all(tag), None)

    # ------------------------------------------------------------ attributes

    def text(self, name: str, default: str = "") -> str:
        """Return an attribute, or where it is not there the default."""
        return self.attributes.get(name, default)

    def required(self, name: str) -> str:
        """Return an attribute that has to be there."""
        if not (value := self.attributes.get(name)):
            raise self.error(f"<{self.tag}> has no {name}; expected {name}=\"...\"")
        return value

    def numbers(self, name: str, counts: Sequence[int] | int, default: Sequence[float] | None = None) -> list[float]:
        """Return the finite numbers of an attribute; ``counts`` says how many there may be, or the least and the most."""
        text = self.attributes.get(name)
        if text is None and default is not None:
            return list(default)
        least, most = (counts, counts) if isinstance(counts, int) else counts
        try:
            values = [*map(float, text.split())] if text is not None and text.isascii() and "_" not in text else None
        except ValueError:
            values = None
        if values is None or not least <= len(values) <= most or not all(map(isfinite, values)):
            said = f"has no {name}" if text is None else f"{name} is '{short(text if text.isascii() else ascii(text)[1:-1])}'"
            many = f"{least}" if least == most else f"{least} to {most}"
            raise self.error(f"<{self.tag}> {said}; expected {'a finite number' if most == 1 else f'{many} finite numbers'}")
        return values

    def number(self, name: str, default: float | None = None) -> float:
        """Return the finite number of an attribute."""
        return self.numbers(name, 1, None if default is None else (default,))[0]

    def positive(self, name: str, default: float | None = None) -> float:
        """Return the finite number of an attribute, which may not be negative where it is there."""
        value = self.number(name, default)
        if name in self.attributes and value < 0.0:
            raise self.error(f"{name} is {value:g}; expected zero or more")
        return value

    def whole(self, name: str, default: int) -> int:
        """Return the whole number of an attribute, of at most nine digits."""
        text = self.attributes.get(name)
        if text is None:
            return default
        try:
            value = int(text) if len(text) <= 12 and "_" not in text else None
        except ValueError:
            value = None
        if value is None or abs(value) >= 10**9:
            raise self.error(f"<{self.tag}> {name} is '{short(text)}'; expected a whole number of at most nine digits")
        return value

    def choice(self, name: str, choices: Iterable[str], default: str) -> str:
        """Return an attribute that is one of a few words."""
        text, known = self.attributes.get(name, default), [*choices]
        if text not in known:
            raise self.error(f"<{self.tag}> {name} is '{short(text)}'{nearest(text[:60], known)}; expected one of {', '.join(known)}")
        return text

    def flag(self, name: str, default: bool = False) -> bool:
        """Return an attribute that is "true" or "false"."""
        return self.choice(name, ("true", "false"), "true" if default else "false") == "true"

    def limited(self, name: str, span: str, auto: bool) -> list[float] | None:
        """Return the two numbers of a range where it is to hold: ``name`` is true, or "auto" and the range is there."""
        said = self.choice(name, ("true", "false", "auto"), "auto")
        if said == "auto" and not auto and span in self.attributes:
            raise self.error(f"<{self.tag}> has a {span}, but neither {name} nor the compiler's autolimits; expected one of them")
        if said == "false" or (said == "auto" and span not in self.attributes):
            return None
        low, high = self.numbers(span, 2)
        if low == high == 0.0 and said == "auto":
            return None
        if not low < high:
            raise self.error(f"<{self.tag}> {span} is '{short(self.attributes[span])}'; expected a range, the least number first")
        return [low, high]

    def with_attributes(self, **changed: str) -> Node:
        """Return the same element with other attributes."""
        return replace(self, attributes={**self.attributes, **changed})


class Document:
    """A file and what it includes, as one tree of nodes; and the finder of the files that it names.

    Raises
    ------
    RobotFileError : a file cannot be read or is no MJCF, or is included twice
    """

    def __init__(self, path: Any, package_dirs: Iterable[str | os.PathLike[str]] = ()) -> None:
        said = given(path)
        self.file = said.file
        self.finder = Finder(self.file, package_dirs)
        self.included = set() if said.text is not None else {os.path.realpath(self.file)}
        self.count = 0
        self.root = self.node(self.parsed(said), self.file)
        require_outermost("mujoco", self.root.tag, self.file, self.root.line)

    def parsed(self, said: Given) -> Any:
        data = said.read(EXPECTED)
        if not data.strip():
            raise RobotFileError("the file is empty; expected a <mujoco> element", said.file)
        return root_of(data, said.file, "a complete robot file", said.encoding)

    def node(self, e: Any, file: str) -> Node:
        """Return an element of lxml's with what it includes."""
        self.count += 1
        if self.count > MOST:
            raise RobotFileError(f"the file has more than {MOST} elements; expected fewer", file, e.sourceline)
        node = Node(str(e.tag), {str(k): str(v) for k, v in e.attrib.items()}, [], e.sourceline or 0, file)
        for child in e:
            if child.tag == "include":
                node.children += self.include(Node("include", dict(child.attrib), [], child.sourceline, file))
            else:
                node.children.append(self.node(child, file))
        return node

    def include(self, node: Node) -> list[Node]:
        """Return the children of the root of a file that is included."""
        name = node.required("file")
        beside = os.path.join(os.path.dirname(node.file), name) if node.file != TEXT else name
        found = self.finder.find(name) if self.finder.find(name).path else self.finder.find(os.path.abspath(beside))
        if found.path is None:
            raise node.error(f"the included file '{short(name)}' {found.fault}")
        path = str(found.path)
        if path in self.included:
            raise node.error(f"the file '{short(name)}' is included twice, or includes itself; expected each file once")
        self.included.add(path)
        return self.node(self.parsed(Given(path)), path).children
