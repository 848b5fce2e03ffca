"""Equations of many trees: traced once for each kind, whose trees are rows."""

import numpy as np
import pytest

import engine
from engine import dynamics
from engine.compiler import interpret, verify
from engine.compiler.kernels.row_loop import RowLoop
from engine.dynamics import each_tree
from engine.spatial import inertia
from tests.simulation.test_independent_trees import ROBOTS, arm, box

EPS = np.finfo(float).eps


@pytest.fixture
def few(monkeypatch):
    """Loops for few trees too."""
    monkeypatch.setattr(each_tree, "MANY", 4)
    with each_tree.loops_over_trees():
        yield


def case(model, seed=0):
    rng = np.random.default_rng(seed)
    q, v = model.random(rng)
    tau, W = rng.standard_normal(model.nv), rng.standard_normal((len(model.links), 6))
    return {
        "aba": (lambda q, v, tau, W: dynamics.aba(model, q, v, tau, (0.0, 1.0, -2.0), W), q, v, tau, W),
        "rnea": (lambda q, v, a: dynamics.rnea(model, q, v, vdot=a), q, v, tau),
        "crba": (lambda q: dynamics.crba(model, q), q),
        "energy": (lambda q, v: dynamics.energy(model, q, v), q, v),
        "momentum": (lambda q, v: dynamics.momentum(model, q, v), q, v),
        "forward_kinematics": (lambda q: dynamics.forward_kinematics(model, q), q),
        "twists": (lambda q, v: dynamics.twists(model, q, v), q, v),
    }  # fmt: skip


def compiled(f, *x):
    several = f(*x) if isinstance(f(*x), tuple) else (f(*x),)
    left, right = (",".join(f"({','.join(map(str, np.shape(y)))})" for y in arrays) for arrays in (x, several))
    return engine.gufunc(f, f"{left}->{right}"), several


@pytest.mark.parametrize("name", case(engine.combine(a=box())))
def test_plain_is_interpreted_is_compiled(few, name):
    f, *x = case(engine.combine(**ROBOTS))[name]
    g, plain = compiled(f, *x)
    verify(g.program)
    assert any(isinstance(f, RowLoop) for f in g.program.functions)
    for own, other, third in zip(plain, *((y if isinstance(y, tuple) else (y,)) for y in (g(*x), interpret(g.program, *x))), strict=True):
        size = np.abs(own).max()
        assert np.abs(other - own).max() <= 1000 * EPS * size and np.abs(third - own).max() <= 1000 * EPS * size


def test_what_is_compiled_does_not_grow_with_their_number(few):
    sizes = []
    for n in (8, 40):
        f, *x = case(engine.combine(**{f"arm{k}": arm() for k in range(n)}))["aba"]
        g, (plain,) = compiled(f, *x)
        assert np.abs(g(*x) - plain).max() <= 1000 * EPS * np.abs(plain).max()
        sizes.append(sum(f.count() for f in g.program.functions))
    assert sizes[0] == sizes[1]


def test_derivatives(few):
    model = engine.combine(**{f"arm{k}": arm() for k in range(5)})
    q, v = model.random(np.random.default_rng(3))
    tau = np.zeros(10)
    J = engine.jacobian(lambda tau: dynamics.aba(model, q + 0.0 * tau, v, tau))(tau)
    M = dynamics.crba(model, q)
    assert np.abs(J @ M - np.eye(10)).max() < 1e-12


def test_forces_that_bring_out_their_motion(few):
    model = engine.combine(**ROBOTS)
    q, v = model.random(np.random.default_rng(4))
    back = engine.gufunc(lambda q, v, tau: dynamics.rnea(model, q, v, dynamics.aba(model, q, v, tau)),
                         f"({model.nq}),({model.nv}),({model.nv})->({model.nv})")  # fmt: skip
    tau = np.random.default_rng(5).standard_normal(model.nv)
    assert np.abs(back(q, v, tau) - tau).max() < 1e-12 * max(1.0, np.abs(v).max() ** 2)


def test_many_of_a_robot_by_its_compiled_functions():
    one, model = box(), engine.combine(**{f"box{k}": box() for k in range(40)})
    robot, alone = engine.compile(model), engine.compile(one)
    q, v = model.random(np.random.default_rng(6))
    tau = np.random.default_rng(7).standard_normal(240)
    each = alone.aba(q.reshape(40, 7), v.reshape(40, 6), tau.reshape(40, 6))
    assert np.abs(robot.aba(q, v, tau).reshape(40, 6) - each).max() <= 1000 * EPS * np.abs(each).max()
    assert robot.aba(np.stack([q, q]), v, tau).shape == (2, 240)
    assert robot.aba.program.tabled and not robot.aba.straight.program.tabled
    assert np.abs(robot.aba.straight(q, v, tau) - robot.aba(q, v, tau)).max() <= 1000 * EPS * np.abs(each).max()
    with pytest.raises(engine.StateError, match=r"box3/floating_base"):
        robot.aba(np.where(np.arange(280) == 21, np.nan, q), v, tau)


def test_a_model_with_traced_numbers_is_no_rows(few):
    model = engine.combine(**{f"box{k}": box() for k in range(6)})
    v = np.ones(36)
    f = engine.gufunc(lambda m: dynamics.momentum(model.with_parameters({"mass.box0/box": m}), model.neutral(), v), "()->(6)")
    assert f(2.0) == pytest.approx(dynamics.momentum(model.with_parameters({"mass.box0/box": 2.0}), model.neutral(), v))
    assert inertia.is_rigid(model.links[1].inertia)
