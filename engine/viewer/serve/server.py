"""The server: a page at an address with a token, and a WebSocket for each browser that watches it."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
import re
import secrets
import socket
import threading
from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qs, urlsplit

from engine.checks import require_packages, whole
from engine.checks import shown as shown_as
from engine.simulation import Live
from engine.viewer.scene.errors import ViewerError
from engine.viewer.scene.scene import scene_of
from engine.viewer.scene.shown import Shown
from engine.viewer.serve.orders import MESSAGE
from engine.viewer.serve.stage import Stage
from engine.viewer.serve.watcher import Watcher
from engine.viewer.window.view import begun

#: where it is looked for first
PORT = 8123
#: s that a browser has to say what it wants, and to say goodbye
PATIENCE = 2.0
#: nothing beside the page itself: not even its address is told to anybody
HEADERS = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff", "Connection": "close",
           "Content-Security-Policy": "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; "
                                      "img-src blob: data:; base-uri 'none'; form-action 'none'"}  # fmt: skip
LOG = logging.getLogger(__name__)
LOG.addHandler(logging.NullHandler())
LOG.propagate = False                                                          # what strangers send is no news of this program's


class Server:
    """A page that is served in a thread of its own until it is closed: see :func:`serve`.

    Attributes
    ----------
    url : the page's address, with the token
    host, port, token : parts of it
    live : the simulation that is seen and steered, or None
    watchers : number of browsers that are connected

    >>> import engine
    >>> with engine.serve(engine.load(engine.example("seven_joint_arm")), port=0) as server:
    ...     server.host, server.watchers, server.url.endswith(server.token)
    ('localhost', 0, True)
    """

    def __init__(self, stage: Stage, host: str, port: int | None, token: str, begins: Live | None = None) -> None:
        self._stage, self._begins, self.token, self.live = stage, begins, token, stage.live
        self._waits = begins is not None                                       # for somebody to see it
        self._page = stage.page().encode()
        self._socket = listening(host, port)
        self.host, self.port = host, int(self._socket.getsockname()[1])
        self._watchers: set[Watcher] = set()
        self._ready, self._closed = threading.Event(), threading.Event()
        self._fault: ImportError | None = None
        self._thread = threading.Thread(target=self._run, name=f"serve {self.port}", daemon=True)
        self._thread.start()
        self._ready.wait()
        if self._fault is not None:
            raise ViewerError(f"the page cannot be served ({self._fault}); expected websockets that are whole: "
                              "pip install --force-reinstall \".[web]\" in the engine's checkout") from self._fault  # fmt: skip

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<server at {self.url}, {'closed' if self._closed.is_set() else f'{self.watchers} watching'}>"

    @property
    def url(self) -> str:
        host = socket.gethostname() if self.host in ("", "0.0.0.0", "::") else f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/?token={self.token}"

    @property
    def watchers(self) -> int:
        return len(self._watchers)

    def wait(self) -> None:
        """Return when it is closed by another thread, or at Ctrl-C; the latter leaves it open."""
        with contextlib.suppress(KeyboardInterrupt):
            self._closed.wait()

    def close(self) -> None:
        """Say goodbye to the browsers, free the port, and end a simulation that was begun for this; what was given goes on."""
        with contextlib.suppress(RuntimeError):                                # its loop has ended before
            self._loop.call_soon_threadsafe(self._closing.set)
        self._thread.join()
        if self._begins is not None:
            self._begins.close()

    # ------------------------------------------------------------ the thread

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except ImportError as fault:
            self._fault = fault
        finally:
            self._socket.close()
            self._closed.set()
            self._ready.set()

    async def _serve(self) -> None:
        from websockets.asyncio.server import serve

        self._loop, self._closing = asyncio.get_running_loop(), asyncio.Event()
        self._ready.set()
        async with serve(self._watch, sock=self._socket, process_request=self._answer, max_size=MESSAGE, compression=None,
                         open_timeout=PATIENCE, close_timeout=PATIENCE, logger=LOG):  # fmt: skip
            await self._closing.wait()

    def _answer(self, connection: Any, request: Any) -> Any:
        """Return the page, or why there is none; None for a watcher, whose connection becomes a WebSocket."""
        try:
            address = urlsplit(request.path)
            given = parse_qs(address.query).get("token", [""])[0]
        except ValueError:
            return reply(400, "this is no address; expected the one that engine.serve gave")
        if not hmac.compare_digest(given.encode(), self.token.encode()):
            return reply(403, "the address has a wrong token or none; expected the whole one that engine.serve gave")
        if address.path == "/":
            return reply(200, self._page)
        if address.path != "/socket":
            return reply(404, "there is nothing at this address; expected the one that engine.serve gave")
        origins, hosts = request.headers.get_all("Origin"), request.headers.get_all("Host")
        if len(hosts) != 1 or any(origin.partition("://")[2] != hosts[0] for origin in origins):
            return reply(403, "another site's page asks for this one's motion; expected the page from this address")
        return None

    async def _watch(self, connection: Any) -> None:
        """Serve a watcher until it goes away."""
        from websockets.exceptions import ConnectionClosed

        watcher = Watcher(connection, self._stage)
        self._watchers.add(watcher)
        if self._waits and self.live is not None:
            self._waits = False
            self.live.resume()

        async def show() -> None:
            with contextlib.suppress(ConnectionClosed):
                await watcher.show()

        showing = asyncio.create_task(show())
        try:
            async for message in connection:
                await watcher.obey(message)
        except ConnectionClosed:
            pass
        finally:
            showing.cancel()
            self._watchers.discard(watcher)
            watcher.leave()


def reply(status: int, body: bytes | str) -> Any:
    """Return an answer over HTTP: the page, or a sentence."""
    from http import HTTPStatus

    from websockets.datastructures import Headers
    from websockets.http11 import Response

    kind, data = ("text/html", body) if isinstance(body, bytes) else ("text/plain", f"{body}\n".encode())
    headers = Headers({"Content-Type": f"{kind}; charset=utf-8", "Content-Length": str(len(data)), **HEADERS})
    return Response(status, HTTPStatus(status).phrase, headers, data)


def listening(host: str, port: int | None) -> socket.socket:
    """Return a socket that listens at a host and a port; without a port at ``PORT``, or at a free one where that is taken.

    Raises
    ------
    ViewerError : the port is taken, or there is no such host
    """
    for number in [PORT, 0] if port is None else [port]:
        try:
            family = socket.getaddrinfo(host, number, socket.AF_UNSPEC, socket.SOCK_STREAM)
            family.sort(key=lambda found: found[0] != socket.AF_INET)          # "localhost" is both; browsers try both
            return socket.create_server(family[0][4][:2], family=family[0][0])
        except OSError as problem:
            why = problem.strerror or str(problem)
            if isinstance(problem, socket.gaierror):
                raise ViewerError(f"host {shown_as(host)} is not known ({why}); expected a name or an address of this machine") from None
            if port is not None:
                raise ViewerError(f"port {port} at '{host}' cannot be had ({why}); expected one that is free: port=0 finds some") from None
    raise AssertionError("the system has no free port")


def serve(source: Any, q0: Any = None, v0: Any = None, host: str = "localhost", port: int | None = None, token: str | None = None,
          environment: str | None = None, geometry: str = "visual", fps: float = 30.0, shown: Shown | None = None,
          signals: Sequence[str | Sequence[str]] = (), plots: str = "right") -> Server:  # fmt: skip
    """Serve a page that shows robots in any browser, alive, and return at once; what runs is paused, slowed, pulled and tuned there.

    It is there as long as the program runs: a script ends with :meth:`Server.wait`. Whoever has the address with its token may do so. It is
    not encrypted: to be seen from elsewhere, have ssh or a proxy carry it.

    >>> import engine
    >>> model = engine.load_urdf(engine.example("free_flyer"), floating_base=True)
    >>> with engine.serve(model, port=0) as server:                             # doctest: +ELLIPSIS
    ...     print(server.url)
    http://localhost:.../?token=...

    Parameters
    ----------
    source : a :class:`Simulator`, which runs in real time from q0 (nq), v0 (nv), neutral and at rest by default, as soon as somebody
        watches; a :class:`Live`; a model at rest (in q0), whose joints are turned; a trajectory, which plays; a list of the last three;
        or a scene
    host : who may connect: "localhost" this machine only, "0.0.0.0" every other one too
    port : 8123, or a free one, by default; 0 for a free one
    token : what the address ends with; a secret of its own by default
    environment, geometry : see :class:`engine.viewer.scene.scene.Scene`
    fps : samples of a trajectory per second
    shown : what is drawn besides the robots; keys of the page show marks of what is no trajectory, too (H says which)
    signals, plots : names of what is plotted besides, by default the first joints, and where plots stand, as of :func:`engine.render`

    Raises
    ------
    ViewerError : websockets is not installed, the port is taken, there is no such host, there is nothing to see, there is no such signal
        or place, or q0 or v0 is given of what has its own
    """
    require_packages("a page that is alive", "web", "websockets", error=ViewerError)
    if port is not None and whole("port", port, "a whole number from 0 to 65535", 0, ViewerError) > 65535:
        raise ViewerError(f"port is {port}; expected a whole number from 0 to 65535")
    if not isinstance(host, str):
        raise ViewerError(f"host is {shown_as(host)}; expected a name or an address, such as 'localhost'")
    if token is not None and not (isinstance(token, str) and re.fullmatch(r"[\w.~-]{8,200}", token, re.ASCII)):
        raise ViewerError("token is too short or holds more than letters, digits, '-', '_', '.' and '~'; expected 8 to 200 of them")
    source, begins = begun(source, q0, v0)
    try:
        scene = scene_of(source, environment, geometry)
        return Server(Stage(scene, fps, shown, signals, plots), host, port, token or secrets.token_urlsafe(), begins)
    except BaseException:
        if begins is not None:
            begins.close()
        raise
