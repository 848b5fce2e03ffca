"""Examples of the methods of ``Campaign`` and ``Runs``, which ``help`` shows."""

STONE = """
>>> import tempfile
>>> from scipy import stats
>>> import engine
>>> builder = engine.Builder()  # a stone of 1 kg that falls along z
>>> _ = builder.add_link("base"), builder.add_link("stone", engine.spatial.inertia.sphere(1.0, 0.1))
>>> _ = builder.add_joint("fall", "prismatic", "base", "stone", axis=[0, 0, 1])
>>> simulator = engine.Simulator(builder.model(), dt=0.01, parameters={"mass.stone": 1.0})
>>> heavy = {"mass.stone": stats.uniform(1.0, 1.0)}
"""

#: of ``Campaign``, by method, what it is tried on and the calls
EXAMPLES = {
    "rerun": STONE + """\
>>> campaign = engine.Campaign(simulator, [0.0], [0.0], 0.1, runs=3, scatter=heavy, metrics={"fast": "max |v.fall|"})
>>> campaign.rerun(0).t[-1].round(6)  # s
np.float64(0.1)
""",
    "run": STONE + """\
>>> campaign = engine.Campaign(simulator, [0.0], [0.0], 0.1, runs=3, scatter=heavy, metrics={"fast": "max |v.fall|"})
>>> runs = campaign.run(tempfile.mkdtemp())
>>> runs.complete, sorted(runs.estimates())
(True, ['fast'])
""",
}
#: of ``Runs``
OF_RUNS = {
    "complete": STONE + """\
>>> campaign = engine.Campaign(simulator, [0.0], [0.0], 0.1, runs=3, scatter=heavy, metrics={"fast": "max |v.fall|"})
>>> campaign.run(tempfile.mkdtemp()).complete
True
""",
    "failed": STONE + """\
>>> campaign = engine.Campaign(simulator, [0.0], [0.0], 0.1, runs=3, scatter=heavy, metrics={"fast": "max |v.fall|"})
>>> campaign.run(tempfile.mkdtemp()).failed
array([False, False, False])
""",
    "reason": STONE + """\
>>> campaign = engine.Campaign(simulator, [0.0], [0.0], 0.1, runs=3, scatter=heavy, metrics={"fast": "max |v.fall|"})
>>> campaign.run(tempfile.mkdtemp()).reason.tolist()
['', '', '']
""",
    "notes": STONE + """\
>>> campaign = engine.Campaign(simulator, [0.0], [0.0], 0.1, runs=3, scatter=heavy, metrics={"fast": "max |v.fall|"})
>>> campaign.run(tempfile.mkdtemp()).notes
()
""",
    "dataset": STONE + """\
>>> campaign = engine.Campaign(simulator, [0.0], [0.0], 0.1, runs=3, scatter=heavy, metrics={"fast": "max |v.fall|"})
>>> dict(campaign.run(tempfile.mkdtemp()).dataset.sizes)["run"]
3
""",
    "save": STONE + """\
>>> campaign = engine.Campaign(simulator, [0.0], [0.0], 0.1, runs=3, scatter=heavy, metrics={"fast": "max |v.fall|"})
>>> campaign.run(tempfile.mkdtemp()).save(tempfile.mkdtemp() + "/runs.mat").name
'runs.mat'
""",
    "estimates": STONE + """\
>>> campaign = engine.Campaign(simulator, [0.0], [0.0], 0.1, runs=3, scatter=heavy, metrics={"fast": "max |v.fall|"})
>>> round(campaign.run(tempfile.mkdtemp()).estimates()["fast"].mean, 6)  # m/s: g · 0.1 s, whatever the mass
0.981
""",
    "rerun": STONE + """\
>>> campaign = engine.Campaign(simulator, [0.0], [0.0], 0.1, runs=3, scatter=heavy, metrics={"fast": "max |v.fall|"})
>>> campaign.run(tempfile.mkdtemp()).rerun(0, campaign).v[-1].round(6)  # m/s
array([-0.981])
""",
    "plot": STONE + """\
>>> campaign = engine.Campaign(simulator, [0.0], [0.0], 0.1, runs=3, scatter=heavy, metrics={"fast": "max |v.fall|"})
>>> len(campaign.run(tempfile.mkdtemp()).plot().get_axes()) > 0
True
""",
}
