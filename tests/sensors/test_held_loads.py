"""A wrist feels what constraints hold: as the same load welded on as part of the tree, and by Newton's and Euler's equations."""

import numpy as np
import pytest

import engine
import engine.sensors as S
from engine import dynamics
from engine.spatial import inertia, quaternion, se3, so3

G = np.array([0.0, 0.0, -9.81])
ARM = engine.load(engine.example("seven_joint_arm"))
LOAD = inertia.from_mass(1.0, [0.02, -0.03, 0.05], np.diag([2e-3, 3e-3, 2.5e-3]))
#: of the load in the tool
HELD = se3.pose(so3.exp([0.4, -0.3, 0.9]), [0.03, 0.02, 0.08])
TILT = se3.pose(so3.exp([0.3, -0.2, 0.5]), [0.01, 0.02, -0.03])
NOD = np.array([0.3, 0.5, -0.2, 0.7, 0.1, 0.4, -0.3])


def tooled(load=False):
    """Return an arm with a tool on its flange, which holds a load by a weld that is part of the tree, or holds nothing."""
    t = engine.Builder("tool")
    t.add_link("a")
    t.add_link("b", inertia=inertia.sphere(0.2, 0.02))
    t.add_joint("w", "fixed", "a", "b", placement=se3.pose(so3.exp([0, 0, 0.3]), [0, 0, 0.02]))
    if load:
        t.add_link("ball", inertia=LOAD)
        t.add_joint("holds", "fixed", "b", "ball", placement=HELD)
    return engine.combine(arm=ARM, tool=engine.Mounted(t.model(), on="arm/flange"))


def loose(model, by):
    """Return the arm with a load that is a tree of its own, and the state in which the tool has it where it is to be held."""
    b = engine.Builder("load")
    b.add_link("ball", inertia=LOAD)
    both = engine.combine(arm=model, load=b.model(floating_base=True))
    T = dynamics.forward_kinematics(model, NOD)[model.link_index("tool/b")] @ HELD
    return both, np.concatenate([NOD, quaternion.from_matrix(T[:3, :3]), T[:3, 3]]), by("arm/tool/b", "load/ball")


def steered(t, q, v):
    return np.sin(9.0 * t) * np.array([9.0, 9.0, 5.0, 5.0, 0.3, 0.3, 0.02])


def with_load(by, command=None, compiled=True, link="arm/tool/b", duration=0.3):
    both, q, holds = loose(tooled(), by)
    sensor = S.ForceTorque(link, TILT, name="w")

    def control(t, q, v):
        tau = np.concatenate([steered(t, q, v), np.zeros(6)])
        return tau if command is None else {"tau": tau, "grip": command(t)}

    s = engine.Simulator(both, constraints=[holds], sensors=[sensor], controller=control, joint_dynamics=None, compiled=compiled)
    return s.run(q, np.zeros(13), duration)


def as_a_tree(link, duration=0.3):
    s = engine.Simulator(tooled(load=True), sensors=[S.ForceTorque(link, TILT, name="w")], controller=steered, joint_dynamics=None)
    return s.run(NOD, np.zeros(7), duration)


def welded(a, b):
    return engine.Weld(a, b, HELD)


def welded_the_other_way(a, b):
    return engine.Weld(b, a, se3.inv(HELD))


def gripped(a, b):
    return engine.Grip(a, b, name="grip")


@pytest.mark.parametrize(("by", "command", "link"), [
    (welded, None, "tool/b"), (welded, None, "arm/elbow_pitch_link"), (welded_the_other_way, None, "tool/b"),
    (gripped, lambda t: 1.0 + 0.0 * t, "tool/b")])  # fmt: skip
def test_a_wrist_feels_a_held_load_as_one_of_the_tree(by, command, link):
    """Second route: the same load as part of the tree. Both fly by a method of order 4; the grip closes as the first step begins."""
    held, tree = with_load(by, command, link=f"arm/{link}"), as_a_tree(link)
    for part in ("force", "moment"):
        x = tree.signals[f"w.{part}"][1:]
        np.testing.assert_allclose(held.signals[f"w.{part}"][1:], x, atol=1e-6 * np.abs(x).max())
    assert np.ptp(tree.signals["w.force"], axis=0).max() > 0.5


def test_plain_is_compiled():
    plain, compiled = (with_load(welded, compiled=c, duration=0.01).signals["w.force"] for c in (False, True))
    np.testing.assert_allclose(plain, compiled, rtol=0, atol=1e-9)


def post(load_mass=1.0):
    """Return a tip on a slide, with a ball beside it that is held, or falls."""
    b = engine.Builder("p")
    b.add_link("world")
    b.add_link("slide", inertia=inertia.sphere(2.0, 0.05))
    b.add_link("tip", inertia=inertia.sphere(0.2, 0.02))
    b.add_joint("lift", "prismatic", "world", "slide", axis=(0, 0, 1))
    b.add_joint("wr", "fixed", "slide", "tip", placement=se3.pose(np.eye(3), [0, 0, -0.1]))
    ball = engine.Builder("ball")
    ball.add_link("ball", inertia=inertia.sphere(load_mass, 0.05), collisions=[engine.Geometry("sphere", (0.05,))])
    return engine.combine(p=b.model(), b=ball.model(floating_base=True))


def held_by_a_grip(closes, contacts=None, height=0.2, duration=2.0, to=0.3):
    def control(t, q, v):
        lift = -2000.0 * (q[:1] - to) - 100.0 * v[:1] + 3.2 * 9.81
        return {"tau": np.concatenate([lift, np.zeros(6)]), "grip": closes(t)}

    s = engine.Simulator(post(), constraints=[engine.Grip("p/tip", "b/ball", name="grip")], controller=control, contacts=contacts,
                         sensors=[S.ForceTorque("p/tip", name="w")])  # fmt: skip
    return s.run([0.3, 1, 0, 0, 0, 0, 0, height], np.zeros(7), duration)


def test_a_wrist_at_rest_carries_what_it_grips():
    """By statics: a tip of 0.2 kg that grips 1 kg weighs 11.772 N; open, 1.962 N."""
    r = held_by_a_grip(lambda t: 1.0 * (t < 1.5))
    assert r.signals["w.force"][1490, 2] == pytest.approx(1.2 * 9.81, abs=1e-6)
    assert r.signals["w.force"][-1, 2] == pytest.approx(0.2 * 9.81, abs=1e-3)


def test_what_a_grip_holds_stands_on_the_ground():
    """By Newton's law: the wrist and the ground together carry tip and ball."""
    ground = engine.Contacts(engine.HalfSpace())
    r = held_by_a_grip(lambda t: 1.0 + 0.0 * t, contacts=ground, height=0.0499, duration=1.0, to=0.29)
    up = r.signals["contacts.force"][-2].sum()
    assert up > 5.0
    assert r.signals["w.force"][-1, 2] + up == pytest.approx(1.2 * (9.81 + r.vdot[-1, 0]), abs=1e-6 * up)


def test_two_wrists_carry_a_bar_by_newton_and_euler():
    """A physical law: what two arms' wrists exert on a bar and their tips is what the motion of these takes."""
    def arm(name, x):
        b = engine.Builder(name)
        b.add_link("base")
        for k, (parent, child) in enumerate([("base", "upper"), ("upper", "fore"), ("fore", "hand")]):
            b.add_link(child, inertia=inertia.from_mass(0.5, [0.1, 0, 0], np.diag([1e-3, 2e-3, 2e-3])))
            b.add_joint(f"j{k}", "revolute", parent, child, axis=[0, 1, 0], placement=se3.pose(np.eye(3), [0.2 * (k > 0), 0, 0]))
        return engine.Mounted(b.model(), placement=se3.pose(np.eye(3), [x, 0.0, 1.0]))

    bar = engine.Builder("bar")
    bar.add_link("bar", inertia=inertia.from_mass(2.0, [0, 0, 0], np.diag([1e-3, 0.05, 0.05])))
    model = engine.combine(a=arm("a", -0.5), b=arm("b", 0.5), bar=bar.model(floating_base=True))
    q = np.array([0.3, 0.4, -0.2, 0.3, 0.4, -0.2])
    T = dynamics.forward_kinematics(model, np.concatenate([q, [1, 0, 0, 0, 0, 0, 0]]))
    hands = [T[model.link_index(f"{n}/hand")] @ se3.pose(np.eye(3), [0.2, 0, 0]) for n in "ab"]
    middle = 0.5 * (hands[0][:3, 3] + hands[1][:3, 3])
    ends = [x[:3, 3] - middle for x in hands]
    holds = [engine.Weld("a/hand", "bar/bar", se3.inv(T[model.link_index("a/hand")]) @ se3.pose(np.eye(3), middle)),
             engine.Ball("b/hand", "bar/bar", [0.2, 0, 0], ends[1])]  # fmt: skip
    s = engine.Simulator(model, constraints=holds, sensors=[S.ForceTorque(f"{n}/hand", name=n) for n in "ab"], joint_dynamics=None)
    r = s.run(np.concatenate([q, [1, 0, 0, 0], middle]), np.zeros(12), 0.2)
    rest = lambda x, k: np.concatenate([x[k, :6], np.zeros(6)])
    for k in (1, 80, -1):
        T = dynamics.forward_kinematics(model, r.q[k])
        total, about = np.zeros(3), np.zeros(3)
        for n in "ab":
            i = model.link_index(f"{n}/hand")
            alone = dynamics.transmitted_wrench(model, r.q[k], rest(r.v, k), rest(r.vdot, k), f"{n}/hand", G)
            f, m = (T[i][:3, :3] @ (r.signals[f"{n}.{part}"][k] - x) for part, x in (("force", alone[3:]), ("moment", alone[:3])))
            total += f
            about += m + np.cross(T[i][:3, 3] - r.q[k, -3:], f)
        R, V, A = T[-1][:3, :3], r.v[k, 6:], r.vdot[k, 6:]
        I = np.diag([1e-3, 0.05, 0.05])
        np.testing.assert_allclose(total, 2.0 * (R @ (A[3:] + np.cross(V[:3], V[3:])) - G), atol=1e-7 * 20.0)
        np.testing.assert_allclose(about, R @ (I @ A[:3] + np.cross(V[:3], I @ V[:3])), atol=1e-7 * 20.0)


def test_a_wrists_sign_by_a_number():
    """What the arm does to the tool: at rest its weight upwards, in free fall nothing, against a wall along +x 10 N along +x."""
    def along(axis, u, gravity, contacts=None):
        b = engine.Builder("p")
        b.add_link("post")
        b.add_link("slide", inertia=inertia.sphere(2.0, 0.05))
        b.add_link("tip", inertia=inertia.sphere(0.2, 0.02), collisions=[engine.Geometry("sphere", (0.02,))])
        b.add_joint("s", "prismatic", "post", "slide", axis=axis, damping=50.0)
        b.add_joint("wr", "fixed", "slide", "tip", placement=se3.pose(np.eye(3), [0.1, 0, 0]))
        s = engine.Simulator(b.model(), gravity=gravity, sensors=[S.ForceTorque("tip")], contacts=contacts,
                             controller=lambda t, q, v: np.array([u]) + (0.0 if u else 50.0 * v))  # fmt: skip
        return s.run([0.0], [0.0], 3.0).signals["wrist.force"][-1]

    np.testing.assert_allclose(along((0, 0, 1), 2.2 * 9.81, G), [0, 0, 1.962], atol=1e-12)
    np.testing.assert_allclose(along((0, 0, 1), 0.0, G), [0, 0, 0], atol=1e-9)
    wall = engine.Contacts(engine.HalfSpace((-1, 0, 0), -0.12), pairs=[("world", "tip")])
    np.testing.assert_allclose(along((1, 0, 0), 10.0, (0, 0, 0), wall), [10.0, 0, 0], atol=1e-6)
