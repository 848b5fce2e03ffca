"""Exact constraints: loop closures, couplings and grips, by Lagrange multipliers and projection."""

from engine.constraints.kinds import Ball, Constraint, ConstraintError, Coupling, Distance, Grip, Hinge, Slider, Weld
from engine.constraints.loops import Loops
from engine.constraints.multipliers import accelerations, constrained_dynamics

__all__ = [
    "Ball", "Constraint", "ConstraintError", "Coupling", "Distance", "Grip", "Hinge", "Loops", "Slider", "Weld", "accelerations",
    "constrained_dynamics",
]  # fmt: skip
