"""Examples of the methods of ``CompiledSystem``, ``BodyTrajectory`` and ``StateTrajectory``, which ``help`` shows."""

CART = """
>>> import numpy as np
>>> import engine
>>> class Cart(engine.Dynamics):  # 2 kg on a rail, pushed by u[0], N: x is its place and its speed
...     state, controls = engine.LieState(2), 1
...     def dynamics(self, x, u, t):
...         return np.array([x[1], u[0] / 2.0])
>>> cart = engine.compile(Cart())
"""

PUCK = """
>>> import numpy as np
>>> import engine
>>> class Puck(engine.RigidBody):  # 2 kg, pushed along x by 4 N
...     mass, inertia, controls = 2.0, np.eye(3), 0
...     def forces(self, x, u, t):
...         return np.array([4.0, 0.0, 0.0])
>>> puck = Puck()
>>> flight = engine.compile(puck).simulate(puck.build_state(position=[0.0, 3.0, 0.0]), duration=1.0)
"""

#: by method, what it is tried on and the calls
OF_SYSTEMS = {name: CART + calls for name, calls in {
    "discrete": """\
>>> euler = cart.discrete("lie_euler")
>>> print(euler([0.0, 3.0], [4.0], 0.0, 0.5))  # by the rates at first
[1.5 4. ]
""",
    "discrete_dynamics": """\
>>> print(cart.discrete_dynamics([0.0, 3.0], [4.0], 0.0, 0.5))  # 3 m/s · 0.5 s + ½ · 2 m/s² · (0.5 s)²
[1.75 4.  ]
""",
    "discrete_jacobians": """\
>>> A, B = cart.discrete_jacobians([0.0, 3.0], [4.0], 0.0, 0.5)
>>> print(A.tolist(), B[:, 0].round(9))  # [[1, h], [0, 1]], [h²/2m, h/m]
[[1.0, 0.5], [0.0, 1.0]] [0.0625 0.25  ]
""",
    "discrete_error_jacobians": """\
>>> A, B = cart.discrete_error_jacobians([0.0, 3.0], [4.0], 0.0, 0.5)  # the same, as vectors' errors are differences
>>> print(A.tolist(), B[:, 0].round(9))
[[1.0, 0.5], [0.0, 1.0]] [0.0625 0.25  ]
""",
    "simulate": """\
>>> run = cart.simulate([0.0, 3.0], duration=0.5, controller=lambda x, t: np.array([4.0]))
>>> print(run.x[-1].round(9))
[1.75 4.  ]
""",
    "solve": """\
>>> motion = cart.solve([0.0, 3.0], duration=0.5, controller=lambda x, t: np.array([4.0]))
>>> print(motion(0.25).round(9))  # at any time between
[0.8125 3.5   ]
""",
    "sparsity": """\
>>> A, B = cart.sparsity()
>>> print(A.tolist(), B.tolist())
[[False, True], [False, False]] [[False], [True]]
""",
}.items()} | {"wrench_sparsity": PUCK + """\
>>> print(engine.compile(puck).wrench_sparsity().any())  # the force depends on nothing
False
"""}  # fmt: skip

#: of ``BodyTrajectory``
OF_BODIES = {name: PUCK + calls for name, calls in {
    "of": """\
>>> x = np.array([puck.build_state(), puck.build_state(position=[1.0, 0, 0])])
>>> print(engine.BodyTrajectory.of(puck, [0.0, 0.5], x, np.zeros((2, 0))).q[-1, 4:])
[1. 0. 0.]
""",
    "with_warnings": """\
>>> print(flight.with_warnings(("too fast",)).warnings)
('too fast',)
""",
    "x": """\
>>> print(flight.x[-1, puck.indices.linear_velocity].round(9))  # 4 N / 2 kg · 1 s
[2. 0. 0.]
""",
    "u": """\
>>> print(flight.u.shape)  # no controls
(1001, 0)
""",
    "at": """\
>>> print(flight.at([0.5]).x[0, puck.indices.position].round(9))  # ½ · 2 m/s² · (0.5 s)²
[0.25 3.   0.  ]
""",
    "poses": """\
>>> print(flight.poses()[-1, :3, 3].round(9))
[1. 3. 0.]
""",
    "pose": """\
>>> print(flight.pose("Puck")[-1, :3, 3].round(9))
[1. 3. 0.]
""",
    "twists": """\
>>> print(flight.twists()[-1].round(9))  # [ω; v] in its own axes
[0. 0. 0. 2. 0. 0.]
""",
    "kinetic_energy": """\
>>> print(flight.kinetic_energy()[-1].round(9), flight.kinetic_energy("center_of_mass")[-1].round(9))  # ½ · 2 kg · (2 m/s)², J
4.0 0.0
""",
    "energy": """\
>>> K, U = flight.energy()
>>> print(K[-1].round(9), U[-1])
4.0 0.0
""",
    "momentum": """\
>>> print(flight.momentum()[-1].round(9))  # of L, −12 is m v at its distance from the origin
[  0.   0. -12.   4.   0.   0.]
""",
    "save": """\
>>> import tempfile
>>> path = flight.save(tempfile.mkdtemp() + "/flight.h5")
>>> print(engine.load_trajectory(path).q[-1, 4:].round(9))
[1. 3. 0.]
""",
}.items()}  # fmt: skip

#: of ``StateTrajectory``
OF_STATES = {"failed": CART + """\
>>> run = cart.simulate([[0.0, 3.0], [1.0, 0.0]], duration=0.1, controller=lambda x, t: np.array([4.0]))
>>> print(run.failed)  # of two rollouts
[False False]
"""}  # fmt: skip
