"""The single rigid body with forces of your own, and general dynamics on manifolds."""

from engine.docstrings import add_examples
from engine.rigid_body.body import BodyError, RigidBody
from engine.rigid_body.body_examples import EXAMPLES, OF_SYSTEMS
from engine.rigid_body.control_system import ControlSystem, Dynamics
from engine.rigid_body.lie_state import LieState
from engine.rigid_body.state import Indices, RigidBodyState
from engine.spatial.inertia import kinetic_energy, world_momentum
from engine.spatial.se3 import determinant, distance_to_se3, point_paths

__all__ = [
    "BodyError", "ControlSystem", "Dynamics", "Indices", "LieState", "RigidBody", "RigidBodyState", "determinant",
    "distance_to_se3", "kinetic_energy", "point_paths", "world_momentum",
]  # fmt: skip

add_examples(RigidBody, EXAMPLES)
add_examples(ControlSystem, OF_SYSTEMS)
