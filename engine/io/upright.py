"""The up axis of a robot's COLLADA files, where they do not say it: by the joints of their links.

RViz, MoveIt and Gazebo Classic leave a file's <up_axis> aside, Gazebo and viewers by three.js turn by it, and robots are written for
either. Joints tell them apart: a link's mesh reaches from the joint that it hangs on to those that hang on it.
"""

from __future__ import annotations

import weakref
from dataclasses import replace

import numpy as np

from engine.checks import warn
from engine.io.dae import up_axis_of
from engine.io.errors import RobotFileError, RobotFileWarning
from engine.io.mesh import file_of, off_joints, tilted, untold
from engine.model import Geometry, Link, Model

Array = np.ndarray
#: of the joints' distance from meshes one way up, that the other way up it is clear by: iCub 0.3, and what nothing tells 0.6
CLEAR = 0.5
#: of models: what is known of the shapes of a kind, by the axis that points up
_known: weakref.WeakKeyDictionary[Model, dict[bool, dict[str, tuple[float, float]]]] = weakref.WeakKeyDictionary()


def shapes_of(link: Link, collisions: bool) -> tuple[Geometry, ...]:
    """Return the shapes of a link that touch, or that are seen."""
    return link.collisions if collisions else link.visuals


def upright(model: Model, link: Link, collisions: bool = False) -> tuple[Geometry, ...]:
    """Return the shapes of a model's link as they are meant: of COLLADA files whose up axis nobody spoke of, turned those that fit so."""
    return tuple(replace(g, up_axis=is_turned(model, g, collisions)) if tilted(g) else g for g in shapes_of(link, collisions))


def is_turned(model: Model, shape: Geometry, collisions: bool) -> bool:
    """Return whether a tilted mesh must be turned to z up: the joints are then much nearer to it."""
    as_is, turned = off(model, collisions)[up_axis_of(file_of(shape))]
    return turned < CLEAR * as_is


def off(model: Model, collisions: bool) -> dict[str, tuple[float, float]]:
    """Return how far the joints of links are off their tilted meshes as these are, and turned, m, all of an up axis together."""
    kinds = _known.setdefault(model, {})
    if collisions not in kinds:
        joints: dict[str, list[Array]] = {link.name: [np.zeros(3)] for link in model.links}
        for joint in model.joints:
            joints.get(joint.parent, []).append(joint.placement[:3, 3])        # what floats hangs on none
        found: dict[str, tuple[float, float]] = {}
        for link, g in doubtful(model, collisions):
            axis, places = up_axis_of(file_of(g)), np.array(joints[link])
            sums = found.setdefault(axis, (0.0, 0.0))
            try:
                found[axis] = sums[0] + off_joints(g, places, turned=False), sums[1] + off_joints(g, places, turned=True)
            except RobotFileError:                                             # it is missing, which is said elsewhere
                continue
        kinds[collisions] = found
    return kinds[collisions]


def doubtful(model: Model, collisions: bool) -> list[tuple[str, Geometry]]:
    """Return the COLLADA files of which nobody said whether to turn them, with their links."""
    return [(link.name, g) for link in model.links for g in shapes_of(link, collisions) if tilted(g)]


def tell(model: Model, collisions: bool) -> None:
    """Warn of COLLADA files whose axis that points up is another than z, of all together, unless someone said how to take them."""
    having = [g for _, g in doubtful(model, collisions)]
    for axis, (as_is, turned) in off(model, collisions).items():
        own = [g for g in having if up_axis_of(file_of(g)) == axis]
        more = f" (and {len(own) - 1} more)" if len(own) > 1 else ""
        said = untold(axis)
        if min(as_is, turned) < CLEAR * max(as_is, turned):
            fits, how = ("turned, so that it points along z", "True") if turned < as_is else ("taken as it is written", "False")
            said = (f"its <up_axis> is {axis}, and it is {fits}: joints are {as_is:.2g} m off the meshes as they are written, and "
                    f"{turned:.2g} m off turned ones (load_urdf(…, up_axis={how}) says so, without a warning)")  # fmt: skip
        warn(f"{own[0].mesh}{more}: {said}", RobotFileWarning)
