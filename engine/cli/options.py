"""Arguments and options that several commands have, and checks of what is typed."""

import math
from collections.abc import Callable, Collection
from typing import Annotated, Any

import typer

from engine.checks import nearest
from engine.viewer.display.facts import PLACES
from engine.viewer.scene import ENVIRONMENTS, VIEWS, Shown

Vector = tuple[float, float, float]
#: overlays by the names they have here
OVERLAYS = {name.replace("_", "-"): name for name, x in vars(Shown()).items() if x is False}


def text_of(x: Any) -> str:
    """Return what was typed, for messages."""
    return f"'{x}'" if isinstance(x, str) else " ".join(f"{y:g}" for y in (x if isinstance(x, tuple) else [x]))


def expect(good: Callable[[Any], object], expected: str, given: Callable[[Any], str] = text_of) -> Callable[[Any], Any]:
    """Return a check of an option's value, if there is one."""

    def check(x: Any) -> Any:
        if x is not None and not good(x):
            raise typer.BadParameter(f"{given(x)}; expected {expected}")
        return x

    return check


def one_of(names: Collection[str], what: str = "") -> Callable[[Any], Any]:
    """Return a check that a name is one of these."""
    return expect(lambda x: x in names, f"one of {', '.join(names)}", lambda x: f"there is no {what}'{x}'{nearest(x, names)}")


def chosen_gravity(gravity: Vector | None, zero: bool) -> Vector | None:
    """Return the gravity that --gravity or --zero-gravity asks for, or None; refuse both."""
    if zero and gravity is not None:
        raise typer.BadParameter("--gravity and --zero-gravity are both given; expected one of them")
    return (0.0, 0.0, 0.0) if zero else gravity


def overlaid(overlays: list[str] | None, trails: list[str] | None, hidden: list[str] | None, colors: str | None) -> Shown:
    """Return what is drawn besides the robots."""
    chosen: dict[str, Any] = {OVERLAYS[name]: True for name in overlays or ()}
    return Shown(**chosen, trails=tuple(trails or ()), hidden=tuple(hidden or ()), colors=colors or "")


seconds = expect(lambda x: 0 < x < math.inf, "seconds greater than zero")
above_zero = expect(lambda x: 0 < x < math.inf, "a number greater than zero")
finite = expect(lambda g: all(map(math.isfinite, g)), "three finite numbers, m/s²")

Robot = Annotated[str, typer.Argument(metavar="ROBOT", help="A robot's file: URDF, xacro, SDF or MJCF.")]
Run = Annotated[str, typer.Argument(metavar="RUN", help="A recording (HDF5) that engine simulate, or Simulator.run(out=…), wrote.")]
File = Annotated[str, typer.Argument(metavar="FILE", help="A robot's file (URDF, xacro, SDF, MJCF), or a recording (HDF5).")]
Floating = Annotated[bool, typer.Option("--floating", help="Let the root link move freely in the world.")]
Packages = Annotated[list[str] | None, typer.Option(metavar="DIR", help="A package, or a folder of packages (repeatable).")]
UpAxis = Annotated[bool | None, typer.Option("--up-axis/--no-up-axis", help="Turn COLLADA meshes whose <up_axis> is not z; if not given "
                   "the joints decide, with a warning.", show_default=False)]  # fmt: skip
Gravity = Annotated[Vector | None, typer.Option(metavar="X Y Z", help="Gravity in world axes, m/s².", callback=finite)]
Weightless = Annotated[bool, typer.Option("--zero-gravity", help="The same as --gravity 0 0 0.")]
Rollout = Annotated[int | None, typer.Option(metavar="K", help="Which rollout of a batch, from 0.", min=0)]
Collision = Annotated[bool, typer.Option("--collision", help="Show the shapes for collisions.")]
Environment = Annotated[str | None, typer.Option(metavar="NAME", callback=expect(
    lambda x: x in ENVIRONMENTS or x.lower().endswith(".hdr"), f"one of {', '.join(ENVIRONMENTS)}, or a picture (.hdr)",
    lambda x: f"there is no '{x}'{nearest(x, ENVIRONMENTS)}"),
    help=f"One of {', '.join(ENVIRONMENTS)}; or a Radiance picture (.hdr); if not given: space without gravity, else ground.")]  # fmt: skip
View = Annotated[str | None, typer.Option("--view", metavar="SIDE", callback=one_of(VIEWS),
                                          help=f"Where the camera stands: {', '.join(VIEWS)}.")]  # fmt: skip
Follow = Annotated[str | None, typer.Option(metavar="LINK", help="The camera goes along with a link.")]
Overlays = Annotated[list[str] | None, typer.Option("--show", metavar="WHAT", callback=expect(
    lambda xs: OVERLAYS.keys() >= {*xs}, f"some of {', '.join(OVERLAYS)}", lambda xs: f"there is no {', '.join({*xs} - OVERLAYS.keys())}"),
    help=f"What is drawn besides (repeatable): {', '.join(OVERLAYS)}.")]  # fmt: skip
Trails = Annotated[list[str] | None, typer.Option("--trail", metavar="LINK", help="A link that draws its path (repeatable).")]
Hidden = Annotated[list[str] | None, typer.Option("--hide", metavar="LINK", help="A link that is not drawn (repeatable).")]
Colors = Annotated[str | None, typer.Option("--colors", metavar="BY", callback=one_of(("robots", "rollouts")),
                                            help="A colour for each of the robots, or rollouts.")]  # fmt: skip
Rate = Annotated[float, typer.Option(metavar="N", help="Pictures per second.", callback=above_zero)]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the output file if there is one.")]
Signals = Annotated[list[str] | None, typer.Option("--signal", metavar="NAME", help="Plot a signal, or an entry of q, v, tau; several with "
                    "commas between them are curves of one plot (repeatable).")]  # fmt: skip
Plots = Annotated[str, typer.Option("--plots", metavar="PLACE", callback=one_of(PLACES), help=f"Where plots stand: {', '.join(PLACES)}.")]


def plotted(signals: list[str] | None) -> list[str | tuple[str, ...]]:
    """Return what is plotted as :func:`engine.render` takes it.

    >>> plotted(["q.elbow", "v.wrist,v.elbow"])
    ['q.elbow', ('v.wrist', 'v.elbow')]
    """
    return [tuple(names) if len(names := text.split(",")) > 1 else text for text in signals or ()]
