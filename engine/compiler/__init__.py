"""Tracing and compilation of NumPy-style functions; knows nothing of physics."""

from engine.compiler.expr import TraceError
from engine.compiler.interp import interpret
from engine.compiler.program import Program, verify
from engine.compiler.trace import trace

__all__ = ["Program", "TraceError", "interpret", "trace", "verify"]
