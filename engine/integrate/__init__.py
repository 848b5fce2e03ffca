"""Integrators on manifolds: data plus flags, one file per family."""

from engine.integrate.crouch_grossman import CG3, CG4, step
from engine.integrate.tableau import METHODS, Tableau

__all__ = ["CG3", "CG4", "METHODS", "Tableau", "step"]
