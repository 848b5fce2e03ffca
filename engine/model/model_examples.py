"""Examples of ``Model``'s methods, which ``help`` shows: numbers that can be checked by hand."""

ARM = """
>>> import numpy as np
>>> import engine
>>> builder, sphere = engine.Builder("arm"), engine.spatial.inertia.sphere
>>> _ = builder.add_link("base"), builder.add_link("upper", sphere(2.0, 0.1)), builder.add_link("lower", sphere(1.0, 0.1))
>>> _ = builder.add_joint("shoulder", "revolute", "base", "upper", axis=[0, 1, 0], limits=engine.Limits(-1.0, 1.0))
>>> _ = builder.add_joint("elbow", "revolute", "upper", "lower", axis=[0, 1, 0])
>>> arm = builder.model()
>>> builder = engine.Builder("stone")
>>> _ = builder.add_link("stone", sphere(1.0, 0.1))
>>> stone = builder.model(floating_base=True)
"""

#: by method, what it is tried on and the calls
EXAMPLES = {
    "link": ARM + """\
>>> print(arm.link("upper").name)
upper
""",
    "joint": ARM + """\
>>> print(arm.joint("elbow").kind, arm.joint("elbow").parent)
revolute upper
""",
    "link_index": ARM + """\
>>> print(arm.link_index("lower"))  # its row in forward_kinematics
2
""",
    "q_slice": ARM + """\
>>> print(arm.q_slice("elbow"), stone.q_slice("floating_base"))
slice(1, 2, None) slice(0, 7, None)
""",
    "v_slice": ARM + """\
>>> print(arm.v_slice("elbow"), stone.v_slice("floating_base"))
slice(1, 2, None) slice(0, 6, None)
""",
    "labels": ARM + """\
>>> print(arm.labels("q"), stone.labels("v")[:4])
('shoulder', 'elbow') ('floating_base.wx', 'floating_base.wy', 'floating_base.wz', 'floating_base.vx')
""",
    "entries": ARM + """\
>>> print(arm.entries("q"))
('shoulder', 'elbow')
""",
    "coordinates": ARM + """\
>>> print(arm.coordinates)
(Own(joint='shoulder', nq=1, nv=1), Own(joint='elbow', nq=1, nv=1))
""",
    "neutral": ARM + """\
>>> print(arm.neutral(), stone.neutral())
[0. 0.] [1. 0. 0. 0. 0. 0. 0.]
""",
    "initial": ARM + """\
>>> print(arm.initial())  # no file says otherwise: the neutral one
[0. 0.]
""",
    "random": ARM + """\
>>> q, v = arm.random(np.random.default_rng(0))
>>> print(np.abs(q[0]) <= 1.0, q.shape, v.shape)  # within the limits
True (2,) (2,)
""",
    "within_limits": ARM + """\
>>> print(arm.within_limits(np.array([3.0, 3.0])))
[1. 3.]
""",
    "integrate": ARM + """\
>>> print(stone.integrate(stone.neutral(), np.array([0, 0, 0, 2.0, 0, 0]), 0.5)[4:])  # half a second at 2 m/s
[1. 0. 0.]
""",
    "difference": ARM + """\
>>> there = stone.integrate(stone.neutral(), np.array([0, 0, 0.3, 1.0, 0, 0]))
>>> print(stone.difference(stone.neutral(), there).round(9) + 0.0)
[0.  0.  0.3 1.  0.  0. ]
""",
    "normalized": ARM + """\
>>> print(stone.normalized([1.01, 0, 0, 0, 0, 0, 0]))
[1. 0. 0. 0. 0. 0. 0.]
""",
    "checked": ARM + """\
>>> print(arm.checked("q", [0, 1]))
[0. 1.]
""",
    "manifold": ARM + """\
>>> print(stone.manifold)
<manifold SE(3), nq 7, nv 6>
""",
    "base": ARM + """\
>>> print(arm.base, stone.base is not None)
None True
""",
    "floats": ARM + """\
>>> print(arm.floats, stone.floats)
False True
""",
    "roots": ARM + """\
>>> print(arm.roots, stone.roots)  # bodies that hang from the world
(0,) (0,)
""",
    "trees": ARM + """\
>>> print(arm.trees)  # bodies of each tree: the arm is one
((0, 1),)
""",
    "tree": ARM + """\
>>> print(arm.tree("upper").q)
slice(0, 2, None)
""",
    "tree_names": ARM + """\
>>> print(arm.tree_names)
('upper',)
""",
    "with_parameters": ARM + """\
>>> print(engine.spatial.inertia.mass(arm.with_parameters({"mass.lower": 5.0}).link("lower").inertia))
5.0
""",
    "with_numbers": ARM + """\
>>> print(engine.spatial.inertia.mass(arm.with_numbers({"mass.lower": 5.0}).link("lower").inertia))
5.0
""",
    "with_armature": ARM + """\
>>> print(arm.with_armature({"elbow": 0.2}).armature)
[0.  0.2]
""",
}

#: of the module's other names
OTHERS = {
    "Tree": ARM + """\
>>> print(arm.tree("upper").v)
slice(0, 2, None)
""",
}
