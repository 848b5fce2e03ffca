"""Examples of ``Simulator``'s methods, which ``help`` shows: numbers that can be checked by hand."""

PENDULUM = """
>>> import numpy as np
>>> import engine
>>> builder = engine.Builder()  # a pendulum: 2 kg at the end of a massless rod of 3 m, level at q = 0
>>> _ = builder.add_link("base"), builder.add_link("rod", engine.spatial.inertia.from_mass(2.0, [3, 0, 0], np.zeros((3, 3))))
>>> _ = builder.add_joint("pivot", "revolute", "base", "rod", axis=[0, -1, 0])
>>> simulator, q, v = engine.Simulator(builder.model(), dt=1e-3), np.zeros(1), np.zeros(1)
"""

#: by method, what it is tried on and the calls
EXAMPLES = {
    "run": PENDULUM + """\
>>> run = simulator.run(q, v, 0.1)
>>> print(run.v[-1].round(3), run.q.shape)  # g/3 · 0.1 s; a state for each step, and the first
[-0.327] (101, 1)
>>> braked = engine.Simulator(builder.model(), dt=1e-3, controller=lambda t, q, v, k: -k * v, parameters={"k": 0.0})
>>> print(braked.run(q, v, 0.1, parameters={"k": [0.0, 50.0]}).v[:, -1].round(3).tolist())  # a batch of two
[[-0.327], [-0.286]]
""",
    "start": PENDULUM + """\
>>> state = simulator.start(q, v)
>>> print(state.t, state.q, state.v)
0.0 [0.] [0.]
""",
    "step": PENDULUM + """\
>>> state = simulator.step(simulator.start(q, v), steps=100)
>>> print(round(state.t, 3), state.v.round(3))
0.1 [-0.327]
""",
    "solve": PENDULUM + """\
>>> solution = simulator.solve(q, v, 0.1, tolerance=1e-9)  # steps that choose their own size
>>> q_t, v_t = solution(0.05)  # at any time
>>> print(v_t.round(4))
[-0.1635]
""",
    "resume": PENDULUM + """\
>>> import tempfile
>>> path = simulator.run(q, v, 0.1, out=tempfile.mkdtemp() + "/rod.h5")
>>> print(engine.load_trajectory(simulator.resume(path, duration=0.2)).t[-1].round(3))
0.2
""",
    "linearize": PENDULUM + """\
>>> A, B = simulator.linearize(q, v)  # of a step: δx⁺ = A δx + B δu, x = [q; v]
>>> print(A.round(4), B.shape)
[[ 1.     0.001]
 [-0.     1.   ]] (2, 1)
""",
    "linearize_continuous": PENDULUM + """\
>>> A, B = simulator.linearize_continuous([np.pi / 2], v)  # upright: δẋ = A δx + B δu
>>> print(A.round(4) + 0.0)  # it falls at the rate g/l
[[0.   1.  ]
 [3.27 0.  ]]
""",
    "linearization": PENDULUM + """\
>>> print(type(simulator.linearization).__name__)  # what `linearize` calls
Linearization
""",
    "profile": PENDULUM + """\
>>> print("forward dynamics" in simulator.profile(q, v, 0.1).parts)
True
""",
    "programs": PENDULUM + """\
>>> print(sorted(simulator.programs), simulator.programs["step"].operations > 0)
['observe', 'step'] True
""",
    "events": PENDULUM + """\
>>> def level(t, q, v):
...     return q[0]
>>> print(len(engine.Simulator(builder.model(), events=[level]).events))
1
""",
    "limited": PENDULUM + """\
>>> print(simulator.limited)  # no joint has stops
False
""",
    "values_of": PENDULUM + """\
>>> braked = engine.Simulator(builder.model(), dt=1e-3, controller=lambda t, q, v, k: -k * v, parameters={"k": 0.0})
>>> print(braked.values_of({"k": 2.0}))
{'k': array(2.)}
""",
    "with_force": PENDULUM + """\
>>> carried = simulator.with_force(lambda t, q, v: 58.86 * np.cos(q))
>>> print(np.abs(carried.run(q, v, 0.1).v[-1]).max() < 1e-9)  # the weight is carried
True
""",
    "diagram": PENDULUM + """\
>>> law = engine.Law(lambda t, q, v: -v, name="braking")
>>> picture = engine.Simulator(builder.model(), laws=[law], controller=lambda braking: braking).diagram()
>>> print(picture.count("<rect"), "boxes")  # picture.save("chain.svg") writes it
2 boxes
""",
    "by_pairs": PENDULUM + """\
>>> print(simulator.by_pairs is simulator)  # nothing touches as tables of many bodies
True
""",
}
