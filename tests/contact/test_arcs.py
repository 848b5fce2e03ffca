"""What sticks to something that turns, and what rolls: no creep off an arc, and energy to the second order of the step."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import engine
from engine.contact import point_law
from engine.simulation import contacts as choice
from engine.spatial import inertia, se3, so3
from tests.contact.scenes import UPRIGHT, block, body, material
from tests.contact.test_turning import ROUTES, lying

W, PLACE = 2.0, 0.5
FEW = pytest.mark.parametrize("few", [20, 0], ids=["pairs", "rows"])


def turntable():
    """A plate of 2 m on a hinge along z."""
    builder = engine.Builder("table")
    builder.add_link("world")
    plate = engine.Geometry("box", (2.0, 2.0, 0.1), placement=se3.pose(np.eye(3), [0.0, 0.0, -0.05]))
    builder.add_link("plate", inertia=inertia.cylinder(5.0, 1.0, 0.1), collisions=[plate])
    builder.add_joint("spin", "revolute", "world", "plate", axis=[0, 0, 1])
    return builder.model()


def seen_from(T, x):
    """Places x (T, 3) in the frames T (T, 4, 4)."""
    return np.einsum("tji,tj->ti", T[:, :3, :3], x - T[:, :3, 3])


@FEW
@pytest.mark.parametrize("told", [True, False], ids=["told", "free"])
def test_a_box_on_a_turntable_stays_where_it_is(few, told, monkeypatch):
    """At half of the friction that holds it: a tangent's step would carry it outward by r ω² h/2, 1 mm/s."""
    monkeypatch.setattr(choice, "FEW_PAIRS", few)
    model = engine.combine(table=turntable(), box=block((0.04, 0.04, 0.02), 0.1))
    spin = [engine.Prescribed("table/spin", lambda t: W * t)] if told else []
    sim = engine.Simulator(model, dt=1e-3, constraints=spin,
                           contacts=engine.Contacts(pairs=[("table/plate", "box/block")], material=material(friction=0.4)))  # fmt: skip
    run = sim.run([0.0, *UPRIGHT, PLACE, 0.0, 0.01], [W, 0.0, 0.0, W, 0.0, W * PLACE, 0.0], 6.0, record_every=1000)
    at = seen_from(run.pose("table/plate"), run.pose("box/block")[:, :3, 3])
    assert np.abs(at[1] - [PLACE, 0.0, 0.01]).max() < 1e-5 and np.abs(at[2:] - at[1]).max() < 1e-11
    assert np.abs(run("contacts.slip")).max() < W**3 * PLACE * 1e-6            # of the third order, as an arc is longer than its chord


@FEW
def test_a_craft_that_turns_keeps_what_it_holds(few, monkeypatch):
    """Two pads hold 20 kg by friction, 1.5 m from the middle of 500 kg that turns at 5 °/s, at steps of 1 ms."""
    monkeypatch.setattr(choice, "FEW_PAIRS", few)
    builder = engine.Builder("craft")
    builder.add_link("hull", inertia=inertia.box(500.0, (1, 1, 1)))
    for name, y in (("fixed", 0.06), ("moved", -0.06)):
        builder.add_link(name, inertia=inertia.box(1.0, (0.1, 0.02, 0.1)), collisions=[engine.Geometry("box", (0.1, 0.02, 0.1))])
        builder.add_joint(f"to_{name}", "fixed" if name == "fixed" else "prismatic", "hull", name, axis=[0, 1, 0],
                          placement=se3.pose(np.eye(3), [1.5, y, 0.0]))  # fmt: skip
    model, w = engine.combine(craft=builder.model(floating_base=True), box=block((0.1, 0.1, 0.1), 20.0)), np.radians(5.0)
    press = lambda t, q, v: np.concatenate([np.zeros(6), [200.0], np.zeros(6)])
    sim = engine.Simulator(model, dt=1e-3, gravity=(0, 0, 0), controller=press, contacts=engine.Contacts(
        pairs=[("craft/fixed", "box/block"), ("craft/moved", "box/block")], material=material(1e5, 10.0, 1.0)))  # fmt: skip
    q, v = model.neutral(), np.zeros(model.nv)
    q[model.q_slice("box/floating_base")] = [*UPRIGHT, 1.5, 0.0, 0.0]
    v[2], v[model.v_slice("box/floating_base")] = w, [0.0, 0.0, w, 0.0, 1.5 * w, 0.0]
    run = sim.run(q, v, 60.0, record_every=10_000)
    at = seen_from(run.pose("craft/hull"), run.pose("box/block")[:, :3, 3])
    assert np.abs(at[2:] - at[1]).max() < 5e-6                                 # 0.29 mm by tangents
    assert np.abs(run.momentum() - run.momentum()[0]).max() < 1e-11


@pytest.mark.parametrize("route", ROUTES)
def test_a_ball_with_its_mass_beside_its_middle_rolls_as_its_equation_says(route, monkeypatch):
    """Ten seconds without loss: energy and place, better by four for half the step."""
    m, r, e, w = 1.0, 0.1, 0.04, 4.0
    own = 0.4 * m * r * r

    def rolls(t, y):                                                           # y: the mass's angle from upright, and its rate
        A = m * (r * r + e * e + 2.0 * r * e * np.cos(y[0])) + own
        return [y[1], (9.81 * m * e * np.sin(y[0]) + m * r * e * np.sin(y[0]) * y[1] ** 2) / A]

    exact = r * (solve_ivp(rolls, (0.0, 5.0), [np.pi / 2, w], rtol=1e-11, atol=1e-12).y[0, -1] - np.pi / 2)
    shape = body("ball", inertia.from_mass(m, [e, 0.0, 0.0], own * np.eye(3)), "sphere", (r,))
    surface, off = engine.ContactMaterial(2e7, 1.0, 5.0), []
    for dt in (4e-3, 2e-3):
        made = lying(route, monkeypatch, surface, shape)
        sim = engine.Simulator(made.model, dt=dt, contacts=engine.Contacts(engine.HalfSpace(material=surface), material=surface))
        z, n = r - m * 9.81 / 1e7, made.model.nv // 6
        q = np.ravel([[*UPRIGHT, 0.0, 3.0 * k, z] for k in range(n)])
        run = sim.run(q, np.tile([0.0, w, 0.0, w * z, 0.0, 0.0], n), 5.0, record_every=round(0.1 / dt))
        E = np.sum(run.energy(), axis=0) / n
        off.append((np.abs(E - E[0]).max(), abs(run.q[-1, 4] - exact)))
    start = 0.5 * w * w * (m * (r * r + e * e) + own)
    assert off[0][0] < 2e-3 * start and off[0][1] < 2e-3 * r * w * 5.0
    assert off[1][0] < 0.35 * off[0][0]


# ---------------------------------------------------------------- parts


def poses(rng):
    return np.column_stack([so3.exp(rng.normal(size=3)), rng.normal(size=3)])


def test_motions_of_a_pair_are_those_of_points_on_it():
    """A point of B that is at x now was somewhere on A's axes before: M moves it here, to the third order of a turn."""
    rng = np.random.default_rng(0)
    for size in (1e-1, 1e-2):
        before = poses(rng), poses(rng)
        now = [np.column_stack([so3.exp(size * rng.normal(size=3)) @ P[:, :3], P[:, 3] + size * rng.normal(size=3)]) for P in before]
        M = point_law.relative_motion(before, tuple(now))
        x = 0.5 * rng.normal(size=3)                                           # from B's origin
        (P_a, P_b), (T_a, T_b) = before, now
        then = P_b[:, :3] @ T_b[:, :3].T @ x + P_b[:, 3]                       # the point of B
        carried = T_a[:, :3] @ P_a[:, :3].T @ (then - P_a[:, 3]) + T_a[:, 3]
        way = M[3:] + np.cross(M[:3], x - 0.5 * np.cross(M[:3], x))
        assert np.abs(x + T_b[:, 3] - carried - way).max() < 10.0 * size**3


def test_arms_of_the_step_before_and_turns_make_velocities_of_its_end():
    rng = np.random.default_rng(1)
    (w_a, w_b, v_a, v_b, x, went, d_a, d_b) = rng.normal(size=(8, 3))
    early = v_b + np.cross(w_b, x - went + d_b) - v_a - np.cross(w_a, x - went + d_a)
    late = v_b + np.cross(w_b, x) - v_a - np.cross(w_a, x)
    np.testing.assert_allclose(early + point_law.turned_on(w_b - w_a, went, np.cross(w_b, d_b) - np.cross(w_a, d_a)), late, atol=1e-14)
