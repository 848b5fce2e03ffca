"""Robots as FMUs, record by record the bits of the simulator, and again from a state that was saved within a contact."""

import numpy as np
import pytest

import engine
from tests.code.programs import needed
from tests.fmu.instances import Instance
from tests.fmu.robots import fallen, quadruped, servicer

validation = pytest.importorskip("fmpy.validation")


def flight(path, simulator, q0, v0, steps, outputs, inputs):
    """Fly an FMU beside the simulator, back to the middle, and once more."""
    f, state, saved = Instance(path).begin(start_q=q0, start_v=v0), simulator.start(q0, v0), None
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
                 lambda k: {"thrust": [10.0 * (k // 7 % 2)]} | ({"mass.arm": 20.0} if k == 40 else {}))  # fmt: skip
    assert end.signals["tank.fuel"] < 60.0
