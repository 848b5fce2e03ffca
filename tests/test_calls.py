"""Whoever misspells an argument is told which name was meant, by whatever is public; and nothing else differs of it."""

import importlib
import inspect
import pickle
import subprocess
import sys

import numpy as np
import pytest

import engine
from engine import calls

FACES = ("engine", *(f"engine.{room}" for room in (
    "bridges", "campaign", "code", "control", "convert", "fmu", "gymnasium", "identification", "io", "model", "recording", "rigid_body",
    "sensors", "simulation", "space", "viewer", "viewer.serve")))  # fmt: skip
MODULES = tuple(f"engine.components.{of}" for of in ("actuators", "controllers", "forces"))


def named(x):
    """Whether it has all its arguments by name: what takes any, as sizes and robots, answers for them itself."""
    made = inspect.isclass(x) and x.__init__ is object.__init__ and x.__new__ is object.__new__
    return not made and not any(p.kind is p.VAR_KEYWORD for p in inspect.signature(x).parameters.values())


def offered():
    """Functions and classes of the engine's that users call, by their names."""
    for face in (*FACES, *MODULES):
        module = importlib.import_module(face)
        own = [n for n, x in vars(module).items() if n[0] != "_" and getattr(x, "__module__", "") == face]
        for name in getattr(module, "__all__", own):
            x = getattr(module, name)
            kind = inspect.isfunction(x) or (inspect.isclass(x) and not issubclass(x, BaseException))
            if kind and x.__module__.startswith("engine") and named(x):
                yield f"{face}.{name}", x


OFFERED = dict(offered())


@pytest.mark.parametrize("name", OFFERED)
def test_a_name_that_is_not_taken_is_said(name):
    with pytest.raises(engine.EngineError, match="takes no 'xyzzy'; expected"):
        OFFERED[name](xyzzy=1)


@pytest.mark.parametrize("name", [n for n, x in OFFERED.items() if inspect.isfunction(x)])
def test_functions_are_pickled_and_show_their_signature(name):
    fn = OFFERED[name]
    assert pickle.loads(pickle.dumps(fn)) is fn
    assert str(inspect.signature(fn)) == str(inspect.signature(inspect.unwrap(fn)))


@pytest.mark.quick
def test_the_nearest_name_is_said_and_the_error_is_pythons_too():
    arm = engine.load(engine.example("seven_joint_arm"))
    simulator = engine.Simulator(arm)
    with pytest.raises(TypeError, match=r"^Simulator takes no 'gravty' \(did you mean 'gravity'\?\); expected some of model, dt, ") as told:
        engine.Simulator(arm, gravty=(0, 0, 0))
    assert isinstance(told.value, engine.CallError) and isinstance(pickle.loads(pickle.dumps(told.value)), engine.CallError)
    for call, meant in (
        (lambda: simulator.run(arm.neutral(), np.zeros(7), 1.0, recrod_every=2), "Simulator.run takes no 'recrod_every'"),
        (lambda: engine.Model.from_graph(grph=arm.graph), "Model.from_graph takes no 'grph'"),
        (lambda: engine.Geometry("box", sise=(1, 1, 1)), "Geometry takes no 'sise' (did you mean 'size'?)"),
        (lambda: engine.simulation.controllers.pd_gravity(arm, stifness=1.0),
         "pd_gravity takes no 'stifness' (did you mean 'stiffness'?)"),
        (lambda: engine.inverse_kinematics(arm, {}, q_0=1), "inverse_kinematics takes no 'q_0' (did you mean 'q0'?)"),
        (lambda: engine.Simulator(), "Simulator: missing a required argument: 'model'; expected model, dt, "),
        (lambda: engine.combine(arm, arm), "combine: too many positional arguments; expected by name any robots"),
        (lambda: arm.initial(3), "Model.initial: too many positional arguments; expected no arguments"),
    ):  # fmt: skip
        with pytest.raises(engine.CallError) as told:
            call()
        assert str(told.value).startswith(meant)
        assert told.value.__cause__ is None and told.value.__suppress_context__


@pytest.mark.quick
def test_classes_that_extend_the_engines_are_told_what_these_take():
    class Own(engine.simulation.actuators.Motor):
        def __init__(self, joint):
            super().__init__(joint, gaer=2.0)

    with pytest.raises(engine.CallError, match=r"^Motor takes no 'gaer' \(did you mean 'gear'\?\)"):
        Own("elbow")


@pytest.mark.quick
def test_nothing_that_is_loaded_is_changed_by_faces_that_come_later():
    """What is traced of the engine's own is kept on disk only where nothing in its modules has been set since they were loaded."""
    code = f"""import importlib, engine
from engine.compiler import trace_cache
for face in {FACES!r}: importlib.import_module(face)
print(trace_cache.LOADED[0].changed())"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


@pytest.mark.quick
def test_a_type_error_within_a_call_stays_as_it_is():
    def fails(q, gain=1.0):
        return len(gain)

    with pytest.raises(TypeError, match=r"^object of type 'float' has no len\(\)$") as told:
        calls.call_checked(fails)(1.0)
    assert type(told.value) is TypeError


# ---------------------------------------------------------------- names and values that are not there, among what is given by name


FORMATS = {"URDF": "<robot name='r'><link name='a'/></robot>", "MJCF": "<mujoco><worldbody/></mujoco>",
           "SDF": "<sdf version='1.9'><model name='m'><link name='a'/></model></sdf>"}  # fmt: skip


@pytest.mark.quick
@pytest.mark.parametrize("read, text", [(engine.load_urdf, "MJCF"), (engine.load_urdf, "SDF"), (engine.load_sdf, "URDF")])
def test_a_file_of_another_format_names_who_reads_it(read, text):
    with pytest.raises(engine.RobotFileError, match=rf"expected <\w+>, or engine.load, which reads {text} too$"):
        read(FORMATS[text])


@pytest.mark.quick
def test_a_keyframe_that_there_is_not_is_named():
    body = "<body name='b'><joint name='j'/><geom size='0.1'/></body>"
    text = f"<mujoco><worldbody>{body}</worldbody><keyframe><key name='home' qpos='0.1'/></keyframe></mujoco>"
    described = engine.load(text).described
    assert described.keyframes["home"].q == [0.1] and described.keyframes.get("hom") is None
    with pytest.raises(engine.ModelError, match=r"^there is no keyframe 'hom' \(did you mean 'home'\?\); expected one of home$"):
        described.keyframes["hom"]
    with pytest.raises(engine.ModelError, match=r"^there is no keyframe 'home'; expected a file that describes one$"):
        engine.load(f"<mujoco><worldbody>{body}</worldbody></mujoco>").described.keyframes["home"]


@pytest.mark.quick
@pytest.mark.parametrize("targets, said", [
    (np.zeros((40, 40)), r"^targets is array\(.*…; expected \{link: goal\}, as \{'flange': \[0.3, 0.2, 0.5\]\}, or engine.Target"),
    ([("flange", [0.3, 0.2, 0.5])], r"^targets\[0\] is \('flange', .*; expected engine.Target\(link, goal\), or a dictionary"),
    ([engine.Target("flange", [1, 2, 3], kind="positon")], r"'positon' \(did you mean 'position'\?\); expected one of"),
])  # fmt: skip
def test_targets_that_are_none_are_told_in_one_line(targets, said):
    with pytest.raises(engine.StateError, match=said) as told:
        engine.inverse_kinematics(engine.load(engine.example("seven_joint_arm")), targets)
    assert "\n" not in str(told.value)


def test_parameters_that_do_not_broadcast_are_named():
    arm = engine.load(engine.example("seven_joint_arm"))
    simulator = engine.Simulator(arm, parameters={"gain": 2.0}, controller=lambda t, q, v, gain: -gain * v)
    with pytest.raises(engine.SimulationError, match=r"^the leading dimensions of q0 \(3,\), v0 \(3,\), parameter 'gain' \(4,\) do not "):
        simulator.run(np.tile(arm.neutral(), (3, 1)), np.zeros((3, 7)), 0.01, parameters={"gain": np.ones(4)})


# ---------------------------------------------------------------- what is no mistake, but hardly meant


def test_a_simulator_says_that_no_ground_holds_what_floats():
    dog = engine.load(engine.example("quadruped"), floating_base=True)
    assert "; contacts: none, no ground holds 'trunk'; " in str(engine.Simulator(dog))
    for held in (engine.Simulator(dog, gravity=(0, 0, 0)), engine.Simulator(engine.load(engine.example("quadruped"))),
                 engine.Simulator(dog, contacts=engine.Contacts(ground=engine.HalfSpace()))):  # fmt: skip
        assert "no ground" not in str(held)


def test_a_signal_and_a_public_name_that_there_is_not_are_named():
    arm = engine.load(engine.example("seven_joint_arm"))
    run = engine.Simulator(arm).run(arm.neutral(), np.zeros(7), 0.01)
    for signals in (run.signals, run[0:3].signals, engine.Simulator(arm).start(arm.neutral(), np.zeros(7)).signals):
        name = next(iter(signals))
        with pytest.raises(engine.StateError, match=rf"^no signal '{name}x' \(did you mean '{name}'\?\); expected one of "):
            signals[f"{name}x"]
    with pytest.raises(AttributeError, match=r"^module 'engine' has no attribute 'Simulater' \(did you mean 'Simulator'\?\)$"):
        engine.Simulater  # noqa: B018
    with pytest.raises(engine.ArgumentError, match=r"^aba: tau is None; expected real numbers$"):
        engine.compile(arm).aba(arm.neutral(), np.zeros(7), None)
    with pytest.raises(engine.SimulationError, match=r"^no integrator 'RK4' \(did you mean 'rk4'\?\); expected one of "):
        engine.Simulator(arm, integrator="RK4")


def test_parameters_that_have_no_names_and_forces_of_another_shape_are_told():
    arm = engine.load(engine.example("seven_joint_arm"))
    with pytest.raises(engine.SimulationError, match=r"^parameters is \['gain'\]; expected a dictionary of numbers and arrays by name$"):
        engine.Simulator(arm, parameters=["gain"])
    with pytest.raises(engine.ControlError, match=r"^u has shape \(7, 7\); expected \(7,\), the forces that hold q, behind Q and R$"):
        engine.lqr(engine.Simulator(arm), arm.neutral(), np.eye(14), np.eye(7), np.eye(7))
