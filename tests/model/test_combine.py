"""Several robots in one model: each moves as it would alone, Pinocchio puts them together alike, and they go through every room."""

import pickle
import re

import numpy as np
import pinocchio as pin
import pytest

import engine
from engine import ModelError, Mounted, combine, dynamics
from engine.components.actuators import ReactionWheels
from engine.components.forces import JointSpring
from engine.model.combine import weigh
from engine.recording import Recording
from engine.spatial import se3, so3
from tests.dynamics.oracle_pinocchio import Pinocchio, built
from tests.dynamics.support import error
from tests.numeric import ROUNDED
from tests.trees import random_tree

GRAVITY = (0.3, -0.2, -9.81)
TURN = se3.pose(so3.about(np.array([0.36, 0.48, 0.8]), 0.7), np.array([1.0, 2.0, 3.0]))
NONE = np.zeros(0)


def trees(seed, count=3, mimics=True):
    """Random robots, every other one floating."""
    rng = np.random.default_rng(seed)
    return {f"r{k}": random_tree(rng, int(rng.integers(2, 9)), floating_base=bool((k + seed) % 2)) for k in range(count)}


def cube():
    builder = engine.Builder("cube")
    builder.add_link("body", engine.spatial.inertia.box(2.0, (0.2, 0.2, 0.2)), visuals=[engine.Geometry("box", (0.2, 0.2, 0.2))])
    return builder.model(floating_base=True)


def flyer():
    return engine.load_urdf(engine.example("free_flyer"), floating_base=True)


# ---------------------------------------------------------------- a law: robots that do not touch move as each alone


@pytest.mark.parametrize("seed", range(6))
def test_each_moves_as_alone(seed):
    robots = trees(seed)
    both, rng = combine(**robots), np.random.default_rng(seed)
    states = [m.random(rng) for m in robots.values()]
    q, v = (np.concatenate([NONE, *x]) for x in zip(*states, strict=True))
    tau = rng.standard_normal(both.nv)
    assert (both.nq, both.nv) == (len(q), len(v))
    parts = np.split(tau, np.cumsum([m.nv for m in robots.values()])[:-1])
    alone = [dynamics.aba(m, *state, u, GRAVITY) for m, state, u in zip(robots.values(), states, parts, strict=True)]
    np.testing.assert_array_equal(dynamics.aba(both, q, v, tau, GRAVITY), np.concatenate(alone))
    M, k = dynamics.crba(both, q), 0
    for m, (qi, _) in zip(robots.values(), states, strict=True):
        np.testing.assert_array_equal(M[k : k + m.nv, k : k + m.nv], dynamics.crba(m, qi))
        M[k : k + m.nv, k : k + m.nv], k = 0.0, k + m.nv
    assert not M.any()
    for name, m in robots.items():
        assert [both.link(f"{name}/{link.name}").mass for link in m.links] == [link.mass for link in m.links]


# ---------------------------------------------------------------- a second route: the same tree, built as one


def test_a_mounted_robot_is_the_tree_built_as_one():
    def arm(builder, prefix, root):
        builder.add_link(f"{prefix}upper", engine.spatial.inertia.box(1.0, (0.1, 0.2, 0.3)))
        builder.add_link(f"{prefix}fore", engine.spatial.inertia.box(0.5, (0.1, 0.1, 0.3)))
        builder.add_joint(f"{prefix}shoulder", "revolute", root, f"{prefix}upper", TURN, axis=[0, 1, 0], armature=0.2)
        follows = engine.Mimic(f"{prefix}shoulder", 0.5, 0.1)
        builder.add_joint(f"{prefix}elbow", "revolute", f"{prefix}upper", f"{prefix}fore", TURN, mimic=follows)

    alone, whole = engine.Builder("arm"), engine.Builder("whole")
    alone.add_link("base")
    arm(alone, "", "base")
    for name in ("world", "one/base"):
        whole.add_link(name)
    whole.add_joint("one/mount", "fixed", "world", "one/base", np.linalg.inv(TURN))
    arm(whole, "one/", "one/base")
    whole.add_link("two/base")
    whole.add_joint("two/mount", "fixed", "one/fore", "two/base", TURN)
    arm(whole, "two/", "two/base")
    model = alone.model()
    found = combine(one=Mounted(model, placement=np.linalg.inv(TURN)), two=Mounted(model, "one/fore", TURN))
    assert [link.name for link in found.links] == [link.name for link in whole.model().links]
    q, v = found.random(np.random.default_rng(0))
    for f in (lambda m: dynamics.aba(m, q, v, 0 * v, GRAVITY), lambda m: dynamics.forward_kinematics(m, q), lambda m: m.armature):
        np.testing.assert_array_equal(f(found), f(whole.model()))


def test_armature_that_was_added_stays():
    model = flyer()
    heavy = model.with_armature({"elbow_pitch": 0.7})
    both = combine(a=model, b=heavy)
    np.testing.assert_array_equal(both.armature, np.concatenate([model.armature, heavy.armature]))


# ---------------------------------------------------------------- a reference: Pinocchio's own way to put models together


@pytest.mark.parametrize("seed", range(4))
def test_pinocchio_puts_them_together_alike(seed):
    rng = np.random.default_rng(seed)
    one, two = (random_tree(rng, 6, kinds=("revolute", "prismatic", "spherical"), floating_base=False) for _ in range(2))
    on = one.links[-1].name
    both = combine(one=one, two=Mounted(two, f"one/{on}", TURN))
    theirs = [built(combine(one=one)), built(combine(two=two))]
    for frame in theirs[1].frames:
        frame.name = frame.name if frame.name.startswith("two/") else f"two/{frame.name}"
    frame = theirs[0].getFrameId(f"one/{on}")
    reference = Pinocchio(both, pin.appendModel(*theirs, frame, pin.SE3(TURN)), GRAVITY)
    q, v = both.random(rng)
    vdot = rng.standard_normal(both.nv)
    none = np.zeros((len(both.links), 6))
    assert error(dynamics.rnea(both, q, v, vdot, GRAVITY), reference.rnea(q, v, vdot, none)) < 1e-13
    assert error(dynamics.crba(both, q), reference.crba(q)) < 1e-13


# ---------------------------------------------------------------- through every room


def test_they_are_simulated_recorded_drawn_and_reached_for(tmp_path):
    model = combine(servicer=flyer(), target=cube())
    wheels, spring = ReactionWheels("servicer/bus", torque=0.1, momentum=1.0), JointSpring("servicer/elbow_pitch", 1.0)
    simulator = engine.Simulator(model, dt=1e-2, gravity=(0, 0, 0), actuators=[wheels], forces=[spring],
                                 parameters={"mass.target/body": 3.0}, controller=lambda t, q, v: {"wheels": -0.1 * v[:3]})  # fmt: skip
    q = np.concatenate([flyer().neutral(), cube().neutral()])
    v = 0.1 * np.random.default_rng(0).standard_normal(model.nv)
    run = simulator.run(q, v, 0.3)
    path = simulator.run(q, v, 0.3, out=tmp_path / "run.h5")
    again = engine.load_trajectory(path)
    np.testing.assert_array_equal(again.q, run.q)
    name = "spring of servicer/elbow_pitch.energy"
    np.testing.assert_array_equal(again(name), run(name))
    with Recording.open(path) as recording:
        np.testing.assert_array_equal(recording.read(name), run(name))
    batch = simulator.run(np.tile(q, (3, 1)), v, 0.3)
    np.testing.assert_array_equal(batch.q[1], run.q)
    assert engine.render(run, t=0.1, size=(64, 48)).shape[:2] == (48, 64)
    engine.export(run, tmp_path / "run.html")
    assert "servicer/elbow_pitch" in (tmp_path / "run.html").read_text()
    robot = engine.compile(model)
    goal = robot.forward_kinematics(model.random(np.random.default_rng(1))[0])[model.link_index("target/body")]
    assert robot.inverse_kinematics({"target/body": goal}).converged
    assert pickle.loads(pickle.dumps(model)).nq == model.nq


def test_the_momentum_of_each_is_its_own():
    """Of what floats; three bodies of a family keep theirs to rounding, whatever the others do."""
    model = combine(a=cube(), b=flyer(), c=cube())
    q = np.concatenate([cube().neutral(), flyer().neutral(), cube().neutral()])
    v = np.random.default_rng(0).standard_normal(model.nv)
    run = engine.Simulator(model, dt=1e-2, gravity=(0, 0, 0)).run(q, v, 0.5)
    for k, nq, nv in ((0, 7, 6), (len(q) - 7, 7, 6)):
        one = cube()
        first, last = (dynamics.momentum(one, run.q[i, k : k + nq], run.v[i, -nv:] if k else run.v[i, :nv]) for i in (0, -1))
        assert error(last, first) < 100 * ROUNDED


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(("make", "text"), [
    (lambda: combine(), "combine got no robots; expected models by name"),
    (lambda: combine(arm=3), "arm is 3; expected a model, or Mounted(model, on=..., placement=...)"),
    (lambda: combine(**{"a/b": cube()}), "a robot is named 'a/b'; expected a name without a slash"),
    (lambda: Mounted(cube()), "'cube' has a floating base; expected a model with a fixed one, to mount on 'world'"),
    (lambda: Mounted("arm"), "what is mounted is 'arm'; expected a model"),
    (lambda: combine(a=cube(), tool=Mounted(trees(0)["r0"], on="a/bdy")), "tool stands on 'a/bdy' (did you mean 'a/body'?)"),
    (lambda: combine(tool=Mounted(trees(0)["r0"], placement=np.ones((4, 4)))), "joint 'tool/mount': placement is no pose"),
])  # fmt: skip
def test_bad_input_is_told(make, text):
    with pytest.raises(ModelError, match=re.escape(text)):
        make()


def test_equal_robots_share_what_is_equal_and_many_are_weighed_first():
    arm = engine.load(engine.example("seven_joint_arm"), floating_base=True)
    two = combine(a=arm, b=arm)
    for one, other in zip(two.bodies[: len(arm.bodies)], two.bodies[len(arm.bodies) :], strict=True):
        assert one.inertia is other.inertia and one.placement is other.placement
        assert not one.inertia.flags.writeable
    with pytest.raises(ModelError, match=r"a robot is|control characters"):
        combine(**{"a\n": arm} | {"a\x00": arm})
    weigh(100_000)
    with pytest.warns(engine.EngineWarning, match=r"a model of 600000 links takes about 3 GB of memory and 60 s to make"):
        weigh(600_000)
    with pytest.raises(ModelError, match=r"takes about 5e\+06 GB of memory .* GB are free; expected fewer robots"):
        weigh(10**12)
