"""An FMU's modelDescription.xml, of FMI 2.0 and 3.0, and the buildDescription.xml of its sources."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import quoteattr

from engine.fmu.depends import reached, through
from engine.fmu.programs import ARGUMENTS, FmuPrograms
from engine.fmu.variables import Variable, exponents

#: what XML has no way to write
NONE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
#: what compilers are told; the flags that only some know are in the sources
OPTIONS = "-O3 -ffp-contract=off"


@dataclass(frozen=True)
class Unknown:
    """A variable that is computed, and those that it depends on."""

    variable: Variable
    on: Sequence[Variable]


@dataclass(frozen=True)
class Structure:
    """Dependencies of outputs, of derivatives of states, and of what is computed at the start."""

    outputs: list[Unknown]
    derivatives: list[Unknown]
    initial: list[Unknown]


def attributes(**values: Any) -> str:
    """Return attributes of XML; those that are None are left out.

    >>> attributes(name="a<b", start=None)
    ' name="a&lt;b"'
    """
    return "".join(f" {n}={quoteattr(NONE.sub('?', str(x)))}" for n, x in values.items() if x is not None)


# ---------------------------------------------------------------- what depends on what


def offsets(fmu: FmuPrograms, name: str) -> dict[str, int]:
    """Return where the arguments of a program begin among its inputs."""
    sizes = [1 if not s else s[0] for s in fmu.programs[name].shapes_in]
    return {a: sum(sizes[:k]) for k, a in enumerate(ARGUMENTS[name])}


def structure(fmu: FmuPrograms, variables: Sequence[Variable]) -> Structure:
    """Return what depends on what; at the start on what that is made of, too."""
    inputs = [v for v in variables if v.causality == "input"]
    states = [v for v in variables if v.kind == "X"] if fmu.exchange else []
    (time,) = (v for v in variables if v.kind == "TIME")
    settable = [v for v in variables if v.kind in ("P", "START")]
    masks: dict[str, list[int]] = {n: reached(fmu.programs[n]) for n in ("observe", "look", "field") if n in fmu.programs}
    first = started(fmu)

    def read(v: Variable, among: Sequence[Variable], name: str, initial: bool) -> list[Variable]:
        """The variables among some that a variable reads, computed by a program."""
        at = offsets(fmu, name)
        mask = 0
        for k in range(v.at, v.at + v.size):
            mask |= masks[name][k]
        if initial and name == "observe":                                      # x is made of what the start is, notes of all of that
            own = (1 << at["x"]) - 1
            of_x = [first[k] if k < len(first) else -1 for k in range(len(fmu.x) + fmu.notes)]
            from_p = through(mask >> at["x"], [*of_x]) if mask >> at["x"] else 0
            mask = mask & own | from_p << at["p"] if from_p >= 0 else -1
        return [u for u in among if mask >> place(u, at, fmu, initial) & ((1 << u.size) - 1) or (u is time and mask & clock(at))]

    found = Structure([], [], [])
    for v in variables:
        if v.kind == "X":
            found.outputs.append(Unknown(v, [v] if fmu.exchange else []))
            found.initial.append(Unknown(v, [u for u in settable if u.kind == "START" and overlap(u, v)]))
        elif v.kind in ("Y", "DX"):
            program = "field" if v.kind == "DX" else "look" if fmu.exchange else "observe"
            direct = Unknown(v, read(v, [time, *inputs, *states], program, False))
            (found.derivatives if v.kind == "DX" else found.outputs).append(direct)
            found.initial.append(Unknown(v, read(v, settable, program, True)))
    return found


def clock(at: dict[str, int]) -> int:
    """Return the bits of the time among a program's inputs."""
    return sum(1 << at[a] for a in ("t", "t0", "k") if a in at)


def place(v: Variable, at: dict[str, int], fmu: FmuPrograms, initial: bool) -> int:
    """Return where a variable lies among a program's inputs; start values, behind all parameters where x is made of them, else in x."""
    if v.kind == "P":
        return at["p"] + v.at
    if v.kind == "START":
        return (at["p"] + fmu.parameters.n if "t0" in at else at["x"]) + v.at
    return at["x"] + v.at if v.kind == "X" else 10**9


def overlap(u: Variable, v: Variable) -> bool:
    """Return whether a start value is one of an output's."""
    return u.at < v.at + v.size and v.at < u.at + u.size


def started(fmu: FmuPrograms) -> list[int]:
    """Return for each number of x at the start what it is made of: bits of the parameters, and behind them of the start values."""
    n = fmu.parameters.n
    bare = [1 << n + k if k < fmu.start else 0 for k in range(len(fmu.x))]
    for name in ("begin", "prepare"):
        bare = after(fmu, name, bare) if name in fmu.programs else bare
    return bare


def after(fmu: FmuPrograms, name: str, bare: list[int]) -> list[int]:
    """Return what x is made of after a program of p and x, before which it was made of what is given."""
    n, at = fmu.parameters.n, offsets(fmu, name)
    own = [mask >> at["p"] for mask in reached(fmu.programs[name])]                # of p and x
    return [through(mask & ((1 << n) - 1), [1 << k for k in range(n)]) | through(mask >> n, bare) for mask in own]


# ---------------------------------------------------------------- texts


def numbers(values: Iterable[float]) -> str:
    """Return numbers as XML has them, to their last bit."""
    return " ".join(repr(float(x)) for x in values)


def units(variables: Sequence[Variable]) -> str:
    """Return the definitions of the units that variables have."""
    used = sorted({v.unit for v in variables} - {""})
    return "".join(f"<Unit{attributes(name=u)}><BaseUnit{attributes(**exponents(u))}/></Unit>" for u in used)


def least(v: Variable) -> str | None:
    """Return the least value of a variable, where there is one."""
    return repr(v.range.least) if v.range.least > -math.inf else None


def most(v: Variable) -> str | None:
    """Return the greatest value of a variable, where there is one."""
    return repr(v.range.most) if v.range.most < math.inf else None


def written2(v: Variable) -> str:
    """Return a variable, a number, in FMI 2.0's words."""
    real = attributes(unit=v.unit or None, min=least(v), max=most(v), start=None if v.start is None else numbers(v.start),
                      derivative=None if v.state is None else v.state + 1)  # fmt: skip
    own = attributes(name=v.name, valueReference=v.reference, description=v.text or None, causality=v.causality, variability=v.variability,
                     initial=v.initial)  # fmt: skip
    return f"<ScalarVariable{own}><Real{real}/></ScalarVariable>"


def written3(v: Variable) -> str:
    """Return a variable, a number or an array, in FMI 3.0's words."""
    own = attributes(name=v.name, valueReference=v.reference, description=v.text or None, causality=v.causality, variability=v.variability,
                     initial=v.initial, unit=v.unit or None, derivative=v.state, min=least(v), max=most(v),
                     start=None if v.start is None else numbers(v.start))  # fmt: skip
    sizes = "".join(f"<Dimension{attributes(start=n)}/>" for n in v.shape)
    return f"<Float64{own}>{sizes}</Float64>" if sizes else f"<Float64{own}/>"


def listed(tag: str, unknown: Unknown, key: str, shift: int) -> str:
    """Return what an unknown depends on."""
    on = [u.reference + shift for u in unknown.on]
    own = {key: unknown.variable.reference + shift}
    return f"<{tag}{attributes(**own, dependencies=' '.join(map(str, on)), dependenciesKind=' '.join(['dependent'] * len(on)))}/>"


def model_description(fmu: FmuPrograms, variables: Sequence[Variable], name: str, token: str, version: str, flat: bool, tool: str,
                      files: Sequence[str]) -> str:  # fmt: skip
    """Return the text of modelDescription.xml; ``files`` are the sources, if there are any."""
    new = version == "3.0"
    s, key = structure(fmu, variables), "valueReference" if new else "index"
    saved = {"canGetAndSetFMUState": "true", "canSerializeFMUState": "true"}
    saved = saved if new else {"canNotUseMemoryManagementFunctions": "true", **{k.replace("State", "state"): x for k, x in saved.items()}}
    own = {"modelIdentifier": name, **saved}
    derivatives = {"providesDirectionalDerivatives": "true", "providesAdjointDerivatives": "true"} if new else \
        {"providesDirectionalDerivative": "true"}  # fmt: skip
    built = "<SourceFiles>" + "".join(f"<File{attributes(name=f)}/>" for f in files) + "</SourceFiles>" if files and not new else ""
    paced = {"canHandleVariableCommunicationStepSize": "true", **({"fixedInternalStepSize": repr(fmu.dt)} if new else {})}
    head = attributes(
        fmiVersion=version, modelName=fmu.model.name or "model", **{"instantiationToken" if new else "guid": token},
        description=fmu.words, generationTool=tool, variableNamingConvention="flat" if flat else "structured",
        **({} if new else {"numberOfEventIndicators": 0}))  # fmt: skip
    groups = (("Output", s.outputs), ("ContinuousStateDerivative", s.derivatives), ("InitialUnknown", s.initial)) if new else \
        (("Outputs", s.outputs), ("Derivatives", s.derivatives), ("InitialUnknowns", s.initial))  # fmt: skip
    lists = []
    for tag, unknowns in groups:
        each = [listed(tag if new else "Unknown", u, key, 0 if new else 1) for u in unknowns]
        lists += each if new or not each else [f"<{tag}>", *each, f"</{tag}>"]
    defined = units(variables)
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f"<fmiModelDescription{head}>",
             *([f"<ModelExchange{attributes(**own, **derivatives)}>{built}</ModelExchange>"] if fmu.exchange else []),
             f"<CoSimulation{attributes(**own, **paced)}>{built}</CoSimulation>",
             *([f"<UnitDefinitions>{defined}</UnitDefinitions>"] if defined else []),
             f"<LogCategories><Category{attributes(name='logStatusError')}/></LogCategories>",
             f"<DefaultExperiment{attributes(startTime='0.0', stepSize=repr(fmu.period or fmu.dt))}/>",
             "<ModelVariables>", *map(written3 if new else written2, variables), "</ModelVariables>",
             "<ModelStructure>", *lists, "</ModelStructure>", "</fmiModelDescription>", ""]  # fmt: skip
    return "\n".join(lines)


def build_description(name: str, files: Sequence[str]) -> str:
    """Return the text of buildDescription.xml, of FMI 3.0."""
    each = "".join(f"<SourceFile{attributes(name=f)}/>" for f in files)
    return ('<?xml version="1.0" encoding="UTF-8"?>\n<fmiBuildDescription fmiVersion="3.0">'
            f'<BuildConfiguration{attributes(modelIdentifier=name)}>'
            f'<SourceFileSet{attributes(language="C99", compilerOptions=OPTIONS)}>{each}</SourceFileSet></BuildConfiguration>'
            "</fmiBuildDescription>\n")  # fmt: skip
