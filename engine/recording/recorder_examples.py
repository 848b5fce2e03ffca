"""Examples of the methods of ``Recorder`` and ``Recording``, which ``help`` shows."""

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

STONE = """
>>> import tempfile
>>> import engine
>>> builder = engine.Builder()  # a stone of 1 kg that falls along z
>>> _ = builder.add_link("base"), builder.add_link("stone", engine.spatial.inertia.sphere(1.0, 0.1))
>>> _ = builder.add_joint("fall", "prismatic", "base", "stone", axis=[0, 0, 1])
>>> path = engine.Simulator(builder.model(), dt=0.1).run([0.0], [0.0], 1.0, out=tempfile.mkdtemp() + "/run.h5")
"""

#: of ``Recording``, by method, what it is tried on and the calls
OF_RECORDINGS = {
    "open": STONE + """\
>>> with engine.recording.Recording.open(path) as recording:
...     print(len(recording))
11
""",
    "read": STONE + """\
>>> with engine.recording.Recording.open(path) as recording:
...     print(recording.read("v", start=-2)[:, 0].round(6))  # m/s, of the last two records: −g t
[-8.829 -9.81 ]
""",
    "checkpoint": STONE + """\
>>> with engine.recording.Recording.open(path) as recording:
...     print(len(recording.checkpoint()) > 0)
True
""",
    "damage": STONE + """\
>>> with engine.recording.Recording.open(path) as recording:
...     print(recording.damage())
[]
""",
    "close": STONE + """\
>>> recording = engine.recording.Recording.open(path)
>>> recording.close()
>>> recording.complete
True
""",
}
