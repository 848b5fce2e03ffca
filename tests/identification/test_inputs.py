"""What a motion may be, what comes out of it, and what is said of what is none."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest

import engine
from engine import IdentificationError, IdentificationWarning
from engine.identification.unknowns import unknowns_of
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
    ({"unknown": "damping."}, r"unknown names 'damping\.'"),
    ({"motion": {n: x[:0] for n, x in GIVEN.items()}}, "a motion has no rows"),
    ({"motion": {**GIVEN, "q": GIVEN["q"] + 0j}}, "q of a motion is .*; expected real numbers"),
    ({"motion": {n: x[:, 0] for n, x in GIVEN.items()}}, r"q of a motion has shape \(20,\); expected \(20, 4\), a row .* \(T, nq\)"),
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


def pendulum(damping: float = 0.0, friction: float = 0.0) -> engine.Model:
    b = engine.Builder("pendulum")
    b.add_link("base"), b.add_link("bob", inertia=engine.spatial.inertia.from_mass(2.0, [0.0, 0.0, -0.5], 0.1 * np.eye(3)))
    b.add_joint("pivot", "revolute", "base", "bob", axis=[0, 1, 0], damping=damping, friction=friction)
    return b.model()


def swing(rows: int = 400):
    """A pendulum's prescribed swing, and its torques with damping 0.3."""
    t = 0.01 * np.arange(rows)
    q, v = 0.8 * np.sin(1.3 * t) + 0.5 * np.sin(2.9 * t), 1.04 * np.cos(1.3 * t) + 1.45 * np.cos(2.9 * t)
    vdot = -1.352 * np.sin(1.3 * t) - 4.205 * np.sin(2.9 * t)
    return {"t": t, **{n: x[:, None] for n, x in {"q": q, "v": v, "vdot": vdot, "tau": 0.6 * vdot + 9.81 * np.sin(q) + 0.3 * v}.items()}}


def test_a_trajectory_of_what_nothing_damps_has_no_damping():
    driven = lambda t, q, v: np.array([3.0 * np.sin(3.0 * t)])
    run = engine.Simulator(pendulum(), dt=1e-2, controller=driven).run([1.0], [0.0], 3.0)
    found = engine.identify(pendulum(0.5), run, ["inertia", "damping"])
    assert found.values[-1] == pytest.approx(0.0, abs=1e-9) and not found.warnings


def test_rollouts_of_several_robots_and_other_known_numbers_are_refused():
    driven = lambda t, q, v: np.array([3.0 * np.sin(3.0 * t)])
    simulator = engine.Simulator(pendulum(), dt=1e-2, controller=driven, parameters={"mass.bob": 2.0})
    batch = simulator.run(np.array([[1.0], [0.5]]), np.zeros((2, 1)), 2.0, parameters={"mass.bob": np.array([1.0, 3.0])})
    with pytest.raises(IdentificationError, match=r"the rollouts differ in 'mass\.bob', so they are of several robots; expected"):
        engine.identify(pendulum(), batch, "mass.bob")
    one = batch.rollout(1)
    assert engine.identify(pendulum(), one, "mass.bob").values == pytest.approx([3.0], abs=1e-9)
    with pytest.raises(IdentificationError, match=r"ran with its own .mass\.bob., which the model has otherwise.*; expected model"):
        engine.identify(pendulum(), one, "damping")
    heavy = pendulum().with_parameters({"mass.bob": 3.0})
    assert engine.identify(heavy, one, "damping").values == pytest.approx([0.0], abs=1e-9)


def test_predictions_are_of_all_motions():
    whole = {n: x for n, x in swing().items() if n != "t"}
    parts = [{n: x[part] for n, x in whole.items()} for part in (slice(250), slice(250, 400))]
    found = engine.identify(pendulum(), parts, ["inertia", "damping"])
    np.testing.assert_allclose(found.predict(parts), whole["tau"], atol=1e-9)
    moved = found.table.loc["m.bob"]
    assert moved["known from"] == "nothing" and found.table.loc["mz.bob", "known from"] == "itself"
    heavier = engine.identify(pendulum(), {**whole, "tau": whole["tau"] + 0.1 * whole["vdot"]}, ["inertia", "damping"]).table.loc["m.bob"]
    assert heavier["value"] != pytest.approx(2.0, abs=1e-3) and heavier["known from"] == "nothing: goes along"


def test_an_encoders_steps_are_told_with_what_smooths_them():
    """Twelve bits, a row each 10 ms: a second derivative of noise. As many rows as are said make it good."""
    given, step = swing(1000), 2.0 * np.pi / 4096
    bare = {"t": given["t"], "q": np.round(given["q"] / step) * step, "tau": given["tau"]}
    with pytest.warns(IdentificationWarning, match=r"q of 'pivot' is noisy, or in steps, by about 0\.0004\d: .* smooth=\d+") as said:
        engine.identify(pendulum(), bare, ["inertia", "damping"])
    rows = int(str(said[0].message).split("smooth=")[1].split()[0])
    assert 15 < rows < 60
    found = engine.identify(pendulum(), bare, ["inertia", "damping"], smooth=rows + 4)
    np.testing.assert_allclose(found.base_values[-2:], [0.6, 0.3], rtol=0.02)
    assert not engine.identify(pendulum(), {**bare, "q": given["q"]}, ["inertia", "damping"]).warnings


def test_exact_joints_beside_noisy_ones_lose_nothing():
    """One slide's forces exact, the other's noisy, or off: all that shows is found, whatever the weights."""
    b = engine.Builder("gantry")
    b.add_link("base")
    for k, (axis, mass) in enumerate((([1, 0, 0], 10.0), ([0, 1, 0], 5.0))):
        b.add_link(f"l{k}", inertia=engine.spatial.inertia.sphere(mass, 0.1))
        b.add_joint(f"j{k}", "prismatic", f"l{k - 1}" if k else "base", f"l{k}", axis=axis)
    t, model = 0.01 * np.arange(300), b.model()
    q, v = np.column_stack([np.sin(t), 0.5 * np.sin(2.0 * t)]), np.column_stack([np.cos(t), np.cos(2.0 * t)])
    vdot = -np.column_stack([np.sin(t), 2.0 * np.sin(2.0 * t)])
    tau = vdot * [17.0, 6.0] + v * [0.0, 0.7] + np.outer(np.random.default_rng(0).standard_normal(300), [0.0, 1.0])
    found = engine.identify(model, {"q": q, "v": v, "vdot": vdot, "tau": tau}, ["inertia", "damping"])
    assert len(found.base) == 4 and not found.warnings
    assert (np.abs(found.base_values - [11.0, 6.0, 0.0, 0.7]) < 5.0 * found.base_std).all()


def test_dry_friction_of_a_trajectory_is_of_the_order_of_its_steps():
    model, off = arm(), []
    for dt in (2e-3, 2e-4):
        law = lambda t, q, v: 9.0 * np.sin((1.0 + np.arange(4.0)) * t) - np.array([0.0, 20.0, 9.0, 5.0]) * q
        run = engine.Simulator(model, dt=dt, controller=law).run(model.neutral(), np.zeros(4), 2.0, record_every=round(0.02 / dt))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", IdentificationWarning)
            found = engine.identify(model, run, ["damping", "friction"])
        off.append(np.abs(found.base_values - found.base.B @ unknowns_of(model, ["damping", "friction"], "torques").values).max())
    assert 1e-7 < off[1] < 0.2 * off[0]
