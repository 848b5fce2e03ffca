"""Robots in Universal Scene Description, by its physics: rigid bodies, joints, masses and simple shapes."""

from engine.io.usd.usd import load_usd

__all__ = ["load_usd"]
