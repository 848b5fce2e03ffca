"""What sensors of distances, fields and joints read, in logs of ROS 2: read back by others' code, against signals, geometry and poses."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import engine
from engine.logs import Distances
from engine.logs.scans import distances, kind_of
from engine.simulation.logged import ahead
from engine.simulation.mounts import Mount, is_about, mounts_in
from engine.spatial import inertia, se3, so3
from tests.logs.test_sensed import numbers, of_bag, of_mcap

DOWN = (0.0, 0.0, -1.0)
FAN = np.linspace(-1.0, 1.0, 5)


def rover():
    """A cart that drives along x to a wall, whose inner face is at 2 m."""
    builder = engine.Builder("cart")
    builder.add_link("rail", inertia=inertia.box(1.0, (0.1, 0.1, 0.1)),
                     visuals=[engine.Geometry("box", (0.2, 8.0, 4.0), se3.pose(np.eye(3), [2.1, 0, 0]))])  # fmt: skip
    builder.add_link("cart", inertia=inertia.box(1.0, (0.2, 0.2, 0.2)))
    builder.add_joint("slide", "prismatic", "rail", "cart", axis=[1, 0, 0])
    return builder.model()


@pytest.fixture(scope="module")
def run():
    s = engine.sensors
    turned = se3.pose(so3.exp(np.array([0.0, 0.0, np.pi / 2])), np.array([0.1, 0.0, 0.0]))
    sensors = [s.Lidar("cart", FAN, max_range=3.0, min_range=0.05, name="fan"), s.Lidar("cart", FAN, (-0.1, 0.2), name="cloud"),
               s.RangeFinder("cart", turned, direction=(0.0, -1.0, 0.0), max_range=5.0, name="front"),
               s.RangeFinder("cart", direction=DOWN, max_range=5.0, name="down"), s.Magnetometer("cart", (2e-5, 0, -4e-5), turned),
               s.Encoder("slide", quantum=1e-3), s.Encoder(["slide"], of="velocity", name="speed"), s.JointTorque("slide")]  # fmt: skip
    simulator = engine.Simulator(rover(), dt=0.01, gravity=(0, 0, 0), sensors=sensors, controller=lambda t, q, v: np.array([2.0]))
    return simulator.run([0.0], [0.5], 0.5)


@pytest.mark.parametrize(("ending", "read"), [("mcap", of_mcap), ("rosbag2", of_bag)])
def test_scans_fields_and_joints(run, tmp_path, ending, read):
    """As the rover's place has it; what meets nothing is at no distance."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = read(run.save(tmp_path / f"run.{ending}"))
    own = {"scan/fan", "points/cloud", "range/front", "range/down", "magnetic_field/magnetometer", "encoder/encoder", "encoder/speed",
           "encoder/torque"}  # fmt: skip
    assert {*found} == {f"/{n}" for n in ("robot_description", "joint_states", "tf", *own)}
    for k in (0, len(run.t) - 1):
        said = {n: found[f"/{n}"][k][1] for n in own}
        assert all(found[f"/{n}"][k][0] == round(run.t[k] * 1e9) for n in own)
        fan, front, wall = said["scan/fan"], said["range/front"], 2.0 - run.q[k, 0]
        assert fan.angle_min + np.arange(5) * fan.angle_increment == pytest.approx(FAN, abs=1e-6)
        reach = wall / np.cos(FAN)
        near = reach < 3.0                                                     # float32, of 3 m
        assert np.array(fan.ranges)[near] == pytest.approx(reach[near], abs=3e-7)
        assert np.isinf(np.array(fan.ranges)[~near]).all()
        assert (fan.header.frame_id, fan.range_min, fan.range_max) == ("cart", np.float32(0.05), 3.0)
        assert np.float32(front.range) == np.float32(run("front")[k])
        assert front.range == pytest.approx(wall - 0.1, abs=3e-7)
        assert (said["range/down"].range, said["range/down"].max_range) == (np.inf, 5.0)
        assert numbers(said["magnetic_field/magnetometer"].magnetic_field) == run("magnetometer")[k].tolist()
        assert [*said["encoder/encoder"].name] == ["slide"]
        assert [*said["encoder/encoder"].position] == [run("encoder")[k]]
        assert [*said["encoder/speed"].velocity] == [run("speed")[k, 0]]
        assert [*said["encoder/torque"].effort] == [run("torque")[k]]
        assert not len(said["encoder/torque"].position) and not len(said["encoder/encoder"].velocity)
    assert run.q[-1, 0] > 0.4


def test_frames_look_along_x(run, tmp_path):
    """Of a range finder ROS has that its frame does; the wall is where its ray ends."""
    found = of_mcap(run.save(tmp_path / "run.mcap"))
    for k, (_, tf) in enumerate(found["/tf"]):
        frames = {x.child_frame_id: x.transform for x in tf.transforms}
        for name, along in (("front", [1.0, 0.0, 0.0]), ("down", DOWN)):
            assert found[f"/range/{name}"][k][1].header.frame_id == name
            R = engine.spatial.quaternion.to_matrix(np.array([getattr(frames[name].rotation, c) for c in "wxyz"]))
            assert R[:, 0] == pytest.approx(along, abs=1e-15)
        end = frames["front"].translation.x + run("front")[k]
        assert end == pytest.approx(2.0, abs=1e-14)


def test_clouds_are_where_rays_end(run, tmp_path):
    """By the reader's own layout of a point, against the sensor's own points."""
    said = of_mcap(run.save(tmp_path / "run.mcap"))["/points/cloud"][-1][1]
    assert (said.height, said.width, said.point_step, said.row_step, said.is_bigendian) == (2, 5, 12, 60, False)
    assert [(f.name, f.offset, f.datatype, f.count) for f in said.fields] == [("x", 0, 7, 1), ("y", 4, 7, 1), ("z", 8, 7, 1)]
    points = np.frombuffer(bytes(said.data), "<f4").reshape(2, 5, 3)
    own = engine.sensors.Lidar("cart", FAN, (-0.1, 0.2)).points(run("cloud")[-1])
    there = run("cloud")[-1] < 100.0
    assert there.any()
    assert points[there] == pytest.approx(own[there], rel=1e-6, abs=1e-6)
    assert np.isnan(points[~there]).all()
    assert said.is_dense == there.all()


def test_a_recording_says_the_same(run, tmp_path):
    again = engine.load_trajectory(run.save(tmp_path / "run.h5"))
    assert again.save(tmp_path / "b.mcap").read_bytes() == run.save(tmp_path / "a.mcap").read_bytes()


def test_which_message_has_them():
    eye = Distances("eye", np.array([[[0.5, 3.0, np.nan]]]), 0.1, 3.0, np.array([0.0, 0.1, 0.2]), np.zeros(1))
    assert kind_of(eye) == "scan"
    (ranges,) = distances(eye, np.arange(1))["ranges"]
    assert ranges[:2].tolist() == [0.5, np.inf]
    assert np.isnan(ranges[2])                                                 # of what failed
    assert kind_of(eye._replace(azimuths=np.array([0.0, 0.1, 0.3]))) == "points"
    assert kind_of(eye._replace(elevations=np.array([0.1]))) == "points"
    assert kind_of(eye._replace(azimuths=None, elevations=None)) == "range"


@pytest.mark.parametrize("direction", [(1, 0, 0), (-1, 0, 0), (0, 1, 0), DOWN, (0.6, 0.0, -0.8), (-0.6, 0.64, 0.48), (-1.0, 1e-9, 0.0)])
def test_x_is_turned_to_any_direction(direction):
    T = ahead(Mount("RangeFinder", "cart", np.eye(4), {"direction": [*direction]}))
    assert so3.are_rotations(T[:3, :3])
    assert T[:3, 0] == pytest.approx(direction, abs=1e-15)
    assert T[:3, 3].tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("about", [3, {"hue": 1.0}, {"joints": "slide"}, {"joints": [1]}, {"of": "place"}, {"of": []}, {"near": np.nan},
                                   {"near": [1.0]}, {"direction": [1.0]}, {"direction": "xyz"}, {"azimuths": 1.0}, {"azimuths": [[1.0]]},
                                   {"far": None}, {"elevations": {}}])  # fmt: skip
def test_a_header_that_says_nothing_of_what_is_read(about):
    mount = {"kind": "Lidar", "link": "cart", "pose": np.eye(4).tolist(), "about": about}
    with pytest.raises(engine.StorageError, match=r"says of 'fan' .*; expected its kind, .* and of what it reads"):
        mounts_in(SimpleNamespace(header={"sensors": {"fan": mount}}, path="run.h5"), ["cart"])
    assert is_about({"near": 0.1, "far": 3.0, "azimuths": [0.0, 0.1], "elevations": [0.0]})
