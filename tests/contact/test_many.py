"""Many bodies in contact, by tables: what mechanics says of heaps, the same laws as of few, and the same bits beside others."""

import itertools
import pickle

import numpy as np
import pytest

import engine
from engine.components.component import SimulationWarning
from engine.contact.many import islands, near, newton
from engine.simulation import contacts as choice
from engine.spatial import so3
from tests.bench.order import differences

HALF, H, G = 0.1, 2e-3, 9.81
MATERIAL = engine.ContactMaterial(stiffness=2e5, dissipation=2.0, friction=0.5)


def body(kind="box", mass=1.0):
    """A free body of 0.2 m."""
    made = engine.Builder(kind)
    sizes = {"box": (2 * HALF,) * 3, "sphere": (HALF,), "brick": (0.2, 0.16, 0.12), "capsule": (0.06, 0.12)}
    inertia = engine.spatial.inertia.sphere(mass, HALF) if kind == "sphere" else engine.spatial.inertia.box(mass, (2 * HALF,) * 3)
    made.add_link("body", inertia=inertia, collisions=[engine.Geometry("box" if kind == "brick" else kind, sizes[kind])])
    return made.model(floating_base=True)


def simulator(kinds, ground=True, dt=H, material=MATERIAL, normal=(0.0, 0.0, 1.0), **more):
    """Of bodies of some kinds, all of which may touch."""
    model = engine.combine(**{f"b{k}": body(kind) for k, kind in enumerate(kinds)})
    plane = engine.HalfSpace(normal=normal, material=material) if ground else None
    return engine.Simulator(model, dt=dt, contacts=engine.Contacts(ground=plane, material=material), **more)


def by_tables(simulator):
    return "by tables" in repr(simulator)


def state(positions, turns=None, v=0.0, seed=0):
    """q (7 n) and v (6 n) of bodies at positions (n, 3), turned at random unless they are given."""
    n, rng = len(positions), np.random.default_rng(seed)
    turns = rng.standard_normal((n, 4)) if turns is None else np.tile(turns, (n, 1))
    turns = turns / np.linalg.norm(turns, axis=1)[:, None]
    return np.concatenate([turns, positions], axis=1).ravel(), v * rng.standard_normal(6 * n)


def heap(n, apart=0.36, seed=0):
    """Positions (n, 3) of bodies that fall on each other."""
    side = max(1, int(np.ceil((n / 2) ** (1 / 3))))
    i = np.arange(n)
    x = np.stack([i % side, i // side % side, i // side**2], axis=1) * apart
    return x + 0.01 * np.random.default_rng(seed).random((n, 3)) + [0.0, 0.0, 0.2]


STACKS = np.array([[0.5 * (k // 5), 0.0, HALF + 2 * HALF * (k % 5)] for k in range(10)])
UPRIGHT = np.array([1.0, 0.0, 0.0, 0.0])


@pytest.fixture(scope="module")
def boxes():
    """Ten boxes on the ground."""
    return simulator(["box"] * 10)


def test_few_are_laws_of_their_pairs_and_many_are_tables(boxes):
    assert by_tables(boxes)
    assert not by_tables(simulator(["box"] * 2))
    with pytest.raises(engine.EngineError, match=r"is no program of its state.*expected fewer bodies"):
        simulator(["box"] * 14).solve(*state(heap(14)), 0.1)


def test_derivatives_are_those_of_laws_of_pairs(monkeypatch):
    """Balls that meet by tables have the matrices of the same balls as few."""
    x = np.array([[0.0, 0.0, HALF - 1e-4], [2.0 * HALF - 1e-4, 0.0, HALF]])
    few = simulator(["sphere"] * 2)
    assert not by_tables(few)
    known = few.linearize(*state(x, UPRIGHT))
    monkeypatch.setattr(choice, "FEW_PAIRS", 0)
    many = simulator(["sphere"] * 2)
    assert by_tables(many)
    for one, other in zip(known, many.linearize(*state(x, UPRIGHT)), strict=True):
        np.testing.assert_array_equal(one, other)


def test_steps_of_their_own_size_are_there_up_to_a_hundred_pairs():
    """Balls that meet by tables at fixed steps fall and bounce as one system: to the error of the fixed ones, and each as alone."""
    six, one = (simulator(["sphere"] * n, dt=1e-4) for n in (6, 1))
    assert by_tables(six)
    x = np.stack([0.5 * np.arange(6), np.zeros(6), np.full(6, HALF + 0.01)], axis=1)
    q, v = state(x, UPRIGHT)
    solved, run = six.solve(q, v, 0.06, tolerance=1e-5), six.run(q, v, 0.06, record_every=600)
    np.testing.assert_allclose(solved(0.06)[0], run.q[-1], atol=2e-5)
    alone = one.solve(*state(x[:1], UPRIGHT), 0.06, tolerance=1e-5)
    np.testing.assert_allclose(solved(0.06)[0][6::7], alone(0.06)[0][6], atol=2e-5)


def test_elastic_blows_that_steps_do_not_resolve_are_told():
    """A ball of 1 kg on 2e5 N/m that loses nothing is thrown back within π √(m/k) = 7 ms: seven steps, and seventy."""
    elastic = engine.ContactMaterial(stiffness=2e5, dissipation=0.0, friction=0.5)
    x = np.stack([0.5 * np.arange(7), np.zeros(7), np.full(7, HALF + 0.05)], axis=1)
    with pytest.warns(SimulationWarning, match=r"shapes meet at 0\.98\d m/s in a blow of fewer than 10 steps"):
        simulator(["sphere"] * 7, material=elastic, dt=1e-3).run(*state(x, UPRIGHT), 0.2)
    fine = simulator(["sphere"] * 7, material=elastic, dt=1e-4).run(*state(x, UPRIGHT), 0.2, record_every=10)
    assert not fine.warnings
    energy = sum(fine.energy())
    np.testing.assert_allclose(energy, energy[0], rtol=1e-4)                   # what springs hold of it too
    one = simulator(["sphere"], material=elastic, dt=1e-4).run(*state(x[:1], UPRIGHT), 0.2, record_every=10)
    np.testing.assert_allclose(fine("contacts.energy"), 7.0 * one("contacts.energy"), atol=1e-12)
    assert one("contacts.energy").max() > 0.3


def test_bodies_that_may_pass_through_each_other_are_told():
    """A ball that goes 0.4 m in a step at others of 0.2 m: not where it goes by far away, nor through what it never touches."""
    made = simulator(["sphere"] * 8, ground=False, gravity=(0, 0, 0))
    q, v = state(np.outer(np.arange(8.0), [0.0, 0.5, 0.0]), UPRIGHT)
    assert not made.run(q, v, 0.01).warnings
    v[3], q[4] = 200.0, 50.0
    assert not made.run(q, v, 0.01).warnings                                   # away from all
    q[4] = -1.0
    with pytest.warns(SimulationWarning, match=r"b0/floating_base' goes 0.4 m in a step, relative to joint 'b[1-7]/.* 0.2 m thick"):
        made.run(q, v, 0.01, record_every=5)
    q[4:7] = 0.0, 0.0, 5.0
    assert not made.run(q, v, 0.01, record_every=5).warnings
    alone = [("b0/body", f"b{k}/body") for k in range(1, 8)]
    model = engine.combine(**{f"b{k}": body("sphere") for k in range(8)})
    free = engine.Contacts(pairs=[p for p in itertools.combinations([f"b{k}/body" for k in range(8)], 2) if p not in alone])
    apart = engine.Simulator(model, dt=H, gravity=(0, 0, 0), contacts=free)
    q[4:7] = -1.0, 0.0, 0.0
    assert by_tables(apart) and not apart.run(q, v, 0.01, record_every=5).warnings


@pytest.mark.filterwarnings("ignore:.*over a tenth")
def test_a_ball_that_heavy_bodies_pinch_is_not_spun_up():
    """Impulses act at arms of the middle of a step in velocities, too: in steps over which all go as far as the ball is thick."""
    inertia = engine.spatial.inertia
    sizes = {"light": ("sphere", (0.05,), inertia.sphere(0.01, 0.05)), "box": ("box", (0.4, 0.3, 0.2), inertia.box(10.0, (0.4, 0.3, 0.2)))}
    sizes |= {"ball": ("sphere", (0.2,), inertia.sphere(10.0, 0.2))}
    parts = {}
    for name, (kind, size, own) in sizes.items():
        parts[name] = engine.Builder(name)
        parts[name].add_link("body", inertia=own, collisions=[engine.Geometry(kind, size)])
    model = engine.combine(**{name: part.model(floating_base=True) for name, part in parts.items()})
    contacts = engine.Contacts(material=engine.ContactMaterial(stiffness=1e5, dissipation=20.0, friction=0.8))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(choice, "FEW_PAIRS", -1)
        made = engine.Simulator(model, dt=5e-3, gravity=(0, 0, 0), contacts=contacts)
    rng, rows = np.random.default_rng(0), 200
    x = rng.normal(size=(rows, 3)) * [0.08, 0.08, 0.0]
    q = np.tile([*UPRIGHT, 0, 0, 0, *UPRIGHT, 0, 0, -0.155, *UPRIGHT, 0, 0, 0.255], (rows, 1))
    q[:, 4:7] += 0.5 * x
    q[:, 18:21] += x
    v = rng.normal(size=(rows, 18)) * ([10.0] * 3 + [0.0] * 3 + [1.0] * 6 + [5.0] * 3 + [1.0] * 3)
    v[:, [11, 17]] += [3.0, -3.0]
    run = made.run(q, v, 0.2)
    kinetic = np.asarray(run.energy()[0])
    assert np.diff(kinetic).max() < 0.2                                        # what springs give back; half a joule otherwise, of 134


def test_named_pairs_are_tables_too_and_the_same_bits():
    """All pairs by name, as a file has them, are as none are; of which one is left out goes through the other."""
    model = engine.combine(**{f"b{k}": body() for k in range(7)})
    ground, names = engine.HalfSpace(material=MATERIAL), [f"b{k}/body" for k in range(7)]
    q0, v0 = state(heap(7), seed=3)
    every = [("world", n) for n in names] + list(itertools.combinations(names, 2))
    sims = [engine.Simulator(model, dt=H, contacts=engine.Contacts(ground, pairs, MATERIAL)) for pairs in (None, every, every[:-1])]
    assert all(by_tables(s) for s in sims) and "27 pairs of 8 shapes" in repr(sims[2])
    one, two = (s.run(q0, v0, 0.3) for s in sims[:2])
    np.testing.assert_array_equal(one.q, two.q)
    apart = np.array([[2.0 * k, 0.0, HALF] for k in range(7)])
    apart[6] = apart[5] + [0.0, 0.0, 0.5]                                      # it falls through the last box onto the ground
    start, still = state(apart, UPRIGHT)
    for sim, height in zip(sims, (3 * HALF, 3 * HALF, HALF), strict=True):
        assert abs(sim.run(start, still, 0.6, record_every=300).q[-1, -1] - height) < 1e-3


def test_a_file_whose_bodies_all_touch_is_tables():
    bodies = "".join(f'<body pos="{k} 0 .1"><freejoint/><geom type="box" size=".1 .1 .1"/></body>' for k in range(8))
    text = f'<mujoco><worldbody><geom type="plane" size="2 2 .1"/>{bodies}</worldbody></mujoco>'
    sim = engine.simulator_of(engine.load(text))
    assert by_tables(sim) and "36 pairs of 9 shapes" in repr(sim)


# ------------------------------------------------------------ what mechanics says


def test_stacks_carry_their_weight_and_are_as_deep_in_each_other_as_springs_say(boxes):
    run = boxes.run(*state(STACKS, UPRIGHT), 3.0, record_every=500)
    last = run("contacts").at(-1)
    k = MATERIAL.stiffness / 2.0                                               # two in a row, at four points
    for level, (a, b) in enumerate(itertools.pairwise(["world", *(f"b{i}/body" for i in range(5))])):
        own = (last.a == a) & (last.b == b)
        above = (5 - level) * G
        np.testing.assert_allclose(last.force[own].sum(axis=0), [0.0, 0.0, above], atol=1e-6 * above)
        np.testing.assert_allclose(last.gap[own], -above / (4 * k), rtol=1e-6)
    np.testing.assert_allclose(run("contacts.wrench")[-1][1:, 5], G, rtol=1e-5)     # each carries itself
    assert np.abs(run.vdot[-1]).max() < 1e-4


def test_momentum_stays_where_bodies_collide_in_free_space():
    made = simulator(["box"] * 12, ground=False, gravity=(0.0, 0.0, 0.0))
    n, x = 12, heap(12)
    q, v = state(x, v=0.3)
    v.reshape(n, 6)[:, 3:] -= np.einsum("nji,nj->ni", rotations(q), 3.0 * (x - x.mean(axis=0)))     # towards each other
    run = made.run(q, v, 1.0, record_every=50)
    p, l = momenta(run)
    size = np.abs(v).sum()
    assert np.ptp(p, axis=0).max() < 1e-14 * size                              # 500 steps, each to rounding
    assert np.ptp(l, axis=0).max() < 1e-13 * size                              # about a point metres away
    turned = np.einsum("nij,nj->ni", rotations(run.q[-1]), run.v[-1].reshape(n, 6)[:, 3:])
    assert (np.linalg.norm(turned - np.einsum("nij,nj->ni", rotations(q), v.reshape(n, 6)[:, 3:]), axis=1) > 0.1).sum() > 4


def rotations(q):
    return engine.spatial.quaternion.to_matrix(q.reshape(-1, 7)[:, :4])


def momenta(run):
    """Linear and angular momentum (T, 3) of boxes of 1 kg."""
    T, n = len(run.t), run.q.shape[1] // 7
    R = rotations(run.q).reshape(T, n, 3, 3)
    v, x = run.v.reshape(T, n, 6), run.q.reshape(T, n, 7)[..., 4:]
    p = np.einsum("tnij,tnj->tni", R, v[..., 3:])
    spin = np.einsum("tnij,tnj->tni", R, v[..., :3]) * (2 * HALF) ** 2 / 6.0
    return p.sum(axis=1), (spin + np.cross(x, p)).sum(axis=1)


def on_slope(angle):
    """Eight blocks side by side on a slope, and how they begin, as deep as their springs say."""
    normal = np.array([np.sin(angle), 0.0, np.cos(angle)])
    x = (HALF - G * np.cos(angle) / (4 * MATERIAL.stiffness / 2)) * normal + 0.5 * np.arange(8)[:, None] * np.array([0.0, 1.0, 0.0])
    turn = np.array([np.cos(angle / 2), 0.0, np.sin(angle / 2), 0.0])
    return simulator(["box"] * 8, normal=tuple(normal), dt=1e-3), state(x, turn)


def test_blocks_slide_on_a_slope_as_coulomb_says():
    """At g (sin θ − μ cos θ)."""
    made, begin = on_slope(0.7)
    v = np.linalg.norm(made.run(*begin, 0.5, record_every=250).v.reshape(3, 8, 6)[..., 3:], axis=2)
    np.testing.assert_allclose((v[2] - v[1]) / 0.25, G * (np.sin(0.7) - 0.5 * np.cos(0.7)), rtol=1e-5)


def test_friction_of_many_that_strike_at_once_is_coulombs_at_most():
    """To what may be left of the difference of friction and normal impulses, of all of a step, also where they never agree."""
    n, rough = 25, engine.ContactMaterial(stiffness=1e6, dissipation=20.0, friction=1.0)
    z = (2.0 * np.arange(n) + 1.0) / n - 1.0
    out = np.stack([np.cos(2.399 * np.arange(n)) * np.sqrt(1 - z * z), np.sin(2.399 * np.arange(n)) * np.sqrt(1 - z * z), z], axis=1)
    model = engine.combine(**{f"b{k}": body(("box", "sphere")[k % 2], (1.0, 1e-3, 1.0, 1.0)[k % 4]) for k in range(n)})
    made = engine.Simulator(model, dt=2e-4, contacts=engine.Contacts(material=rough), gravity=(0, 0, 0))
    q, v = state(0.6 * out, UPRIGHT)
    v.reshape(n, 6)[:, 3:] = -20.0 * out
    t = made.run(q, v, 0.1, record_every=1)("contacts")
    normal = (t.force * t.normal).sum(axis=1)
    across = np.linalg.norm(t.force - normal[:, None] * t.normal, axis=1)
    whole = np.sqrt(np.bincount(t.record, normal**2))[t.record]
    assert len(normal) > 1000 and (across <= normal + 2.0 * newton.AGREES * whole).all()


def test_blocks_stay_on_a_slope_of_nearly_their_angle_and_what_holds_them_is_state():
    """Where they gave way; from there on the same bits in parts, in a batch, and of a file that is resumed."""
    made, begin = on_slope(np.arctan(0.99 * 0.5))
    run = made.run(*begin, 1.2, record_every=100)
    assert np.abs(run.q[-1] - run.q[-3]).max() < 0.2 * 1e-12 and np.abs(run.v[-1]).max() < 1e-11      # and to and fro by as much
    half = made.step(made.start(*begin), 600)
    stuck = half.origin.x[made._process.stuck].reshape(-1, 8)
    assert (stuck[:8, 0] > 0.0).all() and not stuck[8:].any()
    assert np.linalg.norm(stuck[:8, 4:7], axis=1) == pytest.approx(0.99 * 1e-4 * 1e-3, rel=1e-2)
    np.testing.assert_array_equal(made.step(half, 600).q, run.q[-1])
    q, v = (np.stack([a, a]) for a in begin)
    q[1, 4:7] += 0.5
    np.testing.assert_array_equal(made.run(q, v, 0.2, record_every=200).q[0, -1], run.q[2])


def test_a_stack_of_twenty_stays_for_a_minute():
    heights = HALF + 2 * HALF * np.arange(20) - np.cumsum(np.arange(20, 0, -1) * G / (4 * MATERIAL.stiffness / 2))
    run = simulator(["box"] * 20).run(*state(heights[:, None] * [0.0, 0.0, 1.0], UPRIGHT), 60.0, record_every=1000)
    assert np.abs(run.q.reshape(-1, 20, 7)[:, :, 6] - heights).max() < 1e-9


def test_energy_never_rises_but_for_what_springs_give_back():
    made = simulator(["box"] * 10)
    run = made.run(*state(heap(10), v=1.0), 1.0)
    q, v = run.q.reshape(-1, 10, 7), run.v.reshape(-1, 10, 6)
    inertia = np.array([(2 * HALF) ** 2 / 6.0] * 3 + [1.0] * 3)
    energy = 0.5 * (v * v * inertia).sum(axis=(1, 2)) + G * q[..., 6].sum(axis=1)
    held = 0.5 * MATERIAL.stiffness / 2 * 40 * (5e-4) ** 2                     # forty points half a millimetre deep
    assert (energy - np.minimum.accumulate(energy)).max() < held
    assert energy[-1] < 0.6 * energy[0]


# ------------------------------------------------------------ a second route: laws of pairs


@pytest.mark.parametrize(("kinds", "friction", "bar"), [
    (["sphere"] * 3, 0.0, 5e-7), (["sphere"] * 3, 0.5, 1e-6), (["sphere", "sphere", "brick"], 0.5, 1e-4)])  # fmt: skip
def test_tables_are_the_laws_of_pairs(monkeypatch, kinds, friction, bar):
    """Without friction to what Newton's method of tables leaves, 1e-6 of changes of 2 m/s for a quarter of a second; with it to what both
    agree on; there flight carries the last step's forces, too, which a brick feels by h²."""
    monkeypatch.setattr(newton, "TOLERANCE", 1e-9)
    material = engine.ContactMaterial(friction=friction, dissipation=0.5)
    q, v = state(np.array([[0.0, 0.0, 0.15], [0.02, 0.01, 0.42], [0.5, 0.0, 0.15]]), v=0.3)
    runs = []
    for few in (-1, 100):
        monkeypatch.setattr(choice, "FEW_PAIRS", few)
        made = simulator(kinds, material=material, dt=1e-3)
        assert by_tables(made) == (few < 0)
        runs.append(made.run(q, v, 0.25, record_every=25))
    assert len(runs[0]("contacts"))
    assert np.abs(runs[0].q - runs[1].q).max() < bar


# ------------------------------------------------------------ the same bits


def test_a_heap_moves_as_if_nothing_else_was_there_and_alone_as_in_a_batch(boxes):
    q, v = state(heap(10))
    alone = boxes.run(q, v, 0.5, record_every=50)
    far = q.reshape(10, 7).copy()
    far[:, 4] += 64.0
    both = simulator(["box"] * 20).run(np.concatenate([q, far.ravel()]), np.concatenate([v, v]), 0.5, record_every=50)
    np.testing.assert_array_equal(both.q[:, :70], alone.q)
    batch = boxes.run(np.stack([q, state(heap(10, seed=1))[0]]), v, 0.5, record_every=50)
    np.testing.assert_array_equal(batch.q[0], alone.q)


def test_steps_files_and_what_is_resumed_are_the_same_bits(boxes, tmp_path):
    q, v = state(heap(10))
    whole = boxes.run(q, v, 0.4, record_every=50)
    now = boxes.start(q, v)
    for _ in range(4):
        now = boxes.step(now, 50)
    np.testing.assert_array_equal(now.q, whole.q[-1])
    boxes.run(q, v, 0.2, record_every=50, out=tmp_path / "heap.h5")
    boxes.resume(tmp_path / "heap.h5", duration=0.4)
    found = engine.load_trajectory(tmp_path / "heap.h5")
    np.testing.assert_array_equal(found.q, whole.q)
    np.testing.assert_array_equal(found.vdot, whole.vdot)


def test_bodies_in_another_order_move_the_same(boxes):
    q, v = state(heap(10))
    order = np.random.default_rng(2).permutation(10)
    one = boxes.run(q, v, 0.2, record_every=100)
    other = boxes.run(q.reshape(10, 7)[order].ravel(), v, 0.2, record_every=100)
    assert np.abs(other.q.reshape(2, 10, 7) - one.q.reshape(2, 10, 7)[:, order]).max() < 1e-7   # Newton's method ends at 1e-6 of a step


def test_bodies_that_touch_no_other_are_the_same_bits_in_any_order():
    """And two that meet, to what Newton's method leaves of a step's impulses: 1e-6 of a change of 2 m/s, for the 0.02 s that follow."""
    t, off = differences(6, 0.14)
    assert off["a"][t < 0.12].max() == 0.0 < off["a"].max() < 4e-8
    assert all(off[f"z{k}"].max() == 0.0 for k in range(6))


# ------------------------------------------------------------ parts


def test_near_pairs_are_all_that_overlap():
    rng = np.random.default_rng(3)
    n = 60
    boxes = np.concatenate([rng.random((n, 3)) * 3 - 1.5, 0.05 + 0.2 * rng.random((n, 3)), np.arange(n)[:, None] // 2,
                            rng.integers(0, 2, (n, 1))], axis=1)  # fmt: skip
    boxes[5, 3:6], boxes[7, 6], boxes[9, :3] = 4.0, -1.0, 1e9                  # a large one, one that stands still, one far away
    start, others = np.zeros(n + 1), np.array([20.0, 10.0])
    start[11:], start[21:] = 1.0, 2.0                                          # 10 and 20 never touch
    grounds = np.array([[0.0, 0.0, 1.0, -1.4, 3.0]])
    expected = set()
    for i, j in itertools.combinations(range(n), 2):
        meets = (np.abs(boxes[i, :3] - boxes[j, :3]) <= boxes[i, 3:6] + boxes[j, 3:6]).all()
        if 3 in (i, j):
            k = i + j - 3
            meets = boxes[k, 2] - boxes[k, 5] < -1.4 and boxes[k, 6] >= 0
        elif boxes[i, 6] == boxes[j, 6] or {i, j} == {10, 20}:
            meets = False
        if meets:
            expected.add((i, j))
    plain = near.near_pairs(boxes, start, others, grounds, 2.0)
    assert {tuple(sorted(map(int, pair))) for pair in plain[:, :2]} == expected
    assert (np.lexsort(plain[:, 1::-1].T) == np.arange(len(plain))).all()
    compiled = engine.gufunc(lambda b, s, o, g: near.near_pairs(b, s, o, g, 2.0), "(n,8),(k),(m),(g,5)->(p,3)")
    np.testing.assert_array_equal(compiled(boxes, start, others, grounds), plain)
    np.testing.assert_array_equal(engine.compiler.interpret(compiled.program, boxes, start, others, grounds), plain)


def test_islands_are_what_hangs_together():
    pairs = np.array([[0, 1], [5, 4], [1, 5], [2, 3]], dtype=float)
    np.testing.assert_array_equal(islands.islands(np.zeros((7, 6)), pairs), [0, 0, 2, 2, 0, 0, 6])


def test_steps_are_the_same_interpreted_and_compiled():
    made = simulator(["box"] * 7)
    q, v = state(heap(7, apart=0.19), v=0.5)
    process = made._process
    p, x = made.stepper.parameters.join({}), made._step.prepare(np.zeros(0), made._step.begun(q, v))
    given = [3.0, 1.0, 0.0, 0.0, H, *process.given(p), *(s.taken(x) for s in process.states), *process.inertias, np.zeros((0, 8)),
             *process.contacts.flat]  # fmt: skip
    compiled = process.advanced(*given)
    interpreted = engine.compiler.interpret(process.advanced.program, *given)
    for one, other in zip(compiled, interpreted, strict=True):                 # multiply-adds round once in machine code, so to some ulp
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)
    assert len(compiled[-1])


# ------------------------------------------------------------ what cannot be


def test_starts_in_each_other_are_named_with_their_depth(boxes):
    x = STACKS.copy()
    x[3, 2] -= 0.08
    with pytest.raises(engine.EngineError, match=r"'b2/body:b3/body' overlap by 0\.08 m at the start.*expected shapes that touch at most"):
        boxes.run(*state(x, UPRIGHT), 0.1)


def test_shapes_deep_in_each_other_are_told():
    soft = engine.ContactMaterial(stiffness=200.0)
    with pytest.warns(engine.simulation.SimulationWarning, match=r"shapes lie in each other by 0\.\d+ of the thinner one, over a tenth"):
        run = simulator(["box"] * 10, material=soft).run(*state(STACKS, UPRIGHT), 1.0, record_every=100)
    assert 0.1 < run("contacts.overlap").max() < 1.0
    assert (run("contacts.count") == np.diff(run("contacts").start)).all()


def test_rough_slabs_lose_energy_as_they_tumble():
    """Where steps are long for springs, and friction is large."""
    rough = engine.ContactMaterial(friction=10.0)
    made = simulator(["box"] * 8, material=rough, dt=1e-2)
    x = np.stack([np.zeros(8), 0.5 * np.arange(8), np.full(8, HALF)], axis=1)
    q, v = state(x, UPRIGHT)
    v.reshape(8, 6)[:, 3] = 3.0
    run = made.run(q, v, 1.0)
    kinetic = 0.5 * (run.v.reshape(-1, 8, 6) ** 2 * ([(2 * HALF) ** 2 / 6.0] * 3 + [1.0] * 3)).sum(axis=(1, 2))
    energy = kinetic + G * (run.q.reshape(-1, 8, 7)[..., 6] - HALF).sum(axis=1)
    assert energy.max() < 1.02 * energy[0]
    assert energy[-1] < 0.5 * energy[0]


def test_names_of_materials_are_looked_at_and_runs_are_pickled(boxes):
    model = engine.combine(**{f"b{k}": body() for k in range(10)})
    with pytest.raises(engine.EngineError, match=r"contacts name a link 'b0/bx'.*did you mean 'b0/body'"):
        engine.Simulator(model, contacts=engine.Contacts(materials={"b0/bx": MATERIAL}))
    with pytest.raises(engine.EngineError, match=r"is no program of its state"):
        simulator(["box"] * 14).linearize(*state(heap(14)))
    run = boxes.run(*state(STACKS, UPRIGHT), 0.02)
    again = pickle.loads(pickle.dumps(run))
    np.testing.assert_array_equal(again.q, run.q)
    with pytest.raises(engine.EngineError, match=r"no points of contact.*expected a run"):
        again("contacts")


def test_a_body_that_flies_off_stops_nobody(boxes):
    x = STACKS.copy()
    x[9] = 1e9, 0.0, 5.0
    run = boxes.run(*state(x, UPRIGHT), 0.2, record_every=50)
    assert np.abs(run.q[-1].reshape(10, 7)[:9, 4:] - x[:9]).max() < 1e-3
    assert so3.log(rotations(run.q[-1])[0]) @ np.ones(3) < 1e-6


@pytest.mark.filterwarnings("ignore:.*over a tenth")
def test_a_light_body_that_grazes_a_heavy_one_gives_what_it_takes(monkeypatch):
    """Momenta stay to rounding whatever friction asks of whom, also where flight alone would take them apart."""
    monkeypatch.setattr(choice, "FEW_PAIRS", -1)
    made = engine.combine(light=body("brick", 0.5), heavy=body("box", 50.0))
    material = engine.ContactMaterial(stiffness=1e6, dissipation=0.1, friction=0.5)
    runner = engine.Simulator(made, dt=1e-3, gravity=(0, 0, 0), contacts=engine.Contacts(material=material))
    rng = np.random.default_rng(1)
    rows = 200
    turns = rng.standard_normal((rows, 4))
    x = np.concatenate([np.full((rows, 1), 0.25), 0.08 * rng.standard_normal((rows, 2))], axis=1)
    upright = np.tile([1.0, 0, 0, 0, 0, 0, 0], (rows, 1))
    q = np.concatenate([turns / np.linalg.norm(turns, axis=1)[:, None], x, upright], axis=1)
    v = np.concatenate([5 * rng.standard_normal((rows, 3)), np.zeros((rows, 3)), np.tile([0.3, 0.2, 0.1, 20.0, 0, 0], (rows, 1))], axis=1)
    run = runner.run(q, v, 0.02)
    R = rotations(run.q).reshape(*run.q.shape[:2], 2, 3, 3)
    p = np.einsum("btkij,btkj,k->bti", R, run.v.reshape(*run.q.shape[:2], 2, 6)[..., 3:], [0.5, 50.0])
    assert np.abs(np.diff(run.v[..., :6], axis=1)).max() > 1.0
    assert np.abs(np.diff(p, axis=1)).max() < 1e-14 * 1000.0 * 16


def test_linear_momentum_stays_where_nothing_keeps_it():
    """A heavy box that does not turn meets a ball beside its middle: what it loses is what the ball gets."""
    ball = body("sphere", 0.5)
    heavy = engine.Builder("heavy")
    heavy.add_link("body", inertia=engine.spatial.inertia.box(50.0, (0.5,) * 3), collisions=[engine.Geometry("box", (0.5,) * 3)])
    model = engine.combine(light=ball, heavy=heavy.model(floating_base=True), **{f"far{k}": ball for k in range(6)})
    q = np.array([[1, 0, 0, 0, *x] for x in ([0.45, 0.1, 0.05], [0, 0, 0], *([100.0 + k, 0, 0] for k in range(6)))])
    v = np.zeros(model.nv)
    v[9] = 20.0
    smooth = engine.ContactMaterial(stiffness=1e6, dissipation=0.1, friction=0.0)
    made = engine.Simulator(model, dt=5e-4, gravity=(0.0, 0.0, 0.0), conserve_momentum=False, contacts=engine.Contacts(material=smooth))
    assert by_tables(made)
    run = made.run(q.ravel(), v, 0.01, record_every=20)
    p = np.einsum("nij,nj->ni", rotations(run.q[-1]), run.v[-1].reshape(-1, 6)[:, 3:]) * np.array([0.5, 50.0] + [0.5] * 6)[:, None]
    assert p[0, 0] > 8.0
    np.testing.assert_allclose(p.sum(axis=0), [1000.0, 0.0, 0.0], atol=20 * 1e-16 * 1000.0 * 10)     # 20 steps, each to rounding
