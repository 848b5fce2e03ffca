"""Without the extras' packages: the core works as ever, and whatever needs one of them says so in one sentence."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from engine.cli.campaign_file import tomllib

#: modules that only extras bring
OPTIONAL = ("anywidget", "av", "coacd", "collada", "cyclonedds", "distributed", "fast_simplification", "foxglove", "gymnasium",
            "matplotlib", "mcap", "obstore", "pandas", "PIL", "pxr", "pyarrow", "pyglet", "rosbags", "torch",
            "websockets", "xarray", "zarr", "ziglang")  # fmt: skip
SCRIPT = f"""
import json, sys
from importlib.machinery import PathFinder
class Lean(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name in {OPTIONAL} else PathFinder.find_spec(name, path, target)
sys.meta_path[:] = [Lean if finder is PathFinder else finder for finder in sys.meta_path]
import numpy as np, scipy.stats, engine
model = engine.load_urdf(engine.example("free_flyer"), floating_base=True)
v = np.full(model.nv, 0.1)
motion = engine.Simulator(model, dt=1e-2, gravity=(0, 0, 0)).run(model.neutral(), v, 0.1)
file = engine.Simulator(model, dt=1e-2, gravity=(0, 0, 0)).run(model.neutral(), v, 0.1, out="run.h5")
assert np.array_equal(engine.load_trajectory(file).q, motion.q)
assert engine.compile(model).aba(model.neutral(), v, 0.0 * v).shape == (model.nv,)
assert not engine.check(engine.example("free_flyer"), floating_base=True).findings
simulator = engine.Simulator(model, dt=1e-2, gravity=(0, 0, 0), parameters=dict([('mass.bus', 500.0)]))
campaign = engine.Campaign(simulator, model.neutral(), v, 0.05, runs=4, scatter=dict([('mass.bus', scipy.stats.norm(500, 10))]))
assert campaign.run("runs").complete
live = engine.Live(simulator, model.neutral(), v, paused=True)
said = {{}}
for name, ask in {{
    "render": lambda: engine.render(motion), "view": lambda: engine.view(motion), "export": lambda: engine.export(motion, "run.html"),
    "serve": lambda: engine.serve(motion), "widget": lambda: engine.Widget(model), "plot": lambda: motion.plot("run.png"),
    "table": lambda: motion.to_pandas(), "dataset": lambda: motion.to_xarray(), "runs": lambda: engine.load_campaign("runs").dataset(),
    "bucket": lambda: engine.load_campaign("s3://a/b"), "learn": lambda: __import__("engine.gymnasium"),
    "log": lambda: motion.save("run.mcap"), "parquet": lambda: motion.save("run.parquet"), "stage": lambda: engine.load("robot.usd"),
    "binary": lambda: engine.export_fmu(simulator, "bus.fmu", platforms=["aarch64-darwin"], version="3.0"),
    "dds": lambda: engine.bridge(live, "dds"), "foxglove": lambda: engine.bridge(live, "foxglove"),
}}.items():
    try:
        said[name] = "nothing", str(ask())
    except Exception as error:
        said[name] = type(error).__name__, str(error)
print(json.dumps(said))
"""
EXTRAS = {"render": "viewer", "view": "viewer", "export": "viewer", "serve": "web", "widget": "web", "plot": "plots", "table": "tables",
          "dataset": "tables", "runs": "tables", "bucket": "cloud", "learn": "gymnasium", "log": "logs",
          "parquet": "logs", "stage": "usd", "binary": "fmu", "dds": "dds", "foxglove": "foxglove"}  # fmt: skip


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    here = tmp_path_factory.mktemp("lean")
    done = subprocess.run([sys.executable, "-W", "error", "-c", SCRIPT], cwd=here, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("name", EXTRAS)
def test_what_an_extra_brings_is_named(said, name):
    kind, text = said[name]
    assert kind.endswith("Error") and kind not in ("ImportError", "ModuleNotFoundError", "AttributeError"), (kind, text)
    assert text.endswith(f"pip install \".[{EXTRAS[name]}]\" in the engine's checkout"), text


def test_extras_are_all_of_them():
    """``all`` has every extra that users have; what only extras bring is in no dependency of the core."""
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    everything = extras["all"][0].partition("[")[2].rstrip("]").split(",")
    assert set(everything) == set(extras) - {"all", "viewer", "demos", "docs", "tests"}
    core = {d.split(">")[0] for d in project["dependencies"]}
    assert core == {"numpy", "scipy", "networkx", "llvmlite", "lxml", "trimesh", "h5py", "rich", "typer", "tomli"}


def test_extras_are_installed_in_one_way():
    """The package is of no index: what brings an extra is pip in a checkout, on every page and in every message."""
    top = Path(__file__).parents[1]
    pages = [top / "README.md", *(p for kind in ("py", "md") for d in ("engine", "demos") for p in (top / d).rglob(f"*.{kind}"))]
    assert not [p for p in pages if "articulated-engine[" in p.read_text("utf-8")]
