"""The demos of contacts: what they print is so, and their files hold it."""

import re
import sysconfig

import numpy as np
import pytest

import engine
from engine import dynamics
from engine.spatial import quaternion, se3


def numbers(pattern, text):
    return [float(x) for x in re.search(pattern, text).groups()]


def test_quadruped(demo, tmp_path):
    said = demo("quadruped", looks=False)                                      # as it comes: a step of it needs long lines of Newton
    load, weight = numbers(r"carry (\S+) N of its weight of (\S+) N", said)
    assert abs(load / weight - 1.0) < 0.01
    assert numbers(r"stands again, tilted by (\S+) deg", said)[0] < 1.0
    motion = engine.load_trajectory(tmp_path / "quadruped.h5")
    tilt = np.degrees(np.arccos(quaternion.to_matrix(motion.q[:, :4])[:, 2, 2]))
    gap, force = motion("contacts.gap"), motion("contacts.force")
    assert tilt.max() < 15.0 and motion.q[:, 6].min() > 0.28                    # it does not fall
    assert 1.0 < motion.q[-1, 4] < 0.4 * 5.0 and abs(motion.q[-1, 5]) < 0.1    # but walks, along x
    assert (gap.max(axis=0) > 0.05).all() and gap.min() > -3e-3                # on all feet, which do not sink
    carried = force[..., 2].sum(axis=1)[motion.t > 2.5].mean()
    assert abs(carried / weight - 1.0) < 0.05                                  # the ground carries its weight, on average
    rubs, slides = np.linalg.norm(force[..., :2], axis=-1), 0.8 * force[..., 2]
    assert (rubs <= 1.1 * slides + 0.03 * weight).all()                        # friction is of the normal forces of one pass before
    assert np.abs(motion.v[-1]).max() < 0.05


@pytest.mark.parametrize("released", [1, 2])
def test_as_many_balls_fly_off_as_were_let_go(demo, released):
    said = demo("cradle", "--released", released, "--duration", 1, looks=released == 1)
    (hit,) = numbers(r"at (\S+) m/s\n", said)
    assert abs(hit - np.sqrt(2 * 9.81 * 0.6 * (1 - np.cos(np.radians(25.0))) / (1 + 0.4 * (0.05 / 0.6) ** 2))) < 0.005
    u = [float(x) for x in re.search(r"then +(.*) m/s", said).group(1).split()]
    assert np.abs(u[: 5 - released]).max() < 0.01 * hit and np.abs(np.array(u[5 - released :]) / hit - 1.0).max() < 0.015
    left, theirs = numbers(r"momentum +(\S+) % is left, (\S+) % of it", said)
    assert abs(left - 100.0) < 0.2 and theirs > 99.0


def test_balls_that_touch_share_the_blow(demo):
    said = demo("cradle", "--gap", 0, "--duration", 0.5, looks=False)
    u = [float(x) for x in re.search(r"then +(.*) m/s", said).group(1).split()]
    assert u[0] < -0.1 and u[3] > 0.2 and u[4] < 1.0
    assert abs(numbers(r"momentum +(\S+) % is left", said)[0] - 100.0) < 0.2


def test_stack(demo, tmp_path):
    said = demo("stack", "--boxes", 2)
    loads = [float(x) for x in re.search(r"with (.*) boxes' weights", said).group(1).split(", ")]
    assert np.abs(np.array(loads) - [2.0, 1.0]).max() < 0.03
    motion = engine.load_trajectory(tmp_path / "stack.h5")
    standing = motion.t < 0.6
    tops = np.array([motion.pose(f"box{k}/box")[:, :3, 3] for k in range(2)])
    assert np.ptp(tops[:, standing], axis=1).max() < 2e-3                      # it stands
    assert tops[1, -1, 2] < 0.25                                               # and falls
    assert (tops[..., 2] > 0.1 - 0.01).all()                                   # nothing into the ground
    begun, left = numbers(r"energy +(\S+) J, (\S+) J at the end", said)
    assert left < begun


def test_wall(demo, tmp_path):
    """Only the ground takes momentum from the ball and the boxes, and only springs give energy back."""
    said = demo("wall", "--side", 2, "--every", 1, "--dt", 2e-3, "--duration", 1.6, "--speed", 3)
    motion = engine.load_trajectory(tmp_path / "wall.h5")
    t, P, force = motion.t, motion.momentum()[:, 3:], motion("contacts.wrench")[..., 3:].sum(axis=1)
    force[:, 2] -= (8 * 1.0 + 40.0) * 9.81
    each = np.abs(np.diff(P, axis=0) - np.diff(t)[:, None] * force[:-1])
    assert each.max() < 1e-6 * np.abs(P).max()                                 # what the solver may leave
    assert P[0, 0] == 120.0 and P[-1, 0] < 60.0
    assert numbers(r"on (\S+) of its weight, and gives way by (\S+) mm", said) == [1.0, 0.0]
    begun, left, nowhere = numbers(r"energy +(\S+) J, (\S+) J at the end; .* (\S+) J of it from nowhere", said)
    assert left < 0.3 * begun and nowhere == 0.0
    fallen, boxes, still = numbers(r"s: (\S+) of (\S+) boxes come down; (\S+) of them all are at rest at the end", said)
    assert fallen >= 2 and boxes == 8 and still >= 2


def as_one(motion, k):
    """The angular velocity, in world axes, at which all of a robot turns that has the angular momentum of record k and bends no more."""
    model, q, v = motion.model, motion.q[k], motion.v[k]
    P, c, I = dynamics.momentum(model, q, v), dynamics.center_of_mass(model, q), np.zeros((3, 3))
    for link, T in zip(model.links, dynamics.forward_kinematics(model, q), strict=True):
        center = se3.pose(np.eye(3), T[:3, :3].T @ (c - T[:3, 3]))
        X = se3.Ad(center)                                                     # from the centre of mass of all to the link
        I += T[:3, :3] @ (X.T @ link.inertia @ X)[:3, :3] @ T[:3, :3].T
    return np.linalg.solve(I, P[:3] - np.cross(c, P[3:]))


def conserved(motion, until):
    """Momentum at most a rounding a step away from what it was."""
    P = motion.momentum()[motion.t < until]
    bound = until / 2e-3 * np.finfo(float).eps * np.abs(P).max()
    return np.abs(P - P[0]).max() < bound


def test_grasp(demo, tmp_path):
    """Until the wheels begin, what no arm can take away; then they take it in."""
    said = demo("grasp")
    motion = engine.load_trajectory(tmp_path / "grasp.h5")
    t, q, force = motion.t, motion.q, motion("contacts.force").reshape(len(motion), 2, 2, 3).sum(axis=2)
    closed = motion("grip.closed") > 0.5
    k, touch = int(closed.argmax()), int(force.any(axis=(1, 2)).argmax())
    assert closed[k:].all() and 15.0 < t[touch] < t[k] == 17.5 and not motion.warnings
    begin = int(np.searchsorted(t, 28.0))                                      # when the wheels do
    assert conserved(motion, 28.0)                                             # through touch, grip and brake
    twists = motion.robot.twists(q[k + 1 :], motion.v[k + 1 :])
    T, a, b = motion.poses()[k + 1 :], motion.model.link_index("servicer/gripper"), motion.model.link_index("target/handle")
    beside = twists[:, b] - np.einsum("tij,tj->ti", se3.Ad(se3.inv(T[:, b]) @ T[:, a]), twists[:, a])
    assert np.abs(beside).max() < 1e-9
    rests = t > 40.0                                                           # a finger's motor, a spring, against that of two points
    share = 0.5 * (1.0 + 2 * 0.05 / (2 * 0.05 + 2 * 0.06))                     # of a bar across a pad: between a point and all its face
    pushes, depth = 3000.0 * (q[rests, 14:16] - 0.002), -motion("contacts.gap")[rests].reshape(-1, 2, 2).sum(axis=2)
    across = T[rests[k + 1 :], a, :3, 0]                                       # the way that fingers go
    presses = np.einsum("tfi,ti->tf", force[rests], across)
    assert np.abs(np.abs(presses) / pushes - 1.0).max() < 1e-4
    # beside a grip that holds the handle, nothing but the past tells what friction is along the pads: it is what was left when the grip
    # closed, anything within the cone, of the harmonic mean of 0.8 and 0.6
    rubs = np.linalg.norm(force[rests] - presses[..., None] * across[:, None], axis=-1)
    assert (rubs <= 2 * 0.8 * 0.6 / (0.8 + 0.6) * pushes * (1.0 + 1e-3)).all()
    assert np.abs(pushes / (share * depth * 5e4 * 1e6 / (5e4 + 1e6)) - 1.0).max() < 1e-2
    assert numbers(r"press with (\S+) N and (\S+) N", said) == pytest.approx([28.75, 28.75], abs=0.1)
    # the joints' rates die out as e^(−0.7 t), from what they are once the brake is on: friction beside the grip pushes them a little, to
    # the first order of the step, so that of what is left after 8 s, a 270th, this is 3 %
    joints, late = np.abs(motion.v[:, 6:13]).max(axis=1), (t >= 20.0) & (t <= 28.0)
    first = joints[late][0]
    assert np.abs(joints[late] - first * np.exp(-0.7 * (t[late] - t[late][0]))).max() < 3e-3 * first
    R = quaternion.to_matrix(q[-1, :4])
    rates = np.abs(motion.v[-1, 6:13]).max()                                   # by friction, as long as the wheels still turn it
    assert np.abs(R @ motion.v[-1, :3] - as_one(motion, -1)).max() < rates < 5e-5
    assert np.degrees(np.linalg.norm(motion.v[begin, :3])) > 0.2               # the spin that no arm can take away
    before, left = numbers(r"as one (\S+) deg/s, (\S+) deg/s", said)
    assert left < 0.01 * before
    P, held = motion.momentum(), motion("wheels.angular_momentum")[-1]
    L = P[-1, :3] - np.cross(dynamics.center_of_mass(motion.model, motion.q[-1]), P[-1, 3:])
    assert np.abs(held - L).max() < 0.01 * np.linalg.norm(L) and np.abs(P - P[0]).max() < 1e-6 * np.abs(P).max()


def test_a_quadruped_that_is_not_there_says_what_to_install(demo, monkeypatch):
    monkeypatch.setattr(sysconfig, "get_path", lambda name: "/nowhere")
    with pytest.raises(SystemExit, match=r"^error: .*; expected it: pip install example-robot-data$"):
        demo("quadruped")


@pytest.mark.parametrize(("name", "option", "x", "message"), [("cradle", "--gap", -0.1, "overlap by 0.1 m"),
                                                              ("stack", "--dt", -1, "dt is -1"), ("quadruped", "--dt", 0, "dt is 0"),
                                                              ("grasp", "--dt", 0, "dt is 0")])
def test_bad_input_is_one_sentence(demo, name, option, x, message):
    with pytest.raises(SystemExit, match=f"^error: .*{message}"):
        demo(name, option, x)
