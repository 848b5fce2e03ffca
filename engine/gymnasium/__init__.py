"""Environments for reinforcement learning, of Gymnasium's form: ``pip install "articulated-engine[gymnasium]"``."""

from engine.gymnasium.task import EnvError
from engine.gymnasium.vector_env import VectorEnv

__all__ = ["EnvError", "VectorEnv"]
