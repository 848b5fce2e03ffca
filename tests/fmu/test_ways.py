"""Model exchange and controllers as FMUs, against the engine's own."""

import ctypes

import numpy as np
import pytest

import engine
from engine.fmu.programs import of_controller
from tests.code.programs import needed
from tests.fmu.instances import Instance
from tests.fmu.robots import arm, flyer, free

fmpy = pytest.importorskip("fmpy")
validation = pytest.importorskip("fmpy.validation")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    needed("cc")
    return tmp_path_factory.mktemp("ways")


@pytest.fixture(scope="module", params=["2.0", "3.0"])
def smooth(folder, request):
    simulator = free()
    return simulator, engine.export_fmu(simulator, folder / f"free{request.param[0]}.fmu", inputs=["torque"], poses=["tip"],
                                        version=request.param, model_exchange=True)  # fmt: skip


def begun(simulator):
    rng = np.random.default_rng(3)
    q, v = simulator.model.random(rng)
    return simulator.model.normalized(q), 0.2 * v, rng.normal(size=2)


def integrating(path, q, v, u):
    """An instance in continuous time."""
    f = Instance(path, exchange=True).begin(start_q=q, start_v=v, **({} if u is None else {"torque": u}))
    if not f.new:
        f.fmu.newDiscreteStates()
    f.fmu.enterContinuousTimeMode()
    return f


def test_the_field_is_the_simulators(smooth):
    simulator, path = smooth
    assert validation.validate_fmu(str(path)) == []
    q, v, u = begun(simulator)
    f = integrating(path, q, v, u)
    n = simulator.model.nq + simulator.model.nv
    found = (ctypes.c_double * n)()
    (f.fmu.getContinuousStateDerivatives if f.new else f.fmu.getDerivatives)(found, n)
    vdot = simulator.start(q, v, {"torque": u}).vdot
    expected = np.concatenate([simulator.model.manifold.rate(q, v), vdot])
    assert np.abs(np.array(found) - expected).max() < 1e-13 * np.abs(expected).max()
    f.refused("continuous state 0 is nan; expected finite numbers", f.fmu.setContinuousStates, (ctypes.c_double * n)(np.nan), n)
    f.close()


def test_states_of_continuous_time_and_of_steps_are_two_kinds(smooth):
    """An instance that steps has no use for what an integrator has moved, nor the other way round: it would go on from the start."""
    simulator, path = smooth
    f, g = integrating(path, *begun(simulator)), Instance(path, name="steps").begin()
    for one, other in ((f, g), (g, f)):
        before, data = other.get("q"), one.written(one.saved())
        other.refused("the bytes are no state of this FMU", other.read, data)
        other.refused("what is to be the state is none of this FMU", other.restore, one.saved())
        assert (other.get("q") == before).all()
    again = Instance(path, exchange=True, name="again")
    again.restore(again.read(f.written(f.saved())))
    assert (again.get("q") == f.get("q")).all()
    for x in (f, g, again):
        x.close()


def test_all_derivatives_and_their_transpose_agree(smooth):
    """w·(J s) = (Jᵀ w)·s, of all outputs and rates by all that they depend on."""
    simulator, path = smooth
    f, rng = integrating(path, *begun(simulator)), np.random.default_rng(1)
    if f.new:
        unknowns = [w.valueReference for w in f.d.modelVariables if w.causality == "output" or w.name.startswith("der(")]
        knowns = [*f.refs("q"), *f.refs("v"), *f.refs("torque")]
        seed, weights = rng.normal(size=f.size(knowns)), rng.normal(size=f.size(unknowns))
        pushed = np.array(f.fmu.getDirectionalDerivative(unknowns, knowns, list(seed), len(weights)))
        pulled = np.array(f.fmu.getAdjointDerivative(unknowns, knowns, list(weights), len(seed)))
        assert abs(weights @ pushed - pulled @ seed) < 1e-14 * np.abs(weights * pushed).sum()
        assert np.abs(pushed).max() > 1.0
    f.close()


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_the_state_may_be_all_that_is_put_out(tmp_path, version):
    """The same derivatives as of an FMU that puts out more."""
    needed("cc")
    simulator, found = engine.Simulator(arm(), joint_dynamics="explicit"), []
    q, v = np.full(2, 0.3), np.full(2, -0.2)
    for outputs in (["q", "v"], ["q", "v", "vdot"]):
        path = engine.export_fmu(simulator, tmp_path / f"arm{len(outputs)}.fmu", outputs=outputs, model_exchange=True, version=version)
        f = integrating(path, q, v, None)
        states = [w.derivative.valueReference for w in f.d.modelVariables if w.derivative is not None]
        rates = [w.valueReference for w in f.d.modelVariables if w.derivative is not None]
        read = f.fmu.getFloat64 if f.new else f.fmu.getReal
        found.append([*read(rates), *f.fmu.getDirectionalDerivative(rates, states, [1.0, 2.0, 3.0, 4.0])])
        f.close()
    assert found[0] == found[1] and len(found[0]) == 8


def test_derivatives_along_directions_are_the_jacobians(smooth):
    simulator, path = smooth
    q, v, u = begun(simulator)
    model, f = simulator.model, integrating(path, q, v, u)
    nq, stepper = model.nq, simulator.stepper

    def field(x, torque):
        unit = model.manifold.normalized(x[:nq])
        p = np.concatenate([np.asarray(torque)])
        return np.concatenate([model.manifold.rate(unit, x[nq:]), stepper.acceleration(0.0, p, unit, x[nq:])])

    x, rng = np.concatenate([q, v]), np.random.default_rng(0)
    J = {"q": engine.jacobian(field)(x, u), "torque": engine.jacobian(field, argument=1)(x, u)}
    rates = [w.valueReference for w in f.d.modelVariables if w.name.startswith("der(")]
    for knowns, own in (([*f.refs("q"), *f.refs("v")], J["q"]), (f.refs("torque"), J["torque"])):
        seed, weights = rng.normal(size=own.shape[1]), rng.normal(size=len(x))
        if f.new:
            pushed = np.array(f.fmu.getDirectionalDerivative(rates, knowns, list(seed), len(x)))
            pulled = np.array(f.fmu.getAdjointDerivative(rates, knowns, list(weights), len(seed)))
            assert np.abs(pulled - weights @ own).max() < 1e-13 * np.abs(own).max() * len(x)
        else:
            pushed = np.array(f.fmu.getDirectionalDerivative(rates, knowns, list(seed)))
        assert np.abs(pushed - own @ seed).max() < 1e-13 * np.abs(own).max() * len(x)
    if f.new:                                                                  # FMI 2.0 counts variables, each of which is a number
        for call, right, room in ((f.fmu.getDirectionalDerivative, 2, len(x)), (f.fmu.getAdjointDerivative, len(x), 2)):
            for given, taken in ((right - 1, room), (right + 1, room), (right, room - 1)):
                n, due = (given, right) if given != right else (taken, room)
                f.refused(f"{n} numbers of derivatives; expected {due}, as many as", call, rates, f.refs("torque"), [0.0] * given, taken)
    f.close()


def test_another_integrator_goes_where_its_own_steps_go(smooth):
    """CVode's, whose |q| stays 1; and what is in the wrong mode is refused."""
    simulator, path = smooth
    _, _, u = begun(simulator)
    names = [v.name for v in fmpy.read_model_description(str(path)).modelVariables if v.causality == "input"]
    given = {"torque": list(u)} if names == ["torque"] else dict(zip(names, u, strict=True))
    found = fmpy.simulate_fmu(str(path), fmi_type="ModelExchange", stop_time=2.0, relative_tolerance=1e-9, output_interval=0.1,
                              start_values=given)  # fmt: skip
    run = simulator.run(simulator.model.initial(), np.zeros(simulator.model.nv), 2.0, parameters={"torque": u})
    q = np.concatenate([np.ravel(found[n][-1]) for n in found.dtype.names if n == "q" or n.startswith("q.")])
    assert np.abs(q - run.q[-1]).max() < 1e-6
    assert np.linalg.norm(q[:4]) == pytest.approx(1.0, abs=1e-7)        # what CVode is told to keep, in a few hundred steps
    f = integrating(path, *begun(simulator))
    f.refused("is a start value", f.set, "start.v", np.zeros(simulator.model.nv))
    f.close()


# ---------------------------------------------------------------- a controller alone


def test_a_controller_as_an_fmu_steers_the_simulator_to_the_same_bits(folder):
    """It remembers, ticks and holds as in the simulator; h is its period, or any multiple of the step."""
    simulator = flyer()
    path = engine.export_fmu(simulator, folder / "law.fmu", inputs=["target"], part="controller", version="3.0")
    assert validation.validate_fmu(str(path)) == []
    f = Instance(path).begin()
    period, count = 6e-3, [0]

    def asked(t, q, v, target):
        f.set("q", q)
        f.set("v", v)
        f.set("target", target)
        tau = f.get("tau")
        f.step(count[0] * period, period)
        count[0] += 1
        return tau

    outside = engine.Simulator(simulator.model, dt=simulator.dt, gravity=(0, 0, 0), parameters=dict(simulator.parameters),
                               controller=engine.Law(asked, period=period, python=True))  # fmt: skip
    q, v = simulator.model.initial(), np.zeros(simulator.model.nv)
    q[-1] = 0.1
    own, found = simulator.run(q, v, 0.1), outside.run(q, v, 0.1)
    assert (found.tau == own.tau).all()
    assert (found.q == own.q).all()
    f.close()


def test_a_law_without_a_memory_is_a_function_of_what_is_set(folder):
    simulator = engine.Simulator(flyer().model, dt=1e-3, controller=lambda t, q, v, gain: np.append(np.zeros(6), -gain * q[7:] - v[6:] * t),
                                 parameters={"gain": 2.0})  # fmt: skip
    f = Instance(engine.export_fmu(simulator, folder / "plain.fmu", part="controller")).begin()
    q, v = simulator.model.initial(), np.arange(8.0)
    q[7:] = 0.1, 0.2
    f.set("q", q)
    f.set("v", v)
    f.set("gain", 3.0)
    f.step(0.0, 0.5)
    assert np.abs(f.get("tau")[6:] - (-3.0 * q[7:] - v[6:] * 0.5)).max() < 1e-15
    f.close()


def told():
    """An arm that is steered by what a sensor and two laws say: numbers, arrays, and parts by name."""

    def aim(t, q, v, gain):
        return gain * np.sin(9.0 * t)

    def plan(t, q, v, aim):
        return {"way": aim * np.ones(2), "haste": 2.0 * aim}

    return engine.Simulator(
        arm(), dt=1e-3, sensors=[engine.sensors.Encoder("shoulder", name="enc")], laws=[engine.Law(aim), engine.Law(plan)],
        parameters={"gain": 2.0},
        controller=lambda t, q, v, enc, aim, plan: np.array([aim - 5.0 * enc, plan.haste]) * plan.way - 0.1 * v)  # fmt: skip


def test_signals_that_a_controller_reads_are_inputs_with_the_bits_of_a_run(folder):
    simulator = told()
    run = simulator.run([0.3, 0.1], [0.2, -0.1], 0.02)
    seen = {name: run.signals[name] for name in ("enc", "aim", "plan.way", "plan.haste")}
    for version in ("2.0", "3.0"):
        path = engine.export_fmu(simulator, folder / f"told{version[0]}.fmu", part="controller", version=version)
        assert validation.validate_fmu(str(path)) == []
        f = Instance(path).begin()
        about = {x.name: x for x in f.d.modelVariables if x.causality == "input"}
        assert about["enc"].description == "the signal 'enc' that is read"
        assert {n.partition("[")[0] for n in about if n[:2] not in ("q.", "v.") and n not in ("q", "v")} == {*seen}
        for k in range(20):
            for n, y in {"q": run.q, "v": run.v, **seen}.items():
                f.set(n, y[k])
            assert (f.get("tau") == run.tau[k]).all()
            f.step(k * 1e-3, 1e-3)
        f.close()
    with pytest.raises(engine.ExportError, match=r"inputs has 'enc'.*; expected some of .*gain"):
        engine.export_fmu(simulator, folder / "told.fmu", inputs=["enc"], part="controller", platforms=[])


def test_signals_of_a_controller_are_told_from_its_parameters():
    fmu = of_controller(told(), ["gain"], None)
    assert fmu.inputs == ("gain", "q", "v", "enc", "aim", "plan.way", "plan.haste")
    assert fmu.signals == fmu.inputs[3:]
    assert [fmu.parameters.shapes[n] for n in fmu.signals] == [(), (), (2,), ()]


@pytest.mark.parametrize(("of", "more", "text"), [
    (flyer, {"model_exchange": True}, "has memories, or what is held between ticks; expected a smooth field of q and v alone"),
    (flyer, {"part": "law"}, "part is 'law'; expected one of controller"),
    (flyer, {"part": "controller", "poses": ["tip"]}, "a controller alone has no poses, no model exchange and no start"),
])  # fmt: skip
def test_what_is_no_model_exchange_and_no_controller(tmp_path, of, more, text):
    with pytest.raises(engine.EngineError, match=text):
        engine.export_fmu(of(), tmp_path / "x.fmu", platforms=[], **more)


def test_a_controller_that_there_is_not_and_one_with_a_continuous_state(tmp_path):
    model = flyer().model
    with pytest.raises(engine.ExportError, match="has no controller; expected Simulator"):
        engine.export_fmu(engine.Simulator(model), tmp_path / "x.fmu", part="controller", platforms=[])
    law = engine.Law(lambda t, q, v, state: (np.append(np.zeros(6), state), -state), state=[1.0, 2.0])
    with pytest.raises(engine.ExportError, match="has a continuous state, which the plant's method integrates; expected a memory, or"):
        engine.export_fmu(engine.Simulator(model, controller=law), tmp_path / "x.fmu", part="controller", platforms=[])
