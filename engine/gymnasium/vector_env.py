"""Environments of Gymnasium, all rows of a batch in one call of machine code."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from engine.checks import one_of, shown, warn, whole
from engine.compiler import native_code
from engine.compiler.scan import rollout_ufunc
from engine.compiler.thread_pool import get_threads, spread
from engine.gymnasium.colours import Colours
from engine.gymnasium.task import EnvError, Task
from engine.simulation import SimulationWarning, Simulator

Array = np.ndarray
#: what Gymnasium calls them
MODES = {"next_step": AutoresetMode.NEXT_STEP, "same_step": AutoresetMode.SAME_STEP, "disabled": AutoresetMode.DISABLED}


class VectorEnv(gymnasium.vector.VectorEnv[Any, Array, Array]):
    """Many rows of one simulation as an environment of Gymnasium: ``obs, reward, terminated, truncated, info = envs.step(actions)``.

    A step is one call of machine code for all rows: the actions, ``action_repeat`` steps of the simulator, what is seen, and new episodes
    where others ended. What an episode begins with depends on (seed, row, number of the episode) alone, and a row is the same bits in any
    batch, on any number of threads.

    Parameters
    ----------
    simulator : with a parameter "action", for which its controller (or a force) asks by that name; neither events nor constraints
    num_envs : rows
    observation : function of ``t, q, v`` at the end of an action, and of what else it asks for by name, as a controller does: ``action``,
        ``pose(link)``, ``twist(link)``, …, parameters, and what ``reset`` draws; returns an array of any shape
    reward : such a function that returns a number
    terminated : such a function that returns whether the episode has ended; never by default
    reset : function of random numbers, ``random(n)`` normal and ``random.uniform(n)`` in [0, 1), that returns what an episode begins with:
        (q, v), or a dictionary of "q", "v", and any parameters of the simulator or further numbers by name (a target, a mass); the
        neutral configuration at rest by default
    action : the space of an action, Box or Discrete, of the shape of the parameter "action"; unbounded by default
    action_repeat : steps of the simulator an action
    horizon, max_episode_steps : s, and actions, after which an episode is truncated: by what comes first
    autoreset : "next_step", "same_step" or "disabled", as Gymnasium's AutoresetMode
    seed : of the episodes, until :meth:`reset` gets another
    dtype : of observations, float32 or float64
    copy : whether each step returns arrays of its own; otherwise each overwrites the last one's observations
    point : name of a parameter (3), or of what ``reset`` draws, that pictures show as a ball in the world, such as a target
    cameras : :class:`engine.sensors.DepthCamera`, whose pictures in colour are observed: an observation is then a dictionary of "state",
        which is what ``observation`` says, and for each camera by its name (rows, height, width, 3), uint8. One with a period takes a
        picture where an action ends at its time, and is seen as it was until the next. Pictures are drawn one after another: the machine
        code's speed is that of rows without them
    samples : of a pixel of theirs: as of :func:`engine.images`

    Where torch is used too, import it before the first picture: its compiler and Mesa's drawing without a graphics card hold different
    versions of LLVM, and the later one of them ends the process.

    An episode that cannot begin with what ``reset`` drew (a mass below zero, shapes in each other) is left out, and told once: the next one
    begins. A row that stops being finite is truncated, and ``info["diverged"]`` says so; its last observation is the one before, its
    reward 0. What else a run notes, such as contacts that are too deep, is not noted here: look at a ``simulator.run`` of it first.

    Raises
    ------
    EnvError : anything given is not as it should be (ArgumentError, TraceError: a function cannot be compiled)

    Examples
    --------
    A cart of 2 kg that is pushed with 4 N for half a second, and then is at a v²/2 = 0.25 m:

    >>> import engine
    >>> rail = engine.Builder("rail")
    >>> _ = rail.add_link("world"), rail.add_link("cart", inertia=engine.spatial.inertia.sphere(2.0, 0.1))
    >>> _ = rail.add_joint("slide", "prismatic", "world", "cart", axis=(1, 0, 0))
    >>> simulator = Simulator(rail.model(), dt=0.01, controller=lambda t, q, v, action: action, parameters={"action": [0.0]})
    >>> envs = VectorEnv(simulator, 3, observation=lambda t, q, v: np.concatenate([q, v]), reward=lambda t, q, v: -abs(q[0]),
    ...                  action_repeat=50, dtype=np.float64)
    >>> _ = envs.reset(seed=0)
    >>> envs.step(np.full((3, 1), 4.0))[0].round(12)
    array([[0.25, 1.  ],
           [0.25, 1.  ],
           [0.25, 1.  ]])
    """

    def __init__(self, simulator: Simulator, num_envs: int, observation: Callable[..., Any], reward: Callable[..., Any],
                 terminated: Callable[..., Any] | None = None, reset: Callable[[Any], Any] | None = None,
                 action: spaces.Space[Any] | None = None, action_repeat: int = 1, horizon: float | None = None,
                 autoreset: str | AutoresetMode = "next_step", seed: int | None = None, dtype: Any = np.float32,
                 copy: bool = True, max_episode_steps: int | None = None, point: str | None = None, cameras: Sequence[Any] = (),
                 samples: int = 4) -> None:  # fmt: skip
        names = {mode: name for name, mode in MODES.items()}
        self.autoreset = one_of("autoreset", names.get(autoreset, autoreset), MODES, EnvError)  # type: ignore[arg-type]
        self.num_envs = whole("num_envs", num_envs, "a whole number of rows from 1", least=1, error=EnvError)
        if dtype not in (np.float32, np.float64, "float32", "float64"):
            raise EnvError(f"dtype is {shown(dtype)}; expected float32 or float64")
        self.simulator, self.copy, self.dtype = simulator, copy, np.dtype(dtype)
        self.task = Task(simulator, observation, reward, terminated, reset, action_repeat, horizon, max_episode_steps,
                         self.autoreset, point, bool(cameras))  # fmt: skip
        self.metadata = {"autoreset_mode": MODES[self.autoreset], "render_modes": []}
        self.single_observation_space = spaces.Box(-np.inf, np.inf, self.task.shape, self.dtype.type)
        self.single_action_space = acting(action, np.shape(simulator.parameters["action"]))
        self.colours = Colours(simulator, simulator.dt * self.task.repeat, cameras, samples, self.num_envs) if cameras else None
        if self.colours is not None:
            self.single_observation_space = spaces.Dict({"state": self.single_observation_space, **self.colours.spaces})
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        row, own = self.task.row, self.task.own
        self._now, self._next = np.zeros((self.num_envs, row.n)), np.empty((self.num_envs, row.n))
        self._columns = {n: slice(row.slices["p"].start + s.start, row.slices["p"].start + s.stop) for n, s in own.slices.items()}
        for name, x in simulator.parameters.items():
            self._now[:, self._columns[name]] = np.ravel(x)
        self._reseed(np.random.SeedSequence().entropy % 2**53 if seed is None else seed, np.arange(self.num_envs))  # type: ignore[operator]
        if point is not None and np.shape(self.parameters.get(point, 0.0)) != (self.num_envs, 3):
            raise EnvError(f"point is {point!r}; expected the name of a parameter (3), or of what reset draws")
        self._seen, self.point = np.empty((self.num_envs, *self.task.shape), dtype=self.dtype), point
        self._begun, self._told, self._ended = False, False, np.zeros(self.num_envs, dtype=bool)

    # ------------------------------------------------------------ the kernel

    @functools.cached_property
    def _kernel(self) -> Callable[..., Array]:
        return rollout_ufunc(*self.task.programs, native_code.width() if self.num_envs > 1 else 1)

    def _advance(self, now: Array, then: Array, steps: int) -> None:
        """Fill rows with where others lead after so many steps of the simulator, on all threads."""
        s, counts, dt = self.task.row.slices, np.array([float(steps)]), self.simulator.dt

        def part(a: int, b: int) -> None:
            old, new = now[a:b], then[a:b, None]
            self._kernel(counts, 0.0, old[:, s["k"].start], dt, old[:, s["p"]], old[:, s["x"]], out=new)

        threads = min(get_threads(), len(now) // (4 * native_code.width()))
        with np.errstate(all="ignore"):
            if threads <= 1:
                return part(0, len(now))
            ends = np.linspace(0, len(now), threads + 1).astype(int)
            spread(part, ends[:-1], ends[1:])

    def _found(self, name: str) -> Array:
        """Return a result of the last call by name (rows, *shape)."""
        return self._now[:, self.task.row.slices[name]].reshape(self.num_envs, *self.task.row.shapes[name])

    def _observed(self, rows: Array) -> Any:
        """The observations, with new pictures of some rows where cameras are."""
        if self.copy:
            state = self._found("observation").astype(self.dtype)
        else:
            np.copyto(state := self._seen, self._found("observation"), casting="same_kind")
        if self.colours is None:
            return state
        points = None if self.point is None else self.parameters[self.point][rows]
        self.colours.take(rows, self.t[rows], self.q[rows], points)
        return {"state": state, **{name: x.copy() if self.copy else x for name, x in self.colours.pictures.items()}}

    def _finals(self) -> Array:
        """The last observations of episodes that have ended (rows), None for others; cameras see them where they ended, as then drawn."""
        final, rows, ends = np.full(self.num_envs, None, dtype=object), np.flatnonzero(self._ended), self._found("final")
        if self.colours is not None:
            before = self.task.own.split(self._next[:, self.task.row.slices["p"]])
            points = None if self.point is None else before[self.point][rows]
            t = (self._next[rows, self.task.row.slices["k"].start] + self.task.repeat) * self.simulator.dt
            self.colours.take(rows, t, self.simulator.stepper.state(self._found("end")[rows]).q, points)
        for i in rows:
            final[i] = ends[i].astype(self.dtype)
            if self.colours is not None:
                final[i] = {"state": final[i], **{name: x[i].copy() for name, x in self.colours.pictures.items()}}
        return final

    # ------------------------------------------------------------ Gymnasium's

    def reset(self, *, seed: int | Sequence[int | None] | None = None, options: Mapping[str, Any] | None = None,
              ) -> tuple[Array, dict[str, Any]]:  # fmt: skip
        """Begin new episodes, of all rows, or of those of ``options["reset_mask"]``; return the observations and no infos.

        Parameters
        ----------
        seed : a number for all rows: row i then begins with episode 0 of (seed, i); or one a row, or None, each: the row begins with what
            row 0 of that seed does. By default rows go on with their next episodes

        Raises
        ------
        EnvError : a seed is no whole number below 2⁵³, a mask has another shape, an observation is not finite
        """
        rows, mask = np.arange(self.num_envs), (options or {}).get("reset_mask")
        if unknown := {*(options or {})} - {"reset_mask"}:
            raise EnvError(f"reset got the option '{min(unknown)}'; expected none, or 'reset_mask'")
        if mask is not None:
            if not isinstance(mask, np.ndarray) or mask.shape != (self.num_envs,) or mask.dtype != bool or not mask.any():
                raise EnvError(f"reset_mask is {shown(mask)}; expected truths of shape ({self.num_envs},), one of them true at least")
            if not self._begun and not mask.all():
                raise EnvError("reset_mask leaves out rows that have not begun; expected a reset of all at first")
            rows = rows[mask]
        if seed is not None:
            super().reset(seed=seed if isinstance(seed, (int, np.integer)) else None)
            self._reseed(seed, rows)
        self.task.require_unchanged()
        old = self._now[rows]
        old[:, self._columns["begin"]] = 1.0
        new = np.empty_like(old)
        self._advance(old, new, 0)
        self._now[rows] = new
        if (bad := rows[self._found("diverged")[rows] > 0.5]).size:
            raise EnvError(f"the observation or reward of row {bad[0]} is not finite at the beginning of an episode; expected numbers")
        self._begun, self._ended[rows] = True, False
        self._tell_skipped()
        return self._observed(rows), {}

    def _tell_skipped(self) -> None:
        """Warn, once, where an episode could not begin."""
        skipped = self._now[:, self._columns["skipped"]]
        if self._told or not skipped.any():
            return
        self._told, i = True, int(np.argmax(skipped[:, 0]))
        own = self.task.own.split(self._found("p")[i])
        seed, row, last = (int(own[n]) for n in ("seed", "row", "episode"))
        episode, why = next((k, why) for k in range(last - 1, -1, -1) if (why := self.task.why(seed, row, k)))
        warn(f"episode {episode} of row {i} cannot begin, and was left out: {why} (told once)", SimulationWarning)

    def _reseed(self, seed: Any, rows: Array) -> None:
        """Let rows begin with episode 0 of a seed, or of one each."""
        single = np.ndim(seed) == 0
        seeds = [seed] * self.num_envs if single else list(seed)
        if len(seeds) != self.num_envs:
            raise EnvError(f"reset got {len(seeds)} seeds; expected one, or {self.num_envs}")
        for i in rows:
            if seeds[i] is None:
                continue
            if isinstance(seeds[i], bool) or not isinstance(seeds[i], (int, np.integer)) or not 0 <= seeds[i] < 2**53:
                raise EnvError(f"a seed is {shown(seeds[i])}; expected a whole number from 0, below 2^53")
            for name, x in (("seed", seeds[i]), ("row", i if single else 0), ("episode", 0)):
                self._now[i, self._columns[name]] = x

    def step(self, actions: Any) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Act on all rows, and return observations, rewards (float64), whether episodes terminated, whether they were truncated, and infos.

        Infos are "diverged", where a row stopped being finite, and with ``autoreset="same_step"`` "final_obs" where an episode ended, and
        "final_info", the infos of then; a name with an underscore before it is the mask of rows that have it.

        Raises
        ------
        EnvError : before a reset; on an action of another shape, not finite, or outside its space; on rows that ended where nothing
            resets them
        """
        if not self._begun:
            raise EnvError("step was called before reset; expected reset() first")
        if self.autoreset == "disabled" and self._ended.any():
            raise EnvError(f"the episode of row {np.argmax(self._ended)} has ended; expected a reset of it before the next step")
        self.task.require_unchanged()
        self._now[:, self._columns["action"]] = self._checked(actions)
        self._advance(self._now, self._next, self.task.repeat)
        self._now, self._next = self._next, self._now
        terminated, truncated, diverged = (self._found(name) > 0.5 for name in ("terminated", "truncated", "diverged"))
        self._ended, info = terminated | truncated, {}
        if diverged.any():
            s = self.task.row.slices
            last = s["final" if self.autoreset == "same_step" else "observation"]
            self._now[diverged, last] = self._next[diverged, s["observation"]]
            info = {"diverged": diverged, "_diverged": diverged.copy()}
        if self.autoreset == "same_step" and self._ended.any():
            info |= {"final_obs": self._finals(), "_final_obs": self._ended.copy(), "final_info": dict(info),
                     "_final_info": self._ended.copy()}  # fmt: skip
        self._tell_skipped()
        return self._observed(np.arange(self.num_envs)), self._found("reward").copy(), terminated, truncated, info

    def _checked(self, actions: Any) -> Array:
        """Return actions as floats (rows, n), within their space."""
        shape = self.action_space.shape
        try:
            a = np.asarray(actions)
        except ValueError:
            raise EnvError(f"the actions are not rectangular; expected shape {shape}") from None
        except (RuntimeError, TypeError) as error:                             # a tensor that NumPy does not read
            raise EnvError(f"the actions cannot be read ({error}); expected numbers of shape {shape}") from None
        if a.dtype.kind not in "fiu":
            raise EnvError(f"the actions hold {a.dtype}; expected numbers of shape {shape}")
        if a.shape != shape:
            raise EnvError(f"the actions have shape {a.shape}; expected {shape}")
        space = self.single_action_space
        low, high = (space.low, space.high) if isinstance(space, spaces.Box) else (space.start, space.start + space.n - 1)  # type: ignore[attr-defined]
        good = (a >= low) & (a <= high) & np.isfinite(a)
        good = good & (a == np.floor(a)) if isinstance(space, spaces.Discrete) else good
        if not good.all():
            where = tuple(int(i) for i in np.argwhere(~good)[0])
            what = f"entry {', '.join(map(str, where[1:]))} of the action" if where[1:] else "the action"
            raise EnvError(f"{what} of row {where[0]} is {a[where]!s}; expected one of {space}")
        return a.reshape(self.num_envs, -1)

    def close_extras(self, **kwargs: Any) -> None:
        """Give back what pictures took."""
        if self.colours is not None:
            self.colours.close()

    # ------------------------------------------------------------ what is inside

    @property
    def t(self) -> Array:
        """Times since the episodes began, s (rows)."""
        return self._found("k") * self.simulator.dt

    @property
    def q(self) -> Array:
        """Configurations (rows, nq)."""
        return frozen(self.simulator.stepper.state(self._found("x")).q)

    @property
    def v(self) -> Array:
        """Velocities (rows, nv)."""
        return frozen(self.simulator.stepper.state(self._found("x")).v)

    @property
    def parameters(self) -> dict[str, Array]:
        """Parameters of the simulator, and what else was drawn for the episodes, by name (rows, *shape); read-only, as q and v are."""
        found = self.task.own.split(self._found("p"))
        return {n: frozen(found[n]) for n in (*self.simulator.parameters, *self.task.names)}

    @property
    def episodes(self) -> Array:
        """Numbers of the episodes, from 0 (rows)."""
        return self.task.own.split(self._found("p"))["episode"].astype(int) - 1


def frozen(x: Array) -> Array:
    """Return a copy that refuses to be written into: what is written there would not act."""
    x = x.copy()
    x.flags.writeable = False
    return x


def acting(space: Any, shape: tuple[int, ...]) -> spaces.Space[Any]:
    """Return the space of an action, which has the shape of the parameter."""
    if space is None:
        return spaces.Box(-np.inf, np.inf, shape, np.float32)
    if not isinstance(space, (spaces.Box, spaces.Discrete)):
        raise EnvError(f"action is {shown(space)}; expected a Box or Discrete of gymnasium.spaces")
    if space.shape != shape:
        raise EnvError(f"action is a space of shape {space.shape}; expected {shape}, that of the simulator's parameter 'action'")
    return space
