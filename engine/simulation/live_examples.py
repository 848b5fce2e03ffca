"""Examples of ``Live``'s methods, which ``help`` shows."""

STONE = """
>>> import numpy as np
>>> import engine
>>> builder = engine.Builder()  # a stone of 1 kg that falls along z
>>> _ = builder.add_link("base"), builder.add_link("stone", engine.spatial.inertia.sphere(1.0, 0.1))
>>> _ = builder.add_joint("fall", "prismatic", "base", "stone", axis=[0, 0, 1])
"""

#: by method, what it is tried on and the calls
EXAMPLES = {
    "now": STONE + """\
>>> with engine.Live(engine.Simulator(builder.model(), dt=0.1), [0.0], [2.0], paused=True) as live:
...     print(live.now.v[-1])  # m/s
[2.]
""",
    "closed": STONE + """\
>>> live = engine.Live(engine.Simulator(builder.model(), dt=0.1), [0.0], [0.0], paused=True)
>>> live.close()
>>> live.closed
True
""",
    "pause": STONE + """\
>>> with engine.Live(engine.Simulator(builder.model(), dt=0.1), [0.0], [0.0]) as live:
...     live.pause()
...     print(live.paused)
True
""",
    "resume": STONE + """\
>>> with engine.Live(engine.Simulator(builder.model(), dt=0.1), [0.0], [0.0], paused=True) as live:
...     live.resume()
...     print(live.paused)
False
""",
    "step": STONE + """\
>>> import time
>>> with engine.Live(engine.Simulator(builder.model(), dt=0.1), [0.0], [0.0], paused=True) as live:
...     live.step(2)
...     while live.now.t[-1] < 0.15:
...         time.sleep(0.01)
...     print(live.now.v[-1].round(6))  # m/s: −g · 0.2 s
[-1.962]
""",
    "reset": STONE + """\
>>> with engine.Live(engine.Simulator(builder.model(), dt=0.1), [0.0], [2.0], paused=True) as live:
...     live.reset()
...     print(live.now.t[-1], live.now.v[-1])
0.0 [2.]
""",
    "set": STONE + """\
>>> gravity = {"gravity": [0, 0, -9.81]}
>>> with engine.Live(engine.Simulator(builder.model(), dt=0.1, parameters=gravity), [0.0], [0.0], paused=True) as live:
...     live.set("gravity", [0, 0, -1.62])  # the Moon's
...     print(live.parameters["gravity"])
[ 0.    0.   -1.62]
""",
    "pull": STONE + """\
>>> with engine.Live(engine.Simulator(builder.model(), dt=0.1), [0.0], [0.0], paused=True) as live:
...     live.pull("stone", (0, 0, 0), (0, 0, 1.0))  # from the next step on, towards a place 1 m higher
...     live.release()
""",
    "release": STONE + """\
>>> with engine.Live(engine.Simulator(builder.model(), dt=0.1), [0.0], [0.0], paused=True) as live:
...     live.pull("stone", (0, 0, 0), (0, 0, 1.0))
...     live.release()
""",
    "close": STONE + """\
>>> live = engine.Live(engine.Simulator(builder.model(), dt=0.1), [0.0], [2.0], paused=True)
>>> live.close()
>>> live.now.v[-1]  # the state stays
array([2.])
""",
    "history": STONE + """\
>>> with engine.Live(engine.Simulator(builder.model(), dt=0.1), [0.0], [2.0], paused=True) as live:
...     print(live.history.v.shape)  # what is kept of the last states
(1, 1)
""",
    "speed": STONE + """\
>>> with engine.Live(engine.Simulator(builder.model(), dt=0.1), [0.0], [2.0], paused=True, speed=0.5) as live:
...     print(live.speed)  # of real time
0.5
""",
}
