"""Mechanisms with loops to test on."""

from __future__ import annotations

import numpy as np

import engine
from engine.spatial import inertia, se3

Y = (0.0, 1.0, 0.0)


def at(*p):
    return se3.pose(np.eye(3), np.array(p, dtype=float))


def rod(mass=1.0, length=1.0):
    """A thin rod along x from its link's origin."""
    return inertia.from_mass(mass, [0.5 * length, 0, 0], mass * length**2 / 12 * np.diag([0.0, 1.0, 1.0]))


def four_bars(n):
    """n squares in a row, of bars of 1 m and 1 kg in the x–z plane, as cranks on the ground and couplers on them, and the loops' ends.

    A crank's angle is from the x axis upwards (about −y); a coupler's is beside its crank's.
    """
    builder = engine.Builder(f"{n} four-bars")
    builder.add_link("ground")
    constraints = []
    for k in range(n + 1):
        builder.add_link(f"crank{k}", rod())
        builder.add_joint(f"pivot{k}", "revolute", "ground", f"crank{k}", at(k, 0, 0), axis=(0, -1, 0))
        if k < n:
            builder.add_link(f"coupler{k}", rod())
            builder.add_joint(f"pin{k}", "revolute", f"crank{k}", f"coupler{k}", at(1, 0, 0), axis=(0, -1, 0))
            constraints.append(engine.Hinge(f"coupler{k}", f"crank{k + 1}", (1, 0, 0), (1, 0, 0), Y, Y))
    return builder.model(), constraints


def upright(model, angle=0.5 * np.pi, rate=-1.0):
    """q and v of :func:`four_bars` with the cranks at an angle, turning at a rate; couplers stay level."""
    cranks = np.array([name.startswith("pivot") for name in model.labels("v")])
    return np.where(cranks, angle, -angle), np.where(cranks, rate, -rate)


#: the corners of Bricard's hexagon on the edges of a cube, and the axis of the hinge at each
X, Z = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)
BRICARD = (((0, 0, 0), Y), ((1, 0, 0), Z), ((1, -1, 0), X), ((1, -1, 1), Y), ((0, -1, 1), Z), ((0, 0, 1), X))


def bricard():
    """Bricard's rectangular six-bar: five bars of 1 m and 1 kg and the ground, as it lies on a cube's edges; and its last hinge."""
    builder, above = engine.Builder("bricard"), "ground"
    builder.add_link("ground")
    corners = np.array([p for p, _ in BRICARD], dtype=float)
    for k in range(5):
        d = corners[k + 1] - corners[k]
        builder.add_link(f"bar{k}", inertia.from_mass(1.0, 0.5 * d, (np.eye(3) - np.outer(d, d)) / 12))
        builder.add_joint(f"hinge{k}", "revolute", above, f"bar{k}", at(*(corners[k] - corners[k - 1] if k else corners[0])), BRICARD[k][1])
        above = f"bar{k}"
    return builder.model(), [engine.Hinge("bar4", "ground", corners[5] - corners[4], corners[5], BRICARD[5][1], BRICARD[5][1])]


def slider_crank(crank=0.3, length=0.8):
    """A crank of 1 kg, a connecting rod of 2 kg and a block of 3 kg on a rail along x; the block's joint and the rod's end are the loop."""
    builder = engine.Builder("slider-crank")
    builder.add_link("ground"), builder.add_link("crank", rod(1.0, crank)), builder.add_link("rod", rod(2.0, length))
    builder.add_link("block", inertia.box(3.0, (0.1, 0.1, 0.1)))
    builder.add_joint("crank", "revolute", "ground", "crank", axis=(0, -1, 0))
    builder.add_joint("rod", "revolute", "crank", "rod", at(crank, 0, 0), axis=(0, -1, 0))
    builder.add_joint("wrist", "revolute", "rod", "block", at(length, 0, 0), axis=(0, -1, 0))
    return builder.model(), [engine.Slider("ground", "block", axis_a=(1, 0, 0), axis_b=(1, 0, 0), name="rail")]


#: Andrews' squeezer, as printed in the test set of initial value problems (Mazzia & Magherini, Bari, 2008): lengths in m, kg, kg m²
ANDREWS = {
    "d": 0.028, "da": 0.0115, "e": 0.02, "ea": 0.01421, "zf": 0.02, "zt": 0.04, "fa": 0.01421, "rr": 0.007, "ra": 0.00092,
    "ss": 0.035, "sa": 0.01874, "sb": 0.01043, "sc": 0.018, "sd": 0.02, "ta": 0.02308, "tb": 0.00916, "u": 0.04, "ua": 0.01228,
    "ub": 0.00449, "c0": 4530.0, "lo": 0.07785, "mom": 0.033, "xa": -0.06934, "ya": -0.00227, "xb": -0.03635, "yb": 0.03273,
    "xc": 0.014, "yc": 0.072,
}  # fmt: skip
#: of the bodies 1 to 7: masses and inertias about their centres of mass
ANDREWS_BODIES = ((0.04325, 2.194e-6), (0.00365, 4.410e-7), (0.02373, 5.255e-6), (0.00706, 5.667e-7), (0.07050, 1.169e-5),
                  (0.00706, 5.667e-7), (0.05498, 1.912e-5))  # fmt: skip
#: β, Θ, γ, Φ, δ, Ω, ε at the start, and at t = 0.03 s
ANDREWS_START = (-0.0617138900142764496358948458001, 0.0, 0.455279819163070380255912382449, 0.222668390165885884674473185609,
                 0.487364979543842550225598953530, -0.222668390165885884674473185609, 1.23054744454982119249735015568)  # fmt: skip
ANDREWS_END = (15.81077119629904, -15.75637105984298)


def squeezer():
    """Andrews' squeezing mechanism: the model, its three loops, the motor's torque and the spring's force, q at the start."""
    p, builder = ANDREWS, engine.Builder("andrews")
    builder.add_link("ground")
    o, a, b = (0.0, 0.0), (p["xa"], p["ya"]), (p["xb"], p["yb"])
    parts = (
        ("beta", "ground", o, (p["ra"], 0)), ("theta", "beta", (p["rr"], 0), (-p["da"], 0)),
        ("gamma", "ground", b, (p["sb"], -p["sa"])), ("delta", "ground", a, (p["ta"], p["tb"])),
        ("phi", "delta", (p["zt"], 0), (0, p["ea"] - p["e"])), ("epsilon", "ground", a, (p["ua"], p["ub"])),
        ("omega", "epsilon", (0, -p["u"]), (p["zf"] - p["fa"], 0)),
    )  # fmt: skip
    which = {"beta": 0, "theta": 1, "gamma": 2, "phi": 3, "delta": 4, "omega": 5, "epsilon": 6}
    for name, above, pivot, centre in parts:
        m, i = ANDREWS_BODIES[which[name]]
        builder.add_link(name, inertia.from_mass(m, [*centre, 0], i * np.diag([0.5, 0.5, 1.0])))
        builder.add_joint(name, "revolute", above, name, at(*pivot, 0))
    model = builder.model()
    end = (-p["d"], 0, 0)
    loops = [engine.Hinge("theta", "gamma", end, (0, -p["ss"], 0)), engine.Hinge("theta", "phi", end, (0, -p["e"], 0)),
             engine.Hinge("theta", "omega", end, (p["zf"], 0, 0))]  # fmt: skip
    crank, arm = model.v_slice("beta").start, model.v_slice("gamma").start

    def drive(t, q, v):
        s, c = engine.ops.sin(q[arm]), engine.ops.cos(q[arm])
        x, y = p["sd"] * c + p["sc"] * s + p["xb"] - p["xc"], p["sd"] * s - p["sc"] * c + p["yb"] - p["yc"]
        length = engine.ops.sqrt(x * x + y * y)
        force = -p["c0"] * (length - p["lo"]) / length
        tau = [0.0] * 7
        tau[crank] = p["mom"]
        tau[arm] = force * (x * (p["sc"] * c - p["sd"] * s) + y * (p["sd"] * c + p["sc"] * s))
        return engine.ops.array(tau)

    q = np.zeros(7)
    for name, k in which.items():
        q[model.q_slice(name)] = ANDREWS_START[k]
    return model, loops, drive, q
