"""The order of every method, measured against DOP853, what its coefficients must satisfy, and the known ways to get it wrong."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import RK45

from engine import ops
from engine.integrate import METHODS, FreeBody, System
from engine.integrate.commutator_free import Tableau
from engine.integrate.munthe_kaas import DORMAND_PRINCE, Butcher
from engine.spatial import quaternion
from engine.spatial.manifold import vector
from engine.spatial.rotations import ATTITUDES
from tests.integrate.cases import BODIES, TREES, cases, measured_order, missed

SYSTEMS = (*BODIES, *TREES)
MEASURED = [(name, m) for name in SYSTEMS for m in METHODS.values() if m.takes is not FreeBody or name in BODIES
            if name != "every joint" or m.order > 3 or m.implicit]  # fmt: skip
MEASURED += [("product", m) for m in METHODS.values() if m.implicit and m.takes is not FreeBody]
TABLEAUX = {name: m for name, m in METHODS.items() if isinstance(m.advance, Tableau)}


@pytest.mark.parametrize(("name", "method"), MEASURED, ids=[f"{m.name}-{name}" for name, m in MEASURED])
def test_measured_order(name, method, monkeypatch):
    if method.implicit and name in TREES:                      # Newton's matrix of their ABA takes ten seconds and more to compile
        monkeypatch.setattr(ops, "root", by_repetition)
    assert abs(measured_order(method, cases()[name]) - method.order) < 0.2


def by_repetition(residual, x, *_):
    """``ops.root`` of u = v + small(u), without derivatives."""
    def advance(u):
        r = residual(u)
        return u - r, ops.largest(r) <= 1e-13 * ops.largest(u)

    return ops.while_loop(advance, x, 60)


@pytest.mark.parametrize("name", ["cf4", "rkmk4"])
def test_four_evaluations_are_more_exact_than_five(name):
    """CF4 and RKMK4 miss by 0.6 of what CG4 misses by with as many steps: on the geometric mean of the systems."""
    ratios = [missed(METHODS[name], c, 2 * c.steps) / missed(METHODS["cg4"], c, 2 * c.steps) for n, c in cases().items() if n in SYSTEMS]
    assert 0.5 < np.exp(np.mean(np.log(ratios))) < 0.7


# ---------------------------------------------------------------- mistakes: they run, conserve what the order says, and are of order two


def on(method, **changed):
    """The method, with some functions of the manifold changed."""
    def advance(system, t, h, x):
        space = system.space
        return method.advance(System(replace(space, **{k: f(getattr(space, k)) for k, f in changed.items()}), system.field), t, h, x)

    return replace(method, advance=advance)


def reversed_factors(method):
    """… exp(h a_i2 ξ_2) exp(h a_i1 ξ_1)."""
    a, b = method.advance.a, method.advance.b
    return replace(method, advance=Tableau(tuple(stage[::-1] for stage in a), b[::-1]))


RKMK4, RKMK5 = METHODS["rkmk4"], METHODS["rkmk5"]
MISTAKES = {
    "rkmk4, textbook's sign": on(RKMK4, bracket=lambda f: lambda a, b: -f(a, b)),
    "rkmk4, no commutators": on(RKMK4, bracket=lambda f: lambda a, b: 0.0 * a),
    "rkmk5, textbook's sign": on(RKMK5, dexp_inv=lambda f: lambda d, v: f(-d, v)),
    "rkmk5, no dexp⁻¹": on(RKMK5, dexp_inv=lambda f: lambda d, v: v),
    **{f"{name}, reversed": reversed_factors(m) for name, m in TABLEAUX.items() if m.order > 2},
}


@pytest.mark.parametrize(("mistake", "name"), [(m, name) for k, m in enumerate(MISTAKES)
                                               for name in ("offset", ("added mass", "arm")[k % 2])])  # fmt: skip
def test_mistakes_are_of_order_two(mistake, name):
    assert 1.8 < measured_order(MISTAKES[mistake], cases()[name]) < 2.5


def test_unchanged_functions_keep_the_order():
    """What :func:`on` does is no mistake of its own."""
    assert abs(measured_order(on(RKMK4, bracket=lambda f: f, dexp_inv=lambda f: f), cases()["offset"]) - 4) < 0.2


def test_rounded_coefficients_stop_converging():
    """Coefficients of three digits hold an error that no step size takes away."""
    m, case = METHODS["cg4"], cases()["offset"]
    *a, b = [tuple(tuple(round(w, 3) for w in factor) for factor in stage) for stage in (*m.advance.a, m.advance.b)]
    assert missed(replace(m, advance=Tableau(tuple(a), b)), case, 80) > 1000 * missed(m, case, 80)


# ---------------------------------------------------------------- coefficients


@pytest.mark.parametrize("method", TABLEAUX.values(), ids=TABLEAUX)
def test_classical_order_conditions(method):
    """In a commutative group a commutator-free method is a Runge–Kutta method: Σb = 1, Σbc = 1/2, …, to the last digits."""
    n = len(method.advance.a)
    a = np.array([sum((np.pad(f, (0, n - len(f))) for f in stage), np.zeros(n)) for stage in method.advance.a])
    b, c = sum(np.pad(f, (0, n - len(f))) for f in method.advance.b), np.array(method.advance.c)
    conditions = {
        1: [(b.sum(), 1)],
        2: [(b @ c, 1 / 2)],
        3: [(b @ c**2, 1 / 3), (b @ a @ c, 1 / 6)],
        4: [(b @ c**3, 1 / 4), (b @ (c * (a @ c)), 1 / 8), (b @ a @ c**2, 1 / 12), (b @ a @ a @ c, 1 / 24)],
    }
    assert np.array_equal(a, np.tril(a, -1)) and method.order in conditions
    for order, pairs in conditions.items():
        for value, expected in pairs:
            assert (abs(value - expected) < 2e-15) or order > method.order
    assert any(abs(value - expected) > 1e-3 for value, expected in conditions.get(method.order + 1, [(0, 1)]))


@pytest.mark.parametrize("method", [m for m in METHODS.values() if isinstance(m.advance, Butcher)], ids=lambda m: m.name)
def test_order_conditions_of_butchers_tableaux(method):
    n = len(method.advance.a)
    a, b = np.array([np.pad(row, (0, n - len(row))) for row in method.advance.a]), np.array(method.advance.b)
    c = a.sum(axis=1)
    conditions = {1: [(b.sum(), 1)], 2: [(b @ c, 1 / 2)], 3: [(b @ c**2, 1 / 3), (b @ a @ c, 1 / 6)],
                  4: [(b @ c**3, 1 / 4), (b @ (c * (a @ c)), 1 / 8), (b @ a @ c**2, 1 / 12), (b @ a @ a @ c, 1 / 24)]}  # fmt: skip
    for order in range(1, min(method.order, 4) + 1):
        assert all(abs(value - expected) < 1e-15 for value, expected in conditions[order])
    assert any(abs(value - expected) > 1e-3 for value, expected in conditions.get(method.order + 1, [(0, 1)]))


def test_rk4_is_the_textbooks_on_vectors():
    """A pendulum's steps by hand: coordinates of vectors are vectors."""
    def f(t, y):
        return np.array([y[1], -np.sin(y[0]) + 0.1 * t])

    y, t, h = np.array([1.0, 0.3]), 0.2, 0.1
    k1 = f(t, y)
    k2 = f(t + h / 2, y + h / 2 * k1)
    k3 = f(t + h / 2, y + h / 2 * k2)
    k4 = f(t + h, y + h * k3)
    found = METHODS["rk4"].advance(System(vector(2), f), t, h, y)
    np.testing.assert_allclose(found, y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), rtol=1e-15)


@pytest.mark.parametrize(("name", "attitude", "t"), [
    ("rk4", "quaternion", 3.0), ("rk4", "mrp", 3.0), ("rk4", "rotation_vector", 3.0), ("rk4", "rodrigues", 0.3),
    ("ralston2", "mrp", 3.0), ("ralston2", "rodrigues", 0.3), ("ralston3", "quaternion", 3.0), ("ralston3", "rotation_vector", 3.0)])
def test_coordinates_pass_their_jumps(name, attitude, t):
    """Three turns of an even spin; Rodrigues parameters, which have no jump but a singularity, until just before it."""
    row, method, h = ATTITUDES[attitude], METHODS[name], 1 / 500
    start, spin = quaternion.exp(np.array([0.2, 0.1, -0.3])), np.array([0.6, 0.0, 0.8]) * 2 * np.pi
    p, system = row.from_quaternion(start), System(row.manifold, lambda t, p: spin)
    for _ in range(round(t / h)):
        p = method.advance(system, 0.0, h, p)
    turned = quaternion.product(start, quaternion.exp(spin * t))
    missed = quaternion.log(quaternion.product(quaternion.conjugate(turned), row.to_quaternion(p)))
    assert np.linalg.norm(missed) < {2: 1e-3, 3: 1e-5, 4: 1e-7}[method.order]


@pytest.mark.parametrize("method", [m for m in TABLEAUX.values() if m.order > 2], ids=lambda m: m.name)
def test_what_the_order_of_factors_adds(method):
    """The commutator [ξ, ξ̇] h³/12 of the exact flow: Σ_{i<j} (β_i γ_j − β_j γ_i) = 1/6 with β_j = Σ_k b_jk and γ_j = Σ_k b_jk c_k."""
    beta = [sum(f) for f in method.advance.b]
    gamma = [sum(w * c for w, c in zip(f, method.advance.c, strict=False)) for f in method.advance.b]
    pairs = [(i, j) for j in range(len(beta)) for i in range(j)]
    assert abs(sum(beta[i] * gamma[j] - beta[j] * gamma[i] for i, j in pairs) - 1 / 6) < 2e-15


def test_dormand_and_prince_are_scipys():
    a = np.array([np.pad(row, (0, 7 - len(row))) for row in DORMAND_PRINCE.a])
    np.testing.assert_allclose(a[:6, :5], RK45.A, rtol=0, atol=1e-15)
    np.testing.assert_allclose(a[6, :6], RK45.B, rtol=0, atol=1e-15)
    np.testing.assert_allclose(DORMAND_PRINCE.b[:6], RK45.B, rtol=0, atol=1e-15)
    np.testing.assert_allclose(np.abs(DORMAND_PRINCE.error), np.abs(RK45.E), rtol=0, atol=1e-15)


@pytest.mark.parametrize("method", [m for m in METHODS.values() if m.embedded], ids=lambda m: m.name)
def test_embedded_method_is_one_order_lower(method):
    """The estimate is ⊖ of a method of order p − 1: it falls by 2^p when the step is halved, and the new state is the method's own."""
    s, x = cases()["forced"].system, cases()["forced"].x
    sizes = []
    for h in (0.1, 0.05):
        after, estimate = method.embedded(s, 0.3, h, x)
        np.testing.assert_array_equal(after, method.advance(s, 0.3, h, x))
        sizes.append(np.linalg.norm(estimate))
    assert abs(np.log2(sizes[0] / sizes[1]) - method.order) < 0.3
