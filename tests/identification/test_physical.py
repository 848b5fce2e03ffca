"""What bodies can have: against a search among Cholesky factors, the conditions of a minimum, and bodies at the end of what there is."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.optimize import least_squares, lsq_linear

import engine
from engine import IdentificationWarning
from engine.identification.physical import inside, nearest, prior, pseudo_inertia, ten
from engine.identification.unknowns import unknowns_of
from engine.spatial import inertia
from tests.identification.support import arm, motion, other, taken

Array = np.ndarray


def test_ten_numbers_and_a_matrix():
    """J = ∫ [r; 1] [r; 1]ᵀ dm, summed over points; and back."""
    rng = np.random.default_rng(0)
    points, masses = rng.standard_normal((6, 3)), rng.uniform(0.1, 1.0, 6)
    G = sum(inertia.from_mass(m, r, np.zeros((3, 3))) for m, r in zip(masses, points, strict=True))
    h, I = inertia.first_moment(G), G[:3, :3]
    pi = np.array([G[5, 5], *h, I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2]])
    p = np.column_stack([points, np.ones(6)])
    np.testing.assert_allclose(pseudo_inertia(pi), (p * masses[:, None]).T @ p, atol=1e-14)
    np.testing.assert_allclose(ten(pseudo_inertia(pi)), pi, atol=1e-14)
    np.testing.assert_array_equal(inside(pi), pi)
    flat = inside(np.array([2.0, 0.4, 0, 0, 0, 0, 0.1, 0, 0, 0.1]))           # a rod along x, with moments as it cannot have
    assert np.linalg.eigvalsh(pseudo_inertia(flat))[0] > 0.0 and flat[0] == 2.0 and flat[1] == 0.4


def test_what_is_not_shown_is_nearest_to_what_was_thought():
    """The gradient of the divergence, 1 − J₀ J⁻¹, vanishes along every change that the motion does not show."""
    model = arm()
    guess, true = other(model, "inertia")
    before, found = other(model, "inertia")[0], engine.identify(guess, motion(model, 60), "inertia")
    x0 = np.array([_ten(before, link) for link in true.of_links])
    x = np.array([_ten(found.model, link) for link in true.of_links])
    slope = np.concatenate([[np.trace((np.linalg.inv(pseudo_inertia(a)) - np.linalg.inv(pseudo_inertia(b))) @ pseudo_inertia(e))
                             for e in np.eye(10)] for a, b in zip(x0, x, strict=True)])  # fmt: skip
    N = np.linalg.svd(found.base.B)[2][len(found.base) :].T
    assert N.shape[1] > 10
    np.testing.assert_allclose(N.T @ slope, 0.0, atol=1e-6 * np.abs(slope).max())


def _ten(model: engine.Model, link: str) -> Array:
    return engine.dynamics.inertial_parameters(model).reshape(-1, 10)[model.link_index(link)]


def log_cholesky(s: Array) -> Array:
    """The ten parameters of J = U Uᵀ, U upper triangular with a positive diagonal (Rucker & Wensing 2022)."""
    U = np.diag(np.exp(s[:4]))
    U[np.triu_indices(4, 1)] = s[4:]
    return ten(U @ U.T)


@pytest.mark.parametrize("seed", range(3))
def test_the_best_of_what_no_body_has_is_that_of_a_search(seed):
    """Of all that bodies can have, a search over log-Cholesky factors finds none better, nor a better one than it."""
    model, rng = arm(), np.random.default_rng(seed)
    unknowns = unknowns_of(model, "inertia.l3", "torques")
    bad = unknowns.values + [0, 0, 0, 0, 0.6, 0.0, -0.1, 0.1, 0.0, -0.05]
    assert np.linalg.eigvalsh(pseudo_inertia(bad))[0] < 0.0
    A = rng.standard_normal((10, 10))
    found = nearest(A, A @ bad, *prior(unknowns, np.ones(10)))
    assert not found.physical and found.ends == ["l3"] and 0.0 < np.linalg.eigvalsh(pseudo_inertia(found.x))[0] < 1e-6
    start = np.array([*np.log(np.full(4, 0.3)), *np.zeros(6)])
    tried = [least_squares(lambda s: A @ (log_cholesky(s) - bad), start + 0.3 * rng.standard_normal(10), max_nfev=400) for _ in range(4)]
    ours, best = 0.5 * ((A @ (found.x - bad)) ** 2).sum(), min(r.cost for r in tried)
    assert best * (1.0 - 1e-2) < ours < best * (1.0 + 1e-6)                    # a search comes near the end of what there is, slowly


def test_torques_of_what_is_no_body_are_said_to_be():
    """They are explained as well as by any body; the combinations are still least squares', with their intervals."""
    model, rng = arm(), np.random.default_rng(0)
    given = motion(model, 60)
    k, change = 10 * model.link_index("l3"), np.array([0, 0, 0, 0, 0.6, 0.0, -0.1, 0.1, 0.0, -0.05])
    Y = engine.compile(model).regressor(given["q"], given["v"], given["vdot"])[..., k : k + 10]
    tau = given["tau"] + Y @ change + 0.01 * rng.standard_normal(given["tau"].shape)
    with pytest.warns(IdentificationWarning, match="no body can have what least squares found of 'l3'; the values are the best that"):
        found = engine.identify(model, {**given, "tau": tau}, "inertia.l3")
    assert not found.physical and len(found.warnings) == 1 and found.warnings[0] in str(found)
    assert 0.0 < np.linalg.eigvalsh(pseudo_inertia(found.values))[0] < 1e-6
    base = found.base.B @ (unknowns_of(model, "inertia.l3", "torques").values + change)
    assert (np.abs(found.base_values - base) < 5.0 * found.base_std).all()
    assert np.abs(found.base.B @ found.values - base).max() > 100.0 * found.base_std.max()


def test_points_and_rods_are_at_the_end_of_what_there_is():
    """A point on a string has a singular J: noise-free, its combinations are found to 1e-8 all the same, and its J is positive definite."""
    b = engine.Builder("strings")
    b.add_link("base")
    for k in range(2):
        T = np.eye(4)
        T[2, 3] = -1.0 * k
        b.add_link(f"l{k}", inertia=inertia.from_mass(1.0 + k, [0.0, 0.0, -1.0], np.zeros((3, 3))))
        b.add_joint(f"j{k}", "revolute", f"l{k - 1}" if k else "base", f"l{k}", placement=T, axis=[0, 1, 0])
    model = b.model()
    guess, true = other(model, ["inertia", "damping"], size=0.1)
    found = engine.identify(guess, motion(model, 40), ["inertia", "damping"])
    base = found.base.B @ true.values
    assert found.physical
    np.testing.assert_allclose(found.base_values, base, atol=1e-8)
    np.testing.assert_allclose(found.base.B @ found.values, base, atol=1e-8 * np.abs(base).max())
    for which in true.of_links.values():
        assert np.linalg.eigvalsh(pseudo_inertia(found.values[which]))[0] > 0.0
    assert found.values[-2:].tolist() == [0.0, 0.0] and (found.values >= 0.0)[-2:].all()


@pytest.mark.parametrize(("zero", "seed"), [("damping", 0), ("friction", 1), ("both", 2), ("none", 3)])
def test_losses_end_at_zero_whatever_was_thought_of_them(zero, seed):
    """A flywheel whose losses are about zero, exact and noisy: SciPy's bounded least squares, from any guess."""
    t, rng = 0.01 * np.arange(500), np.random.default_rng(seed)
    q, v, vdot = np.sin(2.0 * t), 2.0 * np.cos(2.0 * t), -4.0 * np.sin(2.0 * t)
    true = np.array([0.01, 0.3 * (zero in ("friction", "none")), 0.8 * (zero in ("damping", "none"))])
    for noise in (0.0, 1e-9, 1e-2):
        A = np.column_stack([-9.81 * np.cos(q), -9.81 * np.sin(q), vdot, v, np.sign(v)])
        tau = A[:, 2:] @ true + noise * rng.standard_normal(500)
        kept = (abs(v) > 0.02 * np.sqrt((v**2).mean())) & (np.r_[True, v[1:] * v[:-1] > 0.0]) & (np.r_[v[1:] * v[:-1] > 0.0, True])
        scipys = lsq_linear(A[kept], tau[kept], ([-np.inf] * 3 + [0.0] * 2, np.inf), tol=1e-14).x
        for thought in (0.0, 1e-3, 5.0):
            b = engine.Builder("flywheel")
            b.add_link("base"), b.add_link("wheel", inertia=inertia.sphere(2.0, 0.1))
            b.add_joint("p", "revolute", "base", "wheel", axis=[0, 1, 0], damping=thought, friction=thought)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", IdentificationWarning)
                given = {"q": q[:, None], "v": v[:, None], "vdot": vdot[:, None], "tau": tau[:, None]}
                found = engine.identify(b.model(), given, ["inertia", "damping", "friction"])
            np.testing.assert_allclose(found.values[-2:], scipys[-2:], atol=1e-7)
            np.testing.assert_allclose(found.values[found.names.index("Iyy.wheel")], scipys[2], atol=1e-7)
            assert found.model.joint("p").friction == found.values[-1] and all("of '" in text for text in found.warnings)


@pytest.mark.parametrize("seed", range(2))
def test_the_best_of_bodies_and_numbers_is_that_of_a_search(seed):
    """A body at its end, a loss that least squares has below zero, and one that was thought to be zero and is not."""
    model, rng = arm(), np.random.default_rng(seed)
    unknowns = unknowns_of(model, ["inertia.l3", "damping.j0", "damping.j1", "damping.j3"], "torques")
    bad = unknowns.values + [0, 0, 0, 0, 0.6, 0.0, -0.1, 0.1, 0.0, -0.05, 2.0, -1.5, 0.0]
    A = rng.standard_normal((13, 13))
    found = nearest(A, A @ bad, *prior(unknowns, np.ones(13)))
    assert not found.physical and found.done and "l3" in found.ends and unknowns.values[10] == 0.0
    start = np.array([*np.log(np.full(4, 0.3)), *np.zeros(6), 1.0, 1.0, 1.0])
    search = lambda s: A @ (np.append(log_cholesky(s[:10]), s[10:] ** 2) - bad)
    tried = [least_squares(search, start + 0.3 * rng.standard_normal(13), max_nfev=400) for _ in range(3)]
    ours, best = 0.5 * ((A @ (found.x - bad)) ** 2).sum(), min(r.cost for r in tried)
    assert best * (1.0 - 1e-2) < ours < best * (1.0 + 1e-6) and (found.x[10:] >= 0.0).all()


def test_single_numbers_of_what_has_no_volume():
    """A flat disc, and a point mass: one number of them moves within what bodies can have; beyond it is said, and still found."""
    b = engine.Builder("flat")
    b.add_link("base"), b.add_link("disc", inertia=inertia.from_mass(1.0, [0.0, 0.0, 0.0], np.diag([0.01, 0.01, 0.02])))
    b.add_link("bob", inertia=inertia.from_mass(2.0, [0.0, 0.0, -0.5], np.zeros((3, 3))))
    b.add_joint("jd", "revolute", "base", "disc", axis=[0, 0, 1]), b.add_joint("jb", "revolute", "base", "bob", axis=[0, 1, 0])
    model, unknown = b.model(), ["Izz.disc", "mz.bob"]
    given = motion(model, 20)
    x = unknowns_of(model, unknown, "torques")
    for true, physical in (([0.015, -0.8], True), ([0.03, -0.8], False)):
        found = None
        tau = taken(x.put_in(np.array(true)), given["q"], given["v"], given["vdot"])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", IdentificationWarning)
            found = engine.identify(model, {**given, "tau": tau}, unknown)
        np.testing.assert_allclose(found.base_values, true, atol=1e-9)
        assert found.physical == physical and found.values == pytest.approx(true if physical else [0.02, -0.8], abs=1e-4)
        assert physical or "of 'disc'" in found.warnings[0]


def test_losses_are_not_below_zero():
    model = arm(damping=0.0, friction=0.0)
    given = motion(model, 40)
    tau = given["tau"] - 0.5 * given["v"] * [1.0, 0.0, 0.0, 0.0] + 0.01 * np.random.default_rng(0).standard_normal(given["tau"].shape)
    with pytest.warns(IdentificationWarning, match=r"least squares found of 'damping\.j0'"):
        found = engine.identify(model, {**given, "tau": tau}, ["damping.j0", "damping.j1"])
    assert found.values[0] == 0.0 and found.base_values[0] == pytest.approx(-0.5, abs=0.05)
    assert found.model.joint("j0").damping == 0.0
