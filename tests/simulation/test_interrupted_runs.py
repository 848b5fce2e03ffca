"""Ctrl-C while machine code runs."""

import os
import signal
import threading
import time

import numpy as np
import pytest

import engine
from engine.simulation import run_loop


@pytest.fixture(scope="module")
def arm():
    model = engine.load(engine.example("seven_joint_arm"))
    made = engine.Simulator(model, dt=1e-4, controller=lambda t, q, v: -20.0 * q - 2.0 * v)
    return made, model.neutral() + 0.2, np.zeros(7)


def test_pieces_are_the_same_bits(arm, monkeypatch):
    """Of records whose machine code comes back again and again, alone and in a batch, with a last step that is shorter."""
    made, q, v = arm
    Q = np.tile(q, (5, 1)) + 0.01 * np.arange(5)[:, None]
    given = [(q, v, 0.20005, 700), (Q, 0.0 * Q, 0.1, 1000)]
    whole = [made.run(*x) for x in given]
    monkeypatch.setattr(run_loop, "UNKNOWN", 3.0)
    for process in (made._step.process,):
        monkeypatch.setattr(process, "most", 3.0)
    monkeypatch.setattr(run_loop, "HEARD", 1e-5)
    for x, expected in zip(given, whole, strict=True):
        found = made.run(*x)
        assert found.q.tobytes() == expected.q.tobytes() and found.v.tobytes() == expected.v.tobytes()


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="signals of POSIX")
def test_ctrl_c_is_heard_between_records_that_are_far_apart(arm):
    """A run of minutes with one record."""
    made, q, v = arm
    made.run(q, v, 0.01)
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    begun = time.perf_counter()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        made.run(q, v, 1e4, record_every=10**9)
    assert time.perf_counter() - begun < 60.0                                  # of minutes; about 0.5 s on a machine of one's own
