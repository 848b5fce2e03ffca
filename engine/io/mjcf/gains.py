"""The kinds of actuators: each shortcut as the general actuator that it stands for, force = gain · control + bias."""

from __future__ import annotations

from collections.abc import Mapping
from math import pi

from engine.io.mjcf.document import Node
from engine.io.mjcf.merging import over

#: kinds that become a general one, and kinds that are not read
KNOWN = ("general", "motor", "position", "velocity", "intvelocity", "damper", "cylinder")
UNKNOWN = ("muscle", "adhesion", "plugin", "pid", "orientation", "dcmotor")
SHORTCUTS = KNOWN + UNKNOWN
#: which shortcut attributes were written as: not an attribute of MJCF
KIND = "{kind}"
#: a damping ratio, where a number in N·s/m is meant otherwise: not an attribute of MJCF
RATIO = "{dampratio}"
#: what a kind of actuator has of its own
GAINS = frozenset((KIND, RATIO, "gaintype", "biastype", "dyntype", "gainprm", "biasprm", "dynprm", "kp", "kv", "dampratio", "timeconst",
                   "area", "diameter", "bias"))  # fmt: skip


def general(node: Node, base: Mapping[str, str]) -> dict[str, str]:
    """Return the attributes of the general actuator that an element stands for, on those of its class.

    A shortcut begins with the gains of its class where this was written as the same shortcut, or as a general actuator.
    """
    for name in ("gainprm", "biasprm", "dynprm"):
        node.numbers(name, (1, 10), ())
    found = {**over(base, node.attributes), KIND: node.tag}
    if node.tag in ("general", *UNKNOWN):
        return found
    before = base.get(KIND, "general")
    kept = before in ("general", node.tag)
    gain, bias = (padded(base.get(name, ""), first) if kept else padded("", first) for name, first in (("gainprm", 1.0), ("biasprm", 0.0)))
    kinds, time = ("fixed", "affine", "none"), padded(base.get("dynprm", ""), 1.0)[0] if before == node.tag else 0.0
    time = node.positive("timeconst", time)
    ratio = base.get(RATIO, "") if kept else ""
    if node.tag == "motor":
        kinds, gain, bias = ("fixed", "none", "none"), [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]
    elif node.tag in ("position", "intvelocity"):
        held = before == node.tag and base.get("dyntype") == "filterexact"
        filtered = "filterexact" if time > 0.0 and (held or "timeconst" in node.attributes) else "none"
        kinds = ("fixed", "affine", "integrator" if node.tag == "intvelocity" else filtered)
        kp = node.number("kp", gain[0])
        if "dampratio" in node.attributes:
            ratio = repr(node.positive("dampratio"))
        if bias[2] > 0.0 and not ratio:
            ratio = repr(bias[2])                                               # as MuJoCo reads a general actuator of the class
        if "kv" in node.attributes:
            if "dampratio" in node.attributes:
                raise node.error(f"<{node.tag}> has a kv and a dampratio; expected one of them, which say the same damping")
            ratio = ""
        gain, bias = [kp, 0.0, 0.0], [0.0, -kp, 0.0 if ratio else -node.positive("kv", -bias[2])]
    elif node.tag == "velocity":
        kv = node.number("kv", gain[0])
        gain, bias = [kv, 0.0, 0.0], [0.0, 0.0, -kv]
    elif node.tag == "damper":
        kinds = ("affine", "none", "none")
        gain, bias = [0.0, 0.0, -node.positive("kv", -gain[2] if before == node.tag else 0.0)], [0.0, 0.0, 0.0]
        found.setdefault("ctrllimited", "true")
    else:
        area = node.number("area", gain[0])
        area = pi / 4.0 * node.number("diameter") ** 2 if "diameter" in node.attributes else area
        kinds, gain, bias = ("fixed", "affine", "filter"), [area, 0.0, 0.0], node.numbers("bias", 3, bias)
        time = node.positive("timeconst", time or 1.0)
    found |= {"gaintype": kinds[0], "biastype": kinds[1], "dyntype": kinds[2], "gainprm": numbers_text(gain), "biasprm": numbers_text(bias),
              "dynprm": repr(time if kinds[2] in ("filter", "filterexact") else 1.0)}  # fmt: skip
    found.pop(RATIO, None)
    return found | ({RATIO: ratio} if ratio else {})


def padded(text: str, first: float) -> list[float]:
    """Return three numbers of a class: those that it has, then the usual ones."""
    values = [*map(float, text.split())][:3]
    return values + [first, 0.0, 0.0][len(values) :]


def numbers_text(numbers: list[float]) -> str:
    return " ".join(map(repr, numbers))
