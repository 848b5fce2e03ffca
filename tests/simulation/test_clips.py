"""Laws that clip their own force, on light links: their clips are met within a step, as a motor's effort limit is."""


import mujoco
import numpy as np
import pytest

import engine
from engine.compiler.graph.interpreter import interpret
from engine.compiler.transforms.trace import trace
from engine.components.actuators import Motor
from engine.components.clips import clips_of
from engine.simulation.halving import FINE
from engine.simulation.plant import Plant
from engine.spatial import inertia, se3

MASS, LENGTH, EFFORT = 0.06, 0.1, 1.0                                          # kg, m, N·m
KP, KD, GOAL = 50.0, 2.0, 0.8                                                  # 4e4/s of two light links
INERTIA = MASS * LENGTH**2 / 12.0


def finger(n, effort=0.0, floats=False):
    """Rods of 60 g one after another, about parallel axes."""
    arm = engine.Builder("finger")
    arm.add_link("base", inertia=inertia.sphere(1.0, 0.1))
    for k, parent in enumerate(["base", "a"][:n]):
        arm.add_link("ab"[k], inertia=inertia.from_mass(MASS, [0, 0, 0.5 * LENGTH], np.diag([INERTIA, INERTIA, INERTIA])))
        arm.add_joint(f"j{k}", "revolute", parent, "ab"[k], axis=[0, 1, 0], placement=se3.pose(np.eye(3), [0, 0, k * LENGTH]),
                      limits=engine.Limits(effort=effort))  # fmt: skip
    return arm.model(floating_base=floats)


def wanted(t, q, v):
    return KP * (GOAL - q) - KD * v


def clipped(t, q, v):
    return np.clip(wanted(t, q, v), -EFFORT, EFFORT)


def jumping(t, q, v):
    """Its goal jumps within a step."""
    return np.clip(KP * (np.where(t > 0.0163, 0.1, GOAL) - q) - KD * v, -EFFORT, EFFORT)


def simulator(n=2, controller=clipped, dt=1e-3, model=None, **options):
    return engine.Simulator(finger(n) if model is None else model, dt=dt, controller=controller, gravity=(0, 0, 0), **options)


def run(n=2, controller=clipped, dt=1e-3, duration=0.06, every=1, **options):
    model = options.get("model") or finger(n)
    return simulator(n, controller, dt, **options).run(model.neutral(), np.zeros(model.nv), duration, record_every=every)


def truth(n=2, controller=clipped, dt=1e-3, duration=0.06, pieces=64, **options):
    """By explicit steps that resolve it."""
    return run(n, controller, dt / pieces, duration, pieces, integrator="rkmk4", joint_dynamics="explicit", **options)


def motors(n, **options):
    """The second route: the same gains, and motors with the same limit."""
    limited = [Motor(f"j{k}", effort=EFFORT, name=f"m{k}") for k in range(n)]
    return {"controller": lambda t, q, v: {m.name: wanted(t, q, v)[k] for k, m in enumerate(limited)}, "actuators": limited, **options}


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("dt", [1e-3, 2e-3])
def test_a_clip_is_met_within_a_step(n, dt):
    """To the estimated error of a part of a step, as links come to their limits and leave them once or twice; and a motor's to the bit."""
    exact = truth(n, dt=dt)
    for model in (None, finger(n, EFFORT)):                                    # within the joints' own limits, too
        found = run(n, dt=dt, model=model)
        assert np.abs(found.q - exact.q).max() < 4 * FINE[0]
        assert np.abs(found.tau).max() <= EFFORT
        assert found.warnings == ()
    np.testing.assert_array_equal(run(n, dt=dt).q, run(n, dt=dt, **motors(n)).q)


def bias(t, q, v):
    return 0.05 * np.sin(q) + clipped(t, q, v)


def one_sided(t, q, v):
    return np.minimum(wanted(t, q, v), EFFORT)


def wall(t, q, v):
    """What pushes, and a dead band up to a damped wall: stiff at the ends of its clip alone."""
    x = q + 0.02 * v
    return 0.05 + 200.0 * (np.minimum(x, 0.1) - x)


@pytest.mark.parametrize("law", [bias, one_sided, wall, jumping])
def test_clips_in_sums_and_of_one_side_and_goals_that_jump(law):
    """A jump within a step counts as its length of time."""
    exact, simulated = truth(controller=law), simulator(controller=law)
    found = run(controller=law)
    assert simulated.method.name == "ros34pw2" and simulated.plant.bounds.n == 2
    way = 1e-3 * np.abs(exact.v).max() if law is jumping else 0.0
    assert np.abs(found.q - exact.q).max() < 1e-6 * np.abs(exact.vdot).max() + way
    assert found.warnings == ()


def test_two_links_that_swing_from_limit_to_limit():
    """At 180 rad/s, a sixth of a radian in a step, and 31 rad to and fro: to 1 % of that."""

    def law(t, q, v):
        return np.clip(5000.0 * (1.5 + 0.3 * np.sin(5.0 * t) - q) - 2.0 * v, -EFFORT, EFFORT)

    exact, found = truth(controller=law, duration=0.5), run(controller=law, duration=0.5)
    assert np.abs(exact.v).max() > 150.0 and np.abs(found.q - exact.q).max() < 0.01 * np.abs(np.diff(exact.q, axis=0)).sum(axis=0).max()


def test_a_goal_that_jumps_throws_nothing():
    """Of a joint that follows beside one at its limit: of the 3500 N·m that it asks for on the way nothing is to be left. Its gains ask for
    17.5 rad/s."""

    def law(t, q, v):
        return np.clip(100.0 * (KP * (np.where(t > 0.2503, 0.1, GOAL) - q) - KD * v), -EFFORT, EFFORT)

    found = simulator(controller=law, dt=2e-3).run([GOAL, GOAL], [0.0, 0.0], 0.3)
    assert np.abs(found.v).max() < 1.5 * KP / KD * (GOAL - 0.1)


def test_only_what_is_clipped_is_limited():
    """A spring beside it, on the same joints, is not."""

    def spring(t, q, v):
        return -3.0 * (q - 0.2)

    exact = truth(controller=clipped, forces=[spring])
    found, other = run(forces=[spring]), run(**motors(2, forces=[spring]))
    assert np.abs(found.q - exact.q).max() < 1e-6 * np.abs(exact.vdot).max()
    np.testing.assert_array_equal(found.q, other.q)


def test_a_command_that_is_clipped():
    """By a force of its own, or on its way to a motor without a limit."""
    free = [Motor(f"j{k}", name=f"m{k}") for k in range(2)]
    commanded = run(controller=lambda t, q, v: {m.name: clipped(t, q, v)[k] for k, m in enumerate(free)}, actuators=free)
    np.testing.assert_array_equal(commanded.q, run().q)
    np.testing.assert_array_equal(run(controller=None, forces=[clipped]).q, run().q)


def test_as_mujoco_has_it():
    """A position actuator with a range of force, at steps of 10 µs by its implicit method, of order one: 0.1 mrad at 20 rad/s."""
    rod = f'<inertial mass="{MASS}" pos="0 0 {0.5 * LENGTH}" diaginertia="{INERTIA} {INERTIA} {INERTIA}"/>'
    servo = f'kp="{KP}" kv="{KD}" forcerange="{-EFFORT} {EFFORT}"'
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option gravity="0 0 0" timestep="1e-5" integrator="implicitfast"/><worldbody><body><joint name="j0" axis="0 1 0"/>{rod}'
        f'<body pos="0 0 {LENGTH}"><joint name="j1" axis="0 1 0"/>{rod}</body></body></worldbody><actuator>'
        f'<position joint="j0" {servo}/><position joint="j1" {servo}/></actuator></mujoco>')  # fmt: skip
    data = mujoco.MjData(model)
    data.ctrl[:] = GOAL
    mujoco.mj_step(model, data, 4000)
    found = run(duration=0.04)
    np.testing.assert_allclose(found.q[-1], data.qpos, rtol=0, atol=1e-6 * np.abs(found.vdot).max() + 1e-5 * np.abs(found.v).max())


def test_the_momentum_of_what_floats_is_kept():
    def law(t, q, v):
        return np.concatenate([np.zeros(6), clipped(t, q[7:], v[6:])])

    found = run(controller=law, model=finger(2, floats=True))
    assert found.v[:, 6:].max() > 1.0
    np.testing.assert_allclose(found.momentum(), 0.0, atol=64 * np.finfo(float).eps * MASS * np.abs(found.v).max())


def test_what_stops_what_floats_changes_its_momentum_as_much():
    """A brake of 1 N·m and 1 N, which asks for 50 of them in its last step, and one of a joint; to a tenth of a step's impulse."""
    gains = np.array([100.0 * KD] * 6 + [KD])
    brake = engine.Law(lambda t, q, v: -np.clip(gains * v, -EFFORT, EFFORT), stiff=True)
    model = finger(1, floats=True)
    start = model.neutral(), np.array([0.0, 5.0, 0.0, 0.03, 0.0, 0.0, 0.0])
    found = simulator(controller=brake, model=model).run(*start, 0.04)
    exact = simulator(controller=brake, model=model, dt=1e-3 / 64, integrator="rkmk4",
                      joint_dynamics="explicit").run(*start, 0.04, record_every=64)  # fmt: skip
    assert np.abs(model.difference(found.q, exact.q)).max() < 1e-6 * np.abs(exact.vdot).max()
    assert np.abs(found.momentum() - exact.momentum()).max() < 0.1 * 1e-3 * EFFORT


def test_machine_code_and_the_interpreter_and_floats():
    """Slopes on floats are differences, good to 1e-10 of 4000 N·m, of D = 200 N·m·s/rad a 2e-9 of what moves at 20 rad/s in 10 ms."""
    compiled = run(duration=0.01)
    np.testing.assert_allclose(run(duration=0.01, compiled=False).q, compiled.q, rtol=0, atol=2e-9 * 0.2)
    made = simulator()
    x = np.concatenate([compiled.q[1], compiled.v[1]])
    step = interpret(made._step.programs["step"], 0.0, 1.0, 1e-3, np.zeros(0), x)
    np.testing.assert_allclose(step[:2], compiled.q[2], rtol=1e-13)


def test_a_limit_that_is_a_parameter_and_a_batch():
    def law(t, q, v, limit):
        return np.clip(wanted(t, q, v), -limit, limit)

    made, limits = simulator(controller=law, parameters={"limit": EFFORT}), np.array([0.3, EFFORT])
    whole = made.run(np.zeros((2, 2)), np.zeros((2, 2)), 0.03, parameters={"limit": limits})
    for k, limit in enumerate(limits):
        alone = made.run(np.zeros(2), np.zeros(2), 0.03, parameters={"limit": limit})
        np.testing.assert_array_equal(alone.q, whole.q[k])
        assert np.abs(alone.tau).max() == limit
    np.testing.assert_array_equal(whole.q[1], run(duration=0.03).q)


def gentle(t, q, v):
    return np.clip(0.01 * (0.5 - q) - 1e-4 * v, -0.01, 0.01)


@pytest.mark.parametrize("options", [{"controller": gentle}, {"controller": engine.Law(clipped, period=2e-3)},
                                     {"controller": engine.Law(clipped, stiff=False)},
                                     {"controller": engine.Law(lambda t, q, v, memory: (clipped(t, q, v), memory), memory=[0.0])},
                                     {"controller": clipped, "joint_dynamics": "explicit"}])  # fmt: skip
def test_where_nothing_is_implicit_not_a_bit_changes(options, monkeypatch):
    as_it_is = simulator(**options)
    monkeypatch.setattr(Plant, "unclip", lambda plant: None)
    assert as_it_is.method.name == "cg4"
    assert simulator(**options)._process.keys == as_it_is._process.keys


SATURATIONS = {"where": lambda u: np.where(u > EFFORT, EFFORT, np.where(u < -EFFORT, -EFFORT, u)),
               "mask": lambda u: u * (abs(u) <= EFFORT) + EFFORT * np.sign(u) * (abs(u) > EFFORT),
               "tanh": lambda u: EFFORT * np.tanh(u / EFFORT),
               "ratio": lambda u: u / np.maximum(1.0, abs(u) / EFFORT)}  # fmt: skip


@pytest.mark.parametrize("dt", [1e-3, 4e-3])
@pytest.mark.parametrize("name", SATURATIONS)
def test_what_saturates_otherwise_is_met_within_a_step(name, dt):
    """A flight goes in halves, down to where what is left of a bend is of no account: the same as a clip's, or as steps that choose their
    own size."""
    def law(t, q, v):
        return SATURATIONS[name](100.0 * wanted(t, q, v))

    found = run(2, law, duration=0.2, dt=dt)
    if name == "tanh":
        exact = simulator(2, law).solve(np.zeros(2), np.zeros(2), 0.2, tolerance=1e-9)(found.t)[0]
    else:
        exact = run(2, lambda t, q, v: np.clip(100.0 * wanted(t, q, v), -EFFORT, EFFORT), duration=0.2, dt=dt).q
    assert np.abs(found.q - exact).max() < 10 * FINE[0]
    assert found.warnings == ()


def test_a_clip_within_other_arithmetic_is_met_within_a_step():
    def law(t, q, v):
        return np.cos(0.3 * q) * np.clip(100.0 * wanted(t, q, v), -EFFORT, EFFORT)

    found, solver = run(2, law, duration=0.2, dt=2e-3), simulator(2, law)
    assert np.abs(found.q - solver.solve(np.zeros(2), np.zeros(2), 0.2, tolerance=1e-9)(found.t)[0]).max() < 10 * FINE[0]
    assert found.warnings == ()


FORMS = [lambda q, p: np.clip(3.0 * q, -p, p), lambda q, p: np.minimum(np.maximum(q, -p), 2.0), lambda q, p: np.minimum(q, p),
         lambda q, p: np.maximum(np.minimum(q, 1.0), -p), lambda q, p: -2.0 * np.clip(q, -p, 1.0), lambda q, p: p * np.maximum(q, 0.0),
         lambda q, p: np.clip(np.clip(q, -1.0, 3.0), -2.0, p), lambda q, p: np.sin(q) + np.clip(q, -p, p),
         lambda q, p: 5.0 * (np.clip(q, -p, p) - q), lambda q, p: 1.0 - np.clip(q, -1.0, 1.0) / p]  # fmt: skip
OTHERS = [lambda q, p: q * np.clip(q, -1.0, 1.0), lambda q, p: np.sin(np.clip(q, -1.0, 1.0)), lambda q, p: np.minimum(q, 3.0 * q),
          lambda q, p: np.clip(p, -1.0, 1.0) + q, lambda q, p: np.clip(q, -1.0, 1.0) + np.maximum(q, 0.0), lambda q, p: q]  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_a_clip_is_found_in_what_it_is_written_as(form):
    """Where its ends change places, too. To the rounding of a product and a sum."""

    def split(q, p):
        force = form(q, p)
        return force, *clips_of(q.g, [q])[force.i]

    program = trace(split, [(), ()])
    for q, p in np.array(np.meshgrid([-4.0, -0.7, 0.0, 0.3, 2.5], [0.5, 1.5, -0.7])).reshape(2, -1).T:
        force, x, low, top = (float(y) for y in interpret(program, q, p))
        assert min(max(x, low), top) == pytest.approx(force, rel=1e-15, abs=1e-15)


@pytest.mark.parametrize("form", OTHERS)
def test_what_is_no_clip_of_what_moves(form):
    def none(q, p):
        force = form(q, p)
        assert force.i not in clips_of(q.g, [q])
        return force

    trace(none, [(), ()])


def test_many_limits_in_one_step_are_all_met():
    """Seven joints' PD, clipped beyond the joints' own efforts: dozens of limits in a step: none takes the parts of a later one."""
    arm = engine.load(engine.example("seven_joint_arm"))
    most, target = np.array([b.joint.limits.effort for b in arm.bodies]), 0.3 * (-1.0) ** np.arange(1, arm.nv + 1)
    law = lambda t, q, v: np.clip(5000.0 * (target - q) - 200.0 * v, -1.5 * most, 1.5 * most)
    fine, long = (engine.Simulator(arm, dt=dt, controller=law).run(arm.neutral(), np.zeros(arm.nv), 0.04) for dt in (1e-4, 1e-2))
    assert np.abs(long.q - fine.q[::100]).max() < 4e-3
