"""What two models describe besides their trees, compared."""

from __future__ import annotations

import numpy as np

from engine.model import Keyframe, Part

WHAT = ("q", "gravity", "dt", "constraints", "actuators", "forces", "contacts", "keyframes", "sensors")
#: of numbers that go through a quaternion, an inertia, or a spring of surfaces: relative to themselves, and beside one
ROUNDING, BESIDE_ONE = 1e-12, 1e-14


def plain(x):
    """All that is said of a part, or of many, in lists and dictionaries."""
    if isinstance(x, Part):
        return [x.kind, plain(x.values)]
    if isinstance(x, Keyframe):
        return plain({n: getattr(x, n) for n in ("t", "q", "v", "commands")})
    if hasattr(x, "keys"):
        return {n: plain(x[n]) for n in x}
    return [plain(y) for y in x] if isinstance(x, (tuple, list, np.ndarray)) else x


def apart(a, b):
    """The largest difference of two such things: relative to each number, or to a hundredth where that is less; ∞ of other things."""
    if isinstance(a, dict) and isinstance(b, dict) and list(a) == list(b):
        return max((apart(a[n], b[n]) for n in a), default=0.0)
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return max((apart(x, y) for x, y in zip(a, b, strict=True)), default=0.0)
    if isinstance(a, float) and isinstance(b, float):
        return 0.0 if a == b else abs(a - b) / max(abs(a), BESIDE_ONE / ROUNDING)
    return 0.0 if a == b else np.inf


def differences(one, two):
    return {what: x for what in WHAT if (x := apart(plain(getattr(one, what)), plain(getattr(two, what))))}
