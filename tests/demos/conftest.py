"""Demos run as scripts are, in this process: they share what is compiled, the renderer and matplotlib."""

import functools
import itertools
import runpy
import sys
from pathlib import Path

import pytest
from matplotlib import pyplot
from PIL import Image

import engine

DEMOS = Path(__file__).parents[2] / "demos"
SIZE = (320, 180)


@pytest.fixture
def demo(monkeypatch, capfd, tmp_path):
    """demo(name, *arguments, looks=True): what a demo prints that writes to ``tmp_path``, and draws a small picture of the motion's end."""
    monkeypatch.syspath_prepend(DEMOS)
    monkeypatch.setattr(engine, "render", functools.partial(engine.render, size=SIZE))

    def run(name, *arguments, looks=True):
        picture = tmp_path / "seen" / f"{name}.png"
        video = ("--video", picture) if looks else ()
        monkeypatch.setattr(sys, "argv", [f"{name}.py", *map(str, ("--out", tmp_path, *video, *arguments))])
        runpy.run_path(str(DEMOS / f"{name}.py"), run_name="__main__")
        for figure in map(pyplot.figure, pyplot.get_fignums()):
            check_axes(figure)
        pyplot.close("all")
        said = capfd.readouterr()
        assert not said.err
        plots = [*tmp_path.glob("*.png")]
        assert plots and all(plot.stat().st_size > 20_000 for plot in plots)
        if looks:
            assert f"wrote {picture}\n" in said.out and colors(picture) > 100
        return said.out

    return run


def colors(picture):
    """How many there are in the middle of a picture, where the robot is."""
    with Image.open(picture) as image:
        assert image.size == SIZE
        return len(image.convert("RGB").crop((80, 45, 240, 135)).getcolors(1 << 20))


def check_axes(figure):
    """What a figure is drawn over is said below it, and no number of an axis lies on its neighbour."""
    assert any(axes.get_xlabel() for axes in figure.axes)
    figure.canvas.draw()
    for axes in figure.axes:
        for axis in axes._axis_map.values():
            low, high = sorted(axis.get_view_interval())
            ticks = [tick.label1 for tick in axis.majorTicks if low <= tick.get_loc() <= high and tick.label1.get_visible()]
            boxes = [text.get_window_extent() for text in (*ticks, axis.label) if text.get_text()]
            assert not any(a.shrunk(0.9, 0.9).overlaps(b) for a, b in itertools.combinations(boxes, 2))
