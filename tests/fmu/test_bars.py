"""What an FMU has to bear: 10^5 steps, rows of contacts, fifty boxes, and a spacecraft that senses."""

import numpy as np
import pytest

import engine
from engine import sensors
from tests.code.programs import needed
from tests.contact.test_many import heap, simulator, state
from tests.contact.test_rows import scene, start
from tests.fmu.instances import Instance
from tests.fmu.robots import flyer, servicer, whole_quadruped

validation = pytest.importorskip("fmpy.validation")


@pytest.fixture(autouse=True)
def compiler():
    needed("cc")


def flown(path, run, dt, every):
    """An FMU that is asked step by step, by times that a master has added up, has the bits of a run wherever that has a record."""
    f, t = Instance(path).begin(), 0.0
    for k in range(every * (len(run.t) - 1)):
        f.step(t, dt)
        t += dt
        if (k + 1) % every == 0:
            assert (f.get("q") == run.q[(k + 1) // every]).all(), k
            assert (f.get("v") == run.v[(k + 1) // every]).all(), k
    f.close()
    return t


def test_a_hundred_thousand_steps(tmp_path):
    """Of a free flyer by a law with a memory; what the master adds up is off in the end, and is taken."""
    made, steps = flyer(), 100_000
    path = engine.export_fmu(made, tmp_path / "flyer.fmu")
    run = made.run(made.model.initial(), np.zeros(made.model.nv), steps * made.dt, record_every=1000)
    assert flown(path, run, made.dt, 1000) != steps * made.dt
    assert path.stat().st_size < 1e6


def test_links_whose_contacts_are_rows(monkeypatch, tmp_path):
    """A snake and a ball that fall on the ground, and on each other."""
    made = scene(monkeypatch, True)
    q, v = start(made.model)
    path = engine.export_fmu(made, tmp_path / "snake.fmu", q0=q, v0=v)
    assert validation.validate_fmu(str(path)) == []
    flown(path, made.run(q, v, 400 * made.dt, record_every=50), made.dt, 50)


@pytest.mark.filterwarnings("ignore:.* m deep, over a tenth of the thinner shape")
def test_a_quadruped_all_of_whose_links_may_touch(tmp_path):
    """The ground and each other: 79 pairs, as rows."""
    made = whole_quadruped()
    q = made.model.initial()
    q[6] += 0.55
    path = engine.export_fmu(made, tmp_path / "quadruped.fmu", q0=q)
    assert path.stat().st_size < 1e6
    run = made.run(q, np.zeros(made.model.nv), 300 * made.dt, record_every=50)
    assert run("contacts.force").any()
    flown(path, run, made.dt, 50)


def test_fifty_boxes(tmp_path):
    made, (q, v) = simulator(["box"] * 50), state(heap(50), v=0.3)
    path = engine.export_fmu(made, tmp_path / "boxes.fmu", q0=q, v0=v, outputs=["q", "v"])
    assert validation.validate_fmu(str(path)) == []
    assert path.stat().st_size < 1e6
    run = made.run(q, v, 200 * made.dt, record_every=50)
    assert np.abs(run.v[-1]).max() > 0.1                                       # they move, and have met
    flown(path, run, made.dt, 50)


def test_a_spacecraft_with_a_tank_that_senses(tmp_path):
    """Its gyro and its star tracker err, by the FMU's own seed, and tick slower than it steps; its thruster is steered by what they say."""
    eyes = [sensors.Gyro("hub", period=0.2, noise=1e-3, walk=1e-5, bias=np.zeros(3)), sensors.StarTracker("hub", period=0.4, noise=1e-3)]

    def law(t, q, v, gyro, star_tracker, thrust):
        return {"thrusters": thrust * (star_tracker["q"][0] > 0.0) - 20.0 * gyro[:1], "tau": np.append(np.zeros(6), 0.5)}

    made = servicer(controller=law, sensors=eyes)
    outputs = ["q", "v", "thrusters.thrust", "star_tracker.q", "tank.fuel"]
    path = engine.export_fmu(made, tmp_path / "servicer.fmu", inputs=["thrust"], outputs=outputs)
    assert validation.validate_fmu(str(path)) == []
    f, now = Instance(path).begin(), made.start(made.model.neutral(), np.zeros(made.model.nv))
    for k in range(60):
        given = {"thrust": [10.0 * (k // 7 % 2)]}
        f.set("thrust", given["thrust"])
        now = made.step(now, parameters=given)
        f.step(k * made.dt, made.dt)
        for name, x in {"q": now.q, "v": now.v, **{n: now.signals[n] for n in outputs[2:]}}.items():
            assert (f.get(name) == np.ravel(x)).all(), f"{name} after step {k}"
    assert now.signals["tank.fuel"] < 60.0
    assert (now.signals["gyro"] != now.signals["gyro.true"]).any()
    f.close()
