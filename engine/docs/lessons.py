"""Pages of lessons that simulate by themselves: an example that exports a "…-live.html" is run, and that lies beside its page."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from engine.docs.copying import alone

LIVE = re.compile(r'"(\w+-live\.html)"')


def setup(app: Any) -> dict[str, bool]:
    """Make the pages when the site is there."""
    app.connect("build-finished", with_live_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def with_live_pages(app: Any, fault: Exception | None) -> None:
    """Write what the site's lessons export beside their pages."""
    if fault is not None or app.builder.name != "html":
        return
    for page in sorted(Path(app.srcdir).glob("course/*.md")):
        for name, code in exported(page.read_text(encoding="utf-8")).items():
            with tempfile.TemporaryDirectory() as folder:
                with within(folder), contextlib.redirect_stdout(io.StringIO()):
                    exec(compile(code, page.name, "exec"), {"__name__": page.stem})
                shutil.move(Path(folder) / name, Path(app.outdir) / page.parent.name / name)


def exported(text: str) -> dict[str, str]:
    """Return by the names of live pages the examples, with all that they need, that write them.

    >>> exported("```python\\nx = 1\\n```\\n```python\\nexport(x, 'a-live.html')\\n```\\n".replace("'", '"'))
    {'a-live.html': 'x = 1\\n\\nexport(x, "a-live.html")'}
    """
    found: dict[str, str] = {}
    for code in alone(text):
        for name in LIVE.findall(code):
            found.setdefault(name, code)
    return found


@contextlib.contextmanager
def within(folder: str) -> Iterator[None]:
    """Work in a folder."""
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
