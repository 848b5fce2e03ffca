"""Models as MJCF files, MuJoCo's own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from engine.calls import call_checked
from engine.io.mjcf.save.acting import Acting, named_in
from engine.io.mjcf.save.contacts import write_contacts
from engine.io.mjcf.save.states import write_keyframes, write_sensors
from engine.io.mjcf.save.tree import Tree
from engine.io.written import row, save
from engine.model import Model


@call_checked
def save_mjcf(model: Model, path: str | os.PathLike[str]) -> Path:
    """Write a model as an MJCF file, and return its path.

    Positions, axes, masses, limits, damping and armature are read back to the bit; orientations, which are written as quaternions, and
    inertias, which are written about the centre of mass, to rounding. Links that are fixed and carry nothing become sites; a root that is
    not called "world" becomes a body of it.

    What another file described besides the tree is written, too, and read back the same: its configuration as ``ref`` of joints and poses
    of free bodies, gravity and dt, actuators, springs, drag and what holds bodies against gravity, balls, welds and couplings, contacts,
    keyframes and sensors. Where MJCF counts from the poses that are written, or has other numbers for the same, it is read back to
    rounding: points of balls, offsets of couplings, keyframes of free bodies, materials.

    Raises
    ------
    RobotFileError : a joint of a kind that MJCF has not, or that mimics another; an inertia of no rigid body; a link that moves and is
        called "world"; the file cannot be written

    Warns
    -----
    RobotFileWarning : what is left out: the inertia of the world, height fields, textures, limits of speed, acceleration and jerk, and
        each part of what another file described that MJCF cannot say, such as hinges and sliders that close loops

    >>> import engine, tempfile
    >>> stone = engine.load('<mujoco><worldbody><body name="stone"><freejoint/><geom size="0.1"/></body></worldbody></mujoco>')
    >>> path = engine.save_mjcf(stone, tempfile.mkdtemp() + "/stone.xml")
    >>> engine.load(path).link("stone").mass == stone.link("stone").mass
    True
    """
    return save(model, path, mjcf_of)


def mjcf_of(model: Model, file: str, lost: list[str]) -> Any:
    """Return the <mujoco> of a model."""
    from lxml import etree

    root = etree.Element("mujoco", model=model.name)
    etree.SubElement(root, "compiler", angle="radian", inertiafromgeom="false")
    said = model.described
    option = {} if said is None else {"gravity": said.gravity, "timestep": said.dt}
    etree.SubElement(root, "option", **{name: row(x) for name, x in option.items() if x is not None})
    boxes = {} if said is None else {link: np.array(T)[:3, :3] for p in said.forces if p.kind == "BoxDrag"
                                     for link, (_, T) in p.values["boxes"].items()}  # fmt: skip
    asset, world = etree.SubElement(root, "asset"), etree.SubElement(root, "worldbody")
    tree = Tree(model, file, lost, asset, world, named_in(model), boxes)
    tree.write()
    if said is not None:
        write_contacts(root, tree, said)
        acting = Acting(root, tree, said)
        acting.write()
        write_sensors(root, tree, said)
        write_keyframes(root, tree, said, acting.actuators)
    return root
