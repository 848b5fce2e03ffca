"""Articulated multibody physics: textbook equations in NumPy, compiled to SIMD machine code."""

from typing import TYPE_CHECKING, Any

from engine.gc_pause import gc_paused, grown_old
from engine.numpy_threads import load_numpy

with gc_paused():
    load_numpy()
    from engine import compiler, constraints, dynamics, integrate, io, model, ops, recording, rigid_body, simulation, spatial
    from engine.calls import CallError, check_calls
    from engine.checks import EngineError, EngineWarning
    from engine.compiler import ArgumentError, Gufunc, TraceError, get_threads, gradient, gufunc, jacobian, set_threads
    from engine.compiler.trace_cache import remember
    from engine.constraints import (
        Ball,
        ConstraintError,
        Coupling,
        Distance,
        Grip,
        Hinge,
        Prescribed,
        Slider,
        Weld,
        constrained_dynamics,
        constrained_inverse_dynamics,
    )
    from engine.contact import ContactError, ContactMaterial
    from engine.examples import example
    from engine.inverse_kinematics import IKResult, Target
    from engine.io import RobotFileError, RobotFileWarning, check, load, load_mesh, load_urdf, save_urdf
    from engine.lazy_imports import lazily_imported, load_viewer
    from engine.model import Builder, Geometry, Joint, Limits, Link, Material, Mimic, Model, ModelError, Mounted, StateError, combine
    from engine.model.shown import SHOWN_BY
    from engine.recording import StorageError
    from engine.rigid_body import BodyError, Dynamics, LieState, RigidBody, RigidBodyState
    from engine.simulation import (
        BodyTrajectory,
        CompiledSystem,
        Contacts,
        Event,
        FlexibleJoint,
        HalfSpace,
        Law,
        Live,
        Phases,
        Robot,
        SimulationError,
        SimulationWarning,
        Simulator,
        StateTrajectory,
        Trajectory,
        compile,
        contacts_of,
        impact,
        load_trajectory,
        policy,
        simulator_of,
        warm,
    )

    grown_old()

#: whether all rooms are loaded with the first: type checkers look at both
AT_ONCE: bool = False

if AT_ONCE:                                                                    # else by ``__getattr__``
    from engine import campaign, convert, sensors, space, viewer
    from engine.bridges import Bridge, BridgeError, BridgeWarning, bridge
    from engine.campaign import Campaign, CampaignError, Runs, load_campaign
    from engine.code import ExportError, export_code
    from engine.control import ControlError, estimator, ilqr, lqr, rollout_gradient
    from engine.fmu import export_fmu
    from engine.identification import Identification, IdentificationError, IdentificationWarning, base_parameters, identify
    from engine.inverse_kinematics import inverse_kinematics  # at run time the package itself, which is called like it
    from engine.io import load_sdf, save_mjcf
    from engine.viewer import Follow, Onboard, Scene, Shot, Shown, Sky, Viewer, ViewerError, export, images, render, view
    from engine.viewer.serve import Server, Widget, serve

__version__ = "0.1.0"

__all__ = [
    "ArgumentError", "Ball", "BodyError", "BodyTrajectory", "Bridge", "BridgeError", "BridgeWarning", "Builder", "CallError",
    "Campaign", "CampaignError",
    "CompiledSystem", "ConstraintError", "ContactError", "ContactMaterial", "Contacts", "ControlError", "Coupling", "Distance", "Dynamics",
    "EngineError", "EngineWarning", "Event", "ExportError", "FlexibleJoint", "Follow", "Geometry", "Grip", "Gufunc", "HalfSpace", "Hinge",
    "IKResult", "Identification", "IdentificationError", "IdentificationWarning", "Joint", "Law", "LieState", "Limits", "Link", "Live",
    "Material", "Mimic", "Model", "ModelError", "Mounted", "Onboard", "Phases", "Prescribed", "RigidBody", "RigidBodyState", "Robot",
    "RobotFileError", "RobotFileWarning", "Runs", "Scene", "Server", "Shot", "Shown", "SimulationError", "SimulationWarning", "Simulator",
    "Sky", "Slider", "StateError", "StateTrajectory", "StorageError", "Target", "TraceError", "Trajectory", "Viewer", "ViewerError", "Weld",
    "Widget", "base_parameters", "bridge", "campaign", "check", "combine", "compile", "compiler", "constrained_dynamics",
    "constrained_inverse_dynamics", "constraints", "contacts_of", "convert", "dynamics", "estimator", "example", "export", "export_code",
    "export_fmu", "get_threads", "gradient", "gufunc", "identify", "ilqr", "images", "impact", "integrate", "inverse_kinematics", "io",
    "jacobian",
    "load", "load_campaign", "load_mesh", "load_sdf", "load_trajectory", "load_urdf", "lqr", "model", "ops", "policy", "recording",
    "render", "rigid_body", "rollout_gradient", "save_mjcf", "save_urdf", "sensors", "serve", "set_threads", "simulation", "simulator_of",
    "space", "spatial", "view", "viewer", "warm",
]  # fmt: skip


if not TYPE_CHECKING:                                                          # for whom unknown names would be known then

    def __getattr__(name: str) -> Any:
        """Return a name of a package that is imported only when it is first used."""
        globals()[name] = found = lazily_imported(name)
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


SHOWN_BY.append(load_viewer)
with gc_paused():
    check_calls("engine", *(f"engine.{room}" for room in ("io", "io.ccsds", "model", "recording", "rigid_body", "simulation")),
                *(f"engine.components.{of}" for of in ("actuators", "controllers", "forces")))  # fmt: skip
    remember()
    grown_old()
