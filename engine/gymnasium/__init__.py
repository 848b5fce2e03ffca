"""Environments for reinforcement learning, of Gymnasium's form: ``pip install "articulated-engine[gymnasium]"``."""

from engine.gymnasium.env import Env
from engine.gymnasium.environments import register
from engine.gymnasium.task import EnvError
from engine.gymnasium.vector_env import VectorEnv

register()

__all__ = ["Env", "EnvError", "VectorEnv", "register"]
