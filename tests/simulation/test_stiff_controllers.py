"""Ten stiff controllers and forces as people write them, at steps of 2 ms, beside SciPy's Radau of the same equations in closed form."""

import warnings

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import engine
from engine.simulation.halving import FINE
from engine.spatial import inertia, se3

G, I, SLIDER = 9.81, 0.3 * 0.2**2 / 3.0, 0.5                                   # m/s²; kg·m² of the rod, kg of the cart
M1, L1, LC, I1 = 1.0, 0.3, 0.15, 1.0 * 0.3**2 / 12.0                           # of both links of the arm


def one_joint(kind="revolute"):
    """A rod of 0.3 kg on a hinge, or a cart of 0.5 kg on a rail."""
    arm = engine.Builder("one")
    rod = inertia.from_mass(0.3, [0.0, 0.0, 0.1], np.diag([0.3 * 0.2**2 / 12.0] * 3))
    arm.add_link("base"), arm.add_link("link", inertia=rod if kind == "revolute" else inertia.sphere(SLIDER, 0.05))
    arm.add_joint("j", kind, "base", "link", axis=[0, 1, 0] if kind == "revolute" else [1, 0, 0])
    return arm.model()


def two_joints():
    """An arm of two rods, upright at zero."""
    arm = engine.Builder("arm")
    arm.add_link("base")
    for k, (parent, name) in enumerate((("base", "upper"), ("upper", "lower"))):
        arm.add_link(name, inertia=inertia.from_mass(M1, [0.0, 0.0, LC], I1 * np.eye(3)))
        arm.add_joint(name, "revolute", parent, name, axis=[0, 1, 0], placement=se3.pose(np.eye(3), [0, 0, k * L1]))
    return arm.model()


def of_two(q, v):
    """M and what else the arm's joints need, in closed form."""
    c, s = np.cos(q[1]), np.sin(q[1])
    m12 = I1 + M1 * (LC**2 + L1 * LC * c)
    M = np.array([[2.0 * I1 + M1 * (2.0 * LC**2 + L1**2 + 2.0 * L1 * LC * c), m12], [m12, I1 + M1 * LC**2]])
    turned = M1 * L1 * LC * s * np.array([-v[1] * (2.0 * v[0] + v[1]), v[0] ** 2])
    far = LC * np.sin(q[0] + q[1])
    return M, turned - M1 * G * np.array([(LC + L1) * np.sin(q[0]) + far, far])


def truth(t, law, q, v, state, mass):
    """q (T, n) by Radau, of mass (a number) or of the arm's equations."""
    n = len(q)

    def field(t, y):
        q, v, z = y[:n], y[n : 2 * n], y[2 * n :]
        tau, rate = law(t, q, v, z) if len(z) else (law(t, q, v), z)
        if mass:
            return np.concatenate([v, tau / mass, rate])
        M, h = of_two(q, v)
        return np.concatenate([v, np.linalg.solve(M, tau - h)])

    found = solve_ivp(field, (0.0, t[-1]), np.concatenate([q, v, state]), "Radau", t, rtol=1e-5, atol=1e-8)
    return found.y[:n].T


# ---------------------------------------------------------------- what people write


def pd(t, q, v):
    return 5000.0 * (0.1 * np.sin(5.0 * t) - q) - 200.0 * v


def sliding_mode(t, q, v):
    """With a boundary layer of 0.01 rad/s."""
    s = v - 0.9 * np.sin(3.0 * t) + 20.0 * (q - 0.3 * (1.0 - np.cos(3.0 * t)))
    return -0.2 * np.clip(s / 0.01, -1.0, 1.0)


def smooth_sliding_mode(t, q, v):
    return -0.2 * np.tanh((v + 10.0 * (q - 0.3 * np.sin(2.0 * t))) / 0.01)


def impedance_against_a_wall(t, q, v):
    wall = np.where(q > 0.2, -2e5 * (q - 0.2) - 500.0 * v, 0.0)
    return 400.0 * (0.25 * np.sin(3.0 * t) - q) - 40.0 * v + wall


def admittance(t, q, v, state):
    """Mass, damper and spring that a hand pushes, followed by a stiff position loop."""
    x, u = state[:1], state[1:]
    follow = 8000.0 * (x - q) + 150.0 * (u - v)
    return follow, np.concatenate([u, (6.0 * np.sin(5.0 * t) - 20.0 * u - 50.0 * x) / 2.0])


def cascade(t, q, v, state):
    """A position loop, and within it a speed loop with an integrator."""
    error = 30.0 * (0.2 * (1.0 - np.cos(4.0 * t)) - q) - v
    return 60.0 * error + 900.0 * state, error


def computed_torque(t, q, v):
    r, dr, ddr = np.array([[0.5, 0.3], [1.0, 0.6], [-2.0, -1.2]]) * [[np.sin(2.0 * t)], [np.cos(2.0 * t)], [np.sin(2.0 * t)]]
    M, h = of_two(q, v)
    return M @ (ddr + 1e5 * (r - q) + 2e3 * (dr - v)) + h


def task_space_spring(t, q, v):
    a, b = q[0], q[0] + q[1]
    x = L1 * np.array([np.sin(a) + np.sin(b), np.cos(a) + np.cos(b)])
    J = L1 * np.array([[np.cos(a) + np.cos(b), np.cos(b)], [-np.sin(a) - np.sin(b), -np.sin(b)]])
    return J.T @ (1e5 * (np.array([0.4 + 0.05 * np.sin(4.0 * t), 0.3]) - x) - 3000.0 * (J @ v))


def cable(t, q, v):
    """One that only pulls, and a winch against it."""
    return 25.0 * np.sin(3.0 * t) - 50.0 * v - np.maximum(3e5 * (q - 0.17) + 600.0 * v, 0.0) * (q > 0.17)


def saturated_pd(t, q, v):
    return np.clip(400.0 * (0.8 - q) - 40.0 * v, -0.2, 0.2)


def thick_fluid(t, q, v):
    return 0.5 * np.sin(6.0 * t) - 20.0 * v * np.abs(v)


def velocity_servo(t, q, v):
    return 300.0 * (np.sin(4.0 * t) - v)


def soft_start(t, q, v):
    """Its gains are raised at the beginning, from nothing."""
    return np.minimum(t / 0.2, 1.0) * (5000.0 * (0.1 * np.sin(5.0 * t) - q) - 200.0 * v)


START = np.array([np.arctan2(0.4, 0.3) - np.arccos(0.5 / (2.0 * L1)), 2.0 * np.arccos(0.5 / (2.0 * L1))])   # where the spring is at rest
HINGE, RAIL, ARM = ("revolute", I), ("prismatic", SLIDER), (None, None)
CASES = [(pd, HINGE), (sliding_mode, HINGE), (smooth_sliding_mode, HINGE), (impedance_against_a_wall, RAIL), (admittance, HINGE, 2),
         (cascade, HINGE, 1), (computed_torque, ARM), (task_space_spring, ARM), (cable, RAIL), (saturated_pd, HINGE),
         (thick_fluid, HINGE), (velocity_servo, HINGE), (soft_start, HINGE)]  # fmt: skip


def simulated(law, kind, states=0, **options):
    model = one_joint(kind) if kind else two_joints()
    controller = engine.Law(law, state=np.zeros(states)) if states else law
    return engine.Simulator(model, dt=2e-3, controller=controller, gravity=(0.0, 0.0, 0.0 if kind else -G), **options)


@pytest.mark.parametrize(("law", "plant", "states"), [(law, plant, *(states or [0])) for law, plant, *states in CASES])
def test_a_stiff_law_as_it_is_written(law, plant, states):
    """To 1e-3 of the motion's size, all the way."""
    kind, mass = plant
    q, v = (np.zeros(1), np.zeros(1)) if kind else (np.zeros(2), np.array([1.0, 0.6])) if law is computed_torque else (START, np.zeros(2))
    simulator = simulated(law, kind, states)
    run = simulator.run(q, v, 0.6)
    assert simulator.method.name == "ros34pw2" and "stiff: drive" in repr(simulator)
    exact = truth(run.t, law, q, v, np.zeros(states), mass)
    off = np.abs(run.q - exact).max(axis=1) / np.ptp(exact, axis=0).max()
    assert off.max() < 1e-3


def test_a_steep_place_is_found_as_it_is_by_machine_code_and_on_floats():
    for compiled in (True, False):
        simulator = simulated(sliding_mode, "revolute", compiled=compiled)
        assert simulator.method.name == "ros34pw2" and "stiff: drive, up to 4." in repr(simulator)   # (0.2/0.01)/I = 5e3/s


@pytest.mark.parametrize("switch", [0.1, 0.1007])
def test_a_gain_that_is_switched_on(switch):
    """Within a step, or at its beginning, which counts as a step's length of time: of 25/s, 5e-2."""

    def law(t, q, v):
        return np.where(t > switch, 5000.0 * (0.1 - q) - 200.0 * v, 0.5 * np.cos(20.0 * t))

    run = simulated(law, "revolute").run(np.zeros(1), np.zeros(1), 0.3)
    exact = solve_ivp(lambda t, y: [y[1], law(t, y[0], y[1]) / I], (0.0, 0.3), [0.0, 0.0], "Radau", run.t, rtol=1e-5, max_step=2e-3).y[0]
    assert np.abs(run.q[:, 0] - exact).max() < 5e-2 * np.ptp(exact)


def lossless_wall(t, q, v):
    return -1e6 * np.maximum(q - 0.1, 0.0)


def hardening(t, q, v):
    return -1e6 * q * q * q


@pytest.mark.parametrize("law", [lossless_wall, hardening])
def test_what_steps_damp_away_of_oscillations_is_named_where_slopes_vary(law):
    """As a cart comes back from a wall at a tenth of its speed."""
    with pytest.warns(engine.SimulationWarning, match=r"oscillates at .* rad/s by the forces at 'j', which steps of 0.002 s damp away"):
        simulated(law, "prismatic")


def barrier(t, q, v):
    return -np.exp((q - 0.1) / 0.002)


def test_a_law_that_overflows_where_it_is_looked_at_says_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        simulated(barrier, "revolute")


def wide(t, q, v):
    return np.clip(0.05 * (0.5 - q) - 1e-3 * v, -0.01, 0.01) - 1e-3 * np.tanh(v)


def beside_a_pole(t, q, v):
    """As of laws that have singular postures."""
    return -1e-2 * v - 1e-2 / (q - 0.7)


def behind_a_wall(t, q, v):
    return -0.1 * q - 1e-3 * v + np.where(q > 4.0, -1e6 * (q - 4.0), 0.0)      # beyond all that is looked at


@pytest.mark.parametrize("law", [wide, beside_a_pole, behind_a_wall])
def test_laws_that_bend_and_are_not_stiff_are_flown_as_they_were(law):
    assert simulated(law, "revolute").method.name == "cg4"


def test_a_law_may_refuse_to_be_implicit_or_ask_for_it():
    assert simulated(engine.Law(sliding_mode, stiff=False), "revolute").method.name == "cg4"
    assert simulated(engine.Law(behind_a_wall, stiff=True), "revolute").method.name == "ros34pw2"
    held = engine.Law(lambda t, q, v: np.clip(-v, -0.1, 0.1), stiff=True)      # no slope but at rest
    assert "stiff: drive" in repr(simulated(held, "revolute"))


def test_a_step_into_what_is_steep_is_the_same_on_floats():
    """Slopes are differences there, which across a bend are others: parts of a step are to their estimated errors the same."""
    ends = [simulated(cable, "prismatic", compiled=c).run([0.1695], [0.2], 0.02) for c in (True, False)]
    assert ends[0].q.max() > 0.17
    np.testing.assert_allclose(ends[0].q, ends[1].q, rtol=0, atol=FINE[0])
