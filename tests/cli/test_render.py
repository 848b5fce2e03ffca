"""``engine render``: pictures and films."""

import contextlib
import os
import pty
import subprocess
import sys
from pathlib import Path

import numpy as np

import engine
from tests.cli.commands import ROBOT, run, swung


def pixels(path) -> np.ndarray:
    from PIL import Image

    with Image.open(path) as picture:
        return np.array(picture.convert("RGB")).astype(int)


def test_render_a_picture(here, capsys):
    trajectory = swung()
    small = ("--size", "160x120", "--environment", "plain")
    assert run("render", "run.h5", "end.png", *small) == run("render", "run.h5", "new/begin.png", "--time", 0, *small) == 0
    assert capsys.readouterr().out == "end.png: a picture of 160 × 120 pixels\nnew/begin.png: a picture of 160 × 120 pixels\n"
    own = engine.render(trajectory, size=(160, 120), environment="plain")
    assert np.array_equal(pixels("end.png"), own) and (pixels("new/begin.png") != own).any()
    assert run("render", "run.h5", "end.png", "--view", "left", "--overwrite", *small) == 0 and (pixels("end.png") != own).any()
    assert run("render", "run.h5", "shapes.png", "--view", "left", "--collision", *small) == 0
    assert (pixels("shapes.png") != pixels("end.png")).any()
    assert {p.name for p in here.iterdir()} == {"robot.urdf", "run.h5", "end.png", "shapes.png", "new"}


def test_render_plots_and_bars_where_one_likes(here, capsys):
    trajectory = swung()
    small = ("--size", "640x480", "--environment", "plain", "--samples", 0)
    assert run("render", "run.h5", "a.png", "--signal", "q.elbow,q.shoulder", "--plots", "lower left", "--bars", "energy", *small) == 0
    own = engine.render(trajectory, size=(640, 480), environment="plain", samples=0, signals=[("q.elbow", "q.shoulder")],
                        plots="lower left", bars=["energy"])  # fmt: skip
    assert np.array_equal(pixels("a.png"), own)
    assert run("render", "run.h5", "b.png", "--signal", "q.elbow", "--plots", "middle", *small) == 2
    assert "'middle'" in capsys.readouterr().err
    assert run("render", "run.h5", "b.png", "--bars", "heat", *small) == 2 and "heat" in capsys.readouterr().err


def test_render_several_views(here, capsys):
    small = ("--size", "160x80", "--environment", "plain")
    assert run("render", "robot.urdf", "both.png", "--view", "front", "--view", "90,-15.5", *small) == 0
    own = engine.render(engine.load_urdf("robot.urdf"), size=(160, 80), environment="plain", view=["front", np.radians((90, -15.5))])
    assert np.array_equal(pixels("both.png"), own)
    assert run("render", "robot.urdf", "a.webp", "--view", "-30,15", *small) == 0 and pixels("a.webp").shape == (80, 160, 3)
    for text, said in (("fornt", "there is no 'fornt' (did you mean 'front'?); expected one of front, back"),
                       ("1,2,3", "in degrees, such as 30,15"), ("1,nan", "there is no '1,nan'")):  # fmt: skip
        assert run("render", "robot.urdf", "b.png", "--view", text) == 2
        assert said in " ".join(capsys.readouterr().err.replace("│", " ").split())


def test_render_a_film(here, capsys):
    import av

    swung()
    assert run("render", "run.h5", "run.mp4", "--size", "160x120", "--fps", 20, "--speed", 0.5, "--follow", "fore") == 0
    assert capsys.readouterr().out == "run.mp4: 21 frames, 1.05 s of 160 × 120 pixels\n"
    with av.open("run.mp4") as film:
        frames = [f.to_ndarray(format="rgb24").astype(int) for f in film.decode(video=0)]
        assert film.streams.video[0].average_rate == 20
    assert len(frames) == 21 and frames[0].shape == (120, 160, 3) and abs(frames[0] - frames[-1]).max() > 50
    assert run("render", "run.h5", "f%02d.png", "--size", "80x60", "--fps", 4) == 0
    assert sorted(p.name for p in here.glob("f*.png")) == ["f00.png", "f01.png", "f02.png"]


def test_a_terminal_sees_how_far_a_film_is(here):
    swung(duration=0.1)
    own, other = pty.openpty()
    with subprocess.Popen([sys.executable, "-m", "engine", "render", "run.h5", "run.gif", "--size", "80x60"], stdout=other) as process:
        os.close(other)
        text = b""
        with contextlib.suppress(OSError):
            while piece := os.read(own, 1000):
                text += piece
        assert process.wait() == 0
    os.close(own)
    assert b"4/4 frames" in text and b"run.gif: 4 frames" in text


def test_a_film_that_is_interrupted_leaves_what_was_there(here, monkeypatch, capsys):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    Path("run.mp4").write_bytes(b"an older film")
    swung(duration=0.1)
    monkeypatch.setattr(engine, "render", interrupted)
    assert run("render", "run.h5", "run.mp4", "--overwrite") == 130 and capsys.readouterr().err == "engine: interrupted\n"
    assert Path("run.mp4").read_bytes() == b"an older film" and {p.name for p in here.iterdir()} == {"robot.urdf", "run.h5", "run.mp4"}


def test_a_texture_that_is_not_there_is_a_note(here, capsys):
    Path("box.obj").write_text("mtllib none.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n")
    Path("box.urdf").write_text(ROBOT.replace('<box size="0.4 0.1 0.1"/>', '<mesh filename="box.obj"/>'))
    assert run("render", "box.urdf", "box.png", "--size", "80x60") == 0
    out, err = capsys.readouterr()
    assert out == "box.png: a picture of 80 × 60 pixels\n" and err.startswith("note: ") and "none.mtl" in err and err.count("\n") == 1
