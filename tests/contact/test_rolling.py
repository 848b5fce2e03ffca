"""What rolls on curved surfaces of any kind: the velocity of the place of contact, and the motion that hangs on it."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import engine
from engine import geometry
from engine.compiler import interpret, trace
from engine.contact.pairs import narrow_phase_of_kinds
from engine.contact.rolling import TILT
from engine.geometry import Box, Capsule, Cylinder, Ellipsoid, Hull, Plane, Sphere
from engine.simulation import contacts as choice
from engine.spatial import inertia, quaternion, se3, so3
from tests.contact.scenes import ball, block, body, simulator
from tests.contact.test_turning import ROUTES, lying

G = 9.81
EGG, BEAN, SLAB, BRICK = Ellipsoid((0.3, 0.2, 0.1)), Ellipsoid((0.1, 0.25, 0.15)), Box((4.0, 4.0, 0.2)), Box((0.3, 0.2, 0.1))
GEM = Hull(((0.1, 0.0, 0.0), (-0.1, 0.05, 0.0), (-0.1, -0.05, 0.0), (0.0, 0.0, 0.1), (0.0, 0.02, -0.2)))
#: what touches in one place that both its surfaces lead: the curved one all of it, or each a part
ROLLING = [(Plane(), EGG), (EGG, SLAB), (EGG, BEAN), (EGG, Sphere(0.2)), (Capsule(0.1, 0.3), Sphere(0.2)),
           (Plane(), Sphere(0.1)), (SLAB, EGG), (Plane(), Cylinder(0.2, 0.1)), (SLAB, Cylinder(0.2, 0.1))]  # fmt: skip
#: what touches with a corner that leads the place, the first's or the second's, on a face that turns the normal
CORNERS = [(SLAB, BRICK), (BRICK, Box((0.2, 3.0, 4.0))), (GEM, SLAB)]


def touching(a, b, rng):
    """A pose of B in A's frame at which they touch, 0.1 nm apart at most, on A's upper side near its middle."""
    T = se3.pose(so3.exp(rng.normal(size=3)), [0.02, 0.03, 0.0])
    low, high = -2.0, 2.0
    for _ in range(60):
        T[2, 3] = 0.5 * (low + high)
        low, high = (T[2, 3], high) if geometry.distance(a, b, T).gap < 0.0 else (low, T[2, 3])
    return T


def given(T, V):
    """What a narrow phase takes of a body at T (4, 4) with the twist V (6), whose shape's frame is its own."""
    return np.concatenate([T[:3].ravel(), T[:3, :3].ravel(), V, np.eye(4)[:3].ravel(), np.zeros(3)])


@pytest.mark.parametrize("a, b", ROLLING + CORNERS, ids=lambda s: type(s).__name__)
def test_places_go_and_normals_turn_as_fast_as_they_are_found_to(a, b):
    """ẋ and ṅ beside differences of the places of contact and normals of shapes that go on at their twists, in the plane in which they
    touch."""
    rng, meet, e = np.random.default_rng(5), narrow_phase_of_kinds(a, b), 1e-5
    for _ in range(4):
        T_A = se3.pose(so3.exp(rng.normal(size=3)), rng.normal(size=3))
        T_B, V = T_A @ touching(a, b, rng), rng.normal(size=(2, 6))
        normal, gap, velocity = (meet(given(T_A, V[0]), given(T_B, V[1]), np.zeros(3))[k] for k in (1, 2, 5))
        ends = [meet(*(given(T @ se3.exp(s * e * W), W) for T, W in zip((T_A, T_B), V, strict=True)), np.zeros(3))[:2] for s in (-1.0, 1.0)]
        k = int(np.argmin(gap))
        off = 2.0 * TILT**2 / 0.1 if isinstance(b, Cylinder) else 2e-3         # which follows its rim the less, the flatter it lies
        for what in (0, 1):
            found = velocity[k, 3 * what : 3 * what + 3]
            difference = found - (ends[1][what] - ends[0][what])[k] / (2.0 * e)
            assert np.abs(difference - (normal[k] @ difference) * normal[k]).max() < (off, 20.0 * off)[what]


@pytest.mark.parametrize("a, b", [(EGG, BEAN), (Plane(), Cylinder(0.2, 0.1)), (SLAB, BRICK), (GEM, SLAB)], ids=lambda s: type(s).__name__)
def test_plain_interpreted_and_compiled_are_one(a, b):
    def velocity(T_B, V_A, V_B):
        return meet(given(np.eye(4), V_A), given(T_B, V_B), np.zeros(3))[5]

    rng, meet = np.random.default_rng(7), narrow_phase_of_kinds(a, b)
    x = touching(a, b, rng), rng.normal(size=6), rng.normal(size=6)
    plain, compiled = velocity(*x), engine.gufunc(velocity, f"(4,4),(6),(6)->({len(velocity(*x))},6)")(*x)
    interpreted = interpret(trace(velocity, [y.shape for y in x]), *(y[None] for y in x))[0]
    np.testing.assert_allclose([compiled, interpreted], [plain, plain], atol=1e-7)     # where eggs touch is found to about 1e-9


# ---------------------------------------------------------------- known answers


@pytest.mark.parametrize("few", [20, 0], ids=["pairs", "tables"])
@pytest.mark.parametrize("resting", [False, True], ids=["both move", "one stands"])
def test_smooth_balls_that_meet_aside_keep_their_spin(few, resting, monkeypatch):
    """A force along the line of their middles turns neither; what a step's middle is beside a chord is of the second order."""
    monkeypatch.setattr(choice, "FEW_PAIRS", few)
    spins = []
    for dt in (1e-3, 5e-4):
        wall = engine.Builder("post")
        wall.add_link("post", collisions=[engine.Geometry("sphere", (0.1,), placement=se3.pose(np.eye(3), [0.0, 0.0, 0.0]))])
        model = engine.combine(a=wall.model() if resting else ball(0.1, 1.0), b=ball(0.1, 1.0))
        made = simulator(model, engine.ContactMaterial(friction=0.0), ground=False, dt=dt, gravity=(0, 0, 0))
        q, v = ([1.0, 0, 0, 0, 0, 0, 0], [0.0] * 6) if not resting else ([], [])
        run = made.run([*q, 1.0, 0, 0, 0, -0.3, 0.1, 0], [*v, 0, 0, 0, 5.0, 0, 0], 0.1)
        assert np.abs(run.v[-1, -3:]).max() > 1.0                              # deflected
        spins.append(np.abs(run.v[-1].reshape(-1, 6)[:, :3]).max())
    assert spins[0] < 0.01 and spins[1] < spins[0] / 2.5                       # 0.6 rad/s with the end's normal


@pytest.mark.parametrize("route", ROUTES)
def test_a_disk_that_rolls_on_its_rim_keeps_its_tilt_and_energy(route, monkeypatch):
    """Euler's disk of 2 mm, whose middle rests: Ω² = 4 g/(r sin α), for a thin one; within a second at 1 ms it lost 39 %."""
    r, length, m, a = 0.1, 0.002, 0.5, 0.3
    moments = inertia.cylinder(m, r, length)
    R = so3.exp([0.0, a, 0.0])
    axis, down = R[:, 2], R[:, 0]
    arm = r * down - 0.5 * length * axis
    turn = np.sqrt(4.0 * G / (r * np.sin(a)))

    def unbalanced(W):                                                         # of the moment, of what rolls about a middle that rests
        w = W * np.array([0.0, 0.0, 1.0]) + spin(W) * axis
        L = R @ moments[:3, :3] @ R.T @ w
        return (np.cross([0.0, 0.0, W], L) - np.cross(arm, [0.0, 0.0, m * G]))[1]

    spin = lambda W: -W * np.sin(a) * (-0.5 * length / r) - W * np.cos(a)
    W = turn
    for _ in range(20):
        W -= unbalanced(W) / ((unbalanced(W + 1e-4) - unbalanced(W - 1e-4)) / 2e-4)
    assert abs(W / turn - 1.0) < 2.0 * length / r                              # a thin one's, but for how thick it is
    surface = engine.ContactMaterial(1e6, 1.0, 1.0)
    made = lying(route, monkeypatch, surface, body("coin", moments, "cylinder", (r, length)))
    w, n = R.T @ (W * np.array([0.0, 0.0, 1.0]) + spin(W) * axis), made.model.nv // 6
    q = np.ravel([[*quaternion.from_matrix(R), 0.0, 3.0 * k, -arm[2] - m * G / 5e5] for k in range(n)])
    lost = []
    for dt in (1e-3, 5e-4):
        sim = engine.Simulator(made.model, dt=dt, contacts=engine.Contacts(engine.HalfSpace(material=surface), material=surface))
        run = sim.run(q, np.tile([*w, 0.0, 0.0, 0.0], n), 1.0, record_every=round(0.01 / dt))
        E = np.sum(run.energy(), axis=0)
        lost.append(1.0 - E[-1] / E[0])
        tilts = np.arccos(np.array([quaternion.to_matrix(x[:4])[2, 2] for x in run.q]))
        assert np.abs(tilts - a).max() < 5e-3
    assert 0.0 < lost[1] < 0.6 * lost[0] < 0.003


def rattleback():
    """An ellipsoid of 1 kg whose principal axes of inertia are turned by 0.05 rad from its own: inertia (3, 3) and radii."""
    radii = np.array([0.2, 0.03, 0.02])
    turn = so3.exp([0.0, 0.0, 0.05])
    return turn @ np.diag([(radii**2).sum() - x * x for x in radii]) / 5.0 @ turn.T, radii


def turning_back(n, w, duration):
    """Rates of spin w·n (T) at tenths of a second, of the rattleback that rolls without slipping: of its equation in its own axes."""
    J, radii = rattleback()
    A = np.diag(radii**2)

    def rates(t, y):
        n, w = y[:3], y[3:]
        s, n_dot = np.sqrt(n @ A @ n), -np.cross(w, n)
        r, r_dot = -A @ n / s, -A @ n_dot / s + A @ n * (n @ A @ n_dot) / s**3
        v = -np.cross(w, r)
        F = -np.cross(w, r_dot) + np.cross(w, v) + G * n                       # of 1 kg, but for r × ω̇
        X = so3.hat(r)
        return np.concatenate([n_dot, np.linalg.solve(J - X @ X, np.cross(r, F) - np.cross(w, J @ w))])

    y = solve_ivp(rates, (0.0, duration), np.concatenate([n, w]), rtol=1e-10, atol=1e-12, t_eval=np.arange(0.0, duration, 0.1)).y
    return np.einsum("it,it->t", y[:3], y[3:])


@pytest.mark.parametrize("way", [-1.0, 1.0], ids=["turns back", "goes on"])
def test_a_rattleback_turns_back_as_its_equation_says(way):
    J, radii = rattleback()
    up = np.array([0.0, 0.01, 1.0]) / np.hypot(0.01, 1.0)
    I = np.zeros((6, 6))
    I[:3, :3], I[3:, 3:] = J, np.eye(3)
    surface = engine.ContactMaterial(1e6, 1.0, 10.0)
    sim = engine.Simulator(body("stone", I, "ellipsoid", tuple(radii)), dt=1e-3,
                           contacts=engine.Contacts(engine.HalfSpace(material=surface), material=surface))  # fmt: skip
    R = so3.exp([np.arcsin(up[1]), 0.0, 0.0])
    r, w = -(radii**2 * up) / np.sqrt(up @ (radii**2 * up)), 5.0 * way * up
    start = [*quaternion.from_matrix(R), 0.0, 0.0, -(R @ r)[2] - 2e-6 * G]
    run = sim.run(start, [*w, *-np.cross(w, r)], 3.0, record_every=100)
    spins = np.array([quaternion.to_matrix(q[:4])[2] @ v[:3] for q, v in zip(run.q, run.v, strict=True)])
    assert np.abs(spins[:30] - turning_back(up, w, 3.0)).max() < 0.2           # its springs give a little; it gained 17 %
    assert np.ptp(np.sum(run.energy(), axis=0)) < 0.02 * 0.5 * w @ J @ w


@pytest.mark.parametrize("few", [20, 0], ids=["pairs", "rows"])
def test_a_ball_on_a_seesaw_takes_its_place_along_as_that_tilts(few, monkeypatch):
    """The normal turns with the plate, and energy is of second order; by a place that did not it was of the first."""
    monkeypatch.setattr(choice, "FEW_PAIRS", few)
    builder = engine.Builder("seesaw")
    builder.add_link("world")
    builder.add_link("plate", inertia=inertia.box(4.0, (2.0, 1.0, 0.1)), collisions=[engine.Geometry("box", (2.0, 1.0, 0.1))])
    builder.add_joint("hinge", "revolute", "world", "plate", axis=[0, 1, 0])
    model, surface = engine.combine(seesaw=builder.model(), ball=ball(0.1, 1.0)), engine.ContactMaterial(2e7, 1.0, 5.0)
    w, rolls, off = 0.5, 4.0, []
    v = [w, 0.0, rolls, 0.0, *(np.cross([0.0, w, 0.0], [-0.3, 0.0, 0.05]) + np.cross([0.0, rolls, 0.0], [0.0, 0.0, 0.1]))]
    for dt in (4e-3, 2e-3):
        sim = engine.Simulator(model, dt=dt, contacts=engine.Contacts(pairs=[("seesaw/plate", "ball/ball")], material=surface))
        run = sim.run([0.0, 1.0, 0.0, 0.0, 0.0, -0.3, 0.0, 0.15 - G / 1e7], v, 0.6, record_every=round(0.02 / dt))
        off.append(np.ptp(np.sum(run.energy(), axis=0)))
    assert off[0] < 1e-4 and off[1] < 0.35 * off[0]                            # 5e-4, of 1.8 J, and half of it, by a place that did not


@pytest.mark.parametrize("few", [20, 0], ids=["pairs", "rows"])
@pytest.mark.parametrize("tilt, w", [((0.5, 0.4, 0.3), (-0.8, 0.8, 3.0)), ((0.9, 0.0, 0.0), (1.0, -0.3, 0.0))], ids=["corner", "edge"])
def test_a_smooth_brick_slides_on_a_corner_or_an_edge_and_keeps_its_energy(tilt, w, few, monkeypatch):
    """A spring draws it to a slab that moves and turns: energy is of second order; by places that went with both it was of the first."""
    monkeypatch.setattr(choice, "FEW_PAIRS", few)
    model, k, R = engine.combine(slab=block(SLAB.size, 4.0), brick=block(BRICK.size)), 30.0, so3.exp(tilt)
    corners = np.array(BRICK.vertices) @ R.T
    foot = corners[corners[:, 2] < corners[:, 2].min() + 1e-9].mean(axis=0)
    slab, place = np.array([0.5, -0.3, 0.2]), np.array([0.2, 0.1, 0.1 - foot[2]])
    drift = np.cross(slab, place + foot) + [0.5, 1.0, 0.0] - np.cross(w, foot)  # along the slab

    def spring(t, q, v):
        d = q[11:14] - q[4:7]
        return k * np.concatenate([np.zeros(3), quaternion.to_matrix(q[:4]).T @ d, np.zeros(3), -(quaternion.to_matrix(q[7:11]).T @ d)])

    off, smooth = [], engine.ContactMaterial(2e8, 1.0, 0.0)
    for dt in (2e-3, 1e-3):
        sim = engine.Simulator(model, dt=dt, gravity=(0, 0, 0), controller=spring,
                               contacts=engine.Contacts(pairs=[("slab/block", "brick/block")], material=smooth))  # fmt: skip
        run = sim.run([1.0, *[0.0] * 6, *quaternion.from_matrix(R), *place], [*slab, 0, 0, 0, *(w @ R), *(drift @ R)], 0.15)
        E = np.sum(run.energy(), axis=0) + 0.5 * k * np.sum((run.q[:, 11:14] - run.q[:, 4:7]) ** 2, axis=1)
        off.append(np.ptp(E))
    assert off[0] < 1e-4 and off[1] < 0.35 * off[0]                            # of 3 J; each half as much at half the step, by such places
