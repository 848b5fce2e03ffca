"""What is no path is told as such wherever a file is meant."""

import re

import numpy as np
import pytest

import engine
from engine.recording import Recorder, Recording

ARM = engine.load_urdf(engine.example("free_flyer"))
SIMULATOR = engine.Simulator(ARM, compiled=False)
REST = np.zeros(ARM.nq), np.zeros(ARM.nv)


@pytest.mark.quick
@pytest.mark.parametrize("use", [
    lambda x: engine.render(ARM, x), lambda x: engine.export(ARM, x), lambda x: engine.load_trajectory(x), Recording.open, Recorder.resume,
    lambda x: SIMULATOR.run(*REST, 0.01, out=x), lambda x: SIMULATOR.resume(x), lambda x: SIMULATOR.run(*REST, 0.002).save(x),
    lambda x: SIMULATOR.run(*REST, 0.002).to_csv(x), lambda x: SIMULATOR.run(*REST, 0.002).plot(x),
    lambda x: Recorder.create(x, {"t": ()}, (), {}, {}),
])  # fmt: skip
@pytest.mark.parametrize("given", [3, np.zeros(2)])
def test_what_is_no_path_is_said(use, given):
    with pytest.raises(engine.EngineError, match=re.escape(f"a file is {given!r}; expected its path (str or pathlib.Path)")):
        use(given)


@pytest.mark.quick
def test_what_says_its_path_is_one(tmp_path):
    """An ``os.PathLike``, as libraries of paths have them."""

    class Elsewhere:
        def __fspath__(self):
            return str(tmp_path / "run.h5")

    SIMULATOR.run(*REST, 0.002, out=Elsewhere(), progress=False)
    assert (tmp_path / "run.h5").exists() and engine.load_trajectory(Elsewhere()).t[-1] == 0.002
