"""What is loaded: a Dataset that reads when it is used, and what it says is what was run."""

import numpy as np
import pytest

import engine
from engine.campaign import load_campaign
from engine.campaign import shard as shards
from engine.checks import EngineWarning
from tests.campaign.cases import METRICS, SCATTER, campaign


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    campaign(7, keep={"columns": ["q", "v"], "rate": 5.0, "runs": range(0, 60, 11)}).run(folder)
    return load_campaign(folder)


def test_the_dataset_has_everything(runs):
    d = runs.dataset
    assert {*d.data_vars} == {*SCATTER, *METRICS, "failed", "reason", "q", "v"} and dict(d.sizes)["run"] == 60
    assert d.run_kept.values.tolist() == [0, 11, 22, 33, 44, 55] and np.allclose(d.t, 0.2 * np.arange(6))
    again = campaign().rerun(33)
    assert np.array_equal(d.q.sel(run_kept=33).values, again.q[::10]) and np.array_equal(d.v.sel(run_kept=33, t=0.4).values, again.v[20])
    for name in METRICS:
        assert np.array_equal(d[name].values, runs(name))
    assert d.attrs == {"model": "arm", "seed": 7, "design": "random"} and not d.failed.values.any()


@pytest.mark.parametrize("part", [3, [3, 59, 0, 8], slice(5, 40, 9), slice(None, None, -1), np.arange(60) % 7 == 2, []])
def test_parts_are_parts_of_the_whole(runs, part):
    for name in ("swing", "apart", "attitude.floating_base", "reason"):
        assert np.array_equal(runs.dataset[name].isel(run=part).values, runs(name)[part])
    assert np.array_equal(runs.dataset.apart.isel(run=part, apart_0=1).values, runs("apart")[part][..., 1])
    some = part if not isinstance(part, np.ndarray) else part[:6]
    some = [k for k in some if k < 6] if isinstance(some, list) else some
    assert np.array_equal(runs.dataset.q.isel(run_kept=some, t=slice(1, 3), q_0=7).values, runs("q")[some][..., 1:3, 7])


def test_it_is_read_when_it_is_used(runs, monkeypatch):
    read, fetch = [], shards.fetch
    monkeypatch.setattr(shards, "fetch", lambda path, *rest: read.append(path.name) or fetch(path, *rest))
    d = load_campaign(runs.folder.path).dataset
    assert not read
    d.swing.isel(run=slice(8, 10)).values  # noqa: B018
    assert read == ["shard-000001.h5"]


def test_estimates_are_of_all_runs(runs):
    found = runs.estimates()
    assert {*found} == {"swing", "mean", "turned", "open"} and found["open"].truth and not found["swing"].truth
    assert abs(found["swing"].mean - runs("swing").mean()) < 1e-15 and found["open"].mean == runs("open").mean()
    assert found["swing"].quantiles[0.5] == np.median(runs("swing"))


def test_all_runs_kept_lie_along_run(tmp_path):
    d = campaign(keep="q", runs=3).run(tmp_path).dataset
    assert d.q.dims == ("run", "t", "q_0") and d.q.shape == (3, 51, 8)


def test_a_plot(runs, tmp_path):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.close("all")
    picture = runs.plot(tmp_path / "new" / "scatter.png")
    assert (tmp_path / "new" / "scatter.png").stat().st_size > 20_000 and "60 runs, 0 failed" in picture.get_suptitle()
    assert not pyplot.get_fignums()                                            # or the user's next plot would be drawn into it
    assert {axis.get_ylabel() for axis in picture.axes} >= {"swing", "turned", "open"}


def test_parameters_that_make_forces_stiff_are_noted_chunk_by_chunk(tmp_path):
    """Whatever the simulator, or the worker, has looked at before."""
    arm = engine.Builder("rod")
    arm.add_link("base"), arm.add_link("rod", inertia=engine.spatial.inertia.box(1.0, (0.1, 0.1, 0.4)))
    arm.add_joint("hinge", "revolute", "base", "rod", axis=[0, 1, 0])
    simulator = engine.Simulator(arm.model(), dt=0.01, gravity=(0, 0, 0), controller=lambda t, q, v, gain: -gain * v,
                                 parameters={"gain": 0.0})  # fmt: skip
    made = engine.Campaign(simulator, [0.0], [0.1], 0.02, 4, scatter={"gain": [3.0, 0.1, 2.0, 2.5]}, design="grid", chunk=2)
    with pytest.warns(EngineWarning, match="is stiff with parameter 'gain'") as said:
        runs = made.run(tmp_path)
    assert len(said) == 2
    assert [text.split("(")[0] for text in runs.notes] == [f"'rod' is stiff with parameter 'gain' of up to {x} " for x in (3, 2.5)]


def test_what_it_says_of_itself(runs):
    assert repr(runs) == f"<60 of 60 runs of 'arm' in '{runs.folder.path}': swing, mean, turned, apart, open>"
    assert "campaign of 60 runs of 'arm': mass.hull, q0.elbow" in repr(campaign()) and isinstance(runs, engine.Runs)
