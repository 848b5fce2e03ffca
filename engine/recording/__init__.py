"""Recordings on disk: named columns in an ordinary HDF5 file, written while a simulation runs, whole again after a kill at any moment.

Nothing here knows physics.
"""

from engine.recording.recorder import Recorder, aside, require_free
from engine.recording.recording import Recording
from engine.recording.store import StorageError

__all__ = ["Recorder", "Recording", "StorageError", "aside", "require_free"]
