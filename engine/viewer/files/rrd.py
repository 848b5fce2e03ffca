"""Recordings for the viewer of rerun (https://rerun.io): surfaces once, poses and numbers as columns over time."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.checks import require_packages
from engine.simulation import Trajectory
from engine.simulation.columns import entries
from engine.spatial import quaternion
from engine.viewer.files.glb import downward, placed, tinted, unit
from engine.viewer.files.html import DRAWN, lightened
from engine.viewer.files.motion import STILL, continuous, origin_of, sample_times
from engine.viewer.scene.actor import Actor, Part
from engine.viewer.scene.errors import ViewerError
from engine.viewer.scene.marks import called
from engine.viewer.scene.scene import Scene
from engine.viewer.scene.sources import Played
from engine.viewer.scene.surface import Surface

Array = np.ndarray
#: the timeline, s
TIME = "time"
#: series, of the first robot, that stand beside the picture when the recording is opened; rerun alone would give every one the same room
PLOTS = 4


def rrd(scene: Scene, fps: float) -> bytes:
    """Return the scene as a recording for rerun.

    A link is the entity ROBOT/LINK, of a batch ROBOT/ROLLOUT/LINK, posed in the world; its surfaces lie below it, by number. What moves is
    on the timeline "time", s, as the motion has it, ``fps`` to the second. Beside the links q, v, tau and every signal are
    ROBOT/signals/NAME, a series for each entry, at the times of the trajectory's own records.

    Rerun is of single precision: of a motion far from the world's origin all positions are seen from its middle, to the metre, which the
    root entity has as ``origin``. It draws every rollout's surfaces anew: above ``DRAWN`` triangles in all they are made coarser.

    Raises
    ------
    ViewerError : rerun is not installed, or there are too many poses
    """
    rr, times, origin = rerun(), sample_times(scene, fps), origin_of(scene)
    recording = rr.RecordingStream("articulated-engine")
    memory = recording.memory_recording()
    recording.send_recording_name(", ".join(dict.fromkeys(actor.name for actor in scene.actors)))
    recording.log("/", rr.ViewCoordinates.RIGHT_HAND_Z_UP, static=True)
    if origin.any():
        recording.log("/", rr.AnyValues(origin=origin), static=True)
    file = File(rr, recording, lightened(scene, DRAWN, DRAWN))
    for actor, name in zip(scene.actors, called(scene), strict=True):
        file.add_actor(actor, name, times, origin)
    recording.send_blueprint(file.layout())
    return memory.drain_as_bytes()


def rerun() -> Any:
    """Return rerun's package.

    Raises
    ------
    ViewerError : it is not installed
    """
    require_packages("a recording for rerun", "rerun", "rerun", error=ViewerError)
    import rerun

    return rerun


class File:
    """A recording as it grows; ``stand_ins`` are drawn instead of the surfaces."""

    def __init__(self, rr: Any, recording: Any, stand_ins: dict[Surface, Surface]) -> None:
        self.rr, self.recording, self.stand_ins = rr, recording, stand_ins
        self.meshes: dict[Any, Any] = {}
        self.series: list[str] = []                                            # of the first robot

    def add_actor(self, actor: Actor, name: str, times: Array, origin: Array) -> None:
        """Add the links of an actor, what is drawn of them, and the numbers of its motion; positions are seen from an origin (3), m."""
        poses = actor.source.links(actor.source.configurations(times))
        for k, instance in enumerate(poses):
            top = [name, k] if len(poses) > 1 else [name]
            for i, link in enumerate(actor.model.links):
                self.add_link([*top, link.name], times, instance[:, i, :3, 3] - origin, instance[:, i, :3, :3])
            counts = dict.fromkeys(range(len(actor.model.links)), 0)
            for part in actor.parts:
                self.add_part([*top, actor.model.links[part.link].name, counts[part.link]], actor, part)
                counts[part.link] += 1
            if isinstance(actor.source, Played):
                self.add_signals([*top, "signals"], actor.source.rollout(k))

    def add_link(self, path: list[Any], times: Array, positions: Array, rotations: Array) -> None:
        """Add the poses of a link, positions (T, 3), m, and rotations (T, 3, 3); of one that stands still the first, for all times."""
        entity, turns = self.rr.new_entity_path(path), np.roll(continuous(quaternion.from_matrix(rotations)), -1, axis=-1)
        if max(np.abs(positions - positions[0]).max(), np.abs(turns - turns[0]).max()) > STILL:
            clock = self.rr.TimeColumn(TIME, duration=times)
            self.recording.send_columns(entity, [clock], self.rr.Transform3D.columns(translation=positions, quaternion=turns))
        else:
            self.place(entity, translation=positions[0], rotation=turns[0])

    def place(self, entity: str, translation: Any, rotation: Any, scale: Any = None) -> None:
        """Give an entity a pose for all times; the rotation is a unit quaternion, scalar last."""
        turn = self.rr.Quaternion(xyzw=rotation)
        self.recording.log(entity, self.rr.Transform3D(translation=translation, quaternion=turn, scale=scale), static=True)

    def add_part(self, path: list[Any], actor: Actor, part: Part) -> None:
        """Add a surface on a link."""
        entity, color = self.rr.new_entity_path(path), tinted(actor, part)
        if (part.surface, color) not in self.meshes:
            self.meshes[part.surface, color] = self.mesh(self.stand_ins[part.surface], color)
        self.place(entity, **placed(part))
        self.recording.log(entity, self.meshes[part.surface, color], static=True)

    def mesh(self, surface: Surface, color: tuple[float, ...]) -> Any:
        """Return a surface in a colour as rerun has it."""
        draped = surface.texture is not None and surface.uv is not None
        return self.rr.Mesh3D(
            vertex_positions=surface.positions, triangle_indices=surface.faces, vertex_normals=unit(surface.normals),
            vertex_colors=surface.colors, vertex_texcoords=downward(surface.uv) if draped else None,            # type: ignore[arg-type]
            albedo_texture=surface.texture if draped else None, albedo_factor=np.rint(255 * np.clip(color, 0, 1)).astype(np.uint8),
        )  # fmt: skip

    def add_signals(self, path: list[Any], motion: Trajectory) -> None:
        """Add what a trajectory of one rollout has recorded."""
        states = {which: dict(zip(motion.model.labels(which), getattr(motion, which).T, strict=True)) for which in ("q", "v", "tau")}
        clock = self.rr.TimeColumn(TIME, duration=motion.t)
        first = not self.series
        for name, series in {**states, **{name: entries(name, x, 1) for name, x in motion.signals.items()}}.items():
            if series:
                entity, values = self.rr.new_entity_path([*path, name]), np.stack(list(series.values()), axis=1).astype(float)
                self.series += [entity] * first
                self.recording.log(entity, self.rr.SeriesLines(names=list(series)), static=True)
                self.recording.send_columns(entity, [clock], self.rr.Scalars.columns(scalars=values))

    def layout(self) -> Any:
        """Return what stands where: the robots, and a few plots at their right."""
        views = self.rr.blueprint
        picture, plots = views.Spatial3DView(origin="/"), [views.TimeSeriesView(origin=entity) for entity in self.series[:PLOTS]]
        return views.Horizontal(picture, views.Vertical(*plots), column_shares=[2, 1]) if plots else picture
