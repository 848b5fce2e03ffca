"""The elements of an SDF file: plain, with their lines and files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import inf, isfinite, isnan
from typing import Any

from engine.checks import nearest
from engine.io.errors import RobotFileError, short
from engine.io.given import TEXT, Given, given
from engine.io.paths import Finder
from engine.io.xml import require_outermost, root_of

EXPECTED = "an SDF file"
#: elements of a file with all that it includes
MOST = 1_000_000
#: files within files; and files that are included, each as often as it is
DEEPEST, MOST_INCLUDED = 32, 20_000
#: what errors are said of
PLACES = ("joint", "link", "frame", "model", "include", "world")
#: a bound from here on is none, as libsdformat has it
UNBOUNDED = 1e16


@dataclass(eq=False)
class Node:
    """An element: its attributes and its text as they are written, and its children; the version is that of its file."""

    tag: str
    attributes: dict[str, str]
    words: str = ""
    children: list[Node] = field(default_factory=list, repr=False)
    line: int = 0
    file: str = TEXT
    version: tuple[int, int] = (1, 11)
    parent: Node | None = field(default=None, repr=False)

    @property
    def place(self) -> str:
        """Name of the element in messages: "joint 'knee'", or "<physics>"."""
        node: Node | None = self
        while node is not None and not (node.tag in PLACES and node.name):
            node = node.parent
        return f"<{short(self.tag)}>" if node is None else f"{node.tag} '{short(node.name)}'"

    @property
    def name(self) -> str:
        """The element's name, or ''."""
        return self.attributes.get("name", "")

    def error(self, reason: str) -> RobotFileError:
        """Return the error that says where: the file, the line and the element."""
        return RobotFileError(reason, self.file, self.line, self.place)

    def all(self, *tags: str) -> Iterator[Node]:
        """Yield its children of some tags."""
        return (child for child in self.children if child.tag in tags)

    def first(self, *path: str) -> Node | None:
        """Return the first of what lies at a path of tags below it, or None."""
        node: Node | None = self
        for tag in path:
            node = next(node.all(tag), None) if node is not None else None
        return node

    # ------------------------------------------------------------ attributes and texts

    def required(self, name: str) -> str:
        """Return an attribute that has to be there."""
        if not (value := self.attributes.get(name)):
            raise self.error(f"<{self.tag}> has no {name}; expected {name}=\"...\"")
        return value

    def part(self, tag: str) -> Node:
        """Return a child that has to be there."""
        if (found := self.first(tag)) is None:
            raise self.error(f"<{self.tag}> has no <{tag}>; expected one")
        return found

    def text(self, *path: str, default: str = "") -> str:
        """Return the text of an element below it, or where that is not there the default."""
        return default if (found := self.first(*path)) is None else found.words

    def numbers(self, count: int) -> list[float]:
        """Return the finite numbers of its text, written as C++ reads them: in ASCII, without underscores."""
        values = self.read()
        if values is None or len(values) != count or not all(map(isfinite, values)):
            raise self.unread("a finite number" if count == 1 else f"{count} finite numbers")
        return values

    def number(self, *path: str, default: float) -> float:
        """Return the finite number in an element below it, or where that is not there the default."""
        return default if (found := self.first(*path)) is None else found.numbers(1)[0]

    def positive(self, *path: str, default: float) -> float:
        """Return a number that may not be below zero."""
        x = self.number(*path, default=default)
        if x < 0.0:
            at = self.first(*path)
            assert at is not None
            raise at.error(f"<{at.tag}> is {x:g}; expected zero or more")
        return x

    def bound(self, *path: str, default: float) -> float:
        """Return the number in an element below it, infinite from 1e16 on."""
        if (found := self.first(*path)) is None:
            return default
        values = found.read()
        if values is None or len(values) != 1 or isnan(values[0]):
            raise found.unread("a number")
        return values[0] if abs(values[0]) < UNBOUNDED else inf if values[0] > 0 else -inf

    def flag(self, *path: str, default: bool = False) -> bool:
        """Return the truth in an element below it."""
        if (found := self.first(*path)) is None:
            return default
        return found.truth(found.words)

    def truth(self, words: str) -> bool:
        """Return what a text says that is true or false."""
        if words.lower() not in ("true", "1", "false", "0"):
            raise self.error(f"<{self.tag}> is '{short(words)}'; expected true or false")
        return words.lower() in ("true", "1")

    def choice(self, name: str, choices: Iterable[str], default: str | None = None) -> str:
        """Return an attribute that is one of a few words."""
        text = self.required(name) if default is None else self.attributes.get(name, default)
        if text not in (known := [*choices]):
            raise self.error(f"<{self.tag}> {name} is '{short(text)}'{nearest(text[:60], known)}; expected one of {', '.join(known)}")
        return text

    def read(self) -> list[float] | None:
        try:
            return [*map(float, self.words.split())] if self.words.isascii() and "_" not in self.words else None
        except ValueError:
            return None

    def unread(self, expected: str) -> RobotFileError:
        words = short(self.words if self.words.isascii() else ascii(self.words)[1:-1])
        return self.error(f"<{self.tag}> is '{words}'; expected {expected}")


class Document:
    """A file, and the files that it includes, each read by itself; the finders of the files that they name.

    Raises
    ------
    RobotFileError : the file cannot be read, or is no SDF
    """

    def __init__(self, path: Any, package_dirs: Iterable[str | os.PathLike[str]] = ()) -> None:
        said = given(path)
        self.file = said.file
        try:
            self.dirs = [package_dirs] if isinstance(package_dirs, (str, os.PathLike)) else [*package_dirs]
            self.finders = {self.file: Finder(self.file, self.dirs)}
        except (TypeError, ValueError):
            raise RobotFileError(f"package_dirs is {short(repr(package_dirs))}; expected folders (str or pathlib.Path)") from None
        self.count = self.includes = 0
        self.known: dict[str, tuple[Node, int]] = {}
        self.root = self.parsed(said)

    def included(self, uri: Node, path: str) -> Node:
        """Return the `<sdf>` element of an included file; it is parsed once, and counts towards the limits at each inclusion."""
        self.includes += 1
        if self.includes > MOST_INCLUDED:
            raise uri.error(f"more than {MOST_INCLUDED} files are included; expected fewer")
        before = self.count
        if path not in self.known:
            root = self.parsed(Given(path))
            self.known[path] = root, self.count - before
        else:
            self.counted(self.known[path][1], path)
        return self.known[path][0]

    def counted(self, more: int, file: str, line: int = 0) -> None:
        """Count elements, of which there may be so many."""
        self.count += more
        if self.count > MOST:
            raise RobotFileError(f"the file has, with all that it includes, more than {MOST} elements; expected fewer", file, line)

    def parsed(self, said: Given) -> Node:
        """Return the <sdf> element of a file, or of its text."""
        data, file = said.read(EXPECTED), said.file
        if not data.strip():
            raise RobotFileError("the file is empty; expected an <sdf> element", file)
        e = root_of(data, file, "a complete SDF file", said.encoding, loose=True)
        require_outermost("sdf", str(e.tag), file, e.sourceline)
        return self.node(e, file, version(e, file), None)

    def node(self, e: Any, file: str, version: tuple[int, int], parent: Node | None) -> Node:
        """Return an element of lxml's."""
        self.counted(1, file, e.sourceline)
        words = " ".join((e.text or "").split()) if not len(e) else ""
        node = Node(plain_tag(e), {str(k): str(v) for k, v in e.attrib.items()}, words, [], e.sourceline or 0, file, version, parent)
        node.children += [self.node(child, file, version, node) for child in e]
        return node

    def finder(self, node: Node) -> Finder:
        """Return the finder of the files that an element names."""
        if node.file not in self.finders:
            self.finders[node.file] = Finder(node.file, self.dirs)
        return self.finders[node.file]


def plain_tag(e: Any) -> str:
    """Return an element's tag, with the prefix of its namespace before it."""
    space, _, name = str(e.tag).rpartition("}")
    return f"{e.prefix or space[1:]}:{name}" if space else name


def version(e: Any, file: str) -> tuple[int, int]:
    """Return the version that an <sdf> element says."""
    said = e.get("version", "")
    parts: Sequence[str] = said.split(".")
    if len(parts) < 2 or not all(p.isascii() and p.isdigit() and len(p) < 4 for p in parts):
        raise RobotFileError(f"<sdf> version is '{short(said)}'; expected one from 1.4 to 1.12", file, e.sourceline)
    if not (1, 4) <= (found := (int(parts[0]), int(parts[1]))) <= (1, 12):
        raise RobotFileError(f"<sdf> version is '{short(said)}', which is not read; expected one from 1.4 to 1.12", file, e.sourceline)
    return found
