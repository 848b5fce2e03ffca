"""Exact constraints: loop closures, couplings and grips, by Lagrange multipliers and projection."""

from engine.constraints.inverse import constrained_inverse_dynamics
from engine.constraints.kinds import Ball, Constraint, ConstraintError, Coupling, Distance, Grip, Hinge, Slider, Weld
from engine.constraints.loops import Loops
from engine.constraints.multipliers import Schur, constrained_dynamics, schur
from engine.constraints.projection import (
    accelerations_beside,
    allowed,
    beside,
    closed_start,
    farthest,
    generic_redundancy,
    in_words,
    moved_whole,
    projected,
    redundancy,
)

__all__ = [
    "Ball", "Constraint", "ConstraintError", "Coupling", "Distance", "Grip", "Hinge", "Loops", "Schur", "Slider", "Weld",
    "accelerations_beside", "allowed", "beside", "closed_start", "constrained_dynamics", "constrained_inverse_dynamics", "farthest",
    "generic_redundancy", "in_words", "moved_whole", "projected", "redundancy", "schur",
]  # fmt: skip
