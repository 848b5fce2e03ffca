"""Who may import whom, what ``import engine`` loads, what lies at the top, and that public names are there and documented."""

import ast
import contextlib
import importlib
import inspect
import json
import operator
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import engine

TOP = Path(__file__).parents[1]
ENGINE = TOP / "engine"
FILES = sorted(ENGINE.rglob("*.py"))
PHYSICS = {"calls", "checks", "docstrings", "ops", "spatial", "model"}
BELOW = {"cache", "interrupts", "progress", *PHYSICS, "dynamics", "constraints", "geometry", "contact", "integrate", "rigid_body",
         "compiler", "io", "inverse_kinematics", "recording", "logs"}  # fmt: skip
ACTING = {"compiled", "components"}

#: room -> (rooms it may import from, packages besides the standard library and NumPy); its own modules always
ROOMS = {
    "checks": (set(), set()),
    "calls": ({"checks"}, set()),
    "docstrings": (set(), set()),
    "cache": ({"checks"}, set()),
    "gc_pause": (set(), set()),
    "numpy_threads": (set(), set()),
    "interrupts": (set(), set()),
    "progress": (set(), {"rich"}),
    "ops": ({"checks"}, {"scipy"}),
    "spatial": ({"checks", "ops"}, set()),
    "model": ({"checks", "docstrings", "gc_pause", "ops", "spatial"}, {"networkx"}),
    "dynamics": (PHYSICS, set()),
    "convert": (PHYSICS, set()),
    "constraints": ({*PHYSICS, "dynamics"}, set()),
    "geometry": ({"checks", "ops", "spatial"}, {"scipy"}),
    "contact": ({*PHYSICS, "dynamics", "constraints", "geometry"}, set()),
    "integrate": (PHYSICS, {"scipy"}),
    "rigid_body": ({*PHYSICS, "dynamics", "integrate"}, set()),
    "compiler": ({"cache", "checks", "gc_pause", "ops"}, {"llvmlite"}),
    "io": ({"cache", "calls", "checks", "gc_pause", "interrupts", "model", "spatial", "dynamics"},
           {"networkx", "lxml", "trimesh", "collada", "PIL", "xacro", "pxr"}),
    "examples": ({"checks", "io"}, set()),
    "inverse_kinematics": ({*PHYSICS, "dynamics", "constraints", "compiler"}, set()),
    "recording": ({"checks", "docstrings", "interrupts"}, {"h5py"}),
    "logs": ({"checks", "recording"}, {"mcap", "rosbags", "ruamel", "scipy", "pyarrow"}),
    "compiled": ({*PHYSICS, "dynamics", "constraints", "integrate", "compiler", "inverse_kinematics"}, set()),
    "components": ({*PHYSICS, "dynamics", "contact", "integrate", "compiler"}, set()),
    "space": ({*PHYSICS, "io", "dynamics", "compiler", "components"}, {"erfa", "scipy"}),
    "sensors": ({*PHYSICS, "io", "dynamics", "geometry", "compiler", "components"}, set()),
    "simulation": ({*BELOW, *ACTING, "space", "sensors"}, {"pandas", "scipy", "xarray", "matplotlib"}),
    "viewer": ({"cache", "interrupts", "progress", *PHYSICS, "io", "dynamics", "code", "components", "space", "sensors", "simulation"},
               {"pyglet", "trimesh", "PIL", "av", "fast_simplification", "scipy", "matplotlib", "websockets", "anywidget", "traitlets",
                "rerun"}),
    "control": ({*PHYSICS, "dynamics", "compiler", "components", "sensors", "simulation"}, {"scipy"}),
    "code": ({"calls", "checks", "ops", "model", "dynamics", "compiler", *ACTING, "simulation"}, set()),
    "bridges": ({"calls", "checks", "logs", "simulation"}, {"cyclonedds", "foxglove"}),
    "fmu": ({"calls", "checks", "ops", "model", "contact", "compiler", "components", "simulation", "code"}, set()),
    "identification": ({*PHYSICS, "dynamics", "compiler", "recording", "compiled", "simulation"}, {"scipy", "pandas"}),
    "campaign": ({*BELOW, "components", "simulation"}, {"scipy", "h5py", "xarray", "matplotlib", "distributed", "cloudpickle", "obstore"}),
    "gymnasium": ({*PHYSICS, "dynamics", "compiler", "io", "examples", *ACTING, "simulation", "viewer"}, {"gymnasium"}),
    "docs": ({"checks", "gc_pause", "components", "engine"}, {"sphinx", "docutils", "furo", "myst_parser", "matplotlib", "PIL"}),
    "cli": ({*BELOW, "simulation", "identification", "campaign", "viewer", "docs", "engine"}, {"typer", "scipy", "tomli"}),
    "lazy_imports": ({"checks", "engine", "gc_pause", "io", "convert", "sensors", "space", "control", "code", "fmu", "bridges",
                      "identification", "campaign", "viewer"}, set()),
    "engine": ({*BELOW, "gc_pause", "numpy_threads", "lazy_imports", "convert", "examples", "simulation", "control", "code", "fmu",
                "bridges", "identification", "campaign", "viewer", "space", "sensors"}, set()),
}
#: layers of files in ``simulation``: a file imports only from those before its own
SIMULATION = (
    ("motions", "mounts", "sampled_columns", "passing_bodies", "live_examples", "simulator_examples",
     "trajectory_examples", "body_examples", "contact_examples"),
    ("parameters", "own_states", "rounding", "checks", "columns", "resting_overlaps", "surfaces", "run_header", "constraints",
     "growing_swings", "chatter", "steep_places", "stiffness", "contact_table", "innovations", "unresolved_impacts"),
    ("allowances", "logged"),
    ("impulses", "run_loop", "run_warnings", "surroundings", "totals", "assessment", "variable_mass"),
    ("overlaps", "acting"), ("many_contacts",),
    ("contacts", "plant", "events", "trajectory"),
    ("after_flight", "parameter_units", "python_controllers", "effort_limits", "form", "halving", "impacts", "independent_trees",
     "unresolved"),
    ("meeting_trees", "meeting", "origins", "run_start"),
    ("step", "body_trajectory"),
    ("culprit", "event_runs", "linearization"),
    ("diagnosis",), ("run_file", "compiled_system", "profile", "adaptive", "wires", "state"), ("stepper",), ("simulator", "compile"),
    ("from_file", "live", "load", "rollouts"), ("warm",), ("__init__",),
)  # fmt: skip
#: part of the viewer -> parts that it may import from; its own modules always
PARTS = {"scene": set(), "draw": {"scene"}, "display": {"scene", "draw"}, "files": {"scene", "draw", "display"},
         "window": {"scene", "draw", "display", "files"},
         "serve": {"scene", "draw", "display", "files", "window"}, "__init__": {"scene", "draw", "files", "window"}}  # fmt: skip
#: what is loaded where it is used, and never by ``import engine``
LATER = {"pyglet", "PIL", "av", "fast_simplification", "trimesh", "scipy", "matplotlib", "h5py", "lxml", "rich", "typer", "pandas",
         "xarray", "collada", "pinocchio", "mujoco", "distributed", "cloudpickle", "obstore", "gymnasium", "websockets", "anywidget",
         "traitlets", "rerun", "xacro", "erfa",
         "mcap", "rosbags", "pyarrow", "cyclonedds", "foxglove", "pxr"}  # fmt: skip


def room_of(path: Path) -> str:
    """The room a file belongs to; the public names' is 'engine', the command line's 'cli'."""
    first = path.relative_to(ENGINE).parts[0].removesuffix(".py")
    return {"__init__": "engine", "__main__": "cli"}.get(first, first)


def imports(tree: ast.AST) -> list[tuple[int, str]]:
    """(line, dotted name) of everything imported; for ``from engine import x`` that is engine.x."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"line {node.lineno}: a relative import; expected 'from engine.room import …'"
            found += [(node.lineno, f"engine.{a.name}") for a in node.names] if node.module == "engine" else [(node.lineno, node.module)]
        elif isinstance(node, ast.Name) and node.id in ("__import__", "import_module"):
            found.append((node.lineno, node.id))
    return found


def trespasses(path: Path, source: str) -> list[str]:
    """Imports that the table does not allow, as 'file:line: what'."""
    room = room_of(path)
    assert room in ROOMS, f"engine/{room} is not in the table of rooms"
    rooms, packages = ROOMS[room]
    wrong = []
    for line, name in imports(ast.parse(source)):
        first, *rest = name.split(".")
        if first == "engine":
            fine = (rest[0] if rest else "engine") in {room, *rooms}
        else:
            loads = first == "importlib" and not name.startswith(("importlib.metadata", "importlib.util"))
            fine = first in {"numpy", *packages} or (first in {"tomllib", *sys.stdlib_module_names} and not loads)
        if not fine:
            wrong.append(f"{path.relative_to(TOP)}:{line}: {room} imports {name}")
    return wrong


def at_the_top(tree: ast.Module) -> list[str]:
    """Packages imported as soon as the module is: outside of functions and of ``if TYPE_CHECKING``."""
    now = []
    for node in tree.body:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            now += [name.split(".")[0] for _, name in imports(node)]
    return now


# ---------------------------------------------------------------- rooms


def test_rooms_import_only_what_the_table_allows():
    assert len(FILES) > 40
    wrong = [w for path in FILES for w in trespasses(path, path.read_text(encoding="utf-8"))]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(("file", "line"), [
    ("ops.py", "from engine import spatial"),
    ("spatial/so3.py", "from engine.model import Model"),
    ("spatial/so3.py", "import scipy.linalg"),
    ("spatial/se3.py", "so3 = __import__('so3')"),
    ("model/tree.py", "import engine"),
    ("model/model.py", "import importlib"),
    ("dynamics/rnea.py", "def f():\n    from engine.compiler.transforms.trace import trace"),
    ("integrate/tableau.py", "import llvmlite"),
    ("compiler/graph/expr.py", "import engine.spatial.so3"),
    ("compiler/graph/expr.py", "from engine import model as m"),
    ("io/urdf.py", "from engine.simulation import Robot"),
    ("io/sdf/loops.py", "from engine.constraints import Hinge"),
    ("compiled/robot.py", "from engine.simulation import Simulator"),
    ("simulation/trajectory.py", "import h5py"),
    ("recording/recorder.py", "from engine.model import Model"),
    ("inverse_kinematics/problem.py", "from engine.simulation import compile"),
    ("viewer/window/window.py", "from engine import compiler"),
])  # fmt: skip
def test_a_trespass_is_seen(file, line):
    (wrong,) = trespasses(ENGINE / file, f"import os\nimport numpy as np\n{line}\n")
    assert f"engine/{file}:" in wrong


@pytest.mark.parametrize(("file", "line"), [
    ("spatial/so3.py", "from engine import ops"),
    ("dynamics/rnea.py", "from engine.model.tree import Joint"),
    ("compiler/graph/expr.py", "from engine.compiler import trace"),
    ("compiled/robot.py", "from engine import compiler, dynamics"),
    ("io/mesh.py", "import trimesh.creation"),
    ("cli/info.py", "import engine"),
    ("viewer/window/window.py", "import pyglet"),
])  # fmt: skip
def test_what_is_allowed_is_no_trespass(file, line):
    assert not trespasses(ENGINE / file, line)


def test_parts_of_the_viewer_lie_on_one_another():
    for path in (ENGINE / "viewer").rglob("*.py"):
        part = path.relative_to(ENGINE / "viewer").parts[0].removesuffix(".py")
        for line, name in imports(ast.parse(path.read_text(encoding="utf-8"))):
            if name.startswith("engine.viewer"):
                assert (*name.split("."), "")[2] in {part, *PARTS[part]}, f"{path.relative_to(TOP)}:{line}: {part} imports {name}"


def test_files_of_simulation_lie_in_layers():
    layer = {name: k for k, names in enumerate(SIMULATION) for name in names}
    for path in (ENGINE / "simulation").glob("*.py"):
        for line, name in imports(ast.parse(path.read_text(encoding="utf-8"))):
            if name.startswith("engine.simulation."):
                other = name.split(".")[2]
                assert layer[other] < layer[path.stem], f"{path.relative_to(TOP)}:{line}: imports {name}, which lies no lower"


def test_heavy_packages_are_imported_where_they_are_used():
    for path in FILES:
        late = LATER - {{"cli": "typer"}.get(room := room_of(path), room)}      # what ``main`` loads, see below; a room of its own
        early = late & {*at_the_top(ast.parse(path.read_text(encoding="utf-8")))}
        assert not early, f"{path.relative_to(TOP)} loads {early} when it is imported"


def test_the_command_line_starts_with_the_standard_library_alone():
    assert {*at_the_top(ast.parse((ENGINE / "cli" / "__init__.py").read_text(encoding="utf-8")))} <= sys.stdlib_module_names
    code = "import sys, engine; old = {*sys.modules}; import engine.cli; print(*{*sys.modules} - old - sys.stdlib_module_names)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "engine.cli\n"


def test_the_picture_names_every_room():
    picture = (ENGINE / "ARCHITECTURE.md").read_text(encoding="utf-8")
    for room in {room_of(path) for path in FILES} - {"engine"}:
        assert f"| `{room}`" in picture or f", `{room}`" in picture, f"engine/ARCHITECTURE.md has no row for '{room}'"


def test_tests_mirror_the_rooms():
    folders = {path.parent.name for path in (TOP / "tests").glob("*/test_*.py")}
    assert folders - {"bench", "demos", "fuzz"} <= {path.name for path in ENGINE.iterdir() if path.is_dir()}


# ---------------------------------------------------------------- files


def module_of(path: Path) -> str:
    """The dotted name of a file."""
    return ".".join(path.relative_to(TOP).with_suffix("").parts).removesuffix(".__init__")


def uses(path: Path, modules: dict[str, Path]) -> set[Path]:
    """The engine's files that a file imports, package faces apart."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                for name in (f"{node.module}.{alias.name}", node.module):
                    if name in modules:
                        found.add(modules[name])
                        break
        elif isinstance(node, ast.Import):
            found |= {modules[alias.name] for alias in node.names if alias.name in modules}
    return {p for p in found if p.name != "__init__.py"}


def test_no_files_import_each_other_in_a_circle():
    modules = {module_of(path): path for path in FILES}
    graph = {path: uses(path, modules) for path in FILES}
    for path in FILES:
        reached, waiting = set(), [*graph[path]]
        while waiting:
            if (other := waiting.pop()) not in reached:
                reached.add(other)
                waiting += graph[other]
        assert path not in reached, f"{path.relative_to(TOP)} imports itself through others"


def functions(path: Path) -> list[ast.FunctionDef]:
    return [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.FunctionDef)]


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.relative_to(ENGINE).as_posix())
def test_files_and_functions_are_of_a_size_to_be_read_and_import_at_their_top(path):
    """450 lines a file, 80 a function without its docstring; the engine's own in functions only in faces and in the command line."""
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 450
    for f in functions(path):
        words = f.body[0].end_lineno - f.body[0].lineno if ast.get_docstring(f) else 0
        assert f.end_lineno - f.lineno - words <= 80, f"{f.name} in line {f.lineno}"
        if room_of(path) not in ("cli", "lazy_imports") and path.name != "__init__.py":
            own = [name for _, name in imports(f) if name.split(".")[0] == "engine"]
            assert not own, f"{f.name} in line {f.lineno} imports {own}"


# ---------------------------------------------------------------- private names


def private(name: str | None) -> bool:
    """Whether a name is a room's own: ``_x``, but no name of Python's, of which named tuples have some."""
    return name is not None and name.startswith("_") and not name.startswith("__") and name not in ("_", "_replace", "_fields", "_asdict")


def names(tree: ast.AST) -> tuple[set[str], list[tuple[int, str]]]:
    """The private names that a file defines, and those that it reads of other things than itself, with their lines."""
    defined, read = set[str](), list[tuple[int, str]]()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            defined.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            defined.add(node.id)
        elif isinstance(node, ast.Attribute) and private(node.attr):
            own = ast.unparse(node.value) in ("self", "cls", "super()")
            if own and isinstance(node.ctx, ast.Store):
                defined.add(node.attr)
            elif not own:
                read.append((node.lineno, node.attr))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("engine"):
            read += [(node.lineno, alias.name) for alias in node.names if private(alias.name)]
    return {name for name in defined if private(name)}, read


def test_no_room_reads_anothers_private_names():
    """What is ``x._y`` belongs to the room that defines it; x may be of a subclass elsewhere, which calls itself self."""
    found = {path: names(ast.parse(path.read_text(encoding="utf-8"))) for path in FILES}
    rooms: dict[str, set[str]] = {}
    for path, (defined, _) in found.items():
        rooms.setdefault(room_of(path), set()).update(defined)
    everywhere = set.union(*rooms.values())
    wrong = [f"{path.relative_to(TOP)}:{line}: {name}, which another room defines"
             for path, (_, read) in found.items() for line, name in read if name in everywhere - rooms[room_of(path)]]  # fmt: skip
    assert not wrong, "\n".join(wrong)


# ---------------------------------------------------------------- import engine


def test_import_engine_is_light():
    code = f"import engine, json, sys; print(json.dumps(sorted({LATER!r} & {{*sys.modules}})))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []
    assert done.stderr == ""


# ---------------------------------------------------------------- the top level


def test_the_top_level_holds_what_it_says():
    try:
        listing = subprocess.run(["git", "ls-files"], cwd=TOP, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    top = {line.split("/")[0] for line in listing.splitlines()}
    shown = {name for name in top if not name.startswith(".")} - {"LICENSE"}
    assert shown <= {"pyproject.toml", "engine", "assets", "tests", "demos", "README.md"}
    assert {"pyproject.toml", "engine", "README.md"} <= shown


# ---------------------------------------------------------------- public names


def test_public_names_are_there():
    assert len(set(engine.__all__)) == len(engine.__all__)
    for name in engine.__all__:
        assert getattr(engine, name) is not None
    for name in ("load_urdf", "compile", "gufunc", "Simulator", "Trajectory", "Model", "Builder", "spatial", "dynamics", "set_threads"):
        assert name in engine.__all__
    with pytest.raises(AttributeError):
        engine.no_such_name  # noqa: B018


def public(module: ModuleType) -> dict[str, object]:
    """Functions and classes that a room offers: those of its ``__all__``, and those of modules in it."""
    names = getattr(module, "__all__", None) or [n for n, x in vars(module).items() if getattr(x, "__module__", "") == module.__name__]
    found = {}
    for name in names:
        value = getattr(module, name)
        if inspect.ismodule(value):
            found |= public(value)
        elif not name.startswith("_") and (inspect.isfunction(value) or inspect.isclass(value)) and value.__module__.startswith("engine"):
            found[f"{value.__module__}.{value.__qualname__}"] = value
    return found


@pytest.mark.parametrize("room", sorted({room_of(path) for path in FILES}))
def test_what_is_public_is_documented(room):
    offered = public(engine if room == "engine" else importlib.import_module(f"engine.{room}"))
    assert offered, f"engine.{room} offers nothing; expected names in its __all__"
    own_words = [name for name, x in offered.items() if x.__doc__ and not (inspect.isclass(x) and x.__doc__.startswith(f"{x.__name__}("))]
    silent = sorted({*offered} - {*own_words})                                # a dataclass without one gets its signature
    assert not silent, f"without a docstring: {', '.join(silent)}"


def test_every_module_says_what_it_is():
    for path in FILES:
        assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), f"{path.relative_to(TOP)} has no docstring"


# ---------------------------------------------------------------- names in texts


def stands(name: str) -> bool:
    """Whether a dotted name is a module, or what can be had from one."""
    parts = name.split(".")
    for n in range(len(parts), 0, -1):
        with contextlib.suppress(ModuleNotFoundError, AttributeError):
            operator.attrgetter(".".join(parts[n:]) or "__name__")(importlib.import_module(".".join(parts[:n])))
            return True
    return False


def test_names_in_pages_scripts_and_docstrings_stand():
    """A file that is renamed is named elsewhere: in the gate's scripts, pages, and references of docstrings."""
    pages = [*ENGINE.rglob("*.md"), TOP / "README.md", *(TOP / ".ci").glob("*")]
    named = {(path, name) for path in pages for name in re.findall(r"\bengine(?:\.\w+)+(?![\w.]*/)", path.read_text(encoding="utf-8"))}
    named |= {(path, name) for path in FILES for name in re.findall(r":\w+:`[~!]?(engine(?:\.\w+)+)`", path.read_text(encoding="utf-8"))}
    lost = sorted(f"{path.relative_to(TOP)}: {name}" for path, name in named if not stands(name))
    assert not lost, "\n".join(lost)


def test_what_is_said_to_be_in_a_file_is_defined_there():
    """``Class.method`` in ``room/file``, as the picture's tables say it."""
    told = re.findall(r"`([\w.]+)` in `(\w+(?:/\w+)*)`", (ENGINE / "ARCHITECTURE.md").read_text(encoding="utf-8"))
    assert len(told) > 15
    lost = []
    for name, file in told:
        text = (ENGINE / f"{file}.py").read_text(encoding="utf-8")
        places = [rf"^\s*(?:def|class) {part}\b|^(?:\w+, )*{part}\b.* = " for part in name.split(".")]
        lost += [f"{file}: {name}" for place in places if not re.search(place, text, re.M)]
    assert not lost, lost


def test_files_in_pages_are_there():
    picture = (ENGINE / "ARCHITECTURE.md").read_text(encoding="utf-8")
    rooms = {room_of(path) for path in FILES}
    lost = [name for name in re.findall(r"`(\w+(?:/\w+)+)(?:\.py)?/?`", picture)
            if name.split("/")[0] in rooms and not (ENGINE / name).is_dir() and not (ENGINE / f"{name}.py").is_file()]  # fmt: skip
    for page in ENGINE.rglob("*.md"):
        for name, options in re.findall(r"literalinclude\} (\S+)\n((?:^:.*\n)*)", page.read_text(encoding="utf-8"), re.MULTILINE):
            text = (page.parent / name).read_text(encoding="utf-8") if (page.parent / name).is_file() else ""
            wanted = re.findall(r'^:(?:start-\w+|end-\w+|pyobject): "?(?:\w+\.)?(.*?)"?$', options, re.MULTILINE)
            lost += [f"{page.name}: {name}: {part}" for part in wanted or [""] if part not in text or not text]
    assert not lost, lost
