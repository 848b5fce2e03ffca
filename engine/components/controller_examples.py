"""Examples of controllers, and of the form of components, which ``help`` shows."""

CART = """
>>> import numpy as np
>>> import engine
>>> builder = engine.Builder()  # a cart of 2 kg on a rail along x
>>> _ = builder.add_link("base"), builder.add_link("cart", engine.spatial.inertia.sphere(2.0, 0.1))
>>> _ = builder.add_joint("rail", "prismatic", "base", "cart", axis=[1, 0, 0])
>>> there = engine.spatial.se3.pose(np.eye(3), np.array([0.1, 0, 0]))
>>> still = engine.simulation.controllers.minimum_jerk_pose(there, there, 1.0)
"""

#: by name, the example
CONTROLLERS = {
    "pd_gravity": """
>>> import numpy as np
>>> import engine
>>> builder = engine.Builder()  # a pendulum: 2 kg at the end of a massless rod of 3 m, level at q = 0
>>> _ = builder.add_link("base"), builder.add_link("rod", engine.spatial.inertia.from_mass(2.0, [3, 0, 0], np.zeros((3, 3))))
>>> _ = builder.add_joint("pivot", "revolute", "base", "rod", axis=[0, -1, 0])
>>> hold = engine.simulation.controllers.pd_gravity(builder.model(), np.array([0.1]), stiffness=100.0, damping=10.0)
>>> print(engine.Simulator(builder.model(), dt=1e-3, controller=hold).start([0.0], [0.0]).tau.round(6))  # N·m: 100 · 0.1 + m g l
[68.86]
""",
    "computed_torque": """
>>> import numpy as np
>>> import engine
>>> builder = engine.Builder()  # a pendulum: 2 kg at the end of a massless rod of 3 m, level at q = 0
>>> _ = builder.add_link("base"), builder.add_link("rod", engine.spatial.inertia.from_mass(2.0, [3, 0, 0], np.zeros((3, 3))))
>>> _ = builder.add_joint("pivot", "revolute", "base", "rod", axis=[0, -1, 0])
>>> raised = engine.simulation.controllers.minimum_jerk(builder.model(), np.array([0.1]), np.array([0.1]), 1.0)
>>> follow = engine.simulation.controllers.computed_torque(builder.model(), raised, bandwidth=2.0)
>>> print(engine.Simulator(builder.model(), dt=1e-3, controller=follow).start([0.0], [0.0]).tau.round(6))  # N·m: m l² ω² · 0.1 + m g l
[66.06]
""",
    "operational_space": CART + """\
>>> pull = engine.simulation.controllers.operational_space(builder.model(), "cart", still, bandwidth=10.0)
>>> print(engine.Simulator(builder.model(), dt=1e-3, controller=pull).start([0.0], [0.0]).tau.round(3))  # N: 2 kg · 10² · 0.1 m
[20.]
""",
    "resolved_rate": CART + """\
>>> pull = engine.simulation.controllers.resolved_rate(builder.model(), "cart", still, gain=5.0, servo=50.0)
>>> print(engine.Simulator(builder.model(), dt=1e-3, controller=pull).start([0.0], [0.0]).tau.round(3))  # N: 2 kg · 50 · 5 · 0.1 m
[50.]
""",
    "generalized_jacobian_control": """
>>> import numpy as np
>>> import engine
>>> builder, sphere = engine.Builder(), engine.spatial.inertia.sphere  # in free fall, a slider of 1 kg on a base of 3 kg
>>> _ = builder.add_link("base", sphere(3.0, 1.0)), builder.add_link("slider", sphere(1.0, 1.0))
>>> _ = builder.add_joint("slide", "prismatic", "base", "slider", axis=[1, 0, 0])
>>> there, pair = engine.spatial.se3.pose(np.eye(3), np.array([0.1, 0, 0])), builder.model(floating_base=True)
>>> still = engine.simulation.controllers.minimum_jerk_pose(there, there, 1.0)
>>> pull = engine.simulation.controllers.generalized_jacobian_control(pair, "slider", still, bandwidth=2.0)
>>> start = engine.Simulator(pair, dt=1e-3, gravity=(0, 0, 0), controller=pull).start(pair.neutral(), np.zeros(7))
>>> print(start.tau[6].round(3))  # N: 1 kg · 2² · 0.1 m, as the slider has to move in the world
0.4
""",
    "reaction_null_space_motion": """
>>> import numpy as np
>>> import engine
>>> builder, sphere = engine.Builder(), engine.spatial.inertia.sphere  # in free fall, a slider of 1 kg on a base of 3 kg
>>> _ = builder.add_link("base", sphere(3.0, 1.0)), builder.add_link("slider", sphere(1.0, 1.0))
>>> _ = builder.add_joint("slide", "prismatic", "base", "slider", axis=[1, 0, 0])
>>> pair = builder.model(floating_base=True)
>>> calm = engine.simulation.controllers.reaction_null_space_motion(pair, lambda t: np.array([0.2]), gain=10.0)
>>> start = engine.Simulator(pair, dt=1e-3, gravity=(0, 0, 0), controller=calm).start(pair.neutral(), np.zeros(7))
>>> print(start.vdot[6].round(9), start.tau[6].round(9))  # m/s²: 10 · 0.2, a slide turns no base; N: 1 · 3/(1 + 3) kg times that
2.0 1.5
""",
    "attitude_control": """
>>> import numpy as np
>>> import engine
>>> builder = engine.Builder()
>>> _ = builder.add_link("craft", engine.spatial.inertia.from_mass(4.0, [0, 0, 0], 5.0 * np.eye(3)))
>>> craft, wheels = builder.model(floating_base=True), engine.simulation.actuators.ReactionWheels("craft")
>>> hold = engine.simulation.controllers.attitude_control(craft, wheels, bandwidth=0.5)
>>> tilted = craft.integrate(craft.neutral(), np.array([0, 0, 0.1, 0, 0, 0]))
>>> print(hold(0.0, tilted, np.zeros(6))["wheels"].round(6) + 0.0)  # N·m: −5 kg·m² · 0.5² · 0.1 rad about z
[ 0.     0.    -0.125]
""",
    "momentum_dumping": """
>>> import numpy as np
>>> import engine
>>> actuators, builder = engine.simulation.actuators, engine.Builder()
>>> _ = builder.add_link("craft", engine.spatial.inertia.from_mass(4.0, [0, 0, 0], 5.0 * np.eye(3)))
>>> craft, wheels = builder.model(floating_base=True), actuators.ReactionWheels("craft", initial=[0, 0, 0.2])
>>> places = [[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]] * 2
>>> push = [[0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1], [1, 0, 0], [-1, 0, 0]]
>>> jets = actuators.Thrusters("craft", places, push + [[-x for x in p] for p in push], most=1.0)
>>> dump = engine.simulation.controllers.momentum_dumping(craft, wheels, jets, rate=1.0)
>>> emptied = engine.Simulator(craft, dt=0.01, gravity=(0, 0, 0), actuators=[wheels, jets], controller=dump)
>>> run = emptied.run(craft.neutral(), np.zeros(6), 1.0)
>>> print(run.signals["wheels.momentum"][-1, 2].round(2))  # N·m·s: 0.2 e⁻¹
0.07
""",
}

#: by name, the example
COMPONENTS = {
    "Component": """
>>> import numpy as np
>>> import engine
>>> class Weight(engine.simulation.Component):
...     name = "weight"
...     def act(self, s, state, memory, command):
...         return engine.simulation.Effect(wrenches={"stone": np.array([0, 0, 0, 0, 0, -2.0])}, signals={"height": s.pose("stone")[2, 3]})
>>> builder = engine.Builder()
>>> _ = builder.add_link("stone", engine.spatial.inertia.sphere(1.0, 0.1))
>>> stone = builder.model(floating_base=True)
>>> run = engine.Simulator(stone, dt=0.1, gravity=(0, 0, 0), forces=[Weight()]).run(stone.neutral(), np.zeros(6), 1.0)
>>> print(run.signals["weight.height"][-1].round(6))  # m: −F t²/(2 m)
-1.0
""",
    "Context": """
>>> import numpy as np
>>> import engine
>>> builder = engine.Builder()
>>> _ = builder.add_link("stone", engine.spatial.inertia.sphere(1.0, 0.1))
>>> stone = builder.model(floating_base=True)
>>> s = engine.simulation.Context(stone, 0.0, np.array([1.0, 0, 0, 0, 1, 2, 3]), np.array([0, 0, 0, 4.0, 0, 0]), {}, np.zeros(3), {})
>>> print(s.pose("stone")[:3, 3], s.twist("stone")[3:])  # what a component's act gets: where links are, and how they move
[1. 2. 3.] [4. 0. 0.]
""",
    "Effect": """
>>> import numpy as np
>>> from engine.simulation import Effect
>>> push = Effect(wrenches={"cart": np.array([0, 0, 0, 6.0, 0, 0])}, signals={"thrust": 6.0})
>>> push.tau is None, push.signals["thrust"]
(True, 6.0)
""",
}
