"""Examples of the methods of ``Contacts``, which ``help`` shows: what a simulator asks of them."""

STONES = """
>>> import numpy as np
>>> import engine
>>> model = engine.load('''<mujoco><worldbody><body name="a"><freejoint/><geom size="0.1"/></body>
... <body name="b" pos="1 0 0"><freejoint/><geom size="0.2"/></body></worldbody></mujoco>''')
>>> contacts = engine.Contacts(engine.HalfSpace())
>>> links = contacts.require_links(model)
"""

#: by method, what it is tried on and the calls
EXAMPLES = {name: STONES + calls for name, calls in {
    "bind": """\
>>> print([pair.name for pair in contacts.bind(model).pairs])
['world:a', 'world:b', 'a:b']
""",
    "asked": """\
>>> print(contacts.asked(["a", "b"], links), engine.Contacts(pairs=[("a", "b")]).asked(["a", "b", "c"], links))
['a', 'b'] ['a', 'b']
""",
    "laws": """\
>>> pairs = contacts.bind(model).pairs
>>> print(len(contacts.laws(model, pairs[:2]).pairs))
2
""",
    "require_links": """\
>>> print(links["a"], links["world"])
a world
""",
    "many": """\
>>> print(contacts.many(model))  # three pairs are few: they have no tables
None
""",
    "never": """\
>>> one = contacts.with_pairs([("world", "a")])
>>> print(one.never(model, one.placed(model, "a") + one.placed(model, "b")))  # the first and the second shape
[(0, 1)]
""",
    "surface": """\
>>> print(contacts.surface(contacts.placed(model, "a")[0]) == contacts.material)
True
""",
    "placed": """\
>>> print([(shape.link, shape.shape.radius) for shape in contacts.placed(model, "b")])
[('b', 0.2)]
""",
    "apart": """\
>>> pairs = contacts.bind(model).pairs
>>> print(len(contacts.apart(model, pairs)))  # none of one robot's lie in each other at rest
3
""",
    "pair": """\
>>> (a,), (b,) = contacts.placed(model, "a"), contacts.placed(model, "b")
>>> print(contacts.pair(a, b, {"a": 1.0, "b": 0.5}, "a:b").points)  # balls touch in one
1
""",
    "chosen": """\
>>> placed = {name: contacts.placed(model, name) for name in ("a", "b")}
>>> print(list(contacts.chosen(model, placed, links)))
[('world', 'a'), ('world', 'b'), ('a', 'b')]
""",
}.items()}  # fmt: skip
