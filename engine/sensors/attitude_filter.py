"""The attitude and a gyro's bias by a multiplicative extended Kalman filter."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from engine import ops
from engine.checks import number, numbers, shown, whole
from engine.components.component import SimulationError
from engine.components.law import Law
from engine.sensors.kalman import kept_positive, measurement_update
from engine.sensors.sensor import require_arguments
from engine.spatial import quaternion, so3

Array = np.ndarray


class AttitudeFilter(Law):
    """The attitude q̂ and the bias b̂ of a gyro, by a star tracker: a :class:`engine.Law` that is asked at every sample of the gyro.

    With y = ω + b + noise of the gyro over a period Δ, and the error state (δθ, δb)::

        q̂⁺ = q̂ ⊗ exp(w Δ + w₋ × w Δ²/12),   w = y − b̂                                                                       (1)
        Φ = [[exp(−[ω̂]Δ), −Δ 1], [0, 1]],   Q = [[σ_v² Δ + σ_u² Δ³/3, −σ_u² Δ²/2], [·, σ_u² Δ]]                               (2)
        P⁺ = Φ P Φᵀ + Q

    with w₋ that of the period before: the second term is how far an axis turns that itself turns (coning). y is taken for the mean of ω
    over the period, which a :class:`Gyro` that is ``integrating`` reads, and another where ω hardly changes in a period.

    A new sample q_y of the star tracker, which was taken as long ago as its ``time`` says (a whole number of periods, at most ``latest``),
    is compared with the estimate of then::

        z = 2 vec(q̂⁻¹ ⊗ q_y),   S = P_θθ + R,   K = P Hᵀ S⁻¹,   H = [1, 0]                                                     (3)
        P = (1 − K H) P (1 − K H)ᵀ + K R Kᵀ,   q̂ ← q̂ ⊗ exp(δθ),   b̂ ← b̂ + δb                                                (4)

    and the correction of then goes on to now by the turns in between. q_y and −q_y are one.

    Parameters
    ----------
    noise, walk : σ_v, rad/s/√Hz, and σ_u, rad/s²/√Hz, of the gyro, as :class:`Gyro` has them
    star_noise : of a sample of the star tracker about its axes, rad: a number, or three
    gyro, star_tracker : names of the signals that it reads
    period : Δ, s, of the gyro and of the filter
    deviation : of the attitude (rad) and of the bias (rad/s) at first; attitude, bias : estimates at first
    latest : how many samples of the gyro may lie between the star tracker's and now
    gate : χ² beyond which a sample is left out, of three numbers; None: none is
    name : of its signal

    Signal: ``q`` (4), ``bias`` (3), ``rate`` (3) (y − b̂), ``P`` (6, 6), ``nis`` (zᵀ S⁻¹ z of the last sample) and ``updates``, how many
    there have been. A trajectory's NEES is :func:`nees`. Both sensors have the same axes.

    Raises
    ------
    SimulationError : numbers that are none; a star tracker that is later than ``latest`` periods. A filter whose P is no longer positive is
        NaN, and the run ends by that

    References: Markley & Crassidis, *Fundamentals of Spacecraft Attitude Determination and Control*, §6.2.4; Farrenkopf, *Analytic
    steady-state accuracy solutions for two common spacecraft attitude estimators*, J. Guidance 1 (1978); Miller, *A new strapdown attitude
    algorithm*, J. Guidance 6 (1983) (coning).

    Examples
    --------
    >>> filter = AttitudeFilter(noise=1e-5, walk=1e-9, star_noise=1e-5, period=0.1)
    >>> filter.name, filter.memory.shape
    ('filter', (35,))
    """

    def __new__(cls, *args: Any, **named: Any) -> AttitudeFilter:
        """Refuse arguments of names that it has not."""
        require_arguments("AttitudeFilter", cls.__init__, named)
        return super().__new__(cls)

    def __init__(self, noise: float, walk: float, star_noise: Any, period: float, gyro: str = "gyro", star_tracker: str = "star_tracker",
                 deviation: tuple[float, float] = (0.1, 1e-4), attitude: Any = (1.0, 0.0, 0.0, 0.0), bias: Any = (0.0, 0.0, 0.0),
                 latest: int = 0, gate: float | None = None, name: str = "filter") -> None:  # fmt: skip
        noise, walk = (number(f"{name}: {what}", x, "a number from 0", least=0.0, error=SimulationError)
                       for what, x in (("noise", noise), ("walk", walk)))  # fmt: skip
        period = number(f"{name}: period", period, "s above 0", above=0.0, error=SimulationError)
        R = numbers(f"{name}: star_noise", star_noise, SimulationError) * np.ones(3)
        if R.shape != (3,) or not (R > 0.0).all():
            raise SimulationError(f"{name}: star_noise is {shown(star_noise)}; expected a number above 0, rad, or three")
        latest = whole(f"{name}: latest", latest, "how many samples, from 0", error=SimulationError)
        spread = np.repeat(np.array([*deviation], dtype=float) ** 2, 3)
        if spread.shape != (6,) or not (spread > 0.0).all():
            raise SimulationError(f"{name}: deviation is {shown(deviation)}; expected two numbers above 0, of attitude and bias")
        q, b = (numbers(f"{name}: {what}", x, SimulationError) for what, x in (("attitude", attitude), ("bias", bias)))
        if q.shape != (4,) or b.shape != (3,) or not abs(q @ q - 1.0) < 1e-6:
            raise SimulationError(f"{name}: attitude is {shown(attitude)}, bias {shown(bias)}; expected a unit quaternion, three numbers")
        turns = np.tile([1.0, 0.0, 0.0, 0.0], latest)
        first = np.concatenate([q, b, np.diag(spread)[np.triu_indices(6)], turns, [0.0, -1.0, 0.0, 0.0], np.zeros(3)])
        step = Estimate(noise, walk, np.diag(R**2), period, latest, gate, (gyro, star_tracker), name)
        super().__init__(step, period=period, memory=first, name=name)


class Estimate:
    """What an :class:`AttitudeFilter` does at a sample, as a function of its signals and its memory."""

    #: how many numbers an innovation has, of which ``nis`` is the normalised square
    innovations = (3,)

    def __init__(self, noise: float, walk: float, R: Array, period: float, latest: int, gate: float | None,
                 signals: tuple[str, str], name: str = "filter") -> None:  # fmt: skip
        self.name = name
        self.noise, self.walk, self.R, self.period, self.latest, self.gate, self.signals = noise, walk, R, period, latest, gate, signals
        own = [inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in ("t", *signals, "memory")]
        self.__signature__ = inspect.Signature(own)

    def require_signals(self, laws: Mapping[str, Law]) -> None:
        """Refuse a gyro of another period, and a star tracker whose samples come later than is remembered."""
        each = laws[self.signals[0]].period
        if each is not None and abs(each - self.period) > 1e-9 * self.period:
            raise SimulationError(f"'{self.signals[0]}' samples every {each:g} s, and the filter every {self.period:g} s; expected the "
                                  "same period of both")  # fmt: skip
        late, least = laws[self.signals[1]].delay, self.latest * self.period
        if late > least + 1e-6 * self.period:
            raise SimulationError(f"'{self.signals[1]}' is read {late:g} s late, and the filter remembers {least:g} s; expected "
                                  f"latest={math.ceil(late / self.period - 1e-6)} of it")  # fmt: skip

    def __call__(self, t: Any, memory: Array, **signals: Any) -> tuple[dict[str, Any], Array]:
        gyro, star_tracker = (signals[n] for n in self.signals)
        return self.step(t, gyro, star_tracker, memory)

    def step(self, t: Any, y: Array, star: Any, memory: Array) -> tuple[dict[str, Any], Array]:
        """Return what is said after a sample, and what is remembered."""
        q, b, rest = memory[:4], memory[4:7], memory[7:]
        P, turns, (begun, seen, nis, count), before = ops.symmetric(rest[:21], 6), rest[21:-7].reshape(-1, 4), rest[-7:-3], rest[-3:]
        w = y - b
        turn = quaternion.exp(w * self.period + ops.cross(before, w) * (self.period**2 / 12.0))
        moved, P_moved = self.predicted(q, P, w, turn)
        q, P = ops.where(begun > 0.5, moved, q), ops.where(begun > 0.5, P_moved, P)
        turns = np.array([*turns[1:], ops.where(begun > 0.5, turn, np.array([1.0, 0, 0, 0]))]) if self.latest else turns
        fresh = ops.logical_and(star.valid > 0.5, star.time > seen + 1e-9)

        def corrected() -> Array:
            d, P_after, found, taken = self.corrected(q, P, turns, star.q, t - star.time, t)
            after = quaternion.normalize(quaternion.product(q, quaternion.exp(d[:3])))
            return np.concatenate([after, b + d[3:], P_after[np.triu_indices(6)], [found, taken]])

        same = np.concatenate([q, b, P[np.triu_indices(6)], [nis, 0.0]])
        x = ops.when(fresh, corrected, same)
        q, b, P, nis, count = x[:4], x[4:7], ops.symmetric(x[7:28], 6), x[28], count + x[29]
        seen = ops.where(fresh, star.time, seen)
        said = {"q": q, "bias": b, "rate": y - b, "P": P, "nis": nis, "updates": count}
        return said, np.concatenate([q, b, P[np.triu_indices(6)], turns.reshape(-1), [1.0, seen, nis, count], w])

    def predicted(self, q: Array, P: Array, w: Array, turn: Array) -> tuple[Array, Array]:
        """Return the attitude and P a period on: (1), (2)."""
        h, sv, su = self.period, self.noise**2, self.walk**2
        E, one = so3.exp(-w * h), np.eye(3)
        F = np.block([[E, -h * one], [np.zeros((3, 3)), one]])
        Q = np.block([[(sv * h + su * h**3 / 3.0) * one, (-su * h * h / 2.0) * one], [(-su * h * h / 2.0) * one, (su * h) * one]])
        return quaternion.normalize(quaternion.product(q, turn)), F @ P @ F.T + Q

    def corrected(self, q: Array, P: Array, turns: Array, star: Array, age: Any, t: Any = 0.0) -> tuple[Array, Array, Any, Any]:
        """Return the correction (6), P, the normalised square of the innovation, and whether it is taken: (3), (4)."""
        back = np.array([1.0, 0.0, 0.0, 0.0])
        for k, turn in enumerate(reversed(turns)):                             # of the newest first
            older = ops.less((k + 0.5) * self.period, age)
            back = quaternion.product(ops.where(older, turn, np.array([1.0, 0.0, 0.0, 0.0])), back)
        then = quaternion.product(q, quaternion.conjugate(back))
        e = quaternion.product(quaternion.conjugate(then), star)
        z = 2.0 * ops.where(e[0] < 0.0, -e[1:], e[1:])
        C = quaternion.to_matrix(back).T                                       # of the axes of then as seen in those of now
        z, R = C @ z, C @ self.R @ C.T
        S = P[:3, :3] + R
        d, P_after, nis = measurement_update(P, np.eye(3, 6), R, z)
        sound = kept_positive(self.name, t, functools.reduce(ops.minimum, [S[0, 0] * S[1, 1] - S[0, 1] ** 2, *np.diagonal(P_after)]))
        taken = 1.0 if self.gate is None else ops.where(nis < self.gate, 1.0, 0.0)
        P_after = P_after if self.gate is None else ops.where(taken > 0.5, P_after, P)
        return sound * taken * d, P_after, nis, taken


def nees(q: Any, bias: Any, estimate: Any, bias_estimate: Any, P: Any) -> Array:
    """Return the normalised squares of the errors εᵀ P⁻¹ ε (...) of estimates: of a consistent filter their mean is six.

    Parameters
    ----------
    q, bias : the truth (..., 4) and (..., 3); estimate, bias_estimate, P : the filter's (..., 4), (..., 3), (..., 6, 6)

    Reference: Bar-Shalom, Li & Kirubarajan, *Estimation with Applications to Tracking and Navigation*, §5.4.

    >>> float(nees([1, 0, 0, 0], [0, 0, 0], [1, 0, 0, 0], [0.1, 0, 0], 0.01 * np.eye(6)))
    1.0
    """
    turn = quaternion.log(quaternion.product(quaternion.conjugate(np.asarray(estimate, float)), np.asarray(q, float)))
    e = np.concatenate([turn, np.asarray(bias, float) - np.asarray(bias_estimate, float)], axis=-1)
    return np.asarray(np.sum(e * np.linalg.solve(np.asarray(P, float), e[..., None])[..., 0], axis=-1))
