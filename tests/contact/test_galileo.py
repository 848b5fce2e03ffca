"""Laws of motion are the same on what moves on at a constant speed: a table on stiff legs that slides without friction stands as at rest."""

import numpy as np
import pytest

import engine
from engine.spatial import inertia, se3


@pytest.mark.parametrize("dt", [2e-3, 5e-4])
def test_a_table_on_stiff_legs_stands_as_it_slides(dt):
    b = engine.Builder("table")
    b.add_link("top", inertia=inertia.box(10.0, (0.4, 0.3, 0.1)))
    for k, (x, y) in enumerate(((0.2, 0.15), (0.2, -0.15), (-0.2, 0.15), (-0.2, -0.15))):
        b.add_link(f"foot{k}", inertia=inertia.sphere(0.1, 0.02), collisions=[engine.Geometry("sphere", (0.02,))])
        b.add_joint(f"leg{k}", "prismatic", "top", f"foot{k}", axis=(0, 0, -1), placement=se3.pose(np.eye(3), [x, y, 0.0]))
    ice = engine.ContactMaterial(friction=0.0)
    simulator = engine.Simulator(b.model(floating_base=True), dt=dt, contacts=engine.Contacts(engine.HalfSpace(material=ice), material=ice),
                                 controller=lambda t, q, v: np.append(np.zeros(6), 5000.0 * (0.3 - q[7:]) - 200.0 * v[6:]))  # fmt: skip
    assert "ros34pw2" in str(simulator)
    q, still = np.array([1.0, *[0.0] * 5, 0.3195, *[0.3] * 4]), np.zeros(10)
    rest, slides = (simulator.run(q, still + vx * (np.arange(10) == 3), 0.4) for vx in (0.0, 10.0))
    # twists of bodies come and go through rotations that are units to an ulp, of 10 m/s in each of 800 steps
    rounding = 10.0 * 800 * 4 * np.finfo(float).eps
    assert np.abs(slides.q[:, :4] - rest.q[:, :4]).max() < rounding
    assert np.abs(slides.q[:, 6:] - rest.q[:, 6:]).max() < rounding
    weight = 10.4 * 9.81
    assert np.abs(slides("contacts.force")[-2, :4, 2] - weight / 4.0).max() < 1e-2 * weight   # it was 5 % beside that, front and rear
