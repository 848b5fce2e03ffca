"""A page that is served: how many pictures a browser shows without a graphics card, and how old what it shows is."""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from websockets.sync.client import connect

import engine
from tests.bench.robots import FILES
from tests.viewer.browser import Browser

if TYPE_CHECKING:
    from tests.bench.__main__ import Table

SIZE, SECONDS, LOOKS = (960, 600), 8.0, 100
COUNT = "window.shown = 0; const frame = page.frame.bind(page); page.frame = now => { shown++; frame(now); }; 0"


def web(table: Table) -> None:
    """Panda, falling and swinging in real time, at 1 kHz."""
    panda = engine.load_urdf(FILES["Panda"][0])
    simulator = engine.Simulator(panda, dt=1e-3, parameters={"gravity": np.array([0.0, 0.0, -9.81])})
    q0 = panda.random(np.random.default_rng(3))[0]
    with engine.serve(simulator, q0, port=0) as server:
        live = server.live
        with connect(server.url.replace("http", "ws", 1).replace("/?", "/socket?")) as watcher:
            ages, began = [], time.perf_counter()
            while time.perf_counter() - began < SECONDS:
                data = watcher.recv()
                if isinstance(data, bytes):
                    ages.append(1e3 * (live.state.t - np.frombuffer(data, "<f8", 1)[0]))
                    watcher.send('{"order": "seen"}')
            table.add("web", "states to a client", len(ages) / SECONDS, "/s", "> 50", len(ages) > 50 * SECONDS)
            table.add("web", "age of a state that comes", statistics.median(ages), "ms", "< 100", statistics.median(ages) < 100,
                      most=max(ages))  # fmt: skip
            began = time.perf_counter()
            for _ in range(LOOKS):
                watcher.ping().wait()
            table.add("web", "ping and pong", 1e3 * (time.perf_counter() - began) / LOOKS, "ms")
        with tempfile.TemporaryDirectory() as folder:
            browser = Browser(Path(folder), SIZE)
            try:
                browser.open(server.url)
                browser.wait("page.status && page.pictures > 40")                      # it has found out how fast it is
                browser.evaluate(COUNT)
                time.sleep(SECONDS)
                shown = browser.evaluate("shown") / SECONDS
                level = browser.evaluate("page.level")
                table.add("web", "pictures in Chromium, software WebGL", shown, "/s", "> 20", shown > 20, level=level)
                ages = [1e3 * (live.state.t - browser.evaluate("page.t")) for _ in range(LOOKS)]
                table.add("web", "age of what the page shows", statistics.median(ages), "ms", "< 100", statistics.median(ages) < 100,
                          most=max(ages))  # fmt: skip
            finally:
                browser.close()
