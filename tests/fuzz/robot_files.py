"""Robot files, mutated and made up: refused in a sentence, or a report says what is wrong, or they move as Pinocchio says."""

from __future__ import annotations

import functools
import re
import sysconfig
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
from lxml import etree

import engine
from engine.dynamics import aba, bias, crba, rnea
from engine.io import model_from_text, model_hash, model_text
from tests.dynamics.oracle_pinocchio import Pinocchio
from tests.dynamics.support import without_mimics

Array = np.ndarray
TOP = Path(__file__).parents[2]
ROBOTS = Path(sysconfig.get_path("purelib")) / "cmeel.prefix/share/example-robot-data/robots"
GRAVITY = (0.3, -0.2, -9.81)
#: bodies of a robot that is moved, and characters of a file that is mutated
MOST, LARGEST = 12, 16_000
#: roundings of a sum that makes an entry of a force, for each body: dozens of products of rotations, inertias and accelerations
ROUNDINGS = 100 * np.finfo(float).eps

NASTY = ["", " ", "0", "-0", "1", "-1", "nan", "inf", "-inf", "1e308", "-1e308", "1e309", "5e-324", "1e-320", "1e200", "1e150", "1e-200",
         "0x10", "1_0", "1,2", "\u0663", "1e5", "0 0 0", "1 0 0", "0 0 0 0", "1 2", "nan nan nan", "inf 0 0", "1e308 1e308 1e308",
         "1e-300 0 0", "1e200 1e200 0", "3.14159265358979 1.57 0", "0 0 1e-10", "\u00a01", "1\t2\n3", "0.5 0.5 0.5 1", "9" * 400,
         "1e" + "9" * 20, "x" * 5000, "%s%n", "${x}", "../../etc/passwd", "/etc/passwd", "file:///etc/passwd", "http://127.0.0.1:9/x.stl",
         "package://../../etc/passwd", "package://", "a/" * 3000, "\u202e", "\U0001f600", "a/b", "..", ".", "world", "universe",
         "floating_base", "root_joint", "revolute", "prismatic", "fixed", "floating", "planar", "continuous", "spherical", "screw",
         "REVOLUTE", "t", "q.t", "None", "1e+", "--1", "+1", ".5", "5.", "1d0", "1f", "Infinity", "NaN", "1e400 0 0",
         "1.5707963267948966 0 0", "0 0 1.57079632679"]  # fmt: skip
TAGS = ["robot", "link", "joint", "inertial", "mass", "inertia", "origin", "visual", "collision", "geometry", "box", "cylinder",
        "capsule", "sphere", "mesh", "material", "color", "texture", "parent", "child", "axis", "limit", "dynamics", "mimic",
        "transmission", "{http://x}link", "{http://www.ros.org/wiki/xacro}macro", "a" * 3000, "Link"]  # fmt: skip
ATTRIBUTES = ["name", "type", "xyz", "rpy", "value", "ixx", "ixy", "iyy", "izz", "size", "radius", "length", "filename", "scale", "rgba",
              "link", "lower", "upper", "velocity", "effort", "damping", "friction", "joint", "multiplier", "offset", "version",
              "Name"]  # fmt: skip
SNIPPETS = [b"\0", b"\xff", b"\xef\xbb\xbf", b"<", b">", b'"', b"&", b"&lt;", b"&#0;", b"&#xD800;", b"<!--", b"-->", b"<![CDATA[", b"]]>",
            b"<?x?>", b"<!DOCTYPE r>", b'<!DOCTYPE r [<!ENTITY a "b">]>', b"&a;", b"<a>" * 300, b"1e999", b"nan", "\u2028".encode(),
            b"\r", b"</robot>", b"<robot>", b"xmlns='u'", b" xml:base='/'", b'<?xml version="1.1"?>',
            b'<?xml version="1.0" encoding="UTF-7"?>']  # fmt: skip


#: numbers apart by other than spaces, or with a space behind one alone, and such as have no square, which others read as none; and a
#: name that Pinocchio has itself
BROKEN = re.compile(r"""=["'][^"'<>]*(?:[\t\n\r]|&#(?:9|10|13);|[0-9.]e\+?(?:1[5-9][0-9]|[23][0-9]{2}))|=["'] *[-+.0-9e]+ +["']|"""
                    "name=.universe")  # fmt: skip


class Wrong(AssertionError):
    """What must not be."""


def case(rng: np.random.Generator, folder: Path) -> str:
    """Make a robot file, and try it."""
    file, floating = folder / "robot.urdf", bool(rng.random() < 0.3)
    file.write_bytes(data := made(rng))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", engine.RobotFileWarning)
        report = engine.check(file, floating_base=floating)
        try:
            model = engine.load_urdf(file, floating_base=floating)
        except engine.RobotFileError as problem:
            require(not report.ok, f"the report is {report}, but loading says {problem}")
            require("\n" not in str(problem) and len(str(problem)) < 2000, f"said in {len(str(problem))} characters: {str(problem)[:300]}")
            return "refused"
        if rng.random() < 0.1:
            require(model_hash(model_from_text(model_text(model))) == model_hash(model), "its text is of another model")
        return moved(rng, model, report, data)


def require(fine: Any, text: str) -> None:
    if not fine:
        raise Wrong(text)


# ---------------------------------------------------------------- files


@functools.cache
def seeds() -> list[bytes]:
    """Files to mutate: our own, and those of the collection that are not large."""
    files = sorted((TOP / "assets").rglob("*.urdf")) + sorted(ROBOTS.rglob("*.urdf"))
    return [data for f in files if len(data := f.read_bytes()) < LARGEST]


def made(rng: np.random.Generator) -> bytes:
    """Return a file: made up or of a robot, with changes to its elements or its bytes, or without."""
    how = rng.random()
    if how < 0.55:
        data = generated(rng)
        return data if how < 0.4 else bytes_changed(rng, data)
    data = seeds()[rng.integers(len(seeds()))]
    return elements_changed(rng, data) if how < 0.9 else bytes_changed(rng, data)


def number(rng: np.random.Generator) -> str:
    """Return a number as it might be written, or none."""
    k = rng.random()
    if k < 0.5:
        return f"{rng.uniform(-3, 3):.4g}"
    return f"{rng.choice([-1, 1]) * 10.0 ** rng.uniform(-320, 308):.17g}" if k < 0.7 else pick(rng, NASTY)


def pick(rng: np.random.Generator, items: Any) -> Any:
    return items[rng.integers(len(items))]


def generated(rng: np.random.Generator) -> bytes:
    """Return a random tree of up to six links, some of whose numbers are odd."""
    n, bad = int(pick(rng, [1, 2, 3, 4, 6])), pick(rng, [0, 0, 0, 0.02, 0.1])

    def value(low: float = -3.0) -> str:
        return quoted(number(rng)) if rng.random() < bad else f"{rng.uniform(low, 3):.5g}"

    def attributes(names: str, low: float = -3.0) -> str:
        return " ".join(f'{name}="{value(low)}"' for name in names.split())

    def triple() -> str:
        return " ".join(value() for _ in range(3))

    def inertial() -> str:
        if rng.random() < 0.15:
            return ""
        moments = rng.uniform(0.1, 1, 3) * 10.0 ** rng.uniform(-4, 1)
        x, y, z = moments.sum() - moments if rng.random() > bad else moments * [1, 1, 5]
        tensor = f'ixx="{x:.6g}" iyy="{y:.6g}" izz="{z:.6g}" ixy="0" ixz="0" iyz="{value() if rng.random() < bad else 0}"'
        at = f'<origin xyz="{triple()}" rpy="{triple()}"/>' if rng.random() < 0.8 else ""
        return f'<inertial>{at}<mass value="{value(0.01)}"/><inertia {tensor}/></inertial>'

    def shape() -> str:
        if rng.random() < 0.8:
            return ""
        kind = pick(rng, ["box", "sphere", "cylinder", "mesh"])
        inside = {"box": f'size="{triple()}"', "mesh": f'filename="{quoted(pick(rng, NASTY))}" scale="{triple()}"'}
        return f"<visual><geometry><{kind} {inside.get(kind, attributes('radius length', 0.01))}/></geometry></visual>"

    names = [f"l{i}" for i in range(n)]
    if rng.random() < bad:
        names[rng.integers(n)] = quoted(pick(rng, NASTY))
    parts = [f'<link name="{name}">{inertial()}{shape()}</link>' for name in names]
    for i in range(1, n):
        kind = pick(rng, ["revolute", "revolute", "continuous", "prismatic", "fixed", "floating", "planar"])
        turned = pick(rng, ["0 0 0", "0 0 1.57079632679", "1.5707963267948966 0 0", triple()])
        joint = [f'<parent link="{names[rng.integers(i)]}"/>', f'<child link="{names[i]}"/>', f'<origin xyz="{triple()}" rpy="{turned}"/>',
                 f'<axis xyz="{pick(rng, ["1 0 0", "0 1 0", "0 0 -1", triple()])}"/>']  # fmt: skip
        if rng.random() < 0.97:
            joint.append(f'<limit lower="{value()}" upper="{value(3.0 * (rng.random() > bad))}" {attributes("velocity effort", 0.01)}/>')
        if rng.random() < 0.3:
            joint.append(f"<dynamics {attributes('damping friction', 0)}/>")
        if rng.random() < 0.15 and i > 1:
            joint.append(f'<mimic joint="j{rng.integers(1, n)}" {attributes("multiplier offset")}/>')
        if rng.random() < bad:
            joint.pop(rng.integers(len(joint)))
        parts.append(f'<joint name="j{i}" type="{kind}">{"".join(joint)}</joint>')
    if rng.random() < 0.3:
        rng.shuffle(parts)
    return f'<robot name="r">{"".join(parts)}</robot>'.encode("utf-8", "surrogatepass")


def quoted(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")


def elements_changed(rng: np.random.Generator, data: bytes) -> bytes:
    """Return a file with some elements and attributes taken away, repeated, exchanged, renamed or given other values."""
    root = etree.fromstring(data, etree.XMLParser(remove_comments=True, recover=True))
    for _ in range(int(pick(rng, [1, 1, 1, 2, 3, 8]))):
        elements = list(root.iter())
        try:
            element_changed(rng, elements[rng.integers(len(elements))], elements)
        except (ValueError, TypeError):         # what XML cannot hold
            pass
    return etree.tostring(root, encoding=pick(rng, ["utf-8", "utf-8", "us-ascii", "utf-16"]))


def element_changed(rng: np.random.Generator, e: Any, elements: list[Any]) -> None:
    k, parent, names = rng.integers(12), e.getparent(), sorted(e.attrib)
    if k == 0 and parent is not None:
        parent.remove(e)
    elif k == 1 and parent is not None:
        parent.append(etree.fromstring(etree.tostring(e)))
    elif k in (2, 3, 4) and names:
        e.set(pick(rng, names), number(rng))
    elif k == 5 and names:
        words = e.get(name := pick(rng, names)).split() or [""]
        words[rng.integers(len(words))] = number(rng)
        e.set(name, " ".join(words))
    elif k == 6 and names:
        del e.attrib[pick(rng, names)]
    elif k == 7:
        e.set(pick(rng, ATTRIBUTES), number(rng))
    elif k == 8:
        e.tag = pick(rng, TAGS)
    elif k == 9 and len(e):
        e.insert(int(rng.integers(len(e))), etree.Element(pick(rng, TAGS)))
    elif k == 10:
        other = elements[rng.integers(len(elements))]
        for name in [name for name in names if name in other.attrib][:1]:
            mine, theirs = e.get(name), other.get(name)
            e.set(name, theirs)
            other.set(name, mine)
    elif len(e) > 1:
        e[:] = [e[i] for i in rng.permutation(len(e))]


def bytes_changed(rng: np.random.Generator, data: bytes) -> bytes:
    """Return bytes with some of them flipped, cut, repeated, or with odd ones put in."""
    held = bytearray(data)
    for _ in range(int(pick(rng, [1, 1, 2, 4, 16]))):
        if not held:
            break
        k, i = rng.integers(8), int(rng.integers(len(held)))
        if k < 2:
            held[i] ^= 1 << int(rng.integers(8))
        elif k == 2:
            held[i] = int(rng.integers(256))
        elif k == 3:
            del held[i : i + int(pick(rng, [1, 2, 10, 100, 10_000]))]
        elif k == 4:
            held[i:i] = held[i : i + int(pick(rng, [1, 10, 200, 3000]))]
        elif k == 5:
            held[i:i] = pick(rng, SNIPPETS)
        elif k == 6 and rng.random() < 0.3:
            del held[i:]
        elif k == 7:
            held[:0] = pick(rng, [b"\n\n", b"\xff\xfe", b"\0\0", *SNIPPETS[-2:]])
    return bytes(held)


# ---------------------------------------------------------------- motion


def moved(rng: np.random.Generator, model: engine.Model, report: Any, data: bytes) -> str:
    """Try a model's dynamics at a random state, and say how that ended."""
    wrong = "its report has errors" if not report.ok else "its report has remarks" if "dynamics" in str(report) else ""
    if not model.nv or len(model.bodies) > MOST:
        return wrong or "loaded"
    try:
        q, v = model.random(rng)
    except engine.ModelError:
        require(wrong, "its limits leave no room, and its report is fine")
        return wrong
    v, a = v / 2, rng.standard_normal(model.nv)
    tau = rnea(model, q, v, a, GRAVITY)
    large = ROUNDINGS * len(model.bodies) * largest(model, q, v, a)
    if not np.isfinite(large):
        return wrong or "too large to judge"
    require(np.isfinite(tau).all(), f"its torques are {tau}, of at most {large / ROUNDINGS:.3g}")
    if not wrong:
        within = 1e-12 + np.linalg.norm(np.linalg.inv(crba(model, q)), 2) * large
        back = aba(model, q, v, tau, GRAVITY)
        require(np.abs(back - a).max() <= within, f"the forces of {a} accelerate by {back}; expected within {within:.1e}")
    return wrong or compared(model, data, q, v, a, large)


def largest(model: engine.Model, q: Array, v: Array, a: Array) -> float:
    """Return what no term of the forces is larger than: masses and inertias with the speeds of all joints in one line."""
    reach = sum(float(np.linalg.norm(b.placement[:3, 3])) for b in model.bodies)
    reach += sum(float(np.linalg.norm(b.joint_pose(q)[:3, 3])) for b in model.bodies)
    ratio = max(1.0, *[abs(b.ratio) for b in model.bodies])
    speed, rate = ratio * float(np.abs(v).sum()), ratio * float(np.abs(a).sum())
    turning = rate + speed * speed
    linear = float(np.linalg.norm(GRAVITY)) + (1 + reach) * turning + speed * speed
    I, h, m = (sum(float(np.abs(b.inertia[s]).max()) for b in model.bodies) for s in (np.s_[:3, :3], np.s_[:3, 3:], (5, 5)))
    force = m * linear + h * turning
    return ratio * ((1 + reach) * force + I * turning + h * linear)


def compared(model: engine.Model, data: bytes, q: Array, v: Array, a: Array, large: float) -> str:
    """Hold the torques against Pinocchio's, where it reads the file too and means the same by it."""
    if any(j.kind == "planar" or 0 < model.link(j.child).mass < 1e-12 for j in model.joints):
        return "moves"                  # Pinocchio's planes are x–y whatever their axis; it takes small masses for none
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return "moves"
    if BROKEN.search(text):
        return "moves"
    free = without_mimics(model)
    try:
        theirs = pin.buildModelFromXML(text, *([pin.JointModelFreeFlyer()] if model.floats and model.joints[0].parent == "" else []))
        reference = Pinocchio(free, theirs, GRAVITY)
    except (ValueError, RuntimeError, AssertionError, IndexError):
        return "moves"
    if theirs.nv != free.nv:
        return "moves"
    own = {b.joint.name: b for b in model.bodies}
    Q, V, A = (np.concatenate([np.zeros(0), *(f(own[b.joint.name]) for b in free.bodies)]) for f in (
        lambda b: b.coordinates(q), lambda b: b.ratio * v[b.v], lambda b: b.ratio * a[b.v]))  # fmt: skip
    ours, his = rnea(free, Q, V, A, GRAVITY), reference.rnea(Q, V, A)
    nearly = any(0 < 1 - np.abs(j.axis).max() < 1e-9 for j in model.joints)             # Pinocchio puts an axis on x, y or z within 1e-12
    allowed = large * (1 + 1e-12 / ROUNDINGS * nearly)
    require(np.abs(ours - his).max() <= allowed, f"torques {ours}; Pinocchio's are {his}, expected within {allowed:.1e}")
    require(np.isfinite(bias(model, q, v)).all(), "its bias is not finite")
    return "moves as Pinocchio's"
