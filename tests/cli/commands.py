"""What the tests of the commands share: a robot, and how to run one."""

import csv
import re
import subprocess
import sys

import numpy as np

import engine
from engine import load_trajectory, load_urdf
from engine.cli import main

FLYER = engine.example("free_flyer")
SHARE = '<inertial><origin xyz="0.2 0 0.1"/><mass value="{}"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.3"/></inertial>'
SHAPE = '<visual><origin xyz="0.2 0 0"/><geometry><box size="0.4 0.1 0.1"/></geometry></visual>'
SHAPE += SHAPE.replace("visual", "collision").replace("0.1 0.1", "0.12 0.12")
ROBOT = f"""<robot name="arm"><link name="base">{SHARE.format(5)}</link><link name="upper">{SHARE.format(2)}{SHAPE}</link>
<link name="fore">{SHARE.format(1)}{SHAPE}</link>
<joint name="shoulder" type="continuous"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/><dynamics damping="0.1"/></joint>
<joint name="elbow" type="revolute"><parent link="upper"/><child link="fore"/><origin xyz="0.4 0 0"/><axis xyz="0 1 0"/>
<limit lower="-2" upper="2" velocity="5" effort="3"/></joint></robot>"""

#: a campaign, of which tests/cli/test_campaign.py knows what it is in Python
SCATTER = """robot = "robot.urdf"
floating = true
gravity = [0, 0, 0]
dt = 0.02
duration = 1.0
runs = 40
seed = 7

[q0]
elbow = 0.3

[scatter]
"mass.fore" = {norm = [1.0, 0.1]}
"v0.elbow" = {uniform = {loc = -0.5, scale = 1.0}}
"attitude.floating_base" = "uniform"
"v0.floating_base.w" = {multivariate_normal = [[0, 0, 0], [[0.01, 0, 0], [0, 0.01, 0], [0, 0, 0.01]]]}

[metrics]
swing = "max |v.elbow|"
up = "final q.elbow > 0.3"
turned = "own:turned"
"""


def run(*arguments) -> int:
    """The exit code of a command, in this process."""
    try:
        return main([str(a) for a in arguments])
    except SystemExit as end:
        return end.code


def shell(*arguments, **options) -> subprocess.CompletedProcess:
    """A command in a process of its own."""
    return subprocess.run([sys.executable, "-m", "engine", *map(str, arguments)], capture_output=True, encoding="utf-8", **options)


def said(capsys) -> tuple[str, str]:
    """What was printed, its lines' ends and the frames around errors left out."""
    out, err = capsys.readouterr()
    flat = " ".join(re.sub("[│╭╮╰╯─]", " ", err).split())
    return out, flat if "Usage:" in err or "Error" in err else err


def same(a, b) -> bool:
    """Whether two trajectories are the same bits."""
    whole = all(np.array_equal(getattr(a, n), getattr(b, n)) for n in ("t", "q", "v", "tau", "vdot"))
    return whole and {*a.signals} == {*b.signals} and all(np.array_equal(x, b.signals[n]) for n, x in a.signals.items())


def table(path) -> dict[str, np.ndarray]:
    """Columns of a CSV file."""
    with open(path, newline="") as file:
        names, *rows = csv.reader(file)
    return dict(zip(names, np.array(rows, dtype=float).reshape(-1, len(names)).T, strict=True))


def swung(name="run.h5", duration=0.5) -> engine.Trajectory:
    """A recorded fall of the arm, whose joints turn by much."""
    engine.Simulator(load_urdf("robot.urdf")).run([0.3, -0.5], [2.0, 1.0], duration, out=name)
    return load_trajectory(name)
