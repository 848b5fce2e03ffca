"""Makes the README's pictures: ``python assets/gallery.py`` draws all of them into assets/gallery, or those that are named.

    python assets/gallery.py capture flight     # some of them
    python assets/gallery.py --robots           # a robot of each package of example-robot-data: robots.png, and what is said of every file

It takes the ``demos`` extra, a display for the picture of the window (xvfb-run makes one), and for --robots the package example-robot-data.
"""

from __future__ import annotations

import argparse
import runpy
import sys
import sysconfig
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

import engine
from engine.viewer.files import write

HERE = Path(__file__).parent
GALLERY, DEMOS = HERE / "gallery", HERE.parent / "demos"
sys.path.insert(0, str(DEMOS))
import show  # noqa: E402

ROBOTS = Path(sysconfig.get_path("purelib")) / "cmeel.prefix" / "share" / "example-robot-data" / "robots"
#: pixels of a robot in the contact sheet, and robots in a row
TILE, COLUMNS = 120, 8


# ---------------------------------------------------------------- files that are small


def quantised(picture: Any, path: Path, dithered: bool) -> None:
    """Write a picture as PNG in few colours, the rare ones among them; a dither hides the steps between them, and doubles the file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    image = Image.fromarray(np.asarray(picture))
    few = image.quantize(200 if dithered else 128, Image.Quantize.MAXCOVERAGE, kmeans=2)
    (image.quantize(palette=few, dither=Image.Dither.FLOYDSTEINBERG) if dithered else few).save(path, optimize=True)


def animated(source: Any, path: Path, size: tuple[int, int], fps: float, speed: float, **look: Any) -> None:
    """A GIF, drawn at twice its size and made smaller."""
    scene = source if isinstance(source, engine.Scene) else engine.Scene(source, look.pop("environment", None))
    with tempfile.TemporaryDirectory() as folder:
        engine.render(scene, Path(folder) / "%04d.png", size=(2 * size[0], 2 * size[1]), fps=fps, speed=speed, progress=True, **look)
        frames = [np.array(Image.open(file).resize(size, Image.Resampling.LANCZOS)) for file in sorted(Path(folder).iterdir())]
    write(path, frames, size, fps)


def shown_by(demo: str, *arguments: str) -> tuple[Any, dict[str, Any]]:
    """What a demo shows, and how it looks at it."""
    seen: list[tuple[Any, dict[str, Any]]] = []
    plain, given = show.show, sys.argv
    with tempfile.TemporaryDirectory() as out:
        sys.argv = [f"{demo}.py", "--out", out, "--video", "gallery.png", *arguments]
        show.show = lambda options, source, speed=1.0, **look: seen.append((source, look))
        try:
            runpy.run_path(str(DEMOS / f"{demo}.py"), run_name="__main__")
        finally:
            show.show, sys.argv = plain, given
    source, look = seen[0]
    return source, {name: x for name, x in look.items() if name not in ("shots", "story", "bars")}


# ---------------------------------------------------------------- the pictures


def capture(path: Path) -> None:
    """python demos/capture.py --video capture.gif"""
    source, look = shown_by("capture")
    animated(source, path.with_suffix(".gif"), (400, 225), 6, 4.0, **look)


def flight(path: Path) -> None:
    """python demos/flight.py"""
    module = runpy.run_path(str(DEMOS / "flight.py"))
    motion = module["flown"](module["simulator"](), module["mission"], *module["standing"](), 31.0)
    motion = motion[::6]
    scene = module["scene"](motion, lambda t: float(np.interp(t, motion.t, motion("engine.throttle"))))
    animated(scene, path.with_suffix(".gif"), (300, 300), 7, 4.0, view=(-1.2, 0.1))


def grasp(path: Path) -> None:
    """python demos/grasp.py, beside the gripper"""
    source = shown_by("grasp")[0][200:1300]
    beside = source.pose("servicer/gripper")[0, :3, 3] + [0.1, 0.0, -0.25]
    camera = engine.viewer.Camera(beside, distance=3.4, azimuth=-1.75, elevation=0.3, radius=5.0)
    animated(source, path.with_suffix(".gif"), (320, 180), 5, 4.0, camera=camera, follow="servicer/gripper",
             shown=engine.Shown(contacts=True))  # fmt: skip


def window(path: Path) -> None:
    """engine view run.h5"""
    source, look = shown_by("capture")
    viewer = engine.Viewer(source, size=(960, 600), signals=("q.elbow_pitch", "tau.elbow_pitch"), **look)
    viewer.playback.pause()
    viewer.camera.dolly(1.15)
    viewer.camera.pan(0.12, 0.0)
    viewer.clock.scrub(18.0)
    viewer.choose(viewer.scene.actors[0], 0, "gripper")
    for _ in range(40):                                                        # until it knows how many it draws in a second
        viewer.frame()
        time.sleep(1 / 60)
    quantised(viewer.picture(), path.with_suffix(".png"), dithered=True)
    viewer.close()


def orbit(path: Path) -> None:
    """A servicer in an orbit 400 km high: its ground track, and beside it"""
    model = engine.load_urdf(engine.example("free_flyer"), floating_base=True)
    frame = engine.space.ReferenceOrbit((6.778e6, 0, 0), (0, 7668 * np.cos(0.9), 7668 * np.sin(0.9)))
    v = np.zeros(model.nv)
    v[:3] = 0.0, 0.002, 0.001
    simulator = engine.Simulator(model, dt=0.5, gravity=(0, 0, 0), frame=frame, joint_dynamics=False)
    near = simulator.run(model.neutral(), v, 5000.0, record_every=40)
    origin, _ = near.orbit("bus")
    q, rates = near.q.copy(), near.v.copy()
    q[:, 4:7] += origin
    turned = engine.spatial.quaternion.to_matrix(q[:, :4])
    rates[:, 3:6] += np.einsum("tji,tj->ti", turned, near.signals["frame.velocity"])
    signals = {"gravity.energy": np.zeros(len(near))}                          # the same flight about the Earth's middle
    far = engine.Trajectory(model, near.gravity, near.t, q, rates, near.tau, near.vdot, signals)
    looks = engine.Shown(orbit=True, track=True), engine.Shown(lvlh=True)
    scenes = [engine.Scene(x, environment=engine.Sky()) for x in (far, near)]
    pictures = [engine.render(x, t=1300.0, size=(960, 720), shown=look) for x, look in zip(scenes, looks, strict=True)]
    small = [np.array(Image.fromarray(p).resize((480, 360), Image.Resampling.LANCZOS)) for p in pictures]
    quantised(np.hstack(small), path.with_suffix(".png"), dithered=True)


PICTURES = (capture, flight, grasp, orbit, window)


# ---------------------------------------------------------------- the contact sheet


def robots(path: Path, tile: int = TILE) -> None:
    """Draw a robot of every package of example-robot-data as it is read from its file, and say what is wrong where one cannot be shown."""
    pictures, told = [], set[str]()
    files = sorted(ROBOTS.rglob("*.urdf"))
    for file in files:
        name = str(file.relative_to(ROBOTS))
        package = file.relative_to(ROBOTS).parts[0].removesuffix("_description").removesuffix("_data")
        with warnings.catch_warnings(record=True) as notes:
            warnings.simplefilter("always")
            try:
                picture = engine.render(engine.load_urdf(file), size=(2 * tile, 2 * tile))
                print(name, *(f"\n  note: {note.message}" for note in notes))
            except ValueError as problem:
                print(f"{name}: not shown\n  {str(problem).removeprefix(f'{file}:')}")
                continue
        if package not in told:
            told.add(package)
            pictures.append((package, Image.fromarray(picture)))
    high, font = tile + tile // 6, ImageFont.load_default(tile / 10)
    sheet = Image.new("RGB", (COLUMNS * tile, -(-len(pictures) // COLUMNS) * high), (246, 246, 248))
    draw = ImageDraw.Draw(sheet)
    for k, (name, picture) in enumerate(pictures):                             # names stand below the pictures, not in them
        x, y = k % COLUMNS * tile, k // COLUMNS * high
        sheet.paste(picture.resize((tile - 2, tile), Image.Resampling.LANCZOS), (x + 1, y))
        draw.text((x + tile // 2, y + high - tile // 28), name, (40, 44, 52), font, anchor="ms")
    quantised(sheet, path, dithered=False)
    print(f"{path}: {len(pictures)} robots of {len(files)} files")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [picture.__name__ for picture in PICTURES]
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which of {', '.join(names)} (default: all)")
    parser.add_argument("--robots", action="store_true", help="the contact sheet of the robots of example-robot-data")
    parser.add_argument("--tile", type=int, default=TILE, help=f"pixels of a robot in it (default: {TILE})")
    parser.add_argument("--out", type=Path, default=GALLERY, help="folder for the pictures (default: assets/gallery)")
    options = parser.parse_args()
    for name in options.names:
        if name not in names:
            parser.error(f"there is no picture '{name}'; expected some of {', '.join(names)}")
    if options.robots:
        robots(options.out / "robots.png", options.tile)
    options.out.mkdir(parents=True, exist_ok=True)
    for picture in PICTURES:
        if picture.__name__ in options.names or not (options.names or options.robots):
            picture(options.out / picture.__name__)
            print(f"{options.out / picture.__name__}: {picture.__doc__}")


if __name__ == "__main__":
    main()
