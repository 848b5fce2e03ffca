"""The README's first command, shortened: what it prints is true, and its files hold what they should."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import engine
from tests.cli.commands import ROBOT

ROOT = Path(__file__).parents[2]


def test_servicer(tmp_path):
    command = [sys.executable, "demos/free_flyer.py", "--out", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    drifts = [float(x) for x in re.findall(r"relative drift (\S+)", done.stdout)]
    assert len(drifts) == 2 and max(drifts) < 1e-10
    assert float(re.search(r"balance to (\S+)", done.stdout).group(1)) < 1e-10
    motion = engine.load_trajectory(tmp_path / "free_flyer.h5")
    assert motion.t[-1] == 20.0 and motion.q.shape == (20001, 14)
    assert np.allclose(motion.q[-1, 7:], [0.5, 0.9, 0.3, 0.6, -0.2, 0.4, 0.8], atol=1e-6)           # the arm arrived
    assert np.linalg.norm(motion.q[-1, 1:4]) > 0.1                                                  # and turned the base
    assert (tmp_path / "free_flyer.png").stat().st_size > 20_000


def test_any_robot(demo, tmp_path):
    (tmp_path / "arm.urdf").write_text(ROBOT)
    said = demo("free_flyer", "--urdf", tmp_path / "arm.urdf", "--duration", 0.5)
    assert max(float(x) for x in re.findall(r"relative drift (\S+)", said)) < 1e-8
    assert (tmp_path / "arm.h5").exists()


@pytest.mark.parametrize(("arguments", "message"), [(["--urdf", "nowhere.urdf"], "nowhere.urdf"), (["--dt", "-1"], r"dt is -1\.0")])
def test_bad_input_is_one_sentence(demo, arguments, message):
    with pytest.raises(SystemExit, match=f"^error: .*{message}"):
        demo("free_flyer", *arguments)
