"""A campaign's manifest: a text of JSON that says all that the bits depend on, with a digest by which it, and each chunk, is known.

The digest is the SHA-256 of all else in the manifest, in its order (which is part of what is drawn by a whole design). It tells whether the
text is as it was written; and as it stands in every chunk too, whether a chunk is of this campaign.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Mapping
from typing import Any

from engine.campaign.design import RUNS
from engine.recording import StorageError

FORMAT = 2
#: the format before, which had no digests
UNSIGNED = 1
#: records of a run, whose times are held in memory
RECORDS = 2**28
WRITTEN = "expected the text that the campaign wrote"


def digest_of(manifest: Mapping[str, Any]) -> str:
    """Return the digest of what a manifest says besides.

    >>> digest_of({"runs": 3, "digest": "…"}) == digest_of({"runs": 3}) != digest_of({"runs": 4})
    True
    """
    return hashlib.sha256(json.dumps({n: x for n, x in manifest.items() if n != "digest"}).encode()).hexdigest()


def text_of(manifest: Mapping[str, Any]) -> str:
    """Return the text of a new manifest, with its format and its digest."""
    found = {"format": FORMAT, **manifest}
    return json.dumps({**found, "digest": digest_of(json.loads(json.dumps(found)))}, indent=1, ensure_ascii=False)


def manifest_of(text: str | bytes, path: str) -> dict[str, Any]:
    """Return a manifest; StorageError where it is none, or is not as it was written."""
    try:
        found = json.loads(text)
        format_, digest = found["format"], found.get("digest")
        same = digest == digest_of(found) or (format_ == UNSIGNED and digest is None)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise StorageError(f"'{path}' is no manifest of a campaign, or damaged; {WRITTEN}") from None
    if not same:
        raise StorageError(f"'{path}' is damaged, or was changed by another hand: what it says is not as its digest says; {WRITTEN}")
    if format_ not in (UNSIGNED, FORMAT):
        raise StorageError(f"'{path}' has the format {format_!r:.40}; expected {FORMAT}, which this version of the engine reads")
    try:
        good = well_formed(found)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
        good = False
    if not good:
        raise StorageError(f"'{path}' is no manifest of a campaign, or damaged; {WRITTEN}")
    return found


def well_formed(manifest: Mapping[str, Any]) -> bool:
    """Return whether a manifest says what is asked of it, whoever wrote it; or raise what comes of asking."""
    said, runs, metrics = manifest["campaign"], manifest["runs"], manifest["metrics"]
    keep = said["keep"]
    shapes = [*manifest["drawn"].values(), *(m["shape"] for m in metrics.values()), *keep["columns"].values()]
    counts = runs, manifest["chunk"], keep["every"], said["record_every"]
    times = said["dt"], said["duration"]
    return (
        all(whole(n, 1) for n in counts) and whole(said["runs"]) and said["runs"] == runs and whole(said["seed"], 0, math.inf)
        and all(isinstance(said[name], str) for name in ("model_name", "design")) and isinstance(said["scatter"], dict)
        and all(isinstance(shape, list) and all(whole(n) for n in shape) for shape in shapes)
        and all(isinstance(m["truth"], bool) and "/" not in name for name, m in metrics.items())
        and all(type(x) in (int, float) and 0 < x < math.inf for x in times)
        and times[1] / times[0] < min(RUNS, RECORDS * said["record_every"])
        and are_numbers(keep["runs"], runs)
    )  # fmt: skip


def are_numbers(x: Any, runs: int) -> bool:
    """Return whether x says which of so many runs are kept: a list, increasing, or a range in words."""
    if isinstance(x, list):
        return all(whole(i, 0, runs - 1) for i in x) and all(a < b for a, b in itertools.pairwise(x))
    return whole(x["first"]) and whole(x["step"], 1) and whole(x["count"], 1) and x["first"] + x["step"] * (x["count"] - 1) < runs


def whole(x: Any, least: int = 0, most: float = RUNS) -> bool:
    """Return whether x is a whole number from the least to the most."""
    return type(x) is int and least <= x <= most


def flat(x: Any, path: str = "") -> dict[str, Any]:
    """Return the leaves of a nest of dictionaries, by "name.name"."""
    if not isinstance(x, Mapping):
        return {path: x}
    return {n: y for name, part in x.items() for n, y in flat(part, f"{path}.{name}" if path else str(name)).items()}
