"""Robots under their own servos, beside shorter steps and MuJoCo: ``python -m tests.bench.servos FILE…`` of MJCF files, or folders of them.

Every servo wants 0.1 rad more than its keyframe, or the configuration in its file, for 2 s, without contacts, at the file's step and twice
that. Printed are the fastest joint at the end, how far joints end from where steps of a sixteenth end, and how far from MuJoCo's, whose
steps are 20 µs. Actuators and tendons that are not read act in neither. ``--without friction limits equality`` takes those out of the file,
for both: what MuJoCo has softly; ``--hard`` makes it hard in MuJoCo.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import mujoco
import numpy as np
from lxml import etree

import engine

DURATION, FAR, SHORT, FINER = 2.0, 0.1, 2e-5, 16
#: attributes that say so, of joints and tendons
SAID = {"friction": ("frictionloss",), "limits": ("range", "limited"), "equality": ()}
Ends = dict[str, float]


def text_of(path: Path, without: list[str]) -> str:
    """Return a file without what MuJoCo has softly."""
    tree = etree.parse(path)
    for node in [*tree.iter("joint", "tendon", "fixed", "spatial")]:
        for name in (name for what in without for name in SAID[what]):
            node.attrib.pop(name, None)
    for node in [*tree.iter("equality")] if "equality" in without else []:
        node.getparent().remove(node)
    return etree.tostring(tree, encoding="unicode")


def peer(text: str, read: list[str]) -> tuple[mujoco.MjModel, mujoco.MjData, list[int]]:
    """Return MuJoCo's model, its data as a run begins, with the commands, and which of its actuators are ``read``, or have no name."""
    model = mujoco.MjModel.from_xml_string(text)
    there = [model.actuator(i).name in {*read, ""} for i in range(model.nu)]
    model.actuator_gear[np.flatnonzero(~np.array(there, dtype=bool))] = 0.0
    through_space = model.wrap_type[model.tendon_adr] != mujoco.mjtWrap.mjWRAP_JOINT
    for passive in (model.tendon_stiffness, model.tendon_damping, model.tendon_frictionloss, model.tendon_limited):
        passive[through_space] = 0
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    data = mujoco.MjData(model)
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    servos = (model.actuator_biastype == mujoco.mjtBias.mjBIAS_AFFINE) & (model.actuator_biasprm[:, 1] != 0.0)
    data.ctrl[:] = np.where(servos, FAR + (data.ctrl if model.nkey else data.actuator_length), data.ctrl)
    limited = model.actuator_ctrllimited.astype(bool)
    data.ctrl[limited] = np.clip(data.ctrl[limited], *model.actuator_ctrlrange[limited].T)
    return model, data, np.flatnonzero(there).tolist()


def theirs(text: str, read: list[str], hard: bool) -> tuple[Ends, float]:
    """Return where MuJoCo's joints of one coordinate end, with what it has softly as hard as its steps allow, if so asked, and how fast the
    fastest is then: some chatter."""
    model, data, _ = peer(text, read)
    for refs, imps in (("eq_solref", "eq_solimp"), ("jnt_solref", "jnt_solimp"), ("dof_solref", "dof_solimp")) if hard else ():
        getattr(model, refs)[:], getattr(model, imps)[:] = (4.0 * SHORT, 1.0), (0.9999, 0.9999, 1e-3, 0.5, 2.0)
    model.opt.tolerance, model.opt.iterations = 1e-12, 100
    model.opt.timestep, model.opt.integrator = SHORT, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    mujoco.mj_step(model, data, round(DURATION / SHORT))
    single = [j for j in range(model.njnt) if model.jnt_type[j] >= 2]
    speed = max((abs(data.qvel[model.jnt_dofadr[j]]) for j in single), default=0.0)
    return {model.joint(j).name: float(data.qpos[model.jnt_qposadr[j]]) for j in single}, float(speed)


def ours(model: engine.Model, text: str, read: list[str], factor: float) -> tuple[Ends, float, float, str]:
    """Return where joints of one coordinate end in steps of so many of the file's, how fast the fastest is then, dt, and the method."""
    (_, data, there), said = peer(text, read), model.described
    commands = dict(zip(read, map(float, data.ctrl[there]), strict=True))
    q = next(iter(said.keyframes.values())).q if said.keyframes else said.q
    options = {"controller": lambda t, q, v: commands} if commands else {}
    simulator = engine.simulator_of(model, dt=said.dt * factor, contacts=None, **options)
    run = simulator.run(q, np.zeros(model.nv), DURATION, record_every=10**9)
    bodies = [b for b in model.bodies if not b.kind.floats and not b.mimics and b.kind.nq == b.kind.nv == 1]
    speed = max((abs(run.v[-1, b.v.start]) for b in bodies), default=0.0)
    return {b.joint.name: float(run.q[-1, b.q.start]) for b in bodies}, float(speed), said.dt * factor, simulator.method.name


def apart(a: Ends, b: Ends) -> str:
    """Return in words where joints end farthest from each other."""
    off = {name: abs(a[name] - b[name]) for name in a.keys() & b.keys()}
    worst = max(off, key=off.__getitem__, default="")
    return f"{off.get(worst, 0.0):8.1e} {worst[:22]:22}"


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("files", nargs="+", type=Path)
    ask.add_argument("--hard", action="store_true")
    ask.add_argument("--without", nargs="*", choices=SAID, default=[])
    given = ask.parse_args()
    warnings.simplefilter("ignore")
    for path in [f for x in given.files for f in (sorted(x.glob("*.xml")) if x.is_dir() else [x])]:
        begun = time.perf_counter()
        try:
            model = engine.load(text := text_of(path, given.without))
            read = [str(part.values["name"]) for part in model.described.actuators]
            exact, (end, their_speed) = ours(model, text, read, 1.0 / FINER)[0], theirs(text, read, given.hard)
            for factor in (1.0, 2.0):
                found, speed, dt, method = ours(model, text, read, factor)
                print(f"{path.stem[-30:]:30} {dt:g} s {method:8} speed {speed:7.1e}  finer {apart(found, exact)}  "
                      f"MuJoCo {their_speed:7.1e} {apart(found, end)} {time.perf_counter() - begun:.0f} s", flush=True)  # fmt: skip
        except engine.EngineError as error:
            print(f"{path.stem[-30:]:30} {error}", flush=True)


if __name__ == "__main__":
    main()
