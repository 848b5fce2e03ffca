"""Sensors: what a controller knows of a robot, with bias, noise, scale, misalignment, steps, limits and latency. Public names."""

from engine.calls import check_calls
from engine.components.component import SimulationError
from engine.sensors.attitude_filter import AttitudeFilter, nees
from engine.sensors.fields import GPS, Magnetometer
from engine.sensors.from_file import of
from engine.sensors.inertial import IMU, Accelerometer, Gyro
from engine.sensors.joints import ContactForce, Encoder, ForceTorque, JointTorque, Touch
from engine.sensors.optical_sensors import Camera, Range, RelativePose, StarTracker, SunSensor
from engine.sensors.ray_sensors import DepthCamera, Eye, Lidar, RangeFinder, looking
from engine.sensors.sensor import Errors, Sensor

__all__ = [
    "Accelerometer", "AttitudeFilter", "Camera", "ContactForce", "DepthCamera", "Encoder", "Errors", "Eye", "ForceTorque", "GPS", "Gyro",
    "IMU", "JointTorque", "Lidar", "Magnetometer", "Range", "RangeFinder", "RelativePose", "Sensor", "SimulationError", "StarTracker",
    "SunSensor", "Touch", "looking", "nees", "of",
]  # fmt: skip

check_calls(__name__)
