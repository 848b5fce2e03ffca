"""Masses, inertias, placements and armatures as parameters, beside models that are built so: stiff is what is stiff for them."""

import functools

import numpy as np
import pytest

import engine
from engine.contact import inverse_inertia, shape_mobility
from engine.contact.many.row_laws import RowLaws
from engine.contact.mobility import power_of_two
from engine.simulation.contacts import PairByPair, placed_shapes
from engine.spatial import inertia
from tests.contact.scenes import UPRIGHT, ball, material, simulator
from tests.trees import random_tree

RATIOS = [1e-4, 1e-2, 0.3, 30.0, 1e4]


@functools.cache
def dropped(mass, named=True):
    return simulator(ball(0.1, mass), material(1e5, 0.1), dt=1e-3, parameters={"mass.ball": mass} if named else {})


@pytest.mark.parametrize("mass", RATIOS)
@pytest.mark.filterwarnings("ignore:.*over a tenth of the thinner shape:engine.SimulationWarning")
def test_a_ball_whose_mass_is_a_parameter_bounces_as_one_that_has_it(mass):
    start = [*UPRIGHT, 0, 0, 0.4], np.zeros(6), 0.5
    built, run = dropped(mass, False).run(*start), dropped(1.0).run(*start, parameters={"mass.ball": mass})
    assert np.abs(run.q - built.q).max() < 1e-10                                # a rebound amplifies what rounding does to h² k/m
    assert run.q[260:, 6].max() < 0.4                                           # and rises no higher than it was


def car(mass=1.0, armature=0.0, **joint):
    builder = engine.Builder("slider")
    builder.add_link("base"), builder.add_link("car", inertia=inertia.sphere(mass, 0.1))
    builder.add_joint("x", "prismatic", "base", "car", axis=(1, 0, 0), armature=armature, **joint)
    return builder.model()


@functools.cache
def sliding(what, mode, mass=1.0, armature=0.0, named=("mass.car", "armature.x")):
    joint = {"stop": {"limits": engine.Limits(-0.1, 0.1)}, "held stop": {"limits": engine.Limits(-0.1, 0.1, effort=1e3)},
             "friction": {"friction": 0.5}, "damping": {"damping": 0.5},
             "speed": {"limits": engine.Limits(-np.inf, np.inf, velocity=0.3)}}[what]  # fmt: skip
    model = car(mass, armature, **joint)
    return engine.Simulator(model, dt=1e-3, gravity=(0, 0, 0), joint_dynamics=mode, parameters=dict.fromkeys(named, 1.0))


@pytest.mark.parametrize(("what", "mode"), [("stop", "auto"), ("stop", "explicit"), ("held stop", "implicit"), ("friction", "auto"),
                                            ("damping", "implicit"), ("speed", "implicit")])  # fmt: skip
def test_a_joint_whose_mass_is_a_parameter_moves_as_one_that_has_it(what, mode):
    for mass, armature in ((1e-4, 0.0), (1e-3, 1.0), (1e4, 0.0)):
        built = sliding(what, mode, mass, armature, ()).run([0.0], [1.0], 0.3)
        run = sliding(what, mode).run([0.0], [1.0], 0.3, parameters={"mass.car": mass, "armature.x": armature})
        assert np.abs(run.q - built.q).max() < 1e-11 and np.abs(run.v).max() <= 1.0 + 1e-12


def test_a_traced_power_of_two_is_one():
    """To the bit, as on floats; exp(k log 2) is not."""
    program = engine.compiler.trace(lambda w: np.array([power_of_two(w[0])]), [(1,)])
    for w in (0.0, *2.0 ** np.linspace(-300.0, 300.0, 43)):
        assert engine.compiler.interpret(program, np.array([w]))[0] == power_of_two(w)


@pytest.mark.parametrize("seed", range(4))
def test_mobilities_are_those_of_the_model_with_these_numbers(seed):
    """Of every link's shape, a mean over directions of eᵀ J M⁻¹ Jᵀ e, as a power of two; as a program's too."""
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, 5, ("revolute", "prismatic", "spherical"), floating_base=bool(seed % 2))
    builder = engine.Builder("tree")
    for link in tree.links:
        away = engine.spatial.se3.pose(np.eye(3), rng.normal(size=3))
        builder.add_link(link.name, link.inertia, collisions=[engine.Geometry("sphere", (0.1,), away)])
    for j in tree.joints:
        if j.parent:
            builder.add_joint(j.name, j.kind, j.parent, j.child, j.placement, j.axis, j.axis2)
    model = builder.model(floating_base=bool(seed % 2))
    name = next(link.name for link in reversed(model.links) if inertia.mass(link.inertia) > 0)

    def found(mass):
        other = model.with_numbers({f"mass.{name}": mass[0]})
        inverse = inverse_inertia(other)
        return np.array([shape_mobility(other, inverse, s) for link in other.links for s in placed_shapes(model, link.name)])

    for mass in (1e-3, 1.0, 50.0):
        other, q = model.with_parameters({f"mass.{name}": mass}), model.neutral()
        M, expected = engine.dynamics.crba(other, q), []
        for link in other.links:
            J = engine.dynamics.jacobian(other, q, link.name, "world_aligned", link.collisions[0].placement[:3, 3])[3:]
            expected.append(np.trace(J @ np.linalg.solve(M, J.T)) / 3.0)
        plain, traced = found(np.array([mass])), engine.compiler.interpret(engine.compiler.trace(found, [(1,)]), np.array([mass]))
        moves = np.array(expected) > 1e-12
        assert (np.abs(np.log2(plain[moves] / np.array(expected)[moves])) <= 0.5 + 1e-12).all()
        assert (plain == traced).all()


class Rows(engine.Contacts):
    """Contacts whose pairs are rows of tables, however few."""

    def laws(self, model, pairs):
        return RowLaws(model, pairs, self.stiction_velocity)


def rope(links, values=None):
    """A chain that floats, of balls on pins, with some numbers in place of its own."""
    builder, G = engine.Builder("rope"), inertia.box(0.1, (0.1, 0.02, 0.02))
    for i in range(links):
        builder.add_link(f"l{i}", inertia=G, collisions=[engine.Geometry("sphere", (0.01,))])
        if i:
            builder.add_joint(f"j{i}", "revolute", f"l{i - 1}", f"l{i}", engine.spatial.se3.pose(np.eye(3), [0.1, 0, 0]), axis=(0, 1, 0))
    return builder.model(floating_base=True).with_parameters(values or {})


@pytest.mark.parametrize(("links", "by_pairs"), [(1, True), (1, False), (3, True), (3, False), (21, True), (21, False)])
def test_a_chain_whose_numbers_are_parameters_lands_as_one_that_has_them(links, by_pairs):
    """Thrown flat on the ground: mass, centre and inertia of its first link, one after another, and a batch of masses."""
    contacts = (PairByPair if by_pairs else Rows)(engine.HalfSpace())
    q0, v0 = rope(links).neutral(), np.zeros(links + 5)
    q0[6], v0[5] = 0.0105, -0.1
    v0[6:] = 0.02 / links
    G = inertia.from_mass(0.3, np.array([0.002, 0.0, 0.0]), np.diag([2e-4, 3e-4, 3e-4]))
    numbers = [("mass", [0.02, 0.5]), ("center", [np.array([0.01, 0.003, 0.0])]), ("inertia", [G])]
    for name, values in numbers[: 1 if links == 21 and by_pairs else 3]:         # laws of 21 pairs take half a minute to compile
        simulator = engine.Simulator(rope(links), contacts=contacts, parameters={f"{name}.l0": values[0]})
        runs = simulator.run(q0, v0, 0.03, parameters={f"{name}.l0": np.array(values)})
        for k, x in enumerate(values):
            built = engine.Simulator(rope(links, {f"{name}.l0": x}), contacts=contacts).run(q0, v0, 0.03)
            assert np.abs(built("contacts.force")).max() > 0.0
            assert np.abs(runs.q[k] - built.q).max() < 1e-10                    # rounding, which a rebound amplifies to h² k/m of itself
