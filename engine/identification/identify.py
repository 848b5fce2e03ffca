"""Identification of inertial and joint parameters: weighted least squares in what a motion shows, and the bodies that can be so."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from engine.checks import numbers, one_of, shown, warn, whole
from engine.compiled.robot import Robot, robot_of
from engine.dynamics.base_parameters import BaseParameters
from engine.dynamics.base_parameters import base_parameters as combinations
from engine.dynamics.kinematics import GRAVITY
from engine.dynamics.regressor import momentum_regressor, regressor
from engine.identification.columns import DEGREE
from engine.identification.equations import Equations, losses
from engine.identification.errors import IdentificationError, IdentificationWarning
from engine.identification.momentum import Linear, linear, noise_of_rows, shared
from engine.identification.motions import Motion, motions_of
from engine.identification.physical import prior, scales
from engine.identification.regression import Fit
from engine.identification.result import Identification
from engine.identification.solution import Solution, solve_equations
from engine.identification.unknowns import Unknowns, unknowns_of
from engine.model import Model

Array = np.ndarray
BY = ("torques", "momentum")
MOMENTUM = ("Lx", "Ly", "Lz", "px", "py", "pz")
#: times what the noise of v shows of a combination: what momentum must show of it; squares
TOLD = 4.0
#: how often momentum's equations are linearized anew, the step, in standard deviations, below which not, and when they are looked at early
ROUNDS, SETTLED, EARLY = 20, 1e-2, 2
#: the correlation of errors with the next, and the share of the momentum's parts: above both, it is no noise
GOES_ON, ROUGH = 0.7, 1e-6
#: how many names are in a message
SOME = 5


def base_parameters(robot: Robot | Model, unknown: str | Sequence[str] = "inertia", by: str = "torques") -> BaseParameters:
    """Return the combinations of a robot's parameters that its forces, or its momentum, can show: as few numbers as say all.

    They are of random states, so of the robot itself; what a motion shows of them is that of :func:`identify`.

    Parameters
    ----------
    robot : or a model, in the gravity of :data:`engine.dynamics.GRAVITY`
    unknown, by : as of :func:`identify`

    Raises
    ------
    IdentificationError : a name that there is not

    Examples
    --------
    A mass on a pivot: its moment of inertia about the axis, and what gravity pulls at.

    >>> import engine, numpy as np
    >>> arm = engine.Builder("pendulum")
    >>> _ = arm.add_link("base"), arm.add_link("bob", inertia=engine.spatial.inertia.from_mass(2.0, [0, 0, 1.0], np.zeros((3, 3))))
    >>> _ = arm.add_joint("pivot", "revolute", "base", "bob", axis=[0, 1, 0])
    >>> print(engine.base_parameters(arm.model(), ["inertia", "armature"]))
    mx.bob
    mz.bob
    Iyy.bob + armature.pivot
    """
    robot, _ = robot_in(robot)
    by = one_of("by", by, BY, IdentificationError)
    return shown_by(robot.model, unknowns_of(robot.model, unknown, by).names, robot.gravity, by)


def robot_in(given: Any) -> tuple[Robot, bool]:
    """Return what is given as a robot, and whether it says in which gravity."""
    if isinstance(given, Model):
        return robot_of(given, GRAVITY), False
    if not isinstance(given, Robot):
        raise IdentificationError(f"the robot is {shown(given)}; expected a Model, or what engine.compile makes of one")
    return given, True


@functools.lru_cache(maxsize=16)
def shown_by(model: Model, names: tuple[str, ...], gravity: tuple[float, ...], by: str) -> BaseParameters:
    """Return the base parameters of unknowns, by random states."""
    unknowns, n, rng = Unknowns(model, names), len(names), np.random.default_rng(0)
    rows, count = [], 10 + 3 * n // (model.nv if by == "torques" else 6)
    for _ in range(count):
        (q, v), vdot = model.random(rng), 3.0 * rng.standard_normal(model.nv)
        if by == "momentum":
            rows.append(momentum_regressor(model, q, v) @ unknowns.E)
            continue
        rows.append(regressor(model, q, v, vdot, gravity) @ unknowns.E + losses(unknowns, v, vdot, np.sign(v)))
    return combinations(np.concatenate(rows), names)


def identify(robot: Robot | Model, motion: Any, unknown: str | Sequence[str] = "inertia", by: str = "torques",
             momentum: ArrayLike | None = None, smooth: int = DEGREE + 1) -> Identification:  # fmt: skip
    """Return the parameters of a robot that explain its motion best; everything that is not unknown is as the model has it.

    By least squares, each joint's rows over its own noise, of::

        tau = Y(q, v, v̇) π + D v + f sign(v) + a v̇            by="torques"
        Y_P(q, v) π + [h; 0] = P, constant                        by="momentum": of what floats freely, forces are not looked at

    Parameters
    ----------
    robot : or a model, which takes the gravity of recordings, or else that of the earth
    motion : a :class:`Trajectory` or a batch of them, a recording (.h5), a table (.csv) or DataFrame with the columns of ``engine torques``
        and "tau.JOINT"; arrays by name: q (T, nq), v, vdot, tau (T, nv), and t (T), wrenches on the links (T, nlinks, 6) in their frames,
        the ``angular_momentum`` h of wheels in world axes (T, 3); or a list of several. Without v and vdot they are derived from q over t.
        tau is all that drives the joints; without the rows of a floating base, nothing pushes that
    unknown : "inertia.LINK", its ten numbers, "mass.LINK", with which its inertia goes, or one number, such as "Izz.LINK";
        "damping.JOINT", "friction.JOINT", "armature.JOINT". "inertia" is those of all moving links with mass, "friction" of all joints
    momentum : [angular about the world's origin; linear] (6) in world axes, where it is known; by default it is found
    smooth : how many rows (odd) quartics are fitted to, where q or v is differentiated; noise of q, and the steps of an encoder, need more
        than the five of exact records: a warning says of which joint, and how many

    By momentum, v is what is noisy: each row counts by what that does to its momentum, and v is corrected by it. Otherwise it is tau.

    Of a trajectory, records at which stops push are left out, and numbers are those that it ran with: one with parameters of its own beside
    what is unknown is refused where the model has others. Dry friction acts in it within the steps, so that tau and v̇ of several joints are
    only of the order of dt each other's, which no interval knows of: a damping of 0.2 N·m·s/rad of an arm of six joints is found as 0.1983
    with dt = 1e-3 s, and 0.1998 with 1e-4 s (``tests/identification/test_inputs.py`` holds that order). Friction has no sign at rest: of a
    joint that rubs, rows are left out where it is slower than 2 % of its root-mean-square speed, or turned round between the row and one
    beside it.

    Raises
    ------
    IdentificationError : no such parameter, or motion; what a motion does not show; by momentum, nothing known that the rest is measured by

    Warns
    -----
    IdentificationWarning : the motion does not show what the robot could, or hardly; no bodies can have what least squares found

    Examples
    --------
    A pendulum that swings, and what holds it back:

    >>> import engine
    >>> arm = engine.Builder("pendulum")
    >>> _ = arm.add_link("base"), arm.add_link("bob", inertia=engine.spatial.inertia.from_mass(2.0, [0, 0, 1.0], 0.1 * np.eye(3)))
    >>> _ = arm.add_joint("pivot", "revolute", "base", "bob", axis=[0, 1, 0], damping=0.3)
    >>> run = engine.Simulator(arm.model()).run([0.5], [0.0], 2.0)
    >>> found = engine.identify(arm.model(), run, "damping")
    >>> found.names, found.values.round(9)
    (('damping.pivot',), array([0.3]))

    References
    ----------
    Gautier & Khalil 1990 (base parameters); Swevers et al., *Optimal robot excitation and identification*, IEEE T-RA 1997 (weights);
    Murotsu et al., *Parameter identification of unknown object handled by free-flying space robot*, J. Guidance 1994 (momentum).
    """
    robot, fixed = robot_in(robot)
    by = one_of("by", by, BY, IdentificationError)
    unknowns = unknowns_of(robot.model, unknown, by)
    if whole("smooth", smooth, f"an odd number of rows from {DEGREE + 1}", DEGREE + 1, IdentificationError) % 2 == 0:
        raise IdentificationError(f"smooth is {smooth}; expected an odd number of rows from {DEGREE + 1}")
    P = None if momentum is None else known_momentum(momentum, by)
    motions = motions_of(robot, fixed, motion, by, smooth, unknowns)
    if by == "momentum":
        require_free(robot, fixed)
    could = shown_by(robot.model, unknowns.names, motions[0].gravity, by)
    if by == "momentum":
        solution, said, after = of_momentum(unknowns, motions, P, could)
        return identified(unknowns, solution, could, by, motions[0].gravity, dict(zip(MOMENTUM, after.tolist(), strict=True)), {}, said)
    equations = Equations.of_forces(unknowns, motions)
    solution, joints = solve_equations(unknowns, equations, could), robot.model.labels("v")
    after = equations.errors(solution.x - unknowns.values)
    left = {name: int(count) for name, count in zip(joints, equations.left, strict=True) if count}
    return identified(unknowns, solution, could, by, motions[0].gravity, dict(zip(joints, after.tolist(), strict=True)), left,
                      worse(equations, solution, after))  # fmt: skip


def known_momentum(momentum: Any, by: str) -> Array:
    """Return a momentum (6)."""
    P = numbers("momentum", momentum, IdentificationError)
    if P.shape != (6,) or by != "momentum":
        raise IdentificationError(f"momentum has shape {P.shape}; expected (6,)" if by == "momentum" else
                                  "momentum is given, and nothing reads it; expected by='momentum'")  # fmt: skip
    return P


def require_free(robot: Robot, fixed: bool) -> None:
    """Refuse a robot whose momentum is not constant."""
    model = robot.model
    held = next((model.bodies[i].joint.name for i in model.roots if not model.bodies[i].kind.floats), None)
    if held is not None or not model.roots:
        by = f" by '{held}'" if held else ""
        raise IdentificationError(f"'{model.name}' hangs on the world{by}, which takes its momentum; expected a model that floats "
                                  "(floating_base=True), or by='torques'")  # fmt: skip
    if fixed and any(robot.gravity):
        raise IdentificationError(f"momentum is not constant in the gravity {robot.gravity}; expected a robot in none, "
                                  "engine.compile(model, gravity=(0, 0, 0))")  # fmt: skip


def identified(unknowns: Unknowns, solution: Solution, could: BaseParameters, by: str, gravity: Any, after: dict[str, float],
               left: dict[str, int], said: list[str]) -> Identification:  # fmt: skip
    """Return a solution with what is said of it: what the motion does not show, or hardly, and more."""
    fit, found, x, blocks, scale = solution
    sizes, model = np.linalg.norm(scales(blocks, len(x)), axis=1), unknowns.put_in(x)
    if found.physical:                                                         # of what was found, where that is more
        blocks = prior(Unknowns(model, unknowns.names), scale)[1]
        sizes = np.maximum(sizes, np.linalg.norm(scales(blocks, len(x)), axis=1))
    sizes = np.maximum(sizes, np.abs(x))                                       # where the model is thin
    sizes[unknowns.numbers] = np.maximum(sizes, scale)[unknowns.numbers]
    said = [*not_shown(fit.base, could), *hardly_shown(fit, sizes), *said]
    for text in said:
        warn(text, IdentificationWarning)
    return Identification(model, unknowns.model, fit.base, fit.found + fit.base.B @ unknowns.values, fit.std, x, after, fit.condition,
                          fit.dof, left, found.physical, by, None if by == "momentum" else tuple(gravity), tuple(said))  # fmt: skip


def worse(equations: Equations, solution: Solution, after: Array) -> list[str]:
    """Return what to say where bodies cannot have what least squares found, with errors ``after`` (kinds) instead."""
    found = solution.found
    if found.physical:
        return []
    before, now = np.sqrt((equations.errors(solution.fit.full) ** 2).sum()), np.sqrt((after**2).sum())
    return [f"no body can have what least squares found of {some(found.ends)}; the values are the best that bodies can have "
            f"(error {now:.3g} instead of {before:.3g})" if found.done and found.ends else
            f"the search among bodies did not come to its end, only to an error of {now:.3g} instead of {before:.3g}; expected a "
            "model whose inertias are nearer to what they are"]  # fmt: skip


def of_momentum(unknowns: Unknowns, motions: list[Motion], P: Array | None, could: BaseParameters) -> tuple[Solution, list[str], Array]:
    """Return what momentum says of the unknowns, what is to be said of it, and the errors of its entries (6).

    The equations are linearized about what was found from them, until that does not move by what noise does; first with v as it is.
    """
    x, noise, last = unknowns.values, np.ones(unknowns.model.nv), None
    for k in range(ROUNDS):
        rows = linear(unknowns, motions, P, x, noise, last is not None)
        solution = solve_equations(unknowns, rows.equations, could)
        now = solution.fit.R @ solution.fit.base.B @ solution.x
        if last is not None and last.shape == now.shape and np.linalg.norm(now - last) < SETTLED * np.sqrt(len(now)):
            break
        if k == EARLY or len(solution.fit.base) < len(could):                  # it may never settle
            require_told(rows, solution, noise_of_rows(unknowns, motions, P, x, noise), could)
        x, noise, last = solution.x, shared(unknowns, rows.off), now
    require_told(rows, solution, noise_of_rows(unknowns, motions, P, x, noise), could)
    after = linear(unknowns, motions, P, solution.x, noise, True)
    left = rows.equations.errors(solution.x - unknowns.values)
    return solution, [*going_on(after, left), *worse(rows.equations, solution, left)], after.errors


def going_on(rows: Linear, errors: Array) -> list[str]:
    """Return what to say where what is left of momentum is no noise, in units of the velocities'."""
    if rows.goes_on < GOES_ON or errors[0] < ROUGH * rows.size:
        return []
    return [f"momentum is not constant by more than noise: its errors go on from row to row (correlation {rows.goes_on:.3g}, "
            f"{max(rows.errors[:3]):.3g} N·m·s and {max(rows.errors[3:]):.3g} N·s); expected no gravity, nothing that pushes, the "
            "angular_momentum of wheels, and all that is not unknown as the model has it"]  # fmt: skip


def require_told(rows: Linear, solution: Solution, N: Array, could: BaseParameters) -> None:
    """Refuse momentum that shows no more of some combination than noise of v would, N (n, n) of their squares (:func:`noise_of_rows`).

    By A x constant, x = 0 is as good as any if nothing is known; and then noise alone says how large x is.
    """
    fit, chosen = solution.fit, list(could.chosen)
    Phi = fit.triangle[:, chosen]
    size = np.sqrt(np.diag(N)[chosen]) + 1e-12 * np.linalg.norm(Phi, axis=0) + np.finfo(float).tiny
    W, V = np.linalg.eigh(N[np.ix_(chosen, chosen)] / np.outer(size, size))
    noise = V * np.sqrt(np.maximum(W, 1e-12))
    _, s, to = np.linalg.svd(Phi / size @ np.linalg.inv(noise).T)
    if s[-1] ** 2 >= TOLD:
        return
    if said := going_on(rows, rows.equations.errors(fit.full)):
        raise IdentificationError(said[0])
    x = could.B @ solution.x
    parts = np.linalg.norm(Phi, axis=0) * np.abs(x)
    if np.linalg.norm(Phi @ x) ** 2 < max(TOLD * (x @ N[np.ix_(chosen, chosen)] @ x), (ROUGH * parts.sum()) ** 2):
        raise IdentificationError(f"nothing in this motion tells the size of {some(large(could, parts))}, at most ratios; expected what "
                                  "they are to be measured by: a link that is not in unknown=, or of a body that is alone its mass and "
                                  "one of its moments, the angular_momentum of wheels, or momentum=")  # fmt: skip
    share = np.abs(np.linalg.inv(noise).T @ to[-1] / size) * np.linalg.norm(Phi, axis=0)
    raise IdentificationError(f"nothing in this motion shows more of {some(large(could, share))} than noise of v would; expected more of "
                              "a motion that shows them, less noise, or less in unknown=")  # fmt: skip


def large(could: BaseParameters, share: Array) -> list[str]:
    """Return the names of the parameter combinations whose share (r) is over 0.3 of the largest."""
    return [could.parameters[could.chosen[k]] for k in np.flatnonzero(share > 0.3 * share.max())]


def not_shown(base: BaseParameters, could: BaseParameters) -> list[str]:
    """Return what to say of combinations that a robot could show, and a motion does not."""
    lost = [could.parameters[j] for j in could.chosen if j not in base.chosen]
    if not lost:
        return []
    return [f"the motion shows {len(base)} combinations of the {len(could)} that the robot could, and nothing of its own of {some(lost)}; "
            "expected a motion of all joints that shows them"]  # fmt: skip


def hardly_shown(fit: Fit, sizes: Array) -> list[str]:
    """Return what to say of combinations that are known worse than by all that the model has of them, of unknowns of such sizes (n)."""
    from scipy.stats import t

    worse = np.flatnonzero(t.ppf(0.975, fit.dof) * fit.std > np.abs(fit.base.B) @ sizes)
    names = [fit.base.parameters[fit.base.chosen[k]] for k in worse]
    return [f"the motion hardly shows {len(names)} of {len(fit.base)} combinations, those of {some(names)}: their intervals are wider than "
            "all that the model has there; expected more of a motion that shows them"] if names else []  # fmt: skip


def some(names: Sequence[str]) -> str:
    """Return a few names, and how many more there are."""
    return ", ".join(f"'{name}'" for name in names[:SOME]) + (f" and {len(names) - SOME} more" if len(names) > SOME else "")
