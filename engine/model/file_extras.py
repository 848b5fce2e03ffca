"""Contents of a robot's file besides the tree, as plain data: initial state, constraints, actuators, forces, contacts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field, replace
from functools import partial
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.checks import listed, nearest, shown
from engine.model.errors import ModelError
from engine.model.tree import ReadOnly, frozen

Array = NDArray[np.float64]
Renaming = Callable[[str], str]
#: arguments that are the name of a link or a joint, or of the part itself
NAMES = frozenset(("link", "link_a", "link_b", "joint", "joint1", "joint2", "name"))
#: arguments whose keys are such names
KEYED = frozenset(("joints", "materials", "boxes"))
#: names that are printed of many
MOST_SHOWN = 12


@dataclass(frozen=True, eq=False)
class Part:
    """A component as plain data: the name of its class ("Ball", "JointSpring", …), and the class's arguments.

    >>> Part("JointSpring", {"joint": "hip", "stiffness": 2.0})
    Part(kind='JointSpring', values={'joint': 'hip', 'stiffness': 2.0})
    """

    kind: str
    values: Mapping[str, Any]

    def renamed(self, link: Renaming, joint: Renaming, own: Renaming) -> Part:
        """Return it with other names for links and joints, and for itself."""
        values = dict(self.values)
        for what, x in values.items():
            name = own if what == "name" else joint if what.startswith("joint") else link
            if what in NAMES and isinstance(x, str):
                values[what] = name(x)
            elif what in KEYED:
                values[what] = {rename_key(name, n, what): y for n, y in x.items()}
            elif what == "pairs" and isinstance(x, tuple):
                values[what] = tuple(rename_pair(link, pair) for pair in x)
        return Part(self.kind, values)

    def without(self, links: Set[str], joints: Set[str]) -> tuple[Part | None, list[str]]:
        """Return it without what lies on these links and joints, None where it is on one itself, and whom that was of."""
        values, lost = dict(self.values), list[str]()
        for what, x in self.values.items():
            gone = joints if what.startswith("joint") else links
            if what in NAMES and what != "name" and x in gone:
                return None, [x]
            if what == "joints" and (missing := [n for n in x if n in gone]):   # a sum over joints: another, were one left out
                return None, missing
            if what in KEYED:
                values[what] = {n: y for n, y in x.items() if not removed_among(n, gone, what)}
                lost += [name for n in x for name in removed_among(n, gone, what)]
            elif what == "pairs" and isinstance(x, tuple):
                values[what] = tuple(pair for pair in x if not removed_among(pair, gone))
                lost += [n for pair in x for n in removed_among(pair, gone)]
        return (Part(self.kind, values) if lost else self), lost


@dataclass(frozen=True, eq=False)
class Keyframe(ReadOnly):
    """A state with a name: the time, s, q (nq), v (nv), and commands by the actuators' names.

    >>> import numpy as np
    >>> from engine.model import Keyframe
    >>> Keyframe(0.0, np.array([0.3]), np.zeros(1)).q
    array([0.3])
    """

    t: float
    q: Array
    v: Array
    commands: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for what in ("q", "v"):
            object.__setattr__(self, what, frozen(getattr(self, what), np.shape(getattr(self, what)), f"{what} of a keyframe"))


class Keyframes(dict[str, Keyframe]):
    """Keyframes by their names; ModelError for a name that none has.

    >>> Keyframes(home=Keyframe(0.0, np.zeros(1), np.zeros(1)))["hom"]
    Traceback (most recent call last):
    ...
    engine.model.errors.ModelError: there is no keyframe 'hom' (did you mean 'home'?); expected one of home
    """

    def __missing__(self, name: str) -> Keyframe:
        expected = listed("one of", self, "a file that describes one")
        raise ModelError(f"there is no keyframe {shown(name)}{nearest(str(name), self)}; expected {expected}")


@dataclass(frozen=True, eq=False)
class Described(ReadOnly):
    """Contents of a robot's file besides links and joints; :func:`engine.simulator_of` makes a simulator of it.

    Attributes
    ----------
    q : the configuration in which the file has the robot (nq)
    gravity : m/s² (3), and dt, s; None: nothing is said
    constraints : what holds exactly: Ball, Hinge, Slider, Weld, Coupling
    actuators : what takes commands, by the names of the parts
    forces : springs in joints, and what else acts by itself
    contacts : a part "Contacts", or None; where the file lets too many links touch to list them, its ``pairs`` is the number they exceed
    keyframes : states by name
    sensors : (kind, what it is on) by name; measured : parts of those that :func:`engine.sensors.of` makes

    >>> import engine
    >>> text = "<mujoco><option timestep='0.01'/><worldbody><body><joint/><geom size='0.1'/></body></worldbody></mujoco>"
    >>> engine.load(text).described.dt
    0.01
    """

    q: Array
    gravity: tuple[float, float, float] | None = None
    dt: float | None = None
    constraints: tuple[Part, ...] = ()
    actuators: tuple[Part, ...] = ()
    forces: tuple[Part, ...] = ()
    contacts: Part | None = None
    keyframes: Mapping[str, Keyframe] = field(default_factory=dict)
    sensors: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    measured: tuple[Part, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "q", frozen(self.q, np.shape(self.q), "the configuration that a file describes"))
        object.__setattr__(self, "keyframes", Keyframes(self.keyframes))

    def __repr__(self) -> str:
        counts = "".join(f", {len(getattr(self, n))} {n}{self._commanded() if n == 'actuators' else ''}"
                         for n in ("constraints", "actuators", "forces", "keyframes", "sensors") if getattr(self, n))  # fmt: skip
        return f"<described: gravity {self.gravity}, dt {self.dt}{counts}{', contacts' * (self.contacts is not None)}>"

    def _commanded(self) -> str:
        """Return the names by which actuators are commanded, in brackets."""
        names = [str(part.values.get("name", "")) for part in self.actuators]
        return f" ({', '.join(names[:MOST_SHOWN])}{', …' * (len(names) > MOST_SHOWN)})"

    def prefixed(self, prefix: str) -> Described:
        """Return it with a robot's name before all names."""
        sensors = {prefix + name: (kind, on and prefix + on) for name, (kind, on) in self.sensors.items()}
        named = partial(add, prefix)
        return replace(self.renamed(named, named, named), keyframes={}, sensors=sensors)

    def renamed(self, link: Renaming, joint: Renaming, own: Renaming) -> Described:
        """Return it with other names for links and joints, and for parts."""
        constraints, actuators, forces, measured = (tuple(p.renamed(link, joint, own) for p in x) for x in
                                                    (self.constraints, self.actuators, self.forces, self.measured))  # fmt: skip
        return replace(self, constraints=constraints, actuators=actuators, forces=forces, measured=measured,
                       contacts=self.contacts and self.contacts.renamed(link, joint, own))  # fmt: skip


def to_plain(x: Any) -> Any:
    """Return an array as tuples of numbers, as arguments of parts are.

    >>> to_plain(np.eye(2))
    ((1.0, 0.0), (0.0, 1.0))
    """
    return tuple(map(to_plain, x)) if np.ndim(x) else float(x)


def rename_key(rename: Renaming, key: Any, what: str) -> Any:
    """Return another name for what something is of: materials are of links, of shapes of these, and of two of both."""
    return rename(key) if what != "materials" else rename_pair(rename, key) if isinstance(key, tuple) else rename_shape(rename, key)


def rename_pair(rename: Renaming, names: tuple[str, str]) -> tuple[str, str]:
    """Return other names for two links or shapes of links; the ground is nobody's."""
    a, b = (n if n == "world" else rename_shape(rename, n) for n in names)
    return a, b


def rename_shape(rename: Renaming, name: str) -> str:
    """Return another name for a link, or for a shape of it, as :attr:`~engine.model.Link.shapes` has them.

    >>> [rename_shape(lambda link: {"a": "b"}.get(link, link), name) for name in ("a", "a/pad")]
    ['b', 'b/pad']
    """
    link, _, shape = name.rpartition("/")
    found = rename(name)
    return f"{rename(link)}/{shape}" if found == name and link else found


def removed_among(names: str | tuple[str, ...], gone: Set[str], what: str = "materials") -> list[str]:
    """Return those of one or two names that are gone, where materials are of links, or of shapes of these."""
    each = ((n, n.rpartition("/")[0] if what == "materials" else n) for n in ((names,) if isinstance(names, str) else names))
    return [n if n in gone else link for n, link in each if n in gone or link in gone]


def combine_extras(q: Array, robots: Mapping[str, Described | None]) -> Described | None:
    """Return what the files of several robots say of all of them, at the configuration q.

    Constraints, actuators, forces and sensors are those of all, with the robots' names before theirs. Gravity and dt hold where those
    who say some agree; contacts and keyframes, which are of one robot alone, are left out.
    """
    said = {name: d.prefixed(f"{name}/") for name, d in robots.items() if d is not None}
    if not said:
        return None
    gravities, steps = ({getattr(d, n) for d in said.values()} - {None} for n in ("gravity", "dt"))
    names = ("constraints", "actuators", "forces", "measured")
    constraints, actuators, forces, measured = (tuple(p for d in said.values() for p in getattr(d, n)) for n in names)
    return Described(q, gravities.pop() if len(gravities) == 1 else None, steps.pop() if len(steps) == 1 else None, constraints, actuators,
                     forces, measured=measured, sensors={name: x for d in said.values() for name, x in d.sensors.items()})  # fmt: skip
