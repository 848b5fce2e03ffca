"""Lazy imports: public names of packages that a simulation does not take, loaded when one is first asked for."""

from __future__ import annotations

import sys
from typing import Any

from engine.checks import nearest
from engine.gc_pause import gc_paused

#: rooms, and their names in ``engine``
LAZY = {
    "campaign": ("Campaign", "CampaignError", "Runs", "campaign", "load_campaign"), "code": ("ExportError", "code", "export_code"),
    "bridges": ("Bridge", "BridgeError", "BridgeWarning", "bridge", "bridges"), "fmu": ("export_fmu", "fmu"),
    "control": ("ControlError", "control", "estimator", "ilqr", "lqr", "rollout_gradient"), "convert": ("convert",),
    "identification": ("Identification", "IdentificationError", "IdentificationWarning", "base_parameters", "identification", "identify"),
    "io": ("load_sdf", "save_mjcf"), "sensors": ("sensors",), "space": ("space",),
    "viewer": ("Follow", "Onboard", "Scene", "Shot", "Shown", "Sky", "Viewer", "ViewerError", "export", "images", "render", "view",
               "viewer"),
    "viewer.serve": ("Server", "Widget", "serve"),
}  # fmt: skip


def loaded(room: str) -> Any:
    """Return the room, which is loaded now if it was not."""
    with gc_paused():
        if room == "campaign":
            import engine.campaign
        elif room == "code":
            import engine.code
        elif room == "control":
            import engine.control
        elif room == "convert":
            import engine.convert
        elif room == "bridges":
            import engine.bridges
        elif room == "fmu":
            import engine.fmu
        elif room == "io":
            import engine.io
        elif room == "identification":
            import engine.identification
        elif room == "sensors":
            import engine.sensors
        elif room == "space":
            import engine.space
        elif room == "viewer":
            import engine.viewer
        else:
            import engine.viewer.serve  # noqa: F401
    return sys.modules[f"engine.{room}"]


def lazily_imported(name: str) -> Any:
    """Return what has a name in ``engine`` that of a room that is loaded later."""
    if (room := next((room for room, names in LAZY.items() if name in names), None)) is None:
        import engine

        raise AttributeError(f"module 'engine' has no attribute {name!r}{nearest(name, engine.__all__, 0.7)}")
    return loaded(room) if name == room else getattr(loaded(room), name)


def load_viewer() -> None:
    """Load what shows models and trajectories in notebooks and figures."""
    loaded("viewer")
