"""The multiplicative filter: its steady state by Farrenkopf's closed form, its consistency, latency, and the chain in C."""

import ctypes
import pickle
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import engine
from engine import sensors as S
from engine.code import export_code
from engine.spatial import inertia, quaternion
from tests.code.programs import FLAGS, FMA, needed, run

SV, SU, SN = 10**-6.5, 10**-9.5, 1.5e-5


def satellite():
    b = engine.Builder("satellite")
    b.add_link("bus", inertia=inertia.from_mass(100.0, [0, 0, 0], np.diag([10.0, 12.0, 15.0])))
    return b.model(floating_base=True)


def flown(period=1.0, tracker=1.0, noise=(1e-3, 1e-4), star=1e-2, latency=0.0, latest=0, dt=0.5, deviation=(0.1, 0.02), guide=(), **more):
    sensors = [S.Gyro("bus", period=period, noise=noise[0], walk=noise[1], bias=np.zeros(3)),
               S.StarTracker("bus", period=tracker, noise=star, latency=latency)]  # fmt: skip
    estimate = S.AttitudeFilter(*noise, star, period, deviation=deviation, latest=latest)
    return engine.Simulator(satellite(), dt=dt, gravity=(0, 0, 0), sensors=sensors, laws=[estimate, *guide], **more)


@pytest.mark.parametrize(("T", "before", "after"), [(1.0, 2.24017353882e-6, 2.21560151893e-6), (10.0, 4.2150203898e-6, 4.05785619898e-6)])
def test_steady_state_is_farrenkopfs(T, before, after):
    """√P of the attitude before and after an update, of the literature's example: the filter keeps what the Riccati equation of one axis,
    iterated apart, comes to."""
    a, b, c = 1e-8, 0.0, 1e-14                                                # P of one axis: attitude, both, bias
    for _ in range(40_000 // int(T)):
        a, b, c = a - 2 * T * b + T * T * c + SV**2 * T + SU**2 * T**3 / 3, b - T * c - SU**2 * T**2 / 2, c + SU**2 * T
        prior, gain, other = np.sqrt(a), a / (a + SN**2), b / (a + SN**2)
        a, b, c = (1 - gain) * a, (1 - gain) * b, c - other * b
    np.testing.assert_allclose([prior, np.sqrt(a)], [before, after], rtol=1e-9)
    estimate, one = S.AttitudeFilter(SV, SU, SN, T).fn, np.array([1.0, 0, 0, 0])
    P = np.kron([[a, b], [b, c]], np.eye(3))
    _, ahead = estimate.predicted(one, P, np.zeros(3), one)
    _, again, *_ = estimate.corrected(one, np.zeros(3), ahead, np.zeros((1, 3)), one, 0.0)
    np.testing.assert_allclose(np.sqrt(np.diag(ahead)[:3]), prior, rtol=1e-12)
    np.testing.assert_allclose(again, P, rtol=1e-9, atol=1e-12 * np.abs(P).min(where=P != 0.0, initial=1.0))


def test_errors_are_as_large_as_it_says():
    """Normalised squares over runs that begin as uncertain as the filter is told: mean six (three of innovations), within 99 % of χ²."""
    simulator, n = flown(), 500
    rng = np.random.default_rng(1)
    q0 = np.zeros((n, 7))
    q0[:, :4] = quaternion.exp(0.1 * rng.standard_normal((n, 3)))
    v0 = np.zeros((n, 6))
    v0[:, :3] = 0.05 * rng.standard_normal((n, 3))
    b = 0.02 * rng.standard_normal((n, 3))
    found = simulator.run(q0, v0, 60.0, record_every=20, parameters={"gyro.bias": b, "noise.run": np.arange(float(n))})
    s, last = found.signals, found.t[-1]
    walked = s["gyro"] - s["gyro.true"]                                       # what the bias has walked is not recorded: by attitude alone
    e = quaternion.log(quaternion.product(quaternion.conjugate(s["filter.q"]), found.q[..., :4]))
    P = s["filter.P"][..., :3, :3]
    squares = np.einsum("...i,...ij,...j", e, np.linalg.inv(P), e)
    assert last == 60.0
    assert walked.std() > 0.0
    for k in range(len(found.t)):
        low, high = stats.chi2.ppf([0.005, 0.995], 3 * n) / n
        assert low < squares[:, k].mean() < high, k
    low, high = stats.chi2.ppf([0.005, 0.995], 3 * n * 3) / (3 * n)
    assert low < s["filter.nis"][:, 1:].mean() < high
    assert (s["filter.updates"][:, -1] == 61).all()


def test_a_late_star_tracker_is_compared_with_what_was():
    """Without noise and with the bias known, a spinning body's attitude is exact whatever the latency."""
    simulator = flown(noise=(1e-12, 0.0), star=1e-9, latency=1.5, latest=3, period=0.5, tracker=2.0, deviation=(1e-6, 1e-6))
    found = simulator.run([1.0, 0, 0, 0, 0, 0, 0], [0, 0, 0.2, 0, 0, 0], 20.0)
    e = quaternion.log(quaternion.product(quaternion.conjugate(found.signals["filter.q"]), found.q[:, :4]))
    assert np.abs(e[-1]).max() < 1e-8                                          # 0.3 rad are between a sample and when it is read


CHAIN = ["filter", "guidance", "controller"]


def guidance(t, filter):
    """A turn about an axis that goes about, begun more gently the less is known."""
    angle, slowly = 0.2 * engine.ops.sin(0.3 * t), 1.0 / (1.0 + 1e3 * filter.P[0, 0])
    return {"q": quaternion.exp(slowly * angle * np.array([0.6, 0.0, 0.8])), "rate": slowly * 0.06 * engine.ops.cos(0.3 * t)}


def control(filter, guidance):
    """Point where guidance has it by what is estimated."""
    q = quaternion.product(quaternion.conjugate(guidance.q), filter.q)
    q = engine.ops.where(q[0] < 0.0, -q, q)
    return np.concatenate([-2.0 * q[1:] - 8.0 * (filter.rate - guidance.rate * np.array([0.6, 0.0, 0.8])), np.zeros(3)])


def pushed(t, q, v, u):
    return u


@pytest.mark.parametrize("tracker", [0.5, 0.1])
def test_the_chain_in_c_flies_the_plant_in_c_to_the_same_bits(tmp_path, tracker):
    """Sensors; filter, guidance and controller; the step, each exported: in turn they are the simulation. The chain has no q or v."""
    needed("gcc")
    simulator = flown(period=0.1, tracker=tracker, latency=0.2, latest=2, dt=0.1, controller=control,
                      guide=[engine.Law(guidance, period=0.2)])  # fmt: skip
    plant = engine.Simulator(satellite(), dt=0.1, gravity=(0, 0, 0), controller=pushed, parameters={"u": np.zeros(6)})
    export_code(simulator, tmp_path / "senses.c", part=["gyro", "star_tracker"])
    export_code(simulator, tmp_path / "chain.c", part=CHAIN)
    export_code(plant, tmp_path / "step.c")
    head = (tmp_path / "chain.h").read_text()
    call = head[head.index("int chain(") :].split(";")[0]
    assert "gyro[" in call and "star_tracker_q[" in call and "double q[" not in call and "double v[" not in call
    assert "true" not in call and "noise" not in call
    run(["gcc", *FLAGS, "-O2", *FMA, "-shared", "-fPIC", "senses.c", "chain.c", "step.c", "-o", "all.so", "-lm"], tmp_path)
    library = ctypes.CDLL(str(tmp_path / "all.so"))
    from engine.code.sources import exported

    parts = {n: exported(*of) for n, of in (("senses", (simulator, "senses", ["gyro", "star_tracker"])),
                                            ("chain", (simulator, "chain", CHAIN)), ("step", (plant, "step", None)))}

    def called(name, given):
        e = parts[name]
        results = {r.name: np.zeros(r.size) for r in e.returned}
        held = [np.ravel(np.asarray(given[a.name], dtype=float)).copy() for a in e.parameters]
        types = [x if a.shape else ctypes.c_double(x[0]) for x, a in zip(held, e.parameters, strict=True)]
        args = [x.ctypes.data_as(ctypes.c_void_p) if isinstance(x, np.ndarray) else x for x in types]
        size = re.search(r"_WORK (\d+)", (tmp_path / f"{name}.h").read_text())
        work = [np.zeros(int(size[1]))] if size else []                        # room of the caller's, for a long program
        assert getattr(library, name)(*args, *(r.ctypes.data_as(ctypes.c_void_p) for r in (*results.values(), *work))) == 0
        return results

    q0, v0 = np.array([0.9, 0.1, -0.3, 0.3, 0, 0, 0]), np.array([0.02, -0.01, 0.03, 0, 0, 0])
    flight = simulator.run(q0 / np.linalg.norm(q0), v0, 3.0)
    p, x = plant.stepper.begin(q0 / np.linalg.norm(q0), v0)
    own, at = simulator.stepper.nominal(), plant.stepper.layout.slices
    memory = {"senses": parts["senses"].initial["held"], "chain": parts["chain"].initial["held"]}
    for k in range(30):
        np.testing.assert_array_equal(x[at["q"]], flight.q[k])
        given = {"t": k * 0.1, "q": x[at["q"]], "v": x[at["v"]], "p": own, "held": memory["senses"]}
        seen = called("senses", given)
        memory["senses"] = seen.pop("held_next")
        said = called("chain", {"t": k * 0.1, "p": own, "held": memory["chain"], **seen})
        memory["chain"] = said["held_next"]
        np.testing.assert_array_equal(said["filter_q"], flight.signals["filter.q"][k])
        np.testing.assert_array_equal(said["guidance_q"], flight.signals["guidance.q"][k])
        p[plant.plant.parameters.slices["u"]] = said["tau"]
        x = called("step", {"k": float(k), "p": p, "x": x})["x_next"]
    np.testing.assert_array_equal(x[at["q"]], flight.q[30])


def tumbling(integrating, runs=200):
    """A body of unequal inertias tumbles once around in 12 s; its gyro has no bias that walks, so that all errors are known."""
    noise, star = (1e-5, 0.0), 3e-5
    sensors = [S.Gyro("bus", period=0.2, noise=noise[0], integrating=integrating), S.StarTracker("bus", period=1.0, noise=star)]
    estimate = S.AttitudeFilter(*noise, star, 0.2, deviation=(1e-3, 1e-4))
    simulator = engine.Simulator(satellite(), dt=0.05, gravity=(0, 0, 0), sensors=sensors, laws=[estimate])
    rng = np.random.default_rng(2)
    q0, b = np.zeros((runs, 7)), 1e-4 * rng.standard_normal((runs, 3))
    q0[:, :4] = quaternion.exp(1e-3 * rng.standard_normal((runs, 3)))
    found = simulator.run(q0, [0.3, 0.2, 0.35, 0, 0, 0], 60.0, record_every=100, parameters={"gyro.bias": b, "noise.run": np.arange(runs)})
    s = found.signals
    own = [S.nees(found.q[..., k, :4], b, s["filter.q"][:, k], s["filter.bias"][:, k], s["filter.P"][:, k]) for k in range(len(found.t))]
    return found, np.array(own)


def test_a_tumbling_body_is_known_as_well_as_it_says_by_an_integrating_gyro():
    """NEES of attitude and bias, six in the mean, within 99 % of χ², although the rate changes by a tenth in a period. One that reads the
    rate at the end of a period is as wrong as that: the run says that the filter does not know."""
    found, own = tumbling(True)
    assert not found.warnings
    low, high = stats.chi2.ppf([0.005, 0.995], 6 * own.shape[1]) / own.shape[1]
    assert low < own[0].mean() < high
    assert ((low < own[1:].mean(axis=1)) & (own[1:].mean(axis=1) < high)).mean() > 0.9
    with pytest.warns(engine.SimulationWarning, match="'filter' does not know how far it is off: .* of 3 numbers is beyond 70.3 once in"):
        found, own = tumbling(False, 2)
    assert own[-1].min() > 1e4
    assert "a Gyro that is integrating" in found.warnings[0]


def test_a_filter_whose_covariance_loses_its_sign_says_so():
    estimate = S.AttitudeFilter(1e-3, 0.0, 1e-2, 1.0)
    estimate.memory[7] = -1.0
    simulator = engine.Simulator(satellite(), dt=0.5, gravity=(0, 0, 0), laws=[estimate],
                                 sensors=[S.Gyro("bus", period=1.0), S.StarTracker("bus", period=1.0, noise=1e-2)])  # fmt: skip
    with pytest.raises(engine.SimulationError, match="filter returns a P that is no longer positive"):
        simulator.run([1.0, 0, 0, 0, 0, 0, 0], np.zeros(6), 5.0)


def test_it_travels_and_what_is_refused():
    again = pickle.loads(pickle.dumps(flown()))
    assert repr(again) == repr(flown())
    with pytest.raises(engine.code.ExportError, match="'accelerometer' measures accelerations or forces, which the whole step makes"):
        export_code(engine.Simulator(satellite(), sensors=[S.Accelerometer("bus")]), "chain.c", part="accelerometer")
    for make, text in ((lambda: S.AttitudeFilter(-1.0, 0.0, 1.0, 1.0), "filter: noise is -1.0; expected a number from 0"),
                       (lambda: S.AttitudeFilter(1.0, 0.0, 0.0, 1.0), "filter: star_noise is 0.0; expected a number above 0"),
                       (lambda: S.AttitudeFilter(1.0, 0.0, 1.0, 1.0, attitude=[2.0, 0, 0, 0]), "expected a unit quaternion"),
                       (lambda: S.AttitudeFilter(1.0, 0.0, 1.0, 1.0, deviation=(1.0, 0.0)), "deviation is .*; expected two numbers"),
                       (lambda: S.AttitudeFilter(1.0, 0.0, 1.0, 1.0, latest=-1), "latest is -1"),
                       (lambda: engine.Simulator(satellite(), laws=[S.AttitudeFilter(1.0, 0.0, 1.0, 1.0)]),
                        "filter asks for 'gyro'")):  # fmt: skip
        with pytest.raises(engine.SimulationError, match=text):
            make()


def test_a_star_tracker_later_than_the_filter_remembers_is_refused():
    with pytest.raises(engine.SimulationError, match=r"'star_tracker' is read 2 s late, and the filter remembers 1 s; expected latest=2"):
        flown(latency=2.0, latest=1)


def test_a_gyro_of_another_period_is_refused():
    with pytest.raises(engine.SimulationError, match=r"'gyro' samples every 1 s, and the filter every 0.5 s; expected the same"):
        engine.Simulator(satellite(), dt=0.5, sensors=[S.Gyro("bus", period=1.0), S.StarTracker("bus", period=1.0)],
                         laws=[S.AttitudeFilter(1e-3, 0.0, 1e-2, 0.5)])  # fmt: skip
    with pytest.raises(engine.SimulationError, match="gyro: the period is 'fast'; expected seconds"):
        S.Gyro("bus", period="fast")


def test_the_host_program_of_the_docs_flies_recorded_signals_to_the_same_bits(tmp_path):
    """The page's own C, beside its simulator's chain, from what its own run has recorded."""
    needed("gcc")
    page = (Path(engine.__file__).parent / "docs" / "mission.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, re.S)
    known: dict = {}
    exec("\n".join(blocks[:2]), known)
    simulator, flight = known["simulator"], known["flight"]
    export_code(simulator, tmp_path / "flight.c", part=["filter", "guidance", "controller"])
    s = flight.signals
    rows = np.column_stack([flight.t, s["gyro"], s["star_tracker.q"], s["star_tracker.valid"], s["star_tracker.time"]])
    (program,) = re.findall(r"```c\n(/\* host.c.*?)```", page, re.S)
    (tmp_path / "host.c").write_text(program)
    rows.tofile(tmp_path / "recorded.bin")
    run(["gcc", *FLAGS, "-O2", *FMA, "host.c", "flight.c", "-lm", "-o", "host"], tmp_path)
    with (tmp_path / "recorded.bin").open("rb") as given:
        out = subprocess.run([tmp_path / "host"], stdin=given, capture_output=True, check=True).stdout
    found = np.frombuffer(out).reshape(-1, 7)
    np.testing.assert_array_equal(found[:, :4], s["filter.q"])
    np.testing.assert_array_equal(found[:-1, 4:], flight("wheels.torque")[:-1])
