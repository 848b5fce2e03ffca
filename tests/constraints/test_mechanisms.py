"""Mechanisms with known answers: the four-bars, Andrews' squeezer and Bricard's six-bar of the field's test sets, and a slider-crank."""

import numpy as np
import pytest

import engine
from tests.constraints.mechanisms import ANDREWS_END, bricard, four_bars, slider_crank, squeezer, upright

FOUR_BARS = {(1, 10): (0.478385057761, 0.878150178791), (2, 10): (0.328458111543, 0.944518538178),
             (2, 20): (0.839746574338, 0.542978536305), (40, 10): (0.180512226685, 0.983572740583)}  # fmt: skip


def crank(trajectory):
    """Where the first crank's end is."""
    return np.array([np.cos(trajectory.q[-1, 0]), np.sin(trajectory.q[-1, 0])])


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("integrator", ["cg4", "rk4", "rkmk5"])
def test_four_bars_pass_through_postures_in_which_all_is_in_line(n, integrator):
    """IFToMM's benchmark A02: the crank passes 0 and π, where the loops do not say how it goes on, and its branch does."""
    model, loops = four_bars(n)
    run = engine.Simulator(model, integrator=integrator, constraints=loops).run(*upright(model), 10 * n, record_every=100)
    for duration in range(10, 10 * n + 1, 10):
        assert np.abs(crank(run[: 10 * duration + 1]) - FOUR_BARS[n, duration]).max() < 1e-8
    assert np.abs(run("constraints.error")).max() < 1e-12
    assert np.ptp(sum(run.energy())) < 1e-8


def test_forty_four_bars():
    model, loops = four_bars(40)
    run = engine.Simulator(model, integrator="rk4", constraints=loops).run(*upright(model), 10.0, record_every=1000)
    assert np.abs(crank(run) - FOUR_BARS[40, 10]).max() < 1e-6
    assert np.abs(run("constraints.error")).max() < 1e-12


def test_bricards_six_bar_moves_though_it_has_as_many_conditions_as_freedoms():
    """IFToMM's benchmark A04."""
    model, loops = bricard()
    simulator = engine.Simulator(model, gravity=(0, -9.81, 0), constraints=loops)
    assert "(5 rows, one redundancy)" in repr(simulator)
    run = simulator.run(np.zeros(5), np.zeros(5), 10.0, record_every=10)
    assert np.ptp(run.q[:, 0]) > 3.0 and np.ptp(sum(run.energy())) < 1e-9
    assert np.abs(run("constraints.error")).max() < 1e-12 and np.abs(run("constraints.power")).max() < 1e-11


def test_andrews_squeezer():
    """IFToMM's benchmark A03, of the test set of initial value problems: accelerations and forces at the start, and where it ends."""
    model, loops, drive, q = squeezer()
    simulator = engine.Simulator(model, integrator="rkmk5", gravity=(0, 0, 0), forces=[drive], constraints=loops)
    start = simulator.start(q, np.zeros(7))
    assert np.abs(start.vdot[:2] - [14222.4439199541138705911625887, -10666.8329399655854029433719415]).max() < 1e-5
    c, s = np.cos(q[0]), np.sin(q[0])                                          # the second body's axes, in which forces are given
    force = start.signals["constraints.force"][2:4]
    assert np.abs([c * force[0] - s * force[1] - 98.5668703962410896, s * force[0] + c * force[1] + 6.12268834425566265]).max() < 1e-9
    end, _ = simulator.solve(q, np.zeros(7), 0.03, tolerance=1e-10)(0.03)
    assert np.abs(end[:2] - ANDREWS_END).max() < 1e-8


def test_a_slider_crank_without_gravity_keeps_its_energy_in_one_number():
    """K = ½ M(θ) θ̇² with M by the closed form of the block's place: x = r cos θ + √(l² − r² sin² θ)."""
    r, l = 0.3, 0.8
    model, loops = slider_crank(r, l)
    a, c = 0.4, np.arcsin(0.3 / 0.8 * np.sin(0.4))                            # the crank's and the rod's angle from the rail
    rates = np.array([1.0, -r * np.cos(a) / (l * np.cos(c))])                 # θ̇ and φ̇ of the rod, φ = −c
    run = engine.Simulator(model, dt=5e-4, gravity=(0, 0, 0), constraints=loops).run(
        [a, -c - a, c], 5.0 * np.array([1.0, rates[1] - 1.0, -rates[1]]), 2.0)  # fmt: skip
    angle, rate = run.q[:, 0], run.v[:, 0]
    phi = -np.arcsin(r / l * np.sin(angle))
    turn = -r * np.cos(angle) / (l * np.cos(phi))
    slide = -r * np.sin(angle) - l * np.sin(phi) * turn
    middle = np.array([-r * np.sin(angle) - 0.5 * l * np.sin(phi) * turn, r * np.cos(angle) + 0.5 * l * np.cos(phi) * turn])
    mass = r * r / 3 + 2.0 * (middle**2).sum(axis=0) + 2.0 * l * l / 12 * turn**2 + 3.0 * slide**2
    assert np.ptp(mass * rate**2) < 1e-9 * (mass * rate**2)[0] and np.ptp(angle) > 5.0
    assert np.abs(run.q.sum(axis=1)).max() < 1e-12                              # the block does not turn
    assert np.abs(run("constraints.power")).max() < 1e-12


@pytest.mark.parametrize(("integrator", "order"), [("cg3", 3), ("rk4", 4), ("rkmk4", 4), ("cf4", 4), ("cg4", 4)])
def test_methods_keep_their_order(integrator, order):
    model, loops = four_bars(2)
    q, v = upright(model, 1.2, 2.0)
    ends = [engine.Simulator(model, dt=dt, integrator=integrator, constraints=loops).run(q, v, 0.32, record_every=1000).q[-1]
            for dt in (0.02, 0.01, 1e-3)]  # fmt: skip
    errors = [np.abs(end - ends[-1]).max() for end in ends[:2]]
    assert order - 0.4 < np.log2(errors[0] / errors[1])
