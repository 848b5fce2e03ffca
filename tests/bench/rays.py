"""Rays at shapes and meshes: how many a second one core casts, against MuJoCo's mj_multiRay at the same scene."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from tests.bench.__main__ import Table

#: rows of an environment with depths of so many pixels, and of a scene the rays
ROWS, SIDE, RAYS = 64, 32, 20_000
SHAPES = """<geom size="0.4" pos="2 0 0"/><geom type="box" size="0.3 0.4 0.5" pos="-1.5 0.5 0.3" euler="30 20 10"/>
<geom type="cylinder" size="0.3 0.5" pos="0 2 0" euler="50 0 20"/><geom type="capsule" size="0.25 0.5" pos="0.3 -2 0.1" euler="10 80 0"/>
<geom type="ellipsoid" size="0.3 0.5 0.7" pos="-1.6 -1.6 0" euler="10 40 0"/>"""
MESH = '<geom type="mesh" mesh="ring" pos="1.2 0 0" euler="60 20 0"/>'


def scene(folder: Path, geoms: str) -> tuple[Any, Any, Any]:
    """A model of an eye among geoms, and MuJoCo's of the same."""
    import mujoco
    import trimesh

    import engine

    trimesh.creation.torus(0.6, 0.25, 64, 24).export(folder / "ring.stl")
    (folder / "scene.xml").write_text(f"""<mujoco><asset><mesh name="ring" file="ring.stl"/></asset><worldbody>{geoms}<body name="eye">
      <joint name="turn"/><geom size="0.05" mass="1"/></body></worldbody></mujoco>""")
    m = mujoco.MjModel.from_xml_path(str(folder / "scene.xml"))
    d = mujoco.MjData(m)
    mujoco.mj_forward(m, d)
    return engine.load(folder / "scene.xml"), m, d


def rays(table: Table) -> None:
    """Millions of rays a second on one core: of many at five shapes, and at a mesh of 3072 triangles; depths in an environment."""
    import mujoco

    import engine
    from engine import sensors
    from engine.gymnasium import VectorEnv
    from tests.bench.timing import in_turn, median

    engine.set_threads(1)
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as place:
        for name, geoms in (("3072 triangles", MESH), ("five shapes", SHAPES)):
            model, m, d = scene(Path(place), geoms)
            lidar = sensors.Lidar("eye", np.sort(rng.uniform(-np.pi, np.pi, RAYS // 100)), np.linspace(-1.2, 1.2, 100))
            met, far, along = np.zeros(RAYS, np.int32), np.zeros(RAYS), lidar.rays.ravel().copy()

            def theirs(m: Any = m, d: Any = d, along: Any = along, met: Any = met, far: Any = far) -> None:
                mujoco.mj_multiRay(m, d, np.zeros(3), along, None, 1, m.body("eye").id, met, far, None, RAYS, 100.0)

            def ours(lidar: Any = lidar, model: Any = model) -> np.ndarray:
                return lidar.look(model, [0.0])

            theirs()
            np.testing.assert_allclose(ours().ravel(), np.where(far < 0.0, 100.0, far), rtol=1e-9, atol=1e-9)
            a, b = in_turn(ours, theirs)
            table.add("rays", f"{RAYS} rays at {name}: mj_multiRay", b / a, "x", ">= 1", b >= a, millions_a_second=RAYS / a * 1e-6,
                      theirs=RAYS / b * 1e-6)  # fmt: skip
    camera = sensors.DepthCamera("eye", SIDE, SIDE, placement=sensors.looking((0, 0, 0), (1, 0, 0)), name="depth")
    simulator = engine.Simulator(model, dt=0.02, sensors=[camera], controller=lambda t, q, v, action: action, contacts=None,
                                 parameters={"action": np.zeros(1)})  # fmt: skip
    envs = VectorEnv(simulator, ROWS, lambda t, q, v, depth: depth.ravel(), lambda t, q, v: -q[0], horizon=10.0)
    envs.reset(seed=0)
    actions = np.zeros((ROWS, 1), dtype=np.float32)
    step = median(lambda: envs.step(actions))
    seen = ROWS * SIDE * SIDE / step * 1e-6
    table.add("rays", f"an environment of {ROWS} depths of {SIDE} x {SIDE}", seen, "million rays/s", ">= 1", seen >= 1.0, us=step * 1e6)
