"""Controllers that are designed, and gradients of whole runs: from the derivatives of a simulator's step."""

from engine.calls import check_calls
from engine.control.estimator import Estimator, estimator
from engine.control.horizon import ControlError
from engine.control.ilqr import ilqr
from engine.control.lqr import LQR, lqr
from engine.control.plan import Plan
from engine.control.rollout_gradient import RolloutGradient, rollout_gradient

__all__ = ["LQR", "ControlError", "Estimator", "Plan", "RolloutGradient", "estimator", "ilqr", "lqr", "rollout_gradient"]

check_calls(__name__)
