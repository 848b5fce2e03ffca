"""A single environment of Gymnasium: a batch of one row, which can be drawn, and seen by cameras in colour."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from engine.checks import nearest, one_of, shown
from engine.gymnasium.task import EnvError
from engine.gymnasium.vector_env import VectorEnv
from engine.model import Builder, Geometry, Material, Model
from engine.simulation import Simulator
from engine.viewer import Actor, Camera, Scene, Still, render
from engine.viewer.files.images import Photographer

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
    cameras : :class:`engine.sensors.DepthCamera`, whose pictures in colour are observed: an observation is then a dictionary of "state",
        which is what ``observation`` says, and for each camera by its name (height, width, 3), uint8. One with a period takes a picture
        where an action ends at its time, and is seen as it was until the next; ``samples`` of a pixel: as of :func:`engine.images`
    point : name of a parameter (3), or of what ``reset`` draws, that is shown as a ball in the world, such as a target

    Where torch is used too, import it before the first picture: its compiler and Mesa's drawing without a graphics card hold different
    versions of LLVM, and the later one of them ends the process.

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
        self.rows = VectorEnv(simulator, 1, observation, reward, autoreset="disabled", point=point, **options)
        if point is not None and np.shape(self.rows.parameters.get(point, 0.0)) != (1, 3):
            raise EnvError(f"point is {point!r}; expected the name of a parameter (3), or of what reset draws")
        if follow is not None:
            simulator.model.link_index(follow)
        self.simulator, self.render_mode, self.size, self.view, self.follow, self.point = simulator, render_mode, size, view, follow, point
        self.observation_space, self.action_space = self.rows.single_observation_space, self.rows.single_action_space
        self.cameras, self.samples, self._pictures = self._mounted(cameras), samples, dict[str, Array]()
        if self.cameras:
            frames = {c.name: spaces.Box(0, 255, (c.height, c.width, 3), np.uint8) for c in self.cameras}
            self.observation_space = spaces.Dict({"state": self.observation_space, **frames})
        self.metadata = {**self.metadata, "render_fps": round(1.0 / (simulator.dt * self.rows.task.repeat)) or 1}

    def reset(self, *, seed: int | None = None, options: Mapping[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin the next episode, or episode 0 of a seed."""
        super().reset(seed=seed)
        observations, info = self.rows.reset(seed=seed, options=options)
        self._pictures.clear()
        return self._observed(observations[0]), info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Act; return the observation, the reward, whether the episode terminated, whether it was truncated, and infos."""
        observations, rewards, terminated, truncated, info = self.rows.step(np.asarray(action)[None])
        infos = {name: bool(x[0]) for name, x in info.items() if not name.startswith("_")}
        return self._observed(observations[0]), float(rewards[0]), bool(terminated[0]), bool(truncated[0]), infos

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

    # ------------------------------------------------------------ pictures

    def _mounted(self, cameras: Sequence[Any]) -> list[Any]:
        """Return cameras that can take pictures where actions end."""
        every = self.simulator.dt * self.rows.task.repeat
        for camera in cameras:
            if not hasattr(camera, "intrinsics"):
                raise EnvError(f"cameras holds {shown(camera)}; expected each an engine.sensors.DepthCamera")
            self.simulator.model.link_index(camera.link)
            law = camera.called.law
            if law.delay:
                raise EnvError(f"{camera.name} has a latency of {law.delay:g} s, which pictures in colour do not have; expected 0")
            for name, x in (("period", law.period or 0.0), ("phase", law.phase)):
                if abs(x / every - round(x / every)) > 1e-6:
                    raise EnvError(f"{camera.name} has a {name} of {x:g} s, and an action lasts {every:g} s; expected whole times of that")
        names = ["state", *(camera.name for camera in cameras)]
        if len({*names}) < len(names):
            raise EnvError(f"cameras are named {', '.join(names[1:])}; expected names of their own, none of them 'state'")
        return [*cameras]

    def _observed(self, state: Array) -> Any:
        """Return an observation: with what cameras see, where there are any."""
        if not self.cameras:
            return state
        for camera in self.cameras:
            law = camera.called.law
            k = (self.t - law.phase) / law.period if law.period else 0.0
            if camera.name not in self._pictures or abs(k - round(k)) < 1e-6:
                self._pictures[camera.name] = self._photographer.take(self._moved(), camera)
        return {"state": state, **{name: picture.copy() for name, picture in self._pictures.items()}}

    @functools.cached_property
    def _photographer(self) -> Photographer:
        return Photographer(self.samples)

    def close(self) -> None:
        """Give back what pictures took."""
        if photographer := self.__dict__.pop("_photographer", None):
            photographer.close()

    def _moved(self) -> Scene:
        """Return the scene as it is now."""
        scene, _ = self._scene
        for actor, source in zip(scene.actors, self._sources(), strict=True):
            actor.source = source
        return scene

    @functools.cached_property
    def _scene(self) -> tuple[Scene, Camera]:
        """What is drawn, and from where: as it fits at first."""
        actors = [Actor(source) for source in self._sources()]
        scene = Scene(actors, "ground" if any(self.simulator.gravity) else "space")
        return scene, scene.camera(self.size, self.view)

    def _sources(self) -> list[Still]:
        """Where things are now."""
        found = [Still(self.simulator.model, self.q)]
        return found if self.point is None else [*found, Still(ball(), [1.0, 0.0, 0.0, 0.0, *self.parameters[self.point]])]

    def render(self) -> Any:
        """Return a picture (height, width, 3), uint8, of what is now; None where no ``render_mode`` asks for it."""
        if self.render_mode is None:
            return None
        if not self.rows._begun:
            raise EnvError("render was called before reset; expected reset() first")
        return render(self._moved(), size=self.size, camera=self._scene[1], follow=self.follow)


@functools.cache
def ball() -> Model:
    """A red ball, to show a point."""
    builder = Builder("point")
    builder.add_link("point", visuals=(Geometry("sphere", (0.06,), material=Material("red", (0.8, 0.1, 0.1, 1.0))),))
    return builder.model(floating_base=True)
