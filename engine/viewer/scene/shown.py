"""The choice of what is shown of robots besides their surfaces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.checks import nearest
from engine.components.actuators import Thrusters
from engine.components.forces import PointForce
from engine.sensors import Eye
from engine.simulation import Component
from engine.viewer.scene.errors import ViewerError
from engine.viewer.scene.scene import Scene

Array = np.ndarray
Names = bool | tuple[str, ...]
#: of an eye that is drawn
MOST_RAYS = 4_000_000


@dataclass(frozen=True)
class Shown:
    """A choice of what is shown of robots besides their surfaces. Where names are taken, True stands for all of them.

    Attributes
    ----------
    joint_frames : of the joints that move, where they are at zero: the frame is fixed to the parent
    link_frames : x red, y green, z blue
    joint_axes : dash-dotted, as centre lines are
    centers : centres of mass of the links and of all that moves, as balls whose volumes are as the masses
    inertias : of the links, as solid ellipsoids of even density with the same mass and moments
    momentum : of all that moves, at its centre of mass: linear (orange), and angular about that point (violet)
    torques : of the joints: moments as arcs around them, forces as arrows
    contacts : where links touch, of a motion with contacts: a dot, the force on the second of the pair as an arrow, and a line
        around all dots of the pair
    names : of the robots, above them
    labels : the links' names
    forces : :class:`Thrusters` and :class:`PointForce` whose forces are drawn; thrust is a signal of the motion
    wrench : the screw axis of the forces that are drawn, taken together; plumes : of the thrusters among them
    eyes : :class:`engine.sensors.RangeFinder`, :class:`~engine.sensors.Lidar`, :class:`~engine.sensors.DepthCamera`: what they see now as
        points, near ones orange and far ones blue, few rays as lines, and the outline of a camera's field of view
    trails : links, or (link, (x, y, z)) with a point in the link's frame, m, whose paths over the last ``trail_time`` s are drawn
    rates : ω of a floating base; polhode : its curve in the body's axes and in the world's (the herpolhode), and of a single body the
        ellipsoid that rolls between them
    screws : axes of links' twists, about which they turn and along which they slide now
    center_path : where the centre of mass of all that moves was in the last ``trail_time`` s
    orbit : the ellipse that a robot is on, by default where the whole motion is as large as that; track : the line over the ground under
        which it has been, of a recorded motion; lvlh : axes at its base, x ahead and z down. Of what flies about a planet (:class:`Sky`)
    wireframe, transparent : whether surfaces are drawn as lines, or let what is inside shine through
    hidden : links whose surfaces are not drawn
    colors : "robots" or "rollouts": every robot, or rollout of a batch, has a colour of its own, and the legend says which

    >>> Shown().marks, Shown(momentum=True, labels=("gripper",)).marks
    (False, True)
    """

    joint_frames: Names = False
    link_frames: Names = False
    joint_axes: Names = False
    centers: Names = False
    inertias: Names = False
    momentum: bool = False
    torques: Names = False
    contacts: bool = False
    names: bool = False
    labels: Names = False
    forces: tuple[Component, ...] = ()
    wrench: bool = False
    plumes: bool = False
    eyes: tuple[Eye, ...] = ()
    trails: tuple[Any, ...] = ()
    trail_time: float = 2.0
    rates: bool = False
    polhode: bool = False
    screws: Names = False
    center_path: bool = False
    orbit: bool | None = None
    track: bool = False
    lvlh: bool = False
    wireframe: bool = False
    transparent: bool = False
    hidden: tuple[str, ...] = ()
    colors: str = ""

    @property
    def marks(self) -> bool:
        """True if there are marks to draw besides the surfaces."""
        return any((self.joint_frames, self.link_frames, self.joint_axes, self.centers, self.inertias, self.momentum, self.torques,
                    self.contacts, self.names, self.labels, self.forces, self.eyes, self.trails, self.orbit, self.track, self.lvlh,
                    self.rates, self.polhode, self.screws, self.center_path))  # fmt: skip


def check(scene: Scene, shown: Shown) -> None:
    """Raise where something is named that no robot of the scene has."""
    links = {link.name for a in scene.actors for link in a.model.links}
    joints = {joint.name for a in scene.actors for joint in a.model.joints}
    named_links = ("link_frames", "centers", "inertias", "labels", "trails", "screws", "hidden")
    for what, known in (*((x, links) for x in named_links), *((x, joints) for x in ("joint_frames", "joint_axes", "torques"))):
        named = getattr(shown, what)
        if isinstance(named, str) or not isinstance(named, (bool, tuple, list)):
            raise ViewerError(f"{what} is {named!r}; expected names in a tuple, such as ('{next(iter(known), 'name')}',), or True for all")
        for name in () if isinstance(named, bool) else named:
            name = spot(name)[0] if what == "trails" else name
            if name not in known:
                kind = "link" if known is links else "joint"
                raise ViewerError(f"{what}: no {kind} is named {name!r}{nearest(str(name), known)}; expected names of {kind}s")
    if shown.colors not in ("", "robots", "rollouts"):
        raise ViewerError(f"colors: got {shown.colors!r}; expected 'robots', 'rollouts', or '' for their own")
    if not shown.trail_time > 0:
        raise ViewerError(f"trail_time is {shown.trail_time!r}; expected seconds above zero")
    for what, example in (("forces", "thrusters"), ("eyes", "lidar")):
        if not isinstance(given := getattr(shown, what), (tuple, list)):
            raise ViewerError(f"{what} is {given!r}; expected components in a tuple, such as ({example},)")
    for component in shown.forces:
        if not isinstance(component, (Thrusters, PointForce)):
            raise ViewerError(f"forces: got a {type(component).__name__}; expected Thrusters or PointForce")
    for eye in shown.eyes:
        if not isinstance(eye, Eye):
            raise ViewerError(f"eyes: got a {type(eye).__name__}; expected a RangeFinder, Lidar or DepthCamera")
        if eye.link not in links:
            raise ViewerError(f"eyes: no link is named {eye.link!r}{nearest(eye.link, links)}; expected one of a robot's")
        if eye.count > MOST_RAYS:                                              # before there are any
            raise ViewerError(f"eyes: {eye.name} has {eye.count} rays, which take {96 * eye.count / 2**30:.3g} GiB to be cast for each "
                              f"picture; expected at most {MOST_RAYS}")  # fmt: skip


def spot(trail: Any) -> tuple[str, Array]:
    """Return the link and the point (4), with a one after it, of an entry of ``Shown.trails``."""
    link, point = (trail, (0, 0, 0)) if isinstance(trail, str) else trail
    point = np.asarray(point, dtype=float)
    if point.shape != (3,) or not np.isfinite(point).all():
        raise ViewerError(f"trails: the point of {link!r} is {point.tolist()}; expected three finite numbers, m")
    return link, np.append(point, 1.0)
