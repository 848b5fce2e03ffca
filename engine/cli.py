"""The command line: look at robots and recordings, simulate, go on with what was interrupted, compute torques, plot, film and export."""

import contextlib
import csv
import datetime
import functools
import math
import os
import shlex
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

if TYPE_CHECKING:
    import numpy as np

    from engine.model import Model
    from engine.recording import Recording
    from engine.simulation import Simulator, Trajectory

SMALL = 40                # links of a robot whose tree is printed unasked
PLOTTED = 100_000         # records; of more, a plot shows every second, third, …
PIECE = 10_000            # records that are exported at a time
DEGREE = 4                # of the polynomials that differentiate a trajectory
CODES = "Exit code: 0; 1 if a file or a run is at fault (one sentence on stderr says how); 2 for a wrong command line; 130 after Ctrl-C."


class Failure(Exception):
    """What ends a command: one sentence for stderr, and the exit code."""

    def __init__(self, text: str, code: int = 1) -> None:
        super().__init__(text)
        self.code = code


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code. A wrong command line leaves by SystemExit(2)."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")      # a terminal that has no '└' shows '?'
    try:
        with interruptible():
            application()(args=list(sys.argv[1:] if arguments is None else arguments) or ["--help"], prog_name="engine")
    except SystemExit as end:
        if end.code == 2:
            raise
        return int(end.code or 0)
    except KeyboardInterrupt:
        return 130
    return 0


def application() -> Any:
    """The commands, as typer has them."""
    import typer

    from engine.checks import nearest
    from engine.integrate import METHODS
    from engine.viewer.scene import ENVIRONMENTS, VIEWS

    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich",
                      context_settings={"help_option_names": ["-h", "--help"]})  # fmt: skip

    # ------------------------------------------------------------ checks of what is typed

    def positive(x: float | None) -> float | None:
        if x is not None and not 0 < x < float("inf"):
            raise typer.BadParameter(f"{x:g}; expected seconds greater than zero")
        return x

    def method(name: str) -> str:
        if name not in METHODS:
            raise typer.BadParameter(f"no integrator '{name}'{nearest(name, METHODS)}; expected one of {', '.join(METHODS)}")
        return name

    def finite(g: tuple[float, float, float] | None) -> tuple[float, float, float] | None:
        if g is not None and not all(abs(x) < float("inf") for x in g):
            raise typer.BadParameter(f"{' '.join(f'{x:g}' for x in g)}; expected three finite numbers, m/s²")
        return g

    def above_zero(x: float) -> float:
        if not 0 < x < float("inf"):
            raise typer.BadParameter(f"{x:g}; expected a number greater than zero")
        return x

    def pixels(text: str) -> str:
        width, x, height = text.partition("x")
        if not (x and width.isdecimal() and height.isdecimal() and min(int(width), int(height)) >= 2):
            raise typer.BadParameter(f"'{text}'; expected WIDTHxHEIGHT in pixels, such as 1280x720")
        return text

    def one_of(names: Iterable[str]) -> Callable[[str | None], str | None]:
        def check(name: str | None) -> str | None:
            if name is not None and name not in names:
                raise typer.BadParameter(f"there is no '{name}'{nearest(name, names)}; expected one of {', '.join(names)}")
            return name

        return check

    def neighbours(n: int) -> int:
        if n <= DEGREE or n % 2 == 0:
            raise typer.BadParameter(f"{n}; expected an odd number of rows from {DEGREE + 1}")
        return n

    def chosen_gravity(gravity: tuple[float, float, float] | None, none: bool) -> tuple[float, float, float] | None:
        if none and gravity is not None:
            raise typer.BadParameter("--gravity and --zero-gravity are both given; expected one of them")
        return (0.0, 0.0, 0.0) if none else gravity

    Robot = Annotated[str, typer.Argument(metavar="ROBOT", help="A URDF file.", show_default=False)]
    Run = Annotated[str, typer.Argument(metavar="RUN", help="A recording (HDF5) that engine simulate, or Simulator.run(out=…), wrote.",
                                        show_default=False)]  # fmt: skip
    Floating = Annotated[bool, typer.Option("--floating", help="Let the root link move freely in the world.")]
    Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the output file if there is one.")]
    Gravity = Annotated[tuple[float, float, float] | None,
                        typer.Option("--gravity", metavar="X Y Z", help="Gravity in world axes, m/s².", callback=finite)]  # fmt: skip
    Weightless = Annotated[bool, typer.Option("--zero-gravity", help="The same as --gravity 0 0 0.")]
    Rollout = Annotated[int | None, typer.Option("--rollout", metavar="K", help="Which rollout of a batch, from 0.", min=0)]
    Shown = Annotated[str, typer.Argument(metavar="FILE", help="A URDF file, or a recording (HDF5).", show_default=False)]
    Packages = Annotated[list[str] | None, typer.Option("--package-dir", metavar="DIR",
                                                        help="A package, or a folder of packages (repeatable).")]  # fmt: skip
    Collision = Annotated[bool, typer.Option("--collision", help="Show the shapes for collisions.")]
    Environment = Annotated[str | None, typer.Option("--environment", metavar="NAME", callback=one_of(ENVIRONMENTS),
                            help=f"One of {', '.join(ENVIRONMENTS)}; if not given: space without gravity, else ground.")]  # fmt: skip
    View = Annotated[str | None, typer.Option("--view", metavar="SIDE", help=f"Where the camera stands: {', '.join(VIEWS)}.",
                                              callback=one_of(VIEWS))]  # fmt: skip
    Follow = Annotated[str | None, typer.Option("--follow", metavar="LINK", help="The camera goes along with a link.")]
    Rate = Annotated[float, typer.Option("--fps", metavar="N", help="Pictures per second.", callback=above_zero)]

    # ------------------------------------------------------------ commands

    @app.callback(epilog=lines(
        "Examples:",
        "engine info robot.urdf --floating",
        "engine simulate robot.urdf --floating --duration 10 --out run.h5",
        "engine info run.h5",
        "engine view run.h5",
        "engine render run.h5 run.mp4",
        "engine plot run.h5",
        "engine resume run.h5",
        "engine export run.h5 run.csv",
        "engine torques robot.urdf motion.csv --out torques.csv",
        "Every command has examples of its own: engine info --help",
        CODES,
    ))  # fmt: skip
    def top(
        version: Annotated[bool, typer.Option("--version", help="Print the version and leave.", is_eager=True,
                                              callback=show_version)] = False,
    ) -> None:  # fmt: skip
        """Articulated multibody dynamics: look at robots, simulate them, film them, compute their torques."""

    @app.command(epilog=lines(
        "Examples:",
        "engine info robot.urdf                          what it holds; what is wrong",
        "engine info robot.urdf --floating               its base moves freely",
        "engine info robot.urdf --package-dir ~/ros/src  where package:// meshes lie",
        "engine info robot.urdf --meshes                 also read each mesh",
        "engine info run.h5                              a recording: complete or not",
    ))  # fmt: skip
    def info(
        file: Annotated[str, typer.Argument(metavar="FILE", help="A URDF file, or a recording (HDF5).", show_default=False)],
        floating: Floating = False,
        tree: Annotated[bool, typer.Option("--tree", help=f"Print the tree also of a robot with more than {SMALL} links.")] = False,
        meshes: Annotated[bool, typer.Option("--meshes", help="Read each mesh, not only look for it.")] = False,
        package_dir: Packages = None,
    ) -> None:  # fmt: skip
        """Say what a robot or a recording holds, and what is wrong in it."""
        if is_recording(file):
            leave(show_recording, file, tree)
        leave(show_robot, file, floating, tree, meshes, package_dir or [])

    @app.command(epilog=lines(
        "Examples:",
        "engine simulate robot.urdf --floating --duration 10 --out run.h5",
        "engine simulate arm.urdf --duration 5 --out a.h5 --start random --seed 3",
        "engine simulate arm.urdf --duration 5 --out a.h5 --velocity elbow=0.5",
        "engine simulate arm.urdf --duration 5 --out a.h5 --start start.csv",
        "engine simulate arm.urdf --duration 5 --out a.h5 --dt 1e-4 --record-every 10",
        "start.csv has a line of names and a line of numbers: a column for each coordinate (shoulder, or q.shoulder), and for each "
        "velocity (v.shoulder) or for none. Of a longer file, or of a recording, the last line counts.",
        "Ctrl-C, or a kill, leaves a readable file; engine resume goes on with it, to the same bits.",
    ))  # fmt: skip
    def simulate(
        robot: Robot,
        duration: Annotated[float, typer.Option("--duration", metavar="S", help="How long, s.", callback=positive, show_default=False)],
        out: Annotated[str, typer.Option("--out", metavar="FILE", help="The HDF5 file to write.", show_default=False)],
        floating: Floating = False,
        dt: Annotated[float, typer.Option("--dt", metavar="S", help="The step, s.", callback=positive)] = 1e-3,
        integrator: Annotated[str, typer.Option("--integrator", metavar="NAME", help=f"One of {', '.join(METHODS)}.",
                                                callback=method)] = "cg4",
        gravity: Gravity = None,
        zero_gravity: Weightless = False,
        record_every: Annotated[int, typer.Option("--record-every", metavar="N", help="Keep every N-th state.", min=1)] = 1,
        start: Annotated[str, typer.Option("--start", metavar="WHERE", help="neutral (all zero), random (within the limits), or a file "
                                           "(CSV or recording).")] = "neutral",
        seed: Annotated[int | None, typer.Option("--seed", metavar="N", help="For what is random; 0 if none is given.", min=0)] = None,
        velocity: Annotated[list[str] | None, typer.Option("--velocity", metavar="WHAT", help="zero, random (standard normal), or "
                            "NAME=VALUE (repeatable; the rest is zero). If not given: the "
                            "start file's; random for a random start; else zero.")] = None,
        ideal_joints: Annotated[bool, typer.Option("--ideal-joints", help="Without the damping, friction and limits of the robot's "
                                                   "file.")] = False,
        overwrite: Overwrite = False,
    ) -> None:  # fmt: skip
        """Simulate a robot and record it.

        No motors act: it moves by gravity, by the velocities it begins with, and by the friction and the stops of its joints.
        """
        if seed is not None and start != "random" and (velocity or []) != ["random"]:
            raise typer.BadParameter("--seed is given but nothing is random; expected --start random or --velocity random with it")
        g = chosen_gravity(gravity, zero_gravity)
        leave(run, robot, out, duration, floating, dt, integrator, g, record_every, start, seed or 0, velocity or [], ideal_joints,
              overwrite)  # fmt: skip

    @app.command(epilog=lines(
        "Examples:",
        "engine resume run.h5                 to the end that the run was to have",
        "engine resume run.h5 --duration 60   to 60 s, counted from its beginning",
        "The file holds the model, the integrator and the step, and so needs no other. A run with a controller, forces or actuators of its "
        "own goes on in Python, by Simulator.resume.",
    ))  # fmt: skip
    def resume(
        recording: Run,
        duration: Annotated[float | None, typer.Option("--duration", metavar="S", callback=positive,
                                                       help="How long in all, s; if not given, as the run was begun.")] = None,
    ) -> None:  # fmt: skip
        """Go on with a run that was interrupted, or make it longer.

        The result is the same, to the bit, as if it had never stopped.
        """
        leave(go_on, recording, duration)

    @app.command(epilog=lines(
        "Examples:",
        "engine torques robot.urdf motion.csv",
        "engine torques robot.urdf motion.csv --out torques.csv",
        "engine torques robot.urdf measured.csv --smooth 21      noisy positions",
        "engine torques robot.urdf run.h5 --floating --out torques.csv",
        "motion.csv has a line of names: t, and a column for each coordinate (shoulder, or q.shoulder; a floating base has "
        "floating_base.qw … floating_base.z). Columns v.shoulder, … and vdot.shoulder, … are used if they are there; else q is "
        "differentiated on the manifold. Damping and friction are not part of the torques.",
    ))  # fmt: skip
    def torques(
        robot: Robot,
        trajectory: Annotated[str, typer.Argument(metavar="TRAJECTORY", help="A CSV file, or a recording (HDF5).", show_default=False)],
        out: Annotated[str | None, typer.Option("--out", metavar="FILE", help="A CSV file for the torques over time.")] = None,
        floating: Floating = False,
        gravity: Gravity = None,
        zero_gravity: Weightless = False,
        smooth: Annotated[int, typer.Option("--smooth", metavar="N", help="Differentiate quartics fitted to N rows each (odd); 5 goes "
                                            "through them, more smooths.", callback=neighbours)] = DEGREE + 1,
        rollout: Rollout = None,
        overwrite: Overwrite = False,
    ) -> None:  # fmt: skip
        """Compute the joint torques that make a robot move along a trajectory.

        Inverse dynamics; with --floating the wrench on the base is among them.
        """
        leave(inverse_dynamics, robot, trajectory, out, floating, chosen_gravity(gravity, zero_gravity), smooth, rollout, overwrite)

    @app.command(epilog=lines(
        "Examples:",
        "engine plot run.h5                    writes run.png",
        "engine plot run.h5 --out motion.pdf   or .svg, …",
        "engine plot batch.h5 --rollout 3",
    ))  # fmt: skip
    def plot(
        recording: Run,
        out: Annotated[str | None, typer.Option("--out", metavar="FILE", help="The picture's file; if not given, the recording's name "
                                                "with .png.")] = None,
        rollout: Rollout = None,
        overwrite: Overwrite = False,
    ) -> None:  # fmt: skip
        """Draw a recording.

        Joints, speeds, forces and powers; of a base that moves its attitude, and how well momentum is kept.
        """
        leave(draw, recording, out, rollout, overwrite)

    @app.command(epilog=lines(
        "Examples:",
        "engine view robot.urdf                     turn it; Ctrl + drag moves its joints",
        "engine view robot.urdf --collision",
        "engine view run.h5                         plays it; H shows the keys",
        "engine view batch.h5                       all rollouts together",
        "engine view batch.h5 --rollout 3",
        "engine view run.h5 --follow base --environment plain",
        "A window takes a display; where there is none, engine render draws the same into a file, and engine export makes a page for a "
        "browser.",
    ))  # fmt: skip
    def view(
        file: Shown,
        floating: Floating = False,
        collision: Collision = False,
        environment: Environment = None,
        side: View = None,
        follow: Follow = None,
        rollout: Rollout = None,
        package_dir: Packages = None,
    ) -> None:
        """Open a window on a robot or a recording.

        Drag turns the view, the wheel comes closer, a click picks a link, space plays and pauses, H shows all keys.
        """
        leave(look, file, floating, collision, environment, side, follow, rollout, package_dir or [])

    @app.command(epilog=lines(
        "Examples:",
        "engine render robot.urdf robot.png",
        "engine render robot.urdf front.png --view front --environment plain",
        "engine render run.h5 run.mp4                       the whole motion",
        "engine render run.h5 slow.mp4 --speed 0.1 --fps 60",
        "engine render run.h5 small.gif --size 320x240 --fps 15",
        "engine render run.h5 begin.png --time 0            one moment of it",
        "engine render run.h5 along.mp4 --follow base",
        "engine render batch.h5 all.png                     all rollouts together",
        "engine render run.h5 frame%04d.png                 each picture a file",
        "It needs no display. On Debian and Ubuntu 'apt install libgl1-mesa-dri libegl1' draws without a graphics card.",
    ))  # fmt: skip
    def render(
        file: Shown,
        out: Annotated[str, typer.Argument(metavar="OUT", help="A picture (.png) or a film (.mp4, .gif).", show_default=False)],
        size: Annotated[str, typer.Option("--size", metavar="WxH", help="Of the picture, pixels.", callback=pixels)] = "1280x720",
        fps: Rate = 30.0,
        speed: Annotated[float, typer.Option("--speed", metavar="X", help="Seconds of motion in a second of film.",
                                             callback=above_zero)] = 1.0,
        at: Annotated[float | None, typer.Option("--time", metavar="S", help="The moment of a picture, s; if not given, the last.")] = None,
        side: View = None,
        follow: Follow = None,
        environment: Environment = None,
        collision: Collision = False,
        floating: Floating = False,
        rollout: Rollout = None,
        samples: Annotated[int | None, typer.Option("--samples", metavar="N", min=0, max=4, help="Of a pixel: 4 smooth the edges "
                                                    "(pictures), 0 do it afterwards, and faster (films).")] = None,
        package_dir: Packages = None,
        overwrite: Overwrite = False,
    ) -> None:  # fmt: skip
        """Draw a robot or a recording into a picture or a film."""
        if at is not None and moves(out):
            raise typer.BadParameter(f"--time is for a picture, and '{out}' is a film; expected .png, or no --time")
        width, _, height = size.partition("x")
        leave(film, file, out, (int(width), int(height)), fps, speed, at, side, follow, environment, collision, floating, rollout,
              samples, package_dir or [], overwrite)  # fmt: skip

    @app.command(epilog=lines(
        "Examples:",
        "engine export run.h5 run.csv",
        "engine export run.h5 run.csv --every 10",
        "engine export batch.h5 third.csv --rollout 2",
        "engine export run.h5 run.html             plays in any browser",
        "engine export run.h5 run.glb --fps 60     for Blender, game engines",
        "engine export robot.urdf robot.glb",
        "Columns of a CSV file are t, q.JOINT, v.JOINT, tau.JOINT, vdot.JOINT and signals; every number to its last bit. A page needs no "
        "server and no network.",
    ))  # fmt: skip
    def export(
        file: Annotated[str, typer.Argument(metavar="FILE", help="A recording (HDF5); for a page or glTF also a URDF file.",
                                            show_default=False)],
        out: Annotated[str, typer.Argument(metavar="OUT", help="A page (.html), glTF (.glb), or else a CSV file.", show_default=False)],
        rollout: Rollout = None,
        every: Annotated[int, typer.Option("--every", metavar="N", help="CSV: write every N-th record.", min=1)] = 1,
        fps: Rate = 30.0,
        environment: Environment = None,
        collision: Collision = False,
        floating: Floating = False,
        package_dir: Packages = None,
        overwrite: Overwrite = False,
    ) -> None:  # fmt: skip
        """Write a recording as comma-separated values, or as a page or glTF that plays."""
        if Path(out).suffix.lower() in (".html", ".glb"):
            leave(write_page, file, out, fps, environment, collision, floating, rollout, package_dir or [], overwrite)
        leave(write_csv, file, out, rollout, every, overwrite)

    return app


def lines(*paragraphs: str) -> str:
    """Text below a command's help, whose paragraphs stay lines."""
    return "\n\n".join(paragraphs)


def show_version(asked: bool) -> None:
    """Print the version and leave, if that is asked."""
    if asked:
        import engine

        leave(lambda: print(f"engine {engine.__version__}") or 0)


# ---------------------------------------------------------------- how a command ends


def leave(work: Callable[..., int], *arguments: Any) -> NoReturn:
    """Do a command's work and leave with its exit code; whatever goes wrong is one sentence on stderr."""
    import typer

    from engine.compiler.gufunc import ArgumentError
    from engine.compiler.trace import TraceError
    from engine.io import RobotFileError
    from engine.model import ModelError, StateError
    from engine.recording import StorageError
    from engine.simulation import SimulationError
    from engine.viewer import ViewerError

    code, text = 1, ""
    try:
        code = work(*arguments)
        sys.stdout.flush()
    except BrokenPipeError:                           # the reader, as in `engine info FILE | head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except KeyboardInterrupt:
        calm()
        code, text = 130, "interrupted"
    except Failure as failure:
        code, text = failure.code, str(failure)
    except (ArgumentError, ModelError, RobotFileError, SimulationError, StateError, StorageError, TraceError, ViewerError) as problem:
        text = str(problem)
    except OSError as problem:
        text = f"'{problem.filename}': {problem.strerror}" if problem.filename else str(problem)
    except MemoryError:
        text = "this takes more memory than there is"
    except Exception as problem:
        if os.environ.get("ENGINE_TRACEBACK"):
            raise
        text = f"{type(problem).__name__}: {problem}; this is a fault of the engine itself (ENGINE_TRACEBACK=1 shows where)"
    if text:
        with contextlib.suppress(BrokenPipeError):
            print(f"engine: {' '.join(text.split())}", file=sys.stderr)
    raise typer.Exit(code)


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt, but not where Python would drop it: there a bit later."""

    def come(number: int, frame: Any) -> None:
        while frame is not None:
            code = frame.f_code
            if code.co_name == "__del__" or code.co_filename.endswith("weakref.py"):
                signal.setitimer(signal.ITIMER_REAL, 0.005)
                return
            frame = frame.f_back
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    before = signal.signal(signal.SIGALRM, come)
    signal.signal(signal.SIGINT, come)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGALRM, before)


def calm() -> None:
    """After one Ctrl-C, let more of them not disturb the end."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextlib.contextmanager
def written(name: str, source: str, overwrite: bool) -> Iterator[Path]:
    """A path to write to, which takes the file's place once it is whole."""
    if os.path.isdir(name):
        raise Failure(f"'{name}' is a folder; expected a file to write")
    if os.path.exists(name) and not os.path.isfile(name):      # such as /dev/stdout
        yield Path(name)
        return
    if os.path.exists(name) and os.path.samefile(name, source):
        raise Failure(f"'{name}' is the file to read; expected another to write")
    if os.path.exists(name) and not overwrite:
        raise Failure(f"'{name}' exists; expected a new path, or --overwrite")
    path = Path(os.path.realpath(name))
    new = path.with_name(f".{path.stem}.{os.urandom(4).hex()}{path.suffix}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        new.touch()                                   # what cannot be written is known before the work begins
        yield new
        new.replace(path)
    except OSError as error:
        raise Failure(f"'{name}' cannot be written ({error.strerror or error})") from None
    finally:
        with contextlib.suppress(OSError):
            new.unlink()


def say_written(name: str, text: str) -> None:
    """Say what a file holds, unless it may be the very stream to say it on."""
    if os.path.isfile(name):
        print(f"{name}: {text}")


def numbers(x: Iterable[float]) -> str:
    """Numbers with spaces between."""
    return " ".join(f"{y:g}" for y in x)


# ---------------------------------------------------------------- info


def is_recording(file: str) -> bool:
    """Whether a file is, or is named as, one in HDF5."""
    if Path(file).suffix.lower() in (".h5", ".hdf5"):
        return True
    try:
        with open(file, "rb") as opened:
            return opened.read(16).startswith((b"engine recording", b"\x89HDF\r\n\x1a\n"))
    except (OSError, ValueError):
        return False


def show_robot(file: str, floating: bool, whole_tree: bool, meshes: bool, package_dirs: Sequence[str]) -> int:
    """Print what a robot file holds."""
    from engine.io import RobotFileError, check, load_urdf

    try:
        model = load_urdf(file, floating_base=floating, package_dirs=package_dirs)
    except RobotFileError as problem:
        report = check(file, package_dirs, meshes)
        if len(report.findings) > 1:
            print(report)
        raise Failure(str(problem)) from None
    report = check(file, package_dirs, meshes)
    print("\n".join(summary(model)))
    if whole_tree or len(model.links) <= SMALL:
        print("\n".join(["", *tree(model)]))
    print(f"\n{report}")
    if not report.ok:
        count = sum(f.severity == "error" for f in report.findings)
        raise Failure(f"{file}: {count} error{'s' * (count > 1)} found, listed above")
    return 0


def summary(model: "Model") -> Iterator[str]:
    """Name, numbers of links and joints, coordinates and mass."""
    kinds = Counter(j.kind for j in model.joints)
    mimics = sum(b.mimics for b in model.bodies)
    yield f"{model.name}"
    yield f"  links   {len(model.links)}"
    yield f"  joints  {len(model.joints)}{': ' * bool(kinds)}{', '.join(f'{n} {kind}' for kind, n in kinds.most_common())}"
    yield f"  nq, nv  {model.nq}, {model.nv}{f' (joints that follow others: {mimics})' if mimics else ''}"
    yield f"  mass    {sum(link.mass for link in model.links):.6g} kg"


def tree(model: "Model") -> Iterator[str]:
    """The links, each below the one it hangs on, with the joint it hangs by."""
    yield model.links[0].name
    above = {j.child: j for j in model.joints if j.parent}
    last = {j.parent: j.child for j in above.values()}
    bars = {model.links[0].name: ""}
    for link in model.links[1:]:
        joint = above[link.name]
        closes = last[joint.parent] == link.name
        yield f"{bars[joint.parent]}{'└─ ' if closes else '├─ '}{link.name}  ({joint.name}, {joint.kind})"
        bars[link.name] = bars[joint.parent] + ("   " if closes else "│  ")


def show_recording(file: str, whole_tree: bool) -> int:
    """Print what a recording holds."""
    from engine.io import model_from_text
    from engine.recording import Recording

    with Recording.open(file) as recording:
        rows = dict(contents(recording))
        model = model_from_text(recording.header["model"]) if whole_tree and "model" in recording.header else None
    print(file)
    for name, text in rows.items():
        print(f"  {name:<11} {text}")
    if model is not None:
        print("\n".join(["", *tree(model)]))
    return 0


def contents(recording: "Recording") -> Iterator[tuple[str, str]]:
    """What a recording holds, by name."""
    from engine.io import model_from_text

    h = recording.header
    if "model" in h:
        yield "model", repr(model_from_text(h["model"])).removeprefix("<model ").removesuffix(">")
    ends = state(recording)
    if ends == "interrupted":
        ends = "being written" if held(recording.path) else f"interrupted; engine resume {shlex.quote(str(recording.path))} goes on"
    span = "nothing yet" if not len(recording) else f"{recording.read('t', 0, 1)[0]:g} … {recording.read('t', len(recording) - 1)[0]:g} s"
    planned = f" of {h['duration']:g} s" if "duration" in h and not recording.complete else ""
    yield "time", f"{span}{planned}; {ends}"
    every = f", one every {h['record_every']} steps" if h.get("record_every", 1) != 1 else ""
    yield "records", f"{len(recording)}{every}; {recording.path.stat().st_size / 1e6:.3g} MB"
    if recording.batch:
        yield "rollouts", " × ".join(map(str, recording.batch))
    if "integrator" in h:
        yield "integrator", f"{h['integrator']}, dt = {h['dt']:g} s"
    if "gravity" in h:
        yield "gravity", f"{numbers(h['gravity'])} m/s²"
    if "components" in h:
        yield "components", ", ".join(h["components"])
    if h.get("parameters"):
        yield "parameters", ", ".join(h["parameters"])
    if "start" in h:
        yield "start", str(h["start"])
    yield "columns", ", ".join(f"{n} ({'×'.join(map(str, s))})" if s else n for n, s in recording.columns.items())
    if "engine" in h:
        names = {"engine": "engine", "numpy": "numpy", "llvmlite": "llvmlite", "python": "Python", "machine": "on"}
        yield "made by", ", ".join(f"{name} {h[n]}" for n, name in names.items() if n in h)
    if "begun" in h:
        yield "begun", str(h["begun"])


def state(recording: "Recording") -> str:
    """How a recording ended: "complete", "interrupted", or what stopped it."""
    if recording.complete:
        return "complete"
    h, checkpoint, n = recording.header, recording.checkpoint(), len(recording)
    if n and "dt" in h and checkpoint.get("finished"):
        last, eps = float(recording.read("t", n - 1)[0]), 1e-6 * h["dt"]
        if last < h["duration"] - eps and abs(last - checkpoint["steps"] * h["dt"]) > eps:
            return "not complete: the motion diverged, or an event ended it"
    return "interrupted"


def held(path: Path) -> bool:
    """Whether a recorder is writing a file now."""
    import fcntl

    with open(path, "rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            pass
    return False


# ---------------------------------------------------------------- simulate and resume


def run(robot: str, out: str, duration: float, floating: bool, dt: float, integrator: str, gravity: tuple[float, float, float] | None,
        record_every: int, start: str, seed: int, velocity: Sequence[str], ideal: bool, overwrite: bool) -> int:  # fmt: skip
    """Simulate a robot and record it."""
    from engine.dynamics import GRAVITY
    from engine.io import load_urdf
    from engine.simulation import Simulator

    if os.path.isdir(out) or (os.path.exists(out) and not overwrite):
        raise Failure(f"'{out}' exists; expected a new path{'' if os.path.isdir(out) else ', or --overwrite'}")
    model = load_urdf(robot, floating_base=floating)
    q0, v0, said = first_state(model, start, seed, velocity)
    if not ideal:
        warn_of_limits(model, q0)
    simulator = Simulator(model, dt, integrator, GRAVITY if gravity is None else gravity, joint_dynamics=not ideal)
    notes = {"command": "engine simulate", "robot": os.path.abspath(robot), "start": said, "q0": q0.tolist(), "v0": v0.tolist(),
             "joint_dynamics": not ideal, "begun": datetime.datetime.now(datetime.timezone.utc).isoformat()}  # fmt: skip
    return record(simulator, out, 0, lambda shown: simulator.run(q0, v0, duration, record_every, shown, None, out, overwrite, notes), notes)


def first_state(model: "Model", start: str, seed: int, velocity: Sequence[str]) -> tuple["np.ndarray", "np.ndarray", str]:
    """q0, v0, and what they are in words."""
    import numpy as np

    from engine.checks import nearest

    rng = np.random.default_rng(seed)
    q, v, said = model.neutral(), np.zeros(model.nv), start
    if start == "random":
        q, v = model.random(rng)
        said = f"random, seed {seed}"
    elif start != "neutral":
        if not os.path.exists(start):
            raise Failure(f"--start {start} is no file, nor 'random' or 'neutral'{nearest(start, ['random', 'neutral'])}", 2)
        table, _ = read_table(start, None)
        found, _ = motion_of(model, {n: x[-1:] for n, x in table.items()}, start)
        q, v = model.normalized(found["q"][0]), found["v"][0] if "v" in found else v
        n = len(next(iter(table.values())))
        said = f"{'the last line of ' * (n > 1)}{start}"
    if velocity and "zero" not in velocity and "random" not in velocity:
        names, v = model.labels("v"), np.zeros(model.nv)
        for text in velocity:
            name, equals, value = text.rpartition("=")
            if not equals:
                raise Failure(f"--velocity {text}: expected zero, random, or NAME=VALUE{nearest(text, ['zero', 'random'])}", 2)
            if name not in names:
                raise Failure(f"--velocity {text}: '{model.name}' has no velocity '{name}'{nearest(name, names)}; expected one of "
                              f"{', '.join(names)}", 2)  # fmt: skip
            try:
                v[names.index(name)] = float(value)
            except ValueError:
                raise Failure(f"--velocity {text}: '{value}' is no number", 2) from None
        model.checked("v0", v)
    elif velocity and len(velocity) > 1:
        raise Failure(f"--velocity {' --velocity '.join(velocity)}: expected zero, random, or NAME=VALUE as often as you like", 2)
    elif velocity:
        v = np.zeros(model.nv) if velocity == ["zero"] else v if start == "random" else rng.standard_normal(model.nv)
    return q, v, said + (f"; velocity {', '.join(velocity)}" if velocity else "")


def warn_of_limits(model: "Model", q: "np.ndarray") -> None:
    """Say which joints begin outside of their limits, where the stops will push them."""
    for b in model.bodies:
        if b.kind.nq == 1 and not b.mimics:
            x, limits = float(q[b.q][0]), b.joint.limits
            if not limits.lower - 1e-9 <= x <= limits.upper + 1e-9:
                print(f"note: joint '{b.joint.name}' starts at {x:g}, outside of its limits {limits.lower:g} … {limits.upper:g}; its stop "
                      "pushes it back (--start and --ideal-joints change that)", file=sys.stderr)  # fmt: skip


def record(simulator: "Simulator", out: str, begin: int, go: Callable[[bool], Any], notes: Mapping[str, Any]) -> int:
    """Run, and say what was recorded; Ctrl-C leaves a file to go on with."""
    from engine.recording import Recording, StorageError

    began = time.perf_counter()
    try:
        go(sys.stdout.isatty())
    except KeyboardInterrupt:
        calm()
        text = "interrupted before anything was recorded"
        with contextlib.suppress(StorageError), Recording.open(out) as recording:
            if all(recording.header.get(n) == x for n, x in notes.items()):
                n = len(recording)
                at = f"at t = {recording.read('t', n - 1)[0]:g} s of {recording.header['duration']:g} s" if n else "at the beginning"
                text = (f"interrupted {at}: '{out}' holds {n} record{'s' * (n != 1)} and is marked incomplete; "
                        f"go on with: engine resume {shlex.quote(out)}")  # fmt: skip
        raise Failure(text, 130) from None
    took = time.perf_counter() - began
    with Recording.open(out) as recording:
        n = len(recording)
        if not n:
            raise Failure(f"'{out}' holds no records, though the run has ended; expected at least one")
        first, last = (float(recording.read("t", k, k + 1)[0]) for k in (0, n - 1))
        steps = math.ceil(last / simulator.dt - 1e-6) - begin
        each = f" × {' × '.join(map(str, recording.batch))}" * bool(recording.batch)
        done = f"{steps} step{'s' * (steps != 1)} in {took:.2g} s"
        print(f"{out}: {n}{each} records of '{simulator.model.name}', {first:g} … {last:g} s; {done}")
    return 0


def go_on(file: str, duration: float | None) -> int:
    """Go on with a run."""
    from engine.recording import Recording
    from engine.simulation import SimulationError

    with Recording.open(file) as recording:
        h, checkpoint, complete, n, ended = recording.header, recording.checkpoint(), recording.complete, len(recording), state(recording)
        last = float(recording.read("t", n - 1)[0]) if n else 0.0
    if any(x not in h for x in ("model", "integrator", "dt", "gravity", "duration", "record_every", "program")):
        raise Failure(f"'{file}' holds states, but not how to simulate; expected a recording of engine simulate, or Simulator.run(out=…)")
    if h["program"] == "not compiled":
        raise Failure(f"'{file}' was recorded with compiled=False; expected Simulator.resume in the program that began it")
    dt, planned, steps = float(h["dt"]), float(h["duration"]), int(checkpoint.get("steps", 0))
    wanted = planned if duration is None else duration
    if complete and duration is None:
        print(f"{file} is complete, 0 … {last:g} s; --duration makes it longer")
        return 0
    if not complete and ended != "interrupted":
        raise Failure(f"'{file}' ended at t = {last:g} s because the motion diverged, or an event ended it; there is nothing to go on "
                      "from")  # fmt: skip
    if wanted < last - 1e-9 * dt:
        raise Failure(f"--duration is {wanted:g} s, and '{file}' holds {last:g} s already; expected a --duration from there on")
    if complete and wanted <= last + 1e-6 * dt:
        print(f"{file} is complete, 0 … {last:g} s")
        return 0
    if duration is not None and duration < planned:
        raise Failure(f"--duration is {duration:g} s, less than the {planned:g} s that '{file}' was to last; expected at least that")
    if wanted > last + 1e-6 * dt and n and abs(last - steps * dt) > 1e-6 * dt:
        raise Failure(f"'{file}' ended with a step shorter than dt, at t = {last:g} s, and the steps of a longer run would fall elsewhere; "
                      f"expected a run whose duration is a multiple of dt = {dt:g} s")  # fmt: skip
    if n and complete and steps % int(h["record_every"]):
        raise Failure(f"'{file}' ended between two records of every {h['record_every']} steps, and the records of a longer run would fall "
                      f"elsewhere; expected a run whose duration is a multiple of {dt * h['record_every']:g} s")  # fmt: skip
    warn_of_versions(h)
    mine = h.get("command") == "engine simulate"
    for joint_dynamics in [h["joint_dynamics"]] if mine else [True, False]:
        simulator = simulator_of(h, joint_dynamics)
        try:
            return record(simulator, file, steps, functools.partial(simulator.resume, file, wanted), {})
        except SimulationError as error:
            if "was recorded with" not in str(error):
                raise
    if mine:
        raise Failure(f"'{file}' was recorded by an engine ({h['engine']}) that computed otherwise than this one; expected the one that "
                      "began it")  # fmt: skip
    raise Failure(f"'{file}' was recorded with functions of its own (a controller, forces, actuators or events), which a file cannot hold; "
                  "expected Simulator.resume in the program that began it")  # fmt: skip


def simulator_of(header: Mapping[str, Any], joint_dynamics: bool) -> "Simulator":
    """The simulator that a recording's header describes."""
    from engine.io import model_from_text
    from engine.simulation import Simulator

    return Simulator(model_from_text(header["model"]), header["dt"], header["integrator"], header["gravity"],
                     parameters=header.get("parameters"), joint_dynamics=joint_dynamics)  # fmt: skip


def warn_of_versions(header: Mapping[str, Any]) -> None:
    """Say what has changed since a run was begun and may change its bits."""
    import platform
    from importlib.metadata import version

    now = {"engine": version("articulated-engine"), "llvmlite": version("llvmlite"), "machine": platform.machine()}
    changed = [f"{n} {header[n]} (now {x})" for n, x in now.items() if header.get(n, x) != x]
    if changed:
        print(f"note: recorded with {', '.join(changed)}; from here on the last bits may differ", file=sys.stderr)


# ---------------------------------------------------------------- trajectories from files


def read_table(file: str, rollout: int | None) -> tuple[dict[str, "np.ndarray"], tuple[float, ...] | None]:
    """Columns by name, of a CSV file or a recording; and a recording's gravity."""
    if is_recording(file):
        trajectory = one_rollout(file, rollout)
        return {"t": trajectory.t, **trajectory.columns()}, trajectory.robot.gravity
    if rollout is not None:
        raise Failure(f"--rollout {rollout}: '{file}' is no recording; expected no --rollout", 2)
    return read_csv(file), None


def read_csv(file: str) -> dict[str, "np.ndarray"]:
    """Columns of a CSV file with a line of names; whatever is wrong is told with its line."""
    import numpy as np

    rows: list[list[float]] = []
    names: list[str] = []
    try:
        with open(file, newline="", encoding="utf-8-sig") as opened:
            reader = csv.reader(opened)
            for fields in reader:
                line = f"'{file}', line {reader.line_num}"
                if not any(f.strip() for f in fields):
                    continue
                if not names:
                    names = column_names(file, fields)
                    continue
                if len(fields) != len(names):
                    raise Failure(f"{line}: {len(fields)} field{'s' * (len(fields) > 1)}; expected {len(names)}, one for each name")
                try:
                    rows.append([float(f) for f in fields])
                except ValueError:
                    k, bad = next((k, f) for k, f in enumerate(fields) if not is_number(f))
                    raise Failure(f"{line}: '{names[k]}' is '{bad.strip()[:40]}'; expected a number") from None
                for k, x in enumerate(rows[-1]):
                    if not abs(x) < float("inf"):
                        raise Failure(f"{line}: '{names[k]}' is {x}; expected a finite number")
                if "t" in names and len(rows) > 1 and not rows[-1][names.index("t")] > rows[-2][names.index("t")]:
                    a, b = rows[-2][names.index("t")], rows[-1][names.index("t")]
                    raise Failure(f"{line}: t is {b!r} after {a!r}; expected times that increase")
    except FileNotFoundError:
        raise Failure(f"'{file}': there is no such file; expected a CSV file, or a recording") from None
    except IsADirectoryError:
        raise Failure(f"'{file}' is a folder; expected a CSV file, or a recording") from None
    except (UnicodeDecodeError, csv.Error):
        raise Failure(f"'{file}' is no text of comma-separated values; expected a CSV file, or a recording") from None
    if not rows:
        raise Failure(f"'{file}' holds {'no numbers' if names else 'nothing'}; expected a line of names, and lines of numbers below it")
    return dict(zip(names, np.array(rows).T, strict=True))


def column_names(file: str, fields: Sequence[str]) -> list[str]:
    """The first line's names."""
    names = [f.strip() for f in fields]
    names[0] = names[0].removeprefix("#").strip()
    if len(names) == 1 and any(c in names[0] for c in ";\t"):
        raise Failure(f"'{file}' has no commas in its first line; expected comma-separated values")
    if all(map(is_number, names)):
        raise Failure(f"'{file}' begins with numbers; expected a first line of names: t, and one for each coordinate")
    for name, count in Counter(names).items():
        if count > 1 or not name:
            raise Failure(f"'{file}' has {f'{count} columns' if count > 1 else 'a column'} named '{name}'; expected names of their own")
    return names


def is_number(text: str) -> bool:
    """Whether a text is a number, be it infinite or NaN."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def motion_of(model: "Model", table: Mapping[str, "np.ndarray"], file: str) -> tuple[dict[str, "np.ndarray"], list[str]]:
    """q, and v and vdot where they are given, (T, …), from columns by name; and the names of columns that say nothing of the motion."""
    import difflib

    import numpy as np

    from engine.checks import nearest

    names = {w: model.labels(w) for w in ("q", "v", "vdot")}
    keys: dict[str, dict[str, str]] = {w: {} for w in names}
    for which, entries in names.items():
        for name in entries:
            there = [k for k in (f"{which}.{name}", *[name] * (which == "q" and name != "t")) if k in table]
            if len(there) > 1:
                raise Failure(f"'{file}' has the columns '{there[0]}' and '{there[1]}'; expected one for each coordinate")
            keys[which].update((name, k) for k in there)
    used = {k for given in keys.values() for k in given.values()} | {"t"}
    still = {f"{p}{j.name}" for j in model.joints for p in ("", "q.", "v.", "vdot.", "tau.")}      # fixed, and those that follow others
    rest = [k for k in table if k not in used and k not in still]
    for which, entries in names.items():
        missing = [n for n in entries if n not in keys[which]]
        if not missing or (which != "q" and not keys[which] and not any(k.startswith(f"{which}.") for k in rest)):
            continue
        prefix = f"{which}." if which != "q" or any(k.startswith("q.") for k in table) else ""
        others = {k.removeprefix(f"{which}."): k for k in rest if k.startswith(f"{which}.") or k.split(".")[0] not in (*names, "tau")}
        close = difflib.get_close_matches(missing[0], list(others), 1, 0.5)
        if close:
            raise Failure(f"'{file}' has no column '{prefix}{missing[0]}'; its column '{others[close[0]]}' is nothing that '{model.name}' "
                          f"has (did you mean '{prefix}{missing[0]}'?)")  # fmt: skip
        base = " (a base that does not move has none: leave --floating out)" if missing[0].startswith("floating_base") else ""
        listed = ", ".join(f"{prefix}{n}" for n in entries)
        raise Failure(f"'{file}' has no column '{prefix}{missing[0]}'{base}; expected {'t, ' * (which == 'q')}{listed}")
    for k in rest:
        which = next((w for w in names if k.startswith(f"{w}.")), "")
        own = k.removeprefix(f"{which}.")
        floats = own.startswith("floating_base.")
        if which or floats:
            hint = " (--floating gives it a base that moves)" if floats else nearest(own, names[which])
            raise Failure(f"'{file}' has a column '{k}', but '{model.name}' has no such coordinate{hint}")
    found = {w: np.column_stack([table[given[n]] for n in names[w]]) for w, given in keys.items() if given or (w == "q" and not names[w])}
    check_quaternions(model, found["q"], file)
    return found, [k for k in rest if not k.startswith("tau.")]


def check_quaternions(model: "Model", q: "np.ndarray", file: str) -> None:
    """Attitudes must be unit quaternions, to the digits of a file."""
    import numpy as np

    for b in model.bodies:
        if b.kind.manifold.attitude and not b.mimics:
            length = np.linalg.norm(q[:, b.q][:, :4], axis=1)
            bad = int(np.argmax(abs(length - 1)))
            if abs(length[bad] - 1) > 1e-2:
                raise Failure(f"'{file}', row {bad + 1} of numbers: the quaternion of '{b.joint.name}' has length {length[bad]:.4g}; "
                              "expected a unit one, qw qx qy qz")  # fmt: skip


def one_rollout(file: str, rollout: int | None, start: int = 0, stop: int | None = None, step: int = 1) -> "Trajectory":
    """The trajectory of one rollout of a recording, or a part of it."""
    import numpy as np

    from engine.recording import Recording
    from engine.simulation import load_trajectory

    with Recording.open(file) as recording:
        batch, n = recording.batch, len(recording)
    if not n:
        raise Failure(f"'{file}' holds no records yet; expected at least one")
    count = int(np.prod(batch))
    if batch and rollout is None:
        raise Failure(f"'{file}' holds {count} rollouts; expected --rollout K, from 0 to {count - 1}")
    if rollout is not None and rollout >= count:
        held = f"{count} rollouts; expected one from 0 to {count - 1}" if batch else "a single one; expected no --rollout"
        raise Failure(f"--rollout {rollout}: '{file}' holds {held}")
    trajectory = load_trajectory(file, start, stop, step)
    return trajectory.rollout(tuple(int(i) for i in np.unravel_index(rollout or 0, batch))) if batch else trajectory


# ---------------------------------------------------------------- torques


def inverse_dynamics(robot: str, file: str, out: str | None, floating: bool, gravity: tuple[float, float, float] | None, rows: int,
                     rollout: int | None, overwrite: bool) -> int:  # fmt: skip
    """Print the peak torques of a trajectory, and write them over time."""
    import numpy as np

    from engine.dynamics import GRAVITY
    from engine.io import load_urdf
    from engine.simulation import compile

    model = load_urdf(robot, floating_base=floating)
    table, recorded = read_table(file, rollout)
    if "t" not in table:
        raise Failure(f"'{file}' has no column 't'; expected the time, s, and one for each coordinate")
    t = table["t"]
    found, ignored = motion_of(model, table, file)
    q, how = model.normalized(found["q"]), []
    if "v" in found and "vdot" in found:
        v, vdot = found["v"], found["vdot"]
        how.append("v and vdot from the file")
    else:
        warn_of_jumps(model, t, q)
        fitted = "five-point finite differences" if rows == DEGREE + 1 else f"quartics fitted to {rows} rows each"
        if len(t) < 3:
            raise Failure(f"'{file}' has {len(t)} row{'s' * (len(t) > 1)} of numbers and no columns {'vdot' if 'v' in found else 'v'}.…; "
                          "expected at least 3 rows, which can be differentiated, or both v.… and vdot.…")  # fmt: skip
        if "v" in found:
            v, vdot = found["v"], derivatives(t, lambda k, near: found["v"][near] - found["v"][k], rows)[0]
            how.append(f"v from the file; vdot is v differentiated by {fitted}")
        else:
            v, vdot = derivatives(t, lambda k, near: model.difference(np.broadcast_to(q[k], q[near].shape), q[near]), rows)
            how.append(f"v{'' if 'vdot' in found else ' and vdot'} by {fitted} of q on the manifold")
            if "vdot" in found:
                vdot = found["vdot"]
                how.append("vdot from the file")
    g = gravity if gravity is not None else recorded if recorded is not None else GRAVITY
    tau = compile(model, g).rnea(q, v, vdot)
    if out is not None:
        with written(out, file, overwrite) as path, path.open("w", newline="") as opened:
            writer = csv.writer(opened)
            writer.writerow(["t", *[f"tau.{n}" for n in model.labels("v")]])
            writer.writerows([repr(float(x)) for x in row] for row in np.column_stack([t, tau]))
    whose = " (the recording's)" if g is recorded else ""
    print(f"{model.name}: {len(t)} rows, {t[0]:g} … {t[-1]:g} s; gravity {numbers(g)} m/s²{whose}")
    print("\n".join(how))
    if ignored:
        print(f"columns not used: {', '.join(dict.fromkeys(n.partition('[')[0] for n in ignored))}")
    print_peaks(model, t, tau)
    if out is not None:
        say_written(out, f"{len(t)} rows")
    return 0


def derivatives(t: "np.ndarray", near: Callable[["np.ndarray", "np.ndarray"], "np.ndarray"],
                rows: int) -> tuple["np.ndarray", "np.ndarray"]:  # fmt: skip
    """First and second derivatives (T, n) at times t (T) of what ``near(k, i)`` (K, w, n) says of rows i (K, w) as seen from rows k (K, 1).

    A polynomial of degree 4 goes through, or is fitted to, the rows around each. Where ``near`` is ⊖, its first two derivatives at the row
    itself are the velocity and the acceleration, for d/dt log(q_k⁻¹ q(t)) = dexp(−x)⁻¹ v, and x = 0 there.
    """
    import numpy as np

    count, w = len(t), min(rows, len(t))
    first, second = [], []
    for part in np.array_split(np.arange(count), -(-count // PIECE)):
        i = np.clip(part - w // 2, 0, count - w)[:, None] + np.arange(w)
        s = t[i] - t[part, None]
        h = abs(s).max(axis=1)[:, None]
        Q, R = np.linalg.qr((s / h)[..., None] ** np.arange(min(DEGREE, w - 1) + 1))
        c = np.linalg.solve(R, np.swapaxes(Q, -1, -2) @ near(part[:, None], i))
        first.append(c[:, 1] / h)
        second.append(2 * c[:, 2] / h**2)
    return np.concatenate(first), np.concatenate(second)


def warn_of_jumps(model: "Model", t: "np.ndarray", q: "np.ndarray") -> None:
    """Say which joints turn by more than half a turn between two rows: their angles have been wrapped."""
    import numpy as np

    for b in model.bodies:
        if b.kind.name in ("revolute", "continuous") and not b.mimics:
            jumps = abs(np.diff(q[:, b.q][:, 0]))
            if jumps.size and jumps.max() > np.pi:
                k = int(jumps.argmax())
                print(f"note: '{b.joint.name}' jumps by {jumps[k]:.3g} rad between t = {t[k]:g} and {t[k + 1]:g} s; expected angles that "
                      "go on beyond ±π", file=sys.stderr)  # fmt: skip


def print_peaks(model: "Model", t: "np.ndarray", tau: "np.ndarray") -> None:
    """A table of the largest forces."""
    import io

    import numpy as np
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text


    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("", no_wrap=True, overflow="fold")
    for name in ("peak", "unit", "at t, s", "rms", "limit", "of it"):
        table.add_column(name, justify="left" if name == "unit" else "right", no_wrap=True)
    names, over = model.labels("v"), []
    for b in model.bodies:
        if b.mimics:
            continue
        for k in range(b.v.start, b.v.stop):
            at = int(np.argmax(abs(tau[:, k])))
            peak, limit = tau[at, k], b.joint.limits.effort if b.kind.nv == 1 else np.inf
            share = abs(peak) / limit if limit > 0 else np.inf
            exceeded = bool(np.isfinite(limit) and abs(peak) > limit)
            over += [names[k]] * exceeded
            cells = [names[k], f"{peak:.4g}", unit(b.kind.name, k - b.v.start), f"{t[at]:.4g}", f"{np.sqrt(np.mean(tau[:, k] ** 2)):.4g}",
                     f"{limit:.4g}" if np.isfinite(limit) else "–", f"{100 * share:.0f} %" if np.isfinite(limit) else ""]  # fmt: skip
            table.add_row(*[Text(c) for c in cells], style="bold red" if exceeded else "")
    terminal = sys.stdout.isatty()
    console = Console(file=sys.stdout if terminal else io.StringIO(), width=None if terminal else 10_000)
    with console.capture() as text:
        console.print(table)
    print("\n".join(line.rstrip() for line in text.get().rstrip().split("\n")))
    if over:
        print(f"above the robot's limits: {', '.join(over)}")


def unit(kind: str, entry: int) -> str:
    """Of a joint's force."""
    linear = {"prismatic": (0,), "floating": (3, 4, 5), "planar": (0, 1)}.get(kind, ())
    return "N" if entry in linear else "N·m"


# ---------------------------------------------------------------- plot and export


def draw(file: str, out: str | None, rollout: int | None, overwrite: bool) -> int:
    """Write a recording's plot."""
    from engine.recording import Recording

    os.environ.setdefault("MPLBACKEND", "Agg")        # no window, and no need of a screen
    picture = str(Path(file).with_suffix(".png")) if out is None else out
    with Recording.open(file) as recording:
        n = len(recording)
    step = -(-n // PLOTTED) if n else 1
    trajectory = one_rollout(file, rollout, step=step)
    if not Path(picture).suffix:
        raise Failure(f"'{picture}' has no ending; expected one that says what to draw, such as .png, .pdf or .svg")
    try:
        with written(picture, file, overwrite) as path:
            trajectory.plot(path)
    except ImportError as error:
        raise Failure(f"a plot takes matplotlib ({error}); expected it to be installed: pip install matplotlib") from None
    except ValueError as error:
        if "is not supported" not in str(error):
            raise
        raise Failure(f"'{picture}' cannot be drawn ({error})") from None
    say_written(picture, f"{len(trajectory)} of {n} records, {trajectory.t[0]:g} … {trajectory.t[-1]:g} s")
    return 0


def write_csv(file: str, out: str, rollout: int | None, every: int, overwrite: bool) -> int:
    """Write a recording as CSV, a piece at a time."""
    import numpy as np

    from engine.recording import Recording

    with Recording.open(file) as recording:
        n = len(recording)
    count = 0
    with written(out, file, overwrite) as path, path.open("w", newline="") as opened:
        writer = csv.writer(opened)
        for start in range(0, max(n, 1), PIECE * every):
            part = one_rollout(file, rollout, start, min(n, start + PIECE * every), every)
            columns = part.columns()
            if not start:
                writer.writerow(["t", *columns])
            writer.writerows([repr(float(x)) for x in row] for row in np.column_stack([part.t, *columns.values()]))
            count += len(part)
    say_written(out, f"{count} rows of {len(columns) + 1} columns")
    return 0


# ---------------------------------------------------------------- view, render, and export of what is seen


def shown(file: str, floating: bool, rollout: int | None, package_dirs: Sequence[str]) -> "Model | Trajectory":
    """What a file holds to look at: a robot, or a recording with all of its rollouts or one."""
    from engine.io import load_urdf
    from engine.recording import Recording
    from engine.simulation import load_trajectory

    if not is_recording(file):
        if rollout is not None:
            raise Failure(f"'{file}' is no recording; expected no --rollout", 2)
        return load_urdf(file, floating_base=floating, package_dirs=package_dirs)
    if floating or package_dirs:
        raise Failure(f"'{file}' is a recording, and holds its robot; expected no {'--floating' if floating else '--package-dir'}", 2)
    with Recording.open(file) as recording:
        n = len(recording)
    step = -(-n // PLOTTED) if n else 1
    return load_trajectory(file, step=step) if n and rollout is None else one_rollout(file, rollout, step=step)


def linked(source: "Model | Trajectory", link: str | None) -> None:
    """Refuse a link that the robot does not have."""
    from engine.model import Model

    if link is not None:
        (source if isinstance(source, Model) else source.model).link_index(link)


@contextlib.contextmanager
def told() -> Iterator[None]:
    """Warnings, such as of a texture that is not there, are notes on stderr."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = lambda message, *_, **__: print(f"note: {' '.join(str(message).split())}", file=sys.stderr)
        yield


def look(file: str, floating: bool, collision: bool, environment: str | None, side: str | None, follow: str | None, rollout: int | None,
         package_dirs: Sequence[str]) -> int:  # fmt: skip
    """Open a window, and wait until it is closed."""
    import engine

    source = shown(file, floating, rollout, package_dirs)
    linked(source, follow)
    with told():
        engine.view(source, view=side, environment=environment, geometry="collision" if collision else "visual", follow=follow)
    return 0


def moves(out: str) -> bool:
    """Whether a path is a film's: .mp4, .gif, or a picture for each moment."""
    return Path(out).suffix.lower() != ".png" or "%" in Path(out).name


def film(file: str, out: str, size: tuple[int, int], fps: float, speed: float, at: float | None, side: str | None, follow: str | None,
         environment: str | None, collision: bool, floating: bool, rollout: int | None, samples: int | None, package_dirs: Sequence[str],
         overwrite: bool) -> int:  # fmt: skip
    """Draw a picture or a film."""
    import engine
    from engine.viewer.files import film_times

    if Path(out).suffix.lower() not in (".png", ".mp4", ".gif"):
        raise Failure(f"'{out}' ends in '{Path(out).suffix}'; expected .png, .mp4 or .gif")
    source = shown(file, floating, rollout, package_dirs)
    linked(source, follow)
    span = (0.0, 0.0) if isinstance(source, engine.Model) else (float(source.t[0]), float(source.t[-1]))
    if at is not None and not span[0] <= at <= span[1]:
        raise Failure(f"--time {at:g}: '{file}' lasts from {span[0]:g} to {span[1]:g} s; expected a time within")
    frames = len(film_times(span, fps / speed)) if moves(out) else 1
    with contextlib.nullcontext(Path(out)) if "%" in Path(out).name else written(out, file, overwrite) as path, told():
        engine.render(source, path, at, size, fps, speed, side, follow=follow, environment=environment, samples=samples,
                      geometry="collision" if collision else "visual", progress=moves(out) and sys.stdout.isatty())  # fmt: skip
    kind = f"{frames} frames, {frames / fps:.3g} s" if moves(out) else "a picture"
    print(f"{out}: {kind} of {size[0]} × {size[1]} pixels")
    return 0


def write_page(file: str, out: str, fps: float, environment: str | None, collision: bool, floating: bool, rollout: int | None,
               package_dirs: Sequence[str], overwrite: bool) -> int:  # fmt: skip
    """Write a page for browsers, or glTF."""
    import engine

    source = shown(file, floating, rollout, package_dirs)
    with written(out, file, overwrite) as path, told():
        engine.export(source, path, fps, environment, "collision" if collision else "visual")
    say_written(out, f"{os.path.getsize(out) / 1e6:.2g} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
