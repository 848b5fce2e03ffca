"""Integrators on manifolds: a method is data plus flags, one file per family; steps of fixed size, and steps that meet a tolerance."""

from engine.integrate.adaptive import IMPULSIVE, Solution, SolutionError, attempt, solve
from engine.integrate.commutator_free import CF4
from engine.integrate.crouch_grossman import CG3, CG4
from engine.integrate.euler import LIE_EULER, LIE_EULER_WORLD, SEMI_IMPLICIT_EULER
from engine.integrate.event import Crossing, Event
from engine.integrate.method import (
    METHODS,
    Method,
    carrying,
    completed,
    conserving,
    keeping,
    method_named,
    noted_step,
    settled,
    settled_step,
    step,
)
from engine.integrate.midpoint import IMPLICIT_MIDPOINT
from engine.integrate.munthe_kaas import RKMK4, RKMK5
from engine.integrate.rosenbrock import ROS34PW2
from engine.integrate.runge_kutta import RALSTON2, RALSTON3, RK4
from engine.integrate.system import FreeBody, Mechanical, Stiff, System, during
from engine.integrate.variational import DQVI, SUBSTEPS

__all__ = [
    "CF4", "CG3", "CG4", "DQVI", "IMPLICIT_MIDPOINT", "IMPULSIVE", "LIE_EULER", "LIE_EULER_WORLD", "METHODS", "RALSTON2",
    "RALSTON3", "RK4", "RKMK4", "RKMK5", "ROS34PW2", "SEMI_IMPLICIT_EULER", "SUBSTEPS", "Crossing", "Event", "FreeBody", "Mechanical",
    "Method", "Solution", "SolutionError", "Stiff", "System", "attempt", "carrying", "completed", "conserving", "during", "keeping",
    "method_named", "noted_step", "settled", "settled_step", "solve", "step",
]  # fmt: skip
