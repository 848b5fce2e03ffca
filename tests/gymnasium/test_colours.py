"""What cameras see in colour, in environments and of recordings: the pictures of a run, at the camera's own times."""

import warnings

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import engine
from engine import sensors as S
from engine.gymnasium import Env, EnvError, VectorEnv
from engine.spatial import inertia, se3

RED = engine.Material("red", (0.9, 0.05, 0.05, 1.0))


@pytest.fixture(scope="module")
def simulator():
    """A cart with a camera, pushed past a red ball."""
    b = engine.Builder("yard")
    b.add_link("yard", visuals=[engine.Geometry("sphere", (0.5,), se3.pose(np.eye(3), np.array([3.0, 0.0, 0.4])), material=RED)])
    b.add_link("cart", inertia=inertia.sphere(1.0, 0.1), visuals=[engine.Geometry("sphere", (0.1,))])
    b.add_joint("slide", "prismatic", "yard", "cart", axis=(0, 1, 0))
    return engine.Simulator(b.model(floating_base=False), dt=0.01, gravity=(0, 0, 0), controller=lambda t, q, v, action: action,
                            parameters={"action": np.zeros(1)})  # fmt: skip


def eye(period=None, **more):
    return S.DepthCamera("cart", 32, 24, 1.2, S.looking((0, 0, 0.4), toward=(1, 0, 0)), period=period, name=more.pop("name", "eye"), **more)


def environment(simulator, *cameras):
    return Env(simulator, observation=lambda t, q, v: np.concatenate([q, v]), reward=lambda t, q, v: v[0], horizon=1.0, action_repeat=10,
               cameras=cameras)  # fmt: skip


def test_observations_are_the_pictures_of_a_run_at_the_cameras_times(simulator, tmp_path):
    """Second route: the same motion as a run, in a file, of which pictures are taken afterwards."""
    env = environment(simulator, quick := eye(), slow := eye(0.3, name="slow"))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*Box (observation|action) space.*")              # which are unbounded
        check_env(env, skip_render_check=True)
    seen, _ = env.reset(seed=0)
    assert env.observation_space.contains(seen) and seen["eye"].dtype == np.uint8
    found = [seen] + [env.step(np.ones(1, np.float32))[0] for _ in range(9)]
    env.close()
    simulator.run([0.0], [0.0], 0.9, parameters={"action": np.ones(1)}, record_every=10, out=tmp_path / "run.h5")
    run = engine.load_trajectory(tmp_path / "run.h5")
    np.testing.assert_allclose([x["state"][0] for x in found], run.q[:, 0], atol=1e-6)
    times, pictures = engine.images(run, quick)
    assert len(times) == len(found) == 10
    for one, picture in zip(found, pictures, strict=True):
        assert np.abs(one["eye"].astype(int) - picture).mean() < 1.0            # shadows' maps are about the whole motion there
        assert (np.abs(one["eye"].astype(int) - picture).max(axis=2) > 60).mean() < 0.02
    red = np.array([np.argwhere(one["eye"][..., 0] > 2.0 * one["eye"][..., 1])[:, 1].mean() for one in found])  # the ball, to the right
    side, half = np.arctan(run.q[:, 0] / 3.0), np.arcsin(0.5 / np.hypot(3.0, run.q[:, 0]))                      # where it is, and how wide
    middle = 16.0 / np.tan(0.6) * (np.tan(side + half) + np.tan(side - half)) / 2.0
    assert np.abs((red - red[0]) - (middle - middle[0])).max() < 1.0           # a row's whole pixels have their middle half of one away
    times, pictures = engine.images(run, slow)
    np.testing.assert_allclose(times, [0.0, 0.3, 0.6, 0.9])
    for k, one in enumerate(found):                                            # held until the next
        np.testing.assert_array_equal(one["slow"], found[3 * (k // 3)]["eye"])


def test_cameras_that_do_not_fit_are_refused(simulator):
    with pytest.raises(EnvError, match=r"eye has a period of 0\.25 s, and an action lasts 0\.1 s; expected whole times of that"):
        environment(simulator, eye(0.25))
    with pytest.raises(EnvError, match=r"latency of 0\.1 s, which pictures in colour do not have"):
        environment(simulator, eye(0.1, latency=0.1))
    with pytest.raises(EnvError, match="cameras holds 'eye'; expected each an engine"):
        environment(simulator, "eye")
    with pytest.raises(EnvError, match="expected names of their own"):
        environment(simulator, eye(), eye())
    with pytest.raises(engine.ModelError, match="carts"):
        environment(simulator, S.DepthCamera("carts"))


@pytest.mark.parametrize("mode", ["next_step", "same_step", "disabled"])
def test_rows_see_what_each_would_see_alone(simulator, mode):
    """Second route: single environments that begin with the same numbers; episodes end at different times, and in pictures of then."""
    def looks(cameras):
        return {"observation": lambda t, q, v, target: np.concatenate([q, v, target]), "reward": lambda t, q, v: v[0],
                "terminated": lambda t, q, v, target: q[0] > target[1], "action_repeat": 10, "cameras": cameras, "point": "target",
                "reset": lambda random: {"q": np.array([0.3 * random.uniform(1)[0]]), "v": np.zeros(1),
                                         "target": np.array([2.0, 0.2 + 0.3 * random.uniform(1)[0], 0.3])}}  # fmt: skip

    cameras = [eye(), eye(0.2, name="slow")]
    envs = VectorEnv(simulator, 3, autoreset=mode, **looks(cameras))
    alone = [Env(simulator, **looks(cameras)) for _ in range(3)]
    rows = [{"state": s, "eye": e, "slow": w} for s, e, w in zip(*envs.reset(seed=[4, 5, 6])[0].values(), strict=True)]
    ones = [env.reset(seed=seed)[0] for env, seed in zip(alone, (4, 5, 6), strict=True)]
    ended, finals = np.zeros(3, dtype=bool), 0
    for _ in range(11):
        for row, one in zip(rows, ones, strict=True):
            assert {*row} == {"state", "eye", "slow"}
            for name, x in row.items():
                np.testing.assert_array_equal(x, one[name])
        if mode == "disabled" and ended.any():
            envs.reset(options={"reset_mask": ended})
            seen = envs._observed(np.arange(0))
            ones = [env.reset()[0] if end else one for env, one, end in zip(alone, ones, ended, strict=True)]
            for row, one in enumerate(ones):
                np.testing.assert_array_equal(seen["eye"][row], one["eye"])
            ended[:] = False
        obs, _, terminated, _, info = envs.step(np.ones((3, 1), np.float32))
        assert envs.observation_space.contains(obs)
        rows = [{name: x[k] for name, x in obs.items()} for k in range(3)]
        for k, env in enumerate(alone):
            if mode == "next_step" and ended[k]:
                ones[k] = env.reset()[0]
                continue
            ones[k] = env.step(np.ones(1, np.float32))[0]
            if mode == "same_step" and terminated[k]:
                for name, x in info["final_obs"][k].items():
                    np.testing.assert_array_equal(x, ones[k][name])
                ones[k], finals = env.reset()[0], finals + 1
        ended = terminated.copy()
    assert mode != "same_step" or finals >= 3
    for env in (envs, *alone):
        env.close()


def test_more_pictures_than_the_memory_holds_are_refused(simulator):
    wide = S.DepthCamera("cart", 4000, 3000, 1.2, name="wide")
    with pytest.raises(EnvError, match=r"the pictures of 100000 rows take [0-9.e+]+ GiB, and this machine has"):
        VectorEnv(simulator, 100_000, lambda t, q, v: q, lambda t, q, v: v[0], cameras=[wide])
