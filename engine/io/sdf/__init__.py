"""SDF, the format of Gazebo and Drake: models and worlds, their frames, and what is said besides the tree."""
