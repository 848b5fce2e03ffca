"""CCSDS messages: orbits (OEM) and attitudes (AEM) as text that other programs read, and back."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np

from engine.checks import path_of, shown, writing
from engine.io.centers import require_line
from engine.model import StateError

Array = np.ndarray
KILO = 1000.0
#: how far from 1 the norm of a unit quaternion may be
UNIT = 1e-6
#: of the first line, by what a file holds
KINDS = {"oem": ("CCSDS_OEM_VERS", "2.0"), "aem": ("CCSDS_AEM_VERS", "1.0")}
#: what a message that is read has to say, of what changes what its numbers mean: EME2000's axes are 23 milliarcseconds off those of ICRF
SAID = {"oem": {"REF_FRAME": ("ICRF", "GCRF", "EME2000"), "TIME_SYSTEM": ("UTC",)},
        "aem": {"REF_FRAME_A": ("ICRF", "GCRF", "EME2000"), "ATTITUDE_DIR": ("A2B",), "TIME_SYSTEM": ("UTC",),
                "ATTITUDE_TYPE": ("QUATERNION",), "QUATERNION_TYPE": ("LAST",)}}  # fmt: skip


def stamp(epoch: str, t: float) -> str:
    """Return the time t seconds after an epoch, as text with nanoseconds; no leap second between them counts.

    >>> stamp("2026-11-24T12:00:00", 86399.25)
    '2026-11-25T11:59:59.250000000'
    """
    nano = round(t * 1e9)
    return f"{parse_epoch(epoch) + datetime.timedelta(seconds=nano // 10**9):%Y-%m-%dT%H:%M:%S}.{nano % 10**9:09d}"


def parse_epoch(epoch: str) -> datetime.datetime:
    """Return an epoch's text as a time; refuse what is none."""
    try:
        found = datetime.datetime.fromisoformat(epoch.rstrip("Z"))
    except (AttributeError, ValueError):
        raise StateError(f"epoch is {shown(epoch)}; expected a text such as '2026-11-24T12:00:00'") from None
    if found.microsecond or found.tzinfo is not None:
        raise StateError(f"epoch is {shown(epoch)}; expected whole seconds, without a zone")
    return found


def seconds(epoch: datetime.datetime, text: str) -> float:
    """Return how long after an epoch a time is, s."""
    whole, _, part = text.rstrip("Z").partition(".")
    return (datetime.datetime.fromisoformat(whole) - epoch).total_seconds() + float(f"0.{part or 0}")


def write_message(kind: str, path: Any, epoch: str, t: Array, rows: Array, name: str, center: str | None, meta: dict[str, str],
                  digits: int) -> Path:  # fmt: skip
    """Write a message, which says when it was written; return its path."""
    path = path_of(path, StateError)
    if rows.ndim != 2 or len(t) < 1:
        raise StateError(f"a message has rows of shape {rows.shape}; expected those of one flight, such as trajectory.rollout(0)'s")
    if not np.isfinite(rows).all():
        raise StateError("a message would hold NaN or infinity; expected the part of a trajectory that is finite")
    if len(rows) != len(t) or not (np.diff(t) > 0.0).all():
        raise StateError(f"a message has {len(t)} times and {len(rows)} rows, or times that do not rise; expected as many, each later")
    for what, text in {"a message's object": name, **({} if center is None else {"center": center})}.items():
        require_line(what, text)
    (word, version), now = KINDS[kind], datetime.datetime.now(datetime.timezone.utc)
    meta = {**({} if center is None else {"CENTER_NAME": center}), **meta}
    head = [f"{word} = {version}", f"CREATION_DATE = {now:%Y-%m-%dT%H:%M:%S}", "ORIGINATOR = ARTICULATED-ENGINE", "", "META_START",
            f"OBJECT_NAME = {name}", f"OBJECT_ID = {name}", *(f"{k} = {x}" for k, x in meta.items()),
            "TIME_SYSTEM = UTC", f"START_TIME = {stamp(epoch, t[0])}", f"STOP_TIME = {stamp(epoch, t[-1])}",
            *(["ATTITUDE_TYPE = QUATERNION", "QUATERNION_TYPE = LAST"] if kind == "aem" else []), "META_STOP", ""]  # fmt: skip
    data = [f"{stamp(epoch, time)} {' '.join(f'{x:.{digits}f}' for x in row)}" for time, row in zip(t, rows, strict=True)]
    body = ["DATA_START", *data, "DATA_STOP"] if kind == "aem" else data
    with writing(path, StateError):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join([*head, *body]) + "\n", encoding="utf-8")
    return path


def write_oem(path: Any, epoch: str, t: Array, r: Array, v: Array, name: str, center: str = "EARTH") -> Path:
    """Write places r (T, 3), m, and velocities v (T, 3), m/s, relative to a ``center``, at times t (T), s after an epoch, as an orbit
    ephemeris message (CCSDS 502.0-B-2): kilometres with 12 decimals.

    >>> from tempfile import mkdtemp
    >>> x = np.array([[7e6, 0.0, 0.0], [7e6, 7500.0, 0.0]])
    >>> path = write_oem(Path(mkdtemp()) / "a.oem", "2026-11-24T12:00:00", np.arange(2.0), x, 0.0 * x, "SAT")
    >>> path.read_text().splitlines()[-1][:63]
    '2026-11-24T12:00:01.000000000 7000.000000000000 7.500000000000 '
    """
    rows = np.concatenate([np.asarray(r), np.asarray(v)], axis=-1) / KILO
    return write_message("oem", path, epoch, np.asarray(t), rows, name, center, {"REF_FRAME": "ICRF"}, 12)


def write_aem(path: Any, epoch: str, t: Array, q: Array, name: str, center: str | None = None) -> Path:
    """Write unit quaternions q (T, 4), scalar first, body → world, at times t (T), s after an epoch, as an attitude ephemeris message
    (CCSDS 504.0-B-1): from the world's axes, A, to the body's, B, scalar last; of what flies about a ``center`` this is named.

    The rotation from A to B turns A's axes onto the body's. So does q, which takes a vector's coordinates from the body's axes to the
    world's: the two have the same axis and angle, and so the same numbers.

    >>> from tempfile import mkdtemp
    >>> path = write_aem(Path(mkdtemp()) / "a.aem", "2026-11-24T12:00:00", np.arange(2.0), np.tile([1.0, 0.0, 0.0, 0.0], (2, 1)), "SAT")
    >>> path.name
    'a.aem'
    """
    require_unit(np.asarray(q), "a message")
    rows = np.concatenate([np.asarray(q)[..., 1:], np.asarray(q)[..., :1]], axis=-1)
    meta = {"REF_FRAME_A": "ICRF", "REF_FRAME_B": "SC_BODY_1", "ATTITUDE_DIR": "A2B"}
    return write_message("aem", path, epoch, np.asarray(t), rows, name, center, meta, 15)


def require_unit(q: Array, where: str) -> None:
    """Refuse quaternions (T, 4) that are of no rotation."""
    if (np.abs(np.linalg.norm(q, axis=-1) - 1.0) > UNIT).any():
        raise StateError(f"{where} has quaternions that are no unit ones; expected |q| = 1")


def require_said(kind: str, path: Path, lines: list[str], meta: dict[str, str], center: str) -> None:
    """Refuse a message whose numbers mean something else than is read."""
    if (many := sum(line == "META_START" for line in lines)) > 1:
        raise StateError(f"'{path}' holds {many} segments; expected a message of one")
    for key, known in {**({"CENTER_NAME": (center,)} if kind == "oem" else {}), **SAID[kind]}.items():
        if meta.get(key) not in known:
            raise StateError(f"'{path}' says {key} = {meta.get(key, 'nothing')}; expected {' or '.join(known)}")


def read(kind: str, path: Any, n: int, center: str = "EARTH") -> tuple[str, Array, Array]:
    """Return the epoch (START_TIME), times (T), s after it, and numbers (T, n) of a message."""
    path = path_of(path, StateError)
    try:
        lines = [line.strip() for line in path.read_text(encoding="utf-8-sig").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise StateError(f"'{path}' cannot be read ({error}); expected a CCSDS message") from None
    if not lines or not lines[0].startswith(KINDS[kind][0]):
        raise StateError(f"'{path}' begins with {shown(lines[0] if lines else '')}; expected {KINDS[kind][0]} = {KINDS[kind][1]}")
    if "COVARIANCE_START" in lines:
        lines = lines[: lines.index("COVARIANCE_START")]
    meta = {key.strip(): x.strip() for key, equals, x in (line.partition("=") for line in lines) if equals}
    require_said(kind, path, lines, meta, center)
    try:
        start = meta["START_TIME"]
        rows = [line.split() for line in lines if line[:1].isdigit() and "=" not in line]
        t = np.array([seconds(datetime.datetime.fromisoformat(start.partition(".")[0]), row[0]) for row in rows])
        short = next((row for row in rows if len(row) <= n), None)
        if short is not None:
            raise ValueError(f"'{' '.join(short)}' has {len(short) - 1} numbers")
        x = np.array([[float(y) for y in row[1 : n + 1]] for row in rows]).reshape(-1, n)
    except (KeyError, ValueError) as error:
        raise StateError(f"'{path}' cannot be read ({error}); expected a message with START_TIME and rows of {n} numbers") from None
    if not np.isfinite(x).all() or not (np.diff(t) > 0.0).all():
        raise StateError(f"'{path}' has rows that are no numbers, or whose times do not rise; expected one after another")
    return start.partition(".")[0], t, x


def read_oem(path: Any, center: str = "EARTH") -> tuple[str, Array, Array, Array]:
    """Return the epoch, times (T), s after it, places (T, 3), m, and velocities (T, 3), m/s, of an orbit ephemeris message of one object
    about a ``center``, in the axes of ICRF or EME2000 (23 milliarcseconds off, a metre at 9000 km), in UTC; any other is refused.

    >>> from tempfile import mkdtemp
    >>> x = np.array([[7e6, 0.0, 0.0], [7e6, 7500.0, 0.0]])
    >>> path = write_oem(Path(mkdtemp()) / "a.oem", "2026-11-24T12:00:00", np.arange(2.0), x, 0.0 * x, "SAT")
    >>> epoch, t, r, v = read_oem(path)
    >>> t, r[1]
    (array([0., 1.]), array([7000000.,    7500.,       0.]))
    """
    epoch, t, x = read("oem", path, 6, center)
    return epoch, t, KILO * x[:, :3], KILO * x[:, 3:]


def read_aem(path: Any) -> tuple[str, Array, Array]:
    """Return the epoch, times (T), s after it, and unit quaternions (T, 4), scalar first, body → world, of an attitude ephemeris message
    that :func:`write_aem` might have written.

    >>> from tempfile import mkdtemp
    >>> path = write_aem(Path(mkdtemp()) / "a.aem", "2026-11-24T12:00:00", np.arange(2.0), np.tile([1.0, 0.0, 0.0, 0.0], (2, 1)), "SAT")
    >>> read_aem(path)[2][0]
    array([1., 0., 0., 0.])
    """
    epoch, t, x = read("aem", path, 4)
    require_unit(x, f"'{path}'")
    return epoch, t, np.concatenate([x[:, 3:], x[:, :3]], axis=-1)
