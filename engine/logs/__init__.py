"""Export of recorded runs to logs that other tools read: ROS 2 (MCAP, rosbag2), MATLAB's .mat, Parquet."""

from engine.logs.flight import WORLD, Distances, Field, Flight, Inertial, OfJoints, Wrench, require_prefix, topics_of
from engine.logs.ros import bag_files, sensors_of, write_mcap, write_rosbag2
from engine.logs.tables import matched, matlab_names, write_mat, write_parquet

__all__ = ["WORLD", "Distances", "Field", "Flight", "Inertial", "OfJoints", "Wrench", "bag_files", "matched", "matlab_names",
           "require_prefix", "sensors_of", "topics_of", "write_mat", "write_mcap", "write_parquet", "write_rosbag2"]  # fmt: skip
