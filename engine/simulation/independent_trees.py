"""Models of independent trees, joined by nothing: equal trees are simulated as a batch of one compiled step.

A model of 64 quadrupeds, or of a thousand free bodies, whose trees no law, contact or constraint joins, moves as each of them does alone:
the steps of equal ones are those of a batch of rollouts, whose numbers that differ are parameters.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from engine.components.layout import Layout
from engine.model import EqualTrees, Model, many_equal_trees
from engine.simulation.own_states import DEFECT, LASTING, MOMENTUM
from engine.simulation.plant import Plant
from engine.simulation.run_loop import Kernel, Process

Array = np.ndarray
#: what joins trees, or looks at several of them, among a simulator's arguments
JOINING = "controller", "forces", "actuators", "constraints", "contacts", "events", "frame", "sensors", "laws"


class Kind(NamedTuple):
    """Equal trees, with the step (:class:`engine.simulation.step.Step`) of one of them."""

    trees: EqualTrees
    step: Any


def joins_trees(arguments: Mapping[str, Any]) -> bool:
    """Return whether something among a simulator's arguments joins trees, but for contacts."""
    others = [name for name in JOINING if name != "contacts"]
    return not arguments["compiled"] or any(arguments.get(name) for name in others) or bool({*arguments["parameters"]} - {"gravity"})


def independent(model: Model, arguments: Mapping[str, Any], make: Callable[..., Any], meeting: bool = False) -> tuple[Kind, ...]:
    """Return the kinds of trees of a model, with simulators that ``make`` makes of one of each kind by the same ``arguments``; none where
    something joins trees, or each is of a kind of its own, or something is stiff, which one method flies for all. Where they are
    ``meeting`` in contacts alone, these join nothing, and trees may be of kinds of their own."""
    apart = not joins_trees(arguments) and (meeting or not arguments["contacts"])
    kinds = many_equal_trees(model, 0 if meeting else 1) if apart else []
    alone = {**arguments, "contacts": None}
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        made = [make(trees.first.model, **{**alone, "parameters": {**arguments["parameters"], **nominal(trees)}}) for trees in kinds]
    if said or any(map(is_stiff, made, kinds)):                                # what is said is said of all
        return ()
    return tuple(Kind(trees, simulator._step) for trees, simulator in zip(kinds, made, strict=True))


def nominal(trees: EqualTrees) -> dict[str, Array]:
    """Return the numbers of the first of equal trees that differ among them."""
    return {name: x[0] for name, x in trees.numbers.items()}


def is_stiff(simulator: Any, trees: EqualTrees) -> bool:
    """Return whether something of one of equal trees is stiff, by the simulator of the first."""
    plant = simulator.plant
    if plant.stiffness is not None or plant.look is None:
        return plant.stiffness is not None
    rows = plant.parameters.spread({**plant.values, **trees.numbers}, (len(trees.names),))
    return any(simulator._unresolved.stiff(p) for p in np.unique(rows, axis=0))


class Places:
    """Indices of the numbers (n, m) of n trees in a vector, in parts side by side: (n, m_k) each.

    >>> places = Places([np.array([[0, 1], [2, 3]]), np.array([[7], [5]])])
    >>> places.taken(np.arange(8.0))
    array([[0., 1., 7.],
           [2., 3., 5.]])
    """

    def __init__(self, parts: Sequence[Array]) -> None:
        ends = np.cumsum([0, *(part.shape[1] for part in parts)])
        self.n, self.m = len(parts[0]), int(ends[-1])
        self.parts = [(slice(int(a), int(b)), as_slice(part)) for a, b, part in zip(ends, ends[1:], parts, strict=False) if part.size]

    def taken(self, x: Array) -> Array:
        """Return the trees' numbers (..., n, m) in vectors x."""
        found = np.empty((*x.shape[:-1], self.n, self.m), object if x.dtype == object else float)
        for own, part in self.parts:
            to = found[..., own]
            to[...] = x[..., part].reshape(to.shape)
        return found

    def put(self, x: Array, found: Array) -> None:
        """Put the trees' numbers (..., n, m) where they lie in vectors x."""
        for own, part in self.parts:
            given = found[..., own]
            x[..., part] = given.reshape(*given.shape[:-2], -1)


def as_slice(part: Array) -> Any:
    """Return places (n, m), one after another: as a slice, if they follow one another."""
    places = part.ravel()
    return slice(int(places[0]), int(places[-1]) + 1) if (np.diff(places) == 1).all() else places


class IndependentTrees(Process):
    """A process whose trees are batches of the processes of their kinds.

    Parameters
    ----------
    process : of all trees as one program, which is traced where somebody asks for it
    layout, plant : of the whole state
    """

    def __init__(self, process: Process, layout: Layout, plant: Plant, kinds: Sequence[Kind]) -> None:
        super().__init__(process.step, process.observe, True, process.example, process.over, process.where, process.away,
                         process.notes)
        self.layout, self.plant, self.kinds = layout, plant, kinds
        self.states = [Places(self.places(kind)) for kind in kinds]
        self.velocities = [Places([kind.trees.v]) for kind in kinds]

    def places(self, kind: Kind) -> list[Array]:
        """Return where what a tree's state consists of lies in the whole state."""
        own, whole, trees = kind.step.plant, self.plant, kind.trees
        at = {name: s.start for name, s in self.layout.slices.items()}
        begin = {name: at["state"] + s.start for name, s in whole.states.slices.items()}
        number = {whole.model.bodies[tree[0]].joint.name: k for k, tree in enumerate(whole.conserved)}
        roots = [trees.joints[0].index(own.model.bodies[tree[0]].joint.name) for tree in own.conserved]
        conserved = np.array([[number[joints[k]] for k in roots] for joints in trees.joints], dtype=int)
        parts = [at["q"] + trees.q, at["v"] + trees.v]
        for name, shape in own.states.shapes.items():
            if name in (MOMENTUM, DEFECT):
                rows = begin[name] + shape[1] * conserved[..., None] + np.arange(shape[1])
                parts.append(rows.reshape(len(rows), -1))
            else:
                assert name == LASTING
                parts.append(begin[name] + trees.v)
        return parts

    @property
    def keys(self) -> list[str]:
        """Keys of each kind's programs, and its number of trees."""
        return [key for kind in self.kinds for key in (*kind.step.process.keys, str(len(kind.trees.names)))]

    @functools.cached_property
    def record(self) -> Layout:
        """The layout of a record: of what has an entry for each velocity, those of all trees; sums of what is one number of each."""
        shapes: dict[str, tuple[int, ...]] = {}
        for kind in self.kinds:
            for name, shape in kind.step.process.record.shapes.items():
                shapes[name] = (self.n,) if name == "x" else (self.plant.model.nv,) if shape else ()
        return Layout(shapes)

    def parameters(self, kind: Kind, p: Array) -> Array:
        """Return the parameters (..., n, np) of the trees of a kind, where those of all are p."""
        n, own = len(kind.trees.names), kind.step.plant.parameters
        given = {name: x[..., None, :] for name, x in self.plant.parameters.split(p).items()}          # gravity
        return own.spread({**given, **kind.trees.numbers}, (*p.shape[:-1], n))

    def prepared(self, p: Array, x: Array, t: float) -> Array:
        """Return whole states x (..., n) with what their q and v make of the momenta: see :meth:`Step.prepare`."""
        found = x.copy()
        for kind, places in zip(self.kinds, self.states, strict=True):
            places.put(found, kind.step.prepare(self.parameters(kind, p), places.taken(x), t))
        return found

    def kernel(self, batch: tuple[int, ...]) -> Kernel:
        """Return the function that runs a batch."""

        def run(counts: Array, t0: float, k: float, dt: float, p: Array, x: Array) -> Array:
            p, x = (np.broadcast_to(a, (*batch, a.shape[-1])) for a in (p, x))
            data = np.zeros((*batch, len(counts), self.record.n))
            data[..., self.record.slices["x"]] = x[..., None, :]               # also what no kind has
            for kind, places, velocities in zip(self.kinds, self.states, self.velocities, strict=True):
                process = kind.step.process
                many = (*batch, places.n) if batch or places.n > 1 else ()             # one alone needs no vectors
                given = self.parameters(kind, p), places.taken(x)
                own = process.kernel(many)(counts, t0, k, dt, *(a.reshape(*many, a.shape[-1]) for a in given))
                own = own.reshape(*batch, places.n, *own.shape[-2:])
                own = np.moveaxis(own, -3, -2)                                 # (..., T, n, m)
                for name, at in process.record.slices.items():
                    to, found = data[..., self.record.slices[name]], own[..., at]
                    if name in ("x", "t"):
                        places.put(to, found) if name == "x" else np.copyto(to, found[..., 0, :])
                    elif self.record.shapes[name]:
                        velocities.put(to, found)
                    else:
                        to += found.sum(axis=-2)
            return data

        return run
