"""A headless Chromium that tests drive, over the pipe of its DevTools protocol."""

from __future__ import annotations

import base64
import io
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ("--headless=new", "--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--hide-scrollbars", "--no-first-run",
         "--disable-extensions", "--disable-background-networking", "--disable-dev-shm-usage", "--remote-debugging-pipe")  # fmt: skip
PATIENCE = 30.0                                                               # s


class Browser:
    """One page in a window of a size; ``faults`` collects what went wrong in it: exceptions, errors and warnings on the console."""

    def __init__(self, folder: Path, size: tuple[int, int]) -> None:
        name = next((n for n in map(shutil.which, NAMES) if n), None)
        assert name, "these tests need Chromium; expected 'apt-get install --no-install-recommends chromium' to have been run"
        (ours, theirs), (read, write) = os.pipe(), os.pipe()
        command = ["bash", "-c", f'exec "$0" "$@" 3<&{ours} 4>&{write}', name, *FLAGS, f"--user-data-dir={folder}", "about:blank"]
        self.process = subprocess.Popen(command, pass_fds=(ours, write), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(ours)
        os.close(write)
        self.to, self.of, self.rest, self.count, self.faults, self.session = theirs, read, b"", 0, [], None
        target = self("Target.createTarget", url="about:blank")["targetId"]
        self.session = self("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self(f"{domain}.enable")
        self.size = size
        self("Emulation.setDeviceMetricsOverride", width=size[0], height=size[1], deviceScaleFactor=1, mobile=False)

    def close(self) -> None:
        os.close(self.to)
        os.close(self.of)
        self.process.kill()
        self.process.wait()

    def __call__(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Do something by the protocol."""
        self.count += 1
        message = {"id": self.count, "method": method, "params": parameters} | ({"sessionId": self.session} if self.session else {})
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self.count:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]

    def _next(self) -> dict[str, Any]:
        end = time.monotonic() + PATIENCE
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.of], [], [], max(end - time.monotonic(), 0))
            chunk = os.read(self.of, 1 << 20) if ready else b""
            assert chunk, "Chromium does not answer"
            self.rest += chunk
        text, _, self.rest = self.rest.partition(b"\0")
        message = json.loads(text)
        what, told = message.get("method", ""), message.get("params", {})
        if what == "Runtime.exceptionThrown":
            self.faults.append(str(told["exceptionDetails"].get("exception", told["exceptionDetails"])))
        elif what == "Runtime.consoleAPICalled" and told["type"] in ("error", "warning", "assert"):
            self.faults.append(str(told["args"]))
        elif what == "Log.entryAdded" and told["entry"]["level"] in ("error", "warning"):
            self.faults.append(told["entry"]["text"])
        return message

    # ------------------------------------------------------------ what tests do

    def evaluate(self, code: str) -> Any:
        """The value of an expression of JavaScript; a promise's when it is kept."""
        answer = self("Runtime.evaluate", expression=code, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, f"{code}: {answer['exceptionDetails']}"
        return answer["result"].get("value")

    def wait(self, code: str) -> None:
        """Until an expression is true."""
        end = time.monotonic() + PATIENCE
        while not self.found(code):
            assert time.monotonic() < end, f"{code} did not become true; {self.faults}"
            time.sleep(0.02)

    def found(self, code: str) -> Any:
        """What code is, or nothing while a page makes way for itself, anew."""
        try:
            return self.evaluate(code)
        except AssertionError as error:
            if "navigated" not in str(error):
                raise
            return None

    def open(self, page: Path | str, address: str = "") -> None:
        """Open a file or a server's address, and wait for its first picture, or for what it says instead."""
        self("Page.navigate", url="about:blank")
        self("Page.navigate", url=(page if isinstance(page, str) else page.resolve().as_uri()) + address)
        self.wait("document.body && (document.body.dataset.shown !== undefined || document.body.classList.contains('broken'))")

    def picture(self) -> np.ndarray:
        """What is seen (h, w, 3), when the page has drawn it as fine as it does what stands still."""
        from PIL import Image

        self.wait("!window.page || page.playing || page.lost || (page.rested && !page.waiting)")
        self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        data = base64.b64decode(self("Page.captureScreenshot", format="png")["data"])
        return np.array(Image.open(io.BytesIO(data)).convert("RGB"))

    def press(self, key: str) -> None:
        """A key, pressed and released."""
        for kind in ("keyDown", "keyUp"):
            self("Input.dispatchKeyEvent", type=kind, key=key, code=key, **({"text": key} if kind == "keyDown" and len(key) == 1 else {}))

    def drag(self, start: tuple[float, float], end: tuple[float, float], button: str = "left") -> None:
        """The mouse from a pixel to another, with a button held."""
        held = {"left": 1, "right": 2, "middle": 4}[button]
        for kind, (x, y) in (("mousePressed", start), ("mouseMoved", end), ("mouseReleased", end)):
            self("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, buttons=held * (kind != "mouseReleased"), clickCount=1)


def until(true: Callable[[], Any], patience: float = 10.0) -> None:
    """Wait until something is true."""
    end = time.monotonic() + patience
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)
