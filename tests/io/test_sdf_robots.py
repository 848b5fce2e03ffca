"""SDF beside others: Drake's numbers of small texts, robots of a public collection, and random trees beside the engine's own builder."""

import json
import warnings
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from engine.dynamics import crba, forward_kinematics, rnea
from engine.io import RobotFileError, load_sdf, model_from_text, model_text
from engine.io.sdf.sdf import read
from engine.model import Builder
from engine.spatial import inertia, quaternion, se3, so3
from tests.io.sdf_states import errors
from tests.io.sdf_texts import TEXTS

DRAKE = {r["name"]: r for r in json.loads((Path(__file__).parent / "sdf_drake.json").read_text(encoding="utf-8"))}
CASSIE = Path(pin.__file__).parents[4] / "share/example-robot-data/robots/cassie_description/robots"
KINDS = ("revolute", "continuous", "prismatic", "screw", "spherical", "universal", "fixed")
TYPES = {"spherical": "ball"}


def load(text, **more):
    """Return the model of a text, whatever is said of it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return load_sdf(text, **more)


# ---------------------------------------------------------------- Drake


@pytest.mark.parametrize("name", TEXTS)
def test_mass_matrix_bias_and_poses_are_drakes(name):
    assert max(errors(load(TEXTS[name]), DRAKE[name])) < 1e-12


def test_a_wrong_pitch_is_seen():
    with_other = TEXTS["screw"].replace("0.7</screw", "0.701</screw")
    assert max(errors(load(with_other), DRAKE["screw"])) > 1e-5


# ---------------------------------------------------------------- robots


@pytest.mark.parametrize(("name", "nv", "closed", "gears"), [
    ("cassie.sdf", 44, 6, 10), ("cassie_reduced.sdf", 23, 4, 0), ("cassie_simple.sdf", 27, 4, 0), ("cassie_v2.sdf", 28, 4, 0),
    ("cassie_wo_gearbox_spring.sdf", 27, 4, 0),
])  # fmt: skip
def test_cassie_with_its_loops_and_gears(name, nv, closed, gears):
    model, _ = read(CASSIE / name)
    said = model.described
    kinds = [c.kind for c in said.constraints]
    assert (model.nv, len(kinds) - kinds.count("Coupling"), kinds.count("Coupling")) == (nv, closed, gears)
    poses = dict(zip((link.name for link in model.links), forward_kinematics(model, said.q), strict=True))
    for c in said.constraints:                                                # loops are closed where the file has the robot
        if c.kind != "Coupling":
            a, b = (poses[c.values[f"link_{x}"]] @ [*c.values[f"point_{x}"], 1.0] for x in "ab")
            assert np.abs(a - b).max() < 1e-12
    assert repr(model_from_text(model_text(model))) == repr(model)


def test_a_world_that_is_no_xml_is_refused():
    with pytest.raises(RobotFileError, match=r"cassie.world:17: not well-formed XML"):
        load(CASSIE / "cassie.world")


# ---------------------------------------------------------------- random trees


def turned(rng):
    return quaternion.to_matrix(quaternion.random(rng))


def somewhere(rng):
    return se3.pose(turned(rng), rng.normal(size=3))


def words(x):
    return " ".join(repr(float(y)) for y in x)


class Scrambled:
    """A random tree, by the builder and as SDF whose frames are said relative to any others."""

    def __init__(self, seed, links=7):
        self.rng = rng = np.random.default_rng(seed)
        self.builder, self.elements = Builder("tree"), []
        X = somewhere(rng)
        self.frames = {"__model__": X}
        self.floats = bool(seed % 2)
        if not self.floats:
            self.builder.add_link("world")
        for k in range(links):
            self.add(k)
        rng.shuffle(self.elements)
        pose = f"<pose>{words(X[:3, 3])} {words(so3.to_rpy(X[:3, :3]))}</pose>"
        self.text = f'<sdf version="1.9"><model name="tree">{pose}{"".join(self.elements)}</model></sdf>'

    def said(self, T):
        """Return a pose in the world, as it is relative to any frame, in any format."""
        base = str(self.rng.choice([*self.frames]))
        T = se3.inv(self.frames[base]) @ T
        rpy = so3.to_rpy(T[:3, :3])
        w, x, y, z = quaternion.from_matrix(T[:3, :3])
        formats = ("", rpy), (' degrees="true"', np.degrees(rpy)), (' rotation_format="quat_xyzw"', (x, y, z, w))
        how, angles = formats[self.rng.integers(3)]
        return f'<pose relative_to="{base}"{how}>{words(T[:3, 3])} {words(angles)}</pose>'

    def axis(self, tag, direction):
        """Return a direction in the world, as it is along any frame."""
        base = str(self.rng.choice([*self.frames]))
        return f'<{tag}><xyz expressed_in="{base}">{words(self.frames[base][:3, :3].T @ direction)}</xyz></{tag}>'

    def add(self, k):
        """Add a link and the joint above it."""
        rng, name = self.rng, f"l{k}"
        C, com, T = somewhere(rng), rng.normal(size=3), somewhere(rng)
        a = [float(x) for x in rng.uniform(1.0, 2.0, size=3)]
        I, m = np.diag(a), float(rng.uniform(1.0, 2.0))
        T[:3, 3] = com
        self.builder.add_link(name, inertia.from_mass(m, com, T[:3, :3] @ I @ T[:3, :3].T))
        inertial = (f"<inertial><pose>{words(com)} {words(so3.to_rpy(T[:3, :3]))}</pose><mass>{m!r}</mass><inertia><ixx>{a[0]!r}</ixx>"
                    f"<iyy>{a[1]!r}</iyy><izz>{a[2]!r}</izz></inertia></inertial>")  # fmt: skip
        parent = "world" if k == 0 else f"l{rng.integers(k)}"
        P = np.eye(4) if k == 0 else self.frames[parent]
        self.elements.append(f'<link name="{name}">{self.said(C)}{inertial}</link>')
        self.frames[name] = C
        if k == 0 and self.floats:
            return
        kind = "fixed" if k == 0 else str(rng.choice(KINDS))
        axis, axis2, pitch = *turned(rng)[:2], rng.normal()
        J = C @ somewhere(rng) if rng.random() < 0.5 else C                        # beside the link's origin, or in it
        if kind in ("fixed", "prismatic"):
            J = C @ se3.pose(np.eye(3), rng.normal(size=3))
        axes = self.axis("axis", J[:3, :3] @ axis) + self.axis("axis2", J[:3, :3] @ axis2)
        screw = f"<screw_thread_pitch>{float(pitch * 2 * np.pi)!r}</screw_thread_pitch>" if kind == "screw" else ""
        self.elements.append(f'<joint name="j{k}" type="{TYPES.get(kind, kind)}">{self.said(J)}<parent>{parent}</parent>'
                             f"<child>{name}</child>{axes}{screw}</joint>")  # fmt: skip
        self.frames[f"j{k}"] = J
        more = {"axis": axis, "axis2": axis2, "pitch": float(pitch)}
        if kind in ("fixed", "prismatic"):
            self.builder.add_joint(f"j{k}", kind, parent, name, se3.inv(P) @ C, **more)
        else:
            self.builder.add_link(f"between{k}")
            self.builder.add_joint(f"j{k}", kind, parent, f"between{k}", se3.inv(P) @ J, **more)
            self.builder.add_joint(f"fixed{k}", "fixed", f"between{k}", name, se3.inv(J) @ C)


@pytest.mark.parametrize("seed", range(20))
def test_scrambled_trees_are_those_of_the_builder(seed):
    tree = Scrambled(seed)
    model, ours = load(tree.text), tree.builder.model(floating_base=tree.floats)
    assert model.labels("q") == ours.labels("q") or {*model.labels("q")} == {*ours.labels("q")}
    rng = np.random.default_rng(seed)
    q, v = ours.random(rng)
    order = [model.labels("v").index(n) for n in ours.labels("v")]
    q2, v2 = np.zeros(model.nq), np.zeros(model.nv)
    q2[[model.labels("q").index(n) for n in ours.labels("q")]] = q
    v2[order] = v
    assert np.allclose(crba(model, q2)[np.ix_(order, order)], crba(ours, q), rtol=0, atol=1e-10)
    zero = np.zeros(model.nv)
    assert np.allclose(rnea(model, q2, v2, zero)[order], rnea(ours, q, v, zero), rtol=0, atol=1e-9)
    poses = dict(zip((link.name for link in model.links), forward_kinematics(model, q2), strict=True))
    for link, T in zip(ours.links, forward_kinematics(ours, q), strict=True):
        if link.name.startswith("l"):
            assert np.allclose(poses[link.name], T, rtol=0, atol=1e-10), link.name


def test_where_a_file_has_a_robot_is_said():
    tree = Scrambled(1)
    model, _ = read(tree.text)
    said = model.described
    poses = dict(zip((link.name for link in model.links), forward_kinematics(model, said.q), strict=True))
    assert all(np.allclose(poses[f"l{k}"], tree.frames[f"l{k}"], rtol=0, atol=1e-12) for k in range(7))
