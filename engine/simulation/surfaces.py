"""Materials by the names of surfaces: what may have one, and warnings of numbers that count nowhere."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from engine.checks import nearest, shown, warn
from engine.components.component import SimulationWarning
from engine.contact import ContactError, ContactMaterial, Placed
from engine.contact.material import TURNING
from engine.model import Model
from engine.model.combine import WORLD


def checked_material(what: str, x: Any) -> None:
    """Refuse what is no material."""
    if not isinstance(x, ContactMaterial):
        raise ContactError(f"{what} is {shown(x)}; expected a ContactMaterial")


def checked_materials(materials: Any) -> None:
    """Refuse what are no materials by a name, or by two."""
    if not isinstance(materials, Mapping):
        raise ContactError(f"materials of Contacts is {shown(materials)}; expected ContactMaterials by links' names")
    for key, material in materials.items():
        checked_material(f"material of '{key}'" if isinstance(key, str) else f"material of {key}", material)
        if not isinstance(key, str) and not (isinstance(key, tuple) and len(key) == 2 and all(isinstance(n, str) for n in key)):
            raise ContactError(f"materials of Contacts are of {shown(key)}; expected the name of a link or a shape, or two, ('a', 'b')")
        if isinstance(key, tuple) and key[0] != key[1] and key[::-1] in materials:
            raise ContactError(f"materials of Contacts have two of {key}; expected one")
        if isinstance(key, tuple) and any(material.surface_velocity):
            raise ContactError(f"the material of {key} has a surface_velocity; expected it of one that is of a single surface")


def of_ground(own: ContactMaterial, materials: Mapping[Any, ContactMaterial]) -> ContactMaterial:
    """Return the ground's material: that of "world" where there is one, else its own.

    >>> of_ground(ContactMaterial(), {"world": ContactMaterial(friction=0.25)}).friction
    0.25
    """
    given = materials.get(WORLD, own)
    if own not in (ContactMaterial(), given):
        raise ContactError(f"the ground has two materials, HalfSpace(material={own}) and materials={{'{WORLD}': {given}}}; expected one")
    return given


def names_of(materials: Iterable[str | tuple[str, str]]) -> set[str]:
    """Return the names of links and shapes that have materials.

    >>> sorted(names_of(["a", ("a", "b/pad")]))
    ['a', 'b/pad']
    """
    return {name for key in materials for name in ([key] if isinstance(key, str) else key)}


def require_named(model: Model, names: Collection[str], links: Mapping[str, str]) -> None:
    """Refuse names that are of no link or shape, of which there are ``links``."""
    for name in names:
        if name not in links:
            raise ContactError(f"contacts name a link '{name}', which '{model.name}' has not{nearest(str(name), list(links))}")


def require_solid(model: Model, names: Iterable[str], links: Mapping[str, str], ground: bool) -> None:
    """Refuse materials of links without shapes, and of a ground that there is not."""
    solid = {link.name for link in model.links if link.collisions} | ({WORLD} if ground else set())
    if bare := sorted(n for n in names if links[n] not in solid):
        lacks = "and no ground; expected ground=HalfSpace(...)" if bare[0] == WORLD else \
            f"which in '{model.name}' has no collision shapes; expected it of a link that has some"  # fmt: skip
        raise ContactError(f"contacts have a material of '{bare[0]}', {lacks}")


def keys_of(s: Placed, t: Placed) -> list[tuple[str, str]]:
    """Return the keys of materials that two shapes may have together, the nearest first, by either order of their names."""
    return [key for a in (s.part, s.link) for b in (t.part, t.link) for key in ((a, b), (b, a))]


def require_met(materials: Iterable[str | tuple[str, str]], pairs: Iterable[tuple[Placed, Placed]]) -> None:
    """Refuse materials of two of which no pair that may touch is."""
    met = {key for s, t in pairs for key in keys_of(s, t)}
    if idle := [key for key in materials if isinstance(key, tuple) and key not in met]:
        raise ContactError(f"contacts have a material of {idle[0]}, which may not touch each other; expected it of two that may, or that "
                           "pairs=[...] names them")  # fmt: skip


def among(materials: Mapping[Any, ContactMaterial], pairs: Iterable[tuple[str, str]]) -> dict[Any, ContactMaterial]:
    """Return the materials without those of two that none of ``pairs`` may be.

    >>> m = ContactMaterial()
    >>> list(among({"a": m, ("a/pad", "b"): m, ("b", "c"): m}, [("b", "a")]))
    ['a', ('a/pad', 'b')]
    """
    def same(a: str, b: str) -> bool:
        return a == b or a.startswith(f"{b}/") or b.startswith(f"{a}/")

    def named(one: str, other: str) -> bool:
        return any((same(one, a) and same(other, b)) or (same(one, b) and same(other, a)) for a, b in pairs)

    return {key: m for key, m in materials.items() if isinstance(key, str) or named(*key)}


def warn_of_idle(surfaces: list[tuple[str, ContactMaterial, ContactMaterial]], combine: str) -> None:
    """Warn of torsional and rolling friction of links' surfaces that is none on whatever they meet: of each both materials are given."""
    for what in TURNING:
        own = {link for link, m, _ in surfaces if getattr(m, what) > 0.0}
        if idle := sorted(own - {link for link, m, met in surfaces if getattr(m, what) > 0.0 and getattr(met, what) > 0.0}):
            warn(f"{what} of '{idle[0]}'{f' and {len(idle) - 1} others' * (len(idle) > 1)} counts nowhere: what it meets has "
                 f"none, of which combine='{combine}' makes none, or has a higher priority; expected it of both surfaces, or combine='max'",
                 SimulationWarning)  # fmt: skip
