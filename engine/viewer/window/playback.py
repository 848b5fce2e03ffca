"""A clock for looking at motions: plays, pauses, turns round, goes slower and faster."""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence
from typing import Any

from engine.checks import number
from engine.viewer.scene.errors import ViewerError

#: of motion in a second of wall time: what :meth:`Playback.faster` and :meth:`Playback.slower` go through
SPEEDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
#: s, of a single step
FRAME = 1 / 60


class Playback:
    """Time in a motion, moved on by the time that passes at the wall.

    >>> clock = Playback((0.0, 10.0))
    >>> clock.play()
    >>> clock.advance(0.5)
    0.5

    Parameters
    ----------
    span : first and last time of the motion, s
    loop : whether it begins again at its end; otherwise it stops there

    Attributes
    ----------
    t : s, within the span
    playing : whether time goes on
    speed : seconds of motion in a second, from 0.01 to 100; may be set
    direction : 1 forwards, −1 backwards
    """

    def __init__(self, span: tuple[float, float], loop: bool = False) -> None:
        start, end = (float(t) for t in span)
        if not (math.isfinite(start) and math.isfinite(end) and start <= end):
            raise ViewerError(f"a motion lasts from {start:g} to {end:g} s; expected finite times, the first not after the last")
        self.span, self.loop, self.t = (start, end), loop, start
        self.playing, self.direction = False, 1
        self.speed = 1.0

    def __repr__(self) -> str:
        how = f"{'' if self.direction > 0 else '−'}{self.speed:g}×" if self.playing else "paused"
        return f"<playback at {self.t:g} of {self.span[0]:g} … {self.span[1]:g} s, {how}>"

    # ------------------------------------------------------------ buttons

    def play(self) -> None:
        """Go on; from the other end, where there is nothing left to play."""
        if self.t == self._goal:
            self.t = self.span[0] if self.direction > 0 else self.span[1]
        self.playing = True

    def pause(self) -> None:
        """Stand still."""
        self.playing = False

    def toggle(self) -> None:
        """Play if it stands still, stand still if it plays."""
        if self.playing:
            self.pause()
        else:
            self.play()

    def reverse(self) -> None:
        """Turn round."""
        self.direction = -self.direction

    def scrub(self, t: float) -> None:
        """Go to a time, s; beyond the ends it is the end."""
        if math.isnan(t):
            raise ViewerError(f"a time is {t!r}; expected seconds")
        self.t = min(max(float(t), self.span[0]), self.span[1])

    def step(self, count: int = 1, times: Sequence[float] | Any = None) -> None:
        """Stand still, so many frames of 1/60 s further (back, if less than zero); with the ``times`` of records (T), so many records."""
        self.pause()
        if times is None:
            self.scrub(self.t + count * FRAME)
        elif count:  # the next is beyond t, the one before is before it; t between two records is at neither
            near = 1e-9 * max(self.span[1] - self.span[0], 1e-9)
            k = bisect.bisect_right(times, self.t + near) - 1 if count > 0 else bisect.bisect_left(times, self.t - near)
            self.scrub(times[min(max(k + count, 0), len(times) - 1)])

    # ------------------------------------------------------------ speed

    @property
    def speed(self) -> float:
        return self._speed

    @speed.setter
    def speed(self, speed: float) -> None:
        expected = f"seconds of motion in a second, from {SPEEDS[0]:g} to {SPEEDS[-1]:g}"
        self._speed = number("speed", speed, expected, least=SPEEDS[0], most=SPEEDS[-1], error=ViewerError)

    def faster(self) -> None:
        """Go to the next of 0.01, 0.02, 0.05, 0.1, …, 100."""
        self.speed = SPEEDS[min(bisect.bisect_right(SPEEDS, self.speed), len(SPEEDS) - 1)]

    def slower(self) -> None:
        """Go to the one before."""
        self.speed = SPEEDS[max(bisect.bisect_left(SPEEDS, self.speed) - 1, 0)]

    # ------------------------------------------------------------ time

    @property
    def _goal(self) -> float:
        return self.span[1] if self.direction > 0 else self.span[0]

    def advance(self, elapsed: float) -> float:
        """Let ``elapsed`` more seconds (0 or more) pass at the wall; return the time in the motion."""
        if not self.playing:
            return self.t
        start, end = self.span
        t = self.t + self.direction * self.speed * elapsed
        if start <= t <= end:
            self.t = t
        elif self.loop and end > start:
            self.t = start + (t - start) % (end - start)
        else:
            self.t, self.playing = self._goal, False
        return self.t
