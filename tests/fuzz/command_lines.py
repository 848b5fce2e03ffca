"""Command lines with odd words, over files that are mutated: an exit code, one sentence for what is wrong, and no output after that."""

from __future__ import annotations

import contextlib
import functools
import io
import os
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import engine
from engine.cli import main
from tests.cli.commands import ROBOT

WORDS = ["", "nan", "inf", "-inf", "1e999", "1e308", "x", "1,2", '"', "'", "\0", "\ufeff", ";", "\t", "#", "q.elbow", "elbow", "t",
         "v.elbow", "vdot.shoulder", "tau.elbow", "1_0", "٣", "0x1", "1e-320", "-0", "é", "\u2028", "9" * 5000, "=1+1", "\r", "None",
         "base.qw"]  # fmt: skip
OPTIONS = ["--help", "--floating", "--zero-gravity", "--gravity", "--rollout", "-1", "--", "-", "--smooth", "--every", "--tree", "--out",
           "nan", "--overwrite", "--dt", "1e-3", "--start", "random", "--velocity", "elbow=1", "elbow=nan", "--seed", "3", "--check",
           "--record-every"]  # fmt: skip
NUMBERS = ["1", "2", "7", "0", "-1", "0.05", "1e12", "nan", "inf", "x", ""]


@functools.cache
def files() -> dict[str, bytes]:
    """A robot, a recording of its fall, and motions as CSV."""
    with tempfile.TemporaryDirectory() as folder:
        robot, run, table = (Path(folder) / name for name in ("robot.urdf", "run.h5", "run.csv"))
        robot.write_text(ROBOT)
        engine.Simulator(engine.load_urdf(robot), 1e-2).run([0.1, 0.2], [0.0, 0.0], 0.3, out=run)
        engine.load_trajectory(run).to_csv(table)
        short = "t,shoulder,elbow\n" + "".join(f"{k / 100},{np.sin(k / 100)},{np.cos(k / 100)}\n" for k in range(30))
        return {"robot.urdf": robot.read_bytes(), "run.h5": run.read_bytes(), "run.csv": table.read_bytes(), "short.csv": short.encode()}


def case(rng: np.random.Generator, folder: Path) -> str:
    """Make files and a line, run it in this process, and look at what is left."""
    for name, data in files().items():
        (folder / name).write_bytes(changed(rng, name, data) if rng.random() < 0.4 else data)
    line = command(rng)
    before = {p.name for p in folder.iterdir()}
    out, err, here = io.StringIO(), io.StringIO(), Path.cwd()
    os.chdir(folder)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stderr(err), contextlib.redirect_stdout(out):
            warnings.simplefilter("error")
            code = main(line)
    except SystemExit as end:
        code = end.code
    finally:
        os.chdir(here)
    said = err.getvalue()
    whole = [text for text in said.splitlines() if not text.startswith("note: ")]
    require(code in (0, 1, 2), f"{line}: exit code {code}")
    require("fault of the engine itself" not in said and "Traceback" not in said, f"{line}: {said}")
    require(code != 0 or not whole or all("%" in text or "s," in text for text in whole), f"{line}: {said}")
    require(code != 1 or (len(whole) == 1 and whole[0].startswith("engine: ")), f"{line}: {said}")
    made = {p.name for p in folder.iterdir()} - before
    require(code == 0 or "run goes on" in said or not made - {"new.h5"}, f"{line}: {made} are left after: {said}")
    for name in made:
        if name.endswith(".csv"):
            text = (folder / name).read_text()
            require("nan" not in text.lower() and "inf" not in text.lower(), f"{line}: {name} has {text[:200]}")
    return f"{code}"


def command(rng: np.random.Generator) -> list[str]:
    """Return a line: a command as one means it, with a few words changed."""
    table, number = pick(rng, ["run.csv", "short.csv", "run.h5", "nowhere.csv"]), pick(rng, NUMBERS)
    line = pick(rng, [
        ["info", pick(rng, ["robot.urdf", "run.h5", "run.csv", "nowhere.h5"])],
        ["info", "robot.urdf", "--tree"],
        ["verify", pick(rng, ["run.h5", "robot.urdf", "run.csv"])],
        ["torques", "robot.urdf", table, "--out", "new.csv"],
        ["torques", "robot.urdf", table, "--smooth", number],
        ["simulate", "robot.urdf", "--duration", "0.02", "--out", "new.h5", "--start", table],
        ["simulate", "robot.urdf", "--duration", pick(rng, ["0.02", "-1", "x"]), "--out", "new.h5", "--velocity", f"elbow={number}"],
        ["resume", "run.h5", "--duration", pick(rng, ["0.4", "0.1", "x", "-1"])],
        ["export", "run.h5", "new.csv"],
        ["export", "run.h5", "new.csv", "--every", number],
    ])  # fmt: skip
    line = list(line)
    for _ in range(rng.choice([0, 0, 1, 1, 2])):
        where = int(rng.integers(len(line) + 1))
        match rng.integers(4):
            case 0:
                line.insert(where, pick(rng, OPTIONS))
            case 1:
                line.insert(where, pick(rng, WORDS))
            case 2:
                line[where:where + 1] = []
            case _:
                line[where:where + 1] = [pick(rng, WORDS + OPTIONS)]
    return line


def changed(rng: np.random.Generator, name: str, data: bytes) -> bytes:
    """Return a file's bytes with some of them changed: a table's by its lines and entries, others as they lie."""
    if not name.endswith(".csv") or rng.random() < 0.1:
        bytes_ = bytearray(data)
        for _ in range(rng.choice([1, 2, 8])):
            bytes_[rng.integers(min(len(bytes_), pick(rng, [len(bytes_), 6000])))] ^= 1 << int(rng.integers(8))
        return bytes(bytes_[: rng.integers(len(bytes_)) if rng.random() < 0.2 else None])
    lines = data.decode().split("\n")
    for _ in range(rng.choice([1, 1, 2, 5])):
        i = int(rng.integers(len(lines)))
        entries = lines[i].split(",")
        match rng.integers(9):
            case 0 | 1 | 2:
                entries[rng.integers(len(entries))] = pick(rng, WORDS)
                lines[i] = ",".join(entries)
            case 3:
                lines[i:i + 1] = [""] if len(lines) == 1 else []
            case 4:
                lines.insert(i, pick(rng, lines))
            case 5:
                lines = [lines[k] for k in rng.permutation(len(lines))]
            case 6:
                lines[i] = lines[i].replace(pick(rng, [",", "."]), pick(rng, [";", "\r\n", ",", " ", "\t"]))
            case 7:
                lines[0] = pick(rng, ["\ufeff", "# ", "\n\n", "\0"]) + lines[0]
            case _:
                lines[i] = lines[i][: rng.integers(len(lines[i]) + 1)]
    return "\n".join(lines).encode(pick(rng, ["utf-8", "utf-8", "utf-8", "utf-16", "latin-1"]), "replace")


def pick(rng: np.random.Generator, things: list[Any]) -> Any:
    return things[rng.integers(len(things))]


def require(holds: bool, message: str) -> None:
    assert holds, message
