"""Settings of a file: how it is to be read (its <compiler>), and its time step, gravity and flags (its <option>)."""

from __future__ import annotations

from dataclasses import dataclass
from math import pi

from engine.io.errors import short
from engine.io.mjcf.document import Node

GRAVITY = (0.0, 0.0, -9.81)
#: flags of <option> that are on unless a file says otherwise, and mean something here
FLAGS = ("contact", "equality", "frictionloss", "limit", "spring", "damper", "gravity", "clampctrl", "actuation", "constraint",
         "filterparent", "passive")  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """The settings of a file.

    Attributes
    ----------
    radians : of the unit that angles are written in
    eulerseq : axes of Euler angles; small letters turn along
    meshdir : folder of meshes, relative to the file
    inertiafromgeom : "true", "false" or "auto": where a body has no <inertial>
    gravity, dt : m/s² and s
    density, viscosity, wind : of the fluid that all bodies move in, kg/m³, Pa·s, m/s
    off : names of the flags that are disabled; "passive", of files before MuJoCo 3.4, is all passive forces
    """

    radians: float = pi / 180
    eulerseq: str = "xyz"
    autolimits: bool = True
    inertiafromgeom: str = "auto"
    groups: tuple[int, int] = (0, 5)
    balanceinertia: bool = False
    boundmass: float = 0.0
    boundinertia: float = 0.0
    settotalmass: float = -1.0
    meshdir: str = ""
    texturedir: str = ""
    strippath: bool = False
    gravity: tuple[float, float, float] = GRAVITY
    dt: float = 0.002
    off: frozenset[str] = frozenset()
    density: float = 0.0
    viscosity: float = 0.0
    wind: tuple[float, float, float] = (0.0, 0.0, 0.0)


def settings_of(root: Node) -> Settings:
    """Return the settings of a file; what comes later counts."""
    said: dict[str, str] = {}
    compiler = Node("compiler", said)
    for node in root.all("compiler"):
        said.update(node.attributes)
        compiler.line, compiler.file = node.line, node.file
    option = Node("option", {})
    off: set[str] = set()
    for node in root.all("option"):
        option.attributes.update(node.attributes)
        option.line, option.file = node.line, node.file
        for flag in node.all("flag"):
            off |= {name for name in FLAGS if flag.choice(name, ("enable", "disable"), "enable") == "disable"}
    if passive := "passive" in off:
        off |= {"spring", "damper"}
    if compiler.choice("coordinate", ("local", "global"), "local") == "global":
        raise compiler.error("coordinate is 'global', which MuJoCo has given up; expected 'local'")
    sequence = compiler.text("eulerseq", "xyz")
    if len(sequence) != 3 or not set(sequence) <= set("xyzXYZ"):
        raise compiler.error(f"eulerseq is '{short(sequence)}'; expected three of the letters x y z X Y Z")
    low, high = compiler.numbers("inertiagrouprange", 2, (0, 5))
    folder = compiler.text("assetdir")
    x, y, z = option.numbers("gravity", 3, GRAVITY)
    wind = option.numbers("wind", 3, (0.0, 0.0, 0.0))
    dt = option.number("timestep", 0.002)
    if not dt > 0.0:
        raise option.error(f"timestep is {dt:g} s; expected a time above zero")
    return Settings(
        radians=1.0 if compiler.choice("angle", ("degree", "radian"), "degree") == "radian" else pi / 180,
        eulerseq=sequence,
        autolimits=compiler.flag("autolimits", True),
        inertiafromgeom=compiler.choice("inertiafromgeom", ("true", "false", "auto"), "auto"),
        groups=(int(low), int(high)),
        balanceinertia=compiler.flag("balanceinertia"),
        boundmass=compiler.number("boundmass", 0.0),
        boundinertia=compiler.number("boundinertia", 0.0),
        settotalmass=compiler.number("settotalmass", -1.0),
        meshdir=compiler.text("meshdir", folder),
        texturedir=compiler.text("texturedir", folder),
        strippath=compiler.flag("strippath"),
        gravity=(0.0, 0.0, 0.0) if "gravity" in off else (x, y, z),
        dt=dt,
        off=frozenset(off),
        density=0.0 if passive else option.positive("density", 0.0),
        viscosity=0.0 if passive else option.positive("viscosity", 0.0),
        wind=(wind[0], wind[1], wind[2]),
    )
