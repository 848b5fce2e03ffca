"""Allowed places of the files that a robot file names: inside known folders, and nowhere else.

The folders are the robot file's own; its package, which is the nearest folder above that holds a package.xml (where there is none: the
folder above, if a ``package://`` name says its name, or if the robot file lies in a folder ``urdf`` or ``robots``); the folders the
caller passes; and those in ROS_PACKAGE_PATH, and for names that begin with ``model://`` in GZ_SIM_RESOURCE_PATH and SDF_PATH, too. The
nearest folder above that holds a model.config is the file's, as well. Symbolic links are followed before a path is judged: neither
``..`` nor a link leads out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

SHELVES = ("urdf", "robots")
#: PATH_MAX of Linux
LONGEST = 4096
#: what begins a name in a package, and where folders of packages are said; what a model's folder holds
SCHEMES = {"package": ("ROS_PACKAGE_PATH",), "model": ("ROS_PACKAGE_PATH", "GZ_SIM_RESOURCE_PATH", "SDF_PATH")}
CONFIG = "model.config"
NAME = re.compile(rb"<name>\s*([^<\s]+)\s*</name>")


class Found(NamedTuple):
    """A file that was looked for: where it lies, or else what is wrong (in words) and whether it leads out of the folders."""

    path: Path | None
    fault: str = ""
    escapes: bool = False


class Finder:
    """Resolves the names of mesh and texture files as one robot file writes them."""

    def __init__(self, file: str | os.PathLike[str], package_dirs: Iterable[str | os.PathLike[str]] = ()) -> None:
        self.file = os.path.abspath(file)
        given = [*package_dirs]
        self.places = {scheme: unique(os.path.realpath(d) for d in [*given, *listed_folders(*names)]) for scheme, names in SCHEMES.items()}
        self.declared = self.places["package"]
        self._found: dict[str, Found] = {}
        self._real: dict[str, str] = {}

    @cached_property
    def homes(self) -> list[str]:
        """The robot file's folder: as named and, behind a link, as it lies."""
        return unique(os.path.realpath(os.path.dirname(f)) for f in (self.file, os.path.realpath(self.file)))

    @cached_property
    def around(self) -> tuple[list[str], dict[str, list[str]]]:
        """The package folders that are allowed anyway, and the folders that each package name may stand for."""
        allowed: list[str] = []
        named: dict[str, list[str]] = {}
        for home in self.homes:
            above = [home, *map(str, Path(home).parents)]
            depth = next((i for i, d in enumerate(above) if os.path.isfile(os.path.join(d, "package.xml"))), None)
            if depth is not None or os.path.basename(home) in SHELVES:
                allowed.append(above[1 if depth is None else depth])
            for folder in above[: (1 if depth is None else depth) + 1]:
                named.setdefault(os.path.basename(folder), []).append(folder)
            if (model := next((d for d in above if os.path.isfile(os.path.join(d, CONFIG))), None)) is not None:
                allowed.append(model)
                named.setdefault(os.path.basename(model), []).append(model)
            if depth is not None:
                named.setdefault(package_name(above[depth]), []).append(above[depth])
        return allowed, named

    def find(self, uri: str) -> Found:
        """Return the file of a ``package://``, ``file://``, relative or absolute name."""
        if uri not in self._found:
            self._found[uri] = self._find(uri)
        return self._found[uri]

    def _find(self, uri: str) -> Found:
        if not uri or "\0" in uri:
            return Found(None, "has no name; expected a file's")
        if len(uri) > LONGEST:
            return Found(None, f"has {len(uri)} characters; expected at most {LONGEST}")
        allowed, named = self.around
        package: list[str] = []
        scheme, colon, rest = uri.partition("://")
        if not colon:
            candidates = [os.path.join(d, uri) for d in [*self.homes, *self.declared]]
        elif scheme in SCHEMES:
            name, _, within = rest.lstrip("/").partition("/")
            package = named.get(name, [])
            declared = [d if os.path.basename(d) == name else os.path.join(d, name) for d in self.places[scheme]]
            candidates = [os.path.join(d, within.lstrip("/")) for d in [*declared, *package]]
            if not candidates:
                known = " or ".join(f"'{n}'" for n in named if n)
                return Found(None, f"names the {scheme} '{name}', which is not around; expected {known}, or its folder in package_dirs")
        elif scheme == "file":
            candidates = [os.path.join(d, unquote(rest)) for d in self.homes]
        else:
            return Found(None, f"begins with '{scheme}://'; expected package://, model://, file:// or a path")
        roots = unique([*self.homes, *allowed, *package, *self.places.get(scheme, self.declared)])
        places = unique(self.real(c) for c in candidates)
        prefixes = tuple(r.rstrip(os.sep) + os.sep for r in roots)
        inside = [p for p in places if p.startswith(prefixes)]
        for p in inside:
            if os.path.isfile(p):
                return Found(Path(p))
        if inside:
            return Found(None, f"is not there; looked for {' and '.join(inside)}")
        return Found(None, f"leads to {places[0]}; expected a file inside {' or '.join(roots)} (package_dirs adds folders)", True)

    def real(self, path: str) -> str:
        """Return ``os.path.realpath``, with the folders remembered; of what is not there ``os.path.abspath``, which asks nothing."""
        if not os.path.lexists(path):
            return os.path.abspath(path)
        folder, name = os.path.split(path)
        if folder not in self._real:
            self._real[folder] = os.path.realpath(folder)
        real = os.path.join(self._real[folder], name)
        return os.path.realpath(real) if name in ("", ".", "..") or os.path.islink(real) else real


def listed_folders(*names: str) -> list[str]:
    """Return the folders in some variables of the environment."""
    return [p for name in names for p in os.environ.get(name, "").split(os.pathsep) if p]


def package_name(folder: str) -> str:
    """Return the name in a folder's package.xml, or ''."""
    try:
        with open(os.path.join(folder, "package.xml"), "rb") as file:
            match = NAME.search(file.read(65536))
    except OSError:
        return ""
    return match.group(1).decode("utf-8", "replace") if match else ""


def unique(items: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(items))
