"""Campaigns from TOML files: the meaning of each table, and errors in it."""

import pkgutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import engine
from engine.checks import nearest, shown
from engine.cli.ending import Failure
from engine.cli.recordings import note_described
from engine.dynamics import GRAVITY

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

#: what a file may say, and what kind of thing that is
ENTRIES = {"robot": str, "floating": bool, "gravity": list, "dt": float, "integrator": str, "duration": float, "runs": int,
           "seed": int, "design": str, "record_every": int, "chunk": int, "q0": dict, "v0": dict, "scatter": dict, "metrics": dict,
           "keep": dict, "stop": dict}  # fmt: skip
#: what the command line says instead
OPTIONS = ("out", "workers")
WORDS = {str: "a text", bool: "true or false", list: "a list of numbers", float: "a number", int: "a whole number", dict: "a table"}


def campaign_in(file: str) -> tuple[engine.Campaign, dict[str, Any]]:
    """Return the campaign that a file describes, and when it stops; paths and modules in it are found from its folder."""
    try:
        said = tomllib.loads(Path(file).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise Failure(f"'{file}': there is no such file; expected a campaign (TOML)") from None
    except IsADirectoryError:
        raise Failure(f"'{file}' is a folder; expected a campaign (TOML)") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Failure(f"'{file}' is no TOML ({error}); expected a campaign") from None
    for name, x in said.items():
        if name in OPTIONS:
            raise Failure(f"'{file}' says '{name}', which the command line says; expected engine campaign {file} --{name} {shown(x)}")
        if name not in ENTRIES:
            raise Failure(f"'{file}' says '{name}'{nearest(name, ENTRIES)}; expected some of {', '.join(ENTRIES)}")
        kind: Any = (int, float) if ENTRIES[name] is float else ENTRIES[name]
        if not isinstance(x, kind) or (isinstance(x, bool) and kind is not bool):
            raise Failure(f"'{file}': {name} is {shown(x)}; expected {WORDS[ENTRIES[name]]}")
    for name in ("robot", "duration", "scatter"):
        if name not in said:
            raise Failure(f"'{file}' does not say '{name}'; expected {WORDS[ENTRIES[name]]}")
    folder = Path(file).resolve().parent
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))                                        # of metrics in modules; processes get it too
    model = engine.load(folder / said["robot"], floating_base=said.get("floating", False))
    note_described(model)
    simulator = engine.Simulator(model, said.get("dt", 1e-3), said.get("integrator"), said.get("gravity", GRAVITY),
                                 parameters=parameters_of(file, model, said))  # fmt: skip
    q0, v0 = (state_of(file, model, kind, said.get(f"{kind}0", {})) for kind in "qv")
    grid = said.get("design") == "grid"
    scatter = {name: x if grid else distribution_of(f"'{file}': scatter.\"{name}\"", x) for name, x in said["scatter"].items()}
    metrics = {name: metric_of(f"'{file}': metrics.{name}", x) for name, x in said.get("metrics", {}).items()}
    given = {name: said[name] for name in ("runs", "seed", "design", "record_every", "chunk", "keep") if name in said}
    return engine.Campaign(simulator, q0, v0, said["duration"], scatter=scatter, metrics=metrics, **given), said.get("stop", {})


def parameters_of(file: str, model: engine.Model, said: Mapping[str, Any]) -> dict[str, Any]:
    """Return the simulator's parameters: of what is scattered of the robot its own numbers."""
    found: dict[str, Any] = {}
    for name in said["scatter"]:
        kind, _, link = name.partition("[")[0].partition(".")
        if kind in ("mass", "inertia"):
            own = model.link(link)
            found[f"{kind}.{link}"] = own.mass if kind == "mass" else own.inertia
        elif kind == "gravity":
            found["gravity"] = said.get("gravity", GRAVITY)
        elif kind not in ("q0", "v0", "attitude"):
            raise Failure(f"'{file}': scatter names '{name}'; expected mass.LINK, inertia.LINK, gravity, q0.JOINT, v0.JOINT or "
                          "attitude.JOINT")  # fmt: skip
    return found


def state_of(file: str, model: engine.Model, kind: str, given: Mapping[str, Any]) -> np.ndarray:
    """Return q0 or v0: as the robot's file has it, or neutral, but for entries that are given by their names."""
    x, labels = model.initial() if kind == "q" else np.zeros(model.nv), model.labels(kind)
    for name, value in given.items():
        if name not in labels:
            raise Failure(f"'{file}': {kind}0 names '{name}'{nearest(name, labels)}; expected some of {', '.join(labels)}")
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            raise Failure(f"'{file}': {kind}0.{name} is {shown(value)}; expected a number")
        x[labels.index(name)] = value
    return x


def distribution_of(what: str, x: Any) -> Any:
    """Return a distribution of scipy.stats that is written as {norm = [120, 10]} or {norm = {loc = 120, scale = 10}}; or "uniform"."""
    from scipy import stats

    if x == "uniform":
        return x
    if not isinstance(x, dict) or len(x) != 1:
        raise Failure(f"{what} is {shown(x)}; expected a distribution of scipy.stats, such as {{norm = [120, 10]}}, or 'uniform' rotations")
    ((name, numbers),) = x.items()
    known = {n: d for n, d in vars(stats).items() if isinstance(d, (stats.rv_continuous, stats.rv_discrete)) or n == "multivariate_normal"}
    if name not in known:
        raise Failure(f"{what} names the distribution '{name}'{nearest(name, known)}; expected one of scipy.stats, such as norm")
    try:
        if isinstance(numbers, dict):
            return known[name](**numbers)
        return known[name](*(numbers if isinstance(numbers, list) else [numbers]))
    except (TypeError, ValueError) as error:
        raise Failure(f"{what}: {name} does not take {shown(numbers)} ({error}); expected the numbers of scipy.stats.{name}") from None


def metric_of(what: str, x: Any) -> Any:
    """Return a metric: "max |v.elbow|" as it is written, or the function of a module, "module:function"."""
    if not isinstance(x, str) or ":" not in x:
        return x
    try:
        found = pkgutil.resolve_name(x)
    except (ImportError, AttributeError, ValueError) as error:
        raise Failure(f"{what} is '{x}' ({error}); expected module:function, found from the file's folder") from None
    if not callable(found):
        raise Failure(f"{what} is '{x}', which is {shown(found)}; expected a function of a trajectory")
    return found
