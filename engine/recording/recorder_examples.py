"""Examples of ``Recorder``'s methods, which ``help`` shows."""

NEW_FILE = """
>>> import tempfile
>>> from pathlib import Path
>>> import numpy as np
>>> from engine.recording import Recorder, Recording
>>> path = Path(tempfile.mkdtemp()) / "run.h5"
"""

#: by method, what it is tried on and the calls
EXAMPLES = {
    "create": NEW_FILE + """\
>>> recorder = Recorder.create(path, {"t": (), "q": (2,)}, (), {"dt": 0.5}, {"x": (2,)})  # no batch
>>> recorder.close(complete=True)
>>> Recording.open(path).columns["q"]
(2,)
""",
    "append": NEW_FILE + """\
>>> with Recorder.create(path, {"t": ()}, (), {}, {}) as recorder:
...     recorder.append({"t": np.array([0.0, 0.1])}, {})
>>> Recording.open(path).read("t")
array([0. , 0.1])
""",
    "resume": NEW_FILE + """\
>>> recorder = Recorder.create(path, {"t": ()}, (), {}, {})
>>> recorder.append({"t": np.array([0.0, 0.1])}, {})
>>> recorder.close(complete=False)
>>> with Recorder.resume(path) as recorder:
...     recorder.append({"t": np.array([0.2])}, {})
>>> Recording.open(path).read("t")
array([0. , 0.1, 0.2])
""",
    "note": NEW_FILE + """\
>>> with Recorder.create(path, {"t": ()}, (), {"dt": 0.5}, {}) as recorder:
...     recorder.note({"outcome": "landed"})
>>> Recording.open(path).header["outcome"]
'landed'
""",
    "flush": NEW_FILE + """\
>>> recorder = Recorder.create(path, {"t": ()}, (), {}, {})
>>> recorder.append({"t": np.array([0.0, 0.1])}, {})
>>> recorder.flush()
>>> Recording.open(path).read("t")  # others can read it while it is being written
array([0. , 0.1])
""",
    "close": NEW_FILE + """\
>>> recorder = Recorder.create(path, {"t": ()}, (), {}, {})
>>> recorder.close(complete=True)
>>> Recording.open(path).complete
True
""",
}
