"""The argument for a robot's file: a path, or its text itself."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from engine.io.errors import RobotFileError, short
from engine.io.xml import bytes_of

#: bytes of a file
MAX_BYTES = 64 * 2**20
#: where there is no file, its name
TEXT = "<string>"
#: what may stand before a text
BLANK = "\ufeff \t\r\n"


class Given(NamedTuple):
    """A file by its name in messages, or with its text; and the encoding that stands for the one which a text declares."""

    file: str
    text: bytes | None = None

    @property
    def encoding(self) -> str | None:
        return None if self.text is None else "utf-8"

    def read(self, expected: str) -> bytes:
        """Return what it holds.

        Raises
        ------
        RobotFileError : the file is not there, cannot be read, or is too large
        """
        if self.text is None:
            return bytes_of(self.file, MAX_BYTES, expected)
        if len(self.text) > MAX_BYTES:
            raise RobotFileError(f"the text is larger than {MAX_BYTES >> 20} MiB; expected {expected}", self.file)
        return self.text


def given(path: Any) -> Given:
    """Return what a path is, or the text that begins with ``<``.

    Raises
    ------
    RobotFileError : it is neither

    >>> given("robot.urdf"), given(" <robot/>")
    (Given(file='robot.urdf', text=None), Given(file='<string>', text=b'<robot/>'))
    """
    if not isinstance(path, (str, os.PathLike)):
        raise RobotFileError(f"the robot file is {short(repr(path))}; expected a path (str or pathlib.Path), or XML text")
    if isinstance(path, str) and (text := path.lstrip(BLANK)).startswith("<"):
        return Given(TEXT, text.encode("utf-8", "surrogatepass"))
    file = os.fsdecode(path)
    if "\0" in file:
        raise RobotFileError(f"the robot file's name {short(repr(file))} holds a null character; expected a path")
    if "<" in file and "\n" in file:
        raise RobotFileError(f"the robot file is {short(repr(file))}; expected a path, or XML text that begins with '<'")
    return Given(file)
