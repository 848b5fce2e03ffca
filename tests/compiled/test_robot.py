"""The compiled functions of free-floating robots are the plain ones, alone and in batches, and name what is wrong."""

import inspect
import pydoc

import numpy as np
import pytest

import engine
from engine import dynamics
from engine.spatial import inertia
from tests.numeric import close
from tests.trees import random_tree

STATE = ("coriolis", "momentum_matrix_dot", "centroidal_momentum_matrix_dot", "center_of_mass_jacobian_dot")
CONFIGURATION = ("christoffel", "momentum_matrix", "centroidal_momentum_matrix", "reaction_null_space", "center_of_mass_jacobian")
#: all that a robot offers of its state, and those of it that take only arrays, which are gufuncs
FUNCTIONS = [name for name in dir(engine.Robot) if not name.startswith("_") and name not in ("at", "inverse_kinematics")]
OF_ARRAYS = [name for name in FUNCTIONS if not inspect.isfunction(inspect.getattr_static(engine.Robot, name))]


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(3)
    model = random_tree(rng, 3, kinds=("revolute", "prismatic", "universal"), floating_base=True)
    q, v = (np.array(x) for x in zip(*(model.random(rng) for _ in range(3)), strict=True))
    return engine.compile(model, (0, 0, -1.5)), q, v, rng.standard_normal((3, model.nv))


def rows(fn, *batches):
    return np.array([fn(*row) for row in zip(*batches, strict=True)])


@pytest.mark.parametrize("name", STATE + CONFIGURATION)
def test_functions_are_the_plain_ones(case, name):
    robot, q, v, _ = case
    arguments = (q, v) if name in STATE else (q,)
    plain = rows(lambda *x: getattr(dynamics, name)(robot.model, *x), *arguments)
    close(getattr(robot, name)(*arguments), plain, 1e-12)
    assert (getattr(robot, name)(*(x[1].copy() for x in arguments)) == getattr(robot, name)(*arguments)[1]).all()


@pytest.mark.parametrize("base", ["floating", "rotation", "flying"])
def test_functions_of_free_bases_are_the_plain_ones(case, base):
    robot, q, v, a = case
    model, link, g = robot.model, robot.model.links[-1].name, robot.gravity
    a = a if base == "flying" else a[:, 6:]
    close(robot.generalized_jacobian(q, link, base), rows(lambda q: dynamics.generalized_jacobian(model, q, link, base), q), 1e-12)
    close(robot.free_floating_inertia(q, base), rows(lambda q: dynamics.free_floating_inertia(model, q, base), q), 1e-12)
    close(robot.free_floating_bias(q, v, base), rows(lambda q, v: dynamics.free_floating_bias(model, q, v, g, base), q, v), 1e-12)
    for k in range(2):
        plain = rows(lambda q, v, a: dynamics.floating_inverse_dynamics(model, q, v, a, g, base)[k], q, v, a)
        close(robot.floating_inverse_dynamics(q, v, a, base)[k], plain, 1e-12)
    close(robot.base_reaction(q, v, v), rows(lambda q, v: dynamics.base_reaction(model, q, v, v, g), q, v), 1e-12)


@pytest.mark.parametrize("base", ["floating", "translation", "flying"])
def test_wrenches_on_free_floating_robots(case, base):
    """By name, one for the whole batch or one for each row."""
    robot, q, v, a = case
    model, g = robot.model, robot.gravity
    a = a if base == "flying" else a[:, 6:]
    W = np.random.default_rng(5).standard_normal((3, len(model.links), 6))
    plain = rows(lambda q, v, W: dynamics.free_floating_bias(model, q, v, g, base, W), q, v, W)
    close(robot.free_floating_bias(q, v, base, wrenches=W), plain, 1e-12)
    for k in range(2):
        plain = rows(lambda q, v, a: dynamics.floating_inverse_dynamics(model, q, v, a, g, base, W[0])[k], q, v, a)
        close(robot.floating_inverse_dynamics(q, v, a, base, wrenches=W[0])[k], plain, 1e-12)
    close(robot.base_reaction(q, v, v, W), rows(lambda q, v, W: dynamics.base_reaction(model, q, v, v, g, W), q, v, W), 1e-12)


def test_velocities_of_momenta(case):
    robot, q, v, a = case
    P = robot.momentum(q, v)
    close(robot.velocity_from_momentum(q, P, v[:, 6:]), v, 1e-12)
    close(robot.velocity_from_momentum(q, P), rows(lambda q, P: dynamics.velocity_from_momentum(robot.model, q, P), q, P), 1e-12)
    close(robot.momentum(q, robot.velocity_from_momentum(q, a[:, :6])), a[:, :6], 1e-12)


def test_points_broadcast(case):
    """Many points of one configuration, and one point of many."""
    robot, q, v, _ = case
    link, points = robot.model.links[-1].name, np.random.default_rng(6).standard_normal((5, 3))
    many = robot.jacobian(q[0], link, "world_aligned", points)
    close(many, [dynamics.jacobian(robot.model, q[0], link, "world_aligned", p) for p in points], 1e-13)
    close(robot.jacobian_dot(q, v, link, point=points[0]), rows(
        lambda q, v: dynamics.jacobian_dot(robot.model, q, v, link, point=points[0]), q, v), 1e-13)  # fmt: skip


# ---------------------------------------------------------------- what help says


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_says_what_it_takes(case, name):
    """Of the attribute and of the function itself: a sentence with shapes, every argument, and the errors; help shows a signature."""
    robot = case[0]
    for shown in (getattr(engine.Robot, name), getattr(robot, name)):
        names = [a for a in inspect.signature(shown).parameters if a != "self"]
        assert shown.__name__ == name and names[0] == "q" and ("out" in names) == (name in OF_ARRAYS)
        text = inspect.getdoc(shown)
        assert text.startswith("Return ") and "(..., " in text and "StateError : " in text
        assert all(f"\n{a} : " in text for a in names)
        page = pydoc.render_doc(shown, renderer=pydoc.plaintext)
        assert page.splitlines()[2].startswith(f"{name}(") and text.splitlines()[0] in page
    annotations = inspect.get_annotations(inspect.getattr_static(engine.Robot, name).method if name in OF_ARRAYS
                                          else getattr(engine.Robot, name))  # fmt: skip
    assert "return" in annotations and not any("Any" in a for a in annotations.values())


def test_functions_are_called_of_the_class_too(case):
    robot, q, v, a = case
    assert (engine.Robot.aba(robot, q, v, a) == robot.aba(q, v, a)).all()
    assert robot.aba.signature and isinstance(robot.aba, engine.Gufunc)


# ---------------------------------------------------------------- what goes wrong


def test_a_robot_at_no_other_values_is_itself(case):
    """What was traced is not traced anew at each call."""
    robot = case[0]
    assert robot.at({}) is robot
    with pytest.raises(engine.ModelError):
        robot.at({"mass.none": 1.0})


def test_nothing_that_moves():
    still = engine.Builder("still")
    still.add_link("base", inertia=inertia.sphere(1.0, 1.0))
    model, none = still.model(), np.zeros(0)
    robot = engine.compile(model)
    assert robot.aba(none, none, none).shape == (0,) and robot.crba(np.zeros((3, 0))).shape == (3, 0, 0)
    with pytest.raises(engine.StateError, match=r"'still' moves no mass; .* as load_urdf\(..., floating_base=True\) makes"):
        robot.center_of_mass_jacobian(none)
    with pytest.raises(engine.SimulationError, match=r"nothing of 'still' moves; expected a model with joints, or floating_base=True"):
        engine.Simulator(model)


def test_what_is_not_finite_is_named(case):
    robot, q, v, a = case
    a = a[0, 6:].copy()
    a[-1] = np.inf
    with pytest.raises(engine.StateError, match=rf"qddot\[{len(a) - 1}\] \(joint '{robot.model.entries('v')[-1]}'\) is inf"):
        robot.floating_inverse_dynamics(q[0], v[0], a)
