"""Code that programs share which differ in their numbers alone: the same text, and their own results to the bit."""

import os
import subprocess
import sys

import numpy as np
import pytest

import engine
from engine import dynamics, ops
from engine.compiler import native_code, trace
from engine.compiler.codegen import entry
from engine.compiler.graph.numbers import numbered, places
from engine.compiler.gufunc import _batch_code, _single_code, numpy_ufunc
from tests.compiler.programs import WIDTHS, loop, require_one_code, with_other_numbers


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("ENGINE_CACHE", str(tmp_path))
    return tmp_path


def scaled(a, b, c):
    """Two numbers, one of them twice and with both signs, and constants that are code."""
    return lambda x: np.array([a * x[0] - b, c - a * x[1], -a, 1.0, 0.0, b])


def code(f, width=2):
    program = trace(f, [(2,)])
    made = native_code.Code(f"batch{width}", lambda: entry.batch(program, width), programs=[program])
    return made, numpy_ufunc(made, "f", "(2)->(6)")


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("numbers", [(3.0, 0.25, 7.0), (-3.0, 1e300, 5e-324), (-0.1, -0.25, 2.0**53)])
def test_other_numbers_have_the_code_that_is_kept(folder, width, numbers):
    signs = np.sign(numbers)
    first, f = code(scaled(*signs * (20.0, 9.0, 0.1)), width)
    second, g = code(scaled(*numbers), width)
    x = np.random.default_rng(0).standard_normal((7, 2))
    assert not first.cached and second.cached and len(list(folder.iterdir())) == 1
    for h, n in ((f, signs * (20.0, 9.0, 0.1)), (g, numbers)):
        assert np.array_equal(h(x), loop(trace(scaled(*n), [(2,)]), 1)(x))
    os.environ["ENGINE_CACHE"] = "0"
    assert np.array_equal(g(x), code(scaled(*numbers), width)[1](x))


@pytest.mark.parametrize("numbers", [(20.0, 20.0, 0.1), (20.0, -20.0, 0.1), (20.0, 9.0, 9.0), (1.0, 9.0, 0.1), (20.0, 0.0, 0.1),
                                     (-20.0, 9.0, 0.1), (20.0, 9.0, np.inf), (20.0, 9.0, np.nan)])  # fmt: skip
def test_what_is_equal_or_part_of_the_code_is_another_code(folder, numbers):
    """Two numbers that are one, a sign, ±1, zero, and what is not finite."""
    assert not code(scaled(20.0, 9.0, 0.1))[0].cached
    assert not code(scaled(*numbers))[0].cached


def test_numbers_that_the_code_made_itself_are_not_shared():
    assert places([2.0, 1.0, 0.0, -4.0], [4.0, 2.0]) == [(1, 1), (-1, 1), (-1, 1), (0, -1)]
    assert places([2.0, 8.0], [4.0, 2.0]) is None


@pytest.mark.parametrize("name", ["free_flyer", "quadruped", "seven_joint_arm"])
@pytest.mark.parametrize("width", [1, 8])
def test_robots_of_other_masses_have_the_same_code(name, width):
    """Of all of the dynamics: equal limbs go in the lanes where they are equal but for numbers."""
    model = engine.load(engine.example(name), floating_base=name != "seven_joint_arm")
    for f in (lambda q, v, tau: dynamics.aba(model, q, v, tau), lambda q, v, a: dynamics.rnea(model, q, v, a)):
        program = trace(f, [(model.nq,), (model.nv,), (model.nv,)])
        require_one_code(program, with_other_numbers(program, np.random.default_rng(1)), width)


@pytest.mark.parametrize("width", [1, 4])
def test_calls_loops_and_rows(width):
    def f(x):
        inner = ops.shared(lambda y: 3.0 * ops.sin(y) + 0.3, x[0])
        z, _ = ops.while_loop(lambda z: (0.7 * z + inner, z > 5.0), x[1], 9)
        rows = ops.rows(lambda r: 2.5 * r @ r + 0.3, ops.array([[k * 0.37, x[0]] for k in range(9)]))
        return ops.when(z > 3.0, lambda: ops.array([z * 4.5]), ops.array([0.3])), ops.total(rows)

    program = trace(f, [(2,)])
    if width == 1:
        require_one_code(program, with_other_numbers(program, np.random.default_rng(2)), width)
    assert {3.0, 0.3, 0.7, 2.5, 4.5} <= set(numbered([program]).numbers)


SCRIPT = """
import numpy as np, engine
from engine.compiler import native_code
made = []
before = native_code.Code.__init__
def noted(self, *args, **named):
    before(self, *args, **named)
    made.append(self.cached)
native_code.Code.__init__ = noted
model = engine.load(engine.example("quadruped"), floating_base=True)
link = model.links[0].name
model = model.with_parameters({{f"mass.{{link}}": {mass}}})
simulator = engine.Simulator(model, 1e-3, controller=lambda t, q, v: np.concatenate([np.zeros(6), -({gain}) * q[7:] - 0.7 * v[6:]]))
found = simulator.run(model.neutral(), 0.1 + np.zeros(model.nv), 0.05)
print(all(made), found.q[-1].tobytes().hex(), found.vdot[-1].tobytes().hex())
"""


def run(gain, mass, cache):
    done = subprocess.run([sys.executable, "-c", SCRIPT.format(gain=gain, mass=mass)], env={**os.environ, "ENGINE_CACHE": str(cache)},
                          capture_output=True, text=True, check=True)  # fmt: skip
    return done.stdout.split()


def test_another_gain_compiles_nothing(tmp_path):
    """And moves as what is compiled for it alone, to the bit; so does another mass, which the whole robot's is a sum of."""
    assert run(20.0, 4.31, tmp_path)[0] == "False"
    for gain, mass in ((21.0, 4.31), (0.37, 4.31), (20.0, 4.47), (0.37, 11.0), (20.0, 4.3137)):
        found, *moved = run(gain, mass, tmp_path)
        assert found == "True" and moved == run(gain, mass, 0)[1:]


def test_in_one_process_each_program_has_its_own_numbers(folder):
    """Loaded twice, side by side, and the first again."""
    _single_code.cache_clear(), _batch_code.cache_clear()
    f, g = (engine.gufunc(lambda x, a=a: a * x + 0.5 * a, "()->()") for a in (3.0, 7.0))
    assert f(1.0) == 4.5 and g(1.0) == 10.5 and f(2.0) == 7.5


def looked_up(W, b, at, heights):
    """What is looked up and multiplied of known numbers."""
    return lambda x: np.concatenate([[ops.interp(x[1], at, heights)], ops.dense(W, x, b)])


def of_rows(rows, *numbers):
    """The same beside loops over known rows, and a row by its number."""

    def f(x):
        traced = ops.table(np.array([(k + 0.5) * x for k in range(len(rows))]))
        near = ops.rows(lambda y, r, s: r[:2] @ y + r[2] * s[1], traced, rows, rows[::-1])
        return np.concatenate([[ops.total(near)], ops.gather(rows, ops.floor(abs(x[0]))), looked_up(*numbers)(x)])

    return f


def other_numbers(seed):
    """Numbers of :func:`of_rows`: of the second in two equal rows, and some that are code where they stand by themselves."""
    rng = np.random.default_rng(seed)
    rows, W, b, heights = (rng.standard_normal(n) for n in ((7, 3), (11, 2), 11, 9))
    if seed:
        rows[:4], rows[5], W[3] = [0.0, 1.0, -1.0], -rows[6], -0.0
    return rows, W, b, np.cumsum(rng.uniform(0.1, 1.0, 9)) - 2.0, heights


@pytest.mark.parametrize("width", WIDTHS)
def test_layers_and_look_ups_of_other_numbers_have_the_code_that_is_kept(folder, width):
    x = np.random.default_rng(3).uniform(-3.0, 3.0, (7, 2))
    for seed in (0, 1):
        numbers = other_numbers(seed)[1:]
        program = trace(looked_up(*numbers), [(2,)])
        made = native_code.Code(f"batch{width}", lambda p=program: entry.batch(p, width), programs=[program])
        assert made.cached == bool(seed)
        assert np.array_equal(numpy_ufunc(made, "f", "(2)->(12)")(x), loop(program, 1)(x))


def test_rows_of_other_numbers_have_the_code_that_is_kept(folder, monkeypatch):
    made, before = [], native_code.Code.__init__

    def noted(self, *args, **named):
        before(self, *args, **named)
        made.append(self.cached)

    monkeypatch.setattr(native_code.Code, "__init__", noted)
    x = np.array([[1.3, -0.4], [-2.9, 0.7], [0.0, 2.0]])
    found = [engine.gufunc(of_rows(*other_numbers(seed)), "(2)->(16)")(x) for seed in (0, 1)]
    assert made == [False, True]
    monkeypatch.setenv("ENGINE_CACHE", "0")
    _single_code.cache_clear()
    for seed in (0, 1):
        assert np.array_equal(found[seed], engine.gufunc(of_rows(*other_numbers(seed)), "(2)->(16)")(x))
        np.testing.assert_allclose(found[seed], [of_rows(*other_numbers(seed))(row) for row in x], rtol=0.0, atol=1e-13)
    assert made == [False, True, False, False]


def test_a_table_of_another_shape_is_another_code():
    keys = [numbered([trace(lambda x, n=n: ops.total(ops.rows(lambda r: r @ x, np.ones((n, 2)))), [(2,)])]).key for n in (6, 7)]
    assert keys[0] != keys[1]
