"""``ContactMaterial``: stiffness, dissipation and friction coefficients of a surface, and how those of two combine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from engine import ops
from engine.checks import EngineError, number, numbers, shown
from engine.model.parameters import split

#: a slip at which static friction has fallen to 1/e of the way to kinetic friction (Stribeck), m/s
STRIBECK = 1e-2
#: a coefficient of friction beyond which there is none: products of two are finite
ROUGHEST = 1e100
#: N/m, beyond which a step's Newton method finds no impulses, since 1e-17 m are more than rounding leaves of a place
HARDEST = 1e18

#: parameters that count instead of a number of a surface: of a link's, or of the ground's, "world"
PARAMETERS = {f"contact_{n}": n for n in ("stiffness", "dissipation", "friction", "static_friction", "torsional_friction",
                                          "rolling_friction")}  # fmt: skip
#: FMI's units of these; coefficients have none
UNITS = {"contact_stiffness": "N/m", "contact_dissipation": "s/m", "contact_torsional_friction": "m", "contact_rolling_friction": "m"}
#: numbers of a surface that resist turning: lengths, m
TURNING = "torsional_friction", "rolling_friction"


class ContactError(EngineError):
    """Contacts that cannot be: unknown links, shapes that are none, numbers out of range.

    >>> import engine
    >>> engine.ContactMaterial(friction=-0.5)
    Traceback (most recent call last):
    ...
    engine.contact.material.ContactError: friction of a ContactMaterial is -0.5; expected from zero to 1e+100
    """


@dataclass(frozen=True)
class ContactMaterial:
    """A surface: how stiff it is, what it loses, and how it rubs.

    Where two surfaces meet, their springs stand in series, k = k₁k₂/(k₁ + k₂), and so does what they lose,
    d = (k₂ d₁ + k₁ d₂)/(k₁ + k₂); coefficients of friction have the harmonic mean, 2 μ₁μ₂/(μ₁ + μ₂), or by another of RULES; so have
    torsional and rolling friction, of which "multiply" takes the geometric mean, as they are lengths.

    Attributes
    ----------
    stiffness : k of a point, N/m; all along an edge there are two, on all of a face four, and less of them on less of it
    dissipation : d of Hunt and Crossley's law f = k δ (1 + d δ̇), s/m
    friction : μ of a contact that slides
    static_friction : μ of one that does not; the same by default. It falls to ``friction`` over a slip of about 1 cm/s
    priority : of two surfaces, that of the higher one alone says how they rub; of equal ones both do
    surface_velocity : (3), m/s, at which the surface runs along itself, as a conveyor's belt does, in the axes of its link (the ground's:
        of the world); what of it is along a contact's normal does not count
    torsional_friction : c, m: a point that is pressed with N resists turning about the normal by a couple of c N at most; of a round patch
        of the radius a, 2/3 μ a under an even pressure, 3π/16 μ a under that of a ball (Johnson, *Contact Mechanics*, ch. 7)
    rolling_friction : c, m: and rolling, in any direction, by one of c N; a wheel of the radius r rolls down a slope steeper than c/r

    Reference: Hunt & Crossley, *Coefficient of restitution interpreted as damping in vibroimpact*, J. Appl. Mech. 1975.

    >>> ContactMaterial(stiffness=2e5).with_surface(ContactMaterial(stiffness=2e5, friction=0.5)).stiffness
    100000.0
    """

    stiffness: float = 1e5
    dissipation: float = 0.1
    friction: float = 0.5
    static_friction: float | None = None
    priority: int = 0
    surface_velocity: tuple[float, ...] = (0.0, 0.0, 0.0)
    torsional_friction: float = 0.0
    rolling_friction: float = 0.0

    def __post_init__(self) -> None:
        if ops.graph_of(*(getattr(self, f.name) for f in fields(self))) is not None:      # traced: a parameter of a simulation
            return
        if isinstance(self.priority, bool) or not isinstance(self.priority, int):
            raise ContactError(f"priority of a ContactMaterial is {shown(self.priority)}; expected a whole number")
        runs = numbers("surface_velocity of a ContactMaterial", self.surface_velocity, ContactError)
        if runs.shape != (3,):
            raise ContactError(f"surface_velocity of a ContactMaterial is {shown(self.surface_velocity)}; expected three numbers, m/s")
        object.__setattr__(self, "surface_velocity", tuple(runs.tolist()))
        expected = {"stiffness": f"a number above 0, {HARDEST:g} N/m at most", "dissipation": "zero or more, s/m",
                    "friction": f"from zero to {ROUGHEST:g}",
                    **dict.fromkeys(TURNING, f"from zero to {ROUGHEST:g}, m")}  # fmt: skip
        for f in (f for f in fields(self) if f.name in expected or f.name == "static_friction"):
            x = getattr(self, f.name)
            if f.name == "static_friction":
                if x is None:
                    continue
                number("static_friction of a ContactMaterial", x, f"None, or a number not below friction, {self.friction}",
                       least=self.friction, error=ContactError)  # fmt: skip
            elif f.name == "stiffness":
                number(f"{f.name} of a ContactMaterial", x, expected[f.name], above=0.0, most=HARDEST, error=ContactError)
            else:
                most = np.inf if f.name == "dissipation" else ROUGHEST
                number(f"{f.name} of a ContactMaterial", x, expected[f.name], least=0.0, most=most, error=ContactError)
            object.__setattr__(self, f.name, float(x))

    @property
    def static(self) -> Any:
        """μ of a contact that does not slide."""
        return self.friction if self.static_friction is None else self.static_friction

    def of(self, surfaces: Sequence[str], values: Mapping[str, Any]) -> ContactMaterial:
        """Return the material of a surface with parameters in place of its numbers, by its names, the last of which counts most; what
        sticks rubs no less than what slides."""
        names = ((n, f"{kind}.{surface}") for surface in surfaces for kind, n in PARAMETERS.items())
        given = {n: values[name] for n, name in names if name in values}
        if not given:
            return self
        static = given.get("static_friction", self.static_friction)
        if static is not None:
            given["static_friction"] = ops.maximum(static, given.get("friction", self.friction))
        numbers: dict[str, Any] = {n: x if ops.graph_of(x) is not None else float(x) for n, x in given.items()}
        return replace(self, **numbers)

    def with_surface(self, other: ContactMaterial, combine: str = "harmonic") -> ContactMaterial:
        """Return the material of this surface on another, with friction by one of RULES, or that of the higher priority."""
        one, two = ((m.stiffness, m.dissipation, m.friction, m.static) for m in (self, other))
        spins, rolls = turning_of_two(self.turning, other.turning, combine)
        found = ContactMaterial(*on_each_other(one, two, combine), torsional_friction=spins, rolling_friction=rolls)
        if self.priority == other.priority:
            return found
        ruling = max(self, other, key=lambda m: m.priority)
        return replace(found, **{n: getattr(ruling, n) for n in ("friction", "static_friction", *TURNING)})

    @property
    def turns(self) -> bool:
        """True if there is torsional or rolling friction; traced numbers count as some."""
        return any(ops.graph_of(x) is not None or x > 0.0 for x in self.turning)

    @property
    def turning(self) -> tuple[Any, Any]:
        """Torsional and rolling friction, m."""
        return self.torsional_friction, self.rolling_friction


def on_each_other(x: Sequence[Any], y: Sequence[Any], combine: str) -> tuple[Any, Any, Any, Any]:
    """Return stiffness, dissipation, friction and static friction of two surfaces with these numbers where they meet."""
    (k1, d1, *rub1), (k2, d2, *rub2) = x, y
    return k1 * k2 / (k1 + k2), (k2 * d1 + k1 * d2) / (k1 + k2), *map(RULES[combine], rub1, rub2)


def turning_of_two(x: Sequence[Any], y: Sequence[Any], combine: str) -> tuple[Any, ...]:
    """Return torsional and rolling friction of two surfaces with these numbers, m, where they meet.

    >>> [np.array(turning_of_two((0.01, 0.0), (0.04, 1.0), rule)) for rule in ("multiply", "max")]
    [array([0.02, 0.  ]), array([0.04, 1.  ])]
    """
    return tuple(ops.sqrt(a * b) if combine == "multiply" else RULES[combine](a, b) for a, b in zip(x, y, strict=True))


def harmonic(a: Any, b: Any) -> Any:
    """Return the harmonic mean of two numbers that are not negative."""
    total = a + b
    return 2.0 * a * b / ops.where(total > 0.0, total, 1.0)


#: what two coefficients of friction are together
RULES: dict[str, Callable[[Any, Any], Any]] = {
    "harmonic": harmonic, "max": ops.maximum, "min": ops.minimum, "mean": lambda a, b: 0.5 * (a + b), "multiply": lambda a, b: a * b,
}  # fmt: skip


def is_material(name: str) -> bool:
    """Return whether a parameter counts instead of a number of a surface.

    >>> from engine.contact import is_material
    >>> is_material("contact_friction.foot"), is_material("mass.foot")
    (True, False)
    """
    kind, link = split(name)
    return kind in PARAMETERS and bool(link)


def require_material(name: str, a: Any, error: type[EngineError] = ContactError) -> None:
    """Refuse values (...) of such a parameter that no surface has.

    >>> import numpy as np
    >>> from engine.contact import require_material
    >>> require_material("contact_friction.foot", np.array(0.5))  # says nothing: a surface may have it
    """
    stiff = name.startswith("contact_stiffness.")
    for row in np.ndindex(np.shape(a)):
        if not (0.0 < a[row] <= HARDEST if stiff else a[row] >= 0.0):
            where = f" in row {', '.join(map(str, row))}" if row else ""
            expected = f"above zero, {HARDEST:g} at most" if stiff else "from zero"
            raise error(f"parameter '{name}' is {a[row]:g}{where}; expected a number {expected}")
