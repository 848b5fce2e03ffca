"""Frames: everything in a file that has a name has one, said relative to another; models are scopes of names.

Reference: sdformat.org, "Pose Frame Semantics" (of versions 1.7 and later); before, links are placed in their model, joints in their
child, and nothing else is said.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from engine.checks import nearest
from engine.io.errors import RobotFileError, short
from engine.io.sdf.document import Node
from engine.io.sdf.poses import pose_of
from engine.spatial import se3

Array = np.ndarray
WORLD = "world"
MODEL = "__model__"
NAMED = ("link", "joint", "frame", "model")
LEVEL = "::"


@dataclass(eq=False)
class Frame:
    """A frame: its name with those of the models it is in, the element it is of, and its pose T in the frame ``base`` (4, 4).

    ``base`` and ``attached`` are names in the scope ``scope``, or frames. Of a model ``inner`` is its scope, and ``placed`` names the frame
    in it that is where its pose says. What is found out about one is kept: its ``body``, its ``depth`` and its ``leap``.
    """

    name: str
    node: Node
    scope: Scope
    T: Array
    base: Frame | str | None = None
    attached: Frame | str | None = None
    placed: str = ""
    inner: Scope | None = None
    depth: int = -1
    body: Frame | None = None
    leap: tuple[Frame, Array] | None = None

    @property
    def kind(self) -> str:
        return self.node.tag


@dataclass(eq=False)
class Scope:
    """A world, or a model: what is named in it. A merged model's names lie in the model around it, but its own frame is its own."""

    node: Node
    parent: Scope | None
    prefix: str = ""
    frames: dict[str, Frame] = field(default_factory=dict)
    scopes: dict[str, Scope] = field(default_factory=dict)
    static: bool = False
    merged: bool = False
    own: Frame = field(init=False)

    def find(self, name: str) -> Frame | None:
        """Return the frame of a name, as it is called in this scope."""
        if name == MODEL and self.node.tag == "model":
            return self.own
        if name in (WORLD, "__root__"):
            return self.root.own
        if name in self.frames:
            return self.frames[name]
        first, level, rest = name.partition(LEVEL)
        return self.scopes[first].find(rest) if level and first in self.scopes else None

    def found(self, node: Node, name: str, expected: str = "a frame of the model") -> Frame:
        """Return the frame of a name that an element says."""
        if (frame := self.find(name)) is None:
            raise node.error(f"<{node.tag}> names '{short(name)}', which is not there{nearest(short(name), [*self.frames][:1000])}; "
                             f"expected {expected}")  # fmt: skip
        return frame

    @property
    def root(self) -> Scope:
        return self if self.parent is None else self.parent.root

    @property
    def top(self) -> Scope:
        """The model of the world's that it is, or lies in."""
        return self if self.parent is None or self.parent.parent is None else self.parent.top


def world(node: Node, models: list[Node]) -> Scope:
    """Return a scope of all that has a name in a world (or in the <sdf> element of a file without one), with some of its models."""
    root = Scope(node, None)
    root.own = Frame(WORLD, node, root, np.eye(4))
    own = [n for n in node.children if n.tag not in ("model", "include")] if node.tag == "world" else []
    single = len(models) == 1 and not any(n.tag in ("joint", "frame") for n in own)
    for model in models:
        name(model)
        add(root, model, "" if single else model.name + LEVEL)
    for n in own:
        if n.tag in NAMED:
            add(root, n)
    return root


def add(scope: Scope, node: Node, prefix: str | None = None) -> None:
    """Add what has a name to a scope, and of a model all that is in it."""
    if node.tag == "model":
        return add_model(scope, node, prefix)
    T, base = pose_of(node)
    defaults: dict[str, Frame | str | None] = {"link": scope.own, "joint": node.text("child"), "frame": node.attributes.get("attached_to")
                                               or scope.own}  # fmt: skip
    attached = {"link": None, "joint": node.text("child"), "frame": defaults["frame"]}[node.tag]
    put(scope, Frame(scope.prefix + name(node), node, scope, T, base or defaults[node.tag], attached))
    return None


def add_model(scope: Scope, node: Node, prefix: str | None) -> None:
    """Add a model; into the scope itself where it is merged."""
    T, base = pose_of(node)
    merged = node.attributes.get("merge") == "true"
    prefix = scope.prefix + name(node) + LEVEL if prefix is None else prefix
    inner = Scope(node, scope, scope.prefix, scope.frames, scope.scopes, merged=True) if merged else Scope(node, scope, prefix)
    inner.static = scope.static or node.flag("static")
    inner.own = Frame(scope.prefix + node.name, node, scope, T, base or scope.own, inner=inner,
                      placed=node.attributes.get("placement_frame", ""))  # fmt: skip
    if not merged:
        put(scope, inner.own)
        scope.scopes[node.name] = inner
    for child in node.children:
        if child.tag in NAMED:
            add(inner, child)
    inner.own.attached = canonical(inner)


def put(scope: Scope, frame: Frame) -> None:
    """Put a frame among those of a scope."""
    node, known = frame.node, scope.frames.get(frame.node.name)
    if known is not None and node.version < (1, 7) and {known.kind, node.tag} == {"joint", "link"}:     # joints were no frames then
        if node.tag == "link":
            scope.frames[node.name] = frame
            scope.frames[f"{node.name}{LEVEL}joint"] = known
        else:
            scope.frames[f"{node.name}{LEVEL}joint"] = frame
        return
    if known is not None:
        raise node.error(f"the name is taken by the {known.kind} in line {known.node.line}; expected unique names")
    if node.name == WORLD or (node.name.startswith("__") and node.name.endswith("__")):
        raise node.error(f"the name '{short(node.name)}' stands for a frame of SDF's own; expected another")
    scope.frames[node.name] = frame


def name(node: Node) -> str:
    """Return the name that an element has to have."""
    return node.required("name")


def canonical(scope: Scope) -> Frame | None:
    """Return the link that a model's frame is attached to: the one it names, or its first."""
    if said := scope.node.attributes.get("canonical_link"):
        frame = scope.find(said)
        if frame is None or frame.kind != "link":
            raise scope.node.error(f"canonical_link is '{short(said)}', which is no link of the model; expected one of its links")
        return frame
    return next((f for f in frames(scope) if f.kind == "link"), None)


def frames(scope: Scope) -> Iterator[Frame]:
    """Yield all frames in a scope: its own first, then those of the models in it."""
    yield from scope.frames.values()
    for inner in scope.scopes.values():
        yield from frames(inner)


# ---------------------------------------------------------------- where frames are


def base_of(frame: Frame) -> Frame | None:
    """Return the frame that a frame's pose is relative to; None of the world's."""
    if isinstance(frame.base, str):
        if not frame.base:
            raise frame.node.error(f"<{frame.kind}> has no <child>; expected one")
        expected = "a link, joint, frame or model beside it"
        frame.base = frame.scope.found(frame.node.first("pose") or frame.node, frame.base, expected)
    return frame.base


def pose_in_base(frame: Frame) -> Array:
    """Return the pose of a frame in its base (4, 4)."""
    if frame.placed and frame.inner is not None:
        placed = frame.inner.found(frame.node, frame.placed)
        depth(placed)
        way, at = list[Frame](), placed
        while at is not frame:
            way.append(at)
            if (base := base_of(at)) is None:
                raise frame.node.error(f"placement_frame is '{short(frame.placed)}', which is not placed in the model; expected a frame of "
                                       "it")  # fmt: skip
            at = base
        frame.T, frame.placed = frame.T @ se3.inv(product(way)), ""
    return frame.T


def depth(frame: Frame) -> int:
    """Return how many frames a frame is from the world's.

    Raises
    ------
    RobotFileError : frames are relative to one another in a circle
    """
    way, at = dict[Frame, None](), frame
    while at.depth < 0:
        if at in way:
            found = [*way]
            raise circle("relative to", [*found[found.index(at):], at])
        way[at] = None
        if (base := base_of(at)) is None:
            break
        at = base
    above = at.depth
    for k, below in enumerate(reversed(way), above + 1):
        below.depth = k
    return frame.depth


def circle(what: str, found: list[Frame]) -> RobotFileError:
    names = [f"'{f.name}'" for f in found]
    way = " → ".join(names if len(names) < 9 else [*names[:4], "…", *names[-3:]])
    return found[0].node.error(f"frames are {what} one another in a circle ({way}); expected a tree")


def step(frame: Frame) -> tuple[Frame, Array]:
    """Return the frame that one other than the world's is relative to, and the pose in it (4, 4)."""
    base = base_of(frame)
    assert base is not None
    return base, pose_in_base(frame)


def leap(frame: Frame) -> tuple[Frame, Array]:
    """Return a frame far above one, and the pose in it (4, 4): by leaps, any frame above is a few dozen away, however long the way is."""
    way, at = list[Frame](), frame
    while at.leap is None and (base := base_of(at)) is not None:
        way.append(at)
        at = base
    if at.leap is None:
        at.leap = at, np.eye(4)                                                 # the world's
    for below in reversed(way):
        T, (far, T_far) = pose_in_base(below), leap(at)
        farther, T_farther = leap(far)
        even = depth(at) - depth(far) == depth(far) - depth(farther)            # two leaps as long become one
        below.leap = (farther, T_farther @ (T_far @ T)) if even else (at, T)
        at = below
    assert frame.leap is not None
    return frame.leap


def relative(a: Frame, b: Frame) -> Array:
    """Return T_AB, the pose of frame B in frame A (4, 4); what both are relative to does not enter."""
    level = min(depth(a), depth(b))
    (x, T_XA), (y, T_YB) = raised(a, level), raised(b, level)
    while x is not y:
        up = step if leap(x)[0] is leap(y)[0] else leap
        (x, T_PX), (y, T_PY) = up(x), up(y)
        T_XA, T_YB = T_PX @ T_XA, T_PY @ T_YB
    return se3.inv(T_XA) @ T_YB if x is not a else T_YB


def raised(frame: Frame, level: int) -> tuple[Frame, Array]:
    """Return the frame of a depth above one, and the pose in it (4, 4)."""
    at, T = frame, np.eye(4)
    while depth(at) > level:
        at, T_far = (leap if depth(leap(at)[0]) >= level else step)(at)
        T = T_far @ T
    return at, T


def product(way: list[Frame]) -> Array:
    """Return the pose of the first frame of a way in what the last is relative to (4, 4)."""
    T = np.eye(4)
    for frame in way:
        T = pose_in_base(frame) @ T
    return T


def body_of(frame: Frame) -> Frame:
    """Return the link that a frame is attached to; or the world's frame."""
    way, at = dict[Frame, None](), frame
    while at.body is None:
        if at.kind == "link" or at is at.scope.root.own:
            at.body = at
            break
        if at in way:
            found = [*way]
            raise circle("attached to", [*found[found.index(at):], at])
        way[at] = None
        to = at.scope.found(at.node, at.attached, "a frame beside it") if isinstance(at.attached, str) else at.attached
        if to is None:
            raise at.node.error(f"the {at.kind} has no link that its frame could be attached to; expected one")
        at = to
    for above in way:
        above.body = at.body
    return at.body
