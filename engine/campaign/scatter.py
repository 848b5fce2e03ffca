"""Scatter: parameters, entries of the initial state and attitudes, by name, and what each run gets of them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from engine.campaign.design import CampaignError, grid_indices, uniforms
from engine.campaign.distributions import Draw, draw_of
from engine.checks import nearest, shown
from engine.model import Model
from engine.simulation import Simulator
from engine.simulation.parameters import own
from engine.spatial import quaternion

Array = np.ndarray


class Start(NamedTuple):
    """Initial values of runs: those drawn, by name (n, *shape), and what these make of q (n, nq), v (n, nv) and the parameters."""

    drawn: dict[str, Array]
    q0: Array
    v0: Array
    parameters: dict[str, Array]

    def rows(self, k: Any) -> Start:
        """Return some of the runs."""
        return Start({n: x[k] for n, x in self.drawn.items()}, self.q0[k], self.v0[k], {n: x[k] for n, x in self.parameters.items()})


class Target(NamedTuple):
    """Entries that a quantity sets: the ``places`` of "q0", "v0", an "attitude" (of q0), or of a parameter by its name."""

    kind: str
    name: str
    places: Any
    shape: tuple[int, ...]


class Scatter:
    """Scattered quantities and their distributions.

    Attributes
    ----------
    targets, draws : by name
    runs : how many there are: as given, or of a grid all
    """

    def __init__(self, simulator: Simulator, q0: Array, v0: Array, scatter: Mapping[str, Any], design: str, seed: int,
                 runs: int | None) -> None:  # fmt: skip
        self.noisy = "noise.run" in simulator.parameters
        if not isinstance(scatter, Mapping) or not (scatter or self.noisy):
            raise CampaignError(f"scatter is {shown(scatter)}; expected what differs from run to run, such as {{'mass.bus': "
                                "scipy.stats.norm(500, 10)}")  # fmt: skip
        self.q0, self.v0, self.design, self.seed = q0, v0, design, seed
        self.nominal = simulator.parameters
        known = targets(simulator)
        if "noise.run" in scatter and self.noisy:
            raise CampaignError("scatter names 'noise.run', and each run has its own number as that; expected only others")
        self.targets = {name: target_of(str(name), known, simulator) for name in scatter}
        require_apart(self.targets)
        grid = design == "grid"
        self.draws: dict[str, Draw] = {name: draw_of(f"scatter['{name}']", x, self.targets[name].shape, grid,
                                                     self.targets[name].kind == "attitude") for name, x in scatter.items()}  # fmt: skip
        self.counts = tuple(len(d.words["values"]) for d in self.draws.values()) if grid else ()
        if grid and runs not in (None, product := int(np.prod(self.counts, dtype=object))):
            raise CampaignError(f"runs is {runs}, and the grid has {' × '.join(map(str, self.counts))} = {product}; expected none, or that")
        if runs is None and not grid:
            raise CampaignError("runs is not given; expected how many there shall be, or design='grid'")
        self.runs: int = product if grid else runs  # type: ignore[assignment]
        self.sizes = {name: d.size for name, d in self.draws.items()}

    @property
    def words(self) -> dict[str, Any]:
        """Description for the manifest: each quantity's distribution."""
        return {name: d.words for name, d in self.draws.items()}

    def values(self, first: int, count: int) -> dict[str, Array]:
        """Return what is drawn for runs from ``first`` on, by name (count, *shape)."""
        if self.design == "grid":
            rows: Any = dict(zip(self.draws, grid_indices(self.counts, first, count), strict=True))
        else:
            rows = uniforms(self.design, self.seed, self.runs, self.sizes, first, count)
        return {name: d.values(rows[name]) for name, d in self.draws.items()}

    def start(self, first: int, count: int) -> Start:
        """Return what runs from ``first`` on begin with."""
        drawn = self.values(first, count)
        q, v = (np.repeat(x[None], count, axis=0) for x in (self.q0, self.v0))
        p: dict[str, Array] = {}
        for name, x in drawn.items():
            to = self.targets[name]
            if to.kind == "attitude":
                q[:, to.places] = x if x.shape[1] == 4 else quaternion.product(q[:, to.places], quaternion.exp(x))
            elif to.kind == "parameter":
                whole = p.setdefault(to.name, np.repeat(self.nominal[to.name][None], count, axis=0))
                at = (slice(None), *to.places)
                whole[at] = x
            else:
                (q if to.kind == "q0" else v)[:, to.places] = x.reshape(count, -1)
        if self.noisy:                                          # laws that ask for noise get a run's own
            p = {"noise.run": np.arange(first, first + count, dtype=float), "noise.seed": np.full(count, noise_seed(self.seed)), **p}
        return Start(drawn, q, v, p)


def noise_seed(seed: int) -> float:
    """Return the seed of noise of a campaign's: itself where a float holds it, else 53 bits of its SHA-256.

    >>> noise_seed(7), noise_seed(2**60) == noise_seed(2**61)
    (7.0, False)
    """
    return float(seed if seed < 2**53 else int.from_bytes(hashlib.sha256(str(seed).encode()).digest()[:8], "little") >> 11)


# ---------------------------------------------------------------- names


def targets(simulator: Simulator) -> dict[str, Target]:
    """Return everything that can be scattered, by name; entries of parameters, NAME[0,1], apart."""
    found = {name: Target("parameter", name, (), np.shape(x)) for name, x in simulator.parameters.items()}
    return found | {t.name: t for t in state_targets(simulator.model)}


def state_targets(model: Model) -> Iterator[Target]:
    """Yield what of the initial state can be scattered: entries, joints, the two halves of twists, and attitudes.

    Of a joint with an attitude "q0.JOINT" is its position.
    """
    turning = {}
    for b in model.bodies:
        if not b.mimics and b.kind.nq > b.kind.nv:
            turning[b.joint.name] = b
            place = slice(b.q.start, b.q.start + 4)
            names = [b.joint.name, *([b.joint.name.removesuffix("/floating_base")] if "/floating_base" in b.joint.name else [])]
            yield from (Target("attitude", f"attitude.{name}", place, (3,)) for name in names)
    for kind in "qv":
        groups: dict[str, list[int]] = {}
        for i, (label, joint) in enumerate(zip(model.labels(kind), model.entries(kind), strict=True)):
            if kind == "q" and joint in turning and i < turning[joint].q.start + 4:
                continue
            for name in {label, joint, *([label[:-1]] if kind == "v" and label[-2:-1] in ("w", "v") and joint != label else [])}:
                groups.setdefault(name, []).append(i)
        for name, places in groups.items():
            yield Target(f"{kind}0", f"{kind}0.{name}", places, (len(places),) if len(places) > 1 else ())


def target_of(name: str, known: Mapping[str, Target], simulator: Simulator) -> Target:
    """Return where a scattered quantity goes; CampaignError where nothing has that name."""
    if name in known:
        return known[name]
    entry = re.fullmatch(r"(.+)\[(\d+(?:,\d+)*)\]", name)
    if entry and entry[1] in simulator.parameters:
        place, shape = tuple(map(int, entry[2].split(","))), np.shape(simulator.parameters[entry[1]])
        if len(place) == len(shape) and all(i < n for i, n in zip(place, shape, strict=True)):
            return Target("parameter", entry[1], place, ())
        raise CampaignError(f"scatter names '{name}', and the parameter '{entry[1]}' has shape {shape}; expected one of its entries")
    if own(name):
        raise CampaignError(f"scatter names '{name}'{nearest(name, known)}, which is no parameter of the simulator; expected "
                            f"Simulator(parameters={{'{name}': …}}) with it")  # fmt: skip
    raise CampaignError(f"scatter names '{name}', which there is not{nearest(name, known)}; expected a parameter of the simulator "
                        f"({', '.join(simulator.parameters) or 'it has none'}), q0.JOINT, v0.JOINT or attitude.JOINT")  # fmt: skip


def require_apart(found: Mapping[str, Target]) -> None:
    """Refuse two names for the same numbers."""
    seen: dict[Any, str] = {}
    for name, to in found.items():
        if to.kind == "parameter":
            keys: list[Any] = [(to.name, *i) for i in ([to.places] if to.places else np.ndindex(*to.shape))]
        else:
            places = range(to.places.start, to.places.stop) if isinstance(to.places, slice) else to.places
            keys = [("v" if to.kind == "v0" else "q", i) for i in places]
        for key in keys:
            if key in seen:
                raise CampaignError(f"scatter names the same number by '{seen[key]}' and by '{name}'; expected each once")
            seen[key] = name
