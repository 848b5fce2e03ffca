"""``bridge``: publishes a live simulation's states at a rate, and takes its commands, over a transport."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from engine.bridges.command import FIELDS, command_of
from engine.bridges.dds import Dds
from engine.bridges.foxglove import Foxglove
from engine.bridges.names import BridgeError, BridgeWarning
from engine.checks import listed, nearest, number, one_of, shown, warn
from engine.logs import Flight, Wrench, require_prefix, topics_of
from engine.logs.ros import joint_state, one, transforms, wrench
from engine.simulation import Live
from engine.simulation.live import TICK
from engine.simulation.logged import flight_of

Array = np.ndarray
#: messages that are read in a turn, at most, and letters of what is said of one that was refused
MOST, LETTERS = 100, 200
#: of a state alone
FIRST = np.arange(1)
#: s from one look for commands, and for a state that is due, to the next, at most and at least
SELDOM, OFTEN = 0.02, 1e-3
#: s over which it is counted what is sent, and states that are, at least; and the part of the rate below which it is not met
WINDOW, STATES, MET = 2.0, 20, 0.9


class Transport(Protocol):
    """A transport of messages, plain data as ROS 2 has them."""

    def send(self, joints: dict[str, Any], links: dict[str, Any], wrenches: Mapping[str, dict[str, Any]]) -> None:
        """Send what there is of a state."""

    def received(self, most: int) -> list[Any]:
        """Return commands that have come, so many at most: each plain data, or a text that says what is wrong with it."""

    def tell(self, text: str) -> None:
        """Say that the simulation ended, or began again, where there are words for it."""

    def close(self) -> None:
        """Let go of all that was taken."""


class Bridge:
    """A running bridge, as :func:`bridge` returns it; ``with`` closes it.

    Attributes
    ----------
    sent : how many states were sent; achieved : a second, lately
    received, refused : how many commands have come, and how many of them were none
    refusal : why the last one was refused, in words, or None
    error : what ended it, or the simulation, in words, or None; after a reset of a simulation that failed it goes on

    >>> import engine
    >>> arm = engine.Simulator(engine.load(engine.example("seven_joint_arm")))
    >>> with engine.Live(arm, arm.model.neutral(), [0.0] * 7) as live, engine.bridge(live, "foxglove", port=0) as bridge:  # doctest: +SKIP
    ...     bridge.sent, bridge.refusal
    """

    def __init__(self, live: Live, transport: Transport, rate: float, commands: Mapping[str, str], wrenches: Mapping[str, str],
                 prefix: str = "") -> None:  # fmt: skip
        self.live, self.rate, self.commands, self.wrenches, self.prefix = live, rate, dict(commands), dict(wrenches), prefix
        self._times, self._since, self._warned = deque[float](), time.monotonic(), False
        self.sent = self.received = self.refused = 0
        self.refusal: str | None = None
        self._error: str | None = None
        own = [(name, nq, nv) for name, nq, nv in live.model.coordinates]
        at = np.cumsum([0, *(nv for *_, nv in own)])
        self._single = {name: int(at[k]) for k, (name, nq, nv) in enumerate(own) if nq == nv == 1}
        self._transport, self._closing = transport, threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"bridge of {live.model.name}", daemon=True)
        self._thread.start()

    def __enter__(self) -> Bridge:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        counts = f"{self.sent} states sent, {self.received} commands received, {self.refused} refused"
        how = f"ended: {self.error}" if self.error else counts
        return f"<bridge of '{self.live.model.name}': {how}>"

    @property
    def achieved(self) -> float:
        """States a second that were sent, lately."""
        return len(self._times) / self._window

    @property
    def _window(self) -> float:
        """s over which it is counted what is sent."""
        return max(WINDOW, STATES / self.rate)

    @property
    def error(self) -> str | None:
        live = self.live.error
        return self._error or (None if live is None else f"the simulation ended: {live}")

    def close(self) -> None:
        """Send nothing more, and let go of the network; the simulation goes on."""
        self._closing.set()
        self._thread.join()

    # ------------------------------------------------------------ the thread

    def _run(self) -> None:
        due, last, told = time.monotonic(), None, None
        try:
            while not self._closing.is_set():
                closed, ended = self.live.closed, self.live.error              # before its last state is looked at
                for message in self._transport.received(MOST):
                    self._obey(message)
                state, now = self.live.state, time.monotonic()
                if state is not last and (now >= due or closed):
                    self._send(now)
                    last, due = state, max(due + 1.0 / self.rate, now)         # what is late is skipped
                self._measure(now)
                if closed:
                    self._error = "the simulation was closed"
                    self._transport.tell(self._error)
                    return
                if ended != told:                                              # which a reset may undo
                    self._transport.tell("the simulation has begun again" if ended is None else f"the simulation ended: {ended}")
                    told = ended
                rests = self.live.paused or ended is not None
                self._closing.wait(min(max(due - time.monotonic(), SELDOM if rests else OFTEN), SELDOM))
        except Exception as error:                                             # told, not thrown where nobody catches it
            self._error = str(error) or type(error).__name__
        finally:
            self._transport.close()

    def _send(self, at: float) -> None:
        now = self.live.now
        f = flight_of(now, described=False, prefix=self.prefix)
        read = {n: f.wrenches.get(n) or wrench_of(now.signals[n], frame) for n, frame in self.wrenches.items()}
        said = joint_state(f, FIRST, f.t), transforms(f, FIRST, f.t), {n: wrench(f, x, FIRST, f.t) for n, x in read.items()}
        self._transport.send(*map(one, said))
        self.sent += 1
        self._times.append(at)

    def _measure(self, now: float) -> None:
        """Warn, once, where a simulation that runs is sent less often than it was asked for, and could be."""
        while self._times and self._times[0] < now - self._window:
            self._times.popleft()
        if self.live.paused or self.live.error is not None:
            self._since = now
        if not self._warned and now - self._since > self._window and self.achieved < MET * min(self.rate, handed_over(self.live)):
            self._warned = True
            with contextlib.suppress(Warning):                                 # an error, if warnings are, would end the bridge
                warn(f"a bridge of '{self.live.model.name}' sends {self.achieved:.3g} of {self.rate:g} states a second; expected a lower "
                     "rate, or a machine with less to do", BridgeWarning)  # fmt: skip

    def _obey(self, message: Any) -> None:
        try:
            if isinstance(message, str):
                raise BridgeError(message)
            for name, x in self._values(message).items():
                self.live.set(name, x)
        except Exception as error:                                             # whatever a peer sends, the bridge goes on
            self.refused, self.refusal = self.refused + 1, str(error)[:LETTERS]
        self.received += 1

    def _values(self, message: Any) -> dict[str, Array]:
        """Return the parameters that a message of joints sets; BridgeError where it is none."""
        names, said = command_of(message, self._single, [*self.commands.values()], self.live.model.name)
        joints, found = [*self._single], {}
        for parameter, which in self.commands.items():
            if which in said:
                whole = np.array(self.live.parameters[parameter], dtype=float)
                whole[[self._single[n] if whole.shape == (self.live.model.nv,) else joints.index(n) for n in names]] = said[which]
                found[parameter] = whole
        return found


def wrench_of(signal: Array, frame: str) -> Wrench:
    """Return a wrench of a signal (T, 6), torque before force."""
    return Wrench(frame, signal[:, 3:], signal[:, :3])


def handed_over(live: Live) -> float:
    """Return how many states a second a live simulation hands over at most."""
    return min(1.0 / TICK, live.speed / live.simulator.dt)


def bridge(live: Live, kind: str, rate: float = 50.0, commands: Mapping[str, str] | None = None,
           wrenches: Sequence[str] | Mapping[str, str] = (), prefix: str = "", domain: int = 0, port: int = 8765) -> Bridge:  # fmt: skip
    """Put a live simulation on the wire, until it is closed: its joints, the poses of its links, and wrenches, ``rate`` times a second.

    Joints with one coordinate go to /joint_states, links to /tf, wrenches to /wrench/NAME, stamped with the simulation's time. A machine
    that is too slow skips states, with a warning. Commands are messages like /joint_states under /joint_commands: whatever is none is
    counted, said, and changes nothing; of too many the oldest are dropped. Joints that a command does not name keep what they had.

    Parameters
    ----------
    kind : "dds", by Eclipse Cyclone DDS with the names and types that ROS 2 has on it (topic ``rt/joint_states``, type
        ``sensor_msgs::msg::dds_::JointState_``); or "foxglove", a server that Foxglove connects to, whose commands are JSON
    commands : by parameters of the simulator, (nv) or one for each joint with one coordinate, what of a message sets them: "position",
        "velocity" or "effort"
    wrenches : names of sensors of wrenches, which are in their own frames, and of signals of six numbers, torque before force, in the
        frames that they are given by: ``{"load": "gripper"}``, a link, a sensor's frame, or "world"
    prefix : of all topics, and of all frames but the world: "arm1/"
    domain : of DDS, from 0 to 230; port : of Foxglove's server, on this machine only

    Raises
    ------
    BridgeError : it is no Live, or one that has ended, there is no such parameter or signal, another bridge has the name or the port; a
        package is missing

    Warns
    -----
    BridgeWarning : the simulation hands over fewer states than ``rate``, or the machine does not send as many; a signal has no frame

    >>> with engine.Live(simulator, q0, v0) as live, engine.bridge(live, "dds", commands={"torque": "effort"}):  # doctest: +SKIP
    ...     input("until Enter is pressed")
    """
    if not isinstance(live, Live):
        raise BridgeError(f"bridge got {shown(live)}; expected an engine.Live")
    if live.closed or live.error is not None:
        raise BridgeError(f"the simulation {'was closed' if live.closed else f'has ended ({live.error})'}; expected one that goes on")
    one_of("a bridge's kind", kind, ("dds", "foxglove"), BridgeError)
    rate = number("rate", rate, "states a second, above zero, at most 10000", above=0.0, most=1e4, error=BridgeError)
    commands = {} if commands is None else commands
    single = sum(nq == nv == 1 for _, nq, nv in live.model.coordinates)
    for name, which in commands.items():
        if name not in live.parameters or name.startswith("pull."):
            raise BridgeError(f"commands name the parameter '{name}'{nearest(str(name), live.parameters)}; expected one of the simulator's")
        one_of(f"what sets '{name}'", which, FIELDS, BridgeError)
        if (shape := np.shape(live.parameters[name])) not in ((live.model.nv,), (single,)):
            raise BridgeError(f"the parameter '{name}' has shape {shape}; expected ({live.model.nv},), or ({single},): joints with one "
                              "coordinate")  # fmt: skip
    require_prefix(prefix, BridgeError)
    now = live.now
    framed = frames_of(wrenches, now.signals, flight_of(now, described=False, prefix=prefix))
    if rate > (most := handed_over(live)) * (1.0 + 1e-9):
        warn(f"the rate of a bridge is {rate:g} states a second, and '{live.model.name}' hands over {most:g} at most; expected no more",
             BridgeWarning)  # fmt: skip
    topics = topics_of([*framed])
    transport = Dds(prefix, domain, topics) if kind == "dds" else Foxglove(prefix, port, topics, live.model.name)
    return Bridge(live, transport, rate, commands, framed, prefix)


def frames_of(wrenches: Sequence[str] | Mapping[str, str], signals: Mapping[str, Array], f: Flight) -> dict[str, str]:
    """Return the frames in which wrenches are, by name; "", with a warning, where nobody knows.

    Raises
    ------
    BridgeError : there is no such sensor, signal or frame
    """
    given = dict(wrenches) if isinstance(wrenches, Mapping) else dict.fromkeys(wrenches, "")
    known, frames = [*f.wrenches, *(n for n, x in signals.items() if x.shape[1:] == (6,))], [f.world, *f.links]
    found = {}
    for name, frame in given.items():
        if name not in known:
            expected = listed("some of", known, "no wrenches, as there are none")
            raise BridgeError(f"wrenches has '{name}'{nearest(str(name), known)}; expected {expected}")
        own = f.wrenches[name].frame if name in f.wrenches else ""
        if frame and frame not in frames:
            raise BridgeError(f"wrenches has '{name}' in the frame '{frame}'{nearest(str(frame), frames)}; expected a link, or '{f.world}'")
        if own and frame not in ("", own):
            raise BridgeError(f"wrenches has '{name}' in the frame '{frame}', and it is a sensor's, in '{own}'; expected that")
        if not own and not frame:
            warn(f"nothing says in which frame the wrench '{name}' is, and it is sent without one; expected wrenches={{'{name}': LINK}}",
                 BridgeWarning)  # fmt: skip
        found[name] = own or frame
    return found
