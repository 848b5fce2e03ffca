"""The time that a window shows of a simulation that is stopped: frames back into its past, and on."""

import time

import numpy as np

import engine
from engine.simulation import Live
from engine.viewer.scene import Scene
from engine.viewer.window.clock import Clock
from engine.viewer.window.playback import FRAME


def step(clock, now):
    """A frame further, and wait until it is done: the simulation runs beside."""
    clock.step(1)
    until = time.monotonic() + 60.0
    while clock.t < now + 0.9 * FRAME and time.monotonic() < until:
        time.sleep(0.01)


def test_a_frame_further_than_the_past_is_a_step_of_the_simulation():
    model = engine.load_urdf(engine.example("free_flyer"), floating_base=True)
    with Live(engine.Simulator(model, gravity=(0, 0, 0)), model.neutral(), 0.1 * np.ones(model.nv), paused=True) as live:
        clock = Clock(Scene(live))
        for _ in range(3):
            step(clock, clock.t)
        now = clock.t
        clock.step(-1)
        assert clock.looks_back and abs(now - clock.t - FRAME) < 1e-3
        clock.step(1)
        assert clock.looks_back and abs(clock.t - now) < 1e-9
        step(clock, now)
        assert not clock.looks_back and clock.t > now + 0.9 * FRAME
