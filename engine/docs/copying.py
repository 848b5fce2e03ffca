"""Text that an example's copy button copies: the example, after those before it on its page that it goes on from, so that it runs alone."""

from __future__ import annotations

import ast
import html
import re
import symtable
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

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
        needed, chosen = names[k].asked, [code]
        for earlier, its in zip(reversed(codes[:k]), reversed(names[:k]), strict=True):
            if needed & (its.made | its.changed):
                needed = (needed - its.given) | its.asked
                chosen.insert(0, earlier)
        found.append("\n\n".join(chosen))
    return found


class Names(NamedTuple):
    """Names of code: what it asks for before it has given it for certain, what it gives whatever way it takes, all that it may
    make, and what it changes of what it asks for: by ``x.y = ...``, ``x[k] = ...`` or ``x.f(...)`` by itself."""

    asked: set[str] = set()
    given: set[str] = set()
    made: set[str] = set()
    changed: set[str] = set()

    def then(self, after: Names) -> Names:
        """Return the names of this code and what runs after it."""
        asked, changed = after.asked - self.given, after.changed - self.given
        return Names(self.asked | asked, self.given | after.given, self.made | after.made, self.changed | changed)

    def either(self, other: Names) -> Names:
        """Return the names of code that runs this or the other."""
        return Names(self.asked | other.asked, self.given & other.given, self.made | other.made, self.changed | other.changed)


def names_of(code: str | list[ast.stmt]) -> Names:
    """Return the names of code, as a text or as its statements.

    >>> sorted(names_of("for k in range(3):\\n    last = k\\nseen.append(last)").asked)
    ['last', 'range', 'seen']
    """
    statements = ast.parse(code).body if isinstance(code, str) else code
    return reduce(Names.then, map(names_of_statement, statements), Names())


def names_of_statement(line: ast.stmt) -> Names:
    """Return the names of a statement: of one that has others in it, by the ways through them."""
    match line:
        case ast.If(test, body, otherwise):
            return names_alone(ast.Expr(test)).then(names_of(body).either(names_of(otherwise)))
        case ast.For(target, iterated, body, otherwise):
            loop = names_alone(bound(target, iterated)).then(names_of(body))
            return loop.either(Names()).then(names_of(otherwise))
        case ast.While(test, body, otherwise):
            return names_alone(ast.Expr(test)).then(names_of(body).either(Names())).then(names_of(otherwise))
        case ast.With(items, body):
            return names_of([bound(item.optional_vars, item.context_expr) for item in items]).then(names_of(body))
        case ast.Try(body, handlers, otherwise, last):
            caught = [names_alone(bound(h.name, h.type or ast.Constant(None))).then(names_of(h.body)) for h in handlers]
            tried = reduce(Names.either, caught, names_of(body).then(names_of(otherwise)))
            return tried.then(names_of(last))
    return names_alone(line)


def bound(target: ast.expr | str | None, value: ast.expr) -> ast.stmt:
    """Return ``target = value``, or the value alone."""
    to = ast.Name(target, ast.Store()) if isinstance(target, str) else target
    return ast.Assign([to], value, lineno=1) if to else ast.Expr(value)


def names_alone(line: ast.stmt) -> Names:
    """Return the names of a statement that runs as a whole; what functions in it ask for, it asks for."""
    top = symtable.symtable(ast.unparse(line), "page", "exec")
    asked = {symbol.get_name() for symbol in top.get_symbols() if symbol.is_referenced()}
    made = {symbol.get_name() for symbol in top.get_symbols() if symbol.is_assigned() or symbol.is_imported()}
    inner = [*top.get_children()]
    for table in inner:
        inner += table.get_children()
        asked |= {symbol.get_name() for symbol in table.get_symbols() if symbol.is_global()}
    if isinstance(line, (ast.FunctionDef, ast.ClassDef)):
        asked -= made                                                         # itself
    elif isinstance(line, ast.AugAssign):
        asked.add(root(line.target))
    parts = [node for node in ast.walk(line) if isinstance(node, (ast.Attribute, ast.Subscript))]
    changed = {root(node) for node in parts if isinstance(node.ctx, ast.Store)}
    if isinstance(line, ast.Expr) and isinstance(line.value, ast.Call) and isinstance(line.value.func, ast.Attribute):
        changed.add(root(line.value.func))
    return Names(asked, made, made, changed & asked - {"engine"})


def root(node: ast.expr) -> str:
    """Return the name at the beginning of x.y[z]."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""
