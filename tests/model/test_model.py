"""The frozen model: order and slices, mimics, welds, the manifold, and what each graph that is no mechanism is told."""

import dataclasses
import pickle

import networkx as nx
import numpy as np
import pytest

from engine.model import KINDS, Builder, Joint, Limits, Link, Mimic, Model, ModelError, StateError
from engine.model.body import welded_pose
from engine.spatial import inertia, quaternion, se3, so3
from tests.numeric import PI, ROUNDED, check_lives, close, derivative
from tests.trees import random_inertia, random_placement, random_tree

TREES = [(1, False), (5, True), (12, False), (20, True), (30, True)]
trees = pytest.mark.parametrize(("n", "floating"), TREES)


def tree_of(n, floating, **options):
    return random_tree(np.random.default_rng(n), n, floating_base=floating, mimics=0.3, massless=0.2, **options)


def graph_of(links, joints, name="robot"):
    """A graph from link names and (name, kind, parent, child, properties)."""
    graph = nx.DiGraph(name=name)
    for link in links:
        graph.add_node(link, link=Link(link))
    for joint, kind, parent, child, *more in joints:
        graph.add_edge(parent, child, joint=Joint(joint, kind, parent, child, **(more[0] if more else {})))
    return graph


def told(words, make, *args, **named):
    """The error must hold the words and fit in a line."""
    with pytest.raises((ModelError, StateError)) as caught:
        make(*args, **named)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.fixture
def rng():
    return np.random.default_rng(7)


# ---------------------------------------------------------------- order and slices


def test_order_is_depth_first_with_children_as_declared():
    """Neither alphabetical nor as the links were declared."""
    links = ["z", "a", "m", "b", "root", "y", "c"]
    joints = [("j4", "revolute", "root", "z"), ("j9", "planar", "m", "a"), ("j1", "spherical", "root", "m"), ("j0", "prismatic", "z", "y"),
              ("j2", "revolute", "m", "b"), ("j3", "fixed", "z", "c")]  # fmt: skip
    model = Model.from_graph(graph_of(links, joints))
    assert [n.name for n in model.links] == ["root", "z", "y", "c", "m", "a", "b"]
    assert [j.name for j in model.joints] == ["j4", "j0", "j3", "j1", "j9", "j2"]
    assert [b.joint.name for b in model.bodies] == ["j4", "j0", "j1", "j9", "j2"]
    assert [b.parent for b in model.bodies] == [-1, 0, -1, 2, 2]
    assert [(b.q.start, b.q.stop) for b in model.bodies] == [(0, 1), (1, 2), (2, 6), (6, 9), (9, 10)]
    assert [(b.v.start, b.v.stop) for b in model.bodies] == [(0, 1), (1, 2), (2, 5), (5, 8), (8, 9)]
    assert (model.nq, model.nv) == (10, 9)
    assert model.entries("q")[2:6] == ("j1",) * 4
    assert model.entries("v")[2:6] == ("j1",) * 3 + ("j9",)


@trees
def test_order_of_random_trees(n, floating):
    model = tree_of(n, floating)
    place = {link.name: i for i, link in enumerate(model.links)}
    assert [j.child for j in model.joints if j.parent] == [link.name for link in model.links[1:]]
    assert all(place[j.parent] < place[j.child] for j in model.joints if j.parent)
    assert all(b.parent < i for i, b in enumerate(model.bodies))
    assert list(nx.dfs_preorder_nodes(model.graph, model.links[0].name)) == [link.name for link in model.links]
    if n >= len(KINDS):
        assert {j.kind for j in model.joints} == set(KINDS)


@trees
def test_slices_count_for_you(n, floating, rng):
    model = tree_of(n, floating)
    q, v = model.random(rng)
    assert (q.shape, v.shape) == ((model.nq,), (model.nv,))
    own = [j for j in model.joints if not (j.mimic and j.kind != "fixed")]
    np.testing.assert_array_equal(np.concatenate([np.arange(model.nq)[model.q_slice(j.name)] for j in own]), np.arange(model.nq))
    np.testing.assert_array_equal(np.concatenate([np.arange(model.nv)[model.v_slice(j.name)] for j in own]), np.arange(model.nv))
    for joint in own:
        assert len(q[model.q_slice(joint.name)]) == joint.type.nq
        assert len(v[model.v_slice(joint.name)]) == joint.type.nv
        assert set(model.entries("q")[model.q_slice(joint.name)]) <= {joint.name}
        assert set(model.entries("v")[model.v_slice(joint.name)]) <= {joint.name}


def test_a_joints_coordinates_move_what_hangs_on_it(rng):
    model = tree_of(20, True)
    q, _ = model.random(rng)
    poses = [b.pose(q) for b in model.bodies]
    for body in model.bodies:
        if not body.mimics:
            d = np.zeros(model.nv)
            d[model.v_slice(body.joint.name)] = 0.1
            after = [b.pose(model.integrate(q, d)) for b in model.bodies]
            moved = [np.abs(T1 - T0).max() > 1e-12 for T0, T1 in zip(poses, after, strict=True)]
            assert moved == [b.q == body.q for b in model.bodies]


def test_names_are_found_or_the_nearest_is_named():
    model = Model.from_graph(graph_of(["base", "hand"], [("wrist", "revolute", "base", "hand")], name="arm"))
    assert model.name == "arm"
    assert model.link("hand") is model.links[1]
    assert model.joint("wrist") is model.joints[0]
    assert model.link_index("hand") == 1
    told("no link 'hant' in 'arm' (did you mean 'hand'?)", model.link, "hant")
    told("no link 'x' in 'arm'", model.link_index, "x")
    for find in (model.joint, model.q_slice, model.v_slice):
        told("no joint 'wirst' in 'arm' (did you mean 'wrist'?)", find, "wirst")
    assert Model.from_graph(nx.DiGraph(graph_of(["a"], []), name="")).name == "robot"


def test_a_lone_link():
    model = Model.from_graph(graph_of(["a"], []))
    assert (model.nq, model.nv, model.bodies, model.joints) == (0, 0, (), ())
    assert model.neutral().shape == (0,)
    assert model.integrate(np.zeros(0), np.zeros(0), 0.1).shape == (0,)
    assert model.integrate(np.zeros((5, 0)), np.zeros(0), 0.1).shape == (5, 0)
    assert model.difference(np.zeros((5, 0)), np.zeros(0)).shape == (5, 0)
    assert Model.from_graph(graph_of(["a"], []), floating_base=True).nq == 7


# ---------------------------------------------------------------- the floating base


@trees
def test_floating_base(n, floating, rng):
    graph = tree_of(n, False).graph
    fixed, free = Model.from_graph(graph), Model.from_graph(graph, floating_base=True)
    assert (free.nq, free.nv) == (fixed.nq + 7, fixed.nv + 6)
    base = free.joints[0]
    assert (base.name, base.kind, base.parent, base.child) == ("floating_base", "floating", "", free.links[0].name)
    assert free.q_slice("floating_base") == slice(0, 7)
    assert free.v_slice("floating_base") == slice(0, 6)
    assert free.joints[1:] == fixed.joints
    assert free.links == fixed.links
    assert (fixed.carrier[0][0], free.carrier[0][0]) == (-1, 0)
    assert all(body >= 0 for body, _ in free.carrier)
    np.testing.assert_array_equal(free.neutral()[:7], [1, 0, 0, 0, 0, 0, 0])
    q, _ = free.random(rng)
    close(free.bodies[0].pose(q), se3.pose(quaternion.to_matrix(q[:4]), q[4:7]), 2e-15)


def test_floating_base_finds_a_name_of_its_own():
    graph = graph_of(["a", "b", "c"], [("floating_base", "revolute", "a", "b"), ("floating_base_", "revolute", "b", "c")])
    assert [j.name for j in Model.from_graph(graph, floating_base=True).joints] == ["floating_base__", "floating_base", "floating_base_"]


# ---------------------------------------------------------------- mimics


def follower(**mimics):
    """A chain of revolute joints a, b, c, d, e; ``mimics`` says who follows whom."""
    names = "abcde"
    return graph_of(["0", *names], [(n, "revolute", p, n, {"mimic": mimics.get(n)}) for p, n in zip("0" + names, names, strict=False)])


def test_mimics_share_coordinates():
    model = Model.from_graph(follower(b=Mimic("d", -2.0, 0.5)))               # the source comes later
    assert (model.nq, model.nv) == (4, 4)
    b = model.bodies[1]
    assert (b.mimics, b.ratio, b.offset) == (True, -2.0, 0.5)
    assert model.q_slice("b") == model.q_slice("d") == slice(2, 3)
    assert model.v_slice("b") == model.v_slice("d") == slice(2, 3)
    assert model.entries("q") == model.entries("v") == ("a", "c", "d", "e")
    q = np.array([1.0, 2.0, 3.0, 4.0])
    np.testing.assert_array_equal(b.coordinates(q), [-5.5])
    np.testing.assert_array_equal(model.bodies[2].coordinates(q), [2.0])
    close(b.pose(q), se3.pose(so3.about(np.array([0, 0, 1.0]), -5.5), np.zeros(3)), ROUNDED)
    np.testing.assert_array_equal(b.subspace(q)[:, 0], [0, 0, -2, 0, 0, 0])
    np.testing.assert_array_equal(b.subspace_rate(q, q), np.zeros((6, 1)))
    np.testing.assert_array_equal(model.neutral(), np.zeros(4))


def test_mimics_of_mimics_compose():
    """e = 2 d + 0.1, d = 3 b + 0.2, b = −a + 0.3: e = −6 a + 2.3."""
    model = Model.from_graph(follower(e=Mimic("d", 2.0, 0.1), d=Mimic("b", 3.0, 0.2), b=Mimic("a", -1.0, 0.3)))
    assert model.nq == 2
    assert [b.joint.name for b in model.bodies if b.mimics] == ["b", "d", "e"]
    np.testing.assert_allclose([(b.ratio, b.offset) for b in model.bodies], [(1, 0), (-1, 0.3), (1, 0), (-3, 1.1), (-6, 2.3)], rtol=1e-15)
    assert all(model.q_slice(n) == slice(0, 1) for n in "abde")


def test_long_chains_of_mimics_take_no_longer_than_others():
    """3000 joints, each after the one before it, or the one behind: composed once for each."""
    n = 3000
    for step, end in ((-1, 0), (1, n - 1)):
        rules = [Mimic(f"j{i + step}", -1.0, 1.0) if i != end else None for i in range(n)]
        joints = [(f"j{i}", "revolute", "0", f"l{i}", {"mimic": rule}) for i, rule in enumerate(rules)]
        model = Model.from_graph(graph_of(["0", *(f"l{i}" for i in range(n))], joints))
        assert model.nv == 1 and [(b.ratio, b.offset) for b in model.bodies][:: n - 1] == [((1, 0), (-1, 1))[:: -step][k] for k in (0, 1)]


def test_what_mimics_compose_to_is_finite():
    big = {"b": Mimic("a", 1e200), "c": Mimic("b", 1e200)}
    told("joint 'c' follows 'a' with the ratio inf and the offset 0; expected finite numbers", Model.from_graph, follower(**big))
    far = {"b": Mimic("a", 1.0, 1e308), "c": Mimic("b", 10.0)}
    told("joint 'c' follows 'a' with the ratio 10 and the offset inf; expected finite numbers", Model.from_graph, follower(**far))
    model = Model.from_graph(follower(b=Mimic("a", 1e200)))                  # whose square is not
    assert model.bodies[1].ratio == 1e200 and not model.armature.any()
    told("armature[0] is inf", lambda: model.with_armature({"b": 1.0}))


def test_mimics_on_fixed_joints_are_ignored():
    for source in ("b", "nobody", "a"):
        graph = graph_of(["0", "1", "2"], [("a", "fixed", "0", "1", {"mimic": Mimic(source)}), ("b", "revolute", "1", "2")])
        model = Model.from_graph(graph)
        assert (model.nq, len(model.bodies), model.q_slice("a")) == (1, 1, slice(0, 0))


def test_bad_mimics():
    told("joint 'b' mimics 'cc', which is not there (did you mean 'c'?)", Model.from_graph, follower(b=Mimic("cc")))
    told("joint 'c' mimics 'nobody', which is not there", Model.from_graph, follower(b=Mimic("c"), c=Mimic("nobody")))
    told("joints b → d → c → b mimic one another in a circle", Model.from_graph, follower(b=Mimic("d"), d=Mimic("c"), c=Mimic("b")))
    told("joints b → b mimic one another in a circle", Model.from_graph, follower(b=Mimic("b")))
    told("joints c → d → c mimic one another in a circle", Model.from_graph, follower(b=Mimic("c"), c=Mimic("d"), d=Mimic("c")))
    for kind in ("spherical", "universal", "planar", "floating", "fixed"):
        more = {"axis2": [1, 0, 0], "mimic": Mimic("b")} if kind == "fixed" else {"axis2": [1, 0, 0]}
        graph = graph_of(["0", "1", "2"], [("a", kind, "0", "1", more), ("b", "revolute", "1", "2", {"mimic": Mimic("a")})])
        told(f"joint 'b' mimics 'a', which is {kind}; expected a joint with one coordinate", Model.from_graph, graph)


# ---------------------------------------------------------------- frozen


def test_the_model_stays_as_it_is(rng):
    model = tree_of(12, True)
    for name in ("nq", "graph", "links", "bodies"):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(model, name, None)
    for change in (lambda g: g.add_node("x"), lambda g: g.add_edge("l0", "x"), lambda g: g.remove_node("l3"),
                   lambda g: g.remove_edge(*next(iter(g.edges))), lambda g: g.clear()):  # fmt: skip
        with pytest.raises(nx.NetworkXError, match="Frozen graph"):
            change(model.graph)
    for body, (_, T) in zip(model.bodies, model.carrier, strict=False):
        for array in (body.placement, body.inertia, T):
            with pytest.raises(ValueError, match="read-only"):
                array[0, 0] = 7.0
        with pytest.raises(dataclasses.FrozenInstanceError):
            body.ratio = 2.0
    assert isinstance(model.links, tuple)
    assert isinstance(model.joints, tuple)


def test_the_model_does_not_hear_of_later_changes_to_its_graph():
    graph = graph_of(["a", "b"], [("j", "revolute", "a", "b")])
    model = Model.from_graph(graph)
    graph.add_node("c", link=Link("c"))
    graph.remove_edge("a", "b")
    assert list(model.graph) == ["a", "b"]
    assert list(model.graph.edges) == [("a", "b")]
    again = Model.from_graph(model.graph)                                     # a frozen graph is as good as any
    assert (again.links, again.joints) == (model.links, model.joints)


def test_it_survives_a_trip_through_a_file(rng):
    model = tree_of(12, True)
    again = pickle.loads(pickle.dumps(model))
    q, v = model.random(rng)
    np.testing.assert_array_equal(again.integrate(q, v, 0.1), model.integrate(q, v, 0.1))
    assert [j.name for j in again.joints] == [j.name for j in model.joints]


# ---------------------------------------------------------------- graphs that are no mechanism


def without(graph, **data):
    """The graph with the data of a node or an edge replaced."""
    for where, value in data.items():
        if where == "node":
            graph.nodes[value[0]]["link"] = value[1]
        else:
            graph.edges[value[0], value[1]]["joint"] = value[2]
    return graph


CHAIN = ["a", "b", "c"], [("j", "revolute", "a", "b"), ("k", "revolute", "b", "c")]


@pytest.mark.parametrize(("graph", "words"), [
    ("tree", "graph is a str; expected a networkx.DiGraph"),
    (nx.Graph(graph_of(*CHAIN)), "graph is a Graph; expected a networkx.DiGraph"),
    (nx.MultiDiGraph(graph_of(*CHAIN)), "graph is a MultiDiGraph; expected a networkx.DiGraph"),
    (nx.DiGraph(), "no links; expected at least one"),
    (graph_of(["a", "b", "c"], CHAIN[1][:1]), "2 roots ('a', 'c'); expected one tree"),
    (graph_of(["a", "b"], [("j", "fixed", "a", "b"), ("k", "fixed", "b", "a")]), "links 'a' → 'b' → 'a' form a cycle"),
    (graph_of(["a", "b", "c"], [("j", "fixed", "b", "c"), ("k", "fixed", "c", "b")]), "form a cycle"),
    (graph_of(["a"], [("j", "fixed", "a", "a")]), "links 'a' → 'a' form a cycle"),
    (graph_of(*[CHAIN[0], [*CHAIN[1], ("m", "fixed", "a", "c")]]), "link 'c' has 2 parents ('b', 'a')"),
    (graph_of(["a", "b", "c"], [("j", "fixed", "a", "b"), ("j", "fixed", "b", "c")]), "joint 'j' is there twice"),
    (without(graph_of(*CHAIN), node=("b", None)), "node 'b' holds NoneType as its link; expected link=Link('b', ...)"),
    (without(graph_of(*CHAIN), node=("b", Link("x"))), "node 'b' holds the link 'x'; expected link=Link('b', ...)"),
    (without(graph_of(*CHAIN), edge=("a", "b", None)), "the edge from 'a' to 'b' holds NoneType as its joint; expected joint=Joint(...)"),
    (without(graph_of(*CHAIN), edge=("a", "b", Joint("j", "fixed", "a", "c"))),
     "joint 'j' says it joins 'a' to 'c', its edge 'a' to 'b'"),
    (nx.DiGraph([("a", "b")]), "node 'a' holds NoneType as its link"),
])  # fmt: skip
def test_bad_graphs(graph, words):
    told(words, Model.from_graph, graph)
    told(words, Model.from_graph, graph, floating_base=True)


# ---------------------------------------------------------------- welds


def own_poses(model, q):
    """World pose of every link by the chain of joints alone, welds and all."""
    T = {"": np.eye(4)}
    for link in model.links:
        joint = next((j for j in model.joints if j.child == link.name), None)
        if joint is None:
            T[link.name] = np.eye(4)
            continue
        body = next((b for b in model.bodies if b.joint is joint), None)
        own = body.coordinates(q) if body else np.zeros(0)
        T[link.name] = T[joint.parent] @ joint.placement @ joint.type.pose(joint, own)
    return [T[link.name] for link in model.links]


def body_poses(model, q):
    T = []
    for body in model.bodies:
        T.append((T[body.parent] if body.parent >= 0 else np.eye(4)) @ body.pose(q))
    return T


@trees
def test_welded_links_ride_on_their_bodies(n, floating, rng):
    for kinds in (tuple(KINDS), ("fixed", "fixed", "revolute"), ("fixed",)):
        model = tree_of(n, floating, kinds=kinds)
        q, _ = model.random(rng)
        T = [*body_poses(model, q), np.eye(4)]
        for expected, (body, T_BL) in zip(own_poses(model, q), model.carrier, strict=True):
            close(T[body] @ T_BL, expected, 5e-15)
        assert len(model.bodies) == sum(j.kind != "fixed" for j in model.joints)


@trees
def test_welded_inertias_add_up(n, floating):
    for kinds in (tuple(KINDS), ("fixed", "fixed", "revolute"), ("fixed",)):
        model = tree_of(n, floating, kinds=kinds)
        for i, body in enumerate(model.bodies):
            riders = [(link, T) for link, (b, T) in zip(model.links, model.carrier, strict=True) if b == i]
            total = sum(np.linalg.inv(se3.Ad(T)).T @ link.inertia @ np.linalg.inv(se3.Ad(T)) for link, T in riders)
            close(body.inertia, total, 3e-15)
            np.testing.assert_array_equal(body.inertia, body.inertia.T)
        world = sum(link.mass for link, (b, _) in zip(model.links, model.carrier, strict=True) if b < 0)
        all_mass = sum(link.mass for link in model.links)
        close(sum(inertia.mass(b.inertia) for b in model.bodies) + world, all_mass, 4e-15)


def test_a_dumbbell():
    """Two points of 1 kg welded 1 m to either side of a massless hub: 2 kg·m² across and no first moment."""
    arm = Builder("dumbbell")
    arm.add_link("world")
    arm.add_link("hub")
    arm.add_joint("spin", "revolute", "world", "hub")
    for name, x in (("left", -1.0), ("right", 1.0)):
        arm.add_link(name, inertia=inertia.sphere(1.0, 0.0))
        T = se3.pose(so3.about(np.array([0, 0.6, 0.8]), 2 * x), np.array([x, 0, 0]))
        arm.add_joint(f"weld {name}", "fixed", "hub", name, placement=T)
    (body,) = arm.model().bodies
    np.testing.assert_allclose(body.inertia, np.diag([0, 2.0, 2, 2, 2, 2]), rtol=0, atol=ROUNDED)


def test_structure_is_kept_exact(rng):
    """Quarter turns leave zeros and ones, as do sums of symmetric bodies; 0 is folded away, 1e-17 is not."""
    quarter = se3.pose(so3.exp(np.array([PI / 2, 0, 0])) @ so3.exp(np.array([0, 0, -PI / 2])), np.array([0.5, 0.0, 1e-18]))
    arm = Builder()
    for n in "abcd":
        arm.add_link(n, inertia=inertia.box(2.0, [0.3, 0.3, 1.0]))
    arm.add_joint("j", "revolute", "a", "b", placement=quarter)
    arm.add_joint("w", "fixed", "b", "c", placement=quarter)
    arm.add_joint("k", "revolute", "c", "d", placement=quarter)
    model = arm.model()
    for T in (model.bodies[0].placement, model.carrier[2][1], model.bodies[1].placement):
        assert set(np.abs(T[:3, :3]).ravel()) == {0.0, 1.0}
        assert not np.signbit(T[T == 0]).any()
    assert np.count_nonzero(model.bodies[0].inertia) == 6 + 4                 # the diagonal, and h on both sides


def test_a_ball_is_a_ball_however_it_is_welded(rng):
    """Turning it leaves rounding errors off the diagonal, which would be operations in every compiled step."""
    for _ in range(20):
        arm = Builder()
        for n, G in (("a", np.zeros((6, 6))), ("b", np.zeros((6, 6))), ("ball", inertia.sphere(3.0, 0.7))):
            arm.add_link(n, inertia=G)
        arm.add_joint("j", "revolute", "a", "b")
        arm.add_joint("w", "fixed", "b", "ball", placement=se3.pose(quaternion.to_matrix(quaternion.random(rng)), np.zeros(3)))
        (body,) = arm.model().bodies
        assert np.count_nonzero(body.inertia) == 6
        close(body.inertia, inertia.sphere(3.0, 0.7), 3e-15)


@pytest.mark.parametrize("angle", [3e-8, 1e-7, 1e-6, 1.3e-6, 1e-5])
def test_small_turns_are_kept_rigid(angle):
    """cos 1e-6 is within 1e-12 of 1; put there, the placement would no longer be a rotation."""
    T = se3.pose(so3.exp(angle * np.array([0.36, 0.48, 0.8])), np.array([1 + 1e-13, 0.3, 0]))
    (body,) = Model.from_graph(graph_of(["a", "b"], [("j", "revolute", "a", "b", {"placement": T})])).bodies
    close(body.placement, T, 1e-15)
    close(body.placement[:3, :3] @ body.placement[:3, :3].T, np.eye(3), 1.5e-15)


def test_nothing_above_rounding_is_tidied():
    """Of a rotation's entries what is within 1e-15 of 0 and ±1, of a position what is 1e-15 of its reach."""
    T = np.eye(4)
    T[:3] = [[1 - 2e-16, 2e-15, -1e-17, 1e-16], [-2e-15, -1 + 2e-16, 0.5, -1 - 1e-13], [1e-12, 4e-16, 1 - 3e-15, 3e-15]]
    expected = [[1, 2e-15, 0, 0], [-2e-15, -1, 0.5, -1 - 1e-13], [1e-12, 0, 1 - 3e-15, 3e-15]]
    np.testing.assert_array_equal(welded_pose(np.eye(4), T)[:3], expected)
    np.testing.assert_array_equal(welded_pose(se3.pose(np.eye(3), np.array([0, 4.0, 0])), T)[:3, 3], [0, 3 - 1e-13, 0])


@trees
def test_inertia_in_parent(n, floating, rng):
    model = tree_of(n, floating)
    q, _ = model.random(rng)
    for body in model.bodies:
        G = random_inertia(rng)
        close(body.inertia_in_parent(body.joint_pose(q), G), inertia.transformed(body.pose(q), G), 1e-14)
        close(body.pose(q), body.placement @ body.joint_pose(q), 0.0)


@trees
def test_bodies_move_by_their_subspaces(n, floating, rng):
    """d/dt T = T [S v] and Ṡ along q ⊕ v t, mimics' ratios included."""
    model = tree_of(n, floating)
    q, v = model.random(rng)
    v /= 2
    along = lambda t: model.integrate(q, v, t)
    for body in model.bodies:
        dT = derivative(lambda t: body.pose(along(t)))
        close(se3.inv(body.pose(q)) @ dT + np.eye(4), se3.hat(body.subspace(q) @ v[body.v]) + np.eye(4), 1e-12)
        rate = body.subspace_rate(q, v)
        dS = derivative(lambda t: body.subspace(along(t)))
        np.testing.assert_allclose(rate, dS, rtol=0, atol=1e-12)


# ---------------------------------------------------------------- the manifold


def on_sheet(model, q, like):
    """q with its quaternions on the sheets of another's."""
    q = q.copy()
    for b in model.bodies:
        if b.kind.manifold.attitude:
            w = slice(b.q.start, b.q.start + 4)
            q[..., w] *= np.where(np.vecdot(q[..., w], like[..., w]) < 0, -1.0, 1.0)[..., None]
    return q


def states(model, rng, *shape):
    pairs = [model.random(rng) for _ in range(int(np.prod(shape)))]
    return (np.array([p[k] for p in pairs]).reshape(*shape, -1) for k in (0, 1))


@trees
def test_difference_undoes_integrate(n, floating, rng):
    model = tree_of(n, floating)
    q, v = states(model, rng, 40)
    v = np.clip(v, -1.5, 1.5)
    for dt in (1.0, 0.1, 1e-6, -1.0, 0.0):
        np.testing.assert_allclose(model.difference(q, model.integrate(q, v, dt)), v * dt, rtol=0, atol=1e-14)
    q1, _ = states(model, rng, 40)
    back = on_sheet(model, model.integrate(q, model.difference(q, q1)), q1)
    np.testing.assert_allclose(back, q1, rtol=0, atol=1e-12)                  # planar joints may turn by nearly 2π


@trees
def test_integrate_is_a_flow_and_starts_at_v(n, floating, rng):
    model = tree_of(n, floating)
    q, v = model.random(rng)
    v /= 3
    close(model.integrate(model.integrate(q, v, 0.3), v, 0.4), model.integrate(q, v, 0.7), 5e-15)
    np.testing.assert_allclose(derivative(lambda t: model.difference(q, model.integrate(q, v, t))), v, rtol=0, atol=1e-12)
    close(model.integrate(q, v, 0.0), q, ROUNDED)
    np.testing.assert_array_equal(model.integrate(q, v), model.integrate(q, v, 1.0))


@trees
def test_batches_broadcast(n, floating, rng):
    model = tree_of(n, floating)
    q, v = states(model, rng, 4, 3)
    q1, _ = states(model, rng, 4, 3)
    dt = np.linspace(0.1, 1.0, 12).reshape(4, 3)
    rows = [[model.integrate(q[i, j], v[i, j], dt[i, j]) for j in range(3)] for i in range(4)]
    close(model.integrate(q, v, dt), rows, 1e-15)
    close(model.difference(q, q1), [[model.difference(q[i, j], q1[i, j]) for j in range(3)] for i in range(4)], 1e-14)
    close(model.normalized(1.01 * q), [[model.normalized(1.01 * x) for x in row] for row in q], 1e-15)

    one = model.integrate(q[0, 0], v, 0.2)                                    # one q, many v
    assert one.shape == (4, 3, model.nq)
    close(one[3, 2], model.integrate(q[0, 0], v[3, 2], 0.2), 1e-15)
    one = model.integrate(q, v[0, 0], dt)                                     # many q and dt, one v
    close(one[3, 2], model.integrate(q[3, 2], v[0, 0], dt[3, 2]), 1e-15)
    path = model.integrate(q[0, 0], v[0, 0], np.linspace(0, 1, 5))            # one q, one v, many dt: a path
    assert path.shape == (5, model.nq)
    close(path[2], model.integrate(q[0, 0], v[0, 0], 0.5), 1e-15)
    outer = model.difference(q[:, None, 0], q1[None, :, 0])
    assert outer.shape == (4, 4, model.nv)
    assert model.integrate(q[:0], v[0], 0.1).shape == (0, 3, model.nq)
    assert model.difference(q[:0], q1[0]).shape == (0, 3, model.nv)
    close(outer[1, 2], model.difference(q[1, 0], q1[2, 0]), 1e-15)


def test_slow_motion_moves():
    """1e-6 rad/s for 1e-3 s is 1e-9 rad, not none."""
    model = tree_of(20, True)
    q, v = model.neutral(), np.full(model.nv, 1e-6)
    np.testing.assert_allclose(model.difference(q, model.integrate(q, v, 1e-3)), 1e-9, rtol=1e-14)


@trees
def test_neutral(n, floating):
    model = tree_of(n, floating)
    q = model.neutral()
    np.testing.assert_array_equal(model.normalized(q), q)
    for body in model.bodies:
        if not body.mimics:
            np.testing.assert_array_equal(body.joint_pose(q), np.eye(4))
            np.testing.assert_array_equal(q[body.q], body.kind.manifold.neutral())


def test_random_is_within_limits_and_repeatable(rng):
    joints = [(n, kind, p, n, {"limits": Limits(*limits), "axis2": [1, 0, 0]}) for n, p, kind, limits in
              (("a", "0", "revolute", (0.5, 0.7)), ("b", "a", "prismatic", (-0.1, 0.0)), ("c", "b", "universal", (2.0, 2.1)),
               ("d", "c", "continuous", ()))]  # fmt: skip
    model = Model.from_graph(graph_of(["0", *"abcd"], joints), floating_base=True)
    q, v = states(model, rng, 200)
    low, high = q[:, 7:].min(axis=0), q[:, 7:].max(axis=0)
    assert (low >= [0.5, -0.1, 2.0, 2.0, -PI]).all()
    assert (high <= [0.7, 0.0, 2.1, 2.1, PI]).all()
    assert (high - low > 0.9 * np.array([0.2, 0.1, 0.1, 0.1, 2 * PI])).all()
    np.testing.assert_allclose(np.linalg.norm(q[:, :4], axis=-1), 1, rtol=1e-15)
    assert v.std() == pytest.approx(1, abs=0.1)
    for a, b in zip(model.random(np.random.default_rng(5)), model.random(np.random.default_rng(5)), strict=True):
        np.testing.assert_array_equal(a, b)


# ---------------------------------------------------------------- what comes in


def test_quaternions_are_normalised(rng):
    model = tree_of(20, True)
    q, v = model.random(rng)
    scaled = q.copy()
    for b in model.bodies:
        if b.kind.manifold.attitude:
            scaled[b.q.start : b.q.start + 4] *= rng.uniform(0.981, 1.019)
    close(model.normalized(scaled), q, 1e-15)
    close(model.integrate(scaled, v, 0.1), model.integrate(q, v, 0.1), 2e-15)
    np.testing.assert_allclose(model.difference(scaled, q), np.zeros(model.nv), rtol=0, atol=1e-15)
    untouched = scaled.copy()
    model.normalized(scaled)
    np.testing.assert_array_equal(scaled, untouched)


def test_bad_states():
    joints = [("wrist", "revolute", "base", "hand"), ("ball", "spherical", "hand", "tip")]
    model = Model.from_graph(graph_of(["base", "hand", "tip"], joints, name="arm"))
    q, v = np.array([0.1, 1, 0, 0, 0]), np.zeros(4)
    told("q has shape (4,); expected (..., 5) for 'arm'", model.integrate, v, v)
    told("v has shape (5,); expected (..., 4) for 'arm'", model.integrate, q, q)
    told("q has shape ()", model.normalized, 1.0)
    told("q has shape (2, 5); expected (5,) for 'arm'", model.checked, "q", np.ones((2, 5)))
    told("tau has shape (3,); expected (4,) for 'arm'", model.checked, "tau", np.ones(3))
    told("q[0] (joint 'wrist') is nan; expected a finite number", model.difference, [np.nan, 1, 0, 0, 0], q)
    told("q[1, 3] (joint 'ball') is inf", model.normalized, [q, [0, 1, 0, np.inf, 0]])
    told("v[2] (joint 'ball') is -inf", model.integrate, q, [0, 0, -np.inf, 0])
    unit = "expected a unit one, [qw, qx, qy, qz] (engine.convert turns xyzw and other libraries' orders into it)"
    told(f"q of joint 'ball' has the quaternion [0. 0. 0. 0.] of length 0; {unit}", model.integrate, [0.1, 0, 0, 0, 0], v)
    told("q of joint 'ball' in row 1 has the quaternion [1. 1. 0. 0.] of length 1.414; expected a unit one", model.normalized,
         [q, [0.1, 1, 1, 0, 0]])  # fmt: skip
    told("of length 1e+200", model.normalized, [0.1, 0, 1e200, 0, 0])
    told("dt is nan; expected finite times", model.integrate, q, v, np.nan)
    told("dt is soon; expected finite times", model.integrate, q, v, "soon")
    told("v holds complex128; expected real numbers", model.integrate, q, v + 1j)
    told("q holds <U", model.normalized, ["a"] * 5)
    told("q is [[0.1, 1], [0]]; expected an array of numbers", model.normalized, [[0.1, 1], [0]])
    np.testing.assert_array_equal(model.integrate([0, 1, 0, 0, 0], [1, 0, 0, 0], 2), [2, 1, 0, 0, 0])        # whole numbers will do
    assert model.normalized(np.full(5, 0.5, dtype=np.float32)).dtype == np.float64


# ---------------------------------------------------------------- machine code


@pytest.mark.parametrize(("n", "floating"), [(5, True), (14, False)])
def test_plain_interpreted_compiled_agree(n, floating, rng):
    model = tree_of(n, floating)
    q, v = states(model, rng, 10)
    v[:3] *= [[0.0], [1e-12], [1e-9]]
    check_lives(model.integrate, q, v, rng.uniform(0, 1, 10), tolerance=3e-15)
    check_lives(model.manifold.plus, q, v, tolerance=3e-15)
    check_lives(lambda a, b: model.difference(a, b) + 1.0, q, q[::-1] + 0.01, tolerance=2e-14)
    everything = [lambda q, v, b=b: (b.pose(q), b.subspace(q)) for b in model.bodies]
    check_lives(lambda q, v: tuple(x for f in everything for x in f(q, v)), q, v, tolerance=3e-15)


def test_random_placements_are_poses(rng):
    for _ in range(30):
        R = random_placement(rng)[:3, :3]
        close(R @ R.T, np.eye(3), 3e-15)


def test_a_configuration_is_moved_into_the_limits():
    """Joints with one coordinate end where they end; attitudes, and what has no limits, stay; q itself is left as it is."""
    builder = Builder("arm")
    for name in ("base", "a", "b", "c"):
        builder.add_link(name)
    builder.add_joint("low", "revolute", "base", "a", limits=Limits(0.5, 1.0))
    builder.add_joint("free", "continuous", "a", "b")
    builder.add_joint("ball", "spherical", "b", "c")
    model = builder.model()
    q = np.array([0.0, 9.0, 0.6, 0.0, 0.8, 0.0])
    np.testing.assert_array_equal(model.within_limits(q), [0.5, 9.0, 0.6, 0.0, 0.8, 0.0])
    assert q[0] == 0.0
