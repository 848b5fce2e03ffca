"""Exact constraints: loop closures, couplings and grips, by Lagrange multipliers and projection."""

from engine.constraints.inverse import constrained_inverse_dynamics
from engine.constraints.kinds import Ball, Constraint, ConstraintError, Coupling, Distance, Grip, Hinge, Prescribed, Slider, Weld
from engine.constraints.loops import Led, Loops
from engine.constraints.multipliers import Schur, constrained_dynamics, schur
from engine.constraints.projection import (
    accelerations_beside,
    allowed,
    closed_start,
    constraint_violation,
    farthest,
    gap_text,
    generic_redundancy,
    moved_whole,
    projected,
    redundancy,
)

__all__ = [
    "Ball", "Constraint", "ConstraintError", "Coupling", "Distance", "Grip", "Hinge", "Led", "Loops", "Prescribed", "Schur",
    "Slider", "Weld", "accelerations_beside", "allowed", "closed_start", "constrained_dynamics", "constrained_inverse_dynamics",
    "constraint_violation", "farthest", "gap_text", "generic_redundancy", "moved_whole", "projected", "redundancy", "schur",
]  # fmt: skip
