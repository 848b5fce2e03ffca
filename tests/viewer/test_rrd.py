"""Recordings for rerun: by a stand-in that remembers what is sent, and read back where rerun is installed."""

import sys
import types

import numpy as np
import pytest

import engine
from engine.spatial import quaternion, se3
from engine.viewer import Scene, ViewerError
from tests.viewer.mechanism import BLUE, mechanism, motion

MODEL = mechanism()


class Recorded:
    """What a recording says: poses of links and of what lies on them by entity, with times where they move; and series."""

    def __init__(self):
        self.static, self.moving, self.series, self.name, self.views = {}, {}, {}, "", []

    def pose(self, entity, k):
        """The pose (4, 4) of an entity at the k-th time."""
        p, r = (x[k] for x in self.moving[entity][1:]) if entity in self.moving else self.static[entity]["pose"]
        return se3.pose(quaternion.to_matrix(np.roll(np.asarray(r, float), 1)), np.asarray(p, float))


class StandIn(types.ModuleType):
    """As much of rerun's package as is used: it takes what the real one takes, and remembers it."""

    def __init__(self):
        super().__init__("rerun")
        self.recorded = said = Recorded()

        class RecordingStream:
            def __init__(self, application_id):
                assert application_id == "articulated-engine"

            def memory_recording(self):
                return types.SimpleNamespace(drain_as_bytes=lambda: b"a recording")

            def send_recording_name(self, name):
                said.name = name

            def send_blueprint(self, layout):
                assert layout in said.views

            def log(self, entity, what, static):
                assert static
                said.static.setdefault(entity, {}).update(what)

            def send_columns(self, entity, indexes, columns):
                ((timeline, times),) = indexes
                assert timeline == "time" and entity not in said.moving and all(len(x) == len(times) for x in columns.values())
                if "scalars" in columns:
                    said.series[entity] = times, columns["scalars"]
                else:
                    said.moving[entity] = times, columns["translation"], columns["quaternion"]

        class Transform3D(dict):
            def __init__(self, translation, quaternion, scale):
                super().__init__(pose=(translation, quaternion), scale=scale)

            columns = dict

        class Scalars:
            columns = dict

        self.RecordingStream, self.Transform3D, self.Scalars = RecordingStream, Transform3D, Scalars
        self.AnyValues = dict

        def view(*parts, **options):
            said.views.append((parts, options))
            return parts, options

        names = ("Spatial3DView", "TimeSeriesView", "Horizontal", "Vertical")
        self.blueprint = types.SimpleNamespace(**dict.fromkeys(names, view))
        self.Mesh3D = lambda **arrays: {"mesh": arrays}
        self.SeriesLines = lambda names: {"names": names}
        self.ViewCoordinates = types.SimpleNamespace(RIGHT_HAND_Z_UP={"up": "z"})
        self.Quaternion = lambda xyzw: xyzw
        self.TimeColumn = lambda timeline, duration: (timeline, duration)
        self.new_entity_path = lambda parts: "/" + "/".join(str(part).replace("/", "\\/") for part in parts)


@pytest.fixture
def told(monkeypatch):
    """What the stand-in is told."""
    monkeypatch.setitem(sys.modules, "rerun", module := StandIn())
    return module.recorded


def read(path):
    """What the real package reads in a file."""
    rerun = pytest.importorskip("rerun", exc_type=ImportError)
    told = Recorded()
    for chunk in rerun.chunk.RrdReader(path).stream():
        batch, entity = chunk.to_record_batch(), chunk.entity_path
        columns = {name.rpartition(":")[2]: batch[name].to_pylist() for name in batch.schema.names if name != "rerun.controls.RowId"}
        times = np.array([x.total_seconds() for x in columns.pop("time", [])])
        one = {name: [x[0] for x in rows] for name, rows in columns.items() if name in ("translation", "quaternion", "scale")}
        if "scalars" in columns:
            told.series[entity] = times, np.array(columns["scalars"])
        elif len(times):
            told.moving[entity] = times, np.array(one["translation"]), np.array(one["quaternion"])
        elif one:
            told.static.setdefault(entity, {}).update(pose=(one["translation"][0], one["quaternion"][0]), scale=one.get("scale"))
        else:
            told.static.setdefault(entity, {}).update({name: rows[0] for name, rows in columns.items()})
    return told


def agree(told, moved, times, origin=(0.0, 0.0, 0.0), within=2e-7):
    """Compare all links' poses with the trajectory's."""
    scene = Scene(moved)
    for k, t in enumerate(times):
        for rollout, poses in enumerate(scene.actors[0].poses(t)):
            top = f"/mechanism/{rollout}" if moved.q.ndim > 2 else "/mechanism"
            for link, T in zip(MODEL.links, poses, strict=True):
                own = T - np.pad(np.array(origin)[:, None], ((0, 1), (3, 0)))
                assert np.abs(told.pose(f"{top}/{link.name}", k) - own).max() < within


def test_links_are_where_the_trajectory_has_them(told, tmp_path):
    moved = motion(MODEL, 0.5, 1.5)
    assert engine.export(moved, tmp_path / "run.rrd", fps=20).read_bytes() == b"a recording"
    times = np.linspace(0.5, 1.5, 21)
    assert all(np.allclose(clock, times) for clock, *_ in told.moving.values())
    assert {*told.moving} == {f"/mechanism/{link.name}" for link in MODEL.links} and told.name == "mechanism"
    agree(told, moved, times, within=1e-9)
    assert told.static["/"] == {"up": "z"}


def test_surfaces_are_sent_once_and_stand_on_their_links(told, tmp_path):
    scene = Scene(motion(MODEL))
    engine.export(scene, tmp_path / "run.rrd")
    (actor,) = scene.actors
    shapes = {entity: x for entity, x in told.static.items() if "mesh" in x}
    assert sorted(shapes) == sorted(["/mechanism/base/0", "/mechanism/arm/0", "/mechanism/tip/0", "/mechanism/wheel/0",
                                     "/mechanism/wheel/1", "/mechanism/fin/0"])  # fmt: skip
    box, base = shapes["/mechanism/base/0"]["mesh"], actor.parts[0]
    assert np.array_equal(box["vertex_positions"], base.surface.positions) and np.array_equal(box["triangle_indices"], base.surface.faces)
    assert box["albedo_factor"].tolist() == [round(255 * c) for c in BLUE]
    assert np.allclose(shapes["/mechanism/base/0"]["scale"], [0.4, 0.3, 0.2])
    assert shapes["/mechanism/wheel/0"]["mesh"]["albedo_factor"][3] == 102
    for part in actor.parts[:2]:
        link = MODEL.links[part.link].name
        T = told.pose(f"/mechanism/{link}/0", 0)
        T[:3, :3] *= told.static[f"/mechanism/{link}/0"]["scale"]
        assert np.allclose(T, part.placement)


def test_what_stands_still_has_one_pose(told, tmp_path):
    still = motion(MODEL, scales=(0.0, 1.0))
    engine.export(still, tmp_path / "run.rrd", fps=5)
    assert {*told.moving} == {f"/mechanism/1/{link.name}" for link in MODEL.links}
    agree(told, still, np.linspace(0, 1, 6), within=1e-9)
    told.moving.clear()
    engine.export(MODEL, tmp_path / "rest.rrd")
    assert not told.moving and told.pose("/mechanism/base", 0) == pytest.approx(np.eye(4))


def test_numbers_keep_their_records(told, tmp_path):
    run = engine.Simulator(MODEL, dt=0.01).run(MODEL.neutral(), np.ones(MODEL.nv), 0.1, record_every=2)
    engine.export(run, tmp_path / "run.rrd", fps=5)
    assert {*told.series} == {f"/mechanism/signals/{name}" for name in ("q", "v", "tau", *run.signals)}
    origins = [options.get("origin") for _, options in told.views]
    assert origins[:4] == ["/", *(f"/mechanism/signals/{name}" for name in ("q", "v", "tau"))]
    times, q = told.series["/mechanism/signals/q"]
    assert np.array_equal(times, run.t) and np.array_equal(q, run.q)
    assert told.static["/mechanism/signals/v"]["names"] == list(MODEL.labels("v"))


def test_robots_of_one_name_and_names_with_strokes_are_told_apart(told, tmp_path):
    both = engine.combine(a=MODEL)
    scene = Scene([MODEL, MODEL, both])
    scene.add(frame=np.eye(4), moving="arm", name="tool")
    engine.export(scene, tmp_path / "run.rrd")
    assert {"/mechanism 1/base", "/mechanism 2/base", "/tool/tool"} <= {*told.static}
    assert [entity for entity in told.static if entity.startswith(f"/{both.name}/a\\/base")]


def test_far_from_the_origin_poses_are_seen_from_near(told, tmp_path):
    moved = motion(MODEL)
    moved.q[..., 4:7] += [6.778e6, -2.4e5, 30.0]
    engine.export(moved, tmp_path / "far.rrd", fps=10)
    origin = told.static["/"]["origin"]
    assert np.abs(origin - Scene(moved).extent[0]).max() <= 0.5
    assert np.abs(told.moving["/mechanism/base"][1]).max() < 3.0
    agree(told, moved, np.linspace(0, 1, 11), origin, within=1e-8)


def test_without_rerun_one_sentence_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "rerun", None)
    with pytest.raises(ViewerError, match=r'needs rerun, which is not installed; expected pip install "\.\[rerun\]"'):
        engine.export(MODEL, tmp_path / "run.rrd")
    assert not list(tmp_path.iterdir())


# ---------------------------------------------------------------- the real one


@pytest.mark.parametrize("scales", [None, (1.0, 2.0)])
@pytest.mark.parametrize("away", [(0.0, 0.0, 0.0), (6.778e6, -2.4e5, 30.0)])
def test_rerun_reads_the_same_poses(tmp_path, scales, away):
    pytest.importorskip("rerun", exc_type=ImportError)
    moved = motion(MODEL, scales=scales)
    moved.q[..., 4:7] += away
    found = read(engine.export(moved, tmp_path / "run.rrd", fps=20))
    origin = found.static["/"].get("origin", (0.0, 0.0, 0.0))
    assert np.allclose(origin, away, atol=3.0)
    agree(found, moved, np.linspace(0, 1, 21), origin, within=1e-6)
    clock, *_ = next(iter(found.moving.values()))
    assert clock == pytest.approx(np.linspace(0, 1, 21), abs=1e-6)
    times, q = found.series["/mechanism/signals/q" if scales is None else "/mechanism/1/signals/q"]
    assert times == pytest.approx(moved.t, abs=1e-6) and np.array_equal(q, moved.q if scales is None else moved.q[1])
    base = found.static["/mechanism/base/0" if scales is None else "/mechanism/1/base/0"]
    assert len(base["vertex_positions"]) == 24 and len(base["triangle_indices"]) == 12
