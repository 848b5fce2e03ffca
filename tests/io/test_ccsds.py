"""CCSDS messages are read as what they say, or refused by what they say else."""

import numpy as np
import pytest

import engine
from engine.io.ccsds import read_aem, read_oem, write_aem, write_oem

EPOCH, T = "2026-03-01T00:00:00", np.array([0.0, 10.0, 20.0])
R, V = np.array([[7e6, 0.0, 0.0]] * 3) + T[:, None] * [0.0, 7.5e3, 0.0], np.array([[0.0, 7.5e3, 0.0]] * 3)
Q = np.array([[0.6, 0.8, 0.0, 0.0]] * 3)


@pytest.fixture
def messages(tmp_path):
    return {"oem": write_oem(tmp_path / "a.oem", EPOCH, T, R, V, "CRAFT"), "aem": write_aem(tmp_path / "a.aem", EPOCH, T, Q, "CRAFT")}


@pytest.mark.parametrize(("kind", "old", "new", "what"), [
    ("oem", "REF_FRAME = ICRF", "REF_FRAME = ITRF2014", "says REF_FRAME = ITRF2014; expected ICRF or GCRF or EME2000"),
    ("oem", "CENTER_NAME = EARTH", "CENTER_NAME = MOON", "says CENTER_NAME = MOON; expected EARTH"),
    ("oem", "TIME_SYSTEM = UTC", "TIME_SYSTEM = TDB", "says TIME_SYSTEM = TDB; expected UTC"),
    ("oem", "TIME_SYSTEM = UTC\n", "", "says TIME_SYSTEM = nothing; expected UTC"),
    ("oem", "META_STOP\n", "META_STOP\nMETA_START\nMETA_STOP\n", "holds 2 segments; expected a message of one"),
    ("oem", "00:00:10.0", "00:00:30.0", "whose times do not rise"),
    ("oem", " 7.500000000000", " nan", "rows that are no numbers"),
    ("oem", " 7.500000000000 0.000000000000\n", "\n", "has 4 numbers.*expected a message with START_TIME and rows of 6 numbers"),
    ("aem", "QUATERNION_TYPE = LAST", "QUATERNION_TYPE = FIRST", "says QUATERNION_TYPE = FIRST; expected LAST"),
    ("aem", "ATTITUDE_DIR = A2B", "ATTITUDE_DIR = B2A", "says ATTITUDE_DIR = B2A; expected A2B"),
    ("aem", "ATTITUDE_TYPE = QUATERNION", "ATTITUDE_TYPE = SPIN", "says ATTITUDE_TYPE = SPIN; expected QUATERNION"),
    ("aem", " 0.800000000000000", " 0.300000000000000", "no unit ones"),
])  # fmt: skip
def test_what_means_something_else_is_refused(messages, kind, old, new, what):
    path = messages[kind]
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(engine.StateError, match=what):
        (read_oem if kind == "oem" else read_aem)(path)


def test_what_changes_nothing_is_read(messages):
    path = messages["oem"]
    text = path.read_text().replace("REF_FRAME = ICRF", "REF_FRAME = EME2000")
    path.write_text("\ufeff" + text + "COVARIANCE_START\nEPOCH = 2026-03-01T00:00:00\n1.0\n0.0 1.0\nCOVARIANCE_STOP\n")
    epoch, t, r, v = read_oem(path)
    assert epoch == EPOCH and t.tolist() == T.tolist()
    np.testing.assert_allclose(r, R, atol=1e-6)
    np.testing.assert_allclose(v, V, atol=1e-9)


@pytest.mark.parametrize(("write", "what"), [
    (lambda path: write_oem(path, EPOCH, T[::-1], R, V, "CRAFT"), "times that do not rise"),
    (lambda path: write_oem(path, EPOCH, T[:2], R, V, "CRAFT"), "2 times and 3 rows"),
    (lambda path: write_oem(path, EPOCH, T, R, V, "A\nCENTER_NAME = MOON"), "expected a name on one line"),
    (lambda path: write_aem(path, EPOCH, T, 2.0 * Q, "CRAFT"), "no unit ones"),
])  # fmt: skip
def test_what_nobody_could_read_is_not_written(tmp_path, write, what):
    with pytest.raises(engine.StateError, match=what):
        write(tmp_path / "a.oem")
    assert not (tmp_path / "a.oem").exists()
