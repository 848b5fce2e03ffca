"""``engine demo``: the programs that show what the engine is for."""

import ast
import runpy
import sys
import sysconfig
from pathlib import Path
from typing import Annotated

import typer

from engine.checks import nearest, require_packages
from engine.cli.ending import Failure

#: where they lie in a checkout, and below where pip installs to
FOLDER = Path("share") / "articulated-engine" / "demos"
SCHEMES = sysconfig.get_default_scheme(), sysconfig.get_preferred_scheme("user")
ABOVE = Path(__file__).parents[2]
FOLDERS = (ABOVE / "demos", ABOVE / FOLDER, *(Path(sysconfig.get_path("data", scheme)) / FOLDER for scheme in SCHEMES))


def demo(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="[NAME [OPTION…]]", help="Which, and its own options; left out: all are listed.")] = "",
) -> None:
    """Run a program that shows what the engine is for, or list them all.

    Examples:
    engine demo                                     what there is
    engine demo free_flyer                          an arm turns its spacecraft
    engine demo cradle --released 2                 with options of its own
    """
    there = demos()
    if not name:
        print(*(f"{name:{max(map(len, there))}}  {first_line(file)}" for name, file in there.items()), sep="\n")
        return
    if name not in there:
        raise Failure(f"there is no demo '{name}'{nearest(name, there)}; expected one of {', '.join(there)}", 2)
    if not {"-h", "--help"} & {*context.args}:
        require_packages("a demo", "demos", "matplotlib", "pyglet", "PIL", "fast_simplification", "av", error=Failure)
    sys.argv = [str(there[name]), *context.args]
    sys.path.insert(0, str(there[name].parent))
    try:
        runpy.run_path(str(there[name]), run_name="__main__")
    except ModuleNotFoundError as problem:
        raise Failure(f"the demo '{name}' needs {problem.name}, which is not installed; expected pip install "
                      "\".[all]\" in the engine's checkout") from None  # fmt: skip


def demos() -> dict[str, Path]:
    """Return the files of the demos by name."""
    folder = next((f for f in FOLDERS if (f / "show.py").is_file()), None)
    if folder is None:
        raise Failure(f"the demos are not here; expected them in {FOLDERS[-2]}, where pip puts them")
    return {file.stem: file for file in sorted(folder.glob("*.py")) if file.stem != "show"}      # what they share


def first_line(file: Path) -> str:
    """Return the first line of a demo's docstring."""
    return (ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or "").partition("\n")[0]
