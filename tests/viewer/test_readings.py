"""What the display reads off a robot, against the trajectory's own columns and closed forms."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from engine.model import Builder
from engine.simulation import Simulator
from engine.spatial import inertia, quaternion, so3
from engine.viewer.display.facts import figure
from engine.viewer.display.readings import POINTS, RECENT, Readings, reduced, roll_pitch_yaw
from engine.viewer.scene import Actor, Running, ViewerError
from tests.viewer.mechanism import SPEEDS, mechanism, motion


@pytest.fixture(scope="module")
def model():
    return mechanism()


@pytest.fixture(scope="module")
def trajectory(model):
    found = motion(model, 2.0, 4.0)
    wave = np.sin(found.t)
    return replace(found, tau=found.tau + 0.5 * found.t[:, None], signals={"wheels.torque": np.stack([wave, 2 * wave], axis=1)})


@pytest.fixture
def readings(trajectory):
    return Readings(Actor(trajectory), signals=["wheels.torque[1]", "v.arm_joint"])


def test_lines_are_the_trajectorys_energy_and_momentum(trajectory, readings):
    K, U = trajectory.energy()
    P = trajectory.momentum()
    for k in (0, 17, 40):
        rows = dict(readings.lines(trajectory.t[k]))
        assert rows["kinetic energy"] == f"{figure(K[k])} J" and rows["potential energy"] == f"{figure(U[k])} J"
        assert rows["total energy"] == f"{figure(K[k] + U[k])} J"
        assert rows["|p|"] == f"{figure(np.linalg.norm(P[k, 3:]))} N·s" and rows["|L|"] == f"{figure(np.linalg.norm(P[k, :3]))} N·m·s"
        assert rows["time"] == f"{trajectory.t[k]:.3f} s"
        assert rows["wheels.torque[1]"] == figure(2 * np.sin(trajectory.t[k])) and rows["v.arm_joint"] == "1.000 rad/s"


def test_plots_are_of_the_whole_motion_and_now(trajectory, readings):
    plots = {p.name: p for p in readings.plots(3.0)}
    assert list(plots) == ["wheels.torque[1]", "v.arm_joint", "energy change", "base rotation", "fastest joint", "fastest slide"]
    total = sum(trajectory.energy())
    assert np.array_equal(plots["energy change"].t, trajectory.t)
    assert plots["energy change"].y == pytest.approx(total - total[0]) and plots["energy change"].now == pytest.approx(total[20] - total[0])
    R = quaternion.to_matrix(trajectory.q[:, :4])
    angle = np.degrees(np.arccos(np.clip(0.5 * (np.trace(np.swapaxes(R[:1], 1, 2) @ R, axis1=1, axis2=2) - 1), -1, 1)))
    assert plots["base rotation"].y == pytest.approx(angle, abs=1e-5) and plots["base rotation"].y[-1] == pytest.approx(
        np.degrees(2.0 * np.linalg.norm(SPEEDS[:3])))  # fmt: skip
    assert (plots["fastest joint"].y == 9.0).all() and (plots["fastest slide"].y == 0.1).all()
    again = {p.name: p for p in readings.plots(3.5)}
    assert all(again[n].y is p.y for n, p in plots.items())                    # worked out once
    assert again["wheels.torque[1]"].now == pytest.approx(2 * np.sin(3.5), abs=1e-3)


def test_each_rollout_of_a_batch_has_its_own(model):
    batch = motion(model, scales=(1.0, 3.0))
    for k, fastest in ((0, 9.0), (1, 27.0)):
        readings = Readings(Actor(batch), k)
        plots = {p.name: p for p in readings.plots(0.5)}
        assert plots["fastest joint"].now == fastest == plots["fastest joint"].y[7]
        assert dict(readings.lines(1.0))["kinetic energy"] == f"{figure(batch.energy()[0][k, -1])} J"


def test_a_card_tells_of_the_link(trajectory, readings):
    card = readings.card("arm", 3.0)
    rows = card.rows
    T = trajectory.pose("arm")[20]
    assert card.title == "arm" and rows[0] == ("position", "  ".join(f"{x:.3f}" for x in T[:3, 3]).replace("-", "−") + " m")
    angles = np.radians([float(x) for x in rows[1][1].replace("−", "-").rstrip("°").split()])
    R = so3.exp(np.array([0, 0, angles[2]])) @ so3.exp(np.array([0, angles[1], 0])) @ so3.exp(np.array([angles[0], 0, 0]))
    assert np.abs(R - T[:3, :3]).max() < 2e-3
    told = dict(rows[2:])
    assert told["mass"] == "1.000 kg" and told["joint"] == "arm_joint" and told["kind"] == "revolute"
    assert told["angle"] == "1.000 rad" and told["velocity"] == "1.000 rad/s" and told["torque"] == "1.500 N·m"
    tip = dict(readings.card("tip", 3.0).rows[2:])
    assert tip["travel"] == "0.1000 m" and tip["velocity"] == "0.1000 m/s" and tip["force"] == "1.500 N"
    assert dict(readings.card("arm", 3.02).rows)["torque"] == "1.510 N·m"       # between two records
    base, fin = dict(readings.card("base", 3.0).rows), dict(readings.card("fin", 3.0).rows)
    assert base["kind"] == "floating" and base["speed"] == f"{figure(np.linalg.norm(SPEEDS[3:6]))} m/s"
    assert fin["kind"] == "fixed" and "velocity" not in fin


def test_at_rest_it_says_what_the_robot_is(model):
    readings = Readings(Actor(model))
    assert dict(readings.lines(0.0)) == {"links": "5", "joints that move": "4", "degrees of freedom": "9", "mass": "5.000 kg"}
    assert readings.plots(0.0) == []
    card = dict(readings.card("arm", 0.0).rows[2:])
    assert card["angle"] == "0.000 rad" and "torque" not in card


def test_of_several_robots_that_float_each_has_its_own_rotation():
    builder = Builder("pair")
    builder.add_link("world")
    for name in ("red", "blue"):
        builder.add_link(name, inertia=inertia.box(1.0, [0.4, 0.3, 0.2]))
        builder.add_joint(f"{name}_joint", "floating", "world", name)
    model = builder.model()
    v = np.zeros(model.nv)
    v[model.v_slice("red_joint")][2], v[model.v_slice("blue_joint")][0] = 0.5, 1.0
    readings = Readings(Actor(Simulator(model, 0.01, gravity=(0, 0, 0)).run(model.neutral(), v, 1.0)))
    turned = {p.name: p.now for p in readings.plots(1.0)}
    assert list(turned) == ["energy change", "red rotation", "blue rotation"]
    assert turned["red rotation"] == pytest.approx(np.degrees(0.5)) and turned["blue rotation"] == pytest.approx(np.degrees(1.0))
    assert dict(readings.card("blue", 1.0).rows)["turning"] == "1.000 rad/s"


def test_of_what_has_died_away_beside_its_curve_nothing_is_left(model, trajectory):
    dies = replace(trajectory, signals={"x": 5.0 * np.exp(-14.0 * trajectory.t), "y": 5.0 * np.exp(-6.0 * trajectory.t)})
    end = {p.name: p.now for p in Readings(Actor(dies), signals=["x", "y"]).plots(dies.t[-1])}
    assert end["x"] == 0.0 < dies.signals["x"][-1] and end["y"] == dies.signals["y"][-1] > 0.0


def test_a_simulation_that_runs_is_remembered_for_a_while(model, trajectory):
    now = SimpleNamespace(t=0.0)
    live = SimpleNamespace(model=model, gravity=(0, 0, 0), ground=None, state=now, now=replace(trajectory[0], signals={"x": np.ones(1)}))
    readings = Readings(Actor(Running(live)), signals=["x"])
    for k in range(1500):
        now.t, live.now = k / 60, replace(trajectory[0], signals={"x": np.sin([k / 60])})
        plot = readings.plots(now.t)[0]
    assert plot.t[-1] == now.t and plot.t[0] >= now.t - RECENT and plot.t[-1] - plot.t[0] == pytest.approx(RECENT, abs=0.1)
    there = np.isfinite(plot.y)
    assert len(plot.t) <= POINTS + 2 and plot.y[there] == pytest.approx(np.sin(plot.t[there])) and there.sum() > 0.9 * POINTS
    now.t = 0.0                                                                # it begins again
    assert np.isfinite(readings.plots(0.0)[0].y).sum() <= 2 and readings.plots(0.0)[0].t[0] == -RECENT


def test_a_signal_that_is_not_there_is_named(trajectory):
    with pytest.raises(ViewerError, match=r"'mechanism' has no signal 'v.arm_jiont' \(did you mean 'v.arm_joint'\?\); expected one of q"):
        Readings(Actor(trajectory), signals=["v.arm_jiont"])


def test_a_long_course_keeps_its_extremes():
    t = np.linspace(0.0, 1.0, 100_000)
    y = np.sin(20 * t)
    y[[777, 54_321]] = 9.0, -8.0
    short_t, short = reduced(t, y)
    assert len(short) <= POINTS + 2 and short.max() == 9.0 and short.min() == -8.0
    assert short_t[0] == 0.0 and short_t[-1] == 1.0 and (np.diff(short_t) > 0).all()
    assert reduced(t[:50], y[:50])[1] is not None and len(reduced(t[:50], y[:50])[0]) == 50


def test_roll_pitch_yaw_make_the_rotation_again():
    rng = np.random.default_rng(3)
    for R in quaternion.to_matrix(quaternion.random(rng, (50,))):
        roll, pitch, yaw = roll_pitch_yaw(R)
        x, y, z = np.eye(3)
        assert np.abs(so3.exp(yaw * z) @ so3.exp(pitch * y) @ so3.exp(roll * x) - R).max() < 1e-12


def test_what_is_left_of_a_motion_that_has_come_to_rest_is_nothing():
    """A floor from what the run itself moves: 10 J of a slew leave 1e-19 J of rounding and control."""
    b = Builder("arm")
    b.add_link("stand"), b.add_link("arm", inertia=inertia.box(2.0, (1.0, 0.2, 0.2)))
    b.add_joint("pivot", "revolute", "stand", "arm", axis=(0, 0, 1))
    run = Simulator(b.model(), gravity=(0, 0, 0)).run([0.0], [10.0], 0.1, record_every=10)
    slow = replace(run, v=np.concatenate([run.v[:-1], run.v[-1:] * 1e-10]))
    assert 0.0 < slow.energy()[0][-1] < 1e-12 * slow.energy()[0][0]
    rows = dict(Readings(Actor(slow)).lines(float(slow.t[-1])))
    assert rows["kinetic energy"] == "0.000 J"
    assert dict(Readings(Actor(slow)).lines(0.0))["kinetic energy"] == f"{figure(float(slow.energy()[0][0]))} J"
