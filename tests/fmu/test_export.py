"""export_fmu: names, what depends on what, the same bytes, other compilers, and what it says about bad input."""

import errno
import xml.etree.ElementTree as ElementTree
import zipfile
from pathlib import Path

import numpy as np
import pytest

import engine
from engine import ops
from engine.fmu import export as export_module
from tests.code.programs import needed
from tests.fmu.robots import arm, driven, flyer, free


def description(path):
    return ElementTree.fromstring(zipfile.ZipFile(path).read("modelDescription.xml"))


def names(path):
    return [v.get("name") for v in description(path).find("ModelVariables")]


@pytest.fixture(scope="module")
def simulator():
    return driven()


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(("more", "text"), [
    ({"inputs": ["torqe"]}, r"inputs has 'torqe' \(did you mean 'torque'\?\); expected some of torque, mass.tip"),
    ({"inputs": "torque"}, "inputs is 'torque'; expected a list of names"),
    ({"inputs": ["torque", "torque"]}, "expected each name once"),
    ({"outputs": ["q", "qdot"]}, "outputs has 'qdot'"),
    ({"poses": ["hand"]}, "poses has 'hand'; expected some of base, upper, tip"),
    ({"parameters": ["torque"], "inputs": ["torque"]}, "parameters has 'torque'; expected some of mass.tip"),
    ({"version": "1.0"}, r"version is '1.0'; expected one of 2.0, 3.0|version is '1.0' \(did you mean"),
    ({"version": 2.0}, r"version is 2.0 .*; expected one of 2.0, 3.0"),
    ({"names": "short"}, "names is 'short'; expected one of structured, flat"),
    ({"name": "2arm"}, "name is '2arm'; expected an identifier of C"),
    ({"platforms": ["linux"]}, "platforms has 'linux'.*; expected some of x86_64-linux, aarch64-linux"),
    ({"platforms": "x86_64-linux"}, "platforms is 'x86_64-linux'; expected a list of"),
    ({"platforms": ["aarch64-linux"]}, "FMI 2.0 has no folder for aarch64-linux; expected version='3.0', or sources alone"),
    ({"platforms": [], "sources": False}, "there are no platforms and no sources"),
    ({"q0": np.zeros((3, 2))}, r"q0 and v0 are a batch \(3,\); expected one state of 2 and 2 numbers"),
    ({"sources": "no"}, "sources is 'no'; expected True or False"),
    ({"model_exchange": "False"}, "model_exchange is 'False'; expected True or False"),
    ({"model_exchange": 1}, "model_exchange is 1; expected True or False"),
    ({"room": 64}, "room is 64, and this FMU has no contacts as rows of tables; expected room=None"),
    ({"room": 64, "part": "controller"}, "room is 64, and this FMU has no contacts as rows of tables; expected room=None"),
    ({"part": True}, "part is True; expected one of controller"),
    ({"name": 3}, "name is 3; expected an identifier of C"),
    ({"outputs": "q"}, "outputs is 'q'; expected a list of names"),
    ({"inputs": {"torque": 1.0}}, "inputs is .*; expected a list of names"),
    ({"inputs": [3]}, r"inputs is \[3\]; expected a list of names"),
    ({"v0": "fast"}, "v0 holds <U4; expected real numbers"),
    ({"q0": [0.0]}, r"q has shape \(1,\); expected"),
])  # fmt: skip
def test_what_cannot_be_written_is_said_in_a_sentence(simulator, tmp_path, more, text):
    with pytest.raises(engine.EngineError, match=text):
        engine.export_fmu(simulator, tmp_path / "arm.fmu", **{"platforms": [], **more})
    assert not [*tmp_path.iterdir()]


def test_what_is_no_simulator_no_path_or_has_no_code(simulator, tmp_path):
    with pytest.raises(engine.ExportError, match=r"export_fmu got <model.*; expected a Simulator"):
        engine.export_fmu(simulator.model, tmp_path / "arm.fmu")
    with pytest.raises(engine.ExportError, match=r"ends in '.zip'; expected one of .fmu"):
        engine.export_fmu(simulator, tmp_path / "arm.zip")
    with pytest.raises(engine.ExportError, match=r"inputs has 'torque'; expected no inputs, as there are none$"):
        engine.export_fmu(engine.Simulator(arm()), tmp_path / "arm.fmu", platforms=[], inputs=["torque"])
    with pytest.raises(engine.ExportError, match="has events, which interrupt runs from outside; expected one without"):
        engine.export_fmu(engine.Simulator(arm(), events=[lambda t, q, v: q[0]]), tmp_path / "arm.fmu")
    with pytest.raises(engine.ExportError, match="runs as plain Python"):
        engine.export_fmu(engine.Simulator(arm(), compiled=False), tmp_path / "arm.fmu")


@pytest.mark.parametrize("way", ["inputs", "parameters"])
@pytest.mark.parametrize("part", [None, "controller"])
def test_inertias_and_placements_are_neither_tuned_nor_inputs(tmp_path, way, part):
    """An inertia of -5 kg m² would make an arm fall upwards: what is checked as a whole C cannot check."""
    values = {"inertia.tip": arm().link("tip").inertia, "placement.elbow": arm().joint("elbow").placement, "torque": np.zeros(2)}
    made = engine.Simulator(arm(), parameters=values, controller=lambda t, q, v, torque: torque)
    for name in ("inertia.tip", "placement.elbow"):
        with pytest.raises(engine.ExportError, match=rf"the parameter '{name}' would have to be checked as a whole; expected mass, center"):
            engine.export_fmu(made, tmp_path / "arm.fmu", platforms=[], part=part, **{way: [name]})
    assert not [*tmp_path.iterdir()]


def test_a_full_disk_leaves_nothing_and_what_was_there(simulator, tmp_path, monkeypatch):
    before = engine.export_fmu(simulator, tmp_path / "arm.fmu", inputs=["torque"], platforms=[]).read_bytes()

    def full(self, data):
        Path(self).touch()
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(engine.ExportError, match=r"/arm.fmu' cannot be written \(No space left on device\); expected a place with "):
        engine.export_fmu(simulator, tmp_path / "arm.fmu", platforms=[])
    assert [p.name for p in tmp_path.iterdir()] == ["arm.fmu"]
    assert (tmp_path / "arm.fmu").read_bytes() == before


@pytest.mark.parametrize("theirs", [b"", b"notes", "zip", "fmu"])
def test_a_file_that_no_export_wrote_stays(simulator, tmp_path, theirs):
    """An archive, or another tool's FMU, too; one of the engine's own is replaced."""
    path = tmp_path / "arm.fmu"
    if isinstance(theirs, bytes):
        path.write_bytes(theirs)
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("modelDescription.xml" if theirs == "fmu" else "a.txt", '<fmiModelDescription generationTool="Other"/>')
    before = path.read_bytes()
    with pytest.raises(engine.ExportError, match=r"arm.fmu' is there already, and no export wrote it; expected another name, or that file"):
        engine.export_fmu(simulator, path, platforms=[])
    assert path.read_bytes() == before
    path.unlink()
    first = engine.export_fmu(simulator, path, platforms=[]).read_bytes()
    assert engine.export_fmu(simulator, path, inputs=["torque"], platforms=[]).read_bytes() != first




# ---------------------------------------------------------------- what is in it


def test_the_same_simulator_is_the_same_bytes(tmp_path):
    paths = [engine.export_fmu(driven(), tmp_path / folder / "arm.fmu", platforms=[]) for folder in ("a", "b")
             if (tmp_path / folder).mkdir() is None]  # fmt: skip
    assert paths[0].read_bytes() == paths[1].read_bytes()
    other = engine.export_fmu(driven(dt=2e-3), tmp_path / "arm.fmu", platforms=[])
    assert description(other).get("guid") != description(paths[0]).get("guid")


def test_names_units_and_starts(simulator, tmp_path):
    path = engine.export_fmu(simulator, tmp_path / "arm.fmu", inputs=["torque"], poses=["tip"], platforms=[], q0=[0.1, 0.2])
    assert names(path) == [
        "time", "torque[1]", "torque[2]", "mass.tip", "start.q.shoulder", "start.q.elbow", "start.v.shoulder", "start.v.elbow",
        "q.shoulder", "q.elbow", "v.shoulder", "v.elbow", "tau.shoulder", "tau.elbow", *(f"pose.tip.position[{k}]" for k in (1, 2, 3)),
        *(f"pose.tip.rotation[{i},{j}]" for i in (1, 2, 3) for j in (1, 2, 3))]  # fmt: skip
    real = {v.get("name"): v[0] for v in description(path).find("ModelVariables")}
    assert [real[n].get("unit") for n in ("start.q.shoulder", "v.elbow", "tau.shoulder", "tau.elbow", "mass.tip")] == \
        ["rad", "m/s", "N.m", "N", "kg"]  # fmt: skip
    assert real["start.q.elbow"].get("start") == "0.2"
    flat = engine.export_fmu(simulator, tmp_path / "flat.fmu", inputs=["torque"], poses=["tip"], platforms=[], names="flat")
    assert names(flat)[1:5] == ["torque_1", "torque_2", "mass_tip", "start_q_shoulder"]
    assert all(n.isidentifier() for n in names(flat))


def satellite() -> engine.Simulator:
    """A bus whose wheels follow a gyro; a star tracker that nothing asks."""
    builder = engine.Builder("bus")
    builder.add_link("bus", inertia=engine.spatial.inertia.box(10.0, [0.8, 1.0, 1.2]))
    return engine.Simulator(
        builder.model(floating_base=True), dt=0.01, gravity=(0, 0, 0), parameters={"k": 3.0},
        actuators=[engine.components.actuators.ReactionWheels("bus", torque=2.0, inertia=0.01)],
        sensors=[engine.sensors.Gyro("bus", noise=1e-4), engine.sensors.StarTracker("bus", noise=1e-5)],
        controller=lambda t, q, v, gyro, k: {"wheels": -k * gyro})  # fmt: skip


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_units_and_words_of_what_components_say(tmp_path, version):
    validation = pytest.importorskip("fmpy.validation")

    def of(**more):
        path = engine.export_fmu(satellite(), tmp_path / "bus.fmu", version=version, platforms=[], **more)
        assert validation.validate_fmu(str(path)) == []
        return {v.get("name").partition("[")[0]: ((v[0] if version == "2.0" else v).get("unit"), v.get("description"))
                for v in description(path).find("ModelVariables")}  # fmt: skip

    found = of(outputs=["gyro", "wheels.speed", "wheels.torque", "wheels.momentum", "vdot"], poses=["bus"])
    assert [found[n][0] for n in ("gyro", "gyro.bias", "wheels.speed", "wheels.torque", "wheels.momentum", "gyro.noise")] == \
        ["rad/s", "rad/s", "rad/s", "N.m", "N.m.s", None]  # fmt: skip
    assert [found[n][1] for n in ("gyro", "vdot.floating_base.wx", "pose.bus.position", "pose.bus.rotation")] == \
        ["the signal 'gyro'", "accelerations", "position of the link 'bus' in the world", "rotation matrix of the link 'bus' in the world"]
    law = of(part="controller")
    assert law["wheels"] == ("N.m", "the command 'wheels'")
    assert law["gyro"] == ("rad/s", "the signal 'gyro' that is read")


def test_units_of_what_sensors_read_and_of_their_errors(tmp_path):
    """All but attitudes, directions, flags, seeds and densities, of which FMI has none."""
    s, model = engine.sensors, engine.load_urdf(engine.example("free_flyer"), floating_base=True)
    base, tip, joint = model.links[0].name, "gripper", "shoulder_yaw"
    sensors = [s.IMU(base, rate={"walk": 1e-6, "misalignment": (0, 0, 1e-3)}),
               s.IMU(base, integrating=True, force={"quantum": 1e-3}, name="sums"),
               s.StarTracker(base), s.SunSensor(base), s.GPS(base), s.Magnetometer(base, (2e-5, 0, 0)), s.Encoder([joint], of="velocity"),
               s.JointTorque(joint), s.ForceTorque(tip), s.Range(base, to=tip), s.RelativePose(base, tip), s.RangeFinder(base, noise=0.1),
               s.Camera(base, {tip: [[0, 0, 1]]})]  # fmt: skip
    simulator = engine.Simulator(model, sensors=sensors, joint_dynamics="explicit")
    own = [n for n in simulator.stepper.programs[1].names if n.partition(".")[0] in {x.name for x in sensors}]
    path = engine.export_fmu(simulator, tmp_path / "a.fmu", outputs=own, version="3.0", platforms=[])
    found = {v.get("name"): v.get("unit") for v in description(path).find("ModelVariables")}
    found = {n: unit for n, unit in found.items() if n.partition(".")[0] in {x.name for x in sensors}}
    expected = {
        "imu.true.rate": "rad/s", "imu.true.rate.bias": "rad/s", "imu.rate.bias": "rad/s", "imu.rate.misalignment": "rad",
        "sums.velocity": "m/s", "sums.force.quantum": "m/s", "star_tracker.bias": "rad", "magnetometer": "T", "encoder": "rad/s",
        "torque": "N.m", "wrist.moment": "N.m", "range.distance": "m", "relative.attitude.noise": "rad", "range_finder": "m",
        "gps.velocity": "m/s"}  # fmt: skip
    assert {n: found[n] for n in expected} == expected
    without = {n for n, unit in found.items() if unit is None and not n.startswith("camera.")}
    assert {n.rpartition(".")[2] for n in without} == {"q", "direction", "valid", "noise", "walk"}
    assert {n.partition(".")[0] for n in without if n.endswith((".noise", ".walk"))} == {"imu", "sums"}


def test_a_controller_has_no_parameters_that_it_does_not_use(tmp_path):
    path = engine.export_fmu(satellite(), tmp_path / "law.fmu", part="controller", platforms=[])
    assert {n.partition("[")[0].partition(".")[0] for n in names(path)} == {"time", "k", "q", "v", "gyro", "wheels"}
    assert not [n for n in names(path) if n.startswith(("gyro.", "noise.", "star_tracker."))]
    with pytest.warns(engine.EngineWarning, match=r"inputs have 'gyro.noise', which nothing in this part reads"):
        engine.export_fmu(satellite(), tmp_path / "law.fmu", part="controller", platforms=[], inputs=["gyro.noise"])
    path = engine.export_fmu(satellite(), tmp_path / "law.fmu", part="controller", platforms=[], parameters=["gyro.noise"])
    assert "gyro.noise[1]" in names(path)                                      # who names one has it


@pytest.mark.parametrize("names_are", ["structured", "flat"])
@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_an_output_with_an_inputs_name_says_that_it_is_one(tmp_path, version, names_are):
    validation = pytest.importorskip("fmpy.validation")
    made = engine.Simulator(arm(), controller=lambda t, q, v, tau: tau, parameters={"tau": np.zeros(2), "mass.tip": 0.5})
    with pytest.warns(engine.EngineWarning, match=r"tau is set and put out under one name; expected .* as 'output.tau'") as told:
        path = engine.export_fmu(made, tmp_path / "arm.fmu", inputs=["tau"], version=version, platforms=[], names=names_are)
    assert len(told) == 1 and told[0].filename == __file__
    found = {v.get("name"): v for v in description(path).find("ModelVariables")}
    dot = "_" if names_are == "flat" else "."
    own, seen = ([f"{n}{dot}{j}" for j in ("shoulder", "elbow")] for n in ("tau", f"output{dot}tau"))
    assert [found[n].get("causality") for n in (*own, *seen)] == ["input"] * 2 + ["output"] * 2
    assert "the parameter 'tau' of the simulator" in found[own[0]].get("description")
    assert "the output 'tau', beside what is set" in found[seen[0]].get("description")
    assert not [n for n in found if n.endswith(("n2", "_2"))]
    assert validation.validate_fmu(str(path)) == []


@pytest.mark.parametrize(("of", "law", "how", "says"), [
    ({"a_1": 1.0, "a": np.ones(2)}, lambda t, q, v, a_1, a: a * a_1, "flat", "a[0] is 'a_1_2', as 'a_1' is another variable"),
    ({"time": 1.0}, lambda t, q, v, time: time * np.ones(2), "structured", "time is 'time.n2', as 'time' is another variable"),
])  # fmt: skip
def test_names_that_fall_together_are_told(tmp_path, recwarn, of, law, how, says):
    """Else what is set as 'a_1', the first number of a, lands in a scalar of that name."""
    made = engine.Simulator(arm(), controller=law, parameters=of)
    path = engine.export_fmu(made, tmp_path / "arm.fmu", platforms=[], names=how)
    told = [str(w.message) for w in recwarn.list]
    assert says is None or (len(told) == 1 and told[0].startswith(f"names fall together in the FMU: {says}; expected")), told
    assert len({*names(path)}) == len(names(path))


def test_sources_that_do_not_compile_are_told_of_without_platforms_too(tmp_path, monkeypatch, recwarn):
    needed("cc")
    engine.export_fmu(driven(), tmp_path / "arm.fmu", platforms=[])
    assert not recwarn.list
    real = export_module.own_sources
    monkeypatch.setattr(export_module, "own_sources", lambda version: real(version) | {"more.c": "double f(void) { return g(); }\n"})
    with pytest.warns(engine.EngineWarning, match="C compiler does not take the FMU's sources: .*more.c.*; expected one of C99"):
        engine.export_fmu(driven(), tmp_path / "arm.fmu", platforms=[])


def test_branches_of_a_field_are_named(tmp_path, recwarn):
    """A law that switches in t, one that clips; not one of a motion's lengths, nor of a parameter alone."""
    def export(**more):
        made = engine.Simulator(arm(), joint_dynamics=None, **more)
        engine.export_fmu(made, tmp_path / "arm.fmu", platforms=[], model_exchange=True)
        return [str(w.message) for w in recwarn.list if recwarn.pop(engine.EngineWarning)]

    assert export(parameters={"gain": 1.0}, controller=lambda t, q, v, gain: -np.maximum(gain, 0.0) * q * np.linalg.norm(v)) == []
    for law in (lambda t, q, v: np.where(t < 1.0, 1.0, 0.0) * np.ones(2), lambda t, q, v: np.clip(-q, -1.0, 1.0),
                lambda t, q, v: np.array([ops.when(q[0] > 0.0, lambda: ops.sin(q[0]), 0.0), 0.0])):  # fmt: skip
        (text,) = export(controller=law)
        assert text.startswith("the field branches in controller, and the FMU has no event indicators for that; expected an importer")
    (text,) = export(forces=[lambda t, q, v: -0.1 * v, lambda t, q, v: -np.minimum(q, 0.0)], controller=lambda t, q, v: -q)
    assert "branches in force 2," in text, text


@pytest.mark.parametrize(("joints", "expected"), [
    (("left.arm", "left[0]"), ["q.'left.arm'", "q.'left[0]'"]),
    (("Gelenk 1", "größe"), ["q.'Gelenk 1'", "q.grosse"]),
    (("関節", "it's"), ["q._u95a2__u7bc0_", r"q.'it\'s'"]),
])  # fmt: skip
def test_names_that_tools_dislike(tmp_path, joints, expected):
    validation = pytest.importorskip("fmpy.validation")
    simulator = engine.Simulator(arm(names=joints))
    for version in ("2.0", "3.0"):
        path = engine.export_fmu(simulator, tmp_path / "arm.fmu", outputs=["q"], version=version, platforms=[])
        found = [n for n in names(path) if n.startswith("q")]
        if joints[1] == "größe":
            assert found[0] == expected[0]
        else:
            assert found == expected
        assert all(n.isascii() for n in names(path))
        assert validation.validate_fmu(str(path)) == []
    flat = engine.export_fmu(simulator, tmp_path / "flat.fmu", outputs=["q"], names="flat", platforms=[])
    assert all(n.isidentifier() for n in names(flat))
    assert len({*names(flat)}) == len(names(flat))


@pytest.mark.parametrize(("file", "own"), [("m", "m"), ("do", "do_"), ("core", "core"), ("state", "state")])
def test_fmus_may_be_called_as_what_is_in_them(tmp_path, file, own):
    """Files and functions of the C within, and words of C itself."""
    needed("cc")
    path = engine.export_fmu(engine.Simulator(arm()), tmp_path / f"{file}.fmu", outputs=["q"])
    assert description(path).find("CoSimulation").get("modelIdentifier") == own
    pytest.importorskip("fmpy")
    from tests.fmu.instances import Instance

    f = Instance(path).begin()
    f.step(0.0, 1e-3)
    f.close()


@pytest.mark.parametrize("file", ["con", "Aux", "nul", "COM1", "lpt9"])
def test_names_that_are_no_files_of_windows(tmp_path, file):
    """A folder of binaries with nul.dll could not be unpacked there: what is called so has another identifier, or is refused."""
    path = engine.export_fmu(engine.Simulator(arm()), tmp_path / f"{file}.fmu", outputs=["q"], platforms=[])
    assert description(path).find("CoSimulation").get("modelIdentifier") == f"{file}_"
    with pytest.raises(engine.ExportError, match=f"name is '{file}', which is a device of Windows and no file; expected another name"):
        engine.export_fmu(engine.Simulator(arm()), tmp_path / "arm.fmu", name=file, platforms=[])


def test_what_depends_on_what(tmp_path):
    """Outputs on inputs that reach them at once; at the start on what that is made of."""
    path = engine.export_fmu(free(), tmp_path / "free.fmu", inputs=["torque"], outputs=["q", "tau"], platforms=[], model_exchange=True)
    root = description(path)
    order = names(path)

    def of(part):
        unknowns = root.find("ModelStructure").find(part)
        return {order[int(u.get("index")) - 1]: {order[int(i) - 1] for i in u.get("dependencies").split()} for u in unknowns}

    assert of("Outputs")["tau.elbow"] == {"torque[2]"}
    assert of("Outputs")["q.elbow"] == {"q.elbow"}
    assert of("Derivatives")["der(q.elbow)"] == {"v.elbow"}
    assert "torque[2]" in of("Derivatives")["der(v.elbow)"]
    assert of("InitialUnknowns")["q.elbow"] == {"start.q.elbow"}
    assert of("InitialUnknowns")["tau.elbow"] == {"torque[2]"}


# ---------------------------------------------------------------- other compilers


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_sources_build_by_fmpys_own_compiler_to_the_same_bits(tmp_path, version):
    needed("cmake", "cc")
    fmpy = pytest.importorskip("fmpy")
    from fmpy.build import build_platform_binary

    from tests.fmu.instances import Instance

    simulator = flyer()
    path = engine.export_fmu(simulator, tmp_path / "flyer.fmu", version=version, platforms=[])
    where = path.with_suffix("")
    fmpy.extract(str(path), unzipdir=str(where))
    (tmp_path / "build").mkdir()
    build_platform_binary(where, build_dir=tmp_path / "build")                 # FMPy's own folder is left to the collector of garbage
    f = Instance(path).begin()
    f.step(0.0, 50 * simulator.dt)
    run = simulator.run(simulator.model.initial(), np.zeros(simulator.model.nv), 50 * simulator.dt)
    assert (f.get("q") == run.q[-1]).all()
    f.close()
