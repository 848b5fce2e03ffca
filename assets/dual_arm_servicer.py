"""Makes the dual-arm servicer in engine/examples, a spacecraft that mends others: ``python assets/dual_arm_servicer.py``.

The bus frame lies in the middle of its eight sides: x to the docking ring, y to the left solar panel, z between the arms. Those point up
and aside at zero angles; each has the joints of the seven-joint arm.
"""

import numpy as np
import trimesh
from halves import around, half, other
from robots import Joint, Link, Material, Shape, Tile, Y, Z, write
from solids import BACK, FRONT, LEFT, ORIGIN, PI, SIGNS, UP, Looks, Numbers, box, disc, loft, placed, plate, shaped, sheet, spun
from trimesh import Trimesh

PITCH = 0.24, 0.178  # m: of solar cells, along a board and across
MATERIALS = {
    "white": Material((0.90, 0.90, 0.88), 0.4),
    "graphite": Material((0.14, 0.15, 0.17), 0.5),
    "blue": Material((0.07, 0.32, 0.62), 0.4),
    "foil": Material((0.93, 0.68, 0.24), 0.38, 0.2),
    "aluminium": Material((0.68, 0.70, 0.73), 0.4, 0.5),
    "cells": Material((0.05, 0.10, 0.33), 0.45, tile=Tile(PITCH, 0.01, (0.90, 0.90, 0.88))),
    "glass": Material((0.02, 0.02, 0.03), 0.1),
}
APOTHEM, LENGTH = 0.70, 1.50  # m: of the bus
FACES = PI / 4 * np.arange(8)  # rad: where the sides look, from y to z
MOUNT = (0.46, 0.77)  # m: the arms' first joints, along x and from it, on the sides between y and z
WING = (-0.34, 0.80)  # m: where the solar panels begin
SHOULDER, HALF, ARM, FORE, WRIST = 0.26, 0.26, 0.80, 0.75, 0.19  # m: from joint to joint
BROAD, THIN = (0.080, 0.095, 0.105), (0.060, 0.072, 0.080)  # m: collars, drums and their depths
TOOL = 0.27  # m: from the last joint's flange to where the gripper holds


def turned(face: float) -> Numbers:
    """What turns z out of a side of the bus."""
    return (face - PI / 2, 0, 0)


def out(face: float, x: float, y: float, z: float) -> Numbers:
    """A point above a side of the bus: along it, aside and off the middle."""
    return (x, y * np.sin(face) + z * np.cos(face), z * np.sin(face) - y * np.cos(face))


def quilt(size: Numbers, seed: int, at: Numbers, rpy: Numbers) -> Trimesh:
    """A blanket of foil (x, y), wrinkled, its rim on the ground."""
    nx, ny = 12, 8
    x, y = np.linspace(-0.5, 0.5, nx)[:, None], np.linspace(-0.5, 0.5, ny)
    swell = ((1 - (2 * x) ** 8) * (1 - (2 * y) ** 8)) ** 0.5
    heights = swell * (0.016 + np.random.default_rng(seed).uniform(-0.006, 0.006, (nx, ny)))
    top = np.stack(np.broadcast_arrays(x * size[0], y * size[1], heights), axis=-1)
    return loft(np.concatenate([top, top[:, [-1, 0]] - [0, 0, 0.01]], axis=1), at, rpy)


def joined(*looks: Looks) -> Looks:
    """Several looks as one."""
    used = [material for material in MATERIALS if any(material in look for look in looks)]
    return {material: [solid for look in looks for solid in look.get(material, [])] for material in used}


def moved(looks: Looks, at: Numbers) -> Looks:
    return {material: [placed(solid, at) for solid in solids] for material, solids in looks.items()}


# ---------------------------------------------------------------- the bus


def bus() -> Looks:
    r = APOTHEM - 0.012
    eight = [(r / np.cos(PI / 8) * np.cos(a), r / np.cos(PI / 8) * np.sin(a), 0.008) for a in FACES + PI / 8]
    side = 2 * r * np.tan(PI / 8) - 0.05
    edge, radiators = r / np.cos(PI / 8) - 0.008, (FACES[0], FACES[4], FACES[6])
    hub = [(0, r - 0.02), (0.10, r - 0.02), (0.10, r + 0.03, 0.01), (0.06, r + 0.05, 0.01), (0.06, WING[1], 0.004), (0, WING[1])]
    return joined(
        {
            "graphite": [plate(eight, -LENGTH / 2, LENGTH / 2, 0.012, rpy=FRONT)],
            "foil": [quilt((LENGTH - 0.10, side), k, out(face, 0, 0, r + 0.009), turned(face)) for k, face in enumerate(FACES)],
            "white": [box((0.62, 0.36, 0.02), 0.02, 0.004, out(face, 0.30, 0, r + 0.028), turned(face), 16) for face in radiators],
            "aluminium": [
                *[box((LENGTH + 0.01, 0.045, 0.03), 0.01, 0.006, out(a, 0, 0, edge), turned(a), 8) for a in FACES + PI / 8],
                *[spun(hub, (WING[0], 0, 0), turned(face), 20) for face in (FACES[0], FACES[4])],
            ],
        },
        front(), rear(), top(),
    )  # fmt: skip


def front() -> Looks:
    """The docking ring with its petals, cameras and lamps."""
    face = LENGTH / 2
    outside = [(0.30, -0.02), (0.42, -0.02), (0.42, 0.05, 0.012), (0.395, 0.09, 0.008)]
    ring = [*outside, (0.36, 0.09, 0.008), (0.345, 0.05, 0.01), (0.30, 0.03), (0.30, -0.02)]
    petal = shaped([(0.0, -0.07, 0.07, -0.012, 0.012, 0.01), (0.12, -0.035, 0.035, -0.008, 0.008, 0.007)], (0.002, 0.004),
                   (0, 0.36, 0.06), (0.30, 0, 0), steps=4, pieces=2)  # fmt: skip
    petals = [placed(placed(petal.copy(), rpy=(0, 0, 2 * PI * k / 3)), (face, 0, 0), FRONT) for k in range(3)]
    lamps = [(face, i * 0.49, -0.28) for i in SIGNS]
    eyes = [(face + 0.055, i * 0.06, 0) for i in SIGNS]
    hood = [(0.0, 0.0), (0.036, 0.0), (0.036, 0.05, 0.004), (0.028, 0.05), (0.028, 0.02), (0.0, 0.02)]
    return {
        "aluminium": [spun(ring, (face, 0, 0), FRONT, 36), *petals, *[disc(0.06, -0.02, 0.03, 0.008, lamp, FRONT, 20) for lamp in lamps]],
        "white": [box((0.10, 0.24, 0.06), 0.03, 0.012, (face + 0.02, 0, 0), FRONT, 24)]
        + [disc(0.046, 0.0, 0.034, 0.004, lamp, FRONT, 20) for lamp in lamps],
        "graphite": [spun(hood, eye, FRONT, 20) for eye in eyes],
        "glass": [disc(0.027, 0.015, 0.028, 0.004, eye, FRONT, 20) for eye in eyes],
    }


def rear() -> Looks:
    """The main engine between its tanks, and thrusters at the corners of both ends."""
    bell = [(0.05, 0.0), (0.058, 0.04), (0.09, 0.11), (0.13, 0.19), (0.155, 0.27)]
    nozzle, edge = [(0, 0), (0.012, 0), (0.03, 0.06), (0, 0.02)], APOTHEM / np.cos(PI / 8)
    blocks, nozzles = [], []
    for i, a in [(i, a) for i in SIGNS for a in FACES[1::2] + PI / 8]:
        blocks.append(box((0.12, 0.10, 0.12), 0.025, 0.015, out(a, 0.60 * i, 0, edge - 0.02), turned(a), 8))
        nozzles.append(spun(nozzle, out(a, 0.655 * i, 0, edge + 0.01), (0, i * PI / 2, 0), 12))
        nozzles.append(spun(nozzle, out(a, 0.60 * i, 0, edge + 0.035), turned(a), 12))
    seat = [(0, -0.02), (0.16, -0.02), (0.16, 0.02, 0.01), (0.07, 0.05, 0.01), (0, 0.05)]
    tanks = [spun([(0, -0.06), *[(0.20 * np.cos(b), 0.20 * np.sin(b)) for b in np.linspace(-0.2, PI / 2, 7)]],
                  (-LENGTH / 2, 0.40 * np.cos(a), 0.40 * np.sin(a)), BACK, 24) for a in FACES[::2] + PI / 4]  # fmt: skip
    return {
        "graphite": [spun([*bell, *[(r - 0.006, z) for r, z in bell[::-1]], bell[0]], (-LENGTH / 2 - 0.03, 0, 0), BACK, 28), *nozzles],
        "aluminium": [spun(seat, (-LENGTH / 2, 0, 0), BACK), *blocks],
        "white": tanks,
    }


def top() -> Looks:
    """A dish on a mast, two star trackers, and what carries the arms."""
    up, roof = FACES[2], APOTHEM
    arc = np.linspace(0, 0.30, 6)
    bowl = [(r, 0.9 * r**2) for r in arc]
    dish = (-0.42, 0, roof + 0.36), (0.2, -0.7, 0)
    feed = [(0, 0.0), (0.014, 0.0), (0.010, 0.17), (0.035, 0.19, 0.004), (0.035, 0.20, 0.004), (0, 0.20)]
    trackers = [((0.10, y, roof + 0.02), (0.3 * np.sign(y), -0.5, 0)) for y in (-0.13, 0.13)]
    baffle = [(0, 0.12), (0.05, 0.12), (0.075, 0.26), (0.07, 0.26), (0.046, 0.14), (0, 0.14)]
    foot = [(0, 0.68), (0.15, 0.68), (0.15, 0.712, 0.01), (0.10, 0.735, 0.02), (0.092, MOUNT[1] - 0.001, 0.003), (0, MOUNT[1] - 0.001)]
    return {
        "white": [spun([*bowl, *[(r, z - 0.012) for r, z in bowl[::-1]]], *dish, sides=32)],
        "aluminium": [
            spun([(0, 0.68), (0.07, 0.68), (0.07, roof + 0.03, 0.01), (0.03, roof + 0.06, 0.02), (0.026, roof + 0.36), (0, roof + 0.36)],
                 (-0.42, 0, 0), turned(up), 24),
            spun(feed, *dish, sides=20),
            disc(0.05, -0.05, 0.02, 0.012, *dish, 16),
            *[disc(0.055, -0.04, 0.13, 0.01, *tracker, 24) for tracker in trackers],
            *[spun(foot, (MOUNT[0], 0, 0), turned(face), 24) for face in (FACES[1], FACES[3])],
        ],
        "graphite": [spun(baffle, *tracker, sides=24) for tracker in trackers],
    }  # fmt: skip


def solar_panel() -> Looks:
    """Three boards on a yoke, along +y."""
    boards, rows, columns = 0.86 + 0.80 * np.arange(3), PITCH[1] * (np.arange(4) - 1.5), PITCH[0] * (np.arange(4) - 1.5)
    strut = [(0, 0), (0.016, 0), (0.016, 0.50), (0, 0.50)]
    return {
        "aluminium": [
            disc(0.055, 0.002, 0.07, 0.008, rpy=LEFT),
            *[spun(strut, (i * 0.01, 0.05, 0), (-PI / 2, 0, 0.72 * i), 20) for i in SIGNS],
            spun([(0, -0.45), (0.016, -0.45), (0.016, 0.45), (0, 0.45)], (0, 0.44, 0), FRONT, 20),
            *[disc(0.018, -0.05, 0.05, 0.004, (i * 0.34, y - 0.40, 0), FRONT, 12) for y in boards for i in SIGNS],
        ],
        "white": [box((1.0, 0.76, 0.022), 0.015, 0.003, (0, y, 0), sides=16) for y in boards],
        "cells": [placed(trimesh.creation.box((0.23, 0.170, 0.006)), (x, y + dy, 0.011)) for y in boards for dy in rows for x in columns],
    }


def cells() -> Looks:
    """The cells of a board as one sheet on it, with the gaps in its picture."""
    return {"cells": [sheet(4 * PITCH[0], 4 * PITCH[1], 0.01, (0, y, 0.014)) for y in 0.86 + 0.80 * np.arange(3)]}


# ---------------------------------------------------------------- the arms


def boom(length: float, low: Numbers, high: Numbers, reach: float) -> Looks:
    """A long link: half a pitch joint on a tube, above a collar."""
    r, slim, end = low[0], 0.68 * high[0], length - reach
    wide = slim + 0.008
    sleeve = [(0, 0.006), (r, 0.006, 0.004), (r, 0.07, 0.02), (wide, 0.13, 0.02), (wide, 0.16), (0, 0.16)]
    widens = [(0, end - 0.10), (wide, end - 0.10), (wide, end - 0.07, 0.02), (high[0], end - 0.01, 0.01)]
    socket = [*widens, (high[0], end + 0.01), (0, end + 0.01)]
    tubes = [(r - 0.003, 0, 0.01), (slim, 0.15, end - 0.09)]
    bands = [(slim + 0.004, z, z + 0.02) for z in np.linspace(0.16, end - 0.12, 4)[1:-1]]
    graphite, aluminium = ([spun([(0, low), (r, low), (r, high), (0, high)], sides=28) for r, low, high in rows] for rows in (tubes, bands))
    white = [spun(sleeve, sides=32), spun(socket, sides=32)]
    return joined({"white": white, "graphite": graphite, "aluminium": aluminium}, moved(half(reach, *high), (0, 0, end)))


def wrist_roll() -> Looks:
    """With a camera."""
    r, lens = THIN[0], [(0, 0.0), (0.017, 0.0), (0.022, 0.04), (0, 0.04)]
    return {
        "graphite": [disc(r - 0.003, 0.0, 0.01, 0.001), spun(lens, (0.085, 0, 0.062), sides=24)],
        "white": [spun([(0, 0.006), (r, 0.006, 0.004), (r, 0.06, 0.012), (r - 0.012, 0.07, 0.004), (0, 0.07)]),
                  box((0.06, 0.055, 0.06), 0.012, 0.008, (0.075, 0, 0.045))],
        "glass": [disc(0.018, 0.03, 0.042, 0.004, (0.085, 0, 0.062), sides=20)],
        "blue": [spun([(0, 0.06), (r - 0.0115, 0.06), (r - 0.0115, 0.073), (0, 0.073)])],
    }  # fmt: skip


def gripper() -> Looks:
    """Three fingers; its frame lies between their tips."""
    finger = shaped([(-0.115, 0.050, 0.078, -0.016, 0.016, 0.008), (-0.07, 0.062, 0.088, -0.014, 0.014, 0.008),
                     (-0.02, 0.056, 0.076, -0.012, 0.012, 0.007), (0.03, 0.026, 0.040, -0.010, 0.010, 0.005)],
                    (0.004, 0.004), steps=8, pieces=3)  # fmt: skip
    pad = box((0.006, 0.018, 0.034), 0.0025, 0.001, (0.0345, 0, 0.006), (0, -0.40, 0), 8)
    turns = [(0, 0, 2 * PI * k / 3) for k in range(3)]
    flange = [(0, 0.08 - TOOL), (0.05, 0.08 - TOOL, 0.004), (0.05, -0.165, 0.01)]
    palm = [*flange, (0.072, -0.145, 0.01), (0.072, -0.115, 0.012), (0.03, -0.10, 0.01), (0, -0.10)]
    return {
        "aluminium": [disc(0.055, -TOOL, 0.09 - TOOL, 0.004), *[placed(finger.copy(), rpy=rpy) for rpy in turns]],
        "white": [spun(palm, sides=24)],
        "graphite": [*[placed(pad.copy(), rpy=rpy) for rpy in turns],
                     *[placed(disc(0.014, -0.024, 0.024, 0.003, (0.064, 0, -0.115), LEFT, 20), rpy=rpy) for rpy in turns],
                     disc(0.028, -0.105, -0.092, 0.004)],
    }  # fmt: skip


def arm(side: str, face: float) -> list[Link]:
    """The links of one arm; their axes, limits (rad, to both sides), speeds, efforts, damping and friction."""
    density = 600
    rows = [
        ("shoulder_yaw", "shoulder_yaw", Z, 2.96, 0.35, 250, 2.0, 2.0, 0.0, around(SHOULDER, *BROAD, 1, short=True)),
        ("shoulder_pitch", "half", Y, 1.9, 0.35, 250, 2.0, 2.0, SHOULDER, around(HALF, *BROAD, -1, short=True)),
        ("shoulder_roll", "upper_arm", Z, 2.96, 0.35, 150, 1.5, 1.5, HALF, around(ARM, *BROAD, 1)),
        ("elbow_pitch", "half", Y, 1.9, 0.35, 150, 1.5, 1.5, ARM, around(HALF, *BROAD, -1, short=True)),
        ("forearm_roll", "forearm", Z, 2.96, 0.5, 80, 1.0, 1.0, HALF, around(FORE, *THIN, 1)),
        ("wrist_pitch", "wrist_pitch", Y, 1.9, 0.5, 60, 0.6, 0.6, FORE, around(WRIST, *THIN, -1, short=True)),
        ("wrist_roll", "wrist_roll", Z, 3.05, 0.5, 60, 0.6, 0.6, WRIST, [Shape("cylinder", (0.075, 0.07), (0.02, 0, 0.035))]),
    ]
    at, parent, rpy = out(face, MOUNT[0], 0, MOUNT[1]), "bus", turned(face)
    links = []
    for name, looks, axis, limit, speed, effort, damping, friction, length, shapes in rows:
        joint = Joint(f"{side}_{name}", axis, (-limit, limit), speed, effort, damping, friction)
        links.append(Link(f"{side}_{name}_link", looks, density, shapes, parent, at if parent == "bus" else (0, 0, length), rpy, joint))
        parent, rpy = links[-1].name, UP
    hand = [Shape("cylinder", (0.09, 0.30), (0, 0, -0.12))]
    return [*links, Link(f"{side}_gripper", "gripper", 1800, hand, parent, (0, 0, 0.07 + TOOL))]


def main() -> None:
    looks = {
        "bus": bus(), "solar_panel": solar_panel(), "gripper": gripper(), "wrist_roll": wrist_roll(),
        "shoulder_yaw": half(SHOULDER, *BROAD), "half": other(HALF, *BROAD), "upper_arm": boom(ARM, BROAD, BROAD, 0.24),
        "forearm": boom(FORE, BROAD, THIN, 0.20), "wrist_pitch": other(WRIST, *THIN),
    }  # fmt: skip
    body = [Shape("cylinder", (0.74, LENGTH), ORIGIN, FRONT), Shape("cylinder", (0.42, 0.10), (LENGTH / 2 + 0.05, 0, 0), FRONT)]
    boards = [Shape("box", (1.0, 2.46, 0.04), (0, 1.66, 0))]
    links = [
        Link("bus", "bus", 200, body),
        Link("solar_panel_left", "solar_panel", 250, boards, "bus", (WING[0], WING[1], 0)),
        Link("solar_panel_right", "solar_panel", 250, boards, "bus", (WING[0], -WING[1], 0), (0, 0, PI)),
        *arm("left", FACES[1]),
        *arm("right", FACES[3]),
    ]
    write("dual_arm_servicer", MATERIALS, looks, links, {"solar_panel": cells()})


if __name__ == "__main__":
    main()
