"""Formulas as MathML, which browsers draw by themselves: no script, no fonts from elsewhere, no network."""

from __future__ import annotations

from typing import Any

from docutils.nodes import Element, SkipNode
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util.math import get_node_equation_number


def inline(html: Any, node: Element) -> None:
    """Write a formula within a line."""
    html.body.append(tex2mathml(node.astext(), as_block=False))
    raise SkipNode


def displayed(html: Any, node: Element) -> None:
    """Write a formula on lines of its own; a wide one is scrolled."""
    number = f'<span class="eqno">({get_node_equation_number(html, node)})</span>' if node["number"] else ""
    html.body.append(f'<div class="math" id="equation-{node["label"]}">' if node.get("label") else '<div class="math">')
    html.body.append(f"{number}{tex2mathml(node.astext(), as_block=True)}</div>")
    raise SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Offer it to Sphinx as the renderer "mathml"."""
    app.add_html_math_renderer("mathml", (inline, None), (displayed, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
