"""Published motions of what rolls, slides and bounces, which the page of validation has."""

import numpy as np

from tests.contact import published


def test_whipple_s_bicycle():
    """The benchmark's eigenvalues, to rounding of what is differentiated."""
    assert np.abs(published.bicycle_eigenvalues() - published.BICYCLE).max() < 1e-11


def test_a_ball_on_a_turntable_goes_round_by_two_sevenths():
    """To how much a ball sinks in and slips: the rolling of a hard one."""
    assert abs(published.turntable() - 1.0) < 1e-3


def test_a_tippe_top_turns_over():
    """And keeps Jellett's constant, which no friction at one point changes."""
    first, last, lost = published.tippe_top(dt=2e-4)
    assert first < 0.11
    assert last > 3.0
    assert lost < 0.12                                                           # of the first order: 0.103 at this step, half at half
