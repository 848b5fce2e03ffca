"""The sensors that a robot's file describes."""

from __future__ import annotations

from typing import Any

from engine.components.component import SimulationError
from engine.components.makers import TAKEN
from engine.model import Model
from engine.sensors.fields import GPS
from engine.sensors.inertial import IMU, Accelerometer, Gyro
from engine.sensors.joints import Encoder, ForceTorque, JointTorque, Touch
from engine.sensors.optical_sensors import StarTracker
from engine.sensors.ray_sensors import DepthCamera, Lidar, RangeFinder
from engine.sensors.sensor import Sensor

#: what parts are made into, by the names of their kinds
CLASSES: dict[str, Any] = {c.__name__: c for c in (GPS, IMU, Accelerometer, Gyro, Encoder, ForceTorque, JointTorque, Touch, StarTracker,
                                                   RangeFinder, Lidar, DepthCamera)}  # fmt: skip


def of(model: Model, **changes: Any) -> list[Sensor]:
    """Return the sensors that a model's file describes, MJCF or SDF, for ``Simulator(…, sensors=engine.sensors.of(model))``.

    MJCF's accelerometer, gyro, force, torque, touch, jointpos, jointvel, jointactuatorfrc, framepos, framequat and rangefinder (which reads
    ``max_range``, its cutoff, where MuJoCo says −1: nothing is there); SDF's imu, gps (navsat), contact, force_torque, lidar (ray) and
    depth_camera, whose frame is turned so that z points ahead. Their noise is that of a sample, at the file's step or the sensor's rate.
    A name that functions have anyway gets one _ more; what is no name of a program's is recorded, and nobody can ask for it.

    Parameters
    ----------
    changes : arguments that all of them get instead, such as ``period``

    Raises
    ------
    SimulationError : the file describes no sensors that there are

    Examples
    --------
    >>> import engine
    >>> text = '''<mujoco><worldbody><body><joint name="hip"/><geom size="0.1"/><site name="s"/></body></worldbody>
    ... <sensor><gyro name="rate" site="s" noise="0.01"/><jointpos name="angle" joint="hip"/></sensor></mujoco>'''
    >>> [(type(x).__name__, x.name) for x in of(engine.load(text))]
    [('Gyro', 'rate'), ('Encoder', 'angle')]
    """
    parts = () if model.described is None else model.described.measured
    if not parts:
        raise SimulationError(f"the file of '{model.name}' describes no sensors that there are; expected some of {', '.join(CLASSES)}")
    found = []
    for part in parts:
        values = {**part.values, **changes}
        values |= {"joints": values.pop("joint")} if "joint" in values else {}
        values["name"] = f"{values['name']}_" if values["name"] in TAKEN else values["name"]
        found.append(CLASSES[part.kind](**values))
        found[-1].of_file = True
    return found
