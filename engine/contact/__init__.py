"""What rubs and touches: after a step's free flight, one strongly convex problem for the velocity that its impulses leave."""

from engine.contact.correction import corrected, velocity_after
from engine.contact.joint_laws import JointLaws, Row, rows_of
from engine.contact.newton import minimum

__all__ = ["JointLaws", "Row", "corrected", "minimum", "rows_of", "velocity_after"]
