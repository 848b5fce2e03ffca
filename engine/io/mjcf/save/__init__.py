"""A model as MJCF: its tree, what acts on it, what it touches, its states."""

from engine.io.mjcf.save.save import save_mjcf

__all__ = ["save_mjcf"]
