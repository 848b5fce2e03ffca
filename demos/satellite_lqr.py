"""A satellite turns around and moves over, by the controls that cost least; then it does so with a push, under feedback.

    python demos/satellite_lqr.py
    python demos/satellite_lqr.py --video satellite.mp4      # or --view, in a window

The satellite of RobotDynamics.jl, thrust u[:3] and torque u[3:] in body axes. Iterative LQR finds the controls: each pass simulates, takes
the exact Jacobians of every step in the error state (12, not 13), solves the finite-horizon LQR problem backwards, and searches along it.
The gains of the last pass are a feedback law, which then holds a hundred satellites on the path that start elsewhere. Writes a plot (.png).
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import show

import engine


class Satellite(engine.RigidBody):
    """A free body with thrust and torque."""

    mass, inertia, controls, integrator = 10.0, np.diag([1.0, 2.0, 3.0]), 6, "rkmk4"

    def forces(self, x, u, t):
        return self.rotation(x) @ u[:3]

    def moments(self, x, u, t):
        return u[3:]


DT, STEPS = 0.1, 100
Q, QF = np.diag([0.1] * 6 + [0.1] * 6), 1e3 * np.eye(12)
R = np.diag([0.1] * 3 + [1.0] * 3)


class ILQR:
    """Iterative LQR on a manifold: minimise Σ ½ δᵀQδ + ½ uᵀRu + ½ δ_NᵀQ_f δ_N, δ = state_diff(x, goal), from x0."""

    def __init__(self, satellite: Satellite, x0: np.ndarray, goal: np.ndarray) -> None:
        self.compiled, self.x0, self.goal = engine.compile(satellite), x0, goal

    def rollout(self, control) -> tuple[np.ndarray, np.ndarray, float]:
        """States and controls under control(k, x), and their cost."""
        x, u = [self.x0], []
        for k in range(STEPS):
            u.append(control(k, x[-1]))
            x.append(self.compiled.discrete_dynamics(x[-1], u[-1], 0.0, DT))
        x, u = np.array(x), np.array(u)
        d = self.compiled.state_diff(x, self.goal)
        return x, u, 0.5 * float(np.einsum("ki,ij,kj", d[:-1], Q, d[:-1]) + np.einsum("ki,ij,kj", u, R, u) + d[-1] @ QF @ d[-1])

    def gains(self, x: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Feedback K (N, 6, 12), correction k (N, 6) and the decrease they promise, along a path: Riccati's recursion backwards."""
        A, B = self.compiled.discrete_error_jacobians(x[:-1], u, 0.0, DT)
        d = self.compiled.state_diff(x, self.goal)
        D = engine.gufunc(self.compiled.system.state_diff, "(n),(n)->(e)", n=13)
        slope = engine.jacobian(D)(x, self.goal) @ np.array([self.compiled.system.error_jacobian(s) for s in x])   # ∂δ/∂error
        P, p = slope[-1].T @ QF @ slope[-1], slope[-1].T @ QF @ d[-1]
        K, k, promised = np.empty((STEPS, 6, 12)), np.empty((STEPS, 6)), 0.0
        for i in reversed(range(STEPS)):
            Hx, H = B[i].T @ P @ A[i], R + B[i].T @ P @ B[i]
            g = R @ u[i] + B[i].T @ p
            K[i], k[i] = np.linalg.solve(H, Hx), np.linalg.solve(H, g)
            promised += 0.5 * g @ k[i]
            p = slope[i].T @ Q @ d[i] + A[i].T @ p - Hx.T @ k[i]
            P = slope[i].T @ Q @ slope[i] + A[i].T @ P @ A[i] - Hx.T @ K[i]
            P = 0.5 * (P + P.T)
        return K, k, float(promised)

    def solve(self, tolerance: float = 1e-9) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The path, its controls and its gains."""
        x, u, cost = self.rollout(lambda k, x: np.zeros(6))
        print(f"pass  0: cost {cost:14.8f}")
        for n in range(1, 51):
            K, k, promised = self.gains(x, u)
            if promised < tolerance * cost:
                break
            for s in 0.5 ** np.arange(12):

                def control(i, y, s=s, x=x, u=u, K=K, k=k):
                    return u[i] - s * k[i] - K[i] @ self.compiled.state_diff(y, x[i])

                x1, u1, cost1 = self.rollout(control)
                if cost1 < cost - 0.1 * s * promised:
                    break
            print(f"pass {n:2}: cost {cost1:14.8f}, promised {promised:.1e}, step {s:g}")
            x, u, cost = x1, u1, cost1
        return x, u, K


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the plot (default: out)")
    show.add_options(parser)
    options = parser.parse_args()

    satellite = Satellite()
    x0 = satellite.build_state(position=[1.0, -2.0, 0.5], angular_velocity=[0.1, -0.2, 0.1])
    goal = satellite.build_state(orientation=engine.spatial.so3.exp(np.array([0.6, 0.7, -0.8])))
    problem = ILQR(satellite, x0, goal)
    x, u, K = problem.solve()
    compiled = problem.compiled
    print(f"at the end: {np.linalg.norm(compiled.state_diff(x[-1], goal)):.1e} from the goal")

    rng = np.random.default_rng(0)
    y = compiled.state_plus(x0, rng.standard_normal((100, 12)) * ([0.1] * 3 + [0.3] * 3 + [0.05] * 6))
    apart, others = [np.linalg.norm(compiled.state_diff(y, x[0]), axis=1)], [y]
    for k in range(STEPS):
        y = compiled.discrete_dynamics(y, u[k] - compiled.state_diff(y, x[k]) @ K[k].T, 0.0, DT)
        apart.append(np.linalg.norm(compiled.state_diff(y, x[k + 1]), axis=1))
        others.append(y)
    print(f"a hundred others: {apart[0].max():.2f} from the path at first, {apart[-1].max():.1e} at the end")
    options.out.mkdir(parents=True, exist_ok=True)
    plot(problem, x, u, np.array(apart), options.out / "satellite_lqr.png")
    print(f"wrote {options.out / 'satellite_lqr.png'}")
    t = DT * np.arange(STEPS + 1)
    path = engine.BodyTrajectory.of(satellite, t, x, np.append(u, u[-1:], axis=0))
    scattered = engine.BodyTrajectory.of(satellite, t, np.swapaxes(others, 0, 1)[:10], np.zeros((10, STEPS + 1, 6)))
    ghosts = engine.viewer.Actor(show.body(scattered, "others", looks()), color=(1.0, 1.0, 1.0, 0.2))
    show.show(options, [show.body(path, "satellite", looks()), ghosts], speed=0.5, story=[
        (0.0, "Turn around and move over, by the controls that cost least"), (0.35, "Ten others begin elsewhere, under the same feedback"),
        (0.7, "They meet on the path")])  # fmt: skip


def looks() -> list[engine.Geometry]:
    """A bus in foil with panels along y, an antenna in front and a nozzle behind."""
    foil, cells, silver, white, dark = (0.86, 0.63, 0.22), (0.05, 0.10, 0.33), (0.66, 0.68, 0.71), (0.90, 0.90, 0.88), (0.15, 0.16, 0.18)
    shapes = [show.shape("box", (0.6, 0.5, 0.5), foil), show.shape("cylinder", (0.03, 0.2), silver, at=(0.4, 0.0, 0.0), along="x"),
              show.shape("cylinder", (0.2, 0.03), white, at=(0.5, 0.0, 0.0), along="x"),
              show.shape("cylinder", (0.1, 0.12), dark, at=(-0.35, 0.0, 0.0), along="x")]  # fmt: skip
    for side in (-1, 1):
        shapes.append(show.shape("cylinder", (0.02, 0.2), silver, at=(0.0, 0.34 * side, 0.0), along="y"))
        for k in range(3):
            shapes.append(show.shape("box", (0.46, 0.38, 0.02), cells, at=(0.0, side * (0.63 + 0.4 * k), 0.0)))
    return shapes


def plot(problem: ILQR, x: np.ndarray, u: np.ndarray, apart: np.ndarray, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    t, d = DT * np.arange(STEPS + 1), problem.compiled.state_diff(x, problem.goal)
    figure, (a, b, c) = plt.subplots(1, 3, figsize=(14, 4.5), layout="constrained")
    a.plot(t, 2 * np.arctan(np.linalg.norm(d[:, :3], axis=1)), label="angle, rad")
    a.plot(t, np.linalg.norm(d[:, 3:6], axis=1), label="distance, m")
    b.step(t[:-1], u[:, :3], where="post", label=["thrust x", "y", "z"])
    b.step(t[:-1], u[:, 3:], where="post", ls="--", label=["torque x", "y", "z"])
    c.semilogy(t, apart, color="C0", lw=0.4)
    for axis, title in zip((a, b, c), ("from the goal", "controls, N and N·m", "a hundred others, from the path"), strict=True):
        axis.set(title=title, xlabel="t, s")
        axis.grid(alpha=0.3)
    a.legend()
    b.legend(ncols=2, fontsize=8)
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()
