"""Errors that a run gives a sensor as parameters are held against what its constructor takes, wherever parameters stand."""

import numpy as np
import pytest
from scipy import stats

import engine
import engine.sensors as S
from engine.campaign import Campaign
from engine.components.component import SimulationError
from engine.gymnasium import VectorEnv
from engine.spatial import inertia


def lift(**more):
    """A body on a slide, with a wrist and an encoder."""
    b = engine.Builder("lift")
    b.add_link("post")
    b.add_link("tip", inertia=inertia.sphere(2.0, 0.05))
    b.add_joint("lift", "prismatic", "post", "tip", axis=(0, 0, 1))
    sensors = [S.ForceTorque("tip", force={"limit": 5.0}, name="w"), S.Encoder("lift", quantum=1e-3, name="e")]
    return engine.Simulator(b.model(), sensors=sensors, **more)


@pytest.fixture(scope="module")
def made():
    return lift()


BAD = [("w.force.limit", [-5.0] * 3, "above 0"), ("w.force.noise", [0.1, -1.0, 0.1], "from 0"), ("e.quantum", -0.5, "above 0"),
       ("e.quantum", 0.0, "above 0"), ("e.noise", -1.0, "from 0")]  # fmt: skip


@pytest.mark.parametrize(("name", "x", "least"), BAD)
def test_what_an_error_cannot_be_is_refused_everywhere(made, name, x, least):
    """Of runs, batches, steps and simulators: by name, with what is expected."""
    said = rf"parameter '{name}' is .*; expected numbers {least}"
    state = made.start([0.3], [0.0])
    rows = np.stack([np.broadcast_to(made.parameters[name], np.shape(x)), x])
    for call in (lambda: made.run([0.3], [0.0], 0.01, parameters={name: x}), lambda: made.run([0.3], [0.0], 0.01, parameters={name: rows}),
                 lambda: made.step(state, 1, {name: x}), lambda: made.start([0.3], [0.0], {name: x}),
                 lambda: lift(parameters={name: x})):  # fmt: skip
        with pytest.raises(SimulationError, match=said):
            call()


def test_good_ones_are_taken(made):
    r = made.run([0.3], [0.0], 0.002, parameters={"w.force.limit": [[1.0] * 3, [30.0] * 3], "e.quantum": 0.25})
    assert r.signals["w.force"][:, 0, 2].tolist() == [0.0, 0.0] and r.signals["e"][:, 0].tolist() == [0.25, 0.25]


def test_a_campaign_says_which_runs_scatter_what_cannot_be(made, tmp_path):
    """A scatter that reaches below zero fails these runs, by the constructor's words."""
    campaign = Campaign(made, [0.3], [0.0], 0.01, scatter={"e.noise": stats.norm(0.0, 1.0)}, runs=8, seed=1, keep=None,
                        metrics={"end": "final q.lift"})  # fmt: skip
    with pytest.warns(engine.EngineWarning, match="runs failed"):
        runs = campaign.run(tmp_path / "runs")
    assert 0 < runs.failed.sum() < 8
    assert all("parameter 'e.noise' is" in why and "from 0" in why for why in np.asarray(runs.reason)[runs.failed])


def test_an_environment_begins_no_episode_with_what_cannot_be():
    """What a reset draws of an error is drawn again where no sensor could have it, and that is told."""
    simulator = lift(parameters={"action": np.zeros(1)}, forces=[lambda t, q, v, action: action])
    with pytest.warns(engine.EngineWarning, match=r"of 8 episodes that reset drew cannot begin: .*expected numbers above 0"):
        envs = VectorEnv(simulator, 8, observation=lambda t, q, v: q, reward=lambda t, q, v: -q[0], horizon=0.1,
                         reset=lambda draw: {"q": np.array([0.3]), "v": np.zeros(1), "e.quantum": draw.uniform(1)[0] - 0.5})  # fmt: skip
    with pytest.warns(engine.EngineWarning, match=r"cannot begin, and was left out: .*expected numbers above 0"):
        envs.reset(seed=0)
    assert (envs.parameters["e.quantum"] > 0.0).all()


def steered_lift(quantum):
    """A body on a slide under the feedback of encoders of its place and velocity."""
    def steered(encoder, rate):
        return np.zeros(1) - 500.0 * encoder - 30.0 * rate

    b = engine.Builder("lift")
    b.add_link("post")
    b.add_link("tip", inertia=inertia.sphere(2.0, 0.05))
    b.add_joint("lift", "prismatic", "post", "tip", axis=(0, 0, 1))
    sensors = [S.Encoder("lift", quantum=quantum), S.Encoder("lift", of="velocity", quantum=quantum, name="rate")]
    return engine.Simulator(b.model(), gravity=(0, 0, 0), sensors=sensors, controller=steered)


def test_a_quantised_encoder_is_linearised_with_its_mean_slope():
    """The feedback stays: A is that without quanta, and differences over many quanta tend to it."""
    plain, stepped = steered_lift(None), steered_lift(1e-6)
    A, B = stepped.linearize([0.3], [0.1])
    for found, wanted in zip((A, B), plain.linearize([0.3], [0.1]), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12)
    assert np.abs(np.linalg.eigvals(A)).max() < 1.0

    def after(x):
        r = stepped.run(x[:1], x[1:], stepped.dt)
        return np.concatenate([r.q[-1], r.v[-1]])

    x, h = np.array([0.3, 0.1]), 0.05
    D = np.stack([(after(x + h * e) - after(x - h * e)) / (2 * h) for e in np.eye(2)], axis=-1)
    gain = 500.0 * stepped.dt / 2.0                                            # of a reading in v, of which half a quantum is lost
    np.testing.assert_allclose(A, D, rtol=0, atol=gain * 1e-6 / h)
