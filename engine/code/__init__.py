"""Compiled functions, simulations' steps and controllers as code: C99, objects for other processors, WebAssembly."""

from engine.calls import check_calls
from engine.code.export import export_code
from engine.code.functions import ExportError

__all__ = ["ExportError", "export_code"]

check_calls(__name__)
