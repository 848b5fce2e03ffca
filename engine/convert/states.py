"""Our states in the libraries' vectors, and theirs in ours."""

from __future__ import annotations

from collections.abc import Iterable
from typing import overload

import numpy as np
from numpy.typing import ArrayLike

from engine.convert.conversion import inward, outward
from engine.convert.libraries import DRAKE, MUJOCO, PINOCCHIO, ROS
from engine.model import Model

Array = np.ndarray


# ---------------------------------------------------------------- Pinocchio


@overload
def to_pinocchio(model: Model, q: ArrayLike, *, joints: Iterable[str] | None = None) -> Array: ...
@overload
def to_pinocchio(model: Model, q: ArrayLike, v: ArrayLike | None = None, *, vdot: ArrayLike | None = None, tau: ArrayLike | None = None,
                 joints: Iterable[str] | None = None) -> tuple[Array, ...]: ...  # fmt: skip
def to_pinocchio(model: Model, q: ArrayLike, v: ArrayLike | None = None, *, vdot: ArrayLike | None = None, tau: ArrayLike | None = None,
                 joints: Iterable[str] | None = None) -> Array | tuple[Array, ...]:  # fmt: skip
    """Return Pinocchio's q of ours, or with v, vdot and tau a tuple of all that are given.

    A floating base is [p, qx, qy, qz, qw], its velocity [v, ω] in body axes. Continuous joints are [cos, sin], planar ones
    [x, y, cos, sin]. ``joints`` is ``model.names`` there; by default the order of its URDF reader, children by their joints' names.
    See :mod:`engine.convert` for orders, frames, mimic joints and what is refused.

    >>> from engine.model import Builder
    >>> stone = Builder()
    >>> _ = stone.add_link("stone")
    >>> model = stone.model(floating_base=True)
    >>> to_pinocchio(model, [1, 0, 0, 0, 1, 2, 3], [0.1, 0.2, 0.3, 4, 5, 6])
    (array([1., 2., 3., 0., 0., 0., 1.]), array([4. , 5. , 6. , 0.1, 0.2, 0.3]))
    """
    return outward(PINOCCHIO, model, joints, q=q, v=v, vdot=vdot, tau=tau)


@overload
def from_pinocchio(model: Model, q: ArrayLike, *, joints: Iterable[str] | None = None) -> Array: ...
@overload
def from_pinocchio(model: Model, q: ArrayLike, v: ArrayLike | None = None, *, vdot: ArrayLike | None = None, tau: ArrayLike | None = None,
                   joints: Iterable[str] | None = None) -> tuple[Array, ...]: ...  # fmt: skip
def from_pinocchio(model: Model, q: ArrayLike, v: ArrayLike | None = None, *, vdot: ArrayLike | None = None, tau: ArrayLike | None = None,
                   joints: Iterable[str] | None = None) -> Array | tuple[Array, ...]:  # fmt: skip
    """Return our q of Pinocchio's, or with v, vdot and tau a tuple of all that are given: what undoes :func:`to_pinocchio`.

    See :mod:`engine.convert` for orders, frames, mimic joints and what is refused.

    >>> from engine.model import Builder
    >>> stone = Builder()
    >>> _ = stone.add_link("stone")
    >>> model = stone.model(floating_base=True)
    >>> from_pinocchio(model, [1, 2, 3, 0, 0, 0, 1], [4, 5, 6, 0.1, 0.2, 0.3])
    (array([1., 0., 0., 0., 1., 2., 3.]), array([0.1, 0.2, 0.3, 4. , 5. , 6. ]))
    """
    return inward(PINOCCHIO, model, joints, q=q, v=v, vdot=vdot, tau=tau)


# ---------------------------------------------------------------- MuJoCo


@overload
def to_mujoco(model: Model, q: ArrayLike, *, joints: Iterable[str] | None = None) -> Array: ...
@overload
def to_mujoco(model: Model, q: ArrayLike, v: ArrayLike | None = None, *, vdot: ArrayLike | None = None, tau: ArrayLike | None = None,
              joints: Iterable[str] | None = None) -> tuple[Array, ...]: ...  # fmt: skip
def to_mujoco(model: Model, q: ArrayLike, v: ArrayLike | None = None, *, vdot: ArrayLike | None = None, tau: ArrayLike | None = None,
              joints: Iterable[str] | None = None) -> Array | tuple[Array, ...]:  # fmt: skip
    """Return MuJoCo's q of ours, or with v, vdot and tau a tuple of all that are given.

    A free joint is [p, qw, qx, qy, qz] in the world, its velocity [v, ω] with v in the world's axes and ω in the body's. Planar joints
    are the two slides and the hinge NAME_TX, NAME_TY, NAME_RZ of its URDF reader. Screws and universal joints it has not.
    See :mod:`engine.convert` for orders, frames, mimic joints and what is refused.

    A body that faces y and flies ahead, along its own x:

    >>> import numpy as np
    >>> from engine.model import Builder
    >>> stone = Builder()
    >>> _ = stone.add_link("stone")
    >>> model = stone.model(floating_base=True)
    >>> turned = [np.sqrt(0.5), 0, 0, np.sqrt(0.5)]
    >>> to_mujoco(model, [*turned, 1, 2, 3], [0, 0, 0.3, 4, 0, 0])[1].round(12) + 0.0
    array([0. , 4. , 0. , 0. , 0. , 0.3])
    """
    return outward(MUJOCO, model, joints, q=q, v=v, vdot=vdot, tau=tau)


@overload
def from_mujoco(model: Model, q: ArrayLike, *, joints: Iterable[str] | None = None) -> Array: ...
@overload
def from_mujoco(model: Model, q: ArrayLike, v: ArrayLike | None = None, *, vdot: ArrayLike | None = None, tau: ArrayLike | None = None,
                joints: Iterable[str] | None = None) -> tuple[Array, ...]: ...  # fmt: skip
def from_mujoco(model: Model, q: ArrayLike, v: ArrayLike | None = None, *, vdot: ArrayLike | None = None, tau: ArrayLike | None = None,
                joints: Iterable[str] | None = None) -> Array | tuple[Array, ...]:  # fmt: skip
    """Return our q of MuJoCo's, or with v, vdot and tau a tuple of all that are given: what undoes :func:`to_mujoco`.

    See :mod:`engine.convert` for orders, frames, mimic joints and what is refused.

    >>> import numpy as np
    >>> from engine.model import Builder
    >>> stone = Builder()
    >>> _ = stone.add_link("stone")
    >>> model = stone.model(floating_base=True)
    >>> turned = [np.sqrt(0.5), 0, 0, np.sqrt(0.5)]
    >>> from_mujoco(model, [1, 2, 3, *turned], [0, 4, 0, 0, 0, 0.3])[1].round(12) + 0.0
    array([0. , 0. , 0.3, 4. , 0. , 0. ])
    """
    return inward(MUJOCO, model, joints, q=q, v=v, vdot=vdot, tau=tau)


# ---------------------------------------------------------------- Drake


@overload
def to_drake(model: Model, q: ArrayLike, *, joints: Iterable[str] | None = None) -> Array: ...
@overload
def to_drake(model: Model, q: ArrayLike, v: ArrayLike | None = None, *, vdot: ArrayLike | None = None, tau: ArrayLike | None = None,
             joints: Iterable[str] | None = None) -> tuple[Array, ...]: ...  # fmt: skip
def to_drake(model: Model, q: ArrayLike, v: ArrayLike | None = None, *, vdot: ArrayLike | None = None, tau: ArrayLike | None = None,
             joints: Iterable[str] | None = None) -> Array | tuple[Array, ...]:  # fmt: skip
    """Return Drake's q of ours, or with v, vdot and tau a tuple of all that are given.

    A quaternion floating joint is [qw, qx, qy, qz, p], its velocity [ω, v], both in the axes of what it hangs on, the world's. A ball
    joint is roll, pitch and yaw (:func:`engine.spatial.so3.to_rpy`) with ω in the parent's axes; planar joints have [ẋ, ẏ, θ̇].
    See :mod:`engine.convert` for orders, frames, mimic joints and what is refused.

    A body that faces y and flies ahead, along its own x:

    >>> import numpy as np
    >>> from engine.model import Builder
    >>> stone = Builder()
    >>> _ = stone.add_link("stone")
    >>> model = stone.model(floating_base=True)
    >>> turned = [np.sqrt(0.5), 0, 0, np.sqrt(0.5)]
    >>> to_drake(model, [*turned, 1, 2, 3], [0, 0, 0.3, 4, 0, 0])[1].round(12) + 0.0
    array([0. , 0. , 0.3, 0. , 4. , 0. ])
    """
    return outward(DRAKE, model, joints, q=q, v=v, vdot=vdot, tau=tau)


@overload
def from_drake(model: Model, q: ArrayLike, *, joints: Iterable[str] | None = None) -> Array: ...
@overload
def from_drake(model: Model, q: ArrayLike, v: ArrayLike | None = None, *, vdot: ArrayLike | None = None, tau: ArrayLike | None = None,
               joints: Iterable[str] | None = None) -> tuple[Array, ...]: ...  # fmt: skip
def from_drake(model: Model, q: ArrayLike, v: ArrayLike | None = None, *, vdot: ArrayLike | None = None, tau: ArrayLike | None = None,
               joints: Iterable[str] | None = None) -> Array | tuple[Array, ...]:  # fmt: skip
    """Return our q of Drake's, or with v, vdot and tau a tuple of all that are given: what undoes :func:`to_drake`.

    See :mod:`engine.convert` for orders, frames, mimic joints and what is refused.

    >>> import numpy as np
    >>> from engine.model import Builder
    >>> stone = Builder()
    >>> _ = stone.add_link("stone")
    >>> model = stone.model(floating_base=True)
    >>> turned = [np.sqrt(0.5), 0, 0, np.sqrt(0.5)]
    >>> from_drake(model, [*turned, 1, 2, 3], [0, 0, 0.3, 0, 4, 0])[1].round(12) + 0.0
    array([0. , 0. , 0.3, 4. , 0. , 0. ])
    """
    return inward(DRAKE, model, joints, q=q, v=v, vdot=vdot, tau=tau)


# ---------------------------------------------------------------- ROS


@overload
def to_ros(model: Model, q: ArrayLike, *, joints: Iterable[str] | None = None) -> Array: ...
@overload
def to_ros(model: Model, q: ArrayLike, v: ArrayLike | None = None, *, vdot: ArrayLike | None = None, tau: ArrayLike | None = None,
           joints: Iterable[str] | None = None) -> tuple[Array, ...]: ...  # fmt: skip
def to_ros(model: Model, q: ArrayLike, v: ArrayLike | None = None, *, vdot: ArrayLike | None = None, tau: ArrayLike | None = None,
           joints: Iterable[str] | None = None) -> Array | tuple[Array, ...]:  # fmt: skip
    """Return ROS's q of ours, or with v, vdot and tau a tuple of all that are given.

    A floating base is what nav_msgs/Odometry holds: the pose [x, y, z, qx, qy, qz, qw] in the world, and the twist [linear, angular] in
    the body's axes (its child_frame_id); a force likewise. Joints of one coordinate are those of a sensor_msgs/JointState; others are
    refused.
    See :mod:`engine.convert` for orders, frames, mimic joints and what is refused.

    >>> from engine.model import Builder
    >>> stone = Builder()
    >>> _ = stone.add_link("stone")
    >>> model = stone.model(floating_base=True)
    >>> to_ros(model, [1, 0, 0, 0, 1, 2, 3], [0.1, 0.2, 0.3, 4, 5, 6])
    (array([1., 2., 3., 0., 0., 0., 1.]), array([4. , 5. , 6. , 0.1, 0.2, 0.3]))
    """
    return outward(ROS, model, joints, q=q, v=v, vdot=vdot, tau=tau)


@overload
def from_ros(model: Model, q: ArrayLike, *, joints: Iterable[str] | None = None) -> Array: ...
@overload
def from_ros(model: Model, q: ArrayLike, v: ArrayLike | None = None, *, vdot: ArrayLike | None = None, tau: ArrayLike | None = None,
             joints: Iterable[str] | None = None) -> tuple[Array, ...]: ...  # fmt: skip
def from_ros(model: Model, q: ArrayLike, v: ArrayLike | None = None, *, vdot: ArrayLike | None = None, tau: ArrayLike | None = None,
             joints: Iterable[str] | None = None) -> Array | tuple[Array, ...]:  # fmt: skip
    """Return our q of ROS's, or with v, vdot and tau a tuple of all that are given: what undoes :func:`to_ros`.

    See :mod:`engine.convert` for orders, frames, mimic joints and what is refused.

    >>> from engine.model import Builder
    >>> stone = Builder()
    >>> _ = stone.add_link("stone")
    >>> model = stone.model(floating_base=True)
    >>> from_ros(model, [1, 2, 3, 0, 0, 0, 1], [4, 5, 6, 0.1, 0.2, 0.3])
    (array([1., 0., 0., 0., 1., 2., 3.]), array([0.1, 0.2, 0.3, 4. , 5. , 6. ]))
    """
    return inward(ROS, model, joints, q=q, v=v, vdot=vdot, tau=tau)
