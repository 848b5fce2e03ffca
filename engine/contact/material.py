"""What surfaces are made of, as far as contact knows it."""

from __future__ import annotations

from dataclasses import dataclass, fields

from engine.checks import EngineError, number

#: a slip at which static friction has fallen to 1/e of the way to kinetic friction (Stribeck), m/s
STRIBECK = 1e-2


class ContactError(EngineError):
    """Contacts that cannot be: unknown links, shapes that are none, numbers out of range."""


@dataclass(frozen=True)
class ContactMaterial:
    """A surface: how stiff it is, what it loses, and how it rubs.

    Where two surfaces meet, their springs stand in series, k = k₁k₂/(k₁ + k₂), and so does what they lose,
    d = (k₂ d₁ + k₁ d₂)/(k₁ + k₂); coefficients of friction have the harmonic mean, 2 μ₁μ₂/(μ₁ + μ₂).

    Attributes
    ----------
    stiffness : k of a point, N/m; all along an edge there are two, on all of a face four, and less of them on less of it
    dissipation : d of Hunt and Crossley's law f = k δ (1 + d δ̇), s/m
    friction : μ of a contact that slides
    static_friction : μ of one that does not; the same by default. It falls to ``friction`` over a slip of about 1 cm/s

    Reference: Hunt & Crossley, *Coefficient of restitution interpreted as damping in vibroimpact*, J. Appl. Mech. 1975.

    >>> ContactMaterial(stiffness=2e5).with_surface(ContactMaterial(stiffness=2e5, friction=0.5)).stiffness
    100000.0
    """

    stiffness: float = 1e5
    dissipation: float = 0.1
    friction: float = 0.5
    static_friction: float | None = None

    def __post_init__(self) -> None:
        expected = {"stiffness": "a number above 0, N/m", "dissipation": "zero or more, s/m", "friction": "zero or more"}
        for f in fields(self):
            x = getattr(self, f.name)
            if f.name == "static_friction":
                if x is None:
                    continue
                number("static_friction of a ContactMaterial", x, f"None, or a number not below friction, {self.friction}",
                       least=self.friction, error=ContactError)  # fmt: skip
            elif f.name == "stiffness":
                number(f"{f.name} of a ContactMaterial", x, expected[f.name], above=0.0, error=ContactError)
            else:
                number(f"{f.name} of a ContactMaterial", x, expected[f.name], least=0.0, error=ContactError)
            object.__setattr__(self, f.name, float(x))

    @property
    def static(self) -> float:
        """μ of a contact that does not slide."""
        return self.friction if self.static_friction is None else self.static_friction

    def with_surface(self, other: ContactMaterial) -> ContactMaterial:
        """Return the material of this surface on another."""
        k1, k2 = self.stiffness, other.stiffness
        return ContactMaterial(k1 * k2 / (k1 + k2), (k2 * self.dissipation + k1 * other.dissipation) / (k1 + k2),
                               harmonic(self.friction, other.friction), harmonic(self.static, other.static))  # fmt: skip


def harmonic(a: float, b: float) -> float:
    """Return the harmonic mean of two numbers that are not negative."""
    return 2.0 * a * b / (a + b) if a + b > 0.0 else 0.0
