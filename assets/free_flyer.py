"""Makes the free flyer, a servicer satellite with a seven-joint arm, in engine/examples: ``python assets/free_flyer.py``.

Every link is a handful of closed solids. They give its looks and, with one density for the whole link, its inertia.
The bus frame lies in the middle of its box: x to the docking ring, z to the arm. At zero angles the arm points up along z.
"""

from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as Xml

import numpy as np
import trimesh
from robots import Material, Tile, element, glb, weighed
from solids import BACK, FRONT, LEFT, ORIGIN, PI, SIGNS, Looks, Numbers, block, cone, drum, lathe, placed, sheet, tube
from trimesh import Trimesh

COLOURS = {
    "foil": (0.86, 0.63, 0.22, 1),
    "white": (0.90, 0.90, 0.88, 1),
    "silver": (0.66, 0.68, 0.71, 1),
    "dark": (0.17, 0.18, 0.20, 1),
}
PITCH = 0.262, 0.195  # m: of solar cells, along a board and across
CELLS = Material((0.05, 0.10, 0.33), tile=Tile(PITCH, 0.012, (0.66, 0.68, 0.71)))

SHOULDER = (0.45, 0.0, 0.66)  # in the bus frame
UPPER, FORE, ASIDE = 1.15, 1.05, 0.29  # the booms' lengths, joint to joint, and how far the forearm lies beside the upper arm


def bus() -> Looks:
    corners = [(i, j, k) for i in SIGNS for j in SIGNS for k in SIGNS]
    thrusters = [(i, j, k, rpy) for i, j, k in corners for rpy in ((0, i * PI / 2, 0), (-j * PI / 2, 0, 0), (0, (1 - k) * PI / 2, 0))]
    bell = [(0.06, 0.0), (0.07, 0.05), (0.12, 0.14), (0.165, 0.24), (0.19, 0.34)]
    dish = [(0.0, 0.0), (0.09, 0.009), (0.18, 0.037), (0.26, 0.077)]
    antenna = (-0.38, -0.37, 0.86), (0.35, -0.7, 0)
    trackers = [((-0.15, y, 0.60), (-0.5, -0.4, 0)) for y in (0.34, 0.50)]
    return {
        "foil": [
            *[block((0.06, 0.535, 0.535), (i * 0.67, j * 0.2725, k * 0.2725)) for i, j, k in corners],
            *[block((0.635, 0.06, 0.535), (i * 0.3225, j * 0.57, k * 0.2725)) for i, j, k in corners],
            *[block((0.635, 0.535, 0.06), (i * 0.3225, j * 0.2725, k * 0.57)) for i, j, k in corners],
        ],
        "white": [
            *[block((0.36, 0.03, 0.80), (i * 0.38, j * 0.60, 0)) for i in SIGNS for j in SIGNS],  # radiators
            lathe([*dish, *[(r, z + 0.012) for r, z in dish[::-1]]], *antenna),
            *[cone(*feed, *antenna) for feed in ((0.012, 0.012, 0, 0.18), (0.012, 0.05, 0.17, 0.20))],
        ],
        "silver": [
            lathe([(0.36, 0), (0.42, 0), (0.42, 0.06), (0.40, 0.10), (0.38, 0.10), (0.36, 0.06), (0.36, 0)], (0.70, 0, 0), FRONT),
            *[block((0.16, 0.16, 0.02), (0.76, -0.36 * np.sin(a), 0.36 * np.cos(a)), (a, 0, 0)) for a in np.arange(3) * 2 * PI / 3],
            tube(0.43, 0.47, -0.01, 0.05, (-0.70, 0, 0), BACK),
            cone(0.035, 0.03, 0, 0.27, (-0.38, -0.37, 0.59)),
            cone(0.03, 0.05, -0.04, 0.04, *antenna),
            *[drum(0.05, -0.03, 0.12, *tracker) for tracker in trackers],
            cone(0.17, 0.13, -0.07, 0.0, SHOULDER),
            *[block((0.10, 0.10, 0.10), (0.59 * i, 0.62 * j, 0.54 * k)) for i, j, k in corners],
        ],
        "dark": [
            *[cone(0.012, 0.03, 0.04, 0.11, (0.59 * i, 0.62 * j, 0.54 * k), rpy) for i, j, k, rpy in thrusters],
            block((1.37, 1.17, 1.17)),
            lathe([*bell, *[(r - 0.008, z) for r, z in bell[::-1]], bell[0]], (-0.74, 0, 0), BACK),
            cone(0.10, 0.08, -0.05, 0.03, (-0.74, 0, 0), BACK),
            *[cone(0.035, 0.065, 0.11, 0.24, *tracker) for tracker in trackers],
            block((0.08, 0.20, 0.12), (0.72, 0, 0)),  # docking cameras
            *[cone(0.03, 0.03, 0.03, 0.07, (0.72, i * 0.05, 0), FRONT) for i in SIGNS],
        ],
    }


def solar_panel() -> Looks:
    """Three boards on a yoke, along +y."""
    boards, rows, columns = 0.90 + 0.82 * np.arange(3), PITCH[1] * (np.arange(4) - 1.5), PITCH[0] * (np.arange(4) - 1.5)
    return {
        "silver": [
            *[drum(0.07, -0.02, 0.02, rpy=LEFT), drum(0.035, 0.0, 0.12, rpy=LEFT)],
            *[tube(0.012, 0.018, 0.01, 0.55, (0, 0.08, 0), (-PI / 2, 0, 0.75 * i)) for i in SIGNS],
            tube(0.012, 0.018, -0.46, 0.46, (0, 0.47, 0), FRONT),
            *[cone(0.02, 0.02, -0.06, 0.06, (i * 0.38, y - 0.41, 0), FRONT) for y in boards for i in SIGNS],  # hinges
            *[block((1.08, 0.80, 0.02), (0, y, 0)) for y in boards],
        ],
        "cells": [placed(trimesh.creation.box((0.25, 0.183, 0.006)), (x, y + dy, 0.011)) for y in boards for dy in rows for x in columns],
    }


def cells() -> Looks:
    """The cells of a board as one sheet on it, with the gaps in its picture."""
    return {"cells": [sheet(4 * PITCH[0], 4 * PITCH[1], 0.01, (0, y, 0.014)) for y in 0.90 + 0.82 * np.arange(3)]}


def fork(r: float, gap: float, depth: float, yaw: float = 0.0) -> list[Trimesh]:
    """Two cheeks about the y axis (turned by the yaw), on a plate at the depth."""
    cheeks = [drum(r, gap, gap + 0.03, rpy=(-i * PI / 2, 0, 0)) for i in SIGNS]
    bars = [block((1.7 * r, 0.028, depth + 0.02), (0, i * (gap + 0.015), depth / 2)) for i in SIGNS]
    plate = drum(np.hypot(gap + 0.03, 0.4 * r), depth - 0.01, depth + 0.035)
    return [placed(solid, rpy=(0, 0, yaw)) for solid in (*cheeks, *bars, plate)]


def arm() -> dict[str, Looks]:
    """Each link points along z; the gripper's frame lies at the grasp point, 0.22 m beyond its flange."""
    return {
        "shoulder_yaw": {
            "white": [drum(0.115, 0.03, 0.15), cone(0.10, 0.075, 0.15, 0.25), drum(0.098, -0.07, 0.07, (0, 0, 0.27), LEFT)],
            "dark": [cone(0.125, 0.12, 0.0, 0.035), cone(0.088, 0.088, -0.105, 0.105, (0, 0, 0.27), LEFT)],
        },
        "shoulder_pitch": {"white": fork(0.09, 0.105, 0.135), "dark": [drum(0.05, y - 0.015, y + 0.015, rpy=LEFT) for y in (-0.13, 0.13)]},
        "upper_arm": {
            "white": [drum(0.095, 0.03, 0.17), cone(0.09, 0.06, 0.17, 0.23), tube(0.053, 0.058, 0.20, UPPER - 0.06)]
            + [cone(0.06, 0.075, UPPER - 0.14, UPPER - 0.07), drum(0.09, -0.10, ASIDE / 2 - 0.01, (0, 0, UPPER), LEFT)],
            "dark": [cone(0.10, 0.10, 0.0, 0.035), drum(0.08, -0.115, ASIDE / 2, (0, 0, UPPER), LEFT)]
            + [cone(0.062, 0.062, z, z + 0.02) for z in (0.45, 0.80)],
        },
        "forearm": {
            "white": [drum(0.088, 0.015 - ASIDE / 2, 0.095, rpy=LEFT), cone(0.07, 0.05, 0.06, 0.14), tube(0.045, 0.05, 0.10, FORE - 0.12)]
            + [cone(0.052, 0.062, FORE - 0.16, FORE - 0.05), drum(0.067, -0.055, 0.055, (0, 0, FORE), FRONT)],
            "dark": [drum(0.068, -ASIDE / 2, 0.11, rpy=LEFT), cone(0.06, 0.06, -0.085, 0.085, (0, 0, FORE), FRONT)]
            + [cone(0.054, 0.054, z, z + 0.02) for z in (0.35, 0.65)],
        },
        "wrist_yaw": {
            "white": [*fork(0.062, 0.085, 0.085, PI / 2), cone(0.08, 0.06, 0.115, 0.17), drum(0.067, -0.055, 0.055, (0, 0, 0.20), LEFT)],
            "dark": [cone(0.06, 0.06, -0.085, 0.085, (0, 0, 0.20), LEFT)],
        },
        "wrist_pitch": {"white": fork(0.062, 0.085, 0.085), "dark": [drum(0.035, y - 0.012, y + 0.012, rpy=LEFT) for y in (-0.11, 0.11)]},
        "wrist_roll": {
            "white": [drum(0.078, 0.02, 0.10), cone(0.07, 0.062, 0.095, 0.12), block((0.07, 0.06, 0.09), (0.10, 0, 0.07))],  # with a camera
            "dark": [cone(0.085, 0.085, 0.0, 0.025), cone(0.022, 0.022, 0.11, 0.125, (0.10, 0, 0))],
        },
        "gripper": {
            "silver": [drum(0.062, -0.22, -0.19), *[block((0.03, 0.05, 0.11), (i * 0.08, 0, -0.07)) for i in SIGNS]]
            + [block((0.024, 0.045, 0.08), (i * 0.068, 0, 0.0), (0, -0.3 * i, 0)) for i in SIGNS],
            "white": [block((0.20, 0.10, 0.085), (0, 0, -0.15))],
            "dark": [block((0.014, 0.05, 0.05), (i * 0.048, 0, 0.01)) for i in SIGNS],
        },
    }


class Link(NamedTuple):
    name: str
    mass: float  # kg
    looks: str
    parent: str = ""  # and the joint to it
    at: Numbers = ORIGIN
    axis: Numbers = ()  # none: fixed
    bounds: Numbers = ()  # rad to both sides, rad/s, Nm
    rpy: str = "0 0 0"


X, Y, Z = (1, 0, 0), (0, 1, 0), (0, 0, 1)
TREE = [
    Link("bus", 400, "bus"),
    Link("solar_panel_left", 15, "solar_panel", "bus", (0, 0.6, 0)),
    Link("solar_panel_right", 15, "solar_panel", "bus", (0, -0.6, 0), rpy=f"0 0 {PI}"),
    Link("shoulder_yaw_link", 11, "shoulder_yaw", "bus", SHOULDER, Z, (3.1, 0.25, 300)),
    Link("shoulder_pitch_link", 9, "shoulder_pitch", "shoulder_yaw_link", (0, 0, 0.27), Y, (2.0, 0.25, 300)),
    Link("shoulder_roll_link", 16, "upper_arm", "shoulder_pitch_link", (0, 0, 0.17), Z, (3.1, 0.25, 150)),
    Link("elbow_pitch_link", 13, "forearm", "shoulder_roll_link", (0, ASIDE, UPPER), Y, (3.2, 0.25, 150)),
    Link("wrist_yaw_link", 6, "wrist_yaw", "elbow_pitch_link", (0, 0, FORE), X, (2.0, 0.3, 60)),
    Link("wrist_pitch_link", 5, "wrist_pitch", "wrist_yaw_link", (0, 0, 0.20), Y, (2.0, 0.3, 60)),
    Link("wrist_roll_link", 5, "wrist_roll", "wrist_pitch_link", (0, 0, 0.12), Z, (3.1, 0.3, 60)),
    Link("gripper", 5, "gripper", "wrist_roll_link", (0, 0, 0.34)),
]


def write(folder: Path) -> None:
    (folder / "meshes").mkdir(exist_ok=True)
    looks = {"bus": bus(), "solar_panel": solar_panel(), **arm()}
    robot = Xml.Element("robot", name="free_flyer")
    for material, rgba in COLOURS.items():
        element(element(robot, "material", name=material), "color", rgba=rgba)
    for row in TREE:
        meshes = {material: trimesh.util.concatenate(solids) for material, solids in looks[row.looks].items()}
        body = trimesh.util.concatenate(list(meshes.values()))
        body.density = row.mass / body.volume
        link = weighed(robot, row.name, body, row.mass)
        for material, mesh in meshes.items():
            file = f"meshes/{row.looks}_{material}.{'glb' if material == 'cells' else 'stl'}"
            visual = element(link, "visual")
            element(element(visual, "geometry"), "mesh", filename=file)
            if material == "cells":                                            # which has its picture with it
                (folder / file).write_bytes(glb(cells(), {"cells": CELLS}))
                continue
            mesh.export(folder / file)
            element(visual, "material", name=material)
        low, high = next(iter(meshes.values())).bounds  # a box around the first material is what collides
        collision = element(link, "collision")
        element(collision, "origin", xyz=(low + high) / 2, rpy="0 0 0")
        element(element(collision, "geometry"), "box", size=high - low)
    for row in TREE[1:]:
        name = row.name.removesuffix("_link") if row.axis else f"{row.name}_mount"
        joint = element(robot, "joint", name=name, type="revolute" if row.axis else "fixed")
        element(joint, "origin", xyz=row.at, rpy=row.rpy)
        element(joint, "parent", link=row.parent)
        element(joint, "child", link=row.name)
        if row.axis:
            bound, speed, effort = row.bounds
            element(joint, "axis", xyz=row.axis)
            element(joint, "limit", lower=-bound, upper=bound, velocity=speed, effort=effort)
    Xml.indent(robot)
    (folder / "free_flyer.urdf").write_text('<?xml version="1.0"?>\n' + Xml.tostring(robot, encoding="unicode") + "\n")


if __name__ == "__main__":
    write(Path(__file__).resolve().parents[1] / "engine" / "examples" / "free_flyer")
