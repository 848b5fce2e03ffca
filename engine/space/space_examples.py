"""Examples of the methods of ``Tank`` and ``Epoch``, which ``help`` shows."""

TANK = """
>>> import math
>>> import numpy as np
>>> import engine
>>> from engine.space import Tank
>>> model = engine.load_urdf(engine.example("free_flyer"), floating_base=True)
>>> tank = Tank("bus", capacity=8.0, shape="cylinder", radius=1.0, density=4.0 / math.pi)  # 8/ρ = 2π m³: 2 m high
"""

#: of ``Tank``, by method, what it is tried on and the calls
OF_TANKS = {name: TANK + calls for name, calls in {
    "level": """\
>>> print([round(float(tank.level(fuel)), 9) for fuel in (0.0, 4.0, 8.0)])  # m over its centre
[-1.0, 0.0, 1.0]
""",
    "moments": """\
>>> first, across, along = tank.moments(4.0)  # half full, its centre 0.5 m below the tank's
>>> print(round(float(first), 9), round(float(along), 9))  # −4 kg · 0.5 m, and ½ · 4 kg · (1 m)²
-2.0 2.0
""",
    "inertia_of": """\
>>> G = tank.inertia_of(4.0)
>>> print(G[5, 5].round(9), G[2, 2].round(9))  # kg, kg·m²
4.0 2.0
""",
    "slice_of": """\
>>> print(np.diag(tank.slice_of(4.0)).round(9))  # a disc of 1 kg in the middle: ¼ m r², ¼ m r², ½ m r²
[0.25 0.25 0.5  1.   1.   1.  ]
""",
    "rising": """\
>>> print(round(float(tank.rising(4.0)), 9))  # m/kg: 2 m for 8 kg
0.25
""",
    "bodies": """\
>>> G, rate = tank.bodies(tank.state, None)["bus"]
>>> print(G[5, 5].round(9), rate)  # full
8.0 None
""",
    "pressure_ratio": """\
>>> blow_down = Tank("bus", capacity=8.0, fuel=4.0, pressure=2e6, gas=0.01)
>>> simulator = engine.Simulator(model, gravity=(0, 0, 0), actuators=[blow_down])
>>> start = simulator.start(model.neutral(), np.zeros(model.nv))
>>> print(start.signals["tank.pressure"])  # Pa, of a ratio of 1
2000000.0
""",
    "act": """\
>>> simulator = engine.Simulator(model, gravity=(0, 0, 0), actuators=[tank])
>>> print(simulator.start(model.neutral(), np.zeros(model.nv)).signals["tank.fuel"])  # of the signals of its effect, kg
8.0
""",
    "begun": """\
>>> simulator = engine.Simulator(model, gravity=(0, 0, 0), actuators=[tank], parameters={"tank.fuel": 3.0})
>>> print(simulator.start(model.neutral(), np.zeros(model.nv)).signals["tank.fuel"])  # what it begins with, kg
3.0
""",
    "bind": """\
>>> tank.bind(model, 0.01)  # a link that moves and has dry mass
""",
    "require_parameter": """\
>>> tank.require_parameter("fuel", np.array(3.0), ())
""",
    "possible": """\
>>> print(tank.possible("fuel", np.array(3.0)), tank.possible("fuel", np.array(9.0)))  # of 8 kg at most
True False
""",
    "range_of": """\
>>> found = tank.range_of("fuel", {})
>>> print(found.least, found.most)
0.0 8.0
""",
}.items()}  # fmt: skip

NOON = """
>>> import pytest
>>> _ = pytest.importorskip("erfa")
>>> import numpy as np
>>> from engine.space import Epoch
>>> epoch = Epoch("2026-03-20T12:00:00")  # the day of an equinox
"""

#: of ``Epoch``
OF_EPOCHS = {name: NOON + calls for name, calls in {
    "tt_minus_utc": """\
>>> round(epoch.tt_minus_utc, 6)  # 37 leap seconds, and 32.184 s
69.184
""",
    "era": """\
>>> turns = (epoch.era - Epoch("2026-03-20T11:00:00").era) / (2 * np.pi)
>>> round(24 * turns, 4)  # of a sidereal day in an hour
1.0027
""",
    "gmst": """\
>>> print(round(np.degrees(epoch.gmst - epoch.era) * 3600 / 26.2))  # precession since 2000: 46″ a year in right ascension
46
""",
    "gast": """\
>>> bool(abs(epoch.gast - epoch.gmst) < 1e-4)  # nutation: some seconds of arc
True
""",
    "celestial": """\
>>> Q, W = epoch.celestial
>>> print(bool(np.abs(Q @ Q.T - np.eye(3)).max() < 1e-14), bool(np.abs(W - np.eye(3)).max() < 1e-9))
True True
""",
    "rotation": """\
>>> day = 2 * np.pi / 7.292115146706979e-5  # s, a sidereal one: the Earth lies as it did
>>> bool(np.abs(epoch.rotation(day) - epoch.rotation(0.0)).max() < 1e-12)
True
""",
    "to_earth": """\
>>> x, y, z = epoch.to_earth([1.0, 0, 0])  # to the vernal equinox, and at noon of this day the Sun, over Greenwich
>>> print(round(np.degrees(np.arctan2(y, x))))  # east of it, by the equation of time
2
""",
}.items()}  # fmt: skip
