"""Contact among many bodies: bodies, pairs and points are tables whose length is known only at run time.

The code for one row is traced once and looped.

The order of a step: :mod:`near` (broad phase), :mod:`manifolds` (narrow phase, and the table of points), :mod:`islands`, :mod:`problem`
(impulses of the points by the velocity, with their Jacobian), :mod:`newton` (the velocity after the step).
"""

from engine.contact.many.jointed import JointedProblem
from engine.contact.many.manifolds import Bodies, Shapes, touching
from engine.contact.many.momenta import momentum_changes
from engine.contact.many.newton import velocities_after
from engine.contact.many.problem import impulses, problem, twists
from engine.contact.many.row_laws import RowLaws
from engine.contact.many.shapes import kinds_of, tables

__all__ = ["Bodies", "JointedProblem", "RowLaws", "Shapes", "impulses", "kinds_of", "momentum_changes", "problem", "tables", "touching",
           "twists", "velocities_after"]  # fmt: skip
