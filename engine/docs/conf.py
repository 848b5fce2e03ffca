"""Configuration of Sphinx for the documentation's site."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import engine

HERE = Path(__file__).parent

project = "articulated-engine"
author = "the authors of articulated-engine"
version = release = engine.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "engine.docs.copying", "engine.docs.docstrings", "engine.docs.lessons",
              "engine.docs.mathml"]  # fmt: skip
exclude_patterns = ["_build"]

myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist", "attrs_inline"]
myst_heading_anchors = 3
myst_dmath_double_inline = True
html_math_renderer = "mathml"

autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
toc_object_entries_show_parents = "hide"
nitpick_ignore_regex = [("py:.*", r".*")]                                      # what docstrings name without a page of its own

html_theme = "furo"
html_title = f"articulated-engine {release}"
html_static_path = ["_static"]
html_css_files = ["style.css"]
html_copy_source = html_show_sourcelink = html_show_copyright = False
html_theme_options = {"navigation_with_keys": True}
pygments_style, pygments_dark_style = "friendly", "native"


def setup(app: Any) -> None:
    """Leave out pictures that lie beside the package, where it is installed without them."""
    app.connect("source-read", without_missing)


def without_missing(app: Any, page: str, source: list[str]) -> None:
    """Take links to pictures that are not there off a page."""
    folder = (HERE / page).parent
    source[0] = re.sub(r"!\[[^]]*\]\(([^)]+\.(?:gif|png))\)\n?", lambda link: link[0] if (folder / link[1]).exists() else "", source[0])
