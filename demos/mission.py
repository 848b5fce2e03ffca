"""A mission in low Earth orbit, flown on sensors alone: approach, hold, reach, grasp, brake, detumble, dump.

    python demos/mission.py
    python demos/mission.py --runs 10000               # and a campaign of scattered masses, tumbles, thrusts, fills, biases and noise
    python demos/mission.py --video mission.mp4        # or --view, in a window; after a campaign its worst run

A servicer with an arm flies to a tumbling satellite by thrusters, which empty a tank, waits, reaches for its handle with its base held by
nothing, grips it, brakes the joints, takes the spin of both into its wheels, and the wheels' momentum into its thrusters. The world's
origin is an orbit with J2; gravity differs along the bodies. No law sees the truth: a gyro and a star tracker give the attitude by a
filter, a camera's relative pose the handle, encoders the arm, tachometers the wheels. Nothing touches but by the grip: a hand that
misses the handle goes through.
Writes the trajectory (.h5), phases and estimates beside truth (.png) and who reads whom (.svg).
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
import show
from scipy import stats

import engine
from engine import dynamics, ops, sensors, space
from engine.components.actuators import ReactionWheels, Thrusters
from engine.components.controllers import damped_inverse
from engine.spatial import inertia, quaternion, se3

BUS, GRIPPER, HANDLE = "servicer/bus", "servicer/gripper", "target/handle"
START = {"shoulder_yaw": 0.3, "shoulder_pitch": -0.2, "shoulder_roll": 0.2, "elbow_pitch": 1.4, "wrist_yaw": 0.1, "wrist_pitch": 0.6,
         "wrist_roll": 0.2}  # fmt: skip
DT, TICK, END = 0.05, 0.1, 240.0                                               # s: step, of the laws, of the mission
MASS, SIZE = 150.0, (0.8, 0.8, 0.9)                                            # kg, m: of the target
SPIN, AWAY = np.radians([0.3, -0.4, 0.2]), np.array([0.6, 3.0, -0.5])          # rad/s; m: to the handle from where it can be gripped
FAR = 0.5                                                                      # m: of the gripper from a handle that it lets go by
LOOK = -0.9, 0.35                                                              # rad: from where the film is seen
#: of each phase what the film says, whether it is seen from near, and how fast, of the film's own speed
SAID = {"approach": ("thrusters bring it to the tumbling target", False, 1.0),
        "hold": ("it waits, and learns where the handle is", False, 1.0),
        "reach": ("the arm goes after the handle, its base held by nothing", True, 0.3), "grasp": ("the grip closes", True, 0.1),
        "brake": ("the joints take out how both turn against each other", True, 0.25),
        "detumble": ("wheels take the spin of both", False, 0.3),
        "dump": ("thrusters take the momentum of the wheels", False, 1.0)}  # fmt: skip
NEAR = np.array([0.05, 0.25, -0.05])                                           # m: where the handle is to be held, from there
GYRO, WALK, STARS = 2e-5, 1e-8, (3e-5, 3e-5, 1e-4)                             # rad/s/√Hz, rad/s²/√Hz, rad
PLACE, TURN = 2e-3, 1e-3                                                       # m, rad: of the relative pose, a sample


def scene() -> tuple[engine.Model, np.ndarray, np.ndarray]:
    """Both as free bodies, and where they are at first."""
    body = engine.Builder("target")
    looks = [show.shape("box", SIZE, (0.75, 0.5, 0.2), at=(0.0, 0.55, 0.0)),
             show.shape("capsule", (0.013, 0.16), (0.7, 0.7, 0.7), along="x")]  # fmt: skip
    body.add_link("handle", inertia=inertia.transformed(se3.pose(np.eye(3), [0.0, 0.55, 0.0]), inertia.box(MASS, SIZE)), visuals=looks)
    servicer = engine.load_urdf(engine.example("free_flyer"), floating_base=True)
    model = engine.combine(servicer=servicer, target=body.model(floating_base=True))
    q, v = model.neutral(), np.zeros(model.nv)
    for joint, angle in START.items():
        q[model.q_slice(f"servicer/{joint}")] = angle
    T = dynamics.forward_kinematics(model, q)[model.link_index(GRIPPER)]
    q[14:18], q[18:21] = quaternion.from_matrix(T[:3, :3]), T[:3, 3] + AWAY
    v[13:16] = SPIN
    return model, q, v


def thrusters(tank: space.Tank) -> tuple[Thrusters, np.ndarray]:
    """Six opposing pairs, two along each axis, beside the centre of mass at first; and what (6, 6) of a moment about that, and a force,
    each pair is to give."""
    alone = engine.load_urdf(engine.example("free_flyer"), floating_base=True)
    q = alone.neutral()
    for joint, angle in START.items():
        q[alone.q_slice(joint)] = angle
    center = np.asarray(dynamics.center_of_mass(alone, q))
    ways, arms = np.repeat(np.eye(3), 2, axis=0), np.kron(np.roll(np.eye(3), 1, axis=1), [[0.4], [-0.4]])
    share = np.linalg.inv(np.concatenate([np.cross(arms, ways), ways], axis=1).T)
    found = Thrusters(BUS, np.concatenate([center + arms, center + arms]), np.concatenate([ways, -ways]), most=10.0, tank=tank, isp=220.0)
    return found, share


def laws(model: engine.Model, share: np.ndarray):
    """The filters and the phases: functions of what sensors say."""
    alone = engine.load_urdf(engine.example("free_flyer"), floating_base=True)
    mass, tau, start = float(dynamics.total_mass(alone)), np.zeros(model.nv), np.array([*START.values()])
    ball = alone.link("gripper").inertia + inertia.from_mass(MASS, np.zeros(3), 50.0 * np.eye(3))
    laden = alone.with_parameters({"inertia.gripper": ball})
    gripped = dynamics.forward_kinematics(alone, np.concatenate([alone.neutral()[:7], start]))[alone.link_index("gripper")]

    def track(relative, filter, memory):
        """The handle's place and speed in the bus' axes, which turn, by gains of 0.3 and 0.05 at each sample."""
        p, u, begun = memory[:3], memory[3:6], memory[6]
        turned = quaternion.exp(-TICK * filter.rate)
        p, u = quaternion.rotate(turned, p + TICK * u), quaternion.rotate(turned, u)
        on, e = begun > 0.5, relative.position - p
        p, u = ops.where(on, p + 0.3 * e, relative.position), ops.where(on, u + 0.05 * e / TICK, 0.0 * u)
        return {"p": p, "u": u}, np.concatenate([p, u, [1.0]])

    def hold(filter):
        """The attitude of the beginning, by wheels."""
        return -60.0 * quaternion.log(short(filter.q)) - 300.0 * filter.rate

    def fly(goal, track, filter, angles, rates):
        """Towards where the handle is at ``goal`` (3), seen from the bus, the arm as it began."""
        e = track.p - goal
        speed = ops.maximum(ops.norm(e), 1e-9)
        push = mass * 0.25 * (track.u + e * ops.minimum(0.08, 0.08 / speed))
        return {"thrusters": jets(np.concatenate([np.zeros(3), push])), "wheels": hold(filter),
                "tau": joints(arm(angles)[3] @ (start - angles - 2.0 * rates))}  # fmt: skip

    def jets(wrench):
        pairs = share @ wrench
        return np.concatenate([ops.maximum(pairs, 0.0), ops.maximum(-pairs, 0.0)])

    def approach(track, filter, angles, rates):
        return fly(gripped[:3, 3] + 2.0 * NEAR, track, filter, angles, rates)

    def keep(track, filter, angles, rates):
        return fly(gripped[:3, 3] + NEAR, track, filter, angles, rates)

    def reach(angles, rates, track):
        """Joint torques that take the gripper to the handle, however that is turned, by the generalized Jacobian: the base as it likes."""
        q, T, J, inertias = arm(angles)
        M = dynamics.crba(alone, q)
        base = -ops.solve(M[:6, :6], M[:6, 6:] @ rates)                        # how the bus moves by what the arm does
        wanted = T[:3, :3].T @ (track.u + base[3:] + 0.3 * (track.p - T[:3, 3]))
        return {"tau": joints(inertias @ (3.0 * (damped_inverse(J[3:], wanted, 1e-3) - rates)))}

    def grasp(angles, rates):
        return {**brake(angles, rates), "grip": 1.0}

    def brake(angles, rates):
        """By the inertia with the target in the hand, however that is turned."""
        M = dynamics.free_floating_inertia(laden, np.concatenate([alone.neutral()[:7], angles]))
        return {"tau": joints(M @ (-0.7 * rates)), "grip": 1.0}

    def detumble(angles, rates, filter):
        return {**brake(angles, rates), "wheels": -400.0 * filter.rate}

    def dump(angles, rates, filter, wheels_momentum):
        """Jets turn against the wheels, which give way by as much and hold all still."""
        moment = -0.1 * wheels_momentum
        return {**brake(angles, rates), "wheels": -400.0 * filter.rate - moment,
                "thrusters": jets(np.concatenate([moment, np.zeros(3)]))}  # fmt: skip

    def arm(angles):
        q = np.concatenate([alone.neutral()[:7], angles])
        T = dynamics.forward_kinematics(alone, q)[alone.link_index("gripper")]
        return q, T, dynamics.generalized_jacobian(alone, q, "gripper"), dynamics.free_floating_inertia(alone, q)

    def joints(torques):
        return np.concatenate([tau[:6], torques, tau[13:]])

    def off(angles, track):
        T = arm(angles)[1]
        return ops.norm(T[:3, 3] - track.p)

    mode = engine.Phases({
        "approach": (approach, lambda track: ops.norm(track.p - gripped[:3, 3] - 2.0 * NEAR) < 0.1),
        "hold": (keep, lambda track, since: (ops.norm(track.p - gripped[:3, 3] - NEAR) < 0.02) & (since > 10.0)),
        "reach": (reach, {"grasp": lambda angles, track, since: (off(angles, track) < 0.006) & (since > 5.0),
                          "hold": lambda angles, track: off(angles, track) > FAR}),
        "grasp": (grasp, lambda since: since > 1.0),
        "brake": (brake, lambda rates, since: (np.abs(rates).max() < 2e-3) & (since > 5.0)),
        "detumble": (detumble, lambda filter, since: (ops.norm(filter.rate) < 1e-3) & (since > 5.0)),
        "dump": (dump, None),
    }, timeout={"hold": (60.0, "reach"), "reach": (60.0, "hold"), "brake": (20.0, "detumble"), "detumble": (60.0, "dump")},
        period=TICK)  # fmt: skip
    estimate = sensors.AttitudeFilter(GYRO, WALK, STARS, TICK, latest=2, deviation=(1e-3, 1e-4))

    def act(mode, burn):
        """What the phases command; jets give ``burn`` times as much as is asked of them."""
        return {n: burn * x if n == "thrusters" else x for n, x in mode.items() if n not in ("phase", "since")}

    return [estimate, engine.Law(track, period=TICK, memory=np.zeros(7)), mode], act


def short(q):
    """The same attitude with a scalar part above zero."""
    return ops.where(q[0] < 0.0, -q, q)


def wheels_momentum(states):
    """Tachometers: what the wheels hold, N·m·s."""
    return states["wheels"]


def mission() -> tuple[engine.Simulator, np.ndarray, np.ndarray]:
    """The simulator, and the state at first."""
    model, q, v = scene()
    arm = [f"servicer/{joint}" for joint in START]
    eyes = [sensors.Gyro(BUS, period=TICK, noise=GYRO, walk=WALK, bias=[2e-5, -1e-5, 3e-5], integrating=True),
            sensors.StarTracker(BUS, period=0.5, latency=0.2, noise=STARS),
            sensors.RelativePose(BUS, HANDLE, period=TICK, position={"noise": PLACE}, attitude={"noise": TURN}),
            sensors.Encoder(arm, period=TICK, quantum=1e-5, name="angles"),
            sensors.Encoder(arm, period=TICK, of="velocity", noise=1e-5, name="rates"),
            engine.Law(wheels_momentum, period=TICK)]  # fmt: skip
    tank = space.Tank(BUS, capacity=20.0, fuel=15.0, placement=(0.0, 0.0, -0.3))
    jets, share = thrusters(tank)
    own, act = laws(model, share)
    field = space.GravityField(zonals={2: space.EARTH_J2})
    orbit = space.ReferenceOrbit.from_elements(space.Elements(6778137.0, 0.001, 0.9, 0.3, 0.5, 0.0), field)
    smooth = {f"friction.{joint.name}": 0.0 for joint in model.joints if joint.friction}         # slow arms would stick and slip
    scattered = {"mass.target/handle": MASS, "burn": 1.0, "tank.fuel": 15.0}
    simulator = engine.Simulator(model, dt=DT, integrator="rkmk4", gravity=(0, 0, 0), frame=orbit, sensors=eyes, laws=own,
                                 controller=act, actuators=[jets, tank, ReactionWheels(BUS, torque=2.0, momentum=60.0)],
                                 constraints=[engine.Grip(GRIPPER, HANDLE)], parameters={**smooth, **scattered})  # fmt: skip
    return simulator, q, v


def report(run: engine.Trajectory) -> None:
    """When each phase began, how well the attitude was known, what was left of the spin."""
    s = run.signals
    for name, begin, _ in run.phases():
        print(f"{name:10} from {begin:6.1f} s")
    off = 2.0 * np.linalg.norm(quaternion.log(quaternion.product(quaternion.conjugate(s["filter.q"]), run.q[:, :4])), axis=1) / 2.0
    spin = np.degrees(np.linalg.norm(run.v[:, :3], axis=1))
    target = np.degrees(np.linalg.norm(run.v[0, 13:16]))
    held = np.linalg.norm(s["wheels.momentum"], axis=1)
    burnt = np.trapezoid(s["thrusters.thrust"].sum(axis=1), run.t)
    print(f"attitude   known to {np.degrees(off[len(off) // 4 :]).max():.4f} deg; thrusters gave {burnt:.0f} N·s")
    print(f"wheels     hold {held[-1]:.2f} N·m·s at the end, {held.max():.2f} at most")
    print(f"spin       of both {spin[-1]:.4f} deg/s at the end, of the target {target:.3f} deg/s at first")


def caught(run: engine.Trajectory) -> bool:
    """Whether a run ended with both at rest together, and the wheels as well."""
    return bool(run.signals["mode.phase"][-1] == 6.0 and spin(run) < 0.1 and np.linalg.norm(run.signals["wheels.momentum"][-1]) < 0.5)


def spin(run: engine.Trajectory) -> float:
    """How fast the faster of both turns at the end, deg/s."""
    return float(np.degrees(max(np.linalg.norm(run.v[-1, :3]), np.linalg.norm(run.v[-1, 13:16]))))


def knock(run: engine.Trajectory) -> float:
    """What the target takes as the grip closes, N·s, by its centre's velocity in the records around that; 0 where it never does."""
    at = int(np.argmax(run.signals["grip.closed"] > 0.5))
    turned, V = run.pose(HANDLE)[[at - 1, at], :3, :3], run.v[[at - 1, at], 13:19]
    speed = np.einsum("kij,kj->ki", turned, V[:, 3:] + np.cross(V[:, :3], [0.0, 0.55, 0.0]))
    return float(run.parameters["mass.target/handle"] * np.linalg.norm(speed[1] - speed[0])) if at else 0.0


def nees(run: engine.Trajectory) -> float:
    """The normalised square of the filter's error at the end: six in the mean, if it is as good as it says."""
    s = run.signals
    return float(sensors.nees(run.q[-1, :4], run.parameters["gyro.bias"], s["filter.q"][-1], s["filter.bias"][-1], s["filter.P"][-1]))


def campaign(simulator: engine.Simulator, q: np.ndarray, v: np.ndarray, runs: int) -> engine.Campaign:
    """The mission with scatter, of which each run is the same bits alone."""
    tumble = np.radians(2.9)                                                   # about each axis: up to 5 deg/s
    scatter = {"mass.target/handle": stats.uniform(0.9 * MASS, 0.2 * MASS), "burn": stats.uniform(0.95, 0.1),
               "tank.fuel": stats.uniform(10.0, 10.0), "gyro.bias": stats.norm(0.0, 3e-5),
               "v0.target/floating_base.w": stats.uniform(-tumble, 2.0 * tumble)}  # fmt: skip
    metrics = {"caught": caught, "spin": spin, "knock": knock, "nees": nees, "burnt": burnt}
    return engine.Campaign(simulator, q, v, END, runs, 0, scatter, metrics=metrics, record_every=20)


def burnt(run: engine.Trajectory) -> float:
    """Propellant that has gone, kg."""
    return float(run.signals["tank.fuel"][0] - run.signals["tank.fuel"][-1])


def plot(run: engine.Trajectory, path: Path) -> None:
    """Phases as bands behind estimates (thin, bright) and truth (broad, pale)."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    s = run.signals
    figure, axes = plt.subplots(3, 2, figsize=(12, 9.5), sharex=True, layout="constrained")
    for axis, true, y, title in ((axes[0, 0], s["relative.true.position"], s["track.p"], "handle from the bus, m"),
                                 (axes[0, 1], np.degrees(run.v[:, :3]), np.degrees(s["filter.rate"]), "spin of the bus, deg/s"),
                                 (axes[1, 0], np.broadcast_to(run.parameters["gyro.bias"], s["gyro"].shape), s["filter.bias"],
                                  "bias of the gyro, rad/s"),
                                 (axes[1, 1], run.q[:, 1:4], s["filter.q"][:, 1:], "attitude of the bus"),
                                 (axes[2, 0], None, run.tau[:, 6:13], "joint torques, N·m"),
                                 (axes[2, 1], None, s["wheels.momentum"], "wheels, N·m·s")):  # fmt: skip
        for k, line in enumerate(axis.plot(run.t, y, lw=0.9)):
            if true is not None:
                axis.plot(run.t, true[:, k], lw=4.0, alpha=0.3, color=line.get_color())
        axis.set_title(title)
        axis.grid(alpha=0.3)
        for k, (name, begin, end) in enumerate(run.phases()):
            axis.axvspan(begin, end, color="0.5", alpha=0.15 * (k % 2), lw=0)
            axis.text(begin, 1.0, name, rotation=90, va="top", fontsize=7, transform=axis.get_xaxis_transform())
    for axis in axes[-1]:
        axis.set_xlabel("t, s")
    figure.suptitle("a mission on sensors alone: estimates beside truth")
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=0, help="of the campaign (default: none)")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for what is written (default: out)")
    show.add_options(parser)
    options = parser.parse_args()

    simulator, q, v = mission()
    begun = time.perf_counter()
    run = simulator.run(q, v, END, record_every=4)
    print(f"simulated {END:g} s in {time.perf_counter() - begun:.1f} s, compiling included")
    report(run)
    data = run.save(options.out / "mission.h5", overwrite=True)
    plot(run, data.with_suffix(".png"))
    simulator.diagram().save(data.with_suffix(".svg"))
    print(f"wrote      {data}, {data.with_suffix('.png')} and {data.with_suffix('.svg')}")
    if options.runs:
        many = campaign(simulator, q, v, options.runs)
        begun = time.perf_counter()
        runs = many.run(options.out / f"mission_{options.runs}")
        print(f"{options.runs} runs in {time.perf_counter() - begun:.0f} s; 95 % intervals:")
        print(*(f"  {name:8} {found}" for name, found in runs.estimates().items()), sep="\n")
        good = runs("nees")[runs("caught") == 1.0]                             # who shakes the bus knows less than the filter says
        low, high = stats.chi2.ppf([0.005, 0.995], 6 * len(good)) / max(len(good), 1)
        print(f"  NEES of the caught {good.mean():.2f}; within 99 % of χ² from {low:.2f} to {high:.2f}")
        worst = int(np.nanargmax(runs("spin") - 1e3 * runs("caught")))
        run = many.rerun(worst, record_every=4)
        print(f"the worst is run {worst}:")
        report(run)
        plot(run, data.with_name("mission_worst.png"))
    show.show(options, run[run.t <= 150.0], speed=8.0, view=LOOK, environment=engine.Sky(sun=beside(run)), shots=shots(run), signals=[
        ("track.p[1]", "relative.true.position[1]"), tuple(f"wheels.momentum[{k}]" for k in range(3)), "tank.fuel"],
        shown=engine.Shown(forces=(thrusters(space.Tank(BUS, capacity=20.0, fuel=15.0))[0],), plumes=True))  # fmt: skip


def beside(run: engine.Trajectory) -> np.ndarray:
    """Where the Sun stands in the film (3): behind who looks, so that both bodies and the Earth have day."""
    z, v = run.signals["frame.origin"][0], run.signals["frame.velocity"][0]
    y = np.cross(z, v)
    return 0.3 * v / np.linalg.norm(v) - 0.5 * y / np.linalg.norm(y) + 0.6 * z / np.linalg.norm(z)


def shots(run: engine.Trajectory) -> list[engine.Shot]:
    """The film: a shot for each phase, slower and nearer where the hand closes."""
    near, film = engine.Follow(GRIPPER, (-0.2, 0.45), radius=1.2), []
    for name, begin, _ in run.phases():
        text, view, speed = SAID[name]
        if begin < 150.0:
            film.append(engine.Shot(begin, near if view else LOOK, f"{name.capitalize()}: {text}", speed=speed, ease=1.5 if film else 0.0))
    return film


if __name__ == "__main__":
    try:
        main()
    except ValueError as error:
        sys.exit(f"error: {error}")
