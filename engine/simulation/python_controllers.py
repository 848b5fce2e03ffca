"""Controllers in plain Python (``Law(…, python=True)``): called at their ticks, between steps of machine code, for whole batches.

What such a controller says is held in the state's memory, where the compiled step finds it; so a record, a file and a resumed run know when
the next tick is, and what is said until then.
"""

from __future__ import annotations

import numpy as np

from engine.checks import nearest, shown
from engine.components.component import Interrupted, NotFinite, SimulationError
from engine.components.controller import Controller
from engine.components.law import NOW
from engine.components.layout import Layout
from engine.components.reading import shown as shown_parts
from engine.components.reading import with_signals
from engine.simulation.plant import Plant
from engine.simulation.run_loop import Kernel, Process

Array = np.ndarray


class PythonControllerRun(Process):
    """A run's loop that calls a plain Python controller between steps, with a batch as a whole: its rows are always the same ones."""

    together = True

    def __init__(self, process: Process, plant: Plant, layout: Layout) -> None:
        super().__init__(process.step, process.observe, process.compiled, process.example, process.over, process.where,
                         process.away, process.notes)
        self.seen_later = False
        assert plant.controller is not None
        self.plant, self.controller, self.layout = plant, plant.controller, layout
        begin = layout.slices["memory"].start
        own = plant.memories.slices[Controller.name]
        self.place = slice(begin + own.start, begin + own.stop)
        called = self.controller.called
        self.fn = with_signals(called.law.fn, called.named, called.name) if called.reads or called.named else called.law.fn
        felt, left = {c.name: c for c in plant.makers}, [*called.reads]
        for n in left:                                                         # which grows
            if n in felt and felt[n].feels:
                raise SimulationError(f"{called.name} is plain Python, and reads '{n}', which feels what is commanded at that moment; "
                                      "expected a law that compiles, or a sensor of positions and velocities")  # fmt: skip
            left += [m for m in felt.pop(n).reads if m in felt] if n in felt else []

    def kernel(self, batch: tuple[int, ...]) -> Kernel:
        """Return the function that runs a batch: from tick to tick."""
        run, nq, nv, rest = super().kernel(batch), self.plant.model.nq, self.plant.model.nv, self.plant.model.neutral()

        def after_tick(t0: float, k: float, dt: float, p: Array, x: Array) -> Array:
            """x after a tick, if one is due; rollouts that are not finite any more are shown at rest, and stay as they are."""
            t = t0 + k * dt
            if t < self.tick(x) - NOW * self.controller.period:
                return x
            on = np.isfinite(x).all(axis=-1, keepdims=True)
            read = self.heard(run(np.zeros(1), t0, k, dt, p, x)[..., 0, :], on) if self.controller.called.reads else {}
            said = self.said(t, np.where(on, x[..., :nq], rest), np.where(on, x[..., nq : nq + nv], 0.0), p, read)
            x = x.copy()
            x[..., self.place] = np.where(on, self.controller.told(x[..., self.place], said), x[..., self.place])
            return x

        def records(counts: Array, t0: float, k: float, dt: float, p: Array, x: Array) -> Array:
            found: list[Array] = []
            try:
                for count in counts:
                    x, left = after_tick(t0, k, dt, p, x), int(count)
                    while left:
                        ahead = (self.tick(x) - t0) / dt - k
                        n = min(left, max(1, int(np.ceil(ahead - 1e-6)))) if np.isfinite(ahead) else left
                        x, k, left = run(np.array([float(n)]), t0, k, dt, p, x)[..., 0, 1 : 1 + self.n], k + n, left - n
                        x = after_tick(t0, k, dt, p, x)
                    found.append(run(np.zeros(1), t0, k, dt, p, x))
            except SimulationError as error:
                error.records = found
                raise
            except KeyboardInterrupt as error:
                stop = Interrupted(f"{self.controller.called.name} was interrupted at t = {t0 + k * dt:.6g} s")
                stop.records = found
                raise stop from error
            return np.concatenate(found, axis=-2)

        return records

    def tick(self, x: Array) -> float:
        """The time of the next tick; infinite if no rollout goes on."""
        going = np.isfinite(x).all(axis=-1) & ~self.over(x)
        held = self.controller.held.split(x[..., self.place][going])
        return float(min(np.ravel(self.controller.time(held, "tick", "count")), default=np.inf))

    def heard(self, record: Array, on: Array) -> dict[str, Array]:
        """Return the signals that the controller reads, by name and part (..., *shape), as they are in the step that begins at a record
        (..., m), and zero in rollouts that are not ``on`` (..., 1)."""
        columns, found = self.record.split(record), dict[str, Array]()
        for n in self.controller.called.reads:
            for part in shown_parts(self.plant.said[n]):
                x = columns[f"{n}.{part}" if part else n]
                found[f"{n}.{part}"] = np.where(on.reshape((*on.shape[:-1], *[1] * (x.ndim - on.ndim + 1))), x, 0.0)
        return found

    def said(self, t: float, q: Array, v: Array, p: Array, read: dict[str, Array]) -> dict[str, Array]:
        """Return what the controller says, by name (..., *shape), checked."""
        called, shapes, batch = self.controller.called, self.controller.shapes, q.shape[:-1]
        given = self.plant.parameters.split(p)
        known = {"gravity": np.asarray(self.plant.gravity), "model": self.plant.model, **given}
        extra = {n: known[n] for n in called.extra if n not in called.reads} | read
        try:
            result = self.fn(t, q.copy(), v.copy(), **extra)
        except Exception as error:
            raise SimulationError(f"{called.name} raised {type(error).__name__} at t = {t:.6g} s: {error}") from error
        found = {}
        for name, x in (result.items() if isinstance(result, dict) else [("tau", result)]):
            if name not in shapes:
                raise SimulationError(f"{called.name} commands '{name}'{nearest(str(name), shapes)} at t = {t:.6g} s; expected some of "
                                      f"{', '.join(shapes)}")  # fmt: skip
            try:
                if x is None:                                                  # which NumPy takes for NaN
                    raise TypeError
                if np.iscomplexobj(x):
                    raise TypeError
                found[name] = np.asarray(x, dtype=float)
            except (TypeError, ValueError):
                raise SimulationError(f"{called.name} returned {shown(x)} at t = {t:.6g} s; expected numbers") from None
            if found[name].shape != (*batch, *shapes[name]):
                raise SimulationError(f"{called.name} returned shape {found[name].shape} for '{name}' at t = {t:.6g} s; expected "
                                      f"{(*batch, *shapes[name])}")  # fmt: skip
            if not batch and not np.isfinite(found[name]).all():
                raise NotFinite(called.name, t, wild=False, where=f" at t = {t:.6g} s")
        return found


def with_python(process: Process, plant: Plant, layout: Layout) -> Process:
    """Return the process that calls the plant's controller between steps, if that is plain Python; else the process as it is."""
    return PythonControllerRun(process, plant, layout) if plant.controller is not None and plant.controller.called.law.python else process
