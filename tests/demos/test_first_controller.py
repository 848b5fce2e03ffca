"""The first controller, line by line: what it prints is what can be worked out by hand."""

import re

import numpy as np
from scipy.optimize import brentq


def test_every_step_does_what_it_says(demo):
    said = demo("first_controller")
    rows = re.findall(r"ends +(\S+) mrad off, goes +(\S+) .*takes +(\S+) N", said)
    off, beyond, most = np.array(rows, dtype=float).T
    droops = [brentq(lambda q, load=load: 60.0 * (1.0 - q) - 9.81 * load * np.sin(q), 0.0, 1.0) for load in (2.0 * 0.4, 0.5 * 0.8)]
    np.testing.assert_allclose(off[[0, 2]], 1e3 * (np.array(droops) - 1.0), atol=1e-3)
    assert abs(off[1]) < 1e-3 and most[1] == 60.0                              # of the jump
    assert abs(off[3]) < 0.1 and beyond[3] > 100.0 and most[3] == 15.0         # the integral grows under way
    assert np.abs(off[4:]).max() < 3.0 and beyond[5] < 5.0 and most[5] < 15.0  # a profile does not let it
