"""What is compiled travels: models, robots, functions, simulators, trajectories are pickled and copied, used or not, to the same bits."""

import copy
import dataclasses
import functools
import multiprocessing
import pickle
import re
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

import engine
from engine import ops
from engine.compiler.gufunc import Gufunc
from engine.components.actuators import Motor, ReactionWheels
from engine.components.component import NotFinite
from engine.components.controllers import attitude_control, computed_torque, minimum_jerk, momentum_dumping, pd_gravity
from engine.components.forces import JointSpring
from engine.components.law import Law
from engine.integrate import Event
from engine.integrate.adaptive import SolutionError
from engine.io import RobotFileError
from engine.model import KINDS
from engine.rigid_body import Dynamics, LieState, RigidBodyState
from engine.simulation import SimulationError
from engine.spatial import manifold
from engine.spatial.rotations import ATTITUDES
from tests.trees import random_tree

RNG = np.random.default_rng(0)
TREE = random_tree(RNG, 4, floating_base=True, mimics=0.3)
ARM = random_tree(RNG, 3, ["revolute"])
Q, V = TREE.random(RNG)
ZERO_G = (0.0, 0.0, 0.0)


def damping(t, q, v):
    return -0.1 * v


def thrust(t, q, v, push):
    return {"l0": ops.array([0.0, 0.0, 0.0, push, 0.0, 0.0])}


def integral(t, q, v, state):
    return -state, q


def high(t, q, v):
    return q[0] - 10.0


def go_on(t, q, v):
    return None


class Body(engine.RigidBody):
    inertia, controls = np.diag([1.0, 2.0, 3.0]), 3

    def mass(self, x, u, t):
        return 2.0 + 0.1 * t

    def forces(self, x, u, t):
        return u


class Spinner(Dynamics):
    state, controls = LieState("mrp", 2), 3

    def dynamics(self, x, u, t):
        return np.concatenate([u, x[3:] * t])


def waves(x, y):
    return np.sin(x) * y + ops.exp(-(x @ x))


def bits(x):
    """All bits of nested results."""
    if isinstance(x, tuple):
        return [bits(y) for y in x]
    return np.asarray(x, dtype=float).tobytes()


def flown(simulator, duration=0.02):
    q, v = simulator.model.neutral(), np.linspace(0.1, 0.2, simulator.model.nv)
    motion = simulator.run(q, v, duration)
    batch = simulator.run(np.stack([q] * 3), v * [[1.0], [2.0], [3.0]], duration) if simulator.compiled else motion
    return motion.t, motion.q, motion.v, motion.tau, motion.vdot, *motion.signals.values(), batch.q


def floating_simulator(alone=False):
    wheels = ReactionWheels("l0", torque=2.0, momentum=50.0)
    return engine.Simulator(TREE, dt=1e-2, gravity=ZERO_G, integrator="lie_euler", actuators=[wheels], forces=[thrust],
                            controller=attitude_control(TREE, wheels), parameters={"push": 1.0, "mass.l0": 3.0},
                            events=[high, Event(high, 1, go_on if alone else "stop")])  # fmt: skip


def arm_simulator(**options):
    follow = computed_torque(ARM, minimum_jerk(ARM, np.zeros(3), np.full(3, 0.3), 1.0))
    motor = Motor("j2", effort=5.0, no_load_speed=9.0)
    spring = JointSpring("j1", 3.0)
    return engine.Simulator(ARM, dt=1e-2, integrator="lie_euler", controller=follow, actuators=[motor], forces=[spring], **options)


def functions_of_a_robot(robot):
    tau, F = np.ones(TREE.nv), np.full((len(TREE.links), 6), 0.1)
    rows = np.stack([Q, TREE.neutral()])
    return (robot.aba(Q, V, tau), robot.aba(Q, V, tau, wrenches=F), robot.rnea(Q, V, tau), robot.crba(rows), robot.jacobian(Q, "l3"),
            robot.generalized_jacobian(Q, "l2"), robot.energy(Q, V), robot.gravity)  # fmt: skip


#: name -> how to make one, and what it gives: the same before pickling, after, and of a copy
THINGS = {
    "model": (lambda: random_tree(np.random.default_rng(1), 9, floating_base=True),
              lambda m: (m.neutral(), *m.random(np.random.default_rng(0)), m.integrate(m.neutral(), np.ones(m.nv)), m.armature,
                         engine.compile(m).aba(m.neutral(), np.ones(m.nv), np.ones(m.nv)))),
    "model with rotors": (lambda: TREE.with_armature(np.arange(TREE.nv)), lambda m: (m.armature, engine.compile(m).crba(m.neutral()))),
    "robot": (lambda: engine.compile(TREE, gravity=(0.0, 1.0, -2.0)), functions_of_a_robot),
    "function of a robot": (lambda: engine.compile(TREE).aba, lambda f: (f(Q, V, V), f(Q, V, V, np.ones((len(TREE.links), 6))))),
    "gufunc": (lambda: engine.gufunc(waves, "(n),()->(n)", n=3), lambda f: (f(np.arange(3.0), 2.0), f(np.ones((9, 3)), np.arange(9.0)))),
    "lambda": (lambda: engine.gufunc(lambda x: x * ops.sqrt(x), "()->()"), lambda f: (f(2.0), f(np.arange(9.0)))),
    "jacobian": (lambda: engine.jacobian(waves, "(n),()->(n)", n=3), lambda f: f(np.arange(3.0), 2.0)),
    "derivative": (lambda: engine.jacobian(waves), lambda f: f(np.arange(3.0), 2.0)),
    "rigid body": (lambda: Body(attitude="mrp"), lambda b: (b.dynamics(b.neutral(), np.ones(3), 1.0), b.build_state(position=[1, 2, 3]))),
    "compiled body": (lambda: engine.compile(Body()), lambda c: (
        c.dynamics(c.state.neutral(), np.ones(3), 1.0), *c.discrete_error_jacobians(c.state.neutral(), np.ones(3), 0.0, 0.1, "lie_euler"),
        c.jacobians(c.state.neutral(), np.ones(3), 0.0), c.simulate(c.state.neutral(), 0.05, 0.01).x)),
    "compiled dynamics": (lambda: engine.compile(Spinner()), lambda c: (
        c.state_plus(c.state.neutral(), 0.1 * np.ones(5)), c.simulate(c.state.neutral(), 0.05, 0.01).x)),
    "simulator": (floating_simulator, flown),
    "simulator with a callback": (lambda: floating_simulator(alone=True), lambda s: s.run(Q, V, 0.02).q),
    "simulator of an arm": (arm_simulator, flown),
    "simulator on floats": (lambda: arm_simulator(compiled=False, joint_dynamics="explicit"), flown),
    "simulator with a law": (lambda: engine.Simulator(ARM, controller=Law(integral, state=np.zeros(3))), flown),
    "simulator with ticks": (lambda: engine.Simulator(ARM, controller=Law(pd_gravity(ARM, np.zeros(3), 1.0, 2.0), period=0.005)), flown),
    "trajectory": (lambda: floating_simulator().run(Q, V, 0.05), lambda t: (
        t.q, t.energy(), t.momentum(), t.at([0.025]).q, t.robot.crba(t.q), *t.signals.values(), t.stopped or 0.0)),
    "trajectory of a body": (lambda: engine.compile(Body()).simulate(Body().neutral(), 0.05, 0.01), lambda t: (
        t.x, t.u, t.q, t.vdot, t.momentum())),
    "trajectory of a system": (lambda: engine.compile(Spinner()).simulate(Spinner().neutral(), 0.05, 0.01), lambda t: (t.x, t.u)),
    "solution": (lambda: arm_simulator().solve(np.zeros(3), np.ones(3), 0.1), lambda s: (s.t, s.y, s(np.linspace(0.0, 0.1, 7)))),
    "solution of a body": (lambda: engine.compile(Body()).solve(Body().neutral(), 0.1), lambda s: (s.y, s(np.linspace(0.0, 0.1, 7)))),
    "state": (lambda: arm_simulator().step(arm_simulator().start(np.zeros(3), np.ones(3))), lambda s: (
        s.t, s.q, s.v, s.vdot, s.tau, s.origin.record, s.origin.parameters, s.origin.begun, s.origin.steps, arm_simulator().step(s, 3).q)),
    "state of a body": (lambda: RigidBodyState([1.0, 2, 3], [0.6, 0, 0.8, 0]), lambda s: s.vector),
    "layout": (lambda: LieState("mrp", 3, "quaternion"), lambda s: (s.neutral(), s.manifold.plus(s.neutral(), np.ones(9) * 0.1))),
    "attitude": (lambda: ATTITUDES["rodrigues"], lambda a: (a.neutral(), a.rate(np.ones(3), np.ones(3)))),
    "solved kinematics": (lambda: engine.inverse_kinematics(ARM, {"l3": np.array([0.1, 0.2, 0.3])}), lambda r: (
        r.q, r.residual)),
}  # fmt: skip


@pytest.mark.parametrize("name", THINGS)
def test_it_is_pickled_and_copied_used_or_not(name):
    make, use = THINGS[name]
    thing = make()
    fresh = pickle.dumps(thing)
    expected = bits(use(thing))
    assert bits(use(pickle.loads(fresh))) == expected
    again = thing
    for protocol in (2, pickle.HIGHEST_PROTOCOL):
        data = pickle.dumps(again, protocol)
        assert b"\x7fELF" not in data and b"__TEXT" not in data                # no machine code
        again = pickle.loads(data)
    assert type(again).__name__ == type(thing).__name__ and bits(use(again)) == expected
    for copied in (copy.copy(thing), copy.deepcopy({"a": [thing]})["a"][0]):
        assert bits(use(copied)) == expected
    assert bits(use(thing)) == expected


def use_by_name(name, thing):
    return bits(THINGS[name][1](thing))


def test_another_process_gets_the_same_bits():
    """One that is spawned, and knows nothing but what it is given."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        for name in ("robot", "lambda", "compiled dynamics", "simulator of an arm", "trajectory"):
            thing = THINGS[name][0]()
            expected = use_by_name(name, thing)
            assert pool.submit(use_by_name, name, thing).result() == expected, name
        moved = pool.submit(functools.partial(engine.compile(TREE).rnea, Q, V), V).result()
        assert bits(moved) == bits(engine.compile(TREE).rnea(Q, V, V))


def test_what_is_one_stays_one():
    model, robot, simulator = pickle.loads(pickle.dumps((TREE, engine.compile(TREE), floating_simulator())))
    assert robot.model is model and simulator.model is model and robot.aba.model is model
    for m in (manifold.ROTATION, manifold.MOTION, manifold.PLANE, *(k.manifold for k in KINDS.values() if k.manifold.attitude)):
        assert pickle.loads(pickle.dumps(m)) is m and copy.deepcopy(m) is m
    for a in ATTITUDES.values():
        assert pickle.loads(pickle.dumps(a.manifold)) is a.manifold
    mixed = pickle.loads(pickle.dumps(TREE.manifold))
    assert repr(mixed) == repr(TREE.manifold) and [f[0].name for f in mixed.factors] == [f[0].name for f in TREE.manifold.factors]


@pytest.mark.parametrize("again", [lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy])
def test_a_model_stays_frozen(again):
    m = again(TREE)
    arrays = [x for part in (m, *m.links, *m.joints, *m.bodies) for x in vars(part).values() if isinstance(x, np.ndarray)]
    arrays += [T for _, T in m.carrier]
    assert len(arrays) > 30 and not any(a.flags.writeable for a in arrays)
    with pytest.raises(Exception, match=r"[Ff]rozen"):
        m.graph.add_node("more")


def test_a_compiled_function_keeps_its_name_and_says_what_is_wrong():
    f = pickle.loads(pickle.dumps(engine.gufunc(waves, "(n),()->(n)", n=3)))
    assert isinstance(f, Gufunc) and f.__name__ == f.name == "waves" and f.arguments == ["x", "y"]
    aba = pickle.loads(pickle.dumps(engine.compile(TREE).aba))
    with pytest.raises(engine.StateError, match=re.escape(f"aba: v[1] (joint '{TREE.entries('v')[1]}') is nan")):
        aba(Q, np.where(np.arange(TREE.nv) == 1, np.nan, V), V)


LAMBDAS = {
    "the controller": lambda f: engine.Simulator(ARM, controller=f, compiled=False),
    "the force": lambda f: engine.Simulator(ARM, forces=[damping, f], compiled=False),
    "the event function": lambda f: engine.Simulator(ARM, events=[high, f], compiled=False),
    "the controller ": lambda f: engine.Simulator(ARM, controller=Law(f), compiled=False),
}


@pytest.mark.parametrize("what", LAMBDAS)
def test_a_function_that_no_module_has_is_named(what):
    def local(t, q, v):
        return v

    for f in (lambda t, q, v: v, local):
        simulator = LAMBDAS[what](f)
        place = f"{__file__}:{f.__code__.co_firstlineno}"
        text = f"{what.strip()} of a simulator of '{ARM.name}', {f.__name__} ({place}), cannot be pickled; expected a function"
        with pytest.raises(pickle.PicklingError, match=re.escape(text)):
            pickle.dumps({"a": simulator})
        assert copy.deepcopy(simulator) is simulator and copy.copy(simulator) is simulator
    with pytest.raises(pickle.PicklingError, match=r"the function of a jacobian, <lambda> \(.*\), cannot be pickled"):
        pickle.dumps(engine.jacobian(lambda x: x))


def test_what_pickles_code_may_have_any_function():
    """cloudpickle, by which joblib and Dask send functions, asks as pickle does, but takes lambdas."""
    simulator = LAMBDAS["the controller"](lambda t, q, v: -v)
    scope = {"__name__": "cloudpickle.cloudpickle"}
    exec("def dumps(x):\n    return x.__reduce_ex__(4)", scope)
    make, args = scope["dumps"](simulator)
    assert bits(flown(make(*args))) == bits(flown(simulator))


def test_made_functions_are_called_as_before():
    follow = computed_torque(ARM, minimum_jerk(ARM, np.zeros(3), np.ones(3), 1.0), bandwidth=3.0)
    again = pickle.loads(pickle.dumps(follow))
    q, v = np.full(3, 0.1), np.full(3, 0.2)
    assert bits(again(0.5, q, v, ZERO_G, ARM.armature)) == bits(follow(0.5, q, v, ZERO_G, ARM.armature))
    assert again.__name__ == "computed_torque"
    wheels = ReactionWheels("l0", torque=2.0, momentum=50.0)
    assert pickle.loads(pickle.dumps(attitude_control(TREE, wheels))).__name__ == "attitude_control"
    assert momentum_dumping.__name__ == "momentum_dumping" and "thrusters" in momentum_dumping.__doc__


@pytest.mark.parametrize("error", [
    SimulationError("it ended", 3), NotFinite("push", 0.5, wild=True), SolutionError("no step", None),
    RobotFileError("odd", "a.urdf", 3, "link"), engine.StateError("q is 3"), engine.TraceError("line 3"),
])  # fmt: skip
def test_errors_travel_with_what_they_hold(error):
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))


def test_an_error_of_a_run_brings_its_trajectory_along():
    def explode(simulator):
        with pytest.raises(SimulationError) as caught:
            simulator.run(np.zeros(3), np.full(3, 1e150), 1.0)
        return caught.value

    error = explode(engine.Simulator(ARM, dt=1e-2))
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) and bits(again.trajectory.q) == bits(error.trajectory.q)


def steered(gain=1.0, names=("go",), events=()):
    """A simulator that cannot be pickled: its functions are lambdas."""
    laws = Law(lambda t, q, v, state: (-gain * state, q), state=np.zeros(3))
    wheels = [Motor(ARM.joints[0].name, name=name) for name in names]
    return engine.Simulator(ARM, controller=laws, actuators=wheels, parameters={"mass.l1": 1.0}, events=events)


@pytest.mark.parametrize("batch", [(), (2, 2)])
def test_a_state_travels_without_its_simulator(batch):
    """It is numbers; another simulator of the same goes on from it to the bit, and one that is not the same says so."""
    first, second = steered(), steered()
    state = first.step(first.start(np.full((*batch, 3), 0.1), np.ones(3), {"mass.l1": 2.0}), 20)
    expected = first.step(state, 30)
    for other in (pickle.loads(pickle.dumps(state)), copy.deepcopy(state), copy.copy(state)):
        shown = [(x.q, x.vdot, x.tau, *x.signals.values()) for x in (other, state)]
        assert other.t == state.t and bits(shown[0]) == bits(shown[1])
        assert bits(second.step(other, 30).q) == bits(expected.q)
        moved = second.step(dataclasses.replace(other, v=2.0 * state.v), 30)
        assert bits(moved.q) == bits(first.step(dataclasses.replace(state, v=2.0 * state.v), 30).q)
    flat = pickle.loads(pickle.dumps(state))
    with pytest.raises(SimulationError, match=r"the state is of a simulator of '.*' with controller, mass.l1; expected one of '.*', as"):
        arm_simulator().step(flat)
    watched = steered(events=[high])
    assert bits(watched.step(flat, 30).q) == bits(expected.q)                 # its events begin with it
    assert bits(second.step(pickle.loads(pickle.dumps(watched.step(flat, 10))), 20).q) == bits(expected.q)
