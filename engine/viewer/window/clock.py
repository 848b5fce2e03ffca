"""The time that a window shows: of a motion that is played, or of a simulation that runs, and its recent past."""

from __future__ import annotations

from engine.viewer.scene.scene import Scene
from engine.viewer.scene.sources import Played, Running
from engine.viewer.window.playback import FRAME, Playback


class Clock:
    """Plays what a scene's robots did, or steers the simulation that they are in.

    Parameters
    ----------
    scene : whose time it is; its robots' sources are exchanged when the past of a simulation is looked at

    Attributes
    ----------
    playback : of the motion, or of what is remembered of a simulation
    live : the simulation that runs, or None
    """

    def __init__(self, scene: Scene) -> None:
        self.scene, self.playback = scene, Playback(scene.span, loop=True)
        self.playback.playing = scene.span[1] > scene.span[0]
        running = [(a, a.source) for a in scene.actors if isinstance(a.source, Running)]
        self.live = running[0][1].live if running else None
        self._running = [(actor, source) for actor, source in running if source.live is self.live]

    @property
    def t(self) -> float:
        """The time that is shown, s."""
        return float(self.live.state.t) if self.live is not None and not self.looks_back else self.playback.t

    @property
    def runs(self) -> bool:
        """True if a simulation's newest state is shown."""
        return self.live is not None and not self.looks_back

    @property
    def looks_back(self) -> bool:
        """True if the past of a live simulation is shown."""
        return any(actor.source is not source for actor, source in self._running)

    @property
    def playing(self) -> bool:
        """True if time goes on."""
        if self.live is None or self.looks_back:
            return self.playback.playing
        return not self.live.paused and self.live.error is None

    def advance(self, elapsed: float) -> None:
        """Let so many seconds pass at the wall."""
        if self.live is None:
            self.playback.advance(elapsed)
        elif not self.looks_back:
            self.playback.span = (0.0, self.t)
            self.playback.t = self.t

    # ------------------------------------------------------------ buttons

    def toggle(self) -> None:
        """Go on, or stand still."""
        if self.live is None:
            self.playback.toggle()
        elif self.looks_back or self.live.paused:
            self._back_to_now()
            self.live.resume()
        else:
            self.live.pause()

    def step(self, count: int, records: bool = False) -> None:
        """Go so many frames, or records, further or back; of a simulation that runs a record is a step."""
        if count > 0 and self.looks_back and self.playback.t >= self.playback.span[1]:
            self._back_to_now()                                                # what follows the past is a step
        if self.live is not None and not self.looks_back:
            if count > 0:
                self.live.step(count if records else count * max(round(FRAME / self.live.simulator.dt), 1))
            else:
                self.scrub(self.t + count * (self.live.simulator.dt if records else FRAME))
        else:
            source = self.scene.actors[0].source
            self.playback.step(count, source.trajectory.t if records and isinstance(source, Played) else None)

    def faster(self) -> str:
        """Go faster; return how fast, in words."""
        self.playback.faster()
        return self._pace()

    def slower(self) -> str:
        """Go slower; return how fast, in words."""
        self.playback.slower()
        return self._pace()

    def _pace(self) -> str:
        if self.live is not None:
            self.live.speed = self.playback.speed
        return f"{self.playback.speed:g}×"

    def reverse(self) -> None:
        """Turn round."""
        self.playback.reverse()

    def loop(self) -> str:
        """Begin again at the end, or no more; return which, in words."""
        self.playback.loop = not self.playback.loop
        return "begins again at the end" if self.playback.loop else "stops at the end"

    def reset(self) -> None:
        """Start a live simulation again from its first state."""
        if self.live is not None:
            self._back_to_now()
            self.live.reset()

    def scrub(self, t: float) -> None:
        """Show a time, s; of a live simulation the recent past, while it stands still."""
        if self.live is not None and not self.looks_back:
            self.live.pause()
            past = Played(self.live.history)
            for actor, _ in self._running:
                actor.source = past
            self.playback.span = past.span
        self.playback.scrub(t)

    def scrub_to(self, part: float) -> None:
        """Show a part of the motion, 0 … 1."""
        start, end = self.playback.span
        self.scrub(start + part * (end - start))

    def _back_to_now(self) -> None:
        for actor, source in self._running:
            actor.source = source
