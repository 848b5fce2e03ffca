"""State estimation from a robot's sensors: an error-state Kalman filter by the derivatives of a simulator's own step and sensors."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from engine.checks import nearest, shown
from engine.components.law import Law
from engine.control.error_state import Filter
from engine.control.horizon import ControlError
from engine.sensors import Sensor
from engine.simulation import Simulator, Trajectory

Array = np.ndarray


class Estimator(Law):
    """An estimate of q, v, states of components and parameters, as a law that remembers: what :func:`engine.estimator` returns.

    Signal: ``q`` (nq), ``v`` (nv), ``states`` (those of components, if there are), ``parameters`` (k), their ``P`` (N, N) of the errors
    δ = (δq, δv, δz, δθ) with N = 2 nv + nz + k, and ``nis`` (sensors): νᵀ S⁻¹ ν of each one's last sample.

    >>> import engine
    >>> rail = engine.Builder()
    >>> _ = rail.add_link("world"), rail.add_link("cart", engine.spatial.inertia.sphere(2.0, 0.1))
    >>> _ = rail.add_joint("slide", "prismatic", "world", "cart", axis=[1, 0, 0])
    >>> gauge = engine.sensors.Encoder("slide", noise=0.01)
    >>> type(engine.estimator(engine.Simulator(rail.model(), dt=0.01), [gauge], process=1.0)).__name__
    'Estimator'
    """

    fn: Filter

    @property
    def before(self) -> dict[str, tuple[int, ...]]:  # type: ignore[override]
        """The inputs, which are to be what has acted since the tick before."""
        return {n: np.shape(self.fn.values[of]) for of, n in self.fn.inputs.items()}

    def nees(self, run: Trajectory, parameters: Mapping[str, Any] | None = None) -> Array:
        """Return δᵀ P⁻¹ δ (..., T) of a run's q and v, with parameters by name where they are estimated: of a consistent filter its mean is
        2 nv and their number.

        Raises
        ------
        ControlError : the run has no such signal
        """
        s, own, model = run.signals, self.fn, self.fn.linear.model
        if f"{self.name}.P" not in s:
            raise ControlError(f"the run has no signal '{self.name}.P'; expected one of a simulator with this estimator among its laws")
        rows = [*range(2 * model.nv)]
        e = np.concatenate([model.manifold.minus(s[f"{self.name}.q"], run.q), run.v - s[f"{self.name}.v"]], axis=-1)
        for name, x in (parameters or {}).items():
            at = own.theta.slices[name]
            true = np.asarray(x, dtype=float)[..., None, :] if np.ndim(x) else np.reshape(x, 1)
            e = np.concatenate([e, true - s[f"{self.name}.parameters"][..., at]], axis=-1)
            rows += range(own.n + at.start, own.n + at.stop)
        P = s[f"{self.name}.P"][..., rows, :][..., rows]
        return np.asarray(np.sum(e * np.linalg.solve(P, e[..., None])[..., 0], axis=-1))


def estimator(simulator: Simulator, sensors: Iterable[Sensor], q: Any = None, v: Any = None, deviation: Any = 0.1, process: Any = 0.0,
              inputs: Mapping[str, str] | None = None, parameters: Mapping[str, tuple[float, float]] | None = None,
              name: str = "estimate", **others: Any) -> Estimator:  # fmt: skip
    """Return an error-state Kalman filter of what a simulator moves, for ``Simulator(…, sensors=…, laws=[…])`` of the same robot.

    With x = (q, v, z) on its manifold and θ the parameters that are estimated, the step f of ``simulator``, which lasts a period of the
    filter, and what sensors read, h::

        x̂⁺ = f(x̂, θ̂, u),   A = ∂f/∂(δx, δθ),   P⁺ = A P Aᵀ + Q                                                                (1)
        ν = y ⊖ h(x̂, θ̂),   H = ∂h/∂(δx, δθ),   S = H P Hᵀ + R,   K = P Hᵀ S⁻¹                                               (2)
        x̂ ← x̂ ⊕ δx,   θ̂ ← θ̂ + δθ,   (δx, δθ) = K ν,   P = (1 − K H) P (1 − K H)ᵀ + K R Kᵀ                                      (3)

    A and H are exact: those of the very step and sensors that are simulated. Attitudes are compared by the turn between them.

    A sample that is late is compared with what was expected when it was taken. What is expected η of samples on their way is estimated
    along, as their errors ε = H (δx, δθ) of then are known by their covariances with all else, which (1) and (3) take along::

        η = h(x̂, θ̂),   P ← T P Tᵀ,   T = [[1, 0], [H, 0]] where it is taken;   ν = y ⊖ η where it arrives                         (4)

    So the estimate is, of what is linear, that by all samples which have arrived, as if they had come at once.

    Parameters
    ----------
    simulator : what the filter takes for true, compiled, with neither contacts nor laws that remember; its dt is the filter's period
    sensors : those of the simulation that it reads, by their names: of positions and velocities (those that feel forces are refused).
        Their noise, quanta and walks make R. They may be late
    q, v : the estimate at first, the neutral configuration at rest by default; deviation : of its errors (2 nv), or a number for all
    process : density of what v̇ does besides, rad/s² or m/s² per √Hz: a number, or (nv)
    inputs : the simulator's parameters that signals of the simulation are, by name, such as {"u": "command"}: as they were until a tick;
        what commands may read the estimate in turn
    parameters : those that are estimated, of the simulator or of a sensor, by name (deviation at first, and of its walk per √s): such as
        {"gyro.bias": (0.01, 1e-6), "mass.load": (0.5, 0.0)}, from their values there
    name : of its signal

    Raises
    ------
    ControlError : an argument that it does not take; a simulator that has no derivative; a sensor without noise, or one that cannot be
        predicted; a parameter there is not

    References: Solà, *Quaternion kinematics for the error-state Kalman filter*, 2017; Bar-Shalom, Li & Kirubarajan, *Estimation with
    Applications to Tracking and Navigation*, §5.4 (NEES, NIS); Roumeliotis & Burdick, *Stochastic cloning: a generalized framework for
    processing relative state measurements*, ICRA 2002 (4).

    Examples
    --------
    >>> import engine
    >>> rail = engine.Builder("rail")
    >>> _ = rail.add_link("world"), rail.add_link("cart", inertia=engine.spatial.inertia.sphere(2.0, 0.1))
    >>> _ = rail.add_joint("slide", "prismatic", "world", "cart", axis=(1, 0, 0))
    >>> gauge = engine.sensors.Encoder("slide", noise=0.01)
    >>> found = estimator(engine.Simulator(rail.model(), dt=0.01), [gauge], process=1.0)
    >>> simulator = engine.Simulator(rail.model(), dt=0.01, sensors=[gauge], laws=[found])
    >>> run = simulator.run([0.05], [0.2], 1.0)
    >>> bool(abs(run.signals["estimate.v"][-1, 0] - 0.2) < 0.2)
    True
    """
    for other in others:
        known = [*inspect.signature(estimator).parameters][:-1]
        raise ControlError(f"estimator takes no '{other}'{nearest(other, known)}; expected some of {', '.join(known)}")
    if not isinstance(simulator, Simulator):
        raise ControlError(f"estimator: simulator is {shown(simulator)}; expected an engine.Simulator of what is estimated")
    if not isinstance(sensors, Iterable) or isinstance(sensors, str):
        raise ControlError(f"{name}: sensors are {shown(sensors)}; expected a list of them, such as [engine.sensors.Encoder(…)]")
    step = Filter(simulator, list(sensors), process, dict(inputs or {}), dict(parameters or {}), name)
    return Estimator(step, period=simulator.dt, memory=step.begun(q, v, deviation), name=name)
