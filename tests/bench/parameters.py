"""What it costs that numbers of a model are parameters: one call of ABA and RNEA against the program of one robot."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from tests.bench.timing import in_turn

if TYPE_CHECKING:
    from tests.bench.__main__ import Table

#: kinds of numbers that are parameters, of all links and joints
KINDS = (("mass",), ("mass", "center"), ("inertia",), ("placement",), ("mass", "center", "placement", "armature"))


def parameters(table: Table) -> None:
    """The same states and values, in turn; nothing but what is read besides q, v and forces differs."""
    import engine
    from engine.model.parameters import names_of, split
    from tests.bench.robots import pair

    engine.set_threads(1)
    rng = np.random.default_rng(0)
    for name in ("Panda", "TALOS"):
        model = pair(name).model
        fixed, (q, v), x = engine.compile(model), model.random(rng), rng.standard_normal(model.nv)
        for kinds in KINDS:
            robot = engine.compile(model, parameters=[n for n in names_of(model) if split(n)[0] in kinds])
            begun = time.perf_counter()
            robot.aba(q, v, x)
            table.add("parameters", f"{name} ABA, {', '.join(kinds)}: to the first", time.perf_counter() - begun, "s", "", None)
            for what in ("aba", "rnea"):
                one, many = getattr(fixed, what), getattr(robot, what).make(False)
                given = (q, v, x, *robot.parameters.values())
                np.testing.assert_allclose(one(q, v, x), many(*given), rtol=0, atol=1e-9 * np.abs(one(q, v, x)).max())
                t, u = in_turn(lambda f=one: f(q, v, x), lambda f=many, given=given: f(*given))
                table.add("parameters", f"{name} {what.upper()}, {len(robot.parameters)} of {', '.join(kinds)}: one call", u / t,
                          "x without", "", None, without_us=t * 1e6, with_us=u * 1e6)  # fmt: skip
