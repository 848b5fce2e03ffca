"""Merging of an element's attributes over those of its default class."""

from __future__ import annotations

from collections.abc import Mapping

#: what says an orientation: one of an element's own stands in place of all of its class's
ORIENTATIONS = frozenset(("quat", "axisangle", "euler", "xyaxes", "zaxis"))
#: rows of numbers of which the first few may be given, and the others are the class's
ROWS = frozenset(("size", "friction", "gear", "gainprm", "biasprm", "dynprm", "stiffness", "damping", "polycoef",
                  "solref", "solimp"))  # fmt: skip


def over(base: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """Return the attributes of a class with an element's own over them.

    >>> over({"size": "0.1 0.2", "quat": "1 0 0 0"}, {"size": "0.3", "euler": "0 0 90"})
    {'size': '0.3 0.2', 'euler': '0 0 90'}
    """
    turned = not ORIENTATIONS.isdisjoint(own)
    found = {name: x for name, x in base.items() if not (turned and name in ORIENTATIONS)}
    for name, x in own.items():
        found[name] = " ".join([x, *base[name].split()[len(x.split()) :]]) if name in ROWS and name in base else x
    return found
