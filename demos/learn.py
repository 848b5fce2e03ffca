"""Teaches a free-flying servicer to bring its gripper to a point, by proximal policy optimisation.

    python demos/learn.py
    python demos/learn.py --video learned.mp4          # or --view, in a window

Takes torch (pip install ".[learning]"). All rows of the environment are stepped in one call of machine code. What was learned is saved
(learn.pt), and then flown by a Simulator whose controller is the network itself, compiled into the step and asked at every stage of it.
Writes the network, the flights (.h5) and a plot (.png).
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import gymnasium
import numpy as np
import show
import torch
from torch import nn

import engine
from engine.gymnasium.environments import motors, reach

NAME = "engine/FreeFlyerReach-v0"
EPOCHS, PIECES = 5, 16                                                         # of an update: passes, minibatches
DISCOUNT, TRACE, CLIP, RATE, UNIT = 0.98, 0.95, 0.2, 1e-3, 0.2                 # of rewards a step and of their errors; of steps; of rewards
UNSEEN = 10**6                                                                 # a seed that is not trained with


class Agent(nn.Module):
    """A policy, with the noise by which it tries others, and an estimate of what a state is worth."""

    def __init__(self, n: int, m: int) -> None:
        super().__init__()
        self.actor, self.critic = network(n, m, 0.01), network(n, 1, 1.0)
        self.spread = nn.Parameter(torch.full((m,), -0.5))                     # a logarithm

    def chances(self, o):
        return torch.distributions.Independent(torch.distributions.Normal(self.actor(o), self.spread.exp()), 1)

    def value(self, o):
        return self.critic(o).squeeze(-1)


def network(n: int, m: int, gain: float) -> nn.Sequential:
    layers = [nn.Linear(n, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, m)]
    for layer, g in zip(layers[::2], (2**0.5, 2**0.5, gain), strict=True):
        nn.init.orthogonal_(layer.weight, g)
        nn.init.zeros_(layer.bias)
    return nn.Sequential(*layers)


@torch.no_grad()
def collect(envs, agent, o, length):
    """Act with all rows; return what was seen and done, how likely, how much better than thought it was, and what it is worth; and what
    is seen now."""
    rows, kept = len(o), []
    for _ in range(length):
        chances = agent.chances(o)
        a = chances.sample()
        seen, reward, terminated, truncated, info = envs.step(a.clamp(-1.0, 1.0).numpy())
        reward = UNIT * torch.from_numpy(reward).float()
        if (late := np.flatnonzero(truncated & ~terminated)).size:             # it would have gone on
            reward[late] += DISCOUNT * agent.value(torch.from_dlpack(np.stack(info["final_obs"][late])))
        kept.append((o, a, chances.log_prob(a), agent.value(o), reward, (~torch.from_numpy(terminated | truncated)).float()))
        o = torch.from_dlpack(seen)
    o_all, a_all, likely, value, reward, on = (torch.stack(x) for x in zip(*kept, strict=True))
    better, following, then = torch.zeros(length, rows), agent.value(o), torch.zeros(rows)
    for k in reversed(range(length)):                                          # generalized advantage estimation
        then = reward[k] + DISCOUNT * on[k] * following - value[k] + DISCOUNT * TRACE * on[k] * then
        better[k], following = then, value[k]
    return [x.flatten(0, 1) for x in (o_all, a_all, likely, better, better + value)], o


def improve(agent, optimizer, batch):
    """Some passes over what was collected: better actions become more likely, by a factor of 1 ± CLIP at most."""
    for _ in range(EPOCHS):
        for piece in torch.randperm(len(batch[0])).chunk(PIECES):
            o, a, likely, better, worth = (x[piece] for x in batch)
            ratio = (agent.chances(o).log_prob(a) - likely).exp()
            better = (better - better.mean()) / (better.std() + 1e-8)
            gained = torch.minimum(ratio * better, ratio.clamp(1.0 - CLIP, 1.0 + CLIP) * better).mean()
            loss = 0.5 * (agent.value(o) - worth).square().mean() - gained
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()


@torch.no_grad()
def mean_return(agent, rows=256):
    """Of one episode a row, without noise."""
    envs = gymnasium.make_vec(NAME, rows)
    (o, _), total, done = envs.reset(seed=UNSEEN), np.zeros(rows), np.zeros(rows, dtype=bool)
    while not done.all():
        o, reward, terminated, truncated, _ = envs.step(agent.actor(torch.from_dlpack(o)).clamp(-1.0, 1.0).numpy())
        total, done = total + np.where(done, 0.0, reward), done | terminated | truncated
    return total.mean()


def trained(agent, updates, rows, length):
    """Return the gripper's mean distance from its point in each update, m."""
    envs = gymnasium.make_vec(NAME, rows, autoreset="same_step")
    optimizer, apart = torch.optim.Adam(agent.parameters(), RATE, eps=1e-5), []
    o = torch.from_dlpack(envs.reset(seed=0)[0])
    for k in range(updates):
        optimizer.param_groups[0]["lr"] = RATE * (1.0 - k / updates)
        batch, o = collect(envs, agent, o, length)
        improve(agent, optimizer, batch)
        apart.append(float(batch[0][:, :3].norm(dim=-1).mean()))
    return apart


def flown(agent, flights=16):
    """Flights to points that were not trained with, by a Simulator, with the network in its controller; and the points."""
    rows, made = gymnasium.make_vec(NAME, flights).unwrapped, reach()
    rows.reset(seed=UNSEEN)
    net, seen, points = engine.policy(agent.actor), made["observation"], rows.parameters["target"]

    def controller(t, q, v, pose, twist, target):
        action = np.clip(net(seen(t, q, v, pose, twist, target)), -1.0, 1.0)
        return np.concatenate([np.zeros(6), motors(action, v[6:])])

    simulator = engine.Simulator(rows.simulator.model, dt=0.05, integrator="rkmk4", gravity=(0, 0, 0), joint_dynamics="explicit",
                                 controller=controller, parameters={"target": points[0]})  # fmt: skip
    return simulator.run(rows.q, rows.v, 5.0, parameters={"target": points}), points


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--updates", type=int, default=60, help="of the policy (default: 60)")
    parser.add_argument("--rows", type=int, default=512, help="environments that are stepped together (default: 512)")
    parser.add_argument("--length", type=int, default=50, help="actions of each before an update, best whole episodes of 50 (default: 50)")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for what is written (default: out)")
    show.add_options(parser)
    options = parser.parse_args()

    torch.manual_seed(0)
    torch.set_num_threads(1)                                                   # of networks as small as these threads make nothing faster
    agent = Agent(29, 7)
    before, begun = mean_return(agent), time.perf_counter()
    curve = trained(agent, options.updates, options.rows, options.length)
    actions = options.updates * options.rows * options.length
    print(f"trained    {actions} actions in {time.perf_counter() - begun:.0f} s")
    print(f"return     {before:.2f} before, {mean_return(agent):.2f} after, on average of 256 flights to other points")
    options.out.mkdir(parents=True, exist_ok=True)
    torch.save(agent.state_dict(), options.out / "learn.pt")

    flights, points = flown(agent)
    gap = np.linalg.norm(flights.pose("gripper")[..., :3, 3] - points[:, None], axis=-1)
    first, last = gap[:, 0].mean(), gap[:, -1].mean()
    print(f"flown      {len(points)} flights by the Simulator: {first:.2f} m from the point at first, {last:.2f} m after 5 s")
    print(f"momentum   changed by {np.abs(np.ptp(flights.momentum(), axis=1)).max():.1e} N·m·s, N·s at most")
    data = flights.save(options.out / "learn.h5", overwrite=True)
    plot(curve, flights.t, gap, data.with_suffix(".png"))
    print(f"wrote      {options.out / 'learn.pt'}, {data} and {data.with_suffix('.png')}")
    k = int(gap[:, 0].argmax())
    mark = engine.Builder("point")
    mark.add_link("point", visuals=(show.shape("sphere", (0.06,), (0.8, 0.1, 0.1), at=points[k]),))
    soon = flights.t <= 0.5 * flights.t[-1]                                    # and then it stays there
    flight, apart = flights.rollout(k)[soon], gap[k, soon][-1]
    show.show(options, [flight, mark.model()], speed=0.125, view=(-0.8, 0.35), shown=engine.Shown(trails=("gripper",), trail_time=5.0),
              story=[(0.0, "A policy learned to bring the gripper to a point (red), its base held by nothing"),
                     (0.7, f"After {flight.t[-1]:g} s it is {100 * apart:.0f} cm from the point")])  # fmt: skip


def plot(curve, t, gap, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (a, b) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
    a.plot(curve)
    a.set(title="gripper's mean distance from its point while it learns", xlabel="update", ylabel="m")
    b.plot(t, gap.T, lw=0.8)
    b.set(title="gripper's distance from its point in each flight", xlabel="t, s", ylabel="m")
    for axis in (a, b):
        axis.grid(alpha=0.3)
        axis.set_ylim(0.0)
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    try:
        main()
    except ValueError as error:
        sys.exit(f"error: {error}")
