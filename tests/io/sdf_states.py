"""A state that Drake says, in a model's own coordinates, and what Drake says of it beside what the engine does."""

from __future__ import annotations

import numpy as np

from engine.dynamics import crba, forward_kinematics, rnea
from engine.spatial import quaternion

GRAVITY = np.array([0.0, 0.0, -9.81])


def own(name, record):
    """Return a name of Drake's as the engine has it: without that of a file's one model."""
    first = record["instances"][0]
    return name.removeprefix(f"{first}::") if all(i.split("::")[0] == first for i in record["instances"]) else name


def errors(model, record):
    """Return the largest differences of M, of the bias and of all poses that both know, each over the largest number in it."""
    q, v, B, rate = state(model, record)
    poses = dict(zip((link.name for link in model.links), forward_kinematics(model, q), strict=True))
    theirs = {own(name, record): np.array(X) for name, X in record["frames"].items()}
    known = [name for name in theirs if name in poses and name != "world"]
    assert {*(own(n, record) for n in record["bodies"])} <= {*known}
    M, bias = np.array(record["M"]).reshape(model.nv, model.nv), np.array(record["bias"]).reshape(model.nv)
    pairs = ((crba(model, q), B.T @ M @ B), (rnea(model, q, v, np.zeros(model.nv), GRAVITY), B.T @ (bias + M @ rate)),
             (np.array([poses[n] for n in known]), np.array([theirs[n] for n in known])))  # fmt: skip
    return [np.abs(a - b).max(initial=0.0) / max(1.0, np.abs(b).max(initial=0.0)) for a, b in pairs]


def state(model, record):
    """Return q, v, and the matrix B and vector Ḃ v of Drake's velocities B v."""
    q, v = model.neutral(), np.zeros(model.nv)
    B, rate = np.zeros((model.nv, model.nv)), np.zeros(model.nv)
    for joint in record["joints"]:
        X, u, k = np.array(joint["X_FM"]), np.array(joint["v"]), joint["start"]
        R = X[:3, :3]
        name = own(joint["name"], record)
        if joint["type"] != "quaternion_floating" and name not in [j.name for j in model.joints]:     # it is in its child's model there
            (name,) = (j.name for j in model.joints if j.name.split("::")[-1] == name.split("::")[-1])
        if joint["type"] == "quaternion_floating":
            ours = next(j for j in model.joints if j.kind == "floating" and j.child == own(joint["child"], record))
            q[model.q_slice(ours.name)] = [*quaternion.from_matrix(R), *X[:3, 3]]
            at = model.v_slice(ours.name)
            B[k : k + 6, at] = np.kron(np.eye(2), R)
            v[at] = np.concatenate([R.T @ u[:3], R.T @ u[3:]])
            rate[k + 3 : k + 6] = np.cross(u[:3], u[3:])
        elif joint["type"] == "ball_rpy":
            q[model.q_slice(name)] = quaternion.from_matrix(R)
            B[k : k + 3, model.v_slice(name)] = R
            v[model.v_slice(name)] = R.T @ u
        else:
            split = len(u) == 2 and model.joint(name).kind == "revolute"
            names = [name, f"{name}::axis2"] if split else [name]
            q_at, v_at = ([i for n in names for i in range(s(n).start, s(n).stop)] for s in (model.q_slice, model.v_slice))
            q[q_at], v[v_at] = joint["q"], u
            B[range(k, k + len(u)), v_at] = 1.0
    return q, v, B, rate
