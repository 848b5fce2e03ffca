"""Diagram of signal connections: sensors, laws, controller and forces, joined by the names of signals, as text and as a picture."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from engine.checks import writing
from engine.components.actuators import Drive
from engine.components.component import SimulationError
from engine.components.law import Ticking
from engine.components.makers import Maker

#: what functions may ask for of the motion itself
TRUE = ("q", "v", "poses", "twists", "pose", "twist", "jacobian", "states", "origin", "vdot")
#: of what acts, how many are named
NAMED = 6
#: of a box and what is between boxes, in the picture's units
WIDE, HIGH, ACROSS, DOWN, EDGE, LETTER = 132.0, 44.0, 84.0, 26.0, 16.0, 7.2
STYLE = ("text{font:12px system-ui,sans-serif;fill:#222}.s{font-size:10px;fill:#666}rect{fill:#fff;stroke:#555}"
         ".m rect{fill:#eef6ee;stroke:#3a7d44}.t rect{stroke-dasharray:5 3}.w{fill:none;stroke:#7a8699;stroke-width:1.3}"
         "@media (prefers-color-scheme:dark){"
         "text{fill:#eee}.s{fill:#aaa}rect{fill:#222;stroke:#aaa}.m rect{fill:#1d2b20;stroke:#6fbf7f}}")  # fmt: skip

TIP = ('<defs><marker id="a" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
       '<path d="M0 0L8 4L0 8z" fill="#7a8699"/></marker></defs>')  # fmt: skip


class Diagram(str):
    """A picture as SVG: a text, which notebooks show.

    >>> Diagram("<svg/>")._repr_svg_()
    '<svg/>'
    """

    __slots__ = ()

    def _repr_svg_(self) -> str:
        return str(self)

    def save(self, path: str | Path) -> Path:
        """Write it to a file; return its path."""
        path = Path(path)
        with writing(path, SimulationError):
            path.write_text(self, encoding="utf-8")
        return path


def reads(c: Ticking) -> list[str]:
    """Return the names of the signals that one reads."""
    return [*c.reads] if isinstance(c, Maker) else c.called.reads


def when(c: Ticking) -> str:
    """Return when one is asked, in words: "every 0.01 s from 0.005 s, 0.1 s late"."""
    law = c.called.law
    if not c.called.ticks:
        return "at every stage"
    text = "every step" if law.period is None else f"every {law.period:g} s"
    return text + (f" from {law.phase:g} s" if law.phase else "") + (f", {law.delay:g} s late" if law.delay else "")


def truth(c: Ticking) -> list[str]:
    """Return what a function of the user's asks for of the motion itself, which nothing measures: a sensor's truth is its own."""
    if isinstance(c, Maker) and c.mounted is not None:
        return []
    asks = ("q", "v") if not c.called.named else tuple(inspect.signature(c.called.fn).parameters)
    return [n for n in dict.fromkeys((*asks, *c.called.extra)) if n in TRUE]


def with_sources(c: Ticking) -> str:
    """Return the name of one with what it reads, in words."""
    of = [*reads(c), *([f"the true {', '.join(own)}"] if (own := truth(c)) else [])]
    return c.name + (f" of {' and '.join(of)}" if of else "")


def describe_makers(makers: Sequence[Maker]) -> str:
    """Return the makers of signals in words.

    >>> describe_makers([])
    ''
    """
    return ", ".join(f"{with_sources(c)} ({when(c)})" for c in makers)


def describe_simulator(simulator: Any) -> str:
    """Return what a simulator is, in words."""
    plant, many = simulator.plant, simulator._step.meeting
    acting = [with_sources(c) if plant.makers and isinstance(c, Ticking) else c.name
              for c in plant.acting if c.name != Drive.name and c not in plant.makers]  # fmt: skip
    parts = [f"<simulator of '{simulator.model.name}': {simulator.method.name}, dt = {simulator.dt:g} s",
             f"joints: {simulator.joint_dynamics or 'ideal'}"]  # fmt: skip
    parts += [f"contacts: {len(plant.contacts.pairs)} pairs"] if plant.contacts else []
    parts += [f"contacts: {many.many} pairs of {len(many.placed)} shapes, by tables"] if many else []
    parts += [f"contacts: none, no ground holds {', '.join(map(repr, falling))}"] if (falling := groundless(simulator)) else []
    parts += [f"signals: {describe_makers(plant.makers)}"] if plant.makers else []
    named = acting if len(acting) <= NAMED + 1 else [*acting[:NAMED], f"{len(acting) - NAMED} others"]
    parts += [f"acting: {', '.join(named)}"] if named else []
    return "; ".join(parts + ([repr(plant.constraints)] if plant.constraints else [])) + ">"


def groundless(simulator: Any) -> list[str]:
    """Return the base links of floating trees that gravity pulls while there are no contacts, though links have shapes to touch with.

    That is meant of what flies, and an oversight of what walks; the model does not tell these apart, so it is said, without a warning.

    >>> import engine
    >>> dog = engine.load(engine.example("quadruped"), floating_base=True)
    >>> engine.Simulator(dog)  # doctest: +ELLIPSIS
    <simulator of 'quadruped': ...; contacts: none, no ground holds 'trunk'; acting: friction>
    """
    model, plant = simulator.model, simulator.plant
    weightless = not np.any(simulator.parameters.get("gravity", simulator.gravity))
    if weightless or plant.contacts or plant.constraints or plant.frame or simulator._step.meeting or not any(
            link.collisions for link in model.links):  # fmt: skip
        return []
    return [model.bodies[i].joint.child for i in model.roots if model.bodies[i].kind.floats]


def below(c: Ticking) -> str:
    """Return what is written below a name in the picture: when it is asked, and what it reads of the truth."""
    return when(c) + (f", reads true {', '.join(own)}" if (own := truth(c)) else "")


def columns(acting: Sequence[Ticking]) -> list[list[Ticking]]:
    """Return those that read or make signals in columns, each right of those that it reads; what is read from before may be right of it."""
    place: dict[str, int] = {}
    for c in acting:
        place[c.name] = 1 + max([place[n] for n in reads(c) if n in place], default=-1)
    makers = [c for c in acting if isinstance(c, Maker)]
    last = 1 + max((place[c.name] for c in makers), default=-1)
    place |= {c.name: last for c in acting if not isinstance(c, Maker)}
    return [[c for c in acting if place[c.name] == k] for k in range(max(place.values(), default=-1) + 1)]


def diagram(acting: Sequence[Any]) -> Diagram:
    """Return a picture of those that make or read signals, joined by these; who reads the truth besides has a dashed edge.

    Raises
    ------
    SimulationError : nobody does
    """
    import html

    own = [c for c in acting if isinstance(c, Ticking) and (isinstance(c, Maker) or c.called.reads or c.name == "controller")]
    if not any(isinstance(c, Maker) for c in own):
        raise SimulationError("nothing makes signals, which a diagram joins; expected Simulator(…, sensors=[…], laws=[…])")
    wide = max(WIDE, *(LETTER * max(len(c.name), 0.8 * len(below(c))) + 20.0 for c in own))
    at = {c.name: (EDGE + k * (wide + ACROSS), EDGE + j * (HIGH + DOWN)) for k, col in enumerate(columns(own)) for j, c in enumerate(col)}
    width, height = (max(p[k] for p in at.values()) + size + EDGE for k, size in ((0, wide), (1, HIGH)))
    parts = []
    for c in own:
        x, y = at[c.name]
        for n, (x0, y0) in ((n, at[n]) for n in reads(c)):
            a, b, ya, yb = x0 + wide, x, y0 + HIGH / 2, y + HIGH / 2
            bend = ACROSS / 2 if b > a else ACROSS + wide / 2
            parts.append(f'<path class="w" marker-end="url(#a)" d="M{a:g} {ya:g}C{a + bend:g} {ya:g} {b - bend:g} {yb:g} {b:g} {yb:g}">'
                         f"<title>{html.escape(c.name)} reads {html.escape(n)}</title></path>")  # fmt: skip
    for c in own:
        x, y = at[c.name]
        kind = ("m" if c.memory.size and c.called.law.memory.size else "n") + (" t" if truth(c) else "")
        middle = f'x="{x + wide / 2:g}" text-anchor="middle"'
        parts.append(f'<g class="{kind}"><rect x="{x:g}" y="{y:g}" width="{wide:g}" height="{HIGH:g}" rx="6"/>'
                     f'<text {middle} y="{y + 19:g}">{html.escape(c.name)}</text>'
                     f'<text class="s" {middle} y="{y + 35:g}">{html.escape(below(c))}</text></g>')  # fmt: skip
    return Diagram(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" '
                   f'role="img" aria-label="signals of a simulator"><style>{STYLE}</style>{TIP}{"".join(parts)}</svg>')
