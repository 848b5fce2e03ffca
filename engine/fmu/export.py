"""``export_fmu``: a simulator, or its controller, as an FMU."""

from __future__ import annotations

import hashlib
import io
import re
import uuid
import zipfile
from collections.abc import Sequence
from pathlib import Path

from numpy.typing import ArrayLike

from engine.checks import beside, one_of, shown, truth, warn, whole, writable, writing
from engine.code import ExportError
from engine.code.exported import WRITER, identifier, require_export, require_name
from engine.code.memory import with_tables
from engine.code.reserved import is_taken
from engine.code.sources import rows_of
from engine.fmu.binaries import PLATFORMS, compiler, complaint, here, made, require_platforms
from engine.fmu.branches import branching
from engine.fmu.description import build_description, model_description
from engine.fmu.programs import FmuPrograms, of_controller, of_simulator, require_names
from engine.fmu.tables import model_header, own_sources, written
from engine.fmu.variables import OUTPUT, range_of, twice, variables_of
from engine.model.parameters import is_number
from engine.simulation import Simulator

VERSIONS = ("2.0", "3.0")
#: of what is in the archive: the same simulator is the same bytes
LONG_AGO = (1980, 1, 1, 0, 0, 0)
#: names that no file of Windows has, whatever its ending
DEVICES = re.compile("(?i)con|prn|aux|nul|(com|lpt)[0-9]")


def export_fmu(simulator: Simulator, path: str | Path, inputs: Sequence[str] = (), outputs: Sequence[str] | None = None,
               poses: Sequence[str] = (), parameters: Sequence[str] | None = None, q0: ArrayLike | None = None,
               v0: ArrayLike | None = None, version: str = "2.0", model_exchange: bool = False, platforms: Sequence[str] | None = None,
               sources: bool = True, part: str | None = None, names: str = "structured", name: str | None = None,
               room: int | None = None) -> Path:  # fmt: skip
    """Write a simulator as an FMU, a model that tools of co-simulation import (Simulink, Dymola, dSPACE, OpenModelica, …); return its path.

    It steps by the engine's own C: the same bits as :meth:`engine.Simulator.run`. A communication step is a multiple of dt, counted by
    the FMU itself; a sum of times that is off by a thousandth of dt is taken. Its state can be read, set and serialised at any time,
    within a contact too. Where the state stops being finite a step is "discarded": nothing has changed then. Whatever else is wrong is
    an "error", in a sentence that the tool shows, and changes nothing either.

    Parameters
    ----------
    path : "arm.fmu"; an FMU of the engine's that is there is replaced, once the new one is whole, any other file refused
    inputs : the simulator's parameters that the tool steers: ``controller=lambda t, q, v, torque: torque`` has "torque", held over a
        communication step; no inertia and no placement, of which a tool could give what is no body's
    outputs : "q", "v", "vdot", "tau" and the names of signals; by default q, v and tau, of a controller all that it commands. One that has
        an input's or a parameter's name is ``output.tau`` (an EngineWarning says so)
    poses : links, of which position (3), m, and rotation matrix (3, 3) in the world are outputs
    parameters : of those that are no inputs, which may be tuned while it runs, or before it begins if a component begins by them, as
        "tank.fuel": all by default, but for those that are checked as a whole, as
        inertias, placements and matrices, and of a controller those that nothing in it depends on
    q0, v0 : where it begins, by default the model's initial configuration, at rest; also the parameters start.q and start.v, which may be
        set before it begins, but where constraints hold. Quaternions are made unit ones, or refused where their length is not 1 within
        2 %
    version : of FMI, "2.0" or "3.0", which has arrays and adjoint derivatives
    model_exchange : whether the tool may integrate it, too: of a smooth field of q and v alone, with its derivatives along directions.
        There are no event indicators: an EngineWarning names the components whose forces branch by t, q or v
    platforms : of binaries, such as ``["x86_64-linux", "x86_64-windows"]``: by default this machine, if there is a C compiler. Others are
        made by zig, which the extra "fmu" brings. Those of x86-64 want AVX2 and FMA (x86-64-v3), and say so
    sources : whether the C is in it; with no platforms this machine's C compiler, if there is one, reads it, and an EngineWarning says what
        it does not take
    room : where contacts are rows of tables, and only there, how many rows there is memory for, for good: by default 32 for each shape
        that may touch. A step that needs more is "discarded"
    part : "controller": the law alone, which has q, v and the signals that it reads, such as a sensor's, as inputs, its commands as
        outputs, and what it remembers
    names : "structured" (``q.elbow``, ``torque[1]``), or "flat" (``q_elbow``, ``torque_1``), for tools that dislike dots and brackets
    name : FMI's model identifier; by default the file's name, made one

    Raises
    ------
    ExportError : the simulator has no such code (events, plain Python), there is no such input, output or link, no compiler, a path
        that cannot be written, a file there that no export wrote
    SimulationError, StateError : of ``model_exchange`` more than a smooth field; what :meth:`engine.Simulator.run` refuses to begin with

    Examples
    --------
    >>> import tempfile, engine
    >>> arm = engine.load(engine.example("seven_joint_arm"))
    >>> simulator = engine.Simulator(arm, parameters={"torque": [0.0] * 7}, controller=lambda t, q, v, torque: torque)
    >>> path = export_fmu(simulator, Path(tempfile.mkdtemp()) / "arm.fmu", inputs=["torque"], platforms=[])
    >>> zipfile.ZipFile(path).namelist()[:2]
    ['modelDescription.xml', 'sources/arm_observe.c']
    """
    if not isinstance(simulator, Simulator):
        raise ExportError(f"export_fmu got {shown(simulator)}; expected a Simulator")
    path = writable(path, [".fmu"], ExportError)
    require_own(path)
    model_exchange, sources = truth("model_exchange", model_exchange, ExportError), truth("sources", sources, ExportError)
    version = one_of("version", version, VERSIONS, ExportError)
    flat = one_of("names", names, ("structured", "flat"), ExportError) == "flat"
    own = identifier(path.stem) if name is None else require_name(name)
    if name is not None and DEVICES.fullmatch(own):
        raise ExportError(f"name is '{own}', which is a device of Windows and no file; expected another name")
    own = f"{own}_" if is_taken(own) or DEVICES.fullmatch(own) else own
    platforms = ([here()] if here() in PLATFORMS and compiler() and (version == "3.0" or PLATFORMS[here()].old) else []) \
        if platforms is None else platforms  # fmt: skip
    wanted = require_platforms(platforms, version)
    if not wanted and not sources:
        raise ExportError("there are no platforms and no sources, of which nothing could run; expected one of them")
    if part is None:
        fmu = of_simulator(simulator, inputs, outputs, poses, q0, v0, model_exchange, version == "3.0")
        if model_exchange and (own_branches := branching(simulator)):
            warn(f"the field branches in {', '.join(own_branches)}, and the FMU has no event indicators for that; expected an importer "
                 "that takes small steps there, or co-simulation, which steps as the simulator does")  # fmt: skip
    else:
        one_of("part", part, ("controller",), ExportError)
        if poses or model_exchange or q0 is not None or v0 is not None:
            raise ExportError("a controller alone has no poses, no model exchange and no start; expected part=None for these")
        fmu = of_controller(simulator, inputs, outputs)
    rows = rows_of(fmu.model) if room is None else whole("room", room, "a number of rows from 1", least=1, error=ExportError)
    if room is not None and not any(map(with_tables, fmu.programs.values())):
        raise ExportError(f"room is {rows}, and this FMU has no contacts as rows of tables; expected room=None")
    free = tuned(fmu, parameters)
    if both := twice(fmu, free):
        verb = "is" if len(both) == 1 else "are"
        warn(f"{', '.join(both)} {verb} set and put out under one name; expected other names of parameters, or importers "
             f"that find the output as '{OUTPUT}{'_' if flat else '.'}{both[0]}'")  # fmt: skip
    files = archived(fmu, own, version, flat, free, wanted, sources, rows)
    data = packed(files)
    waiting = beside(path)
    try:
        with writing(path, ExportError, begun=False):
            waiting.write_bytes(data)
            waiting.replace(path)
    finally:
        waiting.unlink(missing_ok=True)
    return path


def require_own(path: Path) -> None:
    """Refuse where a file is somebody's own, and no FMU of the engine's."""
    if not path.exists():
        return
    try:
        with zipfile.ZipFile(path) as archive:
            there = archive.read("modelDescription.xml")
    except (OSError, KeyError, zipfile.BadZipFile, NotImplementedError, RuntimeError):
        there = b""
    require_export(path, there)


def tuned(fmu: FmuPrograms, parameters: Sequence[str] | None) -> list[str]:
    """Return the names of the parameters that may be tuned."""
    left = [n for n in fmu.parameters.shapes if n not in fmu.inputs]
    usual = [n for n in left if range_of(fmu, n) and n not in fmu.unread]
    found = usual if parameters is None else [*require_names("parameters", parameters, left)]
    for n in (*(n for n in fmu.inputs if n not in fmu.signals), *found):
        if range_of(fmu, n) is None:
            other = "mass, center or displacement instead" if is_number(n) else "it as it is, or as a constant"
            raise ExportError(f"the parameter '{n}' would have to be checked as a whole; expected {other}")
    if late := next((n for n in fmu.inputs if n in fmu.fixed), None):
        raise ExportError(f"inputs have '{late}', by which a component begins and which nothing follows later; expected it among the "
                          "parameters")  # fmt: skip
    if idle := [n for n in fmu.inputs if n in fmu.unread]:
        warn(f"inputs have {', '.join(map(repr, idle))}, which nothing in this part reads: it steers nothing there; expected none, or the "
             "part that reads it")  # fmt: skip
    return found


def archived(fmu: FmuPrograms, name: str, version: str, flat: bool, parameters: Sequence[str], platforms: Sequence[str],
             sources: bool, rows: int) -> dict[str, bytes]:  # fmt: skip
    """Return the files of an FMU, by their places in it."""
    variables = variables_of(fmu, parameters, version == "3.0", flat)
    if apart := [f"{v.called} is '{v.name}', as '{v.wanted}' is another variable" for v in variables if v.wanted]:
        more = f"; and so on, {len(apart)} in all" if len(apart) > 8 else ""
        warn(f"names fall together in the FMU: {'; '.join(apart[:8])}{more}; expected other names, or importers that set it as this says")
    own, wrappers, work = written(fmu, name, rows)
    said = repr([version, flat, fmu.words, fmu.x.tolist(), fmu.p.tolist(), *own.items(), *variables])
    digest = hashlib.sha256(said.encode()).digest()
    token, key = str(uuid.UUID(bytes=digest[:16], version=4)), int.from_bytes(digest[16:23], "big")
    token = token if version == "3.0" else f"{{{token}}}"
    text = {**own, **own_sources(version), "model.h": model_header(fmu, variables, token, key, wrappers, work, rows, [*own])}
    if not platforms and (said := complaint(text)):
        warn(f"this machine's C compiler does not take the FMU's sources: {said}; expected one of C99")
    units = [n for n in text if n.endswith(".c")]
    description = model_description(fmu, variables, name, token, version, flat, WRITER, units if sources else [])
    files = {"modelDescription.xml": description.encode()}
    if sources:
        files |= {f"sources/{n}": body.encode() for n, body in text.items()}
        files |= {"sources/buildDescription.xml": build_description(name, units).encode()} if version == "3.0" else {}
    for p in platforms:
        folder = p if version == "3.0" else PLATFORMS[p].old
        files[f"binaries/{folder}/{name}{PLATFORMS[p].suffix}"] = made(text, name, p)
    return files


def packed(files: dict[str, bytes]) -> bytes:
    """Return a zip archive of files."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for place in sorted(files, key=lambda n: (n != "modelDescription.xml", n)):
            about = zipfile.ZipInfo(place, LONG_AGO)
            about.external_attr = (0o755 if place.startswith("binaries/") else 0o644) << 16
            archive.writestr(about, files[place], zipfile.ZIP_DEFLATED, 9)
    return data.getvalue()
