"""States from one library's vectors to another's, joint by joint."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from engine.checks import array
from engine.convert.libraries import Library, angle
from engine.convert.parts import Part, parts_of
from engine.model import Model, StateError

Array = np.ndarray


def outward(library: Library, model: Model, joints: Iterable[str] | None, **given: Any) -> Any:
    """Return the library's vectors of ours: those of q, v, vdot and tau that are not None, one alone or a tuple."""
    parts, ours = parts_of(library, model, joints), as_batch(model, given, None, library.name)
    found: dict[str, list[Array]] = {name: [] for name in ours}
    for part in parts:
        body = part.body
        x = {name: a[..., body.q if name == "q" else body.v] for name, a in ours.items()}
        if body.mimics:
            x = {name: 0.0 * a if name == "tau" else body.ratio * a + (body.offset if name == "q" else 0.0) for name, a in x.items()}
        for name, a in x.items():
            theirs = part.convention.to(part.placed(a)) if name == "q" else part.seen(x["q"], a, x["v"] if name == "vdot" else None)
            found[name].append(theirs)
    return several([join_pieces(pieces, ours["q"].shape[:-1]) for pieces in found.values()])


def inward(library: Library, model: Model, joints: Iterable[str] | None, **given: Any) -> Any:
    """Return our vectors of the library's; what mimic joints have must be what their sources make of them."""
    parts = parts_of(library, model, joints)
    nq, nv = sum(part.convention.nq for part in parts), sum(part.body.kind.nv for part in parts)
    theirs = as_batch(model, given, {"q": nq, "v": nv, "vdot": nv, "tau": nv}, library.name)
    found: dict[str, dict[int, Array]] = {name: {} for name in theirs}
    mimics: list[tuple[Part, dict[str, Array]]] = []
    i = j = 0
    for part in parts:
        nq, nv = part.convention.nq, part.body.kind.nv
        x = {name: a[..., i : i + nq] if name == "q" else a[..., j : j + nv] for name, a in theirs.items()}
        i, j = i + nq, j + nv
        require_circle(part, x["q"])
        own: dict[str, Array] = {}
        for name, a in x.items():
            v = own["v"] if name == "vdot" else None
            own[name] = part.relative(part.convention.back(a)) if name == "q" else part.own(own["q"], a, v)
        if part.body.mimics:
            mimics.append((part, own))
        else:
            for name, a in own.items():
                found[name][(part.body.q if name == "q" else part.body.v).start] = a
    for part, own in mimics:
        for name, a in own.items():
            at = (part.body.q if name == "q" else part.body.v).start
            if name == "tau":
                found[name][at] = found[name][at] + part.body.ratio * a
            else:
                require_mimicry(part, name, a, found[name][at], next(p for p in parts if p.body.q == part.body.q and not p.body.mimics))
    results = [join_pieces([pieces[k] for k in sorted(pieces)], theirs["q"].shape[:-1]) for pieces in found.values()]
    model.checked("q", results[0], batched=True)
    return several(results)


def as_batch(model: Model, given: Mapping[str, Any], sizes: Mapping[str, int] | None, library: str) -> dict[str, Array]:
    """Return what is given as arrays of one batch: ours, or of the library's sizes."""
    if given["vdot"] is not None and given["v"] is None:
        raise StateError("vdot is given without v; expected both, as accelerations in axes that turn need the velocity")
    found = {}
    for name, x in given.items():
        if x is None:
            continue
        found[name] = a = array(name, x, StateError) if sizes else model.checked(name, x, batched=True)
        if sizes and a.shape[-1:] != (sizes[name],):
            raise StateError(f"{name} has shape {a.shape}; expected (..., {sizes[name]}), {library}'s of '{model.name}'")
        if a.dtype != object and not np.isfinite(a).all():
            raise StateError(f"{name} holds NaN or infinity; expected finite numbers")
    try:
        batch = np.broadcast_shapes(*[a.shape[:-1] for a in found.values()])
    except ValueError:
        text = ", ".join(f"{name} {a.shape}" for name, a in found.items())
        raise StateError(f"the batches of {text} do not broadcast; expected equal leading dimensions, or 1") from None
    return {name: np.broadcast_to(a, (*batch, a.shape[-1])) for name, a in found.items()}


def join_pieces(pieces: Sequence[Array], batch: tuple[int, ...]) -> Array:
    """Return the pieces side by side."""
    return np.concatenate([np.zeros((*batch, 0)), *pieces], axis=-1)


def several(results: Sequence[Array]) -> Any:
    """Return one result alone, several as a tuple."""
    return results[0] if len(results) == 1 else tuple(results)


def require_circle(part: Part, q: Array) -> None:
    """Refuse a cosine and a sine that are none."""
    pair = q[..., -2:]
    if part.convention.back is angle and pair.dtype != object and not np.all(np.abs(np.vecdot(pair, pair) - 1.0) < 0.04):
        raise StateError(f"q of joint '{part.body.joint.name}' holds no cosine and sine; expected [cos, sin] of its angle")


def require_mimicry(part: Part, name: str, a: Array, source: Array, above: Part) -> None:
    """Refuse a mimic joint that is not where its source puts it, to 1e-6; turns that a cosine and sine do not tell do not count."""
    if a.dtype == object or source.dtype == object:
        return
    ratio = part.body.ratio
    off = np.abs(a - ratio * source - (part.body.offset if name == "q" else 0.0))
    turn = 2 * np.pi * (abs(ratio) if above.convention.back is angle else float(part.convention.back is angle))
    if name == "q" and turn:
        off = np.abs(off - turn * np.round(off / turn))
    if np.any(off > 1e-6 * (1.0 + np.abs(ratio * source))):
        raise StateError(f"{name} of joint '{part.body.joint.name}' is off by {off.max():.3g} from what '{above.body.joint.name}' "
                         "makes of it, which it mimics; expected the same, or joints without it")  # fmt: skip
