"""The momentum of a rigid body: what only loads change is not lost by turning, however far the body turns in a step."""

import numpy as np
import pytest

import engine
from engine.rigid_body import RigidBody
from engine.spatial import inertia, se3
from engine.spatial.rotations import ATTITUDES

SPUN = np.array([0.0, 5.0, 37.0, 99.0])  # rad/s: up to h|ω| = 1 in steps of 10 ms
G = np.array([0.0, 0.0, -9.81])


def thrown(body, spin, about=(0.0, 0.6, 0.8)):
    v = np.array([10.0, 0.0, 10.0])
    R = body.rotation(body.build_state())
    own = v if body.velocity_frame == "world" else R.T @ v
    return body.build_state(angular_velocity=spin[:, None] * np.array(about), linear_velocity=own)


class Stone(RigidBody):
    mass, inertia, moments = 2.0, np.diag([0.1, 0.2, 0.15]), None

    def forces(self, x, u, t):
        return 2.0 * G


class Feather(RigidBody):
    mass, inertia, moments = 2.0, np.diag([0.1, 0.2, 0.15]), None

    def forces(self, x, u, t):
        v = self.linear_velocity(x)
        return -0.6 * (v if self.velocity_frame == "world" else self.rotation(x) @ v)


@pytest.mark.filterwarnings("ignore:.*the steps. errors of momentum")  # of attitudes
@pytest.mark.parametrize("attitude, frame", [*((a, "world") for a in ATTITUDES), ("quaternion", "body")])
def test_a_spinning_stone_flies_on_a_parabola(attitude, frame):
    """r = v t + ½ g t², to the rounding of a thousand steps."""
    body = Stone(attitude=attitude, velocity_frame=frame)
    run = engine.compile(body).simulate(thrown(body, SPUN), 10.0, dt=1e-2)
    expected = np.array([10.0, 0.0, 10.0]) * run.t[:, None] + 0.5 * G * run.t[:, None] ** 2
    assert np.abs(body.position(run.x) - expected).max() < 1e3 * np.spacing(500.0)
    assert np.abs(run.momentum()[..., 3:] - 2.0 * (np.array([10.0, 0.0, 10.0]) + G * run.t[:, None])).max() < 1e3 * np.spacing(200.0)


@pytest.mark.filterwarnings("ignore:.*the steps. errors of momentum")  # of attitudes
@pytest.mark.parametrize("frame", ["world", "body"])
def test_a_spinning_feather_slows_down_as_one_at_rest_does(frame):
    """Loads see the velocity that is kept, at every stage: m v̇ = −c v, v = v₀ exp(−c t/m), whatever the spin."""
    body = Feather(velocity_frame=frame)
    run = engine.compile(body).simulate(thrown(body, SPUN), 5.0, dt=1e-2)
    moved = body.position(run.x)[:, -1]
    assert np.abs(moved - np.array([10.0, 0.0, 10.0]) * (1.0 - np.exp(-1.5)) / 0.3).max() < 1e-9
    assert np.abs(moved - moved[0]).max() < 1e-11


def test_without_loads_momentum_stays_to_rounding():
    """Of a body with its centre of mass beside its origin, which tumbles by half a radian a step."""

    class Tumbling(RigidBody):
        inertia, forces = inertia.recentered(inertia.box(3.0, (0.3, 0.5, 1.0)), np.array([-0.4, 0.2, 0.1])), None

    body = Tumbling()
    x = body.build_state(position=[1.0, 2.0, 3.0], angular_velocity=[20.0, 30.0, 25.0], linear_velocity=[5.0, 6.0, 7.0])
    for dt in (1e-3, 1e-2):
        P = engine.compile(body).simulate(x, 5.0, dt=dt).momentum()
        assert np.abs(P - P[0]).max() < 1e-12 * np.abs(P).max()


def test_a_rocket_that_spins_follows_tsiolkovsky():
    """v = w ln(m₀/m): the jet leaves with the velocity w along a fixed direction, whatever the spin."""
    w, burns = 300.0, 0.5

    class Rocket(RigidBody):
        inertia, moments = np.diag([0.2, 0.2, 0.05]), None

        def mass(self, x, u, t):
            return 5.0 - burns * t

        def forces(self, x, u, t):
            return np.array([burns * w, 0.0, 0.0])

    body = Rocket()
    run = engine.compile(body).simulate(body.build_state(angular_velocity=SPUN[:, None] * np.array([0.0, 0.0, 1.0])), 5.0, dt=1e-2)
    assert np.abs(body.linear_velocity(run.x)[:, -1] - [w * np.log(2.0), 0.0, 0.0]).max() < 1e-8


def test_an_inertia_that_varies_turns_as_before_and_flies_straight():
    """I ω̇ + ω × I ω = 0 without İ ω: about a principal axis ω stays, and the velocity too."""

    class Unfolding(RigidBody):
        mass, forces = 2.0, None

        def inertia(self, x, u, t):
            return (1.0 + 0.2 * t) * np.diag([1.0, 2.0, 3.0])

    body = Unfolding()
    run = engine.compile(body).simulate(body.build_state(angular_velocity=[0.0, 0.0, 60.0], linear_velocity=[1.0, 2.0, 3.0]), 2.0, dt=1e-2)
    assert np.abs(body.angular_velocity(run.x) - [0.0, 0.0, 60.0]).max() < 1e-11
    assert np.abs(body.position(run.x)[-1] - [2.0, 4.0, 6.0]).max() < 1e-12


def loaded(rng):
    """A random rigid body under a random wrench in its own axes, as a class, and as a model with the force on it."""
    A = rng.standard_normal((3, 3))
    moments = np.linalg.eigvalsh(A @ A.T) + 0.3
    Q = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    turning = Q @ np.diag([moments[1] + moments[2], moments[0] + moments[2], moments[0] + moments[1]]) @ Q.T
    spatial = inertia.from_mass(rng.uniform(0.5, 5.0), 0.3 * rng.standard_normal(3), turning)
    C, w = 0.3 * rng.standard_normal((6, 6)), rng.standard_normal(6)

    def pushed(t, q, V):
        return C @ V + w * np.array([engine.ops.sin(3.0 * t + k) for k in range(6)])

    class Loaded(RigidBody):
        inertia = spatial

        def wrench(self, x, u, t):
            return pushed(t, None, self.twist(x))

    link = engine.Builder("body")
    link.add_link("body", inertia=spatial)
    model = link.model(floating_base=True)
    return Loaded(), model, lambda t, q, v: pushed(t, q, v)


def both(seed, duration, dt, compiled=True):
    """A body's end after a run of its own, and the model's by ``Simulator``: poses and twists."""
    rng = np.random.default_rng(seed)
    body, model, force = loaded(rng)
    q, V = model.random(rng)
    V = V * rng.uniform(0.0, 5.0)
    x = body.from_motion(q, V)
    run = engine.compile(body).simulate(x, duration, dt=dt, compiled=compiled)
    other = engine.Simulator(model, dt=dt, gravity=(0.0, 0.0, 0.0), controller=force, compiled=compiled, conserve_momentum=True).run(
        q, V, duration)
    return model.difference(run.q[-1], other.q[-1]), run.v[-1] - other.v[-1]


@pytest.mark.parametrize("seed", range(3))
def test_random_bodies_under_random_loads_are_those_of_a_simulator(seed):
    """To the method's error, of order four."""
    errors = [np.abs(np.concatenate(both(seed, 1.0, dt))).max() for dt in (1e-2, 5e-3)]
    assert errors[0] < 1e-4 and (errors[1] < 0.12 * errors[0] or errors[1] < 1e-10)


def test_solve_and_single_steps_keep_it_too():
    body = Stone()
    c, x = engine.compile(body), thrown(body, SPUN)[-1]
    end = c.solve(x, 2.0)(2.0)
    assert np.abs(body.position(end) - [20.0, 0.0, 20.0 + 2.0 * G[2]]).max() < 1e-8
    step = c.discrete_dynamics(x, np.zeros(0), 0.0, 1e-2)
    np.testing.assert_allclose(step, c.simulate(x, 1e-2, dt=1e-2).x[-1], rtol=0, atol=4 * np.spacing(100.0))


def test_plain_is_compiled():
    body = Stone(attitude="mrp", velocity_frame="body")
    c, x = engine.compile(body), thrown(body, SPUN)[2]
    np.testing.assert_allclose(c.simulate(x, 0.2, dt=1e-2, compiled=False).x, c.simulate(x, 0.2, dt=1e-2).x, rtol=0, atol=1e-12)


def test_added_mass_is_stepped_in_the_bodys_axes():
    """Its momentum is not along its velocity: nothing is kept beside its motion, and the order shows it."""

    class Diver(RigidBody):
        inertia, forces = np.diag([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), None

    body = Diver()
    x = body.build_state(angular_velocity=[1.0, 2.0, 3.0], linear_velocity=[1.0, 0.0, 0.0])
    c = engine.compile(body)
    ends = [c.simulate(x, 1.0, dt=dt).momentum()[-1] for dt in (1e-2, 5e-3)]
    P = inertia.world_momentum(se3.pose(body.rotation(x), body.position(x)), body.inertia, body.twist(x))
    assert body.kept is None and np.abs(ends[1] - P).max() < 0.1 * np.abs(ends[0] - P).max()


def spun(body, spin, duration=2.0):
    """A run in steps of 10 ms that begins with a spin about an axis that is not quite a principal one."""
    about = spin * np.array([0.1, 1.0, 0.05])
    return engine.compile(body).simulate(body.build_state(angular_velocity=about, linear_velocity=[1.0, 0.0, 1.0]), duration, dt=1e-2)


class Heavy(RigidBody):
    inertia, forces = np.diag([1.0, 2.0, 2.0, 40.0, 60.0, 70.0]), None


def test_errors_of_attitude_are_estimated_and_warned_of_where_they_are_large():
    """The defect is about the relative error of the energy of turning, which is fourth order in h|ω|."""
    body = Stone(inertia=np.diag([1.0, 2.0, 3.0]))
    for spin in (10.0, 37.0):
        run = spun(body, spin)
        K = np.vecdot(run.v[:, :3], run.v[:, :3] * [1.0, 2.0, 3.0])
        assert not run.warnings and abs(K[-1] / K[0] - 1.0) < 10.0 * run.defect[-1] < 0.1
    with pytest.warns(engine.SimulationWarning, match=r"'Stone': at t = .* the steps' errors of momentum add up to .*h\|ω\| = "):
        assert spun(body, 90.0).defect[-1] > 0.01


def test_turning_far_in_a_step_is_warned_of_where_nothing_is_kept():
    """Of added mass, by the method's order; the estimate is about what is lost of the momentum."""
    run = spun(Heavy(), 10.0)
    P = run.momentum()
    assert not run.warnings and np.abs(P - P[0]).max() < 0.01 * np.abs(P).max()
    with pytest.raises(engine.StateError, match="has no defect"):
        run.defect  # noqa: B018
    with pytest.warns(engine.SimulationWarning, match=r"'Heavy': at t = .* velocities turn by 0\.\d+ rad in a step .* smaller dt"):
        P = spun(Heavy(), 37.0).momentum()
    assert np.abs(P - P[0]).max() > 0.01 * np.abs(P).max()


def test_what_is_kept_follows_the_mass_that_a_body_has():
    """A body that is compiled anew after its mass was changed has the new one: F = m a."""
    body = Stone(mass=1.0)
    x = body.build_state()
    engine.compile(body).discrete_dynamics(x, np.zeros(0), 0.0, 0.1)
    body.mass = 8.0
    end = engine.compile(body).simulate(x, 0.5, dt=0.1).x[-1]
    np.testing.assert_allclose(body.linear_velocity(end), 2.0 * G * 0.5 / 8.0, rtol=1e-13)
