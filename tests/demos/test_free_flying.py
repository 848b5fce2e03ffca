"""The demos of free-flying and fixed arms: what they print is so, and their files hold it."""

import re

import numpy as np
import pytest

import engine


def number(pattern, text):
    return float(re.search(pattern, text).group(1))


def test_capture(demo, tmp_path):
    said = demo("capture")
    assert number(r"within (\S+) mm", said) < 1e-3 and number(r"mm and (\S+) deg", said.split("contact")[1]) < 1e-4
    assert number(r"turned by up to (\S+) deg", said) > 5 and number(r"at most (\S+) N·m·s", said) < 1e-13
    motion = engine.load_trajectory(tmp_path / "capture.h5")
    assert motion.t[-1] == 35.0 and abs(motion.momentum()).max() < 1e-13


def test_servicer(demo, tmp_path):
    said = demo("servicer")
    assert number(r"after 16 s within (\S+) mm", said) < 1e-2 and number(r"grips +hold within (\S+) mm", said) < 1e-6
    assert number(r"bus +turned by (\S+) deg", said) > 5 and number(r"rad/s to (\S+) rad/s", said) < 1e-3
    bus, target = (float(x) for x in re.search(r", (\S+) and (\S+) deg/s at the end", said).groups())
    assert abs(bus - target) < 0.05 and bus > 0.05                             # as one, and on
    assert number(r"changes by at most (\S+) N·m·s", said) < 1e-10
    assert engine.load_trajectory(tmp_path / "servicer.h5").t[-1] == 40.0


def test_still_base(demo):
    turned = [float(x) for x in re.findall(r"turned by (\S+) deg", demo("still_base", "--duration", 10))]
    assert turned[0] < 1e-7 and turned[1] > 1


def test_tracking(demo, tmp_path):
    said = demo("tracking")
    assert number(r"panda: follows within (\S+) rad", said) < 5e-3 and number(r"ur5: follows within (\S+) rad", said) < 1e-8
    assert len(re.findall(r"% of its limit", said)) == 14
    assert engine.load_trajectory(tmp_path / "tracking_ur5.h5").t[-1] == 8.0


def test_drone_with_arm(demo, monkeypatch):
    """What is shown of it has propellers that turn, three to either side, and is else what was simulated."""
    seen, render = [], engine.render
    monkeypatch.setattr(engine, "render", lambda source, *given, **options: seen.append(source) or render(source, *given, **options))
    moved = [float(x) for x in re.findall(r"moved by (\S+) mm", demo("drone_arm"))]
    assert moved[0] < 1e-6 < 0.5 < moved[1]
    model = seen[0].model
    turned = np.array([seen[0].q[-1, model.q_slice(f"propeller{k}")] for k in range(6)])
    assert (turned[::2] > 50).all() and (turned[1::2] < -50).all() and model.nq == 7 + 5 + 6


def test_receding(demo):
    """Both grippers stay near what they follow, a plan at each tick."""
    said = demo("receding", "--duration", 0.2, looks=False)
    off = [float(x) for x in re.findall(r"within (\S+) mm", said)]
    assert off[0] < 15 and off[1] < 5


@pytest.mark.filterwarnings("ignore")                                          # Dask's, of the worker that dies
def test_monte_carlo_alone_and_on_a_cluster(demo, tmp_path):
    said = demo("monte_carlo", "--rollouts", 40)
    assert number(r"median (\S+),", said) < 1 and number(r"worst (\S+) mm", said) < 5
    figures = re.findall(r"median.*|SHA-256 \w+", said)
    pytest.importorskip("distributed")
    said = demo("cluster", "--rollouts", 40, looks=False)
    assert "killed worker" in said and re.findall(r"median.*|SHA-256 \w+", said) == figures
    assert len(engine.load_campaign(tmp_path / "cluster_40")("gap")) == 40


def test_identify(demo):
    said = demo("identify")
    assert number(r"weighs (\S+) kg", said) == pytest.approx(30.0, abs=0.05) and number(r"off by (\S+) mm", said) < 2
    assert number(r"(\d+) of 10 within", said) >= 7
    assert number(r"as 1 : (\S+) :", said) == pytest.approx(1.5, abs=0.005)


def test_a_mission_on_sensors_alone(demo, tmp_path):
    """All phases in their order, at the end both at rest together; the attitude is known all along; the picture of who reads whom."""
    said = demo("mission", looks=False)
    begun = [number(rf"{name} +from +(\S+) s", said) for name in
             ("approach", "hold", "reach", "grasp", "brake", "detumble")]  # fmt: skip
    assert begun == sorted(begun) and begun[-1] < 200.0
    assert number(r"known to (\S+) deg", said) < 0.1
    assert number(r"of both (\S+) deg/s", said) < 0.02
    assert (tmp_path / "mission.svg").read_text().startswith("<svg")
