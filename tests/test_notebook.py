"""What a notebook shows of models and trajectories: a page that plays, and where nothing can be seen the table alone."""

import builtins
import sys

import numpy as np
import pytest

import engine

BOX = engine.Geometry("box", (0.4, 0.1, 0.1), material=engine.Material("red", (0.8, 0.1, 0.1, 1.0)))
LOST = engine.Geometry("mesh", (1.0, 1.0, 1.0), fault="mesh 'lost.stl' is not there; expected a file")


def arm(*shapes) -> engine.Model:
    builder = engine.Builder("arm <1>")
    builder.add_link("base")
    builder.add_link("rod", inertia=engine.spatial.inertia.from_mass(1.0, [0.2, 0, 0], 0.01 * np.eye(3)), visuals=shapes)
    builder.add_joint("hinge", "revolute", "base", "rod", axis=[0, 1, 0])
    return builder.model()


def swing(model: engine.Model) -> engine.Trajectory:
    return engine.Simulator(model).run([0.3], [1.0], 0.05)


def test_notebooks_find_them():
    model = arm(BOX)
    assert model._repr_html_() == engine.viewer.files.model_html(model)
    motion = swing(model)
    assert motion._repr_html_() == engine.viewer.files.trajectory_html(motion)


@pytest.mark.parametrize("make", [lambda model: model, swing], ids=["model", "trajectory"])
def test_a_page_in_a_frame(make):
    shown = make(arm(BOX))._repr_html_()
    assert shown.count("<iframe") == 1 and "&lt;canvas" in shown and "arm &lt;1&gt;" in shown and "<table" in shown


@pytest.mark.parametrize("make", [lambda model: model, swing], ids=["model", "trajectory"])
@pytest.mark.parametrize(("shapes", "text"), [((), "have no visual shapes"), ((LOST,), "lost.stl&#x27; is not there")],
                         ids=["bare", "lost"])  # fmt: skip
def test_what_cannot_be_seen_is_a_table_and_says_why(make, shapes, text):
    shown = make(arm(*shapes))._repr_html_()
    assert "<iframe" not in shown and text in shown and "<table" in shown


def test_what_cannot_be_seen_is_told_beside_the_rest():
    shown = arm(BOX, LOST)._repr_html_()
    assert "<iframe" in shown and "1 visual shape of &#x27;arm &lt;1&gt;&#x27; is not drawn: mesh &#x27;lost.stl" in shown


def test_a_mesh_that_is_broken(tmp_path):
    for content in (b"", b"solid nothing", bytes(range(256))):
        (tmp_path / "broken.stl").write_bytes(content)
        shown = arm(engine.Geometry("mesh", (1.0, 1.0, 1.0), mesh=tmp_path / "broken.stl"))._repr_html_()
        assert "<iframe" not in shown and "broken.stl" in shown and "hinge" in shown


def test_a_motion_that_diverged():
    motion = swing(arm(BOX))
    motion.q[10:] = np.nan
    shown = motion._repr_html_()
    assert "<iframe" not in shown and "not finite" in shown


def test_progress_without_widgets_is_a_line_of_text(monkeypatch, capsys):
    """Where ipywidgets are missing nothing is asked for: the line is drawn over itself."""
    shell = type("ZMQInteractiveShell", (), {})
    monkeypatch.setattr(builtins, "get_ipython", shell, raising=False)
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    engine.Simulator(arm()).run([0.3], [1.0], 0.05, progress=True)
    out, err = capsys.readouterr()
    assert not err and "simulating" in out and "\r" in out and "50/50 steps" in out

