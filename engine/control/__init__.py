"""Controllers that are designed: from the derivatives of a simulator's step."""

from engine.control.lqr import LQR, ControlError, lqr

__all__ = ["LQR", "ControlError", "lqr"]
