"""What goes wrong is said: which argument, which entry, which joint or link, and what was expected."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import engine
from engine import ArgumentError, Builder, Mimic, Model, ModelError, StateError, dynamics
from engine.spatial import inertia

BOX, NOTHING = inertia.box(1.0, [0.1, 0.2, 0.3]), np.zeros((6, 6))


def arm() -> Model:
    """A free base that carries an arm and a hand: nq 9, nv 8."""
    builder = Builder("arm")
    for name in ("base", "forearm", "hand"):
        builder.add_link(name, inertia=BOX)
    builder.add_joint("elbow", "revolute", "base", "forearm")
    builder.add_joint("wrist", "revolute", "forearm", "hand", axis=[1, 0, 0])
    return builder.model(floating_base=True)


MODEL = arm()
Q, V = MODEL.neutral(), np.zeros(MODEL.nv)
ROBOT = engine.compile(MODEL)


def put(x: np.ndarray, k: int, value: float) -> np.ndarray:
    return np.where(np.arange(len(x)) == k, value, x)


# ---------------------------------------------------------------- shapes and types

WRONG = {
    "short": (Q[:-1], r"q has shape \(8,\); expected {9}"),
    "long": (np.zeros(10), r"q has shape \(10,\); expected {9}"),
    "scalar": (1.0, r"q has shape \(\); expected {9}"),
    "velocities for coordinates": (V, r"q has shape \(8,\); expected {9}"),
    "columns": (np.zeros((9, 2)), r"q has shape \(9, 2\); expected {9}"),
    "text": ("neutral", r"q holds <U7; expected real numbers"),
    "complex": (Q + 0j, r"q holds complex128; expected real numbers"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_configurations(wrong: str) -> None:
    q, text = WRONG[wrong]
    plain = [lambda: dynamics.rnea(MODEL, q, V, V), lambda: dynamics.aba(MODEL, q, V, V), lambda: dynamics.crba(MODEL, q),
             lambda: dynamics.forward_kinematics(MODEL, q), lambda: dynamics.twists(MODEL, q, V), lambda: dynamics.energy(MODEL, q, V),
             lambda: dynamics.momentum(MODEL, q, V), lambda: dynamics.center_of_mass(MODEL, q), lambda: dynamics.jacobian(MODEL, q, "hand"),
             lambda: dynamics.jacobian(MODEL, q, "hand", "world"), lambda: dynamics.jacobian_dot(MODEL, q, V, "hand"),
             lambda: dynamics.bias(MODEL, q, V), lambda: dynamics.gravity_forces(MODEL, q)]  # fmt: skip
    for call in plain:
        with pytest.raises(StateError, match=text.replace("{9}", r"\(9,\) for 'arm'")):
            call()
    for call in (lambda: ROBOT.rnea(q, V, V), lambda: ROBOT.crba(q), lambda: ROBOT.jacobian(q, "hand")):
        with pytest.raises(ArgumentError, match=text.replace("{9}", r"\(\.\.\., 9\)")):
            call()


@pytest.mark.parametrize(("name", "call", "compiled"), [
    ("v", lambda x: dynamics.rnea(MODEL, Q, x, V), lambda x: ROBOT.rnea(Q, x, V)),
    ("vdot", lambda x: dynamics.rnea(MODEL, Q, V, x), lambda x: ROBOT.rnea(Q, V, x)),
    ("tau", lambda x: dynamics.aba(MODEL, Q, V, x), lambda x: ROBOT.aba(Q, V, x)),
])  # fmt: skip
def test_wrong_velocities_accelerations_and_forces(name: str, call: Callable[..., Any], compiled: Callable[..., Any]) -> None:
    with pytest.raises(StateError, match=rf"{name} has shape \(9,\); expected \(8,\) for 'arm'"):
        call(Q)
    with pytest.raises(ArgumentError, match=rf"{name} has shape \(9,\); expected \(\.\.\., 8\)"):
        compiled(Q)
    with pytest.raises(StateError, match=rf"{name}\[6\] \(joint 'elbow'\) is nan; expected a finite number"):
        call(put(V, 6, np.nan))
    with pytest.raises(StateError, match=rf"{name}\[2\] \(joint 'floating_base'\) is -inf; expected a finite number"):
        call(put(V, 2, -np.inf))
    with pytest.raises(StateError, match=rf"{name}\[6\] \(joint 'elbow'\) is nan; expected a finite number"):
        compiled(put(V, 6, np.nan))
    with pytest.raises(StateError, match=rf"{name}\[2, 7\] \(joint 'wrist'\) is inf; expected a finite number"):
        compiled(np.array([V, V, put(V, 7, np.inf), V]))


def test_configurations_that_are_not_finite() -> None:
    for k, joint in ((0, "floating_base"), (7, "elbow"), (8, "wrist")):
        with pytest.raises(StateError, match=rf"q\[{k}\] \(joint '{joint}'\) is nan; expected a finite number"):
            dynamics.rnea(MODEL, put(Q, k, np.nan), V, V)
    with pytest.raises(StateError, match=r"rnea: q\[7\] \(joint 'elbow'\) is nan; expected a finite number"):
        ROBOT.rnea(put(Q, 7, np.nan), V, V)
    with pytest.raises(StateError, match=r"forward_kinematics: q\[1, 8\] \(joint 'wrist'\) is inf; expected a finite number"):
        ROBOT.forward_kinematics(np.array([Q, put(Q, 8, np.inf)]))


def test_whole_numbers_and_lists_will_do() -> None:
    expected = dynamics.rnea(MODEL, Q, V, V)
    for q in (list(Q), Q.astype(int), Q.astype(np.float32)):
        np.testing.assert_array_equal(dynamics.rnea(MODEL, q, V, V), expected)
        np.testing.assert_array_equal(ROBOT.rnea(q, V.astype(bool), V), ROBOT.rnea(Q, V, V))


def test_batches_are_for_compiled_functions() -> None:
    many = np.tile(Q, (3, 1))
    with pytest.raises(StateError, match=r"q has shape \(3, 9\); expected \(9,\)"):
        dynamics.rnea(MODEL, many, V, V)
    assert ROBOT.rnea(many, V, V).shape == (3, 8)
    with pytest.raises(ArgumentError, match=r"the batches of q \(3, 9\), v \(2, 8\), vdot \(8,\) do not broadcast"):
        ROBOT.rnea(many, np.tile(V, (2, 1)), V)
    with pytest.raises(ArgumentError, match="rnea got 2 arguments; expected 3: q, v, vdot"):
        ROBOT.rnea(Q, V)


def test_numbers_beyond_their_range() -> None:
    """Warnings are errors here: none of NumPy's comes from within."""
    with pytest.raises(StateError, match="rnea: the result is not finite"):
        ROBOT.rnea(Q, V + 1e200, V)
    with pytest.raises(StateError, match=r"rnea: the result for row 1 is not finite"):
        ROBOT.rnea(Q, np.array([V, V + 1e200]), V)
    with pytest.raises(StateError, match="aba: the result is not finite"):
        ROBOT.aba(Q, V + 1e200, V)
    for f in (dynamics.rnea, dynamics.aba):
        with pytest.warns(RuntimeWarning) as caught:
            f(MODEL, Q, V + 1e200, V)
        assert [str(w.message) for w in caught] == [f"{f.__name__} returned NaN or infinity"] and caught[0].filename == __file__
        with np.errstate(invalid="ignore"):
            assert not np.isfinite(f(MODEL, Q, V + 1e200, V)).all()
        with np.errstate(invalid="raise"), pytest.raises(FloatingPointError, match="returned NaN or infinity"):
            f(MODEL, Q, V + 1e200, V)


# ---------------------------------------------------------------- wrenches, gravity, links


@pytest.mark.parametrize(("wrenches", "text"), [
    (np.zeros(18), r"wrenches has shape \(18,\); expected"), (np.zeros((2, 6)), r"wrenches has shape \(2, 6\); expected"),
    (np.zeros((3, 3)), r"wrenches has shape \(3, 3\); expected"), (0.0, r"wrenches has shape \(\); expected"),
    (np.zeros((3, 6)) + 0j, "wrenches holds complex128; expected real numbers"),
])  # fmt: skip
def test_wrong_wrenches(wrenches: Any, text: str) -> None:
    for call in (dynamics.rnea, dynamics.aba):
        with pytest.raises(StateError, match=text):
            call(MODEL, Q, V, V, wrenches=wrenches)
    for compiled in (ROBOT.rnea, ROBOT.aba):
        with pytest.raises(ArgumentError, match=text):
            compiled(Q, V, V, wrenches)
        with pytest.raises(ArgumentError, match=text):
            compiled(Q, V, V, wrenches=wrenches)
    with pytest.raises(ArgumentError, match=text):
        ROBOT.bias(Q, V, wrenches)


def test_wrenches_that_are_not_finite() -> None:
    wrenches = np.zeros((3, 6))
    wrenches[1, 4] = np.nan
    with pytest.raises(StateError, match=r"wrenches\[1\] \(link 'forearm'\) is .*nan.*; expected finite numbers"):
        dynamics.rnea(MODEL, Q, V, V, wrenches=wrenches)
    with pytest.raises(StateError, match=r"rnea: wrenches\[1, 4\] \(link 'forearm'\) is nan; expected a finite number"):
        ROBOT.rnea(Q, V, V, wrenches)
    with pytest.raises(StateError, match=r"aba: wrenches\[1, 1, 4\] \(link 'forearm'\) is nan; expected a finite number"):
        ROBOT.aba(Q, V, V, np.array([np.zeros((3, 6)), wrenches]))


@pytest.mark.parametrize("gravity", [(0, 0), -9.81, (0, 0, np.nan), "down", None, np.zeros((3, 1)), (0, 0, 1j)])
def test_wrong_gravity(gravity: Any) -> None:
    calls: list[Callable[[], Any]] = [
        lambda: dynamics.rnea(MODEL, Q, V, V, gravity), lambda: dynamics.aba(MODEL, Q, V, V, gravity),
        lambda: dynamics.bias(MODEL, Q, V, gravity), lambda: dynamics.gravity_forces(MODEL, Q, gravity),
        lambda: dynamics.energy(MODEL, Q, V, gravity), lambda: engine.compile(MODEL, gravity=gravity),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(StateError, match=r"(?s)gravity is .*; expected three finite numbers, m/s² in world axes"):
            call()


def test_links_that_are_not_there() -> None:
    for ask in (lambda link: dynamics.jacobian(MODEL, Q, link), lambda link: dynamics.jacobian_dot(MODEL, Q, V, link),
                lambda link: ROBOT.jacobian(Q, link), lambda link: ROBOT.jacobian_dot(Q, V, link, "world_aligned", (1.0, 0.0, 0.0)),
                lambda link: ROBOT.generalized_jacobian(Q, link)):  # fmt: skip
        with pytest.raises(ModelError, match=r"no link 'fore_arm' in 'arm' \(did you mean 'forearm'\?\)"):
            ask("fore_arm")
        with pytest.raises(ModelError, match=r"no link 'xyz' in 'arm'; expected one of base, forearm, hand$"):
            ask("xyz")


def test_only_models_are_compiled() -> None:
    with pytest.raises(StateError, match="compile got a str; expected a Model"):
        engine.compile("robot.urdf")


# ---------------------------------------------------------------- singular inertia


def chain(*joints: tuple[Any, ...], floating_base: bool = False, base: Any = BOX) -> Model:
    """Links in a row, given as (kind, inertia of the link after it, properties of the joint)."""
    builder = Builder("chain")
    builder.add_link("l0", inertia=base)
    for k, (kind, G, *properties) in enumerate(joints, 1):
        builder.add_link(f"l{k}", inertia=G)
        builder.add_joint(f"j{k}", kind, f"l{k - 1}", f"l{k}", **dict(*properties))
    return builder.model(floating_base)


def point(*center: float) -> np.ndarray:
    return inertia.from_mass(1.3, np.array(center), np.zeros((3, 3)))


SINGULAR = {
    "massless leaf": ("j2", chain(("revolute", BOX), ("revolute", NOTHING))),
    "massless chain": ("j3", chain(("revolute", BOX), ("revolute", NOTHING), ("prismatic", NOTHING))),
    "massless chain with a fixed tip": ("j1", chain(("prismatic", NOTHING), ("fixed", NOTHING))),
    "massless between axes in line": ("j1", chain(("revolute", NOTHING), ("revolute", BOX))),
    "point on the axis": ("j1", chain(("revolute", point(0, 0, 0.7)))),
    "point on an oblique axis": ("j1", chain(("revolute", point(0.36, 0.48, 0.8), {"axis": [0.36, 0.48, 0.8]}))),
    "point on a ball joint": ("j1", chain(("spherical", point(0.3, 0.4, 0.7)))),
    "point in the middle of a ball joint": ("j1", chain(("spherical", point(0, 0, 0)))),
    "point on the second axis": ("j1", chain(("universal", point(0.7, 0, 0)))),
    "point in a plane": ("j1", chain(("planar", point(0.7, 0.2, 0.1)))),
    "free point": ("j1", chain(("floating", point(0.7, 0.2, 0.1)))),
    "free nothing": ("j1", chain(("floating", NOTHING))),
    "massless free base": ("floating_base", chain(("revolute", BOX), base=NOTHING, floating_base=True)),
    "massless mimics": ("j1", chain(("revolute", NOTHING), ("revolute", NOTHING, {"mimic": Mimic("j1")}), floating_base=True)),
    "massless leaf beside mimics": ("j3", chain(("revolute", BOX), ("revolute", BOX, {"mimic": Mimic("j1")}), ("revolute", NOTHING))),
}


@pytest.mark.parametrize("case", SINGULAR)
def test_singular_inertia_names_the_joint(case: str) -> None:
    joint, model = SINGULAR[case]
    q, v = model.random(np.random.default_rng(0))
    moved = "1.3 kg without inertia along its motion" if case.startswith(("point", "free point")) else "no mass"
    text = f"joint '{joint}' moves {moved}: the joint-space inertia is singular.*expected a link with inertia at or after the joint"
    with pytest.raises(StateError, match=text):
        dynamics.aba(model, q, v, v)
    robot = engine.compile(model)
    with pytest.raises(StateError, match=text):
        robot.aba(q, v, v)
    with pytest.raises(StateError, match=text):
        robot.aba(np.tile(q, (5, 1)), v, v)
    assert np.isfinite(dynamics.rnea(model, q, v, v)).all()  # what needs no inverse works
    assert np.isfinite(robot.rnea(q, v, v)).all()


REGULAR = {
    "massless at a right angle": chain(("revolute", NOTHING), ("revolute", BOX, {"axis": [1, 0, 0]})),
    "massless with a fixed tip": chain(("prismatic", NOTHING), ("fixed", BOX)),
    "massless in the middle": chain(("revolute", BOX), ("prismatic", NOTHING), ("revolute", BOX)),
    "point beside the axis": chain(("revolute", point(1e-3, 0, 0.7))),
    "thin rod on a ball joint": chain(("spherical", inertia.from_mass(1.0, [0.3, 0.4, 0.7], np.diag([1e-3, 1e-3, 1e-9])))),
    "small parts on a large machine": chain(("prismatic", 1e4 * BOX), ("revolute", BOX), ("revolute", 1e-7 * BOX)),
    "mimic with mass": chain(("revolute", NOTHING), ("revolute", BOX, {"mimic": Mimic("j1", -1.0), "axis": [1, 0, 0]})),
}


@pytest.mark.parametrize("case", REGULAR)
def test_nearly_singular_inertia_is_none(case: str) -> None:
    model = REGULAR[case]
    q, v = model.random(np.random.default_rng(0))
    vdot = np.random.default_rng(1).standard_normal(model.nv)
    tau = dynamics.rnea(model, q, v, vdot)
    for back in (dynamics.aba(model, q, v, tau), engine.compile(model).aba(q, v, tau)):
        np.testing.assert_allclose(dynamics.rnea(model, q, v, back), tau, rtol=0, atol=1e-12 * np.abs(tau).max())


def test_mass_is_needed_for_its_centre() -> None:
    model = chain(("revolute", NOTHING))
    with pytest.raises(StateError, match="'chain' moves no mass; expected a model with mass for its centre of mass"):
        dynamics.center_of_mass(model, np.zeros(1))
    with pytest.raises(StateError, match="'chain' moves no mass"):
        engine.compile(model).center_of_mass(np.zeros(1))


def test_singular_states_of_a_regular_model() -> None:
    """Three axes, two of which line up where the middle joint is straight: the wrist's gimbal lock, without mass between them."""
    model = chain(("revolute", NOTHING), ("revolute", NOTHING, {"axis": [1, 0, 0]}), ("revolute", BOX))
    robot, v = engine.compile(model), np.ones(3)
    bent, straight = np.array([0.3, 1.0, -0.7]), np.array([0.3, 0.0, -0.7])
    np.testing.assert_allclose(robot.aba(bent, v, v), dynamics.aba(model, bent, v, v), rtol=1e-12)
    both = np.array([bent, straight])
    for call in (lambda: dynamics.aba(model, straight, v, v), lambda: robot.aba(straight, v, v), lambda: robot.aba(both, v, v)):
        with pytest.raises(StateError, match="joint 'j1' moves no mass"):
            call()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_results_do_not_depend_on_is_checked_as_well(value: float) -> None:
    """Where the base stands changes no torque: it must be a number all the same, alone and in a batch."""
    q = Q.copy()
    q[5] = value
    for call in (lambda: ROBOT.rnea(q, V, V), lambda: ROBOT.crba(q), lambda: ROBOT.jacobian(q, "hand")):
        with pytest.raises(StateError, match=r"q\[5\] \(joint 'floating_base'\) is -?(nan|inf); expected a finite number"):
            call()
    with pytest.raises(StateError, match=r"rnea: q\[19, 5\] \(joint 'floating_base'\)"):
        ROBOT.rnea(np.array([Q] * 19 + [q]), V, V)


#: the base's quaternion, and the length that is said
NO_UNIT = {"zero": ([0, 0, 0, 0], "0"), "long": ([1, 1, 0, 0], "1.414"), "short": ([0.9, 0, 0, 0], "0.9"),
           "tiny": ([1e-170, 0, 0, 0], "1e-170"), "huge": ([0, 0, 1e200, 0], "1e+200")}  # fmt: skip
JOINTS = np.zeros(MODEL.nv - 6)
#: every function of a robot
EVERY: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    **{name: (lambda q, f=getattr(dynamics, name): f(MODEL, q), lambda q, name=name: getattr(ROBOT, name)(q))
       for name in ("gravity_forces", "crba", "forward_kinematics", "center_of_mass", "center_of_mass_jacobian", "christoffel",
                    "momentum_matrix", "centroidal_momentum_matrix", "reaction_null_space", "free_floating_inertia", "minv")},
    **{name: (lambda q, f=getattr(dynamics, name): f(MODEL, q, V), lambda q, name=name: getattr(ROBOT, name)(q, V))
       for name in ("bias", "twists", "energy", "momentum", "coriolis", "center_of_mass_jacobian_dot", "momentum_matrix_dot",
                    "centroidal_momentum_matrix_dot", "free_floating_bias", "energy_derivatives", "momentum_derivatives",
                    "energy_regressor", "momentum_regressor", "centroidal_momentum", "centroidal_kinetic_energy")},
    **{name: (lambda q, f=getattr(dynamics, name): f(MODEL, q, V, V), lambda q, name=name: getattr(ROBOT, name)(q, V, V))
       for name in ("rnea", "aba", "base_reaction", "rnea_derivatives", "aba_derivatives", "regressor")},
    "jacobian": (lambda q: dynamics.jacobian(MODEL, q, "hand"), lambda q: ROBOT.jacobian(q, "hand")),
    "jacobian_dot": (lambda q: dynamics.jacobian_dot(MODEL, q, V, "hand"), lambda q: ROBOT.jacobian_dot(q, V, "hand")),
    "jacobian_derivative": (lambda q: dynamics.jacobian_derivative(MODEL, q, "hand"), lambda q: ROBOT.jacobian_derivative(q, "hand")),
    "generalized_jacobian": (lambda q: dynamics.generalized_jacobian(MODEL, q, "hand"), lambda q: ROBOT.generalized_jacobian(q, "hand")),
    "floating_inverse_dynamics": (lambda q: dynamics.floating_inverse_dynamics(MODEL, q, V, JOINTS),
                                  lambda q: ROBOT.floating_inverse_dynamics(q, V, JOINTS)),
    "velocity_from_momentum": (lambda q: dynamics.velocity_from_momentum(MODEL, q, np.zeros(6)),
                               lambda q: ROBOT.velocity_from_momentum(q, np.zeros(6))),
}  # fmt: skip


def test_every_function_is_there() -> None:
    assert set(EVERY) == {name for name in dir(engine.Robot) if not name.startswith("_")} - {"at", "inverse_kinematics"}


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("case", NO_UNIT)
def test_quaternions_that_are_no_unit_ones(name: str, case: str) -> None:
    """By every function, plain and compiled, alone and in a batch, whether or not its result depends on the attitude."""
    plain, compiled = EVERY[name]
    bad, length = NO_UNIT[case]
    q = np.concatenate([bad, Q[4:]])
    for call in (lambda: plain(q), lambda: compiled(q), lambda: compiled(np.array([Q, Q, q]))):
        with pytest.raises(StateError, match=rf"q of joint 'floating_base' has the quaternion .* of length {re.escape(length)}; "
                                             r"expected a unit one, \[qw, qx, qy, qz\] \(engine\.convert turns xyzw"):  # fmt: skip
            call()
    with pytest.raises(StateError, match=r"row 2$"):
        compiled(np.array([Q, Q, q]))


@pytest.mark.parametrize("name", EVERY)
def test_quaternions_rounded_by_hand_will_do(name: str) -> None:
    """[0.7, 0.7, 0, 0] is a quarter turn, by every function."""
    rounded, exact = Q.copy(), Q.copy()
    rounded[:4], exact[:4] = [0.7, 0.7, 0, 0], [np.sqrt(0.5), np.sqrt(0.5), 0, 0]
    for f in EVERY[name]:
        for x, y in zip(*(r if isinstance(r, tuple) else (r,) for r in (f(rounded), f(exact))), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-14, atol=1e-14)


def test_the_ball_that_is_not_the_base() -> None:
    """The joint is named, in a tree of several quaternions, and the row among many."""
    builder = Builder("two balls")
    for name in ("base", "one", "two"):
        builder.add_link(name, inertia=BOX)
    builder.add_joint("left", "spherical", "base", "one")
    builder.add_joint("right", "spherical", "base", "two")
    model = builder.model()
    q = np.tile(model.neutral(), (5, 1))
    q[3, 4] = 0.5
    with pytest.raises(StateError, match=r"q of joint 'right' has the quaternion .* of length 0\.5; .*, row 3"):
        engine.compile(model).crba(q)
    with pytest.raises(StateError, match="q of joint 'right' in row 3 has the quaternion"):
        model.normalized(q)


def test_runs_begin_with_unit_quaternions() -> None:
    for start in ([0, 0, 0, 0], [1, 1, 0, 0]):
        with pytest.raises(StateError, match=r"joint 'floating_base' has the quaternion .*; expected a unit one, \[qw, qx, qy, qz\]"):
            engine.Simulator(MODEL).run(np.concatenate([start, Q[4:]]), V, 0.1)


def test_a_controller_that_calls_a_robot_keeps_its_check() -> None:
    """What is called on traced values is part of their program, with NaN where it would raise."""
    f = engine.gufunc(lambda q: ROBOT.gravity_forces(q), "(9)->(8)")
    with np.errstate(invalid="ignore"):
        assert np.isnan(f(np.concatenate([[0, 0, 0, 1.1], Q[4:]]))).any()
    assert np.isfinite(f(Q)).all()


def test_points_and_frames() -> None:
    for jacobian in (lambda *a: dynamics.jacobian(MODEL, Q, *a), lambda *a: ROBOT.jacobian(Q, *a),
                     lambda *a: dynamics.jacobian_dot(MODEL, Q, V, *a), lambda *a: ROBOT.jacobian_dot(Q, V, *a)):  # fmt: skip
        with pytest.raises(StateError, match=r"frame is 'wordl' \(did you mean 'world'\?\); expected one of body, world, world_aligned"):
            jacobian("hand", "wordl")
        with pytest.raises(StateError, match=r"frame is \['body'\] \(did you mean 'body'\?\); expected one of"):
            jacobian("hand", ["body"])
        with pytest.raises(StateError, match=r"point is \(1, 0, 0\), but the frame 'world' is about the world's origin"):
            jacobian("hand", "world", (1, 0, 0))
        for point in ((1, 2), "tip", np.ones((2, 2))):
            with pytest.raises((StateError, ArgumentError), match=r"point (is .*; expected three finite numbers|has shape|holds)"):
                jacobian("hand", "body", point)
        assert (jacobian("hand", "world", [0, 0, 0]) == jacobian("hand", "world")).all()


def test_arguments_by_name() -> None:
    assert (ROBOT.rnea(q=Q, v=V, vdot=V) == ROBOT.rnea(Q, V, V)).all()
    wrenches = np.ones((len(MODEL.links), 6))
    assert (ROBOT.aba(Q, V, tau=V, wrenches=wrenches) == ROBOT.aba(Q, V, V, wrenches)).all()
    with pytest.raises(ArgumentError, match="rnea got 2 arguments; expected 3: q, v, vdot"):
        ROBOT.rnea(Q, v=V)
    with pytest.raises(ArgumentError, match="aba got 'torque'; expected q, v, tau, wrenches, out"):
        ROBOT.aba(Q, V, torque=V)
    with pytest.raises(ArgumentError, match=r"aba got 'wrench' \(did you mean 'wrenches'\?\); expected q, v, tau, wrenches, out"):
        ROBOT.aba(Q, V, V, wrench=wrenches)
    with pytest.raises(ArgumentError, match="crba got 'q' twice; expected q, out"):
        ROBOT.crba(Q, q=Q)
