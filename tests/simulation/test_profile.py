"""Where a step's time goes: what is counted is what the method does, and parts add up."""

import numpy as np
import pytest

import engine
from engine import ops
from engine.compiler import interpret, verify
from engine.simulation.profile import in_parts
from engine.spatial import inertia
from tests.contact.scenes import UPRIGHT, ball


def pendulum(friction=0.0):
    builder = engine.Builder("pendulum")
    builder.add_link("world")
    builder.add_link("bob", inertia=inertia.sphere(1.0, 0.1))
    builder.add_joint("pivot", "revolute", "world", "bob", axis=[0.0, 1.0, 0.0], friction=friction)
    return builder.model()


def wind(t, q, v):
    return 0.1 * np.cos(t) - 0.01 * v


def heavy(t, q, v):
    x = q
    for _ in range(40):
        x = np.sin(x)
    return 1e-3 * x


@pytest.fixture(scope="module")
def swing():
    return engine.Simulator(pendulum(), dt=1e-3, integrator="rk4", forces=[wind, heavy], joint_dynamics=None)


@pytest.fixture(scope="module")
def found(swing):
    return swing.profile([0.3], [0.0], 0.1, record_every=10)


def test_parts_are_there_by_name_and_add_up(found):
    """Four evaluations a step by rk4; forty sines outweigh the rest."""
    assert {"wind", "heavy", "forward dynamics", "integrator", "recording"} == {*found.parts}
    assert sum(found.parts.values()) == pytest.approx(found.counted, rel=1e-12)
    assert found.functions["acceleration"][0] == found.functions["heavy"][0] == 4.0
    assert found.parts["heavy"] > 0.5 * found.counted and found.step > 0.0
    assert found.functions["acceleration"][1] <= found.functions["step"][1]
    assert not found.newton and found.points is None and found.steps == 100


def test_as_many_steps_as_the_run_has(swing):
    """Also where records are further apart than the run is long, and where the last comes sooner."""
    for record_every in (1, 30, 100, 10**9):
        assert swing.profile([0.3], [0.0], 0.1, record_every=record_every).steps == 100


def test_it_prints_as_a_table(found):
    first, *rows, last = str(found).splitlines()
    assert first.startswith("'pendulum': 100 steps of 0.001 s, ") and last.split()[0] == "sum" and "heavy" in rows[0]
    assert len(rows) == len(found.parts)


def test_code_that_counts_computes_the_same(swing):
    """Interpreted: multiply-adds are chosen anew in parts, which is a rounding."""
    step, _ = in_parts(swing._step)
    verify(step)
    p, x = swing._process.example
    x = x + 0.3
    np.testing.assert_array_equal(interpret(step, 0.0, 0.0, 1e-3, p, x), interpret(swing.programs["step"], 0.0, 0.0, 1e-3, p, x))
    assert swing.programs["step"] == engine.Simulator(swing.model, dt=1e-3, integrator="rk4", forces=[wind, heavy],
                                                      joint_dynamics=None).programs["step"]  # fmt: skip


def test_iterations_and_points_are_counted():
    """A ball that lies on the ground pushes at one point; what rubs is found by Newton's method."""
    lying = engine.Simulator(ball(), dt=1e-3, contacts=engine.Contacts(ground=engine.HalfSpace()))
    rest = lying.profile([*UPRIGHT, 0.0, 0.0, 0.05], np.zeros(6), 0.05)
    assert {"broad phase", "narrow phase", "impulses", "impulses: laws", "impulses: Newton's steps", "mass matrix"} <= {*rest.parts}
    assert rest.newton > 0.0 and rest.points == pytest.approx(1.0, abs=0.1)
    assert "contacts that push: " in str(rest) and "Newton's method: " in str(rest)


def test_a_state_of_a_law_and_events_are_no_hindrance():
    def turns(t, q, v):
        return v[0]

    with_event = engine.Simulator(pendulum(friction=0.05), dt=1e-3, events=[turns]).profile([0.3], [0.0], 0.02)
    assert "events" in with_event.parts


@pytest.mark.parametrize(("given", "says"), [
    ({"compiled": False}, "a profile of what runs as plain Python; expected functions that are compiled"),
    ({"controller": engine.Law(lambda t, q, v: -q, period=0.01, python=True)}, "a profile of what runs as plain Python; expected"),
])  # fmt: skip
def test_plain_python_has_no_profile(given, says):
    with pytest.raises(engine.SimulationError, match=says):
        engine.Simulator(pendulum(), dt=1e-3, **given).profile([0.3], [0.0], 0.1)


def test_a_batch_or_a_run_that_diverges_has_none(swing):
    with pytest.raises(engine.SimulationError, match=r"a profile of a batch \(2,\); expected one rollout"):
        swing.profile([[0.3], [0.4]], [0.0], 0.1)
    blown = engine.Simulator(pendulum(), dt=1e-3, integrator="rk4", forces=[lambda t, q, v: ops.exp(1e3 * t) * (1.0 + v**2)],
                             joint_dynamics=None)  # fmt: skip
    with pytest.raises(engine.SimulationError, match="t = "):
        blown.profile([0.3], [0.0], 1.0)


def test_free_bodies_that_meet_have_parts_too():
    """And these add up to what is counted, near the step as it runs."""
    builder = engine.Builder("box")
    builder.add_link("box", inertia=inertia.box(1.0, (0.2, 0.2, 0.2)), collisions=[engine.Geometry("box", (0.2, 0.2, 0.2))])
    box = builder.model(floating_base=True)
    boxes = engine.combine(**{f"box{k}": box for k in range(7)})
    surface = engine.ContactMaterial(stiffness=2e5, dissipation=2.0, friction=0.6)
    made = engine.Simulator(boxes, 2e-3, contacts=engine.Contacts(engine.HalfSpace(material=surface), material=surface))
    q = np.hstack([np.tile([1.0, 0.0, 0.0, 0.0], (7, 1)), np.array([[0.5 * k, 0.0, 0.1] for k in range(7)])]).ravel()
    profile = made.profile(q, np.zeros(42), 0.02, record_every=10)
    assert {"flight", "broad phase", "narrow phase", "impulses", "correction"} <= profile.parts.keys()
    np.testing.assert_allclose(sum(profile.parts.values()), profile.counted, rtol=1e-12)
    assert profile.points > 0.0
