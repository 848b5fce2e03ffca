"""The documentation: pages of Markdown, of which Sphinx makes a site: ``pip install ".[docs]"``, ``engine docs``."""

from __future__ import annotations

import tempfile
from pathlib import Path

from engine.checks import EngineError, writing
from engine.gc_pause import gc_paused

__all__ = ["DocsError", "build"]

PAGES = Path(__file__).parent


class DocsError(EngineError):
    """The site cannot be built."""


def build(out: str | Path) -> Path:
    """Write the site to a folder, and return its first page. Every warning is an error: a link to nothing, or code that is not there.

    The site needs no server and no network: it is read from the disk, formulas too.

    Raises
    ------
    DocsError : Sphinx is not installed, the folder cannot be written, or there were warnings, which it prints
    """
    try:
        import furo  # noqa: F401
        import myst_parser  # noqa: F401
        from sphinx.application import Sphinx
        from sphinx.util.docutils import docutils_namespace, patch_docutils
    except ModuleNotFoundError as error:
        raise DocsError(f"the site needs {error.name}; expected pip install \".[docs]\" in the engine's checkout") from None
    if Path(out).exists() and not Path(out).is_dir():
        raise DocsError(f"'{out}' is a file; expected a folder to write the site to")
    with writing(Path(out), DocsError, begun=False):
        Path(out).mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=out).close()                                # whether files can be made there
    with tempfile.TemporaryDirectory() as kept, patch_docutils(PAGES), docutils_namespace(), gc_paused():
        site = Sphinx(PAGES, PAGES, out, kept, "html", {"nitpicky": True}, status=None, warningiserror=True)
        site.build()
    if site.statuscode:
        raise DocsError(f"'{out}' is not as it should be: Sphinx warned, see above")
    return Path(out) / "index.html"
