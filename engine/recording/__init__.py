"""Recordings on disk: named columns in an ordinary HDF5 file, written while a simulation runs, whole again after a kill at any moment.

Every byte is under a checksum, and none is given out that is not as it was written. Nothing here knows physics.
"""

from engine.docstrings import add_examples
from engine.recording.files import is_recording
from engine.recording.journaled_file import StorageError
from engine.recording.recorder import Recorder, aside, require_free, saved
from engine.recording.recorder_examples import EXAMPLES, OF_RECORDINGS
from engine.recording.recording import Recording, Verdict, verify

__all__ = ["Recorder", "Recording", "StorageError", "Verdict", "aside", "is_recording", "require_free", "saved", "verify"]

add_examples(Recorder, EXAMPLES)
add_examples(Recording, OF_RECORDINGS)
