"""Arguments and options that several commands have, and checks of what is typed."""

import math
from collections.abc import Callable, Iterable
from typing import Annotated, Any

import typer

from engine.checks import nearest
from engine.viewer.camera import VIEWS
from engine.viewer.scene import ENVIRONMENTS

Vector = tuple[float, float, float]


def expect(good: Callable[[Any], bool], expected: str) -> Callable[[Any], Any]:
    """Return a check that refuses values that are given and not good."""

    def check(x: Any) -> Any:
        if x is not None and not good(x):
            given = f"'{x}'" if isinstance(x, str) else " ".join(f"{y:g}" for y in (x if isinstance(x, tuple) else [x]))
            raise typer.BadParameter(f"{given}; expected {expected}")
        return x

    return check


def one_of(names: Iterable[str], what: str = "") -> Callable[[Any], Any]:
    """Return a check that refuses names that are not among these."""

    def check(name: str | None) -> str | None:
        if name is not None and name not in names:
            raise typer.BadParameter(f"there is no {what}'{name}'{nearest(name, names)}; expected one of {', '.join(names)}")
        return name

    return check


def chosen_gravity(gravity: Vector | None, zero: bool) -> Vector | None:
    """Return the gravity that --gravity or --zero-gravity asks for, or None; refuse both."""
    if zero and gravity is not None:
        raise typer.BadParameter("--gravity and --zero-gravity are both given; expected one of them")
    return (0.0, 0.0, 0.0) if zero else gravity


seconds = expect(lambda x: 0 < x < math.inf, "seconds greater than zero")
above_zero = expect(lambda x: 0 < x < math.inf, "a number greater than zero")
finite = expect(lambda g: all(map(math.isfinite, g)), "three finite numbers, m/s²")

Robot = Annotated[str, typer.Argument(metavar="ROBOT", help="A URDF file.")]
Run = Annotated[str, typer.Argument(metavar="RUN", help="A recording (HDF5) that engine simulate, or Simulator.run(out=…), wrote.")]
Shown = Annotated[str, typer.Argument(metavar="FILE", help="A URDF file, or a recording (HDF5).")]
Floating = Annotated[bool, typer.Option("--floating", help="Let the root link move freely in the world.")]
Packages = Annotated[list[str] | None, typer.Option(metavar="DIR", help="A package, or a folder of packages (repeatable).")]
Gravity = Annotated[Vector | None, typer.Option(metavar="X Y Z", help="Gravity in world axes, m/s².", callback=finite)]
Weightless = Annotated[bool, typer.Option("--zero-gravity", help="The same as --gravity 0 0 0.")]
Rollout = Annotated[int | None, typer.Option(metavar="K", help="Which rollout of a batch, from 0.", min=0)]
Collision = Annotated[bool, typer.Option("--collision", help="Show the shapes for collisions.")]
Environment = Annotated[str | None, typer.Option(metavar="NAME", callback=one_of(ENVIRONMENTS), help="One of "
                        f"{', '.join(ENVIRONMENTS)}; if not given: space without gravity, else ground.")]  # fmt: skip
View = Annotated[str | None, typer.Option("--view", metavar="SIDE", callback=one_of(VIEWS),
                                          help=f"Where the camera stands: {', '.join(VIEWS)}.")]  # fmt: skip
Follow = Annotated[str | None, typer.Option(metavar="LINK", help="The camera goes along with a link.")]
Rate = Annotated[float, typer.Option(metavar="N", help="Pictures per second.", callback=above_zero)]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the output file if there is one.")]
