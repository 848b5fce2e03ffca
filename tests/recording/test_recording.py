"""Runs on disk: the same as in memory, to the bit; resumed after a kill; refused where something else would go on."""

import errno
import functools
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import engine
from engine import ops
from engine.components.actuators import ReactionWheels, Thrusters
from engine.components.forces import JointSpring
from engine.progress import progress_bar
from engine.recording import Recorder, Recording, aside
from engine.recording.checksums import FIRST
from engine.recording.journal import Head
from tests.components.test_actuators import satellite
from tests.simulation.test_events import UP, ball, event
from tests.simulation.test_simulator import pendulum, slider

SPIN = np.array([0.3, -0.2, 0.5, 0.1, 0, 0.2])


def busy(dt=1e-3) -> engine.Simulator:
    """States, memories, held commands and pulses, all of which a resumed run has to have."""
    jets = Thrusters("bus", [[0.5, 0, 0], [0, 0.5, 0]], [[0, 1, 0], [0, 0, 1]], most=1.0, pulse=0.015)

    def control(t, q, v, state, gain):
        return {"thrusters": ops.array([ops.sin(30 * t), v[0]]), "wheels": -gain * v[:3] - 0.1 * state}, v[:3]

    return engine.Simulator(satellite(), dt=dt, gravity=(0, 0, 0), actuators=[jets, ReactionWheels("bus", momentum=5.0)],
                            controller=engine.Law(control, state=np.zeros(3), period=0.0047), parameters={"gain": 0.2})  # fmt: skip


def same(a: engine.Trajectory, b: engine.Trajectory) -> None:
    """To the bit."""
    assert a.signals.keys() == b.signals.keys()
    for x, y in ((a.t, b.t), (a.q, b.q), (a.v, b.v), (a.tau, b.tau), (a.vdot, b.vdot), *((a(n), b(n)) for n in a.signals)):
        np.testing.assert_array_equal(x, y, strict=True)
    assert (a.stopped is None) == (b.stopped is None) and len(a.events) == len(b.events)
    if a.stopped is not None:
        np.testing.assert_array_equal(a.stopped, b.stopped, strict=True)
    for e, f in zip(a.events, b.events, strict=True):
        assert (e.function, e.name, e.t) == (f.function, f.name, f.t) and (e.q == f.q).all() and (e.v == f.v).all()


@pytest.mark.parametrize(("duration", "record_every"), [(3.0, 1), (0.7777, 7), (0.01, 100), (0.0004, 1)])
def test_a_run_on_disk_is_the_run_in_memory(tmp_path, duration, record_every):
    start = satellite().neutral(), SPIN
    path = busy().run(*start, duration, record_every, out=tmp_path / "run.h5", notes={"seed": 7})
    same(engine.load_trajectory(path), busy().run(*start, duration, record_every))
    with Recording.open(path) as recording:
        assert recording.complete and recording.header["seed"] == 7 and recording.header["dt"] == 1e-3
    part = engine.load_trajectory(path, start=1, step=2)
    np.testing.assert_array_equal(part.q, engine.load_trajectory(path).q[1::2])
    assert part.model.name == "satellite" and part.gravity == (0, 0, 0)


def test_a_batch_on_disk(tmp_path):
    speeds = SPIN * np.linspace(0.5, 1.5, 5)[:, None]
    gains = {"gain": np.linspace(0.1, 0.5, 5)}
    path = busy().run(satellite().neutral(), speeds, 0.35, 3, parameters=gains, out=tmp_path / "run.h5")
    same(engine.load_trajectory(path), busy().run(satellite().neutral(), speeds, 0.35, 3, parameters=gains))


def test_a_run_on_disk_with_events(tmp_path):
    """Callbacks that change the state, and one that ends it; the file is complete then, and resuming leaves it."""
    def simulator():
        bounce = event(lambda t, q, v: q[6], -1, lambda t, q, v: (q, v * [1, 1, 1, 1, 1, -0.8]))
        return engine.Simulator(ball(), dt=1e-3, events=[bounce, lambda t, q, v: t - 2.7182])

    path = simulator().run(UP, np.zeros(6), 4.0, 3, out=tmp_path / "run.h5")
    memory = simulator().run(UP, np.zeros(6), 4.0, 3)
    same(engine.load_trajectory(path), memory)
    assert len(memory.events) > 3 and abs(memory.t[-1] - 2.7182) < 1e-15
    assert simulator().resume(path) == path
    same(engine.load_trajectory(path), memory)
    same(engine.load_trajectory(memory.save(tmp_path / "saved.h5")), memory)
    same(engine.load_trajectory(memory[::50].save(tmp_path / "part.h5")), memory[::50])
    part = engine.load_trajectory(path, 400, 800, 5)
    assert [e.t for e in part.events] == [e.t for e in memory.events if memory.t[400] <= e.t <= memory.t[799]] != []


def test_a_batch_on_disk_with_events(tmp_path):
    """Some have stopped, some have not; also in a file that was saved, and while the run goes on."""
    simulator = engine.Simulator(ball(), dt=1e-2, events=[lambda t, q, v: q[6]])
    q = UP + np.outer([-0.5, 0.0, 3.0], np.eye(7)[6])
    path = simulator.run(q, np.zeros(6), 0.5, out=tmp_path / "run.h5")
    memory = simulator.run(q, np.zeros(6), 0.5)
    assert np.isfinite(memory.stopped).tolist() == [True, True, False] and len(memory.rollout(0)) < len(memory.rollout(1)) < 50
    same(engine.load_trajectory(path), memory)
    same(engine.load_trajectory(memory.save(tmp_path / "saved.h5")), memory)
    assert len(engine.load_trajectory(path).rollout(0)) == len(memory.rollout(0))
    same(engine.load_trajectory(simulator.resume(path, 0.8)), simulator.run(q, np.zeros(6), 0.8))


@pytest.mark.parametrize("at", [0.5, 0.5004])
def test_a_run_interrupted_in_a_callback_goes_on_to_the_same_bits(tmp_path, at):
    """At an event on the grid and at one between; those before it are kept, that one is not there twice."""
    interrupted = []

    def kick(t, q, v):
        if t > at - 1e-9 and interrupted == [False]:
            interrupted[0] = True
            raise KeyboardInterrupt
        return q, -0.9 * v

    watched = [event(lambda t, q, v, k=k: t - k, callback=kick) for k in (0.2, at, 0.7)]
    simulator = engine.Simulator(pendulum(), dt=1e-3, events=watched)
    whole = simulator.run([0.3], [0.0], 1.0, 5)
    assert len(whole.events) == 3
    interrupted.append(False)
    with pytest.raises(KeyboardInterrupt):
        simulator.run([0.3], [0.0], 1.0, 5, out=tmp_path / "run.h5")
    assert len(engine.load_trajectory(tmp_path / "run.h5").events) == 1
    same(engine.load_trajectory(simulator.resume(tmp_path / "run.h5")), whole)


LONG = 12.0, 2  # s, and every how many steps: 300 blocks for the process that is killed


@pytest.fixture(scope="module")
def begin():
    """Begins, or resumes, the long run in a process of its own; gives its number. What it prints next is its exit status."""
    command = [sys.executable, "-m", "tests.recording.recording_killed", "runs"]
    with subprocess.Popen(command, cwd=Path(engine.__file__).parents[1], text=True, bufsize=1, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as runs:  # fmt: skip
        def begun(path):
            runs.stdin.write(f"{path}\n")
            return int(runs.stdout.readline())

        begun.status = lambda: int(runs.stdout.readline())
        yield begun
        runs.kill()


def test_killed_at_twelve_random_moments(tmp_path, begin):
    """kill −9: every file opens as a beginning of the whole, goes on, and ends in the bits of the run that nobody killed."""
    path, rng, lengths = tmp_path / "run.h5", np.random.default_rng(), [0]
    whole = busy().run(satellite().neutral(), SPIN, *LONG)

    def commits():
        if not path.exists():
            return 0
        with path.open("rb") as file:
            head = Head.of(file.read(FIRST))
        return head.commits if head else before

    for _ in range(12):
        before, process, wanted, end = commits(), begin(path), rng.integers(8), time.monotonic() + 20
        while commits() < before + wanted:
            assert time.monotonic() < end
            time.sleep(0.0005)
        time.sleep(rng.uniform(0, 0.005))
        os.kill(process, signal.SIGKILL)
        assert begin.status() == -signal.SIGKILL
        if path.exists():
            with Recording.open(path) as recording:
                lengths.append(len(recording))
                assert not recording.complete and lengths[-2] <= lengths[-1] < len(whole)
                np.testing.assert_array_equal(recording.read("q"), whole.q[: lengths[-1]])
    assert len({*lengths}) > 3                                                 # on a machine that is busy some are killed before they write
    begin(path)
    assert begin.status() == 0
    same(engine.load_trajectory(path), whole)


def test_memory_does_not_grow_with_the_duration(tmp_path):
    """A batch's records go through memory a block at a time: 22 MB of them take as much as 87 MB."""
    def peak(steps):
        command = [sys.executable, "-m", "tests.recording.recording_killed", "memory", tmp_path / "run.h5", "1000", str(steps), "5"]
        done = subprocess.run(command, cwd=Path(engine.__file__).parents[1], capture_output=True, text=True, check=True)
        return float(done.stdout)

    short, long = peak(200), peak(800)
    assert (tmp_path / "run.h5").stat().st_size > 85e6
    assert long < short + 20


def test_a_disk_that_fills(tmp_path, monkeypatch):
    """The thread's error is the caller's; the file is a beginning, and goes on once there is room."""
    pwrite, left = os.pwrite, [300]

    def write(*arguments):
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return pwrite(*arguments)

    path, start = tmp_path / "run.h5", (satellite().neutral(), SPIN)
    monkeypatch.setattr(Recorder, "age", 0.0)
    with monkeypatch.context() as patch, pytest.raises(engine.StorageError, match=r"run\.h5' cannot be written \(No space left"):
        patch.setattr(os, "pwrite", write)
        busy().run(*start, 200.0, out=path)
    whole = busy().run(*start, 20.0)
    n = len(engine.load_trajectory(path))
    assert 0 < n < 200_001 and not Recording.open(path).complete
    np.testing.assert_array_equal(engine.load_trajectory(path, stop=20_001).q, whole.q[:n])
    with pytest.raises(engine.StorageError, match="exists"):
        busy().run(*start, 0.1, out=path)


@pytest.fixture
def small(tmp_path):
    """A disk of 2 MB."""
    command = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", tmp_path]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("no disk may be mounted here")
    yield tmp_path
    subprocess.run(["umount", tmp_path], check=True)


def test_what_a_full_disk_has_is_read_gone_on_with_and_converted(small, tmp_path_factory):
    """A run of which all may be computed within the second after which a commit is made."""
    start = satellite().neutral(), SPIN
    told = r"run\.h5' cannot be written \(No space left .*what was committed before is kept"
    with pytest.raises(engine.StorageError, match=told) as said:
        busy().run(*start, 20.0, out=small / "run.h5")
    assert "\n" not in str(said.value)
    found, whole = engine.load_trajectory(small / "run.h5"), busy().run(*start, 2.0)
    n = min(len(found), len(whole))
    assert n > 50 and not Recording.open(small / "run.h5").complete
    np.testing.assert_array_equal(found.q[:n], whole.q[:n])
    log = found.save(tmp_path_factory.mktemp("other") / "run.mat")
    assert log.exists()
    subprocess.run(["mount", "-o", "remount,size=64m", small], check=True)
    end = engine.load_trajectory(busy().resume(small / "run.h5"))
    np.testing.assert_array_equal(end.q, busy().run(*start, 20.0).q)


def test_a_trajectory_that_does_not_fit_is_not_saved(small):
    """The file that was there stays, whole; nothing else is left behind."""
    start = satellite().neutral(), SPIN
    before, much = busy().run(*start, 0.01), busy().run(*start, 20.0)
    before.save(small / "run.h5")
    bytes_ = (small / "run.h5").read_bytes()
    for path, more in ((small / "other.h5", {}), (small / "run.h5", {"overwrite": True})):
        told = rf"{path}' cannot be written \(No space left on device\); expected a disk with room$"
        with pytest.raises(engine.StorageError, match=told):
            much.save(path, **more)
        assert [p.name for p in small.iterdir()] == ["run.h5"]
    assert (small / "run.h5").read_bytes() == bytes_
    before.save(small / "run.h5", overwrite=True)


def test_nothing_is_written_after_an_error(tmp_path):
    """Of the thread's, which is not the recorder's: what came before is kept, the file is not complete."""
    def work(k, recorder):
        if k == 3:
            raise MemoryError
        recorder.append({"t": np.full(1, float(k))}, {})

    with pytest.raises(MemoryError), aside(lambda: Recorder.create(tmp_path / "run.h5", {"t": ()}, (), {}, {})) as add:
        for k in range(5):
            add(functools.partial(work, k))
    with Recording.open(tmp_path / "run.h5") as recording:
        assert recording.read("t").tolist() == [0, 1, 2] and not recording.complete


def test_resuming_to_a_longer_duration(tmp_path):
    """What was complete goes on where it ended, on the grid."""
    start = satellite().neutral(), SPIN
    path = busy().run(*start, 0.5, 5, out=tmp_path / "run.h5")
    same(engine.load_trajectory(busy().resume(path)), busy().run(*start, 0.5, 5))
    same(engine.load_trajectory(busy().resume(path, 1.3)), busy().run(*start, 1.3, 5))
    with Recording.open(path) as recording:
        assert recording.header["duration"] == 1.3 and recording.header["record_every"] == 5


def test_another_simulator_is_refused(tmp_path):
    path = engine.Simulator(slider(), dt=1e-3, forces=[JointSpring("slide", 3.0)]).run([0.1], [0.0], 0.01, out=tmp_path / "run.h5")
    before = path.read_bytes()
    spring = [JointSpring("slide", 3.0)]
    for simulator, text in [
        (engine.Simulator(slider(3.0), dt=1e-3, forces=spring), "another model"),
        (engine.Simulator(slider(), dt=2e-3, forces=spring), "dt 0.001, not 0.002"),
        (engine.Simulator(slider(), dt=1e-3, forces=spring, integrator="cf4"), "integrator 'cg4', not 'cf4'"),
        (engine.Simulator(slider(), dt=1e-3, forces=spring, gravity=(0, 0, 0)), "gravity [0.0, 0.0, -9.81], not [0.0, 0.0, 0.0]"),
        (engine.Simulator(slider(), dt=1e-3, forces=[JointSpring("slide", 4.0)]), "other functions, forces or actuators"),
        (engine.Simulator(slider(), dt=1e-3, forces=spring, controller=lambda t, q, v: -v), "other functions, forces or actuators"),
    ]:
        with pytest.raises(engine.SimulationError, match=re.escape(f"was recorded with {text}; expected the simulator that began it")):
            simulator.resume(path, 0.02)
    with pytest.raises(engine.StorageError, match=r"exists|overwrite"):
        engine.Simulator(slider()).run([0.1], [0.0], 0.01, out=path)
    assert path.read_bytes() == before
    with pytest.raises(engine.StorageError, match="there is no file"):
        engine.Simulator(slider()).resume(tmp_path / "none.h5")
    engine.Simulator(slider()).run([0.1], [0.0], 0.02, out=path, overwrite=True)
    assert len(engine.load_trajectory(path)) == 21


@pytest.mark.parametrize("compiled", [True, False])
def test_a_run_that_fails_leaves_what_it_recorded(tmp_path, compiled):
    """The file then holds the records until then, as the error in memory does, and is not gone on with."""
    def control(t, q, v):
        return v + ops.where(t > 0.0255, np.nan, 0.0)

    simulator = engine.Simulator(pendulum(), dt=1e-3, controller=control, compiled=compiled)
    with pytest.raises(engine.SimulationError, match=r"control return.* NaN or infinity.*recorded until then in '.*run\.h5'"):
        simulator.run([0.1], [0.0], 1.0, out=tmp_path / "run.h5")
    with pytest.raises(engine.SimulationError) as caught:
        simulator.run([0.1], [0.0], 1.0)
    same(engine.load_trajectory(tmp_path / "run.h5"), caught.value.trajectory)
    assert 25 <= len(caught.value.trajectory) <= 26


def test_a_longer_run_that_was_interrupted_is_resumed_to_its_new_end(tmp_path):
    start, stop = ([0.1], [0.0]), []

    def look(t, q, v):
        if t > 0.5 and stop:
            raise KeyboardInterrupt

    simulator = engine.Simulator(pendulum(), dt=1e-3, events=[event(lambda t, q, v: q[0], callback=look)])
    path = simulator.run(*start, 0.1, out=tmp_path / "run.h5")
    stop.append(True)
    with pytest.raises(KeyboardInterrupt):
        simulator.resume(path, 5.0)
    stop.clear()
    same(engine.load_trajectory(simulator.resume(path)), simulator.run(*start, 5.0))


def test_the_rate_is_of_the_steps_done_now(capsys, monkeypatch):
    """400 steps in a second, and 9600 before."""
    clock = iter([0.0, 1.0])
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock))
    monkeypatch.setattr("rich.progress.Progress.update", lambda self, task, **what: print(what))
    with progress_bar("simulating", "steps", 10_000, True, 9600) as advanced:
        advanced(10_000)
        advanced(-1)
    assert "{'completed': 10000, 'rate': 400.0, 'text': ''}" in capsys.readouterr().out


def test_progress_bars_of_runs_on_disk(tmp_path, capsys):
    simulator = engine.Simulator(pendulum(), dt=1e-3)
    path = simulator.run([0.1], [0.0], 0.5, out=tmp_path / "run.h5", progress=True)
    assert "500/500 steps" in capsys.readouterr().out
    simulator.resume(path, 0.8, progress=True)
    assert "800/800 steps" in capsys.readouterr().out


def test_reading_while_it_is_written(tmp_path, begin):
    """Another process writes; every reading is a beginning of the whole."""
    path, lengths = tmp_path / "run.h5", []
    whole = busy().run(satellite().neutral(), SPIN, *LONG)
    begin(path)
    while not lengths or lengths[-1] < len(whole):
        if path.exists():
            part = engine.load_trajectory(path)
            lengths.append(len(part))
            np.testing.assert_array_equal(part.q, whole.q[: len(part)])
        time.sleep(0.1)
    assert begin.status() == 0 and sorted(lengths) == lengths and len({*lengths}) > 3
