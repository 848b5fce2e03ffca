"""Crouch–Grossman methods: products of exponentials of one stage's velocity each::

    x_i = x ⊕ h a_i1 ξ_1 ⊕ h a_i2 ξ_2 ⊕ …,   x⁺ = x ⊕ h b_1 ξ_1 ⊕ … ⊕ h b_s ξ_s

Here are the coefficients; the stage loop is :meth:`engine.integrate.commutator_free.Tableau.__call__`, shared by all products of
exponentials.

References: Crouch & Grossman, *J. Nonlinear Sci.* 3 (1993); Jackiewicz, Marthinsen & Owren, *Appl. Numer. Math.* 34 (2000) for the
fourth-order coefficients; Park et al., IROS 2004.
"""

from __future__ import annotations

from engine.integrate.commutator_free import Factors, Tableau, method


def one_each(weights: tuple[float, ...]) -> Factors:
    """A factor for each stage's velocity."""
    return tuple((0.0,) * k + (w,) for k, w in enumerate(weights))


def crouch_grossman(a: tuple[tuple[float, ...], ...], b: tuple[float, ...]) -> Tableau:
    """The tableau of stage weights a (strictly lower triangular) and weights b."""
    return Tableau(tuple(one_each(row) for row in a), one_each(b))


CG3 = method("cg3", 3, crouch_grossman(
    a=((), (3 / 4,), (119 / 216, 17 / 108)),
    b=(13 / 51, -2 / 3, 24 / 17),
), "Crouch & Grossman 1993")  # fmt: skip

CG4 = method("cg4", 4, crouch_grossman(
    a=((),
       (0.8177227988124852,),
       (0.3199876375476427, 0.0659864263556022),
       (0.9214417194464946, 0.4997857776773573, -1.0969984448371582),
       (0.3552358559023322, 0.2390958372307326, 1.3918565724203246, -1.1092979392113465)),
    b=(0.1370831520630755, -0.0183698531564020, 0.7397813985370780, -0.1907142565505889, 0.3322195591068374),
), "Jackiewicz, Marthinsen & Owren 2000")  # fmt: skip
