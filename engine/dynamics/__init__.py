"""Dynamics of trees: one algorithm a file, plain equations on floats or traced scalars."""

from engine.dynamics.aba import aba
from engine.dynamics.crba import crba
from engine.dynamics.energy import energy
from engine.dynamics.jacobian import jacobian, jacobian_dot, spatial_jacobian
from engine.dynamics.kinematics import GRAVITY, forward_kinematics, twists
from engine.dynamics.momentum import center_of_mass, momentum
from engine.dynamics.rnea import bias, gravity_forces, rnea

__all__ = ["GRAVITY", "aba", "bias", "center_of_mass", "crba", "energy", "forward_kinematics", "gravity_forces", "jacobian",
           "jacobian_dot", "momentum", "rnea", "spatial_jacobian", "twists"]  # fmt: skip
