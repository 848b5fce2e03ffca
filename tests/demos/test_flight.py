"""The flight, by scripted pilots: it stands, lifts off, hovers, levels and lands, and every key does what it says."""

import importlib.util
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import engine
from engine.simulation.live import Live
from engine.spatial import quaternion

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def flight():
    spec = importlib.util.spec_from_file_location("flight", ROOT / "demos" / "flight.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def simulator(flight):
    return flight.simulator()


@pytest.fixture(scope="module")
def fly(flight, simulator):
    """fly(hands, duration, above, turn, v): what happens when a pilot takes over at a height of the feet, turned by a rotation vector."""

    def flown(hands, duration, above=None, turn=(0, 0, 0), v=(0, 0, 0, 0, 0, 0)):
        q0, v0 = flight.standing()
        if above is not None:
            q0 = np.concatenate([quaternion.exp(np.array(turn, dtype=float)), [0.0, 0.0, q0[6] + above]])
        return flight.flown(simulator, hands, q0, v0 + v, duration)

    return flown


def lean(motion):
    return np.arccos(np.clip(quaternion.to_matrix(motion.q[:, :4])[:, 2, 2], -1.0, 1.0))


def upwards(motion):
    return quaternion.rotate(motion.q[:, :4], motion.v[:, 3:])[:, 2]


def height(flight, motion):
    return motion.q[:, 6] - flight.standing()[0][6]


def test_it_stands_still(fly):
    motion = fly(lambda state: set(), 3.0)
    assert np.abs(motion.v).max() < 1e-9 and np.abs(motion.q - motion.q[0]).max() < 1e-9


def test_thrust_lifts_off_and_gravity_brings_back(flight, fly):
    motion = fly(lambda state: {"G"} if state.t < 2.0 else set(), 4.0)
    at = height(flight, motion)[120]
    expected = 0.5 * flight.GRAVITY * (2.0 - 2 * flight.LAG) ** 2             # twice the weight, after the engine's lag
    assert at == pytest.approx(expected, rel=0.25) and lean(motion).max() < 1e-6
    assert motion("engine.throttle")[[0, 120, -1]] == pytest.approx([0.0, 1.0, 0.0], abs=1e-6)
    assert 1.6 <= flight.THRUST / (flight.MASS * flight.GRAVITY) <= 2.0
    assert upwards(motion)[240] < upwards(motion)[120] - 5.0


def test_a_naive_pilot_hovers(flight, fly):
    motion = fly(lambda state: {"G"} if flight.height(state) < 5.0 and flight.climb(state) < 0.0 else set(), 15.0, above=5.0)
    assert np.abs(height(flight, motion) - 5.0).max() < 0.5


def test_a_naive_pilot_lands_softly(flight, fly):
    motion = fly(lambda state: {"G"} if flight.climb(state) < -0.5 else set(), 14.0, above=5.0)
    down = int(np.argmax(height(flight, motion) < 0.004))
    assert 0 < down < len(motion) - 60 and -upwards(motion)[down - 1] < 1.0
    assert np.abs(motion.v[-1]).max() < 0.05 and height(flight, motion)[down:].max() < 0.01


class Person:
    """Sees altitude and climb, to a tenth, ten times a second; what that makes of it is done 0.3 s later."""

    def __init__(self, plan):
        self.plan, self.looked, self.done = plan, -1.0, [(0.0, set())]

    def __call__(self, state):
        if state.t >= self.looked + 0.1:
            self.looked = state.t
            read = (round(float(state.signals[f"pilot.{n}"]), 1) for n in ("altitude", "climb"))
            self.done.append((state.t + 0.3, self.plan(state.t, *read)))
        return [keys for t, keys in self.done if t <= state.t][-1]


def test_a_person_hovers_and_lands(flight, fly):
    """At 5 m for 20 s, and down with less than 1 m/s: by the numbers in the window alone."""
    def plan(t, altitude, climb):
        ahead = climb + 0.1 * flight.GRAVITY * sum(1 if on else -1 for on in pressed[-4:])       # by what is under way
        wanted = np.clip(0.5 * (5.0 - altitude), -0.8, 1.2) if t < 26.0 else -0.5 if altitude < 1.5 else -1.0
        pressed.append(ahead < wanted and not (t > 26.0 and altitude <= 0.0))
        return {"T", "G"} if pressed[-1] else {"T"}

    pressed = [False]
    motion = fly(Person(plan), 45.0)
    at, hover = height(flight, motion), (motion.t > 6.0) & (motion.t < 26.0)
    assert np.abs(at[hover] - 5.0).max() < 1.0
    down = len(at) - 1 - int(np.argmax(at[::-1] > 0.01))
    assert -upwards(motion)[down - 2] < 1.0 and np.abs(motion.v[-1]).max() < 0.05


@pytest.mark.parametrize("seed", range(4))
def test_held_t_ends_a_tumble(fly, seed):
    rng = np.random.default_rng(seed)
    w = rng.standard_normal(3)
    motion = fly(lambda state: {"T"}, 3.0, 80.0, rng.standard_normal(3) * 2.0, [*(2.0 * w / np.linalg.norm(w)), 0, 0, 0])
    assert lean(motion)[-1] < 0.02 and np.linalg.norm(motion.v[-1, :3]) < 0.02


def test_held_t_turns_over_what_is_exactly_upside_down(fly):
    motion = fly(lambda state: {"T"}, 3.5, 80.0, (np.pi, 0, 0))
    assert lean(motion)[0] == pytest.approx(np.pi, abs=1e-6) and lean(motion)[-1] < 0.02


@pytest.mark.parametrize(("key", "axis", "sign", "leans"), [
    ("W", 1, +1, (+1, 0)), ("S", 1, -1, (-1, 0)), ("A", 2, +1, None), ("D", 2, -1, None), ("E", 0, +1, (0, -1)), ("Q", 0, -1, (0, +1)),
])  # fmt: skip
def test_each_key_turns_its_own_way_and_let_go_it_stops(flight, fly, key, axis, sign, leans):
    motion = fly(lambda state: {key} if state.t < 0.5 else set(), 1.5, above=40.0)
    rates = motion.v[:, :3]
    assert rates[30, axis] == pytest.approx(sign * flight.RATE, rel=0.1)
    assert np.abs(np.delete(rates, axis, axis=1)).max() < 1e-9
    assert np.linalg.norm(rates[48]) < 0.15 * flight.RATE and np.linalg.norm(rates[-1]) < 0.05
    thrust = quaternion.to_matrix(motion.q[-1, :4])[:, 2]                     # x forward, y to the left
    if leans:
        assert np.allclose(np.sign(np.round(thrust[:2], 6)), leans)
    else:
        assert thrust[2] == pytest.approx(1.0)
        nose = quaternion.to_matrix(motion.q[-1, :4])[:, 0]
        assert np.sign(nose[1]) == sign


def test_a_key_on_the_ground_does_not_tip_it_over(fly):
    for key in "WE":
        assert lean(fly(lambda state: {key}, 2.0)).max() < 0.05


def test_speeds_are_bounded(flight, fly):
    motion = fly(lambda state: set(), 12.0, above=400.0)
    assert 0.9 * flight.TERMINAL < np.abs(motion.v[-1, 5]) < flight.TERMINAL


@pytest.mark.parametrize("seed", range(5))
def test_a_crash_is_a_crash_and_no_nan(flight, fly, seed):
    rng = np.random.default_rng(seed)
    turn, w, u = 2.0 * rng.standard_normal(3), 3.0 * rng.standard_normal(3), rng.uniform((-12, -12, -18), (12, 12, 0))
    v = np.concatenate([w, quaternion.to_matrix(quaternion.exp(turn)).T @ u])
    motion = fly(lambda state: set(), 6.0, 3.0, turn, v)
    points = motion.q[:, None, 4:7] + flight.touching() @ np.swapaxes(quaternion.to_matrix(motion.q[:, :4]), 1, 2)
    energy = sum(motion.energy())
    assert points[..., 2].min() > -0.15 and np.linalg.norm(motion.v[-1]) < 3.0
    assert (energy <= energy[0] + 15.0).all()                                 # the attitude thrusters may add a little


def test_commands(flight):
    nothing = flight.commands(set())
    assert {n: np.shape(x) for n, x in nothing.items()} == {"stick": (3,), "throttle": (), "level": ()}
    assert not any(np.any(x) for x in nothing.values())
    both = flight.commands(frozenset({"W", "A", "G", "T", "UP", "SPACE", "X"}))
    assert both["stick"].tolist() == [0, 1, 1] and both["throttle"] == both["level"] == 1
    assert not flight.commands({"W", "S", "Q", "E"})["stick"].any()
    assert {*flight.KEYS} == {*"WSADQEGT"}


def test_the_keys_fly_it_live_and_space_resets_exactly(flight, simulator):
    q0, v0 = flight.standing()
    with Live(simulator, q0, v0, speed=4.0) as live:
        handle = flight.hands_on(live)
        end = time.perf_counter() + 10.0
        while live.state.q[6] < q0[6] + 0.5:
            handle(frozenset({"G", "W"}), "G")
            time.sleep(0.005)
            assert time.perf_counter() < end and live.error is None
        live.pause()
        handle(frozenset(), "SPACE")
        while live.state.t:
            time.sleep(0.005)
            assert time.perf_counter() < end
        assert np.array_equal(live.state.q, q0) and np.array_equal(live.state.v, v0) and live.state.signals["engine.throttle"] == 0


def test_the_window_is_given_what_it_needs(flight, monkeypatch, capsys):
    seen = {}

    def view(scene, keys, follow, signals):
        live = scene.actors[0].source.live
        seen.update(running=live.error is None, environment=scene.environment, follow=follow, flame=len(scene.actors) == 2)
        assert {*signals} <= {*live.state.signals} and {*keys.keys} == {*flight.KEYS, "Space"}
        keys(frozenset(), None)

    monkeypatch.setattr(engine, "view", view, raising=False)
    flight.fly()
    assert seen == {"running": True, "environment": "mars", "follow": "craft", "flame": True}
    said = capsys.readouterr().out
    assert all(word in said for word in ("W/S pitch", "A/D yaw", "Q/E roll", "G thrust", "T (held)", "Space reset", "arrow keys"))


def test_the_scripted_flight():
    done = subprocess.run([sys.executable, "demos/flight.py", "--headless"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

    def number(pattern):
        return float(re.search(pattern, done.stdout).group(1))

    assert number(r"drifts by (\S+) mm") < 1e-3 and 4.5 < number(r"up to (\S+) m, leaning") < 5.5
    assert number(r"between (\S+) and") > 4.5 and number(r"and (\S+) m, for 5 m") < 5.5
    assert number(r"walked +(\S+) m") > 2 and number(r"levelled +to (\S+) deg") < 0.1
    assert number(r"down at (\S+) m/s") < 1.0 and number(r"stands +at (\S+) m/s") < 1e-3


def test_the_craft_looks_like_one(flight):
    (link,) = flight.craft().links
    assert link.mass == flight.MASS and len(link.visuals) > 20 and all(shape.material.color for shape in link.visuals)
    low = min(shape.placement[2, 3] for shape in link.visuals if shape.name == "foot")
    assert low - 0.025 == pytest.approx(flight.FOOT)                          # it is drawn where it touches


def test_landings_have_points(fly, flight):
    """100 (1 − |v|/2): none for a fall from two metres, most for a soft landing, and none while nobody has flown."""
    assert not fly(lambda state: set(), 1.0)("pilot.score").any()
    fall = fly(lambda state: set(), 3.0, above=2.0)
    assert fall("pilot.score")[-1] == 0.0 and np.abs(fall.v[:, 5]).max() > 2.0
    soft = fly(lambda state: flight.thrust_to(state, -1.0, down=0.5), 8.0, above=2.0)
    touched = int(np.argmax(soft("pilot.score") > 0.0))
    before, after = 100.0 * (1.0 - np.linalg.norm(soft.v[[touched - 1, touched], 3:], axis=1) / 2.0)
    assert 50.0 < min(before, after) - 1e-6 < soft("pilot.score")[-1] < max(before, after) + 1e-6


def test_the_flame_comes_out_as_far_as_the_throttle_is_open(fly, flight):
    motion = fly(lambda state: {"G"}, 1.0, above=2.0)
    scene = flight.scene(motion, lambda t: t)
    craft, flame = scene.actors
    for t in (0.0, 0.4, 1.0):
        tip = np.array([0.0, 0.0, flight.NOZZLE - flight.FLAME * t, 1.0])
        lowest = flame.poses(t)[0, 0] @ [0.0, 0.0, flight.NOZZLE - flight.FLAME, 1.0]
        assert np.abs(lowest - craft.poses(t)[0, 0] @ tip).max() < 1e-12
    stands = flight.scene(fly(lambda state: set(), 1.0), lambda t: 1.0)
    assert stands.floor == 0.0                                                 # and not below the ground it stands on
