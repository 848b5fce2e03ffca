"""One vocabulary for floats and traced scalars.

Every function takes Python floats, NumPy arrays of any shape, and traced scalars or object arrays of them, so that an
equation written with it runs as it stands and compiles too. ``+ − * / **``, ``@``, slicing and ``np.block`` need no help.

>>> float(where(2.0 > 1.0, cos(0.0), 5.0))
1.0
"""

from engine.ops.elementwise import (
    absolute,
    arccos,
    arcsin,
    arctan,
    arctan2,
    array,
    c2,
    c3,
    clip,
    cos,
    equal,
    exp,
    floor,
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
    sign,
    sin,
    sqrt,
    stop_gradient,
    stumpff,
    tan,
    tanh,
    where,
)
from engine.ops.flow import each, implicit, jacobian, part, root, shared, subroutine, when, while_loop
from engine.ops.flow import poisoned as poisoned  # rooms' own, until they read it where it lives
from engine.ops.interpolation import interp, interp2, row, spline
from engine.ops.linear import LDL, LU, cross, dense, largest, lu_solve, norm, product, solve, symmetric
from engine.ops.linear import is_nonzero as is_nonzero
from engine.ops.procedure import bit_count, floats, ints, lowest_bit, procedure
from engine.ops.random import normal, uniform
from engine.ops.sparse import Plan, block_cholesky, block_plan, block_solve
from engine.ops.structure import structure as structure
from engine.ops.tables import add_at, chosen, gather, row_numbers, rows, sized, table, total

__all__ = [
    "LDL", "LU", "Plan", "absolute", "add_at", "arccos", "arcsin", "arctan", "arctan2", "array", "bit_count", "block_cholesky",
    "block_plan", "block_solve", "c2", "c3", "chosen", "clip", "cos", "cross", "dense", "each", "equal", "exp", "floats", "floor", "fmod",
    "gather", "graph_of", "hypot", "implicit", "interp", "interp2", "ints", "jacobian", "largest", "less", "less_equal", "log",
    "logical_and", "logical_not", "logical_or", "lowest_bit", "lu_solve", "maximum", "minimum", "mod", "norm", "normal", "part", "power",
    "procedure", "product", "root", "row", "row_numbers", "rows", "shared", "sign", "sin", "sized", "solve", "spline", "sqrt",
    "stop_gradient", "stumpff", "subroutine", "symmetric", "table", "tan", "tanh", "total", "uniform", "when", "where", "while_loop",
]  # fmt: skip
