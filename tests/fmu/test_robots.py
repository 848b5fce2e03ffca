"""Robots as FMUs, record by record the bits of the simulator, and again from a state that was saved within a contact."""

import numpy as np
import pytest

import engine
from tests.code.programs import needed
from tests.fmu.instances import Instance
from tests.fmu.robots import closed, fallen, midway, noisy, quadruped, servicer

validation = pytest.importorskip("fmpy.validation")


def flight(path, simulator, q0, v0, steps, outputs, inputs, starts=True):
    """Fly an FMU beside the simulator, back to the middle, and once more."""
    start = {"start_q": q0, "start_v": v0} if starts else {}
    f, state, saved = Instance(path).begin(**start), simulator.start(q0, v0), None
    dt = simulator.dt
    for k in range(steps):
        given = inputs(k)
        for n, x in given.items():
            f.set(n, x)
        state = simulator.step(state, parameters=given)
        f.step(k * dt, dt)
        seen = {"q": state.q, "v": state.v, "vdot": state.vdot, "tau": state.tau, **state.signals}
        for n in outputs:
            assert (f.get(n) == np.ravel(seen[n])).all(), f"{n} after step {k}"
        saved = f.saved() if k == steps // 2 else saved
    end = f.get("q")
    f.restore(saved)
    for k in range(steps // 2 + 1, steps):
        for n, x in inputs(k).items():
            f.set(n, x)
        f.step(k * dt, dt)
    assert (f.get("q") == end).all()
    f.close()
    return state


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_a_crate_tumbles(tmp_path, version):
    needed("cc")
    simulator, outputs = fallen(), ("q", "v", "vdot", "contacts.force")
    q0, v0 = np.array([1.0, 0, 0, 0, 0, 0, 0.25]), np.array([1.0, 0.5, 0.2, 0.5, 0.0, 0.0])
    path = engine.export_fmu(simulator, tmp_path / "crate.fmu", outputs=outputs, q0=q0, version=version)
    assert validation.validate_fmu(str(path)) == []
    end = flight(path, simulator, q0, v0, 200, outputs, lambda k: {})
    assert end.signals["contacts.force"].any()
    f = Instance(path)
    f.refused("shapes lie deep in each other at start.q; expected shapes that touch at most", f.begin, start_q=[1.0, 0, 0, 0, 0, 0, 0.0])


def test_a_quadruped_on_its_feet(tmp_path):
    needed("cc")
    simulator, outputs = quadruped(), ("q", "v", "tau", "contacts.force")
    q0 = simulator.model.initial()
    q0[6] += 0.6
    path = engine.export_fmu(simulator, tmp_path / "quadruped.fmu", outputs=outputs, q0=q0)
    assert validation.validate_fmu(str(path)) == []
    assert path.stat().st_size < 1e6
    flight(path, simulator, q0, np.zeros(simulator.model.nv), 400, outputs, lambda k: {})


def test_a_spacecraft_with_a_tank_in_orbit(tmp_path):
    """Its thrusters pulse, its tank drains, its arm meets its stop; it begins where its components say."""
    needed("cc")
    simulator, outputs = servicer(), ("q", "v", "tank.fuel", "thrusters.thrust")
    q0, v0 = simulator.model.neutral(), np.zeros(simulator.model.nv)
    path = engine.export_fmu(simulator, tmp_path / "servicer.fmu", inputs=["thrust"], outputs=outputs, version="3.0")
    assert validation.validate_fmu(str(path)) == []
    end = flight(path, simulator, q0, v0, 80, outputs,
                 lambda k: {"thrust": [10.0 * (k // 7 % 2)]} | ({"mass.arm": 20.0} if k == 40 else {}), starts=False)  # fmt: skip
    assert end.signals["tank.fuel"] < 60.0


def test_noise_and_delays_are_the_runs(tmp_path):
    needed("cc")
    simulator, outputs = noisy(), ("q", "v", "tau")
    path = engine.export_fmu(simulator, tmp_path / "noisy.fmu", outputs=outputs)
    flight(path, simulator, np.array([0.1, 0.05]), np.zeros(2), 40, outputs,
           lambda k: {20: {"gain": 4.0}, 30: {"noise.run": 7.0}}.get(k, {}))  # fmt: skip
    f = Instance(path).begin()
    f.refused("is set to 1.5; expected a whole number from 0, below 2^53", f.set, "noise.seed", 1.5)


def test_whatever_is_tuned_counts_from_then_on(tmp_path):
    """Gravity, losses, a centre of mass and a placement, of what floats: momenta are renewed, as by Simulator.step."""
    needed("cc")
    simulator, outputs = midway(), ("q", "v", "vdot")
    path = engine.export_fmu(simulator, tmp_path / "midway.fmu", outputs=outputs, version="3.0")
    changes = {10: {"gravity": [0, 0, -1.6]}, 20: {"damping.shoulder": 0.3, "center.tip": [0.02, 0, 0]},
               30: {"displacement.elbow": [0.1, 0, 0, 0, 0, 0.02], "friction.elbow": 0.05}}  # fmt: skip
    flight(path, simulator, simulator.model.initial(), np.linspace(-0.3, 0.3, 8), 40, outputs, lambda k: changes.get(k, {}))


def test_closed_chains_begin_where_they_are_closed(tmp_path):
    needed("cc")
    simulator, outputs = closed(), ("q", "v", "constraints.force")
    q0 = simulator.start(np.pi / 3 * np.array([1.0, -1.0, -1.0]), np.zeros(3)).q
    path = engine.export_fmu(simulator, tmp_path / "chain.fmu", inputs=["torque"], outputs=outputs, q0=q0)
    flight(path, simulator, q0, np.zeros(3), 40, outputs, lambda k: {"torque": [0.1 * k, 0.0, 0.0]}, starts=False)
    f = Instance(path)
    assert not [v.name for v in f.d.modelVariables if v.name.startswith("start.")]
    f.close()
