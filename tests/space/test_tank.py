"""Propellant in a run: closed forms, an integration at tighter tolerances by other means, and momentum that is kept with what has left."""

import numpy as np
import pytest

import engine
from engine import gufunc
from engine.space import EARTH_J2, GravityField, ReferenceOrbit, SimulationError, Tank, Thrusters
from engine.spatial import inertia
from tests.numeric import derivative
from tests.space.numbers import values

G0 = 9.80665


def hull(mass=300.0, moments=(120.0, 150.0, 90.0), center=(0.0, 0.0, 0.0)):
    builder = engine.Builder("hull")
    builder.add_link("hull", inertia=inertia.from_mass(mass, np.array(center), np.diag(moments)))
    return builder


def burning(model, actuators, thrust, **more):
    """A simulator whose thrusters burn all the time."""
    jets = [a for a in actuators if isinstance(a, Thrusters)]
    control = lambda t, q, v: {a.name: np.full(len(a.positions), thrust) for a in jets}
    return engine.Simulator(model, **{"gravity": (0, 0, 0), "dt": 0.1, "controller": control, "actuators": actuators, **more})


VAR = {"q": [1, 0, 0, 0, 10, 20, -5], "v": [0.2, -0.3, 0.4, 0.5, -1.0, 0.2]}


def var(**more):
    """The body, its propellant off its centre, and a nozzle askew, of the table's row."""
    tank = Tank("hull", 100.0, placement=(0.3, -0.2, 0.1), gyration=(0.16, 0.16, 0.16))
    jet = Thrusters("hull", [[-1.2, 0.4, -0.3]], [[0.9, 0.1, -0.2]], most=10.0, tank=tank, isp=20.0 / G0)
    return burning(hull(center=(0.05, 0.02, -0.03)).model(floating_base=True), [jet, tank], 10.0, **more)


def test_a_body_of_varying_mass_against_another_integration():
    """Rates, and the place, after a minute; momentum with what flows and has left is kept to rounding; the projection moves nothing."""
    flight = var(dt=0.02, integrator="rkmk5").run(VAR["q"], VAR["v"], 60.0, record_every=500)
    expected = values("VAR")
    assert flight("tank.fuel")[-1] == pytest.approx(70.0, abs=1e-10)
    assert np.abs(flight.v[-1, :3] - expected[:3]).max() < 1e-9
    assert np.abs(flight.q[-1, 4:7] - expected[3:]).max() < 1e-9
    whole = flight.momentum() + flight("tank.momentum")
    assert np.abs(whole - whole[0]).max() < 2e-9
    assert flight.defect[-1] < 1e-9


class Undamped(Tank):
    """A tank that drains, and does nothing else."""

    def act(self, s, state, memory, command):
        does = super().act(s, state, memory, command)
        does.wrenches = {}
        return does


def test_without_the_brackets_momentum_is_lost(monkeypatch):
    """What jet damping is worth: newton-seconds, and tens of N·m·s, that a thrust and a mass that falls alone would miss."""
    monkeypatch.setitem(globals(), "Tank", Undamped)
    flight = var().run(VAR["q"], VAR["v"], 60.0, record_every=100)
    whole = flight.momentum() + flight("tank.momentum")
    lost = np.abs(whole[-1] - whole[0])
    assert lost[:3].max() > 50.0
    assert lost[3:].max() > 0.5


def test_the_projection_goes_with_what_drains():
    """With and without it the same motion, to the method's error."""
    made = [var(conserve_momentum=c, dt=0.05, integrator="rkmk5") for c in (True, False)]
    kept, free = (simulator.run(VAR["q"], VAR["v"], 60.0, record_every=1200) for simulator in made)
    assert np.abs(kept.q[-1] - free.q[-1]).max() < 1e-6
    assert np.abs(kept.v[-1] - free.v[-1]).max() < 1e-7


@pytest.mark.parametrize("name", ["sphere", "cylinder"])
def test_momentum_is_kept_while_a_level_falls(name):
    """The propellant inside moves faster or slower as the surface is narrow or wide: what that pushes is there, to the method's order."""
    found = []
    for dt in (0.1, 0.05):
        tank = Tank("hull", 60.0, 40.0, shape=name, placement=(0.1, 0.0, -0.3), radius=0.25 if name == "cylinder" else None)
        jet = Thrusters("hull", [[0.02, 0.0, -0.8]], [[0, 0, 1.0]], most=20.0, tank=tank, isp=20.0)
        model = hull().model(floating_base=True)
        flight = burning(model, [jet, tank], 20.0, dt=dt).run(model.neutral(), [0.05, 0, 0.1, 0, 0, 0], 60.0, record_every=100)
        whole = flight.momentum() + flight("tank.momentum")
        found.append(np.abs(whole - whole[0]).max())
    assert found[1] < 1e-6
    assert found[0] / found[1] == pytest.approx(16.0, rel=0.15)


def test_tsiolkovsky():
    """150 kg of 850 in 3000 s; and of a tank that becomes empty, what it had."""
    model, isp = hull(700.0).model(floating_base=True), 220.0
    thrust = 150.0 / 3000.0 * isp * G0
    for fuel, bar in ((200.0, 1e-12), (150.0, 1e-9)):
        tank = Tank("hull", 200.0, fuel)
        jet = Thrusters("hull", [[0, 0, -1.0]], [[0, 0, 1.0]], most=thrust, tank=tank, isp=isp)
        model = hull(850.0 - fuel).model(floating_base=True)
        flight = burning(model, [jet, tank], thrust, dt=0.5, integrator="rkmk5").run(
            model.neutral(), np.zeros(6), 3000.0 if fuel == 200.0 else 3100.0, record_every=400)  # fmt: skip
        assert flight.v[-1, 5] == pytest.approx(values("ROC")[0], rel=bar)
        assert (flight("tank.fuel") >= 0.0).all()
    assert flight("tank.fuel")[-1] < 1e-12
    assert flight("thrusters.thrust")[-1, 0] < 1e-9


def test_jet_damping():
    """A body that turns across its jet: I ω̇ = −ṁ (L² − k²) ω."""
    tank = Tank("hull", 200.0, gyration=(0.25, 0.25, 0.25))
    jet = Thrusters("hull", [[1.5, 0, 0]], [[-1.0, 0, 0]], most=10.0, tank=tank, isp=20.0 / G0)
    model = hull(300.0, (300.0, 320.0, 350.0)).model(floating_base=True)
    flight = burning(model, [jet, tank], 10.0, dt=0.125, integrator="rkmk5").run(
        model.neutral(), [0, 0, 0.2, 0, 0, 0], 200.0, record_every=1600)  # fmt: skip
    assert flight.v[-1, 2] == pytest.approx(values("JET")[0], rel=1e-10)


def test_blow_down():
    used, pressure = values("BLO")
    tank = Tank("hull", 20.0, pressure=2e6, gas=0.02)
    jet = Thrusters("hull", [[0, 0, -1.0]], [[0, 0, 1.0]], most=10.0, tank=tank, isp=10.0 / (5e-3 * G0))
    model = hull().model(floating_base=True)
    flight = burning(model, [jet, tank], 10.0, dt=5.0).run(model.neutral(), np.zeros(6), 3000.0, record_every=600)
    assert 20.0 - flight("tank.fuel")[-1] == pytest.approx(used, rel=1e-10)
    assert flight("tank.pressure")[-1] == pytest.approx(pressure, rel=1e-10)
    assert flight("thrusters.thrust")[-1, 0] == pytest.approx(10.0 * pressure / 2e6, rel=1e-10)


TANKS = {
    "uniform": Tank("hull", 100.0, placement=(0.3, -0.2, 0.1), gyration=(0.1, 0.2, 0.15)),
    "sphere": Tank("hull", 100.0, shape="sphere", placement=engine.spatial.se3.exp(np.array([0.3, 0.5, -0.2, 0.1, 0.4, 0.2]))),
    "cylinder": Tank("hull", 100.0, shape="cylinder", radius=0.25, placement=(0.3, -0.2, 0.1)),
}


@pytest.mark.parametrize("name", TANKS)
def test_what_leaves_is_what_inertia_loses(name):
    """The slice at the surface is the derivative of the whole; empty nothing is left; full it is the solid."""
    tank = TANKS[name]
    for fuel in (20.0, 50.0, 80.0):
        slope = derivative(lambda x, fuel=fuel: tank.inertia_of(fuel + 30.0 * x)) / 30.0
        assert np.abs(slope - tank.slice_of(fuel)).max() < 1e-10
    assert np.abs(tank.inertia_of(0.0)).max() < 1e-12
    full = tank.inertia_of(100.0)
    solid = {"sphere": inertia.sphere(100.0, tank.radius), "cylinder": inertia.cylinder(100.0, tank.radius, tank.length),
             "uniform": inertia.from_mass(100.0, np.zeros(3), 100.0 * np.diag(tank.gyration))}[name]  # fmt: skip
    assert np.abs(full - inertia.transformed(tank.placement, solid)).max() < 1e-12
    compiled = gufunc(lambda x: (tank.inertia_of(x), tank.slice_of(x)), "()->(6,6),(6,6)")(63.0)
    assert np.abs(compiled[0] - tank.inertia_of(63.0)).max() < 1e-12
    assert np.abs(compiled[1] - tank.slice_of(63.0)).max() < 1e-13


@pytest.mark.parametrize("name", ["sphere", "cylinder"])
def test_liquids_lie_below_their_level(name):
    """By slices, added up: 4000 of them."""
    tank = TANKS[name]
    fuel, low = 37.0, (-tank.radius if name == "sphere" else -0.5 * tank.length)
    edges = np.linspace(low, tank.level(fuel), 4001)
    z, dz = 0.5 * (edges[1:] + edges[:-1]), np.diff(edges)
    a2 = tank.radius**2 - z**2 if name == "sphere" else np.full(len(z), tank.radius**2)
    dm = tank.density * np.pi * a2 * dz
    assert dm.sum() == pytest.approx(fuel, rel=1e-6)
    h, across, along = tank.moments(fuel)
    assert [h, across, along] == pytest.approx([(dm * z).sum(), (dm * (a2 / 4 + z * z)).sum(), (dm * a2 / 2).sum()], rel=1e-5)


def arm_with_a_tank():
    """A robot whose arm, with stops and friction, holds a tank that is not at its centre, and a jet."""
    builder = hull()
    builder.add_link("arm", inertia=inertia.from_mass(20.0, np.array([0.5, 0, 0]), np.diag([0.5, 2.0, 2.0])))
    builder.add_joint("elbow", "revolute", "hull", "arm", engine.spatial.se3.pose(np.eye(3), [0.7, 0, 0]), axis=[0.0, 0.6, 0.8],
                      limits=engine.Limits(-0.4, 0.4), damping=0.5, friction=0.2)  # fmt: skip
    return builder.model(floating_base=True)


def test_momentum_is_kept_of_an_arm_that_drains_into_its_stop():
    """Two jets on one tank, a joint that stops: the momentum of all is the same to the method's error, which falls with the step."""
    model = arm_with_a_tank()
    found = []
    for dt in (0.02, 0.01):
        tank = Tank("arm", 30.0, shape="sphere", placement=(0.6, 0.1, 0.05))
        jets = [Thrusters("arm", [[1.0, 0.1, 0]], [[0, y, 0.3]], most=6.0, tank=tank, isp=8.0, name=n) for n, y in (("a", 1.0), ("b", 0.5))]
        flight = burning(model, [*jets, tank], 4.0, dt=dt).run(model.neutral(), [0.1, -0.2, 0.3, 0, 0.1, 0, 0.5], 20.0, record_every=100)
        whole = flight.momentum() + flight("tank.momentum")
        found.append(np.abs(whole - whole[0]).max())
        assert np.abs(flight.q[:, 7]).max() > 0.399                             # at its stop
    assert flight("tank.fuel")[-1] == pytest.approx(30.0 - 20.0 * 8.0 / (8.0 * G0), rel=1e-9)
    assert found[1] < 1e-4 * np.abs(whole).max()


def test_in_an_orbit_a_burn_raises_it():
    """The place that a burn of the whole leads to: with a tank in a frame, and as a rocket of the same mass whose thrust is a force."""
    tank = Tank("hull", 100.0)
    jet = Thrusters("hull", [[0, 0, 0.0]], [[0, 1.0, 0.0]], most=50.0, tank=tank, isp=220.0)
    frame = ReferenceOrbit((6778137.0, 0, 0), (0, 5000.0, 5800.0), GravityField(zonals={2: EARTH_J2}))
    model = hull().model(floating_base=True)
    q = model.neutral()
    flight = burning(model, [jet, tank], 50.0, dt=0.5, frame=frame).run(q, np.zeros(6), 200.0, record_every=400)
    free = burning(model, [jet, tank], 50.0, dt=0.5).run(q, np.zeros(6), 200.0, record_every=400)
    assert flight("tank.fuel")[-1] == pytest.approx(free("tank.fuel")[-1], rel=1e-13)
    assert 0.5 < np.linalg.norm(flight.q[-1, 4:7] - free.q[-1, 4:7]) < 500.0      # tides


def test_plain_is_compiled():
    one = var().run(VAR["q"], VAR["v"], 0.5)
    plain = var(compiled=False).run(VAR["q"], VAR["v"], 0.5)
    assert np.abs(one.q - plain.q).max() < 1e-13
    assert np.abs(one("tank.state") - plain("tank.state")).max() < 1e-11
    assert np.abs(one("inertia.hull") - plain("inertia.hull")).max() < 1e-12
    assert one.energy()[0] == pytest.approx(plain.energy()[0], rel=1e-13)


def test_a_run_goes_on_and_an_adaptive_one_agrees(tmp_path):
    simulator = var()
    simulator.run(VAR["q"], VAR["v"], 1.0, out=tmp_path / "a.h5")
    simulator.resume(tmp_path / "a.h5", 2.0)
    there, whole = engine.load_trajectory(tmp_path / "a.h5"), simulator.run(VAR["q"], VAR["v"], 2.0)
    assert (there.q == whole.q).all()
    assert np.abs(there.momentum() - whole.momentum()).max() == 0.0
    q, v = simulator.solve(VAR["q"], VAR["v"], 2.0, tolerance=1e-11)(2.0)
    assert np.abs(q - whole.q[-1]).max() < 1e-6
    assert np.abs(v - whole.v[-1]).max() < 1e-6


@pytest.mark.parametrize(("what", "text"), [
    (lambda: Tank("", 10.0), "expected the name of the link"),
    (lambda: Tank("hull", 0.0), "capacity is 0.0"),
    (lambda: Tank("hull", 10.0, 11.0), "fuel is 11 kg, and 10 kg fit in"),
    (lambda: Tank("hull", 10.0, -1.0), "fuel is -1.0"),
    (lambda: Tank("hull", 10.0, shape="cube"), "shape"),
    (lambda: Tank("hull", 10.0, shape="cylinder"), "radius is None"),
    (lambda: Tank("hull", 10.0, radius=1.0), "radius is 1.0"),
    (lambda: Tank("hull", 10.0, placement=(1.0,)), "placement has shape"),
    (lambda: Tank("hull", 10.0, gyration=(1.0, -1.0, 0.0)), "gyration is"),
    (lambda: Tank("hull", 10.0, pressure=1e6), "expected both, or neither"),
    (lambda: Thrusters("hull", [[0, 0, 0]], [[0, 0, 1]], 1.0, tank=Tank("hull", 1.0)), "expected a Tank and seconds above 0"),
    (lambda: Thrusters("hull", [[0, 0, 0]], [[0, 0, 1]], 1.0, isp=200.0), "expected a Tank and seconds above 0"),
])  # fmt: skip
def test_what_is_no_tank_is_refused(what, text):
    with pytest.raises(SimulationError, match=text):
        what()


def test_tanks_that_do_not_fit_are_refused():
    model, tank = arm_with_a_tank(), Tank("arm", 1.0)
    jet = Thrusters("hull", [[0, 0, 0]], [[0, 0, 1]], 1.0, tank=tank, isp=200.0)
    with pytest.raises(SimulationError, match="their tank on 'arm'"):
        engine.Simulator(model, gravity=(0, 0, 0), actuators=[jet, tank])
    jet = Thrusters("arm", [[0, 0, 0]], [[0, 0, 1]], 1.0, tank=tank, isp=200.0)
    with pytest.raises(SimulationError, match="'thrusters' commands 'tank'"):
        engine.Simulator(model, gravity=(0, 0, 0), actuators=[tank, jet])
    builder = hull()
    builder.add_link("shell"), builder.add_joint("weld", "fixed", "hull", "shell")
    with pytest.raises(SimulationError, match="has no mass; expected the dry mass"):
        engine.Simulator(builder.model(floating_base=True), gravity=(0, 0, 0), actuators=[Tank("shell", 1.0)])
