"""What functions of dynamics take, plain and compiled: lists, tuples, whole numbers, empty batches. Anything else is refused in a line."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import engine
from engine import EngineError, dynamics
from tests.dynamics.test_errors import MODEL, ROBOT, Q, V

GOOD: dict[str, Any] = {
    "q": Q, "v": V, "vdot": V, "tau": V, "gravity": (0.0, 0.0, -9.81), "wrenches": np.zeros((3, 6)), "link": "hand", "base": "floating",
    "frame": "world_aligned", "point": np.array([0.0, 0.0, 1.0]), "qddot": V[6:], "qdot": V[6:], "P": np.zeros(6), "armature": V,
    "smoothing": 1.0, "damping": V, "friction": V, "part": slice(3), "length": 1.0}  # fmt: skip
#: what no argument is, but None and a number some
WRONG = [5.0, None, "text", [], [[1, 2], [3]], np.zeros((2, 40)), np.zeros(40), [None] * 9, [None] * 8, np.full(9, np.nan),
         np.full(8, np.inf), object(), np.array(["a"] * 9), [1j] * 9, lambda: 1, ["hand"]]  # fmt: skip
MAY_BE = {"smoothing": 5.0, "length": 5.0, "wrenches": None, "armature": None, "qdot": None, "damping": None, "friction": None}


def plain(name: str) -> Callable[..., Any]:
    return lambda **arguments: getattr(dynamics, name)(MODEL, **arguments)


def compiled(name: str) -> Callable[..., Any]:
    return lambda **arguments: getattr(ROBOT, name)(**arguments)


#: what takes rows of a regressor, and not a model
OF_ROWS = "base_parameters", "BaseParameters"
FUNCTIONS = {
    **{f"plain {name}": (plain(name), [*inspect.signature(getattr(dynamics, name)).parameters][1:])
       for name in dynamics.__all__ if callable(getattr(dynamics, name)) and name not in OF_ROWS},
    **{f"compiled {name}": (compiled(name), [*inspect.signature(getattr(engine.Robot, name)).parameters][1:-1])
       for name in dir(engine.Robot) if not name.startswith("_") and name not in ("at", "inverse_kinematics")}}  # fmt: skip
each = pytest.mark.parametrize("name", FUNCTIONS)


def same(x: Any, y: Any) -> None:
    for a, b in zip(*(r if isinstance(r, tuple) else (r,) for r in (x, y)), strict=True):
        np.testing.assert_array_equal(a, b)


@each
def test_lists_tuples_and_whole_numbers(name: str) -> None:
    f, names = FUNCTIONS[name]
    expected = f(**{a: GOOD[a] for a in names})
    for how in (lambda x: x.tolist(), lambda x: tuple(x.tolist()), lambda x: x.astype(int)):
        same(f(**{a: how(GOOD[a]) if isinstance(GOOD[a], np.ndarray) else GOOD[a] for a in names}), expected)


@each
def test_anything_else_is_refused_in_a_line(name: str) -> None:
    f, names = FUNCTIONS[name]
    for a in names:
        for wrong in WRONG:
            if not (a in MAY_BE and type(wrong) is type(MAY_BE[a])):
                with pytest.raises(EngineError) as refused:
                    f(**{**{b: GOOD[b] for b in names}, a: wrong})
                assert "\n" not in str(refused.value) and len(str(refused.value)) < 300


@pytest.mark.parametrize("name", [n for n in FUNCTIONS if n.startswith("compiled")])
@pytest.mark.parametrize("batch", [(0,), (2, 0)])
def test_empty_batches(name: str, batch: tuple[int, ...]) -> None:
    f, names = FUNCTIONS[name]
    one, none = (f(**{a: np.broadcast_to(x, (*b, *x.shape)) if isinstance(x := GOOD[a], np.ndarray) else x for a in names})
                 for b in ((), batch))  # fmt: skip
    for x, y in zip(*(r if isinstance(r, tuple) else (r,) for r in (one, none)), strict=True):
        assert np.shape(y) == (*batch, *np.shape(x))


@each
def test_misspelt_names_are_named(name: str) -> None:
    f, names = FUNCTIONS[name]
    with pytest.raises((EngineError, TypeError), match="wrongly"):
        f(**{a: GOOD[a] for a in names}, wrongly=1)
