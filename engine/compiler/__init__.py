"""Tracing and compilation of NumPy-style functions; knows nothing of physics."""

from engine.compiler.interp import interpret
from engine.compiler.trace import Program, TraceError, trace, verify

__all__ = ["Program", "TraceError", "interpret", "trace", "verify"]
