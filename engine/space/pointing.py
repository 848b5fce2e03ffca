"""Attitudes that follow an orbit, for ``attitude_control``: by the local vertical, or towards a place."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from engine import ops
from engine.checks import numbers, shown
from engine.compiler.gufunc import Gufunc, shaped
from engine.components.attitude_target import turning
from engine.components.component import SimulationError
from engine.components.picklable_closures import picklable
from engine.space.axes import lvlh, rtn
from engine.space.gravity import GravityField
from engine.space.orbit import ReferenceOrbit
from engine.spatial import quaternion

Array = np.ndarray
#: (t, r, v) -> the axes (3×3), as columns, of a place and a velocity
Axes = Callable[[Any, Array, Array], Array]
NAMED: dict[str, Axes] = {"lvlh": lambda t, r, v: lvlh(r, v), "rtn": lambda t, r, v: rtn(r, v)}


@picklable
def pointing(axes: str | Callable[[Any], Any], field: GravityField | ReferenceOrbit | None = None,
             turn: Any = (1.0, 0.0, 0.0, 0.0)) -> Callable[..., tuple[Array, Array, Array]]:  # fmt: skip
    """Return a ``target`` for :func:`~engine.components.controllers.attitude_control` in a simulator with a ReferenceOrbit.

    Its rates and accelerations are those of the orbit at its place and velocity, falling in the field: no lag is left, under J2 either.

    Parameters
    ----------
    axes : "lvlh" (z down, y against the orbit's momentum, x along), "rtn", or a function of t, s, to a place about the planet, m (3), such
        as the Sun's, or a station's on the ground, at which z points, with y across the orbit's plane as nearly as may be
    field : by which the orbit falls, the frame's own, or the frame; by default the Earth's point mass
    turn : unit quaternion (4) of the base's axes in those

    Examples
    --------
    >>> target = pointing("lvlh")
    >>> q, w, wdot = target(0.0, None, None, (np.array([7e6, 0.0, 0.0]), np.array([0.0, 7546.05, 0.0])))
    >>> (1e3 * w).round(6) + 0.0
    array([ 0.      , -1.078007,  0.      ])
    """
    field = GravityField() if field is None else field.field if isinstance(field, ReferenceOrbit) else field
    if not isinstance(field, GravityField):
        raise SimulationError(f"pointing's field is {shown(field)}; expected an engine.space.GravityField, or the orbit itself")
    turn = numbers("turn", turn, SimulationError)
    if turn.shape != (4,) or not quaternion.is_unit(turn):
        raise SimulationError(f"turn is {shown(turn.tolist())}; expected a unit quaternion [qw, qx, qy, qz]")
    if isinstance(axes, str) and axes not in NAMED:
        raise SimulationError(f"axes are {axes!r}; expected 'lvlh', 'rtn', or a function of t to a place (3), m")
    if not isinstance(axes, str) and not callable(axes):
        raise SimulationError(f"axes are {shown(axes)}; expected 'lvlh', 'rtn', or a function of t to a place (3), m")
    wanted = NAMED[axes] if isinstance(axes, str) else functools.partial(toward, axes)

    @functools.cache
    def made() -> Gufunc:
        def rates(s: Any, t: Any, r: Array, v: Array) -> tuple[Array, Array, Array]:
            def attitude(s: Any) -> Array:
                return quaternion.product(quaternion.from_matrix(wanted(t + s, *ahead(field, t, r, v, s))), turn)

            return turning(attitude, s)

        return shaped(rates, "(),(),(3),(3)->(4),(3),(3)")

    def target(t: Any, q: Array, v: Array, origin: Any) -> tuple[Array, Array, Array]:
        found: tuple[Array, Array, Array] = made()(0.0, t, *origin)
        return found

    return target


def ahead(field: GravityField, t: Any, r: Array, v: Array, s: Any) -> tuple[Array, Array]:
    """Return place and velocity a time s later, to the second order, as far as accelerations of axes ask."""
    a = field.acceleration(r, t)
    jerk = ops.jacobian(lambda x: field.acceleration(r + x[0] * v, t + x[0]), ops.array([s]))[:, 0]
    return r + s * v + (0.5 * s * s) * a, v + s * a + (0.5 * s * s) * jerk


def toward(place: Callable[[Any], Any], t: Any, r: Array, v: Array) -> Array:
    """Return axes (3×3), as columns, whose z points from r at a place of t, and whose y is across the orbit's plane, against its momentum,
    as nearly as may be."""
    at = np.asarray(place(t))
    if at.shape != (3,):
        raise SimulationError(f"the place to point at has shape {at.shape}; expected (3,), m about the planet")
    z = at - r
    z = z / ops.norm(z)
    x = ops.cross(ops.cross(v, r), z)
    x = x / ops.norm(x)
    return np.stack([x, ops.cross(z, x), z], axis=-1)
