"""Text that an example's copy button copies: the example, after those before it on its page that it goes on from, so that it runs alone."""

from __future__ import annotations

import ast
import html
import re
from pathlib import Path
from typing import Any

FENCE = re.compile(r"^```python\n(.*?)^```$", flags=re.S | re.M)
SHOWN = '<div class="highlight-python notranslate">'


def setup(app: Any) -> dict[str, bool]:
    """Give every example of a page what its button copies."""
    app.connect("html-page-context", with_buttons)
    app.add_js_file("copy.js")
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def with_buttons(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Add to a page's examples what is copied of them."""
    source = Path(app.srcdir) / f"{page}.md"
    if "body" not in context or not source.exists():
        return
    examples = alone(source.read_text(encoding="utf-8"))
    head, *rest = context["body"].split(SHOWN)
    if len(rest) == len(examples):
        marked = (f'{SHOWN[:-1]} data-copy="{html.escape(code)}">{part}' for code, part in zip(examples, rest, strict=True))
        context["body"] = head + "".join(marked)


def alone(text: str) -> list[str]:
    """Return for each example of a page, Markdown, what runs by itself: those before it that it needs, and the example.

    >>> page = chr(10).join(["```python", "import math", "x = 2.0", "```", "```python", "y = 1", "```", "```python", "math.sqrt(x)", "```"])
    >>> print(alone(page)[2])
    import math
    x = 2.0
    <BLANKLINE>
    math.sqrt(x)
    """
    codes = [m[1].rstrip() for m in FENCE.finditer(text + "\n")]
    names = [names_of(code) for code in codes]
    found = []
    for k, code in enumerate(codes):
        needed, chosen = set(names[k][0]), [code]
        for j in range(k - 1, -1, -1):
            asked, made, changed = names[j]
            if needed & (made | changed):
                needed |= asked | changed
                chosen.insert(0, codes[j])
        found.append("\n\n".join(chosen))
    return found


def names_of(code: str) -> tuple[set[str], set[str], set[str]]:
    """Return the names that code asks for before it gives them, those that it gives, and those of which it changes what they stand for."""
    asked, made, changed = set[str](), set[str](), set[str]()
    for line in ast.parse(code).body:
        needs, gives, alters = names_of_statement(line)
        asked |= needs - made
        made |= gives
        changed |= alters
    return asked, made, changed


def names_of_statement(line: ast.stmt) -> tuple[set[str], set[str], set[str]]:
    """Return the same of a statement; of a function it is its name alone that it gives, and what ``engine.export`` does changes nothing."""
    asked, made, changed = set[str](), set[str](), set[str]()
    for node in ast.walk(line):
        if isinstance(node, ast.Name):
            (made if isinstance(node.ctx, (ast.Store, ast.Del)) else asked).add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            made.add(node.name)
        elif isinstance(node, ast.alias):
            made.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.arg):
            asked.discard(node.arg)
        if isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.ctx, ast.Store):
            changed.add(root(node))
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute):
            changed.add(root(node.value.func))
    if isinstance(line, (ast.FunctionDef, ast.ClassDef)):
        made = {line.name}
    elif isinstance(line, ast.AugAssign):
        asked |= made
    return asked, made, changed - {"print", "engine", ""}


def root(node: ast.expr) -> str:
    """Return the name at the beginning of x.y[z]."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""
