"""Contacts of meshes that are not convex: what falls into a cup rests in it, and a ring hangs on a peg."""

import warnings

import numpy as np
import pytest
import trimesh

import engine
from engine.io import decomposition
from engine.model import Geometry
from engine.simulation.contacts import shapes_of
from engine.spatial import inertia, quaternion, se3, so3
from tests.contact.scenes import UPRIGHT, ball, material, simulator
from tests.meshes import cup, l_shape, torus, written


def mesh_body(mesh, path, name, mass=1.0, fixed=False):
    """A rigid body of a mesh, or one that stands still."""
    builder = engine.Builder(name)
    shapes = [Geometry("mesh", (1.0, 1.0, 1.0), mesh=written(mesh, path))]
    builder.add_link(name, inertia=inertia.from_mesh(mesh, mass / mesh.volume), collisions=shapes)
    if fixed:
        builder.add_link("mark", inertia=inertia.sphere(1.0, 0.1))
        builder.add_joint("turn", "revolute", name, "mark")
    return builder.model(floating_base=not fixed)


def test_a_ball_falls_into_a_cup_and_rests_on_its_bottom(tmp_path):
    """At the height of the bottom and its radius, less what its weight presses: m g / k, by the stiffness of two alike surfaces."""
    bottom, r, m, k = 0.005, 0.015, 0.1, 1e5
    model = engine.combine(cup=mesh_body(cup(bottom=bottom), tmp_path / "cup.stl", "cup", fixed=True), ball=ball(r, m))
    sim = simulator(model, material(k, 5.0), ground=False, pairs=[("cup/cup", "ball/ball")], dt=5e-4)
    run = sim.run([0.0, *UPRIGHT, 0.01, 0.0, 0.06], np.zeros(7), 0.8, record_every=100)
    names = run("contacts.names")
    assert 2 <= len(names) <= 12 and all(n.startswith("cup/cup:ball/ball#") for n in names)
    assert abs(run.q[-1, 7] - (bottom + r - m * 9.81 / k)) < 2e-4             # its bottom is cut as fine
    assert np.abs(run.v[-1]).max() < 1e-2
    assert np.abs(run("contacts.force")[-1].sum(axis=0) - [0.0, 0.0, m * 9.81]).max() < 0.02 * m * 9.81


def test_a_ring_hangs_on_a_peg(tmp_path):
    """Its tube's top lies on the peg: the ring's centre is below by the radius of its hole; its hull would lie beside it."""
    R, tube, peg = 0.1, 0.03, 0.01
    builder = engine.Builder("wall")
    along_y = se3.pose(so3.exp([np.pi / 2, 0.0, 0.0]), np.zeros(3))
    builder.add_link("wall", collisions=[Geometry("capsule", (peg, 0.4), along_y)])
    builder.add_link("mark", inertia=inertia.sphere(1.0, 0.1))
    builder.add_joint("turn", "revolute", "wall", "mark")
    ring = torus(R, tube)
    model = engine.combine(wall=builder.model(), ring=mesh_body(ring, tmp_path / "ring.stl", "ring"))
    sim = simulator(model, material(1e5, 5.0, 0.5), ground=False, pairs=[("wall/wall", "ring/ring")], dt=5e-4)
    upright = quaternion.exp(np.array([np.pi / 2, 0.0, 0.0]))                 # its axis is the peg's
    hole, slack = R - tube, decomposition.convex_parts(ring).beyond
    run = sim.run([0.0, *upright, 0.0, 0.0, -(hole - peg - slack)], np.zeros(7), 0.5, record_every=100)
    assert -(hole - peg) - 1e-3 < run.q[-1, 7] < -(hole - peg) + slack
    assert abs(run("contacts.force")[-1].sum(axis=0)[2] - 9.81) < 0.05 * 9.81


# ---------------------------------------------------------------- what is said


def shapes(mesh, path, scale=(1.0, 1.0, 1.0)):
    return shapes_of("hook", Geometry("mesh", scale, mesh=written(mesh, path)))


def test_what_is_close_is_said_nothing_of(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(shapes(l_shape(), tmp_path / "l.stl")) == 2 and len(shapes(trimesh.creation.box(), tmp_path / "box.stl")) == 1


def test_without_the_library_a_warning_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(decomposition, "library", lambda: "")
    monkeypatch.setattr("engine.simulation.contacts.library", lambda: "")
    said = (r"link 'hook': a mesh of 0\.29 m is not convex; its convex hull counts, which reaches up to 0\.07\d* m beyond it; expected "
            r"coacd to take it apart \(pip install coacd\), or several convex shapes")  # fmt: skip
    with pytest.warns(engine.SimulationWarning, match=said):
        assert len(shapes(l_shape(), tmp_path / "l.stl")) == 1


def test_parts_that_are_not_close_are_told_with_figures(tmp_path, monkeypatch):
    """A hundredth of the size is too much for parts of a torus: those of eight chords."""
    monkeypatch.setattr(decomposition, "CONVEX", 0.01)
    said = (r"link 'hook': a mesh of 0\.37 m is not convex; its \d convex parts count, which reach up to 0\.00\d* m beyond it and leave up "
            r"to \S+ m of it out; expected several convex shapes, where that matters")  # fmt: skip
    with pytest.warns(engine.SimulationWarning, match=said):
        assert len(shapes(torus(), tmp_path / "torus.stl")) > 1


def test_a_mesh_that_encloses_nothing_names_its_link(tmp_path):
    flat = trimesh.Trimesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0.0]], [[0, 1, 2], [0, 2, 3]])
    for scale, mesh in (((1.0, 1.0, 1.0), flat), ((1.0, 1.0, 0.0), l_shape())):
        with pytest.raises(engine.ContactError, match="link 'hook': a collision shape cannot touch: hull_of: points lie in a plane"):
            shapes(mesh, tmp_path / "flat.stl", scale)
