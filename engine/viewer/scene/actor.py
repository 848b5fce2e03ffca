"""Actors: robots in a scene, where they are, and what is drawn of them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from engine.checks import warn
from engine.io import RobotFileError, RobotFileWarning
from engine.io.upright import tell, upright
from engine.model import Geometry, Material, Model
from engine.simulation import Live, Trajectory
from engine.viewer.scene.drawing import measure
from engine.viewer.scene.errors import ViewerError
from engine.viewer.scene.sources import Source, source_of
from engine.viewer.scene.surface import Surface, surfaces

Array = np.ndarray
#: a robot of whose links a smaller share has shapes, and which has more bones than these, shows them
BARE, MOST_BARE = 0.25, 8
#: opacity of the few shapes that a robot with bones has
VEIL = 0.35
#: warnings of one robot's meshes, more of which are told as one
MOST_TOLD = 3


@dataclass(frozen=True, eq=False)
class Part:
    """A surface on a link: ``placement`` (4, 4) is its pose in the link's frame, and a scale with it where it has one."""

    surface: Surface
    link: int
    placement: Array


class Actor:
    """A robot in a scene, or several of one model: where they are, and what is drawn of them.

    Parameters
    ----------
    source : a :class:`engine.Model` at rest, a :class:`engine.Trajectory` (of a batch all rollouts are drawn together), a
        :class:`engine.simulation.Live` simulation, or a :class:`Source` of one of them
    geometry : "visual" or "collision"
    q : the configuration of a model at rest (..., nq); neutral by default
    color : red, green, blue, opacity for all of it, multiplied with its own
    name : in legends; its model's by default

    Attributes
    ----------
    source : :class:`Still`, :class:`Played` or :class:`Running`; another of the same model may be set
    model; parts : what is drawn, on which links
    missing : why shapes of it are not drawn, a sentence each

    Raises
    ------
    ViewerError : the source is none of these, or the trajectory holds numbers that are not finite

    >>> import engine
    >>> actor = Actor(engine.load(engine.example("seven_joint_arm")), color=(1.0, 0.0, 0.0), name="mine")
    >>> actor.name, actor.instances, actor.color
    ('mine', 1, (1.0, 0.0, 0.0, 1.0))
    """

    def __init__(self, source: Model | Trajectory | Live | Source, geometry: str = "visual", q: Any = None, color: Any = None,
                 name: str | None = None) -> None:  # fmt: skip
        self.source = source_of(source, q)
        self.model = self.source.model
        self.name = self.model.name if name is None else name
        self.parts, self.missing = self.shapes(geometry)
        self.color = (1.0, 1.0, 1.0, 1.0) if color is None else (*(float(c) for c in color), 1.0)[:4]

    @property
    def instances(self) -> int:
        """Number of robots it stands for."""
        return self.source.instances

    def shapes(self, geometry: str) -> tuple[tuple[Part, ...], tuple[str, ...]]:
        """Return what is drawn of its visual or collision shapes, and what is wrong with those that are not, a sentence each."""
        return parts(self.model, geometry)

    def size_of(self, link: str) -> float:
        """Return the longest side of a box about what is drawn of a link, m; of a bare one a quarter of the robot's."""
        i = self.model.link_index(link)

        def side(own: list[Part]) -> float:
            ends = [measure(p.surface).box @ p.placement[:3, :3].T + p.placement[:3, 3] for p in own]
            return float(np.ptp(np.concatenate(ends), axis=0).max()) if ends else 0.0

        return side([p for p in self.parts if p.link == i]) or 0.25 * max((side([p]) for p in self.parts), default=1.0)

    def poses(self, t: float) -> Array:
        """Return the poses of the links in the world (instances, nlinks, 4, 4) at a time, s."""
        return self.source.poses(t)


def parts(model: Model, geometry: str = "visual") -> tuple[tuple[Part, ...], tuple[str, ...]]:
    """Return every surface of a model's links, and what is wrong with the shapes that have none, a sentence each.

    A model that has no visual shapes at all looks like what it touches with.
    """
    if geometry not in ("visual", "collision"):
        raise ViewerError(f"geometry {geometry!r} is not known; expected 'visual' or 'collision'")
    found, missing = [], []
    collisions = touching(model, geometry)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for i, link in enumerate(model.links):
            for shape in upright(model, link, collisions):
                try:
                    drawn = surfaces(shape)
                except RobotFileError as problem:
                    missing.append(str(problem))
                    continue
                found += [Part(surface, i, shape.placement @ scale) for surface, scale in drawn]
    tell_of_looks(model, told)
    bare = len({p.link for p in found}) < BARE * len(model.links)
    if bare and not missing and len(bone := bones(model)) > MOST_BARE:
        warn(f"'{model.name}' has shapes on {len({p.link for p in found})} of {len(model.links)} links; the others are drawn as "
             "lines between joints; expected shapes on most", RobotFileWarning)  # fmt: skip
        found = [*(p if p.surface.ground else seen_through(p) for p in found), *bone]
    return tuple(found), tuple(missing)


def seen_through(part: Part) -> Part:
    """Return a part of a robot whose bones are drawn, which it may hide."""
    return replace(part, surface=replace(part.surface, color=(*part.surface.color[:3], VEIL * part.surface.color[3])))


def bones(model: Model) -> list[Part]:
    """Return bars from the links' frames to those of the joints that they carry, and a ball at each joint."""
    index, size = {link.name: i for i, link in enumerate(model.links)}, 0.0
    held = [(index[j.parent], j.placement[:3, 3]) for j in model.joints if j.parent]
    size = max((float(np.linalg.norm(p)) for _, p in held), default=0.0)
    found, color = [], Material("bone", (0.62, 0.70, 0.80, 1.0))
    for i, p in held:
        length = float(np.linalg.norm(p))
        if length > 1e-3 * size:
            z = p / length
            x = np.cross(z, np.eye(3)[np.argmin(np.abs(z))])
            x /= np.linalg.norm(x)
            T = np.eye(4)
            T[:3, :3], T[:3, 3] = np.column_stack([x, np.cross(z, x), z]), 0.5 * p
            for kind, sides in (("cylinder", (0.03 * size, length)), ("sphere", (0.06 * size,))):
                own = T if kind == "cylinder" else np.block([[np.eye(3), p[:, None]], [np.zeros((1, 3)), np.ones((1, 1))]])
                found += [Part(s, i, own @ scale) for s, scale in surfaces(Geometry(kind, sides, material=color))]
    return found


def tell_of_looks(model: Model, told: list[warnings.WarningMessage]) -> None:
    """Give warnings of meshes' looks, many of them as one."""
    texts = {str(w.message): w.category for w in told}
    if len(texts) > MOST_TOLD:
        first = next(iter(texts))
        texts = {f"{len(texts)} files of '{model.name}' are drawn without a part of their looks, such as {first}": RobotFileWarning}
    for text, category in texts.items():
        warn(text, category)


def tell_missing(found: list[tuple[Model, tuple[Part, ...], tuple[str, ...]]], whose: str, geometry: str) -> None:
    """Warn of shapes that are not drawn, a warning for each model; where nothing is left, that is an error."""
    lacking = {model.name: missing for model, _, missing in found if missing}
    told = {name: f"{'; '.join(all[:3])}{f'; and {len(all) - 3} more' if len(all) > 3 else ''}" for name, all in lacking.items()}
    if not any(drawn for _, drawn, _ in found):
        why = f" that can be drawn: {next(iter(told.values()))}" if told else "; expected some to show"
        raise ViewerError(f"{whose} have no {geometry} shapes{why}")
    for name, text in told.items():
        count = len(lacking[name])
        warn(f"{count} {geometry} shape{'s' * (count > 1)} of '{name}' {'are' if count > 1 else 'is'} not drawn: {text}",
             RobotFileWarning)  # fmt: skip


def tell_tilted(models: list[Model], geometry: str) -> None:
    """Warn of COLLADA files whose axis that points up is another than z, for each model, unless someone said how to take them."""
    for model in dict.fromkeys(models):
        tell(model, touching(model, geometry))


def touching(model: Model, geometry: str) -> bool:
    """Return whether a model is drawn by its collision shapes: if asked for, or without visual ones."""
    return geometry != "visual" or not any(link.visuals for link in model.links)
