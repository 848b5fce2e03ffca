"""A link that bends by its modes: an integration by other means, momentum and energy, exact frequencies, and spin."""

import contextlib

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg

import engine
from engine.components.component import Context, SimulationWarning
from engine.space import FlexibleBody, GravityField, Modes, ReferenceOrbit, SimulationError
from engine.spatial import inertia, se3
from tests.numeric import derivative
from tests.space.numbers import values

ACROSS = 20.0 * 100.0 / 12.0
ROD = inertia.transformed(se3.pose(np.eye(3), [6.0, 0.0, 0.0]), inertia.from_mass(20.0, np.zeros(3), np.diag([0.0, ACROSS, ACROSS])))
V0 = [0.03, 0.05, 0.2, 0.1, -0.05, 0.02]


def winged(order="full", damping=0.0, stiffening=False, **more):
    """The hub of the table's row, with a beam from x = 1 m."""
    builder = engine.Builder("sat")
    builder.add_link("hub", inertia=inertia.from_mass(400.0, np.zeros(3), np.diag([80.0, 120.0, 200.0])) + ROD)
    modes = Modes.beam(10.0, 20.0, 1000.0, 2, root=1.0, damping=damping, order=order, stiffening=stiffening)
    flexible = FlexibleBody("hub", modes, [[0.5, 0.02, -0.3, 0.01], [0.1, 0.0, 0.05, 0.0]], name="panel")
    given = {"dt": 0.005, "gravity": (0, 0, 0), "integrator": "rkmk5", "forces": [flexible], **more}
    return engine.Simulator(builder.model(floating_base=True), **given)


@pytest.mark.parametrize(("key", "order"), [("LEA", "full"), ("LE1", "first")])
def test_a_panel_that_swings_against_another_integration(key, order):
    """η and ω after 30 s; momentum with what the modes carry, and energy, are kept to 2e-13."""
    fast = contextlib.nullcontext() if order == "full" else pytest.warns(SimulationWarning, match="modes are of the first order")
    with fast:
        flight = winged(order, dt=0.0025).run([1, 0, 0, 0, 0, 0, 0], V0, 30.0, record_every=1200)
    eta, w = values(key)[:4], values(key)[4:]
    assert np.abs(flight("panel.eta")[-1] - eta).max() < 5e-12                    # as many digits as are written
    assert np.abs(flight.v[-1, :3] - w).max() < 5e-12
    P, E = flight.momentum() + flight("panel.momentum"), sum(flight.energy())
    assert np.abs(P - P[0]).max() < 2e-13 * np.abs(P).max()
    assert np.abs(E - E[0]).max() < 2e-13 * E[0]


def test_what_stiffens_keeps_momentum_and_energy_as_well():
    """A beam that is shorter as it bends, in a hub that turns and is pushed at the beam's end: P is what the push makes it."""
    simulator = winged(stiffening=True)
    flight = simulator.run([1, 0, 0, 0, 0, 0, 0], V0, 10.0, record_every=100)
    P, E = flight.momentum() + flight("panel.momentum"), sum(flight.energy())
    assert np.abs(P - P[0]).max() < 1e-12 * np.abs(P).max()
    assert np.abs(E - E[0]).max() < 1e-8 * E[0]
    assert np.abs(flight("panel.eta") - winged().run([1, 0, 0, 0, 0, 0, 0], V0, 10.0, record_every=100)("panel.eta")).max() > 1e-3


def test_a_load_on_its_end_is_the_whole_s():
    """F t and the moment about the origin of what pushes where the end is, with the projection and without it the same motion."""
    load, found = np.array([0.0, 0.0, 0.2, 0.3, 0.1, -0.4]), []
    for conserve in (True, False):
        made = winged(stiffening=True, controller=lambda t, q, v: {"panel": load}, conserve_momentum=conserve)
        found.append(made.run([1, 0, 0, 0, 0, 0, 0], np.zeros(6), 4.0, record_every=5))
    flight, free = found
    assert np.abs(flight.q[-1] - free.q[-1]).max() < 1e-9
    P = flight.momentum() + flight("panel.momentum")
    T = flight.poses()[:, 0]
    f = T[:, :3, :3] @ load[3:]
    modes = Modes.beam(10.0, 20.0, 1000.0, 2, root=1.0)
    arm = T[:, :3, 3] + np.einsum("tij,tj->ti", T[:, :3, :3], modes.place + flight("panel.eta") @ modes.tip[3:].T)
    rate = np.concatenate([T[:, :3, :3] @ load[:3] + np.cross(arm, f), f], axis=1)
    turned = scipy.integrate.simpson(rate, x=flight.t, axis=0)
    assert np.abs(P[-1] - P[0] - turned).max() < 1e-7
    assert np.abs(flight("panel.eta")[-1]).max() > 0.1


def test_pulling_and_turning_stiffen_as_they_do_a_chain():
    """First frequencies under an acceleration along the beam, and of flapping while it turns about its root: those of twenty hinges to a
    thousandth."""
    length, mass, EI, n = 10.0, 20.0, 1000.0, 4
    modes = Modes.beam(length, mass, EI, n)
    builder = engine.Builder("chain")
    builder.add_link("base")
    springs = engine.space.add_chain(builder, "base", length, mass, EI, 20)
    model = builder.model()
    M, K = engine.dynamics.crba(model, model.neutral()), np.diag([s.stiffness for s in springs])
    rest = np.zeros(20)

    def first(K, M):
        return np.sqrt(scipy.linalg.eigh(0.5 * (K + K.T), M, eigvals_only=True)[0])

    weight = np.array([derivative(lambda x, e=e: engine.dynamics.rnea(model, x * e, rest, rest, (1, 0, 0))) for e in np.eye(20)])
    z = slice(n, 2 * n)
    for g in (0.0, 0.3, -0.05):                                                 # along x it pulls
        own = first(modes.stiffness[z, z] + g * modes.pull[z, z], np.eye(n))
        assert own == pytest.approx(first(K + g * weight, M), rel=1e-3)
    builder.add_link("world"), builder.add_joint("axle", "revolute", "world", "base", axis=(0, 0, 1))
    turning, W = builder.model(), 0.5
    v = np.array([W, *rest])
    spin = np.array([derivative(lambda x, e=e: engine.dynamics.rnea(turning, np.array([0.0, *(x * e)]), v, 0.0 * v, (0, 0, 0)))[1:]
                     for e in np.eye(20)])  # fmt: skip
    assert first(modes.stiffness[z, z] + W * W * modes.spin[z, z], np.eye(n)) == pytest.approx(first(K + spin, M), rel=1e-3)


# ---------------------------------------------------------------- in an orbit


def orbiting(**more):
    return ReferenceOrbit((7e6, 0, 0), (0, 5000.0, 5600.0), GravityField(**{"zonals": {2: engine.space.EARTH_J2}, **more}))


def test_the_field_s_force_on_modes_is_the_energy_s_slope():
    """−∂E/∂η of what bends a kilometre off its origin, whose panel is 100 km long."""
    flexible = FlexibleBody("hub", Modes.beam(1e5, 20.0, 1000.0, 2, root=1.0))
    own = inertia.from_mass(4e3, np.array([100.0, 300.0, -50.0]), 1e11 * np.diag([1.0, 1.3, 1.5]))
    frame, T = orbiting(), se3.pose(engine.spatial.so3.exp(np.array([0.3, -0.8, 0.5])), np.array([700.0, -300.0, 500.0]))
    builder = engine.Builder("sat")
    builder.add_link("hub", inertia=own)
    model, eta = builder.model(floating_base=True), 1e4 * np.array([0.5, 0.02, -0.3, 0.01])
    q = np.concatenate([engine.spatial.quaternion.from_matrix(T[:3, :3]), T[:3, 3]])

    def energy(eta):
        r_O, _ = frame.place(0.0, np.zeros(6))
        return frame.pull(0.0, own + flexible.change(eta), T, np.zeros(6), r_O, np.zeros(3), frame.field.perturbation(r_O))[1]

    at = model.with_numbers({"inertia.hub": own + flexible.change(eta)})
    s = Context(at, 0.0, q, np.zeros(6), {}, (0, 0, 0), {"frame": np.zeros(6)}, frame=frame)
    fall = frame.field.acceleration(s.origin[0])
    slopes = [flexible.slope(k, eta)[0] for k in range(4)]
    found = frame.bend(s, "hub", slopes) + [inertia.first_moment(G) @ (T[:3, :3].T @ fall) for G in slopes]
    by = np.array([derivative(lambda x, e=e: energy(eta + 1e4 * x * e)) / 1e4 for e in np.eye(4)])
    assert np.abs(found + by).max() < 1e-6 * np.abs(by).max()


def test_in_an_orbit_it_swings_as_masses_on_springs_do():
    """Bending in z alone, beside a hub that turns about y: the modes as point masses, whose weight the orbit knows by itself; energy, and
    the projection, are kept."""
    q, v = [1, 0, 0, 0, 20, -50, 10], np.array([0, 0.002, 0, 0.1, -0.05, 0.02])
    eta0, a = np.array([0.05, 0.002]), np.sqrt(20.0) * np.array([m.a for m in engine.space.beam_modes(2)])
    builder = engine.Builder("points")
    builder.add_link("hub", inertia=inertia.from_mass(400.0, np.zeros(3), np.diag([80.0, 120.0, 200.0])))
    springs = engine.space.add_modes(builder, "hub", 10.0, 20.0, 1000.0, 2, placement=se3.pose(np.eye(3), [1.0, 0, 0]))
    model, given = builder.model(floating_base=True), {"dt": 0.02, "gravity": (0, 0, 0), "integrator": "rkmk4"}
    points = engine.Simulator(model, forces=springs, frame=orbiting(gradient="moment"), **given).run(
        [*q, *(eta0 / a)], [*v, 0.0, 0.0], 60.0, record_every=500)  # fmt: skip
    builder = engine.Builder("sat")
    builder.add_link("hub", inertia=inertia.from_mass(400.0, np.zeros(3), np.diag([80.0, 120.0, 200.0])) + ROD)
    flexible = FlexibleBody("hub", Modes.beam(10.0, 20.0, 1000.0, 2, root=1.0, order="first", stiffening=False),
                            [[0, 0, *eta0], np.zeros(4)], name="panel")  # fmt: skip
    run = engine.Simulator(builder.model(floating_base=True), forces=[flexible], frame=orbiting(gradient="moment"), **given).run(
        q, v, 60.0, record_every=500)  # fmt: skip
    eta, points_eta = run("panel.eta")[:, 2:], points.q[:, 7:] * a
    assert np.abs(points_eta).max() > 1e-3
    assert np.abs(eta - points_eta).max() < 1e-3 * np.abs(points_eta).max()
    assert np.abs(run.q[:, 4:7] - points.q[:, 4:7]).max() < 1e-5
    E = sum(run.energy())
    assert np.ptp(E) < 1e-12 * abs(E[0])
    assert not run.warnings


def test_dampers_take_energy_alone():
    flight = winged(damping=0.02).run([1, 0, 0, 0, 0, 0, 0], V0, 20.0, record_every=40)
    P, E = flight.momentum() + flight("panel.momentum"), sum(flight.energy())
    assert np.abs(P - P[0]).max() < 1e-8 * np.abs(P).max()
    assert (np.diff(E) < 0.0).all()


def test_free_fall_bends_nothing():
    """Under uniform gravity all falls alike: the same motion as without, beside the parabola; energy with the height is kept."""
    free, fallen = (winged(gravity=g).run([1, 0, 0, 0, 0, 0, 0], V0, 2.0, record_every=100) for g in ((0, 0, 0), (0.3, -2.0, -9.81)))
    assert np.abs(free("panel.eta") - fallen("panel.eta")).max() < 1e-9
    shift = 0.5 * np.outer(fallen.t**2, [0.3, -2.0, -9.81])
    assert np.abs(fallen.q[:, 4:] - free.q[:, 4:] - shift).max() < 1e-8
    E = sum(fallen.energy())
    assert np.abs(E - E[0]).max() < 1e-8 * np.ptp(fallen.energy()[0])


def test_slopes_are_derivatives():
    flexible = FlexibleBody("hub", Modes.beam(10.0, 20.0, 1000.0, 2, root=1.0))
    eta = np.array([0.5, 0.02, -0.3, 0.01])
    assert flexible.modes.pull.any() and flexible.modes.spin.any()
    for k, e in enumerate(np.eye(4)):
        G, L = flexible.slope(k, eta)
        assert np.abs(derivative(lambda x, e=e: flexible.change(eta + x * e)) - G).max() < 1e-11
        assert np.abs(derivative(lambda x, e=e: flexible.coupling(eta + x * e)) - L).max() < 1e-12


def test_hub_and_panels_have_the_exact_frequencies():
    """Of two panels on a hub, by eight modes each in z: the transcendental equation's to a millionth."""
    n, w = 8, Modes.beam(10.0, 20.0, 1000.0, 8, root=1.0)
    z = slice(n, 2 * n)
    I = 200.0 + 2.0 * ROD[1, 1]
    b = w.S2[1, z]                                                              # turning about y
    M = scipy.linalg.block_diag(I, np.eye(2 * n))
    M[0, 1:] = M[1:, 0] = np.concatenate([b, b])
    K = scipy.linalg.block_diag(0.0, w.stiffness[z, z], w.stiffness[z, z])
    found = np.sqrt(np.maximum(scipy.linalg.eigh(K, M, eigvals_only=True), 0.0))
    assert min(np.abs(found / values("HUB")[0] - 1.0)) < 1e-6


def test_matrices_of_craig_and_bampton_are_the_same_modes():
    """Of the beam's own: to the first order in the motion it swings as the beam does, and the inertia is the rod's."""
    beam = Modes.beam(10.0, 20.0, 1000.0, 2, root=1.0)
    L = np.concatenate([beam.S2, beam.S0])
    M, K = np.block([[ROD, L], [L.T, np.eye(4)]]), scipy.linalg.block_diag(np.zeros((6, 6)), beam.stiffness)
    modes, G = Modes.from_craig_bampton(M, K, damping=0.01)
    assert np.abs(G - ROD).max() < 1e-12
    assert (modes.S0 == beam.S0).all() and (modes.S2 == beam.S2).all()
    assert modes.damping == pytest.approx(Modes.beam(10.0, 20.0, 1000.0, 2, damping=0.01).damping, abs=1e-12)
    M[0, 0] += 1.0
    M[3, 3] += 0.1
    with pytest.raises(SimulationError, match="differs from a rigid body's inertia"):
        Modes.from_craig_bampton(M, K)
    with pytest.raises(SimulationError, match="have the shapes"):
        Modes.from_craig_bampton(M, K[:8, :8])


def test_turning_stiffens_a_beam():
    """Flap: ω² + (1.193336 + 1.570878 r/l) Ω²; in its plane Ω² less, by D."""
    for root in (0.0, 3.0):
        assert Modes.beam(2.0, 5.0, 7.0, 1, root=root).spin[0, 0] == pytest.approx(1.193336374108 + 1.570878189994 * root / 2.0, rel=1e-10)
    D = Modes.beam(2.0, 5.0, 7.0, 1).D
    assert D[0, 0, 2, 2] == pytest.approx(1.0)                                  # ½ ω_z² D softens what bends in y
    assert D[1, 1, 2, 2] == pytest.approx(0.0)


def test_plain_is_compiled_and_batches_begin_with_their_own_momenta():
    simulator = winged()
    one, plain = simulator.run([1, 0, 0, 0, 0, 0, 0], V0, 0.1), winged(compiled=False).run([1, 0, 0, 0, 0, 0, 0], V0, 0.1)
    assert np.abs(one("panel.state") - plain("panel.state")).max() < 1e-11
    both = simulator.run([1, 0, 0, 0, 0, 0, 0], np.array([np.zeros(6), V0]), 0.1)
    assert (both("panel.state")[1] == one("panel.state")).all()
    assert both("panel.rate")[0, 0] == pytest.approx([0.1, 0.0, 0.05, 0.0], abs=1e-14)
    assert both("panel.rate")[1, 0] == pytest.approx([0.1, 0.0, 0.05, 0.0], abs=1e-12)


@pytest.mark.parametrize(("what", "text"), [
    (lambda: Modes(-np.eye(1), np.zeros((3, 1)), np.zeros((3, 1)), np.zeros((1, 1, 3)), np.zeros((1, 3, 3))), "stiffness is not symmetric"),
    (lambda: Modes(np.eye(1), np.zeros((3, 2)), np.zeros((3, 1)), np.zeros((1, 1, 3)), np.zeros((1, 3, 3))), "S0 has shape"),
    (lambda: Modes.beam(1.0, 1.0, 0.0, 1), "EI is 0.0"),
    (lambda: Modes.beam(1.0, 1.0, 1.0, 1, order="third"), "order"),
    (lambda: FlexibleBody("hub", 3.0), "expected an engine.space.Modes"),
    (lambda: FlexibleBody("hub", Modes.beam(1.0, 1.0, 1.0, 1), [0.0]), "expected η and η̇"),
])  # fmt: skip
def test_what_does_not_bend_is_refused(what, text):
    with pytest.raises(SimulationError, match=text):
        what()


def test_modes_that_carry_more_than_the_link_are_refused():
    builder = engine.Builder("light")
    builder.add_link("hub", inertia=inertia.sphere(1.0, 0.1))
    with pytest.raises(SimulationError, match="carry more than 'hub' weighs"):
        engine.Simulator(builder.model(floating_base=True), gravity=(0, 0, 0), forces=[FlexibleBody("hub", Modes.beam(10.0, 20.0, 1e3, 2))])
