"""Live simulations on the wire: their joints, transforms and wrenches out, commands in, by DDS as ROS 2 names it, or to Foxglove."""

from engine.bridges.bridge import Bridge, bridge
from engine.bridges.names import BridgeError, BridgeWarning
from engine.calls import check_calls

__all__ = ["Bridge", "BridgeError", "BridgeWarning", "bridge"]

check_calls(__name__)
