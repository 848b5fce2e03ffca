"""Optimal control against Crocoddyl: the same reach, costs, steps and limits, on one thread, and the plan of a receding horizon."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from tests.bench.__main__ import Table

STEPS, DT = 100, 0.01
START, GOAL = np.array([0.0, -1.2, 1.5, -0.5, 1.0, 0.0]), np.array([0.4, 0.3, 0.5])
#: of places, of q and v, of controls on the way; of places at the end
FAR, STATE, PUSH, END = 10.0, 0.1, 1e-3, 1e3
#: Crocoddyl of PyPI crashes with other Pinocchios than that which it was built with
BUILT_WITH = "4.0.0"


def control(table: Table) -> None:
    """A UR5's tool to a place within a second, without limits and within 40 N·m: an iteration, and the optimum."""
    import pinocchio as pin

    import engine
    from tests.bench.robots import pair

    engine.set_threads(1)
    model = pair("UR5").model.with_armature(np.full(6, 0.1))
    simulator = engine.Simulator(model, DT, "semi_implicit_euler", joint_dynamics=None)

    def running(t: Any, q: Any, v: Any, u: Any, pose: Any) -> Any:
        off = pose("tool0")[:3, 3] - GOAL
        return np.sqrt(DT) * np.concatenate([np.sqrt(FAR) * off, np.sqrt(STATE) * np.concatenate([q - START, v]), np.sqrt(PUSH) * u])

    def final(t: Any, q: Any, v: Any, pose: Any) -> Any:
        off = pose("tool0")[:3, 3] - GOAL
        return np.concatenate([np.sqrt(END) * off, np.sqrt(STATE) * np.concatenate([q - START, v])])

    for name, most in (("reach", None), ("reach within 40 N·m", 40.0)):
        limits = None if most is None else (-most, most)
        begun = time.perf_counter()
        plan = engine.ilqr(simulator, START, np.zeros(6), running, final, steps=STEPS, limits=limits, tolerance=1e-12)
        table.add("control", f"{name}, to the first plan", time.perf_counter() - begun, "s", "")
        ours = least(lambda plan=plan: len(plan.problem.solve(START, np.zeros(6), None, 0.0, {}, 100, 1e-12).costs) - 1)
        table.add("control", f"{name}, an iteration", ours * 1e3, "ms", "")
        if pin.__version__ != BUILT_WITH:
            print(f"    (Crocoddyl needs: pip install pin=={BUILT_WITH} crocoddyl==3.2.1)")
            continue
        theirs, cost = crocoddyl_of(pair("UR5").peer, most)
        table.add("control", f"{name}, an iteration", theirs / ours, "x Crocoddyl", ">= 3", theirs >= 3 * ours,
                  ours_us=ours * 1e6, theirs_us=theirs * 1e6)  # fmt: skip
        more = plan.cost / cost - 1.0
        table.add("control", f"{name}, the optimum over Crocoddyl's", more, "", "<= 1e-6", more <= 1e-6)


def least(solve: Any, rounds: int = 7) -> float:
    """Return the least time of an iteration, s, of a function that returns how many it took."""
    best = np.inf
    for _ in range(rounds):
        begun = time.perf_counter()
        count = solve()
        best = min(best, (time.perf_counter() - begun) / count)
    return float(best)


def crocoddyl_of(peer: Any, most: float | None) -> tuple[float, float]:
    """Return what an iteration of SolverFDDP or SolverBoxFDDP takes, s, and the cost that it comes to."""
    import crocoddyl as cr

    peer.armature = np.full(6, 0.1)
    state = cr.StateMultibody(peer)
    place = cr.ResidualModelFrameTranslation(state, peer.getFrameId("tool0"), GOAL)
    far = cr.ResidualModelState(state, np.concatenate([START, np.zeros(6)]), 6)

    def model(weight: float, push: float, dt: float) -> Any:
        costs = cr.CostModelSum(state)
        costs.addCost("place", cr.CostModelResidual(state, place), weight)
        costs.addCost("state", cr.CostModelResidual(state, far), STATE)
        if push:
            costs.addCost("push", cr.CostModelResidual(state, cr.ResidualModelControl(state, 6)), push)
        return cr.IntegratedActionModelEuler(cr.DifferentialActionModelFreeFwdDynamics(state, cr.ActuationModelFull(state), costs), dt)

    way, end = model(FAR, PUSH, DT), model(END, 0.0, 0.0)
    if most is not None:
        way.u_lb, way.u_ub = np.full(6, -most), np.full(6, most)
    x = np.concatenate([START, np.zeros(6)])
    problem, cost = cr.ShootingProblem(x, [way] * STEPS, end), [np.inf]
    problem.nthreads = 1
    xs, us = [x] * (STEPS + 1), [np.zeros(6)] * STEPS

    def solve() -> int:
        solver = (cr.SolverFDDP if most is None else cr.SolverBoxFDDP)(problem)
        solver.th_stop = 1e-12
        solver.solve(xs, us, 100, False)
        cost[0] = min(cost[0], solver.cost)
        return int(solver.iter) + 1

    return least(solve), float(cost[0])
