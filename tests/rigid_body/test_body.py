"""The rigid body's dynamics: Newton–Euler written out, momentum's laws, MuJoCo, RobotDynamics.jl's satellite; the same physics in every
attitude, velocity frame and form of the loads; what is said about bodies that cannot be."""

import re

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import engine
from engine import BodyError, StateError, ops
from engine.rigid_body import RigidBody, world_momentum
from engine.spatial import se3
from tests.numeric import check_lives, close, derivative
from tests.rigid_body.bodies import BODIES, CHOICES, DENSE, INERTIA, T, U, compiled, parameters, rotation, states

from tests.rigid_body.bodies import Burning, Heavy, Loaded, Satellite, Swelling, Wrenched  # isort: skip

choices = pytest.mark.parametrize(("attitude", "frame"), CHOICES)
kinds = pytest.mark.parametrize("kind", BODIES.values(), ids=BODIES)


def built(kind, attitude, frame, s):
    body = kind(attitude=attitude, velocity_frame=frame)
    return body, body.build_state(s)


def rate_by_names(attitude, frame, s, alpha, a):
    """ẋ from the angular acceleration (body axes) and the origin's acceleration (world axes): every part by SciPy's rotations."""
    R, w, u = rotation(s), s.angular_velocity, s.linear_velocity
    orientation = derivative(lambda t: parameters(attitude, R * Rotation.from_rotvec(w * t)), 1 / 256)
    sign = np.sign(s.orientation @ parameters(attitude, R)) if attitude == "quaternion" else 1.0
    velocity = a if frame == "world" else R.inv().apply(a) - np.cross(w, R.inv().apply(u))
    return np.concatenate([sign * orientation, u, alpha, velocity])


# ---------------------------------------------------------------- Newton and Euler


@choices
@pytest.mark.parametrize("kind", [Loaded, Burning])
def test_newton_and_euler_in_world_axes(kind, attitude, frame):
    """d(I ω)/dt = M and m a = F at the centre of mass, solved in world axes."""
    for s in states(5):
        (body, x), R = built(kind, attitude, frame, s), rotation(s).as_matrix()
        F, M = body.forces(x, U, T), R @ body.moments(x, U, T)
        m, I = (given(x, U, T) if callable(given) else given for given in (body.mass, body.inertia))
        w, Iw = R @ s.angular_velocity, R @ I @ R.T
        alpha = np.linalg.solve(Iw, M - np.cross(w, Iw @ w))
        close(body.dynamics(x, U, T), rate_by_names(attitude, frame, s, R.T @ alpha, F / m), 1e-11)


@choices
@pytest.mark.parametrize("kind", [Heavy, Swelling])
def test_kirchhoffs_equations(kind, attitude, frame):
    """(Aω + Hv)˙ = (Aω + Hv) × ω + (Hᵀω + Mv) × v + m and (Hᵀω + Mv)˙ = (Hᵀω + Mv) × ω + f, of a body with added mass."""
    for s in states(5):
        (body, x), R = built(kind, attitude, frame, s), rotation(s).as_matrix()
        G = body.inertia(x, U, T) if callable(body.inertia) else body.inertia
        w, v = s.angular_velocity, R.T @ s.linear_velocity
        L, P = np.split(G @ np.concatenate([w, v]), 2)
        m, f = body.moments(x, U, T), R.T @ body.forces(x, U, T)
        wdot, vdot = np.split(np.linalg.solve(G, np.concatenate([np.cross(L, w) + np.cross(P, v) + m, np.cross(P, w) + f])), 2)
        close(body.dynamics(x, U, T), rate_by_names(attitude, frame, s, wdot, R @ (vdot + np.cross(w, v))), 1e-11)


def test_momentum_changes_by_the_wrench():
    """d/dt Ad(T)⁻ᵀ G V = Ad(T)⁻ᵀ F along the motion, about the world's origin, for any inertia."""
    for kind in (Loaded, Heavy):
        for s in states(3):
            body, x = built(kind, "quaternion", "world", s)
            xdot, G = body.dynamics(x, U, T), body.spatial_inertia(x, U, T)

            def momentum(t, body=body, x=x, xdot=xdot, G=G):
                y = body.state.normalized(x + t * xdot)
                return world_momentum(se3.pose(body.rotation(y), body.position(y)), G, body.twist(y))

            F = body.forces(x, U, T)
            M = body.rotation(x) @ body.moments(x, U, T) + np.cross(s.position, F)
            close(derivative(momentum, 1 / 256), np.concatenate([M, F]), 1e-10)


def test_an_inertia_of_6_by_6_with_the_centre_at_the_origin_is_mass_and_3_by_3():
    class Same(Loaded):
        mass, inertia = None, np.block([[INERTIA, np.zeros((3, 3))], [np.zeros((3, 3)), 2.0 * np.eye(3)]])

    for attitude, frame in CHOICES:
        for s in states(3):
            (body, x), (same, _) = built(Loaded, attitude, frame, s), built(Same, attitude, frame, s)
            close(same.dynamics(x, U, T), body.dynamics(x, U, T), 1e-14)
            np.testing.assert_array_equal(same.spatial_inertia(x, U, T), body.spatial_inertia(x, U, T))


def test_forces_and_moments_are_a_wrench():
    for attitude, frame in CHOICES:
        for s in states(3):
            (body, x), (wrenched, _) = built(Loaded, attitude, frame, s), built(Wrenched, attitude, frame, s)
            close(wrenched.dynamics(x, U, T), body.dynamics(x, U, T), 1e-14)
            close(wrenched.wrench(x, U, T), np.concatenate([body.moments(x, U, T), body.rotation(x).T @ body.forces(x, U, T)]), 1e-14)


# ---------------------------------------------------------------- MuJoCo


MASS, CENTRE = 1.7, np.array([0.1, -0.2, 0.3])
FREE = f"""
<mujoco><option gravity="0.3 -0.4 -9.81"/>
<worldbody><body><freejoint/>
<inertial pos="{CENTRE[0]} {CENTRE[1]} {CENTRE[2]}" mass="{MASS}" fullinertia="0.9 1.1 1.4 0.1 -0.15 0.2"/>
</body></worldbody></mujoco>"""


class Offset(RigidBody):
    """MuJoCo's body: its centre is not its origin; forces and moments at the origin are its controls."""

    h = se3.so3.hat(CENTRE)
    inertia = np.block([[np.array([[0.9, 0.1, -0.15], [0.1, 1.1, 0.2], [-0.15, 0.2, 1.4]]) - MASS * h @ h, MASS * h],
                        [-MASS * h, MASS * np.eye(3)]])  # fmt: skip
    controls = 6

    def weight(self):
        return MASS * np.array([0.3, -0.4, -9.81])

    def forces(self, x, u, t):
        return u[:3] + self.weight()

    def moments(self, x, u, t):
        return u[3:] + ops.cross(CENTRE, self.rotation(x).T @ self.weight())


@choices
def test_mujocos_acceleration_of_a_free_body(attitude, frame):
    """Under gravity, a force and a moment at the origin, and a wrench at the centre of mass."""
    model = mujoco.MjModel.from_xml_string(FREE)
    data, rng = mujoco.MjData(model), np.random.default_rng(3)
    for s in states(4):
        (body, x), R = built(Offset, attitude, frame, s), rotation(s).as_matrix()
        F, M, F_centre, M_centre = rng.standard_normal((4, 3)) * 5                           # in the world; M in the body
        data.qpos[:], data.qvel[:] = np.append(s.position, s.orientation), np.append(s.linear_velocity, s.angular_velocity)
        data.qfrc_applied[:], data.xfrc_applied[1] = np.append(F, M), np.append(F_centre, M_centre)
        mujoco.mj_forward(model, data)
        xdot = body.dynamics(x, np.append(F + F_centre, M + R.T @ M_centre + np.cross(CENTRE, R.T @ F_centre)), 0.0)
        close(xdot, rate_by_names(attitude, frame, s, data.qacc[3:], data.qacc[:3]), 1e-11)


# ---------------------------------------------------------------- RobotDynamics.jl


def rotated(q, r):
    """∇rotate of Rotations.jl: ∂/∂q of (w² − v·v) r + 2 v (v·r) + 2 w v × r, (3, 4)."""
    w, v = q[0], q[1:]
    columns = -2 * np.outer(r, v) + 2 * (v @ r) * np.eye(3) + 2 * np.outer(v, r) - 2 * w * se3.so3.hat(r)
    return np.column_stack([2 * (w * r + np.cross(v, r)), columns])


def test_robotdynamics_satellite():
    """Its wrench Jacobian as printed, ∂F/∂q = ∇rotate(q, u[1:3]), ∂F/∂u = R(q), ∂M/∂u = 1, in the error state's coordinates."""
    compiled_satellite, u = compiled(Satellite), np.array([4.0, -2.0, 1.0, 0.3, 0.6, -0.9])
    for s in states(4):
        x = compiled_satellite.system.build_state(s)
        A, B = compiled_satellite.error_jacobians(x, u, 0.0)
        q, R = s.orientation, rotation(s).as_matrix()
        E = np.column_stack([np.array([-q[1:], [q[0], -q[3], q[2]], [q[3], q[0], -q[1]], [-q[2], q[1], q[0]]][k]) for k in range(4)]).T
        close(A[9:, :3], rotated(q, u[:3]) @ E / 2.0, 1e-13)
        close(B, np.block([[np.zeros((6, 6))], [np.zeros((3, 3)), np.diag([1, 1 / 2, 1 / 3])], [R / 2.0, np.zeros((3, 3))]]), 1e-14)
        J, w = np.diag([1.0, 2.0, 3.0]), s.angular_velocity
        close(A[6:9, 6:9], np.linalg.solve(J, se3.so3.hat(J @ w) - se3.so3.hat(w) @ J), 1e-13)
        close(A[:3, :3], -se3.so3.hat(w), 1e-13)                                             # δ̇ = −ω × δ + Δω/2
        close(A[:3, 6:9], 0.5 * np.eye(3), 1e-13)
        close(A[3:6], np.block([np.zeros((3, 9)), np.eye(3)]), 1e-14)


def test_what_robotdynamics_calls_otherwise_is_said_with_its_order_and_axes():
    """A rename would leave [F; M] where [M; F] is read, and world axes where body axes are."""
    theirs = {"mass": 1.0, "inertia": np.eye(3), "controls": 6, "wrenches": lambda self, x, u, t: u}
    message = ("Drone has 'wrenches', [force in world axes; moment in body axes] in RobotDynamics.jl; expected its parts as "
               "forces(x, u, t) and moments(x, u, t), or a wrench(x, u, t) as [moment; force], both in body axes")  # fmt: skip
    for more in ({}, {"wrench": None}, {"forces": None}, {"wrench": lambda self, x, u, t: u}):
        with pytest.raises(BodyError, match=re.escape(message)):
            engine.compile(type("Drone", (RigidBody,), {**theirs, **more})())
    for name, message in (("control_dim", "the number of controls in RobotDynamics.jl; expected controls = …"),
                          ("wrench_jacobian", "not read: derivatives are exact"),
                          ("wrench_sparsity", "not read: it is found from forces and moments")):  # fmt: skip
        with pytest.raises(BodyError, match=f"Drone has '{name}', {message}"):
            engine.compile(type("Drone", (Satellite,), {name: 6})())


def test_the_state_as_robotdynamics_has_it_goes_in_and_out_by_its_parts():
    theirs = np.concatenate([s := states(1)[0].position, states(1)[0].orientation, [1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    parts = np.split(theirs, [3, 7, 10])
    x = Satellite().build_state(*parts)
    close(np.concatenate(Satellite().parse_state(x)), theirs, 1e-15)
    np.testing.assert_array_equal(np.asarray(engine.RigidBodyState(*parts)), x)
    assert x[4:7].tolist() == s.tolist()


# ---------------------------------------------------------------- a start from momentum


@choices
@pytest.mark.parametrize("kind", [Loaded, Heavy])
def test_a_state_from_momentum_has_it(kind, attitude, frame):
    """Of a body with its centre at the origin and of one with added mass, in all axes, about the body's origin and the world's."""
    body, rng = kind(attitude=attitude, velocity_frame=frame), np.random.default_rng(1)
    some, P = states(4), rng.standard_normal((4, 6))
    place, turn = np.array([s.position for s in some]), np.array([s.orientation for s in some])
    G = body.spatial_inertia(body.neutral(), U, T)
    for axes in ("world", "world_aligned", "body"):
        x = body.state_from_momentum(P, place, turn, axes)
        for row, s, wanted in zip(x, some, P, strict=True):
            R, found = rotation(s).as_matrix(), G @ body.twist(row)
            L, p = (found[:3], found[3:]) if axes == "body" else (R @ found[:3], R @ found[3:])
            close(np.concatenate([L + (np.cross(s.position, p) if axes == "world" else 0.0), p]), wanted, 1e-13)
            close(np.abs(row[:3]), np.abs(body.build_state(s)[:3]), 1e-15)
            close(body.position(row), s.position, 0)
        close(body.state_from_momentum(P, place[0], turn[0], axes)[0], x[0], 1e-13)
        close(body.state_from_momentum(P[0], place, turn, axes)[0], x[0], 1e-13)


def test_a_run_that_starts_from_momentum_keeps_it():
    free = RigidBody(inertia=DENSE, attitude="mrp")
    P = np.array([0.3, -0.2, 0.5, 1.0, 2.0, -1.0])
    motion = engine.compile(free).simulate(free.state_from_momentum(P, [1.0, 0.0, 2.0]), 0.1, 0.01, integrator="lie_euler")
    close(motion.momentum()[0], P, 1e-14)


@pytest.mark.parametrize(("given", "message"), [
    ({"P": np.ones(3)}, "Satellite: P has shape (3,); expected (..., 6), [angular; linear]"),
    ({"P": [0, 0, 0, np.nan, 0, 0]}, "Satellite: P holds NaN or infinity; expected finite numbers"),
    ({"P": "much"}, "Satellite: P is 'much'; expected numbers"),
    ({"P": np.ones(6), "frame": "wrld"}, "frame is 'wrld' (did you mean 'world'?); expected one of body, world, world_aligned"),
    ({"P": np.ones(6), "orientation": [0, 0, 0, 0]}, "is a quaternion of length 0"),
    ({"P": np.ones((2, 6)), "position": np.ones((3, 3))}, "Satellite: a pose and P have shapes (3, 13), (2, 6); expected batches that"),
])  # fmt: skip
def test_momenta_that_no_state_has(given, message):
    with pytest.raises(StateError, match=re.escape(message)):
        Satellite().state_from_momentum(**given)


def test_a_body_that_varies_starts_from_velocities():
    with pytest.raises(BodyError, match="Burning: a start from momentum takes a constant mass and inertia; expected velocities"):
        Burning().state_from_momentum(np.ones(6))


# ---------------------------------------------------------------- plain, interpreted, compiled


@kinds
def test_dynamics_plain_interpreted_and_compiled(kind):
    attitude, frame = CHOICES[list(BODIES.values()).index(kind)]
    body = kind(attitude=attitude, velocity_frame=frame)
    x = np.array([body.build_state(s) for s in states(3)])
    u, t = np.random.default_rng(0).standard_normal((3, 4)), np.array([0.0, T, 2.0])
    check_lives(body.dynamics, x, u, t, tolerance=2e-14)


@choices
def test_compiled_dynamics_broadcast(attitude, frame):
    body = compiled(Burning, attitude, frame)
    x = np.array([[body.system.build_state(s) for s in states(3, k)] for k in range(2)])
    xdot = body.dynamics(x, U, np.array([[0.0], [1.0]]))
    close(xdot[1, 2], body.system.dynamics(x[1, 2], U, 1.0), 1e-14)
    assert (xdot[1, 2] == body.dynamics(x[1, 2], U, 1.0)).all() and xdot.shape == x.shape


def test_motion_and_back():
    """to_motion and from_motion are each other's inverse, and the twist is in body axes."""
    for attitude, frame in CHOICES:
        for s in states(5):
            body, x = built(Loaded, attitude, frame, s)
            q, V = body.to_motion(x)
            close(np.abs(q), np.abs(np.append(s.orientation, s.position)), 1e-14)
            close(V, np.append(s.angular_velocity, rotation(s).inv().apply(s.linear_velocity)), 1e-14)
            assert body.rigid_body_state(body.from_motion(q, V)).isclose(s, 1e-14)


def test_properties_by_keyword_are_the_bodys_own():
    grown = Loaded(mass=lambda x, u, t: 2.0 + t, inertia=3.0 * INERTIA, controls=5)
    x, u = grown.build_state(states(1)[0]), np.append(U, 0.0)
    assert (grown.controls, Loaded.controls, Loaded.mass) == (5, 4, 2.0)
    close(grown.spatial_inertia(x, u, 1.5), np.block([[3 * INERTIA, np.zeros((3, 3))], [np.zeros((3, 3)), 3.5 * np.eye(3)]]), 0)
    close(grown.dynamics(x, u, 1.5)[10:], grown.forces(x, u, 1.5) / 3.5, 1e-14)


# ---------------------------------------------------------------- bodies that cannot be


@pytest.mark.parametrize(("properties", "message"), [
    ({"mass": -1}, "Satellite: mass is -1 kg; expected more than zero"),
    ({"mass": 0}, "mass is 0 kg; expected more than zero"),
    ({"mass": np.nan}, "Satellite: mass holds NaN or infinity; expected finite numbers"),
    ({"mass": "heavy"}, "mass is 'heavy'; expected real numbers"),
    ({"mass": 1 + 1j}, "mass is (1+1j); expected real numbers"),
    ({"mass": [1, 2]}, "mass has shape (2,); expected one number"),
    ({"mass": None}, "Satellite has no mass; expected a number of kg, or a function mass(x, u, t)"),
    ({"inertia": None}, "Satellite has no inertia; expected a 3×3 or 6×6 matrix, or a function inertia(x, u, t)"),
    ({"inertia": np.diag([1, 1, -1.0])}, "inertia has an eigenvalue -1; expected a positive definite matrix"),
    ({"inertia": np.diag([1, 1, 0.0])}, "inertia has an eigenvalue 0"),
    ({"inertia": [[1, 0.1, 0], [0, 1, 0], [0, 0, 1]]}, "inertia is not symmetric (by up to 0.1); expected a symmetric matrix"),
    ({"inertia": [[1, 0], [0]]}, "Satellite: inertia is not rectangular; expected an array of numbers"),
    ({"inertia": [1, 2, 3.0]}, "inertia has shape (3,); expected (3, 3) or (6, 6)"),
    ({"inertia": np.full((3, 3), np.inf)}, "inertia holds NaN or infinity"),
    ({"inertia": np.diag([1, 1, 30.0])}, "Satellite: principal moments 1, 1, 30 kg·m² violate the triangle inequality"),
    ({"mass": None, "inertia": np.diag([1, 1, 30.0, 1, 1, 1])}, "Satellite: principal moments 1, 1, 30 kg·m² violate the triangle"),
    ({"inertia": DENSE}, "Satellite has a mass besides a 6×6 inertia, which holds it; expected one or the other"),
    ({"attitude": "euler"}, "attitude is 'euler'; expected one of quaternion, mrp, rodrigues, rotation_vector"),
    ({"velocity_frame": "ned"}, "velocity_frame is 'ned'; expected 'world' or 'body'"),
    ({"controls": -1}, "controls is -1; expected the number of entries of u"),
    ({"controls": 2.0}, "controls is 2.0"),
    ({"mass": lambda: 2.0}, "Satellite.mass takes (), and is called as (x, u, t); expected it to take these"),
    ({"inertia": lambda x, u: INERTIA}, "Satellite.inertia takes (x, u), and is called as (x, u, t); expected it to take these"),
    ({"velocity_frame": lambda: "body"}, "Satellite: velocity_frame is a function; expected a value, velocity_frame = …"),
    ({"weight": 1}, "Satellite got weight=…; expected some of mass, inertia, controls, attitude, velocity_frame, integrator"),
])  # fmt: skip
def test_bodies_that_cannot_be(properties, message):
    with pytest.raises(BodyError, match=re.escape(message)):
        engine.compile(Satellite(**properties))


@pytest.mark.parametrize("name", ["forces", "moments"])
def test_wrench_besides_forces_or_moments(name):
    both = type("Both", (Satellite,), {"wrench": lambda self, x, u, t: u, **({} if name == "forces" else {"forces": RigidBody.forces})})
    with pytest.raises(BodyError, match="Both has both wrench and forces or moments; expected the one or the others"):
        engine.compile(both())


@pytest.mark.parametrize(("members", "message"), [
    ({"force": lambda self, x, u, t: np.ones(3)}, "Odd has 'force' and no 'forces'; expected 'forces' (the force in world axes), or "),
    ({"forces": None, "Moments": lambda self, x, u, t: np.ones(3)}, "Odd has 'Moments' and no 'moments'; expected 'moments' (the moment"),
    ({"forces": lambda self, x, u: u}, "Odd.forces takes (x, u), and is called as (x, u, t); expected it to take these"),
    ({"wrench": lambda self, z: z}, "Odd.wrench takes (z), and is called as (x, u, t); expected it to take these"),
    ({"forces": None, "velocity_frame": lambda self: "body"}, "Odd: velocity_frame is a function; expected a value"),
    ({"forces": None, "control": 3}, "Odd has 'control' and no 'controls'; expected 'controls'"),
    ({}, "Odd has neither forces nor moments nor a wrench; expected one of these functions of (x, u, t), or forces = None for a body that"),
])  # fmt: skip
def test_what_is_misspelt_or_not_written_is_said(members, message):
    with pytest.raises(BodyError, match=re.escape(message)):
        engine.compile(type("Odd", (RigidBody,), {"mass": 1.0, "inertia": np.eye(3), **members})())
    free = type("Free", (RigidBody,), {"mass": 1.0, "inertia": np.eye(3), "forces": None})()
    assert engine.compile(free).dynamics(free.build_state(linear_velocity=[1.0, 0, 0]), np.zeros(0), 0.0)[4:7].tolist() == [1.0, 0, 0]


def test_of_an_inertia_that_grows_spin_is_kept_and_with_its_moment_momentum_is():
    """I(t) = 1 + t: ω stays, as what comes has the body's own spin; with −İ ω among the moments I ω stays."""
    for moment, expected in ((0.0, 1.0), (-1.0, 0.5)):
        members = {"mass": 1.0, "inertia": lambda self, x, u, t: (1.0 + t) * np.eye(3),
                   "moments": lambda self, x, u, t, k=moment: k * self.angular_velocity(x)}  # fmt: skip
        body = type("Growing", (RigidBody,), members)()
        motion = engine.compile(body).simulate(body.build_state(angular_velocity=[0, 0, 1.0]), 1.0, 1e-2)
        assert abs(motion.v[-1, 2] - expected) < 1e-9


@pytest.mark.parametrize(("name", "size", "returned", "message"), [
    ("forces", 3, np.zeros(2), "Odd.forces returned shape (2,); expected (3,)"),
    ("forces", 3, np.zeros((3, 1)), "Odd.forces returned shape (3, 1); expected (3,)"),
    ("forces", 3, None, "Odd: forces is None; expected real numbers"),
    ("moments", 3, np.zeros(4), "Odd.moments returned shape (4,); expected (3,)"),
    ("wrench", 6, np.zeros(3), "Odd.wrench returned shape (3,); expected (6,)"),
    ("moments", 3, [0, 0, [1, 2]], "Odd: moments is not rectangular"),
    ("mass", 0, np.ones(3), "Odd: mass has shape (3,); expected one number"),
    ("inertia", 0, np.eye(4), "Odd: inertia has shape (4, 4); expected (3, 3) or (6, 6)"),
])  # fmt: skip
def test_functions_that_return_what_they_should_not(name, size, returned, message):
    free = {} if name in ("forces", "moments", "wrench") else {"forces": None}
    odd = type("Odd", (RigidBody,), {"mass": 1.0, "inertia": np.eye(3), "controls": 1, **free, name: lambda self, x, u, t: returned})()
    x = odd.build_state()
    for call in (lambda: odd.dynamics(x, np.zeros(1), 0.0), lambda: engine.compile(odd).dynamics, lambda: engine.compile(odd).jacobians,
                 lambda: engine.compile(odd).simulate(x, 1.0), lambda: engine.compile(odd).simulate(x, 1.0, compiled=False),
                 *([engine.compile(odd).wrench_sparsity] if size else [])):  # fmt: skip
        with pytest.raises((BodyError, engine.SimulationError), match=re.escape(message)):
            call()


@pytest.mark.parametrize(("x", "u", "message"), [
    (np.zeros(12), np.zeros(6), "Satellite.dynamics: x has shape (12,); expected (..., 13)"),
    (np.zeros(13), np.zeros(5), "Satellite.dynamics: u has shape (5,); expected (..., 6)"),
    (np.full(13, np.nan), np.zeros(6), "Satellite.dynamics: x[0] is nan; expected a finite number"),
    (np.eye(13)[0], np.full(6, np.inf), "Satellite.dynamics: u[0] is inf"),
])  # fmt: skip
def test_calls_with_what_is_no_state(x, u, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        compiled(Satellite).dynamics(x, u, 0.0)


def test_an_inertia_found_to_be_6_by_6_or_3_by_3_only_when_it_is_asked():
    for given, message in (({"mass": 2.0, "inertia": lambda x, u, t: DENSE}, "has a mass besides a 6×6 inertia"),
                           ({"mass": None, "inertia": lambda x, u, t: INERTIA}, "Satellite has no mass")):  # fmt: skip
        body = Satellite(**given)
        with pytest.raises(BodyError, match=message):
            body.dynamics(body.neutral(), np.zeros(6), 0.0)
        with pytest.raises(BodyError, match=message):
            engine.compile(body).jacobians  # noqa: B018


def test_gravity_is_among_the_forces():
    with pytest.raises(StateError, match="compile got a gravity for Satellite; expected it among the system's own forces"):
        engine.compile(Satellite(), gravity=(0, 0, 0))
