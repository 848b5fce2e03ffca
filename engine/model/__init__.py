"""The mechanism: joint types, links and joints, the tree, and the frozen model."""

from engine.model.joint_types import KINDS, Kind
from engine.model.model import Body, Model, StateError
from engine.model.tree import Builder, Geometry, Joint, Limits, Link, Material, Mimic, ModelError

__all__ = ["KINDS", "Body", "Builder", "Geometry", "Joint", "Kind", "Limits", "Link", "Material", "Mimic", "Model", "ModelError",
           "StateError"]  # fmt: skip
