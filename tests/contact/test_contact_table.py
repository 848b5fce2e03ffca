"""Points of contact, as many as there are: of parts, rollouts and files those of the run, to the bit; of files resumed, damaged, forged."""

from dataclasses import fields

import numpy as np
import pytest

import engine
from engine.recording import Recorder, Recording, verify
from engine.spatial.quaternion import to_matrix
from tests.contact.test_many import STACKS, UPRIGHT, simulator, state
from tests.contact.test_rows import scene, start

G = 9.81


@pytest.fixture(scope="module", params=["rows of a robot", "bodies by tables"])
def made(request):
    """A scene, a state from which something touches, and steps from record to record."""
    if request.param == "bodies by tables":
        yield simulator(["box"] * 10), *state(STACKS, UPRIGHT), 15
        return
    with pytest.MonkeyPatch.context() as patch:
        one = scene(patch, True)
        yield one, *start(one.model, 0.06, 0.3), 30


def same(a, b):
    """To the bit."""
    for f in fields(a):
        np.testing.assert_array_equal(getattr(a, f.name), getattr(b, f.name))


def test_parts_and_rollouts_have_the_points_of_the_run(made):
    one, q, v, n = made
    run = one.run(q, v, 0.3, record_every=n)
    table = run("contacts")
    assert len(table) and (np.diff(table.start) == run("contacts.count")).all()
    same(run[4:9:2]("contacts"), table.of(np.array([4, 6, 8])))
    same(run[run.t > 0.1]("contacts"), table.of(np.flatnonzero(run.t > 0.1)))
    assert run[3:]("contacts").at(0).force.tobytes() == table.at(3).force.tobytes()
    assert (table.at(-1).record == len(run) - 1).all()
    every = one.run(np.stack([q, q]), np.stack([v, v + 0.1]), 0.3, record_every=n)
    same(every.rollout(0)("contacts"), table)
    assert len(every.rollout(1)[2:]("contacts").start) == len(run) - 1
    with pytest.raises(engine.EngineError, match=r"points of contact are of one rollout; expected such as trajectory.rollout\(0\)"):
        every("contacts")
    with pytest.raises(engine.EngineError, match=r"no points of contact.* of other times"):
        run.at([0.05])("contacts")


def test_few_pairs_have_a_table_too():
    """Of the points that push what their own columns say, and what the scene's rows say; of a file each has a column of its own."""
    tables = []
    with pytest.MonkeyPatch.context() as patch:
        for rows in (False, True):
            one = scene(patch, rows)
            run = one.run(*start(one.model, 0.06, 0.3), 0.3, record_every=30)
            tables.append(run("contacts"))
            force = run("contacts.force")
            pushes = np.linalg.norm(force, axis=-1) > 0.0
            np.testing.assert_array_equal(np.diff(tables[-1].start), pushes.sum(axis=-1))
            if not rows:
                np.testing.assert_allclose(tables[0].force, force[pushes], atol=1e-9)      # of 50 N, μ F/v_s times some ulp of 1 m/s
                named = [f"{a}:{b}" for a, b in zip(tables[0].a, tables[0].b, strict=True)]
                assert named == [run("contacts.names")[k].rpartition(".")[0] or run("contacts.names")[k] for _, k in np.argwhere(pushes)]
                few = run
    assert len(tables[0]) and (few[3:]("contacts").at(0).force == tables[0].at(3).force).all()
    for k in range(len(few)):
        one, other = (table.at(k) for table in tables)
        across = {frozenset((a, b)) for a, b in zip(one.a, one.b, strict=True)}
        assert across == {frozenset((a, b)) for a, b in zip(other.a, other.b, strict=True)}
        for name, off in {"gap": 1e-6, "slip": 1e-4}.items():
            np.testing.assert_allclose(np.sort(getattr(one, name)), np.sort(getattr(other, name)), atol=off, err_msg=name)
        np.testing.assert_allclose(np.sort(one.position, axis=0), np.sort(other.position, axis=0), atol=1e-5)
        np.testing.assert_allclose(np.linalg.norm(one.normal, axis=1), 1.0, atol=1e-12)
    with pytest.raises(engine.EngineError, match=r"no table 'contacts' of few pairs in files.*expected contacts\.force"):
        few.at([0.05])("contacts")


@pytest.mark.parametrize("rows", [False, True], ids=["laws of pairs", "rows"])
def test_columns_say_where_forces_act_of_points_that_come_with_the_step_too(rows, monkeypatch):
    """Bricks thrown at each other: columns and table have the same places and no force has the gap of a point that is none, though in the
    state that is recorded other corners meet, or none."""
    b = engine.Builder("brick")
    b.add_link("brick", inertia=engine.spatial.inertia.box(1.0, (0.2, 0.3, 0.1)), collisions=[engine.Geometry("box", (0.2, 0.3, 0.1))])
    model = engine.combine(one=b.model(floating_base=True), other=b.model(floating_base=True))
    made = scene(monkeypatch, rows, model, engine.ContactMaterial(stiffness=1e6, friction=0.3), ground=False, gravity=(0.0, 0.0, 0.0))
    rng, seen = np.random.default_rng(3), 0
    for _ in range(6):
        turns, spins = rng.standard_normal((2, 4)), 2.0 * rng.standard_normal((2, 3))
        (a, c), towards = turns / np.linalg.norm(turns, axis=1, keepdims=True), np.array([3.0, 0.0, 0.0])
        q = np.concatenate([a, [-0.2, 0.0, 0.0], c, [0.2, 0.02, 0.03]])
        v = np.concatenate([spins[0], to_matrix(a).T @ towards, spins[1], to_matrix(c).T @ -towards])
        run = made.run(q, v, 0.08)
        force, table = run("contacts.force"), run("contacts")
        pushes = np.linalg.norm(force, axis=-1) > 0.0
        seen += np.count_nonzero(pushes)
        assert len(table) == np.count_nonzero(pushes) and run("contacts.gap")[pushes].max(initial=0.0) < 0.02   # 3 m/s both, over 1 ms
        for k in np.flatnonzero(pushes.any(axis=1)):
            at, listed = run("contacts.position")[k, pushes[k]], table.at(k).position
            np.testing.assert_allclose(at[np.lexsort(at.T)], listed[np.lexsort(listed.T)], atol=1e-9)
    assert seen > 20


def test_files_have_the_points_of_the_run(made, tmp_path):
    """Recorded while it runs, gone on with, and saved afterwards; all of it, and parts."""
    one, q, v, n = made
    run = one.run(q, v, 0.3, record_every=n)
    whole, saved = one.run(q, v, 0.3, record_every=n, out=tmp_path / "whole.h5"), run.save(tmp_path / "saved.h5")
    part = one.run(q, v, 0.12, record_every=n, out=tmp_path / "part.h5")
    assert len(engine.load_trajectory(part)) == 5
    one.resume(part, 0.3)
    for path in (whole, saved, part):
        again = engine.load_trajectory(path)
        same(again("contacts"), run("contacts"))
        same(again[3:7]("contacts"), run[3:7]("contacts"))
        same(engine.load_trajectory(path, 2, 9, 3)("contacts"), run[2:9:3]("contacts"))
        assert verify(path).whole
    same(engine.load_trajectory(again.save(tmp_path / "again.h5"))("contacts"), run("contacts"))
    last = engine.load_trajectory(part)("contacts").at(-1)
    if one.model.nv == 60:                                                     # two stacks of five boxes of 1 kg stand by then
        ground = (last.a == "world") | (last.b == "world")
        assert abs(np.abs(last.force[ground, 2]).sum() - 10.0 * G) < 0.02 * 10.0 * G


def test_rows_are_written_with_their_records(tmp_path):
    """What is not committed is lost together; each record has its rows, one after another over commits."""
    rng, path = np.random.default_rng(0), tmp_path / "run.h5"
    each = [rng.standard_normal((n, 3)) for n in (0, 2, 5, 0, 0, 9000, 1)]
    recorder = Recorder.create(path, {"t": ()}, (), {}, {}, tables={"points": 3})
    recorder.append({"t": np.arange(4.0)}, {}, {"points": each[:4]})
    recorder.flush()
    recorder.append({"t": np.arange(4.0, 6.0)}, {}, {"points": each[4:6]})
    with Recording.open(path) as recording:
        assert [x.tolist() for x in recording.table("points")] == [x.tolist() for x in each[:4]] and not recording.complete
    recorder._store.close()                                                   # as a kill leaves it
    with Recorder.resume(path) as recorder:
        assert len(recorder) == 4 and recorder.tables == {"points": 3}
        recorder.append({"t": np.arange(4.0, 7.0)}, {}, {"points": each[4:]})
    with Recording.open(path) as recording:
        assert recording.columns == {"t": ()}
        for part in ((0, None, 1), (1, 6, 2), (-2, None, 1), (3, 3, 1)):
            found = recording.table("points", *part)
            assert [x.tobytes() for x in found] == [x.tobytes() for x in each[slice(*part)]]
    assert verify(path).whole


def test_what_no_table_can_be_is_refused(tmp_path):
    for batch, columns, tables, what in (((2,), {"t": ()}, {"points": 3}, "expected one rollout"),
                                         ((), {"t": (), "points": ()}, {"points": 3}, "expected one rollout"),
                                         ((), {"t": ()}, {"points": -1}, "expected a shape"),
                                         ((), {"t": ()}, {"/x": 1.5}, "a name in|expected")):  # fmt: skip
        with pytest.raises(engine.EngineError, match=what):
            Recorder.create(tmp_path / "run.h5", columns, batch, {}, {}, tables=tables)
    with Recorder.create(tmp_path / "run.h5", {"t": ()}, (), {}, {}, tables={"points": 3}) as recorder:
        for rows, what in (({}, r"tables for .* are \[\]; expected \['points'\]"),
                           ({"points": [np.zeros((2, 4))]}, r"has shape \(2, 4\); expected \(n, 3\)"),
                           ({"points": []}, "numbers of records")):  # fmt: skip
            with pytest.raises(engine.EngineError, match=what):
                recorder.append({"t": np.zeros(1)}, {}, rows)
    with Recording.open(tmp_path / "run.h5") as run, pytest.raises(engine.EngineError, match="no table 'point'; expected one of points"):
        run.table("point")


def test_damage_and_forged_points_are_named(made, tmp_path):
    one, q, v, n = made
    path = one.run(q, v, 0.09, record_every=n, out=tmp_path / "run.h5")
    with Recording.open(path) as recording:
        rows = np.concatenate(recording.table("contacts"))
    data = bytearray(path.read_bytes())
    at = data.index(rows.tobytes())
    data[at + 5] ^= 1
    path.write_bytes(data)
    with pytest.raises(engine.EngineError, match=r"damaged in rows of the table 'contacts' \(bytes \d+"):
        engine.load_trajectory(path)
    assert any("table 'contacts'" in text for text in verify(path).damage)
    forged = tmp_path / "forged.h5"
    run = one.run(q, v, 0.09, record_every=n)
    run.save(forged)
    with Recording.open(forged) as recording:
        header, columns = recording.header, {n: recording.read(n) for n in recording.columns}
        shapes, each = dict(recording.columns), recording.table("contacts")
    header["contact_links"] = []
    with Recorder.create(forged, shapes, (), header, {}, True, tables={"contacts": 16}) as recorder:
        recorder.append(columns, {}, {"contacts": each})
    with pytest.raises(engine.EngineError, match="are of links that it does not name"):
        engine.load_trajectory(forged)
