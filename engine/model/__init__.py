"""The mechanism: joint types, links and joints, the tree, and the frozen model."""

from engine.docstrings import add_examples
from engine.model import model as module
from engine.model.body import Body
from engine.model.builder import Builder
from engine.model.combine import Mounted, combine
from engine.model.equal_trees import EqualTrees, equal_trees, many_equal_trees
from engine.model.errors import ModelError, StateError
from engine.model.file_extras import Described, Keyframe, Part
from engine.model.joint_types import KINDS, Kind, Limits
from engine.model.model import Model, Tree
from engine.model.model_examples import EXAMPLES, OTHERS
from engine.model.tree import Geometry, Joint, Link, Material, Mimic

__all__ = ["KINDS", "Body", "Builder", "Described", "EqualTrees", "Geometry", "Joint", "Keyframe", "Kind", "Limits", "Link",
           "Material", "Mimic", "Model", "ModelError", "Mounted", "Part", "StateError", "Tree", "combine", "equal_trees",
           "many_equal_trees"]  # fmt: skip

add_examples(Model, EXAMPLES)
add_examples(module, OTHERS)
