"""A robot's motion out of named columns, and the derivatives of a motion."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping

import numpy as np

from engine.checks import nearest, warn
from engine.identification.errors import IdentificationError, IdentificationWarning
from engine.model import Model

Array = np.ndarray
#: of the polynomials that differentiate
DEGREE = 4
#: rows that quartics are fitted to, to see how noisy they are; the share of a derivative that noise may make up
PLAIN, NOISY = 11, 0.03
#: the median of the sizes of normal numbers; no more rows than that are recommended
NORMAL, WIDEST = 0.6745, 301
#: rows that are differentiated at a time
PIECE = 10_000


def motion_of(model: Model, table: Mapping[str, Array], file: str) -> tuple[dict[str, Array], list[str]]:
    """Return q (T, nq), and v and vdot (T, nv) where they are given; and the names of columns that say nothing of the motion.

    A coordinate's column has its name, or that after "q."; other columns may hold anything but coordinates that the model does not have.
    """
    entries = {which: [f"{which}.{n}" for n in model.labels(which)] for which in ("q", "v", "vdot")}
    known = {name for names in entries.values() for name in names}
    still = {f"{p}{j.name}" for j in model.joints for p in ("", "q.", "v.", "vdot.", "tau.")}      # fixed, and those that follow others
    columns: dict[str, Array] = {}
    rest = []
    for k in [k for k in table if k != "t"]:
        name = k if k in known else f"q.{k}"
        if name in columns:
            raise IdentificationError(f"'{file}' has the columns '{name}' and '{name[2:]}'; expected one for each coordinate")
        if name in known:
            columns[name] = table[k]
        elif k not in still:
            rest.append(k)
    for which, names in entries.items():
        missing = [n for n in names if n not in columns]
        if missing and (which == "q" or len(missing) < len(names) or any(k.startswith(f"{which}.") for k in rest)):
            q = "q." * any(k.startswith("q.") for k in table)
            raise IdentificationError(f"'{file}' has no column {lack(model, which, missing[0], rest, q)}")
    for k in rest:
        which = next((w for w in entries if k.startswith(f"{w}.")), "")
        own = k.removeprefix(f"{which}.")
        floats = own.startswith("floating_base.")
        if which or floats:
            hint = " (--floating, or floating_base=True, gives it a base that moves)" if floats else nearest(own, model.labels(which))
            raise IdentificationError(f"'{file}' has a column '{k}', but '{model.name}' has no such coordinate{hint}")
    found = {w: np.column_stack([columns[n] for n in names]) for w, names in entries.items() if names and names[0] in columns}
    refuse_quaternions(model, found.setdefault("q", np.zeros((len(next(iter(table.values()))), 0))), file)
    return found, [k for k in rest if not k.startswith("tau.")]


def lack(model: Model, which: str, missing: str, rest: list[str], q: str) -> str:
    """Return what to say of a column that is missing, where coordinates' columns begin with ``q``; another may be it, misspelt."""
    others = {k.removeprefix(f"{which}."): k for k in rest if k.startswith(f"{which}.") or k.split(".")[0] not in ("q", "v", "vdot", "tau")}
    prefix, own = q if which == "q" else f"{which}.", missing.removeprefix(f"{which}.")
    close = difflib.get_close_matches(own, list(others), 1, 0.5)
    if close:
        return f"'{prefix}{own}'; its column '{others[close[0]]}' is nothing that '{model.name}' has (did you mean '{prefix}{own}'?)"
    base = " (a base that does not move has none: leave --floating out)" if own.startswith("floating_base") else ""
    return f"'{prefix}{own}'{base}; expected {', '.join(['t'] * (which == 'q') + [prefix + n for n in model.labels(which)])}"


def refuse_quaternions(model: Model, q: Array, file: str) -> None:
    """Refuse attitudes in q (T, nq) that are no unit quaternions, to the digits of a file."""
    for b in model.bodies:
        if b.kind.manifold.attitude and not b.mimics:
            norm = np.linalg.norm(q[:, b.q][:, :4], axis=1)
            bad = int(np.argmax(abs(norm - 1)))
            if abs(norm[bad] - 1) > 1e-2:
                raise IdentificationError(f"'{file}', row {bad + 1} of numbers: the quaternion of '{b.joint.name}' has length "
                                          f"{norm[bad]:.4g}; expected a unit one, qw qx qy qz")  # fmt: skip


def warn_of_jumps(model: Model, t: Array, q: Array) -> None:
    """Say which joints turn by more than half a turn between two rows of q (T, nq): their angles have been wrapped."""
    for b in model.bodies:
        if b.kind.units == ("rad",) and not b.mimics:
            jumps = abs(np.diff(q[:, b.q][:, 0]))
            if jumps.size and jumps.max() > np.pi:
                k = int(jumps.argmax())
                warn(f"'{b.joint.name}' jumps by {jumps[k]:.3g} rad between t = {t[k]:g} and {t[k + 1]:g} s; expected angles that go on "
                     "beyond ±π")  # fmt: skip


def derivatives(t: Array, near: Callable[[Array, Array], Array], rows: int) -> tuple[Array, Array]:
    """Return the first and second derivatives (T, n) at times t (T) of what ``near(k, i)`` (K, w, n) says of rows i (K, w) as seen from k.

    A polynomial of degree 4 goes through, or is fitted to, the rows around each row k (K, 1). Where ``near`` is ⊖, its first two
    derivatives at the row itself are the velocity and the acceleration, for d/dt log(q_k⁻¹ q(t)) = dexp(−x)⁻¹ v, and x = 0 there.
    """
    return tuple(polynomials(t, near, rows)[1:])                                # type: ignore[return-value]


def polynomials(t: Array, near: Callable[[Array, Array], Array], rows: int) -> tuple[Array, Array, Array]:
    """Return the values of those polynomials at the row itself, and their first and second derivatives (T, n)."""
    count, w = len(t), min(rows, len(t))
    zeroth, first, second = [], [], []
    for part in np.array_split(np.arange(count), -(-count // PIECE)):
        i = np.clip(part - w // 2, 0, count - w)[:, None] + np.arange(w)
        s = t[i] - t[part, None]
        h = abs(s).max(axis=1)[:, None]
        Q, R = np.linalg.qr((s / h)[..., None] ** np.arange(min(DEGREE, w - 1) + 1))
        c = np.linalg.solve(R, np.swapaxes(Q, -1, -2) @ near(part[:, None], i))
        zeroth.append(c[:, 0])
        first.append(c[:, 1] / h)
        second.append(2 * c[:, 2] / h**2)
    return np.concatenate(zeroth), np.concatenate(first), np.concatenate(second)


def gains(t: Array, rows: int, order: int) -> tuple[float, float]:
    """Return by how much quartics fitted to rows of independent noise are off from a middle row itself, and from its derivative of some
    order, root-mean-square, for noise of one."""
    powers = np.arange(min(DEGREE, rows - 1) + 1)
    s = np.median(np.diff(t)) * (np.arange(rows) - rows // 2)
    weights = np.linalg.pinv((s / s[-1])[:, None] ** powers) / s[-1] ** powers[:, None]
    return float(np.linalg.norm(np.eye(rows)[rows // 2] - weights[0])), order * float(np.linalg.norm(weights[order]))


def warn_of_noise(model: Model, t: Array, q: Array, found: Mapping[str, Array], rows: int, derived: Mapping[str, Array], by: str) -> None:
    """Say of which coordinates noise, or the steps of an encoder, makes much of what is derived from them: the last derivative needed."""
    if len(t) < 2 * PLAIN:
        return
    which = "v" if by == "momentum" or "vdot" in found else "vdot"
    if "v" in found:
        what, order, near = "v", 1, lambda k, i: found["v"][i] - found["v"][k]
    else:
        what, order, near = "q", 1 + (which == "vdot"), lambda k, i: model.difference(np.broadcast_to(q[k], q[i].shape), q[i])
    off = np.median(np.abs(polynomials(t, near, PLAIN)[0]), axis=0) / NORMAL / gains(t, PLAIN, order)[0]
    gain = gains(t, rows, order)[1]
    for name, noise, x in zip(model.labels("v"), off, derived[which].T, strict=True):
        made, size = noise * gain, float(np.sqrt((x**2).mean()))
        if made > NOISY * size > 0.0:
            least = max(size**2 - made**2, 1e-2 * size**2) ** 0.5                # without the noise
            wider = range(rows, min(len(t) // 2, WIDEST), 2)
            enough = next((w for w in wider if noise * gains(t, w, order)[1] <= NOISY * least), None)
            expected = f"smooth={enough} or more, or less noise" if enough else "less noise"
            share = 100.0 * min(made / size, 1.0)
            warn(f"{what} of '{name}' is noisy, or in steps, by about {noise:.2g}: it makes {share:.0f} % of {which} from {rows} rows, "
                 f"which biases what is found, in no interval; expected {expected}", IdentificationWarning)  # fmt: skip


def rates(model: Model, t: Array, q: Array, found: Mapping[str, Array], rows: int, file: str) -> tuple[Array, Array, str]:
    """Return v and vdot (T, nv) of q (T, nq) at times t (T), as the file has them or by differentiating; and how in words."""
    if "v" in found and "vdot" in found:
        return found["v"], found["vdot"], "v and vdot from the file"
    warn_of_jumps(model, t, q)
    if len(t) < 3:
        missing = "vdot" if "v" in found else "v"
        raise IdentificationError(f"'{file}' has {len(t)} row{'s' * (len(t) > 1)} of numbers and no columns {missing}.…; expected at least "
                                  "3 rows, which can be differentiated, or both v.… and vdot.…")  # fmt: skip
    fitted = "five-point finite differences" if rows == DEGREE + 1 else f"quartics fitted to {rows} rows each"
    if "v" in found:
        v = found["v"]
        vdot, _ = derivatives(t, lambda k, near: v[near] - v[k], rows)
        return v, vdot, f"v from the file; vdot is v differentiated by {fitted}"
    v, vdot = derivatives(t, lambda k, near: model.difference(np.broadcast_to(q[k], q[near].shape), q[near]), rows)
    if "vdot" in found:
        return v, found["vdot"], f"v by {fitted} of q on the manifold\nvdot from the file"
    return v, vdot, f"v and vdot by {fitted} of q on the manifold"
