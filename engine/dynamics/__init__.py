"""Dynamics of trees: one algorithm a file, plain equations on floats or traced scalars."""

from engine.dynamics.aba import aba
from engine.dynamics.aba_derivatives import aba_derivatives, minv
from engine.dynamics.base_parameters import BaseParameters, base_parameters, parameter_names
from engine.dynamics.coriolis import christoffel, coriolis
from engine.dynamics.crba import crba
from engine.dynamics.effective_mass import effective_mass
from engine.dynamics.energy import centroidal_kinetic_energy, energy, energy_derivatives
from engine.dynamics.free_floating import (
    base_reaction,
    dynamic_manipulability,
    dynamic_singularity,
    floating_inverse_dynamics,
    free_floating_bias,
    free_floating_inertia,
    generalized_jacobian,
    reaction_null_space,
    velocity_from_momentum,
)
from engine.dynamics.friction import damping_matrix, friction_forces
from engine.dynamics.jacobian import jacobian, jacobian_derivative, jacobian_dot
from engine.dynamics.kinematics import GRAVITY, forward_kinematics, twists
from engine.dynamics.link_loads import accelerations, transmitted_wrench
from engine.dynamics.momentum import center_of_mass, centroidal_momentum, momentum, total_mass
from engine.dynamics.momentum_matrix import (
    center_of_mass_jacobian,
    center_of_mass_jacobian_dot,
    centroidal_momentum_matrix,
    centroidal_momentum_matrix_dot,
    momentum_derivatives,
    momentum_matrix,
    momentum_matrix_dot,
)
from engine.dynamics.regressor import energy_regressor, inertial_parameters, momentum_regressor, regressor
from engine.dynamics.rnea import bias, gravity_forces, rnea
from engine.dynamics.rnea_derivatives import rnea_derivatives

__all__ = [
    "GRAVITY", "BaseParameters", "aba", "accelerations", "aba_derivatives", "base_parameters", "base_reaction", "bias", "center_of_mass",
    "center_of_mass_jacobian", "center_of_mass_jacobian_dot", "centroidal_kinetic_energy", "centroidal_momentum",
    "centroidal_momentum_matrix", "centroidal_momentum_matrix_dot", "christoffel", "coriolis", "crba", "damping_matrix",
    "dynamic_manipulability", "dynamic_singularity", "effective_mass", "energy", "energy_derivatives", "energy_regressor",
    "floating_inverse_dynamics", "forward_kinematics", "free_floating_bias", "free_floating_inertia", "friction_forces",
    "generalized_jacobian", "gravity_forces", "inertial_parameters", "jacobian", "jacobian_derivative", "jacobian_dot", "minv", "momentum",
    "momentum_derivatives", "momentum_matrix", "momentum_matrix_dot", "momentum_regressor", "parameter_names", "reaction_null_space",
    "regressor", "rnea", "rnea_derivatives", "total_mass", "transmitted_wrench", "twists", "velocity_from_momentum",
]  # fmt: skip
