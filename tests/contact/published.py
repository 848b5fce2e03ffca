"""Published motions of bodies that roll and slide: Whipple's bicycle, a tippe top, a ball on a turntable; and a bounce in closed form."""

import numpy as np
from scipy.optimize import brentq, fsolve

import engine
from engine import dynamics
from engine.model import Geometry
from engine.spatial import inertia, se3, so3
from tests.contact.scenes import UPRIGHT, ball, material, simulator
from tests.numeric import derivative

#: of the benchmark bicycle at 5 m/s: castering, weave, capsize (Meijaard, Papadopoulos, Ruina & Schwab, Proc. R. Soc. A 463, 2007, table 2)
WEAVE = -0.775341882195845 - 4.464867713788229j
BICYCLE = np.array([-14.078389692798216, WEAVE, np.conj(WEAVE), -0.322866429004087])
WHEELBASE, TRAIL, LEAN = 1.02, 0.08, np.pi / 10.0
WHEELS = (("rear wheel", 0.3), ("front wheel", 0.35))


def bicycle():
    """The benchmark's: x forwards, z down, from where the rear wheel stands."""
    builder = engine.Builder("bicycle")

    def part(name, m, place, xx, yy, zz, xz=0.0):
        builder.add_link(name, inertia=inertia.from_mass(m, np.array(place), np.array([[xx, 0, xz], [0, yy, 0], [xz, 0, zz]])))

    steering = WHEELBASE + TRAIL
    part("frame", 85.0, [0.3, 0.0, -0.9], 9.2, 11.0, 2.8, 2.4)
    part("fork", 4.0, [0.9 - steering, 0.0, -0.7], 0.05892, 0.06, 0.00708, -0.00756)
    part("rear wheel", 2.0, np.zeros(3), 0.0603, 0.12, 0.0603)
    part("front wheel", 3.0, np.zeros(3), 0.1405, 0.28, 0.1405)
    at = lambda *p: se3.pose(np.eye(3), p)
    builder.add_joint("steer", "continuous", "frame", "fork", at(steering, 0, 0), axis=(np.sin(LEAN), 0, np.cos(LEAN)))
    builder.add_joint("rear", "continuous", "frame", "rear wheel", at(0, 0, -0.3), axis=(0, 1, 0))
    builder.add_joint("front", "continuous", "fork", "front wheel", at(-TRAIL, 0, -0.35), axis=(0, 1, 0))
    return builder.model(floating_base=True)


def rolling(model, q):
    """Where both wheels are lowest (2), as depths, and the Jacobian (6, nv) of their matter there, at rest where they roll."""
    T, depths, rows = dynamics.forward_kinematics(model, q), [], []
    for name, radius in WHEELS:
        R, p = T[model.link_index(name)][:3, :3], T[model.link_index(name)][:3, 3]
        axle = R[:, 1]
        down = np.eye(3)[2] - axle[2] * axle
        arm = radius * down / np.linalg.norm(down)
        J = dynamics.jacobian(model, q, name)
        depths.append(p[2] + arm[2])
        rows.append(R @ (J[3:] - so3.hat(R.T @ arm) @ J[:3]))
    return np.array(depths), np.concatenate(rows)


def rolled(model, x, speed=5.0):
    """The accelerations of lean and steering of the bicycle that rolls, at x = (lean, steering, and their rates)."""
    lean, steer, *rates = x
    at = {name: model.v_slice(name).start for name in ("steer", "rear")}

    def placed(y):
        R = so3.exp(np.array([lean, 0, 0])) @ so3.exp(np.array([0, y[0], 0]))
        q = model.neutral()
        q[:4], q[6], q[model.q_slice("steer")] = engine.spatial.quaternion.from_matrix(R), y[1], steer
        return q

    q = placed(fsolve(lambda y: rolling(model, placed(y))[0], np.zeros(2), xtol=1e-14))
    J, chosen = rolling(model, q)[1], np.zeros((3, model.nv))
    chosen[0, 0] = chosen[1, at["steer"]] = chosen[2, at["rear"]] = 1.0
    v = np.linalg.solve(np.concatenate([J, chosen]), np.concatenate([np.zeros(6), rates, [-speed / 0.3]]))
    turning = derivative(lambda s: rolling(model, model.manifold.plus(q, 0.1 * s * v))[1] @ v) / 0.1
    M, h = dynamics.crba(model, q), dynamics.rnea(model, q, v, 0.0 * v, (0, 0, 9.81))
    found = np.linalg.solve(np.block([[M, -J.T], [J, np.zeros((6, 6))]]), np.concatenate([-h, -turning]))
    return found[[0, at["steer"]]]


def bicycle_eigenvalues():
    """Of its small motions at 5 m/s, by differences of the equations of motion."""
    model = bicycle()
    below = np.array([derivative(lambda s, e=e: rolled(model, 1e-2 * s * e)) / 1e-2 for e in np.eye(4)]).T
    found = np.linalg.eigvals(np.concatenate([np.eye(4)[2:], below]))
    return found[np.lexsort((found.imag, found.real))]


def tippe_top(dt=1e-4, duration=25.0):
    """A ball whose centre of mass is off its own spins on smooth ground, on which it slides, as rolling would ask for a friction of 0.03
    (where it rolls it stays up): its inclination at first and at last, rad, and how much of Jellett's constant, L·(centre of the ball's
    lowest point from that of mass), is lost, relative."""
    m, R, off = 0.02, 0.02, 0.3 * 0.02
    builder = engine.Builder("top")
    I = m * R * R * np.diag([131.0 / 350.0, 131.0 / 350.0, 0.4])
    builder.add_link("top", inertia=inertia.from_mass(m, np.array([0.0, 0.0, -off]), I), collisions=[Geometry("sphere", (R,))])
    sim = simulator(builder.model(floating_base=True), material(1e4, 1.0, 0.02), dt=dt)
    tilt = so3.exp(np.array([0.1, 0.0, 0.0]))
    run = sim.run([*engine.spatial.quaternion.from_matrix(tilt), 0, 0, R - 1e-5], [0, 0, 155.0, 0, 0, 0], duration,
                  record_every=round(duration / dt / 200))  # fmt: skip
    T = run.poses()[:, -1]
    centre = T[:, :3, 3] - off * T[:, :3, 2]
    P = run.momentum("center_of_mass")[:, :3]
    arm = T[:, :3, 3] - np.array([0.0, 0.0, R]) - centre
    jellett = np.einsum("ti,ti->t", P, arm)
    angle = np.arccos(np.clip(T[:, 2, 2], -1.0, 1.0))
    return angle[0], angle[-1], np.abs(jellett / jellett[0] - 1.0).max()


def turntable(turn=2.0, dt=1e-3, duration=4.0):
    """A ball that rolls on a plate which turns: how fast its velocity goes round, by 2/7 of the plate's, relative."""
    builder = engine.Builder("plate")
    builder.add_link("base")
    builder.add_link("plate", inertia=inertia.cylinder(1e6, 3.0, 0.2), collisions=[Geometry("cylinder", (3.0, 0.2))])
    builder.add_joint("axle", "continuous", "base", "plate", axis=(0, 0, 1))
    model = engine.combine(table=builder.model(), ball=ball())
    names = [next(link.name for link in model.links if link.name.endswith(end)) for end in ("/plate", "/ball")]
    sim = simulator(model, material(1e5, 1.0, 1.0), ground=False, pairs=[tuple(names)], slow=1e-6, dt=dt)
    q, v = model.neutral(), np.zeros(model.nv)
    body = next(b for b in model.bodies if b.kind.floats)
    q[body.q] = [*UPRIGHT[:4], 0.3, 0.0, 0.15 - 0.05e-4]
    v[body.v], v[model.v_slice("table/axle")] = [0, 0, 0, 0, 0.3 * turn, 0], turn
    run = sim.run(q, v, duration, record_every=10)
    u = np.gradient(run.q[:, body.q][:, 4:6], run.t, axis=0)
    angle = np.unwrap(np.arctan2(u[:, 1], u[:, 0]))
    k = slice(20, -20)
    return np.polyfit(run.t[k], angle[k], 1)[0] / (2.0 / 7.0 * turn)


def bounce(loss=0.5, steps=200):
    """The restitution of Hunt and Crossley's contact less what its equation u − ln(1 + u) = −e u − ln(1 − e u), u = d v, says."""
    e = brentq(lambda e: loss - np.log1p(loss) + e * loss + np.log1p(-e * loss), 1e-3, min(1.0, 1 / loss) - 1e-12)
    h = np.pi * np.sqrt(0.1 / 1e4) / steps
    run = simulator(ball(), material(1e4, loss, 0.0), dt=h, gravity=(0, 0, 0)).run(
        [*UPRIGHT, 0, 0, 0.05 + 0.3 * h], [0, 0, 0, 0, 0, -1.0], 6 * steps * h, record_every=6 * steps)  # fmt: skip
    return run.v[-1, 5], e
