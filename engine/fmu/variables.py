"""The variables of an FMU: names, units, starts, and where each lies in the vectors of its fmu."""

from __future__ import annotations

import dataclasses
import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from engine.checks import Range
from engine.components.law import SEEDS
from engine.contact import is_material
from engine.fmu.programs import FmuPrograms, each
from engine.model import Model
from engine.model.parameters import is_number
from engine.simulation.parameters import own

Array = np.ndarray
#: what names of units are made of, by exponents of base units
SYMBOLS = {
    **{base: {base: 1} for base in ("kg", "m", "s", "A", "rad")}, "N": {"kg": 1, "m": 1, "s": -2}, "J": {"kg": 1, "m": 2, "s": -2},
    "W": {"kg": 1, "m": 2, "s": -3}, "Pa": {"kg": 1, "m": -1, "s": -2}, "T": {"kg": 1, "s": -2, "A": -1},
}  # fmt: skip
#: what changes in a second
RATES = {"": "1/s", "rad": "rad/s", "m": "m/s", "rad/s": "rad/s2", "m/s": "m/s2"}
#: units of what outputs are called at last, whoever says them
USUAL = {"position": "m", "power": "W", "energy": "J"}
#: how names of parameters begin that must be above zero
POSITIVE = ("mass.", "contact_stiffness.")
#: what a number may be: anything, or no loss of a negative one
ANY, LOSS = Range(), Range(0.0)
#: how names of outputs begin that are an input's or a parameter's, too
OUTPUT = "output"


@dataclass(frozen=True)
class Variable:
    """A variable.

    Attributes
    ----------
    kind, at : in which vector of C it lies, and where; flags : what C checks of it, and what it is to the simulator
    shape : of an array, of FMI 3.0
    start : values (size), or None of what is calculated
    reference : its number
    state : of a derivative, the reference of its state
    range : of its numbers
    wanted, called : the name that another has already, where it has one more to be told from that, and what it is in the engine
    """

    name: str
    kind: str
    at: int
    causality: str
    variability: str
    shape: tuple[int, ...] = ()
    start: tuple[float, ...] | None = None
    unit: str = ""
    text: str = ""
    flags: tuple[str, ...] = ()
    reference: int = 0
    state: int | None = None
    range: Range = ANY
    wanted: str = ""
    called: str = ""

    @property
    def size(self) -> int:
        """Number of scalars."""
        return math.prod(self.shape)

    @property
    def initial(self) -> str | None:
        """FMI's word for how it begins; None where that goes without saying."""
        return "calculated" if self.kind in ("X", "Y", "DX") else None


# ---------------------------------------------------------------- names


def plain(text: str) -> str:
    """Return a text in ASCII: letters without their marks, and others by their numbers.

    >>> plain("Fuß 3é")
    'Fu_u00df_ 3e'
    """
    found = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return "".join(c if " " <= c <= "~" else f"_u{ord(c):04x}_" for c in found)


def quoted(part: str) -> str:
    """Return a part of a name as FMI's structured names have it: what is no identifier in quotes.

    >>> quoted("elbow"), quoted("left.arm")
    ('elbow', "'left.arm'")
    """
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", part):
        return part
    return "'" + re.sub(r"[\\'\"?]", lambda c: f"\\{c[0]}", part) + "'"


class Names:
    """Names of variables, each once: structured as FMI has them, ``q.elbow`` and ``torque[1]``, or flat, ``q_elbow`` and ``torque_1``."""

    def __init__(self, flat: bool) -> None:
        self.flat, self.taken, self.wanted = flat, {"time"}, dict[str, str]()

    def name(self, parts: Sequence[str], index: Sequence[int] = ()) -> str:
        """Return the name of what has these parts, and this index from 0 on; FMI's arrays count from 1."""
        each, numbers = [plain(p) for p in parts], [str(i + 1) for i in index]
        if self.flat:
            found = "_".join(re.sub(r"\W+", "_", p) or "_" for p in (*each, *numbers))
            found = found if found[0].isalpha() else f"x{found}"
        else:
            found = ".".join(map(quoted, each)) + (f"[{','.join(numbers)}]" if numbers else "")
        base, k = found, 2
        while found in self.taken:
            found = f"{base}_{k}" if self.flat else f"{base}.n{k}"
            k += 1
        self.taken.add(found)
        if found != base:
            self.wanted[found] = base
        return found

    def rate(self, name: str) -> str:
        """Return the name of a state's derivative."""
        return f"der({name})"


def parts_of(name: str) -> list[str]:
    """Return the parts of a parameter's or a signal's name.

    >>> parts_of("mass.left.hand"), parts_of("wheels.torque")
    (['mass', 'left.hand'], ['wheels', 'torque'])
    """
    return name.split(".", 1) if own(name) else name.split(".")


# ---------------------------------------------------------------- entries of q, v, v̇ and τ


def entries(model: Model, name: str) -> tuple[list[list[str]], list[str]] | None:
    """Return for each number of q, v, vdot or tau its name's parts and its unit; None of others."""
    if name not in ("q", "v", "vdot", "tau"):
        return None
    kinds = {b.joint.name: b.kind for b in model.bodies}
    labels, units = [], list[str]()
    for joint, _, _ in model.coordinates:
        kind = kinds[joint]
        words = kind.q_names if name == "q" else kind.v_names
        labels += [[name, joint, *([w] if w else [])] for w in words]
        moving = list(kind.units)
        if name == "q":
            quaternion = kind.manifold.attitude
            units += ["" if quaternion and k < 4 else moving[k - 1 if quaternion else k] for k in range(kind.nq)]
        else:
            units += [{"v": f"{u}/s", "vdot": f"{u}/s2", "tau": "N.m" if u == "rad" else "N"}[name] for u in moving]
    return labels, units


def exponents(unit: str) -> dict[str, int]:
    """Return the exponents of base units in a unit, symbols with their powers, of which those behind a stroke divide.

    >>> exponents("N.m.s/rad"), exponents("m/s2")
    ({'kg': 1, 'm': 2, 's': -1, 'rad': -1}, {'m': 1, 's': -2})
    """
    found = dict[str, int]()
    for part, sign in zip(unit.split("/"), (1, -1), strict=False):
        for symbol, power in re.findall(r"([A-Za-z]+)(\d*)", part):
            for base, k in SYMBOLS[symbol].items():
                found[base] = found.get(base, 0) + sign * k * int(power or 1)
    return {base: k for base, k in found.items() if k}


# ---------------------------------------------------------------- variables


def flags_of(name: str) -> tuple[str, ...]:
    """Return what C checks of a parameter, and whether momenta are others after it."""
    found = {"OWN": own(name), "WHOLE": name in SEEDS}
    return tuple(n for n, there in found.items() if there)


def range_of(fmu: FmuPrograms, name: str) -> Range | None:
    """Return the range of a parameter's numbers; None where C cannot check them one by one: not of an inertia, which has to be a body's,
    nor of a pose."""
    if is_number(name) and name.startswith(("inertia.", "placement.")):
        return None
    if name.startswith(POSITIVE):
        return Range(0.0, above=True)
    losses = is_material(name) or name.startswith(("damping.", "friction.", "armature.")) or name in SEEDS
    return LOSS if losses else fmu.ranges.get(name, ANY)


class Table:
    """The variables of an FMU, as they are added."""

    def __init__(self, fmu: FmuPrograms, arrays: bool, flat: bool) -> None:
        self.fmu, self.arrays, self.names = fmu, arrays, Names(flat)
        self.variables = [Variable("time", "TIME", 0, "independent", "continuous", unit="s")]

    def add(self, name: str, kind: str, at: int, shape: tuple[int, ...], causality: str, variability: str, start: Array | None = None,
            text: str = "", flags: tuple[str, ...] = (), of: str | None = None, within: Range = ANY) -> None:  # fmt: skip
        """Add what has a name: an array where all has one unit and FMI has arrays, else number by number."""
        found, n = entries(self.fmu.model, of or name), math.prod(shape)
        known = self.fmu.units if kind == "Y" or name in self.fmu.signals else self.fmu.given
        own = known.get(of or name, "") or (USUAL.get(name.rpartition(".")[2], "") if kind == "Y" else "")
        units = found[1] if found else each(own, n)
        base = parts_of(name)
        if shape and n and self.arrays and len({*units}) == 1:
            self.put(self.names.name(base), kind, at, causality, variability, shape, start, units[0], text, flags, base, within=within)
            return
        for k in range(n):
            index = tuple(int(i) for i in np.unravel_index(k, shape)) if shape else ()
            parts = [*base[:-1], *found[0][k]] if found else base
            own_name = self.names.name(parts) if found else self.names.name(base, index)
            one = None if start is None else start[k : k + 1]
            self.put(own_name, kind, at + k, causality, variability, (), one, units[k], text, flags, parts, () if found else index, within)

    def put(self, name: str, kind: str, at: int, causality: str, variability: str, shape: tuple[int, ...], start: Array | None, unit: str,
            text: str, flags: tuple[str, ...], parts: Sequence[str], index: Sequence[int] = (), within: Range = ANY) -> None:  # fmt: skip
        """Add a variable, with what it is called in the engine where FMI has no such name."""
        whole = ".".join(parts)
        text = text if whole.isascii() else f"{text} ({whole})".strip()
        values = None if start is None else tuple(float(x) for x in start)
        called = whole + (f"[{', '.join(map(str, index))}]" if index else "")
        self.variables.append(Variable(name, kind, at, causality, variability, shape, values, unit, text, flags, len(self.variables),
                                       range=within, wanted=self.names.wanted.get(name, ""), called=called))

    def add_rates(self) -> None:
        """Add the derivatives of the states."""
        for x in [v for v in self.variables if v.kind == "X"]:
            self.variables.append(dataclasses.replace(
                x, name=self.names.rate(x.name), kind="DX", causality="local", unit=RATES[x.unit], text="", reference=len(self.variables),
                state=x.reference, wanted=""))  # fmt: skip


def text_of(name: str, signal: bool) -> str:
    """Return what an output is: of a controller a command, else a ``signal``.

    >>> text_of("vdot", True), text_of("pose.hand.position", True), text_of("wheels", False)
    ('accelerations', "position of the link 'hand' in the world", "the command 'wheels'")
    """
    first, _, rest = name.partition(".")
    if first == "pose":
        link, _, what = rest.rpartition(".")
        return f"{'position' if what == 'position' else 'rotation matrix'} of the link '{link}' in the world"
    known = {"vdot": "accelerations", "tau": "torques and forces in joints"}
    return known.get(name) or f"the {'signal' if signal else 'command'} '{name}'"


def twice(fmu: FmuPrograms, tuned: Iterable[str]) -> list[str]:
    """Return the names that an output has, and an input or a parameter."""
    given = {*fmu.inputs, *tuned}
    return [n for n in (*fmu.state_outputs, *fmu.outputs) if n in given]


def variables_of(fmu: FmuPrograms, tuned: Iterable[str], arrays: bool, flat: bool) -> list[Variable]:
    """Return the variables of an FMU: time, inputs, parameters that are ``tuned``, start values, outputs, derivatives."""
    table, tuned, model = Table(fmu, arrays, flat), {*tuned}, fmu.model
    both = twice(fmu, tuned)
    for name, where in fmu.parameters.slices.items():
        value, shape = fmu.p[where], fmu.parameters.shapes[name]
        if name in fmu.signals:
            table.add(name, "P", where.start, shape, "input", "continuous", value, f"the signal '{name}' that is read", ("INPUT",))
        elif name in fmu.inputs:
            what = {"q": "configuration", "v": "velocities"}.get(name, f"the parameter '{name}' of the simulator, held over a step")
            table.add(name, "P", where.start, shape, "input", "continuous", value, what, ("INPUT", *flags_of(name)),
                      within=range_of(fmu, name) or ANY)  # fmt: skip
        elif name in tuned:
            what = f"the parameter '{name}' of the simulator"
            first = name in fmu.fixed
            table.add(name, "P", where.start, shape, "parameter", "fixed" if first else "tunable", value,
                      f"{what}, at the start" if first else what, (*flags_of(name), *["FIRST"] * first),
                      within=range_of(fmu, name) or ANY)  # fmt: skip
    if fmu.start:
        for name, where in (("q", slice(0, model.nq)), ("v", slice(model.nq, fmu.start))):
            table.add(f"start.{name}", "START", where.start, (where.stop - where.start,), "parameter", "fixed", fmu.x[where],
                      f"{name} at the start", of=name)  # fmt: skip
    for name in fmu.state_outputs:
        n, at = (model.nq, 0) if name == "q" else (model.nv, model.nq)
        found = f"{OUTPUT}.{name}" if name in both else name
        table.add(found, "X", at, (n,), "output", "continuous", text="configuration" if name == "q" else "velocities", of=name)
    at = 0
    for name, shape in fmu.outputs.items():
        if name in both:
            table.add(f"{OUTPUT}.{name}", "Y", at, shape, "output", "continuous", text=f"the output '{name}', beside what is set", of=name)
        else:
            table.add(name, "Y", at, shape, "output", "continuous", text=text_of(name, "q" not in fmu.parameters.shapes))
        at += math.prod(shape)
    if fmu.exchange:
        table.add_rates()
    return table.variables
