"""Units of a simulator's signals and parameters, where they are known."""

from __future__ import annotations

from engine.components.forces import units_of_forces
from engine.contact import is_material
from engine.contact.material import UNITS as MATERIALS
from engine.model.parameters import is_number, split, unit_of
from engine.simulation.plant import Plant

#: one for all numbers, or one for each, as FMI writes them: N.m.s/rad, m/s2
Units = str | tuple[str, ...]


def units_of(plant: Plant) -> dict[str, Units]:
    """Return the units of what a plant's components have, say and are commanded, by name."""
    said = {f"{c.name}.{part}" if part else c.name: u for c in (*plant.components, *plant.makers) for part, u in c.units.items()}
    rubbing = {f"{name}.force": units_of_forces(plant.model) for name in ("friction", "stops")} if plant.impulses else {}
    return {**rubbing, **said}


def units_given(plant: Plant) -> dict[str, Units]:
    """Return the units of a plant's parameters by name: its components', and those of what they stand for."""
    names = plant.parameters.shapes
    known = {n: u for n, u in units_of(plant).items() if n in names and "." in n}
    known |= {n: unit_of(plant.model, n) for n in names if is_number(n)}
    known |= {n: MATERIALS.get(split(n)[0], "") for n in names if is_material(n)}
    return known | {"gravity": "m/s2"}


def units_shown(plant: Plant) -> dict[str, tuple[str, ...]]:
    """Return for each parameter of a plant the units of its numbers as people write them, such as N·m·s/rad and m/s²; "" where unknown.

    >>> import engine
    >>> arm = engine.load(engine.example("seven_joint_arm"))
    >>> given = {"gain": 1.0, f"damping.{arm.joints[0].name}": 0.1}
    >>> made = engine.Simulator(arm, controller=lambda t, q, v, gain: -gain * q, parameters=given)
    >>> list(units_shown(made.plant).values())
    [('',), ('N·m·s/rad',)]
    """
    signs, given = str.maketrans(".23", "·²³"), units_given(plant)
    found = {}
    for name, at in plant.parameters.slices.items():
        unit = given.get(name, "")
        found[name] = tuple(u.translate(signs) for u in ([unit] * (at.stop - at.start) if isinstance(unit, str) else unit))
    return found
