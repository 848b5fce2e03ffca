"""``engine info``: what a file holds."""

import warnings
from typing import Annotated

import typer

import engine
from engine.cli.ending import Failure, refuse_unread
from engine.cli.options import File, Floating, Packages
from engine.cli.recordings import is_recording
from engine.cli.tables import contents_lines, summary_lines, tree_lines
from engine.io import model_from_text
from engine.recording import Recording
from engine.simulation.run_header import header_in

SMALL = 40                # links of a robot whose tree is printed unasked


def info(
    file: File,
    floating: Floating = False,
    tree: Annotated[bool, typer.Option("--tree", help=f"Print the tree also of a robot with more than {SMALL} links.")] = False,
    meshes: Annotated[bool, typer.Option("--meshes", help="Read each mesh, not only look for it.")] = False,
    package_dir: Packages = None,
) -> None:
    """Say what a robot or a recording holds, and what is wrong in it.

    Examples:
    engine info robot.urdf                          what it holds; what is wrong
    engine info robot.urdf --floating               its base moves freely
    engine info robot.urdf --package-dir ~/ros/src  where package:// meshes lie
    engine info robot.urdf --meshes                 also read each mesh
    engine info run.h5                              a recording: complete or not
    """
    if is_recording(file):
        refuse_unread(f"is for a robot's file, and '{file}' is a recording, which holds its robot; expected the option left out",
                      floating=floating, meshes=meshes, package_dir=package_dir)  # fmt: skip
        with Recording.open(file) as recording:
            header_in(recording)
            print(file, *contents_lines(recording), sep="\n")
            if tree and "model" in recording.header:
                print("", *tree_lines(model_from_text(recording.header["model"])), sep="\n")
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", engine.RobotFileWarning)        # the report tells of it
            model = engine.load(file, floating_base=floating, package_dirs=package_dir or ())
    except engine.RobotFileError as problem:
        report = engine.check(file, package_dir or (), meshes, floating)
        if len(report.findings) > 1:
            print(report)
        raise Failure(str(problem)) from None
    report = engine.check(file, package_dir or (), meshes, floating)
    print(*summary_lines(model), sep="\n")
    if tree or len(model.links) <= SMALL:
        print("", *tree_lines(model), sep="\n")
    print(f"\n{report}")
    if not report.ok:
        raise Failure(f"{file}: {report.count('error')} found, listed above")
