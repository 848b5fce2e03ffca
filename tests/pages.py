"""Pages of Markdown whose examples run as they stand: the README and those of the documentation."""

import contextlib
import io
import linecache
import re
from pathlib import Path
from typing import Any, NamedTuple


class Block(NamedTuple):
    """A block of Python, the line it begins at, and what the page says that it prints, or None."""

    line: int
    code: str
    printed: str | None


def blocks(path: Path) -> list[Block]:
    """Return the ```python blocks of a page; a ```text block right below one is what it prints."""
    text = path.read_text(encoding="utf-8")
    found = re.finditer(r"^```python\n(.*?)^```\n(?:\n?^```text\n(.*?)^```$)?", text + "\n", flags=re.S | re.M)
    return [Block(text[: m.start()].count("\n") + 1, m[1], m[2]) for m in found]


def run(path: Path, block: Block, names: dict[str, Any]) -> str:
    """Run a block of a page among the names of those before it, and return what it printed; its lines are the page's in errors."""
    out, code = io.StringIO(), "\n" * block.line + block.code
    linecache.cache[path.name] = len(code), None, code.splitlines(keepends=True), path.name        # as a notebook's cells have them
    with contextlib.redirect_stdout(out):
        exec(compile(code, path.name, "exec"), names)
    return out.getvalue()
