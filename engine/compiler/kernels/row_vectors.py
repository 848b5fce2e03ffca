"""Rows and vectors: W rows of a table as vectors, a column in each, and back, by the fewest exchanges of lanes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from engine.compiler.kernels.arena import TableWriter
from engine.compiler.kernels.instructions import exchanged

Put = Callable[[str], str]
#: rows of up to so many columns, which stand side by side, are read and written whole vectors at a time
FEW = 6
#: columns that half a vector of eight lanes holds
HALF = 4


def columns_of(put: Put, x: Sequence[str], W: int) -> list[str]:
    """The m columns of W rows of m numbers, which follow one another in m vectors."""
    m = len(x)
    if m == 1 or W == 1:
        return [*x]
    if m % 2:
        return [picked(put, x, [m * lane + c for lane in range(W)]) for c in range(m)]
    even, odd = ([picked(put, x[k : k + 2], range(first, 2 * W, 2)) for k in range(0, m, 2)] for first in (0, 1))
    return [c for pair in zip(columns_of(put, even, W), columns_of(put, odd, W), strict=True) for c in pair]


def rows_of(put: Put, columns: Sequence[str], W: int) -> list[str]:
    """W rows of m numbers, one after another in m vectors, of their m columns."""
    m = len(columns)
    if m == 1 or W == 1:
        return [*columns]
    if m % 2:
        return [picked(put, columns, [at % m * W + at // m for at in range(W * k, W * (k + 1))]) for k in range(m)]
    halves = zip(rows_of(put, columns[::2], W), rows_of(put, columns[1::2], W), strict=True)
    woven = [at // 2 + at % 2 * W for at in range(2 * W)]
    return [picked(put, pair, woven[k : k + W]) for pair in halves for k in (0, W)]


def picked(put: Put, x: Sequence[str], places: Sequence[int]) -> str:
    """Return a vector of the numbers at some places of successive vectors."""
    W = len(places)
    first, *others = sorted({p // W for p in places})
    made, D = "", f"<{W} x double>"
    for s in others or [first]:
        order = [lane if made and p // W < s else W * (p // W == s != first) + p % W if p // W <= s else -1
                 for lane, p in enumerate(places)]  # fmt: skip
        mask = ", ".join("i32 poison" if k < 0 else f"i32 {k}" for k in order)
        made = put(f"shufflevector {D} {made or x[first]}, {D} {x[s]}, <{W} x i32> <{mask}>")
    return made


def gathered(w: TableWriter, W: int, n: int, places: str, data: str) -> list[str]:
    """Write the load of the W rows whose numbers are in ``places``, and return their n columns as vectors of W lanes."""
    put, D = w.put, f"<{W} x double>" if W > 1 else "double"
    rows = [w.byte(data, w.product(k, 8 * n)) for k in w.each_lane(places, W)]
    found: list[str] = []
    for c in range(0, n, W):
        own, q = min(W, n - c), [w.byte(x, 8 * c) for x in rows]
        if W == 1 or own <= W // 4:
            for j in range(own):
                v = "poison"
                for lane in range(W):
                    x = put(f"load double, ptr {w.byte(q[lane], 8 * j)}")
                    v = put(f"insertelement {D} {v}, double {x}, i64 {lane}") if W > 1 else x
                found.append(v)
        elif W == 2 * HALF and own <= HALF:                                    # rows k and k + 4 side by side
            halves, both = [part(w, x, own, HALF) for x in q], ", ".join(f"i32 {lane}" for lane in range(W))
            pairs, H = zip(halves[:HALF], halves[HALF:], strict=True), f"<{HALF} x double>"
            found += exchanged(put, [put(f"shufflevector {H} {a}, {H} {b}, <{W} x i32> <{both}>") for a, b in pairs], W)[:own]
        else:
            found += exchanged(put, [part(w, x, own, W) for x in q])[:own]
    return found


def part(w: TableWriter, row: str, own: int, lanes: int) -> str:
    """Some of a row's numbers in a vector."""
    D, mask = f"<{lanes} x double>", ", ".join(f"i1 {str(j < own).lower()}" for j in range(lanes))
    return w.put(f"load {D}, ptr {row}, align 8" if own == lanes else
                 f"call {D} @llvm.masked.load.v{lanes}f64.p0(ptr {row}, i32 8, <{lanes} x i1> <{mask}>, {D} zeroinitializer)")  # fmt: skip


def packing(W: int, n: int) -> str:
    """IR of ``pack(k, data, lanes)``: the W rows of these numbers, of n columns, as n vectors."""
    w, D = TableWriter([]), f"<{W} x double>" if W > 1 else "double"
    for c, x in enumerate(gathered(w, W, n, "%k", "%data")):
        w.lines.append(f"  store {D} {x}, ptr {w.byte('%lanes', c * W * 8)}")
    head = f"define internal void @rows.pack.{n}({w.lanes(W)} %k, ptr %data, ptr %lanes) noinline nounwind {{"
    return "\n".join([head, *w.lines, "  ret void", "}"])


def unpacking(W: int, m: int) -> str:
    """IR of ``unpack(lanes, to)``: m vectors as W rows one after another; what is written beyond a row is overwritten by the next, and
    behind the last there is room."""
    w = TableWriter([])
    stood(w, W, [column(w, W, c) for c in range(m)], "%to", m)
    return "\n".join([f"define internal void @rows.unpack.{m}(ptr %lanes, ptr %to) noinline nounwind {{", *w.lines, "  ret void", "}"])


def side_by_side(w: TableWriter, W: int, columns: Sequence[str], to: str) -> None:
    """Write W rows of a few columns one after another."""
    D = f"<{W} x double>" if W > 1 else "double"
    for k, x in enumerate(rows_of(w.put, columns, W)):
        w.lines.append(f"  store {D} {x}, ptr {w.byte(to, 8 * W * k)}, align 8")


def stride(W: int, m: int) -> int:
    """Numbers from one row of m to the next, where each is a few whole vectors, which are read again from one store each."""
    return HALF if W == 2 * HALF and m <= HALF else -(-m // W) * W


def standing(W: int, m: int) -> str:
    """IR of ``stand(lanes, to)``: m vectors as W rows, :func:`stride` apart."""
    w = TableWriter([])
    stood(w, W, [column(w, W, c) for c in range(m)], "%to", stride(W, m))
    return "\n".join([f"define internal void @rows.stand.{m}(ptr %lanes, ptr %to) noinline nounwind {{", *w.lines, "  ret void", "}"])


def stood(w: TableWriter, W: int, columns: Sequence[str], to: str, apart: int) -> None:
    """Write W rows so many numbers apart, whole vectors at a time: what is written beyond a row is overwritten by the next."""
    D, m = f"<{W} x double>" if W > 1 else "double", len(columns)
    if W == 2 * HALF and m <= HALF == apart:
        rows = exchanged(w.put, [*columns, *["zeroinitializer"] * (HALF - m)], W)
        for k in range(W):
            own = ", ".join(f"i32 {k // HALF * HALF + j}" for j in range(HALF))
            half = w.put(f"shufflevector {D} {rows[k % HALF]}, {D} poison, <{HALF} x i32> <{own}>")
            w.lines.append(f"  store <{HALF} x double> {half}, ptr {w.byte(to, 8 * HALF * k)}, align 8")
        return
    whole = [*columns, *["zeroinitializer"] * (-m % W)]
    blocks = [exchanged(w.put, whole[c : c + W]) for c in range(0, m, W)]
    for lane in range(W):
        for b, rows in enumerate(blocks):
            w.lines.append(f"  store {D} {rows[lane]}, ptr {w.byte(to, 8 * (lane * apart + b * W))}, align 8")


def column(w: TableWriter, W: int, c: int) -> str:
    """Vector c of those at ``%lanes``."""
    D = f"<{W} x double>" if W > 1 else "double"
    return w.put(f"load {D}, ptr {w.byte('%lanes', c * W * 8)}")
