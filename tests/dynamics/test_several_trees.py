"""Models of several trees, free bodies and arms beside one another, against each of them alone."""

from __future__ import annotations

import dataclasses
import itertools

import networkx as nx
import numpy as np
import pytest
import scipy.linalg

import engine
from engine import Model, ModelError, dynamics
from engine.model import Joint, Link
from engine.spatial import se3
from tests.dynamics.support import error, floats, sensitivity
from tests.numeric import check_lives
from tests.trees import random_tree

Array = np.ndarray
GRAVITY = (0.3, -9.0, 3.0)
#: whether each tree floats
TREES = {"two free bodies": [True, True], "a box beside an arm": [True, False], "an arm beside a box": [False, True],
         "three": [True, False, True]}  # fmt: skip


def side_by_side(models: list[Model]) -> Model:
    """One model of all: links and joints named 'k/name', roots on a link that is the world, by a floating joint where they float."""
    graph = nx.DiGraph(name="several")
    graph.add_node("world", link=Link("world"))
    for k, model in enumerate(models):
        named = lambda name, k=k: f"{k}/{name}"
        for link in model.links:
            graph.add_node(named(link.name), link=dataclasses.replace(link, name=named(link.name)))
        root = Joint(named("root"), "floating" if floats(model) else "fixed", "world", named(model.links[0].name))
        for joint in (root, *[j for j in model.joints if j.parent]):
            own = joint if joint is root else dataclasses.replace(
                joint, name=named(joint.name), parent=named(joint.parent), child=named(joint.child),
                mimic=joint.mimic and dataclasses.replace(joint.mimic, source=named(joint.mimic.source)))  # fmt: skip
            graph.add_edge(own.parent, own.child, joint=own)
    return Model.from_graph(graph)


class Several:
    """Trees in random states, alone and side by side."""

    def __init__(self, which: str, mimics: float = 0.0) -> None:
        rng = np.random.default_rng(list(TREES).index(which))
        self.alone = [random_tree(rng, 1 if f and k else 6, floating_base=f, mimics=mimics) for k, f in enumerate(TREES[which])]
        self.model = side_by_side(self.alone)
        self.states = [m.random(rng) for m in self.alone]
        self.q, self.v = (np.concatenate([s[i] for s in self.states]) for i in range(2))
        self.rng = rng

    def split(self, x: Array) -> list[Array]:
        return np.split(x, np.cumsum([m.nv for m in self.alone])[:-1])

    def each(self, function, *options) -> list:
        """The function of (q, v) of every tree alone."""
        return [function(m, *s, *options) for m, s in zip(self.alone, self.states, strict=True)]

    def each_q(self, function, *options) -> list:
        """The function of q of every tree alone."""
        return [function(m, s[0], *options) for m, s in zip(self.alone, self.states, strict=True)]


@pytest.fixture(params=TREES)
def several(request: pytest.FixtureRequest) -> Several:
    return Several(request.param)


def test_trees(several: Several) -> None:
    model = several.model
    assert len(model.trees) == len(model.roots) >= len(several.alone) > 1
    assert sum(map(len, model.trees)) == len(model.bodies)
    assert model.base is None and not model.floats


def test_sums(several: Several) -> None:
    model, q, v = several.model, several.q, several.v
    assert error(dynamics.energy(model, q, v, GRAVITY), np.sum(several.each(dynamics.energy, GRAVITY), axis=0)) < 1e-14
    assert error(dynamics.momentum(model, q, v), sum(several.each(dynamics.momentum))) < 1e-14
    masses = [dynamics.total_mass(m) for m in several.alone]
    assert error(dynamics.total_mass(model), sum(masses)) < 1e-15
    assert error(dynamics.center_of_mass(model, q), np.average(several.each_q(dynamics.center_of_mass), axis=0, weights=masses)) < 1e-14


def test_blocks(several: Several) -> None:
    model, q, v = several.model, several.q, several.v
    assert error(dynamics.crba(model, q), scipy.linalg.block_diag(*several.each_q(dynamics.crba))) < 1e-15
    assert error(dynamics.coriolis(model, q, v), scipy.linalg.block_diag(*several.each(dynamics.coriolis))) < 1e-15
    assert error(dynamics.momentum_matrix(model, q), np.hstack(several.each_q(dynamics.momentum_matrix))) < 1e-15
    assert error(dynamics.momentum_matrix_dot(model, q, v), np.hstack(several.each(dynamics.momentum_matrix_dot))) < 1e-15


def test_about_the_centre_of_mass_of_all(several: Several) -> None:
    """The angular rows are about one point, which no tree knows by itself: A_ω − [c] A_v, and its rate."""
    model, q, v = several.model, several.q, several.v
    P, c = dynamics.momentum(model, q, v), dynamics.center_of_mass(model, q)
    A, Adot = dynamics.centroidal_momentum_matrix(model, q), dynamics.centroidal_momentum_matrix_dot(model, q, v)
    assert error(A @ v, np.concatenate([P[:3] - np.cross(c, P[3:]), P[3:]])) < 1e-13
    step = 1e-5
    after, before = (dynamics.centroidal_momentum_matrix(model, model.integrate(q, v, h)) for h in (step, -step))
    assert error(Adot, (after - before) / (2 * step)) < 1e-8


def test_kinematics(several: Several) -> None:
    model, q, v = several.model, several.q, several.v
    poses, twists = dynamics.forward_kinematics(model, q), dynamics.twists(model, q, v)
    np.testing.assert_array_equal(poses[0], np.eye(4))
    assert error(poses[1:], np.concatenate(several.each_q(dynamics.forward_kinematics))) < 1e-15
    assert not twists[0].any()
    assert error(twists[1:], np.concatenate(several.each(dynamics.twists))) < 1e-15
    for k, m in enumerate(several.alone):
        name = m.links[-1].name
        J, own = dynamics.jacobian(model, q, f"{k}/{name}"), dynamics.jacobian(m, several.states[k][0], name)
        assert error(several.split(J.T)[k].T, own) < 1e-15 and np.count_nonzero(J) == np.count_nonzero(own)
        at = model.link_index(f"{k}/{name}")
        assert error(dynamics.jacobian(model, q, f"{k}/{name}", "world") @ v, se3.Ad(poses[at]) @ twists[at]) < 1e-13


def test_motion_and_forces(several: Several) -> None:
    model, q, v, rng = several.model, several.q, several.v, several.rng
    vdot, wrenches = rng.standard_normal(model.nv), rng.standard_normal((len(model.links), 6))
    ends = np.cumsum([1, *[len(m.links) for m in several.alone]])
    F = [wrenches[i:j] for i, j in itertools.pairwise(ends)]
    parts = zip(several.alone, several.states, several.split(vdot), F, strict=True)
    tau = dynamics.rnea(model, q, v, vdot, GRAVITY, wrenches)
    assert error(tau, np.concatenate([dynamics.rnea(m, *s, a, GRAVITY, f) for m, s, a, f in parts])) < 1e-15
    back, M = dynamics.aba(model, q, v, tau, GRAVITY, wrenches), dynamics.crba(model, q)
    assert error(back, vdot, sensitivity(M, tau)) < 1e-14


def test_one_tree_does_not_feel_another() -> None:
    """Free bodies fall with g, whatever beside them does; 5 m in the first second at 10 m/s²."""
    several = Several("two free bodies")
    model, g = several.model, np.array([0.0, 0.0, -10.0])
    vdot = dynamics.aba(model, model.neutral(), np.zeros(model.nv), np.zeros(model.nv), g)
    for k, part in enumerate(several.split(vdot)):
        own = np.linalg.norm(part[3:6] - g)
        assert own < 1e-12, f"tree {k}"


@pytest.mark.parametrize("which", TREES)
def test_functions_of_one_floating_base_say_so(which: str) -> None:
    several = Several(which)
    model, q, v = several.model, several.q, several.v
    calls = [lambda: dynamics.free_floating_inertia(model, q), lambda: dynamics.free_floating_bias(model, q, v),
             lambda: dynamics.base_reaction(model, q, v, v),
             lambda: dynamics.floating_inverse_dynamics(model, q, v, v[6:]), lambda: dynamics.reaction_null_space(model, q)]  # fmt: skip
    for call in calls:
        with pytest.raises(ModelError, match=r"'several' moves in the world by '0/.*\), '.*; expected one floating joint that carries all "
                           r"the others, as load_urdf\(..., floating_base=True\) makes, or one tree alone, model.tree\('0'\).model"):
            call()


@pytest.mark.parametrize("which", TREES)
def test_one_tree_of_several_is_it_alone(which: str) -> None:
    """By its name, or by any link of it: the same functions of its part of the state, rotors and all, and J* of the whole forest's link."""
    several = Several(which, mimics=0.3)
    model = several.model.with_armature(np.arange(several.model.nv) / 7.0)
    assert model.tree_names == tuple(map(str, range(len(several.alone)))) and all(len(m.tree_names) == 1 for m in several.alone if m.floats)
    place = 0
    for k, (m, (q, v)) in enumerate(zip(several.alone, several.states, strict=True)):
        tree, link = model.tree(str(k)), f"{k}/{m.links[-1].name}"
        assert model.tree(link) is tree and tree.model.floats == floats(m)
        np.testing.assert_array_equal(several.q[tree.q], q)
        np.testing.assert_array_equal(several.v[tree.v], v)
        a = m.with_armature(model.armature[place : place + m.nv])
        np.testing.assert_array_equal(tree.model.armature, model.armature[place : place + m.nv])
        for f in (dynamics.crba, dynamics.center_of_mass):
            assert error(f(tree.model, q), f(a if f is dynamics.crba else m, q)) < 1e-14
        assert error(dynamics.aba(tree.model, q, v, v), dynamics.aba(a, q, v, v), sensitivity(dynamics.crba(a, q), v)) < 1e-13
        if tree.model.floats:
            J = dynamics.generalized_jacobian(m, q, m.links[-1].name)
            assert error(dynamics.generalized_jacobian(several.model, several.q, link), J) < 1e-13
            assert error(engine.compile(several.model).generalized_jacobian(several.q, link), J) < 1e-13
            one, all_ = (dynamics.dynamic_singularity(*given, "linear") for given in ((m, q, m.links[-1].name),
                                                                                     (several.model, several.q, link)))  # fmt: skip
            assert abs(one - all_) < 1e-12
        place += m.nv


def test_trees_that_are_not_there() -> None:
    model = Several("three").model
    with pytest.raises(ModelError, match=r"no tree '3' in 'several'.*; expected one of '0', '1', '2', or a link of one"):
        model.tree("3")
    with pytest.raises(ModelError, match=r"no tree None in 'several'"):
        model.tree(None)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match=r"no tree 'world' in 'several'"):
        model.tree("world")
    with pytest.raises(ModelError, match=r"'1' moves in the world by '1/.*expected one floating joint that carries all the others"):
        dynamics.generalized_jacobian(model, model.neutral(), "1/l6")


def test_plain_is_interpreted_is_compiled() -> None:
    several = Several("three", mimics=0.5)
    model = several.model
    q, v = (np.array(x) for x in zip(*[model.random(several.rng) for _ in range(5)], strict=True))
    check_lives(lambda q, v: (dynamics.rnea(model, q, v, v), dynamics.momentum(model, q, v), dynamics.energy(model, q, v)[0],
                              dynamics.center_of_mass(model, q)), q, v)  # fmt: skip
