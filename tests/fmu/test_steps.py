"""FMUs by FMPy: valid, the engine's own bits, states that are saved, and one sentence for whatever is wrong."""

import functools
import threading

import numpy as np
import pytest

import engine
from tests.code.programs import needed
from tests.fmu.instances import Instance, extracted
from tests.fmu.robots import driven, flyer

validation = pytest.importorskip("fmpy.validation")
VERSIONS = ("2.0", "3.0")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    needed("cc")
    return tmp_path_factory.mktemp("fmu")


@pytest.fixture(scope="module")
def made(folder):
    """Simulators and their FMUs of a version, each written once."""

    @functools.cache
    def of(name, version):
        simulator = {"flyer": flyer, "arm": driven}[name]()
        more = {"inputs": ["target"], "poses": ["tip"], "outputs": ["q", "v", "tau", "vdot"]} if name == "flyer" else {"inputs": ["torque"]}
        return simulator, engine.export_fmu(simulator, folder / f"{name}{version[0]}.fmu", version=version, **more)

    return of


@pytest.fixture(params=VERSIONS)
def flown(made, request):
    return made("flyer", request.param)


@pytest.fixture(params=VERSIONS)
def arm(made, request):
    return made("arm", request.param)


def begun(simulator, seed=0):
    rng = np.random.default_rng(seed)
    q = simulator.model.initial()
    q[-2:] = rng.normal(size=2) * 0.1
    return q, 0.1 * rng.normal(size=simulator.model.nv)


def same(f, state):
    assert (f.get("q") == state.q).all()
    assert (f.get("v") == state.v).all()
    assert (f.get("tau") == state.tau).all()


def test_fmpy_finds_nothing_to_say(flown):
    assert validation.validate_fmu(str(flown[1])) == []


def test_the_bits_of_the_simulator_with_inputs_and_a_mass_that_changes(flown):
    simulator, path = flown
    q, v = begun(simulator)
    f, state, link = Instance(path).begin(start_q=q, start_v=v), simulator.start(q, v), simulator.robot
    same(f, state)
    for k in range(60):
        given = {"target": 0.3 * np.sin(0.1 * k + np.arange(2))} | ({"mass.tip": 0.8} if k == 31 else {})
        for n, x in given.items():
            f.set(n, x)
        state = simulator.step(state, parameters=given)
        f.step(k * simulator.dt, simulator.dt)
        same(f, state)
        assert (f.get("vdot") == state.vdot).all()
    T = link.forward_kinematics(state.q)[simulator.model.link_index("tip")]
    assert np.abs(f.get("pose.tip.position") - T[:3, 3]).max() < 1e-15
    assert np.abs(f.get("pose.tip.rotation") - T[:3, :3].ravel()).max() < 1e-15
    f.close()


def test_many_steps_in_one_call_from_a_time_that_is_not_zero(flown):
    """Sums of times are not to the last bit what the FMU counts: within a thousandth of a step they are taken."""
    simulator, path = flown
    f, dt = Instance(path).begin(t=2.5), simulator.dt
    f.step(2.5 * (1 + 1e-15), 7 * dt + 1e-6 * dt)
    f.step(sum([dt] * 7, 2.5), 3 * dt)
    run = simulator.run(simulator.model.initial(), np.zeros(simulator.model.nv), 10 * dt)
    assert np.abs(f.get("q") - run.q[-1]).max() < 1e-14
    assert f.get("time")[0] == pytest.approx(2.5 + 10 * dt, abs=1e-15)


def test_fmpys_own_master_runs_it_to_the_same_bits(made):
    fmpy = pytest.importorskip("fmpy")
    simulator, path = made("flyer", "3.0")
    dt = simulator.dt
    found = fmpy.simulate_fmu(str(path), fmi_type="CoSimulation", stop_time=50 * dt, step_size=dt, output_interval=dt)
    run = simulator.run(simulator.model.initial(), np.zeros(simulator.model.nv), 50 * dt)
    for k, name in enumerate(simulator.model.labels("q")):
        assert (found[f"q.{name}"] == run.q[:, k]).all()


def test_rollback_bytes_into_another_instance_and_reset(flown):
    simulator, path = flown
    q, v = begun(simulator)
    f, other, dt = Instance(path).begin(start_q=q, start_v=v), Instance(path, name="two").begin(), simulator.dt

    def ahead(x):
        for k in range(5, 25):
            x.step(k * dt, dt)
        return np.concatenate([x.get("q"), x.get("v"), x.get("time")])

    f.step(0.0, 5 * dt)
    saved = f.saved()
    data, first = f.written(saved), ahead(f)
    f.restore(saved)
    assert (ahead(f) == first).all()
    other.restore(other.read(data))
    assert (ahead(other) == first).all()
    for at in (0, 8, len(data) // 2, len(data) - 1):                           # any bit that has changed on the way
        for bit in (1, 128):
            changed = data[:at] + bytes([data[at] ^ bit]) + data[at + 1 :]
            f.refused("the bytes are no state of this FMU", f.read, changed)
    f.refused("bytes of a state; expected", f.read, data[:-8])
    f.fmu.reset()
    f.begin(start_q=q, start_v=v).step(0.0, 5 * dt)
    assert (ahead(f) == first).all()
    for x in (f, other):
        x.close()


def test_a_state_of_another_fmu_is_refused(flown, arm):
    a, b = Instance(flown[1]).begin(), Instance(arm[1]).begin()
    b.refused("bytes of a state; expected", b.read, a.written(a.saved()))


def test_instances_in_threads(flown):
    simulator, path = flown
    found, _ = {}, extracted(path)                                             # before eight of them unpack it into one folder at once

    def run(seed):
        q, v = begun(simulator, seed)
        f = Instance(path, name=str(seed)).begin(start_q=q, start_v=v)
        for k in range(100):
            f.step(k * simulator.dt, simulator.dt)
        found[seed] = f.get("q")

    threads = [threading.Thread(target=run, args=(s,)) for s in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for s in range(8):
        assert (found[s] == simulator.run(*begun(simulator, s), 100 * simulator.dt).q[-1]).all()


# ---------------------------------------------------------------- what is wrong


def test_a_master_that_goes_back_stalls_or_misses_the_grid(arm):
    simulator, path = arm
    f, dt = Instance(path).begin(stop=0.02), simulator.dt
    f.step(0.0, 3 * dt)
    before = f.get("q")
    f.refused("the communication step is 0 s; expected a multiple of the FMU's own step of 0.001 s", f.step, 3 * dt, 0.0)
    f.refused("the communication step is 0.0015", f.step, 3 * dt, 1.5 * dt)
    f.refused("the communication step is -0.001", f.step, 3 * dt, -dt)
    f.refused("the communication step is nan", f.step, 3 * dt, np.nan)
    f.refused("the communication step is 1e+300", f.step, 3 * dt, 1e300)
    f.refused("where the last step ended, or a state that was saved there", f.step, 0.0, dt)
    f.refused("the communication point is 0.004", f.step, 4 * dt, dt)
    f.refused("beyond the stop time of 0.02 s; expected one to 0.02 s at most", f.step, 3 * dt, 1.0)
    assert (f.get("q") == before).all()
    f.step(3 * dt, dt)                                                         # it goes on where it was
    assert f.get("time")[0] == 4 * dt


def test_a_master_that_adds_up_late_times(arm):
    """At 1e9 s times have steps of 1.2e-7 s: each sum is off by up to half of one, which is the master's affair; its steps are counted."""
    simulator, path = arm
    ends = []
    for adds in (True, False):
        f, t = Instance(path).begin(1e9), 1e9
        for k in range(300):
            f.step(t if adds else 1e9 + k * simulator.dt, simulator.dt)
            t += simulator.dt
        ends.append(np.append(f.get("q"), f.get("time")))
        f.close()
    assert abs(t - (1e9 + 300 * simulator.dt)) > 1e-3 * simulator.dt           # beyond what a single sum may be off by
    assert (ends[0] == ends[1]).all() and ends[0][-1] == 1e9 + 300 * simulator.dt
    f = Instance(path).begin(1e9)
    f.refused("the communication point is 1000000000.00025 s; expected 1000000000 s", f.step, 1e9 + 0.25 * simulator.dt, simulator.dt)
    f.close()


def test_a_master_whose_steps_are_rounded_is_told_so_when_it_is_off_the_grid(arm):
    simulator, path = arm
    f, h = Instance(path).begin(), 1.0003e-3
    for k in range(4):                                                         # each is off by less than a thousandth of dt
        f.step(k * h, h)
    f.refused("in steps (now of 0.0010003 s) that are multiples of the FMU's own of 0.001", f.step, 4 * h, h)
    assert f.get("time")[0] == 4 * simulator.dt
    f.close()


def test_a_start_so_late_that_steps_are_no_times_any_more(arm):
    _, path = arm
    f = Instance(path)
    f.refused("starts at 10000000000000 s, where times are 0.00195 s apart; expected a start within 4.5e+09 s of zero", f.begin, 1e13)
    f.begin(4e9)
    f.close()


def test_values_that_are_none(arm):
    _, path = arm
    f = Instance(path).begin()
    f.refused("'torque[2]' is set to nan; expected finite numbers", f.set, "torque", [0.0, np.nan])
    f.refused("'mass.tip' is set to -1; expected a number above 0", f.set, "mass.tip", -1.0)
    f.refused("'start.q.shoulder' is a start value; expected it in initialization mode or before", f.set, "start.q", [0.0, 0.0])
    f.refused("'q.shoulder' is no input, parameter or start value", f.set, "q", [0.0, 0.0])
    get = f.fmu.getFloat64 if f.new else f.fmu.getReal
    f.refused("the value reference 999; expected one below", get, [999])
    assert (f.get("torque") == 0.0).all()


def test_quaternions_are_made_unit_ones_or_refused(flown):
    simulator, path = flown
    q, v = begun(simulator)
    q[:4] = [0.7, 0.7, 0.1, 0.1]
    f = Instance(path).begin(start_q=q, start_v=v)
    assert np.abs(f.get("q") - simulator.model.normalized(q)).max() < 1e-15
    q[:4] *= 1.1
    g = Instance(path)
    g.refused("of length 1.1; expected a unit one, scalar first", g.begin, start_q=q)


def test_what_may_be_called_when(arm):
    _, path = arm
    f = Instance(path)
    f.refused("DoStep is called where the FMU is in 'instantiated'; expected in 'step mode'", f.step, 0.0, 1e-3)
    f.refused("is called where the FMU is in 'instantiated'", f.get, "q")
    f.refused("ExitInitializationMode is called where the FMU is in 'instantiated'; expected in 'initialization mode'",
              f.fmu.exitInitializationMode)  # fmt: skip
    f.begin()
    f.refused("EnterInitializationMode is called where the FMU is in 'step mode'", f.fmu.enterInitializationMode)
    f.fmu.terminate()
    f.refused("DoStep is called where the FMU is in 'terminated'", f.step, 0.0, 1e-3)
    assert np.isfinite(f.get("q")).all()
    f.refused("is called where the FMU is in 'terminated'", f.set, "torque", [0.0, 0.0])
    f.fmu.reset()
    f.begin().step(0.0, 1e-3)
    with pytest.raises(Exception, match=r"instantiate"):
        Instance(path, token="{of another}")


def test_what_runs_away_is_discarded_and_changes_nothing(arm):
    _, path = arm
    f = Instance(path).begin(torque=[1e300, 1e300])
    before = f.get("q")
    f.refused("the state is not finite any more at t = 0.00", f.step, 0.0, 0.01)
    assert (f.get("q") == before).all()
    f.set("torque", [0.0, 0.0])
    f.step(0.0, 0.01)
    assert f.get("time")[0] == pytest.approx(0.01)


def test_phases_and_latencies_count_from_the_time_it_starts_at(folder):
    """An arm by a late law that ticks between steps, whose first tick is not at the start: at 2.5 s as at 0."""
    late = engine.Law(lambda t, q, v: -3.0 * q - 0.2 * v, period=3.5e-3, phase=2e-3, delay=1.3e-3)
    simulator = engine.Simulator(driven().model, dt=1e-3, controller=late)
    path = engine.export_fmu(simulator, folder / "late.fmu")
    q, v = begun(simulator)
    f, run = Instance(path).begin(t=2.5, start_q=q, start_v=v), simulator.run(q, v, 0.03)
    for k in range(30):
        f.step(2.5 + k * 1e-3, 1e-3)
        assert np.abs(f.get("q") - run.q[k + 1]).max() < 1e-14
    f.close()
