"""Torsional and rolling friction: known answers, the three routes beside each other, MuJoCo, and plain = interpreted = compiled."""

import functools

import numpy as np
import pytest

import engine
from engine.contact import ContactLaws, contact_problem, correction, coulomb_friction, newton
from engine.contact.many import RowLaws
from engine.simulation import contacts as choice
from engine.simulation.meeting_trees import MeetingTrees
from engine.spatial import inertia, se3
from tests.contact.scenes import UPRIGHT, ball, block, body, inclined, simulator

G, R, M, K, DT = 9.81, 0.1, 1.0, 1e5, 1e-3
#: of a ball, kg m²; how deep it lies; and how far its middle is from the place where it touches, between both surfaces at a flight's end
I, DEPTH = 0.4 * M * R * R, M * G / K
FALL = 0.25 * G * DT**2
LEVER = R - 0.5 * DEPTH - FALL
ROUTES = ["pairs", "rows", "tables"]


def surface(torsion=0.0, rolling=0.0, friction=0.5, **more):
    return engine.ContactMaterial(2.0 * K, 0.1, friction, torsional_friction=torsion, rolling_friction=rolling, **more)


def lying(route, monkeypatch, material, shape=None, **options):
    """A ball, or something else, on even ground, by one of the routes: of tables there are eight, apart from each other."""
    monkeypatch.setattr(choice, "FEW_PAIRS", 20 if route == "pairs" else 0)
    if route != "tables":
        monkeypatch.setattr(choice.Contacts, "many", lambda *_: None)
    shape = ball(R, M) if shape is None else shape
    model = engine.combine(**{f"b{k}": shape for k in range(8)}) if route == "tables" else shape
    made = simulator(model, material, dt=DT, **options)
    kind = {"pairs": ContactLaws, "rows": RowLaws, "tables": type(None)}[route]
    assert type(made.plant.contacts) is kind and (type(made._process) is MeetingTrees) == (route == "tables")
    return made


def moved(made, v, duration, place=(0.0, 0.0, R - DEPTH), attitude=UPRIGHT, **options):
    """The motion, q (T, 7) and v (T, 6) in world axes, of the first of them, which begins with a velocity v in those."""
    n = made.model.nv // 6
    turn = engine.spatial.quaternion.to_matrix(np.array(attitude, dtype=float))
    own = [*(turn.T @ np.array(v[:3], dtype=float)), *(turn.T @ np.array(v[3:], dtype=float))]
    q = np.ravel([[*attitude, place[0], place[1] + 3.0 * k, place[2]] for k in range(n)])
    run = made.run(q, np.tile(own, n), duration, **options)
    W = np.array([engine.spatial.quaternion.to_matrix(x[:4]) for x in run.q])
    return run, run.q[:, :7], np.concatenate([np.einsum("tij,tj->ti", W, run.v[:, k : k + 3]) for k in (0, 3)], axis=1)


# ---------------------------------------------------------------- known answers


@pytest.mark.parametrize("route", ROUTES)
def test_a_spinning_ball_stops_after_its_time(route, monkeypatch):
    """ω = ω₀ − c m g t/I until t = I ω₀/(c m g), but for what counts as rest; it stands where it was."""
    c, w = 0.02, 10.0
    run, q, v = moved(lying(route, monkeypatch, surface(c)), [0, 0, w, 0, 0, 0], 0.25)
    slides = v[:, 2] > 2e-3
    np.testing.assert_allclose(v[slides, 2], (w - c * M * G / I * run.t)[slides], atol=1e-9)
    assert slides.sum() == np.floor((I * w / (c * M * G) - 2e-3 / (c * M * G / I)) / DT) + 1 and abs(v[-1, 2]) < 1e-12
    assert np.abs(q[:, 4:6]).max() < 1e-15


@pytest.mark.parametrize("route", ROUTES)
def test_a_ball_and_a_cylinder_roll_to_a_stop(route, monkeypatch):
    """m v̇ = f and I ω̇ = −f l − c m g with v = ω l: v̇ = −c g l/(l² + I/m), l from the middle to where it touches."""
    c = 0.002
    for shape, share, points in ((ball(R, M), 0.4, 1), (body("rod", inertia.cylinder(M, R, 0.3), "cylinder", (R, 0.3)), 0.5, 2)):
        lever, upright = R - 0.5 * DEPTH / points - FALL, UPRIGHT if points == 1 else [np.sqrt(0.5), np.sqrt(0.5), 0, 0]
        made = lying(route, monkeypatch, surface(rolling=c), shape)
        run, _, v = moved(made, [0, 0.5 / lever, 0, 0.5, 0, 0], 0.5, (0, 0, R - DEPTH / points), upright)
        a = c * G * lever / (lever**2 + share * R * R)
        assert v[-1, 3] - v[100, 3] == pytest.approx(-a * (run.t[-1] - run.t[100]), rel=0.43 * FALL / R)     # of l, d ln a = −0.43 d ln l
        np.testing.assert_allclose(v[100:, 1] * lever, v[100:, 3], rtol=FALL / R)


@pytest.mark.parametrize("route", ROUTES)
def test_a_ball_rests_on_an_incline_up_to_the_angle_of_its_rolling_friction(route, monkeypatch):
    """tan a ≤ c/l, where it does not creep within a minute; beyond it rolls by (m g l sin a − c m g cos a)/(I + m l²)."""
    c = 0.002
    for share in (0.99, 1.01, 2.0):
        angle = np.arctan(share * c / LEVER)
        depth = DEPTH * np.cos(angle)
        made = lying(route, monkeypatch, surface(rolling=c), gravity=inclined(np.degrees(angle)))
        run, q, v = moved(made, np.zeros(6), 61.0 if share < 1.0 else 1.0, (0, 0, R - depth), record_every=1000)
        if share < 1.0:
            assert np.abs(v[1:]).max() < 1e-10 and np.abs(q[1:] - q[-1]).max() < 60.0 * 1e-12
        elif share > 1.5:
            lever = R - 0.5 * depth
            a = G * lever * (lever * np.sin(angle) - c * np.cos(angle)) / (0.4 * R * R + lever**2)
            assert v[-1, 3] == pytest.approx(a * run.t[-1], rel=1e-3)          # but for what it gives way by until it rolls
        else:
            assert v[-1, 3] > 1e-4


def test_a_cylinder_rests_on_an_incline_likewise(monkeypatch):
    c, rod = 0.002, body("rod", inertia.cylinder(M, R, 0.3), "cylinder", (R, 0.3))
    for share in (0.98, 1.02):
        angle = np.arctan(share * c / R)
        made = lying("pairs", monkeypatch, surface(rolling=c), rod, gravity=inclined(np.degrees(angle)))
        _, _, v = moved(made, np.zeros(6), 2.0, (0, 0, R - 0.5 * DEPTH * np.cos(angle)), [np.sqrt(0.5), np.sqrt(0.5), 0, 0])
        assert (abs(v[-1, 3]) < 1e-10) == (share < 1.0)


@pytest.mark.parametrize("share", [0.99, 1.01])
def test_a_block_holds_the_moment_of_its_corners_and_of_its_points(share, monkeypatch):
    """μ m g times the corners' distance from the middle, and c m g."""
    c = 0.03
    most = M * G * (0.5 * np.hypot(0.1, 0.1) + c)
    made = lying("pairs", monkeypatch, surface(c), block(), controller=lambda t, q, v: np.array([0, 0, share * most, 0, 0, 0]))
    _, q, v = moved(made, np.zeros(6), 2.0, (0, 0, 0.05 - 0.25 * DEPTH))
    if share > 1.0:
        assert v[-1, 2] == pytest.approx(0.01 * most * 6.0 / 0.04 * 2.0, rel=0.02)
    else:
        assert abs(v[-1, 2]) < 1e-10 and np.abs(q[1000:] - q[-1]).max() < 1e-9


def test_a_ball_without_sliding_friction_spins_down_all_the_same(monkeypatch):
    _, _, v = moved(lying("pairs", monkeypatch, surface(0.02, friction=0.0)), [0, 0, 10.0, 0.3, 0, 0], 0.25)
    assert v[100, 2] == pytest.approx(10.0 - 0.02 * M * G / I * 0.1, rel=1e-9) and v[-1, 3] == pytest.approx(0.3, rel=1e-12)


@pytest.mark.parametrize("route", ROUTES)
def test_energy_never_rises(route, monkeypatch):
    """A ball that slides, spins, and then rolls to its rest: but for what is left unbalanced of a step's impulse, 1e-6 of tables."""
    run, _, v = moved(lying(route, monkeypatch, surface(0.01, 0.005)), [3.0, -2.0, 10.0, 0.4, 0.2, 0], 1.5)
    kinetic = 0.5 * M * (v[:, 3:] ** 2).sum(axis=1) + 0.5 * I * (v[:, :3] ** 2).sum(axis=1)
    assert np.diff(kinetic).max() < 1e-6 * M * G * DT * 1.0 and np.abs(v[-1]).max() < 1e-10
    assert (kinetic[1] < kinetic[0]) and run("contacts.wrench" if route != "pairs" else "contacts.couple").any()


@pytest.mark.parametrize("route", ROUTES)
def test_two_balls_that_touch_keep_their_momentum(route, monkeypatch):
    """What one couple takes the other has: linear and angular about the origin, while they press, roll and spin on each other. Momenta that
    are states of their own lead to what velocities do, but for what ten steps of second order miss of a blow."""
    monkeypatch.setattr(choice, "FEW_PAIRS", 20 if route == "pairs" else 0)
    if route != "tables":
        monkeypatch.setattr(choice.Contacts, "many", lambda *_: None)
    model = engine.combine(a=ball(R, M), b=ball(0.2, 3.0))

    def after(conserve, *lengths):
        made = simulator(model, surface(*lengths), ground=False, dt=DT, gravity=(0, 0, 0), conserve_momentum=conserve)
        return made.run([*UPRIGHT, 0, 0, 0, *UPRIGHT, 0.299, 0.02, 0.01], [5.0, -8.0, 20.0, 0.5, 0.1, 0, 0, 0, 0, -0.5, 0, 0.3], 0.1)

    run, other, without = after(True, 0.05, 0.03), after(False, 0.05, 0.03), after(True)
    couples = np.abs(run.v[-1] - without.v[-1]).max()
    assert couples > 1.0 and np.abs(run.v[-1] - other.v[-1]).max() < 1e-2 * couples
    P = np.array([momentum(model, q, v) for q, v in zip(run.q, run.v, strict=True)])
    assert np.abs(P - P[0]).max() < 1e-13


def momentum(model, q, v):
    """Linear and angular momentum (6) of two balls about the origin."""
    total = np.zeros(6)
    for k, (m, r) in enumerate(((M, R), (3.0, 0.2))):
        turn = engine.spatial.quaternion.to_matrix(q[7 * k : 7 * k + 4])
        x, w, u = q[7 * k + 4 : 7 * k + 7], turn @ v[6 * k : 6 * k + 3], turn @ v[6 * k + 3 : 6 * k + 6]
        total += [*(0.4 * m * r * r * w + np.cross(x, m * u)), *(m * u)]
    return total


def fingers():
    """Two tips on rails along x, which press on what is between them."""
    made = engine.Builder("hand")
    made.add_link("world")
    for side in (-1, 1):
        made.add_link(f"f{side}", inertia=inertia.sphere(0.1, 0.01), collisions=[engine.Geometry("sphere", (0.01,))])
        made.add_joint(f"j{side}", "prismatic", "world", f"f{side}", placement=se3.pose(np.eye(3), [0.02 * side, 0, 0]), axis=[1, 0, 0])
    return made.model()


@pytest.mark.parametrize("share", [0.95, 1.05])
def test_a_stick_pinched_beside_its_middle_holds_up_to_the_torque_of_two_tips(share, monkeypatch):
    """m g d = 2 c F: below it stays level, above it turns down."""
    c, m, d = 0.004, 0.1, 0.1
    force = m * G * d / (2.0 * c * share)
    stick = block((0.02, 0.4, 0.02), m, "stick")
    made = simulator(engine.combine(hand=fingers(), rod=stick), surface(c, friction=1.0), ground=False, dt=DT, gravity=(0, 0, -G),
                     pairs=[("hand/f-1", "rod/stick"), ("hand/f1", "rod/stick")],
                     controller=lambda t, q, v: np.array([force, -force, *np.zeros(6)]))  # fmt: skip
    run = made.run([0, 0, *UPRIGHT, 0, d, 0], np.zeros(8), 1.0)
    if share < 1.0:
        assert np.abs(run.v[-1]).max() < 1e-9 and np.abs(run.q[500:] - run.q[-1]).max() < 1e-9 and abs(run.q[-1, 3]) < 1e-3
    else:
        assert abs(run.q[-1, 3]) > 0.1


# ---------------------------------------------------------------- the routes, beside each other, and how they are run


def rolling(route, monkeypatch, duration=0.3, **options):
    made = lying(route, monkeypatch, surface(0.01, 0.004), **options)
    return moved(made, [3.0, -2.0, 6.0, 0.4, 0.2, 0.0], duration)


def test_rows_and_tables_move_as_pairs_do(monkeypatch):
    """To where passes of friction agree, a thousandth of μ m g: of a speed that is μ g t of it, and 2.5 μ g t/R of turning."""
    off, t = 1e-3 * 0.5 * G, 0.3
    with pytest.MonkeyPatch.context() as patch:
        one, q, v = rolling("pairs", patch)
    for route in ROUTES[1:]:
        with pytest.MonkeyPatch.context() as patch:
            run, other, w = rolling(route, patch)
        assert np.abs(other - q)[:, 4:].max() < 0.5 * off * t**2 and np.abs(other - q)[:, :4].max() < 0.5 * 2.5 / R * off * t**2
        assert np.abs(w - v)[:, 3:].max() < off * t and np.abs(w - v)[:, :3].max() < 2.5 / R * off * t
        if route == "rows":
            np.testing.assert_allclose(run("contacts.couple"), one("contacts.couple"), atol=2e-3 * M * G * 0.01)
        table = run("contacts").at(20)
        np.testing.assert_allclose(table.couple[0], one("contacts.couple")[20, 0], atol=2e-3 * M * G * 0.01)
        wrench = run("contacts.wrench")[20, -1 if route == "rows" else 1]
        lever = table.position[0] - run.q[21, 4:7]                             # where the step ends, about
        np.testing.assert_allclose(wrench[:3] - np.cross(lever, wrench[3:]), table.couple[0], atol=2e-3 * M * G * 0.01)


@pytest.mark.parametrize("route", ROUTES[:2])
def test_plain_is_compiled(route, monkeypatch):
    q = [rolling(route, monkeypatch, 0.02, compiled=compiled)[0].q for compiled in (True, False)]
    np.testing.assert_allclose(*q, atol=1e-12)


@pytest.mark.parametrize("route", ROUTES[:2])
def test_interpreted_is_compiled(route, monkeypatch):
    """A step, and what it says of itself."""
    made = lying(route, monkeypatch, surface(0.01, 0.004))
    q, v = np.array([*UPRIGHT, 0, 0, R - DEPTH]), np.array([3.0, -2.0, 6.0, 0.4, 0.2, -0.1])
    x = made._step.prepare(np.zeros(0), made._step.begun(q, v))
    found = engine.compiler.interpret(made._process.programs[0], 0.0, 0.0, DT, np.zeros(0), x)
    found = np.ravel(found[0] if isinstance(found, tuple) else found)
    np.testing.assert_allclose(found[7:13], made.step(made.start(q, v), 1).v, atol=1e-12)


def test_tables_are_interpreted_as_compiled(monkeypatch):
    made = lying("tables", monkeypatch, surface(0.01, 0.004))
    process, n = made._process, made.model.nv // 6
    q = np.ravel([[*UPRIGHT, 0, 3.0 * k, R - DEPTH] for k in range(n)])
    v = np.tile([3.0, -2.0, 6.0, 0.4, 0.2, 0.0], n)
    p, x = made.stepper.parameters.join({}), made._step.prepare(np.zeros(0), made._step.begun(q, v))
    given = [3.0, 1.0, 0.0, 0.0, DT, *process.given(p), *(s.taken(x) for s in process.states), *process.inertias,
             np.zeros((0, process.contacts.held[1])), *process.contacts.flat]  # fmt: skip
    for one, other in zip(process.advanced(*given), engine.compiler.interpret(process.advanced.program, *given), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("route", ROUTES)
def test_a_batch_and_what_is_resumed_are_the_same_bits(route, monkeypatch):
    """On an incline that it rests on: what holds it is in the state."""
    made = lying(route, monkeypatch, surface(0.01, 0.004), gravity=inclined(1.5))
    n = made.model.nv // 6
    q, v = np.ravel([[*UPRIGHT, 0, 3.0 * k, R - DEPTH] for k in range(n)]), np.tile([0, 0, 1.0, 0, 0, 0], n)
    alone = made.run(q, v, 0.2, record_every=50)
    every = made.run(q, np.stack([v, 2.0 * v, 0.0 * v]), 0.2, record_every=50)
    assert every.q[0].tobytes() == alone.q.tobytes()
    state = made.step(made.step(made.start(q, v), 120), 80)
    assert state.q.tobytes() == alone.q[-1].tobytes() and state.v.tobytes() == alone.v[-1].tobytes()


@pytest.mark.parametrize("what", ["rolls", "holds"])
def test_a_step_has_derivatives(what, monkeypatch):
    """Found to the end, as in test_derivatives: to what differences leave."""
    monkeypatch.setattr(contact_problem, "AGREES", 1e-13)
    monkeypatch.setattr(correction, "PASSES", 100)
    monkeypatch.setattr(newton, "LAST", 1e-14)
    made = lying("pairs", monkeypatch, surface(0.01, 0.004), gravity=inclined(1.5), conserve_momentum=False)
    step, v = made._step, [0.1, 3.0, 5.0, 0.3, 0, 0] if what == "rolls" else np.zeros(6)
    x = step.prepare(np.zeros(0), step.begun(np.array([*UPRIGHT, 0, 0, R - DEPTH]), np.array(v, dtype=float)))
    after = engine.gufunc(lambda x: step.step(0.0, 0.0, DT, np.zeros(0), x)[: len(x)], "(n)->(n)", n=len(x))
    for _ in range(100):
        x = after(x)
    h = np.where(np.arange(len(x)) < len(x) - 10, 2e-6, 1e-9)
    e = np.diag(h)
    differences = (8.0 * (after(x + e) - after(x - e)) - (after(x + 2.0 * e) - after(x - 2.0 * e))).T / (12.0 * h)
    A = engine.jacobian(after)(x)
    size = np.abs(A).max()
    assert (np.abs(A - differences) <= size * (h**4 * 1e12 + 20.0 * np.finfo(float).eps / h)).all()
    if what == "holds":                                         # what it turned by is what holds it
        assert np.abs(A[7:13, -3:]).max() > 1.0


# ---------------------------------------------------------------- what a point does


@pytest.mark.parametrize("seed", range(3))
def test_a_couple_is_the_gradient_of_a_convex_function(seed):
    """−∂τ/∂ω, by differences, is symmetric and positive semidefinite, and τ takes power."""
    rng = np.random.default_rng(seed)
    c = np.array([*np.zeros(9), 0.02, 0.01, 0.1])
    n = rng.normal(size=3)
    n /= np.linalg.norm(n)
    for scale in (1e-4, 1e-3, 1.0):
        w, f = scale * rng.normal(size=3), np.array([5.0, 1e-3])
        tau, held = coulomb_friction.couple(c, n, w, f)
        e = 1e-6 * scale * np.eye(3)
        couple = coulomb_friction.couple
        differences = -np.array([couple(c, n, w + d, f)[0] - couple(c, n, w - d, f)[0] for d in e]).T / (2e-6 * scale)
        np.testing.assert_allclose(held, differences, atol=1e-6 * np.abs(held).max())
        assert np.abs(held - held.T).max() <= 1e-12 * np.abs(held).max() and np.linalg.eigvalsh(held).min() > -1e-12 * np.abs(held).max()
        assert tau @ w < 0.0 and abs(tau @ n) <= 0.02 * 5.0 * (1 + 1e-12)
        assert np.linalg.norm(tau - (tau @ n) * n) <= 0.01 * 5.0 * (1 + 1e-12)


# ---------------------------------------------------------------- materials


def test_how_two_surfaces_turn_on_each_other():
    a, b = surface(0.01, 0.04), surface(0.04, 0.0)
    rules = {"max": (0.04, 0.04), "min": (0.01, 0.0), "mean": (0.025, 0.02), "harmonic": (0.016, 0.0), "multiply": (0.02, 0.0)}
    for rule, expected in rules.items():
        assert a.with_surface(b, rule).turning == pytest.approx(expected)
    assert a.with_surface(surface(priority=1)).turning == (0.0, 0.0)
    for what in ("torsional_friction", "rolling_friction"):
        with pytest.raises(engine.ContactError, match=f"{what} of a ContactMaterial is -1.*expected from zero to 1e\\+100, m"):
            engine.ContactMaterial(**{what: -1.0})


@pytest.mark.parametrize("route", ["pairs", "tables"])
def test_what_counts_nowhere_is_said(route, monkeypatch):
    plain, rough = surface(), surface(0.01)
    model = engine.combine(**{f"b{k}": ball(R, M) for k in range(8)}) if route == "tables" else ball(R, M)
    with pytest.warns(engine.SimulationWarning, match=r"torsional_friction of .* counts nowhere.*expected it of both surfaces, or combine"):
        engine.Simulator(model, dt=DT, contacts=engine.Contacts(engine.HalfSpace(material=plain), material=plain,
                                                                materials={model.links[-1].name: rough}))  # fmt: skip


def test_its_numbers_may_be_parameters(monkeypatch):
    made = lying("pairs", monkeypatch, surface(0.02), parameters={"contact_torsional_friction.ball": 0.02})
    q = [*UPRIGHT, 0, 0, R - DEPTH]
    run = made.run(q, [0, 0, 10.0, 0, 0, 0], 0.1, parameters={"contact_torsional_friction.ball": [0.0, 0.01, 0.02]})
    c = 2.0 * 0.02 * np.array([0.0, 0.01, 0.02]) / (0.02 + np.array([0.0, 0.01, 0.02]))
    np.testing.assert_allclose(run.v[:, -1, 2], 10.0 - c * M * G / I * 0.1, rtol=1e-9)
    with pytest.raises(engine.SimulationError, match="'ball' touches nothing with torsional or rolling friction; expected materials that"):
        lying("pairs", monkeypatch, surface(), parameters={"contact_rolling_friction.ball": 0.02})
    with pytest.raises(engine.EngineError, match=r"'contact_torsional_friction\.ball' is -1; expected a number from zero"):
        made.run(q, np.zeros(6), 0.1, parameters={"contact_torsional_friction.ball": -1.0})


def test_without_it_nothing_is_kept_or_noted(monkeypatch):
    made = lying("pairs", monkeypatch, surface())
    assert made.plant.contacts.held == (1, 7) and "contacts.couple" not in moved(made, np.zeros(6), 0.01)[0].signals


# ---------------------------------------------------------------- MuJoCo


@functools.cache
def in_mujoco(condim, friction, v, duration):
    """A ball in the same file, here and in MuJoCo (elliptic cones): velocities (6) at the end, in world axes."""
    mujoco = pytest.importorskip("mujoco")
    text = f"""<mujoco><option timestep="0.0005" cone="elliptic" impratio="100" integrator="implicitfast" tolerance="1e-12"/><worldbody>
      <geom type="plane" size="5 5 1" condim="3" friction="0.5 0 0"/><body name="ball" pos="0 0 0.09999"><freejoint/>
      <geom size="0.1" mass="1" condim="{condim}" friction="{friction}" solref="0.004 1"/></body></worldbody></mujoco>"""
    m = mujoco.MjModel.from_xml_string(text)
    d = mujoco.MjData(m)
    d.qvel[:3], d.qvel[3:] = v[3:], v[:3]
    mujoco.mj_step(m, d, round(duration / 0.0005))
    theirs = np.array([*d.qvel[3:], *d.qvel[:3]])
    made = engine.simulator_of(engine.load(text))
    return made.run([*UPRIGHT, 0, 0, 0.09999], v, duration).v[-1], theirs


def test_a_ball_rolls_as_in_mujoco():
    """Its softness: it slips by a few thousandths."""
    here, there = in_mujoco(6, "0.5 0.0001 0.002", (0, 10.0, 0, 1.0, 0, 0), 0.5)
    speed = lambda v: np.hypot(v[3], v[5])                      # here of the body's axes, which turn
    lost = 0.5 * 0.002 * G / (R * 1.4)
    assert 1.0 - speed(here) == pytest.approx(lost, rel=0.02) and speed(here) == pytest.approx(speed(there), abs=0.05 * lost)


def test_a_ball_spins_down_as_in_mujoco():
    """Its cone lets what spins hop: the normal impulse, and so the brake, is that of the weight on the whole."""
    here, there = in_mujoco(4, "0.5 0.02 0.0001", (0, 0, 10.0, 0, 0, 0), 0.15)
    lost = 0.15 * 0.02 * M * G / I
    assert 10.0 - here[2] == pytest.approx(lost, rel=1e-3) and here[2] == pytest.approx(there[2], abs=0.05 * lost)
