"""The window on a virtual display, its scenarios (desk.py, hands.py) a few to a process; what is said where nothing can be drawn."""

import os
import shutil
import subprocess
import sys

import pytest

NEEDS = "expected Xvfb, xdotool and Mesa's software OpenGL: apt install xvfb xdotool libegl1 libgl1-mesa-dri libglx-mesa0"


def run(code, *command, **variables):
    done = subprocess.run([*command, sys.executable, "-W", "error", *code], capture_output=True, text=True, timeout=300,
                          env={**os.environ, **variables})  # fmt: skip
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("scenarios", ["desk trajectory joints live pilot", "desk again playing", "desk examples",
                                       "hands handles panel rollouts real", "hands files records plots"])
def test_at_the_window(scenarios):
    assert shutil.which("xvfb-run") and shutil.which("xdotool"), NEEDS
    script, *names = scenarios.split()
    status, out, error = run(["-m", f"tests.viewer.{script}", *names], "xvfb-run", "-a", "-s", "-screen 0 1000x700x24")
    assert status == 0 and out.split() == [*names, "done"], out + error


PICTURE = """
import sys, numpy as np, engine
model = engine.load_urdf(engine.example("free_flyer"), floating_base=True)
np.save(sys.argv[1], engine.render(model, size=(200, 150), environment="space"))
"""


def test_the_same_pixels_with_a_display_and_without(tmp_path):
    import numpy as np

    for name, command in (("with", ["xvfb-run", "-a"]), ("without", [])):
        variables = {} if command else {"DISPLAY": ""}
        status, _, error = run(["-c", PICTURE, str(tmp_path / f"{name}.npy")], *command, **variables)
        assert status == 0, error
    assert np.array_equal(np.load(tmp_path / "with.npy"), np.load(tmp_path / "without.npy"))


@pytest.mark.parametrize(("code", "variables", "said"), [
    ("engine.view(model)", {"DISPLAY": ""}, "there is no display to open a window on"),
    ("engine.render(model, 'x.png')", {"DISPLAY": "", "MESA_GL_VERSION_OVERRIDE": "2.1"}, "expected OpenGL 3.3 or newer"),
])  # fmt: skip
def test_where_nothing_can_be_drawn_one_sentence_says_so(tmp_path, code, variables, said):
    setting = "import engine\nmodel = engine.load_urdf(engine.example('free_flyer'), floating_base=True)\n"
    caught = f"try:\n    {code}\nexcept engine.ViewerError as error:\n    print(error)\n"
    status, out, error = run(["-c", setting + caught], **variables)
    assert status == 0, error
    assert said in out and out.count("\n") == 1


REFUSED = """
import pyglet, engine
from engine.viewer.draw.opengl import settle
model = engine.load_urdf(engine.example("free_flyer"), floating_base=True)
settle()
pyglet.options.headless = True
try:
    engine.view(model)
except engine.ViewerError as error:
    print(str(error).partition(";")[0])
pyglet.options.headless = False
viewer = engine.Viewer(model, (160, 120))
viewer.frame()
print(viewer.picture().shape)
viewer.close()
"""


def test_a_window_that_was_refused_settles_nothing():
    """Where pyglet's option is put back a window opens: what refused it has not loaded EGL's windows in the desktop's place."""
    status, out, error = run(["-c", REFUSED], "xvfb-run", "-a")
    assert status == 0 and out == "there is no display to open a window on\n(120, 160, 3)\n", out + error


@pytest.mark.parametrize("size", [(0, 0), "big", (40000, 40000), (-5, 3), (640.5, 400)])
def test_a_window_of_no_size_is_refused(size):
    import engine

    with pytest.raises(engine.ViewerError, match=r"the size is .*; expected \(width, height\)"):
        engine.Viewer(engine.load_urdf(engine.example("free_flyer")), size)
