"""MuJoCo beside us, on one MJCF file: the largest difference of what both know, relative to the largest number of it."""

from __future__ import annotations

import warnings

import numpy as np

from engine import convert, dynamics
from engine.components.box_drag import BoxDrag
from engine.components.component import Context
from engine.io import RobotFileWarning, load
from engine.simulation.from_file import build_part

NO_GRAVITY = np.zeros(3)


class Pair:
    """A file as MuJoCo has it, and as we do."""

    def __init__(self, mujoco, given, **named):
        self.mujoco = mujoco
        text = isinstance(given, str) and given.lstrip().startswith("<")
        self.m = mujoco.MjModel.from_xml_string(given) if text else mujoco.MjModel.from_xml_path(str(given))
        self.d = mujoco.MjData(self.m)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.model = load(given, **named)
        self.warned = " ".join(str(w.message) for w in caught if issubclass(w.category, RobotFileWarning))
        said = self.model.described
        self.boxes = not self.m.geom_fluid[:, 0].any()                          # else MuJoCo has ellipsoids in the fluid
        self.actuators, self.forces = ([build_part(p) for p in x] for x in (said.actuators, said.forces))
        for component in (*self.actuators, *self.forces):
            component.bind(self.model, 1e-3)

    def differences(self, rng, states=3):
        """{what: difference} at some random states."""
        worst: dict[str, float] = {}
        for _ in range(states if self.m.nv else 0):
            for what, x in self.at(rng).items():
                worst[what] = max(worst.get(what, 0.0), x)
        return worst

    def at(self, rng):
        m, d, model, mujoco = self.m, self.d, self.model, self.mujoco
        q, v = model.random(rng)
        d.qpos[:], d.qvel[:] = convert.to_mujoco(model, q, v)
        d.ctrl[:], d.act[:] = rng.uniform(-2.0, 2.0, m.nu), rng.uniform(-2.0, 2.0, m.na)
        mujoco.mj_forward(m, d)
        B = np.stack([convert.to_mujoco(model, q, e)[1] for e in np.eye(model.nv)], axis=1)           # v_mujoco = B v
        M = np.zeros((m.nv, m.nv))
        mujoco.mj_fullM(m, d, M)
        found = {"M": relative(dynamics.crba(model, q), B.T @ M @ B)}
        vdot = convert.from_mujoco(model, d.qpos, d.qvel, vdot=np.zeros(m.nv))[2]
        found["bias"] = relative(dynamics.rnea(model, q, v, vdot, model.described.gravity), B.T @ d.qfrc_bias)
        s = Context(model, 0.0, q, v, {}, np.array(model.described.gravity), {})
        damping = -np.diag(dynamics.damping_matrix(model)) * v
        own = damping + sum((self.generalized(c.act(s, c.state, c.memory, None), q) for c in self.forces
                            if self.boxes or not isinstance(c, BoxDrag)), np.zeros(model.nv))
        found["passive"] = relative(own, B.T @ (d.qfrc_spring + d.qfrc_damper + d.qfrc_gravcomp + d.qfrc_fluid * self.boxes))
        numbers = self.numbers()
        own = np.zeros(model.nv)
        for c in self.actuators:
            k = numbers.get(c.name, -1)
            address = m.actuator_actadr[k] if k >= 0 else -1
            effect = c.act(s, d.act[address : address + 1] if address >= 0 else c.state, c.memory, d.ctrl[k])
            own = own + self.generalized(effect, q)
            if k >= 0:
                found["force"] = max(found.get("force", 0.0), relative([effect.signals["force"]], d.actuator_force[[k]]))
        if len(self.actuators) == m.nu:
            found["actuators"] = relative(own, B.T @ d.qfrc_actuator)
        return found | self.poses(q)

    def numbers(self):
        """MuJoCo's numbers of our actuators: all of them in the file's order, or those that have names."""
        if len(self.actuators) == self.m.nu:
            return {c.name: k for k, c in enumerate(self.actuators)}
        return {self.m.actuator(k).name: k for k in range(self.m.nu)}

    def generalized(self, effect, q):
        """The generalized force (nv) of an effect."""
        tau = np.zeros(self.model.nv) if effect.tau is None else np.asarray(effect.tau, dtype=float)
        for link, wrench in effect.wrenches.items():
            tau = tau + dynamics.jacobian(self.model, q, link).T @ wrench
        return tau

    def poses(self, q):
        m, d, found = self.m, self.d, {"bodies": 0.0, "sites": 0.0}
        T = dynamics.forward_kinematics(self.model, q)
        links = {link.name: k for k, link in enumerate(self.model.links)}
        for kind, count, place, turn in (("bodies", m.nbody, d.xpos, d.xmat), ("sites", m.nsite, d.site_xpos, d.site_xmat)):
            for k in range(1 if kind == "bodies" else 0, count):
                name = (m.body if kind == "bodies" else m.site)(k).name
                if not name:
                    continue
                own = T[links[f"site of {name}" if kind == "sites" and f"site of {name}" in links else name]]
                apart = np.abs(own[:3, 3] - place[k]).max(), np.abs(own[:3, :3] - turn[k].reshape(3, 3)).max()
                found[kind] = max(found[kind], *apart)
        return found


def relative(ours, theirs):
    """The largest difference, relative to the largest number, or to a millionth where all are below that."""
    scale = max(np.abs(theirs).max(initial=0.0), np.abs(ours).max(initial=0.0), 1e-6)
    return float(np.abs(np.asarray(ours) - theirs).max(initial=0.0) / scale)
