"""Damping, friction, stops and speed limits of joints: which act as forces in flight, and which as impulses after it.

A joint's stops are a spring in flight (:class:`engine.components.forces.JointStops`) or impulses after it
(:meth:`engine.contact.joint_laws.JointStep.stop`), never both: in flight where the user gives a JointStops, where ``joint_dynamics`` is
"explicit", and at floating joints; impulses where it is "implicit", and, where it is "auto", at stops too stiff for the step: with
dt² k w > 0.01, where w is the velocity that a unit impulse leaves, or stiffened to hold the joint's effort. Dry friction is an impulse but
where the user gives a JointFriction, for "explicit" steps, and at floating joints. :func:`plan_joint_dynamics` decides before a run.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from engine import ops
from engine.checks import nearest, number, shown, warn
from engine.compiler.trace_cache import kept
from engine.components.component import Component, SimulationError, SimulationWarning
from engine.components.forces import DISSIPATION, JointFriction, JointStops, stop_stiffness
from engine.components.forces import SLOW as SMOOTHED
from engine.contact import JointCoordinate, JointLaws, joint_coordinates
from engine.integrate import FreeBody, Mechanical, Method, step
from engine.model import Model
from engine.model.parameters import split
from engine.spatial.manifold import vector

MODES = ("auto", "implicit", "explicit")
#: velocities of a tree from which on what is found of it is kept on disk: of fewer it is found sooner
LARGE = 8
#: the speed of a joint that counts as rest, rad/s or m/s
SLOW = 5e-7
#: a stop k with h² k w above it is stiff for a step of h, where w is what a unit impulse makes move
STIFF_SPRING = 0.01
#: h c w that are tried for where a method is unstable
TRIED = np.arange(1.0, 10.0, 0.05)
#: growth in a step that is rounding
ROUNDING = 1e-12
#: of a joint's range, or of a rad or m where that has one end: as deep as its own effort pushes it into a stop at most
DEEP = 0.01
#: what a row may have
KINDS: dict[str, Callable[[JointCoordinate], bool]] = {
    "damping": lambda r: bool(r.damping), "friction": lambda r: bool(r.friction), "speed limits": lambda r: bool(np.isfinite(r.speed)),
    "stops": lambda r: bool(np.isfinite([r.low, r.high]).any()),
}  # fmt: skip


class Plan(NamedTuple):
    """Laws of joints by when they act: components in flight, impulses after it, all coordinates, and those whose laws are impulses."""

    components: list[Component]
    laws: JointLaws | None
    rows: list[JointCoordinate]
    after: list[JointCoordinate]

    def words(self, stiff: Any = None) -> str:
        """Return which is which in words, and what is ``stiff`` in flight (see :mod:`engine.simulation.stiffness`), if anything is."""
        late = {(r.joint, r.j): r for r in self.after}
        damped = stiff is not None and JointFriction.__name__ in stiff.kinds
        after = [late.get((r.joint, r.j), without_laws(r))._replace(damping=damped * r.damping) for r in self.rows]
        return "; ".join(filter(None, [describe_joint_modes(self.rows, after) or "ideal", stiff and f"stiff: {stiff.words}"]))


def mode_of(given: Any) -> str | None:
    """Return one of MODES, or None; True is "auto", and False is None."""
    if given is None or given is False:
        return None
    if given is not True and given not in MODES:
        raise SimulationError(f"joint_dynamics is {shown(given)}{nearest(str(given), MODES)}; expected one of {', '.join(MODES)}, or None")
    return "auto" if given is True else str(given)


def is_large(model: Model) -> bool:
    """Return whether what is found of a model is worth keeping: it is one tree, and no small one."""
    return len(model.roots) == 1 and model.nv >= LARGE


def coordinates_kept(model: Model, varied: frozenset[str]) -> list[JointCoordinate]:
    """Return :func:`engine.contact.joint_laws.joint_coordinates`, or what it found before."""
    if not is_large(model):
        return joint_coordinates(model, varied)
    return kept(f"the joints of '{model.name}'", ("joint coordinates", model, varied), lambda: joint_coordinates(model, varied))


def plan_joint_dynamics(model: Model, dt: float, method: Method, mode: str | None, given: list[Component], parameters: Iterable[str] = (),
                        actuators: Iterable[Any] = ()) -> Plan:  # fmt: skip
    """Return how the joints' damping, friction, stops and speed limits act, but for what the user gives components for; of ``parameters``
    "damping.JOINT" acts in flight, and "friction.JOINT" as an impulse whatever its value, or in flight where all does. Stops hold the
    joint's effort, or, where the model limits none, what its ``actuators`` may exert.

    Raises
    ------
    SimulationError : a joint's friction is below zero, or a parameter, and nothing reads it

    Warns
    -----
    SimulationWarning : losses are asked to be explicit for which dt is too long; a damping is below zero, and drives its joint
    """
    varied = frozenset(name for name in parameters if name.startswith(("damping.", "friction.")))
    own = [c for c in given if isinstance(c, JointFriction)]
    for name in sorted(varied):
        if all(getattr(c, split(name)[0]) is not None for c in own) and (own or mode is None):
            why = f"'{own[0].name}' has numbers of its own" if own else "joint_dynamics is None"
            raise SimulationError(f"nothing reads the parameter '{name}', as {why}; expected the robot's own joint_dynamics")
    if mode is None:
        return Plan([], None, [], [])
    for j in (b.joint for b in model.bodies):
        number(f"joint '{j.name}': friction", j.friction, "zero or more, or joint_dynamics=None", least=0.0, error=SimulationError)
        if number(f"joint '{j.name}': damping", j.damping, "a finite number", error=SimulationError) < 0.0 and not own:
            warn(f"joint '{j.name}' has a damping of {j.damping:g}, which drives it, and is integrated as it is; expected zero or more, or "
                 "joint_dynamics=None", SimulationWarning)  # fmt: skip
    rubs, ends = not own, not any(isinstance(c, JointStops) for c in given)
    varied = varied if rubs else frozenset()
    rows = [r._replace(damping=rubs * r.damping, friction=rubs * r.friction) for r in coordinates_kept(model, varied)]
    most = efforts(actuators)
    rows = [r if np.isfinite(r.effort) else r._replace(effort=most.get(r.joint, np.inf)) for r in rows]
    rows = rows if ends else [r._replace(low=-np.inf, high=np.inf) for r in rows]
    floats = {b.joint.name for b in model.bodies if b.kind.floats}             # what brakes these is momentum that leaves
    after = [without_laws(r) if mode == "explicit" or r.joint in floats else stiff(r, dt) if mode == "auto" else r._replace(damping=0.0)
             for r in rows]  # fmt: skip
    damping, friction, stopped = np.zeros(model.nv), np.zeros(model.nv), dict[str, None]()
    for r, late in zip(rows, after, strict=True):
        damping[r.j] += r.ratio**2 * r.damping
        friction[r.j] += r.friction if r.joint in floats else 0.0
        stopped |= {r.joint: None} if (r.low, r.high) != (late.low, late.high) else {}
    for r in rows if mode == "explicit" else ():
        if dt * r.max_mobility * (r.damping + r.friction / SMOOTHED) > most_damping(method):
            warn(f"damping and friction of joint '{r.joint}' are too stiff for explicit steps of {dt:g} s, and may drive it; expected "
                 "joint_dynamics='auto', or a smaller dt", SimulationWarning)  # fmt: skip
    flown: list[Component] = [JointStops(joints=stopped)] if stopped else []
    if mode == "explicit" and (varied or any(r.damping or r.friction for r in rows)):
        flown.insert(0, JointFriction())
    elif (damps := any(name.startswith("damping.") for name in varied)) or damping.any() or friction.any():
        flown.insert(0, JointFriction(None if damps or damping.min() < 0.0 else damping, friction))
    varied = frozenset() if mode == "explicit" else frozenset(name for name in varied if name.startswith("friction."))
    after = [r for r in after if r.acts or f"friction.{r.joint}" in varied]
    laws = JointLaws(after, SLOW, stiffness, DISSIPATION, varied) if after else None
    return Plan(flown, laws, rows, after)


@functools.cache
def most_damping(method: Method) -> float:
    """Return the largest h c w at which a method's steps of v̇ = −c w v do not grow, about; of one for a single body, of the simplest.

    >>> from engine.integrate import METHODS
    >>> [round(most_damping(METHODS[name]), 2) for name in ("semi_implicit_euler", "cg4", "rk4", "implicit_midpoint", "ros34pw2")]
    [2.0, 2.3, 2.75, inf, inf]
    """
    if method.stiff or method.takes is FreeBody:
        return np.inf if method.stiff else 2.0
    fall = Mechanical(vector(1), lambda t, q, v: -v)
    stable = [abs(step(method, fall, 0.0, h, np.array([0.0, 1.0]))[1]) <= 1.0 + ROUNDING for h in TRIED]
    return np.inf if all(stable) else float(TRIED[stable.index(False) - 1])


def stiff(r: JointCoordinate, dt: float) -> JointCoordinate:
    """Return what of a row is too stiff for steps of dt but for damping; speed limits are held where all is asked to be implicit."""
    hard = dt * dt * stiffness(r) * r.max_mobility > STIFF_SPRING or stiffness(r) > stop_stiffness(r)
    return r._replace(speed=np.inf, damping=0.0, low=r.low if hard else -np.inf, high=r.high if hard else np.inf)


def efforts(actuators: Iterable[Any]) -> dict[str, float]:
    """Return by joint the most that actuators may exert there together, N·m or N."""
    found = dict[str, float]()
    for joint, most in (pair for c in actuators if isinstance(c, Component) for pair in c.efforts.items()):
        found[joint] = found.get(joint, 0.0) + most
    return found


def stiffness(r: JointCoordinate) -> Any:
    """Return the stiffness of a row's stops, N·m/rad or N/m: that of :class:`JointStops`, or what holds the joint's own effort."""
    span = r.high - r.low if np.isfinite([r.low, r.high]).all() and r.high > r.low else 1.0
    held = r.effort / (DEEP * span) if np.isfinite(r.effort) and np.isfinite([r.low, r.high]).any() else 0.0
    return ops.maximum(stop_stiffness(r), held)


def without_laws(r: JointCoordinate) -> JointCoordinate:
    """Return a row on which nothing acts."""
    return r._replace(damping=0.0, friction=0.0, low=-np.inf, high=np.inf, speed=np.inf)


def describe_joint_modes(rows: list[JointCoordinate], after: list[JointCoordinate]) -> str:
    """Return in words how many joints' losses and ends are implicit in a step, and how many not."""
    words = []
    for what, there in KINDS.items():
        of = [(r.joint, there(late)) for r, late in zip(rows, after, strict=True) if there(r)]
        for how, acts in (("implicit", True), ("not held" if what == "speed limits" else "explicit", False)):
            names = list(dict.fromkeys(joint for joint, implicit in of if implicit == acts))
            words += [f"{what} of {list_names(names)} {how}"] if names else []
    return "; ".join(words)


def list_names(names: list[str]) -> str:
    """Return a few names as they are, and of many how many there are."""
    return ", ".join(f"'{name}'" for name in names) if len(names) <= 3 else f"{len(names)} joints"
