"""The processor: how many samples go together, chosen from outside, and the same bits whatever is chosen."""

import hashlib
import os
import subprocess
import sys

import pytest

from engine import EngineError
from engine.compiler import native_code

#: a function of every kind of entry, a robot's and a rollout, alone and in batches with and without a rest: prints a hash of all bits
SCRIPT = """
import hashlib, sys
import numpy as np
import engine
from engine import ops

def f(x, A):
    y = A @ np.sin(x) + ops.exp(-(x @ x))
    c, done = ops.while_loop(lambda c: (0.5 * c, c @ c < 1.0), 50.0 * x, 40)
    return np.array([*y, ops.stumpff(x @ x)[3], ops.power(ops.norm(x), 1.7), *c, ops.where(done, 1.0, 0.0)])

builder = engine.Builder("arms")
builder.add_link("l0")
for k in range(1, 7):                                                         # two arms of three joints, mirror images
    s = 1 if k < 4 else -1
    builder.add_link(f"l{k}", inertia=engine.spatial.inertia.from_mass(1.0, [0.2, s * 0.1, -0.5], np.diag([0.1, 0.2, 0.15])))
    placement = engine.spatial.se3.pose(np.eye(3), np.array([0.1, s * 0.3, -0.2]))
    builder.add_joint(f"j{k}", "revolute", f"l{k - 1 if k != 4 else 0}", f"l{k}", axis=np.eye(3)[k % 3], placement=placement)
model = builder.model()
rng, robot = np.random.default_rng(0), engine.compile(model)
g = engine.gufunc(f, "(n),(n,n)->(m)", n=3)
simulator = engine.Simulator(model, dt=1e-2)
h = hashlib.sha256()
for rows in (1, 2, 3, 7, 8, 9, 19):
    x, A, q, v, tau = (rng.standard_normal((rows, *s)) for s in ((3,), (3, 3), (6,), (6,), (6,)))
    x[0, 0] = 2.0**50                                                         # beyond the near range of sines
    batches = g(x, A), robot.aba(q, v, tau), simulator.run(q, v, 0.05).q
    alone = [g(*r) for r in zip(x, A)], [robot.aba(*r) for r in zip(q, v, tau)], [simulator.run(*r, 0.05).q for r in zip(q, v)]
    for many, one in zip(batches, alone):
        assert many.tobytes() == np.array(one).tobytes(), rows
        h.update(many.tobytes())
from engine.compiler import native_code
print(native_code.width(), h.hexdigest())
"""


def test_samples_are_the_same_bits_at_every_width():
    """Also at one that is wider than the processor's vectors, which are then made of several."""
    found = {}
    for lanes in ("1", "2", "4", "8"):
        done = subprocess.run([sys.executable, "-c", SCRIPT], env={**os.environ, "ENGINE_LANES": lanes}, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        width, found[lanes] = done.stdout.split()
        assert width == lanes
    assert len(set(found.values())) == 1 and len(found["1"]) == hashlib.sha256().digest_size * 2


@pytest.mark.parametrize("wrong", ["", "0", "3", "16", "-4", "4.0", "eight", " 4", "08"])
def test_other_numbers_of_lanes_are_refused(monkeypatch, wrong):
    monkeypatch.setenv("ENGINE_LANES", wrong)
    with pytest.raises(EngineError, match=f"ENGINE_LANES is '{wrong}'; expected 1, 2, 4 or 8"):
        native_code.width.__wrapped__()


def test_single_calls_refuse_other_numbers_of_lanes_too():
    code = "import engine; engine.gufunc(lambda x: x * 2.0, '()->()')(1.0)"
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "ENGINE_LANES": "abc"}, capture_output=True, text=True)
    assert done.returncode and done.stderr.endswith("EngineError: ENGINE_LANES is 'abc'; expected 1, 2, 4 or 8\n")


def test_the_processor_chooses_by_itself(monkeypatch):
    monkeypatch.delenv("ENGINE_LANES", raising=False)
    own = native_code.width.__wrapped__()
    assert own in (2, 4, 8) and (own == 8) == bool(native_code.llvm().get_host_cpu_features().get("avx512f"))


FORKS = """
import os, signal, threading, time
os.environ["ENGINE_CACHE"] = "0"
import numpy as np
import engine

numbers, stop = iter(range(1, 10**6)), []

def compile_on():
    while not stop:
        c = next(numbers) * 1.5
        f = engine.gufunc(lambda x: np.sin(x) * c + engine.ops.exp(x), "()->()")
        f(1.0), f(np.ones(9))

threads = [threading.Thread(target=compile_on) for _ in range(2)]
for t in threads:
    t.start()
ended = []
for _ in range(8):
    time.sleep(0.02)
    pid = os.fork()
    if not pid:
        signal.alarm(30)                                                      # what hangs is killed
        f = engine.gufunc(lambda x: x * 3.25, "()->()")
        os._exit(0 if f(1.0) == 3.25 and f(np.ones(5)).tolist() == [3.25] * 5 else 1)
    ended.append(os.waitpid(pid, 0)[1])
    if any(ended):
        break
stop.append(True)
for t in threads:
    t.join()
print(ended)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_process_forked_while_another_thread_compiles_compiles_too():
    """LLVM is let go of before every fork: no lock stays with a thread that the child does not have."""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", FORKS], capture_output=True, text=True, timeout=200)
    assert done.stdout == f"{[0] * 8}\n", done.stdout + done.stderr


LAST = """
import os, sys
import numpy as np
import engine
from engine.compiler.gufunc import _immortal

class Witness:
    def __init__(self, name):
        self.name = name
    def __del__(self, write=os.write):
        write(1, self.name)

f = engine.gufunc(lambda x: np.sin(x), "()->()")
f(1.0), f(np.ones(9))
for things in _immortal:
    for x in things:
        if hasattr(x, "__dict__"):
            x.witness = Witness(b"code or definition ")
Witness(b"begin ")
"""


def test_what_functions_of_c_point_to_outlives_them():
    """Python's end: names go in no certain order, and a function of C reads its definition when it is freed."""
    done = subprocess.run([sys.executable, "-c", LAST], capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stdout) == (0, "begin ")


ENDS = {
    "threads compute": "while True: f(X.copy()); f(X[0])",
    "threads compile": "c = random.random(); g = engine.gufunc(lambda x: ops.sin(x) * c + ops.exp(x), '()->()'); g(1.0); g(np.ones(9))",
    "threads run batches on threads": "f(np.tile(X, (40, 1)))",
}
END = """
import atexit, random, threading, time
import numpy as np
import engine
from engine import ops

engine.set_threads(2)
f = engine.gufunc(lambda x: ops.sin(x) @ x, "(n)->()", n=50)
X = np.random.default_rng(0).random((2000, 50))
f(X)

def forever():
    try:
        while True:
            {}
    except RuntimeError:                                                      # an own thread that cannot be started any more
        pass

for _ in range(3):
    threading.Thread(target=forever, daemon=True).start()
Y = np.tile(X, (100, 1))
atexit.register(lambda: print(f(Y).shape, f(X[0]) == f(X)[0]))
time.sleep(0.2)
"""


@pytest.mark.parametrize("what", ENDS)
def test_python_ends_well_under_threads_that_go_on(what):
    """Daemon threads within machine code or LLVM; and a batch at the very end, when no thread of the pool can be started."""
    done = subprocess.run([sys.executable, "-X", "faulthandler", "-c", END.format(ENDS[what])], capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stdout) == (0, "(200000,) True\n"), done.stderr
