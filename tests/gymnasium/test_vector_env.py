"""Rows of a batch as an environment: the same motion as the Simulator's, the same bits in any batch, episodes by mask."""

import zlib

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode

import engine
from engine import ops
from engine.gymnasium import EnvError, VectorEnv
from engine.gymnasium.environments import cart_pole, reach, vector
from engine.gymnasium.task import ROWS
from engine.spatial import inertia


def slider(**more):
    """A cart of 2 kg on a rail, pushed with a force."""
    builder = engine.Builder("rail")
    builder.add_link("world"), builder.add_link("cart", inertia=inertia.sphere(2.0, 0.1))
    builder.add_joint("slide", "prismatic", "world", "cart", axis=(1, 0, 0))
    given = {"dt": 0.01, "controller": lambda t, q, v, action: action, "parameters": {"action": [0.0]}}
    return engine.Simulator(builder.model(), **{**given, **more})


def begun(random):
    return {"q": random.uniform(1), "v": 0.1 * random(1), "goal": random.uniform(2)}


def seen(t, q, v, goal):
    return np.concatenate([q, v, goal, [t]])


def made(num_envs=3, simulator=None, **more):
    """An environment of sliders, whose episodes last 4 actions, or until q is above 0.9."""
    given = {"observation": seen, "reward": lambda t, q, v, goal, action: -abs(q[0] - goal[0]) - action[0] ** 2,
             "terminated": lambda t, q, v: q[0] > 0.9, "reset": begun, "action": spaces.Box(-50.0, 50.0, (1,)), "action_repeat": 5,
             "horizon": 0.2, "seed": 7, "dtype": np.float64}  # fmt: skip
    return VectorEnv(simulator or slider(), num_envs, **{**given, **more})


def drawn(seed, row, episode):
    """What an episode begins with, by NumPy's generator."""
    of = {"seed": seed, "stream": zlib.crc32(b"reset"), "count": episode, "run": row}
    return ops.uniform(1, **of, call=0), 0.1 * ops.normal(1, **of, call=1), ops.uniform(2, **of, call=2)


def by_hand(envs, actions, mode, seed=7):
    """What a loop over the Simulator gives: one row at a time, one action at a time."""
    simulator, rows = envs.simulator, []
    for row in range(envs.num_envs):
        q, v, goal = drawn(seed, row, 0)
        state, episode, k, waiting, found = simulator.start(q, v), 0, 0, False, []
        for action in actions[:, row]:
            final = None
            if waiting:
                episode, k, waiting = episode + 1, 0, False
                q, v, goal = drawn(seed, row, episode)
                state = simulator.start(q, v)
                found.append((np.array([*state.q, *state.v, *goal, 0.0]), 0.0, False, False, None))
                continue
            state, k = simulator.step(state, 5, {"action": action}), k + 5
            o, r = np.array([*state.q, *state.v, *goal, k * 0.01]), -abs(state.q[0] - goal[0]) - action[0] ** 2
            terminated, truncated = bool(state.q[0] > 0.9), k >= 20
            if (terminated or truncated) and mode == "same_step":
                episode, k, final = episode + 1, 0, o
                q, v, goal = drawn(seed, row, episode)
                state = simulator.start(q, v)
                o = np.array([*state.q, *state.v, *goal, 0.0])
            waiting = (terminated or truncated) and mode == "next_step"
            found.append((o, r, terminated, truncated, final))
        rows.append(found)
    return rows


@pytest.mark.parametrize("mode", ["next_step", "same_step"])
def test_autoreset_is_that_of_a_loop_over_the_simulator(mode):
    envs = made(4, autoreset=mode)
    assert envs.metadata["autoreset_mode"] is {"next_step": AutoresetMode.NEXT_STEP, "same_step": AutoresetMode.SAME_STEP}[mode]
    actions = np.random.default_rng(0).uniform(-50.0, 50.0, (23, 4, 1))
    hand = by_hand(envs, actions, mode)
    envs.reset()
    ends = []
    for i, action in enumerate(actions):
        o, r, terminated, truncated, info = envs.step(action)
        for row in range(4):
            o1, r1, te, tr, final = hand[row][i]
            np.testing.assert_allclose(o[row], o1, rtol=0, atol=1e-14)        # a state of the Simulator's has its t in another order
            assert abs(r[row] - r1) <= 4 * np.finfo(float).eps * abs(r1) and (terminated[row], truncated[row]) == (te, tr)
            assert (final is not None) == ("final_obs" in info and bool(info["_final_obs"][row]))
            if final is not None:
                np.testing.assert_allclose(info["final_obs"][row], final, rtol=0, atol=1e-14)
        ends.append(terminated | truncated)
    assert np.sum(ends) > 8 and any(t[2] for row in hand for t in row) and any(t[3] for row in hand for t in row)


def test_without_autoreset_a_mask_begins_episodes():
    envs = made(3, autoreset="disabled")
    first, _ = envs.reset(seed=1)
    for _ in range(4):
        o, _, terminated, truncated, _ = envs.step(np.zeros((3, 1)))
    assert truncated.all() and not terminated.any()
    with pytest.raises(EnvError, match="the episode of row 0 has ended; expected a reset"):
        envs.step(np.zeros((3, 1)))
    kept = envs.q[1]
    again, _ = envs.reset(options={"reset_mask": np.array([True, False, True])})
    assert (again[1] == o[1]).all() and envs.q[1] == kept and (again[[0, 2], 4] == 0.0).all() and envs.episodes.tolist() == [1, 0, 1]
    with pytest.raises(EnvError, match="row 1 has ended"):
        envs.step(np.zeros((3, 1)))
    envs.reset(options={"reset_mask": np.array([False, True, False])})
    assert envs.episodes.tolist() == [1, 1, 1]
    assert (envs.reset(seed=1)[0] == first).all()                              # and a seed begins at its first


def rolled(envs, actions):
    return [envs.reset(seed=5)[0], *(x for a in actions for x in envs.step(a)[:4])]


def test_a_row_is_the_same_bits_in_any_batch_and_on_any_number_of_threads():
    wide = {n: rolled(vector("engine/FreeFlyerReach-v0", n, dtype=np.float64, horizon=0.3, autoreset="same_step"),
                      np.random.default_rng(1).uniform(-1, 1, (8, 64, 7))[:, :n]) for n in (1, 2, 13, 64)}  # fmt: skip
    for n, found in wide.items():
        assert all((a == b[:n]).all() for a, b in zip(found, wide[64], strict=True)), n
    old = engine.get_threads()
    try:
        engine.set_threads(3)
        found = rolled(vector("engine/FreeFlyerReach-v0", 256, dtype=np.float64, horizon=0.3, autoreset="same_step"), np.zeros((4, 256, 7)))
        engine.set_threads(1)
        alone = rolled(vector("engine/FreeFlyerReach-v0", 256, dtype=np.float64, horizon=0.3, autoreset="same_step"), np.zeros((4, 256, 7)))
    finally:
        engine.set_threads(old)
    assert all((a == b).all() for a, b in zip(found, alone, strict=True))


def test_a_seed_a_row_begins_as_row_0_of_that_seed():
    envs = made(3)
    listed, _ = envs.reset(seed=[4, 4, 9])
    assert (listed[0] == listed[1]).all() and (listed[0] != listed[2])[:4].all()
    assert (made(1).reset(seed=9)[0][0] == listed[2]).all()
    after, _ = envs.reset(seed=[None, 4, None])
    assert (after[1] == listed[1]).all() and envs.episodes.tolist() == [1, 0, 1]
    assert (envs.reset()[0] != after)[:, :4].all()                             # all go on
    assert (made(seed=3).reset()[0] == made().reset(seed=3)[0]).all()
    assert (made(seed=None).reset()[0] != made(seed=None).reset()[0])[:, :4].all()


def test_an_action_lasts_so_many_steps_of_the_simulator():
    simulator = reach()["simulator"]
    envs = VectorEnv(num_envs=5, **{**reach(), "action_repeat": 4, "horizon": None, "dtype": np.float64})
    envs.reset(seed=2)
    action = np.random.default_rng(2).uniform(-1, 1, (5, 7))
    state = simulator.start(envs.q, envs.v, {"action": action})
    for k in range(1, 4):
        envs.step(action)
        state = simulator.step(state, 4, {"action": action})
        for found, wanted in ((envs.q, state.q), (envs.v, state.v)):           # momenta at first differ by a rounding
            np.testing.assert_allclose(found, wanted, rtol=0, atol=100 * np.finfo(float).eps)
        assert (envs.t == 4 * k * simulator.dt).all()


def test_the_momentum_of_what_floats_is_kept_through_an_episode():
    envs = VectorEnv(num_envs=8, **{**reach(), "autoreset": "disabled"})
    envs.reset(seed=3)
    robot, rng = envs.simulator.robot, np.random.default_rng(3)
    first = robot.momentum(envs.q, envs.v)
    for _ in range(50):
        truncated = envs.step(rng.uniform(-1, 1, (8, 7)).astype(np.float32))[3]
    drift = np.abs(robot.momentum(envs.q, envs.v) - first).max()
    assert truncated.all() and drift < 100 * np.finfo(float).eps * 600.0       # a rounding a step, of 500 kg at up to 1 m/s


def test_parameters_are_drawn_for_an_episode():
    """A mass in [1, 2) moves by F t²/2m."""
    simulator = slider(parameters={"action": [0.0], "mass.cart": 2.0})
    envs = made(6, simulator, reset=lambda random: {"q": np.zeros(1), "v": np.zeros(1), "mass.cart": 1.0 + random.uniform(1)[0]},
                observation=lambda t, q, v: q, reward=lambda t, q, v: 0.0)  # fmt: skip
    envs.reset()
    o = envs.step(np.full((6, 1), 3.0))[0]
    masses = envs.parameters["mass.cart"]
    assert len({*masses}) == 6 and ((masses >= 1) & (masses < 2)).all()
    np.testing.assert_allclose(o[:, 0], 3.0 * 0.05**2 / 2 / masses, rtol=1e-13)


def test_episodes_are_as_long_as_gymnasium_is_asked_for():
    for more, count in (({"max_episode_steps": 3}, 3), ({"horizon": None, "max_episode_steps": 6}, 6), ({"max_episode_steps": 9}, 4)):
        envs = made(1, terminated=None, **more)
        envs.reset()
        assert [bool(envs.step(np.zeros((1, 1)))[3][0]) for _ in range(count)] == [False] * (count - 1) + [True]
    assert gymnasium.make_vec("engine/CartPole-v0", 2, max_episode_steps=7).task.steps == 7


def test_gravity_may_be_drawn():
    simulator = slider(parameters={"action": [0.0], "gravity": [0.0, 0.0, -9.81]})
    envs = made(2, simulator, reset=lambda random: {**begun(random), "gravity": np.array([random.uniform(1)[0], 0.0, 0.0])})
    q = envs.reset()[0][:, 0]
    o = envs.step(np.zeros((2, 1)))[0]
    pulls = envs.parameters["gravity"][:, 0]
    assert pulls.std() > 0.0
    np.testing.assert_allclose(o[:, 0], q + 0.05 * (o[:, 1] - 0.05 * pulls) + pulls * 0.05**2 / 2, rtol=1e-12)


@pytest.mark.parametrize("mode", ["next_step", "same_step"])
def test_episodes_that_cannot_begin_are_left_out_and_told_once(mode):
    """A mass of 1 − |x| with normal x is none in a third of the draws: the simulator's own word on it, at first and later."""
    simulator = slider(parameters={"action": [0.0], "mass.cart": 2.0})

    def reset(random):
        return {"q": np.zeros(1), "v": np.zeros(1), "mass.cart": 1.0 - abs(random(1)[0])}

    given = {"observation": lambda t, q, v: q, "reward": lambda t, q, v: 0.0, "terminated": None, "horizon": 0.05, "autoreset": mode}
    with pytest.warns(engine.SimulationWarning, match="of 8 episodes that reset drew cannot begin: parameter 'mass.cart' is -.*above zero"):
        envs = made(5, simulator, reset=reset, **given)
    with pytest.warns(engine.SimulationWarning, match=r"episode \d of row \d cannot begin, and was left out: parameter") as told:
        envs.reset(seed=3)
        for _ in range(40):
            o, *_, info = envs.step(np.ones((5, 1)))
            assert (envs.parameters["mass.cart"] > 0.0).all() and np.isfinite(o).all() and "diverged" not in info
    assert len(told) == 1 and (envs.episodes > 20).all()
    mass = [1.0 - abs(ops.normal(1, seed=3, stream=zlib.crc32(b"reset"), count=k, run=0)[0]) for k in envs.episodes[:1]]
    np.testing.assert_allclose(envs.parameters["mass.cart"][0], mass[0], rtol=1e-14)


def test_a_reset_that_never_can_begin_is_refused():
    simulator = slider(parameters={"action": [0.0], "mass.cart": 2.0})
    with pytest.raises(EnvError, match=r"8 of 8 episodes that reset drew cannot begin: parameter .mass\.cart. is -1"):
        made(2, simulator, reset=lambda random: {**begun(random), "mass.cart": -1.0})


def test_what_is_read_of_an_environment_cannot_be_written_into():
    envs = made()
    envs.reset()
    for x in (envs.q, envs.v, envs.parameters["goal"]):
        with pytest.raises(ValueError, match="read-only"):
            x[0] = 0.0


def test_laws_get_noise_of_their_own_in_each_episode():
    simulator = slider(controller=engine.Law(lambda t, q, v, action, noise: action + noise(1), period=0.01))
    envs = made(2, simulator, reset=None, observation=lambda t, q, v: v, reward=lambda t, q, v: 0.0)
    envs.reset(seed=4)
    found = [envs.step(np.zeros((2, 1)))[0] for _ in range(8)]
    assert len({*np.ravel(found)}) == 15                                       # the beginnings of the second episodes are at rest
    runs = np.stack([envs.parameters["noise.run"], envs.parameters["noise.seed"]])
    assert (runs == [[ROWS, 1 + ROWS], [4, 4]]).all()


def test_what_diverges_is_truncated_and_begins_again():
    """ẍ = 1e6 x³ leaves all bounds."""
    simulator = slider(forces=[engine.Law(lambda t, q, v: 1e9 * q**3, stiff=False)])
    for mode in ("same_step", "next_step"):
        envs = made(2, simulator, reset=lambda random: {"q": np.ones(1), "v": np.zeros(1), "goal": np.zeros(2)}, terminated=None,
                    horizon=None, autoreset=mode)  # fmt: skip
        begin, _ = envs.reset()
        o, r, terminated, truncated, info = envs.step(np.zeros((2, 1)))
        assert truncated.all() and not terminated.any() and (r == 0).all() and info["diverged"].all() and info["_diverged"].all()
        assert (o == begin).all()                                              # the last that was finite, or the next beginning
        o, _, _, truncated, _ = envs.step(np.zeros((2, 1)))
        assert envs.episodes.tolist() == [1, 1] if mode == "next_step" else [2, 2]
        assert truncated.all() == (mode == "same_step")


def test_spaces_shapes_and_kinds_are_gymnasiums():
    envs = vector("engine/CartPole-v0", 5)
    assert isinstance(envs, gymnasium.vector.VectorEnv)
    assert envs.single_action_space == spaces.Discrete(2) and envs.action_space == spaces.MultiDiscrete([2] * 5)
    assert envs.single_observation_space.shape == (4,) and envs.observation_space.shape == (5, 4)
    o, info = envs.reset(seed=0)
    assert o in envs.observation_space and o.dtype == np.float32 and info == {}
    o, r, terminated, truncated, info = envs.step(envs.action_space.sample())
    assert o in envs.observation_space and (r == 1.0).all() and r.dtype == np.float64 and r.shape == (5,)
    assert terminated.dtype == truncated.dtype == bool and terminated.shape == truncated.shape == (5,) and info == {}
    assert vector("engine/CartPole-v0", 2, dtype="float64").reset()[0].dtype == np.float64
    matrix = made(observation=lambda t, q, v: np.outer(np.append(q, v), [1.0, 2.0, 3.0]))
    assert matrix.reset()[0].shape == (3, 2, 3)


def test_observations_are_copies_or_one_buffer_and_may_be_written():
    for copy in (True, False):
        envs = made(copy=copy)
        a, _ = envs.reset()
        kept, b = a.copy(), envs.step(np.ones((3, 1)))[0]
        assert (b is a) is (not copy) and (a == kept).all() == copy and b.flags.writeable and b.flags.c_contiguous
        b[:] = 0.0                                                             # nobody's state
        assert (envs.step(np.ones((3, 1)))[0][:, 4] == 0.1).all()


def test_torch_reads_observations_without_a_copy():
    torch = pytest.importorskip("torch")
    for dtype, kind in ((np.float32, torch.float32), (np.float64, torch.float64)):
        o, _ = made(dtype=dtype).reset()
        tensor = torch.from_dlpack(o)
        assert tensor.dtype == kind and tensor.data_ptr() == o.ctypes.data and tensor.shape == (3, 5)


def test_wrappers_of_gymnasium_take_it():
    envs = gymnasium.wrappers.vector.RecordEpisodeStatistics(made(3, autoreset="same_step"))
    envs.reset()
    found = [envs.step(np.zeros((3, 1)))[4] for _ in range(4)]
    assert (found[-1]["episode"]["l"] == 4).all()


@pytest.mark.parametrize(("options", "text"), [
    ({"num_envs": 0}, "num_envs is 0; expected a whole number of rows from 1"),
    ({"simulator": 3}, "an environment got a int; expected a Simulator"),
    ({"simulator": slider(parameters={"action": [0.0]}, compiled=False)}, "with compiled=False; expected one without"),
    ({"simulator": slider(events=[lambda t, q, v: q[0] - 9.0])}, "with events; expected one without"),
    ({"simulator": slider(controller=engine.Law(lambda t, q, v, action: action, period=0.01, python=True))}, "a controller in plain"),
    ({"simulator": slider(controller=None, parameters={})}, "no parameter 'action'; expected one"),
    ({"observation": 3}, "observation is 3; expected a function"),
    ({"observation": lambda t, q, v, gaol: q}, "asks for 'gaol' .did you mean 'goal'.*; expected some of"),
    ({"observation": lambda t, q, v: np.zeros(0)}, r"observation returned shape \(0,\); expected one or more numbers"),
    ({"observation": lambda t, q, v: q * np.nan}, "observation returned .*nan.* at the beginning of an episode; expected finite numbers"),
    ({"observation": lambda t, q, v: {"q": q}}, "observation returned .*; expected finite numbers"),
    ({"observation": lambda t, q, v, sizes=iter(range(1, 99)): np.zeros(next(sizes))}, r"observation returned shape \(2,\); .* \(1,\)"),
    ({"observation": lambda t, q, v, noise: q + noise(1)}, "observation asks for noise; expected a function of what is now"),
    ({"reward": lambda t, q, v: q}, r"reward returned shape \(1,\); expected one finite number"),
    ({"reward": engine.Law(lambda t, q, v: q[0], period=0.1)}, "reward is <engine.*Law.*>; expected a function"),
    ({"reward": lambda t, q, v: None}, "reward returned None at the beginning of an episode; expected one finite number"),
    ({"terminated": lambda t, q, v: q[0]}, r"terminated returned .*; expected one truth, such as q\[0\] > 1.0"),
    ({"reset": lambda random: {"q": random(1), "goal": random(2)}}, "reset returned no 'v', in .*; expected .q, v., or a dictionary"),
    ({"reset": lambda random: {**begun(random), "mass.crat": 3.0}}, "'mass.crat', which nothing reads .did you mean 'mass.cart'"),
    ({"reset": lambda random: {**begun(random), "mass.cart": 3.0}}, "reset returns 'mass.cart', which nothing reads"),
    ({"reset": lambda random: {**begun(random), "q": random.uniform(0.0, 1.0, 1)}}, r"uniform got \(0.0, 1.0, 1\); expected n alone"),
    ({"reset": lambda random: {**begun(random), "q": random.normal(1)}}, "random numbers have no 'normal'; expected noise"),
    ({"max_episode_steps": 0.5, "horizon": None}, "max_episode_steps is 0.5; expected a whole number of actions from 1"),
    ({"terminated": lambda t, q, v: q > 1.0}, r"terminated returned shape \(1,\); expected one truth"),
    ({"reset": 3}, "reset is 3; expected a function of the random numbers"),
    ({"reset": lambda random: random(1)}, "reset returned array.*; expected .q, v., or a dictionary"),
    ({"reset": lambda random: (random(2), random(1))}, r"reset returned q of shape \(2,\); expected \(1,\)"),
    ({"reset": lambda random: {"q": random(1), "v": random(1), "goal": np.inf}}, "reset returned goal = .*inf.*; expected finite"),
    ({"reset": lambda random: {"q": random(1), "v": random(1), "seed": 1.0}, "observation": lambda t, q, v: q,
      "reward": lambda t, q, v: 0.0}, "a parameter is named 'seed'"),
    ({"action": 3}, "action is 3; expected a Box or Discrete"),
    ({"action": spaces.Box(-1.0, 1.0, (2,))}, r"action is a space of shape \(2,\); expected \(1,\)"),
    ({"action_repeat": 0}, "action_repeat is 0; expected a whole number of steps from 1"),
    ({"horizon": 0.12}, "horizon is 0.12 s; expected a multiple of the 0.05 s"),
    ({"horizon": -1.0}, "horizon is -1.0; expected seconds"),
    ({"autoreset": "later"}, "autoreset is 'later'; expected one of next_step, same_step, disabled"),
    ({"dtype": np.float16}, "dtype is .*; expected float32 or float64"),
    ({"seed": -1}, "a seed is -1; expected a whole number from 0"),
])  # fmt: skip
def test_what_is_wrong_is_said(options, text):
    with pytest.raises(engine.EngineError, match=text):
        made(**options).reset()


def test_what_changes_after_it_was_compiled_is_said():
    class Gains:
        weight = 2.0

    gains = Gains()
    envs = made(reward=lambda t, q, v: -gains.weight * q[0] ** 2)
    envs.reset()
    gains.weight = 3.0
    envs.task._kept.looked = 0.0
    with pytest.raises(engine.EngineError, match=r"weight is 3.0, and was 2.0 when it was compiled.* a new environment"):
        envs.step(np.zeros((3, 1)))


def test_what_is_wrong_in_a_call_is_said():
    envs = made()
    for call, text in (
        (lambda: envs.step(np.zeros((3, 1))), "step was called before reset; expected reset"),
        (lambda: envs.reset(options={"reset_mask": np.array([True, False, True])}), "rows that have not begun"),
        (lambda: envs.reset(seed=[1, 2]), "reset got 2 seeds; expected one, or 3"),
        (lambda: envs.reset(seed=0.5), "a seed is 0.5; expected a whole number"),
        (lambda: envs.reset(options={"low": 1.0}), "reset got the option 'low'"),
        (lambda: envs.reset(options={"reset_mask": [True] * 3}), "reset_mask is .*; expected truths"),
        (lambda: envs.reset() and envs.step(np.zeros(3)), r"the actions have shape \(3,\); expected \(3, 1\)"),
        (lambda: envs.step([[1.0], [2.0, 3.0], []]), "the actions are not rectangular"),
        (lambda: envs.step(np.array([["a"]] * 3)), "the actions hold <U1; expected numbers"),
        (lambda: envs.step(np.array([[0.0], [np.nan], [0.0]])), "entry 0 of the action of row 1 is nan; expected one of Box"),
        (lambda: envs.step(np.array([[0.0], [0.0], [51.0]])), "entry 0 of the action of row 2 is 51.0; expected one of Box"),
    ):  # fmt: skip
        with pytest.raises(EnvError, match=text):
            call()
    poles = VectorEnv(num_envs=2, **cart_pole())
    poles.reset()
    for action, text in (([0, 2], "the action of row 1 is 2"), ([0.5, 0], "the action of row 0 is 0.5")):
        with pytest.raises(EnvError, match=text):
            poles.step(np.array(action))
    infinite = made(observation=lambda t, q, v, goal: np.log(0.95 - goal))
    with pytest.raises(EnvError, match="is not finite at the beginning"), np.errstate(all="ignore"):
        for _ in range(50):
            infinite.reset()
