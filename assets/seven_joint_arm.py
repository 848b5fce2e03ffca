"""Makes the seven-joint arm in engine/examples: ``python assets/seven_joint_arm.py``.

Shoulder and wrist are three joints each whose axes meet, the elbow is one between them: as in an arm, the elbow can swing while the
flange rests. At zero angles the arm points up along z, and its pitch joints turn about y.
"""

import numpy as np
from halves import around, half, other
from robots import Joint, Link, Material, Shape, Y, Z, write
from solids import BACK, PI, Looks, disc, shaped, spun

MATERIALS = {
    "white": Material((0.91, 0.91, 0.89), 0.35),
    "graphite": Material((0.15, 0.16, 0.18), 0.5),
    "blue": Material((0.07, 0.32, 0.62), 0.4),
    "steel": Material((0.70, 0.72, 0.75), 0.35, 0.7),
}
BASE, SHOULDER, UPPER, ELBOW, FORE, ARM, WRIST = 0.15, 0.20, 0.205, 0.205, 0.20, 0.20, 0.13  # m: from joint to joint
DENSITY, STEEL = 800, 7800  # kg/m³: of a shell with its drives, gears and brakes; of the flange, which is solid


def base() -> Looks:
    bolts = 2 * PI * np.arange(6) / 6
    shell = [(0, 0.012), (0.108, 0.012, 0.01), (0.098, 0.045, 0.03), (0.08, 0.11, 0.06), (0.08, BASE, 0.004), (0, BASE)]
    plug = [(0.09, -0.035, 0.035, -0.03, 0.03, 0.008), (0.112, -0.03, 0.03, -0.025, 0.025, 0.008)]
    bolt = [(0, 0.012), (0.006, 0.012), (0.006, 0.018), (0, 0.018)]
    return {
        "white": [spun(shell, sides=48)],
        "graphite": [disc(0.118, 0.0, 0.014, 0.003, sides=48), shaped(plug, (0, 0.004), (0, 0, 0.045), BACK, steps=3)],
        "steel": [spun(bolt, (0.110 * np.cos(a), 0.110 * np.sin(a), 0), sides=12) for a in bolts],
        "blue": [spun([(0, 0.128), (0.0808, 0.128), (0.0808, 0.132), (0, 0.132)], sides=48)],
    }


def wrist_roll() -> Looks:
    return {
        "graphite": [disc(0.044, 0.0, 0.006, 0.001)],
        "white": [spun([(0, 0.004), (0.047, 0.004, 0.003), (0.047, 0.03, 0.008), (0.038, 0.036, 0.004), (0, 0.036)])],
        "blue": [spun([(0, 0.03), (0.0385, 0.03), (0.0385, 0.037), (0, 0.037)])],
    }


def flange() -> Looks:
    """Its frame lies in its face, where tools are mounted."""
    bolts = 2 * PI * np.arange(8) / 8
    ring = [(0.014, -0.008), (0.0365, -0.008), (0.0365, 0, 0.0015), (0.018, 0), (0.018, -0.004), (0.014, -0.004), (0.014, -0.008)]
    hole = [(0, -0.001), (0.0028, -0.001), (0.0028, 0.0004), (0, 0.0004)]
    return {
        "steel": [spun(ring)],
        "graphite": [spun(hole, (0.027 * np.cos(a), 0.027 * np.sin(a), 0), sides=10) for a in bolts]
        + [spun([(0, -0.008), (0.0145, -0.008), (0.0145, -0.006), (0, -0.006)], sides=20)],
    }


def main() -> None:
    rows = [  # links, their looks, joints, axes, limits (rad, to both sides), speeds, efforts, damping, friction, halves of pitch joints
        ("shoulder_yaw", "shoulder_yaw", Z, 2.96, 1.7, 180, 0.6, 1.0, (SHOULDER, 0.080, 0.084, 0.092)),
        ("shoulder_pitch", "shoulder_pitch", Y, 1.95, 1.7, 180, 0.6, 1.0, (UPPER, 0.072, 0.084, 0.092)),
        ("shoulder_roll", "upper_arm", Z, 2.96, 1.9, 110, 0.4, 0.7, (ELBOW, 0.072, 0.074, 0.082)),
        ("elbow_pitch", "elbow", Y, 1.95, 2.3, 110, 0.4, 0.7, (FORE, 0.062, 0.074, 0.082)),
        ("forearm_roll", "forearm", Z, 2.96, 2.4, 70, 0.3, 0.5, (ARM, 0.062, 0.060, 0.068)),
        ("wrist_pitch", "wrist_pitch", Y, 1.95, 3.1, 40, 0.2, 0.3, (WRIST, 0.047, 0.060, 0.068)),
    ]
    looks = {"base": base()}
    links = [Link("base", "base", DENSITY, [Shape("cylinder", (0.1, BASE), (0, 0, BASE / 2))])]
    below = BASE
    for k, (name, look, axis, limit, speed, effort, damping, friction, sizes) in enumerate(rows):
        looks[look] = (other if k % 2 else half)(*sizes)
        joint = Joint(name, axis, (-limit, limit), speed, effort, damping, friction)
        shapes = around(*sizes, -1 if k % 2 else 1, short=k in (0, 5))
        links.append(Link(f"{name}_link", look, DENSITY, shapes, links[-1].name, (0, 0, below), joint=joint))
        below = sizes[0]
    looks |= {"wrist_roll": wrist_roll(), "flange": flange()}
    joint = Joint("wrist_roll", Z, (-3.05, 3.05), 3.1, 40, 0.2, 0.3)
    hand = [Shape("cylinder", (0.047, 0.044), (0, 0, 0.022))]
    links.append(Link("wrist_roll_link", "wrist_roll", DENSITY, hand, links[-1].name, (0, 0, WRIST), joint=joint))
    links.append(Link("flange", "flange", STEEL, (), "wrist_roll_link", (0, 0, 0.044)))
    write("seven_joint_arm", MATERIALS, looks, links)


if __name__ == "__main__":
    main()
