"""Plain = interpreted = compiled for every function of a compiled robot, and one sample's bits are the same in every batch."""

from __future__ import annotations

import itertools
import pickle
import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

import engine
from engine import Model, Robot, dynamics
from engine.compiler import Gufunc, interpret, trace, verify
from engine.model import KINDS
from engine.spatial import inertia
from tests.dynamics.support import error, robot, sensitivity
from tests.trees import random_tree

Array = np.ndarray
GRAVITY = (0.3, -0.2, -9.81)
ROWS = 204
MODELS: dict[str, Callable[[], Model]] = {
    "one joint of each kind": lambda: random_tree(np.random.default_rng(0), len(KINDS)),
    "floating base": lambda: random_tree(np.random.default_rng(1), 6, floating_base=True),
    "mimics, massless links": lambda: random_tree(np.random.default_rng(2), 9, mimics=0.5, massless=0.6, floating_base=True),
    "one joint": lambda: random_tree(np.random.default_rng(3), 1, kinds=["revolute"]),
    "ur5": lambda: robot("ur5"),
    "panda": lambda: robot("panda"),
    "a1": lambda: robot("a1", True),
    "pr2": lambda: robot("pr2"),
    "talos": lambda: robot("talos", True),
}
#: name: what it takes, and how it is called plainly
FUNCTIONS: dict[str, tuple[str, Callable[..., Any]]] = {
    "rnea": ("q v a", lambda m, q, v, a: dynamics.rnea(m, q, v, a, GRAVITY)),
    "rnea with wrenches": ("q v a W", lambda m, q, v, a, W: dynamics.rnea(m, q, v, a, GRAVITY, W)),
    "aba": ("q v a", lambda m, q, v, a: dynamics.aba(m, q, v, a, GRAVITY)),
    "aba with wrenches": ("q v a W", lambda m, q, v, a, W: dynamics.aba(m, q, v, a, GRAVITY, W)),
    "bias": ("q v", lambda m, q, v: dynamics.bias(m, q, v, GRAVITY)),
    "bias with wrenches": ("q v W", lambda m, q, v, W: dynamics.bias(m, q, v, GRAVITY, W)),
    "gravity_forces": ("q", lambda m, q: dynamics.gravity_forces(m, q, GRAVITY)),
    "crba": ("q", dynamics.crba),
    "forward_kinematics": ("q", dynamics.forward_kinematics),
    "twists": ("q v", dynamics.twists),
    "energy": ("q v", lambda m, q, v: dynamics.energy(m, q, v, GRAVITY)),
    "momentum": ("q v", dynamics.momentum),
    "center_of_mass": ("q", dynamics.center_of_mass),
    "jacobian": ("q", lambda m, q: dynamics.jacobian(m, q, m.links[-1].name)),
    "jacobian in the world": ("q", lambda m, q: dynamics.jacobian(m, q, m.links[-1].name, "world")),
    "jacobian of a point": ("q p", lambda m, q, p: dynamics.jacobian(m, q, m.links[-1].name, "world_aligned", p)),
    "jacobian_dot": ("q v", lambda m, q, v: dynamics.jacobian_dot(m, q, v, m.links[-1].name)),
    "jacobian_dot of a point": ("q v p", lambda m, q, v, p: dynamics.jacobian_dot(m, q, v, m.links[-1].name, "world_aligned", p)),
}
#: of robots whose programs are long, a function here, another there: each of a fixed base and of a floating one
SOME = {
    "mimics, massless links": ("rnea with wrenches", "aba with wrenches", "bias", "gravity_forces", "crba", "forward_kinematics", "energy",
                               "momentum", "center_of_mass", "jacobian", "jacobian_dot of a point"),
    "ur5": ("rnea", "aba with wrenches", "bias", "gravity_forces", "crba", "twists", "center_of_mass", "jacobian",
            "jacobian_dot of a point"),
    "panda": ("rnea with wrenches", "aba", "bias with wrenches", "energy", "jacobian in the world", "jacobian_dot"),
    "a1": ("rnea with wrenches", "aba with wrenches", "bias", "forward_kinematics", "twists", "momentum", "jacobian of a point"),
    "pr2": ("rnea with wrenches", "forward_kinematics", "momentum", "jacobian of a point"),
    "talos": ("aba", "crba", "jacobian_dot"),
}


def pairs(names: Iterable[str]) -> Any:
    """Every tree with every function of these, as ``case`` and ``name``; some with some."""
    chosen = [(model, name) for model in MODELS for name in names if name in SOME.get(model, names)]
    return pytest.mark.parametrize(("case", "name"), chosen, indirect=["case"])


class Case:
    """A robot and states for it."""

    def __init__(self, model: Model) -> None:
        self.model, self.robot = model, engine.compile(model, gravity=GRAVITY)
        rng = np.random.default_rng(4)
        states = [model.random(rng) for _ in range(ROWS)]
        q, v = (np.array(x) for x in zip(*states, strict=True))
        self.arrays = {"q": q, "v": v, "a": rng.standard_normal(v.shape), "W": rng.standard_normal((ROWS, len(model.links), 6)),
                       "p": rng.standard_normal((ROWS, 3))}  # fmt: skip

    def inputs(self, name: str) -> list[Array]:
        return [self.arrays[k] for k in FUNCTIONS[name][0].split()]

    def compiled(self, name: str) -> Callable[..., tuple[Array, ...]]:
        """The function, whose results are a tuple of arrays."""
        function = getattr(self.robot, name.split()[0])
        link = self.model.links[-1].name
        if "point" in name:
            return lambda *x: (function(*x[:-1], link, "world_aligned", x[-1]),)
        if "jacobian" in name:
            return lambda *x: (function(*x, link, "world" if "world" in name else "body"),)
        return lambda *x, **options: listed(function(*x, **options))


def listed(results: Any) -> tuple[Array, ...]:
    return tuple(np.asarray(r) for r in results) if isinstance(results, tuple) else (np.asarray(results),)


def bits(a: Any) -> Array:
    return np.ascontiguousarray(a, dtype=float).view(np.uint64)


def same_bits(results: tuple[Array, ...], expected: list[Array]) -> None:
    assert len(results) == len(expected)
    for r, e in zip(results, expected, strict=True):
        assert r.dtype == np.float64
        np.testing.assert_array_equal(bits(r), bits(e))


@pytest.fixture(scope="module")
def case(request: pytest.FixtureRequest) -> Case:
    return Case(MODELS[request.param]())


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> Any:
    """``engine.set_threads``, for batches of any size."""
    before = engine.get_threads()
    monkeypatch.setattr(sys.modules[Gufunc.__module__], "WORTH_THREADS", 0)
    yield engine.set_threads
    engine.set_threads(before)


# ---------------------------------------------------------------- three lives


#: tested in tests/compiled/test_robot.py, test_derivatives.py and test_regressor.py
ELSEWHERE = {"aba_derivatives", "base_reaction", "center_of_mass_jacobian", "center_of_mass_jacobian_dot", "centroidal_kinetic_energy",
             "centroidal_momentum", "centroidal_momentum_matrix", "centroidal_momentum_matrix_dot", "christoffel",
             "coriolis", "energy_derivatives", "energy_regressor",
             "floating_inverse_dynamics", "free_floating_bias", "free_floating_inertia",
             "generalized_jacobian", "at", "inverse_kinematics",
             "jacobian_derivative", "minv", "momentum_derivatives", "momentum_matrix", "momentum_matrix_dot", "momentum_regressor",
             "reaction_null_space", "regressor", "rnea_derivatives", "velocity_from_momentum"}  # fmt: skip


def test_there_is_no_other_function() -> None:
    public = {name for name in dir(Robot) if not name.startswith("_")}
    assert public - ELSEWHERE == {name.split()[0] for name in FUNCTIONS}


@pairs(FUNCTIONS)
def test_plain_is_interpreted_is_compiled(case: Case, name: str) -> None:
    model, plain, inputs = case.model, FUNCTIONS[name][1], [x[:4] for x in case.inputs(name)]
    program = trace(lambda *x: plain(model, *x), [x.shape[1:] for x in inputs])
    verify(program)
    interpreted = listed(interpret(program, *inputs))
    compiled = case.compiled(name)
    batch = compiled(*inputs)
    for k in range(4):
        row = [x[k] for x in inputs]
        scale = 0.0
        if name.startswith("aba"):
            q, v, tau = row[:3]
            scale = sensitivity(dynamics.crba(model, q), tau, dynamics.bias(model, q, v, GRAVITY))
        elif name == "energy":  # heights of both signs cancel
            heights = dynamics.forward_kinematics(model, row[0])[:, :3, 3]
            scale = float(np.abs(heights).max()) * sum(body.inertia[5, 5] for body in model.bodies) * 9.81
        expected = listed(plain(model, *row))
        for p, i, b, c in zip(expected, interpreted, batch, compiled(*row), strict=True):
            assert error(i[k], p, scale) < 2e-14
            assert error(c, p, scale) < 2e-14
            np.testing.assert_array_equal(bits(b[k]), bits(c))


# ---------------------------------------------------------------- the same bits


@pairs(FUNCTIONS)
def test_a_sample_is_the_same_bits_in_every_batch(case: Case, name: str, threads: Any) -> None:
    inputs, compiled = case.inputs(name), case.compiled(name)
    each = [compiled(*row) for row in zip(*inputs, strict=True)]
    single = [np.stack(r) for r in zip(*each, strict=True)]
    for count in (1, 2):
        threads(count)
        for rows in (1, 7, 8, 9, ROWS):
            same_bits(compiled(*[x[:rows] for x in inputs]), [r[:rows] for r in single])
            same_bits(compiled(*[x[-rows:] for x in inputs]), [r[-rows:] for r in single])
        # strided: from the end, every second and third row, columns first, columns apart, and not aligned with the others
        same_bits(compiled(*[x[::-1] for x in inputs]), [r[::-1] for r in single])
        same_bits(compiled(*[x[1::2] for x in inputs]), [r[1::2] for r in single])
        same_bits(compiled(*[np.asfortranarray(x) for x in inputs]), single)
        same_bits(compiled(*[np.repeat(x, 2, axis=-1)[:, ..., ::2] for x in inputs]), single)
        same_bits(compiled(*[x[::-1, ..., ::-1].copy()[::-1, ..., ::-1] for x in inputs]), single)
        same_bits(compiled(*[x[::3] if k % 2 else x[::3].copy() for k, x in enumerate(inputs)]), [r[::3] for r in single])
        # more than one leading dimension
        folded, results = ([x.reshape(4, ROWS // 4, *x.shape[1:]) for x in arrays] for arrays in (inputs, single))
        same_bits(compiled(*folded), results)
        same_bits(compiled(*[x.swapaxes(0, 1) for x in folded]), [r.swapaxes(0, 1) for r in results])
        same_bits(compiled(*[x[:0] for x in inputs]), [r[:0] for r in single])


@pairs(["rnea", "aba with wrenches", "crba", "jacobian_dot"])
def test_arrays_of_any_layout(case: Case, name: str) -> None:
    """Not aligned, of the other byte order, read-only, out of a pickle, with gaps: one state or many."""
    inputs, compiled = [x[:20] for x in case.inputs(name)], case.compiled(name)
    expected = list(compiled(*inputs))

    def locked(x: Array) -> Array:
        x = x.copy()
        x.flags.writeable = False
        return x

    def pickled(x: Array) -> Array:
        return pickle.loads(pickle.dumps(x))

    for other in (misaligned, lambda x: x.astype(x.dtype.newbyteorder()), locked, pickled, lambda x: np.repeat(x, 2, axis=-1)[..., ::2]):
        same_bits(compiled(*[other(x) for x in inputs]), expected)
        same_bits(compiled(*[other(x[7]) for x in inputs]), [e[7] for e in expected])


def misaligned(x: Array) -> Array:
    """A copy that begins at an odd address."""
    copy = np.frombuffer(bytearray(x.nbytes + 1), dtype=np.uint8)[1:].view(float).reshape(x.shape)
    copy[...] = x
    assert not copy.flags.aligned
    return copy


@pairs(["rnea", "aba", "rnea with wrenches", "energy", "jacobian_dot"])
def test_arguments_broadcast(case: Case, name: str, threads: Any) -> None:
    inputs, compiled = case.inputs(name), case.compiled(name)
    for count in (1, 2):
        threads(count)
        for k in range(len(inputs)):
            mixed = [x[3] if j == k else x[:90] for j, x in enumerate(inputs)]  # one state held, the others vary
            spread = [np.broadcast_to(x, (90, *x.shape)) if j == k else x for j, x in enumerate(mixed)]
            expected = list(compiled(*[np.ascontiguousarray(x) for x in spread]))
            same_bits(compiled(*mixed), expected)
            same_bits(compiled(*spread), expected)
        grid = [x[:9][:, None] if k % 2 else x[:11][None] for k, x in enumerate(inputs)]
        full = [np.ascontiguousarray(np.broadcast_to(x, (9, 11, *x.shape[2:]))) for x in grid]
        same_bits(compiled(*grid), list(compiled(*full)))


@pairs(["rnea", "aba with wrenches", "crba", "forward_kinematics", "energy"])
def test_results_go_where_they_are_told(case: Case, name: str) -> None:
    inputs, compiled = [x[:50] for x in case.inputs(name)], case.compiled(name)
    expected = list(compiled(*inputs))
    for order in (np.array, np.asfortranarray, lambda a: np.repeat(a, 2, axis=0)[::2]):
        out = tuple(order(np.full_like(e, np.nan)) for e in expected)
        results = compiled(*inputs, out=out if len(out) > 1 else out[0])
        assert all(r is o for r, o in zip(results, out, strict=True))
        same_bits(out, expected)


@pytest.mark.parametrize("case", [name for name in MODELS if name not in SOME], indirect=True)
def test_wrenches_go_by_position_and_by_name(case: Case) -> None:
    q, v, a, W = case.inputs("rnea with wrenches")
    for function, arguments in ((case.robot.rnea, (q, v, a)), (case.robot.aba, (q, v, a)), (case.robot.bias, (q, v))):
        same_bits((function(*arguments, W),), [function(*arguments, wrenches=W)])
        same_bits((function(*arguments, wrenches=None),), [function(*arguments)])
        same_bits((function(*[x[0] for x in arguments], W[0]),), [function(*arguments, W)[0]])


def test_one_robot_per_model_and_gravity() -> None:
    model = robot("ur5")
    assert engine.compile(model, gravity=[0, 0, -9.81]) is engine.compile(model)
    assert engine.compile(model, gravity=(0, 0, 0)) is not engine.compile(model)


# ---------------------------------------------------------------- operations


@pytest.mark.parametrize(("name", "floating_base", "function", "operations"), [
    ("ur5", False, "rnea", 507), ("ur5", False, "aba", 927), ("ur5", False, "crba", 254), ("ur5", False, "forward_kinematics", 150),
    ("panda", False, "rnea", 1084), ("panda", False, "aba", 2164), ("panda", False, "crba", 793), ("panda", False, "energy", 559),
    ("a1", True, "rnea", 2052), ("a1", True, "aba", 3577), ("a1", True, "crba", 876), ("a1", True, "momentum", 1054),
    ("talos", True, "rnea", 5524), ("talos", True, "aba", 10352), ("talos", True, "crba", 4421), ("talos", True, "bias", 5365),
])  # fmt: skip
def test_operations_do_not_grow(name: str, floating_base: bool, function: str, operations: int) -> None:
    """What a state costs, with a hundredth to spare; fewer are welcome."""
    compiled = getattr(engine.compile(robot(name, floating_base)), function)
    assert compiled.program.count() <= 1.01 * operations


@pytest.mark.parametrize("axes", list(itertools.permutations(np.eye(3), 2)), ids=lambda axes: str([int(np.argmax(a)) for a in axes]))
@pytest.mark.parametrize("floating", [False, True])
def test_universal_joints_about_any_two_coordinate_axes(axes, floating):
    """Whose rotation is of numbers in some entries only."""
    builder = engine.Builder("crank")
    builder.add_link("base", inertia=inertia.box(2.0, [1.0, 0.5, 0.3]))
    for above, link in (("base", "one"), ("one", "two")):
        builder.add_link(link, inertia=inertia.box(1.0, [1.0, 0.5, 0.3]))
        builder.add_joint(f"to {link}", "universal", above, link, axis=axes[0], axis2=axes[1])
    model = builder.model(floating_base=floating)
    q, v = model.random(np.random.default_rng(2))
    tau = np.linspace(-1.0, 1.0, model.nv)
    robot = engine.compile(model)
    assert error(robot.aba(q, v, tau), dynamics.aba(model, q, v, tau)) < 1e-12
    assert error(robot.crba(q), dynamics.crba(model, q)) < 1e-13
