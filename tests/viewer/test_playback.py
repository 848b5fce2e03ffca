"""The clock of a viewer: every button, both directions, both ends."""

import numpy as np
import pytest

from engine.viewer.scene import ViewerError
from engine.viewer.window.playback import FRAME, SPEEDS, Playback


@pytest.fixture
def clock():
    return Playback((2.0, 12.0))


def test_time_goes_on_only_while_it_plays(clock):
    assert clock.advance(1.0) == 2.0
    clock.play()
    assert clock.advance(1.0) == 3.0
    clock.pause()
    assert clock.advance(5.0) == 3.0
    clock.toggle()
    assert clock.advance(0.5) == 3.5
    clock.toggle()
    assert clock.advance(0.5) == 3.5 and "paused" in repr(clock)


def test_many_short_frames_are_one_long_one(clock):
    other = Playback(clock.span)
    for c in (clock, other):
        c.speed = 2.0
        c.play()
    for _ in range(240):
        clock.advance(FRAME)
    assert clock.t == pytest.approx(other.advance(240 * FRAME), abs=1e-12) and clock.t == pytest.approx(10.0)


def test_it_stops_at_its_end_and_begins_again_when_played(clock):
    clock.play()
    assert clock.advance(60.0) == 12.0 and not clock.playing
    clock.play()
    assert clock.advance(0.25) == 2.25


def test_backwards_it_stops_at_its_beginning(clock):
    clock.scrub(3.0)
    clock.reverse()
    clock.play()
    assert clock.advance(0.5) == 2.5
    assert clock.advance(1.0) == 2.0 and not clock.playing
    clock.play()  # backwards from the end
    assert clock.advance(1.0) == 11.0


@pytest.mark.parametrize(("direction", "elapsed", "t"), [(1, 13.0, 5.0), (1, 25.5, 7.5), (-1, 1.0, 11.0), (-1, 21.0, 11.0)])
def test_a_loop_wraps_both_ways(direction, elapsed, t):
    clock = Playback((2.0, 12.0), loop=True)
    if direction < 0:
        clock.reverse()
    clock.playing = True
    assert clock.advance(elapsed) == pytest.approx(t) and clock.playing


def test_scrubbing_stays_within_the_span_and_leaves_playing_alone(clock):
    clock.play()
    for t, there in ((7.0, 7.0), (-1e9, 2.0), (np.inf, 12.0)):
        clock.scrub(t)
        assert clock.t == there and clock.playing


def test_the_ladder_of_speeds(clock):
    assert [np.format_float_positional(s, trim="-") for s in SPEEDS[:4]] == ["0.01", "0.02", "0.05", "0.1"] and SPEEDS[-1] == 100
    up = [clock.speed]
    for _ in range(8):
        clock.faster()
        up.append(clock.speed)
    assert up == [1, 2, 5, 10, 20, 50, 100, 100, 100]
    for _ in range(20):
        clock.slower()
    assert clock.speed == 0.01
    clock.speed = 3.0  # between two rungs
    clock.faster()
    assert clock.speed == 5.0
    clock.speed = 3.0
    clock.slower()
    assert clock.speed == 2.0


def test_steps_of_frames_stand_still(clock):
    clock.play()
    clock.step(6)
    assert clock.t == pytest.approx(2.1) and not clock.playing
    clock.step(-60)
    assert clock.t == 2.0


def test_steps_of_records_visit_each_of_them_both_ways(clock):
    times = np.array([2.0, 2.3, 2.35, 7.0, 12.0])
    seen = [clock.t]
    for _ in range(5):
        clock.step(1, times)
        seen.append(clock.t)
    assert seen == [2.0, 2.3, 2.35, 7.0, 12.0, 12.0]
    back = [clock.t]
    for _ in range(5):
        clock.step(-1, times)
        back.append(clock.t)
    assert back == [12.0, 7.0, 2.35, 2.3, 2.0, 2.0]
    clock.scrub(5.0)  # between two records
    clock.step(1, times)
    assert clock.t == 7.0
    clock.scrub(5.0)
    clock.step(-1, times)
    assert clock.t == 2.35
    clock.step(2, times)
    assert clock.t == 12.0


def test_a_motion_without_duration_stands(clock):
    for loop in (False, True):
        still = Playback((1.0, 1.0), loop)
        still.play()
        assert still.advance(3.0) == 1.0
        still.step(1, [1.0])
        assert still.t == 1.0


@pytest.mark.parametrize("span", [(1.0, 0.0), (0.0, np.inf), (np.nan, 1.0)])
def test_a_span_must_be_one(span):
    with pytest.raises(ViewerError, match=r"a motion lasts from .*; expected finite times"):
        Playback(span)


@pytest.mark.parametrize("speed", [0.0, -1.0, 1000.0, np.nan])
def test_a_speed_must_be_on_the_dial(clock, speed):
    with pytest.raises(ViewerError, match=r"expected seconds of motion in a second, from 0.01 to 100"):
        clock.speed = speed
    with pytest.raises(ViewerError, match="a time is nan"):
        clock.scrub(float("nan"))
