"""Friction, damping, stops and speed limits as impulses after flight: laws, other routes, printed and MuJoCo's numbers."""

import warnings

import mujoco
import numpy as np
import pytest
from scipy.optimize import brentq, root

import engine
from engine import dynamics, ops
from engine.compiler import interpret, trace
from engine.components.forces import stop_stiffness
from engine.contact import JointLaws, corrected, joint_coordinates, minimum, velocity_after
from engine.spatial import inertia, se3
from tests.numeric import ROUNDED
from tests.trees import random_tree

AWAY = {"gravity": (0.0, 0.0, 0.0)}


def slider(mass=2.0, **joint):
    builder = engine.Builder("slider")
    builder.add_link("base"), builder.add_link("block", inertia=inertia.box(mass, (0.1, 0.1, 0.1)))
    builder.add_joint("slide", "prismatic", "base", "block", **joint)
    return builder.model()


def rubbing(seed, n=6):
    """A tree whose joints have everything, and the laws of a step of 5 ms that many of them are met by."""
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, n, ("revolute", "prismatic", "universal"), floating_base=bool(seed % 2))
    builder = engine.Builder("rubbing")
    for link in tree.links:
        builder.add_link(link.name, link.inertia)
    for j in tree.joints:
        if j.parent:
            builder.add_joint(j.name, j.kind, j.parent, j.child, j.placement, j.axis, j.axis2, damping=rng.uniform(0, 3),
                              friction=rng.uniform(0, 3), limits=engine.Limits(-0.5, 0.5, velocity=1.0))  # fmt: skip
    model = builder.model(floating_base=bool(seed % 2))
    q, v = model.random(rng)
    rows = joint_coordinates(model)
    laws = JointLaws(rows, 1e-5, stop_stiffness, 1.0)
    before = v + 0.1 * rng.standard_normal(model.nv)
    return model, laws, before, q + 0.2 * np.isin(np.arange(model.nq), [r.i for r in rows]), v


def stepped(model, laws, h, before, q, free):
    """q and v after the impulses of a step of h from the velocity ``before``, whose flight ends at q and ``free``."""
    law = laws.step(h, before, q, free)
    after = ops.when(law.acts, lambda: velocity_after(dynamics.crba(model, q), law, before, free)[0], free)
    x = corrected(model, h, q, free, after, lambda q, v: np.concatenate([q, v]), np.concatenate([q, free]))
    return x[: model.nq], x[model.nq :]


# ---------------------------------------------------------------- laws


@pytest.mark.parametrize("seed", range(8))
def test_losses_only_take_and_nothing_inside_pushes_the_base(seed):
    """½ (v⁺ − ṽ)ᵀ M (v⁺ + ṽ) = γ·(v⁺ + ṽ)/2: below zero without stops, which may give back; rows of a base have no impulse."""
    model, laws, _, q, free = rubbing(seed)
    rows = [r._replace(low=-np.inf, high=np.inf) for r in laws.coordinates]
    v = velocity_after(dynamics.crba(model, q), JointLaws(rows, 1e-5, laws.stiffness, 1.0).step(5e-3, free, q, free), free, free)[0]
    M = dynamics.crba(model, q)
    assert v @ M @ v < free @ M @ free
    if model.floats:
        assert np.abs((M @ (v - free))[:6]).max() < 1e-9 * np.abs(M).max() * np.abs(free).max()


def test_a_joint_under_less_than_its_friction_stays_and_one_under_more_slides():
    friction = 10.0
    simulator = engine.Simulator(slider(friction=friction), controller=lambda t, q, v, load: load * np.ones(1), parameters={"load": 0.0},
                                 **AWAY)  # fmt: skip
    for load in (9.0, 11.0):
        run = simulator.run([0.0], [0.0], 1.0, record_every=1000, parameters={"load": load})
        if load < friction:
            assert run.q[-1, 0] < 1.05e-5 * load / np.sqrt(friction**2 - load**2) and abs(run("friction.force")[-1, 0] + load) < 1e-6
        else:
            assert abs(run.q[-1, 0] - 0.5 * (load - friction) / 2.0) < 1e-4 and abs(run.vdot[-1, 0] - 0.5) < 1e-6


def test_an_arm_holds_its_pose_by_friction_alone():
    builder = engine.Builder("arm")
    builder.add_link("base")
    for k, above in enumerate(("base", "l0", "l1")):
        builder.add_link(f"l{k}", inertia=inertia.from_mass(1.0, [0.3, 0, 0], 0.01 * np.eye(3)))
        builder.add_joint(f"j{k}", "revolute", above, f"l{k}", np.block([[np.eye(3), np.array([[0.3 * (k > 0)], [0], [0]])], [0, 0, 0, 1]]),
                          axis=[0, 1, 0], friction=20.0)  # fmt: skip
    run = engine.Simulator(builder.model(), dt=2e-3).run([0.2, -0.4, 0.1], np.zeros(3), 10.0, record_every=100)
    assert np.abs(run.q - run.q[0]).max() < 2e-4 and np.abs(run.v).max() < 2e-5


@pytest.mark.parametrize("dt", [1e-3, 1e-2])
def test_energy_never_rises_where_nothing_drives(dt):
    model = rubbing(2)[0]
    q, v = model.random(np.random.default_rng(0))
    q = np.clip(q, -0.5, 0.5)
    run = engine.Simulator(model, dt=dt, joint_dynamics="implicit", **AWAY).run(q, v, 2.0)
    K, _ = run.energy()
    rows = joint_coordinates(model)
    depth = np.array([np.maximum(np.abs(run.q[:, r.i]) - 0.5, 0.0) for r in rows])
    total = K + 0.5 * sum(stop_stiffness(r) * d**2 for r, d in zip(rows, depth, strict=True))
    assert total.max() == total[0] and np.diff(total).max() < 10.0 * dt * total[0] and total[-1] < 0.05 * total[0]


def test_a_speed_beyond_its_limit_decays():
    run = engine.Simulator(slider(limits=engine.Limits(velocity=0.5)), joint_dynamics="implicit", **AWAY).run([0.0], [1.0], 0.1)
    assert np.abs(run.v[:, 0] - (0.5 + 0.5 * np.exp(-run.t / 5e-3))).max() < 2e-3


def test_print_says_which_is_which():
    model = slider(limits=engine.Limits(-1.0, 1.0, velocity=0.5), damping=1.0, friction=1.0)
    words = {"auto": ("explicit", "implicit", "not held", "implicit"), "implicit": ("implicit",) * 4,
             "explicit": ("explicit", "explicit", "not held", "explicit")}  # fmt: skip
    for mode, (damping, friction, speed, stops) in words.items():
        joints = f"damping of 'slide' {damping}; friction of 'slide' {friction}; speed limits of 'slide' {speed}; stops of 'slide' {stops}"
        method = "ros34pw2" if mode == "implicit" else "cg4"
        printed = repr(engine.Simulator(model, joint_dynamics=mode))
        assert printed.startswith(f"<simulator of 'slider': {method}, dt = 0.001 s; joints: {joints}")
    assert "joints: ideal" in repr(engine.Simulator(model, joint_dynamics=None))


@pytest.mark.parametrize("mimic", [False, True])
def test_stops_of_mimic_and_universal_joints_hold(mimic):
    builder = engine.Builder("stopped")
    builder.add_link("base"), builder.add_link("a", inertia=inertia.box(1.0, (0.1, 0.2, 0.3)))
    limits = engine.Limits(-0.3, 0.3)
    kind, own = ("revolute", engine.Limits()) if mimic else ("universal", limits)
    builder.add_joint("one", kind, "base", "a", axis=[0, 1, 0], limits=own)
    if mimic:
        builder.add_link("b", inertia=inertia.box(1.0, (0.1, 0.2, 0.3)))
        builder.add_joint("two", "revolute", "a", "b", axis=[1, 0, 0], limits=limits, mimic=engine.Mimic("one", 0.5, 0.1))
    model = builder.model()
    run = engine.Simulator(model, **AWAY).run(np.zeros(model.nq), np.ones(model.nv), 3.0)
    x = 0.5 * run.q + 0.1 if mimic else run.q
    assert np.abs(x).max() < 0.32 and (np.abs(x) > 0.3).any(axis=0).all()


# ---------------------------------------------------------------- other routes


@pytest.mark.parametrize("seed", range(8))
def test_newton_finds_what_another_solver_finds(seed):
    model, laws, before, q, free = rubbing(seed)
    law, M = laws.step(5e-3, before, q, free), dynamics.crba(model, q)
    v, found = minimum(M, free, law, law.friction, before)
    assert found

    def residual(v):
        return M @ (v - free) - law.impulse(v, law.friction)[0]

    assert np.abs(residual(v)).max() < 1e-9 * np.abs(M @ free).max()
    other = root(residual, v + 1e-3 * np.random.default_rng(seed).standard_normal(len(v)),
                 jac=lambda v: M + law.impulse(v, law.friction)[1], tol=1e-13)  # fmt: skip
    if other.success:
        np.testing.assert_allclose(v, other.x, atol=1e-8 * np.abs(free).max())
    start, _ = minimum(M, free, law, law.friction, 0.0 * free)
    np.testing.assert_allclose(v, start, atol=1e-8 * np.abs(free).max())


@pytest.mark.parametrize("seed", range(3))
def test_slopes_are_the_derivatives_of_impulses(seed):
    _, laws, before, q, free = rubbing(seed)
    law = laws.step(5e-3, before, q, free)
    v, h = free + 0.3, 1e-7
    columns = [(law.impulse(v + h * e, law.friction)[0] - law.impulse(v - h * e, law.friction)[0]) / (2 * h) for e in np.eye(len(v))]
    G = law.impulse(v, law.friction)[1]
    np.testing.assert_allclose(-np.array(columns).T, G, atol=1e-5 * np.abs(G).max())


# ---------------------------------------------------------------- numbers nobody here computed


@pytest.mark.parametrize(("loss", "e"), [
    (0.01, 0.993377), (0.5, 0.748435), (2.0, 0.410720), (5.0, 0.196980),
])  # fmt: skip
def test_hunt_and_crossley_bounce(loss, e):
    """Restitution e of u = d v_in, u − ln(1 + u) = −eu − ln(1 − eu), at 200 steps of a contact and, four times closer, at 400."""
    assert abs(brentq(lambda e: loss - np.log1p(loss) + e * loss + np.log1p(-e * loss), 1e-3, min(1.0, 1 / loss) - 1e-12) - e) < 1e-6
    model = slider(limits=engine.Limits(0.0, np.inf))
    off = []
    for steps in (200, 400):
        k, q, v = 1e4, np.array([1e-12]), np.array([-1.0])
        h = np.pi * np.sqrt(2.0 / k) / steps
        laws = JointLaws(joint_coordinates(model), 1e-5, lambda row, k=k: k, loss)
        for _ in range(4 * steps):
            free = q + h * v
            q, v = stepped(model, laws, h, v, free, v)
        off.append(abs(float(v[0]) - e))
    assert off[0] < 2e-5 and off[1] < 4e-6


def test_sliding_stops_where_mujoco_says():
    """Coulomb's deceleration of a joint: MuJoCo's friction loss is regularised in its own way."""
    peer = mujoco.MjModel.from_xml_string(
        '<mujoco><option timestep="1e-4" gravity="0 0 0" iterations="200" tolerance="1e-14"/><worldbody><body>'
        '<joint name="slide" type="slide" axis="0 0 1" frictionloss="3" solreffriction="2e-4 1"/>'
        '<geom type="sphere" size="0.1" mass="2"/></body></worldbody></mujoco>')  # fmt: skip
    data = mujoco.MjData(peer)
    data.qvel[0] = 1.0
    mujoco.mj_step(peer, data, 10000)
    run = engine.Simulator(slider(friction=3.0), **AWAY).run([0.0], [1.0], 1.0, record_every=1000)
    assert abs(run.q[-1, 0] - data.qpos[0]) < 1e-3 * data.qpos[0]
    assert abs(run.q[-1, 0] - 1.0 / 3.0) < 1e-4                                 # v² m/(2 f)


# ---------------------------------------------------------------- plain, interpreted, compiled


@pytest.mark.parametrize("seed", range(3))
def test_plain_is_interpreted_is_compiled(seed):
    model, laws, before, q, free = rubbing(seed, 4)

    def f(before, q, free):
        return np.concatenate(stepped(model, laws, 5e-3, before, q, free))

    x = [np.array([a, a]) for a in (before, q, free)]
    plain = f(before, q, free)
    program = trace(f, [a.shape[1:] for a in x])
    compiled = engine.gufunc(f, f"({model.nv}),({model.nq}),({model.nv})->({model.nq + model.nv})")
    np.testing.assert_allclose(interpret(program, *x)[0], plain, atol=1e-9 * np.abs(plain).max())
    np.testing.assert_allclose(compiled(before, q, free), plain, atol=1e-9 * np.abs(plain).max())
    np.testing.assert_array_equal(compiled(*x)[1], compiled(before, q, free))


@pytest.mark.parametrize("compiled", [True, False])
def test_impulses_that_are_not_found_are_said(compiled, monkeypatch):
    monkeypatch.setattr("engine.contact.newton.STEPS", 1)
    simulator = engine.Simulator(slider(friction=3.0, damping=4000.0), compiled=compiled, **AWAY)
    with pytest.raises(engine.SimulationError, match=r"N·s or N·m·s are not balanced, beside the (damper|friction) of joint 'slide'"):
        simulator.run([0.0], [1.0], 0.1)


@pytest.mark.parametrize("dt", [1e-5, 1e-3, 1e-1])
def test_friction_of_any_size_stops_a_joint(dt):
    """Coulomb's line down to rest, however far a step would overshoot; where a step would just end at rest, the smoothing over s leaves
    the u with (u/s)² = h f/(2 m u)."""
    friction = np.array([1e-9, 1e-3, 1.0, 1e3, 1e6])
    simulator = engine.Simulator(slider(friction=1.0), dt=dt, parameters={"friction.slide": 1.0}, **AWAY)
    run = simulator.run([0.0], [1.0], 20 * dt, parameters={"friction.slide": friction})
    off = np.abs(run.v[..., 0] - np.maximum(1.0 - friction[:, None] / 2.0 * run.t, 0.0)).max(axis=1)
    assert (off < 2e-5 + (0.25 * dt * friction * 1e-10) ** (1 / 3)).all()


def test_every_joint_of_a_light_hand_is_caught():
    """Friction of many light joints, random speeds: the wells are narrow, and all of them are found."""
    builder = engine.Builder("hand")
    builder.add_link("palm")
    for finger in range(4):
        for k in range(4):
            above = f"{finger}{k - 1}" if k else "palm"
            builder.add_link(f"{finger}{k}", inertia=inertia.from_mass(0.02, [0.02, 0, 0], 1e-6 * np.eye(3)))
            builder.add_joint(f"j{finger}{k}", "revolute", above, f"{finger}{k}", axis=[0, 1.0, 0.3 * k], friction=0.1,
                              placement=np.block([[np.eye(3), np.array([[0.04], [0], [0.01]])], [0, 0, 0, 1]]))  # fmt: skip
    model, rng = builder.model(), np.random.default_rng(0)
    run = engine.Simulator(model).run(np.zeros(16), rng.standard_normal((50, 16)), 0.1, record_every=50)
    assert not np.any(run.failed) and np.abs(run.v[:, -1]).max() < 1e-4


def test_a_joint_s_own_effort_is_held_by_its_stops():
    """As deep as a hundredth of the range, however light the link."""
    limits = engine.Limits(0.0, 0.04, effort=20.0)
    for dt in (1e-3, 1e-2):
        run = engine.Simulator(slider(mass=0.015, limits=limits), dt=dt, controller=lambda t, q, v: np.array([99.0]), **AWAY)
        assert abs(run.run([0.02], [0.0], 2.0, record_every=10).q[-1, 0] - 0.0404) < 1e-6


def test_explicit_losses_that_are_too_stiff_are_warned_of():
    with pytest.warns(engine.SimulationWarning, match="damping and friction of joint 'slide' are too stiff for explicit steps of 0.1 s"):
        engine.Simulator(slider(friction=1000.0), dt=0.1, joint_dynamics="explicit")


@pytest.mark.parametrize(("integrator", "limit"), [("semi_implicit_euler", 2.0), ("ralston2", 2.0), ("cg3", 2.51), ("cg4", 2.31)])
def test_where_losses_are_too_stiff_is_where_the_method_says(integrator, limit):
    """v̇ = −c w v: beyond where a method's polynomial is one it grows, and is warned of; below it dies out, as it does by ros34pw2."""

    def damped(share, integrator=integrator):
        return engine.Simulator(slider(1.0, damping=share * limit / 0.1), 0.1, integrator, joint_dynamics="explicit", **AWAY)

    with pytest.warns(engine.SimulationWarning, match="too stiff for explicit steps"):
        beyond = damped(1.05)
    below, stiff = damped(0.95), damped(1.05, "ros34pw2")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", engine.SimulationWarning)              # of what runs away, and chatters
        left = [abs(simulator.run([0.0], [1.0], 10.0).v[-1, 0]) for simulator in (beyond, below, stiff)]
    assert left[0] > 1.0 > left[1] and left[2] < 1e-9


def test_how_agile_a_joint_counts_is_no_matter_of_the_order_of_others():
    """By how stiff a stop is for a step its impulse is damped: joints declared in another order, and beside another tree, move alike."""

    def rows(names):
        builder = engine.Builder("arms")
        builder.add_link("base")
        for k, name in ((k, name) for name in names for k in range(3)):
            builder.add_link(f"{name}{k}", inertia=inertia.from_mass(1.0, [0.1, 0.05, 0.0], np.diag([0.01, 0.02, 0.025])))
            above, axis = (f"{name}{k - 1}" if k else "base"), [[0, 1.0, 0.2], [0.3, 0, 1.0], [1.0, 1.0, 0]][k]
            builder.add_joint(f"j{name}{k}", "revolute", above, f"{name}{k}", se3.pose(np.eye(3), [0.3, 0.1, 0.0]), axis=axis,
                              limits=engine.Limits(lower=-3.0))  # fmt: skip
        return {row.joint: row.max_mobility for row in joint_coordinates(builder.model())}

    first = rows("abc")
    for other in (rows("cab"), rows("b")):
        assert max(abs(x / first[name] - 1.0) for name, x in other.items()) < 1e-12


def test_where_nothing_acts_not_a_bit_moves():
    model, laws, _, q, free = rubbing(0)
    ideal = [c._replace(damping=0.0, friction=0.0, low=-9.0, high=9.0, speed=99.0) for c in laws.coordinates]
    laws = JointLaws(ideal, 1e-5, laws.stiffness, 1.0)
    after = stepped(model, laws, 5e-3, free, q, free)
    np.testing.assert_array_equal(np.concatenate(after), np.concatenate([q, free]))
    arm = slider(limits=engine.Limits(-1.0, 1.0))
    free, held = (engine.Simulator(arm, joint_dynamics=mode).run([0.0], [0.3], 0.05) for mode in (None, "auto"))
    np.testing.assert_array_equal(free.q, held.q)
    assert np.abs(held("stops.force")).max() == 0.0 and ROUNDED > 0


@pytest.mark.filterwarnings("ignore:.*friction is -1:engine.RobotFileWarning")
@pytest.mark.parametrize("mode", ["auto", "implicit", "explicit"])
def test_negative_losses_are_refused(mode):
    model = engine.load_urdf(
        '<robot name="r"><link name="a"/><link name="b"><inertial><mass value="1"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="j" type="continuous">'
        '<parent link="a"/><child link="b"/><dynamics friction="-1"/></joint></robot>')  # fmt: skip
    with pytest.raises(engine.SimulationError, match=r"joint 'j': friction is -1\.0; expected zero or more, or joint_dynamics=None"):
        engine.Simulator(model, joint_dynamics=mode)


@pytest.mark.parametrize(("given", "text"), [("implcit", "is 'implcit' (did you mean 'implicit'?)"), (3, "joint_dynamics is 3")])
def test_what_is_no_mode_is_said(given, text):
    with pytest.raises(engine.SimulationError) as caught:
        engine.Simulator(slider(), joint_dynamics=given)
    assert text in str(caught.value)


def test_losses_are_stiff_where_any_posture_makes_them_so():
    """A wrist whose three axes meet: where two of them are in line, the damping of the first is a hundred times as stiff."""
    builder = engine.Builder("wrist")
    builder.add_link("base")
    for k, (parent, child, axis) in enumerate((("base", "a", [0, 0, 1]), ("a", "b", [0, 1, 0]), ("b", "c", [0, 0, 1]))):
        builder.add_link(child, inertia=inertia.box(1e-3 if k < 2 else 0.5, (0.02, 0.02, 0.02) if k < 2 else (0.05, 0.05, 0.3)))
        builder.add_joint(f"turn{k}", "revolute", parent, child, axis=axis, damping=1.0, limits=engine.Limits(-1.5, 1.5))
    model = builder.model()
    rows = {r.joint: r for r in joint_coordinates(model)}
    assert rows["turn0"].max_mobility > 20.0 * rows["turn1"].max_mobility
    q, v = np.array([[0.3, 0.02, -0.2], [0.5, 1.2, 0.5]]), np.array([[5.0, -3, -5], [1, 2, 3]])
    run = engine.Simulator(model, gravity=(0, 0, 0)).run(q, v, 2.0)
    K, U = run.energy()
    assert run.reason is None or not any(run.reason)
    assert ((K + U)[:, 1:].max(axis=1) < (K + U)[:, 0]).all()


def test_dry_friction_of_many_light_joints_is_found():
    """A hand of 10 N·m on links of 20 g, one beyond its stop: sixteen wells of 1e-5 rad/s, which friction comes to rest in."""
    b = engine.Builder("hand")
    b.add_link("palm", inertia=inertia.box(0.4, (0.1, 0.1, 0.02)))
    for f in range(4):
        for k in range(4):
            b.add_link(f"{f}{k}", inertia=inertia.recentered(inertia.box(0.02, (0.01, 0.01, 0.04)), [0.0, 0.0, 0.02]))
            b.add_joint(f"j{f}{k}", "revolute", f"{f}{k - 1}" if k else "palm", f"{f}{k}", axis=(1, 0, 0) if k else (0, 1, 0),
                        placement=se3.pose(np.eye(3), (0.0, 0.0, 0.04) if k else (0.03 * f, 0.0, 0.01)), damping=5.0, friction=10.0,
                        limits=engine.Limits(0.26 if (f, k) == (3, 0) else -0.5, 1.5))  # fmt: skip
    hand, rng = b.model(floating_base=True), np.random.default_rng(0)
    simulator = engine.Simulator(hand, dt=2e-3, gravity=(0, 0, 0))
    v = rng.uniform(-1.0, 1.0, (5, hand.nv))
    with pytest.warns(engine.SimulationWarning, match="its limits"):
        runs = simulator.run(np.tile(hand.neutral(), (5, 1)), v, 0.02)
    assert not (runs.failed if runs.failed is not None else np.zeros(5)).any()
    assert np.abs(runs.v[:, -1, 6:]).max() < 1e-6
    assert np.ptp(runs.momentum(), axis=1).max() < 1e-14


@pytest.mark.parametrize("n", [2, 3, 6])
def test_mobilities_of_a_robot_among_equal_ones_are_its_own(n):
    """To the bit, however many there are, also where their masses differ."""
    arms = {f"arm{k}": engine.load(engine.example("seven_joint_arm")) for k in range(n)}
    heavy = max(arms["arm0"].links, key=lambda x: x.mass)
    arms["arm1"] = arms["arm1"].with_parameters({f"mass.{heavy.name}": 2.0 * heavy.mass})
    own = [(c.mobility, c.max_mobility) for arm in arms.values() for c in joint_coordinates(arm)]
    assert [(c.mobility, c.max_mobility) for c in joint_coordinates(engine.combine(**arms))] == own
