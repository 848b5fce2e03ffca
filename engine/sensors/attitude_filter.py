"""The attitude and a gyro's bias by a multiplicative extended Kalman filter."""

from __future__ import annotations

import functools
import inspect
import math
import types
from collections.abc import Mapping
from typing import Any

import numpy as np

from engine import ops
from engine.checks import number, numbers, shown, warn, whole
from engine.components.component import SimulationError, SimulationWarning
from engine.components.law import Law
from engine.components.makers import Maker
from engine.model import Model
from engine.sensors.kalman import kept_positive, measurement_update, tell_of_uneven_ticks
from engine.sensors.sensor import require_arguments, signature_of
from engine.spatial import quaternion, so3

Array = np.ndarray
#: rad: what is turned less than so is not turned
ALIGNED = 1e-9


class AttitudeFilter(Law):
    """The attitude q̂ and the bias b̂ of a gyro, by a star tracker: a :class:`engine.Law` that is asked at every sample of the gyro.

    With y = ω + b + noise of the gyro over a period Δ, and the error state ε = (δθ, δb)::

        q̂⁺ = q̂ ⊗ exp(w Δ + w₋ × w Δ²/12),   w = y − b̂                                                                       (1)
        Φ = [[exp(−[ω̂]Δ), −Δ 1], [0, 1]],   Q = [[σ_v² Δ + σ_u² Δ³/3, −σ_u² Δ²/2], [·, σ_u² Δ]]                               (2)
        P⁺ = Φ P Φᵀ + Q

    with w₋ that of the period before: the second term is how far an axis turns that itself turns (coning). y is taken for the mean of ω
    over the period, which a :class:`Gyro` that is ``integrating`` reads, and another where ω hardly changes in a period.

    A new sample q_y of the star tracker, which was taken as long ago as its ``time`` says (at most ``latest`` periods, of which the first
    may be a part), is compared with the estimate of then, q̂ turned back by what the gyro has read since::

        z = log(q̂_then⁻¹ ⊗ q_y) in the axes of now = H ε − H w + noise,   H = [1, Δ Σ f C]                                   (3)
        q̂ ← q̂ ⊗ exp(δθ),   b̂ ← b̂ + δb,   (δθ, δb) = K z                                                                     (4)

    with f the part of each period that is since then, C from its axes to those of now, and H w what the gyro's noise has done since. That
    is in P, too, and no sample of stars has seen it: K and P after it, with what both have in common, are those of
    :func:`~engine.sensors.kalman.measurement_update`, as if the sample had been there in time. Of the period in which it was taken ω is
    taken for constant. q_y and −q_y are one. Of samples within one period of the gyro the first that is read is taken.

    Parameters
    ----------
    noise, walk : σ_v, rad/s/√Hz, and σ_u, rad/s²/√Hz, of the gyro, as :class:`Gyro` has them
    star_noise : of a sample of the star tracker about its axes, rad, up to π: a number, or three
    gyro, star_tracker : names of the sensors that it reads; the gyro may be an :class:`IMU`, of which it takes ``angle`` / Δ or ``rate``
    period, phase : Δ, s, and when the first sample is: of the gyro and of the filter
    deviation : of the attitude (rad) and of the bias (rad/s) at first; attitude, bias : estimates at first. Of an attitude None nothing is
        known: its deviation is π, and the first sample of the star tracker is taken for it, from however far off
    latest : how many periods before now a sample of the star tracker may have been taken
    gate : χ² above 0 beyond which a sample is left out, of three numbers; None: none is
    name : of its signal

    Signal: ``q`` (4), ``bias`` (3), ``rate`` (3) (y − b̂), ``P`` (6, 6), ``nis`` (zᵀ S⁻¹ z of the last sample) and ``updates``, how many
    there have been; before its first tick what it is told at first, a rate of zero. A trajectory's NEES is :func:`nees`. Both sensors have
    the same axes.

    Raises
    ------
    SimulationError : numbers that are none, or cannot be; a gyro that samples at other times than the filter; a star tracker that is later
        than ``latest`` periods, or whose axes are not the gyro's. A filter whose P is no longer positive is NaN, and the run ends by that

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
                 latest: int = 0, gate: float | None = None, name: str = "filter", phase: float = 0.0) -> None:  # fmt: skip
        noise, walk = (number(f"{name}: {what}", x, "a number from 0", least=0.0, error=SimulationError)
                       for what, x in (("noise", noise), ("walk", walk)))  # fmt: skip
        period = number(f"{name}: period", period, "s above 0", above=0.0, error=SimulationError)
        latest = whole(f"{name}: latest", latest, "how many samples, from 0", error=SimulationError)
        gate = None if gate is None else number(f"{name}: gate", gate, "χ² above 0, or None", above=0.0, error=SimulationError)
        R = numbers(f"{name}: star_noise", star_noise, SimulationError)
        if R.shape not in ((), (3,)) or not ((R > 0.0) & (np.pi >= R)).all():
            raise SimulationError(f"{name}: star_noise is {shown(star_noise)}; expected a number above 0, rad, or three, up to π")
        spread = numbers(f"{name}: deviation", deviation, SimulationError)
        if spread.shape != (2,) or not ((spread > 0.0) & np.isfinite(spread)).all():
            raise SimulationError(f"{name}: deviation is {shown(deviation)}; expected two numbers above 0, of attitude and bias")
        lost = attitude is None
        spread[0] = np.pi if lost else spread[0]
        attitude = (1.0, 0.0, 0.0, 0.0) if lost else attitude
        q, b = (numbers(f"{name}: {what}", x, SimulationError) for what, x in (("attitude", attitude), ("bias", bias)))
        if q.shape != (4,) or b.shape != (3,) or not abs(q @ q - 1.0) < 1e-6:
            raise SimulationError(f"{name}: attitude is {shown(attitude)}, bias {shown(bias)}; expected a unit quaternion, three numbers")
        for what, signal in (("gyro", gyro), ("star_tracker", star_tracker)):
            if not (isinstance(signal, str) and signal.isidentifier()):
                raise SimulationError(f"{name}: {what} is {shown(signal)}; expected the name of a sensor, such as '{what}', or 'imu', of "
                                      "which it takes the angles or rates itself")  # fmt: skip
        P = np.diag(np.repeat(spread**2, 3))
        first = np.concatenate([q, b, P[np.triu_indices(6)], np.zeros(3 * latest), [0.0, -1.0, 0.0, 0.0], np.zeros(3)])
        step = Estimate(noise, walk, np.diag((R * np.ones(3)) ** 2), period, latest, gate, (gyro, star_tracker), name, float(phase), lost)
        said = {"q": q, "bias": b, "rate": np.zeros(3), "P": P, "nis": 0.0, "updates": 0.0}
        super().__init__(step, period=period, memory=first, name=name, phase=phase, initial=said)


AttitudeFilter.__signature__ = signature_of(AttitudeFilter.__init__)  # type: ignore[attr-defined]


class Estimate:
    """One sample's update of an :class:`AttitudeFilter`, as a function of its signals and its memory."""

    #: how many numbers an innovation has, of which ``nis`` is the normalised square
    innovations = (3,)
    units = types.MappingProxyType(dict.fromkeys(("bias", "rate"), "rad/s"))

    def __init__(self, noise: float, walk: float, R: Array, period: float, latest: int, gate: float | None,
                 signals: tuple[str, str], name: str = "filter", phase: float = 0.0, lost: bool = False) -> None:  # fmt: skip
        self.name, self.phase, self.lost = name, phase, lost
        self.noise, self.walk, self.R, self.period, self.latest, self.gate, self.signals = noise, walk, R, period, latest, gate, signals
        own = [inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in ("t", *signals, "memory")]
        self.__signature__ = inspect.Signature(own)

    @property
    def spread(self) -> tuple[float, float, float]:
        """Process noise of a period, in P: of each component of the attitude, of attitude with bias, and of the bias."""
        h, sv, su = self.period, self.noise**2, self.walk**2
        return sv * h + su * h**3 / 3.0, -su * h * h / 2.0, su * h

    def require_step(self, dt: float) -> None:
        """Warn of ticks that are not a period apart in a simulation of steps of dt."""
        tell_of_uneven_ticks(self.name, self.period, dt)

    def require_signals(self, laws: Mapping[str, Law]) -> None:
        """Refuse a gyro that samples at other times, and a star tracker whose samples come later than is remembered."""
        gyro, stars = (laws[n] for n in self.signals)
        if gyro.period is not None and abs(gyro.period - self.period) > 1e-9 * self.period:
            raise SimulationError(f"'{self.signals[0]}' samples every {gyro.period:g} s, and the filter every {self.period:g} s; expected "
                                  "the same period of both")  # fmt: skip
        if gyro.period is not None and abs(gyro.phase - self.phase) > 1e-6 * self.period:
            raise SimulationError(f"'{self.signals[0]}' samples every {self.period:g} s from {gyro.phase:g} s on, and the filter from "
                                  f"{self.phase:g} s on; expected phase={gyro.phase:g} of it")  # fmt: skip
        if gyro.delay > 1e-6 * self.period:
            raise SimulationError(f"'{self.signals[0]}' is read {gyro.delay:g} s late, which the filter would take for the rate of now; "
                                  "expected no latency of it")  # fmt: skip
        late, least = self.oldest(stars), self.latest * self.period
        if late > least + 1e-6 * self.period:
            between = "" if abs(late - stars.delay) < 1e-6 * self.period else (
                f" (it samples every {stars.period:g} s from {stars.phase:g} s on, with {stars.delay:g} s of latency, and the filter is "
                f"asked every {self.period:g} s from {self.phase:g} s on)")  # fmt: skip
            raise SimulationError(f"'{self.signals[1]}' is read {late:g} s late, and the filter remembers {least:g} s; expected "
                                  f"latest={math.ceil(late / self.period - 1e-6)} of it{between}")  # fmt: skip

    def require_together(self, model: Model, makers: Mapping[str, Maker]) -> None:
        """Refuse sensors that turn against each other, or have other axes."""
        (on, R), (also, other) = (attached(model, makers[n]) for n in self.signals)
        gyro, stars = self.signals
        if on is not None and also is not None and on[0] != also[0]:
            raise SimulationError(f"{self.name}: '{gyro}' is on '{on[1]}', and '{stars}' on '{also[1]}', which a joint moves against "
                                  "it; expected both on one link, or a law between that turns what one reads")  # fmt: skip
        if on is not None and also is not None and (turn := float(np.linalg.norm(so3.log(R.T @ other)))) > ALIGNED:
            raise SimulationError(f"{self.name}: the axes of '{stars}' are turned by {turn:.3g} rad against those of '{gyro}'; expected "
                                  "placements of the same axes, a law between that turns what one reads, or for what nobody knows of it "
                                  "misalignment=… of the gyro, bias=… of the star tracker")  # fmt: skip

    def oldest(self, stars: Law) -> float:
        """Return how old, s, samples of stars are at most when the filter gets them: over so many of its ticks that all cases are met."""
        if stars.period is None:
            return stars.delay
        ticks = self.phase + self.period * np.arange(1000 + math.ceil((stars.phase + stars.delay) / self.period))
        newest = np.floor((ticks - stars.phase - stars.delay) / stars.period + 1e-6)
        fresh = (newest >= 0.0) & (np.diff(newest, prepend=-1.0) > 0.0)
        return float(np.where(fresh, ticks - stars.phase - stars.period * newest, 0.0).max())

    def __call__(self, t: Any, memory: Array, **signals: Any) -> tuple[dict[str, Any], Array]:
        gyro, star_tracker = (signals[n] for n in self.signals)
        if isinstance(gyro, Mapping):
            part = "angle" if "angle" in gyro else "rate"
            gyro = gyro[part] / self.period if part == "angle" else gyro[part]
        return self.step(t, gyro, star_tracker, memory)

    def step(self, t: Any, y: Array, star: Any, memory: Array) -> tuple[dict[str, Any], Array]:
        """Return what is said after a sample, and what is remembered."""
        q, b, rest = memory[:4], memory[4:7], memory[7:]
        P, read, (begun, seen, nis, count), before = ops.symmetric(rest[:21], 6), rest[21:-7].reshape(-1, 3), rest[-7:-3], rest[-3:]
        w = y - b
        moved, P_moved = self.predicted(q, P, w, quaternion.exp(self.turned(w, before)))
        q, P = ops.where(begun > 0.5, moved, q), ops.where(begun > 0.5, P_moved, P)
        read, age = np.array([y, *read]), t - star.time                        # the newest first
        fresh = ops.logical_and(star.valid > 0.5, star.time > seen + 1e-9)
        fresh = ops.logical_and(fresh, age < (self.latest + 0.5) * self.period)

        def corrected() -> Array:
            x, P_after, found, taken = self.corrected(q, b, P, read, star.q, age, t, count)
            return np.concatenate([x, P_after[np.triu_indices(6)], [found, taken]])

        same = np.concatenate([q, b, P[np.triu_indices(6)], [nis, 0.0]])
        x = ops.when(fresh, corrected, same)
        q, b, P, nis, count = x[:4], x[4:7], ops.symmetric(x[7:28], 6), x[28], count + x[29]
        until = t - ops.floor(age / self.period + 1e-6) * self.period if self.latest else star.time    # the end of its period
        seen = ops.where(fresh, until, seen)
        said = {"q": q, "bias": b, "rate": y - b, "P": P, "nis": nis, "updates": count}
        return said, np.concatenate([q, b, P[np.triu_indices(6)], read[: self.latest].reshape(-1), [1.0, seen, nis, count], w])

    def turned(self, w: Array, before: Array) -> Array:
        """Return the rotation vector (3) of a period, of its mean rate and that of the period before: (1)."""
        return w * self.period + ops.cross(before, w) * (self.period**2 / 12.0)

    def predicted(self, q: Array, P: Array, w: Array, turn: Array) -> tuple[Array, Array]:
        """Return the attitude and P a period on: (1), (2)."""
        (a, c, d), E, one = self.spread, so3.exp(-w * self.period), np.eye(3)
        F = np.block([[E, -self.period * one], [np.zeros((3, 3)), one]])
        return quaternion.normalize(quaternion.product(q, turn)), F @ P @ F.T + np.block([[a * one, c * one], [c * one, d * one]])

    def since(self, b: Array, read: Array, age: Any) -> tuple[Array, Array, tuple[Array, Array]]:
        """Return the turn (4) since a time that is an ``age`` ago, by what the gyro has read, the newest first; of the attitude of then, in
        the axes of now, H (3, 6), and cov(ε, H w) (6, 3) and cov(H w) (3, 3) of the noise w since: (3)."""
        back, C, parts = np.array([1.0, 0.0, 0.0, 0.0]), np.eye(3), []
        for k in range(self.latest):                                           # of each period f, and C from the axes of its end
            f = ops.minimum(ops.maximum(age / self.period - k, 0.0), 1.0)
            parts.append((f, C))
            back = quaternion.product(quaternion.exp(f * self.turned(read[k] - b, read[k + 1] - b)), back)
            C = quaternion.to_matrix(back).T
        (a, c, d), one, h = self.spread, np.eye(3), self.period
        H = h * sum((f * C for f, C in parts), np.zeros((3, 3)))
        by_angle, by_bias, W, rest = np.zeros((3, 3)), np.zeros((3, 3)), np.zeros((3, 3)), H
        for f, C in parts:                                                     # what a period's noise does to now, and to then
            both, turned = (c * f) * C.T + d * rest.T, c * (C @ rest.T)
            by_angle = by_angle + (a * f) * one + turned - (H - rest) @ both
            by_bias = by_bias + both
            W = W + (a * f * f) * one + f * (turned + turned.T) + d * (rest @ rest.T)
            rest = rest - (h * f) * C
        return back, np.concatenate([one, H], axis=1), (np.concatenate([by_angle, by_bias]), W)

    def corrected(self, q: Array, b: Array, P: Array, read: Array, star: Array, age: Any, t: Any = 0.0,
                  count: Any = 0.0) -> tuple[Array, Array, Any, Any]:  # fmt: skip
        """Return attitude and bias (7), P, the normalised square of the innovation, and whether it is taken: (3), (4)."""
        back, H, late = self.since(b, read, age)
        if self.lost:                                                          # the first sample is the estimate
            q = ops.where(count < 0.5, quaternion.product(star, back), q)
        then = quaternion.product(q, quaternion.conjugate(back))
        z = quaternion.log(quaternion.product(quaternion.conjugate(then), star))
        C = quaternion.to_matrix(back).T                                       # of the axes of then as seen in those of now
        d, P_after, nis, S = measurement_update(P, H, C @ self.R @ C.T, C @ z, late if self.latest else None)
        sound = kept_positive(self.name, t, functools.reduce(ops.minimum, [S[0, 0] * S[1, 1] - S[0, 1] ** 2, *np.diagonal(P_after)]))
        taken = 1.0 if self.gate is None else ops.where(nis < self.gate, 1.0, 0.0)
        P_after = P_after if self.gate is None else ops.where(taken > 0.5, P_after, P)
        d = sound * taken * d
        after = quaternion.normalize(quaternion.product(q, quaternion.exp(d[:3])))
        return np.concatenate([after, b + d[3:]]), P_after, nis, taken


def attached(model: Model, sensor: Maker) -> tuple[tuple[int, str] | None, Array]:
    """Return the body and the link that a sensor is on, None of what is on none, and the rotation (3, 3) from its axes to the body's."""
    if sensor.mounted is None or not sensor.mounted[1]:
        return None, np.eye(3)
    _, link, placement = sensor.mounted
    body, T = model.carrier[model.link_index(link)]
    return (body, link), T[:3, :3] @ placement[:3, :3]


def nees(q: Any, bias: Any, estimate: Any, bias_estimate: Any, P: Any) -> Array:
    """Return the normalised squares of the errors εᵀ P⁻¹ ε (...) of estimates: of a consistent filter their mean is six.

    Parameters
    ----------
    q, bias : the truth (..., 4) and (..., 3); estimate, bias_estimate, P : the filter's (..., 4), (..., 3), (..., 6, 6)

    They are of one time each: between its ticks a filter's signal stands while the truth goes on, and records there are none of its errors.
    Where q changes from record to record of (..., T, 4) and the estimate does not, it warns; expected are records at ticks, by
    ``record_every``, or those of a trajectory's ``at(ticks)``.

    Raises
    ------
    SimulationError : shapes that do not fit; a P that has no inverse, such as that of a filter that has said nothing yet

    Reference: Bar-Shalom, Li & Kirubarajan, *Estimation with Applications to Tracking and Navigation*, §5.4.

    >>> float(nees([1, 0, 0, 0], [0, 0, 0], [1, 0, 0, 0], [0.1, 0, 0], 0.01 * np.eye(6)))
    1.0
    """
    cores = {"q": (4,), "bias": (3,), "estimate": (4,), "bias_estimate": (3,), "P": (6, 6)}
    given = [np.asarray(x, float) for x in (q, bias, estimate, bias_estimate, P)]
    for (what, core), x in zip(cores.items(), given, strict=True):
        if x.shape[x.ndim - len(core) :] != core:
            raise SimulationError(f"nees: {what} has shape {x.shape}; expected {('...', *core)}".replace("'", ""))
    leads = [x.shape[: x.ndim - len(core)] for x, core in zip(given, cores.values(), strict=True)]
    try:
        lead = np.broadcast_shapes(*leads)
    except ValueError:
        each = ", ".join(f"{what} {x.shape}" for what, x in zip(cores, given, strict=True))
        raise SimulationError(f"nees: shapes are {each}; expected as many runs and records of each") from None
    q, bias, estimate, bias_estimate, P = (np.broadcast_to(x, (*lead, *core)) for x, core in zip(given, cores.values(), strict=True))
    tell_of_ticks(q, estimate, P)
    turn = quaternion.log(quaternion.product(quaternion.conjugate(estimate), q))
    e = np.concatenate([turn, bias - bias_estimate], axis=-1)
    try:
        return np.asarray(np.sum(e * np.linalg.solve(P, e[..., None])[..., 0], axis=-1))
    except np.linalg.LinAlgError:
        where = [int(i) for i in np.argwhere(np.linalg.matrix_rank(np.nan_to_num(P)) < 6)[0]] if lead else ""
        raise SimulationError(f"nees: P{where} has no inverse; expected that of an estimate whose errors have deviations above 0, such as "
                              "after a filter's first tick") from None  # fmt: skip


def tell_of_ticks(q: Array, estimate: Array, P: Array) -> None:
    """Warn of records (..., T) in which the truth goes on while the estimate stands; not where all estimates are one, as at first."""
    if q.ndim < 2 or q.shape[-2] < 3:
        return
    stands = (np.diff(estimate, axis=-2) == 0.0).all(axis=-1) & (np.diff(P, axis=-3) == 0.0).all(axis=(-2, -1))
    between = stands & (np.diff(q, axis=-2) != 0.0).any(axis=-1)
    if between.any() and not stands.all(axis=-1).any():
        warn(f"nees: {int(between.sum())} of {between.size} records are between the filter's ticks, where its estimate stands and the "
             "truth goes on; expected records at ticks, such as by record_every", SimulationWarning)  # fmt: skip
