"""A page that watches: frames go to it as fast as it takes them, and its messages become orders."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from engine.checks import EngineError
from engine.viewer.scene.errors import ViewerError
from engine.viewer.serve.orders import order_of
from engine.viewer.serve.stage import READ, Stage

#: frames in a second, at most, and how many a watcher may not have seen yet: a slow one gets fewer, and always the newest
RATE, AHEAD = 60.0, 4


class Watcher:
    """A page that watches a stage: what it was sent by a connection's ``send``, and how much of it it has not seen yet.

    Parameters
    ----------
    there : whether it is there from the first; otherwise it says so when it is
    """

    def __init__(self, connection: Any, stage: Stage, there: bool = True) -> None:
        self.connection, self.stage = connection, stage
        self._unseen, self._asked = 0 if there else AHEAD, False
        self._obeyed = 0                                                       # orders, by which a page knows an old status
        self._state: Any = None
        self._told: set[str] = set()

    async def obey(self, message: str | bytes) -> None:
        """Do what a message says, or answer with a sentence."""
        try:
            order, fields = order_of(message)
            if order == "seen":
                self._unseen = max(self._unseen - 1, 0)
                return
            if order == "watch":
                self._unseen, self._state, self._told, self._obeyed = 0, None, set(), 0
                return
            if order not in ("pull", "release"):
                self.stage.obey(order, fields)
            elif self._may(order):
                self.stage.obey(order, fields)
                self.stage.holder = self if order == "pull" else None
        except Exception as problem:                                           # whatever it is, it stops nothing
            text = str(problem) if isinstance(problem, EngineError) else f"{type(problem).__name__}: {problem}"
            await self.connection.send(json.dumps({"error": text}))
        self._asked = True
        self._obeyed += 1

    def _may(self, order: str) -> bool:
        """Return whether a pull, or a release, is this one's to order; where nothing is held there is nothing to release.

        Raises
        ------
        ViewerError : another one pulls already
        """
        if order == "pull" and self.stage.holder not in (None, self):
            raise ViewerError("another browser pulls a link already; expected a pull when it has let go")
        return order == "pull" or self.stage.holder is self

    def leave(self) -> None:
        """Release what it pulls."""
        if self.stage.holder is self and self.stage.live is not None:
            self.stage.holder = None
            self.stage.live.release()

    async def show(self) -> None:
        """Send the newest state, whenever it is another and the browser keeps up; now and then what controls and plots show."""
        try:
            await self._show(asyncio.get_running_loop().time)
        except Exception as problem:                                           # told where it can be seen; orders are still obeyed
            await self.connection.send(json.dumps({"error": f"nothing more can be shown: {problem or type(problem).__name__}"}))

    async def _show(self, clock: Callable[[], float]) -> None:
        due, read = clock(), -READ
        await self.connection.send(json.dumps({"page": self.stage.name}))
        while True:
            state = self.stage.state
            if state is not self._state and self._unseen < AHEAD:
                self._state, frame = self.stage.frame()
                self._unseen += 1
                await self.connection.send(frame)
            if (self._asked or clock() - read >= READ) and self._unseen < AHEAD:
                status = self.stage.status()
                if self._asked:                                                # a control that shows something else goes back to it
                    self._told.discard(status)
                self._asked, read = False, clock()
                await self._tell(json.dumps({"obeyed": self._obeyed}), status, self.stage.plots(), self.stage.words())
            due = max(due + 1.0 / RATE, clock() - 1.0 / RATE)
            await asyncio.sleep(max(due - clock(), 0.0))

    async def _tell(self, *texts: str) -> None:
        """Send texts but those that were sent the last time."""
        for text in texts:
            if text not in self._told:
                await self.connection.send(text)
        self._told = {*texts}
