"""One vocabulary for floats and traced scalars.

Every function takes Python floats, NumPy arrays of any shape, and traced scalars or object arrays of them, so that an
equation written with it runs as it stands and compiles too. ``+ − * / **``, ``@``, slicing and ``np.block`` need no help.

>>> float(where(2.0 > 1.0, cos(0.0), 5.0))
1.0
"""

from engine.ops.elementwise import (
    SERIES_BELOW,
    USERS,
    absolute,
    alternating,
    arccos,
    arcsin,
    arctan,
    arctan2,
    array,
    c2,
    c2_of_floats,
    c3,
    c3_of_floats,
    clip,
    cos,
    elementwise,
    equal,
    exp,
    floor,
    floor_mod,
    fmod,
    graph_of,
    hypot,
    less,
    less_equal,
    log,
    logical_and,
    logical_not,
    logical_or,
    maximum,
    minimum,
    mod,
    power,
    same_floats,
    series,
    sign,
    sin,
    sqrt,
    stop_gradient,
    stumpff,
    stumpff_next,
    tan,
    tanh,
    where,
)  # fmt: skip
from engine.ops.flow import each, implicit, jacobian, part, poisoned, root, shared, subroutine, when, while_loop
from engine.ops.linear import LDL, LU, cross, largest, lu_solve, norm, product, solve, symmetric, there
from engine.ops.procedure import bit_count, floats, ints, lowest_bit, procedure, run_procedure
from engine.ops.random import normal, uniform
from engine.ops.rows import PARTS, add_at, chosen, common, gather, row_numbers, rows, total, whole
from engine.ops.sparse import Plan, block_cholesky, block_plan, block_solve
from engine.ops.structure import alike, form, structure
from engine.ops.tables import dense, interp, interp2, row, spline

__all__ = [
    "LDL", "LU", "PARTS", "Plan", "SERIES_BELOW", "USERS", "absolute", "add_at", "alike", "alternating", "arccos", "arcsin", "arctan",
    "arctan2", "array", "bit_count", "block_cholesky", "block_plan", "block_solve", "c2", "c2_of_floats", "c3", "c3_of_floats", "chosen",
    "clip", "common", "cos", "cross", "dense", "each", "elementwise", "equal", "exp", "floats", "floor", "floor_mod", "fmod", "form",
    "gather", "graph_of", "hypot", "implicit", "interp", "interp2", "ints", "jacobian", "largest", "less", "less_equal", "log",
    "logical_and", "logical_not", "logical_or", "lowest_bit", "lu_solve", "maximum", "minimum", "mod", "norm", "normal", "part", "poisoned",
    "power", "procedure", "product", "root", "row", "row_numbers", "rows", "run_procedure", "same_floats", "series", "shared", "sign",
    "sin", "solve", "spline", "sqrt", "stop_gradient", "structure", "stumpff", "stumpff_next", "subroutine", "symmetric", "tan", "tanh",
    "there", "total", "uniform", "when", "where", "while_loop", "whole",
]  # fmt: skip
