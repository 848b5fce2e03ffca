"""States in the orders and frames of other libraries: Pinocchio, MuJoCo, Drake, and ROS messages.

``to_X(model, q, v)`` takes this engine's q and v (see NOTATION.md) and returns X's, ``from_X`` undoes it; without v they take and return q
alone. ``vdot=`` (which needs v) and ``tau=`` come out behind, in this order. All are batches (..., n), and may be traced. Power is the
same on both sides, tau·v; accelerations are the rates of the library's own velocities, with ω × v where those are in axes that do not turn.

The libraries' vectors go joint by joint, as ``joints`` names them: ``model.names`` of Pinocchio, ``[model.joint(i).name for i in
range(model.njnt)]`` of MuJoCo, ``name`` of a JointState. A floating base may go by any name that the robot does not have (Pinocchio's
"root_joint", MuJoCo's ""), and comes first where it is not named; fixed joints have no entries. Without ``joints`` the order is the model's
own, of Pinocchio that of its URDF reader.

Mimic joints are joints like others there (Pinocchio with ``mimic=True`` is told apart by ``joints`` without them): they get what their
source makes of them, and no force; what comes back must agree with the source, and forces add up at it. What a library has no joint for
is refused by name. All raise StateError.
"""

from engine.calls import check_calls
from engine.convert.libraries import wxyz_to_xyzw, xyzw_to_wxyz
from engine.convert.states import (
    from_drake,
    from_mujoco,
    from_pinocchio,
    from_ros,
    to_drake,
    to_mujoco,
    to_pinocchio,
    to_ros,
)

__all__ = ["from_drake", "from_mujoco", "from_pinocchio", "from_ros", "to_drake", "to_mujoco", "to_pinocchio", "to_ros", "wxyz_to_xyzw",
           "xyzw_to_wxyz"]  # fmt: skip

check_calls(__name__)
