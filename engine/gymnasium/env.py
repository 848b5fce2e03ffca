"""A single environment of Gymnasium: a batch of one row, which can be drawn, and seen by cameras in colour."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np

from engine.checks import nearest, one_of
from engine.gymnasium.colours import sources_of, surrounding
from engine.gymnasium.task import EnvError
from engine.gymnasium.vector_env import VectorEnv
from engine.simulation import Simulator
from engine.viewer import Actor, Camera, Scene, render

Array = np.ndarray


class Env(gymnasium.Env[Any, Any]):
    """One simulation as an environment of Gymnasium: the same as one row of :class:`VectorEnv`, to the bit.

    Parameters
    ----------
    simulator, observation, reward : and ``options``, such as ``terminated=``, ``reset=``, ``horizon=``: as of :class:`VectorEnv`, which
        never resets by itself here
    render_mode : "rgb_array", or None
    size : of the picture, (width, height), pixels
    view, follow : of the picture: as of :func:`engine.render`
    cameras, samples, point : as of :class:`VectorEnv`

    Raises
    ------
    EnvError : anything given is not as it should be

    >>> import engine
    >>> stone = engine.Builder("stone")
    >>> _ = stone.add_link("stone", inertia=engine.spatial.inertia.sphere(1.0, 0.1))
    >>> simulator = Simulator(stone.model(floating_base=True), controller=lambda t, q, v, action: action,
    ...                       parameters={"action": np.zeros(6)})
    >>> env = Env(simulator, observation=lambda t, q, v: q[4:], reward=lambda t, q, v: q[6], action_repeat=1000)
    >>> _ = env.reset(seed=0)
    >>> env.step(np.zeros(6))[0].round(3)
    array([ 0.   ,  0.   , -4.905], dtype=float32)
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 50}

    def __init__(self, simulator: Simulator, observation: Callable[..., Any], reward: Callable[..., Any], *, render_mode: str | None = None,
                 size: tuple[int, int] = (640, 480), view: str | tuple[float, float] | None = None, follow: str | None = None,
                 point: str | None = None, cameras: Sequence[Any] = (), samples: int = 4, **options: Any) -> None:  # fmt: skip
        if render_mode is not None:
            one_of("render_mode", render_mode, self.metadata["render_modes"], EnvError)
        for name in ("autoreset", "num_envs"):
            if name in options:
                raise EnvError(f"a single environment got {name}; expected a VectorEnv for that")
        known = inspect.signature(VectorEnv).parameters
        if unknown := [name for name in options if name not in known]:
            raise EnvError(f"an environment got '{unknown[0]}'{nearest(unknown[0], known)}; expected some of {', '.join(known)}")
        self.rows = VectorEnv(simulator, 1, observation, reward, autoreset="disabled", point=point, cameras=cameras, samples=samples,
                              **options)  # fmt: skip
        if follow is not None:
            simulator.model.link_index(follow)
        self.simulator, self.render_mode, self.size, self.view, self.follow, self.point = simulator, render_mode, size, view, follow, point
        self.observation_space, self.action_space = self.rows.single_observation_space, self.rows.single_action_space
        self._looked: tuple[Scene, Camera] | None = None
        self.metadata = {**self.metadata, "render_fps": round(1.0 / (simulator.dt * self.rows.task.repeat)) or 1}

    def reset(self, *, seed: int | None = None, options: Mapping[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin the next episode, or episode 0 of a seed."""
        super().reset(seed=seed)
        observations, info = self.rows.reset(seed=seed, options=options)
        return single(observations), info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Act; return the observation, the reward, whether the episode terminated, whether it was truncated, and infos."""
        observations, rewards, terminated, truncated, info = self.rows.step(np.asarray(action)[None])
        infos = {name: bool(x[0]) for name, x in info.items() if not name.startswith("_")}
        return single(observations), float(rewards[0]), bool(terminated[0]), bool(truncated[0]), infos

    @property
    def t(self) -> float:
        """Time since the episode began, s."""
        return float(self.rows.t[0])

    @property
    def q(self) -> Array:
        """Configuration (nq)."""
        return self.rows.q[0]

    @property
    def v(self) -> Array:
        """Velocity (nv)."""
        return self.rows.v[0]

    @property
    def parameters(self) -> dict[str, Array]:
        """Parameters of the simulator, and what else was drawn for the episode, by name."""
        return {name: x[0] for name, x in self.rows.parameters.items()}

    def close(self) -> None:
        """Give back what pictures took."""
        self.rows.close()

    def render(self) -> Any:
        """Return a picture (height, width, 3), uint8, of what is now; None where no ``render_mode`` asks for it."""
        if self.render_mode is None:
            return None
        if not self.rows._begun:
            raise EnvError("render was called before reset; expected reset() first")
        sources = sources_of(self.simulator.model, self.q, None if self.point is None else self.parameters[self.point])
        if self._looked is None:                                               # from where, as it fits at first
            scene = Scene([Actor(source) for source in sources], surrounding(self.simulator))
            self._looked = scene, scene.camera(self.size, self.view)
        scene, camera = self._looked
        for actor, source in zip(scene.actors, sources, strict=True):
            actor.source = source
        return render(scene, size=self.size, camera=camera, follow=self.follow)


def single(observations: Any) -> Any:
    """Return what is observed of the only row."""
    return {name: x[0] for name, x in observations.items()} if isinstance(observations, dict) else observations[0]
