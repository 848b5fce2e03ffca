"""The momentum of floating trees that grips may join: of each alone while its grips are open, of all that are joined while they are
closed, at steps at which the method alone would lose it."""

import functools

import numpy as np
import pytest

import engine
from engine import dynamics, ops
from engine.dynamics.gripped_momentum import Join, with_momenta
from engine.dynamics.momentum_conservation import central_momentum, floating_trees
from engine.spatial import inertia
from tests.constraints.mechanisms import at, rod

AWAY = {"gravity": (0.0, 0.0, 0.0)}
DT = 0.08
ROUNDING = 1e-13


def swinging(name):
    """A body with an arm that swings against it, and ends at its stops."""
    builder = engine.Builder(name)
    builder.add_link("base", inertia=inertia.box(5.0, (1.0, 0.5, 0.3)))
    builder.add_link("arm", inertia=rod(2.0, 0.8))
    builder.add_joint("swing", "revolute", "base", "arm", at(0.5, 0, 0), axis=(0, 1, 0), limits=engine.Limits(-0.5, 0.5))
    return builder.model(floating_base=True)


def three(seed=0, names="abc"):
    """Bodies with arms, far from each other, and a state in which all tumble."""
    model = engine.combine(**{name: swinging(name) for name in names})
    q, v = model.neutral(), 0.5 * np.random.default_rng(seed).standard_normal(model.nv)
    for k, name in enumerate(names):
        q[model.q_slice(f"{name}/floating_base")][4:] = [3.0 * k, 0.5 * k, -k]
    return model, q, v


def during(t, begins, ends):
    """1 between two times, else 0."""
    return ops.where(ops.logical_and(t > begins, t < ends), 1.0, 0.0)


def momenta(model, run, trees):
    """The momenta (T, 6) of sets of trees, about their centre of mass and linear."""
    return [np.array([central_momentum(model, tree, q, v)[:6] for q, v in zip(run.q, run.v, strict=True)]) for tree in trees]


def changed(P):
    """How much of momenta (T, 6) is not what it was at first, of the largest."""
    return np.abs(P - P[0]).max() / np.abs(P[0]).max()


@functools.cache
def with_an_open_grip(other, compiled=True):
    model = three(names="ab")[0]
    return engine.Simulator(model, dt=DT, constraints=[engine.Grip("a/arm", other)], controller=lambda t, q, v: {"grip": 0.0},
                            compiled=compiled, **AWAY)  # fmt: skip


@pytest.mark.parametrize(("other", "compiled"), [("b/base", True), ("b/base", False), ("world", True)])
def test_each_tree_alone_keeps_its_momentum_while_a_grip_is_open(other, compiled):
    model, q, v = three(names="ab")
    run = with_an_open_grip(other, compiled).run(q, v, 4.0 if compiled else 0.4)
    assert max(map(changed, momenta(model, run, floating_trees(model)))) < ROUNDING


def test_errors_are_relative_to_what_a_momentum_is_the_sum_of():
    """An arm that swings on a body which is at rest with it as a whole: its momentum is zero, and errors are small all the same."""
    model, q, v = three(names="ab")
    push = np.zeros(model.nv)
    push[model.v_slice("a/swing")] = 0.1
    run = engine.Simulator(model, dt=0.01, constraints=[engine.Grip("a/arm", "b/base")], **AWAY,
                           controller=lambda t, q, v: {"tau": push, "grip": 0.0}).run(q, 0.0 * v, 1.0)  # fmt: skip
    assert np.abs(run.v[-1]).max() > 0.01 and run.defect[-1] < 1e-4 and not run.warnings


def test_an_open_grip_changes_nothing():
    """A run is that without it, to rounding."""
    model, q, v = three(names="ab")
    x, y = (s.run(q, v, 2.0) for s in (engine.Simulator(model, dt=DT, **AWAY), with_an_open_grip("b/base")))
    assert np.abs(x.q - y.q).max() < 1e-9


def test_trees_that_one_grip_joins_are_one_beside_a_third_and_part_with_what_they_have():
    """First all are alone, then the first grip joins two, then the second all three, then none is joined."""
    model, q, v = three()
    a, b, c = floating_trees(model)

    def controller(t, q, v):
        return {name: during(t, begins, 2.99) for name, begins in (("one", 0.99), ("two", 1.99))}

    grips = [engine.Grip("a/arm", "b/base", name="one"), engine.Grip("b/arm", "c/base", name="two")]
    simulator = engine.Simulator(model, dt=0.02, constraints=grips, controller=controller, **AWAY)
    run = simulator.run(q, v, 4.0)
    for begin, end, kept in ((0.0, 0.98, (a, b, c)), (1.02, 1.98, (a + b, c)), (2.02, 2.98, (a + b + c,)), (3.02, 4.0, (a, b, c))):
        then = (run.t > begin - 1e-9) & (run.t < end + 1e-9)
        for tree, P in zip(kept, momenta(model, run, kept), strict=True):
            assert changed(P[then]) < ROUNDING, (begin, tree)
    P = run.momentum(about="center_of_mass")
    assert changed(P) < ROUNDING                                # of all, through impulses that close and let go
    alone = momenta(model, run, (a,))[0]
    assert np.abs(alone[-1] - alone[0]).max() > 0.1             # they did push each other


def test_what_a_grip_lets_go_of_the_world_goes_on():
    model, q, v = three(names="ab")
    a, b = floating_trees(model)
    run = engine.Simulator(model, dt=0.02, constraints=[engine.Grip("a/base", "world")],
                           controller=lambda t, q, v: {"grip": during(t, 0.5, 1.0)}, **AWAY).run(q, v, 3.0)  # fmt: skip
    (P, Q), held = momenta(model, run, (a, b)), run("grip.closed") > 0.5
    assert changed(P[run.t < 0.5]) < ROUNDING and changed(P[run.t > 1.03]) < ROUNDING and changed(Q) < ROUNDING
    assert np.abs(run.v[1:][held[1:]][2:, :6]).max() < 1e-12 and np.abs(np.diff(P[held], axis=0)).max() > 1e-4
    assert np.abs(P[-1]).max() > 1e-3                           # the arm swung while its base was held


def test_a_sum_is_set_right_by_one_rigid_motion():
    """The distribution among joined trees: their sum is that which is wanted, what is alone has its own, what stands does not move."""
    model, q, v = three()
    trees = floating_trees(model)
    P = np.array([central_momentum(model, tree, q, v) for tree in trees])
    wanted = P + 0.1 * np.random.default_rng(1).standard_normal(P.shape)
    q1, v1, then, moved = with_momenta(model, trees, q, v, wanted, [Join(0, 1, 1.0), Join(1, 2, 0.0), Join(2, -1, 0.0)])
    found = np.array([central_momentum(model, tree, q1, v1) for tree in trees])
    assert np.abs(found - then).max() < 1e-12 and np.abs(then[2] - wanted[2]).max() == 0.0
    joint = trees[0] + trees[1]
    centre = np.average(wanted[:2, 6:], axis=0)                 # they have the same mass
    L = sum(row[:3] + np.cross(row[6:] - centre, row[3:6]) for row in wanted[:2])
    assert np.abs(central_momentum(model, joint, q1, v1) - np.concatenate([L, wanted[:2, 3:6].sum(axis=0), centre])).max() < 1e-12
    places = [dynamics.forward_kinematics(model, x)[[model.link_index("a/arm"), model.link_index("b/base")]] for x in (q, q1)]
    before, after = (np.linalg.inv(T[0]) @ T[1] for T in places)
    assert np.abs(after - before).max() < 1e-12
    _, v2, then, moved = with_momenta(model, trees, q, v, wanted, [Join(0, 1, 1.0), Join(1, 2, 0.0), Join(0, -1, 1.0)])
    width = model.v_slice("c/floating_base").start
    assert (v2[:width] == v[:width]).all() and np.abs(then[:2] - P[:2]).max() < 1e-15 and not moved[:2].any()


def test_lost_momentum_beside_constraints_is_warned_of():
    model, q, v = three(names="ab")
    q[model.q_slice("a/swing")], v = 0.2, np.where(np.abs(v) > 0.0, 0.0, v)
    for name in "ab":
        v[model.v_slice(f"{name}/floating_base")][:3] = [0.3, 4.0, 0.2]
    grip = {"constraints": [engine.Grip("a/arm", "b/base")], "controller": lambda t, q, v: {"grip": 0.0}}
    simulator = engine.Simulator(model, dt=DT, conserve_momentum=False, **grip, **AWAY)
    with pytest.warns(engine.SimulationWarning, match="the momentum, which nothing outside changes, is"):
        simulator.run(q, v, 20.0)


def test_a_tumbling_satellite_is_gripped_braked_at_the_arms_stops_and_brought_to_rest():
    """7800 kg at 3 °/s, and a servicer of 500 kg that turns along: the momentum is kept through grip and stops until wheels have it."""
    builder, ring = engine.Builder("servicer"), engine.Builder("envisat")
    builder.add_link("bus", inertia=inertia.box(500.0, (1.5, 1.4, 1.2)))
    for name, above, axis in (("yaw", "bus", (0, 0, 1)), ("elbow", "yaw", (0, 1, 0))):
        builder.add_link(name, inertia=rod(8.0, 1.2))
        builder.add_joint(name, "revolute", above, name, at(1.0, 0.1, 0.0), axis=axis, limits=engine.Limits(-0.1, 0.1))
    heavy = inertia.from_mass(7800.0, np.zeros(3), np.diag([17023.0, 124825.0, 129112.0]))
    centre, spin = np.array([3.0, 0.0, 0.5]), np.radians(3.0) * np.array([0.6, -0.64, 0.48])
    ring.add_link("ring", inertia=inertia.transformed(at(*centre), heavy))
    model = engine.combine(servicer=builder.model(floating_base=True), envisat=ring.model(floating_base=True))
    base, target, arm = model.v_slice("servicer/floating_base"), model.v_slice("envisat/floating_base"), slice(6, 8)
    q, v = model.neutral(), np.zeros(model.nv)
    q[model.q_slice("envisat/floating_base")][4:] = dynamics.forward_kinematics(model, q)[model.link_index("servicer/elbow")][:3, 3]
    v[target] = np.concatenate([spin, -np.cross(spin, centre)])
    v[base] = np.linalg.solve(dynamics.jacobian(model, q, "servicer/elbow")[:, base], v[target])
    v[arm] = [0.02, -0.03]                                      # what the stops brake

    def controller(t, q, v):
        brake, wheels = (ops.where(t > begins, 1.0, 0.0) for begins in (40.0, 45.0))
        tau = np.concatenate([np.zeros(6), -2000.0 * brake * v[arm], np.zeros(6)])
        return {"grip": ops.where(t > 0.99, 1.0, 0.0), "tau": tau, "wheels": -2e4 * wheels * v[base][:3]}

    wheels = engine.components.actuators.ReactionWheels("servicer/bus", torque=50.0)
    run = engine.Simulator(model, dt=0.02, controller=controller, actuators=[wheels], **AWAY,
                           constraints=[engine.Grip("servicer/elbow", "envisat/ring")]).run(q, v, 240.0)  # fmt: skip
    turns, stops = np.degrees(np.linalg.norm(run.v[:, target][:, :3], axis=1)), np.abs(run("stops.force")[:, arm]).max(axis=1)
    P = run.momentum(about="center_of_mass")
    assert abs(turns[0] - 3.0) < 1e-12 and turns[-1] < 0.05 and stops[(run.t > 1.0) & (run.t < 40.0)].max() > 1.0
    assert changed(P[run.t < 45.0]) < ROUNDING and changed(P) < 1e-8                  # wheels by the method
    assert np.linalg.norm(run("wheels.momentum")[-1]) > 0.99 * np.linalg.norm(P[0, :3])
    assert np.abs(run("constraints.error")).max() < 1e-12
