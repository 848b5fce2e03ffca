"""Campaigns: the same bits in any chunks and alone, failures as rows, resuming, stopping, and what is refused."""

import json
import re
import shutil
import warnings

import numpy as np
import pytest
from scipy import stats

import engine
from engine.campaign import CampaignError, load_campaign
from engine.campaign.campaign import LOOK
from engine.campaign.chunk import looked_up
from engine.campaign.manifest import text_of
from engine.campaign.metrics import column
from engine.campaign.tally import Tally
from engine.components.actuators import ReactionWheels
from tests.campaign.cases import METRICS, RUNS, SCATTER, apart, campaign, hashes, rises, rises_not, same, simulator, stops, turned

SICK = {**SCATTER, "mass.hull": stats.norm(10.0, 8.0), "pull": stats.bernoulli(0.4)}     # masses below zero, infinite forces


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The campaign in one chunk."""
    return campaign(RUNS).run(tmp_path_factory.mktemp("whole"))


@pytest.mark.parametrize("chunk", [1, 7, 32, None])
def test_any_chunks_are_the_same_bits(whole, tmp_path, chunk):
    assert same(whole, campaign(chunk).run(tmp_path / "runs"))


def test_a_run_again_is_the_same_bits(whole):
    for i in (0, 13, RUNS - 1):
        again = whole.rerun(i, campaign(7))
        assert np.array_equal(again.q[::5], whole("q")[i]) and len(again) == 51
        assert turned(again) == whole("turned")[i] and np.array_equal(apart(again), whole("apart")[i])
        assert abs(again.v[:, 6]).max() == whole("swing")[i] and (again.q[-1, 7] > 0.1) == whole("open")[i]
        assert again.parameters["mass.hull"] == whole("mass.hull")[i]


def test_the_same_by_hand(whole):
    """The campaign's second route: draws as the dataset has them, run one after another by the simulator."""
    for i in range(5):
        q0 = np.concatenate([whole("attitude.floating_base")[i], np.zeros(3), [whole("q0.elbow")[i]]])
        v0 = np.concatenate([whole("v0.floating_base.w")[i], np.zeros(4)])
        given = {n: whole(n)[i] for n in ("mass.hull", "pull")}
        assert np.array_equal(simulator().run(q0, v0, 1.0, parameters=given).q[::5], whole("q")[i])


def test_reductions_are_what_they_say(whole):
    v = np.array([campaign().rerun(i).v[:, 6] for i in range(8)])
    t = campaign().rerun(0).t
    given = {"first": "first v.elbow", "least": "min v.elbow", "rms": "rms v.elbow", "sum": "integral |v.elbow|", "end": "final t"}
    metrics = campaign(metrics=given).plan.metrics
    found = {m.name: [m.function(campaign().rerun(i)) for i in range(8)] for m in metrics}
    assert np.array_equal(found["first"], v[:, 0]) and np.array_equal(found["least"], v.min(axis=1)) and found["end"] == [1.0] * 8
    assert np.allclose(found["rms"], np.sqrt(np.trapezoid(v * v, t)), rtol=1e-13)
    assert np.allclose(found["sum"], np.trapezoid(abs(v), t), rtol=1e-13)


# ---------------------------------------------------------------- failures


@pytest.fixture(scope="module")
def failing(tmp_path_factory):
    """A campaign of which runs fail, in three ways."""
    made = campaign(RUNS, scatter=SICK, metrics={"rises": rises, "swing": "max |v.elbow|"})
    with pytest.warns(engine.EngineWarning, match=r"of 60 runs failed; runs\.failed and runs\.reason say which, and why\. First"):
        return made, made.run(tmp_path_factory.mktemp("failing") / "runs")


def test_failed_runs_are_rows_with_reasons(failing):
    _, runs = failing
    assert len(runs) == RUNS and runs.complete and 5 < runs.failed.sum() < RUNS
    light, low, wild = runs("mass.hull") <= 0, runs("q0.elbow") < 0, runs("pull") == 1
    assert (wild & ~light).sum() > 10
    for i in range(RUNS):
        reason = runs.reason[i]
        if light[i]:
            assert reason == f"parameter 'mass.hull' is {runs('mass.hull')[i]:g}; expected a mass above zero, of a link with mass"
        elif wild[i]:
            assert reason == "the acceleration of joint 'floating_base' is no longer finite at t = 0 s (dt = 0.02 s)"
        elif low[i]:
            assert reason == "metric 'rises' raised ZeroDivisionError: below zero"
        else:
            assert reason == ""
    dead = light | wild
    assert np.array_equal(np.isnan(runs("rises")), dead | low) and np.array_equal(np.isnan(runs("swing")), dead)
    assert runs.estimates()["rises"].runs == RUNS - (dead | low).sum() and runs.estimates()["rises"].truth
    left = RUNS - (dead | low).sum()
    assert str(runs.estimates()["rises"]).endswith(f" of {left}; {RUNS - left} of 60 failed")
    assert repr(runs).endswith(f"; {RUNS - left} of 60 failed>")
    assert np.isnan(runs("q")[dead]).all() and np.isfinite(runs("q")[~dead]).all()


def test_failures_do_not_depend_on_chunks(failing, tmp_path):
    _, runs = failing
    alone = campaign(1, scatter=SICK, metrics={"rises": rises, "swing": "max |v.elbow|"})
    with pytest.warns(engine.EngineWarning):
        assert same(runs, alone.run(tmp_path / "runs"))


def test_a_run_that_stops_being_finite(tmp_path):
    made = campaign(3, scatter={"pull": [0.1, 1.0, 0.2]}, design="grid", runs=None, metrics={"swing": "max |v.elbow|"})
    with pytest.warns(engine.EngineWarning, match="1 of 3 runs failed"):
        runs = made.run(tmp_path / "runs")
    assert runs.failed.tolist() == [False, True, False] and "no longer finite" in runs.reason[1]
    with pytest.warns(engine.SimulationWarning):
        assert "push" in made.rerun(1).reason                                  # and whom to blame


def test_a_campaign_of_which_every_run_failed(tmp_path):
    with pytest.warns(engine.EngineWarning, match=r"^all 20 runs failed; .* First 0: the acceleration of joint 'floating_base' is no"):
        runs = campaign(scatter={"pull": stats.bernoulli(1.0)}, runs=20, keep=None).run(tmp_path)
    assert runs.failed.all() and runs.estimates()["swing"].runs == 0


@pytest.mark.parametrize("bad", [LOOK - 1, LOOK, 3 * LOOK, RUNS - 1])
def test_what_metrics_are_is_known_of_the_first_run_that_has_them(tmp_path, bad):
    """However many fail before: shapes, and truth values with Wilson's interval."""
    given = {"scatter": {"pull": [1.0] * bad + [0.1] * (RUNS - bad)}, "metrics": {"apart": apart, "open": "final q.elbow > 0.1"}}
    made = campaign(25, design="grid", runs=None, keep=None, **given)
    with pytest.warns(engine.EngineWarning, match=f"^{bad} of {RUNS} runs failed"):
        runs = made.run(tmp_path)
    assert runs("apart").shape == (RUNS, 3) and np.isfinite(runs("apart")).all(axis=1).tolist() == [False] * bad + [True] * (RUNS - bad)
    assert runs.estimates()["open"].truth


def test_what_is_noted_names_runs(tmp_path):
    made = campaign(20, scatter={"v0.floating_base.w": stats.norm(0, 40.0)}, metrics={"end": "final q.elbow"})
    with pytest.warns(engine.EngineWarning) as noted:
        runs = made.run(tmp_path)
    assert len(runs.notes) >= 3 and any(re.search(r" in run \d+ ", text) and "which nothing does" in text for text in runs.notes)
    assert runs.notes[0] in [str(w.message) for w in noted] and "runs failed" in str(noted[0].message)


def test_a_metric_that_never_works_is_an_error(tmp_path):
    with pytest.raises(CampaignError, match=r"metric 'x' raised ZeroDivisionError: never, of each of the first 16 runs; expected"):
        campaign(metrics={"x": rises_not}).run(tmp_path / "runs")
    with pytest.raises(CampaignError, match=r"metric 'x' is 'text'; expected a number"):
        campaign(metrics={"x": lambda trajectory: "text"}).run(tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


def mixes(trajectory):
    return trajectory.q[..., -1, 7] - trajectory.q[..., -1, 7].mean()


def averages(trajectory):
    return np.abs(trajectory.v[..., 6]).mean(axis=-1)


def draws(trajectory):
    return np.random.default_rng().random()


mixes.batched = averages.batched = True


@pytest.mark.parametrize("metric", [mixes, draws])
def test_a_metric_that_depends_on_more_than_its_run(tmp_path, metric):
    with pytest.raises(CampaignError, match=r"metric 'x' is .* of run 0, and .* alone: it depends on something besides its run; expected"):
        campaign(metrics={"swing": "max |v.elbow|", "x": metric}).run(tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


def test_a_batched_metric_of_each_run_is_the_same_bits_in_any_chunk(tmp_path):
    a, b = (campaign(chunk, metrics={"x": averages}).run(tmp_path / str(chunk)) for chunk in (7, RUNS))
    assert same(a, b)


def remembers():
    calls = []

    def steers(t, q, v):
        calls.append(t)
        return np.full(v.shape, 1e-6 * len(calls))

    return steers


def throws(t, q, v):
    return np.random.default_rng().normal(size=v.shape)


def leans(t, q, v):
    return v - v.mean(axis=0)


def damps(t, q, v):
    return -0.1 * v


@pytest.mark.parametrize("law", [remembers(), throws, leans, damps])
def test_a_controller_in_plain_python_that_depends_on_more_than_its_run(tmp_path, law):
    made = engine.Simulator(simulator().model, dt=0.02, gravity=(0, 0, 0), controller=engine.Law(law, period=0.1, python=True))
    given = {"simulator": made, "scatter": {"v0.elbow": stats.norm()}, "metrics": {"end": "final q.elbow"}}
    if law is damps:
        a, b = (campaign(chunk, **given).run(tmp_path / str(chunk)) for chunk in (7, RUNS))
        assert same(a, b)
        return
    with pytest.raises(CampaignError, match=rf"{law.__name__}.* moves run 0 otherwise when .* alone: it depends on something besides its"):
        campaign(**given).run(tmp_path / "runs")


def test_a_metric_that_is_nan_or_of_another_shape_is_a_reason(tmp_path):
    def odd(trajectory):
        low = trajectory.q[0, 7] < 0
        return [np.nan, 1.0] if low else [1.0, 2.0, 3.0][: 2 + (trajectory.q[0, 7] > 0.4)]

    with pytest.warns(engine.EngineWarning):
        runs = campaign(metrics={"odd": odd}).run(tmp_path / "runs")
    low, high = runs("q0.elbow") < 0, runs("q0.elbow") > 0.4
    assert {*runs.reason[low]} == {"metric 'odd' is NaN"} and low.any() and high.any()
    assert all("metric 'odd' is of shape (3,); expected" in text for text in runs.reason[high])
    assert np.isfinite(runs("odd")[~low & ~high]).all()


@pytest.mark.parametrize("batched", [False, True])
def test_a_metric_that_edits_its_trajectory_is_a_reason(tmp_path, batched):
    def edits(trajectory):
        if batched or trajectory.q[0, 7] > 0:
            trajectory.q[...] *= -1.0
        return trajectory.q[..., -1, 7]

    edits.batched = batched
    given = {"metrics": {"edits": edits, "end": "final q.elbow"}}
    if batched:
        with pytest.raises(CampaignError, match=r"metric 'edits' raised ValueError: .* read-only, of each of the first 16 runs"):
            campaign(**given).run(tmp_path)
        return
    with pytest.warns(engine.EngineWarning, match="runs failed"):
        runs = campaign(**given).run(tmp_path)
    assert np.array_equal(runs.failed, runs("q0.elbow") > 0) and all("'edits' raised ValueError: " in x for x in runs.reason[runs.failed])
    assert np.array_equal(runs("end"), runs("q")[:, -1, 7]) and runs("end")[3] == campaign().rerun(3).q[-1, 7]


def test_a_batched_metric_that_raises_for_one_run(tmp_path):
    def strict(trajectory):
        if (trajectory.q[..., 0, 7] < 0).any():
            raise ValueError("below zero")
        return trajectory.q[..., -1, 7]

    strict.batched = True
    with pytest.warns(engine.EngineWarning):
        runs = campaign(metrics={"strict": strict}).run(tmp_path / "runs")
    assert np.array_equal(runs.failed, runs("q0.elbow") < 0)
    assert {*runs.reason[runs.failed]} == {"metric 'strict' raised ValueError: below zero"}


def test_a_batched_metric_that_gives_no_row_for_each_run(tmp_path):
    def summed(trajectory):
        return trajectory.q[..., -1, 7].sum()

    summed.batched = True
    with pytest.raises(CampaignError, match=r"'x' has shape \(\) of 1 runs; expected \(1, …\), as it is batched, of each of the first 16"):
        campaign(metrics={"x": summed}).run(tmp_path)


def test_columns_are_the_trajectorys():
    made = engine.Simulator(simulator().model, actuators=[ReactionWheels("hull", torque=1.0, momentum=1.0)], parameters={"mass.hull": 9.0},
                            controller=lambda t, q, v: {"wheels": [0.1, 0.2, 0.3]})  # fmt: skip
    trajectory = made.run(np.tile([1.0, 0, 0, 0, 0, 0, 0, 0], (2, 1)), np.zeros(7), 0.01)
    for name, x in trajectory.columns().items():
        assert np.array_equal(column(trajectory, name), x) and np.array_equal(column(trajectory.rollout(1), name), x[1])


def test_events_stop_runs_by_themselves(tmp_path):
    given = {"simulator": simulator((stops,)), "scatter": {"v0.elbow": stats.uniform(0.2, 2.0)}}
    given["metrics"] = {"end": "final t", "at": turned}
    runs, others = (campaign(chunk, **given).run(tmp_path / str(chunk)) for chunk in (1, 16))
    assert same(runs, others)
    early = runs("end") < 1.0
    assert early.any() and not early.all() and np.allclose(runs("at")[early], 0.5, atol=1e-12)
    late = runs.dataset.t.values[None, :] > runs("end")[:, None]
    assert np.array_equal(np.isnan(runs("q")[..., 0]), late)                   # nothing is kept of what is no motion


# ---------------------------------------------------------------- resuming, stopping


def test_resume_runs_what_is_missing(tmp_path):
    campaign(5).run(tmp_path)
    before = hashes(tmp_path)
    for path in sorted(tmp_path.glob("*.h5"))[::2]:
        path.unlink()
    left = {path.name: path.stat().st_mtime_ns for path in tmp_path.glob("*.h5")}
    half = load_campaign(tmp_path)
    assert len(half) == 30 and not half.complete and half.numbers[0] == 5 and len(half.dataset.run) == 30
    (tmp_path / ".shard-000000.h5-0.partial").write_bytes(b"a worker was killed")
    assert campaign().run(tmp_path).complete and hashes(tmp_path) == before and not [*tmp_path.glob(".*")]
    assert all((tmp_path / name).stat().st_mtime_ns == at for name, at in left.items())


def test_stop_when_the_interval_is_narrow_enough(tmp_path):
    runs = campaign(5).run(tmp_path / "a", stop={"open": 0.4})
    assert 0 < len(runs) < RUNS and runs.estimates()["open"].width < 0.4
    fewer = runs("open")[: len(runs) - 5]
    low, high = stats.binomtest(int(fewer.sum()), len(fewer)).proportion_ci(method="wilson")
    assert high - low > 0.4                                                    # and no sooner
    assert len(campaign(5).run(tmp_path / "a", stop={"open": 0.4})) == len(runs)
    assert campaign(5).run(tmp_path / "a").complete


def test_estimates_do_not_depend_on_the_order_of_chunks(tmp_path):
    made = campaign(4)
    folder = made.run(tmp_path).folder
    outcomes = [looked_up(folder, k) for k in range(folder.chunks)]

    def after(order, there=()):
        tally = Tally(folder, {*there}, {"open": 0.45, "swing": 0.006})
        for k in order:
            tally.add(outcomes[k])
        assert tally.enough
        return tally.next, tally.estimates()

    mixed = np.random.default_rng(0).permutation(15)
    assert after(range(15)) == after(mixed) == after([k for k in mixed if k % 3], there=range(0, 15, 3)) and 1 < after(mixed)[0] < 15


@pytest.mark.parametrize("changed, differs", [
    ({"seed": 8}, "seed is 7, and was 8"),
    ({"scatter": {**SCATTER, "pull": stats.uniform(0.0, 0.2)}}, r"scatter\.pull\.distribution"),
    ({"metrics": {**METRICS, "turned": apart}}, r"metrics\.turned"),
    ({"design": "latin_hypercube"}, "design is 'random', and was 'latin_hypercube'"),
    ({"runs": 64}, "runs is 60, and was 64"),
    ({"record_every": 5, "keep": None}, "record_every is 1, and was 5"),
    ({"simulator": engine.Simulator(simulator().model, 0.01, parameters={"mass.hull": 10.0, "pull": 0.0}, forces=[lambda t, q, v, pull:
      0.0 * pull * v])}, "dt is 0.02, and was 0.01"),
    ({"simulator": engine.Simulator(simulator().model, 0.02, gravity=(0, 0, 0), parameters={"mass.hull": 10.0, "pull": 0.0},
                                    forces=[lambda t, q, v, pull: -pull * v])}, r"what acts \(a function, or what it reads\) is another"),
])  # fmt: skip
def test_another_campaigns_folder_is_refused(tmp_path, changed, differs):
    campaign(20, **changed).run(tmp_path)
    with pytest.raises(CampaignError, match=f"is of another campaign: .*{differs}"):
        campaign(20).run(tmp_path)


def test_another_engines_folder_and_another_chunk_are_refused(whole, tmp_path):
    shutil.copytree(whole.folder.path, tmp_path / "runs")
    with pytest.raises(CampaignError, match=r"chunk is 5, and .* has chunks of 60"):
        campaign(5).run(tmp_path / "runs")
    (tmp_path / "runs" / "shard-000000.h5").unlink()
    manifest = json.loads((tmp_path / "runs" / "campaign.json").read_text())
    manifest["campaign"]["engine"] = "0.0.1"
    (tmp_path / "runs" / "campaign.json").write_text(text_of(manifest))
    with pytest.raises(CampaignError, match=r"engine is '0\.1\.0', and was '0\.0\.1'"):
        campaign().run(tmp_path / "runs")
    with pytest.raises(CampaignError, match="engine is"):
        load_campaign(tmp_path / "runs").rerun(3, campaign())


def test_progress_shows_estimates(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "200")
    campaign(5).run(tmp_path, progress=True)
    said = capsys.readouterr().out
    assert "60/60 runs" in said and "swing: 0.009" in said and "open: 46.67 % (34.63 … 59.11)" in said


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize("wrong, text", [
    ({"runs": 0}, "runs is 0; expected how many, a whole number from 1"),
    ({"runs": None}, "runs is not given"),
    ({"seed": -1}, "seed is -1; expected a whole number"),
    ({"seed": 2**128}, "expected a whole number from 0, below"),
    ({"chunk": 0}, "chunk is 0; expected how many runs"),
    ({"design": "sobel"}, "design is 'sobel' (did you mean 'sobol'?)"),
    ({"scatter": {}}, "scatter is {}; expected what differs"),
    ({"scatter": {"mass.hul": stats.norm(10, 1)}}, "'mass.hul' (did you mean 'mass.hull'?)"),
    ({"scatter": {"mass.rod": stats.norm(10, 1)}}, "no parameter of the simulator; expected Simulator(parameters={'mass.rod': …})"),
    ({"scatter": {"q0.elbo": stats.norm()}}, "which there is not (did you mean 'q0.elbow'?)"),
    ({"scatter": {"q0.floating_base.qw": stats.norm()}}, "which there is not"),
    ({"scatter": {"attitude.elbow": "uniform"}}, "which there is not"),
    ({"scatter": {"v0.floating_base": stats.norm(0, 1), "v0.floating_base.wx": stats.norm()}}, "the same number by"),
    ({"scatter": {"pull": 3.0}}, "scatter['pull'] is 3.0; expected a frozen distribution"),
    ({"scatter": {"pull": stats.norm}}, "without its numbers"),
    ({"scatter": {"pull": stats.norm(0, -1)}}, "whose quantiles are NaN or infinite"),
    ({"scatter": {"pull": stats.norm([0, 1], 1)}}, "which gives no values of shape ()"),
    ({"scatter": {"pull": [1.0, 2.0]}}, "scatter['pull'] is [1.0, 2.0]; expected a frozen"),
    ({"scatter": {"pull": "uniform"}}, "scatter['pull'] is 'uniform'; expected a frozen"),
    ({"scatter": {"attitude.floating_base": "normal"}}, "is 'normal'; expected 'uniform', or rotation vectors"),
    ({"scatter": {"attitude.floating_base": stats.multivariate_normal([0, 0], np.eye(2))}}, "is normal in 2 dimensions"),
    ({"design": "grid", "scatter": {"pull": stats.norm()}, "runs": None}, "expected the values of a grid"),
    ({"design": "grid", "scatter": {"pull": []}, "runs": None}, "expected the values of a grid, (n,)"),
    ({"design": "grid", "scatter": {"pull": [[1.0], [2.0]]}, "runs": None}, "has shape (2, 1); expected the values of a grid, (n,)"),
    ({"design": "grid", "scatter": {"pull": [1.0, np.nan]}, "runs": None}, "holds NaN or infinity"),
    ({"design": "grid", "scatter": {"pull": [1.0, 2.0]}, "runs": 3}, "runs is 3, and the grid has 2 = 2"),
    ({"metrics": {"x": 3}}, "metrics['x'] is 3; expected a function"),
    ({"metrics": {"x": "mx |v.elbow|"}}, "(did you mean 'max'?)"),
    ({"metrics": {"x": "max |v.elbow"}}, "expected one of first, final"),
    ({"metrics": {"x": "max v.elbo"}}, "no signal 'v.elbo' (did you mean 'v.elbow'?)"),
    ({"metrics": {"x": "max v.elbow < two"}}, "'two' is no number"),
    ({"metrics": {"pull": "max v.elbow"}}, "a metric is named 'pull', as what is scattered"),
    ({"metrics": ["max v.elbow"]}, "expected metrics by name"),
    ({"keep": "qq"}, "keep names the column 'qq'"),
    ({"keep": {"colums": ["q"]}}, "keep has 'colums' (did you mean 'columns'?)"),
    ({"keep": {"rate": 30.0}}, "keep['rate'] is 30 per second, and records are 0.02 s apart"),
    ({"keep": {"rate": 100.0}}, "keep['rate'] is 100 per second"),
    ({"keep": {"runs": [0, 60]}}, "expected numbers from 0 to 59"),
    ({"keep": {"runs": 0}}, "keep['runs'] is 0"),
    ({"keep": {"runs": 100}}, "keep['runs'] is 100, and there are 60 runs; expected how many"),
    ({"keep": {"runs": range(61)}}, "keep['runs'] is range(0, 61); expected numbers from 0 to 59"),
    ({"keep": {"runs": slice(60, None)}}, "expected numbers from 0 to 59"),
    ({"metrics": {"q": "max v.elbow"}}, "a metric is named 'q', as a column that is kept"),
    ({"record_every": 0}, "record_every"),
    ({"runs": 10**30}, "expected at most 9007199254740992"),
    ({"runs": 10**15, "design": "latin_hypercube", "keep": None}, "drawn all at once, take 6.71e+07 GiB of memory, and this machine has"),
    ({"chunk": 10**9, "runs": 10**9, "keep": None}, "a chunk of 1000000000 runs makes"),
])  # fmt: skip
def test_what_is_refused(wrong, text):
    with pytest.raises(engine.EngineError) as error:
        campaign(**wrong)
    assert text in str(error.value) and "\n" not in str(error.value)


def test_more_that_is_refused(tmp_path, whole):
    Campaign, s = engine.Campaign, simulator()
    q, v, one = np.array([1.0, 0, 0, 0, 0, 0, 0, 0]), np.zeros(7), {"pull": stats.norm()}
    plain = engine.Simulator(s.model, parameters={"mass.hull": 1.0}, compiled=False)
    for given, text in (((plain, q, v, 1.0, 3), "compiled=False"), ((s.model, q, v, 1.0, 3), "expected an engine.Simulator"),
                        ((s, np.tile(q, (2, 1)), v, 1.0, 3), "q0 has shape"), ((s, q, v, -1.0, 3), "duration")):  # fmt: skip
        with pytest.raises(engine.EngineError, match=text):
            Campaign(*given, scatter=one)
    for stop, text in (({"opn": 0.1}, "did you mean 'open'"), ({"apart": 0.1}, "one number"), ({"open": 0.0}, "above zero"),
                       (3, "stop is 3")):  # fmt: skip
        with pytest.raises(CampaignError, match=text):
            campaign().run(whole.folder.path, stop=stop)
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(engine.StorageError, match="is no campaign's folder"):
        campaign().run(tmp_path)
    with pytest.raises(engine.StorageError, match=r"it has no campaign\.json"):
        load_campaign(tmp_path)
    with pytest.raises(CampaignError, match=r"rerun got None as the campaign; expected the engine\.Campaign that"):
        whole.rerun(0, None)
    for i in (-1, RUNS, 1.5):
        with pytest.raises(CampaignError, match="run"):
            campaign().rerun(i)
    with pytest.raises(CampaignError, match="did you mean 'turned'"):
        whole("turnd")
    with pytest.raises(CampaignError, match="executor is 3; expected None"):
        campaign().run(tmp_path / "new", executor=3)


@pytest.mark.parametrize("changed, size", [
    ({"keep": None}, 8 * 10**15 * (1 + 1 + 4 + 3 + 1 + 5)),
    ({"metrics": {}, "scatter": {"pull": stats.uniform()}}, 8 * 10**15 * (1 + 11 * 8)),
])  # fmt: skip
def test_more_than_the_disk_holds_is_refused(tmp_path, changed, size):
    made = campaign(**{"runs": 10**15, **changed})
    with pytest.raises(CampaignError, match=rf"takes .* \({size} bytes\), and the disk of .* has .* free \(\d+ bytes\); expected fewer"):
        made.run(tmp_path / "a" / "runs")
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("runs", [range(3, 50, 4), range(47, 2, -4), slice(3, 50, 4), [*range(3, 50, 4)], [7, 3, 3, 20], 1, [5]])
def test_which_runs_are_kept(whole, tmp_path, runs):
    found = campaign(16, keep={"columns": "q", "rate": 10.0, "runs": runs}).run(tmp_path)
    expected = np.unique(np.arange(RUNS)[runs] if not isinstance(runs, int) else range(runs))
    assert np.array_equal(found("q"), whole("q")[expected]) and np.array_equal(found.t, whole.t)
    assert np.array_equal(found.kept["q"].numbers, expected)


def test_the_manifest_does_not_grow_with_time_or_runs(tmp_path):
    for folder, given in (("a", {"rate": 1.0, "runs": 1}), ("b", {})):                        # 2 times, and 51
        campaign(keep={"columns": ["q"], **given}).run(tmp_path / folder)
    a, b = ((tmp_path / folder / "campaign.json").stat().st_size for folder in "ab")
    assert abs(b - a) < 5


def test_sobol_of_no_power_of_two_is_warned_of():
    with pytest.warns(engine.EngineWarning, match="60 runs by design='sobol'.*expected such as 64"):
        campaign(design="sobol")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        campaign(design="sobol", runs=64)
