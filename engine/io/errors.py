"""Errors and warnings of robot files: that cannot be used, or that can but should not have been written so."""

from __future__ import annotations

from engine.checks import EngineError, EngineWarning


class RobotFileError(EngineError):
    """A robot or mesh file that cannot be used: one sentence says which file, where in it, what is wrong and what was expected.

    >>> import engine
    >>> try:
    ...     engine.load_urdf("gone.urdf")
    ... except engine.RobotFileError as error:
    ...     print(error.file, error.reason, sep=": ")
    gone.urdf: there is no such file; expected a URDF file
    """

    def __init__(self, reason: str, file: str = "", line: int = 0, place: str = "") -> None:
        self.reason, self.file, self.line, self.place = reason, file, line, place
        super().__init__(": ".join(part for part in (f"{file}:{line}" if line else file, place, reason) if part))


class RobotFileWarning(EngineWarning):
    """A robot or mesh file is used though something is wrong in it: an inertia that no body has, a mesh that is not there.

    >>> import engine, warnings
    >>> text = '''<robot name="r"><link name="a">
    ... <inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="9" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>'''
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     model = engine.load_urdf(text)
    >>> print(str(told[0].message)[:80])
    <string>: link 'a': principal moments 1, 1, 9 kg·m² violate the triangle inequal
    """


def short(text: str) -> str:
    """Return the text in one line of at most 80 characters.

    >>> short("two\\n  lines")
    'two lines'
    """
    text = " ".join(text[:1000].split()) + text[1000:][:1]
    return text if len(text) <= 80 else text[:77] + "..."
