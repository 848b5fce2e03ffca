"""Systems with a state on a manifold and controls: what linearisation, simulation and optimisation ask of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.checks import takes
from engine.integrate import Method, System, method_named, step
from engine.model import StateError
from engine.rigid_body.lie_state import LieState

Array = NDArray[np.float64]


class ControlSystem:
    """ẋ = f(x, u, t), with the state x of a :class:`LieState` and controls u.

    Attributes
    ----------
    state : layout of x (n entries, errors of ne)
    controls : number of entries of u
    integrator : name of a method of :mod:`engine.integrate`, for :meth:`discrete_dynamics`

    >>> import engine
    >>> isinstance(engine.RigidBody(mass=2.0), engine.rigid_body.ControlSystem)
    True
    """

    state: LieState
    controls: int = 0
    integrator: str = "cg4"

    @property
    def name(self) -> str:
        """The class's name, for messages."""
        return type(self).__name__

    def rate(self, x: Array, u: Array, t: Any) -> Array:
        """ẋ (n) in coordinates."""
        raise NotImplementedError

    def discrete_dynamics(self, x: Array, u: Array, t: Any, dt: Any, integrator: str | None = None) -> Array:
        """The state (n) after a step of dt at constant controls. Traceable."""
        raise NotImplementedError

    def sound(self, x: Array, u: Array, t: Any) -> list[Any]:
        """Return truth values without which nothing that is computed of the system holds: that a varying mass is above zero. Traced."""
        return []

    def check(self) -> None:
        """Refuse a system that cannot be."""
        if not isinstance(state := getattr(self, "state", None), LieState):
            raise StateError(f"{self.name}: state is {state!r}; expected its layout, such as LieState('quaternion', 3, 6)")
        if isinstance(self.controls, bool) or not isinstance(self.controls, (int, np.integer)) or self.controls < 0:
            raise StateError(f"{self.name}: controls is {self.controls!r}; expected the number of entries of u")
        if callable(fn := getattr(self, "dynamics", None)):
            takes(f"{self.name}.dynamics", fn, ("x", "u", "t"), StateError)

    def method(self, integrator: str | None = None) -> Method:
        """The method of that name, or the system's own."""
        return method_named(integrator or self.integrator, StateError)

    def state_plus(self, x: Array, delta: Array) -> Array:
        """Return cayley_plus(x, δ) of the state: the state (n) that lies the error δ (ne) from x."""
        return self.state.cayley_plus(self.state.vector(x), delta)

    def state_diff(self, x: Array, x0: Array) -> Array:
        """Return cayley_minus(x0, x) of the state: the error δ (ne) from x0 to x, state_plus(x0, δ) = x."""
        return self.state.cayley_minus(self.state.vector(x0), self.state.vector(x))

    def error_jacobian(self, x: Array) -> Array:
        """Return E = ∂ state_plus(x, δ)/∂δ at δ = 0, (n, ne)."""
        return self.state.error_jacobian(self.state.vector(x))

    def error_jacobian_rate(self, x: Array, b: Array) -> Array:
        """Return ∂/∂δ E(state_plus(x, δ))ᵀ b at δ = 0, (ne, ne)."""
        return self.state.error_jacobian_rate(self.state.vector(x), b)

    def neutral(self) -> Array:
        """The state of rest at the origin (n)."""
        return self.state.neutral()

    def random(self, rng: np.random.Generator) -> Array:
        """A random state (n): uniform rotations, vectors from the standard normal distribution."""
        return self.state.random(rng)


class Dynamics(ControlSystem):
    """General dynamics on a manifold: give ``state`` and ``controls``, and write ``dynamics(x, u, t)``.

    ``dynamics`` returns the velocity ξ (ne): the body's ω for each rotation of the state, the derivative for each vector. Everything is
    traced: write it with NumPy arithmetic and ``engine.ops``. A ``controller(x, t)`` may be given too, returning u.

    Examples
    --------
    A rotation driven by its controls:

    >>> class Gimbal(Dynamics):
    ...     state, controls = LieState("quaternion"), 3
    ...     def dynamics(self, x, u, t):
    ...         return u
    >>> x = Gimbal().discrete_dynamics(np.array([1.0, 0, 0, 0]), np.array([0, 0, np.pi]), 0.0, 1.0)
    >>> x.round(12) + 0.0
    array([0., 0., 0., 1.])
    """

    def dynamics(self, x: Array, u: Array, t: Any) -> Array:
        """The velocity ξ (ne)."""
        raise NotImplementedError(f"{self.name} has no dynamics(x, u, t)")

    def velocity(self, x: Array, u: Array, t: Any) -> Array:
        """Call ``dynamics``, and return its result if it has the right shape."""
        xi = np.asarray(self.dynamics(x, u, t))
        if xi.shape != (self.state.ne,):
            raise StateError(f"{self.name}.dynamics returned shape {xi.shape}; expected ({self.state.ne},), a velocity of {self.state}")
        return xi

    def rate(self, x: Array, u: Array, t: Any) -> Array:
        """ẋ (n) in coordinates."""
        return self.state.rate(x, self.velocity(x, u, t))

    def discrete_dynamics(self, x: Array, u: Array, t: Any, dt: Any, integrator: str | None = None) -> Array:
        """The state (n) after a step of dt at constant controls, by any explicit method. Traceable."""
        method = self.method(integrator)
        if method.takes is not System:
            raise StateError(f"integrator '{method.name}' is for mechanical systems, not for {self.name}; expected another, such as cg4")
        return step(method, System(self.state.manifold, lambda t, x: self.velocity(x, u, t)), t, dt, x)
