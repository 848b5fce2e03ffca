"""What a motion may be, what comes out of it, and what is said of what is none."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest

import engine
from engine import IdentificationError, IdentificationWarning
from tests.identification.support import arm, motion, other

UNKNOWN = ["inertia.l3", "damping.j1", "damping.j3"]


@pytest.fixture(scope="module")
def swung():
    """A recorded motion of the arm with damping alone; and a model with other numbers, and the true ones."""
    model = arm(friction=0.0)
    law = lambda t, q, v: 3.0 * np.sin((1.0 + np.arange(4.0)) * t) - np.array([0.0, 20.0, 9.0, 5.0]) * q
    simulator = engine.Simulator(model, dt=1e-3, controller=law, joint_dynamics="explicit")
    return (*other(model, UNKNOWN), simulator.run(model.neutral(), np.zeros(4), 3.0, record_every=5))


def base_of(found, true):
    return found.base_values, found.base.B @ true.values


def test_trajectories_recordings_and_batches(swung, tmp_path):
    guess, true, run = swung
    found = engine.identify(guess, run, UNKNOWN)
    np.testing.assert_allclose(*base_of(found, true), atol=1e-8)
    run.save(tmp_path / "run.h5")
    again = engine.identify(guess, tmp_path / "run.h5", UNKNOWN)
    np.testing.assert_array_equal(again.base_values, found.base_values)
    parts = engine.identify(guess, [run[:300], run[300:]], UNKNOWN)
    np.testing.assert_allclose(parts.base_values, found.base_values, atol=1e-9)
    batch = engine.Simulator(arm(friction=0.0), joint_dynamics="explicit").run(0.1 * np.arange(8.0).reshape(2, 4), np.ones((2, 4)), 0.3)
    np.testing.assert_allclose(*base_of(engine.identify(guess, batch, UNKNOWN), true), atol=1e-7)


def test_tables_of_named_columns(swung, tmp_path):
    """A CSV file, a DataFrame and columns by name are the trajectory; without rates they are derived as by ``engine torques``."""
    guess, true, run = swung
    found, path = engine.identify(guess, run, UNKNOWN), run.to_csv(tmp_path / "run.csv")
    for table in (str(path), path, run.to_pandas(), {"t": run.t, **run.columns()}):
        np.testing.assert_allclose(engine.identify(guess, table, UNKNOWN).base_values, found.base_values, atol=1e-10)
    bare = {"t": run.t, "q": run.q, "tau": run.tau}
    with_rates = engine.identify(guess, {**bare, "v": run.v}, UNKNOWN)
    derived = engine.identify(guess, bare, UNKNOWN)
    smooth = engine.identify(guess, {**bare, "q": run.q + 1e-6 * np.random.default_rng(0).standard_normal(run.q.shape)}, UNKNOWN, smooth=21)
    for one, near in ((with_rates, 1e-5), (derived, 1e-4), (smooth, 0.05)):
        np.testing.assert_allclose(*base_of(one, true), atol=near)


def test_a_floating_base_without_forces_of_its_own_has_none(tmp_path):
    model = engine.load_urdf(engine.example("free_flyer"), floating_base=True)
    push = engine.Simulator(model, gravity=(0, 0, 0), joint_dynamics=None,
                            controller=lambda t, q, v: np.concatenate([np.zeros(6), np.sin((1.0 + np.arange(7.0)) * t)]))  # fmt: skip
    run = push.run(model.neutral(), np.zeros(13), 2.0, record_every=50)
    guess, true = other(model, "inertia.gripper")
    columns = {n: x for n, x in {"t": run.t, **run.columns()}.items() if not n.startswith("tau.floating_base")}
    robot = engine.compile(guess, gravity=(0, 0, 0))
    arrays = {"q": run.q, "v": run.v, "vdot": run.vdot, "tau": run.tau[:, 6:]}
    for given in (columns, arrays, run):
        np.testing.assert_allclose(engine.identify(robot, given, "inertia.gripper").values, true.values, atol=1e-7)


def test_what_comes_out_can_be_read(swung):
    guess, _, run = swung
    found = engine.identify(guess, run, [*UNKNOWN, "inertia.l2"])
    assert repr(found).startswith("<identification of 'arm': ") and "condition" in repr(found)
    text = str(found)
    assert "combination" in text and "damping.j1" in text and all(len(line) < 120 for line in text.splitlines())
    table = found.table
    assert list(table.columns) == ["before", "value", "std", "low", "high", "known from"]
    assert table.loc["damping.j1", "value"] == pytest.approx(0.4, abs=1e-8) and table.loc["damping.j1", "known from"] == "itself"
    assert {*table["known from"]} == {"itself", "combinations"}
    name = table.index[table["known from"] == "combinations"][0]
    assert found.combined(name) and all(name in c for c in found.combined(name))
    assert [*found.residuals] == ["j0", "j1", "j2", "j3"] and max(found.residuals.values()) < 1e-8
    wide, narrow = found.interval(0.99), found.interval(0.5)
    known = found.base.alone
    assert (wide[known, 1] - wide[known, 0] > narrow[known, 1] - narrow[known, 0]).all()
    np.testing.assert_allclose(found.predict(run), run.tau, atol=1e-8)
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.values, found.values)
    for wrong, said in ((lambda: found.combined("Izz"), "no unknown 'Izz'; expected one of"),
                        (lambda: found.interval(95), "confidence is 95; expected a share above 0 and below 1")):  # fmt: skip
        with pytest.raises(IdentificationError, match=said):
            wrong()


def test_a_motion_that_does_not_show_all_is_said_so():
    """One joint alone moves, as if the others were welded; noise hides what little a light link does."""
    model = arm(friction=0.0)
    given = motion(model, 40)
    still = {n: x * [1.0, 0.0, 0.0, 0.0] for n, x in given.items()}
    tau = engine.compile(model).rnea(still["q"], still["v"], still["vdot"]) + still["v"] @ engine.dynamics.damping_matrix(model)
    guess, true = other(model, UNKNOWN)
    with pytest.warns(IdentificationWarning, match=r"the motion shows \d+ combinations of the \d+ that the robot could, and nothing of"):
        found = engine.identify(guess, {**still, "tau": tau}, UNKNOWN)
    np.testing.assert_allclose(*base_of(found, true), atol=1e-8)
    before = found.table.loc["damping.j1"]
    assert before["value"] == before["before"] and before["known from"] == "nothing"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = engine.identify(guess, motion(model, 40, noise=3.0), "inertia.follower")
    assert found.warnings[0].startswith("the motion hardly shows ") and "'Ixx.follower'" in found.warnings[0]


ARM, GIVEN = arm(), motion(arm(), 20)


@pytest.mark.parametrize(("change", "text"), [
    ({"motion": 3}, "a motion is 3; expected a Trajectory, arrays by name"),
    ({"motion": []}, "there is no motion; expected at least one"),
    ({"motion": {**GIVEN, "taw": GIVEN["tau"]}}, r"a motion has 'taw' \(did you mean 'tau'\?\)"),
    ({"motion": {**GIVEN, "v": GIVEN["v"][:5]}}, r"v of a motion has shape \(5, 4\); expected \(20, 4\), a row for each of q's"),
    ({"motion": {**GIVEN, "tau": GIVEN["tau"] * np.nan}}, "tau of a motion holds NaN or infinity"),
    ({"motion": {n: GIVEN[n] for n in ("q", "v", "tau")}}, "the motion has no vdot, nor t; expected v and vdot, or the times t"),
    ({"motion": {**{n: GIVEN[n] for n in ("q", "v", "tau")}, "t": np.zeros(20)}}, "the times t of the motion do not increase"),
    ({"motion": {n: GIVEN[n] for n in ("q", "v", "vdot")}}, "the motion has no tau; expected the joints' forces"),
    ({"motion": {n: x[:1] for n, x in GIVEN.items()}, "unknown": "inertia"}, r"has \d+ rows that say something, for \d+ combinations"),
    ({"motion": {"t": [0.0, 1.0], "q.j0": [0.0, 1.0]}}, "'motion' has no column 'q.j1'"),
    ({"motion": {"t": [0.0], **{f"q.j{k}": [0.0] for k in range(4)}}}, "'motion' has no column 'tau.j0'.*; expected the force of each"),
    ({"motion": {"q.j0": [0.0]}}, "'motion' has no column 't'"),
    ({"motion": "no.csv"}, "'no.csv': there is no such file"),
    ({"unknown": "inertia.l9"}, r"'l9' is no link of 'arm' \(did you mean 'l\d'\?\); expected one of l0"),
    ({"unknown": "inertia.base"}, "'base' is a link that does not move"),
    ({"unknown": "friction.l1"}, "'l1' is no joint of 'arm'"),
    ({"unknown": "inertias"}, r"unknown names 'inertias' \(did you mean 'inertia'\?\); expected inertia, mass, damping"),
    ({"unknown": "Izz"}, "unknown names 'Izz'"),
    ({"unknown": [3]}, "unknown holds 3; expected names"),
    ({"unknown": []}, r"unknown is \[\], which is nothing of 'arm'"),
    ({"unknown": None}, "unknown is None"),
    ({"unknown": ["inertia.l1", "m.l1"]}, "unknown names 'm.l1' twice"),
    ({"unknown": ["inertia.l1", "mass.l1"]}, "'mass.l1', with which its inertia goes, and entries of that"),
    ({"by": "force"}, "by is 'force'.*; expected one of torques, momentum"),
    ({"smooth": 6}, "smooth is 6; expected an odd number of rows from 5"),
    ({"robot": 3}, "the robot is 3; expected a Model"),
])  # fmt: skip
def test_what_is_refused(change, text):
    with pytest.raises(IdentificationError, match=text):
        engine.identify(**{"robot": ARM, "motion": GIVEN, "unknown": "damping", **change})


def test_recordings_of_something_else_are_refused(swung):
    guess, _, run = swung
    with pytest.raises(IdentificationError, match=r"the trajectory was in the gravity .* the robot is in \(0\.0, 0\.0, 0\.0\)"):
        engine.identify(engine.compile(guess, gravity=(0, 0, 0)), run)
    flyer = engine.load_urdf(engine.example("free_flyer"), floating_base=True)
    with pytest.raises(IdentificationError, match="the trajectory is of 'arm', whose coordinates are not those of 'free_flyer'"):
        engine.identify(flyer, run)
    pulled = engine.Simulator(arm(), forces=[lambda t, q, v: np.ones(4)], joint_dynamics=None).run(run.q[0], run.v[0], 0.1)
    with pytest.raises(IdentificationError, match=r"something else acts \(force 1\), and the trajectory's tau does not explain it"):
        engine.identify(guess, pulled, UNKNOWN)
    end = engine.Limits(-0.1, 0.1)
    b = engine.Builder("stop")
    b.add_link("base"), b.add_link("bob", inertia=engine.spatial.inertia.from_mass(1.0, [0.0, 0.0, -1.0], 0.1 * np.eye(3)))
    b.add_joint("j", "revolute", "base", "bob", axis=[0, 1, 0], limits=end)
    bounced = engine.Simulator(b.model()).run([0.09], [1.0], 1.0)
    with pytest.warns(IdentificationWarning, match="the motion shows 2 combinations of the 3"):     # nothing drives it: ratios
        found = engine.identify(other(b.model(), "inertia")[0], bounced)       # records at the stop say nothing
    assert max(found.residuals.values()) < 1e-9
    with pytest.raises(IdentificationError, match="joints are at their stops all the time"):
        engine.identify(b.model(), bounced[np.any(bounced("stops.force"), axis=1)])
    b = engine.Builder("tool")
    b.add_link("base"), b.add_link("tool")
    b.add_joint("j", "revolute", "base", "tool")
    with pytest.raises(IdentificationError, match="the inertia of 'tool' in the model is zero; expected a rigid body with mass, a guess"):
        engine.base_parameters(b.model(), "inertia.tool")
