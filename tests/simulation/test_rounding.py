"""Another way of rounding, which a library of the process has set, is said: once, when something is run."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

RUN = """
import ctypes, sys, warnings
import numpy as np
import engine

def simulate():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        stone = engine.Builder()
        stone.add_link("base", inertia=engine.spatial.inertia.sphere(1.0, 0.1))
        engine.Simulator(stone.model(floating_base=True), dt=0.1, compiled=False).run([1, 0, 0, 0, 0, 0, 0], np.zeros(6), duration=0.2)
    return [str(w.message) for w in caught]

assert simulate() == []
libm = ctypes.CDLL(None)
way = sys.argv[1]
if way == "flush":                                  # the bits 15 and 6 of MXCSR, which fenv_t of x86-64 holds behind 28 bytes
    environment = (ctypes.c_uint32 * 8)()
    assert libm.fegetenv(environment) == 0
    environment[7] |= 0x8040
    assert libm.fesetenv(environment) == 0
else:
    assert libm.fesetround(int(way)) == 0
said = [simulate(), simulate()]
libm.fesetround(0)
print([len(x) for x in said], *said[0])
"""
#: of fenv.h of x86-64
WAYS = {"up": "2048", "down": "1024", "to zero": "3072", "flush": "flush"}


@pytest.mark.skipif(sys.platform != "linux" or platform.machine() != "x86_64", reason="numbers of Linux on x86-64")
@pytest.mark.parametrize("way", WAYS)
def test_another_rounding_is_said_once(way):
    done = subprocess.run([sys.executable, "-c", RUN, WAYS[way]], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    down = "sums are rounded down, or towards zero"
    expected = {"up": "sums are rounded up", "flush": "numbers below 2.2e-308 count as zero"}.get(way, down)
    assert done.stdout.startswith(f"[1, 0] {expected} in this thread, which another library has set")
