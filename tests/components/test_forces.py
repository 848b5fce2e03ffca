"""Springs, friction, stops, forces on links and the gravity of a distant centre, against closed forms and second routes."""

import re

import numpy as np
import pytest
from scipy.special import ellipk

import engine
from engine import dynamics
from engine.components.actuators import ReactionWheels
from engine.components.forces import CentralGravity, JointFriction, JointSpring, JointStops, PointForce
from engine.spatial import inertia, quaternion, se3, so3
from tests.simulation.test_simulator import pendulum, slider
from tests.trees import random_tree

AWAY = {"gravity": (0, 0, 0)}


# ---------------------------------------------------------------- springs, friction, stops


@pytest.mark.parametrize("ratio", [0.0, 0.2, 0.999, 3.0])
def test_spring_and_damper(ratio):
    """m ẍ + d ẋ + k (x − x0) = 0 below, at and above the critical damping: (x, ẋ) by the eigenvalues −ζω ± ω√(ζ² − 1)."""
    m, k, x0 = 2.0, 18.0, 0.3
    w = np.sqrt(k / m)
    spring = JointSpring("slide", stiffness=k, rest=x0, damping=2 * ratio * w * m)
    trajectory = engine.Simulator(slider(m), dt=1e-3, forces=[spring], **AWAY).run([1.0], [-0.5], 3.0)
    s = -ratio * w + np.array([1, -1]) * w * np.sqrt(complex(ratio**2 - 1))
    amplitudes = np.linalg.solve(np.array([[1, 1], s]), [1.0 - x0, -0.5])
    e = amplitudes * np.exp(np.outer(trajectory.t, s))
    assert np.abs(trajectory.q[:, 0] - x0 - e.sum(1).real).max() < 1e-11
    assert np.abs(trajectory.v[:, 0] - (e @ s).real).max() < 1e-10
    assert np.abs(trajectory("spring of slide.power") - (-k * (e.sum(1)) - spring.damping * (e @ s)).real * (e @ s).real).max() < 1e-8


def test_damping_and_friction_of_the_file():
    """From v on, m v̇ = −f v/√(v² + s²) takes the time (F(v) − F(v'))·m/f, F = √(v² + s²) − s artanh(s/√(v² + s²))."""
    m, f, v0 = 2.0, 3.0, 1.5
    stops = []
    for slow in (1e-2, 5e-3):
        model = slider(m, friction=f)
        trajectory = engine.Simulator(model, dt=1e-4, forces=[JointFriction(slow=slow)], **AWAY).run([0.0], [v0], 1.2, record_every=100)
        v = trajectory.v[:, 0]
        moving = v > 1e-6
        r, r0 = np.hypot(v[moving], slow), np.hypot(v0, slow)
        taken = (r0 - slow * np.arctanh(slow / r0) - r + slow * np.arctanh(slow / r)) * m / f
        assert moving.sum() > 90 and np.abs(taken - trajectory.t[moving]).max() < 1e-9
        before = trajectory.t < m * v0 / f - 20 * slow * m / f
        assert np.abs(v - (v0 - f / m * trajectory.t))[before].max() < slow  # Coulomb's straight line, to the smoothing
        stops.append(trajectory.q[-1, 0] - m * v0**2 / (2 * f))
    assert abs(stops[1]) < 5e-3**2 * 3 and 3 < stops[0] / stops[1] < 5  # Coulomb's distance, to the smoothing's square
    damped = engine.Simulator(slider(m, damping=0.7), dt=1e-3, **AWAY).run([0.0], [v0], 2.0)
    assert np.abs(damped.v[:, 0] - v0 * np.exp(-0.7 / m * damped.t)).max() < 1e-12
    assert np.abs(damped("friction.power") + 0.7 * damped.v[:, 0] ** 2).max() < 1e-12


@pytest.mark.parametrize(("mode", "slow"), [("explicit", 1e-3 / 0.8), ("auto", 5e-7)])
def test_a_joint_at_rest_under_less_than_its_friction_creeps_as_documented(mode, slow):
    """τ = f v/s with s = 5e-7; explicitly τ = f v/√(v² + s²) with s = 1e-3, at v = s τ/√(f² − τ²): here 1/0.8 of s τ/f."""
    simulator = engine.Simulator(slider(friction=3.0), dt=1e-4, controller=lambda t, q, v: np.array([1.8]), joint_dynamics=mode, **AWAY)
    v = simulator.run([0.0], [0.0], 0.05, record_every=500).v[-1, 0]
    assert abs(v - slow * 1.8 / 3.0) < 1e-12


@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("dissipation", [0.0, 1.0, 3.0])
def test_bouncing_on_a_stop(side, dissipation):
    """v out of v in: χv + ln(1 − χv) = −χv' + ln(1 + χv') (Hunt & Crossley); without losses half a period πT."""
    limits = engine.Limits(lower=-0.5, upper=0.5)
    T, v0 = 0.01, 0.8
    simulator = engine.Simulator(slider(limits=limits), dt=1e-4, forces=[JointStops(time=T, dissipation=dissipation)], **AWAY)
    trajectory = simulator.run([0.0], [side * v0], 1.5)
    x, v = side * trajectory.q[:, 0], side * trajectory.v[:, 0]
    inside = trajectory.t[x > 0.5]
    out = -v[np.flatnonzero(x > 0.5)[-1] + 1]
    c = dissipation
    if c:
        assert 0 < out < v0 and abs(c * out + np.log(1 - c * out) - np.log(1 + c * v0) + c * v0) < 1e-5
    else:
        assert abs(out - v0) < 1e-5 and abs(np.ptp(inside) - np.pi * T) < 3e-4 and abs(x.max() - 0.5 - v0 * T) < 1e-5
    work = trajectory("stops.power").sum() * 1e-4
    assert abs(work - 0.5 * 2.0 * (out**2 - v0**2)) < 1e-4
    assert (trajectory("stops.power")[(x < 0.5)] == 0).all()


@pytest.mark.parametrize("dt", [1e-4, 1e-3, 1e-2])
def test_stops_are_as_stiff_at_any_step_and_hold_a_load(dt):
    """k = M/T² with T = 5 ms: a pendulum that hangs against a stop leans on it by τ/k, to the share that damping in flight has, h c/M."""
    arm = engine.Builder("leaning")
    arm.add_link("base"), arm.add_link("bob", inertia=inertia.from_mass(2.0, [0, 0, -1.0], np.zeros((3, 3))))
    arm.add_joint("pivot", "revolute", "base", "bob", axis=[0, 1, 0], limits=engine.Limits(lower=0.5, upper=2.0), damping=50.0)
    trajectory = engine.Simulator(arm.model(), dt=dt).run([0.6], [0.0], 5.0, record_every=100)
    q = trajectory.q[-1, 0]
    assert q < 0.5 and abs((0.5 - q) * 2.0 / (5e-3) ** 2 - 2.0 * 9.81 * np.sin(q)) < dt * 50.0 / 2.0 * 9.81


# ---------------------------------------------------------------- forces on links


@pytest.mark.parametrize("axes", ["world", "link"])
def test_point_force_is_its_jacobian_transposed(axes):
    """On a link of a random tree: τ = Jᵀ F, and F's power is the velocity of the point times f + ω·m."""
    rng = np.random.default_rng(3)
    model = random_tree(rng, 5, floating_base=True)
    q, v = model.random(rng)
    link, f, m, point = "l3", np.array([3.0, -2, 1]), np.array([0.5, 0.2, -1]), np.array([0.1, -0.3, 0.2])

    def by_jacobian(t, q, v, jacobian, pose):
        J = jacobian(link)
        Rt = pose(link)[:3, :3].T if axes == "world" else np.eye(3)
        at_point = J[3:] - so3.hat(point) @ J[:3]
        return at_point.T @ (Rt @ f) + J[:3].T @ (Rt @ m)

    one = engine.Simulator(model, dt=1e-3, forces=[PointForce(link, f, m, point, axes)]).run(q, v, 0.05)
    two = engine.Simulator(model, dt=1e-3, forces=[by_jacobian]).run(q, v, 0.05)
    assert np.abs(one.q - two.q).max() < 1e-12 * np.abs(one.q).max() and np.abs(one.v - two.v).max() < 1e-11 * np.abs(one.v).max()
    assert np.abs(one("force on l3.power") - two("by_jacobian.power")).max() < 1e-10 * np.abs(two("by_jacobian.power")).max()
    free = engine.Simulator(model, dt=1e-3).run(q, v, 0.05)
    assert np.abs(free.v[-1] - one.v[-1]).max() > 1e-3


# ---------------------------------------------------------------- a distant centre


def ball(mass=3.0) -> engine.Model:
    body = engine.Builder("ball")
    body.add_link("ball", inertia=inertia.sphere(mass, 1e-3))
    return body.model(floating_base=True)


def test_kepler():
    """A circle closes after 2π√(r³/μ), in metres and at the Earth; an ellipse keeps energy and momentum, and its vector of eccentricity."""
    mu = 3.986004418e14
    r = 7e6
    simulator = engine.Simulator(ball(), dt=5.0, forces=[CentralGravity()], **AWAY)
    start = np.array([1.0, 0, 0, 0, r, 0, 0]), np.array([0, 0, 0, 0, np.sqrt(mu / r), 0])
    round_ = simulator.run(*start, float(2 * np.pi * np.sqrt(r**3 / mu)))
    assert np.linalg.norm(round_.q[-1, 4:] - start[0][4:]) < 1e-8 * r
    assert np.abs(np.linalg.norm(round_.q[:, 4:], axis=1) - r).max() < 1e-9 * r
    center = np.array([0.5, -1, 2])
    ellipse = engine.Simulator(ball(), dt=2e-3, forces=[CentralGravity(mu=2.0, center=center)], **AWAY).run(
        np.concatenate([[1.0, 0, 0, 0], center + [1, 0, 0]]), [0, 0, 0, 0, 1.2, 0.8], 6.0)  # fmt: skip
    p, v = ellipse.q[:, 4:] - center, ellipse.v[:, 3:]
    d = np.linalg.norm(p, axis=1)
    for kept in (0.5 * np.vecdot(v, v) - 2.0 / d, np.cross(p, v), np.cross(v, np.cross(p, v)) / 2.0 - p / d[:, None]):
        assert np.abs(kept - kept[0]).max() < 1e-9
    assert np.ptp(d) > 0.05
    assert np.abs(ellipse("gravity.power") + 2.0 * 3.0 / d**3 * np.vecdot(p, v)).max() < 1e-12


def test_libration_in_a_circular_orbit():
    """About the pitch axis y: θ̈ = −(Ω²/2) sin 2θ, Ω = n √(3 (Ix − Iz)/Iy): from θ0 back to θ0 in (4/Ω) K(sin² θ0)."""
    I = np.array([3.0, 3.5, 1.2])
    body = engine.Builder("boom")
    offset = np.array([0.01, 0.02, -0.015])
    body.add_link("boom", inertia=inertia.from_mass(5.0, offset, np.diag(I)))
    model = body.model(floating_base=True)
    mu, r, theta = 1e9, 1e6, 0.6                                               # (size/r)² = 1e-12: the orbit is a circle to that
    n = np.sqrt(mu / r**3)
    period = 4 / (n * np.sqrt(3 * (I[0] - I[2]) / I[1])) * ellipk(np.sin(theta) ** 2)
    R = se3.rotation(se3.exp(np.array([0, theta, 0, 0, 0, 0])))               # z of the body is away from the centre, turned by θ
    q = np.concatenate([quaternion.from_matrix(R), np.array([0, 0, r]) - R @ offset])
    v = np.concatenate([[0, n, 0], R.T @ np.array([n * r, 0, 0]) - np.cross([0, n, 0], offset)])
    trajectory = engine.Simulator(model, dt=period / 4000, forces=[CentralGravity(mu=mu)], **AWAY).run(q, v, float(period))
    up = trajectory.robot.center_of_mass(trajectory.q)
    assert np.abs(np.linalg.norm(up, axis=1) - r).max() < 1e-9 * r
    local = np.einsum("tji,tj->ti", quaternion.to_matrix(trajectory.q[:, :4]), up / r)
    angle = -np.arctan2(local[:, 0], local[:, 2])
    assert abs(angle[0] - theta) < 1e-12 and abs(angle[-1] - theta) < 1e-8 and abs(angle.min() + theta) < 1e-6
    assert abs(trajectory.v[-1, 1] - n) < 1e-8 * n
    t = np.argmin(angle)
    assert abs(trajectory.t[t] - period / 2) <= period / 4000
    spin = trajectory.v[:, 1] - n
    energy = 0.5 * I[1] * spin**2 + 1.5 * n**2 * (I[0] - I[2]) * np.sin(angle) ** 2
    assert np.abs(energy - energy[0]).max() < 1e-9 * energy[0]


def test_gravity_of_a_distant_centre_is_that_of_the_masses_among_the_parameters():
    """A heavier ball falls as fast; a rod of other moments turns as the rod of those moments does."""
    place, v = [*quaternion.normalize(np.array([1.0, 0.2, 0.3, 0.1])), 100.0, 0, 0], np.zeros(6)
    G = [inertia.from_mass(2.0, [0.1, 0, 0], np.diag(moments)) for moments in ([1.0, 1.0, 0.1], [1.0, 2.0, 2.5])]

    def simulator(G, **parameters):
        rod = engine.Builder("rod")
        rod.add_link("rod", inertia=G)
        return engine.Simulator(rod.model(floating_base=True), forces=[CentralGravity(mu=1e6)], parameters=parameters, **AWAY)

    own = simulator(G[1]).run(place, v, 0.01)
    given = simulator(G[0], **{"inertia.rod": G[0]}).run(place, v, 0.01, parameters={"inertia.rod": G[1]})
    np.testing.assert_allclose(given.vdot, own.vdot, rtol=0, atol=1e-11 * np.abs(own.vdot).max())
    heavy = simulator(G[0], **{"mass.rod": 2.0}).run(place, v, 0.01, parameters={"mass.rod": np.array([2.0, 8.0])})
    np.testing.assert_allclose(heavy.vdot[0], heavy.vdot[1], rtol=0, atol=1e-11 * np.abs(heavy.vdot).max())


def test_energy_in_a_distant_centres_field_is_kept():
    """K + U of a rod that swings in the gradient: constant to the method's order."""
    rod = engine.Builder("rod")
    rod.add_link("rod", inertia=inertia.from_mass(2.0, [0.1, 0, 0], np.diag([1.0, 1.2, 0.3])))
    simulator = engine.Simulator(rod.model(floating_base=True), dt=2e-3, forces=[CentralGravity(mu=1e4)], **AWAY)
    trajectory = simulator.run([*quaternion.normalize(np.array([1.0, 0.2, 0.3, 0.1])), 10.0, 0, 0], [0, 0, 0, 0, 20.0, 25.0], 1.0)
    K, U = trajectory.energy()
    assert np.abs(K + U - K[0] - U[0]).max() < 1e-8 * K[0] and np.ptp(K) > 1e-3 * K[0]


def test_gradient_is_the_difference_of_forces_on_the_parts():
    """A dumbbell as two balls welded together, each with the whole force on it, and as one body with its inertia: equal to (size/r)²."""
    parts, whole = engine.Builder("two"), engine.Builder("one")
    ends = [np.array([0.0, 0, 1.0]), np.array([0.0, 0, -1.0])]
    parts.add_link("a", inertia=inertia.from_mass(1.0, ends[0], 0.01 * np.eye(3)))
    parts.add_link("b", inertia=inertia.from_mass(1.0, np.zeros(3), 0.01 * np.eye(3)))
    parts.add_joint("weld", "fixed", "a", "b", placement=se3.pose(np.eye(3), ends[1]))
    whole.add_link("a", inertia=inertia.from_mass(2.0, np.zeros(3), np.diag([2.02, 2.02, 0.02])))
    q0 = quaternion.normalize(np.array([1.0, 0.2, 0.3, 0.1]))
    differences = []
    for r in (100.0, 200.0):
        spin = []
        for builder in (parts, whole):
            model = builder.model(floating_base=True)
            q, v = np.concatenate([q0, [r, 0, 0]]), np.array([1e-3, 0, 0, 0, 0, 0])
            trajectory = engine.Simulator(model, dt=1e-3, forces=[CentralGravity(mu=r**3)], joint_dynamics=False, **AWAY).run(q, v, 1e-3)
            spin.append(trajectory.vdot[0, :2])
        differences.append(np.abs(spin[0] - spin[1]).max() / np.abs(spin[1]).max())
    assert differences[1] < 1e-4 and 3.8 < differences[0] / differences[1] < 4.2


def test_a_chain_of_balls_keeps_its_energy_and_angular_momentum_in_orbit():
    """Each body feels its own force: K − Σ μ m/r and Σ r × p about the centre."""
    chain = engine.Builder("chain")
    masses, at = [1.0, 0.5, 0.7], np.array([0.0, 0, 0.3])
    for k, m in enumerate(masses):
        chain.add_link(f"b{k}", inertia=inertia.from_mass(m, at, 1e-2 * np.eye(3)))
    for k in range(2):
        chain.add_joint(f"j{k}", "revolute", f"b{k}", f"b{k + 1}", axis=np.eye(3)[k], placement=se3.pose(np.eye(3), 2 * at))
    model = chain.model(floating_base=True)
    q, v = model.neutral(), np.array([0.3, 0.1, -0.2, 0, 0.5, 0, 0.4, -0.3])
    q[4:] = [4.0, 0, 0, 0.5, -0.4]
    trajectory = engine.Simulator(model, dt=1e-3, forces=[CentralGravity(mu=1.0)], **AWAY).run(q, v, 10.0, record_every=100)
    c = np.einsum("tlij,j->tli", trajectory.poses(), [*at, 1.0])[..., :3]
    energy = trajectory.energy()[0] - (np.array(masses) / np.linalg.norm(c, axis=-1)).sum(-1)
    assert np.abs(energy - energy[0]).max() < 1e-8 * abs(energy[0]) and np.ptp(trajectory.energy()[0]) > 0.01
    L = trajectory.momentum()[:, :3]
    assert np.abs(L - L[0]).max() < 1e-9 * np.linalg.norm(L[0])


# ---------------------------------------------------------------- the same component for two robots, bad input


def test_a_component_can_serve_two_simulators():
    friction = JointFriction()
    for damping in (0.7, 1.4):
        trajectory = engine.Simulator(slider(2.0, damping=damping), dt=1e-3, forces=[friction], **AWAY).run([0.0], [1.0], 1.0)
        assert abs(trajectory.v[-1, 0] - np.exp(-damping / 2)) < 1e-12


@pytest.mark.parametrize(("make", "message"), [
    (lambda: JointSpring("pivto", 1.0), "no joint 'pivto' in 'pendulum' (did you mean 'pivot'?)"),
    (lambda: JointSpring("pivot", float("nan")), "spring of pivot: stiffness is nan; expected zero or more"),
    (lambda: JointSpring("pivot", 1.0, rest="low"), "spring of pivot: rest is 'low'; expected a finite number"),
    (lambda: JointFriction(damping=-1.0), "friction: damping is -1.0; expected a number, or 1 of them, zero or more"),
    (lambda: JointFriction(friction=[1.0, 2.0]), "friction: friction is [1.0, 2.0]; expected a number, or 1 of them, zero or more"),
    (lambda: JointFriction(slow=0.0), "friction: slow is 0.0; expected a number above 0"),
    (lambda: JointStops(time=0.0), "stops: time is 0.0; expected a number above 0"),
    (lambda: JointStops(dissipation=-1.0), "stops: dissipation is -1.0; expected 0 or more"),
    (lambda: PointForce("bobb"), "no link 'bobb' in 'pendulum' (did you mean 'bob'?)"),
    (lambda: PointForce("bob", axes="body"), "force on bob: axes is 'body'; expected 'world' or 'link'"),
    (lambda: PointForce("bob", force=[1, 2]), "force on bob: force is [1.0, 2.0]; expected three finite numbers"),
    (lambda: CentralGravity(mu=-1.0), "gravity: mu is -1.0; expected a number above 0"),
    (lambda: CentralGravity(center=[0, 0]), "gravity: center is [0.0, 0.0]; expected three finite numbers"),
    (lambda: lambda t, q, v: {"bobb": np.zeros(6)}, "no link 'bobb' in 'pendulum' (did you mean 'bob'?)"),
    (lambda: lambda t, q, v: {"bob": np.zeros(3)}, "<lambda> returned shape (3,) for link 'bob'; expected (6,)"),
    (lambda: engine.Law(lambda t, q, v: v, period=0.1, python=True), "<lambda> is a force in plain Python; expected a controller"),
])  # fmt: skip
def test_bad_forces(make, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        engine.Simulator(pendulum(), forces=[make()])


def test_forces_may_be_of_every_form():
    """Generalized forces, wrenches on all links, wrenches by link, components: the same weight four times."""
    model, weight = pendulum(), np.array([0, 0, -2.0 * 9.81])

    def wrench(pose):
        f = pose("bob")[:3, :3].T @ weight
        return np.concatenate([np.cross([0, 0, -1.0], [0, 0, 0]) + so3.hat(np.array([0, 0, -1.0])) @ f, f])

    forms = [
        lambda t, q, v: dynamics.gravity_forces(model, q) * -1.0,
        lambda t, q, v, pose: np.array([np.zeros(6), wrench(pose)]),
        lambda t, q, v, pose: {"bob": wrench(pose)},
        PointForce("bob", force=weight, point=[0, 0, -1.0]),
    ]
    expected = engine.Simulator(model, dt=1e-3).run([1.0], [0.0], 1.0)
    for form in forms:
        found = engine.Simulator(model, dt=1e-3, forces=[form], **AWAY).run([1.0], [0.0], 1.0)
        assert np.abs(found.q - expected.q).max() < 1e-13


def test_two_of_a_kind_by_names_of_their_own():
    """Halves of the same pull and of the same friction add up to the whole."""
    model = slider(damping=0.4)
    start, q = ([0.3], [0.7]), np.array([5.0, 0, 0])
    halves = [*[CentralGravity(mu=1.0, center=q, name=n) for n in ("here", "there")],
              *[JointFriction(damping=[d], friction=[0.0], name=n) for d, n in ((0.1, "bearing"), (0.3, "seal"))]]  # fmt: skip
    trajectory = engine.Simulator(model, dt=1e-2, forces=halves, **AWAY).run(*start, 1.0)
    assert {"here", "there", "bearing", "seal"} <= trajectory.power().keys()
    whole = engine.Simulator(model, dt=1e-2, forces=[CentralGravity(mu=2.0, center=q)], **AWAY).run(*start, 1.0)
    assert np.abs(trajectory.q - whole.q).max() < 1e-14 and np.abs(whole.v - 0.7).max() > 0.02
    stops = JointStops(name="buffers")
    limited = slider(limits=engine.Limits(lower=-1.0, upper=1.0))
    assert "buffers" in engine.Simulator(limited, forces=[stops], **AWAY).run(*start, 0.01).power()


# ---------------------------------------------------------------- numbers that cannot be


@pytest.mark.parametrize(("make", "message"), [
    (lambda: JointSpring("pivot", -5.0), "spring of pivot: stiffness is -5.0; expected zero or more"),
    (lambda: JointSpring("pivot", 5.0, damping=-1.0), "spring of pivot: damping is -1.0; expected zero or more"),
    (lambda: PointForce("bob", point="tip"), "force on bob: point is 'tip'; expected numbers"),
    (lambda: CentralGravity(center="Earth"), "gravity: center is 'Earth'; expected numbers"),
])  # fmt: skip
def test_forces_of_numbers_that_cannot_be(make, message):
    with pytest.raises(engine.SimulationError, match=message):
        engine.Simulator(pendulum(), forces=[make()])


@pytest.mark.parametrize(("given", "message"), [
    ({"inertia.bob": np.diag([1.0, 1, 30, 1, 1, 1])}, "parameter 'inertia.bob': principal moments 1, 1, 30 kg·m² violate the triangle"),
    ({"inertia.bob": -np.eye(6)}, "parameter 'inertia.bob': it has the eigenvalue -1; expected a 6×6 inertia"),
    ({"inertia.bob": np.zeros((6, 6))}, "parameter 'inertia.bob': it is zero; expected a 6×6 inertia"),
    ({"inertia.bob": np.ones((6, 6)) - 2 * np.eye(6)}, "parameter 'inertia.bob': it has the eigenvalue -2; expected a 6×6 inertia"),
    ({"inertia.bob": np.triu(np.ones((6, 6)))}, r"parameter 'inertia.bob': it is not symmetric \(by up to 1\)"),
    ({"mass.bob": -1.0}, "parameter 'mass.bob' is -1; expected a mass above zero"),
    ({"mass.bob": "2"}, "parameter 'mass.bob' is '2'; expected numbers"),
    ({3: 3.0}, "a parameter is named 3; expected a text"),
])  # fmt: skip
def test_parameters_that_cannot_be(given, message):
    with pytest.raises(engine.SimulationError, match=message):
        engine.Simulator(pendulum(), parameters=given)


def test_a_parameter_of_a_batch_that_cannot_be_is_named_with_its_row():
    simulator = engine.Simulator(pendulum(), parameters={"mass.bob": 1.0})
    with pytest.raises(engine.SimulationError, match=r"parameter 'mass.bob' is -1 in row 1; expected a mass above zero"):
        simulator.run([0.1], [0.0], 0.1, parameters={"mass.bob": [1, -1, 1.0]})
    simulator = engine.Simulator(pendulum(), parameters={"inertia.bob": np.eye(6)})
    with pytest.raises(engine.SimulationError, match=r"parameter 'inertia.bob' in row 2: it has the eigenvalue -1"):
        simulator.run([0.1], [0.0], 0.1, parameters={"inertia.bob": [np.eye(6), np.eye(6), -np.eye(6)]})


def test_a_law_faster_than_the_steps_is_refused():
    law = engine.Law(lambda t, q, v: -q, period=0.01)
    with pytest.raises(engine.SimulationError, match=r"Law period 0.01 s of <lambda> is shorter than dt 0.05 s; expected dt or more"):
        engine.Simulator(pendulum(), dt=0.05, controller=law)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize(("fn", "message"), [
    (lambda t, q, v: ["5"], r"<lambda> returned \['5'\]; expected numbers"),
    (lambda t, q, v: None, "<lambda> returned None; expected numbers"),
    (lambda t, q, v: np.array([None]), r"<lambda> returned array\(\[None\], dtype=object\); expected numbers"),
    (lambda q, v, t: -q, r"<lambda> takes \(q, v, t\), and is called as \(t, q, v\); expected them in this order"),
    (JointFriction, r"JointFriction is a class; expected one of its instances, JointFriction\(…\)"),
])  # fmt: skip
def test_functions_that_return_no_numbers_are_refused(fn, message, compiled):
    for given in ({"forces": [fn]}, {"controller": fn}):
        with pytest.raises(engine.SimulationError, match=message):
            engine.Simulator(pendulum(), compiled=compiled, **given)


def test_two_gravities_are_doubted():
    with pytest.warns(engine.simulation.SimulationWarning, match=r"besides the uniform gravity .* both act; expected gravity=\(0, 0, 0\)"):
        engine.Simulator(pendulum(), forces=[CentralGravity()])


def test_classes_and_seeds_are_told_from_instances():
    with pytest.raises(engine.StateError, match=r"compile got the class RigidBody; expected one of its instances"):
        engine.compile(engine.RigidBody)
    with pytest.raises(engine.EngineError, match=r"random got 0; expected a generator, such as np.random.default_rng\(0\)"):
        pendulum().random(0)
    turned = type("Turned", (engine.RigidBody,), {"mass": 1.0, "inertia": np.eye(3), "forces": lambda self, t, x, u: x[:3]})
    with pytest.raises(engine.BodyError, match=r"Turned.forces takes \(t, x, u\), and is called as \(x, u, t\)"):
        engine.compile(turned())


@pytest.mark.parametrize("forces, said", [(lambda self, x: x[:3], r"\(x\)"), (lambda self, x, u: x[:3], r"\(x, u\)"),
                                          (lambda self, x, u, t, wind: wind, r"\(x, u, t, wind\)")])  # fmt: skip
def test_forces_that_take_other_arguments_are_refused_before_the_first_step(forces, said):
    few = type("Few", (engine.RigidBody,), {"mass": 1.0, "inertia": np.eye(3), "moments": None, "controls": 0, "forces": forces})
    with pytest.raises(engine.BodyError, match=rf"Few.forces takes {said}, and is called as \(x, u, t\); expected it to take these"):
        engine.compile(few())


@pytest.mark.parametrize("name, wheels, said", [
    ("wheel", True, r"no state of 'wheel' \(did you mean 'wheels'\?\); expected one of wheels"),
    ("controller", True, "no state of 'controller'; expected one of wheels, the components that have one"),
    ("wheels", False, "no state of 'wheels'; expected a component that has one, as a reaction wheel does, and not drive alone"),
])  # fmt: skip
def test_a_state_that_there_is_not_is_named(name, wheels, said):
    stone = engine.Builder()
    stone.add_link("base", inertia=inertia.sphere(1.0, 0.1))
    acting = [ReactionWheels("base")] if wheels else []
    with pytest.raises(engine.SimulationError, match=said):
        engine.Simulator(stone.model(floating_base=True), dt=1e-2, actuators=acting,
                         controller=lambda t, q, v, states: states[name][0] * v)  # fmt: skip


def test_a_component_that_returns_no_effect_is_told():
    class Idle(engine.simulation.Component):
        name = "idle"

        def act(self, s, state, memory, command):
            pass

    with pytest.raises(engine.SimulationError, match="act of 'idle' returned NoneType; expected an engine"):
        engine.Simulator(pendulum(), dt=1e-3, forces=[Idle()])
