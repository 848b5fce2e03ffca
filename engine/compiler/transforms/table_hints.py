"""Hints in errors: what to write in place of NumPy's functions and arrays' attributes that tables do not have."""

from __future__ import annotations

from typing import Any

#: for a size of which nothing is known while the function is traced
OR_SIZE = "or write a number for its size in the signature, or give it by name, as n=3"
OTHERS = "use engine.ops.rows(f, table), total, gather, add_at and chosen"
EXTREME = ("use engine.ops.each(lambda k, y: engine.ops.{0}imum(y, engine.ops.gather(table, k)), table.shape[0], "
           "engine.ops.gather(table, 0)), or engine.ops.rows(np.{0}, table) for each row's own")  # fmt: skip
PROCEDURE = "write its loop as an engine.ops.procedure, which counts and compares as Python does"
NEIGHBOURS = ("gather the neighbours, as engine.ops.gather(table, engine.ops.maximum(engine.ops.row_numbers(table) - 1.0, 0.0)), where "
              "the first row is its own")  # fmt: skip
ROLLED = "for whole rows (axis=0) use engine.ops.gather(table, engine.ops.mod(engine.ops.row_numbers(table) - 1.0, table.shape[0]))"
FLIPPED = "for whole rows (axis=0) use engine.ops.gather(table, table.shape[0] - 1.0 - engine.ops.row_numbers(table))"
COLUMNS = "use engine.ops.rows(lambda a, b: engine.ops.array([a, b]), one, other); of rows below one another, np.concatenate([one, other])"
PRODUCTS = "use engine.ops.rows(lambda x: A @ x, table) for each row, engine.ops.total(a * b) for the sum over rows"
SAME = "nothing is needed: no operation changes a table, and each makes another"
SHAPE = "table.shape is its shape, of which the first is how many rows there are"

INSTEAD = {
    **dict.fromkeys(["sum", "nansum", "add.reduce"], "use engine.ops.total(table)"),
    **dict.fromkeys(["mean", "average", "nanmean"], "use engine.ops.total(table) / table.shape[0]"),
    **dict.fromkeys(["var", "std"], "use the mean m = engine.ops.total(table) / table.shape[0], and that of (table - m)**2"),
    **dict.fromkeys(["max", "amax", "nanmax", "maximum.reduce"], EXTREME.format("max")),
    **dict.fromkeys(["min", "amin", "nanmin", "minimum.reduce"], EXTREME.format("min")),
    **dict.fromkeys(["argmax", "argmin"], "carry the best and its number through engine.ops.each(f, table.shape[0], (best, number))"),
    **dict.fromkeys(["any", "logical_or.reduce"], "use engine.ops.total(engine.ops.where(truths, 1.0, 0.0)) > 0.0"),
    **dict.fromkeys(["all", "logical_and.reduce"], "use engine.ops.total(engine.ops.where(truths, 0.0, 1.0)) == 0.0"),
    **dict.fromkeys(["sort", "argsort", "unique", "cumsum", "cumprod", "add.accumulate", "multiply.accumulate", "digitize", "histogram",
                     "bincount", "partition", "median", "percentile", "lexsort", "prod", "multiply.reduce"], PROCEDURE),
    "searchsorted": "count how many come before, as engine.ops.total(engine.ops.rows(lambda y: engine.ops.where(y < x, 1.0, 0.0), table)), "
                    "or halve as an engine.ops.procedure",
    "interp": "use an engine.ops.procedure; of a table that is known when the function is traced, engine.ops.interp",
    **dict.fromkeys(["diff", "gradient", "convolve", "ediff1d"], NEIGHBOURS),
    "roll": ROLLED,
    "flip": FLIPPED,
    **dict.fromkeys(["dot", "matmul", "inner", "vdot", "einsum", "tensordot", "outer", "matvec", "vecdot", "vecmat"], PRODUCTS),
    "cross": "use engine.ops.rows(engine.ops.cross, one, other)",
    "norm": "use engine.ops.rows(engine.ops.norm, table) for each row's, engine.ops.sqrt(engine.ops.total(x * x)) for the whole",
    **dict.fromkeys(["stack", "column_stack", "hstack", "dstack", "vstack", "block"], COLUMNS),
    "append": "use np.concatenate([table, rows])",
    **dict.fromkeys(["nonzero", "where", "argwhere", "flatnonzero", "compress", "extract", "delete"],
                    "use engine.ops.chosen(table, truths), and engine.ops.chosen(engine.ops.row_numbers(table), truths)"),
    **dict.fromkeys(["take", "take_along_axis"], "use engine.ops.gather(table, numbers)"),
    **dict.fromkeys(["put", "add.at"], "use engine.ops.add_at(table, numbers, rows)"),
    **dict.fromkeys(["arange", "indices"], "use engine.ops.row_numbers(table)"),
    **dict.fromkeys(["copy", "astype", "array", "asarray"], SAME),
    **dict.fromkeys(["size", "ndim", "shape", "dtype"], SHAPE),
    **dict.fromkeys(["ravel", "flatten", "reshape", "squeeze"], "use table.reshape(-1, m), which cuts each row into some of m numbers"),
    **dict.fromkeys(["T", "transpose", "swapaxes", "moveaxis"], "use engine.ops.rows(f, table), where f gets one row of it"),
    "add_at": "use engine.ops.add_at(table, numbers, rows)",
}  # fmt: skip


#: what is found of each row by itself along other axes than the first
OF_EACH = ("sum", "mean", "average", "var", "std", "max", "amax", "min", "amin", "argmax", "argmin", "any", "all", "prod", "median", "norm")


def instead_of(name: str, axis: Any = None) -> str:
    """Return what to write in place of a function or an attribute, where it goes along an ``axis``.

    >>> print(instead_of("sum"))
    use engine.ops.total(table), or write a number for its size in the signature, or give it by name, as n=3
    >>> print(instead_of("sum", 1).partition(", or")[0])
    use engine.ops.rows(np.sum, table), which finds it of each row by itself
    """
    hint = INSTEAD.get(name, OTHERS)
    if name in OF_EACH and isinstance(axis, int) and axis != 0:
        hint = f"use engine.ops.rows({'engine.ops.norm' if name == 'norm' else f'np.{name}'}, table), which finds it of each row by itself"
    return hint if hint in (SAME, SHAPE) else f"{hint}, {OR_SIZE}"
