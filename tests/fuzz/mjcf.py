"""Random MJCF texts against MuJoCo: classes, frames, repetitions, joints and shapes, servos, tendons, keyframes, the compiler's options."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from engine import Model, RobotFileWarning, convert, load, save_mjcf
from engine.dynamics import crba
from tests.io.described import differences
from tests.io.mjcf_peer import Pair

#: of the largest number; MuJoCo's own principal axes, of several shapes together, end at some 1e-10
CLOSE = 2e-9


def case(rng: np.random.Generator, folder: Path) -> str:
    """Compare a text in two states; say how many joints it has, or that MuJoCo refuses it."""
    before = os.getcwd()
    os.chdir(folder)                                                            # where MuJoCo writes its log
    try:
        return compared(Writer(rng).text(), rng, folder)
    finally:
        os.chdir(before)


def compared(text: str, rng: np.random.Generator, folder: Path) -> str:
    """Compare a text."""
    (folder / "robot.xml").write_text(text)
    try:
        mujoco.MjModel.from_xml_string(text)
    except ValueError as problem:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RobotFileWarning)
            load(text)                                                          # who repairs nothing may still take it
        return f"refused by MuJoCo: {str(problem)[:30]!r}"
    pair = Pair(mujoco, text)
    if singular(pair) and ("springdamper" in text or "dampratio" in text):
        return "singular, and so without an inertia that springs could be made for"
    pair.boxes = pair.boxes and not turned_anyhow(pair)
    worst = pair.differences(rng, 2)
    assert max(worst.values(), default=0.0) < CLOSE, (worst, text)
    same_keyframes(pair)
    saved_again(pair, rng, folder)
    return "as in MuJoCo"


def saved_again(pair: Pair, rng: np.random.Generator, folder: Path) -> None:
    """Save the model; read it back, and by MuJoCo."""
    file = save_mjcf(pair.model, folder / "again.xml")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RobotFileWarning)
        found = differences(pair.model.described, load(file).described)
    assert max(found.values(), default=0.0) < CLOSE, (found, file.read_text())
    pair.m = mujoco.MjModel.from_xml_path(str(file))
    pair.d, pair.boxes = mujoco.MjData(pair.m), True
    worst = pair.differences(rng, 1)
    assert max(worst.values(), default=0.0) < CLOSE, (worst, file.read_text())


def singular(pair: Pair) -> bool:
    """Whether joints turn about one axis in the configuration of the file."""
    M = crba(pair.model, pair.model.described.q)
    return bool(pair.model.nv) and np.linalg.cond(M) > 1e9


def turned_anyhow(pair: Pair) -> bool:
    """Whether a body has two equal moments, so that its box in a fluid may lie as one likes."""
    moments = np.sort(pair.m.body_inertia[1:], axis=1)
    return bool((np.diff(moments, axis=1) < 1e-9 * moments[:, 2:]).any())


def same_keyframes(pair: Pair) -> None:
    """Compare the keyframes and the configuration of the file."""
    said = pair.model.described
    if pair.m.nv:
        assert apart(pair.model, said.q, convert.from_mujoco(pair.model, pair.m.qpos0)) < 1e-12
    for k in range(pair.m.nkey):
        key = said.keyframes[pair.m.key(k).name]
        mujoco.mj_resetDataKeyframe(pair.m, pair.d, k)
        q, v = convert.from_mujoco(pair.model, pair.d.qpos, pair.d.qvel)
        assert max(apart(pair.model, q, key.q), np.abs(v - key.v).max(initial=0.0)) < 1e-12


def apart(model: Model, q0: np.ndarray, q1: np.ndarray) -> float:
    """How far two configurations are from each other; a quaternion and its negative are the same."""
    return float(np.abs(model.difference(q0, q1)).max(initial=0.0))


class Writer:
    """Writes a text, of random numbers with few digits."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng, self.count = rng, 0
        self.hinges: list[str] = []
        self.balls: list[str] = []
        self.sites: list[str] = []
        self.classes = [f"c{k}" for k in range(int(rng.integers(0, 4)))]
        self.radian = rng.random() < 0.5
        self.nq = self.nv = 0
        self.frees = 0

    def name(self, kind: str) -> str:
        self.count += 1
        return f"{kind}{self.count}"

    def some(self, p: float) -> bool:
        return bool(self.rng.random() < p)

    def row(self, n: int, low: float = -1.0, high: float = 1.0) -> str:
        return " ".join(f"{x:.3g}" for x in self.rng.uniform(low, high, n))

    def one(self, *among: str) -> str:
        return among[int(self.rng.integers(len(among)))]

    def maybe(self, p: float, text: str) -> str:
        return f" {text}" if self.some(p) else ""

    def angle(self, n: int = 1) -> str:
        return self.row(n, -2.0, 2.0) if self.radian else self.row(n, -120.0, 120.0)

    # ------------------------------------------------------------ parts

    def text(self) -> str:
        bodies = "".join(self.body(0) for _ in range(int(self.rng.integers(1, 3))))
        world = f'<geom type="plane" size="1 1 1"/>{self.maybe(0.3, self.geom())}{bodies}'
        sequence = self.one("xyz", "ZYX", "zxz", "XyZ")
        compiler = (f'<compiler angle="{"radian" if self.radian else "degree"}"{self.maybe(0.3, f"""eulerseq="{sequence}" """)}'
                    f'{self.maybe(0.2, """inertiafromgeom="true" """)}{self.maybe(0.1, """boundmass="0.5" boundinertia="0.02" """)}'
                    f'{self.maybe(0.1, """settotalmass="7" """)}{self.maybe(0.2, """inertiagrouprange="0 2" """)}/>')  # fmt: skip
        tendons = "".join(self.tendon(k) for k in range(2)) if len(self.hinges) > 1 and self.some(0.5) else ""
        drives = "".join(self.drive(bool(tendons)) for _ in range(int(self.rng.integers(0, 5))))
        key = f'<keyframe><key name="k" qpos="{self.row(self.nq)}" qvel="{self.row(self.nv)}"/></keyframe>' if self.some(0.4) else ""
        fluid = self.maybe(0.3, f'density="{self.row(1, 0, 900)}" viscosity="{self.row(1, 0, 9)}" wind="{self.row(3)}"')
        tendons = tendons and f"<tendon>{tendons}</tendon>"
        return (f'<mujoco>{compiler}<option gravity="{self.row(3, -9, 9)}"{fluid}/>{self.defaults()}<worldbody>{world}</worldbody>{tendons}'
                f"<actuator>{drives}</actuator>{key}</mujoco>")  # fmt: skip

    def defaults(self) -> str:
        inner = ""
        for name in reversed(self.classes):
            inner = f'<default class="{name}">{self.row_of_defaults()}{inner}</default>'
        return f"<default>{self.row_of_defaults()}{inner}</default>"

    def row_of_defaults(self) -> str:
        rows = (f'<joint damping="{self.row(1, 0, 2)}" armature="{self.row(1, 0, 1)}"/>', f'<joint axis="{self.row(3)}"/>',
                f'<geom density="{self.row(1, 100, 2000)}" size="{self.row(3, 0.1, 0.3)}"/>', f'<geom quat="{self.row(4)}"/>',
                f'<joint stiffness="{self.row(1, 0, 3)}"/>', f'<general gear="{self.row(1, 1, 3)}"/>', f'<site pos="{self.row(3)}"/>',
                f'<position kp="{self.row(1, 1, 9)}" kv="{self.row(1, 0, 2)}"/>', '<motor ctrlrange="-1 1"/>',
                f'<velocity kv="{self.row(1, 1, 9)}"/>')  # fmt: skip
        chosen = {row[1:4]: row for row in rows if self.some(0.25)}             # each element once
        return "".join(chosen.values())

    def turn(self) -> str:
        ways = (f'quat="{self.row(4)}"', f'euler="{self.angle(3)}"', f'axisangle="{self.row(3)} {self.angle()}"', f'zaxis="{self.row(3)}"',
                f'xyaxes="{self.row(6)}"', "")  # fmt: skip
        return self.one(*ways)

    def own(self) -> str:
        return f' class="{self.one(*self.classes)}"' if self.classes and self.some(0.3) else ""

    def geom(self) -> str:
        kind = self.one("sphere", "capsule", "cylinder", "ellipsoid", "box")
        size = f'size="{self.row({"sphere": 1, "capsule": 2, "cylinder": 2}.get(kind, 3), 0.05, 0.4)}"'
        where = f'pos="{self.row(3)}" {self.turn()}'
        if kind != "sphere" and self.some(0.3):
            size, where = f'size="{self.row(1, 0.05, 0.2)}"', f'fromto="{self.row(6)}"'
        more = self.one("", "", f'mass="{self.row(1, 0.1, 3)}"', f'density="{self.row(1, 100, 999)}"', 'group="3"')
        shell = self.maybe(0.1, 'shellinertia="true"') if kind != "ellipsoid" else ""
        return f'<geom type="{kind}" {size} {where} {more}{shell}{self.own()}/>'

    def joint(self, alone: bool) -> str:
        kind = self.one("hinge", "hinge", "slide", *(["ball"] if alone else []))
        name = self.name("j")
        self.nq, self.nv = self.nq + (4 if kind == "ball" else 1), self.nv + (3 if kind == "ball" else 1)
        (self.balls if kind == "ball" else self.hinges).append(name)
        more = "" if kind == "ball" else (
            f'{self.maybe(0.7, f"""axis="{self.row(3)}" """)}{self.maybe(0.3, f"""ref="{self.angle()}" """)}'
            f'{self.maybe(0.3, f"""stiffness="{self.row(1, 0, 5)}" springref="{self.angle()}" """)}{self.maybe(0.2, """range="-1 2" """)}')
        if kind != "ball" and "stiffness" not in more and self.some(0.15):
            more += f' springdamper="{self.row(2, 0.2, 2)}"'
        still = ' stiffness="0"' if kind == "ball" else ""
        return (f'<joint name="{name}" type="{kind}"{still}{self.maybe(0.6, f"""pos="{self.row(3)}" """)}{more}'
                f'{self.maybe(0.3, f"""damping="{self.row(1, 0, 3)}" """)}{self.maybe(0.2, f"""armature="{self.row(1, 0, 1)}" """)}'
                f"{self.own()}/>")

    def body(self, depth: int) -> str:
        inside = ""
        free = depth == 0 and self.some(0.4)
        if free:
            inside += '<freejoint/>' if self.some(0.5) else f'<joint type="free" stiffness="0" armature="0" name="{self.name("f")}"/>'
            self.nq, self.nv, self.frees = self.nq + 7, self.nv + 6, self.frees + 1
        else:
            count = int(self.rng.integers(0, 4)) if depth else int(self.rng.integers(1, 4))
            inside += "".join(self.joint(k == count - 1) for k in range(count))
        if self.some(0.3):
            a, b = self.rng.uniform(0.2, 1.0, 2)
            inside += (f'<inertial mass="{self.row(1, 0.2, 5)}" pos="{self.row(3)}" {self.turn()} '
                       f'diaginertia="{a:.3f} {b:.3f} {(a + b) * self.rng.uniform(abs(a - b) / (a + b) + 0.01, 0.99):.3f}"/>')  # fmt: skip
        inside += "".join(self.geom() for _ in range(int(self.rng.integers(1, 3))))
        inside += '<geom type="sphere" size="0.2" group="0"/>'
        if self.some(0.4):
            self.sites.append(self.name("s"))
            inside += f'<site name="{self.sites[-1]}" {self.maybe(0.7, f"""pos="{self.row(3)}" """)} {self.turn()}/>'
        if self.some(0.2):
            what = f'{self.geom()}<site name="{self.name("r")}"/>'
            inside += f'<replicate count="3" sep="_" offset="{self.row(3)}" euler="{self.angle(3)}">{what}</replicate>'
        if depth < 3:
            children = "".join(self.body(depth + 1) for _ in range(int(self.rng.integers(0, 3 - depth))))
            inside += f'<frame pos="{self.row(3)}" {self.turn()}>{children}{self.geom()}</frame>' if self.some(0.3) else children
        child = f' childclass="{self.one(*self.classes)}"' if self.classes and self.some(0.3) else ""
        weight = self.maybe(0.15, f'gravcomp="{self.row(1, 0, 2)}"')
        return f'<body name="{self.name("b")}" pos="{self.row(3)}" {self.turn()}{child}{weight}>{inside}</body>'

    def tendon(self, k: int) -> str:
        pair = self.rng.permutation(self.hinges)[:2]
        joints = "".join(f'<joint joint="{j}" coef="{self.row(1)}"/>' for j in pair)
        spring = f'stiffness="{self.row(1, 0, 3)}"'
        more = self.one("", f'{spring} damping="{self.row(1, 0, 3)}"', f'{spring} springlength="{self.row(1, 0, 1)}"')
        return f'<fixed name="t{k}" {more}>{joints}</fixed>'

    def drive(self, tendons: bool) -> str:
        where = [f'joint="{j}"' for j in self.hinges] * 2 + (['tendon="t0"', 'tendon="t1"'] if tendons else [])
        wrenches = [f'joint="{j}" gear="{self.row(3)}"' for j in self.balls] + [f'site="{s}" gear="{self.row(6)}"' for s in self.sites]
        name, own = self.name("a"), self.own()
        limits = f'{self.maybe(0.3, """ctrlrange="-0.5 1" """)}{self.maybe(0.3, """forcerange="-2 3" """)}'
        if wrenches and (not where or self.some(0.3)):
            return f'<motor name="{name}" {self.one(*wrenches)}{limits}/>'
        if not where:
            return ""
        on = f'{self.one(*where)}{self.maybe(0.4, f"""gear="{self.row(1, -3, 3)}" """)}'
        kind = self.one("motor", "position", "velocity", "general", "intvelocity", "damper")
        gains: Any = {"position": self.maybe(0.6, f'kp="{self.row(1, 1, 9)}"')
                      + self.one("", f' kv="{self.row(1, 0, 2)}"', ' timeconst="0.3"'),
                 "velocity": self.maybe(0.6, f'kv="{self.row(1, 1, 9)}"'), "intvelocity": ' actrange="-1 1" kp="3"',
                 "damper": ' kv="3"',
                 "general": f' gaintype="{self.one("fixed", "affine")}" gainprm="{self.row(3)}" biastype="{self.one("none", "affine")}" '
                            f'biasprm="{self.row(3)}" dyntype="{self.one("none", "integrator", "filter", "filterexact")}"'}  # fmt: skip
        gains = gains.get(kind, "")
        if kind == "position" and "kv" not in gains and "tendon" not in on and self.some(0.3):
            gains += ' dampratio="0.7"'
        limits = limits if kind != "damper" else ' ctrlrange="0 1"'
        return f'<{kind} name="{name}" {on}{gains}{limits}{own}/>'
