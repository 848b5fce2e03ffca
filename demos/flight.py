"""Fly a lander by hand: take off, hover, land softly.

    python demos/flight.py                       # in a window, with the keys below
    python demos/flight.py --headless            # by a scripted pilot, who tells how it went
    python demos/flight.py --video flight.mp4    # the same as a film

    W/S pitch      A/D yaw      Q/E roll      G thrust      T (held) point the engine downwards
    Space reset    arrow keys move the camera

The craft is one rigid body on Mars with its own forces, all compiled into the step: an engine that takes a moment to follow its throttle,
thrusters that hold the body rates which the keys command (none, when they are let go), drag, and spring legs on the ground.
Its frame has x forward, y to the left and z along the thrust, with the centre of mass at the origin.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Set
from pathlib import Path

import numpy as np

import engine
from engine import ops
from engine.simulation import Component, Effect, State
from engine.simulation.live import Live, Trace
from engine.spatial import inertia, quaternion, se3, so3

DT, FRAME = 1 / 1200, 1 / 60                                                   # s: a step, and what the pilot sees
GRAVITY = 3.71                                                                 # m/s²
MASS, RADIUS, HEIGHT = 80.0, 0.5, 1.6                                          # of the cylinder that gives the inertia: kg, m
INERTIA = inertia.cylinder(MASS, RADIUS, HEIGHT)
THRUST, LAG = 2.0 * MASS * GRAVITY, 0.12                                       # N, s
TERMINAL = 20.0                                                                # m/s, the speed at which drag carries the weight
RATE, RATE_TIME, MOMENT = 1.2, 0.08, np.array([150.0, 150.0, 90.0])             # rad/s of a key; s; N·m
LEVEL_GAIN, LEVEL_RATE = 3.0, 2.0                                              # 1/s, rad/s
BOUNCE, DISSIPATION = 30.0, 12.0                                               # rad/s, of the craft on its legs; s/m
GRIP, SLIP = 0.8, 0.05                                                         # friction, and the speed where it begins to hold, m/s
REACH, FOOT = 1.0, -1.225                                                      # the feet's distance from the axis and height, m
STANDING = -FOOT - GRAVITY / BOUNCE**2                                         # the height of the middle, on legs that give way, m
HIGH, HARD, ASKEW = 1.0, 2.0, 0.5                                              # a landing: from above, m; worth nothing at, m/s and rad
READ = ("pilot.altitude", "pilot.climb", "engine.throttle", "pilot.score")     # what the window shows
NOZZLE, FLAME = -0.95, 1.05                                                    # where the flame begins, and its length, m

#: what a key commands while it is held: a parameter of the simulation, what it adds to it, and in words
KEYS = {
    "W": ("stick", (0.0, +1.0, 0.0), "pitch forward, about +y"), "S": ("stick", (0.0, -1.0, 0.0), "pitch back, about −y"),
    "A": ("stick", (0.0, 0.0, +1.0), "yaw left, about +z"), "D": ("stick", (0.0, 0.0, -1.0), "yaw right, about −z"),
    "Q": ("stick", (-1.0, 0.0, 0.0), "roll left, about −x"), "E": ("stick", (+1.0, 0.0, 0.0), "roll right, about +x"),
    "G": ("throttle", 1.0, "thrust"), "T": ("level", 1.0, "point the engine downwards"),
}  # fmt: skip


def commands(held: Set[str]) -> dict[str, np.ndarray]:
    """What the keys held down make of the pilot's parameters: stick (3) about body x, y, z, throttle and level."""
    command = {"stick": np.zeros(3), "throttle": np.zeros(()), "level": np.zeros(())}
    for key in KEYS.keys() & held:
        name, value, _ = KEYS[key]
        command[name] = command[name] + np.array(value)
    return command


# ---------------------------------------------------------------- the craft


def around(angle: float, radius: float, z: float) -> np.ndarray:
    """A point on a circle about the craft's axis."""
    return np.array([radius * np.cos(angle), radius * np.sin(angle), z])


def turned(axis: int, angle: float) -> np.ndarray:
    """A rotation about an axis of the frame: 0, 1, 2 are x, y, z."""
    return so3.exp(angle * np.eye(3)[axis])


def along(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The pose halfway from a to b whose z axis points to b."""
    z = (b - a) / np.linalg.norm(b - a)
    x = np.cross(np.eye(3)[np.argmin(np.abs(z))], z)
    x /= np.linalg.norm(x)
    return se3.pose(np.column_stack([x, np.cross(z, x), z]), (a + b) / 2)


def craft() -> engine.Model:
    """A hull with a dome and a window in front, a bell nozzle, fins, and four legs."""
    white, grey, dark = ((0.93, 0.93, 0.90, 1.0), (0.55, 0.57, 0.60, 1.0), (0.16, 0.17, 0.19, 1.0))
    orange, glass, red = ((0.95, 0.42, 0.10, 1.0), (0.10, 0.22, 0.34, 1.0), (0.85, 0.12, 0.10, 1.0))
    shapes: list[engine.Geometry] = []

    def add(name: str, kind: str, size: tuple[float, ...], color: tuple[float, ...], placement: np.ndarray) -> None:
        shapes.append(engine.Geometry(kind, size, placement, material=engine.Material(name, color), name=name))

    def at(x: float, y: float, z: float) -> np.ndarray:
        return se3.pose(np.eye(3), np.array([x, y, z]))

    add("hull", "cylinder", (0.45, 1.15), white, at(0.0, 0.0, 0.125))
    add("dome", "sphere", (0.448,), white, at(0.0, 0.0, 0.70))
    add("window", "sphere", (0.17,), glass, at(0.335, 0.0, 0.86))
    for z, height in ((0.69, 0.08), (-0.36, 0.14)):
        add("band", "cylinder", (0.456, height), orange, at(0.0, 0.0, z))
    add("mast", "capsule", (0.018, 0.3), grey, at(0.0, 0.0, 1.25))
    add("beacon", "sphere", (0.045,), red, at(0.0, 0.0, 1.42))
    add("plate", "cylinder", (0.36, 0.12), dark, at(0.0, 0.0, -0.5))
    for k in range(10):
        add("nozzle", "cylinder", (0.10 + 0.20 * np.sqrt(k / 9), 0.042), dark, at(0.0, 0.0, -0.57 - 0.04 * k))
    for k in range(4):
        side, corner = k * np.pi / 2, (k + 0.5) * np.pi / 2
        add("fin", "box", (0.22, 0.025, 0.62), orange, se3.pose(turned(2, side) @ turned(1, -0.32), around(side, 0.53, -0.08)))
        add("thruster", "box", (0.10, 0.16, 0.14), dark, se3.pose(turned(2, corner), around(corner, 0.47, 0.50)))
        foot, ankle = around(corner, REACH, FOOT), around(corner, REACH - 0.03, FOOT + 0.08)
        for hip, radius in ((around(corner, 0.38, -0.42), 0.045), (around(corner, 0.42, 0.06), 0.03)):
            add("leg", "capsule", (radius, float(np.linalg.norm(ankle - hip))), grey, along(hip, ankle))
        add("foot", "cylinder", (0.15, 0.05), dark, at(*foot[:2], FOOT + 0.025))
    builder = engine.Builder("lander")
    builder.add_link("craft", inertia=INERTIA, visuals=tuple(shapes))
    return builder.model(floating_base=True)


def touching() -> np.ndarray:
    """Points of the craft that the ground pushes back (n, 3): the feet first, then the hull."""
    feet = [around((k + 0.5) * np.pi / 2, REACH, FOOT) for k in range(4)]
    hull = [around(k * np.pi / 4, 0.45, 0.70) for k in range(8)]
    return np.array([*feet, *hull, [0.0, 0.0, 1.15], [0.0, 0.0, -0.95]])


# ---------------------------------------------------------------- what acts on it


class Engine(Component):
    """Thrust along the craft's axis; its throttle follows what is commanded with a lag, and is the signal ``engine.throttle``, 0 … 1."""

    name = "engine"
    state = np.zeros(1)
    command = ()

    def act(self, s, state, memory, command):
        (throttle,) = state
        wrench = np.concatenate([np.zeros(5), np.array([THRUST * throttle])])
        return Effect(wrenches={"craft": wrench}, rate=np.array([(command - throttle) / LAG]), signals={"throttle": throttle})


class Instruments(Component):
    """What a pilot reads: the feet's height above where they stand, m, how fast they rise, m/s, and points of the last landing.

    Its memory: whether the craft has been high since it last landed, and the points, 100 for one that is soft and upright.
    """

    name = "pilot"
    memory = np.zeros(2)

    def act(self, s, state, memory, command):
        R = quaternion.to_matrix(s.q[:4])
        return Effect(signals={"altitude": s.q[6] - STANDING, "climb": (R @ s.v[3:])[2], "score": memory[1]})

    def update(self, s, state, memory, command, dt):
        flown, score = memory
        down = s.q[6] - STANDING < 0.0
        off = ops.arccos(ops.minimum(quaternion.to_matrix(s.q[:4])[2, 2], 1.0))
        worth = 100.0 * ops.maximum(1.0 - ops.norm(s.v[3:]) / HARD - off / ASKEW, 0.0)
        return np.array([ops.where(down, 0.0, ops.where(s.q[6] - STANDING > HIGH, 1.0, flown)),
                         ops.where(down & (flown > 0.5), worth, score)])  # fmt: skip


def pilot(t, q, v, stick, throttle, level):
    """Thrusters that make the body rates what is commanded, within their moments; the throttle is handed on."""
    I, w = INERTIA[:3, :3], v[:3]
    up = quaternion.to_matrix(q[:4])[2]                                        # of the world, in the craft's axes
    across = np.array([1e-6 - up[1], up[0], 0.0])                              # z × up: where to turn; upside down, about x
    sine = ops.sqrt(across @ across + 1e-24)
    upright = ops.minimum(LEVEL_GAIN * ops.arctan2(sine, up[2]), LEVEL_RATE) * across / sine
    free = np.array([1.0 - level, 1.0 - level, 1.0])                           # while it levels, only yaw is the stick's
    wanted = RATE * free * stick + level * upright
    moment = MOMENT * ops.tanh((I @ (wanted - w) / RATE_TIME + ops.cross(w, I @ w)) / MOMENT)
    return {"tau": np.concatenate([moment, np.zeros(3)]), "engine": throttle}


def drag(t, q, v):
    """−c |v| v."""
    u = v[3:]
    c = MASS * GRAVITY / TERMINAL**2
    return np.concatenate([np.zeros(3), -c * ops.sqrt(u @ u) * u])


def ground(t, q, v):
    """The ground z = 0 pushes each point that is below it: a spring that dissipates on the way in, and smoothed Coulomb friction."""
    R, p = quaternion.to_matrix(q[:4]), q[4:7]
    k = MASS / 4 * BOUNCE**2
    total = np.zeros(6)
    for point in touching():
        speed = R @ (v[3:] + ops.cross(v[:3], point))
        depth = ops.maximum(-(p + R @ point)[2], 0.0)
        push = k * depth * ops.maximum(1.0 - DISSIPATION * speed[2], 0.0)
        sliding = speed[:2] / ops.sqrt(speed[:2] @ speed[:2] + SLIP**2)
        f = R.T @ np.concatenate([-GRIP * push * sliding, np.array([push])])
        total = total + np.concatenate([ops.cross(point, f), f])
    return total


def simulator() -> engine.Simulator:
    """The craft with its forces; the pilot's parameters are stick (3), throttle and level."""
    return engine.Simulator(craft(), DT, gravity=(0.0, 0.0, -GRAVITY), controller=pilot, actuators=[Engine()],
                            forces=[drag, ground, Instruments()],
                            parameters=commands(set()))  # fmt: skip


def standing() -> tuple[np.ndarray, np.ndarray]:
    """q and v on the legs, at rest: they give way until they carry the weight."""
    return np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0, STANDING]), np.zeros(6)


# ---------------------------------------------------------------- a pilot with a script


def height(state: State) -> float:
    """Of the feet above where they stand, m."""
    return float(state.q[6] - standing()[0][6])


def climb(state: State) -> float:
    """m/s upwards."""
    return float(quaternion.rotate(state.q[:4], state.v[3:])[2])


def lean(state: State) -> float:
    """The angle between the thrust and the vertical, rad."""
    return float(np.arccos(np.clip(quaternion.to_matrix(state.q[:4])[2, 2], -1.0, 1.0)))


def thrust_to(state: State, target: float, down: float = 1.5) -> set[str]:
    """On and off: thrust while it climbs slower, or sinks faster, than the way to the target asks for."""
    return {"G"} if climb(state) < np.clip(0.8 * (target - height(state)), -down, 2.0) else set()


def mission(state: State) -> set[str]:
    """Keys held by a pilot who takes off, hovers at 5 m, goes for a walk forwards, levels and lands."""
    t = state.t
    keys = thrust_to(state, 5.0) if 1.0 <= t < 20.0 else thrust_to(state, -1.0, down=0.5) if t >= 20.0 and height(state) > 0.0 else set()
    for key, begin, end in (("W", 10.0, 10.25), ("T", 11.5, 12.5), ("S", 12.5, 12.75), ("T", 14.0, 40.0), ("A", 15.0, 16.3)):
        keys |= {key} if begin <= t < end else set()
    return keys


def flown(lander: engine.Simulator, hands: Callable[[State], Set[str]], q0: np.ndarray, v0: np.ndarray,
          duration: float) -> engine.Trajectory:  # fmt: skip
    """What happens from (q0, v0) on when a pilot, who looks once a frame, holds the keys ``hands(state)``."""
    state, trace = lander.start(q0, v0), Trace(lander, round(duration / FRAME) + 1)
    trace.append(state)
    for _ in range(round(duration / FRAME)):
        state = lander.step(state, round(FRAME / DT), commands(hands(state)))
        trace.append(state)
    return trace.trajectory()


def report(motion: engine.Trajectory) -> None:
    """What happened, in figures."""
    R = quaternion.to_matrix(motion.q[:, :4])
    feet = (motion.q[:, None, 4:7] + touching()[:4] @ np.swapaxes(R, 1, 2))[..., 2]
    velocity = quaternion.rotate(motion.q[:, :4], motion.v[:, 3:])
    off = np.degrees(np.arccos(np.clip(R[:, 2, 2], -1.0, 1.0)))
    above = motion.q[:, 6] - standing()[0][6]
    t, hover, air = motion.t, (motion.t > 6.0) & (motion.t < 10.0), feet.min(axis=1) > 0.0
    begun, touched = int(np.argmax(air)), len(air) - 1 - int(np.argmax(air[::-1]))
    print(f"{motion.model.name}: {MASS:g} kg, thrust {THRUST:.0f} N, {THRUST / MASS / GRAVITY:g} times its weight")
    print(f"standing   drifts by {1e3 * np.linalg.norm(motion.q[t < 1.0, 4:7] - motion.q[0, 4:7], axis=1).max():.2g} mm")
    print(f"in the air from {t[begun]:.2f} to {t[touched]:.2f} s, up to {above.max():.2f} m, leaning by up to {off.max():.1f} deg")
    print(f"hovering   between {above[hover].min():.2f} and {above[hover].max():.2f} m, for 5 m")
    print(f"walked     {np.linalg.norm(motion.q[-1, 4:6]):.1f} m, at up to {np.linalg.norm(velocity[:, :2], axis=1).max():.2f} m/s")
    print(f"levelled   to {off[touched]:.2g} deg")
    print(f"touched    down at {-velocity[touched, 2]:.2f} m/s, {np.linalg.norm(velocity[touched, :2]):.2f} m/s sideways")
    print(f"scored     {motion('pilot.score')[-1]:.0f} of 100 points")
    print(f"stands     at {np.linalg.norm(motion.v[-1]):.1g} m/s, {off[-1]:.2g} deg from upright")


# ---------------------------------------------------------------- in a window


def scene(source: Live | engine.Trajectory, throttle: Callable[[float], float]) -> engine.Scene:
    """The craft on its ground, with a flame that comes out of the nozzle as far as the throttle at a time, s, is open, and the ground lets
    it."""
    seen = engine.Scene(source, "mars")
    ring = np.array([around(k * np.pi / 8, 0.21, NOZZLE) for k in range(16)])
    k = np.arange(16)
    sides, lid = (np.column_stack([np.full(16, end), *turn]) for end, turn in ((16, ((k + 1) % 16, k)), (17, (k, (k + 1) % 16))))
    cone = np.vstack([ring, [0.0, 0.0, NOZZLE - FLAME], [0.0, 0.0, NOZZLE]]), np.vstack([sides, lid])

    def at(t: float) -> np.ndarray:
        craft = seen.actors[0].poses(t)[0, 0]
        hidden = FLAME * (1.0 - min(max(throttle(t), 0.0), 1.0))                # behind the nozzle, within the hull
        hidden = max(hidden, FLAME - NOZZLE - craft[2, 3] / max(craft[2, 2], 0.1))
        return craft @ se3.pose(np.eye(3), np.array([0.0, 0.0, hidden]))

    seen.add(mesh=cone, moving=at, color=(1.0, 0.62, 0.18), name="flame")
    return seen


def hands_on(live: Live) -> Callable[[frozenset[str], str | None], None]:
    """What the window calls each frame with the keys that are held, and one that was just pressed."""

    def handle(held: frozenset[str], pressed: str | None) -> None:
        for name, value in commands(held).items():
            live.set(name, value)
        if pressed == "SPACE":
            live.reset()

    handle.keys = {**{key: words for key, (_, _, words) in KEYS.items()}, "Space": "begin again"}
    return handle


def fly() -> None:
    """Open the window."""
    print(__doc__.partition("\n\n")[2].partition("The craft")[0].rstrip())
    with Live(simulator(), *standing()) as live:
        seen = scene(live, lambda t: float(live.state.signals["engine.throttle"]))
        engine.view(seen, keys=hands_on(live), follow="craft", signals=READ)


def shots(motion: engine.Trajectory) -> list[engine.Shot]:
    """The film: near the ground from where it stands, then along with it, and beside where it lands."""
    def beside(x: float, y: float) -> engine.viewer.Camera:
        return engine.viewer.Camera(np.array([x, y, 3.3]), 15.0, -1.2, 0.12, radius=9.0, floor=0.0)

    near = engine.Follow("craft", (-1.2, 0.1), radius=2.5)
    down = float(motion.t[motion("pilot.altitude") > 0.01][-1])
    return [engine.Shot(0.0, beside(*motion.q[0, 4:6]), "A lander on Mars, flown by a scripted pilot"),
            engine.Shot(1.5, beside(*motion.q[0, 4:6]), "It climbs to 5 m, and hovers", ease=0.0),
            engine.Shot(7.0, near, "The engine is on or off: its pilot holds a key, or does not", ease=2.0),
            engine.Shot(10.0, near, "It leans, flies on, and levels", ease=0.0), engine.Shot(15.0, near, "It turns", ease=0.0),
            engine.Shot(19.0, beside(*motion.q[-1, 4:6]), "It comes down, and lands on springs", ease=2.0),
            engine.Shot(min(down + 0.3, motion.t[-1] - 0.1), beside(*motion.q[-1, 4:6]),
                        f"Landed: {motion('pilot.score')[-1]:.0f} of 100 points", ease=0.0)]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--headless", action="store_true", help="let a scripted pilot fly, and tell how it went")
    parser.add_argument("--video", type=Path, help="the same, and a film of it (.mp4, .gif)")
    options = parser.parse_args()
    if not options.headless and options.video is None:
        fly()
        return
    motion = flown(simulator(), mission, *standing(), 33.0)
    report(motion)
    if options.video is not None:
        seen = scene(motion, lambda t: float(np.interp(t, motion.t, motion("engine.throttle"))))
        engine.render(seen, options.video, shots=shots(motion), clock=True, signals=READ[:3], samples=4)
        print(f"wrote {options.video}")


if __name__ == "__main__":
    try:
        main()
    except ValueError as error:
        sys.exit(f"error: {error}")
