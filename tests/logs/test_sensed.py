"""What sensors read in logs of ROS 2, and whose frames: read back by others' code, against signals and poses of the motion."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import engine
from engine.logs import Flight, Inertial
from engine.logs.cdr import encoded
from engine.simulation.mounts import mounts_in
from engine.spatial import se3, so3
from tests.fmu.robots import arm

highlevel = pytest.importorskip("rosbags.highlevel")
reader = pytest.importorskip("mcap.reader")
decoder = pytest.importorskip("mcap_ros2.decoder")
typesys = pytest.importorskip("rosbags.typesys")
#: of the gyro on the trunk: elsewhere, and turned
POSE = se3.pose(so3.exp(np.array([0.1, -0.2, 0.3])), np.array([0.05, 0.0, 0.1]))


@pytest.fixture(scope="module")
def run():
    s = engine.sensors
    model = engine.load(engine.example("quadruped"), floating_base=True)
    feet = [link.name for link in model.links if "foot" in link.name]
    base, foot = model.links[0].name, feet[0]
    sensors = [s.IMU(base, name="imu", rate={"noise": 1e-3}), s.Gyro(base, POSE, name="side"), s.Accelerometer(base, name="fall"),
               s.ContactForce(foot, name="sole"), s.ForceTorque(foot, POSE, name="wrist"), s.Touch(foot),
               s.Encoder(next(j.name for j in model.joints if j.type.nv == 1))]  # fmt: skip
    contacts = engine.Contacts(engine.HalfSpace(), pairs=[("world", f) for f in feet])
    simulator = engine.Simulator(model, contacts=contacts, sensors=sensors)
    q = model.initial()
    q[6] = 0.36                                                                # m: its feet are a hand's breadth above the ground
    return simulator.run(q, np.zeros(model.nv), 0.1, record_every=10), base, foot


def of_mcap(path):
    found = {}
    with path.open("rb") as file:
        for _, channel, message, said in reader.make_reader(file, decoder_factories=[decoder.DecoderFactory()]).iter_decoded_messages():
            found.setdefault(channel.topic, []).append((message.log_time, said))
    return found


def of_bag(path):
    found = {}
    with highlevel.AnyReader([path]) as bag:
        for connection, at, raw in bag.messages():
            found.setdefault(connection.topic, []).append((at, bag.deserialize(raw, connection.msgtype)))
    return found


def numbers(v):
    return [v.x, v.y, v.z]


@pytest.mark.parametrize(("ending", "read"), [("mcap", of_mcap), ("rosbag2", of_bag)])
def test_what_sensors_read(run, tmp_path, ending, read):
    """To the last bit, in the frames that /tf has of them; and what is left out is named, once."""
    one, base, foot = run
    text = rf"'run.{ending}' leaves out contacts, 'touch' \(Touch\); expected run.h5"
    with pytest.warns(engine.SimulationWarning, match=text) as told:
        path = one.save(tmp_path / f"run.{ending}", prefix="dog/")
    assert len(told) == 1
    found = read(path)
    assert {*found} == {f"/dog/{n}" for n in ("robot_description", "joint_states", "tf", "imu/imu", "imu/side", "imu/fall", "wrench/sole",
                                              "wrench/wrist", "encoder/encoder")}  # fmt: skip
    frames = {"imu/imu": base, "imu/side": "side", "imu/fall": base, "wrench/sole": foot, "wrench/wrist": "wrist"}
    for topic, frame in frames.items():
        for k, (at, said) in enumerate(found[f"/dog/{topic}"]):
            assert (at, said.header.frame_id) == (round(one.t[k] * 1e9), f"dog/{frame}")
            if topic.startswith("imu"):
                rate, force = {"imu/imu": ("imu.rate", "imu.force"), "imu/side": ("side", None), "imu/fall": (None, "fall")}[topic]
                for name, vector, spread in ((rate, said.angular_velocity, said.angular_velocity_covariance),
                                             (force, said.linear_acceleration, said.linear_acceleration_covariance)):  # fmt: skip
                    assert numbers(vector) == ([0, 0, 0] if name is None else one(name)[k].tolist())
                    assert (spread[0] == -1.0) == (name is None)
                assert said.orientation_covariance[0] == -1.0
            else:
                name = topic.removeprefix("wrench/")
                assert numbers(said.wrench.force) == one(f"{name}.force")[k].tolist()
                assert numbers(said.wrench.torque) == one(f"{name}.moment")[k].tolist()
    assert np.abs(one("wrist.force")).max() > 1.0
    for k, (_, said) in enumerate(found["/dog/tf"]):
        own = {x.child_frame_id: x for x in said.transforms}
        assert {x.header.frame_id for x in said.transforms} == {"world"}
        T = one.pose(base)[k] @ POSE
        assert numbers(own["dog/side"].transform.translation) == pytest.approx(T[:3, 3], abs=1e-15)
        q = own["dog/side"].transform.rotation
        assert engine.spatial.quaternion.to_matrix(np.array([q.w, q.x, q.y, q.z])) == pytest.approx(T[:3, :3], abs=1e-15)


def test_a_recording_knows_its_sensors(run, tmp_path):
    """The log of a file is that of the run, byte for byte."""
    one = run[0]
    again = engine.load_trajectory(one.save(tmp_path / "run.h5"))
    assert {n: (m.kind, m.link, m.pose.tolist()) for n, m in again.sensors.items()} == \
        {n: (m.kind, m.link, m.pose.tolist()) for n, m in one.sensors.items()}  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert again.save(tmp_path / "b.mcap").read_bytes() == one.save(tmp_path / "a.mcap").read_bytes()


def test_nothing_left_out_is_no_warning(tmp_path):
    run = engine.Simulator(arm(), dt=0.01, sensors=[engine.sensors.Gyro("tip")]).run(np.zeros(2), np.ones(2), 0.05)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = of_mcap(run.save(tmp_path / "a.mcap"))
    assert len(found["/imu/gyro"]) == 6


def test_names_that_a_topic_or_a_frame_has_already(tmp_path):
    """Two signals whose topics would be one, and a sensor named as a link is."""
    sensors = [engine.sensors.Gyro("tip", name="a_b"), *(engine.sensors.Gyro("tip", POSE, name=n) for n in ("a-b", "base"))]
    sensors[1].of_file = True                                                  # whose names are its own
    run = engine.Simulator(arm(), dt=0.01, sensors=sensors).run(np.zeros(2), np.ones(2), 0.05)
    with pytest.warns(engine.SimulationWarning, match="numbered where two are alike: 'a-b' as 'a_b_2'$"):
        found = of_mcap(run.save(tmp_path / "a.mcap"))
    assert {n for n in found if "imu" in n} == {"/imu/a_b", "/imu/a_b_2", "/imu/base"}
    assert found["/imu/base"][0][1].header.frame_id == "base_"
    assert {"base", "base_", "a-b"} <= {x.child_frame_id for x in found["/tf"][0][1].transforms}


def test_a_bag_that_humble_plays(run, tmp_path):
    """Its metadata is of version 8: what is offered is a text of YAML there, with numbers, of which /robot_description waits for who comes
    late. By the rules of rosbag2's own reader of that time."""
    yaml = pytest.importorskip("ruamel.yaml").YAML(typ="safe")
    with pytest.warns(engine.SimulationWarning, match="leaves out"):
        bag = run[0].save(tmp_path / "run.rosbag2")
    said = yaml.load(bag / "metadata.yaml")["rosbag2_bagfile_information"]
    assert said["version"] == 8
    assert (said["storage_identifier"], said["compression_mode"]) == ("mcap", "")
    for topic in said["topics_with_message_count"]:
        own = topic["topic_metadata"]
        assert isinstance(own["offered_qos_profiles"], str)
        (offered,) = yaml.load(own["offered_qos_profiles"])
        assert all(isinstance(offered[n], int) for n in ("history", "depth", "reliability", "durability", "liveliness"))
        late = own["name"] == "/robot_description"
        assert (offered["history"], offered["reliability"], offered["durability"]) == (1, 1, 1 if late else 2)
        assert {*offered["deadline"]} == {"sec", "nsec"}
    with highlevel.AnyReader([bag]) as read:
        for connection in read.connections:
            (offered,) = connection.ext.offered_qos_profiles
            late = connection.topic == "/robot_description"
            assert (offered.history.name, offered.reliability.name) == ("KEEP_LAST", "RELIABLE")
            assert offered.durability.name == ("TRANSIENT_LOCAL" if late else "VOLATILE")


def test_an_attitude_among_the_stars_is_of_what_flies(tmp_path):
    run = engine.Simulator(arm(), dt=0.01).run(np.zeros(2), np.ones(2), 0.05)
    for link in ("base", "tip"):
        with pytest.raises(engine.StateError, match=f"'{link}' hangs on what stands, and a message of attitude is of what flies; expected"):
            run.save(tmp_path / "x.aem", link=link, epoch="2026-11-27T12:00:00")
    assert not [*tmp_path.iterdir()]
    free = engine.Simulator(arm(floating=True), dt=0.01, gravity=(0, 0, 0)).run([1, 0, 0, 0, 0, 0, 0, 0, 0], np.zeros(8), 0.05)
    with pytest.warns(engine.EngineWarning, match="flew without frame=, and its message says that the world's axes are those of ICRF"):
        assert free.save(tmp_path / "x.aem", link="tip", epoch="2026-11-27T12:00:00").exists()


@pytest.mark.parametrize(("change", "text"), [
    ({"position": np.zeros((2, 3))}, r"position of a flight has shape \(2, 3\); expected \(2, 1\)"),
    ({"turns": np.zeros((2, 1, 3))}, r"turns of a flight has shape \(2, 1, 3\); expected \(2, 1, 4\)"),
    ({"turns": np.full((2, 1, 4), 0.6)}, r"turns of a flight are no unit quaternions; expected \|q\| = 1"),
    ({"t": np.array([1.0, 0.5])}, r"times fall from 1 to 0.5 s; expected each at the one before, or after it"),
    ({"t": np.array([0.0, np.nan])}, r"times from 0 to nan s; expected them from 0"),
    ({"t": np.zeros((2, 1))}, r"t of a flight has shape \(2, 1\); expected \(2,\)"),
    ({"links": ["world"]}, r"frames of a flight have the name 'world' twice; expected each once"),
    ({"inertial": {"g": Inertial("hand", np.zeros((2, 3)))}}, r"a sensor of a flight is in the frame 'hand', which there is not"),
    ({"inertial": {"g": Inertial("tip", np.zeros((3, 3)))}}, r"rate of 'g' of a flight has shape \(3, 3\); expected \(2, 3\)"),
    ({"prefix": "a b"}, r"prefix is 'a b'; expected letters, digits and _, with / after each part, such as 'arm1/'"),
])  # fmt: skip
def test_what_is_no_flight(change, text):
    good = {"t": np.array([0.0, 1.0]), "joints": ["elbow"], **dict.fromkeys(("position", "velocity", "effort"), np.zeros((2, 1))),
            "links": ["tip"], "places": np.zeros((2, 1, 3)), "turns": np.tile([1.0, 0.0, 0.0, 0.0], (2, 1, 1))}  # fmt: skip
    Flight(**good)
    with pytest.raises(engine.StorageError, match=text):
        Flight(**{**good, **change})


def test_what_is_no_prefix(run, tmp_path):
    with pytest.raises(engine.StorageError, match="prefix is 'a'; expected letters"):
        run[0].save(tmp_path / "x.mcap", prefix="a")
    for name in ("x.mat", "x.h5"):
        with pytest.raises(engine.StateError, match=r"prefix is of .mcap and .rosbag2, and '.*' is n"):
            run[0].save(tmp_path / name, prefix="a/")
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("said", [3, {"imu": 3}, {"imu": {"kind": "IMU", "link": "hand", "pose": np.eye(4).tolist()}},
                                  {"imu": {"kind": "IMU", "link": "tip", "pose": np.zeros((4, 4)).tolist()}},
                                  {"imu": {"kind": "IMU", "link": ["tip"], "pose": np.eye(4).tolist()}}])  # fmt: skip
def test_a_header_that_says_nothing_of_sensors(said):
    recording = SimpleNamespace(header={"sensors": said}, path="run.h5")
    with pytest.raises(engine.StorageError, match=r"header\['sensors'\] of 'run.h5' says of '.*; expected its kind, a link of the"):
        mounts_in(recording, ["tip"])
    assert mounts_in(SimpleNamespace(header={}, path="run.h5"), ["tip"]) == {}


@pytest.mark.parametrize(("every", "ending", "read"), [(1, "mcap", of_mcap), (7, "rosbag2", of_bag)])
def test_each_sample_is_said_once_when_it_came_and_stamped_with_when_it_was_taken(tmp_path, every, ending, read):
    """A body that tumbles, whose rates no two samples have alike: what is said is the rate at the stamp, of the motion itself, and it comes
    by the latency later, also where this is no multiple of the period. Nothing is said before the first. A file says the same."""
    builder, s = engine.Builder("r"), engine.sensors
    builder.add_link("r", inertia=engine.spatial.inertia.box(1.0, [0.1, 0.2, 0.3]))
    model = builder.model(floating_base=True)
    sensors = [s.Gyro("r", name="slow", period=0.01, latency=0.02), s.Gyro("r", name="off", period=0.01, latency=0.004, phase=0.003),
               s.Gyro("r", name="late", latency=0.005), s.Gyro("r", name="each")]  # fmt: skip
    run = engine.Simulator(model, gravity=(0, 0, 0), sensors=sensors).run(model.neutral(), [5.0, 1.0, 0.2, 0, 0, 0], 0.2)
    assert run.sensors["off"].about == {"period": 0.01, "latency": 0.004, "phase": 0.003}
    kept = engine.load_trajectory(run.save(tmp_path / "run.h5"))
    found = read(kept[::every].save(tmp_path / f"run.{ending}"))
    times = [at for topic in found.values() for at, _ in topic]
    assert min(times) == 0
    for name, period, latency, phase in (("slow", 0.01, 0.02, 0.0), ("off", 0.01, 0.004, 0.003), ("late", 0.001, 0.005, 0.0),
                                         ("each", 0.001, 0.0, 0.0)):  # fmt: skip
        said = found[f"/imu/{name}"]
        stamps = [x.header.stamp.sec * 10**9 + x.header.stamp.nanosec for _, x in said]
        due = [round((phase + k * period) * 1e9) for k in range(round((0.2 - latency - phase) / period + 1e-6) + 1)]
        due = [x for x in due if x + round(latency * 1e9) <= 200_000_000]
        assert {*stamps} <= {*due} and len({*stamps}) == len(stamps)
        assert every > 1 or stamps == due
        assert [at for at, _ in said] == [x + round(latency * 1e9) for x in stamps]
        for (_, x), at in zip(said, stamps, strict=True):
            assert numbers(x.angular_velocity) == run.v[round(at / 1e6), :3].tolist()
    assert len(found["/imu/slow"]) == (19 if every == 1 else 18)


@pytest.mark.filterwarnings("ignore::engine.SimulationWarning")
def test_bytes_are_those_of_another_writer(run, tmp_path):
    """Of rosbags, message by message: all that is said, and what has no links, no joints, and a name of more bytes than letters."""
    with highlevel.AnyReader([run[0].save(tmp_path / "run.mcap")]) as bag:
        said = [(connection.msgtype, bytes(raw)) for connection, _, raw in bag.messages()]
    assert len({kind for kind, _ in said}) == 5
    store, head = typesys.get_typestore(typesys.Stores.ROS2_HUMBLE), {"stamp": {"sec": 1, "nanosec": np.arange(3)}, "frame_id": ""}
    names = {"header": head, "name": ["é"], "position": [], "velocity": np.ones((3, 1)), "effort": []}
    for kind, plain in (("tf2_msgs/msg/TFMessage", {"transforms": []}), ("sensor_msgs/msg/JointState", names)):
        said += [(kind, row.tobytes()) for row in encoded(store, kind, plain)]
    for kind, raw in said:
        assert bytes(store.serialize_cdr(store.deserialize_cdr(raw, kind), kind)) == raw


def test_names_that_files_cannot_have_are_told(tmp_path):
    """In a .mat each field's own name is beside it, and what is cut or numbered is said; in logs what is called otherwise."""
    from scipy.io import loadmat

    builder, s, n = engine.Builder("r"), engine.sensors, "a" * 70
    builder.add_link("r", inertia=engine.spatial.inertia.box(1.0, [0.1, 0.2, 0.3]))
    model = builder.model(floating_base=True)
    names = (n + "A", n + "B", "g", "g_true", "gü", "gä")
    sensors = [s.Gyro("r", name=name, bias=0.1 * k) for k, name in enumerate(names)]
    run = engine.Simulator(model, gravity=(0, 0, 0), sensors=sensors).run(model.neutral(), np.zeros(6), 0.003)
    with pytest.warns(UserWarning, match=r"names are cut at 63 letters in a .mat, or numbered .*'a*' is 'a*A'"):
        found = loadmat(run.save(tmp_path / "run.mat"), simplify_cells=True)
    table = dict(found["signals_names"])
    assert sorted(table.values()) == sorted(run.signals) and {*table} == {*found["signals"]}
    for own, name in table.items():
        assert (found["signals"][own] == run.signals[name]).all()
    with pytest.warns(engine.SimulationWarning, match="'run.mcap' has sensors by other names, .*alike: 'gü' as 'g_', 'gä' as 'g__2'$"):
        run.save(tmp_path / "run.mcap")
