"""A policy is learned, and flown by the Simulator as the environment flew it."""

import re
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

import engine

pytest.importorskip("torch")


def test_learn(demo, tmp_path):
    said = demo("learn", "--updates", 3, "--rows", 64)
    before, after = (float(x) for x in re.search(r"return +(\S+) before, (\S+) after", said).groups())
    assert -60.0 < before < -10.0 and -60.0 < after < -10.0 and before != after
    assert float(re.search(r"changed by (\S+) N", said).group(1)) < 1e-11
    motion = engine.load_trajectory(tmp_path / "learn.h5")
    assert motion.q.shape == (16, 101, 14)


def test_learning_helps(monkeypatch):
    """Within a minute the return rises by a third."""
    import torch

    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "demos")
    names = runpy.run_path(str(Path(__file__).parents[2] / "demos" / "learn.py"))
    torch.manual_seed(0)
    agent = names["Agent"](29, 7)
    before = names["mean_return"](agent)
    curve = names["trained"](agent, 25, 256, 50)
    assert names["mean_return"](agent) > 0.67 * before and np.mean(curve[-3:]) < 0.8 * curve[0]
    assert "torch" in sys.modules
