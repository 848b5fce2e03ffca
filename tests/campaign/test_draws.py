"""Draws: their laws, their independence of everything but seed, run and name, and how well designs fill the space."""

import numpy as np
import pytest
from scipy import stats

import engine
from engine.campaign import CampaignError
from engine.campaign.design import philox, uniforms
from engine.campaign.distributions import draw_of
from engine.campaign.scatter import Scatter
from engine.spatial import inertia, quaternion
from tests.campaign.cases import SCATTER, campaign, simulator

N = 20_000
Q0, V0 = np.array([1.0, 0, 0, 0, 0, 0, 0, 0]), np.zeros(7)


def scattered(scatter, design="random", seed=7, runs=N):
    return Scatter(simulator(), Q0, V0, scatter, design, seed, runs)


def drawn(x, shape=(), attitude=False, seed=3):
    draw = draw_of("x", x, shape, False, attitude)
    return draw.values(philox(seed, "x", 0, N, draw.size))


@pytest.mark.parametrize("mu, sigma", [(120.0, 10.0), (-3.0, 0.1)])
def test_mean_and_variance_of_normal_draws(mu, sigma):
    x = drawn(stats.norm(mu, sigma))
    assert abs(x.mean() - mu) < 5 * sigma / np.sqrt(N)
    assert abs(x.var() - sigma**2) < 5 * np.sqrt(2 / N) * sigma**2             # of a normal variable Var s² = 2 σ⁴/n


@pytest.mark.parametrize("x", [stats.uniform(2, 3), stats.expon(0, 2), stats.Normal(mu=1.0, sigma=2.0), stats.triang(0.3, 1, 2)])
def test_draws_have_their_distribution(x):
    assert stats.kstest(drawn(x), x.cdf).pvalue > 1e-4


def test_discrete_draws():
    values, counts = np.unique(drawn(stats.randint(0, 4)), return_counts=True)
    assert values.tolist() == [0, 1, 2, 3] and abs(counts / N - 0.25).max() < 5 * np.sqrt(0.25 * 0.75 / N)


def test_vectors_have_their_covariance():
    C = np.array([[2.0, 0.6, 0.0], [0.6, 1.0, 0.0], [0.0, 0.0, 0.0]])           # singular
    x = drawn(stats.multivariate_normal([1.0, 2.0, 3.0], C, allow_singular=True), (3,))
    assert abs(x.mean(axis=0) - [1, 2, 3]).max() < 5 * np.sqrt(2.0 / N)
    assert abs(np.cov(x.T) - C).max() < 5 * np.sqrt(2 / N) * 2.0 and np.ptp(x[:, 2]) < 1e-12


def test_matrices_are_drawn_row_by_row():
    """An inertia as 36 numbers, in a distribution and in a grid."""
    G = inertia.box(2.0, [0.1, 0.2, 0.3])
    along = np.outer(G, G)                                                      # a multiple of G: symmetric in every draw
    x = draw_of("G", stats.multivariate_normal(G.ravel(), 0.01 * along, allow_singular=True), (6, 6), grid=False)
    drawn = x.values(np.random.default_rng(0).random((5, 36)))
    assert drawn.shape == (5, 6, 6) and abs(drawn / drawn[:, 5:, 5:] - G / G[5, 5]).max() < 1e-14
    assert np.ptp(drawn[:, 5, 5]) > 0.1
    levels = draw_of("G", [G.ravel(), (2 * G).ravel()], (6, 6), grid=True)
    np.testing.assert_array_equal(levels.values(np.array([1, 0])), [2 * G, G])
    with pytest.raises(CampaignError, match=r"G is normal in 6 dimensions; expected 36, for the shape \(6, 6\)"):
        draw_of("G", stats.multivariate_normal(np.zeros(6), np.eye(6)), (6, 6), grid=False)


def test_uniform_rotations():
    """Of uniform unit quaternions E[q qᵀ] = 1/4, and the fourth moments are at most 1/8; the angle has the density (1 − cos θ)/π."""
    q = drawn("uniform", (3,), attitude=True)
    assert abs(np.linalg.norm(q, axis=1) - 1).max() < 4e-16 and abs(q.T @ q / N - np.eye(4) / 4).max() < 5 * np.sqrt(1 / 8 / N)
    angle = 2 * np.arccos(np.minimum(abs(q[:, 0]), 1.0))
    assert stats.kstest(angle, lambda t: (t - np.sin(t)) / np.pi).pvalue > 1e-4


def test_small_rotations_turn_the_nominal_attitude_in_its_own_axes():
    start = np.concatenate([quaternion.exp([0.0, 0.0, 2.0]), Q0[4:]])
    small = stats.multivariate_normal(np.zeros(3), 1e-4 * np.eye(3))
    s = Scatter(simulator(), start, V0, {"attitude.floating_base": small}, "random", 1, 50)
    at = s.start(0, 50)
    back = quaternion.log(quaternion.product(np.tile(quaternion.conjugate(start[:4]), (50, 1)), at.q0[:, :4]))
    assert abs(back - at.drawn["attitude.floating_base"]).max() < 1e-15


def test_what_is_scattered_lands_where_it_belongs():
    at = scattered(SCATTER).start(100, 8)
    assert np.array_equal(at.parameters["mass.hull"], at.drawn["mass.hull"]) and np.array_equal(at.q0[:, 7], at.drawn["q0.elbow"])
    assert np.array_equal(at.v0[:, :3], at.drawn["v0.floating_base.w"]) and not at.v0[:, 3:].any() and not at.q0[:, 4:7].any()


@pytest.mark.parametrize("design", ["random", "sobol", "latin_hypercube"])
@pytest.mark.parametrize("first, count", [(0, 1), (17, 1), (5, 13), (992, 8)])
def test_a_run_is_the_same_bits_in_any_chunk(design, first, count):
    s = scattered(SCATTER, design, runs=1000)
    a, b = s.start(0, 1000).rows(slice(first, first + count)), s.start(first, count)
    for x, y in ((a.q0, b.q0), (a.v0, b.v0), *((a.drawn[n], b.drawn[n]) for n in a.drawn), *zip(a.parameters.values(),
                 b.parameters.values(), strict=True)):  # fmt: skip
        assert x.tobytes() == y.tobytes()


def test_one_more_quantity_changes_no_others_draws_and_the_seed_all():
    one = scattered({"mass.hull": SCATTER["mass.hull"]}).values(0, 100)["mass.hull"]
    assert np.array_equal(one, scattered(SCATTER).values(0, 100)["mass.hull"])
    assert not np.isin(one, scattered(SCATTER, seed=8).values(0, 100)["mass.hull"]).any()
    assert not np.isin(one, scattered(SCATTER, seed=7 + 2**64).values(0, 100)["mass.hull"]).any()


def test_streams_are_independent():
    u = np.concatenate([*uniforms("random", 0, N, {"a": 5, "b": 1, "c": 2}, 0, N).values()], axis=1)
    assert len(np.unique(u)) == u.size and u.min() > 0 and u.max() < 1
    r = np.corrcoef(u.T) - np.eye(8)
    lag = [np.corrcoef(u[1:, 0], u[:-1, k])[0, 1] for k in range(8)]            # of a run with the one before
    assert max(abs(r).max(), *np.abs(lag)) < 5 / np.sqrt(N)


def test_philox_is_numpys_own():
    """The words of run 5 are those of a generator that is put at its counter."""
    own = philox(7, "x", 5, 1, 4)[0]
    assert np.array_equal(own, philox(7, "x", 0, 9, 4)[5]) and not np.array_equal(own, philox(7, "y", 5, 1, 4)[0])
    assert np.array_equal(philox(7, "x", 5, 1, 6)[0, :4], own)


def test_designs_that_fill_the_space_beat_independent_draws():
    """∫ Π exp(x_k) over the unit cube is (e − 1)⁴."""
    def error(design, seed):
        u = uniforms(design, seed, 1024, {"a": 1, "b": 3}, 0, 1024)
        return abs(np.exp(np.concatenate([u["a"], u["b"]], axis=1).sum(axis=1)).mean() / (np.e - 1) ** 4 - 1)

    worst = {design: max(error(design, seed) for seed in range(5)) for design in ("random", "sobol", "latin_hypercube")}
    assert worst["sobol"] < 0.05 * worst["random"] and worst["latin_hypercube"] < 0.5 * worst["random"]


def test_a_latin_hypercube_has_one_run_in_each_slice():
    u = uniforms("latin_hypercube", 3, 100, {"a": 2}, 0, 100)["a"]
    assert all(np.array_equal(np.sort((100 * column).astype(int)), np.arange(100)) for column in u.T)


def test_a_grid_is_the_full_product():
    spins = [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    s = scattered({"mass.hull": [9.0, 10.0, 11.0], "q0.elbow": [0.0, 0.1], "v0.floating_base.w": spins}, "grid", runs=None)
    at = s.start(0, s.runs)
    rows = {(m, q, tuple(w)) for m, q, w in zip(at.parameters["mass.hull"], at.q0[:, 7], at.v0[:, :3], strict=True)}
    assert s.runs == len(rows) == 12


def test_noise_has_a_run_of_its_own_and_all_bits_of_the_seed(tmp_path):
    made = engine.Simulator(simulator().model, dt=0.02, gravity=(0, 0, 0), controller=lambda t, q, v, noise: 0.01 * noise(7))
    given = {"simulator": made, "keep": None, "metrics": {"end": "final q.elbow"}}
    with pytest.raises(CampaignError, match=r"scatter names 'noise\.run', and each run has its own number as that"):
        campaign(scatter={"noise.run": stats.randint(0, 9)}, **given)
    same, others = (campaign(scatter={}, runs=2, seed=seed, **given) for seed in (7, 7 + 2**53))
    assert same.plan.scatter.start(0, 2).parameters["noise.seed"].tolist() == [7.0, 7.0]
    assert not np.array_equal(same.rerun(1).q, others.rerun(1).q) and np.array_equal(same.rerun(1).q[-1], made.run(
        [1.0, 0, 0, 0, 0, 0, 0, 0], np.zeros(7), 1.0, parameters={"noise.seed": 7, "noise.run": 1}).q[-1])  # fmt: skip
    for x in (0.5, -1.0, 2.0**53):
        for name in ("noise.seed", "noise.run"):
            with pytest.raises(engine.SimulationError, match=rf"parameter '{name}' is .*; expected a whole number from 0, below 2\^53"):
                made.run([1.0, 0, 0, 0, 0, 0, 0, 0], np.zeros(7), 0.02, parameters={name: x})
            with pytest.raises(engine.SimulationError, match=rf"parameter '{name}' is"):
                engine.Simulator(made.model, dt=0.02, controller=lambda t, q, v, noise: 0.01 * noise(7), parameters={name: x})
    with pytest.warns(engine.EngineWarning, match=r"parameter 'noise\.seed' is 0\.\d+; expected a whole number"):
        campaign(scatter={"noise.seed": stats.uniform()}, runs=4, **given).run(tmp_path)
