"""Shapes that begin in each other part as slowly as their recess closes, by pairs, rows and tables, and rest as if they had touched."""

import warnings

import numpy as np
import pytest

import engine
from engine.contact.many import RowLaws
from engine.contact.point_law import PARTING
from engine.model import Geometry
from engine.simulation import contacts as choice
from engine.spatial import inertia, se3
from tests.contact.scenes import UPRIGHT, block, simulator
from tests.contact.test_turning import DT, ROUTES, G, M, R, lying, moved

NO_GRAVITY = {"gravity": (0.0, 0.0, 0.0)}
FEW = pytest.mark.parametrize("few", [20, 0], ids=["pairs", "tables"])


def springs(k, loss=0.0):
    """The surface of two things with a spring k, N/m, between them."""
    return engine.ContactMaterial(2.0 * k, loss, 0.5)


pytestmark = pytest.mark.filterwarnings("ignore:.*overlap by .* at the start:engine.SimulationWarning",
                                        "ignore:.*deep, over a tenth:engine.SimulationWarning",
                                        "ignore:.*of the thinner one, over a tenth:engine.SimulationWarning")  # fmt: skip


@pytest.mark.parametrize("route", ROUTES)
def test_a_ball_parts_as_its_recess_closes(route, monkeypatch):
    """m ẍ = −k x of x = δ − d, with the recess d = d₀ − u t: the ball rises at u (1 − cos ωt) until ωt = π, then at 2 u."""
    k, depth = 1e3, 0.04
    run, _, v = moved(lying(route, monkeypatch, springs(k), **NO_GRAVITY), np.zeros(6), 0.3, (0, 0, R - depth))
    w = np.sqrt(k / M)
    rises = PARTING * (1.0 - np.cos(np.minimum(w * run.t, np.pi)))
    np.testing.assert_allclose(v[:, 5], rises, atol=PARTING * w * DT)          # the recess is as it was at a step's beginning


@pytest.mark.parametrize("route", ROUTES)
def test_it_comes_to_rest_where_it_touches(route, monkeypatch):
    """Beside one that begins there; nothing is thrown on the way, and the springs' energy is not that of what presses nothing."""
    made, depth = lying(route, monkeypatch, springs(1e5, 1.0)), M * G / 1e5
    run, q, v = moved(made, np.zeros(6), 2.0, (0, 0, R - 0.02))
    rests = moved(made, np.zeros(6), 2.0, (0, 0, R - depth))[1]
    assert q[-1, 6] == pytest.approx(rests[-1, 6], abs=1e-9) and np.abs(v[:, 5]).max() <= 2.0 * PARTING
    balls = made.model.nv // 6
    assert run("contacts.energy").max() <= balls * (0.5 * 1e5 * (PARTING * np.sqrt(M / 1e5) + 2.0 * depth) ** 2)
    if route != "tables":
        np.testing.assert_allclose(run("contacts.gap")[0], -0.02)


@FEW
def test_two_boxes_part_with_their_momentum(few, monkeypatch):
    monkeypatch.setattr(choice, "FEW_PAIRS", few)
    boxes = engine.combine(a=block((0.1,) * 3, 1.0), b=block((0.1,) * 3, 3.0))
    made = simulator(boxes, springs(1e5, 0.1), ground=False, dt=DT, **NO_GRAVITY)
    run = made.run([*UPRIGHT, 0, 0, 0, *UPRIGHT, 0.02, 0.01, 0.09], np.zeros(12), 0.5)
    apart = np.linalg.norm(run.v[-1].reshape(2, 6)[:, 3:], axis=1)
    assert np.abs(run.momentum() - run.momentum()[0]).max() < 1e-15 and 0.5 * PARTING < apart.sum() < 2.0 * PARTING


@pytest.mark.parametrize("route", ROUTES)
def test_resumed_in_a_batch_and_cut_by_an_event_it_parts_as_slowly(route, monkeypatch):
    made = lying(route, monkeypatch, springs(1e5, 1.0))
    n = made.model.nv // 6
    q, v = np.ravel([[*UPRIGHT, 0, 3.0 * k, R - 0.01] for k in range(n)]), np.zeros(6 * n)
    alone = made.run(q, v, 0.2, record_every=50)
    every = made.run(np.stack([q, q]), np.stack([v, v + 0.01]), 0.2, record_every=50)
    assert every.q[0].tobytes() == alone.q.tobytes()
    state = made.step(made.step(made.start(q, v), 45), 155)
    assert state.q.tobytes() == alone.q[-1].tobytes() and state.v.tobytes() == alone.v[-1].tobytes()
    if route == "tables":
        return
    seen = engine.Event(lambda t, q, v: t - 0.0405)
    cut = lying(route, monkeypatch, springs(1e5, 1.0), events=[seen]).run(q, v, 0.2)
    assert np.abs(cut.v).max() <= 2.0 * PARTING and len(cut.events)


def test_what_its_springs_part_slowly_is_as_it_was(monkeypatch):
    """Nothing is said of a soft ball in the ground, and its spring gives back all of k δ²/2."""
    made = lying("pairs", monkeypatch, springs(1e3), **NO_GRAVITY)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _, _, v = moved(made, np.zeros(6), 0.1, (0, 0, R - 0.01))
    assert v[-1, 5] == pytest.approx(0.01 * np.sqrt(1e3 / M), rel=1e-3)


def rug(places, radius=0.05):
    """A plate of balls with these centres (n, 3) in one link, and another link on a joint: many pairs of one robot."""
    builder = engine.Builder("rug")
    G = inertia.box(M * len(places), (1.0, 1.0, 0.1))
    builder.add_link("plate", inertia=G, collisions=[Geometry("sphere", (radius,), se3.exp([0, 0, 0, *x])) for x in places])
    builder.add_link("rest", inertia=inertia.box(M, (0.1,) * 3))
    builder.add_joint("joint", "revolute", "plate", "rest", axis=(0, 0, 1))
    return builder.model(floating_base=True)


def test_all_of_many_pairs_of_one_robot_part_slowly():
    """Two for each shape are kept: of a hundred balls in the ground, and not sixty-four alone."""
    x = 0.1 * (np.arange(10) - 4.5)
    made = simulator(rug([(a, b, 0.0) for a in x for b in x]), springs(1e5, 1.0), dt=DT)
    run = made.run([*UPRIGHT, 0, 0, 0.045, 0], np.zeros(7), 0.2)
    assert isinstance(made.plant.contacts, RowLaws) and np.abs(run.v).max() <= 2.0 * PARTING


def test_more_than_are_kept_are_refused():
    balls = [(0.0, 0.0, 1e-4 * k) for k in range(9)]
    made = simulator(engine.combine(a=rug(balls), b=rug(balls)), springs(1e5, 1.0), ground=False, dt=DT)
    with pytest.raises(engine.ContactError, match=r"81 pairs of shapes overlap at the start .*; expected at most 64 of these"):
        made.run([*UPRIGHT, 0, 0, 0, 0, *UPRIGHT, 0.09, 0, 0, 0], np.zeros(14), 0.2)
