"""Simulators that tests write as FMUs: small ones, of which the C is compiled in a second."""

from __future__ import annotations

import numpy as np

import engine
from engine.space import EARTH_J2, Drag, Facets, GravityField, ReferenceOrbit, Tank, Thrusters
from engine.spatial import inertia, se3


def arm(floating: bool = False, names: tuple[str, str] = ("shoulder", "elbow")) -> engine.Model:
    """Two links, on a base that stands or floats."""
    builder = engine.Builder("arm")
    builder.add_link("base", inertia=inertia.box(5.0, (0.3, 0.3, 0.2)))
    builder.add_link("upper", inertia=inertia.box(1.0, (0.4, 0.05, 0.05)))
    builder.add_link("tip", inertia=inertia.box(0.5, (0.3, 0.04, 0.04)))
    builder.add_joint(names[0], "revolute", "base", "upper", se3.pose(np.eye(3), [0, 0, 0.1]), axis=[0, 1, 0])
    builder.add_joint(names[1], "prismatic", "upper", "tip", se3.pose(np.eye(3), [0.4, 0, 0]), axis=[1, 0, 0])
    return builder.model(floating_base=floating)


def driven(**more) -> engine.Simulator:
    """Torques come from outside; a mass may change."""
    return engine.Simulator(arm(), **{"dt": 1e-3, "controller": lambda t, q, v, torque: torque,
                                      "parameters": {"torque": np.zeros(2), "mass.tip": 0.5}, **more})  # fmt: skip


def flyer(**more) -> engine.Simulator:
    """The same in free flight, by a law with a memory that ticks every third step."""

    def hold(t, q, v, memory, target):
        total = memory + 0.01 * (target - q[7:])
        return np.concatenate([np.zeros(6), 3.0 * (target - q[7:]) - v[6:] + total]), total

    law = engine.Law(hold, memory=np.zeros(2), period=6e-3)
    return engine.Simulator(arm(floating=True), **{"dt": 2e-3, "gravity": (0, 0, 0), "controller": law,
                                                   "parameters": {"target": [0.1, 0.05], "mass.tip": 0.5}, **more})  # fmt: skip


def free(dt: float = 2e-3) -> engine.Simulator:
    """The same by torques, without stops: a smooth field."""
    return engine.Simulator(arm(floating=True), dt=dt, gravity=(0, 0, 0), joint_dynamics=None, parameters={"torque": [0.1, -0.2]},
                            controller=lambda t, q, v, torque: np.concatenate([np.zeros(6), torque]))  # fmt: skip


def crate() -> engine.Model:
    """A free box of 0.4 m."""
    builder = engine.Builder("crate")
    builder.add_link("crate", inertia=inertia.box(2.0, (0.4,) * 3), collisions=[engine.Geometry("box", (0.4,) * 3)])
    return builder.model(floating_base=True)


def fallen() -> engine.Simulator:
    """The same on a ground of rubber."""
    rubber = engine.ContactMaterial(stiffness=1e5, dissipation=10.0, friction=0.8)
    return engine.Simulator(crate(), contacts=engine.Contacts(engine.HalfSpace(material=rubber), material=rubber))


def servicer(**more) -> engine.Simulator:
    """A spacecraft in orbit with an arm that rubs and stops, a tank that drains, and pulsed thrusters that come from outside."""
    builder = engine.Builder("servicer")
    builder.add_link("hub", inertia=inertia.box(300.0, [1.0, 1.2, 1.5]))
    builder.add_link("arm", inertia=inertia.box(10.0, [1.0, 0.2, 0.2]))
    builder.add_joint("elbow", "revolute", "hub", "arm", se3.pose(np.eye(3), [0.6, 0, 0]), limits=engine.Limits(-1, 1), friction=0.1,
                      damping=0.1)  # fmt: skip
    frame = ReferenceOrbit((6778137.0, 0, 0), (0, 5000.0, 5800.0), GravityField(zonals={2: EARTH_J2}))
    tank = Tank("hub", 100.0, 60.0, shape="cylinder", radius=0.4)
    jet = Thrusters("hub", [[0, 0, -1]], [[0, 0, 1]], most=10.0, tank=tank, isp=200.0, pulse=0.3)
    law = more.pop("controller", lambda t, q, v, thrust: {"thrusters": thrust, "tau": np.append(np.zeros(6), 0.5)})
    return engine.Simulator(builder.model(floating_base=True), dt=0.1, gravity=(0, 0, 0), frame=frame, actuators=[jet, tank],
                            forces=[Drag(Facets({"hub": [((0, 0, 0), (1, 0, 0), 2.0)]}))], controller=law,
                            parameters={"mass.arm": 10.0, "thrust": [10.0]}, **more)  # fmt: skip


def quadruped() -> engine.Simulator:
    """A robot that falls on its feet."""
    model = engine.load(engine.example("quadruped"), floating_base=True)
    feet = [link.name for link in model.links if "foot" in link.name]
    return engine.Simulator(model, contacts=engine.Contacts(engine.HalfSpace(), pairs=[("world", f) for f in feet]))


def whole_quadruped() -> engine.Simulator:
    """The same, of which all links may touch the ground, and each other."""
    model = engine.load(engine.example("quadruped"), floating_base=True)
    return engine.Simulator(model, contacts=engine.Contacts(engine.HalfSpace()))


def noisy() -> engine.Simulator:
    """An arm by a law with noise, a period and a delay."""
    law = engine.Law(lambda t, q, v, noise, gain: -gain * q - 0.1 * v + 0.05 * noise(2), period=4e-3, delay=8e-3)
    return engine.Simulator(arm(), dt=1e-3, controller=law, parameters={"gain": 3.0})


def midway() -> engine.Simulator:
    """A robot that floats, whose gravity, damping, friction, centres and placements may change."""
    values = {"gravity": [0, 0, -9.81], "damping.shoulder": 0.1, "friction.elbow": 0.0, "displacement.elbow": np.zeros(6),
              "center.tip": np.zeros(3)}  # fmt: skip
    return engine.Simulator(arm(floating=True), dt=2e-3, parameters=values, forces=[lambda t, q, v: -0.01 * v])


def closed() -> engine.Simulator:
    """A chain of three bars whose end a ball holds to the base."""
    builder, place = engine.Builder("chain"), se3.pose(np.eye(3), [0.3, 0, 0])
    for name in ("base", "a", "b", "c"):
        builder.add_link(name, inertia.box(1.0, (0.3, 0.05, 0.05)))
    builder.add_joint("first", "revolute", "base", "a", axis=[0, 1, 0])
    builder.add_joint("second", "revolute", "a", "b", place, axis=[0, 1, 0])
    builder.add_joint("third", "revolute", "b", "c", place, axis=[0, 1, 0])
    ball = engine.Ball("base", "c", (0.6, 0, 0), (0.3, 0, 0))
    return engine.Simulator(builder.model(), dt=1e-3, constraints=[ball], parameters={"torque": [0.1, 0.0, 0.0]},
                            controller=lambda t, q, v, torque: torque)  # fmt: skip
