"""Contacts of bodies with joints as rows: the laws of their pairs, momentum, weights, and the same bits in batches and resumed."""

import math
import pickle

import coal
import numpy as np
import pytest

import engine
from engine.contact import ContactLaws, contact_problem
from engine.contact.many import RowLaws, jointed, row_laws
from engine.dynamics import forward_kinematics
from engine.dynamics.kinematics import body_poses
from engine.simulation import contacts as choice
from engine.simulation import run_loop
from engine.spatial import inertia, se3
from tests.contact.scenes import UPRIGHT, ball
from tests.geometry.pairs import coal_shape

SURFACE = engine.ContactMaterial(stiffness=2e4, dissipation=2.0, friction=0.5)
G = 9.81


def snake(n=3):
    """Bricks in a row, of joints about y that rub."""
    made = engine.Builder("snake")
    for k in range(n):
        made.add_link(f"l{k}", inertia=inertia.box(1.0, (0.2, 0.1, 0.1)), collisions=[engine.Geometry("box", (0.2, 0.1, 0.1))])
    for k in range(1, n):
        made.add_joint(f"j{k}", "revolute", f"l{k - 1}", f"l{k}", axis=(0, 1, 0), placement=se3.pose(np.eye(3), [0.25, 0.0, 0.0]),
                       damping=0.01, friction=0.01)  # fmt: skip
    return made.model(floating_base=True)


def scene(monkeypatch, rows, model=None, material=SURFACE, ground=True, **options):
    """A snake and a ball on the ground: 8 pairs of shapes, by themselves or as rows; passes of friction agree to a millionth, not a
    thousandth."""
    for room in (contact_problem, jointed):
        monkeypatch.setattr(room, "AGREES", 1e-6)
    model = engine.combine(snake=snake(), ball=ball(0.1, 1.0)) if model is None else model
    monkeypatch.setattr(choice, "FEW_PAIRS", 0 if rows else 10**6)
    monkeypatch.setattr(choice.Contacts, "many", lambda *_: None)
    made = engine.Simulator(model, dt=1e-3, contacts=engine.Contacts(engine.HalfSpace(material=material) if ground else None,
                                                                     material=material), **options)  # fmt: skip
    assert type(made.plant.contacts) is (RowLaws if rows else ContactLaws)
    return made


def start(model, height=0.2, apart=0.5):
    """The snake above the ground, the ball above the snake."""
    q = model.neutral()
    q[model.q_slice("snake/floating_base")] = [*UPRIGHT, 0.0, 0.0, height]
    q[model.q_slice("ball/floating_base")] = [*UPRIGHT, 0.2, 0.02, apart]
    return q, np.zeros(model.nv)


@pytest.fixture(scope="module")
def both():
    """Of the same scene the laws of pairs, and rows."""
    with pytest.MonkeyPatch.context() as patch:
        yield [scene(patch, rows) for rows in (False, True)]


def test_rows_are_the_laws_of_pairs(both):
    """What falls, bounces and slides: flight to the bit, contact to where friction agrees with the force that it is by."""
    few, rows = (made.run(*start(made.model), 0.6, record_every=10) for made in both)
    flies = rows.t < 0.13
    np.testing.assert_array_equal(few.q[flies], rows.q[flies])
    for name, off in {"force": 3e-3, "gap": 1e-6, "slip": 1e-4}.items():
        touch = few("contacts.force").any(axis=-1)
        np.testing.assert_allclose(rows(f"contacts.{name}")[touch], few(f"contacts.{name}")[touch], atol=off, err_msg=name)
    np.testing.assert_allclose(rows("contacts.energy"), few("contacts.energy"), atol=1e-4)
    np.testing.assert_allclose(rows.q, few.q, atol=1e-5)


def chain(n=16, r=0.02, reach=0.08):
    """Capsules in a row, of joints about y, and a peg along y that stands still."""
    made = engine.Builder("chain")
    along_x = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
    shape = engine.Geometry("capsule", (r, reach), se3.pose(along_x, [0.5 * reach, 0.0, 0.0]))
    weighs = inertia.transformed(se3.pose(along_x, [0.5 * reach, 0.0, 0.0]), inertia.cylinder(0.1, r, reach))
    for k in range(n):
        made.add_link(f"l{k}", inertia=weighs, collisions=[shape])
    for k in range(1, n):
        made.add_joint(f"j{k}", "revolute", f"l{k - 1}", f"l{k}", axis=(0, 1, 0), placement=se3.pose(np.eye(3), [reach, 0.0, 0.0]),
                       damping=0.002)  # fmt: skip
    along_y = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
    peg = engine.Builder("peg")
    peg.add_link("peg", collisions=[engine.Geometry("capsule", (0.1, 1.0), se3.pose(along_y, np.zeros(3)))])
    return engine.combine(chain=made.model(floating_base=True), peg=peg.model())


def test_a_chain_that_falls_over_a_peg_takes_few_steps_of_newtons_method():
    """It took 12 and 27 more lengths, with all points for each: of stiff friction every point is a narrow well. And the peg bears what the
    chain loses of momentum."""
    model = chain()
    surface = engine.ContactMaterial(stiffness=2e5, dissipation=2.0, friction=0.5)
    made = engine.Simulator(model, dt=2e-3, contacts=engine.Contacts(material=surface))
    assert type(made.plant.contacts) is RowLaws
    q = model.neutral()
    q[model.q_slice("chain/floating_base")] = [*UPRIGHT, -0.6, 0.0, 0.125]
    run = made.run(q, np.zeros(model.nv), 0.3)
    found = made.profile(run.q[100], run.v[100], 0.1)
    assert found.points > 1
    assert found.newton < 10 and found.tried < 20
    force = -run("contacts.wrench")[:, [link.name for link in model.links].index("peg/peg"), 5]
    P = run.momentum()[:, 5]
    np.testing.assert_allclose(np.diff(P), 2e-3 * (force[:-1] - 16 * 0.1 * G), atol=1e-9)


def test_what_is_without_friction_is_the_same_to_rounding(monkeypatch):
    ends = []
    for rows in (False, True):
        made = scene(monkeypatch, rows, material=engine.ContactMaterial(stiffness=2e4, dissipation=2.0, friction=0.0))
        ends.append(made.run(*start(made.model), 0.4, record_every=400).q[-1])
    np.testing.assert_allclose(*ends, atol=1e-11)                             # 400 steps of blows, whose errors grow


def test_wrenches_and_points_are_the_forces(both):
    """They carry the weight, the table is what is recorded of every point, and wrenches on links are what its points do to them."""
    made = both[1]
    run = made.run(*start(made.model, 0.05, 0.25), 1.5, record_every=300)
    table, dense, last = run("contacts"), run("contacts.force"), run("contacts").at(-1)
    np.testing.assert_allclose([len(table.at(k)) for k in range(len(run.t))], run("contacts.count"))
    for k in range(len(run.t)):
        np.testing.assert_allclose(table.at(k).force.sum(axis=0), dense[k].sum(axis=0), atol=1e-9)
    wrench = run("contacts.wrench")[-1]
    links = [link.name for link in made.model.links]
    poses = forward_kinematics(made.model, run.q[-1])
    for name in ("snake/l1", "ball/body" if "ball/body" in links else "ball/ball"):
        on_b, on_a = (last.b == name), (last.a == name)
        force = last.force[on_b].sum(axis=0) - last.force[on_a].sum(axis=0)
        arm = last.position - poses[links.index(name)][:3, 3]
        moment = np.cross(arm, last.force)
        moment = moment[on_b].sum(axis=0) - moment[on_a].sum(axis=0)
        np.testing.assert_allclose(wrench[links.index(name)], [*moment, *force], atol=1e-3)     # its place is where flight ends
    weight = 4.0 * G
    assert abs(-wrench[links.index("world")][5] - weight) < 0.02 * weight
    assert repr(table).startswith("<") and str(len(run.t)) in repr(table)


def test_momentum_stays_where_a_snake_and_a_ball_collide(monkeypatch):
    """P and L of both to rounding, and of each they change."""
    made = scene(monkeypatch, True, ground=False, gravity=(0.0, 0.0, 0.0))
    q, v = start(made.model)
    v[made.model.v_slice("ball/floating_base")] = [0.3, 0.1, 0.2, 0.2, 0.0, -2.0]
    run = made.run(q, v, 0.5, record_every=5)
    whole = run.momentum()
    assert run("contacts.count").max() > 0
    assert np.abs(whole - whole[0]).max() < 1e-12 * np.abs(whole[0]).max()
    assert np.abs(np.diff(run.v[:, made.model.v_slice("ball/floating_base")], axis=0)).max() > 0.1


def test_interpreted_plain_and_compiled_are_the_same_to_rounding(both, monkeypatch):
    made = both[1]
    q, v = start(made.model, 0.052, 0.2)
    plain = scene(monkeypatch, True, compiled=False)
    ends = [s.run(q, v, 0.02, record_every=20).q[-1] for s in (made, plain)]
    np.testing.assert_allclose(*ends, atol=1e-12)


def test_energy_of_springs_without_places_in_records_is_that_of_the_state(both, monkeypatch):
    """A step notes it by how bodies moved in its flight, to the second order in what they turn: a corner's gap is off by r (ω h)²/2 where
    a ball rolls. All else, and looking at many records at once or one by one, is the same bits; compiled and plain to rounding."""
    q, v = start(both[1].model, 0.052, 0.2)
    dense, own = both[1].run(q, v, 0.5), []
    monkeypatch.setattr(row_laws, "MANY_POINTS", 0)
    for many in (math.inf, 0):
        monkeypatch.setattr(run_loop, "MANY", many)
        own.append(scene(monkeypatch, True).run(q, v, 0.5))
    for name, x in own[0].signals.items():
        assert x.tobytes() == own[1].signals[name].tobytes()
        assert name == "contacts.energy" or x.tobytes() == dense.signals[name].tobytes()
    for name in ("q", "v", "vdot"):
        assert getattr(dense, name).tobytes() == getattr(own[0], name).tobytes()
    energy, depth, turns = dense("contacts.energy"), -np.minimum(dense("contacts.gap"), 0.0), 1e-3 * np.abs(dense.v).max(axis=-1)
    off = SURFACE.stiffness * depth.sum(axis=-1) * 0.1 * turns**2
    assert energy.max() > 0.05 and (np.abs(own[0]("contacts.energy") - energy) <= off + 1e-12).all()
    first, plain = (scene(monkeypatch, True, compiled=x).run(q, v, 0.004)("contacts.energy") for x in (True, False))
    np.testing.assert_allclose(plain, first, rtol=1e-9)


def test_a_batch_what_is_resumed_and_what_is_pickled_are_the_same_bits(both):
    made = both[1]
    q, v = start(made.model, 0.07, 0.3)
    Q = np.tile(q, (3, 1))
    Q[:, made.model.q_slice("ball/floating_base").start + 4] += [0.0, 0.05, 0.1]
    every = made.run(Q, v, 0.2, record_every=50)
    alone = made.run(Q[1], v, 0.2, record_every=50)
    assert every.q[1].tobytes() == alone.q.tobytes()
    assert every("contacts.wrench")[1].tobytes() == alone("contacts.wrench").tobytes()
    state = made.step(made.step(made.start(Q[1], v), 120), 80)
    assert state.q.tobytes() == alone.q[-1].tobytes()
    with pytest.raises(engine.EngineError, match=r"no points of contact of what was pickled.*expected a run"):
        pickle.loads(pickle.dumps(alone))("contacts")


def test_derivatives_are_those_of_steps(both):
    """By the laws of pairs, against differences of steps of rows, where something lies on something."""
    made = both[1]
    run = made.run(*start(made.model, 0.05, 0.25), 0.5, record_every=500)
    q, v, nv, e = run.q[-1], run.v[-1], made.model.nv, 1e-6
    A, _ = made.linearize(q, v)
    for j in (2, 6, nv - 1):
        ends = [made.step(made.start(q, v + sign * e * np.eye(nv)[j]), 1) for sign in (1.0, -1.0)]
        change = np.concatenate([made.model.difference(ends[1].q, ends[0].q), ends[0].v - ends[1].v]) / (2.0 * e)
        np.testing.assert_allclose(A[: 2 * nv, nv + j], change, atol=2e-3 * np.abs(change).max())  # friction agrees to a thousandth
    assert made.by_pairs is not made and made.by_pairs.by_pairs is made.by_pairs


def test_gaps_are_those_of_coal(both):
    """Of the snake's folded bricks and the ball, where they are apart."""
    model, rng, seen = both[1].model, np.random.default_rng(1), 0
    laws = both[1].plant.contacts
    for _ in range(60):
        q, _ = start(model)
        q[model.q_slice("snake/j1")], q[model.q_slice("snake/j2")] = rng.uniform(-2.0, 2.0, 2)
        q[model.q_slice("ball/floating_base")][4:] = rng.uniform(-0.3, 0.5, 3)
        gaps, names = laws.gaps(q), np.array(laws.names)
        T = body_poses(model, q)
        for pair in (p for p in laws.pairs if p.a.body >= 0):
            one, other = ((coal_shape(s.shape), T[s.body] @ s.pose) for s in (pair.a, pair.b))
            at = [coal.Transform3s(X[:3, :3].copy(), X[:3, 3].copy()) for _, X in (one, other)]
            known = coal.distance(one[0], at[0], other[0], at[1], coal.DistanceRequest(), found := coal.DistanceResult())
            own = gaps[[n == pair.name or n.startswith(f"{pair.name}.") for n in names]].min()
            if found.min_distance > 1e-9:
                assert own <= known + 1e-7                                    # a bound where what is around them is apart
                seen += own > known - 1e-7
    assert seen > 4


def test_starts_in_each_other_are_refused_by_name(both):
    made = both[1]
    q, v = start(made.model, 0.02, 0.2)
    with pytest.raises(engine.ContactError, match=r"'world:snake/l\d\.\d' overlap by 0\.03 m at the start"):
        made.run(q, v, 0.1)


def test_starts_deep_in_a_ground_are_refused_where_it_is():
    """Not about the world's origin, where a state has its centre of mass before its momenta are known."""
    model = engine.load(engine.example("quadruped"), floating_base=True)
    made = engine.Simulator(model, dt=1e-3, contacts=engine.Contacts(engine.HalfSpace(offset=-10.0)))
    q = model.neutral()
    q[6], q[7:] = -10.08, np.tile([0.0, 0.5, -0.9], 4)
    with pytest.raises(engine.ContactError, match=r"'world:\S+' overlap by 0\.\d+ m at the start"):
        made.run(q, np.zeros(model.nv), 0.01)


def test_a_surface_that_is_a_parameter(monkeypatch):
    """Friction and mass as numbers of each run are those of a simulator that has them."""
    given = {"contact_friction.snake/l0": 0.9, "mass.snake/l1": 1.3}
    ends = []
    for rows in (False, True):
        made = scene(monkeypatch, rows, parameters=given)
        q, v = start(made.model, 0.06, 0.25)
        v[made.model.v_slice("snake/floating_base")][3] = 1.0
        ends.append(made.run(q, v, 0.1, record_every=100, parameters={"mass.snake/l1": 0.7}).q[-1])
    np.testing.assert_allclose(*ends, atol=1e-5)


def gripper():
    """Two fingers on slides, of which one goes as the other, and a third joint after it that goes half as far."""
    made, box = engine.Builder("gripper"), engine.Geometry("box", (0.02, 0.02, 0.06))
    made.add_link("palm", inertia=inertia.box(0.5, (0.1, 0.1, 0.1)))
    for name, y, turn in (("left", 0.05, 1.0), ("right", -0.05, -1.0)):
        made.add_link(name, inertia=inertia.box(0.05, (0.02, 0.02, 0.06)), collisions=[box])
        made.add_joint(f"{name}_slide", "prismatic", "palm", name, axis=(0, turn, 0), placement=se3.pose(np.eye(3), [0.0, y, 0.0]),
                       mimic=None if name == "left" else engine.Mimic("left_slide"))  # fmt: skip
    made.add_link("tip", inertia=inertia.box(0.02, (0.02, 0.02, 0.02)), collisions=[engine.Geometry("box", (0.02, 0.02, 0.02))])
    made.add_joint("tip_slide", "prismatic", "right", "tip", axis=(0.0, -0.6, 0.8), placement=se3.pose(np.eye(3), [0.0, 0.0, -0.05]),
                   mimic=engine.Mimic("left_slide", 0.5))  # fmt: skip
    return made.model()


def test_joints_that_go_along_are_in_newtons_matrix(monkeypatch):
    """G = −∂γ/∂v by differences, where one velocity moves several bodies, and a body and what it carries; and the same as of pairs."""
    cube = engine.Builder("cube")
    cube.add_link("cube", inertia=inertia.box(0.1, (0.06,) * 3), collisions=[engine.Geometry("box", (0.06,) * 3)])
    model = engine.combine(gripper=gripper(), cube=cube.model(floating_base=True))
    q = model.neutral()
    q[model.q_slice("gripper/left_slide")] = -0.0102
    q[model.q_slice("cube/floating_base")] = [*UPRIGHT, 0.0, 0.0, 0.0]
    v = np.zeros(model.nv)
    v[model.v_slice("gripper/left_slide")] = -0.05
    made = [scene(monkeypatch, rows, model, ground=False, gravity=(0.0, 0.0, 0.0),
                  controller=lambda t, q, v: -2.0 * (np.arange(len(v)) == 0)) for rows in (False, True)]  # fmt: skip
    contacts = made[1].plant.contacts
    found = contacts.broad_phase(q, v, 1e-3)
    law = contacts.step(1e-3, q, v, q, v, found, np.zeros(contacts.held))
    x = law.axes.seen(v)
    assert len(law.points) >= 8
    G = law.impulse(x, law.friction)[1]
    differences = np.array([(law.impulse(x + h, law.friction)[0] - law.impulse(x - h, law.friction)[0]) / 2e-7
                            for h in 1e-7 * np.eye(model.nv)]).T  # fmt: skip
    np.testing.assert_allclose(G, -differences, atol=1e-6 * np.abs(G).max())
    ends = [s.run(q, v, 0.2, record_every=200).q[-1] for s in made]
    np.testing.assert_allclose(*ends, atol=1e-9)
