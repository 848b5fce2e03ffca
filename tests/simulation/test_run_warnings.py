"""What is said of a run that went on: steps that are too long, stops that were passed, velocities of nothing, starts outside the limits."""

import re
import warnings

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import engine
from engine.components.forces import JointSpring, JointStops, PointForce
from engine.simulation import chatter, run_warnings
from engine.spatial import inertia
from tests.contact.scenes import UPRIGHT, ball, block
from tests.simulation.test_simulator import ASSET, pendulum
from tests.trees import random_tree

AWAY = {"gravity": (0.0, 0.0, 0.0)}
AT_REST = [1.0, 0, 0, 0, 0, 0, 0]


def brick() -> engine.Model:
    body = engine.Builder("brick")
    body.add_link("brick", inertia=inertia.box(1.0, [1.0, 2.0, 3.0]))
    return body.model(floating_base=True)


def pivot(lower: float = -1.0, upper: float = 1.0) -> engine.Model:
    arm = engine.Builder("arm")
    arm.add_link("base"), arm.add_link("rod", inertia=inertia.from_mass(1.0, [0.1, 0, 0], 0.01 * np.eye(3)))
    arm.add_joint("elbow", "revolute", "base", "rod", axis=[0, 1, 0], limits=engine.Limits(lower=lower, upper=upper))
    return arm.model()


# ---------------------------------------------------------------- the defect


@pytest.mark.parametrize("method", ["cg4", "rkmk4", "lie_euler"])
def test_the_defect_is_an_estimate_of_the_error(method):
    """Of a brick that tumbles, against DOP853: the error of the angular velocity, relative to it, is a few times the defect or less."""
    model, w0, order = brick(), np.array([3.0, 1.0, 0.2]), engine.integrate.METHODS[method].order
    I = model.bodies[0].inertia[:3, :3]
    exact = solve_ivp(lambda t, w: np.linalg.solve(I, np.cross(I @ w, w)), (0, 2.0), w0, rtol=1e-12, atol=1e-12).y[:, -1]
    found = []
    for dt in (0.02, 0.01):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", engine.SimulationWarning)
            trajectory = engine.Simulator(model, dt=dt, integrator=method, **AWAY).run(AT_REST, [*w0, 0, 0, 0], 2.0)
        assert np.all(np.diff(trajectory.defect) >= 0) and trajectory.defect[0] == 0
        error = np.linalg.norm(trajectory.v[-1, :3] - exact) / np.linalg.norm(exact)
        assert 0.02 * trajectory.defect[-1] < error < 5.0 * trajectory.defect[-1]
        found.append(trajectory.defect[-1])
    assert abs(np.log2(found[0] / found[1]) - order) < 0.4


@pytest.mark.parametrize(("w", "dt", "method"), [
    ((100.0, 20, 3), 0.1, "lie_euler"), ((100.0, 20, 3), 10.0, "cg4"), ((3.0, 1, 0.2), 0.01, "lie_euler"),
])  # fmt: skip
def test_steps_that_are_too_long_are_said_once(tmp_path, w, dt, method):
    simulator = engine.Simulator(brick(), dt=dt, integrator=method, **AWAY)
    with pytest.warns(engine.SimulationWarning, match=r"'brick': at t = .* errors of momentum add up to .* \(dt = .*, h\|ω\| = ") as caught:
        trajectory = simulator.run(AT_REST, [*w, 0, 0, 0], 1000 * dt)
    assert len(caught) == 1 and trajectory.warnings == (str(caught[0].message),) and trajectory.defect[-1] > 0.01
    P = trajectory.momentum()
    assert np.abs(P - P[0]).max() < 1e-10 * np.abs(P[0]).max()                  # and would tell nobody
    with pytest.warns(engine.SimulationWarning):
        path = simulator.run(AT_REST, [*w, 0, 0, 0], 1000 * dt, out=tmp_path / "run.h5")
    loaded = engine.load_trajectory(path)
    assert loaded.warnings == trajectory.warnings == engine.load_trajectory(loaded.save(tmp_path / "saved.h5")).warnings


def test_a_long_run_by_a_good_method_has_no_doubts(tmp_path):
    model = engine.load_urdf(ASSET, floating_base=True)
    q, v = model.neutral(), np.r_[0.02, -0.01, 0.03, 7000.0, 0, 0, 0.05 * np.ones(7)]
    simulator = engine.Simulator(model, dt=2e-3, **AWAY, joint_dynamics=False)
    trajectory = simulator.run(q, v, 20.0, record_every=100)
    assert trajectory.defect[-1] < 1e-7 and trajectory.warnings == ()
    path = simulator.run(q, v, 1.0, record_every=100, out=tmp_path / "run.h5")
    loaded = engine.load_trajectory(path)
    np.testing.assert_array_equal(loaded.defect, trajectory.defect[: len(loaded)])
    with pytest.raises(engine.StateError, match="this motion has no defect; expected that of a robot that floats"):
        _ = engine.Simulator(pendulum()).run([0.1], [0.0], 0.01).defect


def test_rest_and_free_fall_are_no_error():
    """Where all that turns is rounding, its relative error is nobody's."""
    rng = np.random.default_rng(3)
    model = random_tree(rng, 4, ("revolute", "spherical"), floating_base=True)
    q, _ = model.random(rng)
    for gravity in ((0, 0, 0), (0.3, -0.2, -9.81)):
        trajectory = engine.Simulator(model, dt=1e-3, gravity=gravity, joint_dynamics=False).run(q, np.zeros(model.nv), 1.0)
        assert trajectory.defect[-1] < 1e-6 and trajectory.warnings == ()


# ---------------------------------------------------------------- limits


@pytest.mark.parametrize(("q", "text"), [
    (90.0, r"'arm' starts outside its limits, joint 'elbow' at 90 with limits -1 … 1: stops push it back; expected radians"),
    (-1.2, r"'arm' starts outside its limits, joint 'elbow' at -1.2 with limits -1 … 1: stops push it back$"),
])  # fmt: skip
def test_a_start_outside_the_limits_is_said_at_once(q, text):
    for run in (lambda s: s.run([q], [0.0], 0.01), lambda s: s.start([q], [0.0]), lambda s: s.solve([q], [0.0], 0.01),
                lambda s: s.run([[0.0], [q]], [0.0], 0.01)):  # fmt: skip
        with pytest.warns(engine.SimulationWarning, match=text) as caught:
            run(engine.Simulator(pivot()))
        assert len(caught) == 1
    engine.Simulator(pivot(), joint_dynamics=False).run([q], [0.0], 0.01)       # no stops, nothing to say


def test_the_worst_record_is_told_whichever_block_it_is_in():
    model, still = pivot(), np.zeros((3, 1))
    noted = run_warnings.RunWarnings(model, True, 1e-3)
    for begin, angles in ((0.0, (1.0, 1.1, 1.3)), (3.0, (1.2, 1.5, 1.4)), (6.0, (1.0, 1.5, 1.0))):
        noted.add(begin + np.arange(3.0), {"q": np.array(angles)[:, None], "v": still, "vdot": still})
    (text,) = noted.texts
    assert text.startswith("'arm': at t = 4 s joint 'elbow' is 0.5 beyond its limits") and text.endswith("(6 records)")
    noted = run_warnings.RunWarnings(model, True, 1e-3)
    noted.add(np.arange(3.0), {"q": np.array([[1.0, 1.2, 1.0], [1.0, 1.1, 1.3]])[..., None], "v": np.zeros((2, 3, 1)),
                               "vdot": np.zeros((2, 3, 1))})  # fmt: skip
    assert "at t = 2 s in rollout [1] joint 'elbow' is 0.3 beyond" in noted.texts[0]


def test_a_stop_that_is_passed_is_said():
    simulator = engine.Simulator(pivot(), dt=1e-2, forces=[JointStops(time=0.2)], **AWAY)
    said = r"'arm': at t = .* s joint 'elbow' is \S+ beyond its limits; expected a smaller dt"
    with pytest.warns(engine.SimulationWarning, match=said) as caught:
        trajectory = simulator.run([0.9], [3.0], 1.0)
    assert len(caught) == 1 and trajectory.q.max() > 1.1
    assert engine.Simulator(pivot(), dt=1e-4, **AWAY).run([0.9], [3.0], 0.3, record_every=10).warnings == ()


def test_velocities_of_nothing_are_said(tmp_path):
    simulator = engine.Simulator(pivot(), dt=0.01, joint_dynamics=False, forces=[JointSpring("elbow", 1e4)])
    said = r"'arm': at t = .* joint 'elbow' moves at \S+ and accelerates at \S+ \(SI units\), which nothing does"
    with pytest.warns(engine.SimulationWarning, match=said):
        trajectory = simulator.run([0.1], [0.0], 0.1)
    assert np.abs(trajectory.v).max() > 1e10 and len(trajectory.warnings) == 1
    with pytest.warns(engine.SimulationWarning, match=said):
        simulator.run([0.1], [0.0], 0.1, out=tmp_path / "run.h5")
    with pytest.warns(engine.SimulationWarning, match=r"in rollout \[1\] joint 'elbow' moves"):
        simulator.run([[0.0], [0.1]], [0.0], 0.1)


@pytest.mark.filterwarnings("ignore:.*which nothing does")
@pytest.mark.parametrize("rows", [1, 2])
def test_a_run_that_runs_away_has_failed_before_its_numbers_overflow(rows):
    """By e^(100 t): 1e76 rad are reached after 1.8 s, and no number is infinite until 7 s."""
    simulator = engine.Simulator(pivot(-np.inf, np.inf), dt=1e-2, controller=lambda t, q, v: 1e4 * 0.02 * q, **AWAY)
    said = r"the velocity of joint 'elbow' is beyond 1e\+30 at t = 0\.\d+ s .*the motion diverges"
    if rows == 1:
        with pytest.raises(engine.SimulationError, match=said) as caught:
            simulator.run([0.1], [0.0], 1.8)
        assert caught.value.trajectory.failed and 1e25 < np.abs(caught.value.trajectory.v).max() < 1e30
    else:
        with pytest.warns(engine.SimulationWarning, match="1 of 2 rollouts") as noted:
            found = simulator.run([[0.0], [0.1]], [0.0], 1.8)
        assert found.failed.tolist() == [False, True] and re.search(said, found.reason[1]) and np.isnan(found.q[1, -1, 0]) and noted


# ---------------------------------------------------------------- steps too long for what acts


def test_a_joint_that_chatters_is_said():
    """Damping of 200 N·m·s on 0.01 kg·m² loses its velocity in 0.05 ms: steps of 1 ms throw it to and fro, as far as its motor can."""
    limits = engine.Limits(lower=-np.inf, upper=np.inf, effort=5.0)
    arm = engine.Builder("arm")
    arm.add_link("base"), arm.add_link("rod", inertia=inertia.from_mass(1.0, [0, 0, 0], 0.01 * np.eye(3)))
    arm.add_joint("elbow", "revolute", "base", "rod", axis=[0, 1, 0], limits=limits)

    def run(gain, dt, **law):
        simulator = engine.Simulator(arm.model(), dt=dt, controller=engine.Law(lambda t, q, v: -gain * v, **law or {"stiff": False}))
        return simulator.run([0.0], [0.2], 0.2)

    with pytest.warns(engine.SimulationWarning, match=r"joint 'elbow' moves at .* and accelerates by .* in a step, more .* it chatters"):
        found = run(200.0, 1e-3)
    with pytest.warns(engine.SimulationWarning, match="it chatters; .* a shorter period of <lambda>, which is held for 0.001 s, gentler"):
        run(200.0, 1e-3, period=1e-3)
    assert np.abs(found.v[-1]) > 0.1
    assert run(200.0, 2e-5).warnings == run(5.0, 1e-3).warnings == ()


# ---------------------------------------------------------------- what is right, and what is said of it


@pytest.mark.parametrize("linear", [0.0, 1.0, 7000.0])
def test_a_body_that_flies_while_it_spins_about_an_axis_is_exact_and_nothing_is_said(linear):
    """A third of a turn and more in a step: the frame turns by that, in which the velocity is stepped, but nothing depends on it."""
    run = engine.Simulator(brick(), dt=0.3, **AWAY).run(AT_REST, [0, 0, 3.0, linear, 0, linear], 30.0)
    assert run.warnings == () and run.defect[-1] < 1e-9
    world = [engine.spatial.quaternion.rotate(x[:4], v[3:]) for x, v in zip(run.q, run.v, strict=True)]
    assert np.abs(np.array(world) - [linear, 0, linear]).max() <= 1e-12 * linear


def test_a_body_that_tumbles_is_doubted_however_fast_it_flies():
    """By so much as its attitude is off, within an order of magnitude."""
    found = []
    for linear in (0.0, 3.0, 3000.0):
        with pytest.warns(engine.SimulationWarning, match="errors of momentum"):
            found.append(engine.Simulator(brick(), dt=0.3, **AWAY).run(AT_REST, [3, 1, 0.2, linear, 0, 0], 30.0))
    exact = engine.Simulator(brick(), dt=0.01, **AWAY).run(AT_REST, [3, 1, 0.2, 0, 0, 0], 30.0, record_every=3000)
    error = np.linalg.norm(found[0].v[-1, :3] - exact.v[-1, :3]) / np.linalg.norm(exact.v[-1, :3])
    assert all(abs(run.defect[-1] / found[0].defect[-1] - 1.0) < 1e-9 and 0.1 * error < run.defect[-1] < 10 * error for run in found)


def test_without_a_momentum_to_keep_what_is_lost_of_it_is_said():
    """Of the same tumbling brick, in single runs, files and batches; not where steps are short, nor where something outside pushes it."""
    start, push = (AT_REST, [3, 1, 0.2, 5.0, 0, 0]), PointForce("brick", force=(0.1, 0, 0))

    def simulator(dt, gravity=(0.0, 0.0, 0.0), **options):
        return engine.Simulator(brick(), dt=dt, conserve_momentum=False, gravity=gravity, **options)

    said = r"'brick': at t = \S+ s( in rollout \[1\])? the momentum, which nothing outside changes, is \S+ of it off"
    with pytest.warns(engine.SimulationWarning, match=said):
        run = simulator(0.3).run(*start, 18.0)
    P = run.momentum()[:, 3:]
    assert np.linalg.norm(P[-1] - P[0]) > 0.01 * np.linalg.norm(P[0])
    with pytest.warns(engine.SimulationWarning, match=said):
        simulator(0.3).run(AT_REST, [[0, 0, 0, 1, 0, 0], start[1]], 18.0)
    with pytest.warns(engine.SimulationWarning, match=said):                    # by its angular momentum
        simulator(0.4, gravity=(0, 0, -9.81)).run(*start, 24.0)
    assert simulator(0.01).run(*start, 2.0).warnings == simulator(0.01, gravity=(0, 0, -9.81)).run(*start, 2.0).warnings == ()
    assert simulator(0.3, forces=[push]).run(*start, 18.0).warnings == ()


def test_how_fast_trees_turn_is_asked_where_steps_err_of_what_moved_fastest_until_then(monkeypatch):
    """It takes milliseconds of a large robot, in each block of records."""
    asked = []
    monkeypatch.setattr(run_warnings, "common_turn", lambda model, tree, q, v: asked.append(v[5]) or 0.0)
    seen = run_warnings.RunWarnings(brick(), False, 1e-3, stiff=(3, ((0,),)))

    def add(speeds, defect):
        v = np.array([5 * [0.0] + [speed] for speed in speeds])
        seen.add(np.arange(len(v)) * 1e-3, {"q": np.tile(AT_REST, (len(v), 1)), "v": v, "vdot": 0.0 * v, "defect": np.full(len(v), defect)})

    add([1.0, 4.0, 2.0], 1e-3), add([3.0, 1.0, 0.0], 1e-3)
    assert asked == []
    add([2.0, 1.0, 0.0], 0.5)
    assert asked == [4.0]


# ---------------------------------------------------------------- what may pass through


def boxes(gap, relative, dt=0.01, **options):
    """Two boxes of 1 m beside each other in orbit."""
    model = engine.combine(**{name: block((1.0, 1.0, 1.0), 100.0, name) for name in "ab"})
    q = [*UPRIGHT, 7e6, 0, 0, *engine.spatial.quaternion.exp([0, 0, 0.5 * np.pi]), 7e6 + 1.0 + gap, 0, 0]
    v = [0, 0, 0, 0, 7500.0, 0, 0, 0, 0, 7500.0 - relative, 0, 0]
    return engine.Simulator(model, dt=dt, gravity=(0, 0, 0), **options), q, v


def test_boxes_side_by_side_in_orbit_pass_through_nothing():
    simulator, q, v = boxes(0.5, 0.0, contacts=engine.Contacts())
    assert simulator.run(q, v, 0.1).warnings == ()
    with pytest.warns(engine.SimulationWarning, match=r"joint 'b/floating_base' goes 2 m in a step, relative to joint 'a/floating_base'"):
        simulator.run(q, np.array(v) - 200.0 * np.eye(12)[10], 0.1)
    q[11] += 500.0                                                              # far from each other it does not matter
    assert simulator.run(q, np.array(v) - 200.0 * np.eye(12)[10], 0.1).warnings == ()


def test_a_body_that_goes_too_far_in_a_step_for_an_ideal_impact_is_said():
    model = engine.combine(**{name: ball(0.1, 1.0, name) for name in "ab"})
    simulator = engine.Simulator(model, dt=0.01, gravity=(0, 0, 0), events=[engine.impact(model, engine.Contacts(), 1.0)])
    with pytest.warns(engine.SimulationWarning, match=r"goes 0.5 m in a step, relative to joint .* and may pass through"):
        simulator.run([*UPRIGHT, -1.0, 0, 0, *UPRIGHT, 0, 0, 0], [0, 0, 0, 50.0, 0, 0, *np.zeros(6)], 0.1)


def test_steps_that_choose_their_size_look_at_what_is_relative_too():
    simulator, q, v = boxes(0.5, 0.0, contacts=engine.Contacts())
    laws = simulator.plant.contacts
    assert not laws.passing(np.array(q), np.array(v), 1.0) and laws.passing(np.array(q), np.array(v) - 3.0 * np.eye(12)[10], 1.0)


WHEEL = """<robot name="a"><link name="b"/><link name="c"><inertial><mass value="2"/>
<inertia ixx=".01" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="j" type="continuous"><parent link="b"/>
<child link="c"/><limit effort="100" velocity="2"/></joint></robot>"""


@pytest.mark.parametrize(("drive", "over"), [(20.0, True), (0.1, False)])
def test_a_speed_limit_that_yields_is_told(drive, over):
    """A brake lets a joint beyond its limit by τ·5 ms/I: 10 rad/s of 0.01 kg·m² under 20 N·m, 0.05 under 0.1."""
    made = engine.Simulator(engine.load(WHEEL), gravity=(0, 0, 0), joint_dynamics="implicit", controller=lambda t, q, v: np.array([drive]))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        run = made.run([0], [0], 2.0 if over else 3.0)
    assert run.v[-1] == pytest.approx(2.0 + drive * 0.005 / 0.01, rel=1e-3)
    said = [str(w.message) for w in told]
    assert ["joint 'j' moves at 12, beyond its limit of 2, which is held by a brake" in x for x in said] == [True] * over


@pytest.mark.parametrize(("told", "jumps"), [(lambda t: np.where(t > 0.05, 0.5, 0.0), True), (lambda t: 0.5 * np.tanh(t / 0.02), False)])
def test_a_motion_told_that_jumps_is_told(told, jumps):
    rail = engine.Builder("m")
    rail.add_link("base"), rail.add_link("s", inertia=engine.spatial.inertia.sphere(2.0, 0.1))
    rail.add_joint("x", "prismatic", "base", "s")
    made = engine.Simulator(rail.model(), constraints=[engine.Prescribed("x", told)])
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        made.run([0.0], [0.0], 0.2)
    assert ["constraints are open by 0.5 m or rad" in str(w.message) for w in found] == [True] * jumps


def test_one_noise_of_all_rollouts_is_told():
    rail = engine.Builder("m")
    rail.add_link("base"), rail.add_link("s", inertia=engine.spatial.inertia.sphere(2.0, 0.1))
    rail.add_joint("x", "prismatic", "base", "s")
    made = engine.Simulator(rail.model(), gravity=(0, 0, 0), controller=engine.Law(lambda t, q, v, noise: noise(1), period=0.001))
    with pytest.warns(engine.SimulationWarning, match=r"all 3 rollouts have the same noise, of 'controller'.*np.arange\(3\)"):
        same = made.run(np.zeros((3, 1)), [0.0], 0.02)
    assert np.ptp(same.q, axis=0).max() == 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made.run([0.0], [0.0], 0.02)
        made.run(np.zeros((3, 1)), [0.0], 0.02, parameters={"noise.run": 0})
        own = made.run(np.zeros((3, 1)), [0.0], 0.02, parameters={"noise.run": np.arange(3)})
    assert np.ptp(own.q[:, -1]) > 0.0


# ---------------------------------------------------------------- blows


@pytest.mark.parametrize(("dissipation", "dt", "height", "every", "said"), [
    (0.0, 1e-3, 0.3, 1, True), (0.0, 1e-3, 0.3, 5, True), (0.0, 5e-5, 0.3, 1, False), (0.1, 1e-3, 0.3, 1, False),
    (0.0, 1e-3, 0.0, 1, False),
], ids=["unresolved", "seldom recorded", "resolved", "loses by itself", "at rest"])  # fmt: skip
def test_an_elastic_blow_that_steps_do_not_resolve_is_said(dissipation, dt, height, every, said):
    """A ball of 0.05 kg on springs of 1e5 N/m: a blow lasts 2.2 ms, after which it comes up as high as it fell from."""
    surface = engine.ContactMaterial(stiffness=2e5, dissipation=dissipation, friction=0.0)
    sim = engine.Simulator(ball(0.05, 0.05), dt=dt, contacts=engine.Contacts(engine.HalfSpace(material=surface), material=surface))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run = sim.run([*UPRIGHT, 0.0, 0.0, 0.05 + height], np.zeros(6), 0.6, record_every=every)
    found = [str(w.message) for w in caught if issubclass(w.category, engine.SimulationWarning)]
    assert any(re.search(r"meet at [12]\.\d+ m/s in a blow of about 0.0025 s, 2.5 steps", text) for text in found) == said, found
    again = run.q[len(run.t) // 2 :, 6].max() - 0.05
    assert height == 0.0 or (again < 0.7 * height) == (said or dissipation > 0.0)


def test_joints_that_are_looked_at_for_chatter_are_all_that_may():
    """Against the same of all joints: those that turn about are found, and by the same speeds."""
    rng, model = np.random.default_rng(0), engine.load(ASSET, floating_base=True)
    v, vdot = rng.standard_normal((2, 2, 40, model.nv)) * 10.0 ** rng.uniform(-4.0, 1.0, model.nv)
    dt, vdot = 0.5, vdot * 10.0 ** rng.uniform(-3.0, 1.0, model.nv)
    around = chatter.neighbourly(v)
    turning = (dt * np.abs(vdot) > around) & (around > chatter.SLOW)
    turning[..., :6] &= dt * np.linalg.norm(v[..., :3], axis=-1, keepdims=True) < chatter.SPUN
    turning &= turning.mean(axis=-2, keepdims=True) > chatter.SHARE
    joints, found, speeds = chatter.chattering_joints(model, dt, v, vdot)
    assert 0 < len(joints) < model.nv and turning.any() and not np.delete(turning, joints, axis=-1).any()
    assert (found == turning[..., joints]).all() and (speeds == np.where(turning, around, 0.0)[..., joints]).all()
    assert not len(chatter.chattering_joints(model, dt, v[:, : chatter.FEW - 1], vdot[:, : chatter.FEW - 1])[0])
