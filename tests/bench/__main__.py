"""``python -m tests.bench [--json FILE] [--only PART …]``: every figure the README quotes, and the targets they are held to."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tests.bench.campaigns import campaigns
from tests.bench.contact import contact
from tests.bench.control import control
from tests.bench.derivatives import derivatives
from tests.bench.fmus import fmus
from tests.bench.learning import learning
from tests.bench.parameters import parameters
from tests.bench.pictures import pictures
from tests.bench.policies import policies
from tests.bench.rays import rays
from tests.bench.rows import rows
from tests.bench.scenes import scenes
from tests.bench.signals import signals
from tests.bench.spacecraft import spacecraft
from tests.bench.start import start
from tests.bench.stiff import stiff
from tests.bench.trees import trees
from tests.bench.web import web

BATCH = 4096


class Table:
    """Rows of figures, printed as they come and kept for the JSON file."""

    def __init__(self) -> None:
        self.rows: list[dict] = []
        self.missing: list[str] = []

    def add(self, part: str, what: str, value: float, unit: str, target: str = "", ok: bool | None = None, **more: float) -> None:
        self.rows.append({"part": part, "what": what, "value": value, "unit": unit, "target": target, "ok": ok, **more})
        verdict = "" if ok is None else "  ok" if ok else "  MISSED"
        detail = ", ".join(f"{k} {v:.4g}" for k, v in more.items())
        print(f"{part:10} {what:42} {value:10.4g} {unit:16} {target:10}{verdict:8} {detail}", flush=True)

    def lack(self, part: str, why: str) -> None:
        """Say that the rest of a part could not be measured."""
        self.missing.append(f"{part}: {why}")
        print(f"{part:10} not measured: {why}", flush=True)


def single(table: Table) -> None:
    """One call from Python against Pinocchio's, on the same state."""
    import pinocchio as pin

    import engine
    from tests.bench.robots import FILES, pair
    from tests.bench.timing import in_turn

    rng = np.random.default_rng(0)
    for name in FILES:
        r = pair(name)
        robot, data, order = engine.compile(r.model), r.peer.createData(), r.v_order
        q, v = r.model.random(rng)
        a = rng.standard_normal(r.model.nv)
        qp, vp, ap = r.to_peer_q(q), v[order].copy(), a[order].copy()
        upper = np.triu_indices(r.model.nv)
        for what, ours, theirs, least in (
            ("RNEA", lambda: robot.rnea(q, v, a), lambda: pin.rnea(r.peer, data, qp, vp, ap), 1.2),
            ("CRBA", lambda: robot.crba(q), lambda: pin.crba(r.peer, data, qp), 1.0),
            ("ABA", lambda: robot.aba(q, v, a), lambda: pin.aba(r.peer, data, qp, vp, ap), 3.0 if name == "TALOS" else 2.0),
        ):
            x, y = np.array(ours())[order], np.array(theirs())
            if what == "CRBA":
                x, y = x[:, order][upper], y[upper]
            assert np.abs(x - y).max() <= 1e-9 * np.abs(y).max(), f"{name} {what}: results differ"
            t, u = in_turn(ours, theirs)
            table.add("single", f"{name} {what}, one call", u / t, "x Pinocchio", f">= {least}", u / t >= least,
                      ours_us=t * 1e6, theirs_us=u * 1e6)  # fmt: skip


def batch(table: Table) -> None:
    """4096 rows of C-ordered arrays, one thread, against Pinocchio's parallel functions with one thread."""
    import pinocchio as pin

    import engine
    from tests.bench.robots import FILES, pair
    from tests.bench.timing import in_turn

    engine.set_threads(1)
    rng = np.random.default_rng(0)
    for name in FILES:
        r = pair(name)
        robot, order, pool = engine.compile(r.model), r.v_order, pin.ModelPool(r.peer, 1)
        q = np.array([r.model.random(rng)[0] for _ in range(BATCH)])
        v, a = rng.standard_normal((2, BATCH, r.model.nv))
        qp, vp, ap = (np.asfortranarray(x.T) for x in (r.to_peer_q(q), v[:, order], a[:, order]))
        out = np.zeros((r.peer.nv, BATCH), order="F")
        for what, ours, theirs in (("RNEA", robot.rnea, pin.rneaInParallel), ("ABA", robot.aba, pin.abaInParallel)):
            theirs(1, pool, qp, vp, ap, out)
            x = ours(q, v, a)[:, order].T
            assert np.abs(x - out).max() <= 1e-8 * np.abs(out).max(), f"{name} {what}: results differ"
            t, u = in_turn(lambda f=ours: f(q, v, a), lambda f=theirs: f(1, pool, qp, vp, ap, out), rounds=9)
            table.add("batch", f"{name} {what}, {BATCH} rows, per row", u / t, "x Pinocchio", ">= 20", u / t >= 20,
                      ours_ns=t / BATCH * 1e9, theirs_ns=u / BATCH * 1e9)  # fmt: skip


def scaling(table: Table) -> None:
    """Time per call and time to compile for chains of 10 to 500 joints."""
    import engine
    from tests.bench.robots import chain
    from tests.bench.timing import median

    rng = np.random.default_rng(0)
    for what in ("rnea", "aba"):
        per_joint = {}
        for n in (10, 50, 100, 250, 500):
            model = chain(n)
            q, v = model.random(rng)
            begun = time.perf_counter()
            f = getattr(engine.compile(model), what)
            f(q, v, v)
            built = time.perf_counter() - begun
            per_joint[n] = median(lambda f=f, q=q, v=v: f(q, v, v)) / n
            table.add("scaling", f"{what.upper()}, chain of {n}, one call per joint", per_joint[n] * 1e9, "ns", compile_s=built)
        growth = per_joint[500] / per_joint[50]
        table.add("scaling", f"{what.upper()}, cost per joint at 500 over 50", growth, "x", "< 2", growth < 2)


def steps(table: Table) -> None:
    """Steps per second of smooth motion, one thread, against MuJoCo's RK4: one robot, a batch, with a controller, and onto disk."""
    import mujoco
    from mujoco import rollout

    import engine
    from tests.bench.robots import FREE_FLYER, file, load, mujoco_model
    from tests.bench.timing import in_turn

    engine.set_threads(1)
    n, dt = 5000, 1e-3
    robots = ("free-flyer", FREE_FLYER, "bus"), ("Panda", file("Panda")[0], None), ("TALOS", file("TALOS")[0], "base_link")
    for name, path, root in robots:
        model = load(path, floating=root is not None)
        q, v = model.random(np.random.default_rng(0))
        peer = mujoco_model(path, root, dt)
        data = mujoco.MjData(peer)
        data.qvel[:] = 0.02
        assert peer.nv == model.nv
        for method, least in (("cg4", 4), ("cf4", 5), ("rkmk4", 5)):
            simulator = engine.Simulator(model, dt=dt, gravity=(0, 0, 0), integrator=method, joint_dynamics=False)
            t, u = in_turn(lambda s=simulator: s.run(q, 0.05 * v, n * dt, record_every=100),
                           lambda: mujoco.mj_step(peer, data, n), rounds=9)  # fmt: skip
            ratio = u / t
            table.add("steps", f"{name} (nv {model.nv}), {method} against RK4", ratio, "x MuJoCo", f">= {least}", ratio >= least,
                      ours_us=t / n * 1e6, theirs_us=u / n * 1e6)  # fmt: skip
        assert data.nefc == 0
        rows, few, fewer = 4096, 100, 64  # the peer goes through its rollouts one by one
        Q, V = np.tile(q, (rows, 1)), 0.05 * v * np.linspace(0.5, 1.5, rows)[:, None]
        start = np.zeros(mujoco.mj_stateSize(peer, mujoco.mjtState.mjSTATE_FULLPHYSICS))
        mujoco.mj_getState(peer, data, start, mujoco.mjtState.mjSTATE_FULLPHYSICS)
        starts = np.tile(start, (fewer, 1))
        t, u = in_turn(lambda s=simulator: s.run(Q, V, few * dt, record_every=few),
                       lambda: rollout.rollout(peer, data, starts, nstep=few), rounds=5)  # fmt: skip
        t, u = t / (rows * few), u / (fewer * few)
        table.add("steps", f"{name}, {rows} rollouts by rkmk4, per step", u / t, "x mujoco.rollout", ">= 30", u / t >= 30,
                  ours_ns=t * 1e9, theirs_ns=u * 1e9)  # fmt: skip

    model = engine.load_urdf(FREE_FLYER, floating_base=True)
    q, v = model.random(np.random.default_rng(0))
    target = model.neutral()

    def hold(t, q, v):
        return np.concatenate([np.zeros(6), 20.0 * (target[7:] - q[7:]) - 10.0 * v[6:]])

    free = engine.Simulator(model, dt=dt, gravity=(0, 0, 0))
    held = engine.Simulator(model, dt=dt, gravity=(0, 0, 0), controller=hold)
    t, u = in_turn(lambda: free.run(q, 0.05 * v, n * dt, record_every=100),
                   lambda: held.run(q, 0.05 * v, n * dt, record_every=100), rounds=9)  # fmt: skip
    table.add("steps", "cost of a joint controller in the step", 100 * (u / t - 1), "%", "< 20", u / t < 1.2)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run.h5"
        t, u = in_turn(lambda: held.run(q, 0.05 * v, 4 * n * dt, record_every=10),
                       lambda: held.run(q, 0.05 * v, 4 * n * dt, record_every=10, out=out, overwrite=True), rounds=9)  # fmt: skip
    table.add("steps", "cost of recording every tenth step to disk", 100 * (u / t - 1), "%", "< 10", u / t < 1.1)


def body(table: Table) -> None:
    """One tumbling body: CG4 compiled against the same lines in plain NumPy, and against MuJoCo's RK4; one, and a batch."""
    import mujoco

    import engine
    from engine import integrate
    from tests.bench.robots import SPIN, tumbling, tumbling_peer
    from tests.bench.timing import in_turn

    engine.set_threads(1)
    simulator, n, dt = tumbling("cg4", 1e-2), 20_000, 1e-2
    model = simulator.model
    q, v = model.neutral(), np.concatenate([SPIN, np.zeros(3)])
    peer = tumbling_peer("RK4", dt)
    data = mujoco.MjData(peer)
    data.qvel[3:] = SPIN
    t, u = in_turn(lambda: simulator.run(q, v, n * dt, record_every=n), lambda: mujoco.mj_step(peer, data, n), rounds=11)
    table.add("body", "free body, CG4 against RK4", u / t, "x MuJoCo", ">= 5", u / t >= 5, ours_us=t / n * 1e6, theirs_us=u / n * 1e6)

    system = integrate.Mechanical(model.manifold, lambda t, q, v: engine.dynamics.aba(model, q, v, np.zeros(6), (0, 0, 0)))
    x = np.concatenate([q, v])
    compiled, plain = in_turn(lambda: simulator.run(q, v, n * dt, record_every=n),
                              lambda: integrate.step(integrate.CG4, system, 0.0, dt, x), rounds=5)  # fmt: skip
    table.add("body", "free body, CG4, compiled against plain", plain / (compiled / n), "x", "> 30", plain / (compiled / n) > 30,
              compiled_us=compiled / n * 1e6, plain_us=plain * 1e6)  # fmt: skip

    rows, steps = 4096, 100
    Q, V = np.tile(q, (rows, 1)), v * np.linspace(0.5, 1.5, rows)[:, None]
    t, u = in_turn(lambda: simulator.run(Q, V, steps * dt, record_every=steps), lambda: mujoco.mj_step(peer, data, n), rounds=9)
    ratio = (u / n) / (t / rows / steps)
    table.add("body", f"{rows} free bodies, CG4 against RK4, per step", ratio, "x MuJoCo", ">= 30", ratio >= 30,
              ours_ns=t / rows / steps * 1e9, theirs_ns=u / n * 1e9)  # fmt: skip


def reach(table: Table) -> None:
    """Inverse kinematics of random poses within reach and limits, from the neutral configuration: one, and a batch; one thread."""
    import engine
    from tests.bench.robots import file, load
    from tests.bench.timing import median

    engine.set_threads(1)
    for name, link in (("UR5", "tool0"), ("Panda", "panda_hand")):
        model = load(*file(name))
        rng, ends = np.random.default_rng(0), np.array([[b.joint.limits.lower, b.joint.limits.upper] for b in model.bodies])
        q = rng.uniform(*ends.T, (BATCH, model.nq))
        T = engine.compile(model).forward_kinematics(q)[:, model.link_index(link)]
        found = engine.inverse_kinematics(model, {link: T})
        assert found.converged.all() and found.residual.max() <= 1e-9, f"{name}: poses are not reached"
        one = median(lambda m=model, x=T[:50], n=link: [engine.inverse_kinematics(m, {n: y}) for y in x]) / 50
        many = median(lambda m=model, x=T, n=link: engine.inverse_kinematics(m, {n: x}), rounds=5) / BATCH
        table.add("reach", f"{name}, a pose among {BATCH}", many * 1e6, "us", alone_us=one * 1e6, steps=float(np.mean(found.iterations)))


#: where ``precision`` draws its figure, if anywhere
FIGURE: Path | None = None


def precision(table: Table) -> None:
    """Work and precision of every integrator on a tumbling body, and of MuJoCo's: attitude error after 100 s against time taken."""
    import mujoco

    from engine.integrate import METHODS
    from engine.spatial import quaternion
    from tests.bench.robots import SPIN, tumbling, tumbling_peer
    from tests.bench.timing import seconds

    end = 100.0
    q0, v0 = np.array([1.0, 0, 0, 0, 0, 0, 0]), np.concatenate([SPIN, np.zeros(3)])

    def apart(q: np.ndarray) -> float:
        return float(np.linalg.norm(quaternion.log(quaternion.product(quaternion.conjugate(exact), q))))

    exact = tumbling("rkmk5", 1e-3).run(q0, v0, end, record_every=100_000).q[-1, :4]
    work: dict[str, list[tuple[float, float]]] = {}
    for h in 10.0 ** np.linspace(-0.7, -3.4, 14):
        n = round(end / h)
        for name in METHODS:
            simulator = tumbling(name, end / n)
            try:
                error = apart(simulator.run(q0, v0, end, record_every=n).q[-1, :4])
            except ValueError:
                continue
            taken = min(seconds(lambda s=simulator, n=n: s.run(q0, v0, end, record_every=n), 1) for _ in range(5))
            work.setdefault(name, []).append((error, taken))
        for name in ("Euler", "implicitfast", "RK4") if h < 0.02 else ("RK4",):  # the others diverge, and say so at length
            peer = tumbling_peer(name, end / n)
            taken = []
            for _ in range(5):
                data = mujoco.MjData(peer)
                data.qvel[3:] = SPIN
                taken.append(seconds(lambda p=peer, d=data, n=n: mujoco.mj_step(p, d, n), 1))
            work.setdefault(f"MuJoCo {name}", []).append((apart(data.qpos[3:7]), min(taken)))
    ours = [p for name, points in work.items() if name in METHODS for p in points]
    theirs = [p for name, points in work.items() if name not in METHODS for p in points]
    floor = max(min(e for e, _ in theirs), 1e-11)
    levels = [e for e in 10.0 ** np.arange(-1, -12, -1.0) if e >= floor]

    def cheapest(points: list[tuple[float, float]], level: float) -> float:
        return min((t for e, t in points if e <= level), default=np.inf)

    ratios = {level: cheapest(theirs, level) / cheapest(ours, level) for level in levels}
    for level, ratio in ratios.items():
        table.add("precision", f"error below {level:.0e} rad, best against best", ratio, "x MuJoCo", ">= 10", ratio >= 10,
                  ours_ms=cheapest(ours, level) * 1e3, theirs_ms=cheapest(theirs, level) * 1e3)  # fmt: skip
    if FIGURE is not None:
        draw(work)


def draw(work: dict[str, list[tuple[float, float]]]) -> None:
    """Error against time, on paper."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(9, 6.5), layout="constrained")
    for k, (name, points) in enumerate(work.items()):
        shown = [p for p in points if p[0] < 0.5]  # radians: the rest is lost
        errors, times = zip(*shown, strict=True) if shown else ((), ())
        axis.loglog(times, errors, "s--" if "MuJoCo" in name else "o-", ms=3, color="k" if "MuJoCo" in name else f"C{k % 10}",
                    alpha={"MuJoCo Euler": 0.35, "MuJoCo implicitfast": 0.6}.get(name, 1.0), label=name)  # fmt: skip
    axis.set(xlabel="time taken for 100 s of motion, s", ylabel="attitude error at the end, rad", title="a tumbling body")
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8)
    assert FIGURE is not None
    figure.savefig(FIGURE, dpi=110)


PARTS = {f.__name__: f for f in (single, batch, derivatives, parameters, control, start, scaling, steps, spacecraft, signals, stiff, rows,
                                 trees, body, contact, scenes, campaigns, policies, fmus, learning, reach, precision, pictures, rays,
                                 web)}  # fmt: skip


def measured(parts: Sequence[str], table: Table) -> None:
    """Measure one part after another; what takes something that is not there is left out, and said."""
    from engine import ViewerError
    from tests.bench.robots import Missing

    for part in parts:
        try:
            PARTS[part](table)
        except (Missing, ViewerError) as error:
            table.lack(part, str(error))
        except ModuleNotFoundError as error:
            name = {"pinocchio": "pin"}.get(error.name or "", error.name)
            table.lack(part, f"{error.name} is not installed; expected it: pip install {name}")
        except subprocess.CalledProcessError as error:
            table.lack(part, f"a process of its own ended with {error.returncode}: {(error.stderr or '').strip().splitlines()[-1:]}")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), help="parts to run")
    parser.add_argument("--figure", type=Path, help="draw the part precision to this file (.png)")
    options = parser.parse_args(arguments)
    global FIGURE
    FIGURE = options.figure
    table = Table()
    try:
        with tempfile.TemporaryDirectory() as cache:
            os.environ["ENGINE_CACHE"] = cache
            measured(options.only, table)
    finally:                                                                   # what was measured is kept, whatever ends it
        if options.json:
            machine = {"platform": platform.platform(), "python": platform.python_version(), "cores": os.cpu_count()}
            found = {"machine": machine, "figures": table.rows, "missing": table.missing}
            options.json.write_text(json.dumps(found, indent=1) + "\n")
    missed = [r["what"] for r in table.rows if r["ok"] is False]
    print(f"{sum(r['ok'] is True for r in table.rows)} targets met, {len(missed)} missed{': ' if missed else ''}{'; '.join(missed)}")
    if table.missing:
        print("not measured:", *table.missing, sep="\n  ")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
