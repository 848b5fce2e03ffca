"""The typer application, to which every command's function is added."""

import inspect
import re
from collections.abc import Callable
from typing import Annotated, Any

import typer

import engine
from engine.cli.campaign import campaign
from engine.cli.check import check
from engine.cli.compile import compile
from engine.cli.convert import convert
from engine.cli.demo import demo
from engine.cli.docs import docs
from engine.cli.doctor import doctor
from engine.cli.ending import finishing
from engine.cli.export import export
from engine.cli.info import info
from engine.cli.plot import plot
from engine.cli.render import render
from engine.cli.resume import resume
from engine.cli.simulate import simulate
from engine.cli.torques import torques
from engine.cli.verify import verify
from engine.cli.view import view


def texts(command: Callable[..., Any]) -> dict[str, Any]:
    """Return a command's help, and the examples below it, from its docstring; an example is a line, other paragraphs are joined."""
    text, _, examples = (inspect.getdoc(command) or "").partition("\n\nExamples:")
    paragraphs = re.sub(r"\n+(?=engine )", "\n\n", f"Examples:{examples}").split("\n\n")
    return {"help": text, "epilog": "\n\n".join(p.replace("\n", " ") for p in paragraphs)}


def show_version(asked: bool) -> None:
    """Print the version and leave, if that is asked."""
    if asked:
        finishing(print)(f"engine {engine.__version__}")


def top(
    version: Annotated[bool, typer.Option("--version", help="Print the version and leave.", is_eager=True, callback=show_version)] = False,
) -> None:
    """Articulated multibody dynamics: look at robots, simulate them, film them, compute their torques.

    Examples:
    engine info robot.urdf --floating
    engine check robot.urdf
    engine simulate robot.urdf --floating --duration 10 --out run.h5
    engine info run.h5
    engine verify run.h5
    engine view run.h5
    engine render run.h5 run.mp4
    engine plot run.h5
    engine resume run.h5
    engine campaign scatter.toml
    engine export run.h5 run.csv
    engine convert run.h5 run.mcap
    engine torques robot.urdf motion.csv --out torques.csv
    engine demo free_flyer
    engine compile robot.urdf --floating
    engine docs
    engine doctor

    Every command has examples of its own: engine info --help

    Exit code: 0; 1 if a file or a run is at fault (one sentence on stderr says how); 2 for a wrong command line; 130 after Ctrl-C
    (but view --web, which it ends, 0).
    """


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich",
                  context_settings={"help_option_names": ["-h", "--help"]})  # fmt: skip
app.callback(**texts(top))(top)
for command in (info, check, simulate, campaign, resume, verify, torques, plot, view, render, export, convert, compile, docs, doctor):
    app.command(**texts(command))(finishing(command))
app.command(**texts(demo), context_settings={"allow_extra_args": True, "allow_interspersed_args": False})(finishing(demo))
