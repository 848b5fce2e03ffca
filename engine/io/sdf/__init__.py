"""Reader of SDF, the format of Gazebo and Drake: models, worlds and frames; and loops, sensors and contacts beside the tree."""
