"""Reader of SDF, the format of Gazebo and Drake: models, worlds, frames, and what is beside the kinematic tree (loops, sensors,
contacts)."""
