"""Controllers ready to use, such as PD and computed torque: functions of (t, q, v) and of what else they ask for by name.

References are functions of t as in :mod:`engine.components.references`: joints' ``t -> (q_d, v_d, a_d)``, links' ``t -> (T_d, V_d, A_d)``.

Of several robots as one model a controller steers one tree, by its name or that of a link of it (``tree="servicer"``, see
:meth:`engine.Model.tree`), or the one that carries its link or actuator: references, targets and gains have the sizes of that tree
alone, and the forces are of all.

Errors are taken on the manifold; with a bandwidth ω (rad/s) and a damping ratio ζ they die out as ë + 2 ζ ω ė + ω² e = 0.

References: Khatib, *A unified approach for motion and force control of robot manipulators*, IEEE J. Robotics and Automation 1987; Umetani &
Yoshida 1989 and Nenchev et al. 1996 as in :mod:`engine.dynamics.free_floating`; Wie, *Space Vehicle Dynamics and Control*, ch. 7; Wen &
Kreutz-Delgado, *The attitude control problem*, IEEE Trans. Automatic Control 1991.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from engine import dynamics, ops
from engine.checks import number, shown, warn
from engine.components.actuators import ReactionWheels, Thrusters
from engine.components.attitude_target import attitude_target, takes_origin
from engine.components.component import Component, SimulationError, SimulationWarning
from engine.components.forces import checked_vector
from engine.components.picklable_closures import picklable
from engine.components.reading import given_all
from engine.components.references import Reference, blend, followed, minimum_jerk, minimum_jerk_pose, require_model
from engine.model import Model, Tree
from engine.spatial import quaternion, se3
from engine.spatial.so3 import hat

__all__ = [
    "attitude_control", "blend", "computed_torque", "generalized_jacobian_control", "minimum_jerk", "minimum_jerk_pose", "momentum_dumping",
    "operational_space", "pd_gravity", "reaction_null_space_motion", "resolved_rate",
]  # fmt: skip

Array = np.ndarray


# ---------------------------------------------------------------- joints


@picklable
def computed_torque(model: Model, reference: Reference, bandwidth: float = 10.0, damping: float = 1.0,
                    tree: str | None = None) -> Callable[..., Array]:  # fmt: skip
    """Follow a joint reference: tau = RNEA(q, v, a_d + 2 ζ ω (v_d − v) + ω² (q_d ⊖ q)); of a floating base only the joints are driven."""
    forest, own = model, one_tree("computed_torque", model, tree)
    model = own.model
    require_positive("computed_torque", bandwidth=bandwidth, damping=damping)
    base = 6 if model.floats else 0
    reference = followed("computed_torque", reference, (model.nq,), (model.nv,))

    def computed_torque(t: Any, q: Array, v: Array, gravity: Any, armature: Array) -> Array:
        q_d, v_d, a_d = reference(t)
        e = model.manifold.minus(q, q_d)
        a = (a_d + 2.0 * damping * bandwidth * (v_d - v) + bandwidth**2 * e)[base:]
        return driven(model, q, v, a, gravity, armature)

    return made_for(of_tree(computed_torque, forest, own), forest)


@picklable
def pd_gravity(model: Model, target: Array, stiffness: Any, damping: Any, tree: str | None = None) -> Callable[..., Array]:
    """Hold a configuration: tau = K (q_d ⊖ q) − D v + g(q), with K and D numbers or (nv), zero or more."""
    forest, own = model, one_tree("pd_gravity", model, tree, several=True)
    model = own.model
    q_d = model.normalized(target)
    stiffness, damping = (checked_vector(model, f"pd_gravity: {n}", x) for n, x in (("stiffness", stiffness), ("damping", damping)))

    def pd_gravity(t: Any, q: Array, v: Array, gravity: Any) -> Array:
        return stiffness * model.manifold.minus(q, q_d) - damping * v + dynamics.gravity_forces(model, q, gravity)

    return made_for(of_tree(pd_gravity, forest, own), forest)


# ---------------------------------------------------------------- links


@picklable
def operational_space(model: Model, link: str, reference: Reference, bandwidth: float = 10.0, damping: float = 1.0,
                      rest: float = 2.0, regular: float = 1e-6, tree: str | None = None) -> Callable[..., Array]:  # fmt: skip
    """Follow a link's reference with a fixed base (Khatib)::

        Λ = (J M⁻¹ Jᵀ)⁻¹,   F = Λ (A* − J̇ v),   tau = Jᵀ F + C v + g − (1 − Jᵀ J̄ᵀ) M rest v,   J̄ = M⁻¹ Jᵀ Λ

    ``rest`` (1/s) damps what the task leaves free; ``regular`` is added to J M⁻¹ Jᵀ, relative to its trace, for singular arms.
    """
    positive, others = {"bandwidth": bandwidth, "damping": damping}, {"rest": rest, "regular": regular}
    own, reference = link_task("operational_space", model, link, reference, tree, positive, others, floating=False)
    forest, model = model, own.model

    def operational_space(t: Any, q: Array, v: Array, pose: Any, jacobian: Any, gravity: Any, armature: Array) -> Array:
        J, M, b = jacobian(link), dynamics.crba(with_rotors(model, armature), q), dynamics.bias(model, q, v, gravity)
        wanted = task(reference, t, pose(link), J @ v, bandwidth, damping)
        Minv_JT = ops.solve(M, J.T)
        L = J @ Minv_JT
        L = L + regular * np.trace(L) / 6.0 * np.eye(6)
        F = ops.solve(L, wanted - dynamics.jacobian_dot(model, q, v, link) @ v)
        w = M @ (-rest * v)
        return J.T @ F + b + w - J.T @ ops.solve(L, Minv_JT.T @ w)

    return made_for(of_tree(operational_space, forest, own), forest)


@picklable
def resolved_rate(model: Model, link: str, reference: Reference, gain: float = 5.0, servo: float = 50.0,
                  regular: float = 1e-6, tree: str | None = None) -> Callable[..., Array]:  # fmt: skip
    """Resolved-motion rate control: joint velocities u = J⁺ (V_d + gain · error), which a servo follows by accelerations servo (u − q̇).

    J is the body Jacobian, or of a floating base the generalized one: the base is not held, and its momentum is allowed for.
    """
    positive, others = {"gain": gain, "servo": servo}, {"regular": regular}
    own, reference = link_task("resolved_rate", model, link, reference, tree, positive, others)
    forest, model = model, own.model
    base = 6 if model.floats else 0

    def resolved_rate(t: Any, q: Array, v: Array, pose: Any, jacobian: Any, gravity: Any, armature: Array) -> Array:
        T_d, V_d, _ = reference(t)
        X = se3.inv(pose(link)) @ T_d
        V = se3.Ad(X) @ V_d + gain * se3.log(X)
        if base:
            J = dynamics.generalized_jacobian(model, q, link)
            V = V - (jacobian(link) @ v - J @ v[6:])                            # what the momentum carries along
        else:
            J = jacobian(link)
        a = servo * (damped_inverse(J, V, regular) - v[base:])
        return driven(model, q, v, a, gravity, armature)

    return made_for(of_tree(resolved_rate, forest, own), forest)


@picklable
def generalized_jacobian_control(model: Model, link: str, reference: Reference, bandwidth: float = 2.0, damping: float = 1.0,
                                 rest: float = 0.5, regular: float = 1e-6, tree: str | None = None) -> Callable[..., Array]:  # fmt: skip
    """Follow a link's reference with an arm whose base floats freely (resolved acceleration with the generalized Jacobian)::

        V̇_link = J* q̇̇ + J̇ v − J_b Hb⁻¹ b0,   q̇̇ = J*⁺ (A* − J̇ v + J_b Hb⁻¹ b0) − rest (1 − J*⁺ J*) q̇

    The joints' torques are those of :func:`engine.dynamics.floating_inverse_dynamics`.
    """
    positive, others = {"bandwidth": bandwidth, "damping": damping}, {"rest": rest, "regular": regular}
    own, reference = link_task("generalized_jacobian_control", model, link, reference, tree, positive, others, floating=True)
    forest, model = model, own.model

    def generalized_jacobian_control(t: Any, q: Array, v: Array, pose: Any, jacobian: Any, gravity: Any, armature: Array) -> Array:
        J = jacobian(link)
        wanted = task(reference, t, pose(link), J @ v, bandwidth, damping)
        Js = dynamics.generalized_jacobian(model, q, link)
        M, b = dynamics.crba(model, q), dynamics.bias(model, q, v, gravity)
        drift = dynamics.jacobian_dot(model, q, v, link) @ v - J[:, :6] @ ops.solve(M[:6, :6], b[:6])
        a = damped_inverse(Js, wanted - drift, regular)
        idle = -rest * v[6:]
        a = a + idle - damped_inverse(Js, Js @ idle, regular)
        return driven(model, q, v, a, gravity, armature)

    return made_for(of_tree(generalized_jacobian_control, forest, own), forest)


@picklable
def reaction_null_space_motion(model: Model, motion: Callable[[Any], Array], gain: float = 10.0,
                               tree: str | None = None) -> Callable[..., Array]:  # fmt: skip
    """Joint motion that leaves the attitude of a floating base alone: joint velocities near ``motion(t)`` (nv − 6), ω̇ of the base zero.

    ::

        ω̇ = −B q̇̇ − (Hb⁻¹ b0)_ω = 0:   q̇̇ = −B⁺ (Hb⁻¹ b0)_ω + N gain (motion(t) − q̇),   N = 1 − B⁺ B

    A base that does not turn at first then never does. B is rows 1–3 of Hb⁻¹ Hbm.
    """
    forest, own = model, one_tree("reaction_null_space_motion", model, tree, floating=True)
    model = own.model
    require_positive("reaction_null_space_motion", gain=gain)
    if not callable(motion):
        raise SimulationError(f"reaction_null_space_motion: motion is {shown(motion)}; expected a function of t")

    def reaction_null_space_motion(t: Any, q: Array, v: Array, gravity: Any, armature: Array) -> Array:
        M, b = dynamics.crba(model, q), dynamics.bias(model, q, v, gravity)
        B, c = ops.solve(M[:6, :6], M[:6, 6:])[:3], ops.solve(M[:6, :6], b[:6])[:3]
        N = dynamics.reaction_null_space(model, q)
        a = N @ (gain * (motion(t) - v[6:])) - damped_inverse(B, c, 0.0)
        return driven(model, q, v, a, gravity, armature)

    return made_for(of_tree(reaction_null_space_motion, forest, own), forest)


# ---------------------------------------------------------------- the base's attitude


@picklable
def attitude_control(model: Model, actuator: ReactionWheels | Thrusters, target: Any = (1.0, 0.0, 0.0, 0.0), bandwidth: float = 0.5,
                     damping: float = 1.0, also: Callable[..., Any] | None = None,
                     tree: str | None = None) -> Callable[..., dict[str, Any]]:  # fmt: skip
    """Hold or follow the attitude of a floating base by reaction wheels or thrusters on it.

    With e the rotation vector to the target, and I the inertia of the whole about the base's origin, a target that stands is approached by
    the moment I (ω_b² e − 2 ζ ω_b ω). One that moves is followed without a lag, by what its own motion takes, and what the base's takes::

        H (Ω̇ − ω × Ω + ω_b² e + 2 ζ ω_b (Ω − ω)) + ω × L

    Ω and Ω̇ are the target's rates, turned into the base's axes, H is the inertia about the centre of mass, and L the angular momentum
    about that, with the wheels'. What the joints' accelerations do to the base counts as a disturbance. Wheels share the moment by the
    pseudo-inverse of their axes. Thrusters (in opposing pairs) share it by the positive part of twice the pseudo-inverse of their moments
    and forces, which makes no net force.

    Parameters
    ----------
    target : unit quaternion (4), base → world, however the base's joint is placed; or a function of t, or of t, q, v, that returns one,
        whose rates are derived: of one of the state along the motion in which nothing accelerates, which is right for a line to a centre
        of gravity; or that returns (quaternion, ω, ω̇), the rates in the target's own axes; or of an orbit: :func:`engine.space.pointing`
    also : another controller for the joints, a function of ``t, q, v`` and of what else it asks for by name, as a Simulator takes one;
        such as :func:`computed_torque`
    """
    if also is not None and not callable(also):
        raise SimulationError(f"attitude_control: also is {also!r}; expected a controller without a state or period of its own")
    require_positive("attitude_control", bandwidth=bandwidth, damping=damping)
    own = require_on_base("attitude_control", model, tree, actuator, ReactionWheels, Thrusters)
    shares, wanted = shared(actuator), attitude_target("attitude_control", model, target)
    turned = actuator.axes.T if callable(target) and isinstance(actuator, ReactionWheels) else None
    asks, of_orbit = inspect.signature(also or (lambda t, q, v: None)), callable(target) and takes_origin(target)
    R = own.model.bodies[0].placement[:3, :3]
    placed, upright = quaternion.from_matrix(R), np.array_equal(R, np.eye(3))

    def attitude_control(t: Any, q: Array, v: Array, **asked: Any) -> dict[str, Any]:
        q_d, rates = wanted(t, q, v, asked["origin"]) if of_orbit else wanted(t, q, v)
        q_own, v_own = q[own.q], v[own.v]
        attitude = q_own[:4] if upright else quaternion.product(placed, q_own[:4])
        q_e, w, M = quaternion.product(quaternion.conjugate(attitude), q_d), v_own[:3], dynamics.crba(own.model, q_own)
        e = quaternion.log(q_e)
        if rates is None:
            moment = M[:3, :3] @ (bandwidth**2 * e - 2.0 * damping * bandwidth * w)
        else:
            W, Wdot = (quaternion.rotate(quaternion.normalize(q_e), x) for x in rates)
            A = M[:3] - M[:3, 3:6] @ ops.solve(M[3:6, 3:6], M[3:6])            # the momentum about the centre of mass is A v
            L = A[:, :3] @ w + A[:, 6:] @ v_own[6:]
            if turned is not None:
                L = L + turned @ asked["states"][actuator.name][: turned.shape[1]]
            a = Wdot - ops.cross(w, W) + bandwidth**2 * e + 2.0 * damping * bandwidth * (W - w)
            moment = A[:, :3] @ a + ops.cross(w, L)
        commands = {actuator.name: shares(moment)}
        if also is None:
            return commands
        others = also(t, q, v, **{n: x for n, x in asked.items() if n in inspect.signature(also).parameters})
        return {**commands, **(others if isinstance(others, Mapping) else {"tau": others})}

    for name, wants in (("states", turned is not None), ("origin", of_orbit)):
        asks = asking(asks, name) if wants else asks
    vars(attitude_control)["__signature__"] = asks
    return made_for(attitude_control, model, actuator, also=also)


@picklable
def momentum_dumping(model: Model, wheels: ReactionWheels, thrusters: Thrusters, rate: float = 0.05, target: Any = (1.0, 0.0, 0.0, 0.0),
                     bandwidth: float = 0.5, damping: float = 1.0, tree: str | None = None) -> Callable[..., dict[str, Any]]:  # fmt: skip
    """Empty the wheels into the thrusters while the wheels hold the attitude: the thrusters' moment is −rate · A h, and the wheels' that
    of :func:`attitude_control` less the thrusters'. h then dies out as exp(−rate t), of more than three wheels what turns nothing too.
    """
    require_on_base("momentum_dumping", model, tree, wheels, ReactionWheels)
    require_on_base("momentum_dumping", model, tree or wheels.link, thrusters, Thrusters)
    require_positive("momentum_dumping", rate=rate)
    hold = attitude_control(model, wheels, target, bandwidth, damping, tree=tree)
    shares, spread = shared(thrusters), np.linalg.pinv(wheels.axes.T)
    idle = np.eye(len(spread)) - spread @ wheels.axes.T                        # onto momenta that turn nothing
    idle = idle if np.abs(idle).max() > 1e-9 else np.zeros((0, 0))

    def momentum_dumping(t: Any, q: Array, v: Array, states: Any, **origin: Any) -> dict[str, Any]:
        h = wheels.momenta(states[wheels.name])
        dump = -rate * (wheels.axes.T @ h)
        torque = hold(t, q, v, states=states, **origin)[wheels.name] - spread @ dump
        torque = torque + rate * (idle @ h) if idle.size else torque
        return {wheels.name: torque, thrusters.name: shares(dump)}

    vars(momentum_dumping)["__signature__"] = asking(inspect.signature(hold), "states")
    return made_for(momentum_dumping, model, wheels, thrusters)


# ---------------------------------------------------------------- what they share


def require_positive(what: str, zero: bool = False, **given: Any) -> None:
    """Refuse numbers by name that are not above zero, or where ``zero`` may be, not zero or more."""
    for name, x in given.items():
        number(f"{what}: {name}", x, "zero or more" if zero else "a number above 0", above=-np.inf if zero else 0.0,
               least=0.0 if zero else -np.inf, error=SimulationError)  # fmt: skip


def require_on_base(what: str, model: Model, tree: str | None, actuator: Any, *kinds: Any) -> Tree:
    """Return the tree that an actuator turns; refuse one that is none of these kinds, or that is not on the base of a model that floats."""
    require_model(model, what)
    fits = isinstance(actuator, kinds)
    own = one_tree(what, model, tree, actuator.link if fits and len(model.tree_names) > 1 else None, floating=True)
    if not fits:
        raise SimulationError(f"{what}: the actuator is {shown(actuator)}; expected {' or '.join(k.__name__ for k in kinds)}")
    first = own.model.bodies[0].joint.child
    if actuator.link != first:
        raise SimulationError(f"{what}: '{actuator.name}' is on link '{actuator.link}'; expected it on the base, '{first}'")
    return own


def asking(signature: inspect.Signature, name: str) -> inspect.Signature:
    """Return the signature of a function that asks for one thing more, by name."""
    known = [p for n, p in signature.parameters.items() if n != name]
    more = [p for p in known if p.kind is p.VAR_KEYWORD]
    return inspect.Signature([*known[: len(known) - len(more)], inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY), *more])


def made_for(control: Callable[..., Any], model: Model, *actuators: Component, also: Any = None) -> Callable[..., Any]:
    """Return a controller with ``require_made_for(model, components)``, which refuses other joints and actuators than it was made for.

    They are compared by what it has read of them: copies will do, and so will other masses.
    """

    def joints(m: Model) -> list[str]:
        return [f"'{b.joint.name}' ({b.kind.name})" for b in m.bodies if not b.mimics]

    def read(a: Component) -> list[Any]:
        return [type(a), *(np.asarray(vars(a)[n]).tolist() for n in ("link", "axes", "positions", "directions") if n in vars(a))]

    def require_made_for(found: Model, components: list[Component]) -> None:
        for own, other in itertools.zip_longest(joints(model), joints(found), fillvalue="none"):
            if own != other:
                raise SimulationError(f"{control.__name__} was made for {model!r}, where joint {own} is {other} of {found!r}; "
                                      "expected one that is made for this model")  # fmt: skip
        for a in actuators:
            if any(c.name == a.name and read(c) != read(a) for c in components):
                raise SimulationError(f"{control.__name__} was made for another '{a.name}' than the simulator's, with other axes or "
                                      "places; expected the same actuator for both")  # fmt: skip
        if hasattr(also, "require_made_for"):
            also.require_made_for(found, components)

    control = given_all(control)
    vars(control)["require_made_for"] = require_made_for
    return control


def one_tree(what: str, model: Model, tree: str | None, link: str | None = None, floating: bool | None = None,
             several: bool = False) -> Tree:  # fmt: skip
    """Return the tree that is meant: the one of that name, else of a model of which several parts float the one that carries the link, else
    all of it. Refuse the last where several parts float (unless ``several`` will do), and, where it matters, a base that does not, or does.
    """
    require_model(model, what)
    whole = Tree(model.name, model, slice(0, model.nq), slice(0, model.nv))
    roots = [model.bodies[i] for i in model.roots]
    forest = not model.floats and any(b.kind.floats for b in roots)
    if link is not None:
        model.link_index(link)
    if tree is not None:
        own = model.tree(tree)
    elif forest and link is not None and model.carrier[model.link_index(link)][0] >= 0:
        own = model.tree(link)
    elif forest and not several:
        names = ", ".join(f"'{b.joint.name}' ({b.kind.name})" for b in roots)
        trees = " or ".join(map(repr, model.tree_names))
        raise SimulationError(f"{what}: '{model.name}' moves in the world by {names}; expected one floating joint that carries all "
                              f"the others, or a fixed base, or one tree of it, as tree={trees}")  # fmt: skip
    else:
        own = whole
    if link is not None:
        own.model.link_index(link)
    if floating is not None and own.model.floats != floating:
        name = own.model.name
        raise SimulationError(f"{what}: '{name}' has a fixed base; expected a model loaded with floating_base=True" if floating else
                              f"{what}: '{name}' floats; expected a fixed base, or generalized_jacobian_control")  # fmt: skip
    return own


def link_task(what: str, model: Model, link: str, reference: Reference, tree: str | None, positive: Mapping[str, Any],
              others: Mapping[str, Any], floating: bool | None = None) -> tuple[Tree, Reference]:  # fmt: skip
    """Return the tree that carries a link and the link's reference, checked, as are numbers above zero, and others from zero."""
    own = one_tree(what, model, tree, link, floating=floating)
    require_positive(what, **positive)
    require_positive(what, True, **others)
    return own, followed(what, reference, (4, 4), (6,))


def of_tree(control: Callable[..., Array], forest: Model, own: Tree) -> Callable[..., Array]:
    """Return a controller of one tree (tau of its velocities) as one of the whole forest, which leaves the others alone."""
    if own.model is forest:
        return control

    def on_tree(t: Any, q: Array, v: Array, **asked: Any) -> Array:
        if "armature" in asked:
            asked["armature"] = asked["armature"][own.v]
        if (jacobian := asked.get("jacobian")) is not None:
            asked["jacobian"] = lambda link: jacobian(link)[:, own.v]
        tau = control(t, q[own.q], v[own.v], **asked)
        return np.concatenate([np.zeros(own.v.start), tau, np.zeros(forest.nv - own.v.stop)])

    vars(on_tree)["__signature__"] = inspect.signature(control)
    on_tree.__name__ = control.__name__
    return on_tree


def with_rotors(model: Model, armature: Array) -> Model:
    """Return the model with all of the armature (nv) that a simulation gives it, motors' rotors included."""
    return model if (armature == model.armature).all() else model.with_armature(armature - model.armature)


def driven(model: Model, q: Array, v: Array, a: Array, gravity: Any, armature: Array) -> Array:
    """Return tau (nv) that accelerates the joints by a; of a floating model a has nv − 6 entries, and its base is left alone."""
    model = with_rotors(model, armature)
    if not model.floats:
        return dynamics.rnea(model, q, v, a, gravity)
    tau, _ = dynamics.floating_inverse_dynamics(model, q, v, a, gravity)
    return np.concatenate([np.zeros(6), tau])


def task(reference: Reference, t: Any, T: Array, V: Array, bandwidth: float, damping: float) -> Array:
    """The rate of twist (6) that makes a link at T, moving with V, follow its reference, in its own frame."""
    T_d, V_d, A_d = reference(t)
    X = se3.inv(T) @ T_d
    U = se3.Ad(X) @ V_d                                                        # the wanted twist seen from the link
    A = se3.Ad(X) @ A_d + se3.ad(U - V) @ U
    return A + 2.0 * damping * bandwidth * (U - V) + bandwidth**2 * se3.log(X)


def damped_inverse(J: Array, y: Array, regular: float) -> Array:
    """J⁺ y = Jᵀ (J Jᵀ + λ 1)⁻¹ y, with λ = regular times the mean of J Jᵀ's diagonal."""
    A = J @ J.T
    n = len(A)
    return J.T @ ops.solve(A + (regular * np.trace(A) / n) * np.eye(n), y)


def shared(actuator: ReactionWheels | Thrusters) -> Callable[[Any], Any]:
    """Return the map from a moment on the link to an actuator's command."""
    if isinstance(actuator, ReactionWheels):
        inverse = np.linalg.pinv(actuator.axes.T)
        turns, sizes, _ = np.linalg.svd(actuator.axes.T)
        if (rank := int((sizes > 1e-6).sum())) < 3:
            warn(f"'{actuator.name}' turn about {rank} of three axes, and make no moment about {turns[:, -1].round(3).tolist()}, which is "
                 "left to itself; expected wheels about three axes", SimulationWarning)  # fmt: skip
        return lambda moment: inverse @ moment
    arms = np.concatenate([np.array([hat(p) @ d for p, d in zip(actuator.positions, actuator.directions, strict=True)]).T,
                           actuator.directions.T])  # fmt: skip
    inverse = 2.0 * np.linalg.pinv(arms)[:, :3]
    for m in (*np.eye(3), *-np.eye(3)):
        if not np.allclose(arms @ np.maximum(inverse @ m, 0.0), [*m, 0.0, 0.0, 0.0], atol=1e-9):
            text = "without a force; expected opposing pairs about every axis"
            raise SimulationError(f"'{actuator.name}' make no moment {m.tolist()} {text}")
    return lambda moment: ops.maximum(inverse @ moment, 0.0)
