"""FMUs as FMPy runs them, whose variables are read and set by the engine's names of arrays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

fmpy = pytest.importorskip("fmpy")


def extracted(path: Path) -> Path:
    """The folder of an FMU's files."""
    where = path.with_suffix("")
    if not where.exists():
        fmpy.extract(str(path), unzipdir=str(where))
    return where


class Instance:
    """An instance of an FMU.

    Attributes
    ----------
    said : what it has told
    """

    def __init__(self, path: Path, exchange: bool = False, token: str | None = None, name: str = "one") -> None:
        from fmpy.fmi2 import FMU2Model, FMU2Slave
        from fmpy.fmi3 import FMU3Model, FMU3Slave

        where = extracted(path)
        self.d = d = fmpy.read_model_description(str(where), validate=False)
        self.new, self.said, self.exchange = d.fmiVersion[0] == "3", list[str](), exchange
        kind = {(True, False): FMU3Slave, (True, True): FMU3Model, (False, False): FMU2Slave, (False, True): FMU2Model}[self.new, exchange]
        own = d.modelExchange if exchange else d.coSimulation
        token = token or (d.instantiationToken if self.new else d.guid)
        self.fmu = kind(guid=token, unzipDirectory=str(where), modelIdentifier=own.modelIdentifier, instanceName=name)
        self.start(name)

    def start(self, name: str) -> None:
        if self.new:
            from fmpy.fmi3 import fmi3LogMessageCallback

            self.keep = fmi3LogMessageCallback(lambda _, status, category, message: self.said.append(message.decode()))
            self.fmu.instantiate(loggingOn=True, logMessage=self.keep)
            return
        from fmpy.fmi2 import defaultCallbacks, fmi2CallbackFunctions, fmi2CallbackLoggerTYPE

        def said(_: Any, instance: bytes, status: int, category: bytes, message: bytes, *more: Any) -> None:
            self.said.append(message.decode())

        self.keep = fmi2CallbackFunctions()
        self.keep.logger = fmi2CallbackLoggerTYPE(said)
        self.keep.allocateMemory, self.keep.freeMemory = defaultCallbacks.allocateMemory, defaultCallbacks.freeMemory
        self.fmu.instantiate(loggingOn=True, callbacks=self.keep)

    def refs(self, stem: str) -> list[int]:
        """The references of an array, or of its numbers."""
        found = [v for v in self.d.modelVariables if v.name == stem] or \
            [v for v in self.d.modelVariables if v.name.startswith((f"{stem}.", f"{stem}["))]
        assert found, f"no {stem} among {[v.name for v in self.d.modelVariables]}"
        return [v.valueReference for v in found]

    def size(self, refs: list[int]) -> int:
        sizes = {v.valueReference: int(np.prod([int(x.start) for x in v.dimensions])) if v.dimensions else 1 for v in self.d.modelVariables}
        return sum(sizes[r] for r in refs)

    def get(self, stem: str) -> np.ndarray:
        refs = self.refs(stem)
        return np.array(self.fmu.getFloat64(refs, nValues=self.size(refs)) if self.new else self.fmu.getReal(refs))

    def set(self, stem: str, x: Any) -> None:
        (self.fmu.setFloat64 if self.new else self.fmu.setReal)(self.refs(stem), [float(y) for y in np.ravel(x)])

    def begin(self, t: float = 0.0, stop: float | None = None, **start: Any) -> Instance:
        if self.new:
            self.fmu.enterInitializationMode(startTime=t, stopTime=stop)
        else:
            self.fmu.setupExperiment(startTime=t, stopTime=stop)
            self.fmu.enterInitializationMode()
        for n, x in start.items():
            self.set(n.replace("_", "."), x)
        self.fmu.exitInitializationMode()
        return self

    def step(self, t: float, h: float) -> None:
        self.fmu.doStep(currentCommunicationPoint=t, communicationStepSize=h)

    def saved(self) -> Any:
        return self.fmu.getFMUState() if self.new else self.fmu.getFMUstate()

    def restore(self, state: Any) -> None:
        (self.fmu.setFMUState if self.new else self.fmu.setFMUstate)(state)

    def written(self, state: Any) -> bytes:
        return bytes((self.fmu.serializeFMUState if self.new else self.fmu.serializeFMUstate)(state))

    def read(self, data: bytes) -> Any:
        return (self.fmu.deserializeFMUState if self.new else self.fmu.deSerializeFMUstate)(data)

    def refused(self, text: str, call: Any, *args: Any, **named: Any) -> None:
        """Assert that a call is refused, in these words."""
        from fmpy.fmi1 import FMICallException

        self.said.clear()
        with pytest.raises((FMICallException, Exception)):
            call(*args, **named)
        assert self.said, "refused without a word"
        assert text in self.said[-1], self.said[-1]

    def close(self) -> None:
        self.fmu.freeInstance()
