"""Normalised squares of a filter's errors: records between its ticks are told, and what cannot be is refused in a sentence."""

import inspect

import numpy as np
import pytest

import engine
from engine import sensors as S
from tests.sensors.test_late_stars import H, bus, flown


def squares(run, **other):
    s = run.signals
    return S.nees(run.q[..., :4], np.zeros((*run.q.shape[:-1], 3)), s["filter.q"], s["filter.bias"], s["filter.P"])


def test_records_between_ticks_are_told():
    """As one twice as often as the filter's ticks has: at ticks alone nothing is said, nor where the truth does not move."""
    run = flown(period=0.5, dt=0.5 * H).run([1.0, 0, 0, 0, 0, 0, 0], [0.02, -0.01, 0.03, 0, 0, 0], 5.0)
    with pytest.warns(engine.SimulationWarning, match=r"nees: 100 of 200 records are between the filter's ticks, where its"):
        squares(run)
    squares(run[::2])
    squares(run.at(run.t[::2]))
    squares(flown(period=0.5, dt=0.5 * H).run([1.0, 0, 0, 0, 0, 0, 0], np.zeros(6), 5.0))
    n, one = 5, np.array([1.0, 0, 0, 0])                                       # runs that begin alike, elsewhere
    begun = np.array(engine.spatial.quaternion.exp(0.1 * np.random.default_rng(0).standard_normal((n, 3))))
    S.nees(begun, np.zeros((n, 3)), np.tile(one, (n, 1)), np.zeros((n, 3)), np.tile(np.eye(6), (n, 1, 1)))


ONE = np.array([1.0, 0, 0, 0])


@pytest.mark.parametrize(("given", "text"), [
    ((ONE, np.zeros(3), ONE, np.zeros(3), np.zeros((6, 6))), "nees: P has no inverse; expected that of an estimate whose errors have"),
    ((np.tile(ONE, (3, 1)), np.zeros((3, 3)), np.tile(ONE, (2, 1)), np.zeros((2, 3)), np.tile(np.eye(6), (2, 1, 1))),
     r"nees: shapes are q \(3, 4\), bias \(3, 3\), estimate \(2, 4\), .*; expected as many runs and records of each"),
    ((np.zeros(3), np.zeros(3), ONE, np.zeros(3), np.eye(6)), r"nees: q has shape \(3,\); expected \(\.\.\., 4\)"),
    ((np.tile(ONE, (2, 1)), np.zeros(3), ONE, np.zeros(3), np.stack([np.eye(6), np.zeros((6, 6))])), r"nees: P\[1\] has no inverse"),
])  # fmt: skip
def test_what_cannot_be_is_refused(given, text):
    with pytest.raises(engine.SimulationError, match=text):
        S.nees(*given)


@pytest.mark.parametrize("kind", [S.Gyro, S.IMU, S.StarTracker, S.AttitudeFilter, S.ForceTorque])
def test_a_signature_says_what_it_takes(kind):
    assert [*inspect.signature(kind).parameters] == [*inspect.signature(kind.__init__).parameters][1:]


def test_what_is_no_part_is_said_by_either_way():
    for controller in (lambda gyro: gyro["true"], lambda gyro: gyro.true):
        with pytest.raises(engine.SimulationError, match=r"reads 'gyro.true': a signal has no part 'true'; .*\(the truth beside a"):
            engine.Simulator(bus(), sensors=[S.Gyro("bus")], controller=controller)
