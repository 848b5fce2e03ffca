"""States as a file has them: the configuration that it is written in, and its keyframes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from engine.io.mjcf.bodies import Tree
from engine.io.mjcf.document import Node
from engine.io.mjcf.joints import Turn
from engine.io.notes import Notes
from engine.model import Keyframe, Model
from engine.spatial import quaternion, se3

Array = np.ndarray
#: numbers of a joint in MuJoCo's qpos and qvel
COUNTS = {"floating": (7, 6), "spherical": (4, 3)}


def initial_configuration(tree: Tree, model: Model) -> Array:
    """Return the configuration (nq) in which a file has its bodies."""
    q = model.neutral()
    for t in tree.turns.values():
        if t.single:
            q[model.q_slice(t.name)] = t.ref
    if floating := [b for b in model.bodies if b.kind.floats]:
        T = np.stack([tree.frames[b.joint.child] for b in floating])
        attitudes = quaternion.from_matrix(se3.rotation(T))
        for b, attitude, position in zip(floating, attitudes, se3.position(T), strict=True):
            q[b.q] = [*attitude, *position]
    return q


def keyframes(root: Node, tree: Tree, model: Model, q0: Array, actuators: list[str | None], notes: Notes) -> dict[str, Keyframe]:
    """Return the keyframes of a file by name; those without are numbered."""
    found: dict[str, Keyframe] = {}
    nodes = [node for section in root.all("keyframe") for node in section.all("key")]
    nq, nv = (sum(COUNTS.get(t.kind, (1, 1))[k] for t in tree.turns.values()) for k in (0, 1))
    for k, node in enumerate(nodes):
        name = node.text("name") or f"key {k}"
        if name in found:
            raise node.error("the name is taken by another keyframe; expected unique names")
        q, v = q0.copy(), np.zeros(model.nv)
        qpos = node.numbers("qpos", nq) if "qpos" in node.attributes else None
        qvel = node.numbers("qvel", nv, [0.0] * nv) if nv else []
        for t, i, j in places(tree):
            at_q, at_v = model.q_slice(t.name), model.v_slice(t.name)
            if qpos is not None:
                q[at_q] = read_coordinates(node, t, qpos[i : i + COUNTS.get(t.kind, (1, 1))[0]])
            v[at_v] = qvel[j : j + COUNTS.get(t.kind, (1, 1))[1]]
            if t.kind == "floating":
                R = quaternion.to_matrix(q[at_q][:4])
                v[at_v] = np.concatenate([v[at_v][3:], R.T @ v[at_v][:3]])
        controls = node.numbers("ctrl", len(actuators)) if "ctrl" in node.attributes else []
        commands = {a: u for a, u in zip(actuators, controls, strict=False) if a is not None}
        if unread := [what for what in ("act", "mpos", "mquat") if what in node.attributes]:
            notes.note(node, f"{', '.join(unread)} of a keyframe {'is' if len(unread) == 1 else 'are'} not read")
        found[name] = Keyframe(node.number("time", 0.0), q, v, commands)
    return found


def places(tree: Tree) -> Iterator[tuple[Turn, int, int]]:
    """Yield the joints of a file, and where the numbers of each begin in MuJoCo's qpos and qvel."""
    i = j = 0
    for t in tree.turns.values():
        yield t, i, j
        nq, nv = COUNTS.get(t.kind, (1, 1))
        i, j = i + nq, j + nv


def read_coordinates(node: Node, t: Turn, numbers: list[float]) -> Array:
    """Return a joint's coordinates of MuJoCo's: the position of a floating one comes last, quaternions have the length 1."""
    x = np.array(numbers)
    if t.single:
        return x
    turn = x[-4:]
    if not (length := float(np.linalg.norm(turn))) > 1e-12:
        raise node.error(f"qpos of joint '{t.name}' has the quaternion zero; expected one of the length 1")
    return np.concatenate([turn / length, x[:-4]])
