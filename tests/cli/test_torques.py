"""``engine torques``: motions from tables and recordings."""

import csv
from pathlib import Path

import numpy as np
import pytest

import engine
from engine import load_trajectory, load_urdf
from tests.cli.commands import FLYER, ROBOT, run, table


def swing(model, t: np.ndarray) -> np.ndarray:
    """A smooth motion (T, nq) of every coordinate, the base's as well."""
    d = np.stack([np.sin((1 + 0.2 * k) * t + k) for k in range(model.nv)], axis=-1)
    return model.integrate(np.broadcast_to(model.neutral(), (len(t), model.nq)), d)


def write_motion(path, model, t, prefix="", **arrays) -> None:
    """A CSV file of q, v, vdot."""
    columns = {"t": t} | {f"{prefix}{n}": x for n, x in zip(model.labels("q"), arrays.pop("q").T, strict=True)}
    columns |= {f"{w}.{n}": x for w, a in arrays.items() for n, x in zip(model.labels("v"), a.T, strict=True)}
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([[*columns], *[[repr(float(x)) for x in row] for row in zip(*columns.values(), strict=True)]])


def torques_of(path, model) -> np.ndarray:
    """tau (T, nv) from a CSV file."""
    columns = table(path)
    assert list(columns) == ["t", *[f"tau.{n}" for n in model.labels("v")]]
    return np.stack(list(columns.values())[1:], axis=-1)


@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("prefix", ["", "q."])
def test_torques_of_a_motion_with_rates(here, floating, prefix, capsys):
    model = load_urdf("robot.urdf", floating_base=floating)
    t, rng = np.array([0.0, 0.5, 0.7]), np.random.default_rng(0)
    q, v, vdot = swing(model, t), rng.standard_normal((3, model.nv)), 40 * rng.standard_normal((3, model.nv))
    write_motion("m.csv", model, t, prefix, q=q, v=v, vdot=vdot)
    options = ["--floating"] * floating
    assert run("torques", "robot.urdf", "m.csv", "--out", "tau.csv", "--gravity", 0, 2, -5, *options) == 0
    tau = engine.compile(model, (0, 2, -5)).rnea(model.normalized(q), v, vdot)
    assert np.array_equal(torques_of("tau.csv", model), tau) and np.array_equal(table("tau.csv")["t"], t)
    out = capsys.readouterr().out
    assert "arm: 3 rows, 0 … 0.7 s; gravity 0 2 -5 m/s²\nv and vdot from the file\n" in out and out.endswith("tau.csv: 3 rows\n")
    for k, name in enumerate(model.labels("v")):
        at = int(np.argmax(abs(tau[:, k])))
        unit = "N" if name.startswith("floating_base.v") else "N·m"
        cells = [name, f"{tau[at, k]:.4g}", unit, f"{t[at]:.4g}", f"{np.sqrt((tau[:, k] ** 2).mean()):.4g}"]
        (row,) = [line.split() for line in out.splitlines() if line.split()[:1] == [name]]
        assert row[:5] == cells
        if name == "elbow":
            assert row[5:] == ["3", f"{100 * abs(tau[at, k]) / 3:.0f}", "%"]
            assert abs(tau[at, k]) > 3 and "above the robot's limits: elbow\n" in out
        else:
            assert row[5:] == ["–"]


@pytest.mark.parametrize("floating", [False, True])
def test_torques_of_positions_alone(here, floating, capsys):
    """Five-point differences on the manifold: a step half as long, an error sixteen times less (eight at the ends)."""
    model = load_urdf("robot.urdf", floating_base=floating)
    errors, inner = [], []
    for n in (41, 81, 161):
        t = np.linspace(0, 1, n) ** 1.2                                       # steps of all sizes
        h = 2e-3
        x = [swing(model, t + k * h) for k in (-2, -1, 0, 1, 2)]
        d = [model.difference(x[2], y) for y in x]
        v = (d[0] - 8 * d[1] + 8 * d[3] - d[4]) / (12 * h)
        vdot = (-d[0] + 16 * d[1] + 16 * d[3] - d[4]) / (12 * h * h)
        write_motion("m.csv", model, t, q=x[2])
        assert run("torques", "robot.urdf", "m.csv", "--out", "tau.csv", "--overwrite", *["--floating"] * floating) == 0
        expected = engine.compile(model).rnea(model.normalized(x[2]), v, vdot)
        off = abs(torques_of("tau.csv", model) - expected).max(axis=1) / abs(expected).max()
        errors.append(off.max())
        inner.append(off[n // 4 : -n // 4].max())
    assert "v and vdot by five-point finite differences of q on the manifold\n" in capsys.readouterr().out
    assert errors[0] < 1e-3 and errors[0] > 5 * errors[1] > 25 * errors[2]
    assert inner[0] > 12 * inner[1] > 144 * inner[2]


def test_torques_with_velocities_alone_and_accelerations_alone(here, capsys):
    model = load_urdf("robot.urdf")
    t = np.linspace(0, 1, 200)
    q, v, vdot = (np.stack([f(2 * t), f(t)], axis=-1) * [[a, 1.0]] for f, a in ((np.sin, 1.0), (np.cos, 2.0), (lambda x: -np.sin(x), 4.0)))
    expected = engine.compile(model).rnea(q, v, vdot)
    write_motion("v.csv", model, t, q=q, v=v)
    write_motion("vdot.csv", model, t, q=q, vdot=vdot)
    for name, text in (("v", "v from the file; vdot is v differentiated by five-point"), ("vdot", "v by five-point")):
        assert run("torques", "robot.urdf", f"{name}.csv", "--out", f"{name}.tau.csv") == 0
        assert text in capsys.readouterr().out
        assert np.allclose(torques_of(f"{name}.tau.csv", model), expected, atol=1e-6) and not np.array_equal(q, v)


def test_smoothing(here, capsys):
    model = load_urdf("robot.urdf")
    t = np.linspace(0, 2, 400)
    q = np.stack([np.sin(t), np.cos(t)], axis=-1)
    exact = engine.compile(model).rnea(q, np.stack([np.cos(t), -np.sin(t)], axis=-1), -q)
    write_motion("m.csv", model, t, q=q + 1e-4 * np.random.default_rng(0).standard_normal(q.shape))
    errors = []
    for n in (5, 41):
        assert run("torques", "robot.urdf", "m.csv", "--smooth", n, "--out", "tau.csv", "--overwrite") == 0
        errors.append(np.sqrt(np.mean((torques_of("tau.csv", model) - exact) ** 2)))
    assert "quartics fitted to 41 rows each" in capsys.readouterr().out
    assert errors[1] < errors[0] / 20


def test_torques_of_a_recording(here, capsys):
    """They are what acted: nothing, but friction and stops."""
    options = ["--floating", "--gravity", 0, 0, -1]
    assert run("simulate", "robot.urdf", "--duration", 0.2, "--out", "run.h5", "--start", "random", "--ideal-joints", *options) == 0
    assert run("torques", "robot.urdf", "run.h5", "--floating", "--out", "tau.csv") == 0
    out = capsys.readouterr().out
    assert "gravity 0 0 -1 m/s² (the recording's)\n" in out and "columns not used: drive.power, drive.saturated" in out
    model = load_urdf("robot.urdf", floating_base=True)
    assert abs(torques_of("tau.csv", model)).max() < 1e-10
    assert run("torques", "robot.urdf", "run.h5", "--floating", "--zero-gravity", "--out", "tau.csv", "--overwrite") == 0
    assert abs(torques_of("tau.csv", model)).max() > 5
    assert run("torques", FLYER, "run.h5", "--floating") == 1
    assert "has no column 'q.shoulder_yaw'" in capsys.readouterr().err


def test_torques_of_a_rollout_in_its_own_gravity(here, capsys):
    model = load_urdf("robot.urdf")
    gravity = {"gravity": np.array([[0, 0, -9.81], [1.0, 2.0, -3.0]])}
    simulator = engine.Simulator(model, parameters={"gravity": (0, 0, 0)}, joint_dynamics=False)
    simulator.run(np.full(model.nq, 0.3), np.zeros(model.nv), 0.1, parameters=gravity, out="batch.h5")
    assert run("torques", "robot.urdf", "batch.h5", "--rollout", 1, "--out", "tau.csv") == 0
    assert "gravity 1 2 -3 m/s² (the recording's)\n" in capsys.readouterr().out
    assert abs(torques_of("tau.csv", model)).max() < 1e-10


def test_the_free_flyers_torques(here, capsys):
    assert run("simulate", FLYER, "--floating", "--duration", 0.1, "--out", "run.h5", "--zero-gravity", "--start", "random") == 0
    assert run("export", "run.h5", "run.csv") == 0
    assert run("torques", FLYER, "run.csv", "--floating", "--zero-gravity", "--out", "tau.csv") == 0
    r = load_trajectory("run.h5")
    assert np.array_equal(torques_of("tau.csv", r.model), r.robot.rnea(r.q, r.v, r.vdot))


CSVS = [
    ("", "holds nothing"),
    ("t,shoulder,elbow\n", "holds no numbers"),
    ("0,1,2\n1,2,3\n", "begins with numbers; expected a first line of names"),
    ("t;shoulder;elbow\n0;1;2\n", "has no commas in its first line"),
    ("t,shoulder,elbow\n0,1,2\n1,2\n", "line 3: 2 fields; expected 3"),
    ("t,shoulder,elbow\n0,1,2\n1,2,3,4\n", "line 3: 4 fields; expected 3"),
    ("t,shoulder,elbow\n0,1,2\n\n1,2,nan\n", "line 4: 'elbow' is nan; expected a finite number"),
    ("t,shoulder,elbow\n0,1,2\n1,inf,3\n", "line 3: 'shoulder' is inf; expected a finite number"),
    ("t,shoulder,elbow\n0,1,2\n1,two,3\n", "line 3: 'shoulder' is 'two'; expected a number"),
    ("t,shoulder,elbow\n0,1,2\n1,,3\n", "line 3: 'shoulder' is ''; expected a number"),
    ("t,shoulder,elbow\n0,1,2\n0,1,2\n", "line 3: t is 0.0 after 0.0; expected times that increase"),
    ("t,shoulder,elbow\n0,1,2\n1,1,2\n0.5,1,2\n", "line 4: t is 0.5 after 1.0; expected times that increase"),
    ("shoulder,elbow\n0,1\n", "has no column 't'"),
    ("t,shoulder\n0,1\n", "has no column 'elbow'; expected t, shoulder, elbow"),
    ("t,shoulder,elbo\n0,1,2\n", "has no column 'elbow'; its column 'elbo' is nothing that 'arm' has (did you mean 'elbow'?)"),
    ("t,q.shoulder,q.elbo\n0,1,2\n", "has no column 'q.elbow'; its column 'q.elbo' is nothing that 'arm' has (did you mean 'q.elbow'?)"),
    ("t,shoulder,elbow,v.shoulder\n0,1,2,3\n", "has no column 'v.elbow'; expected v.shoulder, v.elbow"),
    ("t,shoulder,elbow,v.shoulder,v.elbo\n0,1,2,3,4\n", "has no column 'v.elbow'; its column 'v.elbo'"),
    ("t,shoulder,elbow,v.shoulder,v.elbow,v.wrist\n0,1,2,3,4,5\n", "has a column 'v.wrist', but 'arm' has no such coordinate"),
    ("t,shoulder,elbow,floating_base.qw\n0,1,2,3\n", "has a column 'floating_base.qw', but 'arm' has no such coordinate (--floating"),
    ("t,shoulder,elbow,elbow\n0,1,2,3\n", "has 2 columns named 'elbow'"),
    ("t,shoulder,elbow,\n0,1,2,3\n", "has a column named ''"),
    ("t,shoulder,elbow,q.elbow\n0,1,2,3\n", "has the columns 'q.elbow' and 'elbow'"),
    ("t,shoulder,elbow\n0,1,2\n1,2,3\n", "has 2 rows of numbers and no columns v.…; expected at least 3 rows"),
]


@pytest.mark.parametrize(("text", "message"), CSVS)
def test_broken_csv_files(here, text, message, capsys):
    Path("m.csv").write_text(text)
    assert run("torques", "robot.urdf", "m.csv") == 1
    out, err = capsys.readouterr()
    assert err.startswith("engine: 'm.csv'") and message in err and err.count("\n") == 1 and out == ""


def test_csv_files_of_other_programs(here, capsys):
    """A byte order mark, a '#' before the names, spaces, blank lines, and columns of something else."""
    rows = [(t, np.sin(t), np.cos(t)) for t in np.linspace(0, 1, 20)]
    Path("a.csv").write_text("t,shoulder,elbow\n" + "".join(f"{t!s},{x!s},{y!s}\n" for t, x, y in rows))
    text = "\ufeff# t, shoulder ,elbow, phase\n\n" + "".join(f" {t!s}, {x!s},{y!s},1\n" for t, x, y in rows)
    Path("b.csv").write_text(text, encoding="utf-8")
    for name in "ab":
        assert run("torques", "robot.urdf", f"{name}.csv", "--out", f"{name}.tau.csv") == 0
    assert "columns not used: phase\n" in capsys.readouterr().out
    assert Path("a.tau.csv").read_bytes() == Path("b.tau.csv").read_bytes()


def test_wrapped_angles_and_bad_quaternions_are_told(here, capsys):
    t = np.linspace(0, 10, 100)
    Path("m.csv").write_text("t,shoulder,elbow\n" + "".join(f"{x},{(x + np.pi) % (2 * np.pi) - np.pi},0\n" for x in t))
    assert run("torques", "robot.urdf", "m.csv") == 0
    assert "note: 'shoulder' jumps by 6.18 rad between t = 3.13131 and 3.23232 s" in capsys.readouterr().err
    model = load_urdf("robot.urdf", floating_base=True)
    q = swing(model, t)
    q[7, :4] *= 0.5
    write_motion("m.csv", model, t, q=q)
    assert run("torques", "robot.urdf", "m.csv", "--floating") == 1
    assert "row 8 of numbers: the quaternion of 'floating_base' has length 0.5" in capsys.readouterr().err


def test_a_robot_without_joints_takes_no_torques(here, capsys):
    Path("bare.urdf").write_text('<robot name="bare"><link name="base"/></robot>')
    Path("m.csv").write_text("t,phase\n0,1\n1,2\n2,3\n")
    assert run("torques", "bare.urdf", "m.csv", "--out", "tau.csv") == 0
    assert capsys.readouterr().err == "" and Path("tau.csv").read_text().split() == ["t", "0.0", "1.0", "2.0"]


def test_a_joint_named_as_the_time(here, capsys):
    Path("t.urdf").write_text(ROBOT.replace("elbow", "t"))
    Path("m.csv").write_text("q.t,t,shoulder\n" + "".join(f"{x},{x},{x}\n" for x in range(5)))
    assert run("torques", "t.urdf", "m.csv") == 0
    Path("m.csv").write_text("t,shoulder\n0,1\n1,2\n2,3\n")
    capsys.readouterr()
    assert run("torques", "t.urdf", "m.csv") == 1 and "has no column 't'; expected t, shoulder, t" in capsys.readouterr().err
