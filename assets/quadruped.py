"""Makes the quadruped in engine/examples: ``python assets/quadruped.py``.

The trunk's frame lies in the middle between its hips: x ahead, z up. At zero angles it stands: the knees are behind the hips, the feet
below them, 0.343 m under the trunk's frame.
"""

from collections.abc import Sequence

import numpy as np
from robots import Joint, Link, Material, Shape, X, Y, write
from solids import BACK, FRONT, LEFT, PI, RIGHT, SIGNS, UP, Looks, Numbers, disc, plate, shaped, spun
from trimesh import Trimesh

MATERIALS = {
    "white": Material((0.88, 0.89, 0.90), 0.35),
    "graphite": Material((0.13, 0.14, 0.16), 0.5),
    "orange": Material((0.93, 0.38, 0.06), 0.4),
    "glass": Material((0.03, 0.03, 0.04), 0.12),
    "aluminium": Material((0.62, 0.64, 0.67), 0.4, 0.6),
    "rubber": Material((0.08, 0.08, 0.085), 0.9),
}
HIP, SIDE = (0.19, 0.05), 0.09  # m: the roll joints, and the thighs beside them
THIGH, SHANK, FOOT = 0.21, 0.21, 0.022  # m: from joint to joint, and the feet's radius
THIGH_BACK, KNEE = 0.7, -1.4  # rad: from straight legs to those that stand
MOTOR = 0.043  # m: the radius of a leg's motors


def along(keys: Sequence[Numbers], rims: Numbers, steps: int = 14) -> Trimesh:
    """Rounded rectangles along x: (x, bottom, top, half the width, corners' radius)."""
    return shaped([(x, -top, -bottom, -y, y, r) for x, bottom, top, y, r in keys], rims, rpy=FRONT, steps=steps)


def bar(length: float, width: float, low: float, high: float, at: Numbers, rpy: Numbers = UP) -> Trimesh:
    """A bar along x with round ends."""
    return plate([(i * (length - width) / 2, 0, width / 2) for i in SIGNS], low, high, 0.001, at, rpy, 16)


def trunk() -> Looks:
    spine = [(-0.255, 0.064, 0.086, 0.036, 0.010), (-0.20, 0.053, 0.099, 0.044, 0.018), (-0.155, 0.050, 0.103, 0.056, 0.022),
             (-0.10, 0.035, 0.106, 0.078, 0.024), (0.10, 0.035, 0.106, 0.078, 0.024), (0.155, 0.050, 0.104, 0.058, 0.022),
             (0.21, 0.053, 0.101, 0.048, 0.020), (0.268, 0.060, 0.088, 0.042, 0.012)]  # fmt: skip
    visor = [(0.235, 0.062, 0.092, 0.0478, 0.010), (0.25, 0.062, 0.091, 0.0465, 0.010), (0.2735, 0.0645, 0.085, 0.036, 0.008)]
    end, middle = (-0.040, 0.05, 0.088, 0.02), (-0.056, 0.06, 0.096, 0.024)
    hull = [(-0.138, *end), (-0.108, *middle), (0.108, *middle), (0.138, *end)]
    lens = [(0, 0), (0.009, 0), (0.009, 0.004), (0.006, 0.004), (0.006, 0.002), (0, 0.002)]
    panel = [(i * 0.085, j * 0.02, 0.012) for i in SIGNS for j in SIGNS]
    sides = [(-j * PI / 2, 0, 0) for j in SIGNS]  # z turned to y, -y
    return {
        "white": [along(spine, (0.008, 0.010)), *[plate(panel, 0.0935, 0.1015, 0.003, (0, 0, -0.006), side, 32) for side in sides]],
        "graphite": [
            along(hull, (0.006, 0.006)),
            *[disc(MOTOR + 0.003, 0.0, 0.042, 0.004, (i * 0.10, j * HIP[1], 0), (0, i * PI / 2, 0)) for i in SIGNS for j in SIGNS],
            bar(0.10, 0.03, 0.1, 0.1075, (-0.03, 0, 0)),  # a handle, and vents
            *[bar(0.05, 0.006, 0.1, 0.1075, (x, 0, 0), (0, 0, PI / 2)) for x in (0.06, 0.075, 0.09)],
        ],
        "orange": [bar(0.125, 0.005, 0.098, 0.1025, (0, 0, 0.004), side) for side in sides],
        "glass": [along(visor, (0, 0.005), 4)],
        "aluminium": [bar(0.20, 0.012, 0.09, 0.11, (0, i * 0.045, 0)) for i in SIGNS]
        + [spun(lens, (0.271, i * 0.021, 0.0745), FRONT, 16) for i in SIGNS],
    }  # fmt: skip


def hip() -> Looks:
    """Of a left leg; turned about z, of a right one."""
    return {
        "graphite": [
            spun([(0, -0.028), (MOTOR, -0.028, 0.012), (MOTOR, 0.0575, 0.003), (0, 0.0575)], rpy=LEFT),
            *[disc(0.037, 0.025, 0.0455, 0.003, rpy=ahead) for ahead in (FRONT, BACK)],
            *[disc(0.019, 0.04, 0.0465, 0.0015, rpy=ahead, sides=24) for ahead in (FRONT, BACK)],
        ],
        "aluminium": [spun([(0, 0.02), (MOTOR + 0.0008, 0.02), (MOTOR + 0.0008, 0.026), (0, 0.026)], rpy=LEFT)],
        "orange": [spun([(0, 0.04), (0.0215, 0.04), (0.0215, 0.0462), (0, 0.0462)], rpy=ahead, sides=24) for ahead in (FRONT, BACK)],
    }


def thigh() -> Looks:
    """Of a left leg; turned about z, of a right one. Its knee is a fork."""
    beam = [(-0.145, -0.025, 0.025, -0.026, 0.026, 0.011), (-0.08, -0.030, 0.030, -0.024, 0.024, 0.014),
            (-0.03, -0.0365, 0.0365, -0.024, 0.024, 0.012), (0.0, -0.040, 0.040, -0.022, 0.022, 0.010)]  # fmt: skip
    cheeks = [plate([(0, -0.10, 0.024), (0, -THIGH, 0.024)], low, low + 0.0115, 0.004, rpy=RIGHT, sides=40) for low in (0.0145, -0.026)]
    knee = [(0, 0.024), (0.014, 0.024), (0.014, 0.0285, 0.0015), (0, 0.0285)]
    return {
        "white": [
            spun([(0, -0.030), (MOTOR, -0.030, 0.004), (MOTOR, 0.032, 0.012), (0, 0.032)], rpy=LEFT, sides=40),
            shaped(beam, (0.008, 0)),
            *cheeks,
        ],
        "graphite": [
            spun([(0, -0.0315), (0.034, -0.0315), (0.034, -0.028), (0, -0.028)], rpy=LEFT),
            spun([(0, 0.028), (0.027, 0.028), (0.027, 0.0355, 0.002), (0, 0.0355)], rpy=LEFT),
            *[spun(knee, (0, 0, -THIGH), side, 24) for side in (LEFT, RIGHT)],
        ],
        "orange": [spun([(0, 0.028), (0.0295, 0.028), (0.0295, 0.0335, 0.001), (0, 0.0335)], rpy=LEFT)],
    }


def shank() -> Looks:
    rod = [(-0.188, -0.0075, 0.0085, -0.0075, 0.0075, 0.0075), (-0.12, -0.0085, 0.0125, -0.0085, 0.0085, 0.008),
           (-0.06, -0.010, 0.018, -0.0105, 0.0105, 0.008), (0.0, -0.016, 0.018, -0.0115, 0.0115, 0.008)]  # fmt: skip
    knee = [(0, -0.0125), (0.0225, -0.0125, 0.002), (0.0225, 0.0125, 0.002), (0, 0.0125)]
    sleeve = [(0, 0), (0.0095, 0, 0.002), (0.0095, 0.016, 0.002), (0, 0.016)]
    return {
        "graphite": [spun(knee, rpy=LEFT, sides=32), shaped(rod, steps=10)],
        "aluminium": [spun(sleeve, (0, 0, 0.013 - SHANK), sides=20)],
    }


def foot() -> Looks:
    a = np.linspace(-PI / 2, PI / 5, 10)
    sole = np.stack([FOOT * np.cos(a), FOOT * np.sin(a)], axis=1)
    return {"rubber": [spun([*sole, (0.011, 0.0185), (0, 0.0185)], sides=28)]}


def main() -> None:
    looks = {"trunk": trunk(), "hip": hip(), "thigh": thigh(), "shank": shank(), "foot": foot()}
    body = [Shape("box", (0.51, 0.17, 0.16), (0.006, 0, 0.024))]  # the hips lie between it and the thighs
    limb = [Shape("box", (0.07, 0.058, 0.26), (0, 0, -0.0875))]
    rod = [Shape("cylinder", (0.012, SHANK - FOOT), (0, 0, (FOOT - SHANK) / 2))]
    links = [Link("trunk", "trunk", 450, body)]
    for leg, i, j in (("front_left", 1, 1), ("front_right", 1, -1), ("rear_left", -1, 1), ("rear_right", -1, -1)):
        roll = Joint(f"{leg}_hip_roll", X, (-0.5, 0.5), 20, 24, 0.05, 0.2)
        pitch = Joint(f"{leg}_hip_pitch", Y, (-1.5, 1.0), 20, 24, 0.05, 0.2)
        knee = Joint(f"{leg}_knee", Y, (-1.0, 1.25), 16, 36, 0.05, 0.3)
        turned = UP if j > 0 else (0, 0, PI)
        links += [
            Link(f"{leg}_hip", "hip", 1000, (), "trunk", (i * HIP[0], j * HIP[1], 0), UP, roll, turned),
            Link(f"{leg}_thigh", "thigh", 1000, limb, f"{leg}_hip", (0, j * SIDE, 0), (0, THIGH_BACK, 0), pitch, turned),
            Link(f"{leg}_shank", "shank", 1400, rod, f"{leg}_thigh", (0, 0, -THIGH), (0, KNEE, 0), knee),
            Link(f"{leg}_foot", "foot", 1100, [Shape("sphere", (FOOT,))], f"{leg}_shank", (0, 0, -SHANK)),
        ]
    write("quadruped", MATERIALS, looks, links)


if __name__ == "__main__":
    main()
