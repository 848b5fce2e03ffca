"""FMUs in tools that are not FMPy: libcosim, by the FMI Library, and OMSimulator, by fmi4c."""

import ctypes
import importlib.util
from pathlib import Path

import numpy as np
import pytest

import engine
from tests.code.programs import needed
from tests.fmu.robots import driven, free

#: of OMSimulator's C interface: kinds of systems, of which the second integrates model exchange by CVode
WEAKLY, STRONGLY = 1, 2


@pytest.fixture(autouse=True)
def compiler():
    needed("cc")


def torques(step):
    return [0.1 * np.sin(step), 5e-4 * step]


def test_another_master_runs_it_to_the_same_bits(tmp_path):
    """libcosim's, which reads FMUs by the FMI Library: inputs at each step, and a start value."""
    execution = pytest.importorskip("libcosimpy.CosimExecution").CosimExecution
    from libcosimpy.CosimLogging import CosimLogLevel, log_output_level
    from libcosimpy.CosimManipulator import CosimManipulator
    from libcosimpy.CosimObserver import CosimObserver
    from libcosimpy.CosimSlave import CosimLocalSlave

    log_output_level(CosimLogLevel.FATAL)
    made = driven()
    path = engine.export_fmu(made, tmp_path / "arm.fmu", inputs=["torque"])
    master = execution.from_step_size(round(made.dt * 1e9))                    # ns
    k = master.add_local_slave(CosimLocalSlave(fmu_path=str(path), instance_name="arm"))
    number = {v.name.decode(): v.reference for v in master.slave_variables(k)}
    hand, eye = CosimManipulator.create_override(), CosimObserver.create_last_value()
    master.add_manipulator(hand)
    master.add_observer(eye)
    assert master.real_initial_value(k, number["start.q.shoulder"], 0.3)
    now = made.start([0.3, 0.0], [0.0, 0.0])
    for step in range(200):
        torque = torques(step)
        hand.slave_real_values(k, [number["torque[1]"], number["torque[2]"]], torque)
        assert master.step()
        now = made.step(now, parameters={"torque": torque})
        seen = eye.last_real_values(k, [number[n] for n in ("q.shoulder", "q.elbow", "v.shoulder", "v.elbow")])
        assert [*seen] == [*now.q, *now.v]


class OMSimulator:
    """A model with an FMU in it, by OMSimulator's own interface in C, where Linux finds libraries, or in its package for Python."""

    def __init__(self, path, folder, kind, dt, stop):
        self.library, self.said = self.found(), []
        number, text = ctypes.c_double, ctypes.c_char_p
        for name, kinds in {"setReal": [text, number], "stepUntil": [text, number], "setStopTime": [text, number],
                            "setFixedStepSize": [text, number], "setTolerance": [text, number],
                            "getReal": [text, ctypes.POINTER(number)], "setVariableStepSize": [text, number, number, number]}.items():
            getattr(self.library, f"oms_{name}").argtypes = kinds              # fmt: skip
        self.keep = ctypes.CFUNCTYPE(None, ctypes.c_int, text)(lambda level, message: self.said.append((level, message.decode())))
        self.library.oms_setLoggingCallback(self.keep)
        self.library.oms_setTempDirectory(str(folder).encode())
        self.model, self.system = path.stem.encode(), path.stem.encode() + b".root"
        self.call("newModel", self.model)
        self.call("addSystem", self.system, kind)
        self.call("addSubModel", self.system + b".fmu", str(path).encode())
        self.call("setResultFile", self.model, b"", 0)
        self.call("setStopTime", self.model, stop)
        if kind == WEAKLY:
            self.call("setFixedStepSize", self.system, dt)
        else:
            self.call("setTolerance", self.system, 1e-9)
            self.call("setVariableStepSize", self.system, 1e-4, 1e-12, 1e-2)
        self.call("instantiate", self.model)

    @staticmethod
    def found():
        own = importlib.util.find_spec("OMSimulator")
        there = [*Path(own.origin).parent.rglob("libOMSimulator.so")] if own and own.origin else []
        try:
            return ctypes.CDLL(str(next(iter(there), "libOMSimulator.so")))
        except OSError:
            pytest.skip("OMSimulator is not here, of which PyPI has a package without its binaries")

    def call(self, name, *given):
        assert getattr(self.library, f"oms_{name}")(*given) == 0, (name, given, self.said[-1:])

    def set(self, name, x):
        self.call("setReal", self.system + f".fmu.{name}".encode(), x)

    def get(self, name):
        found = ctypes.c_double()
        self.call("getReal", self.system + f".fmu.{name}".encode(), ctypes.byref(found))
        return found.value

    def close(self):
        self.call("terminate", self.model)
        self.call("delete", self.model)


def test_omsimulator_runs_it_to_the_same_bits(tmp_path):
    """Of FMI 2.0; inputs at each step, and a start value."""
    made = driven()
    path = engine.export_fmu(made, tmp_path / "arm.fmu", inputs=["torque"])
    master = OMSimulator(path, tmp_path, WEAKLY, made.dt, 0.2)
    master.set("start.q.shoulder", 0.3)
    master.call("initialize", master.model)
    now = made.start([0.3, 0.0], [0.0, 0.0])
    for step in range(200):
        for k, x in enumerate(torques(step)):
            master.set(f"torque[{k + 1}]", x)
        master.call("stepUntil", master.model, (step + 1) * made.dt)
        now = made.step(now, parameters={"torque": torques(step)})
        assert [master.get(n) for n in ("q.shoulder", "q.elbow", "v.shoulder", "v.elbow")] == [*now.q, *now.v]
    master.close()


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_omsimulator_integrates_it_to_where_its_own_steps_go(tmp_path, version):
    """Model exchange of a body that floats, by its CVode."""
    made = free()
    path = engine.export_fmu(made, tmp_path / f"free{version[0]}.fmu", inputs=["torque"], version=version, model_exchange=True)
    master = OMSimulator(path, tmp_path, STRONGLY, made.dt, 1.0)
    master.call("initialize", master.model)
    master.call("stepUntil", master.model, 1.0)
    run = made.run(made.model.initial(), np.zeros(made.model.nv), 1.0)
    q = np.array([master.get(f"q.{n}") for n in made.model.labels("q")])
    assert np.abs(q - run.q[-1]).max() < 1e-6
    assert np.linalg.norm(q[:4]) == pytest.approx(1.0, abs=1e-7)
    master.close()
