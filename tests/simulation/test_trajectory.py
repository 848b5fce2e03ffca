"""What a simulation leaves behind: between its states, parts of it, tables, files, figures."""

import csv
import re
from dataclasses import replace

import h5py
import matplotlib
import numpy as np
import pandas as pd
import pytest
import xarray as xr

import engine
from engine.components.actuators import Motor, ReactionWheels
from engine.components.forces import JointSpring
from tests.components.test_actuators import boole
from tests.simulation.test_simulator import pendulum, slider
from tests.trees import random_tree

matplotlib.use("Agg")


@pytest.fixture(scope="module")
def tree():
    """A floating base with joints of several kinds and wheels."""
    rng = np.random.default_rng(8)
    model = random_tree(rng, 4, ("spherical", "planar", "revolute", "universal"), floating_base=True)
    q, v = model.random(rng)
    simulator = engine.Simulator(model, dt=1e-3, gravity=(0, 0, 0), actuators=[ReactionWheels("l0", initial=[1.0, 2, 3])],
                                 controller=lambda t, q, v: {"tau": -0.1 * v, "wheels": 0.3 * v[:3]})  # fmt: skip
    return model, simulator, q, 0.5 * v


@pytest.fixture(scope="module")
def batch(tree):
    _, simulator, q, v = tree
    return simulator.run(q, v * np.linspace(0.5, 1.5, 6).reshape(2, 3, 1), 0.05, record_every=5)


# ---------------------------------------------------------------- between


def test_at_meets_the_states_and_converges_with_their_spacing(tree):
    """On the group: order 4 in q and v, 2 in what has no rate recorded; the motion itself at the nodes."""
    model, simulator, q, v = tree
    fine = simulator.run(q, v, 0.8)
    times = np.linspace(0.0, 0.8, 801)[37:-40:11] + 0.0
    k = np.round(times / 1e-3).astype(int)
    errors = []
    for every in (40, 20, 10):
        coarse = simulator.run(q, v, 0.8, record_every=every)
        nodes = coarse.at(coarse.t)
        assert np.abs(nodes.q - coarse.q).max() < 1e-14 and np.abs(nodes.v - coarse.v).max() < 1e-14
        assert all(np.abs(nodes(n) - coarse(n)).max() < 1e-12 for n in coarse.signals)
        between = coarse.at(times)
        assert np.abs(np.linalg.norm(between.q[:, :4], axis=1) - 1).max() < 1e-15
        errors.append([np.abs(model.difference(fine.q[k], between.q)).max(), np.abs(between.v - fine.v[k]).max(),
                       np.abs(between.vdot - fine.vdot[k]).max(), np.abs(between("wheels.momentum") - fine("wheels.momentum")[k]).max()])
    orders = np.log2(np.array(errors)[:-1] / np.array(errors)[1:])
    assert (np.abs(orders[-1] - [4, 4, 2, 2]) < 0.5).all(), orders


def test_at_is_within_the_time(tree, batch):
    for times in (-0.001, 0.0501, [0.01, np.nan], np.inf):
        with pytest.raises(engine.StateError, match=r"expected them within 0 … 0\.05 s"):
            batch.at(times)
    with pytest.raises(engine.StateError, match="expected at least one time"):
        batch.at([])
    one = batch.rollout((1, 2))
    np.testing.assert_array_equal(batch.at([0.011, 0.033]).q[1, 2], one.at([0.011, 0.033]).q)
    assert one.at(0.02).q.shape == (1, one.model.nq)


# ---------------------------------------------------------------- parts


def test_parts_in_time_and_rollouts(batch):
    assert batch.q.shape[:3] == (2, 3, 11) and "(2, 3) rollouts" in repr(batch) and len(batch) == 11
    for part in (slice(2, 7, 2), slice(None, None, -1), -1, 3, batch.t > 0.02):
        taken = batch[part]
        rows = np.atleast_1d(np.arange(11)[part])
        assert (taken.t == batch.t[rows]).all()
        for x, y in ((taken.q, batch.q), (taken.tau, batch.tau), *((taken(n), batch(n)) for n in batch.signals)):
            np.testing.assert_array_equal(x, y[:, :, rows])
    one = batch.rollout((1, 0))
    assert (one.q == batch.q[1, 0]).all() and (one("wheels.torque") == batch("wheels.torque")[1, 0]).all()
    assert (batch.rollout(1).rollout(0).v == one.v).all()
    with pytest.raises(engine.StateError, match="expected a batch"):
        one.rollout(0)
    with pytest.raises(engine.StateError, match=re.escape("no signal 'wheels.torqe' (did you mean 'wheels.torque'?); expected one of")):
        one("wheels.torqe")
    for wrong in (lambda: batch[11], lambda: batch[-12]):
        with pytest.raises(IndexError, match=r"there is no state -?1[12]; expected one of 11"):
            wrong()
    for k in (2, -3, (0, 3), (0, 0, 0), "x", 1.0, None, True):
        with pytest.raises(engine.StateError, match=re.escape(f"there is no rollout {k!r}; expected an index into (2, 3)")):
            batch.rollout(k)
    for wrong in ("a", 1.0, None, True, (1, 2), np.zeros((2, 2), int), [True] * 3, {}):
        with pytest.raises(engine.StateError, match=r"\] is no part of its 11 states in time; expected an index, slice or mask"):
            batch[wrong]
    assert len([*one]) == 11  # iteration ends


def test_power_is_by_component():
    spring = JointSpring("slide", 3.0, damping=0.2)
    trajectory = engine.Simulator(slider(), dt=1e-2, forces=[spring], controller=lambda t, q, v: np.sin(t) + 0 * v).run([0.5], [1.0], 1.0)
    q, v = trajectory.q[:, 0], trajectory.v[:, 0]
    power = trajectory.power()
    assert {*power} == {"drive", "spring of slide"}
    assert np.abs(power["drive"] - np.sin(trajectory.t) * v).max() < 1e-15
    assert np.abs(power["spring of slide"] - (-3.0 * q - 0.2 * v) * v).max() < 1e-15


# ---------------------------------------------------------------- energy and momentum


@pytest.fixture(scope="module")
def own():
    """Rollouts (2, 3) with masses, inertias and gravity of their own, on a floating base with geared motors."""
    rng = np.random.default_rng(3)
    model = random_tree(rng, 3, ("revolute",), floating_base=True)
    q, v = model.random(rng)
    G = model.link("l2").inertia
    motors = [Motor(f"j{k}", gear=30.0, rotor=2e-3 * k, effort=4.0) for k in (1, 3)]
    simulator = engine.Simulator(model, dt=1e-3, actuators=motors, joint_dynamics=False,
                                 controller=lambda t, q, v: np.concatenate([np.zeros(6), 3 * np.sin(5 * t) - v[6:]]),
                                 parameters={"mass.l1": 1.0, "inertia.l2": G, "gravity": (0, 0, -9.81)})  # fmt: skip
    values = {"mass.l1": np.array([[0.5], [4.0]]), "inertia.l2": G * np.array([1.0, 2.0, 3.0])[:, None, None],
              "gravity": np.array([[0, 0, -9.81], [1.0, 2.0, 3.0], [0, 0, 0]])}  # fmt: skip
    return simulator.run(q, 0.3 * v, 0.4, parameters=values), simulator, (q, 0.3 * v), values


def gained(trajectory):
    return np.diff(sum(trajectory.energy())[..., [0, -1]])[..., 0]


def test_energy_of_rollouts_with_their_own_masses_gravity_and_rotors_is_the_work_done(own):
    trajectory, *_ = own
    work = boole(np.moveaxis(sum(trajectory.power().values()), -1, 0), 1e-3)
    assert work.shape == (2, 3) and np.abs(work).min() > 0.1 and np.abs(gained(trajectory) - work).max() < 1e-9


def test_momentum_of_rollouts_with_their_own_masses_grows_by_their_weights(own):
    trajectory, _, _, values = own
    links = trajectory.model.links
    mass = sum(link.mass for link in links if link.name not in ("l1", "l2")) + values["mass.l1"]
    mass = mass + trajectory.model.link("l2").mass * np.array([1.0, 2.0, 3.0])
    grown = trajectory.momentum()[..., 3:] - trajectory.momentum()[..., :1, 3:]
    expected = (mass[..., None] * values["gravity"])[:, :, None] * trajectory.t[:, None]
    assert np.abs(grown - expected).max() < 1e-11
    still = trajectory.momentum()[:, 2]
    assert np.abs(still - still[:, :1]).max() < 1e-12 * np.abs(still).max()  # no gravity: angular too


def test_energy_and_momentum_of_a_body_in_closed_form():
    """K = ½ (m + n² Jr) v², U = −m g·x, p = m v: on a slope, with two masses, a geared motor and gravity along x."""
    simulator = engine.Simulator(slider(), dt=1e-2, actuators=[Motor("slide", gear=10.0, rotor=0.03)],
                                 parameters={"mass.cart": 2.0, "gravity": (0, 0, 0)})  # fmt: skip
    m, g = np.array([2.0, 5.0]), 1.5
    trajectory = simulator.run([0.0], [0.7], 1.0, parameters={"mass.cart": m, "gravity": [g, 0, 0]})
    a = m[:, None] * g / (m[:, None] + 3.0)
    x, v = 0.7 * trajectory.t + a * trajectory.t**2 / 2, 0.7 + a * trajectory.t
    K, U = trajectory.energy()
    assert np.abs(K - (m[:, None] + 3.0) * v**2 / 2).max() < 1e-12 and np.abs(U + m[:, None] * g * x).max() < 1e-12
    assert np.abs(trajectory.momentum()[..., 3] - m[:, None] * v).max() < 1e-12


def test_parts_of_a_trajectory_and_files_keep_the_parameters(own, tmp_path):
    trajectory, simulator, start, values = own
    K, P = trajectory.energy()[0], trajectory.momentum()
    saved = engine.load_trajectory(trajectory.save(tmp_path / "saved.h5"))
    written = engine.load_trajectory(simulator.run(*start, 0.4, parameters=values, out=tmp_path / "run.h5"))
    assert (saved.to_xarray()["inertia.l2"].values == trajectory.parameters["inertia.l2"]).all()
    for same in (saved, written):
        assert same.armature == trajectory.armature and sorted(same.armature)[6:] == [0, 1.8, 5.4]
        assert same.parameters.keys() == trajectory.parameters.keys()
        assert all((same.parameters[n] == x).all() for n, x in trajectory.parameters.items())
        assert (same.energy()[0] == K).all() and (same.momentum() == P).all()
    assert (trajectory[::7].energy()[0] == K[..., ::7]).all()
    np.testing.assert_allclose(trajectory.at(trajectory.t[5:9]).momentum(), P[..., 5:9, :], rtol=1e-12)
    for k in ((0, 1), (1, 2)):
        one = trajectory.rollout(k)
        assert (one.energy()[0] == K[k]).all() and (trajectory.rollout(k[0]).rollout(k[1]).momentum() == P[k]).all()
        v = one.v.copy()
        v[:, 6:] = 0  # rotors do not turn: the robot's own is all
        np.testing.assert_allclose(replace(one, v=v).energy(), one.robot.energy(one.q, v), rtol=1e-13, atol=1e-12)
        assert one.robot.gravity == tuple(values["gravity"][k[1]])
    with pytest.raises(engine.StateError, match=r"the rollouts differ in 'mass.l1'; expected one of them, such as trajectory\.rollout"):
        _ = trajectory.robot
    alike = simulator.run(start[0], np.tile(start[1], (2, 1)), 0.01)
    assert alike.robot.gravity == (0, 0, -9.81)


# ---------------------------------------------------------------- tables


def test_columns_name_every_number_once(tree, batch):
    model, *_ = tree
    columns = batch.columns()
    size = model.nq + 3 * model.nv + sum(int(np.prod(x.shape[3:])) for x in batch.signals.values())
    assert len(columns) == size and all(x.shape == (2, 3, 11) for x in columns.values())
    assert {"q.floating_base.qw", "v.floating_base.wx", "vdot.floating_base.vz", "wheels.torque[2]", "drive.power"} <= columns.keys()
    q, torque = np.stack([x for n, x in columns.items() if n.startswith("q.")], axis=-1), columns["wheels.torque[1]"]
    np.testing.assert_array_equal(q, batch.q)
    np.testing.assert_array_equal(torque, batch("wheels.torque")[..., 1])
    np.testing.assert_array_equal(batch("vdot.floating_base.vz"), columns["vdot.floating_base.vz"])
    with pytest.raises(engine.EngineError, match=r"no signal .q\.floating_base\.qx_. .did you mean .q\.floating_base\.qx."):
        batch("q.floating_base.qx_")


def test_csv_says_every_digit(batch, tmp_path):
    one = batch.rollout((0, 1))
    with one.to_csv(tmp_path / "deeper" / "run.csv").open() as file:
        head, *rows = csv.reader(file)
    assert head == ["t", *one.columns()]
    np.testing.assert_array_equal(np.array(rows, dtype=float), np.column_stack([one.t, *one.columns().values()]))
    with pytest.raises(engine.StateError, match="expected one rollout"):
        batch.to_csv(tmp_path / "batch.csv")
    (tmp_path / "file").touch()
    for path, why in ((tmp_path, "Is a directory"), (tmp_path / "file" / "run.csv", "File exists|Not a directory")):
        with pytest.raises(engine.StorageError, match=rf"'{path}' cannot be written \(({why})\); expected a path that can be written"):
            one.to_csv(path)
    with pytest.raises(engine.StorageError, match=r"'/dev/full' cannot be written \(No space left on device\); expected a place with room"):
        one.to_csv("/dev/full")
    with pytest.raises(engine.ViewerError, match=rf"'{tmp_path}/none/a.png' cannot be written"):
        one.plot(tmp_path / "none" / "a.png")


def test_pandas(batch):
    frame = batch.to_pandas()
    assert isinstance(frame, pd.DataFrame) and frame.index.names == ["rollout", "t"] and len(frame) == 66
    one = batch.rollout((1, 1))
    pd.testing.assert_frame_equal(frame.loc[4], one.to_pandas())
    np.testing.assert_array_equal(one.to_pandas()["v.floating_base.wy"].to_numpy(), one.v[:, 1])
    assert frame.attrs == {"model": batch.model.name, "gravity": batch.gravity}


def test_tables_keep_the_parameters_that_xarray_keeps(tree, tmp_path):
    model, _, q, v = tree
    given = {"gain": np.arange(6.0).reshape(3, 2), "mass.l2": np.array([1.0, 2.0, 3.0])}
    simulator = engine.Simulator(model, dt=1e-3, parameters={"gain": np.zeros(2), "mass.l2": 1.0},
                                 forces=[lambda t, q, v, gain: -gain[0] * v])  # fmt: skip
    motion = simulator.run(q, np.tile(v, (3, 1)), 0.005, parameters=given)
    frame, data = motion.to_pandas(), motion.to_xarray()
    assert [*frame.columns][-3:] == ["gain[0]", "gain[1]", "mass.l2"] and {*given} <= {*data}
    for k in range(3):
        assert (frame.loc[k]["gain[1]"] == given["gain"][k, 1]).all() and (frame.loc[k]["mass.l2"] == k + 1.0).all()
        pd.testing.assert_frame_equal(frame.loc[k], motion.rollout(k).to_pandas())
    table = pd.read_csv(motion.rollout(2).to_csv(tmp_path / "run.csv"), index_col="t")
    pd.testing.assert_frame_equal(table, motion.rollout(2).to_pandas(), rtol=1e-15)


def test_xarray(tree, batch):
    model, *_ = tree
    data = batch.to_xarray()
    assert isinstance(data, xr.Dataset) and data.sizes["t"] == 11 and data.attrs["model"] == model.name
    np.testing.assert_array_equal(data.q.sel(q_entry="floating_base.qw").values, batch.q[..., 0])
    np.testing.assert_array_equal(data["wheels.torque"].sel(t=batch.t[3]).values, batch("wheels.torque")[:, :, 3])
    assert data.q.dims == ("batch0", "batch1", "t", "q_entry") and batch.rollout(0).to_xarray().q.dims == ("rollout", "t", "q_entry")


# ---------------------------------------------------------------- files, figures


def test_save_and_load_a_batch(batch, tmp_path):
    back = engine.load_trajectory(batch.save(tmp_path / "run.h5"))
    assert back.signals.keys() == batch.signals.keys() and back.gravity == batch.gravity and back.model.name == batch.model.name
    for n in ("t", "q", "v", "tau", "vdot"):
        np.testing.assert_array_equal(getattr(back, n), getattr(batch, n), strict=True)
    assert (back.energy()[0] == batch.energy()[0]).all()
    with pytest.raises(engine.StorageError, match="exists"):
        batch.save(tmp_path / "run.h5")
    with h5py.File(tmp_path / "run.h5") as file:  # ordinary HDF5
        assert file["q"].shape == (11, 2, 3, batch.model.nq) and file["wheels.torque"].shape == (11, 2, 3, 3)


def test_plots_show_what_there_is(tree, batch, tmp_path):
    import matplotlib.pyplot as plt

    one = batch.rollout((0, 0))
    figure = one.plot(tmp_path / "run.png")
    assert (tmp_path / "run.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n" and len(figure.axes) == 6
    lines = {line.get_label(): line for axis in figure.axes for line in axis.lines}
    np.testing.assert_array_equal(lines["wheels"].get_ydata(), one.power()["wheels"])
    swing = engine.Simulator(pendulum(), dt=1e-2).run([0.5], [0.0], 1.0)
    np.testing.assert_array_equal(swing.plot().axes[0].lines[0].get_ydata().ravel(), swing.q[:, 0])
    with pytest.raises(engine.StateError, match="a plot is of one rollout"):
        batch.plot()
    plt.close("all")


def test_files_are_named_as_what_they_hold(batch, tmp_path):
    for name in ("run.csv", "run.npz"):
        with pytest.raises(engine.StorageError, match=rf"{name}' ends in '.*', and what is written is HDF5; expected .h5"):
            batch.save(tmp_path / name)
    for name in ("run", "run.HDF5"):
        assert len(engine.load_trajectory(batch.save(tmp_path / name))) == 11
    simulator = engine.Simulator(batch.model)
    with pytest.raises(engine.StorageError, match=r"x.csv' ends in '.csv', and what is written is HDF5"):
        simulator.run(batch.model.neutral(), np.zeros(batch.model.nv), 0.01, out=tmp_path / "x.csv")
    run = simulator.run(batch.model.neutral(), np.zeros(batch.model.nv), 0.01, out=tmp_path / "run.h5")
    with pytest.raises(engine.SimulationError, match=r"duration is 0.005 s, and '.*' holds 0.01 s already; expected a duration"):
        simulator.resume(run, 0.005)


def test_a_trajectory_tells_which_joints_are_at_their_effort_limits():
    """By name, from when on, and in how many records of all rollouts; nothing where none is."""
    builder = engine.Builder("pair")
    builder.add_link("base")
    for name in ("a", "b"):
        builder.add_link(name, engine.spatial.inertia.sphere(1.0, 0.1))
        builder.add_joint(f"slide_{name}", "prismatic", "base", name, axis=(1, 0, 0), limits=engine.Limits(effort=2.0))
    pushed = engine.Simulator(builder.model(), dt=0.1, controller=lambda t, q, v: np.array([1.0, np.where(t > 0.45, 3.0 + q[1], 1.0)]))
    run = pushed.run(np.zeros(2), np.zeros(2), 0.9)
    assert repr(run) == "<trajectory of 'pair': 10 states, 0 … 0.9 s; at the effort limit: slide_b (from 0.5 s, 50 % of records)>"
    batch = pushed.run(np.array([[0.0, 0.0], [0.0, -10.0]]), np.zeros(2), 0.9)      # the second commands less than −2 N: clipped, too
    assert "(2,) rollouts; at the effort limit: slide_b (from 0.5 s, 50 % of records)>" in repr(batch)
    assert repr(pushed.run(np.zeros(2), np.zeros(2), 0.4)) == "<trajectory of 'pair': 5 states, 0 … 0.4 s>"
