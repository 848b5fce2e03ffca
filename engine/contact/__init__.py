"""Contact and joint friction: after a step's free flight, one strongly convex problem for the velocity with the impulses."""

from engine.contact.contact_laws import ContactLaws
from engine.contact.contact_problem import ContactProblem
from engine.contact.correction import corrected, velocity_after
from engine.contact.hunt_crossley import AT_ONCE, EVENLY
from engine.contact.joint_laws import JointCoordinate, JointLaws, configurations, joint_coordinates, with_mobilities
from engine.contact.material import ContactError, ContactMaterial, is_material, require_material
from engine.contact.mobility import inverse_inertia, shape_mobility
from engine.contact.momenta import momentum_changes
from engine.contact.newton import Law, Unsolved, minimum
from engine.contact.pairs import Pair, Placed, number_of_points
from engine.contact.sum_law import SumLaw

__all__ = ["AT_ONCE", "EVENLY", "ContactError", "ContactLaws", "ContactMaterial", "ContactProblem", "JointCoordinate", "JointLaws", "Law",
           "Pair", "Placed", "SumLaw", "Unsolved", "configurations", "corrected", "inverse_inertia", "is_material", "joint_coordinates",
           "minimum", "momentum_changes", "number_of_points", "require_material", "shape_mobility", "velocity_after",
           "with_mobilities"]  # fmt: skip
