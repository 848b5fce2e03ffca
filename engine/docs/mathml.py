"""Formulas as MathML, which browsers draw by themselves: no script, no fonts from elsewhere, no network."""

from __future__ import annotations

import re
from html import unescape
from typing import Any
from xml.etree import ElementTree

from docutils.nodes import Element, SkipNode
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util.math import get_node_equation_number

MATHML, ACCENTS = "{http://www.w3.org/1998/Math/MathML}", ("˙", "¨", "~")
ElementTree.register_namespace("", MATHML[1:-1])


def mathml(tex: str, block: bool) -> str:
    r"""Return a formula as MathML, by docutils, less its slips: \tfrac12 is a half there too, and not 12 over what follows; an index of a
    letter with a dot stands beside it, and not below, as of a sum; bars of an absolute value have no space within, and do not stretch."""
    text = tex2mathml(re.sub(r"frac(\d)(\d)", r"frac{\1}{\2}", tex), as_block=block)
    tree = ElementTree.fromstring(re.sub(r"&(?!lt;|gt;|amp;)\w+;", lambda entity: unescape(entity[0]), text))
    for parent in [*tree.iter()]:
        if parent.text == "|":
            parent.attrib.update(lspace="0", rspace="0", stretchy="false")
        for k, part in enumerate(parent):
            if part.tag == f"{MATHML}munderover" and part[2].text in ACCENTS:
                dotted, indexed = ElementTree.Element(f"{MATHML}mover", accent="true"), ElementTree.Element(f"{MATHML}msub")
                dotted.extend([part[0], part[2]])
                indexed.extend([dotted, part[1]])
                parent[k] = indexed
    return ElementTree.tostring(tree, encoding="unicode")


def inline(html: Any, node: Element) -> None:
    """Write a formula within a line."""
    html.body.append(mathml(node.astext(), False))
    raise SkipNode


def displayed(html: Any, node: Element) -> None:
    """Write a formula on lines of its own; a wide one is scrolled."""
    number = f'<span class="eqno">({get_node_equation_number(html, node)})</span>' if node["number"] else ""
    html.body.append(f'<div class="math" id="equation-{node["label"]}">' if node.get("label") else '<div class="math">')
    html.body.append(f"{number}{mathml(node.astext(), True)}</div>")
    raise SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Offer it to Sphinx as the renderer "mathml"."""
    app.add_html_math_renderer("mathml", (inline, None), (displayed, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
