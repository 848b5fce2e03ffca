"""XML that is not trusted: bounded in size and depth, without document types, entities or network; nothing malformed is repaired."""

from __future__ import annotations

import contextlib
import os
import stat
from typing import Any

from engine.io.errors import RobotFileError, short

#: formats of robots by their outermost elements
FORMATS = {"mujoco": "MJCF", "robot": "URDF", "sdf": "SDF"}
#: bytes that are read at a time
PIECE = 1 << 16


def bytes_of(path: str, most: int, expected: str) -> bytes:
    """Return what a regular file of at most ``most`` bytes holds.

    Raises
    ------
    RobotFileError : it is not there, is a folder, a device or a pipe, or larger, or may not be read
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        raise RobotFileError(f"there is no such file; expected {expected}", path) from None
    except OSError as e:
        raise RobotFileError(f"the file cannot be read ({e.strerror}); expected {expected}", path) from None
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            raise RobotFileError(f"this is {'a folder' if stat.S_ISDIR(mode) else 'no regular file'}; expected {expected}", path)
        with open(descriptor, "rb", closefd=False) as file:
            data = file.read(most + 1)
    except OSError as e:
        raise RobotFileError(f"the file cannot be read ({e.strerror}); expected {expected}", path) from None
    finally:
        os.close(descriptor)
    if len(data) > most:
        raise RobotFileError(f"the file is larger than {most >> 20} MiB; expected {expected}", path)
    return data


def root_of(data: bytes, file: str, expected: str, encoding: str | None = None, huge: bool = False,
            loose: bool = False) -> Any:  # fmt: skip
    """Return the outermost element of well-formed XML without a document type, comments or instructions.

    ``encoding`` stands for the one that the text declares; ``huge`` allows texts of more than 10 MB within an element, and 2048 levels
    of elements in place of 256; ``loose`` takes prefixes of namespaces that are not declared as parts of names.

    Raises
    ------
    RobotFileError : it is anything else
    """
    from lxml import etree

    strict, repairing = (etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, dtd_validation=False, huge_tree=huge,
                                         attribute_defaults=False, recover=recover, remove_comments=True, remove_pis=True,
                                         encoding=encoding) for recover in (False, True))  # fmt: skip
    typed = RobotFileError("the file declares a document type (<!DOCTYPE>), which is not read; expected XML without one", file)
    root, fault = None, typed
    try:
        try:
            root = etree.fromstring(data, strict)
        except etree.XMLSyntaxError:
            if not loose or any(said.domain != etree.ErrorDomains.NAMESPACE for said in strict.error_log):
                raise
            root = etree.fromstring(data, repairing)                    # of which there is nothing else to repair
    except etree.XMLSyntaxError as e:
        if b"<!DOCTYPE" not in data.replace(b"\0", b""):
            reason = f"not well-formed XML ({short((e.msg or 'nothing in it').split(', line ')[0])}); expected {expected}"
            if "depth" in reason:
                reason = f"the elements are nested too deeply; expected {expected}"
            fault = RobotFileError(reason, file, e.lineno or 1)
    except (ValueError, LookupError) as e:
        fault = RobotFileError(f"not readable as XML ({short(str(e))}); expected {expected}", file)
    if root is None or root.getroottree().docinfo.doctype:
        raise fault                                                     # out of the reach of lxml's errors, which cannot be pickled
    return root


def require_outermost(name: str, found: str, file: str, line: int) -> None:
    """Refuse a file whose outermost element is another than a format's, and say who reads the one that it has.

    >>> require_outermost("robot", "mujoco", "arm.xml", 1)
    Traceback (most recent call last):
        ...
    engine.io.errors.RobotFileError: arm.xml:1: the outermost element is <mujoco>; expected <robot>, or engine.load, which reads MJCF too
    """
    if found != name:
        too = f", or engine.load, which reads {FORMATS[found]} too" if found in FORMATS else ""
        raise RobotFileError(f"the outermost element is <{short(found)}>; expected <{name}>{too}", file, line)


def outermost(data: bytes, encoding: str | None = None) -> str:
    """Return the name of the outermost element, of which no more than its beginning is read; '' where there is none.

    >>> outermost(b"<sdf version='1.9'><model>"), outermost(b"mass")
    ('sdf', '')
    """
    from lxml import etree

    parser = etree.XMLPullParser(events=("start",), resolve_entities=False, no_network=True, load_dtd=False, encoding=encoding)
    for k in range(0, len(data), PIECE):
        with contextlib.suppress(etree.XMLSyntaxError, ValueError, LookupError):        # whoever reads it says what is wrong
            parser.feed(data[k : k + PIECE])
        for _, element in parser.read_events():
            return etree.QName(element).localname
    return ""
