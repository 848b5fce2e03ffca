"""Warnings of what a URDF file has and is not read, or not as it is meant: unknown tags and attributes, angles in degrees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from engine.checks import closest
from engine.io.errors import short

TURNED = 6.3                   # rad: a turn, as it may be rounded
WIDE = 2.0 * TURNED            # rad: two turns, as they may be rounded
#: tag: (the tags it may hold, its attributes)
KNOWN = {tag: (tuple(tags.split()), tuple(attributes.split())) for tag, tags, attributes in (
    ("robot", "link joint material", "name version"),
    ("link", "inertial visual collision", "name"),
    ("inertial", "origin mass inertia", ""),
    ("mass", "", "value"),
    ("inertia", "", "ixx ixy ixz iyy iyz izz"),
    ("origin", "", "xyz rpy quat_xyzw"),
    ("visual", "origin geometry material", "name"),
    ("collision", "origin geometry", "name"),
    ("geometry", "box cylinder capsule sphere mesh", ""),
    ("box", "", "size"),
    ("cylinder", "", "radius length"),
    ("capsule", "", "radius length"),
    ("sphere", "", "radius"),
    ("mesh", "", "filename scale"),
    ("material", "color texture", "name"),
    ("color", "", "rgba"),
    ("texture", "", "filename"),
    ("joint", "origin parent child axis limit dynamics mimic", "name type"),
    ("parent", "", "link"),
    ("child", "", "link"),
    ("axis", "", "xyz"),
    ("limit", "", "lower upper velocity effort acceleration deceleration jerk"),
    ("dynamics", "", "damping friction"),
    ("mimic", "", "joint multiplier offset"),
)}  # fmt: skip
MANY = ("link", "joint", "material", "visual", "collision")
#: a severity, the element, or None of the whole robot, and what is said
Said = tuple[str, Any, str]


def unknown_parts(root: Any) -> Iterator[Said]:
    """Yield findings about tags and attributes that are not read, and parts that are there twice."""
    ignored: Counter[str] = Counter()
    stack = [root]
    while stack:
        e = stack.pop()
        tags, attributes = KNOWN[e.tag]
        stack += [child for child in e if child.tag in tags]
        for tag, count in Counter(child.tag for child in e).items():
            where = f" in <{e.tag}>" if e is not root else ""
            if tag not in tags and (meant := closest(tag, tags, 0.8)):
                yield ("warning", e, f"<{tag}>{where} is not known and ignored; did you mean <{meant[0]}>?")
            elif tag not in tags:
                ignored[f"<{tag}>{where}"] += count
            elif count > 1 and tag not in MANY:
                yield ("warning", e, f"<{tag}>{where} is there {count} times; the first counts")
        for name in e.attrib:
            turned = [known for known in attributes if sorted(known) == sorted(name)]       # xzy of xyz
            if name not in attributes and (meant := turned or closest(name, attributes, 0.8)):
                yield ("warning", e, f"{name}=\"...\" of <{e.tag}> is not known and ignored; did you mean {meant[0]}?")
            elif name not in attributes:
                ignored[f"{name}=\"...\" of <{e.tag}>"] += 1
    for what, count in ignored.items():
        yield ("note", None, f"{what} is ignored ({count} time{'s' * (count > 1)})")
    if not root.get("name"):
        yield ("note", root, "the robot has no name; it is called after the file")


def of_angles(reader: Any, e: Any) -> Iterator[Said]:
    """Yield findings about angles of more than a turn."""
    for o in (o for path in ("origin", "inertial/origin", "visual/origin", "collision/origin") for o in e.iterfind(path)):
        if max(map(abs, reader.numbers(o, "rpy", 3, (0.0, 0.0, 0.0)))) > TURNED:
            yield ("warning", o, f"rpy is '{short(o.get('rpy'))}', over a turn; expected radians (are these degrees?)")
