"""The demos of free-flying and fixed arms: what they print is so, and their files hold it."""

import re
import subprocess
import sys
from pathlib import Path

from PIL import Image

import engine

ROOT = Path(__file__).parents[2]


def run(name, tmp_path, *arguments):
    picture = tmp_path / "seen" / f"{name}.png"
    command = [sys.executable, f"demos/{name}.py", "--out", str(tmp_path), "--video", str(picture), *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert f"wrote {picture}\n" in done.stdout and not done.stderr and colors(picture) > 100
    return done.stdout


def colors(picture):
    """How many there are in the middle of a picture, where the robot is."""
    with Image.open(picture) as image:
        assert image.size == (1280, 720)
        return len(image.convert("RGB").crop((320, 180, 960, 540)).getcolors(1 << 20))


def number(pattern, text):
    return float(re.search(pattern, text).group(1))


def test_capture(tmp_path):
    said = run("capture", tmp_path)
    assert number(r"within (\S+) mm", said) < 1e-3 and number(r"mm and (\S+) deg", said.split("contact")[1]) < 1e-4
    assert number(r"turned by up to (\S+) deg", said) > 5 and number(r"at most (\S+) N·m·s", said) < 1e-13
    motion = engine.load_trajectory(tmp_path / "capture.h5")
    assert motion.t[-1] == 35.0 and abs(motion.momentum()).max() < 1e-13


def test_still_base(tmp_path):
    turned = [float(x) for x in re.findall(r"turned by (\S+) deg", run("still_base", tmp_path, "--duration", 20))]
    assert turned[0] < 1e-7 and turned[1] > 1


def test_tracking(tmp_path):
    said = run("tracking", tmp_path)
    assert number(r"panda: follows within (\S+) rad", said) < 5e-3 and number(r"ur5: follows within (\S+) rad", said) < 1e-8
    assert len(re.findall(r"% of its limit", said)) == 14
    assert engine.load_trajectory(tmp_path / "tracking_ur5.h5").t[-1] == 8.0


def test_drone_with_arm(tmp_path):
    moved = [float(x) for x in re.findall(r"moved by (\S+) mm", run("drone_arm", tmp_path))]
    assert moved[0] < 1e-6 < 0.5 < moved[1]


def test_monte_carlo(tmp_path):
    said = run("monte_carlo", tmp_path, "--rollouts", 200)
    assert number(r"median (\S+),", said) < 1 and number(r"worst (\S+) mm", said) < 5
    figures = re.findall(r"median.*", said)
    assert re.findall(r"median.*", run("monte_carlo", tmp_path, "--rollouts", 200)) == figures  # the seed is the scatter
