"""``engine render``: a picture or a film."""

import contextlib
import glob
import math
import re
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

import engine
from engine.checks import nearest
from engine.cli.ending import Failure, refuse_unread
from engine.cli.files import require_ending, write_atomically
from engine.cli.options import (
    Collision,
    Colors,
    Environment,
    File,
    Floating,
    Follow,
    Hidden,
    Overlays,
    Overwrite,
    Packages,
    Plots,
    Rate,
    Rollout,
    Signals,
    Trails,
    UpAxis,
    above_zero,
    expect,
    overlaid,
    plotted,
)  # fmt: skip
from engine.cli.recordings import shown
from engine.viewer.display.facts import BARS
from engine.viewer.files import film_times
from engine.viewer.files.film import FASTEST, STILLS
from engine.viewer.scene import VIEWS

pixels = expect(lambda text: len(n := text.split("x")) == 2 and all(x.isdecimal() and int(x) >= 2 for x in n),
                "WIDTHxHEIGHT in pixels, such as 1280x720")  # fmt: skip
Bars = Annotated[list[str] | None, typer.Option("--bars", metavar="WHAT", callback=expect(
    lambda xs: {*xs} <= {*BARS}, f"some of {', '.join(BARS)}", lambda xs: f"there is no {', '.join({*xs} - {*BARS})}"),
    help=f"Bars of {' or '.join(BARS)} (repeatable).")]  # fmt: skip
Samples = Annotated[int | None, typer.Option(metavar="N", min=0, max=4, help="Of a pixel: 4 smooth the edges (pictures), 0 do it "
                                             "afterwards, and faster (films).")]  # fmt: skip


def view_of(text: str) -> str | tuple[float, float]:
    """Return a view by its name, or of two angles in degrees the same in rad."""
    if text in VIEWS:
        return text
    try:
        azimuth, elevation = (math.radians(float(x)) for x in text.split(","))
    except ValueError:
        azimuth = elevation = math.nan
    if not math.isfinite(azimuth) or not math.isfinite(elevation):
        raise typer.BadParameter(f"there is no '{text}'{nearest(text, VIEWS)}; expected one of {', '.join(VIEWS)}, or AZIMUTH,ELEVATION in "
                                 "degrees, such as 30,15")  # fmt: skip
    return azimuth, elevation


Views = Annotated[list[str] | None, typer.Option("--view", metavar="SIDE", callback=lambda texts: [view_of(text) for text in texts or ()],
                  help=f"Where the camera stands: {', '.join(VIEWS)}, or AZIMUTH,ELEVATION in degrees; several stand side by side "
                  "(repeatable).")]  # fmt: skip


def render(
    file: File,
    out: Annotated[str, typer.Argument(metavar="OUT", help=f"A picture ({', '.join(STILLS)}) or a film ({', '.join(FASTEST)}).")],
    size: Annotated[str, typer.Option(metavar="WxH", help="Of the picture, pixels.", callback=pixels)] = "1280x720",
    fps: Rate = 30.0,
    speed: Annotated[float, typer.Option(metavar="X", help="Seconds of motion in a second of film.", callback=above_zero)] = 1.0,
    at: Annotated[float | None, typer.Option("--time", metavar="S", help="The moment of a picture, s; if not given, the last.")] = None,
    sides: Views = None,
    follow: Follow = None,
    environment: Environment = None,
    collision: Collision = False,
    floating: Floating = False,
    rollout: Rollout = None,
    samples: Samples = None,
    show: Overlays = None,
    trail: Trails = None,
    hide: Hidden = None,
    colors: Colors = None,
    caption: Annotated[str, typer.Option(metavar="TEXT", help="A line at the bottom.")] = "",
    clock: Annotated[bool, typer.Option("--clock", help="Show the time.")] = False,
    signal: Signals = None,
    plots: Plots = "right",
    bars: Bars = None,
    package_dir: Packages = None,
    up_axis: UpAxis = None,
    overwrite: Overwrite = False,
) -> None:
    """Draw a robot or a recording into a picture or a film.

    Examples:
    engine render robot.urdf robot.png
    engine render robot.urdf front.png --view front --environment plain
    engine render robot.urdf both.webp --view front --view 30,15
    engine render run.h5 run.mp4                       the whole motion
    engine render run.h5 slow.mp4 --speed 0.1 --fps 60
    engine render run.h5 small.gif --size 320x240 --fps 15
    engine render run.h5 begin.png --time 0            one moment of it
    engine render run.h5 along.mp4 --follow base
    engine render batch.h5 all.png                     all rollouts together
    engine render run.h5 frame%04d.png                 each picture a file
    engine render run.h5 told.mp4 --clock --caption Fall --signal q.elbow
    engine render run.h5 both.mp4 --signal q.elbow --plots right --bars energy
    engine render run.h5 explained.png --show momentum --show centers
    engine render batch.h5 runs.png --colors rollouts

    It needs no display. On Debian and Ubuntu 'apt install libgl1-mesa-dri libegl1' draws without a graphics card.
    """
    ending, numbered = Path(out).suffix, "%" in Path(out).name
    moves = ending.lower() not in STILLS or numbered
    if at is not None and moves:
        raise typer.BadParameter(f"--time is for a picture, and '{out}' is a film; expected {', '.join(STILLS)}, or no --time")
    require_ending(out, *STILLS, *FASTEST)
    if not moves:
        refuse_unread(f"is for a film, and '{out}' is a picture; expected .mp4 or .gif, or the option left out",
                      fps=fps != 30, speed=speed != 1)  # fmt: skip
    there = sorted(Path(out).parent.glob(re.sub(r"%0?\d*d", "*", glob.escape(Path(out).name)))) if numbered else []
    if there and not overwrite:
        raise Failure(f"'{there[0]}' exists; expected a pattern of files that are not there, or --overwrite")
    source = shown(file, floating, rollout, package_dir, up_axis, follow)
    span = (0.0, 0.0) if isinstance(source, engine.Model) else (float(source.t[0]), float(source.t[-1]))
    if at is not None and not span[0] <= at <= span[1]:
        raise Failure(f"--time {at:g}: '{file}' lasts from {span[0]:g} to {span[1]:g} s; expected a time within")
    width, height = map(int, size.split("x"))
    views: Any = sides or None                        # what their callback has made of the texts
    with contextlib.nullcontext(Path(out)) if numbered else write_atomically(out, file, overwrite) as path:
        engine.render(source, path, at, (width, height), fps, speed, views, follow=follow, environment=environment, samples=samples,
                      geometry="collision" if collision else "visual", progress=moves and sys.stdout.isatty(),
                      shown=overlaid(show, trail, hide, colors), caption=caption, clock=clock, signals=plotted(signal), plots=plots,
                      bars=bars or ())  # fmt: skip
    frames = len(film_times(span, fps / speed))
    print(f"{out}: {f'{frames} frames, {frames / fps:.3g} s' if moves else 'a picture'} of {width} × {height} pixels")
