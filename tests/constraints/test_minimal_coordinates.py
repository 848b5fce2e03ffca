"""Mechanisms whose equations are short in as many coordinates as they have freedoms, solved by scipy."""

import numpy as np
from scipy.integrate import solve_ivp

import engine
from engine.spatial import inertia, se3, so3
from tests.constraints.mechanisms import X, Y, Z, at, rod

G = 9.81


def peer(mass, potential, start, duration, turning=None):
    """x and ẋ at the end of m(x) ẍ + ½ m'(x) ẋ² + U'(x) = 0, m' and U' by complex steps; with ``turning`` also its integral."""
    change = lambda f, x: f(x + 1e-40j).imag / 1e-40

    def field(t, y):
        rate = -(0.5 * change(mass, y[0]) * y[1] ** 2 + change(potential, y[0])) / mass(y[0])
        return [y[1], rate] + ([turning(y[0])] if turning else [])

    return solve_ivp(field, (0, duration), [*start, *([0.0] if turning else [])], method="DOP853", rtol=1e-13, atol=1e-13).y[:, -1]


def test_a_spatial_slider_crank():
    """A crank about x through (0, 0.10, 0.12), a slider on the x axis, a rod between balls: one angle θ, as its spin stays nought.

    Of the rod's ends P and S, its centre has half the sum of their velocities, and |ω| = |u̇| of u = (S − P)/l, which is normal to u̇.
    """
    r, l, pivot = 0.08, 0.30, np.array([0.0, 0.10, 0.12])
    crank, slider, mass, J_axial, J = 0.12, 2.0, 0.5, 4e-4, 4e-3
    builder = engine.Builder("spatial slider-crank")
    builder.add_link("ground"), builder.add_link("slider", inertia.sphere(slider, 0.02))
    builder.add_link("crank", inertia.from_mass(crank, [0, 0.5 * r, 0], np.diag([1e-4, 1e-5, 1e-4])))
    builder.add_link("rod", inertia.from_mass(mass, [0.5 * l, 0, 0], np.diag([J_axial, J, J])))
    builder.add_joint("crank", "revolute", "ground", "crank", at(*pivot), axis=X)
    builder.add_joint("rod", "spherical", "crank", "rod", at(0, r, 0))
    builder.add_joint("slider", "prismatic", "ground", "slider", axis=X)
    model, loop = builder.model(), [engine.Ball("rod", "slider", point_a=(l, 0, 0))]

    def ends(a):
        P = pivot + r * np.array([0.0 * a, np.cos(a), np.sin(a)])
        return P, np.array([np.sqrt(l * l - P[1] ** 2 - P[2] ** 2), 0.0 * a, 0.0 * a])

    def rates(a):
        (P, S), dP = ends(a), r * np.array([0.0 * a, -np.sin(a), np.cos(a)])
        return dP, np.array([-(P[1] * dP[1] + P[2] * dP[2]) / S[0], 0.0 * a, 0.0 * a])

    def inertia_of(a):
        dP, dS = rates(a)
        du, dc = (dS - dP) / l, 0.5 * (dP + dS)
        return 1e-4 + crank * 0.25 * r * r + mass * (dc @ dc) + J * (du @ du) + slider * (dS @ dS)

    height = lambda a: G * (crank * (pivot[2] + 0.5 * r * np.sin(a)) + 0.5 * mass * ends(a)[0][2])
    a, rate = 0.4, 6.0
    (P, S), (dP, dS) = ends(a), rates(a)
    q0 = assembled(model, loop, a, P, S)
    turn = np.cross(S - P, dS - dP) / l**2 * rate                               # ω of the rod in the world, without spin
    T = engine.dynamics.forward_kinematics(model, q0)
    R_crank, R_rod = (T[model.link_index(n)][:3, :3] for n in ("crank", "rod"))
    v0 = np.zeros(model.nv)
    v0[model.v_slice("crank")], v0[model.v_slice("slider")] = rate, dS[0] * rate
    v0[model.v_slice("rod")] = R_rod.T @ (turn - R_crank @ [rate, 0, 0])
    run = engine.Simulator(model, integrator="rkmk5", dt=5e-4, constraints=loop).run(q0, v0, 2.0, record_every=100)
    angle, speed = peer(inertia_of, height, (a, rate), 2.0)
    turned, slid = run.q[:, model.q_slice("crank").start], run.q[-1, model.q_slice("slider")][0]
    assert np.ptp(turned) > 4.0 and abs(turned[-1] - angle) < 1e-10 and abs(run.v[-1, model.v_slice("crank")][0] - speed) < 1e-9
    assert abs(slid - ends(angle)[1][0]) < 1e-10
    assert np.abs(run("constraints.error")).max() < 1e-12


def assembled(model, loop, a, P, S):
    """q with the crank at a and the rod from P to S, by inverse kinematics with the loop."""
    found = engine.inverse_kinematics(model, {"crank": so3.exp(np.array([a, 0.0, 0.0])), "slider": S}, constraints=loop)
    assert found.converged
    T = engine.dynamics.forward_kinematics(model, found.q)[model.link_index("rod")]
    assert np.abs(T[:3, 3] - P).max() < 1e-9 and np.abs(T[:3, :3] @ X - (S - P) / np.linalg.norm(S - P)).max() < 1e-8
    return found.q


def test_a_flyball_governor():
    """Two arms with balls, two rods and a collar on a spindle that turns freely: its angle φ, and α of the arms from the spindle.

    M_φ(α) φ̇ is constant, and α moves by m(α) α̈ + ½ m' α̇² + (V + p²/2M_φ)' = 0.
    """
    l, arm, link, ball, radius, collar, size, spindle = 0.3, 0.4, 0.3, 1.0, 0.05, 1.5, 0.06, 0.02
    builder = engine.Builder("governor")
    builder.add_link("ground"), builder.add_link("spindle", inertia.from_mass(1.0, np.zeros(3), spindle * np.eye(3)))
    builder.add_link("collar", inertia.sphere(collar, size))
    builder.add_joint("spindle", "revolute", "ground", "spindle", axis=Z)
    builder.add_joint("collar", "prismatic", "spindle", "collar", axis=Z)
    loops = []
    for k, turn in enumerate((0.0, np.pi)):
        builder.add_link(f"arm{k}", rod(arm, l)), builder.add_link(f"ball{k}", inertia.sphere(ball, radius))
        builder.add_link(f"rod{k}", rod(link, l))
        builder.add_joint(f"arm{k}", "revolute", "spindle", f"arm{k}", se3.pose(so3.exp(np.array([0, 0, turn])), np.zeros(3)), axis=Y)
        builder.add_joint(f"ball{k}", "fixed", f"arm{k}", f"ball{k}", at(l, 0, 0))
        builder.add_joint(f"rod{k}", "revolute", f"arm{k}", f"rod{k}", at(l, 0, 0), axis=Y)
        loops.append(engine.Hinge(f"rod{k}", "collar", (l, 0, 0), axis_a=Y, axis_b=(0.0, np.cos(turn), 0.0)))
    model = builder.model()

    I_ball = 0.4 * ball * radius**2
    around = lambda a: spindle + 0.4 * collar * size**2 + 2 * I_ball + 2 * (arm / 3 + ball + link / 3) * (l * np.sin(a)) ** 2
    along = lambda a: (2 * ((arm / 3 + ball + link / 12 + link * (0.25 * np.cos(a) ** 2 + 2.25 * np.sin(a) ** 2)) * l * l + I_ball)
                       + collar * (2 * l * np.sin(a)) ** 2)  # fmt: skip
    weight = lambda a: -G * l * np.cos(a) * (arm + 2 * ball + 3 * link + 2 * collar)
    a, rate, duration = 0.6, 12.0, 3.0
    p = around(a) * rate
    q0, v0 = np.zeros(model.nq), np.zeros(model.nv)
    v0[model.v_slice("spindle")] = rate
    q0[model.q_slice("collar")] = -2 * l * np.cos(a)
    for k in (0, 1):
        q0[model.q_slice(f"arm{k}")], q0[model.q_slice(f"rod{k}")] = 0.5 * np.pi - a, 2 * a
    simulator = engine.Simulator(model, integrator="rkmk5", dt=5e-4, constraints=loops)
    assert "(10 rows, 6 redundancies)" in repr(simulator)
    run = simulator.run(q0, v0, duration, record_every=100)
    end, _, turned = peer(along, lambda x: weight(x) + 0.5 * p * p / around(x), (a, 0.0), duration, lambda x: p / around(x))
    arms = run.q[:, [model.q_slice(f"arm{k}").start for k in (0, 1)]]
    assert np.ptp(arms[:, 0]) > 0.1 and np.abs(arms[:, 0] - arms[:, 1]).max() < 1e-9
    assert abs(0.5 * np.pi - arms[-1, 0] - end) < 1e-11 and abs(run.q[-1, model.q_slice("spindle")][0] - turned) < 1e-11
    assert np.abs(run("constraints.error")).max() < 1e-12 and np.ptp(sum(run.energy())) < 1e-8
