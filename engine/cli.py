"""The command line: ``engine info FILE`` says what a robot file holds and what is wrong in it."""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.model import Model

SMALL = 40
EXAMPLES = """\
examples:
  engine info robot.urdf                          what it holds, its tree, and what is wrong in it
  engine info robot.urdf --floating               with a base that moves freely: nq and nv grow by 7 and 6
  engine info robot.urdf --package-dir ~/ros/src  where package:// meshes are looked for besides the file's own package
  engine info robot.urdf --meshes                 also read each mesh

exit code: 0; 1 if the file cannot be loaded or an error was found in it; 2 for a wrong command
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    parser = argparse.ArgumentParser(prog="engine", description="Articulated multibody dynamics: look at robot files.", epilog=EXAMPLES,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    commands = parser.add_subparsers(metavar="COMMAND")
    command = commands.add_parser("info", help="say what a robot file holds and what is wrong in it", epilog=EXAMPLES,
                                  description="Print a robot's links, joints, coordinates, mass and tree, and a report of its faults.",
                                  formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    command.add_argument("file", metavar="FILE", help="a URDF file")
    command.add_argument("--floating", action="store_true", help="let the root link move freely in the world")
    command.add_argument("--tree", action="store_true", help=f"print the tree also of a robot with more than {SMALL} links")
    command.add_argument("--meshes", action="store_true", help="read each mesh, not only look for it")
    command.add_argument("--package-dir", metavar="DIR", action="append", default=[], help="a package or a folder of packages (repeatable)")
    command.set_defaults(run=info)
    options = parser.parse_args(arguments)
    if not hasattr(options, "run"):
        parser.print_help()
        return 0
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")      # a terminal that has no '└' shows '?'
    try:
        code = int(options.run(options))
        sys.stdout.flush()
    except BrokenPipeError:                           # the reader, as in `engine info FILE | head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code


def info(options: argparse.Namespace) -> int:
    """Print what a robot file holds."""
    from engine.io import RobotFileError, check, load_urdf

    try:
        model = load_urdf(options.file, floating_base=options.floating, package_dirs=options.package_dir)
    except RobotFileError as problem:
        report = check(options.file, options.package_dir, options.meshes)
        if len(report.findings) > 1:
            print(report)
        print(f"engine: {problem}", file=sys.stderr)
        return 1
    report = check(options.file, options.package_dir, options.meshes)
    print("\n".join(summary(model)))
    if options.tree or len(model.links) <= SMALL:
        print("\n".join(["", *tree(model)]))
    print(f"\n{report}")
    if not report.ok:
        count = sum(f.severity == "error" for f in report.findings)
        print(f"engine: {options.file}: {count} error{'s' * (count > 1)} found, listed above", file=sys.stderr)
    return 0 if report.ok else 1


def summary(model: Model) -> Iterator[str]:
    """Name, numbers of links and joints, coordinates and mass."""
    kinds = Counter(j.kind for j in model.joints)
    mimics = sum(b.mimics for b in model.bodies)
    yield f"{model.name}"
    yield f"  links   {len(model.links)}"
    yield f"  joints  {len(model.joints)}{': ' * bool(kinds)}{', '.join(f'{n} {kind}' for kind, n in kinds.most_common())}"
    yield f"  nq, nv  {model.nq}, {model.nv}{f' (joints that follow others: {mimics})' if mimics else ''}"
    yield f"  mass    {sum(link.mass for link in model.links):.6g} kg"


def tree(model: Model) -> Iterator[str]:
    """The links, each below the one it hangs on, with the joint it hangs by."""
    yield model.links[0].name
    above = {j.child: j for j in model.joints if j.parent}
    last = {j.parent: j.child for j in above.values()}
    bars = {model.links[0].name: ""}
    for link in model.links[1:]:
        joint = above[link.name]
        closes = last[joint.parent] == link.name
        yield f"{bars[joint.parent]}{'└─ ' if closes else '├─ '}{link.name}  ({joint.name}, {joint.kind})"
        bars[link.name] = bars[joint.parent] + ("   " if closes else "│  ")


if __name__ == "__main__":
    sys.exit(main())
