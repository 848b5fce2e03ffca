"""Who is named where a motion runs away beside contacts, and who is not where nothing is stiff."""

import warnings

import numpy as np
import pytest

import engine
from engine.components.component import SimulationError
from engine.components.forces import CentralGravity
from engine.spatial import inertia


@pytest.mark.parametrize("touching", [False, True])
def test_a_law_that_drives_a_motion_apart_is_named_beside_contacts_too(touching):
    """A law that is too stiff by explicit steps, 2 m from any wall: with contacts, which meet what has run away last, it is named as
    without them."""
    arm = engine.load(engine.example("seven_joint_arm"))
    t = engine.Builder("t")
    t.add_link("a")
    t.add_link("b", inertia=inertia.sphere(1.3, 0.03), collisions=[engine.Geometry("sphere", (0.03,))])
    t.add_joint("w", "fixed", "a", "b")
    model = engine.combine(arm=arm, tool=engine.Mounted(t.model(), on="arm/flange"))
    wall = engine.Contacts(engine.HalfSpace((-1, 0, 0), -2.0), pairs=[("world", "tool/b")]) if touching else None

    def steep(t, q, v):
        return 60.0 * (0.15 * np.sin(6.0 * t) - q) - 4.0 * v

    simulator = engine.Simulator(model, controller=steep, joint_dynamics=None, contacts=wall)
    with pytest.raises(SimulationError, match=r"the motion diverges under steep, which would change the .*integrator='ros34pw2'"):
        simulator.run(np.zeros(7), np.full(7, 0.2), 0.5)


def test_a_planets_field_is_not_stiff_at_its_centre():
    """A robot that floats is looked at where its neutral configuration is: at the planet's centre, where nobody flies."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        simulator = engine.Simulator(engine.load(engine.example("free_flyer"), floating_base=True), gravity=(0, 0, 0),
                                     forces=[CentralGravity()], dt=1e-2)  # fmt: skip
    assert simulator.plant.stiffness is None
