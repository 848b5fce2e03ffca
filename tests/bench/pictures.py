"""Pictures and films without a graphics card, and what a window costs a simulation."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import engine
from engine.viewer.draw import Renderer, open_window
from engine.viewer.scene.scene import Scene
from tests.bench.robots import FREE_FLYER, ROBOTS, Missing, file

if TYPE_CHECKING:
    from tests.bench.__main__ import Table


def pictures(table: Table) -> None:
    """Pictures to the second at 1280 × 720 off screen, robots moving under a camera that stands still; to the first picture; a film; and
    how fast a simulation runs in a process whose window is open."""
    rng, size, panda_file = np.random.default_rng(0), (1280, 720), file("Panda")[0]
    panda = engine.load_urdf(panda_file)
    talos = engine.load_urdf(ROBOTS / "talos_data/robots/talos_full_v2.urdf", floating_base=True)
    flyer = engine.load_urdf(FREE_FLYER, floating_base=True)

    def motion(model: engine.Model, duration: float, batch: tuple[int, ...] = ()) -> engine.Trajectory:
        q, v = np.broadcast_to(model.neutral(), (*batch, model.nq)).copy(), 0.3 * rng.standard_normal((*batch, model.nv))
        if batch:
            q[..., 4:7] = rng.uniform(-25.0, 25.0, (*batch, 3))
        simulator = engine.Simulator(model, dt=2e-3, gravity=(0, 0, 0), joint_dynamics=False)
        return simulator.run(q, v, duration, record_every=max(round(duration * 50), 5) if batch else 5)

    window = open_window(visible=False, width=16, height=16)
    for name, trajectory, least in (("Panda", motion(panda, 4.0), 35), ("TALOS", motion(talos, 4.0), 25),
                                    ("1000 free-flyers", motion(flyer, 2.0, (1000,)), 6)):  # fmt: skip
        scene = Scene(trajectory, environment="ground" if name != "1000 free-flyers" else None)
        camera, renderer = scene.camera(size), Renderer(0)
        taken = []
        for t in np.linspace(*scene.span, 12 if least == 6 else 60):
            begun = time.perf_counter()
            renderer.draw(scene.drawing(t), camera, size)
            renderer.pixels()
            taken.append(time.perf_counter() - begun)
        rate = 1 / statistics.median(taken[2:])
        table.add("pictures", f"{name}, 1280 x 720", rate, "pictures/s", f">= {least}", rate >= least)
        renderer.delete()
    window.close()

    code = ("import time; t = time.perf_counter(); import engine; "
            f"engine.render(engine.load_urdf({str(panda_file)!r}), samples=0); print(time.perf_counter() - t)")  # fmt: skip
    usual = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    first = statistics.median(
        float(subprocess.run([sys.executable, "-c", code], env=usual, capture_output=True, text=True, check=True).stdout) for _ in range(5))
    table.add("pictures", "Panda, from a file to the first picture", first, "s", "< 2", first < 2)
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        engine.render(motion(panda, 10.0), Path(folder) / "film.mp4")
        taken_film = time.perf_counter() - begun
    table.add("pictures", "Panda, a film of 10 s, 30 pictures/s", taken_film, "s", "< 12", taken_film < 12)

    code = ("import numpy as np, time, engine; from engine.simulation import Live; "
            f"model = engine.load_urdf({str(panda_file)!r}); simulator = engine.Simulator(model, dt=1e-3); "
            "live = Live(simulator, model.neutral(), np.zeros(model.nv)); window = engine.Viewer(live) if {window} else None\n"
            "def wait(s):\n    end = time.perf_counter() + s\n    while time.perf_counter() < end:\n"
            "        window.frame() if window else time.sleep(0.01)\n"
            "wait(3); t, begun = live.state.t, time.perf_counter(); wait(6)\n"
            "print((live.state.t - t) / (time.perf_counter() - begun)); (window or live).close()")  # fmt: skip
    if shutil.which("xvfb-run") is None:
        raise Missing("a live Panda with its window open: xvfb-run is not there; expected it: apt install xvfb")
    display = ["xvfb-run", "-a", "-s", "-screen 0 1400x1000x24", sys.executable, "-c"]
    alone, watched = (float(subprocess.run([*display, code.replace("{window}", w)], capture_output=True, text=True, check=True).stdout)
                      for w in ("False", "True"))  # fmt: skip
    table.add("pictures", "a live Panda with its window open", watched / alone, "x without", ">= 0.9", watched >= 0.9 * alone)
