"""A link that bends beside others: it collides, holds, is welded; momentum, energy, one body instead, and what its end carries."""

import numpy as np
import pytest

import engine
from engine import ops
from engine.components.actuators import ReactionWheels
from engine.space import FlexibleBody, Modes
from engine.spatial import inertia, se3

ROD = inertia.transformed(se3.pose(np.eye(3), [3.5, 0, 0]), inertia.from_mass(5.0, np.zeros(3), np.diag([0.0, 15.0, 15.0])))
HUB = inertia.from_mass(40.0, np.array([0.05, 0.0, 0.02]), np.diag([8.0, 12.0, 20.0])) + ROD
BALL = inertia.from_mass(10.0, np.zeros(3), np.diag([1.0, 1.0, 1.0]))
PLACE, TURN = np.array([-0.2, 1.5, 0.1]), np.array([0.1, 0.05, 0.2])
CONTACT = {"contacts": engine.Contacts(material=engine.ContactMaterial(friction=0.3))}
GRIP = {"constraints": [engine.Grip("s/hub", "t/ball")],
        "controller": lambda t, q, v: {"grip": ops.where(ops.logical_and(t > 0.5, t < 3.0), 1.0, 0.0)}}  # fmt: skip
WELD = {"constraints": [engine.Weld("s/hub", "t/ball", se3.pose(np.eye(3), PLACE))]}


def boom(link):
    return FlexibleBody(link, Modes.beam(6.0, 5.0, 300.0, 2, root=0.5), [[0.1, 0, -0.1, 0], [0] * 4], name="boom")


def pair(dt=0.02, wheels=False, **more):
    """A hub with a boom, and a ball that comes towards it, or moves with it where it is welded."""
    hub, ball = engine.Builder("s"), engine.Builder("t")
    hub.add_link("hub", inertia=HUB, collisions=[engine.Geometry("box", (1.0, 1.0, 1.0))])
    ball.add_link("ball", inertia=BALL, collisions=[engine.Geometry("sphere", (0.3,))])
    model = engine.combine(s=hub.model(floating_base=True), t=ball.model(floating_base=True))
    on = [ReactionWheels("s/hub", initial=[3.0, -2.0, 1.0])] if wheels else []
    simulator = engine.Simulator(model, dt=dt, gravity=(0, 0, 0), forces=[boom("s/hub")], actuators=on, **more)
    q, v = model.neutral(), np.zeros(model.nv)
    q[-3:], v[:3], v[-3:] = PLACE, TURN, [0.0, -0.5, 0.0]
    if more.get("constraints") == WELD["constraints"]:
        v[6:] = np.concatenate([TURN, np.cross(TURN, PLACE)])
    return simulator, q, v


@pytest.mark.parametrize(("more", "wheels"), [(CONTACT, False), (GRIP, False), (GRIP | CONTACT, True), (WELD, False)],
                         ids=["contact", "grip", "grip, contact, wheels", "weld"])  # fmt: skip
def test_momentum_is_kept_and_energy_never_rises(more, wheels):
    simulator, q, v = pair(0.005, wheels, **more)                                # ten steps of a bounce: with five, rigid ones rise too
    run = simulator.run(q, v, 5.0, record_every=1)
    P, E = run.momentum() + run("boom.momentum"), sum(run.energy())
    assert np.abs(P - P[0]).max() < 1e-12 * np.abs(P).max()
    assert np.diff(E).max() < 1e-6 * E[0]                                        # of the method's order
    assert not run.warnings
    if more is not WELD:
        assert E[-1] < 0.96 * E[0]                                               # it did meet


def test_welded_it_is_one_body():
    """η and the motion are those of a hub that has the ball's inertia, to rounding."""
    builder = engine.Builder("one")
    builder.add_link("hub", inertia=HUB + inertia.transformed(se3.pose(np.eye(3), PLACE), BALL))
    simulator, q, v = pair(**WELD)
    two = simulator.run(q, v, 5.0, record_every=50)
    alone = engine.Simulator(builder.model(floating_base=True), dt=0.02, gravity=(0, 0, 0), forces=[boom("hub")])
    one = alone.run(q[:7], v[:6], 5.0, record_every=50)
    assert np.abs(two("boom.eta") - one("boom.eta")).max() < 1e-13
    assert np.abs(two.q[:, :7] - one.q).max() < 1e-13


def test_plain_is_compiled():
    for more in (GRIP | CONTACT, WELD):
        a, b = (s.run(q, v, 0.1) for s, q, v in (pair(**more), pair(compiled=False, **more)))
        assert np.abs(a.q - b.q).max() < 1e-12
        assert np.abs(a("boom.state") - b("boom.state")).max() < 1e-11


# ---------------------------------------------------------------- what its end carries

TIP = inertia.from_mass(2.0, np.array([0.3, 0.0, 0.0]), np.diag([0.02, 0.05, 0.05]))


def laden(n, **more):
    """A hub with a boom, of n modes in a plane, that carries a body on its end."""
    modes = Modes.beam(6.0, 5.0, 300.0, n, root=0.5, **more).with_tip(TIP)
    return modes, HUB + inertia.transformed(se3.pose(np.eye(3), [6.5, 0, 0]), TIP)


def test_a_body_on_its_end_is_that_on_a_link_there():
    """The mass matrix and the frequencies of hub, boom and tip are those of modes as points with a link at their end, in its plane."""
    n = 3
    modes, G = laden(n)
    builder = engine.Builder("points")
    builder.add_link("hub", inertia=HUB - ROD)
    place = se3.pose(np.eye(3), [0.5, 0, 0])
    springs = engine.space.add_modes(builder, "hub", 6.0, 5.0, 300.0, n, placement=place, tip="end")
    builder.add_link("antenna", inertia=TIP)
    builder.add_joint("mast", "fixed", "end", "antenna")
    points = builder.model(floating_base=True)
    whole = engine.dynamics.crba(points, points.neutral())
    z = slice(n, 2 * n)
    L = np.concatenate([modes.S2, modes.S0])[:, z]
    own = np.block([[G, L], [L.T, modes.mass[z, z]]])
    a = np.sqrt(5.0) * np.array([m.a for m in engine.space.beam_modes(n)])          # a point's way is η/a
    scale = np.concatenate([np.ones(6), 1.0 / a])
    assert np.abs(own - scale[:, None] * whole * scale).max() < 1e-10 * np.abs(own).max()
    K = np.diag([s.stiffness for s in springs]) / np.outer(a, a)
    assert np.abs(K - modes.stiffness[z, z]).max() < 1e-10 * K.max()


def test_it_swings_as_a_chain_with_a_body_on_its_end():
    """First frequency of a boom that is held and carries half its own mass, drawn along itself and not, by 40 hinges: to a thousandth."""
    from scipy.linalg import eigh

    from tests.numeric import derivative

    mass = inertia.from_mass(2.5, np.zeros(3), np.zeros((3, 3)))
    modes, n = Modes.beam(6.0, 5.0, 300.0, 6).with_tip(mass), 6
    builder = engine.Builder("chain")
    builder.add_link("base")
    springs = engine.space.add_chain(builder, "base", 6.0, 5.0, 300.0, 40)
    builder.add_link("end", inertia=mass)
    builder.add_joint("end joint", "fixed", "beam 40", "end", se3.pose(np.eye(3), [6.0 / 80, 0, 0]))
    model = builder.model()
    M, K, rest = engine.dynamics.crba(model, model.neutral()), np.diag([s.stiffness for s in springs]), np.zeros(40)
    weight = np.array([derivative(lambda x, e=e: engine.dynamics.rnea(model, x * e, rest, rest, (1, 0, 0))) for e in np.eye(40)])
    z = slice(n, 2 * n)
    first = lambda K, M: np.sqrt(eigh(0.5 * (K + K.T), M, eigvals_only=True)[0])
    for g in (0.0, 0.3, -0.05):
        own = first(modes.stiffness[z, z] + g * modes.pull[z, z], modes.mass[z, z])
        assert own == pytest.approx(first(K + g * weight, M), rel=1e-3)


def test_what_it_carries_keeps_momentum_and_energy():
    modes, G = laden(2)
    builder = engine.Builder("sat")
    builder.add_link("hub", inertia=G)
    flexible = FlexibleBody("hub", modes, [[0.3, 0.02, -0.2, 0.01], [0.1, 0, 0.05, 0]], name="boom")
    simulator = engine.Simulator(builder.model(floating_base=True), dt=0.0025, gravity=(0, 0, 0), integrator="rkmk5", forces=[flexible])
    run = simulator.run([1, 0, 0, 0, 0, 0, 0], [*TURN, 0.1, -0.05, 0.02], 10.0, record_every=400)
    P, E = run.momentum() + run("boom.momentum"), sum(run.energy())
    assert np.abs(P - P[0]).max() < 2e-13 * np.abs(P).max()
    assert np.abs(E - E[0]).max() < 1e-10 * E[0]


def test_no_tip_is_refused():
    for modes, G in ((Modes.beam(1.0, 1.0, 1.0, 1), np.eye(5)), (Modes.from_craig_bampton(np.eye(7), np.eye(7))[0], TIP)):
        with pytest.raises(engine.EngineError, match="a tip wants the inertia"):
            modes.with_tip(G)
