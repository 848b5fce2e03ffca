"""Examples of ``Robot``'s methods, which ``help`` shows: numbers that can be checked by hand."""

PENDULUM = """
>>> import numpy as np
>>> import engine
>>> builder = engine.Builder()  # a pendulum: 2 kg at the end of a massless rod of 3 m, level at q = 0
>>> _ = builder.add_link("base"), builder.add_link("rod", engine.spatial.inertia.from_mass(2.0, [3, 0, 0], np.zeros((3, 3))))
>>> _ = builder.add_joint("pivot", "revolute", "base", "rod", axis=[0, -1, 0])
>>> rod = engine.compile(builder.model())
"""

PAIR = """
>>> import numpy as np
>>> import engine
>>> builder, sphere = engine.Builder(), engine.spatial.inertia.sphere  # in free fall, a slider of 1 kg on a base of 3 kg
>>> _ = builder.add_link("base", sphere(3.0, 1.0)), builder.add_link("slider", sphere(1.0, 1.0))
>>> _ = builder.add_joint("slide", "prismatic", "base", "slider", axis=[1, 0, 0])
>>> pair = engine.compile(builder.model(floating_base=True), gravity=(0, 0, 0))
>>> q, v = pair.model.neutral(), np.array([0, 0, 0, 0, 0, 0, 1.0])  # the base at rest, the slider at 1 m/s along x
"""

#: by method, what it is tried on and the calls
EXAMPLES = {
    "rnea": PENDULUM + """\
>>> print(rod.rnea([0.0], [0.0], [0.0]).round(6))  # 2 kg · 9.81 m/s² · 3 m
[58.86]
""",
    "aba": PENDULUM + """\
>>> print(rod.aba([0.0], [0.0], [0.0]).round(6))  # falls with g/3
[-3.27]
>>> print(rod.aba(np.zeros((5, 1)), np.zeros((5, 1)), np.zeros((5, 1))).shape)  # a batch
(5, 1)
""",
    "bias": PENDULUM + """\
>>> print(rod.bias([0.0], [2.0]).round(6))  # gravity alone: one hinge has no Coriolis force
[58.86]
""",
    "gravity_forces": PENDULUM + """\
>>> print(rod.gravity_forces([np.pi / 3]).round(6))  # m g l cos q
[29.43]
""",
    "crba": PENDULUM + """\
>>> print(rod.crba([0.0]))  # m l²
[[18.]]
""",
    "minv": PENDULUM + """\
>>> print(rod.minv([0.0]).round(6))  # 1/18
[[0.055556]]
""",
    "coriolis": PENDULUM + """\
>>> print(rod.coriolis([0.3], [2.0]).round(6) + 0.0)  # M is constant
[[0.]]
""",
    "christoffel": PENDULUM + """\
>>> print(rod.christoffel([0.3]).round(6) + 0.0)  # M is constant
[[[0.]]]
""",
    "energy": PENDULUM + """\
>>> K, U = rod.energy([np.pi / 2], [2.0])  # upright
>>> print(K.round(6), U.round(6))  # ½ · 18 · 2², and m g l
36.0 58.86
""",
    "energy_derivatives": PENDULUM + """\
>>> dK_dq, dK_dv, dU_dq = rod.energy_derivatives([0.0], [2.0])
>>> print(dK_dv.round(6), dU_dq.round(6))  # M v, and g(q)
[36.] [58.86]
""",
    "forward_kinematics": PENDULUM + """\
>>> print(rod.forward_kinematics([np.pi / 2])[1, :3, :3].round(6) + 0.0)  # of the rod: its x is up
[[ 0.  0. -1.]
 [ 0.  1.  0.]
 [ 1.  0.  0.]]
""",
    "twists": PENDULUM + """\
>>> print(rod.twists([0.0], [2.0])[1] + 0.0)  # of the rod: it turns about −y
[ 0. -2.  0.  0.  0.  0.]
""",
    "jacobian": PENDULUM + """\
>>> print(rod.jacobian([0.0], "rod", point=[3.0, 0, 0])[:, 0] + 0.0)  # its end goes up by 3 m a radian
[ 0. -1.  0.  0.  0.  3.]
""",
    "jacobian_dot": PENDULUM + """\
>>> print(rod.jacobian_dot([0.0], [2.0], "rod", frame="world_aligned", point=[3.0, 0, 0])[3:] @ [2.0] + 0.0)  # −ω² l
[-12.   0.   0.]
""",
    "jacobian_derivative": PENDULUM + """\
>>> print(rod.jacobian_derivative([0.0], "rod", frame="world_aligned", point=[3.0, 0, 0])[3:, 0, 0].round(6) + 0.0)
[-3.  0.  0.]
""",
    "center_of_mass": PENDULUM + """\
>>> print(rod.center_of_mass([np.pi / 2]).round(6) + 0.0)
[0. 0. 3.]
""",
    "center_of_mass_jacobian": PENDULUM + """\
>>> print(rod.center_of_mass_jacobian([0.0])[:, 0] + 0.0)
[0. 0. 3.]
""",
    "center_of_mass_jacobian_dot": PENDULUM + """\
>>> print(rod.center_of_mass_jacobian_dot([0.0], [2.0])[:, 0].round(6) + 0.0)  # times v = 2 rad/s: −ω² l
[-6.  0.  0.]
""",
    "rnea_derivatives": PENDULUM + """\
>>> dq, dv = rod.rnea_derivatives([np.pi / 2], [0.0], [0.0])
>>> print(dq.round(6), dv.round(6) + 0.0)  # −m g l: upright it is unstable
[[-58.86]] [[0.]]
""",
    "aba_derivatives": PENDULUM + """\
>>> dq, dv, dtau = rod.aba_derivatives([np.pi / 2], [0.0], [0.0])
>>> print(dq.round(6), dtau.round(6))  # g/l, and 1/(m l²)
[[3.27]] [[0.055556]]
""",
    "inverse_kinematics": PENDULUM + """\
>>> target = rod.forward_kinematics([0.4])[1]
>>> found = rod.inverse_kinematics({"rod": target}, [0.0])
>>> print(found.q.round(6))
[0.4]
""",
    "regressor": PENDULUM + """\
>>> Y = rod.regressor([0.0], [0.0], [0.0])  # tau = Y π, linear in masses, moments and inertias
>>> print(Y.shape, np.allclose(Y @ engine.dynamics.inertial_parameters(rod.model), rod.rnea([0.0], [0.0], [0.0])))
(1, 20) True
""",
    "energy_regressor": PENDULUM + """\
>>> Y_K, Y_U = rod.energy_regressor([np.pi / 2], [2.0])
>>> pi = engine.dynamics.inertial_parameters(rod.model)
>>> print((Y_K @ pi).round(6), (Y_U @ pi).round(6))
36.0 58.86
""",
    "at": PENDULUM + """\
>>> scaled = engine.compile(rod.model, parameters=["mass.rod"])
>>> print(scaled.at({"mass.rod": [1.0, 2.0]}).gravity_forces([0.0]).round(6))
[[29.43]
 [58.86]]
""",
    "momentum": PAIR + """\
>>> print(pair.momentum(q, v))  # [angular; linear]: 1 kg · 1 m/s
[0. 0. 0. 1. 0. 0.]
""",
    "momentum_matrix": PAIR + """\
>>> print(pair.momentum_matrix(q)[3] + 0.0)  # its row for the linear momentum along x
[0. 0. 0. 4. 0. 0. 1.]
""",
    "momentum_matrix_dot": PAIR + """\
>>> print(pair.momentum_matrix_dot(q, v).shape)
(6, 7)
""",
    "momentum_derivatives": PAIR + """\
>>> dq, dv = pair.momentum_derivatives(q, v)
>>> print(np.allclose(dv, pair.momentum_matrix(q)))
True
""",
    "momentum_regressor": PAIR + """\
>>> print((pair.momentum_regressor(q, v) @ engine.dynamics.inertial_parameters(pair.model)).round(9) + 0.0)
[0. 0. 0. 1. 0. 0.]
""",
    "centroidal_momentum": PAIR + """\
>>> print(pair.centroidal_momentum(q, v))
[0. 0. 0. 1. 0. 0.]
""",
    "centroidal_momentum_matrix": PAIR + """\
>>> print(pair.centroidal_momentum_matrix(q)[3] + 0.0)
[0. 0. 0. 4. 0. 0. 1.]
""",
    "centroidal_momentum_matrix_dot": PAIR + """\
>>> print(pair.centroidal_momentum_matrix_dot(q, v).shape)
(6, 7)
""",
    "centroidal_kinetic_energy": PAIR + """\
>>> print(pair.centroidal_kinetic_energy(q, v))  # ½ · 1 · 1² less that of 4 kg at 0.25 m/s
0.375
""",
    "velocity_from_momentum": PAIR + """\
>>> print(pair.velocity_from_momentum(q, np.zeros(6), [1.0])[3])  # the base goes back
-0.25
""",
    "generalized_jacobian": PAIR + """\
>>> print(pair.generalized_jacobian(q, "slider")[3])  # of 1 m/s in the joint 0.75 are left
[0.75]
""",
    "free_floating_inertia": PAIR + """\
>>> print(pair.free_floating_inertia(q))  # 1 · 3/(1 + 3) kg
[[0.75]]
""",
    "free_floating_bias": PAIR + """\
>>> print(pair.free_floating_bias(q, v) + 0.0)  # nothing turns
[0.]
""",
    "floating_inverse_dynamics": PAIR + """\
>>> tau, base = pair.floating_inverse_dynamics(q, 0 * v, [1.0])
>>> print(tau, base[3])  # 0.75 kg · 1 m/s², and the base goes back
[0.75] -0.25
""",
    "base_reaction": PAIR + """\
>>> vdot = np.array([0, 0, 0, 0, 0, 0, 1.0])  # the slider is pushed off, the base held
>>> print(pair.base_reaction(q, 0 * v, vdot)[3])  # N
-1.0
""",
    "reaction_null_space": PAIR + """\
>>> print(pair.reaction_null_space(q))  # no slide turns the base
[[1.]]
""",
}
