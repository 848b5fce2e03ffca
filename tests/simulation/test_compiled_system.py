"""Compiled rigid bodies and control systems: exact Jacobians in every attitude, frame and integrator, sparsity, closed loops, simulation
by closed forms and laws, and what is said when it cannot go on.

Programs of Jacobians are long: over the whole grid they are interpreted, and compiled for a few."""

import functools
import re

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import engine
from engine import BodyError, SimulationError, StateError, TraceError, ops
from engine.compiler.graph.interpreter import interpret
from engine.components.component import SimulationWarning
from engine.integrate import METHODS, SolutionError
from engine.rigid_body import RigidBody, RigidBodyState
from engine.simulation import compiled_system as module
from engine.spatial import inertia, se3
from tests.numeric import ROUNDED, close, derivative
from tests.rigid_body.bodies import BODIES, CHOICES, DENSE, Burning, Heavy, Loaded, Mixed, Satellite, T, U, compiled, rotation, states

choices = pytest.mark.parametrize(("attitude", "frame"), CHOICES)
#: the shortest method in all eight choices of attitude and frame, every other in one
GRID = [("semi_implicit_euler", *c) for c in CHOICES]
GRID += [(m, *CHOICES[k % 8]) for k, m in enumerate(m for m in METHODS if m != "semi_implicit_euler")]


class Adrift(RigidBody):
    """No force, added mass."""

    inertia, forces = DENSE, None


class Interpreted(module.SystemFunction):
    """What is called is the traced program, in NumPy, without compiling it."""

    def __call__(self, *args):
        arrays = [np.asarray(a, dtype=float) for a in args]
        batch = np.broadcast_shapes(*[a.shape[: a.ndim - len(s)] for a, s in zip(arrays, self.program.shapes_in, strict=True)])
        rows = [np.broadcast_to(a, (*batch, *s)).reshape(-1, *s) for a, s in zip(arrays, self.program.shapes_in, strict=True)]
        results = interpret(self.program, *rows)
        results = results if isinstance(results, (list, tuple)) else [results]
        shaped = [np.asarray(r).reshape(*batch, *s) for r, s in zip(results, self.program.shapes_out, strict=True)]
        return shaped[0] if len(shaped) == 1 else tuple(shaped)


@pytest.fixture
def interpreted(monkeypatch):
    """engine.compile, with programs that are interpreted."""
    monkeypatch.setattr(module, "SystemFunction", Interpreted)
    return engine.compile


def moderate(seed=0):
    """A state of which no parameters are large."""
    return next(s for s in states(20, seed) if abs(s.orientation[0]) > 0.6)


def columns(f, x):
    """∂f/∂x by differences of order 8, of an f that takes batches (n, n)."""
    return derivative(lambda h: f(x + h * np.eye(len(x))), 1 / 256).T             # quaternions stay unit ones within 2 %


def close_jacobians(pair, f, x, u):
    """A and B of f(x, u), to 1e-9 of their largest entries."""
    for J, wanted in zip(pair, (columns(lambda x: f(x, u), x), columns(lambda u: f(x, u), u)), strict=True):
        close(J, wanted, 1e-9)


# ---------------------------------------------------------------- Jacobians of the continuous dynamics


def error_rate(system, rate, x0, delta, u, u0):
    """d/dt state_diff(x, x0) of two motions, of which one starts from state_plus(x0, δ): the definition."""
    x, f0 = system.state_plus(x0, delta), rate(x0, u0)
    f = rate(x, u)
    return derivative(lambda t: system.state_diff(x + t * f, x0 + t * f0), 1 / 256)


def close_step(c, x, u, h, name):
    """The Jacobians of a step, in coordinates, and in errors as the derivatives of the error from f(x, u) to f(state_plus(x, δ), u + ν)."""
    def after(x, u):
        return c.discrete(name)(x, u, T, h)

    system = c.system
    close(after(x, u), system.discrete_dynamics(x, u, T, h, name), 2e-14)
    close_jacobians(c.discrete_jacobians(x, u, T, h, name), after, x, u)
    A, B = c.discrete_error_jacobians(x, u, T, h, name)
    close(A, columns(lambda delta: system.state_diff(after(system.state_plus(x, delta), u), after(x, u)), np.zeros(system.state.ne)), 1e-9)
    close(B, columns(lambda v: system.state_diff(after(x, v), after(x, u)), u), 1e-9)


@pytest.mark.parametrize(("kind", "attitude", "frame"), [(kind, *c) for k, kind in enumerate(BODIES.values())
                                                         for j, c in enumerate(CHOICES) if (j + j // 2 + k) % 2 == 0])  # fmt: skip
def test_jacobians_of_the_dynamics(interpreted, kind, attitude, frame):
    """In coordinates, and in errors by their definition: every body in every attitude, in the one frame or the other."""
    body = kind(attitude=attitude, velocity_frame=frame)
    c, x = interpreted(body), body.build_state(moderate(CHOICES.index((attitude, frame))))

    def rate(x, u):
        return c.dynamics(x, u, T)

    close(rate(x, U), body.dynamics(x, U, T), 1e-14)
    close_jacobians(c.jacobians(x, U, T), rate, x, U)
    A, B = c.error_jacobians(x, U, T)
    close(A, columns(lambda delta: error_rate(body, rate, x, delta, U, U), np.zeros(12)), 1e-9)
    close(B, columns(lambda u: error_rate(body, rate, x, np.zeros(12), u, U), U), 1e-9)


def test_jacobians_of_mixed_dynamics(interpreted):
    system, rng = Mixed(), np.random.default_rng(4)
    c, u = interpreted(system), np.array([0.7, -0.4])
    x = system.random(rng)
    while abs(x[0]) < 0.5 or np.linalg.norm(x[7:10]) > 0.5:
        x = system.random(rng)

    def rate(x, u):
        return c.dynamics(x, u, T)

    close_jacobians(c.jacobians(x, u, T), rate, x, u)
    A, B = c.error_jacobians(x, u, T)
    close(A, columns(lambda delta: error_rate(system, rate, x, delta, u, u), np.zeros(11)), 1e-9)
    close(B, columns(lambda v: error_rate(system, rate, x, np.zeros(11), v, u), u), 1e-9)
    for name in ("cf4", "rkmk4"):
        close_step(c, x, u, 0.1, name)


def test_drag_has_a_derivative_at_rest():
    """|v| v is differentiable at v = 0, with the derivative 0."""
    class Dragged(Satellite):
        def forces(self, x, u, t):
            v = self.linear_velocity(x)
            return -ops.norm(v) * v

    A, B = engine.compile(Dragged()).error_jacobians(Dragged().build_state(), np.zeros(6), 0.0)
    assert (A[9:] == 0.0).all() and (B[9:] == 0.0).all() and np.isfinite(A).all()


# ---------------------------------------------------------------- Jacobians of a step


@pytest.mark.parametrize(("name", "attitude", "frame"), GRID)
def test_jacobians_of_a_step(interpreted, name, attitude, frame):
    body = Loaded(attitude=attitude, velocity_frame=frame)
    close_step(interpreted(body), body.build_state(moderate(CHOICES.index((attitude, frame)))), U, 0.1, name)


def test_the_grid_has_everything():
    assert {m for m, *_ in GRID} == {*METHODS} and all(len({m for m, *c in GRID if tuple(c) == choice}) >= 2 for choice in CHOICES)


@pytest.mark.parametrize(("kind", "name", "k"), [(Burning, "lie_euler", 0), (Satellite, "implicit_midpoint", 1), (Heavy, "cf4", 2),
                                                 (Burning, "semi_implicit_euler", 5)])  # fmt: skip
def test_the_jacobian_of_the_dynamics_is_the_limit_of_that_of_a_step(interpreted, kind, name, k):
    """d/dh of A(h), B(h) at h = 0, in errors."""
    body = kind(attitude=CHOICES[k][0], velocity_frame=CHOICES[k][1])
    c, x, u = interpreted(body), body.build_state(moderate(3)), np.resize(U, kind.controls)
    rates = derivative(lambda h: np.hstack(c.discrete_error_jacobians(x, u, T, h, name)))
    for rate, wanted in zip(np.hsplit(rates, [12]), c.error_jacobians(x, u, T), strict=True):
        close(rate, wanted, 1e-9)


@pytest.mark.parametrize(("name", "k"), [("lie_euler_world", 0), ("semi_implicit_euler", 7)])
def test_jacobians_compiled_and_interpreted(name, k, monkeypatch):
    """To rounding; batches are the single calls, to the bit."""
    c, x = compiled(Loaded, *CHOICES[k]), compiled(Loaded, *CHOICES[k]).system.build_state(moderate())
    batch = np.array([c.system.build_state(s) for s in states(9)])
    monkeypatch.setattr(module, "SystemFunction", Interpreted)
    other = engine.compile(c.system)
    monkeypatch.undo()
    for call, *at in (("jacobians",), ("error_jacobians",), ("discrete_jacobians", 0.1, name), ("discrete_error_jacobians", 0.1, name)):
        fast, slow = getattr(c, call), getattr(other, call)
        for J, wanted in zip(fast(x, U, T, *at), slow(x, U, T, *at), strict=True):
            close(J, wanted, 1e-13)
        for J, one in zip(fast(batch, U, T, *at), fast(batch[7], U, T, *at), strict=True):
            np.testing.assert_array_equal(J[7], one)


def test_discrete_dynamics_are_kept_by_method_and_default_to_the_systems_own():
    c = engine.compile(Loaded(integrator="lie_euler"))
    x = c.system.build_state(moderate())
    assert c.discrete_dynamics is c.discrete("lie_euler") is c.discrete() and c.discrete("cg3") is not c.discrete()
    np.testing.assert_array_equal(c.discrete_dynamics(x, U, T, 0.1), compiled(Loaded).discrete("lie_euler")(x, U, T, 0.1))
    assert (c.discrete("cg3")(x, U, T, 0.1) != c.discrete_dynamics(x, U, T, 0.1)).any()


# ---------------------------------------------------------------- closed loops


def feedback(body):
    K = np.random.default_rng(0).standard_normal((4, 12)) * 0.3

    def controller(x, t):
        return ops.sin(t) - K @ body.state_diff(x, body.neutral())

    return controller


@pytest.mark.parametrize("k", [0, 3, 5, 6])
def test_closed_loops_are_chained(k):
    body, c = compiled(Burning, *CHOICES[k]).system, compiled(Burning, *CHOICES[k])
    controller, x = feedback(body), body.build_state(moderate(k))
    closed = engine.gufunc(lambda x, t: body.rate(x, controller(x, t), t), "(n),()->(n)", n=body.state.n)
    jacobian = engine.jacobian(closed)
    close(closed(x, T), body.dynamics(x, controller(x, T), T), 1e-14)
    A, B = c.jacobians(x, controller(x, T), T)
    close(jacobian(x, T), A + B @ columns(lambda x: np.array([controller(y, T) for y in x]), x), 1e-9)
    close(jacobian(x, T), columns(lambda x: closed(x, T), x), 1e-9)


# ---------------------------------------------------------------- sparsity


@choices
def test_wrench_sparsity(attitude, frame):
    """Of RobotDynamics.jl's satellite as its documentation prints it; of a body whose force depends on all but ω, and whose moment on all
    but place and speed; of wrenches, all in body axes."""
    assert compiled(Satellite, attitude, frame).wrench_sparsity().astype(int).tolist() == [[0, 1, 0, 0, 1], [0, 0, 0, 0, 1]]
    assert compiled(Loaded, attitude, frame).wrench_sparsity().astype(int).tolist() == [[1, 1, 1, 0, 1], [0, 1, 0, 1, 1]]
    towed = type("Towed", (RigidBody,), {"mass": 1.0, "inertia": np.eye(3), "controls": 1, "wrench": lambda self, x, u, t: np.concatenate(
        [self.position(x), self.angular_velocity(x) * u[0]])})  # fmt: skip
    assert compiled(towed, attitude, frame).wrench_sparsity().astype(int).tolist() == [[0, 0, 0, 1, 1], [1, 0, 0, 0, 0]]
    assert not compiled(Adrift, attitude, frame).wrench_sparsity().any()


@choices
def test_sparsity_is_never_wrong_and_for_a_satellite_exact(attitude, frame):
    rng = np.random.default_rng(1)
    for kind in (Satellite, Loaded, *([Heavy] if attitude == "quaternion" else [])):
        c = compiled(kind, attitude, frame)
        x = np.array([c.system.random(rng) for _ in range(30)])
        for J, pattern in zip(c.jacobians(x, rng.standard_normal((30, c.controls)), rng.standard_normal(30)), c.sparsity(), strict=True):
            seen = (np.abs(J) > 1e-12).any(axis=0)
            assert not (J[:, ~pattern] != 0.0).any() and pattern.dtype == bool and not pattern.all()
            assert kind is not Satellite or frame == "body" or (seen == pattern).all()


def test_sparsity_of_mixed_dynamics():
    c, rng = compiled(Mixed), np.random.default_rng(1)
    x = np.array([c.system.random(rng) for _ in range(30)])
    for J, pattern in zip(c.jacobians(x, rng.standard_normal((30, 2)), rng.standard_normal(30)), c.sparsity(), strict=True):
        assert ((np.abs(J) > 1e-12).any(axis=0) == pattern).all()


# ---------------------------------------------------------------- motions known in closed form, in every attitude and frame


class Top(RigidBody):
    """An axisymmetric body in free fall."""

    mass, inertia, moments = 2.0, np.diag([1.0, 1.0, 1.7]), None

    def forces(self, x, u, t):
        return np.array([0.0, 0.0, -9.81 * 2.0])


def fallen(s, t):
    """R(t) = exp(t L/I1) R0 exp(t (1 − I3/I1) ω3 e3), and a parabola."""
    R, w, a = rotation(s), s.angular_velocity, np.array([0.0, 0.0, -9.81])
    spin = Rotation.from_rotvec([0, 0, (1 - 1.7) * w[2] * t])
    turned = Rotation.from_rotvec(R.apply(w * [1.0, 1.0, 1.7]) * t) * R * spin
    return RigidBodyState(s.position + s.linear_velocity * t + 0.5 * a * t * t, turned.as_quat(scalar_first=True),
                          s.linear_velocity + a * t, spin.inv().apply(w * [1, 1, 0]) + w * [0, 0, 1])  # fmt: skip


@choices
def test_a_tumbling_top_falls(attitude, frame):
    """Through half turns, where MRPs and rotation vectors jump and Rodrigues parameters pass through infinity."""
    s = RigidBodyState([1.0, 2.0, 3.0], [0.5, 0.1, -0.7, 0.5], [0.3, -0.2, 4.0], [1.5, -2.0, 2.5])
    c = compiled(Top, attitude, frame)
    run = c.simulate(c.system.build_state(s), 4.0, 5e-3, integrator="rkmk5", record_every=40)
    assert len(run) == 21 and np.ptp(np.sign([fallen(s, t).orientation @ s.orientation for t in run.t])) == 2.0
    for t, x in zip(run.t, run.x, strict=True):
        assert c.system.rigid_body_state(x).isclose(fallen(s, t), 1e-9)


def test_every_attitude_and_frame_has_the_same_motion():
    """Of a body whose mass and inertia depend on its state, under feedback."""
    s, runs = moderate(), []
    for attitude, frame in CHOICES:
        c = compiled(Burning, attitude, frame)

        def controller(x, t, body=c.system):
            return np.concatenate([ops.sin(t) - body.angular_velocity(x), body.rotation(x)[0, :1]])

        runs.append(c.simulate(c.system.build_state(s), 1.0, 0.01, controller=controller, integrator="lie_euler", record_every=25))
    for (attitude, frame), run in zip(CHOICES, runs, strict=True):
        body, first = compiled(Burning, attitude, frame).system, compiled(Burning, *CHOICES[0]).system
        for x, x0 in zip(run.x, runs[0].x, strict=True):
            assert body.rigid_body_state(x).isclose(first.rigid_body_state(x0), 2e-12)
        close(run.u, runs[0].u, 1e-12)
        close(run.kinetic_energy(), runs[0].kinetic_energy(), 1e-12)
        close(run.momentum(), runs[0].momentum(), 1e-12)
        close(run.poses(), runs[0].poses(), 1e-12)
        close(run.twists(), runs[0].twists(), 1e-12)
    last = runs[0].x[-1], runs[0].u[-1], 1.0
    w, R = runs[0].x[-1, 7:10], runs[0].poses()[-1, :3, :3]
    m, I = first.mass(*last), first.inertia(*last)
    close(runs[0].kinetic_energy()[-1], 0.5 * w @ I @ w + 0.5 * m * runs[0].x[-1, 10:] @ runs[0].x[-1, 10:], 1e-14)
    close(runs[0].momentum()[-1], np.concatenate([R @ I @ w + m * np.cross(last[0][4:7], last[0][10:]), m * last[0][10:]]), 1e-14)


@functools.cache
def pushed(name, attitude, frame, h):
    """A loaded body after half a second."""
    c = compiled(Loaded, attitude, frame)
    return c.system.rigid_body_state(c.simulate(c.system.build_state(moderate()), 0.5, h, integrator=name).x[-1])


@pytest.mark.parametrize("name", METHODS)
def test_every_method_moves_a_body_under_loads(name):
    """To h to the power of its order, of the same motion by a method of order 5."""
    order, h = METHODS[name].order, 0.01
    off = np.abs(pushed(name, *CHOICES[list(METHODS).index(name) % 8], h) - pushed("rkmk5", *CHOICES[0], h)).max()
    assert off < (h**order if name != "rkmk5" else 1e-14)
    assert off > 1e-3 * h**order or order > 3


def test_a_rocket_whose_mass_depends_on_time():
    """v = (F/k) ln(m0/(m0 − k t)), along an axis of the body."""
    rocket = type("Rocket", (Satellite,), {"mass": lambda self, x, u, t: 2.0 - 0.3 * t})
    c = engine.compile(rocket(velocity_frame="body"))
    s = moderate()
    run = c.simulate(c.system.build_state(orientation=s.orientation), 5.0, 0.01, controller=lambda x, t: np.array([3.0, 0, 0, 0, 0, 0]))
    close(c.system.linear_velocity(run.x)[:, 0], 10.0 * np.log(2.0 / (2.0 - 0.3 * run.t)), 1e-9)
    u = c.system.rigid_body_state(run.x[-1]).linear_velocity
    close(u, rotation(s).apply([10.0 * np.log(4.0), 0, 0]), 1e-9)
    close(run.kinetic_energy(), 0.5 * (2.0 - 0.3 * run.t) * c.system.linear_velocity(run.x)[:, 0] ** 2, 1e-14)
    close(run.momentum()[-1, 3:], 0.5 * u, 1e-14)


def test_a_body_whose_mass_depends_on_place():
    """(1 + x) v v′ = F, v² = 2 F ln(1 + x)."""
    snowball = type("Snowball", (Satellite,), {"mass": lambda self, x, u, t: 1.0 + self.position(x)[0]})
    c = engine.compile(snowball())
    run = c.simulate(c.system.build_state(), 2.0, 0.01, controller=lambda x, t: np.array([0.7, 0, 0, 0, 0, 0]))
    close(c.system.linear_velocity(run.x)[:, 0] ** 2, 1.4 * np.log(1.0 + c.system.position(run.x)[:, 0]), 1e-9)


# ---------------------------------------------------------------- laws


@pytest.mark.parametrize(("name", "attitude", "frame"), [("implicit_midpoint", "mrp", "body"), ("dqvi", "quaternion", "body"),
                                                        ("implicit_midpoint", "quaternion", "world")])  # fmt: skip
def test_what_methods_conserve_of_a_free_body(name, attitude, frame):
    """Momentum to rounding by both; energy to rounding by the midpoint rule, and within bounds that do not grow by DQVI."""
    c = compiled(Adrift, attitude, frame)
    run = c.simulate(c.system.build_state(states(1, 2)[0]), 50.0, 0.05, integrator=name)
    K, P = run.kinetic_energy(), run.momentum()
    # rounding is that of positions times momenta, and grows with the square root of the steps at most
    assert np.abs(P - P[0]).max() < 1e-12 * np.abs(P).max() * max(1.0, np.abs(run.poses()[:, :3, 3]).max())
    E = np.abs(K / K[0] - 1)
    assert E.max() < 1e-12 if name == "implicit_midpoint" else E[:500].max() > 1e-9 and E[500:].max() < 1.5 * E[:500].max()


def test_a_body_is_seen_from_its_centre_of_mass():
    """K = ½ m ċ² + K_c and L = L_c + c × p, with the centre of mass off the origin; in an orbit, to the rounding of its turning."""
    offset, m = np.array([0.3, -0.1, 0.2]), 2.0
    lopsided = type("Lopsided", (RigidBody,), {"inertia": inertia.from_mass(m, offset, np.diag([0.3, 0.4, 0.5])), "forces": None})
    c = engine.compile(lopsided())
    near = c.simulate(c.system.build_state(moderate()), 0.5, 0.05)
    P, K, T = near.momentum(), near.kinetic_energy(), near.poses()
    spin, central = near.momentum(about="center_of_mass"), near.kinetic_energy(about="center_of_mass")
    close(spin[:, 3:], P[:, 3:], 0.0)
    close(spin[:, :3] + np.cross(T[:, :3, 3] + T[:, :3, :3] @ offset, P[:, 3:]), P[:, :3], 1e-14)
    close(central + 0.5 * np.vecdot(P[:, 3:], P[:, 3:]) / m, K, 1e-14)
    s = moderate()
    far = c.system.build_state(s.position + [7e6, 0, 0], s.orientation, s.linear_velocity + [0, 7.5e3, 0], s.angular_velocity)
    orbit = c.simulate(far, 0.5, 0.05)
    close(orbit.momentum(about="center_of_mass")[0, :3], spin[0, :3], 1e-14)
    close(orbit.kinetic_energy(about="center_of_mass")[0], central[0], 1e-14)


def test_energy_changes_by_the_work_of_the_loads():
    """K(t) − K(0) = ∫ F·V dt, of a body with added mass, by Simpson's rule; its momentum by their impulse."""
    c, body = compiled(Heavy, "rodrigues", "body"), Heavy(attitude="rodrigues", velocity_frame="body")
    controller = feedback(body)
    run = c.simulate(body.build_state(moderate()), 1.0, 1e-3, controller=controller, integrator="cf4")
    simpson = np.array([1.0, *[4, 2] * 499, 4, 1]) * 1e-3 / 3
    F = np.array([body.wrench(x, u, t) for x, u, t in zip(run.x, run.u, run.t, strict=True)])
    K, P = run.kinetic_energy(), run.momentum()
    assert abs(K[-1] - K[0] - simpson @ np.vecdot(F, run.twists())) < 1e-10 * K.max()
    close(P[-1] - P[0], simpson @ se3.wrench_to_parent(run.poses(), F), 1e-10)
    close(run.u[500], controller(run.x[500], 0.5), 1e-14)


# ---------------------------------------------------------------- batches and recording


def steering(x, t):
    return ops.sin(3.0 * t) * U - 0.1 * x[-4:]


def test_batches_are_the_single_runs_to_the_bit():
    for name, every in (("cf4", 1), ("implicit_midpoint", 7)):
        c = compiled(Burning, "mrp", "body")
        x = np.array([c.system.build_state(s) for s in states(10)]).reshape(2, 5, -1)
        batch = c.simulate(x, 0.2, 0.01, controller=steering, integrator=name, record_every=every)
        assert batch.x.shape == (2, 5, len(batch), 12) and batch.u.shape == (2, 5, len(batch), 4) and batch.t.shape == (len(batch),)
        for k in ((0, 0), (1, 2), (1, 4)):
            one = c.simulate(x[k], 0.2, 0.01, controller=steering, integrator=name, record_every=every)
            assert (one.x == batch.x[k]).all() and (one.u == batch.u[k]).all() and (one.t == batch.t).all()
            assert (one.momentum() == batch.momentum()[k]).all()
    assert repr(batch) == "<trajectory of Burning: 4 states, 0 … 0.2 s, (2, 5) rollouts>"
    assert c.simulate(np.zeros((0, 12)), 0.2, 0.01).x.shape[0] == 0


def test_what_is_recorded():
    c, x = compiled(Loaded), Loaded().build_state(states(1)[0])
    every = c.simulate(x, 0.0105, 1e-3, controller=steering)
    assert len(every) == 12 and every.t[0] == 0 and abs(every.t[-2] - 0.010) < 1e-15 and every.t[-1] == 0.0105
    close(every.x[0], x, 1e-15)                                                               # Rᵀ and R are between
    np.testing.assert_allclose(every.u, [steering(x, t) for x, t in zip(every.x, every.t, strict=True)], rtol=1e-14)
    third = c.simulate(x, 0.010, 1e-3, controller=steering, record_every=3)
    assert np.abs(third.t - [0, 0.003, 0.006, 0.009, 0.010]).max() < 1e-15
    np.testing.assert_array_equal(third.x, every.x[[0, 3, 6, 9, 10]])
    assert repr(third) == "<trajectory of Loaded: 5 states, 0 … 0.01 s>" and len(c.simulate(x, 0.0004, 1e-3)) == 2
    slow = c.simulate(x, 0.0105, 0.0105 / 2, controller=steering)                             # a last shorter step is a step
    np.testing.assert_allclose(slow.x[-1], every.x[-1], atol=1e-9)


@pytest.mark.parametrize(("name", "kind", "attitude", "frame"), [
    ("cg4", Burning, "mrp", "world"), ("implicit_midpoint", Heavy, "quaternion", "body"), ("dqvi", Loaded, "rotation_vector", "world"),
    ("rkmk5", Heavy, "rodrigues", "world")])  # fmt: skip
def test_uncompiled_runs_are_the_compiled_ones(name, kind, attitude, frame):
    c = compiled(kind, attitude, frame)
    x = c.system.build_state(moderate())
    for duration, every in ((0.04, 3), (0.035, 1)):
        fast, slow = (c.simulate(x, duration, 0.01, controller=steering, integrator=name, record_every=every, compiled=compiled_run)
                      for compiled_run in (True, False))  # fmt: skip
        close(slow.t, fast.t, ROUNDED)
        close(slow.x, fast.x, 1e-13)
        close(slow.u, fast.u, 1e-13)


def test_uncompiled_runs_of_mixed_dynamics_are_the_compiled_ones():
    c, x = compiled(Mixed), Mixed().random(np.random.default_rng(2))
    close(c.simulate(x, 0.1, 0.01, compiled=False).x, c.simulate(x, 0.1, 0.01).x, 1e-13)


# ---------------------------------------------------------------- functions that cannot be compiled


def inverted(self, x, u, t):
    return np.linalg.qr(self.rotation(x))[0] @ np.ones(3)


def branching(self, x, u, t):
    return np.ones(3) if t < 0.05 else np.zeros(3)


@pytest.mark.parametrize(("forces", "message"), [(inverted, "np.linalg.qr of traced values.* use np.linalg.solve"),
                                                 (branching, "a decision on a traced value .* use engine.ops.where")])  # fmt: skip
def test_untraceable_forces_are_named_by_their_line_and_run_uncompiled(forces, message):
    c = engine.compile(type("Odd", (Satellite,), {"forces": forces})())
    line, x = forces.__code__.co_firstlineno + 1, c.system.build_state()
    for call in (lambda: c.simulate(x, 0.1, 0.01), lambda: c.dynamics, lambda: c.jacobians, c.discrete):
        with pytest.raises(TraceError, match=rf"test_compiled_system\.py:{line}: {message}"):
            call()
    run = c.simulate(x, 0.1, 0.01, integrator="lie_euler_world", compiled=False)
    steps = 10 if forces is inverted else 5
    close(c.system.linear_velocity(run.x[-1]), np.full(3, steps * 0.01 / 2.0), 1e-14)


def test_untraceable_controllers_are_named_by_their_line():
    def controller(x, t):
        return np.zeros(6) if x[0] > 0 else np.ones(6)

    for call in (lambda c: c.simulate(c.system.build_state(), 0.1, controller=controller),):
        line = controller.__code__.co_firstlineno + 1
        with pytest.raises(TraceError, match=rf"test_compiled_system\.py:{line}: a decision on a traced value"):
            call(compiled(Satellite))


# ---------------------------------------------------------------- motions that end


def failing(name, after=0.255):
    """A satellite of which one function returns NaN later than that."""
    def fails(self, x, u, t):
        good = {"mass": 2.0, "inertia": np.diag([1.0, 2.0, 3.0]), "wrench": np.ones(6)}.get(name, np.ones(3))
        return good * ops.where(ops.less(after, t), np.nan, 1.0)

    own = {"mass": 2.0, "inertia": np.eye(3), "controls": 1, name: fails}
    if name in ("mass", "inertia"):
        own["moments"] = own["forces"] = lambda self, x, u, t: np.ones(3)
    return type("Failing", (RigidBody,), own)()


@pytest.mark.parametrize(("name", "integrator", "every", "first"), [
    *[(name, "cg4", 1, 0.258177) for name in ("forces", "moments", "wrench", "mass", "inertia")],
    ("wrench", "lie_euler", 7, 0.26), ("inertia", "lie_euler", 7, 0.26), ("forces", "implicit_midpoint", 1, 0.035)])  # fmt: skip
def test_a_function_that_returns_nan_is_named_with_its_time_and_the_record_kept(name, integrator, every, first):
    c = engine.compile(failing(name, first - 0.008 if integrator == "implicit_midpoint" else 0.255))   # slow as plain Python: soon
    last = {1: 0.03 if integrator == "implicit_midpoint" else 0.25, 7: 0.21}[every]
    message = rf"Failing: the state is no longer finite at t = {0.27 if every == 7 else last + 0.01:g} s \(dt = 0.01 s\): " \
              rf"Failing.{name} returns NaN or infinity at t = {first} s$"  # fmt: skip
    with pytest.raises(SimulationError, match=message) as caught:
        c.simulate(c.system.build_state(), 1.0, 0.01, integrator=integrator, record_every=every)
    kept, whole = caught.value.trajectory, c.simulate(c.system.build_state(), last, 0.01, integrator=integrator, record_every=every)
    np.testing.assert_array_equal(kept.x, whole.x)
    assert abs(kept.t[-1] - last) < 1e-15 and repr(kept) == f"<trajectory of Failing: {len(whole)} states, 0 … {last} s>"
    if name in ("forces", "moments", "wrench"):
        with pytest.raises(SimulationError, match=message) as caught:
            c.simulate(c.system.build_state(), 1.0, 0.01, integrator=integrator, record_every=every, compiled=False)
        close(caught.value.trajectory.x, kept.x, 1e-14)


def test_a_force_that_is_nan_from_the_start_leaves_the_initial_state():
    c = engine.compile(failing("forces", -1.0))
    for compiled_run in (True, False):
        with pytest.raises(SimulationError, match=r"at t = 0.01 s .* Failing.forces returns NaN or infinity at t = 0 s") as caught:
            c.simulate(c.system.build_state(), 1.0, 0.01, compiled=compiled_run)
        assert len(caught.value.trajectory) == 1


def walled(self, x, u, t):
    return ops.sqrt(1.0 - self.position(x)[0]) * np.array([1.0, 0, 0])


@pytest.mark.parametrize("every", [1, 50])
@pytest.mark.parametrize("batch", [(), (3,), (2, 2)])
def test_a_force_that_is_nan_somewhere_is_found_in_the_right_rollout(every, batch):
    """Only the last but one rollout comes there, at 1 m/s from 0.095 m away."""
    c = engine.compile(type("Walled", (Satellite,), {"forces": walled})())
    x = np.tile(c.system.build_state(position=[-50.0, 0, 0]), (*batch, 1))
    place = np.unravel_index(int(np.prod(batch)) - 2, batch) if batch else ()
    x[place] = c.system.build_state([0.905, 0, 0], linear_velocity=[1.0, 0, 0])
    why, records = r"Walled.forces returns NaN or infinity at t = 0.09\d+ s$", 10 if every == 1 else 1
    if batch:
        with pytest.warns(engine.SimulationWarning, match=rf"1 of {np.prod(batch)} rollouts of Walled failed, .* {why}"):
            found = c.simulate(x, 1.0, 0.01, record_every=every)
        assert [row for row in np.ndindex(batch) if found.failed[row]] == [place] and re.search(why, found.reason[place])
        good = np.isfinite(found.x).all(axis=-1)
        assert good[place][:records].all() and good.sum() == good.size - (len(found) - records)
        assert np.isnan(found.vdot[place][-1]).all() and np.isfinite(found.tau[place][0]).all()
        return
    with pytest.raises(SimulationError, match=why) as caught:
        c.simulate(x, 1.0, 0.01, record_every=every)
    assert caught.value.trajectory.x.shape == (records, 13)
    with pytest.raises(SimulationError, match=re.escape(str(caught.value))):   # √ of a negative number warns nobody
        c.simulate(x, 1.0, 0.01, record_every=every, compiled=False)


def test_a_controller_that_returns_nan():
    def autopilot(x, t):
        return ops.where(ops.less(0.1, t), np.nan, 1.0) * np.ones(6)

    c = compiled(Satellite)
    with pytest.raises(SimulationError, match=r"at t = 0.11 s .* autopilot returns NaN or infinity at t = 0.1\d* s$") as caught:
        c.simulate(c.system.build_state(), 1.0, 0.01, controller=autopilot)
    assert len(caught.value.trajectory) == 11
    with pytest.raises(SimulationError, match="<lambda> returns NaN or infinity at t = 0 s") as caught:
        c.simulate(c.system.build_state(), 1.0, 0.01, controller=lambda x, t: autopilot(x, t + 1.0))
    assert len(caught.value.trajectory) == 0


def test_general_dynamics_that_return_nan():
    class Failing(Mixed):
        def dynamics(self, x, u, t):
            return super().dynamics(x, u, t) / ops.where(ops.less(0.045, t), np.nan, 1.0)

    with pytest.raises(SimulationError, match=r"Failing.dynamics returns NaN or infinity at t = 0.05 s") as caught:
        engine.compile(Failing()).simulate(Mixed().neutral(), 1.0, 0.01, integrator="lie_euler")
    assert len(caught.value.trajectory) == 6


def test_functions_called_by_each_other_and_by_name_are_found_too():
    class Failing(Satellite):
        def moments(self, x, u, t):
            return 0.1 * self.forces(u=u, x=x, t=t)

        def forces(self, x, u, t):
            return np.ones(3) * ops.where(ops.less(0.045, t), np.nan, 1.0)

    with pytest.raises(SimulationError, match=r"Failing.forces returns NaN or infinity at t = 0.05 s"):
        engine.compile(Failing()).simulate(Failing().neutral(), 1.0, 0.01, integrator="lie_euler")


def test_a_mass_that_falls_below_zero():
    c = engine.compile(type("Leaking", (Satellite,), {"mass": lambda self, x, u, t: 0.255 - t, "forces": lambda self, x, u, t: x[4:7]})())
    with pytest.raises(SimulationError, match=r"Leaking.mass returns -0\.005 kg at t = 0.26 s"):
        c.simulate(c.system.build_state([1.0, 0, 0]), 1.0, 0.01, integrator="lie_euler")
    with pytest.raises(SimulationError, match=r"Leaking: mass is -0.005 kg; expected more than zero"):
        c.simulate(c.system.build_state([1.0, 0, 0]), 1.0, 0.01, integrator="lie_euler", compiled=False)
    with pytest.raises(StateError, match=r"Leaking.dynamics: the result is not finite"):
        c.dynamics(c.system.build_state([1.0, 0, 0]), np.zeros(6), 1.0)


@pytest.mark.parametrize(("load", "inertia", "why"), [
    (0.0, lambda t: np.diag([1.0, 1.0, 1.0]) * (0.255 - t), r"inertia has an eigenvalue -0\.005; expected a positive definite matrix"),
    (1.0, lambda t: np.diag([1.0, 1.0, 1.0 + 3.9215 * t]), "principal moments 1, 1, 2.0195.* violate the triangle inequality"),
    (0.0, lambda t: np.array([[1.0, t, 0], [0.25, 1.0, 0], [0, 0, 1.0]]), r"inertia is not symmetric \(by up to 0.25\)"),
    *[(load, lambda t: np.diag([1.0, 1.0, 1.0, *[0.255 - t] * 3]), "inertia has an eigenvalue -0.005") for load in (0.0, 1.0)],
], ids=["sinks", "flattens", "skew", "added", "added and pushed"])  # fmt: skip
def test_an_inertia_that_is_none_any_more(load, inertia, why):
    """In every life, with a load and without; the whole six by six too. What is not symmetric at t = 0 is no inertia from the start."""
    own = {"mass": None if np.shape(inertia(0.0)) == (6, 6) else 1.0, "inertia": lambda self, x, u, t: inertia(t),
           "forces": lambda self, x, u, t: load * np.ones(3), "moments": lambda self, x, u, t: load * np.ones(3)}  # fmt: skip
    c = engine.compile(type("Leaking", (RigidBody,), own)(integrator="lie_euler"))
    x = np.stack([c.system.build_state([1.0, 0, 0])] * 2)
    if "symmetric" not in why:
        assert np.isfinite(c.dynamics(x, np.zeros(0), 0.2)).all()
        with pytest.raises(SimulationError, match=rf"at t = 0.27 s .*: Leaking: {why}") as stopped:
            c.simulate(x[0], 1.0, 0.01)
        assert len(stopped.value.trajectory) == 27
        with pytest.warns(SimulationWarning, match=why):
            assert c.simulate(x, 1.0, 0.01).failed.all()
    with pytest.raises(SimulationError, match=f"Leaking: {why}"):
        c.simulate(x[0], 1.0, 0.01, compiled=False)
    for fn in (c.dynamics, c.jacobians, c.error_jacobians):
        with pytest.raises(StateError, match=r"the result is not finite; expected .* its mass and inertia positive"):
            fn(x, np.zeros(0), [0.2, 0.26])
    for step in (c.discrete_dynamics, c.discrete_jacobians, c.discrete_error_jacobians):
        with pytest.raises(StateError, match="the result is not finite"):
            step(x[0], np.zeros(0), 0.26, 0.01)


def test_a_mass_below_zero_without_a_force():
    c = engine.compile(type("Leaking", (RigidBody,), {"mass": lambda self, x, u, t: 0.255 - t, "inertia": np.eye(3), "forces": None})())
    x = c.system.build_state(linear_velocity=[1.0, 0, 0])
    with pytest.raises(SimulationError, match=r"Leaking.mass returns -0\.005 kg at t = 0.26 s"):
        c.simulate(x, 1.0, 0.01, integrator="lie_euler")
    with pytest.warns(SimulationWarning, match=r"2 of 2 rollouts of Leaking failed.*Leaking.mass returns -0\.005 kg"):
        assert c.simulate(np.stack([x, x]), 1.0, 0.01, integrator="lie_euler").failed.all()
    with pytest.raises(SimulationError, match=r"Leaking: mass is -0.005 kg; expected more than zero"):
        c.simulate(x, 1.0, 0.01, integrator="lie_euler", compiled=False)
    for fn in (c.dynamics, c.jacobians):
        with pytest.raises(StateError, match="not finite"):
            fn(x, np.zeros(0), 0.3)


@pytest.mark.parametrize("kind", [Satellite, Mixed])
def test_quaternions_that_are_no_unit_ones_are_refused_by_every_function(kind):
    """Within rounding of a digit they pass; attitudes of other kinds have none."""
    c = compiled(kind)
    x, u = np.stack([c.state.neutral()] * 3), np.zeros(c.controls)
    x[1, 0] = 2.0
    calls = [lambda x, f=f: f(x, u, 0.0) for f in (c.dynamics, c.jacobians, c.error_jacobians)]
    calls += [lambda x: c.discrete("lie_euler")(x, u, 0.0, 0.01)]
    calls += [lambda x, f=f: f(x, u, 0.0, 0.01, "lie_euler") for f in (c.discrete_jacobians, c.discrete_error_jacobians)]
    calls += [lambda x: c.state_plus(x, np.zeros(c.state.ne)), lambda x: c.state_diff(x, x[..., 0:1, :] * 0 + c.state.neutral())]
    for call in calls:
        for bad in (x, x[1:2]):
            with pytest.raises(StateError, match=r"x\[..., 0:4\] is a quaternion of length 2; expected a unit one"):
                call(bad)
    with pytest.raises(StateError, match=r"x0\[..., 0:4\] is a quaternion of length 2; expected a unit one"):
        c.state_diff(x[0], x[1])
    assert np.isfinite(c.dynamics(1.001 * x[0], u, 0.0)).all()
    if kind is Satellite:
        mrp = compiled(Satellite, "mrp")
        assert np.isfinite(mrp.dynamics(np.full(12, 0.5), u, 0.0)).all()


def test_divergence_is_told_from_functions_that_fail():
    class Stiff(Satellite):
        def forces(self, x, u, t):
            return -1e5 * self.linear_velocity(x)

    c = engine.compile(Stiff())
    with pytest.raises(SimulationError, match="the motion diverges; expected a smaller dt or gentler forces"):
        c.simulate(c.system.build_state(linear_velocity=[1.0, 0, 0]), 100.0, 0.1)


# ---------------------------------------------------------------- what cannot be simulated


@pytest.mark.parametrize(("arguments", "message"), [
    ({"dt": 0}, "dt is 0; expected a step in seconds greater than zero"),
    ({"dt": -1e-3}, "dt is -0.001"),
    ({"dt": np.nan}, "dt is nan"),
    ({"duration": 0}, "duration is 0; expected seconds greater than zero"),
    ({"record_every": 0}, "record_every is 0; expected a whole number of steps from 1"),
    ({"integrator": "cg5"}, "no integrator 'cg5' (did you mean 'cg"),
    ({"controller": 3}, "controller is 3; expected a function of (x, t)"),
    ({"controller": lambda t: t}, "<lambda> takes (t); expected a function of (x, t)"),
    ({"controller": lambda x, t: np.zeros(2)}, "<lambda> returned shape (2,); expected (6,) for Satellite"),
    ({"x0": np.zeros(12)}, "x0 has shape (12,); expected (..., 13): quaternion (4) + R3 + R3 + R3"),
    ({"x0": np.zeros(13)}, "x0[..., 0:4] is a quaternion of length 0; expected a unit one"),
    ({"x0": np.append([1.0, 0, 0, np.nan], np.zeros(9))}, "x0[3] is nan; expected a finite number"),
    ({"x0": [RigidBodyState(), 3]}, "the states hold RigidBodyState and int; expected all of one kind"),
])  # fmt: skip
def test_runs_that_cannot_be(arguments, message):
    given = {"x0": Satellite().build_state(), "duration": 1.0, **arguments}
    for compiled_run in (True, False):
        with pytest.raises(ValueError, match=re.escape(message)):
            compiled(Satellite).simulate(**given, compiled=compiled_run)


def test_an_uncompiled_run_takes_one_state():
    with pytest.raises(StateError, match=re.escape("x0 has shape (2, 13); expected (13,): uncompiled runs take one state")):
        compiled(Satellite).simulate(np.tile(Satellite().build_state(), (2, 1)), 1.0, compiled=False)


def test_a_variational_integrator_takes_a_constant_mass_and_inertia():
    for given in ({"mass": lambda x, u, t: 1.0 + t}, {"inertia": lambda x, u, t: np.eye(3)}):
        c = engine.compile(Satellite(**given))
        for call in (lambda c=c: c.simulate(c.system.build_state(), 0.1, integrator="dqvi"), lambda c=c: c.discrete("dqvi")):
            with pytest.raises(BodyError, match="Satellite: a variational integrator takes a constant mass and inertia; expected another"):
                call()


class Emptied(RigidBody):
    inertia, moments = np.eye(3), None

    def mass(self, x, u, t):
        return 1.0 - t

    def forces(self, x, u, t):
        return np.array([0.0, 0.0, 1.0])


class Shrunk(Emptied):
    mass = 1.0

    def inertia(self, x, u, t):
        return (1.0 - t) * np.eye(3)


class Pole(Emptied):
    mass = 1.0

    def forces(self, x, u, t):
        return np.array([0.0, 0.0, 1.0]) / (1.0 - t) ** 2


@pytest.mark.parametrize(("body", "said"), [
    (Emptied(), r"Emptied: no step is small enough at t = 1 s: Emptied\.mass returns -\S+ kg at t = 1 s"),
    (Shrunk(), "Shrunk: no step is small enough at t = 1 s: Shrunk: inertia has an eigenvalue -.*; expected a positive definite"),
    (Pole(), r"at t = \S+ s even a step of .*; expected a smoother motion"),
])  # fmt: skip
def test_steps_that_cannot_get_past_a_mass_of_zero_say_so(body, said):
    with pytest.raises(SolutionError, match=f"^{said}") as caught:
        engine.compile(body).solve(body.build_state(), 2.0)
    assert caught.value.solution.t[-1] == pytest.approx(1.0, abs=1e-6)
