"""Compiled code goes to a folder of this run's own, never to the user's cache."""

from __future__ import annotations

import os
import tempfile

_folder = tempfile.TemporaryDirectory(prefix="engine-tests-")  # worker processes inherit the variable, and so share the folder
os.environ.setdefault("ENGINE_CACHE", _folder.name)

#: scripts that run on a display of their own: nothing to collect in them
collect_ignore = ["viewer/desk.py"]
