"""Examples of ``Trajectory``'s methods, which ``help`` shows: numbers that can be checked by hand."""

PENDULUM = """
>>> import numpy as np
>>> import engine
>>> builder = engine.Builder()  # a pendulum: 2 kg at the end of a massless rod of 3 m, level at q = 0
>>> _ = builder.add_link("base"), builder.add_link("rod", engine.spatial.inertia.from_mass(2.0, [3, 0, 0], np.zeros((3, 3))))
>>> _ = builder.add_joint("pivot", "revolute", "base", "rod", axis=[0, -1, 0])
>>> simulator = engine.Simulator(builder.model(), dt=1e-3)
>>> run = simulator.run([0.0], [0.0], 0.1)  # its fall
"""

STONE = """
>>> import numpy as np
>>> import engine
>>> import tempfile
>>> from engine.space import ReferenceOrbit, read_aem, read_oem
>>> builder = engine.Builder()
>>> _ = builder.add_link("stone", engine.spatial.inertia.sphere(1.0, 0.1))
>>> circle = ReferenceOrbit((7e6, 0, 0), (0, 7546.0, 0))
>>> beside = engine.Simulator(builder.model(floating_base=True), dt=1.0, gravity=(0, 0, 0), frame=circle)
>>> flight = beside.run([1, 0, 0, 0, 10.0, 0, 0], np.zeros(6), 60.0)
"""

#: by method, what it is tried on and the calls
EXAMPLES = {
    "at": PENDULUM + """\
>>> print(run.at([0.0125, 0.05]).v[:, 0].round(4))  # at other times: −g/3 · t
[-0.0409 -0.1635]
""",
    "rollout": PENDULUM + """\
>>> two = simulator.run([0.0], [[0.0], [1.0]], 0.1)  # a batch of two rollouts
>>> print(two.rollout(1).v[0])
[1.]
""",
    "failed": PENDULUM + """\
>>> print(run.failed, simulator.run([0.0], [[0.0], [1.0]], 0.1).failed)  # of one rollout, and of two
False [False False]
""",
    "defect": PENDULUM + """\
>>> brick = engine.Builder()
>>> _ = brick.add_link("brick", engine.spatial.inertia.box(1.0, (0.3, 0.2, 0.1)))
>>> floating = engine.Simulator(brick.model(floating_base=True), dt=1e-2, gravity=(0, 0, 0))
>>> print(floating.run([1, 0, 0, 0, 0, 0, 0], [1.0, 2.0, 0, 0, 0, 0], 1.0).defect[-1] < 1e-6)
True
""",
    "energy": PENDULUM + """\
>>> K, U = run.energy()
>>> print((K + U)[[0, -1]].round(9) + 0.0)  # nothing brakes
[0. 0.]
""",
    "kinetic_energy": PENDULUM + """\
>>> print(run.kinetic_energy()[-1].round(2))  # ½ · 18 kg·m² · (0.327 rad/s)²
0.96
""",
    "momentum": PENDULUM + """\
>>> print(run.momentum()[-1].round(3) + 0.0)  # [angular; linear], world axes
[ 0.     5.886  0.    -0.032  0.    -1.962]
""",
    "poses": PENDULUM + """\
>>> print(run.poses().shape)  # (times, links, 4, 4)
(101, 2, 4, 4)
""",
    "pose": PENDULUM + """\
>>> print(run.pose("rod")[-1, :3, 0].round(4) + 0.0)  # the direction of the rod at the end
[ 0.9999  0.     -0.0163]
""",
    "power": PENDULUM + """\
>>> print({name: float(x[-1]) for name, x in run.power().items()})  # W: no motor drives it
{'drive': 0.0}
""",
    "armature": PENDULUM + """\
>>> print(run.armature)  # of the rotors, kg·m²: none
(0.0,)
""",
    "robot": PENDULUM + """\
>>> print(run.robot)  # the compiled dynamics of its model
<compiled 'robot', nq 1, nv 1, gravity (0.0, 0.0, -9.81)>
""",
    "columns": PENDULUM + """\
>>> print([*run.columns()])
['q.pivot', 'v.pivot', 'tau.pivot', 'vdot.pivot', 'drive.power', 'drive.saturated[0]']
""",
    "phases": PENDULUM + """\
>>> fall = (lambda t, q, v: 0.0 * v, lambda t, q, v: t > 0.0495)  # its command, and when it ends
>>> mode = engine.Phases({"fall": fall, "brake": (lambda t, q, v: -50.0 * v, None)}, period=0.01)
>>> braked = engine.Simulator(builder.model(), dt=1e-3, laws=[mode], controller=mode.commands).run([0.0], [0.0], 0.1)
>>> print(braked.phases())
[('fall', 0.0, 0.05), ('brake', 0.05, 0.1)]
""",
    "orbit": STONE + """\
>>> origin, beside = flight.orbit("stone")
>>> print(origin[0], beside[0])  # of the frame from the planet, and of the stone from the frame
[7000000.       0.       0.] [10.  0.  0.]
""",
    "mapped": PENDULUM + """\
>>> last = run.mapped(lambda name, x, axis: x[-1:], run.t[-1:])
>>> print(last.t, last.v.round(3))
[0.1] [[-0.327]]
""",
    "to_pandas": PENDULUM + """\
>>> print(run.to_pandas().shape)
(101, 6)
""",
    "to_xarray": PENDULUM + """\
>>> print(sorted(run.to_xarray().data_vars))
['drive.power', 'drive.saturated', 'q', 'tau', 'v', 'vdot']
""",
    "to_csv": PENDULUM + """\
>>> import tempfile
>>> print(run.to_csv(tempfile.mkdtemp() + "/run.csv").read_text().splitlines()[0])
t,q.pivot,v.pivot,tau.pivot,vdot.pivot,drive.power,drive.saturated[0]
""",
    "save": PENDULUM + """\
>>> import tempfile
>>> print(engine.load_trajectory(run.save(tempfile.mkdtemp() + "/run.h5")).q.shape)
(101, 1)
""",
    "plot": PENDULUM + """\
>>> import tempfile
>>> print(len(run.plot(tempfile.mkdtemp() + "/run.png").get_axes()) > 0)
True
""",
    "to_oem": STONE + """\
>>> epoch, t, r, v = read_oem(flight.to_oem(tempfile.mkdtemp() + "/stone.oem", "stone"))
>>> print(r[0].round(6))
[7000010.       0.       0.]
""",
    "to_aem": STONE + """\
>>> epoch, t, attitude = read_aem(flight.to_aem(tempfile.mkdtemp() + "/stone.aem", "stone"))
>>> print(attitude[0])
[1. 0. 0. 0.]
""",
}
