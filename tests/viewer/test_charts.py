"""Bars and plots with several curves: what they say of a motion, and that they are drawn."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from engine.viewer.display.charts import CURVES, draw_bars, draw_plot
from engine.viewer.display.facts import Bars, Plot
from engine.viewer.display.readings import Readings, parts_of_momentum
from engine.viewer.draw.canvas import Canvas
from engine.viewer.files.picture import render
from engine.viewer.scene import Actor


@pytest.fixture(scope="module")
def motion():
    model = engine.load_urdf(engine.example("free_flyer"), floating_base=True)
    v = np.zeros(model.nv)
    v[6:] = 0.3
    return engine.Simulator(model, dt=5e-3, gravity=(0, 0, 0)).run(model.neutral(), v, 1.0, record_every=20)


def test_base_and_rest_exchange_what_stays_in_sum(motion):
    parts = parts_of_momentum(motion)
    total = parts.sum(axis=1)
    assert np.ptp(total, axis=0).max() < 1e-9 * np.abs(total).max() and np.ptp(parts[:, 0], axis=0).max() > 0.01 * np.abs(total).max()
    rest = np.zeros((len(motion), 3))                                          # a second route: of the other links, one by one
    mass = sum(link.mass for link in motion.model.links)
    def placed(link):
        return motion.pose(link.name)[:, :3] @ [*engine.spatial.inertia.center(link.inertia), 1.0]
    center = sum(link.mass * placed(link) for link in motion.model.links if link.mass) / mass
    for link in motion.model.links:
        if link.mass and link.name != motion.model.base.joint.child:
            T = motion.pose(link.name)
            V = (motion.robot.jacobian(motion.q, link.name) @ motion.v[:, :, None])[..., 0]
            own = V @ link.inertia.T
            R = T[:, :3, :3]
            P = (R @ own[:, 3:, None])[..., 0]
            rest += (R @ own[:, :3, None])[..., 0] + np.cross(T[:, :3, 3] - center, P)
    assert parts[:, 1] == pytest.approx(rest, abs=1e-9 * np.abs(total).max() + 1e-12)


def test_bars_and_groups_say_units_and_sums(motion):
    names = [b.joint.name for b in motion.model.bodies if b.kind.nq == 1][:2]
    readings = Readings(Actor(motion), 0, [tuple(f"q.{n}" for n in names), f"tau.{names[0]}"])
    both, alone = readings.grouped(0.5)
    assert both.unit == "rad" and both.name == names[0] and [n for n, _, _ in both.others] == [names[1]] and alone.unit == "N·m"
    (energy, momentum) = readings.bars(("energy", "momentum"), 0.5)
    assert [n for n, _ in energy.rows] == ["kinetic"] and energy.most >= energy.rows[0][1] > 0.0
    base, rest, whole = (x for _, x in momentum.rows)
    assert whole == pytest.approx(base + rest) and abs(base) <= momentum.most * (1 + 1e-9)


def test_bars_of_a_fall_have_one_zero_from_first_to_last_and_no_rounding_in_their_sum():
    builder = engine.Builder("stone")
    builder.add_link("stone", inertia=engine.spatial.inertia.sphere(1.0, 0.1))
    model = builder.model(floating_base=True)
    readings = Readings(Actor(engine.Simulator(model, dt=1e-2).run(model.neutral(), np.zeros(6), 1.0)))
    zeros = []
    for t in (0.0, 1.0):
        canvas, (energy,) = Canvas(), readings.bars(["energy"], t)
        draw_bars(canvas, (0.0, 0.0, 200.0, 100.0), energy)
        zeros.append(canvas.vertices()["position"][-1, :, 0].min())            # the line of zero is drawn last
    assert zeros[0] == zeros[1] and energy.rows[2] == ("sum", 0.0) and energy.rows[1][1] < -40.0


def test_bars_below_zero_go_to_the_left():
    canvas = Canvas()
    draw_bars(canvas, (0.0, 0.0, 200.0, 100.0), Bars("x", "J", [("a", -1.0), ("b", 1.0)], 1.0))
    colored = canvas.vertices()[canvas.vertices()["color"][:, 0, 3] == 255]
    wide = colored[np.ptp(colored["position"][:, :, 0], axis=1) > 25]
    first, second = wide["position"][:, :, 0]
    assert first.max() <= second.min() + 3.0                                   # both end at the line of zero


@pytest.mark.parametrize("count", [2, 3, 5])
@pytest.mark.parametrize("cursor", [None, 0.4])
def test_of_curves_that_coincide_all_are_seen(monkeypatch, count, cursor):
    """In stretches of its own each lies on top, and none is broader than another."""
    t, drawn = np.linspace(0.0, 1.0, 50), []
    monkeypatch.setattr(Canvas, "line", lambda self, points, color, width: drawn.append((np.asarray(points), color[:3], width)))
    now = 1.0 if cursor is None else cursor
    others = [(f"sensor {n}", np.sin(t), np.sin(now)) for n in range(count - 1)]
    draw_plot(Canvas(), (0.0, 0.0, 300.0, 80.0), Plot("truth", "m", t, np.sin(t), np.sin(now), others), cursor)
    assert {width for *_, width in drawn} == {drawn[0][2]}
    top = dict.fromkeys(range(round(250.0 * now)))                             # what lies on top at each pixel of what has been
    for points, color, _ in drawn:
        for pixel in top:
            y = np.interp(pixel + 0.5, *points.T) if points[0, 0] <= pixel + 0.5 <= points[-1, 0] else np.nan
            top[pixel] = color if np.isfinite(y) else top[pixel]
    shares = [sum(c is not None and np.allclose(c, x[:3]) for c in top.values()) / len(top) for x in CURVES[:count]]
    assert sum(shares) == pytest.approx(1.0) and min(shares) > 0.5 / count


def test_a_picture_has_bars(motion):
    without, with_bars = (render(motion, t=0.5, size=(320, 240), samples=0, bars=b) for b in ((), ("energy", "momentum")))
    assert (with_bars != without)[:, :110].mean() > 0.2
    with pytest.raises(engine.ViewerError, match="bars is 'heat'"):
        render(motion, t=0.5, size=(320, 240), bars=("heat",))
    with pytest.raises(engine.ViewerError, match="no recorded motion"):
        render(motion.model, size=(320, 240), bars=("energy",))


def test_bars_of_momentum_are_of_the_first_of_several_that_float():
    """A servicer and its target, as one model without a base: what one has, and the rest, are all there is."""
    flyer = engine.load_urdf(engine.example("free_flyer"), floating_base=True)
    pair = engine.combine(servicer=flyer, target=flyer)
    q, v = pair.neutral(), np.zeros(pair.nv)
    q[pair.bodies[pair.roots[1]].q][4:] = [5.0, 0.0, 0.0]
    v[:3] = [0.0, 0.0, 0.2]
    run = engine.Simulator(pair, dt=0.01, gravity=(0, 0, 0)).run(q, v, 0.1)
    (bars,) = Readings(Actor(run)).bars(("momentum",), 0.05)
    base, rest, total = (x for _, x in bars.rows)
    L = run.momentum("center_of_mass")[5, :3]
    assert [name for name, _ in bars.rows] == ["base", "the rest", "sum"] and base + rest == pytest.approx(total)
    np.testing.assert_allclose(parts_of_momentum(run)[5].sum(axis=0), L, rtol=1e-9, atol=1e-9 * np.abs(L).max())
    assert abs(base) > 0.0
