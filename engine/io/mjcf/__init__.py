"""MJCF, MuJoCo's format: a robot's tree, and what drives, holds and touches it."""
