"""Slosh, chains and modes: closed forms, exact frequencies of hub and panels, and laws of momentum and energy in runs."""

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize

import engine
from engine.checks import EngineWarning
from engine.simulation import SimulationWarning
from engine.space import SimulationError, Tank, add_chain, add_modes, add_slosh, beam_modes, slosh_of
from engine.spatial import inertia, se3
from tests.space.numbers import lines, values

TURNED = se3.pose(np.diag([-1.0, -1.0, 1.0]), [-1.0, 0.0, 0.0])                  # the panel on the other side
LENGTH, MASS, EI = 10.0, 20.0, 1000.0


def cylinder(h, m=100.0, R=0.5):
    """A tank that is filled to h by m, to its top."""
    return Tank("base", m, shape="cylinder", radius=R, density=m / (np.pi * R * R * h))


@pytest.mark.parametrize(("key", "h"), [("SLC", 0.25), ("SL1", 0.5)])
def test_slosh_of_a_cylinder(key, h):
    found, low = slosh_of(cylinder(h)), -0.5 * h
    own = [found.frequency(0.1), found.length, found.m1, found.z1 - low, found.m0, found.z0 - low]
    assert own == pytest.approx(values(key), rel=1e-11)
    assert found.m0 * found.z0 + found.m1 * found.z1 == pytest.approx(0.0, abs=1e-12)          # the centre of all is the liquid's


@pytest.mark.parametrize("row", lines("slosh_sphere.csv"))
def test_slosh_of_a_sphere(row):
    h, eigenvalue, share = (float(x) for x in row.values())
    fill = 0.25 * h * h * (3.0 - h)
    found = slosh_of(Tank("base", 100.0, 100.0 * fill, shape="sphere"))
    R = (0.3 / (4.0 * np.pi)) ** (1.0 / 3.0)
    assert found.length == pytest.approx(R / eigenvalue, rel=1e-7)
    assert found.m1 == pytest.approx(100.0 * fill * share, rel=1e-7)
    assert found.z1 + found.length == 0.0


def stage(kind="pendulum", damping=0.0, acceleration=0.1, **more):
    builder = engine.Builder("stage")
    builder.add_link("base", inertia=inertia.from_mass(500.0, np.array([0.1, 0.0, 0.2]), np.diag([200.0, 220.0, 150.0])))
    tank = Tank("base", 100.0, 60.0, shape="cylinder", radius=0.5, placement=(0.0, 0.1, 0.8))
    return add_slosh(builder, tank, kind, damping, acceleration, **more), builder.model(floating_base=True)


def test_slosh_adds_no_mass():
    for kind in ("pendulum", "spring"):
        _, model = stage(kind)
        assert sum(link.mass for link in model.links) == pytest.approx(560.0, rel=1e-14)


def test_a_pendulum_swings_by_the_thrust():
    """Hung from a base that is too heavy to swing along, under a constant acceleration: at √(a/l), with ζ."""
    zeta, base = 0.03, 1e9
    slosh, model = stage(damping=zeta)
    model = model.with_parameters({"inertia.base": inertia.from_mass(base, np.zeros(3), base * np.eye(3))})
    push = lambda t, q, v: {"base": np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.1 * base])}
    simulator = engine.Simulator(model, dt=0.02, gravity=(0, 0, 0), forces=[push])
    q = model.neutral()
    q[7:] = [1e-4, -2e-4]
    flight = simulator.run(q, np.zeros(model.nv), 12.0)
    w = slosh.frequency(0.1)
    turn = w * np.sqrt(1.0 - zeta**2) * flight.t
    swing = np.exp(-zeta * w * flight.t) * (np.cos(turn) + zeta / np.sqrt(1.0 - zeta**2) * np.sin(turn))
    assert np.abs(flight.q[:, 7:] - np.outer(swing, [1e-4, -2e-4])).max() < 1e-4 * 1e-4


@pytest.mark.filterwarnings("ignore:.*off (its tank's axis|the axis of its tank)")    # in no thrust it goes where it likes
@pytest.mark.parametrize("kind", ["pendulum", "spring"])
def test_momentum_and_energy_of_a_stage(kind):
    """Free, kept; with a damper energy never rises, and momentum is kept as well."""
    for damping in (0.0, 0.05):
        slosh, model = stage(kind, damping)
        q, v = model.neutral(), np.zeros(model.nv)
        q[7:], v[:6], v[6:] = ([0.3, -0.2] if kind == "pendulum" else [0.05, -0.02]), [0.02, -0.03, 0.05, 0.1, 0.0, -0.1], [0.1, 0.05]
        flight = engine.Simulator(model, dt=0.02, gravity=(0, 0, 0), forces=slosh.springs).run(q, v, 60.0, record_every=10)
        P, E = flight.momentum("center_of_mass"), sum(flight.energy())
        assert np.abs(P - P[0]).max() < 1e-12 * 500.0
        if damping:
            assert (np.diff(E) <= 1e-12 * E[0]).all()
            assert E[-1] < E[0] - 1e-4
        else:
            assert np.abs(E - E[0]).max() < 1e-8 * E[0]


def test_a_liquid_without_weight_is_told():
    with pytest.warns(EngineWarning, match="Bond number"):
        stage(acceleration=1e-6)


def push(t, q, v):
    """A force to the side."""
    return {"base": np.array([0.0, 0.0, 0.0, 200.0, 0.0, 0.0])}


@pytest.mark.parametrize(("kind", "text"), [("spring", "m off the axis of its tank, whose radius is 0.5 m: it has left it"),
                                            ("pendulum", "rad off its tank's axis: beyond its hinge")])  # fmt: skip
def test_a_liquid_that_leaves_its_tank_is_told(kind, text):
    slosh, model = stage(kind)
    simulator = engine.Simulator(model, dt=0.02, gravity=(0, 0, 0), forces=[*slosh.springs, push])
    v = np.zeros(model.nv)
    v[-1 if kind == "spring" else -2] = 1.0                                    # across the joint's second axis
    gentle = engine.Simulator(model, dt=0.02, gravity=(0, 0, 0), forces=slosh.springs)
    assert not gentle.run(model.neutral(), 1e-2 * v, 2.0).warnings
    with pytest.warns(SimulationWarning, match=text):
        simulator.run(model.neutral(), v, 4.0)


def test_springs_that_were_forgotten_are_told():
    slosh, model = stage("spring")
    make = lambda *forces: engine.Simulator(model, dt=0.02, gravity=(0, 0, 0), forces=forces)
    with pytest.raises(SimulationError, match=r"nothing holds joint 'slosh of tank y joint', which add_slosh has added for a spring"):
        make(slosh.springs[0])
    with pytest.warns(SimulationWarning, match="nothing holds joint 'slosh of tank x joint'"):
        make(slosh.springs[1], push)
    again = engine.Model.from_graph(model.graph)                               # and of a graph that was looked at, or joined with others
    both = engine.combine(a=again, b=stage("pendulum")[1])
    with pytest.raises(SimulationError, match="which add_slosh has added"):
        engine.Simulator(both, dt=0.02, gravity=(0, 0, 0))
    for add, said in ((add_chain, "add_chain"), (add_modes, "add_modes")):
        with pytest.raises(SimulationError, match=f"which {said} has added for a spring"):
            engine.Simulator(winged(add, 2)[0], gravity=(0, 0, 0))


@pytest.mark.parametrize(("what", "text"), [
    (lambda: stage(damping=0.1, acceleration=None), "with damping and without an acceleration"),
    (lambda: stage("spring", acceleration=None), "with springs and without an acceleration"),
    (lambda: stage("wave"), "kind"),
    (lambda: slosh_of(Tank("base", 100.0)), "is uniform"),
    (lambda: slosh_of(Tank("base", 100.0, 99.9, shape="sphere")), "expected up to 1.75"),
    (lambda: add_slosh(engine.Builder("none"), cylinder(0.5)), "which is not there"),
    (lambda: add_modes(engine.Builder("none"), "hub", 1.0, 1.0, 1.0, 1), "which is not there"),
    (lambda: add_modes(engine.Builder("none"), "hub", 1.0, 1.0, 1.0, 1, "shells"), "kind"),
    (lambda: add_chain(engine.Builder("none"), "hub", -1.0, 1.0, 1.0, 1), "length is -1.0"),
    (lambda: add_chain(engine.Builder("none"), "hub", 1.0, 1.0, 1.0, 0), "n is 0"),
])  # fmt: skip
def test_what_cannot_slosh_or_bend_is_refused(what, text):
    with pytest.raises(SimulationError, match=text):
        what()


# ---------------------------------------------------------------- beams


def test_modes_of_a_cantilever():
    beta, a, b = (values("BEA")[3 * k : 3 * k + 3] for k in range(3))
    found = beam_modes(3)
    assert [m.beta for m in found] == pytest.approx(beta, rel=1e-13)
    assert [m.a for m in found] == pytest.approx(a, rel=1e-12)
    assert [m.b for m in found] == pytest.approx(b, rel=1e-12)
    assert (found[0].a ** 2, found[0].b / found[0].a) == pytest.approx((0.613076, 0.726477), abs=1e-6)


def winged(add, n, **more):
    """A hub with two panels; and their springs."""
    builder = engine.Builder("winged")
    builder.add_link("hub", inertia=inertia.from_mass(400.0, np.zeros(3), 200.0 * np.eye(3)))
    springs = []
    for side, place in (("left", se3.pose(np.eye(3), [1.0, 0.0, 0.0])), ("right", TURNED)):
        springs += add(builder, "hub", LENGTH, MASS, EI, n, placement=place, name=side, **more)
    return builder.model(floating_base=True), springs


def frequencies(model, springs):
    """Of small motions about rest, rad/s."""
    M, K = engine.dynamics.crba(model, model.neutral()), np.zeros((model.nv, model.nv))
    for s in springs:
        j = model.v_slice(s.joint).start
        K[j, j] = s.stiffness
    return np.sqrt(np.maximum(scipy.linalg.eigh(K, M, eigvals_only=True), 0.0))


def nearest(found, expected):
    return np.array([np.abs(found / w - 1.0).min() for w in expected])


def test_hub_and_panels_by_modes():
    """The transcendental equation's frequencies, turning and shifting, to a millionth with eight modes."""
    for n, bar in ((3, 5e-5), (8, 1e-6)):
        found = frequencies(*winged(add_modes, n))
        assert nearest(found, values("HUB")[:1]).max() < bar
        assert nearest(found, values("HU2")[:1]).max() < bar
    assert nearest(found, values("HUB")[:2]).max() < 1e-5


def test_hub_and_panels_by_chains():
    """Errors of the first turning mode, of order two."""
    w = values("HUB")[0]
    found = [frequencies(*winged(add_chain, n)) for n in (5, 10, 20)]
    errors = [x[np.argmin(np.abs(x - w))] / w - 1.0 for x in found]
    assert errors == pytest.approx(values("CHA")[:3], rel=6e-3)


def test_a_chain_swings_as_its_modes_do():
    """The first frequencies of twenty hinges are the modes' to a thousandth; in a run energy and momentum are kept."""
    chain, modes = frequencies(*winged(add_chain, 20)), frequencies(*winged(add_modes, 5))
    assert nearest(chain, modes[6:8]).max() < 1e-3
    model, springs = winged(add_chain, 4)
    q, v = model.neutral(), np.zeros(model.nv)
    v[:6], q[7:] = [0.01, 0.02, -0.01, 0.1, 0.0, 0.0], 0.02
    flight = engine.Simulator(model, dt=0.005, gravity=(0, 0, 0), forces=springs, integrator="cg4").run(q, v, 5.0, record_every=20)
    P, E = flight.momentum("center_of_mass"), sum(flight.energy())
    assert np.abs(P - P[0]).max() < 1e-12 * 400.0
    assert np.abs(E - E[0]).max() < 1e-4 * E[0]


def test_dampers_of_panels_take_energy_and_no_momentum():
    model, springs = winged(add_modes, 2, damping=0.02)
    v = np.zeros(model.nv)
    v[:6], v[6:] = [0.01, 0.02, -0.01, 0.1, 0.0, 0.0], [0.05, 0.02, -0.03, 0.01]
    flight = engine.Simulator(model, dt=0.02, gravity=(0, 0, 0), forces=springs).run(model.neutral(), v, 20.0, record_every=20)
    P, E = flight.momentum("center_of_mass"), sum(flight.energy())
    assert np.abs(P - P[0]).max() < 1e-12 * 400.0
    assert (np.diff(E) <= 1e-12).all()


def test_a_tip_carries_what_hangs_on_it():
    """A mass on a beam's end: the frequency of Rayleigh's cantilever with a tip mass, by its own equation, and momentum and energy with an
    arm that swings there."""
    tip, length, mass = 8.0, 10.0, 20.0
    builder = engine.Builder("boom")
    builder.add_link("base")
    springs = add_modes(builder, "base", length, mass, EI, 8, tip="end")
    builder.add_link("antenna", inertia=inertia.from_mass(tip, np.zeros(3), np.zeros((3, 3))))
    builder.add_joint("mount", "fixed", "end", "antenna")
    model = builder.model()
    M, K = engine.dynamics.crba(model, model.neutral()), np.diag([s.stiffness for s in springs])
    c, s = np.cos, np.sin
    whirl = lambda x: 1 + c(x) * np.cosh(x) + tip / mass * x * (c(x) * np.sinh(x) - s(x) * np.cosh(x))
    x = scipy.optimize.brentq(whirl, 0.5, 1.875, xtol=1e-14)
    expected = x * x * np.sqrt(EI / (mass * length**3))
    assert np.sqrt(scipy.linalg.eigh(K, M, eigvals_only=True)[0]) == pytest.approx(expected, rel=3e-5)
    builder = engine.Builder("sat")
    builder.add_link("hub", inertia=inertia.from_mass(400.0, np.zeros(3), 200.0 * np.eye(3)))
    springs = add_modes(builder, "hub", length, mass, EI, 2, tip="end")
    builder.add_link("arm", inertia=inertia.from_mass(5.0, np.array([0.5, 0.0, 0.1]), np.diag([0.1, 0.5, 0.4])))
    builder.add_joint("elbow", "revolute", "end", "arm", axis=(0.0, 0.6, 0.8))
    model = builder.model(floating_base=True)
    q, v = model.neutral(), np.zeros(model.nv)
    v[:6], v[6:] = [0.01, 0.02, -0.01, 0.1, 0.0, 0.0], [0.1, -0.05, 0.3]
    flight = engine.Simulator(model, dt=0.01, gravity=(0, 0, 0), forces=springs).run(q, v, 5.0, record_every=20)
    P, E = flight.momentum("center_of_mass"), sum(flight.energy())
    assert np.abs(P - P[0]).max() < 1e-12 * 400.0
    assert np.abs(E - E[0]).max() < 1e-6 * E[0]
