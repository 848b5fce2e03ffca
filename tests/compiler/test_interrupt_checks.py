"""Ctrl-C while a loop in machine code goes on for ever: heard within a second or so, at the place where it was called."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import engine
from engine import ops
from engine.compiler.codegen import entry, interrupt_checks

BEGIN = """
import signal, sys
import numpy as np
import engine
from engine import ops

def long(x):  # a body that is more than a few operations
    return ops.while_loop(lambda y: (y + 0.1 * np.sin(y) @ np.cos(y) * y[::-1], y[0] == 77.5), x, 2**53)[0]

def short(x):
    return ops.while_loop(lambda y: (0.5 * y + 1.0, y < -1.0), x, 2**53)[0]

def tables(x):
    return ops.while_loop(lambda t: (ops.rows(lambda y: 0.5 * y + 1.0, t), ops.total(t) < -1.0), x, 2**53)[0]

def counted(x):
    return ops.each(lambda k, y: 0.5 * y + k, 2.0**52 + 0.0 * x, x)

"""
CALLS = {
    "short": "engine.gufunc(short, '()->()')(3.0)",
    "short batch": "engine.set_threads(1); engine.gufunc(short, '()->()')(np.ones(20))",
    "long": "engine.gufunc(long, '(3)->(3)')([1.0, 2.0, 3.0])",
    "tables": "engine.gufunc(tables, '(n)->(n)')(np.ones(20))",
    "counted": "engine.gufunc(counted, '()->()')(1.0)",
    "run": "engine.Simulator(engine.load(sys.argv[1]), dt=1e-3, controller=lambda t, q, v: 0.0 * v + short(q[0] + 9.0)).run(t=5.0)",
}
ARM = Path(engine.__file__).parent / "examples"


def interrupted(call, after=""):
    """Begin a call in a process of its own, press Ctrl-C, and return what it said, and the seconds until it ended."""
    robot = next(ARM.rglob("*.urdf"))
    text = f"{BEGIN}\nprint('begun', flush=True)\ntry:\n    {call}\nexcept KeyboardInterrupt:\n    print('heard', flush=True)\n{after}"
    with subprocess.Popen([sys.executable, "-c", text, str(robot)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == "begun\n"
            time.sleep(6.0)                                                    # to trace, compile, and run for a while
            begun = time.perf_counter()
            process.send_signal(signal.SIGINT)
            said, errors = process.communicate(timeout=60)
            return said, errors, time.perf_counter() - begun
        finally:
            process.kill()


@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C is sent otherwise")
@pytest.mark.parametrize("call", CALLS)
def test_a_loop_that_never_ends_hears_ctrl_c(call):
    again = "print(engine.gufunc(lambda x: ops.while_loop(lambda y: (y + 1.0, y >= 9.0), x, 2**53)[0], '()->()')(1.0))"
    said, errors, seconds = interrupted(CALLS[call], again)
    assert said == "heard\n10.0\n", errors
    assert seconds < 30.0


@pytest.mark.skipif(os.name == "nt", reason="signals of timers")
def test_a_handler_that_raises_nothing_ends_nothing(monkeypatch):
    """It is called while the loop goes on, whose result is the same; one that raises ends it, with what it raised."""
    came = []
    f = engine.gufunc(lambda x: ops.while_loop(lambda y: (y + 1.0, y >= 2e8 - 1.0), x, 2**53)[0], "()->()")
    f(2e8)
    before = signal.signal(signal.SIGALRM, lambda number, frame: came.append(number))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        assert f(0.0) == 2e8 and came == [signal.SIGALRM]

        def end(number, frame):
            raise TimeoutError("long enough")

        signal.signal(signal.SIGALRM, end)
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(TimeoutError, match="long enough"):
            f(-4e12)
        assert f(1e8) == 2e8
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def test_short_loops_do_not_look():
    """Their code is what it was."""
    def text(limit):
        program = engine.gufunc(lambda x: ops.while_loop(lambda y: (np.sin(y), y < -1.0), x, limit)[0], "()->()").program
        return entry.single(program)

    assert "look" not in text(interrupt_checks.PASSES) and "look" in text(interrupt_checks.PASSES + 1)
