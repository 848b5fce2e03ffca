"""The registered environments, single ones, and pictures of them."""

import subprocess
import sys
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from engine import Simulator, dynamics
from engine.gymnasium import Env, EnvError, VectorEnv
from engine.gymnasium.environments import ENVIRONMENTS, NEAR, OFFSET, SLOW, capture, cart_pole, reach, single
from engine.spatial import quaternion

NAMES = [*ENVIRONMENTS]


@pytest.mark.parametrize("name", NAMES)
def test_gymnasium_makes_and_checks_it(name):
    env = gymnasium.make(name, render_mode="rgb_array")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*A Box observation space")  # which are unbounded
        check_env(env.unwrapped)
    env.reset(seed=0)
    picture = env.render()
    assert picture.shape == (480, 640, 3) and picture.dtype == np.uint8 and len(np.unique(picture.reshape(-1, 3), axis=0)) > 500
    envs = gymnasium.make_vec(name, num_envs=3)
    assert isinstance(envs.unwrapped, VectorEnv) and envs.spec.id == name
    assert envs.reset(seed=0)[0].shape == (3, *env.observation_space.shape)


@pytest.mark.parametrize("name", NAMES)
def test_one_environment_is_one_row_to_the_bit(name):
    env, rows = single(name), gymnasium.make_vec(name, num_envs=2, autoreset="disabled")
    one, many = env.reset(seed=11)[0], rows.reset(seed=[3, 11])[0]
    rows.action_space.seed(0)
    for _ in range(5):
        assert (one == many[1]).all() and one.dtype == np.float32
        action = rows.action_space.sample()
        (one, r, *ends, info), (many, rewards, *all_ends, _) = env.step(action[1]), rows.step(action)
        assert type(r) is float and r == rewards[1] and ends == [e[1] for e in all_ends] and info == {}
    assert env.t == pytest.approx(5 * env.rows.task.repeat * env.simulator.dt)


def test_the_poles_motion_is_that_of_the_classics_equations():
    """An explicit Runge–Kutta step of CartPole's equations, small enough, leads where cg4's 0.02 s do; limits and rewards are its own."""
    peer = gymnasium.make("CartPole-v1").unwrapped

    def rate(y, force):
        """ẏ of (x, ẋ, θ, θ̇), as the classic's source has it."""
        temp = (force + peer.polemass_length * y[3] ** 2 * np.sin(y[2])) / peer.total_mass
        turn = (peer.gravity * np.sin(y[2]) - np.cos(y[2]) * temp) / (
            peer.length * (4.0 / 3.0 - peer.masspole * np.cos(y[2]) ** 2 / peer.total_mass))  # fmt: skip
        return np.array([y[1], temp - peer.polemass_length * turn * np.cos(y[2]) / peer.total_mass, y[3], turn])

    env = single("engine/CartPole-v0", dtype=np.float64)
    finer = Simulator(env.simulator.model, **{**env.simulator._arguments, "dt": 1e-3})
    fine = single("engine/CartPole-v0", dtype=np.float64, simulator=finer, action_repeat=20)
    y, _ = env.reset(seed=1)
    x, _ = fine.reset(seed=1)
    assert (np.abs(y) <= 0.05).all() and env.action_space == peer.action_space
    for action in (1, 1, 0, 1, 0, 0, 1):
        force, h = peer.force_mag * (2 * action - 1), peer.tau / 50
        for _ in range(50):
            a = rate(y, force); b = rate(y + h / 2 * a, force); c = rate(y + h / 2 * b, force); d = rate(y + h * c, force)
            y = y + h / 6 * (a + 2 * b + 2 * c + d)
        coarse, reward, *_ = env.step(action)
        x = fine.step(action)[0]
        assert np.abs(x - y).max() < 1e-10                                     # both of order 4, with steps of 1 ms and 0.4 ms
        assert np.abs(coarse - x).max() < 1e-10 * 20**4 and reward == 1.0
    while True:
        y, reward, terminated, truncated, _ = env.step(1)
        assert reward == 1.0 and not truncated
        assert terminated == (abs(y[0]) > peer.x_threshold or abs(y[2]) > peer.theta_threshold_radians)
        if terminated:
            break
    assert env.rows.task.steps == gymnasium.spec("CartPole-v1").max_episode_steps


def test_reach_says_where_the_gripper_is():
    env = single("engine/FreeFlyerReach-v0", dtype=np.float64)
    env.reset(seed=5)
    action = np.linspace(-1, 1, 7)
    for _ in range(10):
        o, reward, *_ = env.step(action)
    model, target = env.simulator.model, env.parameters["target"]
    k = model.link_index("gripper")
    T, V = dynamics.forward_kinematics(model, env.q)[k], dynamics.twists(model, env.q, env.v)[k]
    R = quaternion.to_matrix(env.q[:4])
    np.testing.assert_allclose(o[:3], R.T @ (target - T[:3, 3]), atol=1e-12)
    np.testing.assert_allclose(o[3:6], R.T @ T[:3, :3] @ V[3:], atol=1e-12)
    assert reward == pytest.approx(-np.linalg.norm(o[:3]) - 0.01 * action @ action, abs=1e-12)
    assert np.abs(env.q[1:4]).max() > 1e-4                                     # the base reacts


def test_capture_ends_at_the_handle_and_the_target_flies_on():
    made = capture()
    plain = made["reset"]

    def near(random):
        q, v = plain(random)
        q[18:21] = at_first + [0.02, 0.03, -0.02]                              # the handle, beside the gripper
        return q, 0.0 * v

    model = made["simulator"].model
    q = model.neutral(); q[7:14] = [0.3, -0.2, 0.2, 1.4, 0.1, 0.6, 0.2]
    at_first = dynamics.forward_kinematics(model, q)[model.link_index("servicer/gripper")][:3, 3]
    env = Env(**{**made, "reset": near})
    env.reset(seed=0)
    o, reward, terminated, *_ = env.step(np.zeros(7))
    assert np.linalg.norm(o[:3]) < NEAR and np.linalg.norm(o[3:6]) < SLOW and terminated and 9.9 < reward < 10.0
    free = single("engine/Capture-v0", dtype=np.float64)
    free.reset(seed=0)
    robot, link = free.simulator.robot, free.simulator.model.link_index("target/handle")

    def center():
        T = robot.forward_kinematics(free.q)[link]
        return T[:3, :3] @ OFFSET + T[:3, 3]

    places, P = [center()], robot.momentum(free.q, free.v)
    for _ in range(20):
        assert not free.step(np.ones(7))[2]
        places.append(center())
    assert np.abs(np.diff(places, 2, axis=0)).max() < 1e-12 and np.ptp(places, axis=0).max() > 1e-3      # straight on, steadily
    assert np.abs(robot.momentum(free.q, free.v) - P).max() < 100 * np.finfo(float).eps * 680.0


def test_pictures_show_what_moves():
    env = single("engine/CartPole-v0", render_mode="rgb_array")
    with pytest.raises(EnvError, match="render was called before reset"):
        env.render()
    env.reset(seed=0)
    before = env.render()
    for _ in range(5):
        env.step(1)
    assert (env.render() != before).any() and single("engine/CartPole-v0").render() is None
    assert env.metadata["render_fps"] == 50 and single("engine/Capture-v0").metadata["render_fps"] == 10


@pytest.mark.parametrize(("options", "text"), [
    ({"render_mode": "human"}, "render_mode is 'human'; expected one of rgb_array"),
    ({"autoreset": "same_step"}, "a single environment got autoreset"),
    ({"point": "goal"}, "point is 'goal'; expected the name of a parameter"),
])  # fmt: skip
def test_what_is_wrong_with_a_single_one_is_said(options, text):
    with pytest.raises(EnvError, match=text):
        Env(**{**cart_pole(), **options})


def test_a_single_one_asks_for_a_reset():
    env = Env(**{**reach(), "horizon": 0.1})
    with pytest.raises(EnvError, match="step was called before reset"):
        env.step(np.zeros(7))
    env.reset(seed=0)
    assert env.step(np.zeros(7, dtype=np.float32))[3]
    with pytest.raises(EnvError, match="has ended; expected a reset"):
        env.step(np.zeros(7))


def test_import_engine_does_not_load_gymnasium():
    code = "import sys, engine; print('gymnasium' in sys.modules, 'engine.gymnasium' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False False\n"
