"""Examples of ``RigidBody``'s methods, which ``help`` shows: numbers that can be checked by hand."""

SATELLITE = """
>>> import numpy as np
>>> import engine
>>> class Satellite(engine.RigidBody):  # thrust u[:3], N, and torque u[3:], N·m, in body axes
...     mass, inertia, controls = 2.0, np.diag([1.0, 2.0, 3.0]), 6
...     def forces(self, x, u, t):
...         return self.rotation(x) @ u[:3]
...     def moments(self, x, u, t):
...         return u[3:]
>>> body, u = Satellite(), np.array([4.0, 0, 0, 0, 0, 6.0])
>>> x = body.build_state(position=[1.0, 2.0, 3.0], angular_velocity=[0, 0, 1.0], linear_velocity=[4.0, 0, 0])
"""

#: by method, what it is tried on and the calls
EXAMPLES = {name: SATELLITE + calls for name, calls in {
    "acceleration": """\
>>> print(body.acceleration(x, u, 0.0).round(9))  # ω̇ = 6/3, v̇ = 4/2 − ω × v
[ 0.  0.  2.  2. -4.  0.]
""",
    "angular_velocity": """\
>>> print(body.angular_velocity(x))
[0. 0. 1.]
""",
    "check": """\
>>> body.check()  # a satellite that can be
""",
    "discrete_dynamics": """\
>>> drift = body.build_state(linear_velocity=[4.0, 0, 0])
>>> print(body.position(body.discrete_dynamics(drift, 0.0 * u, 0.0, 0.5)).round(9))  # 4 m/s · 0.5 s
[2. 0. 0.]
""",
    "dynamics": """\
>>> print(body.dynamics(x, u, 0.0)[body.indices.linear_velocity])  # 4 N / 2 kg
[2. 0. 0.]
""",
    "forces": """\
>>> print(body.forces(x, u, 0.0))
[4. 0. 0.]
""",
    "from_motion": """\
>>> print(body.from_motion(*body.to_motion(x)) - x)
[0. 0. 0. 0. 0. 0. 0. 0. 0. 0. 0. 0. 0.]
""",
    "indices": """\
>>> print(x[body.indices.position])
[1. 2. 3.]
""",
    "kept": """\
>>> print(body.kept is None)  # momentum is kept beside the motion
False
""",
    "linear_velocity": """\
>>> print(body.linear_velocity(x))
[4. 0. 0.]
""",
    "moments": """\
>>> print(body.moments(x, u, 0.0))
[0. 0. 6.]
""",
    "orientation": """\
>>> print(body.orientation(x))  # a quaternion: no rotation
[1. 0. 0. 0.]
""",
    "overrides": """\
>>> print(body.overrides("forces"), body.overrides("wrench"))
True False
""",
    "parse_state": """\
>>> position, orientation, linear_velocity, angular_velocity = body.parse_state(x)
>>> print(linear_velocity)
[4. 0. 0.]
""",
    "position": """\
>>> print(body.position(x))
[1. 2. 3.]
""",
    "quaternion": """\
>>> turned = engine.RigidBody(mass=2.0, inertia=np.eye(3), attitude="mrp")
>>> print(turned.quaternion(turned.build_state(orientation=[0.0, 0, 1.0])))  # tan(θ/4) = 1: half a turn about z
[0. 0. 0. 1.]
""",
    "rate": """\
>>> print(body.rate(x, u, 0.0)[body.indices.position])  # dynamics by another name
[4. 0. 0.]
""",
    "require": """\
>>> body.require(body.method("dqvi"))  # a constant inertia is what a variational integrator takes
""",
    "returned": """\
>>> print(body.returned("forces", 3, x, u, 0.0))  # in the shape that forces should have
[4. 0. 0.]
""",
    "rigid_body_state": """\
>>> print(body.rigid_body_state(x).position)
[1. 2. 3.]
""",
    "rotation": """\
>>> print(body.rotation(body.build_state(orientation=[0.0, 0, 0, 1.0])))  # half a turn about z
[[-1.  0.  0.]
 [ 0. -1.  0.]
 [ 0.  0.  1.]]
""",
    "sound": """\
>>> body.sound(x, u, 0.0)  # nothing to be watched: mass and inertia are constants
[]
""",
    "spatial_inertia": """\
>>> print(np.diag(body.spatial_inertia(x, u, 0.0)))  # kg·m² and kg
[1. 2. 3. 2. 2. 2.]
""",
    "state": """\
>>> print(body.state.n, body.state.ne)  # entries of a state, and of an error
13 12
""",
    "stepped": """\
>>> method, system, begun = body.stepped(body.method("cg4"), lambda x, t: u)
>>> print(begun(x)[4:7])  # q, V, and the momentum that is kept
[1. 2. 3.]
""",
    "system": """\
>>> motion = body.system(lambda x, t: u)
>>> print(motion.acceleration(0.0, *body.to_motion(x)).round(9))
[ 0.  0.  2.  2. -4.  0.]
""",
    "to_motion": """\
>>> q, V = body.to_motion(x)
>>> print(V)  # [ω; v] in body axes
[0. 0. 1. 4. 0. 0.]
""",
    "twist": """\
>>> print(body.twist(x))
[0. 0. 1. 4. 0. 0.]
""",
    "wrench": """\
>>> print(body.wrench(x, u, 0.0))  # of moments and forces
[0. 0. 6. 4. 0. 0.]
""",
}.items()}  # fmt: skip

#: of what a rigid body has in common with other control systems
OF_SYSTEMS = {name: SATELLITE + calls for name, calls in {
    "error_jacobian": """\
>>> E = body.error_jacobian(x)
>>> print(E.shape, E[4:7, 3:6].tolist())  # of positions errors are differences
(13, 12) [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
""",
    "error_jacobian_rate": """\
>>> print(body.error_jacobian_rate(x, np.ones(13)).shape)
(12, 12)
""",
    "method": """\
>>> print(body.method().name, body.method("dqvi").name)
cg4 dqvi
""",
    "name": """\
>>> print(body.name)
Satellite
""",
    "neutral": """\
>>> print(body.neutral())
[1. 0. 0. 0. 0. 0. 0. 0. 0. 0. 0. 0. 0.]
""",
    "random": """\
>>> print(np.linalg.norm(body.orientation(body.random(np.random.default_rng(0)))).round(9))  # a unit quaternion
1.0
""",
    "state_diff": """\
>>> ahead = body.build_state(position=[1.5, 2.0, 3.0], angular_velocity=[0, 0, 1.0], linear_velocity=[4.0, 0, 0])
>>> print(body.state_diff(ahead, x).round(9)[3:6])
[0.5 0.  0. ]
""",
    "state_plus": """\
>>> print(body.state_plus(x, 0.5 * np.eye(12)[3])[body.indices.position])
[1.5 2.  3. ]
""",
}.items()}  # fmt: skip
