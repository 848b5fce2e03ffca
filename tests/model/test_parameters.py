"""A model's numbers as parameters: against models that have those numbers, Pinocchio, regressors, differences, and what is said."""

import pickle
import re

import numpy as np
import pinocchio as pin
import pytest

import engine
from engine import ModelError, dynamics
from engine.model.parameters import NUMBERS, names_of, nominal, split
from engine.spatial import inertia, se3
from tests.numeric import derivative


def tree():
    """A body that floats, with an arm, a tool welded to it, a slide, and a finger that follows."""
    b, rng = engine.Builder("tree"), np.random.default_rng(0)

    def link(name, mass):
        b.add_link(name, inertia=inertia.from_mass(mass, 0.1 * rng.standard_normal(3), np.diag([0.02, 0.03, 0.04])))

    def joint(name, kind, parent, child, **more):
        T = se3.exp(np.concatenate([rng.standard_normal(3), 0.3 * rng.standard_normal(3)]))
        b.add_joint(name, kind, parent, child, T, **more)

    link("bus", 5.0), link("upper", 2.0), link("lower", 1.0), link("tool", 0.5), link("slider", 0.7), link("finger", 0.2)
    joint("shoulder", "revolute", "bus", "upper", axis=(0, 0, 1), damping=0.3, friction=0.2, armature=0.05)
    joint("elbow", "revolute", "upper", "lower", axis=(0, 1, 0), damping=0.1)
    joint("mount", "fixed", "lower", "tool")
    joint("slide", "prismatic", "bus", "slider", axis=(1, 0, 0), armature=0.1)
    joint("follow", "revolute", "slider", "finger", axis=(1, 0, 0), mimic=engine.Mimic("elbow", -0.5, 0.1), armature=0.02)
    return b.model(floating_base=True)


def others(model, rng, names):
    """Other values for parameters."""
    found = {}
    for name in names:
        kind, x = split(name)[0], nominal(model, name)
        found[name] = (inertia.from_mass(1.3, 0.1 * rng.standard_normal(3), np.diag([0.03, 0.03, 0.04])) if kind == "inertia"
                       else x @ se3.exp(0.3 * rng.standard_normal(6)) if kind == "placement"
                       else x + 0.2 * rng.uniform(0.1, 1.0, x.shape))  # fmt: skip
    return found


#: of every kind one at least, of a fixed joint too
NAMES = ("mass.upper", "center.upper", "mass.tool", "inertia.slider", "placement.elbow", "displacement.mount", "displacement.slide",
         "armature.shoulder", "armature.follow", "damping.elbow", "friction.shoulder")  # fmt: skip


def test_every_kind_has_names():
    found = names_of(tree())
    assert {split(name)[0] for name in found} == {*NUMBERS}
    assert "displacement.floating_base" not in found and "damping.mount" not in found and "mass.bus" in found


def test_a_model_with_its_own_numbers_is_the_same():
    model = tree()
    same = model.with_parameters({n: nominal(model, n) for n in names_of(model) if not n.startswith(("inertia", "displacement"))})
    for a, b in zip(model.bodies, same.bodies, strict=True):
        np.testing.assert_allclose(a.inertia, b.inertia, rtol=0, atol=1e-14)
        np.testing.assert_array_equal(a.placement, b.placement)
    np.testing.assert_array_equal(model.armature, same.armature)
    assert same.graph.nodes["tool"]["link"] is same.link("tool") and same.joint("elbow").damping == 0.1


def test_one_program_is_all_models():
    """Of each function: the parameters' program, at their values, is that of a model that has them."""
    model, rng = tree(), np.random.default_rng(1)
    robot, values = engine.compile(model, parameters=NAMES), others(tree(), rng, NAMES)
    there, fixed = robot.at(values), engine.compile(model.with_parameters(values))
    (q, v), x, F = model.random(rng), rng.standard_normal(model.nv), rng.standard_normal((len(model.links), 6))
    size = 100.0 * np.linalg.cond(fixed.crba(q))
    for call in (lambda r: r.rnea(q, v, x), lambda r: r.aba(q, v, x), lambda r: r.aba(q, v, x, F), lambda r: r.rnea(q, v, x, wrenches=F),
                 lambda r: r.crba(q), lambda r: np.concatenate(r.energy(q, v), axis=None), lambda r: r.forward_kinematics(q),
                 lambda r: r.jacobian(q, "tool", "world"), lambda r: np.hstack(r.rnea_derivatives(q, v, x)),
                 lambda r: r.generalized_jacobian(q, "tool"), lambda r: r.momentum(q, v)):  # fmt: skip
        a, b = call(there), call(fixed)
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-16 * size * np.abs(b).max())
    plain = dynamics.aba(model.with_parameters(values), q, v, x)
    np.testing.assert_allclose(there.aba(q, v, x), plain, rtol=0, atol=1e-16 * size * np.abs(plain).max())


def test_rows_of_values_are_a_batch():
    model, rng = tree(), np.random.default_rng(2)
    (q, v), tau = model.random(rng), rng.standard_normal(model.nv)
    robot, masses = engine.compile(model, parameters=["mass.tool"]), np.array([0.3, 0.5, 2.0])
    found = robot.at({"mass.tool": masses}).aba(q, v, tau)
    for row, m in zip(found, masses, strict=True):
        np.testing.assert_array_equal(row, robot.at({"mass.tool": m}).aba(q, v, tau))
    np.testing.assert_allclose(robot.aba(q, v, tau), engine.compile(model).aba(q, v, tau), rtol=1e-12)


def test_derivatives_are_those_of_the_regressor_and_of_differences():
    model, rng = tree(), np.random.default_rng(3)
    names = [n for n in NAMES if not n.startswith(("placement", "inertia", "damping", "friction"))]
    robot = engine.compile(model, parameters=names)
    (q, v), x = model.random(rng), rng.standard_normal(model.nv)
    Y, n = engine.compile(model).regressor(q, v, x), model.link_index("tool")
    weighs = Y[:, 10 * n : 10 * n + 10] @ dynamics.inertial_parameters(model)[10 * n : 10 * n + 10] / model.link("tool").mass
    np.testing.assert_allclose(robot.rnea.by("mass.tool")(q, v, x), weighs, rtol=0, atol=1e-13 * np.abs(weighs).max())
    for name in names:
        own, found = nominal(model, name), robot.aba.by(name)(q, v, x)
        for k in np.ndindex(own.shape):
            def moved(s, name=name, own=own, k=k):
                at = own.copy()
                at[k] += s
                return dynamics.aba(model.with_parameters({name: at}), q, v, x)

            slope = derivative(moved, 1e-3)
            np.testing.assert_allclose(found[(..., *k)], slope, rtol=0, atol=1e-8 * max(1.0, np.abs(slope).max()))


def test_it_is_pinocchio_with_those_numbers():
    b, rng = engine.Builder("arm"), np.random.default_rng(4)
    b.add_link("base")
    for k in range(3):
        b.add_link(f"l{k}", inertia=inertia.from_mass(1.0 + k, [0.1, 0.2, 0.3], np.diag([0.1, 0.2, 0.15])))
        b.add_joint(f"j{k}", "revolute", f"l{k - 1}" if k else "base", f"l{k}", se3.exp(rng.standard_normal(6)), axis=np.eye(3)[k])
    model = b.model()
    peer = pin.Model()
    for body, kind in zip(model.bodies, (pin.JointModelRX, pin.JointModelRY, pin.JointModelRZ), strict=True):
        G = body.inertia
        own = pin.Inertia(G[5, 5], inertia.center(G), inertia.transformed(se3.pose(np.eye(3), -inertia.center(G)), G)[:3, :3])
        joint = peer.addJoint(body.parent + 1, kind(), pin.SE3(np.array(body.placement)), body.joint.name)
        peer.appendBodyToJoint(joint, own, pin.SE3.Identity())
    values = {"mass.l1": 3.0, "center.l2": [0.3, -0.1, 0.2], "displacement.j2": 0.3 * rng.standard_normal(6), "armature.j0": 0.4}
    peer.inertias[2] = pin.Inertia(3.0, peer.inertias[2].lever, 1.5 * peer.inertias[2].inertia)
    peer.inertias[3] = pin.Inertia(peer.inertias[3].mass, np.array(values["center.l2"]), peer.inertias[3].inertia)
    peer.jointPlacements[3] = peer.jointPlacements[3] * pin.exp6(np.roll(values["displacement.j2"], 3))
    peer.armature = np.array([0.4, 0.0, 0.0])
    q, v, tau = rng.standard_normal((3, 3))
    wanted = pin.aba(peer, peer.createData(), q, v, tau)
    found = engine.compile(model, parameters=values).at(values).aba(q, v, tau)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12 * np.abs(wanted).max())


@pytest.mark.parametrize(("values", "message"), [
    ({"mas.tool": 1.0}, "a parameter of a model is named 'mas.tool' (did you mean 'mass.tool'?); expected one of mass, center"),
    ({"mass.tol": 1.0}, "parameter 'mass.tol': no link 'tol' in 'tree' (did you mean 'tool'?)"),
    ({"mass.tool": 0.0}, "parameter 'mass.tool' is 0; expected a mass above zero"),
    ({"damping.mount": 1.0}, "parameter 'damping.mount': joint 'mount' is fixed; expected a number from zero, of a joint that moves"),
    ({"friction.elbow": -1.0}, "parameter 'friction.elbow' is -1; expected a number from zero"),
    ({"armature.floating_base": 1.0}, "parameter 'armature.floating_base': joint 'floating_base' floats"),
    ({"placement.elbow": np.zeros((4, 4))}, "parameter 'placement.elbow' is no pose; expected a rotation"),
    ({"center.tool": 1.0}, "parameter 'center.tool' is 1.0, of shape (); expected the centre of mass"),
    ({"inertia.tool": np.eye(6), "mass.tool": 1.0}, "parameters 'inertia.tool' and 'mass.tool' are both given; expected one of them"),
    (["mass.tool"], "with_parameters got ['mass.tool']; expected numbers by their names"),
])  # fmt: skip
def test_what_is_refused(values, message):
    with pytest.raises(ModelError, match=re.escape(message)):
        tree().with_parameters(values)


def test_what_a_robot_refuses():
    robot = engine.compile(tree(), parameters=["mass.tool"])
    with pytest.raises(ModelError, match=r"no parameter 'mass.bus' .*; expected some of mass.tool"):
        robot.at({"mass.bus": 1.0})
    with pytest.raises(ModelError, match=r"parameter 'mass.tool' is -1 in row 1; expected a mass above zero"):
        robot.at({"mass.tool": [1.0, -1.0]})
    with pytest.raises(ModelError, match=r"no parameter 'mass.upper'"):
        robot.aba.by("mass.upper")
    with pytest.raises(ModelError, match=r"named 'mas.tool' \(did you mean 'mass.tool'\?\)"):
        engine.compile(tree(), parameters=["mas.tool"])
    with pytest.raises(ModelError, match=r"has shape \(2,\), a batch of robots; expected one"):
        robot.at({"mass.tool": [1.0, 2.0]}).inverse_kinematics({"tool": [0.1, 0.2, 0.3]})


def test_a_robot_at_values_is_one_and_travels():
    """Its model has them; pickle keeps names and values; derivatives of matrices by matrices have four dimensions."""
    model = tree()
    robot = engine.compile(model, parameters=["displacement.elbow", "mass.tool"]).at({"displacement.elbow": [0, 0, 0, 0.2, 0, 0]})
    q = model.random(np.random.default_rng(5))[0]
    np.testing.assert_allclose(engine.compile(robot.model).forward_kinematics(q), robot.forward_kinematics(q), rtol=0, atol=1e-14)
    again = pickle.loads(pickle.dumps(robot))
    np.testing.assert_array_equal(again.forward_kinematics(q), robot.forward_kinematics(q))
    J = robot.forward_kinematics.by("displacement.elbow")(q)
    assert J.shape == (len(model.links), 4, 4, 6)
    h = 1e-6 * np.eye(6)[3]
    ends = [robot.at({"displacement.elbow": robot.parameters["displacement.elbow"] + s * h}).forward_kinematics(q) for s in (1.0, -1.0)]
    np.testing.assert_allclose(J[..., 3], (ends[0] - ends[1]) / 2e-6, rtol=0, atol=1e-8)
    assert pickle.loads(pickle.dumps(engine.compile(model))).model.nv == model.nv
