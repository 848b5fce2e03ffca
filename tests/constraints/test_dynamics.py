"""Constraints on random trees: Jacobians and biases by differences, d'Alembert, other routes, Pinocchio and MuJoCo."""

import numpy as np
import pinocchio as pin
import pytest

import engine
from engine import dynamics
from engine.constraints import Ball, Coupling, Distance, Hinge, Loops, Slider, Weld, constrained_dynamics, constrained_inverse_dynamics
from engine.constraints.multipliers import schur
from engine.spatial import inertia, quaternion, se3
from tests.constraints.mechanisms import four_bars, upright
from tests.dynamics.oracle_pinocchio import Pinocchio, built
from tests.numeric import check_lives, derivative
from tests.trees import random_tree

KINDS = ("revolute", "prismatic", "spherical", "continuous")


def vectors(rng, n):
    return [rng.uniform(-1, 1, 3) for _ in range(n)]


def random_constraints(rng, model, far=True):
    """One of each kind, between links that are not welded together; open, unless by chance."""
    names = [link.name for link in model.links]

    def pair():
        while True:
            a, b = rng.choice(names, 2, replace=False)
            i, j = (model.carrier[model.link_index(n)][0] for n in (a, b))
            if i != j:
                return str(a), str(b)

    single = [b.joint.name for b in model.bodies if b.kind.nv == 1]
    pose = se3.pose(quaternion.to_matrix(quaternion.random(rng)), rng.uniform(-1, 1, 3))
    return [Ball(*pair(), *vectors(rng, 2)), Hinge(*pair(), *vectors(rng, 4)), Weld(*pair(), pose), Slider(*pair(), *vectors(rng, 4)),
            Distance(*pair(), *vectors(rng, 2), 0.7), Coupling(*single[:2], 0.5, 0.1)]  # fmt: skip


def tree(seed, n=9):
    rng = np.random.default_rng(seed)
    model = random_tree(rng, n, KINDS, floating_base=bool(seed % 2))
    return rng, model, *model.random(rng)


# ---------------------------------------------------------------- laws


@pytest.mark.parametrize("seed", range(6))
def test_jacobian_and_bias_are_the_rates_of_the_residual(seed):
    rng, model, q, v = tree(seed)
    vdot = rng.standard_normal(model.nv)
    loops = Loops(model, random_constraints(rng, model))

    def along(t):
        return model.manifold.plus(q, t * v + 0.5 * t * t * vdot)

    J = loops.jacobian(q, {})
    rate = derivative(lambda t: loops.residual(along(t), {}), 1 / 256)
    assert np.abs(rate - J @ v).max() < 1e-9 * max(1.0, np.abs(rate).max())
    rates = derivative(lambda t: loops.jacobian(along(t), {}) @ (v + t * vdot), 1 / 256)
    if not any(b.kind.name == "spherical" for b in model.bodies) and not model.floats:      # the velocity along ⊕ is not v + t v̇ there
        assert np.abs(rates - J @ vdot - loops.bias(q, v, {})).max() < 1e-9 * max(1.0, np.abs(rates).max())
    turned = derivative(lambda t: loops.jacobian(model.manifold.plus(q, t * v), {}) @ v, 1 / 256)
    assert np.abs(turned - loops.bias(q, v, {})).max() < 1e-9 * max(1.0, np.abs(turned).max())


@pytest.mark.parametrize("seed", range(6))
def test_forces_do_no_work_and_what_is_inside_a_robot_has_exact_zeros_at_its_base(seed):
    rng, model, q, v = tree(2 * seed + 1, 12)
    loops = Loops(model, random_constraints(rng, model)[:2])
    J = loops.jacobian(q, {})
    below = [j for body in model.bodies if body.parent >= 0 for j in range(body.v.start, body.v.stop)]
    assert not J[:, [j for j in range(model.nv) if j not in below]].any()
    v = v - np.linalg.pinv(J) @ J @ v
    _, force = constrained_dynamics(model, loops.constraints, q, v, rng.standard_normal(model.nv))
    assert abs(force @ (J @ v)) < 1e-12 * np.abs(force).max() * np.abs(J).max() * np.abs(v).max()


# ---------------------------------------------------------------- other routes


def closed_at(rng, model, q, v):
    """A weld and a ball that are closed at q, and the velocity nearest to v that they allow."""
    poses = dict(zip([link.name for link in model.links], dynamics.forward_kinematics(model, q), strict=True))
    a, b, c, d = (str(n) for n in rng.choice([n for n in poses if n != "l0"], 4, replace=False))
    point = rng.uniform(-1, 1, 3)
    found = [Weld(a, b, se3.inv(poses[a]) @ poses[b]), Ball(c, d, point, (se3.inv(poses[d]) @ poses[c] @ [*point, 1.0])[:3])]
    J = Loops(model, found).jacobian(q, {})
    return found, v - np.linalg.pinv(J) @ J @ v


@pytest.mark.parametrize("seed", range(6))
def test_the_whole_system_of_equations_at_once(seed):
    """[[M, −Jᵀ], [J, 0]] [v̇; λ] = [τ − b; −J̇v] by least squares: the smallest λ where some are redundant."""
    rng, model, q, v = tree(seed, 14)
    constraints, v = closed_at(rng, model, q, v)
    constraints += constraints[:1] if seed % 2 else []                        # one is there twice
    tau, loops = rng.standard_normal(model.nv), Loops(model, constraints)
    M, J = dynamics.crba(model, q), loops.jacobian(q, {})
    r = np.concatenate([tau - dynamics.bias(model, q, v), -loops.bias(q, v, {})])
    A = np.block([[M, -J.T], [J, np.zeros((len(J), len(J)))]])
    x = np.linalg.lstsq(A, r, rcond=1e-12)[0]
    vdot, force = constrained_dynamics(model, constraints, q, v, tau)
    assert np.abs(vdot - x[: model.nv]).max() < 1e-9 * np.abs(x[: model.nv]).max()
    assert np.abs(force - x[model.nv :]).max() < 1e-7 * np.abs(force).max()


@pytest.mark.parametrize("seed", (1, 3, 5))
def test_redundant_loops_that_are_not_quite_closed_contradict_one_another_and_leave_the_forces_small(seed):
    rng, model, q, v = tree(seed, 14)
    constraints, v = closed_at(rng, model, q, v)
    constraints += constraints[:1]
    tau = rng.standard_normal(model.nv)
    _, force = constrained_dynamics(model, constraints, q, v, tau)
    _, beside = constrained_dynamics(model, constraints, q, v * (1.0 + 1e-8), tau)
    moved = model.integrate(q, rng.standard_normal(model.nv), 1e-9)
    _, apart = constrained_dynamics(model, constraints, moved, v, tau)
    assert np.abs(np.array([beside, apart]) - force).max() < 1e-5 * np.abs(force).max()


@pytest.mark.parametrize("length", (0.02, 1.0, 50.0))
def test_whether_loops_are_redundant_is_no_matter_of_units(length):
    """What must not shift has r² of the Λ of what must not turn, and is not weak for that; two hinges on one axis are, at any size."""
    door = engine.Builder("door")
    door.add_link("wall"), door.add_link("door", inertia=inertia.box(2.0, (length, 0.1 * length, 2.0 * length)))
    door.add_joint("free", "floating", "wall", "door")
    model, up = door.model(), np.array([0.0, 0.0, 1.0])
    hinges = [Hinge("wall", "door", np.zeros(3), x, up, up) for x in (-0.4 * length * up, 0.4 * length * up)]
    loops = [Loops(model, hinges[:n]) for n in (1, 2)]
    assert [bool(schur(model, each, model.neutral(), {}).weak) for each in loops] == [False, True]


def test_plain_interpreted_and_compiled():
    """The relative tolerance is that of LDLᵀ: the condition of Λ + μ on what moves (below 1e6 here) times some ulp."""
    for seed in (0, 1):
        rng, model, *_ = tree(seed, 12)
        ball, hinge, _, _, distance, coupling = random_constraints(rng, model)
        constraints = [ball, distance] if seed else [hinge, coupling]
        samples = [model.random(rng) for _ in range(10)]
        check_lives(lambda q, v, tau, c=constraints, m=model: constrained_dynamics(m, c, q, v, tau), np.array([s[0] for s in samples]),
                    np.array([s[1] for s in samples]), rng.standard_normal((10, model.nv)), tolerance=1e-9)  # fmt: skip


# ---------------------------------------------------------------- references


@pytest.mark.parametrize("seed", range(8))
def test_pinocchio(seed):
    rng, model, q, v = tree(seed, 14)
    constraints, v = closed_at(rng, model, q, v)
    tau, theirs = rng.standard_normal(model.nv), built(model)
    peer = Pinocchio(model, theirs, (0.0, 0.0, -9.81))
    contacts, data = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for c in constraints:
        ends = []
        for link, frame in zip((c.link_a, c.link_b), c.frames(), strict=True):
            own = theirs.frames[peer.frame(link)]
            ends += [own.parentJoint, own.placement * pin.SE3(frame)]
        kind = pin.ContactType.CONTACT_6D if isinstance(c, Weld) else pin.ContactType.CONTACT_3D
        contacts.append(pin.RigidConstraintModel(kind, theirs, *ends, pin.LOCAL))
        data.append(contacts[-1].createData())
    pin.initConstraintDynamics(theirs, peer.data, contacts, data)
    settings = pin.ProximalSettings(1e-14, 1e-10, 50)
    expected = pin.constraintDynamics(theirs, peer.data, peer.q(q), peer.v(v), peer.v(tau), contacts, data, settings)[peer.order]
    vdot, force = constrained_dynamics(model, constraints, q, v, tau)
    assert np.abs(vdot - expected).max() < 1e-9 * np.abs(expected).max()
    first, second = (d.contact_force for d in data)                            # on the first of the two
    theirs_on_b = -np.concatenate([first.angular, first.linear, second.linear])
    redundant = np.linalg.matrix_rank(Loops(model, constraints).jacobian(q, {}), tol=1e-9) < len(force)
    assert np.abs(force - theirs_on_b).max() < (1e-3 if redundant else 1e-8) * np.abs(force).max()


# ---------------------------------------------------------------- inverse dynamics


@pytest.mark.parametrize("seed", range(4))
def test_inverse_dynamics_undoes_forward_dynamics(seed):
    """Torques that all joints share are the smallest that make the motion; those that made it do the same work on whatever may move."""
    rng, model, q, v = tree(2 * seed, 12)
    constraints, v = closed_at(rng, model, q, v)
    tau = rng.standard_normal(model.nv)
    vdot, _ = constrained_dynamics(model, constraints, q, v, tau)
    names = [b.joint.name for b in model.bodies]
    found = constrained_inverse_dynamics(model, constraints, q, v, vdot, names)
    again, forces = constrained_dynamics(model, constraints, q, v, found.tau)
    assert np.abs(again - vdot).max() < 1e-7 * np.abs(vdot).max()
    assert np.linalg.norm(found.tau) <= np.linalg.norm(tau)
    J = Loops(model, constraints).jacobian(q, {})
    assert found.free == np.linalg.matrix_rank(J, tol=1e-9) and np.abs(J.T @ (found.forces - forces)).max() < 1e-6 * np.abs(tau).max()


def test_one_motor_drives_a_four_bar():
    model, loops = four_bars(1)
    q, v = upright(model, 1.0, 2.0)
    tau = np.zeros(3)
    tau[model.v_slice("pivot0")] = 3.0
    vdot, _ = constrained_dynamics(model, loops, q, v, tau)
    found = constrained_inverse_dynamics(model, loops, q, v, vdot, ["pivot0"])
    assert np.abs(found.tau - tau).max() < 1e-9 and found.free == 0
    with pytest.raises(engine.ConstraintError, match="vdot opens the constraints, by "):
        constrained_inverse_dynamics(model, loops, q, v, vdot + [0, 1, 0], ["pivot0"])
    with pytest.raises(engine.ConstraintError, match=r"the joints \(none\) cannot make this motion"):
        constrained_inverse_dynamics(model, loops, q, v, vdot, [])
