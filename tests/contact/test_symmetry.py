"""Contacts and symmetry: what is its own mirror image stays so, and what is round and slick keeps its spin."""

import numpy as np
import pytest

import engine
from engine.spatial import inertia, quaternion
from tests.contact.scenes import UPRIGHT, ball, body

FAR_BODIES = [0, 6]


def scene(rows, slick, **bodies):
    """Bodies, slick, without gravity unless told, beside so many that are far away that tables hold them; and where these are."""
    far = {f"far{k}": ball(name=f"far{k}") for k in range(rows)}
    model = engine.combine(**bodies, **far)
    places = np.array([[*UPRIGHT, 9.0, 2.0 * k, 0.0] for k in range(rows)]).ravel()
    return engine.Simulator(model, contacts=engine.Contacts(material=slick)), places


@pytest.mark.parametrize("rows", FAR_BODIES)
@pytest.mark.parametrize("turn", [0.0, np.pi])
def test_what_lies_over_an_edge_does_not_begin_to_turn(turn, rows):
    """A slick cylinder that lies across a box's edge has no reason to turn about the vertical."""
    base = body("base", inertia.box(1.0, (0.4, 0.4, 0.2)), "box", (0.4, 0.4, 0.2), floating=False)
    rod = body("rod", inertia.cylinder(1.0, 0.06, 0.3), "cylinder", (0.06, 0.3))
    sim, far = scene(rows, engine.ContactMaterial(1e6, 5.0, 0.0), base=base, rod=rod)
    lies = quaternion.product([np.cos(turn / 2), 0.0, 0.0, np.sin(turn / 2)], [np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0])
    run = sim.run(np.concatenate([lies, [0.1, 0.0, 0.16], far]), np.zeros(6 * (rows + 1)), 1.0)
    points = run("contacts").at(0)
    assert len(points.gap) == 4 and abs(points.position.sum(axis=0)[1]) < 1e-9
    arm = 1e-9 * np.hypot(0.06, 0.15)                                          # a corner is known to so much of the smaller shape's size
    assert np.abs(run.v[:, 0]).max() < 9.81 * arm / (0.06**2 / 4 + 0.3**2 / 12)
    assert np.abs(run.v[:, 2]).max() < 9.81 * arm / (0.06**2 / 2)


@pytest.mark.parametrize("rows", FAR_BODIES)
@pytest.mark.parametrize(("below", "aside"), [(0.1, 0.009), (0.1, 0.022), (0.15, 0.04), (0.15, 0.06)])
def test_a_cylinder_that_stands_off_the_middle_of_another_comes_to_rest(below, aside, rows):
    """Whichever way it leans on the way there: no forces that jump set it rocking again."""
    base = body("base", inertia.cylinder(1.0, below, 0.2), "cylinder", (below, 0.2), floating=False)
    rod = body("rod", inertia.cylinder(1.0, 0.1, 0.2), "cylinder", (0.1, 0.2))
    sim, far = scene(rows, engine.ContactMaterial(1e5, 10.0, 0.5), base=base, rod=rod)
    stands = [np.cos(0.4), 0.0, 0.0, np.sin(0.4), 0.8 * aside, 0.6 * aside, 0.2]
    run = sim.run(np.concatenate([stands, far]), np.zeros(6 * (rows + 1)), 2.0)
    assert np.abs(run.v[-200:, :3]).max() < 1e-6 and run.q[-1, 6] > 0.199


@pytest.mark.parametrize("kind", ["cylinder", "capsule"])
def test_what_is_in_each_other_at_rest_without_weight_is_pushed_apart(kind):
    """By so little that nothing else moves: both go on with the same speed, for the energy of the springs at most."""
    pads = {f"pad{k}": ball(0.08, 1.0, f"pad{k}") for k in range(6)}
    model = engine.combine(a=body("a", inertia.box(1.0, (0.2, 0.14, 0.1)), kind, (0.06, 0.2)),
                           b=body("b", inertia.box(1.0, (0.2, 0.14, 0.1)), kind, (0.06, 0.2)), **pads)  # fmt: skip
    high = 0.16 if kind == "cylinder" else 0.22
    lies = [np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0, 0.0, 0.0, high - 1e-6]
    sim = engine.Simulator(model, gravity=(0.0, 0.0, 0.0), contacts=engine.Contacts(material=engine.ContactMaterial(2e4, 0.5, 0.5)))
    run = sim.run([*UPRIGHT, 0.0, 0.0, 0.0, *lies, *np.ravel([[*UPRIGHT, 3.0 + k, 0.0, 0.0] for k in range(6)])], np.zeros(48), 0.05)
    a, b = -run.v[-1, 5], run.v[-1, 10]                                        # b's y is the world's z
    assert 0.0 < a < np.sqrt(4 * 1e4 * 1e-12) and abs(a - b) < 1e-9 * a
    assert np.abs(run.momentum()[-1]).max() < 1e-15 and np.abs(run.v[-1, 12:]).max() == 0.0


@pytest.mark.parametrize("rows", FAR_BODIES)
def test_a_slick_capsule_keeps_its_spin_about_its_axis(rows):
    """What presses a round body without friction has no moment about its axis: of steps of h it is left by terms of h² alone, in all
    bounces; and what comes up from a bounce has no more energy."""
    rod = body("rod", inertia.capsule(1.0, 0.05, 0.2), "capsule", (0.05, 0.2))
    ice = engine.ContactMaterial(1e5, 0.5, 0.0)
    model = engine.combine(rod=rod, **{f"far{k}": ball(name=f"far{k}") for k in range(rows)})
    q0 = [np.cos(0.35), np.sin(0.35), 0.0, 0.0, 0.0, 0.0, 0.35, *np.ravel([[*UPRIGHT, 9.0, 2.0 * k, 5.0] for k in range(rows)])]
    off = []
    for dt in (2e-3, 1e-3, 5e-4):
        contacts = engine.Contacts(engine.HalfSpace(material=ice), material=ice)
        run = engine.Simulator(model, dt=dt, contacts=contacts).run(q0, [0.0, 6.0, 1.0, *np.zeros(3 + 6 * rows)], 0.8)
        off.append(np.abs(run.v[:, 2] - 1.0).max())
        assert np.abs(np.diff(run.q[:, 6]) / dt).max() > 1.0 and run("contacts.count" if rows else "contacts.gap").any()
    assert off[1] < 5e-3 and off[2] < 0.5 * off[0]


@pytest.mark.parametrize("rows", FAR_BODIES)
@pytest.mark.parametrize(("dt", "light", "heavy"), [(2e-3, 0.01, 100.0), (5e-3, 0.01, 30.0), (5e-3, 0.1, 100.0)])
def test_a_heavy_box_rests_on_a_light_plate(dt, light, heavy, rows):
    """Set down beside its middle, well within it: what moves a light body moves it by arms that do not change meanwhile."""
    model = engine.combine(plate=body("plate", inertia.box(light, (0.2, 0.2, 0.05)), "box", (0.2, 0.2, 0.05)),
                           box=body("box", inertia.box(heavy, (0.2, 0.2, 0.2)), "box", (0.2, 0.2, 0.2)),
                           **{f"far{k}": ball(name=f"far{k}") for k in range(rows)})  # fmt: skip
    surface = engine.ContactMaterial(1e6, 5.0, 0.5)
    far = np.ravel([[*UPRIGHT, 9.0, 2.0 * k, 0.05] for k in range(rows)])
    simulator = engine.Simulator(model, dt=dt, contacts=engine.Contacts(engine.HalfSpace(material=surface), material=surface))
    run = simulator.run([*UPRIGHT, 0, 0, 0.025, *UPRIGHT, 0.02, 0, 0.15, *far], np.zeros(12 + 6 * rows), 1.0)
    deep = 2.0 * (heavy + light) * 9.81 / 4.0 / 5e5 + heavy * 9.81 / 4.0 / 5e5
    assert np.abs(run.q[:, :14] - run.q[0, :14]).max() < 3.0 * deep and np.abs(run.v[-1]).max() < 1e-3


@pytest.mark.filterwarnings("ignore:.* overlap by")
@pytest.mark.parametrize("rows", FAR_BODIES)
def test_what_is_gripped_and_presses_keeps_its_momentum(rows):
    """Two lopsided balls without weight that tumble in a grip and press on each other: what the grip passes from one to the other within a
    flight has no moment with the contact's impulse, and their momentum stays to a rounding a step, the angular one too."""
    steps, G = 200, inertia.from_mass(0.2, [0.01, 0.04, -0.02], 1e-3 * np.diag([1.0, 1.5, 2.0]))
    model = engine.combine(one=body("one", G, "sphere", (0.05,)), two=ball(name="two"),
                           **{f"far{k}": ball(name=f"far{k}") for k in range(rows)})  # fmt: skip
    contacts = engine.Contacts(material=engine.ContactMaterial(1e4, 1.0, 0.6))
    sim = engine.Simulator(model, dt=2e-3, gravity=(0, 0, 0), contacts=contacts, constraints=[engine.Grip("one/one", "two/two")],
                           controller=lambda t, q, v: {"tau": np.zeros(model.nv), "grip": 1.0})  # fmt: skip
    q0 = [*UPRIGHT, 0.0, 0.0, 0.0, *UPRIGHT, 0.098, 0.0, 0.0, *np.ravel([[*UPRIGHT, 9.0, 2.0 * k, 0.0] for k in range(rows)])]
    w = np.array([2.0, 3.0, -1.0])
    run = sim.run(q0, [*w, *np.zeros(3), *w, *np.cross(w, [0.098, 0.0, 0.0]), *np.zeros(6 * rows)], steps * 2e-3)
    P = run.momentum()
    assert run("contacts.count" if rows else "contacts.gap").any()
    assert np.abs(P - P[0]).max() < steps * np.finfo(float).eps * np.abs(P).max()
