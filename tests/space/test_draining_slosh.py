"""A liquid that swings and drains: totals, momentum with what has left, Tsiolkovsky, the frequency of what is left, and an empty tank."""

import numpy as np
import pytest

import engine
from engine import gufunc
from engine.space import SimulationError, SloshingTank, Tank, Thrusters, add_slosh, slosh_of
from engine.spatial import inertia
from tests.numeric import derivative

KINDS = [("pendulum", "sphere"), ("spring", "cylinder")]


def filled(shape, fuel=60.0):
    return Tank("base", 100.0, fuel, shape=shape, radius=None if shape == "sphere" else 0.4, placement=(0.0, 0.1, 0.8))


def stage(kind, shape, dt=0.05, fuel=60.0, thrust=60.0, nozzle=(0.05, 0.0, -1.0), way=(0.0, 0.02, 1.0), isp=20.0, damping=0.0, **more):
    """A stage that burns all the time; thrust along z by default with an arm."""
    builder = engine.Builder("stage")
    builder.add_link("base", inertia=inertia.from_mass(500.0, np.array([0.1, 0.0, 0.2]), np.diag([200.0, 220.0, 150.0])))
    slosh = add_slosh(builder, filled(shape, fuel), kind, damping, 0.1)
    jet = Thrusters("base", [nozzle], [way], most=thrust, tank=slosh.tank, isp=isp)
    model = builder.model(floating_base=True)
    control = lambda t, q, v: {"thrusters": np.array([thrust])}
    return engine.Simulator(model, dt=dt, gravity=(0, 0, 0), actuators=[jet, slosh.tank], forces=slosh.springs, controller=control, **more)


def begun(simulator, swing=(0.05, -0.02)):
    q, v = simulator.model.neutral(), np.zeros(simulator.model.nv)
    v[:3], v[6:] = [0.02, -0.03, 0.05], swing
    return q, v


@pytest.mark.filterwarnings("ignore:.*off (its tank's axis|the axis of its tank)")    # momentum is kept wherever the liquid is
@pytest.mark.parametrize(("kind", "shape"), KINDS)
def test_momentum_with_what_has_left_is_kept(kind, shape):
    """To the method's order, which is less where the sphere's table has its points; and the masses are dry mass and propellant."""
    found = []
    for dt in (0.1, 0.05):
        simulator = stage(kind, shape, dt)
        flight = simulator.run(*begun(simulator), 60.0, record_every=int(5 / dt))
        whole = flight.momentum() + flight("tank.momentum")
        found.append(np.abs(whole - whole[0]).max())
    assert found[1] < 1e-5
    assert found[1] < found[0] / 10.0
    mass = flight("inertia.base")[:, 5, 5] + flight("inertia.slosh of tank")[:, 5, 5]
    assert mass == pytest.approx(500.0 + flight("tank.fuel"), rel=1e-14)
    assert 40.0 < flight("tank.fuel")[-1] < 42.0
    left = slosh_of(filled(shape, flight("tank.fuel")[-1]))
    assert flight("inertia.slosh of tank")[-1, 5, 5] == pytest.approx(left.m1, rel=1e-9)
    assert flight.defect[-1] < 1e-8


def test_the_projection_goes_with_it():
    made = [stage("pendulum", "sphere", 0.025, conserve_momentum=c) for c in (True, False)]
    kept, free = (simulator.run(*begun(simulator), 20.0, record_every=800) for simulator in made)
    assert np.abs(kept.q[-1] - free.q[-1]).max() < 1e-6


@pytest.mark.parametrize(("kind", "shape"), KINDS)
def test_tsiolkovsky_to_the_last_drop(kind, shape):
    """Thrust through all centres, and nothing that swings: 1 + slosh's share is not what drains. An empty tank stays a robot that moves.
    To what flows inside: ṁ z of a level that falls by 0.3 m is 4e-5 m/s of the whole."""
    thrust, isp, seconds = 150.0, 220.0, 900.0
    flow = thrust / (isp * 9.80665)
    for fuel in (flow * seconds + 20.0, flow * (seconds - 100.0)):
        builder = engine.Builder("stage")
        builder.add_link("base", inertia=inertia.from_mass(500.0, np.zeros(3), np.diag([200.0, 220.0, 150.0])))
        tank = Tank("base", 100.0, fuel, shape=shape, radius=None if shape == "sphere" else 0.4)
        slosh = add_slosh(builder, tank, kind, 0.02, 0.1)
        jet = Thrusters("base", [[0, 0, -1.0]], [[0, 0, 1.0]], most=thrust, tank=slosh.tank, isp=isp)
        model = builder.model(floating_base=True)
        flight = engine.Simulator(model, dt=0.5, gravity=(0, 0, 0), actuators=[jet, slosh.tank], forces=slosh.springs,
                                  controller=lambda t, q, v: {"thrusters": np.array([thrust])}).run(
            model.neutral(), np.zeros(model.nv), seconds, record_every=600)  # fmt: skip
        left = max(fuel - flow * seconds, 0.0)
        assert flight("tank.fuel")[-1] == pytest.approx(left, abs=1e-6)
        assert flight.v[-1, 5] == pytest.approx(isp * 9.80665 * np.log((500.0 + fuel) / (500.0 + left)), rel=1e-6)
        assert np.isfinite(flight.q).all()


@pytest.mark.parametrize(("kind", "shape"), KINDS)
def test_what_is_left_swings_as_it_would_from_the_start(kind, shape):
    """A stage too heavy to swing along, which burns 60 kg down to 15, then is pushed on by 0.1 m/s²: ω = √(a/l) of 15 kg."""
    builder, dry = engine.Builder("stage"), 1e8
    builder.add_link("base", inertia=inertia.from_mass(dry, np.zeros(3), dry * np.eye(3)))
    slosh = add_slosh(builder, Tank("base", 100.0, 60.0, shape=shape, radius=None if shape == "sphere" else 0.4), kind, 0.0, 0.1)
    jet = Thrusters("base", [[0, 0, -1.0]], [[0, 0, 1.0]], most=45.0, tank=slosh.tank, isp=1.0 / 9.80665)
    model = builder.model(floating_base=True)
    push = lambda t, q, v: {"base": np.array([0, 0, 0, 0, 0, 0.1 * dry])}
    control = lambda t, q, v: {"thrusters": np.where(t < 1.0, 45.0, 0.0) * np.ones(1)}
    simulator = engine.Simulator(model, dt=0.01, gravity=(0, 0, 0), actuators=[jet, slosh.tank], forces=[push, *slosh.springs],
                                 controller=control)  # fmt: skip
    q = model.neutral()
    q[7:] = [1e-3, -5e-4]
    flight = simulator.run(q, np.zeros(model.nv), 31.0)
    assert flight("tank.fuel")[-1] == pytest.approx(15.0, rel=1e-3)
    t, x = flight.t[110:], flight.q[110:, 7]
    zeros = t[:-1][x[:-1] * x[1:] < 0] - (x[:-1] / np.diff(x) * np.diff(t))[x[:-1] * x[1:] < 0]
    own = slosh_of(Tank("base", 100.0, flight("tank.fuel")[-1], shape=shape, radius=None if shape == "sphere" else 0.4))
    assert np.pi / np.diff(zeros).mean() == pytest.approx(own.frequency(0.1), rel=1e-4)


@pytest.mark.parametrize(("kind", "shape"), KINDS)
def test_slopes_are_derivatives(kind, shape):
    builder = engine.Builder("stage")
    builder.add_link("base", inertia=inertia.sphere(500.0, 1.0))
    tank = add_slosh(builder, filled(shape), kind, 0.01, 0.1).tank
    compiled = gufunc(lambda x: (tank.slopes(x), tank.along(tank.slopes(x))[1], tank.rising(x)), "()->(2,3),(),()")
    for fuel in (21.6, 57.5):                                                   # away from the table's points
        slope = derivative(lambda x, fuel=fuel: tank.masses(fuel + x))
        assert np.abs(slope - compiled(fuel)[0]).max() < 1e-11
        assert np.abs(slope - tank.slopes(fuel)).max() < 1e-8                   # plain, by differences
        turn = derivative(lambda x, fuel=fuel: compiled(fuel + x)[1])
        assert compiled(fuel)[2] == pytest.approx(turn, abs=1e-12)


def test_plain_is_compiled_batches_are_rows_and_runs_go_on(tmp_path):
    simulator = stage("pendulum", "sphere", damping=0.02)
    q, v = begun(simulator)
    one, plain = simulator.run(q, v, 0.5), stage("pendulum", "sphere", damping=0.02, compiled=False).run(q, v, 0.5)
    assert np.abs(one.q - plain.q).max() < 1e-12
    assert np.abs(one("tank.state") - plain("tank.state")).max() < 1e-8
    assert (simulator.run(q, np.array([0.0 * v, v]), 0.5).q[1] == one.q).all()
    simulator.run(q, v, 0.25, out=tmp_path / "a.h5")
    simulator.resume(tmp_path / "a.h5", 0.5)
    assert (engine.load_trajectory(tmp_path / "a.h5").q == one.q).all()
    A, _ = simulator.linearize(q, v)
    step = lambda x: simulator.step(simulator.start(q, x)).v
    d = 1e-4 * np.eye(len(v))[6]
    assert np.abs(A[len(v) : 2 * len(v), len(v) + 6] - (step(v + d) - step(v - d)) / 2e-4).max() < 1e-6


def test_what_cannot_drain_is_refused():
    builder = engine.Builder("stage")
    builder.add_link("base", inertia=inertia.sphere(500.0, 1.0))
    slosh = add_slosh(builder, filled("cylinder"), "pendulum")
    with pytest.raises(SimulationError, match="hangs from a hinge that sinks with the level; expected add_slosh of a sphere"):
        _ = slosh.tank
    builder = engine.Builder("stage")
    builder.add_link("base", inertia=inertia.sphere(500.0, 1.0))
    other = builder.model(floating_base=True)
    tank = add_slosh(builder, filled("sphere"), "pendulum").tank
    assert isinstance(tank, SloshingTank)
    with pytest.raises(SimulationError, match="has no 'slosh of tank'; expected the robot that add_slosh added it to"):
        engine.Simulator(other, gravity=(0, 0, 0), actuators=[tank])


def test_a_pendulum_that_nothing_pulls_is_named_where_it_lies_along_its_axis():
    """In free flight it swings on to 90°, where its first axis turns nothing."""
    builder = engine.Builder("stage")
    builder.add_link("base", inertia=inertia.sphere(500.0, 1.0))
    add_slosh(builder, filled("sphere"), "pendulum")
    model = builder.model(floating_base=True)
    q, v = model.neutral(), np.zeros(model.nv)
    q[7:], v[6:] = [0.0, 1.56], [1e-3, 0.04]
    with pytest.raises(SimulationError, match="the axes of 'slosh of tank joint' come to where the first moves about no inertia"):
        engine.Simulator(model, dt=0.01, gravity=(0, 0, 0)).run(q, v, 20.0)
