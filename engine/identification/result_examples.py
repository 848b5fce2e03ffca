"""Examples of ``Identification``'s methods, which ``help`` shows."""

BOB = """
>>> import engine
>>> text = '''<mujoco><worldbody><body name="bob"><joint name="pivot" axis="0 1 0" damping="0.3"/>
... <geom size="0.1" pos="0 0 -1"/></body></worldbody></mujoco>'''
>>> model = engine.load(text)
>>> run = engine.Simulator(model).run([0.5], [0.0], 2.0)
>>> found = engine.identify(model, run, "damping")  # of a simulation without noise: as it was
"""

#: by method, what it is tried on and the calls
EXAMPLES = {name: BOB + calls for name, calls in {
    "names": """\
>>> found.names
('damping.pivot',)
""",
    "std": """\
>>> print(found.std.shape, bool(found.std[0] < 1e-9))
(1,) True
""",
    "base_interval": """\
>>> print(found.base_interval().round(6))
[[0.3 0.3]]
""",
    "interval": """\
>>> print(found.interval(confidence=0.99).round(6))
[[0.3 0.3]]
""",
    "combined": """\
>>> print(found.combined("damping.pivot"))  # a combination of its own
('damping.pivot',)
""",
    "table": """\
>>> print(found.table["value"].round(6).to_dict(), found.table["known from"].to_list())
{'damping.pivot': 0.3} ['itself']
""",
    "predict": """\
>>> print(bool(abs(found.predict(run) - run.tau).max() < 1e-6))  # what the run took, N·m
True
""",
}.items()}  # fmt: skip
