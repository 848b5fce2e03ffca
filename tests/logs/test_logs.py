"""Logs for other tools, read back by others' code: MCAP and rosbags, SciPy, pyarrow, oem."""

import json

import numpy as np
import pytest

import engine
from engine.io.save_urdf import urdf_text
from engine.space import EARTH_J2, GravityField, ReferenceOrbit, read_aem
from engine.spatial import inertia


@pytest.fixture(scope="module")
def flight():
    model = engine.load_urdf(engine.example("free_flyer"), floating_base=True)
    simulator = engine.Simulator(model, dt=0.01, gravity=(0, 0, 0), parameters={"gain": 1.0},
                                 forces=[lambda t, q, v, gain: -gain * v])  # fmt: skip
    v = np.linspace(-0.3, 0.3, model.nv)
    return simulator.run(model.initial(), v, 0.2), simulator.run(model.initial(), np.stack([v, -v]), 0.1)


def positions(trajectory):
    return trajectory.q[:, 7:]


def test_an_mcap_file_read_by_mcap(flight, tmp_path):
    reader = pytest.importorskip("mcap.reader")
    decoder = pytest.importorskip("mcap_ros2.decoder")
    one, names = flight[0], flight[0].model.labels("q")[7:]
    with one.save(tmp_path / "run.mcap").open("rb") as file:
        found = {}
        for _, channel, message, said in reader.make_reader(file, decoder_factories=[decoder.DecoderFactory()]).iter_decoded_messages():
            found.setdefault(channel.topic, []).append((message.log_time, said))
    assert {n: len(x) for n, x in found.items()} == {"/robot_description": 1, "/joint_states": 21, "/tf": 21}
    for k, (at, said) in enumerate(found["/joint_states"]):
        assert at == round(one.t[k] * 1e9) == said.header.stamp.sec * 10**9 + said.header.stamp.nanosec
        assert tuple(said.name) == tuple(names)
        assert (np.array(said.position) == positions(one)[k]).all()
        assert (np.array(said.velocity) == one.v[k, 6:]).all()
        assert (np.array(said.effort) == one.tau[k, 6:]).all()
    place = {x.child_frame_id: x.transform.translation for x in found["/tf"][-1][1].transforms}["gripper"]
    assert [place.x, place.y, place.z] == one.pose("gripper")[-1, :3, 3].tolist()
    described = engine.load_urdf(found["/robot_description"][0][1].data)
    assert described.nv == one.model.nv - 6


@pytest.mark.parametrize("ending", ["mcap", "rosbag2"])
def test_the_robot_that_is_described_is_the_one_that_flew(tmp_path, ending):
    """With the run's parameters: its masses are those flown, and the poses of its URDF those of the motion."""
    highlevel = pytest.importorskip("rosbags.highlevel")
    model = engine.load_urdf(engine.example("free_flyer"), floating_base=True)
    moved = np.array(model.joint("shoulder_yaw").placement)
    moved[0, 3] += 0.5
    own = {"mass.gripper": 2.5, "placement.shoulder_yaw": moved}
    run = engine.Simulator(model, gravity=(0, 0, 0), parameters=own).run(model.neutral(), np.zeros(model.nv), 0.003)
    with highlevel.AnyReader([run.save(tmp_path / f"run.{ending}")]) as reader:
        text = next(reader.deserialize(raw, c.msgtype).data for c, _, raw in reader.messages() if c.topic == "/robot_description")
    (tmp_path / "run.urdf").write_text(text)
    described = engine.load_urdf(tmp_path / "run.urdf", floating_base=True)
    assert described.link("gripper").mass == 2.5
    still = engine.Simulator(described, gravity=(0, 0, 0)).run(described.neutral(), np.zeros(described.nv), 0.003)
    np.testing.assert_allclose(still.pose("gripper")[0], run.pose("gripper")[0], atol=1e-12)


@pytest.mark.parametrize("floats", [False, True])
def test_a_link_called_world_is_no_frame_in_itself(tmp_path, floats):
    """As robots on a stand have one: tf takes no transform from a frame to itself. Of one that moves the frame of reference is another."""
    reader = pytest.importorskip("mcap.reader")
    decoder = pytest.importorskip("mcap_ros2.decoder")
    builder = engine.Builder("stand")
    builder.add_link("world", inertia=inertia.box(1.0, [0.1, 0.1, 0.1]))
    builder.add_link("arm", inertia=inertia.box(1.0, [0.1, 0.1, 0.3]))
    builder.add_joint("elbow", "revolute", "world", "arm", axis=[0, 1, 0])
    model = builder.model(floating_base=floats)
    run = engine.Simulator(model, dt=0.01).run(model.neutral(), np.ones(model.nv), 0.05)
    with run.save(tmp_path / "run.mcap").open("rb") as file:
        found = [said for *_, said in reader.make_reader(file, decoder_factories=[decoder.DecoderFactory()]).iter_decoded_messages(["/tf"])]
    frames = {(x.header.frame_id, x.child_frame_id) for said in found for x in said.transforms}
    assert frames == ({("world_", "world"), ("world_", "arm")} if floats else {("world", "arm")})


def test_a_rosbag2_folder_read_by_rosbags_and_both_logs_say_the_same(flight, tmp_path):
    highlevel = pytest.importorskip("rosbags.highlevel")
    one = flight[0]
    bag, mcap = one.save(tmp_path / "run.rosbag2"), one.save(tmp_path / "run.mcap")
    said = []
    for path in (bag, mcap):
        with highlevel.AnyReader([path]) as reader:
            said.append({(c.topic, t, reader.deserialize(raw, c.msgtype).position.tobytes() if c.topic == "/joint_states" else raw)
                         for c, t, raw in reader.messages() if c.topic != "/robot_description"})  # fmt: skip
    assert len(said[0]) == 42
    assert said[0] == said[1]
    with pytest.raises(engine.StorageError, match=r"run.rosbag2' exists; expected a new path"):
        one.save(bag)
    one[:3].save(bag, overwrite=True)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["run.mcap", "run.rosbag2"]
    assert sorted(p.name for p in bag.iterdir()) == ["metadata.yaml", "run_0.mcap"]
    with highlevel.AnyReader([bag]) as reader:
        assert reader.message_count == 7


def test_a_bag_takes_the_place_of_a_bag_and_of_nothing_else(flight, tmp_path):
    pytest.importorskip("rosbags")
    bag, one = tmp_path / "mine.rosbag2", flight[0]
    bag.mkdir()
    (bag / "thesis.txt").write_text("x")
    with pytest.raises(engine.StorageError, match=r"mine.rosbag2' is a folder without the metadata.yaml of a bag; expected a new path"):
        one.save(bag, overwrite=True)
    for text in ("{", "[1]", "rosbag2_bagfile_information: {relative_file_paths: 3}", "thesis.txt"):
        (bag / "metadata.yaml").write_text(text)
        with pytest.raises(engine.StorageError, match=r"without the metadata.yaml of a bag"):
            one.save(bag, overwrite=True)
    assert (bag / "thesis.txt").read_text() == "x"
    bag = one.save(tmp_path / "run.rosbag2")
    for name in ("notes", "thesis.txt"):
        (bag / name).mkdir() if name == "notes" else (bag / name).write_text("x")
        before = {x.name: x.stat().st_mtime_ns for x in bag.iterdir()}
        with pytest.raises(engine.StorageError, match=rf"run.rosbag2' holds '{name}' too, which is not the bag's; expected a new path"):
            one[:3].save(bag, overwrite=True)
        assert {x.name: x.stat().st_mtime_ns for x in bag.iterdir()} == before
        (bag / name).rmdir() if name == "notes" else (bag / name).unlink()
    (bag / "metadata.yaml").write_text("rosbag2_bagfile_information: {relative_file_paths: [../../outside]}")
    (tmp_path / "outside").write_text("x")
    with pytest.raises(engine.StorageError, match=r"without the metadata.yaml of a bag"):                # it names a file elsewhere
        one.save(bag, overwrite=True)
    assert (tmp_path / "outside").exists()


def test_a_mat_file_read_by_scipy(flight, tmp_path):
    from scipy.io import loadmat

    for k, x in enumerate(flight):
        found = loadmat(x.save(tmp_path / f"run{k}.mat"), simplify_cells=True)
        for n in ("t", "q", "v", "tau", "vdot"):
            assert (found[n] == getattr(x, n)).all()
        assert found["signals"]["controller_power" if "controller.power" in x.signals else next(iter(found["signals"]))].shape[-1] > 0
        assert np.all(found["parameters"]["gain"] == 1.0)
        assert tuple(found["q_names"]) == x.model.labels("q")


def test_a_parquet_file_read_by_pyarrow(flight, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    one, batch = flight
    found = parquet.read_table(one.save(tmp_path / "run.parquet"))
    for n, x in {"t": one.t, **one.columns()}.items():
        assert (found[n].to_numpy() == x).all()
    assert found.schema.metadata[b"model"] == b"free_flyer"
    found = parquet.read_table(batch.save(tmp_path / "batch.parquet"))
    assert (found["rollout"].to_numpy() == np.repeat([0, 1], 11)).all()
    assert (found["v.floating_base.wx"].to_numpy() == batch.v[..., 0].ravel()).all()


def test_messages_of_orbit_and_attitude(tmp_path):
    builder = engine.Builder("hull")
    builder.add_link("hull", inertia=inertia.box(300.0, [1.0, 1.2, 1.5]))
    frame = ReferenceOrbit((6778137.0, 0, 0), (0, 5000.0, 5800.0), GravityField(zonals={2: EARTH_J2}))
    model = builder.model(floating_base=True)
    run = engine.Simulator(model, dt=0.5, gravity=(0, 0, 0), frame=frame).run(model.neutral(), [0.1, 0, 0, 0, 0, 0], 10.0)
    orbit = run.save(tmp_path / "hull.oem", link="hull", epoch="2026-11-27T12:00:00")
    attitude = run.save(tmp_path / "hull.aem", link="hull", epoch="2026-11-27T12:00:00")
    q = read_aem(attitude)[2]
    assert np.abs(np.abs((q * run.q[:, :4]).sum(axis=1)) - 1.0).max() < 1e-9
    oem = pytest.importorskip("oem")
    states = oem.OrbitEphemerisMessage.open(str(orbit)).states
    r = sum(run.orbit("hull"))
    assert max(np.abs(np.array(s.position) * 1e3 - x).max() for s, x in zip(states, r, strict=True)) < 1e-6
    for name, more, text in (("x.oem", {}, "x.oem' says when and of what it is; expected link=, one of the robot's, and epoch="),
                             ("x.oem", {"link": "hul", "epoch": "2026-11-27"}, r"there is no link 'hul' \(did you mean 'hull'\?\)"),
                             ("x.mat", {"link": "hull"}, "link, epoch and center are of .oem and .aem, and 'x.mat' is")):  # fmt: skip
        with pytest.raises(engine.StateError, match=text):
            run.save(tmp_path / name, **more)


# ---------------------------------------------------------------- flights that failed


@pytest.fixture(scope="module")
def failing():
    """A batch of which the second rollout grows beyond all numbers."""
    builder = engine.Builder("stick")
    builder.add_link("base")
    builder.add_link("stick", inertia=inertia.box(1.0, [0.1, 0.1, 0.3]))
    builder.add_joint("elbow", "revolute", "base", "stick", axis=[0, 1, 0])
    simulator = engine.Simulator(builder.model(), dt=0.01, parameters={"gain": 1.0}, forces=[lambda t, q, v, gain: gain * v])
    with pytest.warns(Warning):
        return simulator.run([0.1], [0.1], 0.5, parameters={"gain": np.array([0.0, 1e9])})


def test_what_failed_says_so_in_every_log(failing, flight, tmp_path):
    from scipy.io import loadmat

    parquet = pytest.importorskip("pyarrow.parquet")
    reader = pytest.importorskip("mcap.reader")
    yaml = pytest.importorskip("ruamel.yaml")
    one, paths = failing.rollout(1), {}
    assert one.failed and one.reason
    for ending in ("mcap", "rosbag2", "mat", "parquet"):
        with pytest.warns(engine.SimulationWarning, match=rf"'one.{ending}' is of what failed: a motion that ends at t = .* s \(.+\)"):
            paths[ending] = one.save(tmp_path / f"one.{ending}")
    said = {"failed": "true", "reason": one.reason, "warnings": "\n".join(one.warnings)}
    with paths["mcap"].open("rb") as file:
        assert {x.name: x.metadata for x in reader.make_reader(file).iter_metadata()} == {"outcome": said}
    written = yaml.YAML(typ="safe").load(paths["rosbag2"] / "metadata.yaml")["rosbag2_bagfile_information"]
    assert written["custom_data"] == {f"outcome.{n}": x for n, x in said.items()}
    found = loadmat(paths["mat"], simplify_cells=True)
    assert (bool(found["failed"]), str(found["reason"])) == (True, one.reason)
    assert [*np.atleast_1d(found["warnings"])] == [*one.warnings]
    metadata = parquet.read_schema(paths["parquet"]).metadata
    assert {n: metadata[n.encode()].decode() for n in said} == said
    with pytest.warns(engine.SimulationWarning, match=r"'all.mat' is of what failed: 1 of 2 rollouts \(rollout 1: .+\)"):
        found = loadmat(failing.save(tmp_path / "all.mat"), simplify_cells=True)
    assert found["failed"].tolist() == [False, True]
    assert [str(x) if len(x) else "" for x in found["reason"]] == [*failing.reason]
    with pytest.warns(engine.SimulationWarning, match=r"'all.parquet' is of what failed"):
        metadata = parquet.read_schema(failing.save(tmp_path / "all.parquet")).metadata
    assert (json.loads(metadata[b"failed"]), json.loads(metadata[b"reason"])) == ([False, True], [*failing.reason])
    good = loadmat(flight[0].save(tmp_path / "good.mat"), simplify_cells=True)
    assert (bool(good["failed"]), len(good["reason"])) == (False, 0)


def test_meshes_are_where_they_are(tmp_path, monkeypatch):
    """Whoever reads the log stands elsewhere than who wrote it."""
    from xml.etree import ElementTree

    (tmp_path / "a b").mkdir()
    (tmp_path / "a b" / "m.stl").write_text("solid m\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\n"
                                            "endfacet\nendsolid m\n")  # fmt: skip
    mesh = '<visual><geometry><mesh filename="{}"/></geometry></visual>'
    (tmp_path / "r.urdf").write_text(f'<robot name="r"><link name="a">{mesh.format("a b/m.stl")}{mesh.format("gone.stl")}</link></robot>')
    model = engine.load_urdf(tmp_path / "r.urdf")
    monkeypatch.chdir(tmp_path / "a b")
    text = urdf_text(model)
    names = [x.get("filename") for x in ElementTree.fromstring(text).iter("mesh")]
    assert names == [(tmp_path / "a b" / "m.stl").as_uri(), "gone.stl"]
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "r.urdf").write_text(text)
    read = engine.load_urdf(tmp_path / "elsewhere" / "r.urdf", package_dirs=[tmp_path])
    assert read.links[0].visuals[0].mesh == tmp_path / "a b" / "m.stl"


# ---------------------------------------------------------------- what is wrong


def test_what_is_no_log(flight, tmp_path):
    one, batch = flight
    with pytest.raises(engine.StateError, match=r"'x.mcap' is of one flight, and this is a batch \(2,\); expected trajectory.rollout\(0\)"):
        batch.save(tmp_path / "x.mcap")
    with pytest.raises(engine.StorageError, match=r"ends in '.bag'.*one of .mcap, .rosbag2, .mat, .parquet, .oem, .aem"):
        one.save(tmp_path / "x.bag")
    with pytest.raises(engine.StorageError, match=r"has no states, of which a log says nothing"):
        one[:0].save(tmp_path / "x.mcap")
    (tmp_path / "there.mat").write_text("mine")
    with pytest.raises(engine.StorageError, match=r"there.mat' exists; expected a new path, or overwrite=True"):
        one.save(tmp_path / "there.mat")
    assert one.save(tmp_path / "there.mat", overwrite=True).stat().st_size > 1000
    assert [p.name for p in tmp_path.iterdir()] == ["there.mat"]


def test_without_the_packages_it_says_what_to_install(flight, tmp_path, monkeypatch):
    import importlib.util
    import sys

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    for name in ("mcap", "rosbags", "pyarrow"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    for ending in (".mcap", ".rosbag2", ".parquet"):
        with pytest.raises(engine.StorageError, match=r'not installed; expected pip install "\.\[logs\]"'):
            flight[0].save(tmp_path / f"x{ending}")
    assert not [*tmp_path.iterdir()]


def test_a_full_disk_leaves_nothing(flight, tmp_path):
    """By a limit on the size of files of a process of its own."""
    import subprocess
    import sys

    code = ("import resource, signal, numpy as np, engine\n"
            "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
            "arm = engine.load(engine.example('seven_joint_arm'))\n"
            "run = engine.Simulator(arm, dt=0.01).run(np.zeros(7), np.ones(7), 1.0)\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
            f"try:\n    run.save({str(tmp_path / 'run.mat')!r})\nexcept engine.StorageError as e:\n    print(e)\n")  # fmt: skip
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "run.mat' cannot be written (File too large); expected a place with room for it" in done.stdout
    assert not [*tmp_path.iterdir()]
    assert json.dumps(done.stdout)


@pytest.fixture
def small(tmp_path):
    """A disk of 64 kB."""
    import shutil
    import subprocess

    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", tmp_path]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("no disk may be mounted here")
    yield tmp_path
    subprocess.run(["umount", tmp_path], check=True)


@pytest.mark.parametrize(("ending", "package"), [("mcap", "mcap"), ("rosbag2", "rosbags"), ("mat", "scipy"), ("parquet", "pyarrow")])
def test_a_disk_that_is_full_indeed(flight, small, ending, package):
    """What does not fit is said, and taken away; what was there stays."""
    pytest.importorskip(package)
    (small / "mine").write_bytes(bytes(60_000))
    with pytest.raises(engine.StorageError, match=rf"run.{ending}' cannot be written \(.*No space left on device\); expected a place with"):
        flight[0].save(small / f"run.{ending}")
    assert [p.name for p in small.iterdir()] == ["mine"]
