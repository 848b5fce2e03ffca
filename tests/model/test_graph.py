"""The graph is the whole model: read again it is the same to the last bit; cut, grafted and relabelled it is the robot that this makes."""

from __future__ import annotations

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest

import engine
from engine import Builder, combine, dynamics, load, load_urdf
from engine.io import model_from_text, model_text
from engine.model import Joint, Link, Mimic, Model, ModelError
from engine.spatial import inertia, se3
from tests.dynamics.support import robot
from tests.trees import flyer, random_tree

SEVERAL = """<mujoco model="several"><option timestep="0.001" gravity="0 0 -9"/><worldbody><geom type="plane" size="1 1 1"/>
  <body name="cart" pos="0 0 .5"><freejoint name="root"/><geom size=".1" friction="0.3"/>
    <body name="arm"><joint name="hip" axis="0 1 0" ref="30" stiffness="2" damping=".1"/>
      <geom type="capsule" fromto="0 0 0 0 0 1" size=".05"/>
      <body name="tip" pos="0 0 1"><joint name="wrist" axis="0 1 0"/><geom size=".02"/></body></body></body>
  <body name="post" pos="3 0 0"><joint name="k1" axis="0 1 0"/><joint name="k2" axis="1 0 0"/><geom size="0.1" pos="0 0 1"/></body>
  </worldbody>
  <equality><weld body1="tip" body2="post"/><joint joint1="k1" joint2="k2" polycoef="0.1 2 0 0 0"/></equality>
  <actuator><position name="servo" joint="hip" kp="5" kv="1"/><motor name="push" joint="wrist"/></actuator>
  <sensor><jointpos name="angle" joint="wrist"/></sensor>
  <keyframe><key name="home" qpos="1 2 3 0.6 0 0.8 0 .3 .4 .5 .6" qvel="1 0 0 0 0 2 3 4 5 6" ctrl="1 2"/></keyframe></mujoco>"""


def gripper() -> Model:
    """Two fingers, one of which follows the other."""
    b = Builder("gripper")
    b.add_link("palm", inertia=inertia.box(1.0, [0.1, 0.1, 0.05]))
    for side, mimic in (("left", None), ("right", Mimic("left", -1.0, 0.01))):
        b.add_link(f"{side} finger", inertia=inertia.box(0.1, [0.01, 0.01, 0.05]))
        b.add_joint(side, "prismatic", "palm", f"{side} finger", axis=[1, 0, 0], limits=engine.model.Limits(0.0, 0.04), damping=0.3,
                    friction=0.1, mimic=mimic, armature=0.02)  # fmt: skip
    return b.model()


def example(name: str) -> Model:
    return load_urdf(engine.example(name), floating_base=name != "seven_joint_arm")


def two() -> Model:
    arm = gripper().with_armature({"left": 0.3})
    return combine(servicer=flyer(3, 50.0).with_armature({"floating_base": np.arange(6.0)}), hand=engine.Mounted(arm, on="servicer/bus"),
                   target=flyer(0, 20.0))  # fmt: skip


ALL = {
    **{name: lambda name=name: example(name) for name in ("dual_arm_servicer", "free_flyer", "quadruped", "seven_joint_arm")},
    **{f"tree {n}": lambda n=n: random_tree(np.random.default_rng(n), n, floating_base=bool(n % 2), mimics=0.3, massless=0.2)
       for n in (4, 11, 20)},
    **{name: lambda name=name: robot(name, name == "talos") for name in ("ur5", "talos", "tiago")},
    "gripper": gripper,
    "rotors": lambda: gripper().with_armature({"left": 0.1}).with_armature({"right": 0.2}),
    "two": two,
    "several": lambda: load(SEVERAL),
}  # fmt: skip


def same(a: Model, b: Model) -> None:
    """Every field is equal, the text to the last bit, and so are forces and accelerations."""
    assert (a.name, a.nq, a.nv, a.links, a.joints) == (b.name, b.nq, b.nv, b.links, b.joints)
    assert a.described is b.described and (a.coordinates, a.roots) == (b.coordinates, b.roots)
    assert [*a.graph.nodes(data=True)] == [*b.graph.nodes(data=True)] and [*a.graph.edges(data=True)] == [*b.graph.edges(data=True)]
    assert a.graph.graph == b.graph.graph and model_text(a) == model_text(b)
    np.testing.assert_array_equal(a.armature, b.armature)
    q, v = a.random(np.random.default_rng(1))
    x = np.random.default_rng(2).standard_normal(a.nv)
    np.testing.assert_array_equal(dynamics.rnea(a, q, v, x), dynamics.rnea(b, q, v, x))
    np.testing.assert_array_equal(dynamics.aba(a, q, v, x), dynamics.aba(b, q, v, x))


@pytest.mark.parametrize("name", ALL)
def test_the_graph_is_the_model(name):
    model = ALL[name]()
    again = Model.from_graph(model.graph)
    same(model, again)
    same(model, Model.from_graph(again.graph.copy()))
    same(model, Model.from_graph(model.graph, floating_base=True) if model.joints and not model.joints[0].parent else again)
    assert nx.is_frozen(again.graph) and [*again.graph] == [*model.graph]


def test_every_joint_is_in_the_graph():
    model = example("free_flyer")
    assert model.graph.nodes["bus"]["joint"] is model.joints[0]
    assert {j for *_, j in model.graph.edges.data("joint")} == {*model.joints[1:]}
    assert Model.from_graph(model.graph, floating_base=False).nq == model.nq - 7
    assert "joint" not in Model.from_graph(model.graph, floating_base=False).graph.nodes["bus"]


def test_a_floating_joint_of_ones_own_is_kept():
    graph = gripper().graph.copy()
    graph.nodes["palm"]["joint"] = Joint("free", "floating", "", "palm")
    model = Model.from_graph(graph)
    assert model.joints[0].name == "free" and model.nq == 8
    same(model, Model.from_graph(model.graph))
    assert model_text(model_from_text(model_text(model))) == model_text(model)
    assert model_from_text(model_text(model)).joints[0].name == "free"


# ---------------------------------------------------------------- cut, graft, relabel


def test_a_branch_is_cut_and_is_a_robot_of_its_own():
    model = example("dual_arm_servicer")
    first = next(j for j in model.joints if j.parent == model.links[0].name and j.kind != "fixed")
    branch = {first.child, *nx.descendants(model.graph, first.child)}
    rest = model.graph.copy()
    rest.remove_nodes_from(branch)
    body, arm = Model.from_graph(rest), Model.from_graph(model.graph.subgraph(branch))
    assert body.floats and not arm.floats and arm.links[0].name == first.child
    assert {x.name for x in body.links} | branch == {x.name for x in model.links} and body.nv + arm.nv + first.type.nv == model.nv
    close = dynamics.total_mass(body) + sum(model.link(n).mass for n in branch)
    assert close == pytest.approx(dynamics.total_mass(model), rel=1e-14)


def test_a_cut_branch_is_grafted_again():
    """Cut off and put back where it was: the same forces, to the last bit."""
    model = flyer(4, 100.0)
    joint = model.joints[2]
    branch = {joint.child, *nx.descendants(model.graph, joint.child)}
    rest = model.graph.copy()
    rest.remove_nodes_from(branch)
    whole = nx.union(rest, model.graph.subgraph(branch))
    whole.add_edge(joint.parent, joint.child, joint=joint)
    same(model, Model.from_graph(whole))


def test_grafting_is_mounting():
    """A gripper on a floating robot by nx.union and an edge, and by combine; the joint by which a graft floated counts for nothing."""
    base, hand = flyer(3, 50.0), gripper().with_armature({"left": 0.2})
    tip, T = base.links[-1].name, se3.pose(np.eye(3), np.array([0.0, 0.0, 0.2]))
    for grafted in (hand, Model.from_graph(hand.graph, floating_base=True)):
        graph = nx.union(base.graph, grafted.graph)
        graph.add_edge(tip, "palm", joint=Joint("mount", "fixed", tip, "palm", T))
        one = Model.from_graph(graph)
        other = combine(b=base, h=engine.Mounted(hand, on=f"b/{tip}", placement=T))
        assert (one.floats, one.nv) == (True, base.nv + 1) and one.joint("mount").parent == tip
        q, v = one.random(np.random.default_rng(0))
        np.testing.assert_array_equal(one.armature, other.armature)
        np.testing.assert_array_equal(dynamics.rnea(one, q, v, v), dynamics.rnea(other, q, v, v))
        same(one, Model.from_graph(one.graph))


def test_links_have_the_names_of_their_nodes():
    model = flyer(3, 50.0)
    labels = {link.name: f"sat/{link.name}" for link in model.links}
    again = Model.from_graph(nx.relabel_nodes(model.graph, labels))
    assert [x.name for x in again.links] == [*labels.values()]
    for j, was in zip(again.joints, model.joints, strict=True):
        assert (j.name, j.parent, j.child) == (was.name, labels.get(was.parent, ""), labels[was.child])
    q, v = model.random(np.random.default_rng(0))
    np.testing.assert_array_equal(dynamics.rnea(again, q, v, v), dynamics.rnea(model, q, v, v))
    swapped = Model.from_graph(nx.relabel_nodes(gripper().graph, {"left finger": "right finger", "right finger": "left finger"}))
    assert swapped.joint("left").child == "right finger"
    graph = nx.relabel_nodes(gripper().graph, {"palm": "hand"})
    graph.add_node("tool", link=Link("tool"))
    graph.add_edge("hand", "tool", joint=Joint("grip", "fixed", "hand", "tool"))         # by the name that the node has now
    assert Model.from_graph(graph).joint("grip").parent == "hand"


def test_paths_and_subtrees_are_networkx_own():
    model = example("seven_joint_arm")
    names = [link.name for link in model.links]
    path = nx.shortest_path(model.graph, names[0], names[-1])
    assert [model.graph.edges[e]["joint"].child for e in nx.utils.pairwise(path)] == path[1:]
    assert nx.is_arborescence(example("quadruped").graph) and {*nx.descendants(model.graph, names[0])} == {*names[1:]}


# ---------------------------------------------------------------- what a file describes


def test_what_a_file_describes_goes_along():
    model = load(SEVERAL)
    assert Model.from_graph(model.graph.subgraph([*model.graph])).described is model.described
    graph = nx.relabel_nodes(model.graph, {"tip": "nose", "arm": "boom"})
    said = Model.from_graph(graph).described
    assert said.constraints[0].values["link_a"] == "nose"
    assert set(said.contacts.values["materials"]) == {"cart", "boom", "nose", "post"}
    assert {"tip", "arm"}.isdisjoint(n for pair in said.contacts.values["pairs"] for n in pair)
    np.testing.assert_array_equal(said.q, model.described.q)
    engine.simulator_of(Model.from_graph(graph))


def test_what_is_described_of_a_cut_branch_is_named_and_left_out():
    model = load(SEVERAL)
    graph = model.graph.copy()
    graph.remove_node("tip")
    with pytest.warns(engine.checks.EngineWarning) as caught:
        left = Model.from_graph(graph)
    assert len(caught) == 1
    words = str(caught[0].message)
    assert words.startswith("what the file of 'several' describes of links and joints that are no longer there is left out: ")
    for part in ("Weld of 'tip'", "GeneralActuator 'push' of 'wrist'", "Contacts of 'tip'", "sensor 'angle' of 'wrist'"):
        assert part in words
    assert "servo" not in words and caught[0].filename == __file__
    said = left.described
    assert [p.kind for p in said.constraints] == ["Coupling"] and [p.values["name"] for p in said.actuators] == ["servo"]
    assert "tip" not in said.contacts.values["materials"] and not said.sensors
    np.testing.assert_array_equal(said.q, np.delete(model.described.q, 8))
    home, was = said.keyframes["home"], model.described.keyframes["home"]
    np.testing.assert_array_equal(home.q, np.delete(was.q, 8))
    np.testing.assert_array_equal(home.v, np.delete(was.v, 7))
    assert home.commands == {"servo": 1.0}
    engine.simulator_of(left)


def test_what_is_grafted_begins_neutral():
    model = load(SEVERAL)
    graph = nx.union(model.graph, gripper().graph)
    graph.add_edge("tip", "palm", joint=Joint("mount", "fixed", "tip", "palm"))
    grown = Model.from_graph(graph)
    assert grown.nq == model.nq + 1 and grown.described.actuators == model.described.actuators
    np.testing.assert_array_equal(grown.initial(), np.insert(model.initial(), 9, 0.0))
    np.testing.assert_array_equal(grown.described.keyframes["home"].q, np.insert(model.described.keyframes["home"].q, 9, 0.0))
    nobody = replace(model, described=None)
    assert Model.from_graph(nobody.graph).described is None


@pytest.mark.parametrize("kind", ["floating", "fixed"])
def test_what_is_grafted_on_a_file_that_describes_contacts_is_said_to_touch_nothing(kind):
    model = load(SEVERAL)
    graph = nx.DiGraph(model.graph)
    graph.add_node("ball", link=Link("ball", inertia.sphere(1.0, 0.1), collisions=(engine.Geometry("sphere", (0.1,)),)))
    graph.add_node("dot", link=Link("dot"))
    graph.add_edge("tip", "dot", joint=Joint("at", "fixed", "tip", "dot"))
    graph.add_edge(model.links[0].name, "ball", joint=Joint("thrown", kind, model.links[0].name, "ball"))
    with pytest.warns(engine.EngineWarning) as told:
        made = Model.from_graph(graph)
    assert [str(w.message) for w in told] == [
        "the contacts that the file of 'several' describes are of its own links; what was added touches nothing: 'ball'; expected "
        "contacts=engine.Contacts(...) where it should"
    ]
    assert made.described.contacts.values == model.described.contacts.values


def test_of_two_files_one_is_expected():
    graph = nx.compose(load(SEVERAL).graph, load("<mujoco><worldbody><body name='b'><geom size='1'/></body></worldbody></mujoco>").graph)
    with pytest.raises(ModelError, match="the graph holds what 2 files describe of their robots; expected one"):
        Model.from_graph(graph)


# ---------------------------------------------------------------- graphs that are no robot


def changed(node: str = "palm", **data: object) -> nx.DiGraph:
    graph = gripper().graph.copy()
    graph.nodes[node].update(data)
    return graph


@pytest.mark.parametrize(("graph", "words"), [
    (changed(joint=Joint("hop", "planar", "", "palm")), "the root 'palm' holds Joint('hop', planar, '' → 'palm') as its joint; expected"),
    (changed(joint=Joint("hop", "floating", "x", "palm")), "the root 'palm' holds"),
    (changed(joint="free"), "the root 'palm' holds 'free' as its joint; expected the one by which it floats in the world"),
    (changed(joint=Joint("left", "floating", "", "palm")), "joint 'left' is there twice, once of the root 'palm'"),
    (gripper().graph.reverse(), "joint 'left' says it joins 'palm' to 'left finger', its edge 'left finger' to 'palm'; expected the same"),
    (nx.relabel_nodes(gripper().graph, {"palm": 3}), "a node is named 3; expected a text"),
    (nx.relabel_nodes(gripper().graph, {"palm": ""}), "a node is named ''; expected a text"),
    (nx.relabel_nodes(gripper().graph, {"palm": "\x00"}), "a link is named '\\x00'; expected a text without control characters"),
    (nx.union(gripper().graph, gripper().graph, rename=("a/", "b/")), "joint 'left' is there twice; expected unique names"),
    (nx.union(gripper().graph, flyer(1, 1.0).graph), "has 2 roots"),
])  # fmt: skip
def test_what_is_no_robot_is_told(graph, words):
    with pytest.raises(ModelError) as caught:
        Model.from_graph(graph)
    assert words in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(("where", "data", "words"), [
    ("edge", {"armatur": 0.3}, "the edge from 'palm' to 'left finger' holds 'armatur' (did you mean 'armature'?): it is not read"),
    ("edge", {"damping": 0.3}, "the edge from 'palm' to 'left finger' holds 'damping': it is not read; expected"),
    ("edge", {"dampng": 0.3, "weight": 2.0}, "the edge from 'palm' to 'left finger' holds 'dampng' (did you mean 'damping'?): it is not"),
    ("node", {"lnk": 3}, "node 'palm' holds 'lnk' (did you mean 'link'?): it is not read"),
    ("node", {"inertia": np.eye(6)}, "node 'palm' holds 'inertia': it is not read"),
    ("graph", {"nam": "hand"}, "the graph holds 'nam' (did you mean 'name'?): it is not read"),
])  # fmt: skip
def test_data_that_looks_as_if_it_were_read_is_named(where, data, words):
    graph = gripper().graph.copy()
    {"edge": graph.edges["palm", "left finger"], "node": graph.nodes["palm"], "graph": graph.graph}[where].update(data)
    with pytest.warns(engine.EngineWarning) as told:
        Model.from_graph(graph)
    assert len(told) == 1 and str(told[0].message).startswith(words)


def test_data_of_ones_own_is_ones_own():
    graph = gripper().graph.copy()
    graph.nodes["palm"].update(color="red", mass=1.0, label=2)
    graph.edges["palm", "left finger"].update(weight=2.0, length=1.0, capacity=3)
    graph.graph["made"] = "here"
    Model.from_graph(graph)


@pytest.mark.parametrize(("given", "words"), [
    ("much", "the armature beside joint 'left' is 'much'; expected numbers"),
    ((1.0, 2.0), "the armature beside joint 'left' is (1.0, 2.0); expected 1 numbers"),
    (-1.0, "the armature beside the joints leaves -0.9"),
])  # fmt: skip
def test_armature_beside_a_joint_is_checked(given, words):
    graph = gripper().graph.copy()
    graph.edges["palm", "left finger"]["armature"] = given
    with pytest.raises(ModelError) as caught:
        Model.from_graph(graph)
    assert words in str(caught.value)


def test_copies_of_what_a_file_describes_are_said():
    """A robot beside a relabelled copy of itself: the file's contacts are of the one alone."""
    model = load(SEVERAL)
    copy = nx.relabel_nodes(model.graph, {n: f"{n}2" for n in model.graph if n != model.links[0].name})
    for *_, data in copy.edges(data=True):
        data["joint"] = replace(data["joint"], name=f"{data['joint'].name}2")
    with pytest.warns(engine.EngineWarning, match=r"describes holds for one of the copies of link '\w+' \(\d+ links in all\)"):
        both = Model.from_graph(nx.compose(model.graph, copy))
    assert both.nv == 2 * model.nv
