"""Trees that nothing joins: each moves as it does alone, and of equal ones one step is compiled."""

import functools

import mujoco
import numpy as np
import pytest

import engine
from engine.model import equal_trees
from engine.simulation.independent_trees import Places
from engine.spatial import inertia

EPS = np.finfo(float).eps
STEPS = 40


@functools.cache
def box(mass=1.0, size=(0.1, 0.2, 0.3)):
    builder = engine.Builder("box")
    builder.add_link("box", inertia=inertia.box(mass, size))
    return builder.model(floating_base=True)


@functools.cache
def arm(friction=0.2, placement=0.0, damping=0.1):
    """Two joints that rub, damp and end."""
    builder, T = engine.Builder("arm"), np.eye(4)
    T[2, 3] = placement
    for name in ("base", "upper", "lower"):
        builder.add_link(name, inertia=inertia.recentered(inertia.box(1.0, (0.05, 0.05, 0.4)), np.array([0.0, 0.0, -0.2])))
    builder.add_joint("shoulder", "revolute", "base", "upper", axis=[0, 1, 0], placement=T, friction=friction, damping=damping)
    builder.add_joint("elbow", "revolute", "upper", "lower", axis=[0, 1, 0], limits=engine.Limits(-0.6, 0.5), friction=friction,
                      damping=damping)  # fmt: skip
    return builder.model()


#: boxes of several masses and shapes, arms of which one stands lower, and one of its own kind
ROBOTS = {"first": arm(friction=0.3), **{f"box{k}": box(1.0 + k, (0.1, 0.2 + 0.05 * k, 0.3)) for k in range(6)},
          **{f"arm{k}": arm(placement=-0.1 * (k == 3)) for k in range(5)}}  # fmt: skip


@functools.cache
def simulated():
    simulator = engine.Simulator(engine.combine(**ROBOTS))
    q, v = simulator.model.random(np.random.default_rng(0))
    return simulator, q, 2.0 * v, simulator.run(q, 2.0 * v, STEPS * simulator.dt)


def close(a, b, steps=STEPS):
    """Two orders of rounding, of so many steps of some ten operations each."""
    assert np.abs(a - b).max() <= 100 * steps * EPS * np.abs(b).max()


def test_kinds():
    kinds = equal_trees(simulated()[0].model)
    assert [kind.names for kind in kinds] == [("first",), tuple(f"box{k}" for k in range(6)), tuple(f"arm{k}" for k in range(5))]
    assert [[*kind.numbers] for kind in kinds] == [[], ["inertia.box0/box"], ["placement.arm0/shoulder"]]
    assert [kind.trees.names for kind in simulated()[0]._step.kinds] == [kind.names for kind in kinds]


def test_each_moves_as_it_does_alone():
    simulator, q, v, run = simulated()
    powers = {"friction.power": 0.0, "stops.power": 0.0, "drive.power": 0.0}
    for name, model in ROBOTS.items():
        part = simulator.model.tree(name)
        own = engine.Simulator(model).run(q[part.q], v[part.v], STEPS * simulator.dt)
        for a, b in ((run.q[:, part.q], own.q), (run.v[:, part.v], own.v), (run.vdot[:, part.v], own.vdot), (run.tau[:, part.v], own.tau)):
            close(a, b)
        for signal in powers:
            powers[signal] = powers[signal] + own.signals.get(signal, np.zeros(STEPS + 1))
    for signal, power in powers.items():
        assert np.abs(run.signals[signal] - power).max() <= 1e-9 * max(np.abs(power).max(), 1e-3)


def test_as_one_program():
    """The second route: something that may join them makes them one program."""
    simulator, q, v, run = simulated()
    whole = engine.Simulator(simulator.model, forces=[lambda t, q, v: 0.0 * v])
    assert simulator._step.kinds and not whole._step.kinds
    other = whole.run(q, v, STEPS * simulator.dt)
    for a, b in ((run.q, other.q), (run.v, other.v), (run.vdot, other.vdot)):
        close(a, b)
    assert {n: x.shape for n, x in run.signals.items()}.items() <= {n: x.shape for n, x in other.signals.items()}.items()


def test_nothing_outside_changes_their_momenta():
    model = engine.combine(**{name: robot for name, robot in ROBOTS.items() if robot.floats})
    simulator = engine.Simulator(model, gravity=(0, 0, 0), dt=0.01)
    q, v = model.random(np.random.default_rng(1))
    run = simulator.run(q, 3.0 * v, 1.0, record_every=100)
    for name in model.tree_names:
        part = model.tree(name)
        first, last = (engine.dynamics.momentum(part.model, run.q[k, part.q], run.v[k, part.v]) for k in (0, -1))
        close(last, first, 100)


def test_they_tumble_as_in_mujoco():
    rng = np.random.default_rng(2)
    boxes = [(m, rng.uniform(0.1, 0.3, 3)) for m in rng.uniform(0.5, 2.0, 5)]
    bodies = "".join(f"<body><freejoint/><geom type='box' mass='{m!r}' size='{x[0] / 2!r} {x[1] / 2!r} {x[2] / 2!r}'/></body>"
                     for m, x in ((float(m), [float(y) for y in x]) for m, x in boxes))  # fmt: skip
    peer = mujoco.MjModel.from_xml_string("<mujoco><option timestep='1e-3' integrator='RK4'><flag contact='disable'/></option>"
                                          f"<worldbody>{bodies}</worldbody></mujoco>")  # fmt: skip
    data = mujoco.MjData(peer)
    simulator = engine.Simulator(engine.combine(**{f"box{k}": box(m, tuple(size)) for k, (m, size) in enumerate(boxes)}))
    v = rng.standard_normal((5, 6))
    data.qvel[:] = np.concatenate([v[:, 3:], v[:, :3]], axis=1).ravel()
    for _ in range(200):
        mujoco.mj_step(peer, data)
    run = simulator.run(simulator.model.neutral(), v.ravel(), 0.2, record_every=200)
    place, turn = (run.q[-1].reshape(5, 7)[:, part] for part in (slice(4, 7), slice(0, 4)))
    theirs = data.qpos.reshape(5, 7)
    assert np.abs(place - theirs[:, :3]).max() < 1e-9
    assert np.abs(np.abs((turn * theirs[:, 3:]).sum(axis=1)) - 1.0).max() < 1e-9


def test_what_is_compiled_is_the_same_for_any_number():
    few, many = (engine.Simulator(engine.combine(**{f"box{k}": box() for k in range(n)})) for n in (5, 40))
    assert few._process.keys[0] == many._process.keys[0] and few._process.keys[-1:] == ["5"]


def test_rows_of_a_batch_and_what_is_recorded_are_the_same_bits(tmp_path):
    simulator, q, v, run = simulated()
    q, v = np.stack([q, simulator.model.neutral()]), np.stack([v, v[::-1]])
    batch = simulator.run(q, v, STEPS * simulator.dt)
    assert batch.q[0].tobytes() == run.q.tobytes() and batch.v[0].tobytes() == run.v.tobytes()
    simulator.run(q[0], v[0], 20 * simulator.dt, out=tmp_path / "run.h5")
    whole = engine.load_trajectory(simulator.resume(tmp_path / "run.h5", STEPS * simulator.dt))
    assert whole.q.tobytes() == run.q.tobytes() and whole.vdot.tobytes() == run.vdot.tobytes()
    state = simulator.step(simulator.start(q[0], v[0]), 7)
    assert state.q.tobytes() == run.q[7].tobytes() and state.vdot.tobytes() == run.vdot[7].tobytes()


def test_gravity_is_a_parameter():
    model = engine.combine(**{f"box{k}": box() for k in range(5)})
    simulator = engine.Simulator(model, parameters={"gravity": [0, 0, -9.81]})
    assert simulator._step.kinds
    runs = simulator.run(model.neutral(), np.zeros(30), 0.1, parameters={"gravity": [[0, 0, -1.62], [1.0, 0, 0]]})
    assert runs.q[:, -1].reshape(2, 5, 7)[0, :, 6] == pytest.approx([-0.5 * 1.62 * 0.01] * 5)
    assert runs.q[:, -1].reshape(2, 5, 7)[1, :, 4] == pytest.approx([0.5 * 0.01] * 5)


def test_who_fails_is_named():
    simulator, q, v, _ = simulated()
    wild = v.copy()
    wild[simulator.model.v_slice("box4/floating_base").start] = 1e200
    with pytest.raises(engine.SimulationError, match="joint 'box4/floating_base'"):
        simulator.run(q, wild, 0.01)


@pytest.mark.parametrize("joined", ["controller", "parameter", "event", "floats", "different", "stiff", "one is stiff"])
def test_what_joins_them_makes_them_one(joined):
    robots = {f"arm{k}": arm() for k in range(5)}
    options = {"controller": {"controller": lambda t, q, v: -v}, "event": {"events": [lambda t, q, v: q[0] - 9.0]},
               "parameter": {"parameters": {"mass.arm0/upper": 1.0}}, "floats": {"compiled": False}}.get(joined, {})  # fmt: skip
    if joined == "different":
        robots = {f"arm{k}": arm(friction=0.1 * k) for k in range(3)}
    if joined == "stiff":
        robots = {f"arm{k}": arm(damping=500.0) for k in range(5)}
    if joined == "one is stiff":
        light = engine.Model.with_parameters(arm(damping=2.0), {"mass.lower": 1e-3, "mass.upper": 1e-3})
        robots = {"heavy": arm(damping=2.0), **{f"arm{k}": arm(damping=2.0) for k in range(4)}, "light": light}
    assert not engine.Simulator(engine.combine(**robots), **options)._step.kinds


def test_a_joint_that_follows_one_of_another_tree_joins_them():
    builder = engine.Builder("hand")
    builder.add_link("palm")
    for k in range(6):
        builder.add_link(f"finger{k}", inertia=inertia.box(1.0, (0.1, 0.1, 0.1)))
        follows = engine.Mimic("joint0") if k else None
        builder.add_joint(f"joint{k}", "revolute", "palm", f"finger{k}", mimic=follows)
    assert not engine.Simulator(builder.model())._step.kinds


def test_places_side_by_side_and_apart():
    x = np.arange(24.0).reshape(2, 12)
    for part in (np.arange(6).reshape(3, 2), np.array([[0, 4], [1, 8], [2, 3]])):
        places, to = Places([part, np.array([[9], [11], [10]])]), np.zeros((2, 12))
        found = places.taken(x)
        assert found[1].tolist() == [[*x[1, a], x[1, b]] for a, b in zip(part, (9, 11, 10), strict=True)]
        places.put(to, found)
        assert (to[:, part.ravel()] == x[:, part.ravel()]).all() and np.count_nonzero(to) == 2 * 9 - (part[0, 0] == 0)
