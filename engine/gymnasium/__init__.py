"""Environments for reinforcement learning, of Gymnasium's form: ``pip install ".[gymnasium]"``."""

from engine.calls import check_calls
from engine.checks import require_packages

require_packages("an environment of Gymnasium", "gymnasium", "gymnasium")

from engine.gymnasium.env import Env  # noqa: E402
from engine.gymnasium.environments import register  # noqa: E402
from engine.gymnasium.task import EnvError  # noqa: E402
from engine.gymnasium.vector_env import VectorEnv  # noqa: E402

register()

__all__ = ["Env", "EnvError", "VectorEnv", "register"]

check_calls(__name__)
