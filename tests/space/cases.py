"""Published verifications of other programs, flown by this engine: how far off its ends are."""

from __future__ import annotations

import numpy as np

import engine
from engine.space import EARTH_J2, GravityField, ReferenceOrbit
from engine.spatial import inertia, quaternion
from tests.space.numbers import MU, case, values

A = 6778137.0
LEAN, SPEED = np.radians(51.6), np.sqrt(MU / A)
#: the velocity at the node with which the table's 40 digits begin
NODE = (0.0, SPEED * np.cos(LEAN) - 2.0**-40, SPEED * np.sin(LEAN) - 2.0**-40)
ISS = np.array([[1.02e8, -6.96e6, -5.48e6], [-6.96e6, 0.91e8, 5.90e5], [-5.48e6, 5.90e5, 1.64e8]])
JEOD_MU = 3.986004415e14
SLUG_FOOT2 = 14.593902937206366 * 0.3048**2
#: of :func:`tip` after 300 s, and after an orbit of 5554 s, by python -m tests.space.long_double (of 6500 steps; 5200 end 2e-10 m away)
TIP = np.array([1.07420522097891, 1.50167667645235, 1.76992895852061])
TIP_ORBIT = np.array([-0.72073233639094, -2.44086054343595, -0.87109016885055])
JEOD = ("RUN_2", "RUN_9D", "RUN_10A", "RUN_10C", "RUN_10D")


def body(name, mass=100.0, moments=(10.0, 12.0, 15.0), center=(0.0, 0.0, 0.0)):
    """A free body."""
    builder = engine.Builder(name)
    builder.add_link(name, inertia=inertia.from_mass(mass, np.array(center), np.diag(moments) if np.ndim(moments) == 1 else moments))
    return builder.model(floating_base=True)


def flown(model, frame, q, v, duration, dt, every=0, **more):
    """Fly in an orbit; the records are the first and the last, or more."""
    simulator = engine.Simulator(model, dt=dt, gravity=(0, 0, 0), frame=frame, **more)
    return simulator.run(q, v, duration, record_every=every or int(duration / dt) + 1)


def jeod(name):
    """NASA's verification of JEOD, eight hours: errors of the place, m, of the rates, rad/s, and of the attitude's matrix.

    Of the gradient it has the moment, not the force, which would shift the cylinder by 3.6e-4 m. A momentum of 13 N·m·s in the world's axes
    has the rounding of 1e-14 rad/s about its thin axis: the cylinder, which is one body, flies without.
    """
    start, end = case(name)[0.0], case(name)[28800.0]
    tall = name in ("RUN_2", "RUN_9D")
    model = body("iss", 4e5, ISS) if tall else body("cylinder", 1000.0, (500.0, 12250.0, 12250.0))
    attitude = quaternion.from_matrix(start["R"])
    if name == "RUN_10A":
        attitude = np.array([0.2949554834573935, 0.3013397571377723, -0.5879739300516263, 0.6902769524808205])
    pushed = lambda t, q, v: {"iss": np.where((t > 1000.0) & (t < 2000.0), 1.0, 0.0) * np.array([10.0, 0, 0, 10.0, 0, 0])}
    frame = ReferenceOrbit(start["r"], start["v"], GravityField(JEOD_MU, gradient=False if tall else "moment"))
    flight = flown(model, frame, [*attitude, 0, 0, 0], [*start["w"], 0, 0, 0], 28800.0, 1.0, integrator="rkmk4",
                   forces=[pushed] if name == "RUN_9D" else [], conserve_momentum=tall)  # fmt: skip
    r_O, rho = flight.orbit(model.links[-1].name)
    R = quaternion.to_matrix(flight.q[-1, :4])
    return (np.linalg.norm(r_O[-1] + rho[-1] - end["r"]), np.linalg.norm(flight.v[-1, :3] - end["w"]), np.abs(R - end["R"]).max())


def basilisk():
    """Basilisk's test of its spacecraft, ten seconds: errors of the place, m, and of the rates, rad/s."""
    start, end = case("BSK")[0.0], case("BSK")[10.0]
    frame = ReferenceOrbit(start["r"], start["v"], GravityField(JEOD_MU, gradient=False))
    flight = flown(body("bsk", 100.0, (500.0, 200.0, 300.0)), frame, [1, 0, 0, 0, 0, 0, 0], [*start["w"], 0, 0, 0], 10.0, 0.01)
    r_O, rho = flight.orbit("bsk")
    return np.linalg.norm((r_O + rho)[-1] - end["r"]), np.abs(flight.v[-1, :3] - end["w"]).max()


def nesc():
    """NESC's second case, a brick that tumbles for 30 s: the error of its rates, deg/s."""
    brick = body("brick", 2.26796185, np.array([0.00189422, 0.006211019, 0.007194665]) * SLUG_FOOT2)
    flight = engine.Simulator(brick, dt=0.001, gravity=(0, 0, 0), integrator="rkmk5").run(
        brick.neutral(), np.radians([10.0, 20.0, 30.0, 0, 0, 0]), 30.0, record_every=30000)  # fmt: skip
    return np.abs(np.degrees(flight.v[-1, :3]) - case("NESC2")[30.0]["w"]).max()


def two_bodies(integrator, dt):
    """Two bodies that turn at 0.037 rad/s, 100 m apart, one off its origin; J2, for an orbit: errors of where one is, and of one from the
    other, m, against 40 digits; and the run's warnings. An ulp of 7000 km is 9e-10 m."""
    c = np.array([0.3, -0.2, 0.5])
    model = engine.combine(a=body("a"), b=body("b", center=c))
    frame = ReferenceOrbit((A, 0.0, 0.0), NODE, GravityField(zonals={2: EARTH_J2}, gradient=False))
    w = np.array([0.020, -0.025, 0.018]) * 0.037 / np.linalg.norm([0.020, -0.025, 0.018])
    q = np.concatenate([[1, 0, 0, 0, 0, 0, 0], [1, 0, 0, 0], [3.0, -100.0, 40.0] - c])
    v = np.concatenate([w, np.zeros(3), -w, [0.05, -0.02, 0.11] - np.cross(-w, c)])
    flight = flown(model, frame, q, v, 5554.0, dt, integrator=integrator)
    r_O, a = flight.orbit("a/a")
    b = (flight.pose("b/b") @ np.append(c, 1.0))[..., :3]
    return np.linalg.norm(r_O[-1] + a[-1] - values("ORB")), np.linalg.norm(b[-1] - a[-1] - values("REL")), flight.warnings


def arms():
    """A servicer with two arms of two joints, which swing."""
    builder = engine.Builder("servicer")
    builder.add_link("hub", inertia=inertia.from_mass(300.0, np.array([0.05, -0.02, 0.1]), np.diag([80.0, 95.0, 110.0])))
    for side, y in (("left", 1.0), ("right", -1.0)):
        before, at = "hub", [0.6, 0.5 * y, 0.0]
        for k, axis in enumerate(([0.0, 0.0, 1.0], [0.0, 1.0, 0.0])):
            link = f"{side} {k}"
            builder.add_link(link, inertia=inertia.from_mass(12.0, np.array([0.5, 0.0, 0.0]), np.diag([0.1, 1.0, 1.0])))
            builder.add_joint(f"joint {link}", "revolute", before, link, engine.spatial.se3.pose(np.eye(3), at), axis=axis)
            before, at = link, [1.0, 0.0, 0.0]
    return builder.model(floating_base=True)


def tip(dt, duration):
    """Where the left arm of a servicer ends, a metre along its last link, from the hub (3), in an orbit under J2 with both arms driven; and
    the run's warnings."""
    model, frame = arms(), ReferenceOrbit((A, 0.0, 0.0), NODE, GravityField(zonals={2: EARTH_J2}, gradient=False))
    q, v = model.neutral(), np.zeros(model.nv)
    q[7:], v[:3] = [0.3, -0.6, -0.4, 0.7], [0.01, -0.02, 0.015]
    swing = lambda t, q, v: np.concatenate([np.zeros(6), 0.1 * np.cos(0.01 * t) - 0.5 * q[7:] - 2.0 * v[6:]])
    flight = flown(model, frame, q, v, duration, dt, controller=swing, joint_dynamics=None, integrator="rkmk5")
    return (flight.pose("left 1") @ [1.0, 0.0, 0.0, 1.0])[-1, :3] - flight.q[-1, 4:7], flight.warnings
