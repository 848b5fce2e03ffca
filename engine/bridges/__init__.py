"""Live simulations on the wire: their joints, transforms and wrenches out, commands in, by DDS as ROS 2 names it, or to Foxglove."""

from engine.bridges.bridge import Bridge, bridge
from engine.bridges.names import BridgeError, BridgeWarning

__all__ = ["Bridge", "BridgeError", "BridgeWarning", "bridge"]
