"""Loop constraints and grips in a simulation: their forces in v̇, the projection after each step, grips that close and open."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from engine import ops
from engine.checks import shown, warn
from engine.components.component import Component, Context, Effect, NotClosed, SimulationError, SimulationWarning
from engine.constraints import (
    Constraint,
    Grip,
    Loops,
    Prescribed,
    Schur,
    accelerations_beside,
    allowed,
    closed_start,
    constraint_violation,
    farthest,
    gap_text,
    generic_redundancy,
    moved_whole,
    projected,
    schur,
)
from engine.dynamics.gripped_momentum import Join
from engine.dynamics.momentum_conservation import Tree
from engine.model import Model
from engine.simulation.motions import Motion

Array = np.ndarray
#: m and rad: a start that is open by more is refused, one that is open by more than the second, or moves by more, relative to 1 + |v|,
#: than the constraints allow, is closed with a warning
FAR, NOTED = 0.1, 1e-6
#: of 1 and the largest of q and v: a start that is not farther off stays as it is, to the bit
ROUNDING = 1e-14
#: a command above it closes a grip
CLOSES = 0.5


class Gripper(Component):
    """A grip as what remembers whether it is closed, and at which pose, and takes the controller's command."""

    command = ()

    def __init__(self, grip: Grip, loops: Loops) -> None:
        self.name, self.loops, self.memory, self.commanded = grip.name, loops, loops.open()[grip.name], True

    def act(self, s: Context, state: Array, memory: Array, command: Any) -> Effect:
        return Effect(signals={"closed": memory[0]})

    def update(self, s: Context, state: Array, memory: Array, command: Any, dt: Any) -> Array:
        if command is None:
            if self.commanded:                                                 # said once
                self.commanded = False
                warn(f"nothing commands the grip '{self.name}', and it stays open; expected a controller that returns "
                     f"{{'{self.name}': 1.0}} while it is to be closed", SimulationWarning)  # fmt: skip
            return memory
        command = np.asarray(command)[()]                                      # held ones are arrays of one
        held = ops.where(memory[0] > CLOSES, memory, self.loops.closing(s.q)[self.name])
        return ops.where(command > CLOSES, held, self.memory)


class Constraints:
    """The constraints of a simulated model.

    Attributes
    ----------
    loops : they, on the model; grippers : the components of those that close and open; motions : of what moves as told
    """

    def __init__(self, model: Model, constraints: Iterable[Constraint], parameters: Mapping[str, Array]) -> None:
        if isinstance(constraints, (str, Mapping)) or not isinstance(constraints, Iterable):
            raise SimulationError(f"constraints is {shown(constraints)}; expected a list of them")
        self.model, self.loops = model, Loops(model, list(constraints))
        self.grippers = [Gripper(c, self.loops) for c in self.loops.constraints if isinstance(c, Grip)]
        self.motions = [Motion(led, parameters) for led in self.loops.led]

    @functools.cached_property
    def redundant(self) -> int | None:
        """Number of rows that follow from the others; None where no closed configuration was found."""
        return generic_redundancy(self.model, self.loops)

    def __repr__(self) -> str:
        names = [c.title for c in self.loops.constraints]
        few = ", ".join(names) if len(names) <= 6 else f"{len(names)} of them"
        return f"constraints: {few} ({self.loops.n} rows, {counted(self.redundant)})"

    def joins(self, trees: Sequence[Tree], memories: Mapping[str, Array]) -> list[Join]:
        """Return the grips as what joins trees, or one to what stands."""
        place = {i: k for k, tree in enumerate(trees) for i in tree}
        found = [Join(place.get(grip.a, -1), place.get(grip.b, -1), memories[name][0]) for name, grip in self.loops.grips.items()]
        return [join for join in found if join.first != join.second]

    def told(self, s: Context, memories: Mapping[str, Array]) -> Mapping[str, Array]:
        """Return what is held at a time: of grips what is remembered, and of what moves as told how it does."""
        return {**memories, **{m.led.key: m.now(s, memories[m.name]) for m in self.motions}} if self.motions else memories

    # ------------------------------------------------------------ in flight

    def accelerations(self, s: Context, tau: Array, wrenches: Array | None, memories: Mapping[str, Array]) -> tuple[Array, Array]:
        """Return v̇ (nv) and forces λ (n) of the constraints, not the smallest yet."""
        return accelerations_beside(s.model, self.loops, s.q, s.v, tau, s.gravity, wrenches, self.told(s, memories))

    def response(self, M: Array, q: Array, force: Array, memories: Mapping[str, Array]) -> tuple[Array, Array]:
        """Return v̇ (nv), and a λ (n), not the smallest yet, that a generalized force (nv) makes alone, at rest, of an inertia M."""
        return Schur(M, self.loops.jacobian(q, memories)).accelerations(force, np.zeros(self.loops.n))

    def forces(self, s: Context, forces: Array, push: Array | None, memories: Mapping[str, Array]) -> tuple[Array, Schur]:
        """Return the smallest λ (n) that do what those in flight do, with those against generalized forces (nv) that ``push`` besides."""
        solver = schur(s.model, self.loops, s.q, memories)
        if push is not None:
            forces = forces + solver.accelerations(push, np.zeros(self.loops.n))[1]
        return solver.smallest(forces), solver

    def observed(self, s: Context, forces: Array, push: Array | None, memories: Mapping[str, Array]) -> dict[str, Any]:
        """Return what is recorded: how far the constraints are open, their :meth:`forces`, and the power of these, which is that of what
        moves as told."""
        forces, solver = self.forces(s, forces, push, memories)
        powers = forces * (solver.J @ s.v)
        own = {f"{c.title}.power": powers[rows].sum() for c, (_, rows) in zip(self.loops.constraints, self.loops.parts, strict=True)
               if isinstance(c, Prescribed)}  # fmt: skip
        return {**own, "constraints.error": self.loops.residual(s.q, self.told(s, memories)), "constraints.force": forces,
                "constraints.power": forces @ (solver.J @ s.v)}  # fmt: skip

    # ------------------------------------------------------------ after a step, and at its beginning

    def moved_whole(self, model: Model, q: Array, v: Array, memories: Mapping[str, Array], led: bool) -> tuple[Array, Array]:
        """Return q and v, where impulses lead, with trees moved towards the constraints as rigid bodies; one ``led`` the others where
        their momentum is set afterwards."""
        return moved_whole(model, self.loops, q, v, memories, led)

    def projected(self, model: Model, q: Array, v: Array, memories: Mapping[str, Array]) -> tuple[Array, Array]:
        """Return q and v on the constraints; NaN where they cannot be kept closed, and on floats an error."""
        q_on, v_on, closed = projected(model, self.loops, q, v, memories)
        if q_on.dtype != object and v_on.dtype != object and not closed and np.isfinite(q).all():
            raise NotClosed(f"{farthest(self.loops, q_on)[0]} cannot be kept closed; expected a smaller dt, gentler forces, or lengths "
                            "that close in every configuration that is reached (a chain that is stretched out has no other)")  # fmt: skip
        return q_on, ops.where(closed, 1.0, np.nan) * v_on

    def struck(self, model: Model, q: Array, v: Array, before: Mapping[str, Array], now: Mapping[str, Array]) -> Array:
        """Return the velocity (nv) after the impulse of the grips that close, whose memories change."""
        if not self.grippers:
            return v
        close = [ops.logical_and(before[g.name][0] <= CLOSES, now[g.name][0] > CLOSES) for g in self.grippers]
        closing: Any = close[0]
        for c in close[1:]:
            closing = ops.logical_or(closing, c)
        return ops.when(closing, lambda: allowed(model, self.loops, q, v, now), v)

    # ------------------------------------------------------------ at the start

    def open(self, s: Context, memories: Mapping[str, Array]) -> Any:
        """Return whether q and v are beside the constraints by more than rounding, or half a turn off. Traceable."""
        return ops.logical_or(constraint_violation(self.loops, s.q, s.v, self.told(s, memories)) > ROUNDING, self.loops.turned(s.q) > FAR)

    def begun(self, s: Context, memories: Mapping[str, Array]) -> tuple[Array, Array]:
        """Return q and v on the constraints, on floats; of what moves as told as it is at that time.

        Raises
        ------
        ConstraintError : the start is far from closed, or cannot be closed

        Warns
        -----
        SimulationWarning : it is open by a little, or moves as the constraints do not allow
        """
        q, v, memories = s.q.copy(), s.v.copy(), self.told(s, memories)
        for led in self.loops.led:
            led.led(q, v, memories)
        title, metres, radians = farthest(self.loops, q)
        on, moves = closed_start(self.model, self.loops, q, v, FAR, memories)
        if metres + radians > NOTED:
            warn(f"'{self.model.name}' starts with {title} open by {gap_text(metres, radians)}: it was closed", SimulationWarning)
        if not (change := float(np.abs(moves - v).max(initial=0.0))) <= NOTED * (1.0 + np.abs(v).max(initial=0.0)):
            k = int(np.abs(moves - v).argmax())
            warn(f"'{self.model.name}' starts with a velocity that its constraints do not allow: that of joint "
                 f"'{self.model.entries('v')[k]}' was changed by {change:.3g}, others by less", SimulationWarning)  # fmt: skip
        return on, moves


def counted(redundant: int | None) -> str:
    """Return a number of redundancies in words.

    >>> counted(0), counted(1), counted(3)
    ('none redundant', 'one redundancy', '3 redundancies')
    """
    if redundant is None:
        return "redundancies unknown"
    return {0: "none redundant", 1: "one redundancy"}.get(redundant, f"{redundant} redundancies")
