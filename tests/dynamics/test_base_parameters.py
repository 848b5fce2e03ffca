"""Base parameters: by hand, by what is printed of industrial arms, by Pinocchio's regressor, and what they must be equal to."""

from __future__ import annotations

import dataclasses

import networkx as nx
import numpy as np
import pinocchio as pin
import pytest

import engine
from engine import dynamics
from engine.spatial import inertia
from tests.dynamics.oracle_pinocchio import Pinocchio, from_urdf
from tests.dynamics.support import file, robot
from tests.trees import random_tree


def planar_arm() -> engine.Model:
    """Two links of 0.4 m that turn about z."""
    b = engine.Builder("2R")
    b.add_link("base")
    for name, below, x in (("upper", "base", 0.0), ("fore", "upper", 0.4)):
        T = np.eye(4)
        T[0, 3] = x
        b.add_link(name, inertia=inertia.from_mass(2.0, [0.2, 0.01, 0.0], 0.1 * np.eye(3)))
        b.add_joint(f"to {name}", "revolute", below, name, placement=T, axis=[0, 0, 1])
    return b.model()


def welded(model: engine.Model, *joints: str) -> engine.Model:
    """The model with some joints fixed."""
    graph = nx.DiGraph(name=model.name)
    graph.add_nodes_from(model.graph.nodes(data=True))
    for parent, child, joint in model.graph.edges.data("joint"):
        fixed = dataclasses.replace(joint, kind="fixed", mimic=None) if joint.name in joints else joint
        graph.add_edge(parent, child, joint=fixed)
    return engine.Model.from_graph(graph)


def states(model: engine.Model, count: int, seed: int = 1) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    q = np.array([model.random(rng)[0] for _ in range(count)])
    return q, *rng.standard_normal((2, count, model.nv))


def test_two_links_in_a_plane_by_hand():
    """Khalil & Dombre's Zzj, Xj, Yj of planar arms: the second link's mass goes with the first one's, at the elbow."""
    down = engine.compile(planar_arm(), gravity=(0, -9.81, 0))
    found = engine.base_parameters(down)
    assert {*found.names} == {"Izz.upper + 0.16 m.fore", "mx.upper + 0.4 m.fore", "my.upper", "Izz.fore", "mx.fore", "my.fore"}
    assert repr(found) == "<6 base parameters of 20>" and not found.seen[found.parameters.index("m.upper")]
    level = engine.base_parameters(engine.compile(planar_arm(), gravity=(0, 0, -9.81)))       # nothing pulls in the plane
    assert {*level.names} == {"Izz.upper + 0.16 m.fore", "Izz.fore", "mx.fore", "my.fore"}


def test_rotors_go_with_what_turns_as_they_do():
    names = engine.base_parameters(planar_arm(), ["inertia", "armature", "damping", "friction"]).names
    assert "Izz.upper + 0.16 m.fore + armature.to upper" in names
    assert {"damping.to upper", "damping.to fore", "friction.to upper", "friction.to fore", "armature.to fore"} <= {*names}


@pytest.mark.parametrize(("name", "fixed", "count"), [
    ("ur5", (), 36),                                                           # any 6R arm on a vertical axis with wrists like these
    ("panda", ("panda_finger_joint1", "panda_finger_joint2"), 43),             # Gaz et al., RA-L 2019
])
def test_as_many_as_are_printed(name, fixed, count):
    model = welded(robot(name), *fixed)
    assert len(engine.base_parameters(model)) == count
    assert len(engine.base_parameters(model, ["inertia", "damping", "friction"])) == count + 2 * model.nv


def test_a_puma_has_36():
    """Mayeda, Yoshida & Osuka, IEEE T-RA 1990; Khalil & Bennis 1995 print 36 of its links' parameters without rotors."""
    b = engine.Builder("puma")
    b.add_link("l0")
    dh = [(0.0, 0.0, 0.0), (0.0, -np.pi / 2, 0.2435), (0.4318, 0.0, -0.0934), (-0.0203, np.pi / 2, 0.4331), (0.0, -np.pi / 2, 0.0),
          (0.0, np.pi / 2, 0.0)]  # fmt: skip
    for k, (a, alpha, d) in enumerate(dh, 1):
        b.add_link(f"l{k}", inertia=inertia.box(1.0 + k, [0.1, 0.2, 0.3]))
        R = engine.spatial.so3.exp(np.array([alpha, 0.0, 0.0]))
        T = engine.spatial.se3.pose(R, np.array([a, 0.0, 0.0]) + R @ [0.0, 0.0, d])
        b.add_joint(f"j{k}", "revolute", f"l{k - 1}", f"l{k}", placement=T)
    assert len(engine.base_parameters(b.model())) == 36


@pytest.mark.parametrize(("name", "floating_base"), [("ur5", False), ("kinova", False), ("a1", True)])
def test_as_many_as_by_pinocchio(name, floating_base):
    model = robot(name, floating_base)
    reference = Pinocchio(model, from_urdf(file(name), floating_base), (0.0, 0.0, -9.81))
    rows = [pin.computeJointTorqueRegressor(reference.theirs, reference.data, reference.q(q), reference.v(v), reference.v(vdot))
            for q, v, vdot in zip(*states(model, 60), strict=True)]  # fmt: skip
    Y = np.concatenate(rows)
    lengths = np.linalg.norm(Y, axis=0)
    sizes = np.linalg.svd(Y[:, lengths > 1e-9 * lengths.max()] / lengths[lengths > 1e-9 * lengths.max()], compute_uv=False)
    assert len(engine.base_parameters(model)) == int((sizes > 1e-9 * sizes[0]).sum())


@pytest.mark.parametrize("kinds", [["revolute", "prismatic"], ["universal", "spherical", "screw"], ["planar", "continuous", "floating"]])
def test_they_say_all_that_the_parameters_do(kinds):
    """Y π = Y[:, chosen] B π for other states than those they were found from, and for any π; B has no dependent rows."""
    model = random_tree(np.random.default_rng(3), 5, kinds, mimics=0.3)
    found = engine.base_parameters(model)
    chosen = list(found.chosen)
    for q, v, vdot in zip(*states(model, 3), strict=True):
        Y = dynamics.regressor(model, q, v, vdot)
        Y = Y[:, [dynamics.parameter_names(model).index(n) for n in found.parameters]]
        np.testing.assert_allclose(Y[:, chosen] @ found.B, Y, atol=1e-9 * np.abs(Y).max())
    np.testing.assert_array_equal(found.B[:, chosen], np.eye(len(chosen)))
    by_momentum = engine.base_parameters(model, by="momentum")
    assert by_momentum.parameters == found.parameters and len(by_momentum) > 0


def test_a_free_flyers_momentum_shows_what_its_forces_do_without_gravity():
    """Forces are the rates of momentum: what neither gravity nor momentum shows is the same."""
    model = engine.load_urdf(engine.example("free_flyer"), floating_base=True)
    free = engine.compile(model, gravity=(0, 0, 0))
    ours, theirs = engine.base_parameters(free, by="momentum"), engine.base_parameters(free)
    assert ours.chosen == theirs.chosen
    np.testing.assert_allclose(ours.B, theirs.B, atol=1e-9)
