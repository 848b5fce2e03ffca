"""Drives: the table's frequencies of two masses at a joint, and the period with play between them."""

import numpy as np
import pytest
import scipy.linalg

import engine
from engine.spatial import inertia
from tests.space.numbers import values


def geared(**more):
    builder = engine.Builder("arm")
    builder.add_link("base"), builder.add_link("link", inertia=inertia.from_mass(1.0, np.zeros(3), 12.0 * np.eye(3)))
    builder.add_joint("elbow", "revolute", "base", "link")
    drive = engine.FlexibleJoint("elbow", rotor=0.8, stiffness=5000.0, **more)
    return drive, drive.on(builder.model())


def test_two_masses():
    """Free, with the motor held, with the link held: by the matrices of mass and stiffness."""
    drive, model = geared()
    M, K = engine.dynamics.crba(model, np.zeros(2)), drive.stiffness * np.array([[1.0, -1.0], [-1.0, 1.0]])
    free = np.sqrt(scipy.linalg.eigh(K, M, eigvals_only=True)[1])
    assert [free, *np.sqrt(np.diag(K) / np.diag(M))] == pytest.approx(values("TWO"), rel=1e-12)


def test_play():
    """At h ≤ 0.01/ω, by where the twist passes zero for the second time."""
    drive, model = geared(backlash=0.001)
    run = engine.Simulator(model, dt=1e-4, actuators=[drive], gravity=(0, 0, 0), joint_dynamics=None).run([0.0, 0.005], np.zeros(2), 0.2)
    delta = run("drive of elbow.deflection")
    k = np.flatnonzero(delta[:-1] * delta[1:] < 0)
    zeros = run.t[k] - delta[k] * np.diff(run.t)[k] / np.diff(delta)[k]
    assert zeros[2] - zeros[0] == pytest.approx(values("BKL")[0], rel=1e-6)
