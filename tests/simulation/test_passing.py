"""Bodies that may pass through each other within a step are told of, however seldom records are; those that recede are not."""

import warnings

import numpy as np
import pytest

import engine
from engine.spatial import inertia
from tests.contact.scenes import UPRIGHT, ball, body


@pytest.mark.parametrize("every", [1, 5, 50])
@pytest.mark.parametrize("others", [0, 8])
@pytest.mark.parametrize(("x", "z", "told"), [(0.0, -0.83, True), (0.0, -0.9, True), (0.0, 0.83, False), (5.0, -0.83, False)],
                         ids=["towards", "further towards", "away", "beside"])  # fmt: skip
def test_a_bullet_is_told_of_where_it_flies_at_a_plate(x, z, told, others, every):
    """20 mm of ball and plate at 0.4 m a step."""
    plate = body("plate", inertia.box(1.0, (0.3, 0.3, 0.02)), "box", (0.3, 0.3, 0.02))
    model = engine.combine(bullet=ball(0.01, 0.1, "bullet"), plate=plate, **{f"far{k}": ball(name=f"far{k}") for k in range(others)})
    far = np.ravel([[*UPRIGHT, 200.0, 2.0 * k, 0.0] for k in range(others)])
    simulator = engine.Simulator(model, dt=2e-3, gravity=(0, 0, 0), contacts=engine.Contacts())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        simulator.run([*UPRIGHT, x, 0, z, *UPRIGHT, 0, 0, 0, *far], [0, 0, 0, 0, 0, 200.0, *np.zeros(6 * (others + 1))], 0.1,
                      record_every=every)  # fmt: skip
    far_beside = x > 0.0 and others == 0 and every == 50                       # of few pairs gaps alone are known: to be safe
    assert any("may pass through" in str(w.message) for w in caught) == (told or far_beside)


def test_what_is_no_state_is_told():
    simulator = engine.Simulator(ball())
    with pytest.raises(engine.EngineError, match=r"the state is .*; expected a State, as start\(q0, v0\) and step\(state\) give it"):
        simulator.step((np.zeros(7), np.zeros(6)))


def test_a_signal_of_few_contacts_is_misspelt():
    run = engine.Simulator(ball(), contacts=engine.Contacts(engine.HalfSpace())).run([*UPRIGHT, 0, 0, 0.2], np.zeros(6), 0.01)
    with pytest.raises(engine.EngineError, match=r"no signal 'contacts.fore' \(did you mean 'contacts.force'\?\)"):
        run("contacts.fore")
