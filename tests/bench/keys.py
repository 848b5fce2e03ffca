"""Whether programs are the same as before a change: ``python -m tests.bench.keys FILE [robots…]`` records the keys of all programs of the
robots that come with the engine, and of those whose files or folders are named, and compares once FILE is there.

A program's key and the text of its machine code do not depend on the processor's speed or load, only on the width of its vectors.
"""

from __future__ import annotations

import hashlib
import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import engine
from engine.compiler import native_code
from engine.compiler.codegen import entry
from engine.compiler.graph.program import Program

ROBOTS = ("dual_arm_servicer", "free_flyer", "quadruped", "seven_joint_arm")
FUNCTIONS = ("aba", "rnea", "crba", "energy", "momentum")


def files(named: list[str]) -> Iterator[Path]:
    """Yield the robots' files."""
    yield from (Path(engine.example(name)) for name in ROBOTS)
    for path in map(Path, named):
        yield from sorted(path.glob("*")) if path.is_dir() else [path]


def programs(model: engine.Model) -> Iterator[tuple[str, Program]]:
    """Yield the dynamics of a model, and a simulator's step and what it records."""
    robot = engine.compile(model)
    for name in FUNCTIONS:
        yield name, getattr(robot, name).program
    yield from zip(("step", "observe"), engine.Simulator(model, dt=1e-3)._process.programs, strict=True)


def found(path: Path) -> dict[str, str]:
    """Return the digest of each program of a file's robot: its key, and the IR of its entries."""
    model = engine.load(path)
    digests = {}
    for name, program in programs(model):
        text = program.key
        if name == "aba":
            text += entry.single(program) + entry.batch(program, native_code.width())
        digests[name] = hashlib.sha256(text.encode()).hexdigest()
    return digests


def main() -> None:
    file, named = Path(sys.argv[1]), sys.argv[2:]
    warnings.simplefilter("ignore")
    now: dict[str, dict[str, str]] = {}
    for path in files(named):
        try:
            now[f"{path.parent.name}/{path.name}"] = found(path)
        except engine.EngineError as error:
            print(f"{path.name}: {error}")
    if not file.exists():
        file.write_text(json.dumps(now, indent=1))
        print(f"{len(now)} robots recorded")
        return
    before = json.loads(file.read_text())
    changed = [f"{robot}: {name}" for robot, keys in before.items() for name, key in keys.items() if now.get(robot, {}).get(name) != key]
    print("\n".join(changed) or f"{len(before)} robots, the same programs")
    sys.exit(bool(changed))


if __name__ == "__main__":
    main()
