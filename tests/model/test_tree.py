"""Links, joints and the builder: what they keep, that they stay as they are, and what each bad input is told."""

import dataclasses
import pickle
from pathlib import Path

import numpy as np
import pytest

from engine.checks import nearest
from engine.model import KINDS, Builder, Geometry, Joint, Limits, Link, Material, Mimic, ModelError
from engine.model.tree import frozen
from engine.spatial import inertia, se3, so3
from tests.numeric import ROUNDED

TURN = se3.pose(so3.about(np.array([0.36, 0.48, 0.8]), 0.7), np.array([1.0, 2.0, 3.0]))
SHEARED, MIRRORED, NO_ROW = np.eye(4), np.diag([1.0, 1, -1, 1]), np.eye(4)
SHEARED[0, 1], NO_ROW[3, 0] = 1e-6, 1e-6


def told(words, make, *args, **named):
    """The error's text, which must hold the words and fit in a line."""
    with pytest.raises(ModelError) as caught:
        make(*args, **named)
    text = str(caught.value)
    assert words in text
    assert "\n" not in text
    return text


# ---------------------------------------------------------------- what they keep


def test_links():
    G = inertia.box(2.0, [1, 2, 3])
    shape = Geometry("box", (1.0, 2.0, 3.0), material=Material("red", (1.0, 0.0, 0.0, 1.0)))
    link = Link("tool", G, visuals=(shape,))
    assert (link.name, link.mass, link.visuals, link.collisions) == ("tool", 2.0, (shape,), ())
    np.testing.assert_array_equal(link.inertia, G)
    np.testing.assert_array_equal(Link("empty").inertia, np.zeros((6, 6)))
    np.testing.assert_array_equal(shape.placement, np.eye(4))
    added = np.diag([1.0, 2, 3, 40, 50, 60])                                  # any symmetric 6×6: added mass
    np.testing.assert_array_equal(Link("hull", added).inertia, added)


def test_joints():
    joint = Joint("j", "universal", "a", "b", TURN, [0, 3, 4], [2, 0, 0], limits=Limits(-1, 1), damping=0.1, friction=0.2)
    np.testing.assert_array_equal(joint.placement, TURN)
    np.testing.assert_allclose(joint.axis, [0, 0.6, 0.8], rtol=ROUNDED)
    np.testing.assert_array_equal(joint.axis2, [1, 0, 0])
    assert joint.type is KINDS["universal"]
    assert (joint.parent, joint.child, joint.limits.upper, joint.damping, joint.friction, joint.mimic) == ("a", "b", 1, 0.1, 0.2, None)
    default = Joint("j", "revolute", "a", "b")
    np.testing.assert_array_equal(default.axis, [0, 0, 1])
    np.testing.assert_array_equal(default.placement, np.eye(4))
    assert default.limits == Limits(-np.inf, np.inf, np.inf, np.inf)
    assert Mimic("a") == Mimic("a", 1.0, 0.0)


def test_axes_of_unit_length_are_kept_to_the_bit():
    for n in ([0.0, 0, 1], [0.6, 0.8, 0], [3**-0.5] * 3):
        axis = Joint("j", "revolute", "a", "b", axis=n).axis
        assert np.linalg.norm(axis) == pytest.approx(1, abs=ROUNDED)
        np.testing.assert_array_equal(Joint("j", "revolute", "a", "b", axis=axis).axis, axis)
    np.testing.assert_array_equal(Joint("j", "revolute", "a", "b", axis=[0, 0, -1e-3]).axis, [0, 0, -1])


def test_numbers_are_copied():
    G, T, axis = inertia.box(2.0, [1, 2, 3]), TURN.copy(), np.array([0.0, 0, 2])
    link, joint = Link("a", G), Joint("j", "revolute", "a", "b", T, axis)
    G[:], T[:], axis[:] = 0, 0, 7
    assert link.mass == 2
    np.testing.assert_array_equal(joint.placement, TURN)
    np.testing.assert_array_equal(joint.axis, [0, 0, 1])


def test_frozen():
    link, joint = Link("a", np.eye(6)), Joint("j", "revolute", "a", "b")
    for array in (link.inertia, joint.placement, joint.axis, joint.axis2, frozen([1, 2], (2,), "x")):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 3
    for item, name in ((link, "name"), (link, "inertia"), (joint, "axis"), (joint, "kind"), (joint.limits, "lower"), (Mimic("a"), "ratio"),
                       (Geometry("box", (1, 1, 1)), "size"), (Material(), "color")):  # fmt: skip
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(item, name, None)


def test_they_survive_a_trip_through_a_file():
    joint = pickle.loads(pickle.dumps(Joint("j", "screw", "a", "b", TURN, pitch=0.1, mimic=Mimic("k", 2.0))))
    assert (joint.name, joint.kind, joint.pitch, joint.mimic) == ("j", "screw", 0.1, Mimic("k", 2.0))
    np.testing.assert_array_equal(joint.placement, TURN)


# ---------------------------------------------------------------- what bad ones are told


def test_one_shape_for_a_list_of_them_is_refused():
    with pytest.raises(ModelError, match=r"link .a.: visuals is Geometry.*; expected a list of engine\.Geometry"):
        Builder().add_link("a", visuals=Geometry("sphere", (0.1,)))


@pytest.mark.parametrize(("kind", "given", "text"), [
    ("cone", {"size": (1.0, 1.0)}, "(did you mean 'cylinder'?); expected one of box, cylinder, capsule, sphere, ellipsoid"),
    ("box", {"size": (1.0, 1.0, 1.0), "heights": np.zeros((2, 2))}, "the heights of a box are given; expected them of a heightfield"),
    ("heightfield", {"size": (1.0, 1.0)}, "the heights of a heightfield are missing; expected them of a heightfield"),
    ("heightfield", {"size": (1.0, 0.0), "heights": np.zeros((2, 2))}, "expected lengths above zero"),
    ("heightfield", {"size": (1.0, 1.0), "heights": np.zeros(4)}, "heights of the shape (4,)"),
    ("heightfield", {"size": (1.0, 1.0), "heights": [[0.0, np.nan], [0.0, 0.0]]}, "the heights of a heightfield[0, 1] is nan; expected"),
    ("spere", {"size": (1.0,)}, "a shape is of the kind 'spere' (did you mean 'sphere'?)"),
    ("box", {"size": (1.0, 1.0)}, "the size of a box is (1.0, 1.0); expected a tuple of 3 finite numbers"),
    ("box", {"size": (1.0, np.nan, 1.0)}, "expected a tuple of 3 finite numbers"),
    ("box", {"size": (1.0, -1.0, 1.0)}, "the size of a box is (1.0, -1.0, 1.0); expected numbers from zero"),
    ("sphere", {"size": (-0.1,)}, "the size of a sphere is (-0.1,); expected numbers from zero"),
    ("sphere", {"size": (0.1,), "placement": np.eye(3)}, "the placement of a sphere has shape (3, 3); expected (4, 4)"),
    ("sphere", {"size": (0.1,), "placement": "here"}, "the placement of a sphere is 'here'; expected an array of (4, 4) numbers"),
    ("sphere", {"size": (0.1,), "placement": np.full((4, 4), np.nan)}, "the placement of a sphere[0, 0] is nan; expected finite numbers"),
    *(("sphere", {"size": (0.1,), "placement": T}, "the placement of a sphere is no pose; expected a rotation, a position and the last row")
      for T in (SHEARED, MIRRORED, NO_ROW, 2.0 * np.eye(4))),
    ("mesh", {"size": (1.0, 1.0, 1.0), "mesh": 3}, "a file is 3; expected its path"),
])  # fmt: skip
def test_bad_shapes(kind, given, text):
    told(text, Geometry, kind, **given)


def test_shapes_are_as_they_are_given():
    """A mesh may be mirrored, a shape flat; a path may be a text; the caller's array stays the caller's."""
    T = np.eye(4)
    shape = Geometry("mesh", (1.0, -1.0, 1.0), T, mesh="meshes/part.stl")
    T[0, 3] = 1.0
    assert shape.mesh == Path("meshes/part.stl") and shape.placement[0, 3] == 0.0
    assert Geometry("box", (1, 0, 1)).size == (1.0, 0.0, 1.0)
    with pytest.raises(ValueError, match="read-only"):
        shape.placement[0, 0] = 3
    with pytest.raises(ValueError, match="read-only"):
        pickle.loads(pickle.dumps(shape)).placement[0, 0] = 3


def test_bad_links():
    for name in ("", None, 7):
        told(f"a link is named {name!r}", Link, name)
    told("link 'a': inertia has shape (3, 3); expected (6, 6)", Link, "a", np.eye(3))
    told("link 'a': inertia is 'heavy'", Link, "a", "heavy")
    told("link 'a': inertia[0, 0] is nan; expected finite numbers", Link, "a", np.full((6, 6), np.nan))
    told("link 'a': mass is -2 kg", Link, "a", np.diag([1.0, 1, 1, -2, -2, -2]))
    told("link 'a': inertia is not symmetric (by up to 0.5)", Link, "a", np.eye(6) + np.diag([0.5], 5))
    Link("a", np.eye(6) * (1 + 1e-12 * np.tri(6)))                            # rounding is no asymmetry


def joint_with(**named):
    return Joint(**{"name": "elbow", "kind": "revolute", "parent": "a", "child": "b", **named})


@pytest.mark.parametrize(("named", "words"), [
    ({"name": ""}, "a joint is named ''"),
    ({"name": None}, "a joint is named None"),
    ({"kind": "revolut"}, "kind is 'revolut' (did you mean 'revolute'?); expected one of revolute, continuous, prismatic,"),
    ({"kind": "xyz"}, "kind is 'xyz'; expected one of"),
    ({"kind": None}, "kind is None; expected one of"),
    ({"kind": ["revolute"]}, "kind is ['revolute']"),
    ({"axis": [0, 0, 0]}, "axis is [0.0, 0.0, 0.0]; expected a direction"),
    ({"axis": [0, np.inf, 0]}, "axis[1] is inf; expected finite numbers"),
    ({"axis": [1, 0]}, "axis has shape (2,); expected (3,)"),
    ({"axis": "z"}, "axis is 'z'"),
    ({"axis": [[1, 0], [0]]}, "axis is [[1, 0], [0]]"),
    ({"axis2": [0, 0, 0]}, "axis2 is [0.0, 0.0, 0.0]; expected a direction"),
    ({"kind": "universal", "axis": [0, 0, 1], "axis2": [0, 0, -2]}, "axis and axis2 are parallel"),
    ({"placement": np.eye(3)}, "placement has shape (3, 3); expected (4, 4)"),
    ({"placement": np.full((4, 4), np.nan)}, "placement[0, 0] is nan; expected finite numbers"),
    ({"placement": SHEARED}, "placement is no pose"),
    ({"placement": MIRRORED}, "placement is no pose"),
    ({"placement": NO_ROW}, "placement is no pose"),
    ({"pitch": np.nan}, "pitch is nan; expected a finite number"),
    ({"damping": np.inf}, "damping is inf; expected a finite number"),
    ({"friction": "much"}, "friction is 'much'; expected a finite number"),
    ({"damping": None}, "damping is None; expected a finite number"),
    ({"armature": -0.1}, "armature is -0.1; expected a finite number, zero or more"),
    ({"armature": np.nan}, "armature is nan; expected a finite number, zero or more"),
    ({"armature": "heavy"}, "armature is 'heavy'; expected a finite number, zero or more"),
    ({"limits": Limits(np.nan, 1.0)}, "limits hold NaN"),
    ({"limits": Limits("a", 1.0)}, "lower of its limits is 'a'; expected a number, infinite where there is no limit"),
    ({"limits": Limits(-1.0, 1.0, jerk=None)}, "jerk of its limits is None; expected a number"),
    ({"limits": Limits(-1.0, 1.0, effort=True)}, "effort of its limits is True; expected a number"),
    ({"name": "a\x00b"}, "a joint is named 'a\\x00b'; expected a text without control characters"),
    ({"limits": (-1, 1)}, "limits is (-1, 1); expected Limits(...)"),
    ({"limits": None}, "limits is None; expected Limits(...)"),
    ({"mimic": "wrist"}, "mimic is 'wrist'; expected Mimic(...)"),
    ({"mimic": Mimic("wrist", np.nan)}, "the ratio of its mimic is nan; expected a finite number"),
    ({"mimic": Mimic("wrist", 1.0, np.inf)}, "the offset of its mimic is inf; expected a finite number"),
    ({"kind": "spherical", "mimic": Mimic("wrist")}, "a spherical joint cannot mimic 'wrist'; expected a joint with one coordinate"),
])  # fmt: skip
def test_bad_joints(named, words):
    text = told(words, joint_with, **named)
    assert "name" in named or text.startswith("joint 'elbow'")


def test_nearest():
    assert nearest("elbo", ["wrist", "elbow"]) == " (did you mean 'elbow'?)"
    assert nearest("thumb", ["wrist", "elbow"]) == ""
    assert nearest("thumb", []) == ""


# ---------------------------------------------------------------- the builder


def test_builder_keeps_what_it_is_given():
    builder = Builder("arm")
    base, hand = builder.add_link("base"), builder.add_link("hand", inertia=np.eye(6))
    joint = builder.add_joint("wrist", "prismatic", "base", "hand", axis=[1, 0, 0], damping=3.0)
    assert builder.graph.nodes["base"]["link"] is base
    assert builder.graph.nodes["hand"]["link"] is hand
    assert builder.graph.edges["base", "hand"]["joint"] is joint
    assert (joint.name, joint.kind, joint.damping) == ("wrist", "prismatic", 3.0)
    model = builder.model()
    assert (model.name, model.nq, model.links, model.joints) == ("arm", 1, (base, hand), (joint,))
    assert builder.model(floating_base=True).nq == 8
    builder.add_link("thumb")                                                 # goes on; the models stay
    builder.add_joint("knuckle", "revolute", "hand", "thumb")
    assert (model.nq, builder.model().nq) == (1, 2)


def test_builder_says_what_it_cannot_take():
    builder = Builder()
    builder.add_link("base")
    builder.add_link("hand")
    builder.add_joint("wrist", "revolute", "base", "hand")
    told("link 'hand' is there twice", builder.add_link, "hand")
    told("link 'x': inertia has shape", builder.add_link, "x", inertia=np.eye(3))
    thin = inertia.from_mass(1.0, [0, 0, 0.3], np.diag([0.01, 0.01, 0.03]))
    told("link 'x': principal moments 0.01, 0.01, 0.03 kg·m² violate the triangle inequality", builder.add_link, "x", inertia=thin)
    told("link 'x': mass is zero but the rotational inertia is not", builder.add_link, "x", inertia=np.diag([1.0, 1, 1, 0, 0, 0]))
    added = np.diag([1.0, -1, 1, 1, 1, 2])
    told("link 'x': its inertia has the eigenvalue -1; expected none below zero", builder.add_link, "x", inertia=added)
    builder.add_link("thumb")
    for joint, words in (
        (("knuckle", "fixed", "hant", "base"), "joint 'knuckle' names the link 'hant', which is not there (did you mean 'hand'?)"),
        (("knuckle", "fixed", "hand", "x"), "joint 'knuckle' names the link 'x', which is not there"),
        (("second", "fixed", "base", "hand"), "joint 'second': links 'base' and 'hand' are joined already"),
        (("wrist", "revolute", "hand", "thumb"), "joint 'wrist' is there twice"),
        (("knuckle", "hinge", "hand", "thumb"), "joint 'knuckle': kind is 'hinge'"),
    ):
        told(words, builder.add_joint, *joint)
    for which in ("velocity", "effort", "acceleration", "deceleration", "jerk"):
        told(f"joint 'knuckle': the {which} limit is -1; expected zero or more", builder.add_joint, "knuckle", "revolute", "hand", "thumb",
             limits=Limits(**{which: -1.0}))  # fmt: skip
    assert (set(builder.graph), builder.graph.number_of_edges()) == ({"base", "hand", "thumb"}, 1)    # what failed left nothing
