"""A progress bar in a terminal or a notebook, with the rate and the time left."""

from __future__ import annotations

import contextlib
import importlib.util
import time
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def progress_bar(what: str, unit: str, total: int | None, shown: bool, start: int = 0,
                 digits: int = 0) -> Iterator[Callable[..., None]]:  # fmt: skip
    """Show a bar, or nothing; give the function to call with the number of units done so far, and with a text to show below.

    Of the units, ``start`` were done before; numbers below zero are passed over. The rate has so many ``digits``
    after its point.
    """
    if not shown:
        yield lambda done, text="": None
        return
    from rich.console import Console, RenderableType
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
    from rich.text import Text

    of = "" if total is None else f"/{total}"
    count = TextColumn(f"{{task.completed:.0f}}{of} {unit}, {{task.fields[rate]:,.{digits}f}}/s")
    begun, console = time.perf_counter(), Console()
    if console.is_jupyter and importlib.util.find_spec("ipywidgets") is None:
        console = Console(force_jupyter=False, force_terminal=True)            # a line of text that is drawn over itself

    class Captioned(Progress):
        """A bar above the text of its task."""

        def get_renderables(self) -> Iterator[RenderableType]:
            yield from super().get_renderables()
            yield from (Text(t.fields["text"]) for t in self.tasks if t.fields["text"])

    with Captioned(TextColumn(what), BarColumn(), count, TimeRemainingColumn(), console=console) as bar:
        task = bar.add_task("", total=total, completed=start, rate=0.0, text="")

        def advanced(done: int, text: str = "") -> None:
            if done >= 0:
                bar.update(task, completed=done, rate=(done - start) / max(time.perf_counter() - begun, 1e-9), text=text)

        yield advanced
