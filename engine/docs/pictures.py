"""Draws the pictures of the pages into ``pictures``: ``python -m engine.docs.pictures``, or those that are named.

Those of demos want a checkout, in which the demos lie; all want the ``demos`` extra, and OpenGL.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import engine
from engine.components.controllers import computed_torque, minimum_jerk
from engine.docs.lessons import within

HERE = Path(__file__).parent
PICTURES, DEMOS = HERE / "pictures", HERE.parents[1] / "demos"
#: demos whose last picture is in the gallery, and what they are called with
DRAWN = {"wall": (), "stack": (), "cradle": (), "mechanisms": ("bricard",), "still_base": (), "underwater": (), "dzhanibekov": (),
         "quadruped": (), "drone_arm": ()}  # fmt: skip
BLUE, RED, GREEN, GREY = "#1f6fb4", "#c0392b", "#27803b", "#8a8f98"


def frames() -> None:
    """Draw the servicer with its links' frames and its joints' axes."""
    model = engine.load_urdf(engine.example("free_flyer"), floating_base=True)
    q = model.neutral()
    q[7:] = [0.3, -0.4, 0.2, 1.2, 0.1, 0.6, 0.2]
    write("frames", engine.viewer.Still(model, q), view=(0.5, 0.3), environment="plain",
          shown=engine.Shown(link_frames=True, joint_axes=True, transparent=True))


def recoil() -> None:
    """Draw the servicer after a slew of its arm, with the ways that its gripper and its bus went."""
    model = engine.load_urdf(engine.example("free_flyer"), floating_base=True)
    start, end = model.neutral(), model.neutral()
    start[7:], end[7:] = [1.2, -0.4, 0.2, 1.2, 0.1, 0.6, 0.2], [-1.2, -0.4, 0.2, 1.2, 0.1, 0.6, 0.2]
    slew = computed_torque(model, minimum_jerk(model, start, end, 8.0))
    motion = engine.Simulator(model, dt=0.01, gravity=(0, 0, 0), controller=slew).run(start, np.zeros(13), 8.0)
    corner = ("solar_panel_left", (0.54, 2.94, 0.0))                           # where the turn of the bus is seen
    write("recoil", motion, view=(0.9, 0.6), shown=engine.Shown(trails=("gripper", corner), trail_time=16.0, momentum=True))


def eyes() -> None:
    """Draw what the rover of the page on eyes sees, by that page's own lines."""
    import matplotlib
    from PIL import Image

    page = names_of("eyes", 3)
    write("eyes", page["run"], t=4.0, view=(-2.3, 0.5), shown=engine.Shown(eyes=(page["finder"], page["lidar"], page["camera"])))
    depth = page["depths"][2] / page["large"].far
    colors = (255.0 * matplotlib.colormaps["viridis"](depth)[..., :3]).astype(np.uint8)
    Image.fromarray(np.concatenate([page["pictures"][2], colors], axis=1)).save(PICTURES / "eyes-camera.png", optimize=True)


def names_of(page: str, count: int) -> dict[str, Any]:
    """Return the names that the first examples of a page give, by running them."""
    names: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder, within(folder):
        for block in re.findall("```python\n(.*?)```", (HERE / f"{page}.md").read_text(encoding="utf-8"), re.DOTALL)[:count]:
            exec(block, names)
    return names


def lessons() -> None:
    """Draw the pictures of the course, of what its lessons' own lines make."""
    twist = np.array([0.0, 0.0, 2.0, 0.0, 1.0, 0.4])
    screw = names_of("course/twists", 6)["screw"].run([1.0, 0, 0, 0, 0.5, 0, 0], twist, 4.0, parameters={"goal": twist})
    write("lesson-twists", screw, view=(0.7, 0.3), environment="plain",
          shown=engine.Shown(trails=(("body", (0.3, 0.2, 0.1)),), trail_time=4.0, screws=("body",)))
    swing = names_of("course/lagrangian", 5)["swing"].run([1.5, -0.7], np.zeros(2), 4.0)
    write("lesson-lagrangian", swing, view=(-np.pi / 2, 0.1), environment="plain",
          shown=engine.Shown(trails=(("lower", (0.0, 0.0, -1.0)),), trail_time=4.0))
    arm = names_of("course/recursions", 5)["floats"].run([0.3, 0.6, 0.0, 1.2, 0.0, 0.6, 0.0], np.zeros(7), 0.01)
    write("lesson-recursions", arm, view=(-0.9, 0.2), environment="plain", shown=engine.Shown(torques=True))
    spin = names_of("course/integrators", 6)["spin"].run([1.0, 0, 0, 0, 0, 0, 0], [0.02, 3.0, 0.02, 0, 0, 0], 6.0)
    write("lesson-integrators", spin, view=(0.8, 0.3), environment="plain",
          shown=engine.Shown(momentum=True, trails=(("top", (0.5, 0.3, 0.125)),), trail_time=6.0))
    box = names_of("course/contact", 2)
    write("lesson-contact", box["slide"], t=0.105, view=(-1.3, -0.1), environment="plain",
          shown=engine.Shown(contacts=True, transparent=True))
    pole = names_of("course/control", 5)["balance"].run([0.5, 0.2], np.zeros(2), 6.0)
    write("lesson-control", pole, t=0.7, view=(-np.pi / 2, 0.15), environment="plain", signals=("q.slide", "q.pivot"),
          size=(720, 480))
    orbit = names_of("course/orbit", 5)
    rod = orbit["hangs"].run(orbit["hanging"](0.5), orbit["turning"], 3000.0)
    write("lesson-orbit", rod, t=50.0, view=(-1.9, 0.25), shown=engine.Shown(lvlh=True))


def write(name: str, source: Any, size: tuple[int, int] = (1440, 960), **look: Any) -> None:
    """Draw a picture, by default at twice its size, and write it smaller, in few colours."""
    from PIL import Image

    picture = Image.fromarray(np.asarray(engine.render(source, size=size, **look)))
    small(picture, name)


def small(picture: Any, name: str, width: int = 720) -> None:
    """Write a picture as PNG of that width in few colours."""
    from PIL import Image

    picture = picture.convert("RGB").resize((width, round(picture.height * width / picture.width)), Image.Resampling.LANCZOS)
    picture.quantize(160, Image.Quantize.MAXCOVERAGE, kmeans=2).save(PICTURES / f"{name}.png", optimize=True)


def demos() -> None:
    """Draw the end of every demo of the gallery."""
    from PIL import Image

    with tempfile.TemporaryDirectory() as folder:
        for name, arguments in DRAWN.items():
            path = Path(folder) / f"{name}.png"
            subprocess.run([sys.executable, DEMOS / f"{name}.py", *arguments, "--out", folder, "--video", path], check=True)
            small(Image.open(path), f"demo-{name}", 480)


# ---------------------------------------------------------------- diagrams


def canvas(x: tuple[float, float], y: tuple[float, float], unit: float = 1.0) -> tuple[Any, Any]:
    """Return a figure without axes that shows that much of the plane, a unit being so many inches."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "engine"                             # the same file each time
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=((x[1] - x[0]) * unit, (y[1] - y[0]) * unit))
    axes = figure.add_axes((0, 0, 1, 1), xlim=x, ylim=y)
    axes.axis("off")
    return figure, axes


def save(figure: Any, name: str) -> None:
    """Write a diagram as SVG."""
    figure.savefig(PICTURES / f"{name}.svg", metadata={"Date": None}, facecolor="white")


def arrow(axes: Any, start: Any, step: Any, color: str, text: str = "", off: Any = (0.06, 0.06)) -> None:
    """Draw an arrow and its name."""
    end = np.add(start, step)
    axes.annotate("", xy=end, xytext=start, arrowprops={"arrowstyle": "-|>", "color": color, "lw": 1.8, "shrinkA": 0, "shrinkB": 0})
    axes.text(*np.add(end, off), text, color=color, fontsize=12)


def tripod(axes: Any, at: Any, angle: float, name: str, x: str, y: str, size: float = 0.7) -> None:
    """Draw a frame's x and y axes."""
    c, s = np.cos(angle), np.sin(angle)
    arrow(axes, at, (size * c, size * s), RED, x)
    arrow(axes, at, (-size * s, size * c), GREEN, y)
    axes.plot(*at, "o", color="black", ms=4)
    axes.text(at[0] - 0.12, at[1] - 0.24, name, fontsize=12, ha="center")


def jacobians() -> None:
    """Draw where the three frames of a Jacobian stand and how they are turned."""
    figure, axes = canvas((-0.8, 7.2), (-1.7, 2.8))
    at, turn = np.array([3.0, 0.9]), 0.5
    tripod(axes, (0.0, 0.0), 0.0, "world origin", "x", "y")
    axis, across = np.array([np.cos(turn), np.sin(turn)]), np.array([-np.sin(turn), np.cos(turn)])
    link = np.array([at + x * axis + y * across for x, y in ((-0.5, -0.35), (1.9, -0.35), (1.9, 0.35), (-0.5, 0.35))])
    axes.fill(*link.T, color="#dfe6ee", ec=GREY)
    tripod(axes, at, turn, "", "x", "y", 0.6)
    axes.text(3.0, 0.2, "link's origin", fontsize=12)
    p = at + 1.5 * axis
    axes.plot(*p, "o", color=BLUE, ms=6)
    axes.text(*(p + (-0.3, -0.85)), "point p", color=BLUE, fontsize=12)
    for x, text in ((0.0, '"world": the world\'s axes,\nabout the world\'s origin'), (2.75, '"body": the link\'s axes, at p'),
                    (5.2, '"world_aligned":\nthe world\'s axes, at p')):  # fmt: skip
        axes.text(x - 0.2, -1.0, text, fontsize=10, va="top")
    tripod(axes, p + (1.7, 0.0), 0.0, "", "x", "y", 0.6)
    axes.plot([p[0] + 0.12, p[0] + 1.6], [p[1], p[1]], ":", color=GREY)
    save(figure, "jacobians")


def coordinates() -> None:
    """Draw what the entries of q and v of a floating robot are."""
    figure, axes = canvas((-2.0, 12.4), (-0.7, 2.5), 0.55)
    rows = {"q  (nq)": [("qw qx qy qz", 4, RED), ("px py pz", 3, BLUE), ("joints: rad, m", 5, GREY)],
            "v  (nv)": [("ωx ωy ωz", 3, RED), ("vx vy vz", 3, BLUE), ("joints: rad/s, m/s", 5, GREY)]}  # fmt: skip
    below = {"q  (nq)": ("attitude, body → world", "origin, world axes", ""), "v  (nv)": ("body axes", "of the origin, body axes", "")}
    for y, (name, parts) in zip((1.5, 0.0), rows.items(), strict=True):
        x = 0.0
        axes.text(-0.3, y + 0.35, name, ha="right", va="center", fontsize=12)
        for (text, n, color), note in zip(parts, below[name], strict=True):
            axes.fill([x, x + n, x + n, x], [y, y, y + 0.7, y + 0.7], color=color, alpha=0.18, ec=color)
            axes.text(x + n / 2, y + 0.35, text, ha="center", va="center", fontsize=11)
            axes.text(x + n / 2, y - 0.3, note, ha="center", va="center", fontsize=8.5, color="#444")
            x += n
    save(figure, "coordinates")


def motions() -> None:
    """Draw that small motions stand on the right: a step d is in the moving body's axes."""
    figure, axes = canvas((-0.7, 7.6), (-0.6, 2.6))
    tripod(axes, (0.0, 0.0), 0.0, "world", "", "", 0.5)
    tripod(axes, (1.6, 0.5), 0.6, "q", "x", "y", 0.7)
    d = 1.9 * np.array([np.cos(0.6), np.sin(0.6)])
    arrow(axes, (1.6, 0.5), 0.98 * d, BLUE, "")
    axes.text(2.9, 0.9, "d, along the body's x", color=BLUE, fontsize=11)
    tripod(axes, np.add((1.6, 0.5), d), 0.6, "", "x", "y", 0.7)
    axes.text(4.9, 1.2, "q ⊕ d = q · exp(d)", fontsize=12)
    axes.text(4.9, 0.75, "minus(q, q ⊕ d) = d", fontsize=12)
    save(figure, "motions")


ALL = {f.__name__: f for f in (frames, recoil, eyes, lessons, jacobians, coordinates, motions, demos)}

if __name__ == "__main__":
    for chosen in sys.argv[1:] or ALL:
        ALL[chosen]()
