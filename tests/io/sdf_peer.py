"""What Drake makes of SDF texts and files: mass matrices, biases and poses at states that only the seed decides.

It runs where Drake is, without the engine, and prints a table in JSON; that of the texts in ``sdf_texts`` is kept:

    python tests/io/sdf_peer.py > tests/io/sdf_drake.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np


def record(name: str, text: str, file: str = "") -> dict:
    """Return what Drake says of a model at a random state; in its own coordinates, with what it takes to know them."""
    import pydrake
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import MultibodyPlant
    from pydrake.multibody.tree import BodyIndex, JointIndex

    plant = MultibodyPlant(0.0)
    plant.mutable_gravity_field().set_gravity_vector([0.0, 0.0, -9.81])
    parser = Parser(plant)
    parser.package_map().AddPackageXml(str(Path(pydrake.__file__).parent / "share/drake/package.xml"))
    instances = parser.AddModels(file) if file else parser.AddModelsFromString(text, "sdf")
    plant.Finalize()
    context = plant.CreateDefaultContext()
    rng = np.random.default_rng(sum(map(ord, name)))
    plant.SetPositions(context, rng.uniform(-1.2, 1.2, plant.num_positions()))
    plant.SetVelocities(context, rng.uniform(-1.0, 1.0, plant.num_velocities()))
    joints = []
    for i in range(plant.num_joints()):
        if not plant.has_joint(JointIndex(i)):
            continue
        j = plant.get_joint(JointIndex(i))
        if j.num_velocities():
            X_FM = j.frame_on_child().CalcPose(context, j.frame_on_parent()).GetAsMatrix4()
            joints.append({"name": scoped(plant, j), "type": j.type_name(), "child": scoped(plant, j.child_body()),
                           "q": plant.GetPositions(context)[j.position_start():][:j.num_positions()].tolist(),
                           "v": plant.GetVelocities(context)[j.velocity_start():][:j.num_velocities()].tolist(),
                           "start": j.velocity_start(), "X_FM": X_FM.tolist()})  # fmt: skip
    frames = {}
    for i in range(plant.num_frames()):
        f = plant.get_frame(type(plant.world_frame().index())(i))
        if not f.name().endswith(("_parent", "_child", "_F", "_M", "world", "__model__")):
            frames[scoped(plant, f)] = f.CalcPoseInWorld(context).GetAsMatrix4().tolist()
    return {"name": name, "instances": [plant.GetModelInstanceName(k) for k in instances], "joints": joints, "frames": frames,
            "bodies": [scoped(plant, plant.get_body(BodyIndex(i))) for i in range(1, plant.num_bodies())],
            "M": plant.CalcMassMatrix(context).tolist(),
            "bias": (plant.CalcBiasTerm(context) - plant.CalcGravityGeneralizedForces(context)).tolist()}  # fmt: skip


def scoped(plant, x) -> str:
    """Return a name with those of the models it is in."""
    return f"{plant.GetModelInstanceName(x.model_instance())}::{x.name()}"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        records = [record(file, "", file) for file in sys.argv[1:]]
    else:
        from sdf_texts import TEXTS

        records = [record(name, text) for name, text in TEXTS.items()]
    json.dump(records, sys.stdout, indent=None)
