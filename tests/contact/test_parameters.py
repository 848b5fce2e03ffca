"""Masses, inertias, placements and armatures as parameters, beside models that are built so: stiff is what is stiff for them."""

import functools

import numpy as np
import pytest

import engine
from engine.contact import inverse_inertia, shape_mobility
from engine.contact.mobility import power_of_two
from engine.simulation.contacts import placed_shapes
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
