"""Compiled functions as code for other programs and processors."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from engine.checks import path_of, writing
from engine.code.functions import ExportError
from engine.code.sources import exported
from engine.code.texts import header, selftest, source

SUFFIXES = (".c", ".o", ".so", ".wasm")


def export_code(f: Any, path: str | Path, name: str | None = None, target: str | None = None, part: str | None = None) -> Path:
    path = writable(path)
    made = exported(f, path.stem if name is None else name, part)
    text, work = source(made)
    with writing(path, ExportError):
        path.write_text(text, encoding="utf-8")
        path.with_name(f"{made.name}.h").write_text(header(made, work), encoding="utf-8")
        path.with_name(f"{made.name}_test.c").write_text(selftest(made, work), encoding="utf-8")
    return path


def writable(path: str | Path) -> Path:
    """Return the path, or raise where no such file can be written: asked before the work is done."""
    path = path_of(path, ExportError)
    if path.suffix.lower() not in SUFFIXES:
        raise ExportError(f"'{path}' ends in '{path.suffix}'; expected one of {', '.join(SUFFIXES)}")
    if path.is_dir():
        raise ExportError(f"'{path}' is a folder; expected the path of a file")
    if not path.parent.is_dir():
        raise ExportError(f"'{path}': there is no folder '{path.parent}'; expected one that exists")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ExportError(f"'{path}' cannot be written; expected a path with permission to write")
    return path
