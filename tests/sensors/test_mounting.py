"""Sensors that a filter takes for one: on other links and in other axes they are refused, by name."""

import numpy as np
import pytest

import engine
from engine import sensors as S
from engine.spatial import inertia, se3

TURNED = se3.pose(np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]]), [0.1, 0.2, 0.3])


def craft(hinge="revolute"):
    b = engine.Builder("craft")
    b.add_link("bus", inertia=inertia.box(100.0, [0.8, 1.0, 1.2]))
    b.add_link("boom", inertia=inertia.box(2.0, [0.1, 0.1, 0.1]))
    b.add_joint("hinge", hinge, "bus", "boom", placement=se3.pose(np.eye(3) if hinge != "fixed" else TURNED[:3, :3], [0.5, 0, 0]),
                **({} if hinge == "fixed" else {"axis": (0, 0, 1)}))  # fmt: skip
    return b.model(floating_base=True)


def made(model, gyro=("bus", None), star=("bus", None), period=0.01, dt=0.01, kind=S.Gyro, laws=(), names=("gyro", "star_tracker"),
         **options):  # fmt: skip
    own = [kind(*gyro, period=period, **options), S.StarTracker(*star, period=0.25)]
    estimate = S.AttitudeFilter(1e-4, 1e-6, 1e-4, period=period, gyro=names[0], star_tracker=names[1], latest=2)
    return engine.Simulator(model, dt=dt, gravity=(0, 0, 0), sensors=own, laws=[*laws, estimate])


def test_sensors_that_turn_against_each_other_are_refused():
    with pytest.raises(engine.SimulationError, match="filter: 'gyro' is on 'bus', and 'star_tracker' on 'boom', which a joint moves"):
        made(craft(), star=("boom", None))
    with pytest.raises(engine.SimulationError, match="'imu' is on 'boom', and 'star_tracker' on 'bus'"):
        made(craft(), gyro=("boom", None), kind=S.IMU, names=("imu", "star_tracker"))


@pytest.mark.parametrize("options", [{"star": ("bus", TURNED)}, {"gyro": ("bus", TURNED)}])
def test_other_axes_are_refused(options):
    with pytest.raises(engine.SimulationError, match=r"axes of 'star_tracker' are turned by 1\.57 rad against those of 'gyro'; expected"):
        made(craft(), **options)
    with pytest.raises(engine.SimulationError, match=r"turned by 1\.57 rad"):
        made(craft("fixed"), star=("boom", None))


def test_the_same_axes_are_taken_wherever_they_are():
    made(craft(), gyro=("bus", TURNED), star=("bus", TURNED))
    made(craft(), star=("bus", [0.1, 0.2, 0.3]))
    made(craft("fixed"), gyro=("bus", TURNED), star=("boom", None))            # welded on, and turned as the other


def test_a_law_between_is_asked_nothing():
    def rates(gyro):
        return TURNED[:3, :3] @ gyro

    made(craft(), gyro=("bus", TURNED), laws=[rates], names=("rates", "star_tracker"))
