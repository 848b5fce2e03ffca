"""Derivatives of joint forces and of accelerations against Pinocchio's: one call, a batch, and the time to the first."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.bench.timing import in_turn

if TYPE_CHECKING:
    from tests.bench.__main__ import Table

#: rows of a batch: their results are 35 and 104 MiB for TALOS
ROWS = 1024


def derivatives(table: Table) -> None:
    """∂RNEA and ∂ABA on the same states; a batch on one thread, into arrays that are there, against calls one by one."""
    import pinocchio as pin

    import engine
    from tests.bench.robots import FILES, pair

    engine.set_threads(1)
    rng = np.random.default_rng(0)
    for name in FILES:
        r = pair(name)
        model, data, order = r.model, r.peer.createData(), np.ix_(r.v_order, r.v_order)
        robot = engine.compile(model)
        Q, V = (np.array(x) for x in zip(*[model.random(rng) for _ in range(ROWS)], strict=True))
        X = rng.standard_normal(V.shape)
        q, v, x = Q[0], V[0], X[0]
        given = r.to_peer_q(q), v[r.v_order].copy(), x[r.v_order].copy()
        for what, ours, theirs, found, least, batch in (
            ("RNEA", robot.rnea_derivatives, pin.computeRNEADerivatives, ("dtau_dq", "dtau_dv"), 2.0, 15.0 if name == "Panda" else 8.0),
            ("ABA", robot.aba_derivatives, pin.computeABADerivatives, ("ddq_dq", "ddq_dv"), 1.5, 15.0 if name == "Panda" else 8.0),
        ):
            begun = time.perf_counter()
            mine: Any = ours(q, v, x)
            table.add("derivatives", f"{name} d{what}, to the first", time.perf_counter() - begun, "s", "<= 3" if name == "TALOS" else "",
                      time.perf_counter() - begun <= 3 if name == "TALOS" else None)  # fmt: skip
            theirs(r.peer, data, *given)
            for a, b in zip(mine, (getattr(data, n) for n in found), strict=False):
                assert np.abs(a[order] - b).max() <= 1e-9 * np.abs(b).max(), f"{name} d{what}: results differ"
            t, u = in_turn(lambda f=ours: f(q, v, x), lambda f=theirs: f(r.peer, data, *given))
            table.add("derivatives", f"{name} d{what}, one call", u / t, "x Pinocchio", f">= {least}", u / t >= least,
                      ours_us=t * 1e6, theirs_us=u * 1e6)  # fmt: skip
            out = ours(Q, V, X)
            t, u = in_turn(lambda f=ours, out=out: f(Q, V, X, out=out), lambda f=theirs: f(r.peer, data, *given), rounds=9)
            t /= ROWS
            table.add("derivatives", f"{name} d{what}, {ROWS} rows, per row", u / t, "x Pinocchio's call", f">= {batch}", u / t >= batch,
                      ours_us=t * 1e6, theirs_us=u * 1e6)  # fmt: skip
