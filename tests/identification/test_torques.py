"""From torques: what is true is found, whatever was thought before; by Pinocchio; and how well it is known."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from scipy import stats

import engine
from engine.compiled.robot import robot_of
from engine.identification.equations import Equations, force_columns, forces
from engine.identification.motions import motions_of
from engine.identification.physical import pseudo_inertia
from engine.identification.regression import fitted
from engine.identification.unknowns import unknowns_of
from tests.dynamics.oracle_pinocchio import Pinocchio, from_urdf
from tests.dynamics.support import file, robot
from tests.identification.support import arm, motion, other, taken, turned

ALL = ["inertia", "damping", "friction", "armature"]
G = (0.0, 0.0, -9.81)


def test_the_columns_are_what_forces_change_by():
    """The second route: another model's forces less those of the first, with every loss, of mimic joints too."""
    model = arm()
    changed, true = other(model, [*ALL, "damping.j4", "friction.j4"])
    given = motion(model, 20)
    (one,) = motions_of(robot_of(model, G), True, given, "torques", 5)
    signs = np.sign(one.v)
    x = unknowns_of(changed, [*ALL, "damping.j4", "friction.j4"], "torques").values
    Phi = force_columns(true, one, slice(None), signs)
    tau = taken(changed, one.q, one.v, one.vdot)
    np.testing.assert_allclose(forces(changed, one, slice(None), signs), tau, atol=1e-12 * np.abs(tau).max())
    np.testing.assert_allclose(forces(model, one, slice(None), signs) + Phi @ (x - true.values), tau, atol=1e-12 * np.abs(tau).max())


def test_what_is_true_is_found():
    """Without noise, to 1e-8; the model has it, as bodies can; what is known by itself is found one by one."""
    model = arm()
    given, (guess, true) = motion(model, 60), other(model, ALL)
    found = engine.identify(guess, given, ALL)
    base = found.base.B @ true.values
    assert found.physical and not found.warnings
    np.testing.assert_allclose(found.base_values, base, atol=1e-8 * np.abs(base).max())
    np.testing.assert_allclose(found.base.B @ found.values, base, atol=1e-8 * np.abs(base).max())
    alone = found.base.alone
    assert 10 < alone.sum() < len(alone)
    np.testing.assert_allclose(found.values[alone], true.values[alone], atol=1e-8)
    assert np.isfinite(found.std[alone]).all() and np.isnan(found.std[~alone]).all() and np.isnan(found.interval()[~alone]).all()
    links = np.array([found.values[which] for which in true.of_links.values()])
    assert all(np.linalg.eigvalsh(pseudo_inertia(pi))[0] > 0.0 for pi in links)
    rng = np.random.default_rng(5)
    q, v, vdot = model.random(rng)[0][None], *rng.standard_normal((2, 1, model.nv))
    tau = taken(model, q, v, vdot)
    np.testing.assert_allclose(found.predict({"q": q, "v": v, "vdot": vdot}), tau, atol=1e-8 * np.abs(tau).max())
    assert engine.Simulator(found.model).model is found.model and found.model.joint("j1").damping == pytest.approx(0.4, abs=1e-8)


@pytest.mark.parametrize(("name", "floating_base", "unknown"), [
    ("ur5", False, "inertia"), ("a1", True, ["inertia.trunk", "inertia.FR_thigh", "inertia.RL_calf"]),
])  # fmt: skip
def test_public_robots_by_pinocchios_torques(name, floating_base, unknown):
    """Their torques and their numbers; ours begin elsewhere. A floating base that nothing pushes has rows of zero, or any of its own."""
    model = robot(name, floating_base)
    reference, rng = Pinocchio(model, from_urdf(file(name), floating_base), G), np.random.default_rng(2)
    q = np.array([model.random(rng)[0] for _ in range(40)])
    v, vdot = 2.0 * rng.standard_normal((2, 40, model.nv))
    tau = np.array([pin.rnea(reference.theirs, reference.data, reference.q(a), reference.v(b), reference.v(c))[reference.order]
                    for a, b, c in zip(q, v, vdot, strict=True)])  # fmt: skip
    tau += v @ engine.dynamics.damping_matrix(model) + np.sign(v) * sum(engine.dynamics.friction.dry_friction(model).values())
    guess, true = other(model, unknown)
    found = engine.identify(guess, {"q": q, "v": v, "vdot": vdot, "tau": tau}, unknown)
    base = found.base.B @ true.values
    np.testing.assert_allclose(found.base_values, base, atol=1e-8 * np.abs(base).max())
    np.testing.assert_allclose(found.base.B @ found.values, base, atol=1e-8 * np.abs(base).max())


def test_the_true_values_lie_in_their_intervals():
    """Of 1000 noisy motions the 95 % intervals hold each true combination as often as a binomial does."""
    model, runs, rng = arm(friction=0.0), 1000, np.random.default_rng(0)
    unknown = ["inertia.l3", "damping"]
    clean, (guess, true) = motion(model, 60), other(model, unknown)
    noise, hits, unknowns = np.array([0.5, 1.0, 2.0, 0.2]), [], unknowns_of(guess, unknown, "torques")
    (one,) = motions_of(robot_of(guess, G), True, clean, "torques", 5)
    could = engine.base_parameters(guess, unknown)
    base = could.B @ true.values
    for k in range(runs):
        tau = clean["tau"] + noise * rng.standard_normal(clean["tau"].shape)
        fit = fitted(Equations.of_forces(unknowns, [replace(one, tau=tau)]), could)
        half = stats.t.ppf(0.975, fit.dof) * fit.std
        hits.append(np.abs(fit.found + could.B @ unknowns.values - base) <= half)
        if k == 0:                                                             # they are what users get
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = engine.identify(guess, {**clean, "tau": tau}, unknown)
            low, high = found.base_interval().T
            np.testing.assert_allclose(high - low, 2.0 * half, rtol=1e-9)
            np.testing.assert_array_equal((low <= base) & (base <= high), hits[0])
    least, most = stats.binom.ppf([1e-5, 1.0 - 1e-5], runs, 0.95)
    count = np.sum(hits, axis=0)
    assert ((least <= count) & (count <= most)).all(), count


def test_a_joints_own_noise_weighs_its_rows():
    """A joint that is a hundred times as noisy as the rest spoils nothing: the weighted estimate is the better one."""
    model = arm(friction=0.0)
    clean, (guess, true) = motion(model, 200), other(arm(friction=0.0), "inertia")
    rng, errors = np.random.default_rng(0), []
    given = {**clean, "tau": clean["tau"] + [0.001, 0.1, 0.001, 0.001] * rng.standard_normal(clean["tau"].shape)}
    found = engine.identify(guess, given, "inertia")
    rms = np.array([*found.residuals.values()])
    np.testing.assert_allclose(rms, [0.001, 0.1, 0.001, 0.001], rtol=0.3)
    base, std = found.base.B @ true.values, found.base_std
    errors = np.abs(found.base_values - base) / std
    assert errors.max() < 5.0 and np.median(std) < 1e-3


def test_friction_near_rest_is_left_out():
    """Of a simulated swing with dry friction, which stops and turns round: friction, damping and rotor are found to the step's order."""
    b = engine.Builder("pendulum")
    b.add_link("base"), b.add_link("bob", inertia=engine.spatial.inertia.from_mass(2.0, [0.0, 0.0, -0.5], 0.01 * np.eye(3)))
    b.add_joint("pivot", "revolute", "base", "bob", axis=[0, 1, 0], damping=0.2, friction=0.3, armature=0.1)
    model = b.model()
    driven = engine.Simulator(model, dt=1e-4, controller=lambda t, q, v: np.array([4.0 * np.sin(3.0 * t)]))
    run = driven.run([1.0], [0.0], 4.0, record_every=10)
    (guess, _) = other(model, ["damping", "friction", "armature"])
    found = engine.identify(guess, run, ["damping", "friction", "armature"])
    np.testing.assert_allclose(found.values, [0.2, 0.3, 0.1], rtol=2e-3)
    assert 0 < found.left_out["pivot"] < 400
    still = {"q": run.q, "v": 0.0 * run.v, "vdot": run.vdot, "tau": run.tau}
    with pytest.raises(engine.IdentificationError, match=r"shows nothing of friction\.pivot; expected one that moves"):
        engine.identify(guess, still, "friction")


def test_losses_that_did_not_act_are_none():
    """joint_dynamics=None: the model's damping is not in the recorded motion, and is not taken from it."""
    model = arm(friction=0.0)
    free = engine.Simulator(model, joint_dynamics=None, dt=1e-3, controller=lambda t, q, v: 2.0 * np.sin((1.0 + np.arange(4.0)) * t))
    run = free.run(model.neutral(), np.zeros(4), 3.0, record_every=20)
    guess, true = other(model, "inertia.l3")
    found = engine.identify(guess, run, "inertia.l3")
    np.testing.assert_allclose(found.base_values, found.base.B @ true.values, atol=1e-8)


def test_a_free_body_from_a_known_push():
    """A wrench on it shows all ten numbers, in weightlessness, as tau of its base or as a wrench on its link."""
    b = engine.Builder("target")
    b.add_link("target", inertia=engine.spatial.inertia.from_mass(80.0, [0.05, -0.02, 0.03], np.diag([20.0, 30.0, 15.0])))
    model = b.model(floating_base=True)
    given = motion(model, 10)
    free = engine.compile(model, gravity=(0, 0, 0))
    tau = free.rnea(given["q"], given["v"], given["vdot"])
    guess, true = other(model, "inertia")
    robot = engine.compile(guess, gravity=(0, 0, 0))
    for pushed in ({"tau": tau}, {"tau": np.zeros((10, 0)), "wrenches": tau[:, None]}):
        found = engine.identify(robot, {**given, **pushed})
        assert found.base.alone.all()
        np.testing.assert_allclose(found.values, true.values, atol=1e-9)
    with pytest.raises(engine.IdentificationError, match="nothing"):
        engine.identify(robot, {**given, "tau": 0.0 * tau, "v": 0.0 * tau, "vdot": 0.0 * tau})


def test_a_scaled_mass_and_single_entries():
    model = arm()
    guess, true = other(model, ["mass.l1", "mass.follower"])
    found = engine.identify(guess, motion(model, 30), ["mass.l1", "mass.follower"])
    np.testing.assert_allclose(found.values, true.values, rtol=1e-10)
    np.testing.assert_allclose(found.model.link("l1").inertia, model.link("l1").inertia, atol=1e-10)
    found = engine.identify(model, motion(model, 30), ["Izz.l3", "mx.l3"])
    assert found.names == ("Izz.l3", "mx.l3") and found.physical


def test_several_motions_are_one():
    model = arm()
    guess, _ = other(model, "inertia")
    whole = motion(model, 40, noise=1e-3)
    a, b = ({n: x[part] for n, x in whole.items()} for part in (slice(25), slice(25, 40)))
    one, two = engine.identify(guess, whole), engine.identify(guess, [a, b])
    np.testing.assert_allclose(one.base_values, two.base_values, atol=1e-10)
    np.testing.assert_allclose(one.base_std, two.base_std, rtol=1e-9)


def test_what_with_armature_added_stays():
    model = arm().with_armature({"j0": 0.7})
    guess, true = other(model, "armature")
    found = engine.identify(guess, motion(model, 30), "armature")
    np.testing.assert_allclose(found.values, true.values, atol=1e-10)
    np.testing.assert_allclose(found.model.armature, model.armature, atol=1e-10)
    two = engine.combine(left=arm(), right=engine.Mounted(arm(), placement=turned(2)))
    guess, true = other(two, "inertia.right/l3")
    found = engine.identify(guess, motion(two, 30), "inertia.right/l3")
    assert found.model.labels("q") == two.labels("q")
    np.testing.assert_allclose(found.base_values, found.base.B @ true.values, atol=1e-9)
