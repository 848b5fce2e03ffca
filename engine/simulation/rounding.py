"""Check of the processor's rounding mode and of flushing tiny numbers to zero, which other libraries may have set."""

from __future__ import annotations

from engine.checks import warn
from engine.components.component import SimulationWarning

#: the least double, the least that has all of its digits, and a half; by names, so that they are multiplied when they are asked for
LEAST, NORMAL, A_HALF = 5e-324, 2.0**-1022, 0.5
#: 1, half of its last place, which added to it is rounded to 1, and three quarters of it, which are not
ONE, HALF, MORE = 1.0, 2.0**-53, 3.0 * 2.0**-54
#: what has been said
SAID: set[str] = set()


def found() -> str:
    """Return in words what is unusual, or ''; asked of the processor each time.

    >>> found()
    ''
    """
    unusual = []
    if LEAST * ONE == 0.0 or NORMAL * A_HALF == 0.0:
        unusual.append("numbers below 2.2e-308 count as zero")
    if ONE + HALF != ONE:
        unusual.append("sums are rounded up")
    elif ONE + MORE == ONE:
        unusual.append("sums are rounded down, or towards zero")
    return " and ".join(unusual)


def require_usual() -> None:
    """Warn, once a process, where numbers are not rounded as usual."""
    if (unusual := found()) and unusual not in SAID:
        SAID.add(unusual)
        warn(f"{unusual} in this thread, which another library has set, so that results are other bits than elsewhere; expected IEEE 754's "
             "usual rounding to nearest (of PyTorch: torch.set_flush_denormal(False))", SimulationWarning)  # fmt: skip
