"""Simulators and controllers as FMUs, for every tool that imports the Functional Mock-up Interface (FMI 2.0 and 3.0)."""

from engine.calls import check_calls
from engine.fmu.export import export_fmu

__all__ = ["export_fmu"]

check_calls(__name__)
