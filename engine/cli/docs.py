"""``engine docs``: the documentation as a site on the disk."""

from typing import Annotated

import typer

from engine.docs import build


def docs(
    out: Annotated[str, typer.Argument(metavar="OUT", help="A folder for the site.")] = "out/docs",
) -> None:
    """Build the documentation: pages that are read in any browser, without a server and a network.

    Examples:
    engine docs                     to out/docs/index.html
    engine docs site

    Takes the extra "docs": pip install ".\\[docs]".
    """
    print(build(out))
