"""What the tests of campaigns share: a free-floating arm that compiles quickly, and metrics that a module has by name."""

import functools
import hashlib
import os
import signal
import threading
import time

import numpy as np
from scipy import stats

import engine
from engine.campaign import Campaign

RUNS = 60


@functools.cache
def simulator(events=()):
    arm = engine.Builder("arm")
    for name, mass in (("hull", 10.0), ("rod", 2.0)):
        arm.add_link(name, inertia=engine.spatial.inertia.box(mass, (0.5, 0.2, 0.2)))
    arm.add_joint("elbow", "revolute", "hull", "rod", axis=[0, 0, 1])
    model = arm.model(floating_base=True)
    return engine.Simulator(model, dt=0.02, gravity=(0, 0, 0), parameters={"mass.hull": 10.0, "pull": 0.0}, forces=[push], events=events)


def push(t, q, v, pull):
    return {"rod": np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0]) * pull / (1.0 - pull)}             # not finite where pull is 1


def stops(t, q, v):
    return q[7] - 0.5


def turned(trajectory):
    return trajectory.q[-1, 7] - trajectory.q[0, 7]


def apart(trajectory):
    return trajectory.q[..., -1, 4:7] - trajectory.q[..., 0, 4:7]


apart.batched = True


def slow(trajectory):
    time.sleep(0.02)
    return float(trajectory.q[-1, 7])


SLOW = {"metrics": {"slow": slow}}


def rises(trajectory):
    if trajectory.q[0, 7] < 0.0:
        raise ZeroDivisionError("below zero")
    return trajectory.q[-1, 7] > 0.3


def rises_not(trajectory):
    raise ZeroDivisionError("never")


SCATTER = {
    "mass.hull": stats.norm(10.0, 0.5), "q0.elbow": stats.uniform(-0.5, 1.0), "attitude.floating_base": "uniform",
    "v0.floating_base.w": stats.multivariate_normal([0.0, 0.1, 0.0], np.diag([0.1, 0.2, 0.1]) ** 2), "pull": stats.uniform(0.0, 0.3),
}  # fmt: skip
METRICS = {"swing": "max |v.elbow|", "mean": "mean v.elbow", "turned": turned, "apart": apart, "open": "final q.elbow > 0.1"}


def campaign(chunk=None, **changed):
    given = {"runs": RUNS, "seed": 7, "scatter": SCATTER, "metrics": METRICS, "keep": {"columns": ["q"], "rate": 10.0}, **changed}
    return Campaign(given.pop("simulator", None) or simulator(), [1.0, 0, 0, 0, 0, 0, 0, 0], np.zeros(7), 1.0, chunk=chunk, **given)


def hashes(folder):
    """The SHA-256 of every shard, by name."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.glob("*.h5"))}


def same(a, b):
    """Whether two sets of runs are the same bits, and say the same."""
    columns, others = ({**x.columns, **x.kept} for x in (a, b))
    return {*columns} == {*others} and all(
        a(n).tolist() == b(n).tolist() if n == "reason" else np.array_equal(a(n), b(n), equal_nan=True) for n in columns)  # fmt: skip


def killed(there, pid, after=2):
    """A thread that kills a process as soon as so many chunks are there."""
    def kill():
        while there() < after:
            time.sleep(0.005)
        os.kill(pid, signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    return thread
