"""What functions of rotations and poses take: lists, tuples, whole numbers, empty batches; and what is said of anything else."""

import inspect

import numpy as np
import pytest

from engine import EngineError
from engine.checks import array, shaped
from engine.spatial import dual_quaternion, quaternion, rotations, se3, so3
from engine.spatial.rotations import ATTITUDES

#: shapes by the arguments' names; that of b is of the attitude's parameters
SHAPES = {"w": (3,), "x": (3,), "V": (6,), "V_P": (6,), "V_C": (6,), "F_C": (6,), "R": (3, 3), "W": (3, 3), "T": (4, 4), "M": (4, 4),
          "T_PC": (4, 4), "Q": (8,), "P": (8,), "Q0": (8,), "Q1": (8,), "q": (4,), "d": (4,), "g": (3,), "phi": (3,), "rpy": (3,),
          "points": (3,), "s": ()}  # fmt: skip
#: where a name means something else
OWN = {"pose": {"p": (3,)}, "from_pose_parts": {"p": (3,)}, "product": {"p": (4,)}, "mrp_to_quaternion": {"p": (3,)},
       "mrp_jacobian": {"p": (3,)}, "mrp_hessian": {"p": (3,), "b": (3,)}, "rodrigues_hessian": {"b": (3,)}, "vector_hessian": {"b": (3,)},
       "quaternion_hessian": {"b": (4,)}}  # fmt: skip
#: those of numbers, of no array, of several, and of matrices whose shape is nobody's business
OTHERS = {"coefficients", "doubled", "inverse_coefficient", "about", "quadratic", "half_angle", "identity", "random", "pulled_back",
          "inverse", "outer", "times", "zero", "unchanged", "inverse_slope", "require_rotations", "to_screw", "from_screw"}  # fmt: skip
FUNCTIONS = {f"{m.__name__.rsplit('.', 1)[1]}.{name}": f for m in (so3, se3, quaternion, dual_quaternion, rotations)
             for name, f in vars(m).items()
             if inspect.isfunction(f) and f.__module__ == m.__name__ and name not in OTHERS and name[0] != "_"}
each = pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS)


def shapes(f):
    return {name: OWN.get(f.__name__, {}).get(name) or SHAPES[name] for name in inspect.signature(f).parameters}


def sample(f, *batch):
    """Whole numbers; rotations and poses are true ones."""
    def one(name, shape):
        if name in ("R", "T", "T_PC"):
            return np.diag([-1.0, -1.0, 1.0, 1.0][: shape[0]])
        own = {"Q": np.eye(8)[0], "Q0": np.eye(8)[0], "Q1": np.array([0.0, 1, 0, 0, 2, 0, 0, 0])}
        return own.get(name, np.arange(np.prod(shape)).reshape(shape))

    return {name: np.broadcast_to(np.asarray(one(name, s)), (*batch, *s)).astype(int) for name, s in shapes(f).items()}


def test_there_are_as_many_as_there_should_be():
    assert len(FUNCTIONS) > 60


@each
def test_lists_and_whole_numbers(f):
    with np.errstate(all="ignore"):
        expected = f(**{n: x.astype(float) for n, x in sample(f).items()})
        for how in (lambda x: x, lambda x: x.tolist(), lambda x: tuple(x.tolist()) if x.ndim else x, lambda x: x.astype(np.float32)):
            np.testing.assert_array_equal(f(**{n: how(x) for n, x in sample(f).items()}), expected)


@each
def test_batches_of_any_size_none_too(f):
    with np.errstate(all="ignore"):
        one = np.asarray(f(**sample(f)))
        if f in (so3.are_rotations, se3.point_paths):
            return
        for batch in ((0,), (2, 0), (3,)):
            found = np.asarray(f(**sample(f, *batch)))
            assert found.shape == (*batch, *one.shape)
            np.testing.assert_array_equal(found, np.broadcast_to(one, found.shape))


@each
def test_other_shapes_are_refused_by_name(f):
    for name, shape in shapes(f).items():
        if not shape:
            continue
        for wrong in (shape[-1] - 1, shape[-1] + 1):
            given = {**sample(f), name: np.zeros((*shape[:-1], wrong))}
            with pytest.raises(EngineError, match=rf"^\w+ has shape \({', '.join(map(str, given[name].shape))}"):
                f(**given)
        for nothing in (1.0, "text", [[1, 2], [3]], None):
            with pytest.raises(EngineError, match=r"has shape .*; expected \(|holds <U4; expected real|expected an array of numbers"):
                f(**{**sample(f), name: nothing})


@pytest.mark.parametrize("attitude", ATTITUDES.values(), ids=ATTITUDES)
def test_attitudes_take_lists(attitude):
    p, rng = attitude.random(np.random.default_rng(0)), np.random.default_rng(1)
    w, b = rng.standard_normal(3), rng.standard_normal(attitude.n)
    for fn, *args in ((attitude.rate, p, w), (attitude.to_matrix, p), (attitude.cayley_plus, p, 0.1 * w), (attitude.cayley_minus, p, p),
                      (attitude.error_jacobian_rate, p, b), (attitude.error_projection, p)):  # fmt: skip
        np.testing.assert_array_equal(fn(*[a.tolist() for a in args]), fn(*args))
        with pytest.raises(EngineError, match=r"has shape \(5,\); expected"):
            fn(np.zeros(5), *args[1:])
    with pytest.raises(EngineError, match=r"w has shape \(2,\); expected \(\.\.\., 3\)"):
        attitude.rate(p, [1, 2])


def test_axes_are_unit_vectors():
    np.testing.assert_array_equal(so3.about([0, 0, 1], 0.0), np.eye(3))
    for axis in ([0, 0, 2], [0, 0], np.zeros(3), [np.nan, 0, 0], np.eye(3)):
        with pytest.raises(EngineError, match=r"axis is .*; expected a unit vector \(3\)"):
            so3.about(axis, 0.1)


def test_the_words():
    assert shaped("x", [[1, 2, 3]], 3).dtype == float and shaped("x", 2).shape == ()
    for call, words in ((lambda: shaped("p", np.zeros((2, 4)), 3), r"p has shape \(2, 4\); expected \(\.\.\., 3\)"),
                        (lambda: shaped("T", np.eye(3), 4, 4), r"T has shape \(3, 3\); expected \(\.\.\., 4, 4\)"),
                        (lambda: shaped("p", 1.0, 3), r"p has shape \(\); expected \(\.\.\., 3\)"),
                        (lambda: array("p", [[1], [2, 3]]), r"p is \[\[1\], \[2, 3\]\]; expected an array of numbers"),
                        (lambda: array("p", [1j]), "p holds complex128; expected real numbers")):  # fmt: skip
        with pytest.raises(EngineError, match=words):
            call()
