"""WebAssembly: one object of LLVM's, made a module that stands by itself.

LLVM writes objects for a linker. Of a single one there is little to link: its functions keep their numbers, its data stay where they are,
from address 0 on; what is missing is a memory, a stack, and room for arguments and results, all of which follow the data. WebAssembly has
no fused multiply-add: a product is rounded before the sum, but for elementary functions, whose reductions need it exact.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.code.exported import Exported
from engine.code.functions import ExportError
from engine.code.objects import TARGETS, Portable, assembled, with_entry
from engine.compiler.exponentials import Lines

#: bytes of a page of memory, and of the stack
PAGE, STACK = 65536, 65536
#: kinds of sections, of imports and exports, and types
CUSTOM, TYPES, IMPORTS, FUNCTIONS, MEMORY, GLOBALS, EXPORTS, CODE, DATA = 0, 1, 2, 3, 5, 6, 7, 10, 11
FUNCTION, TABLE_KIND, MEMORY_KIND, GLOBAL = 0, 1, 2, 3
I32 = b"\x7f"
#: functions of LLVM IR that stand for @llvm.fma: rounded twice, or once but where numbers overflow or vanish (Boldo and Melquiond,
#: *Emulation of FMA and correctly rounded sums*, 2008, without its rounding to odd: the last bit may be another)
TWICE = """define internal double @twice(double %a, double %b, double %c) alwaysinline {
  %p = fmul double %a, %b
  %s = fadd double %p, %c
  ret double %s
}"""


def wasm(e: Exported) -> tuple[bytes, dict[str, int]]:
    """The module, and where in its memory arguments and results lie, by name."""
    module = Portable(TARGETS["wasm"])
    text, work = with_entry(e, module)
    return linked(e, assembled(without_fma(text), "wasm"), work)


# ---------------------------------------------------------------- multiply-adds


def without_fma(text: str) -> str:
    """IR text in which products and sums are two operations, but in elementary functions."""
    parts = re.split(r"(?m)(?=^define )", text)
    exact = re.compile(r"define internal \S+(?: \S+)? @(near1|exp\.lanes|log\.lanes|tanh\.lanes)\(")
    made = [part.replace("@llvm.fma.f64(", "@once(" if exact.match(part) else "@twice(") for part in parts]
    whole = re.sub(r"@llvm\.fma\.v(\d+)f64\(", r"@twice.v\1(", "".join(made))
    wide = [TWICE.replace("double", f"<{n} x double>").replace("@twice", f"@twice.v{n}") for n in sorted(set(re.findall(r"@twice\.v(\d+)", whole)))]
    return "\n".join([whole, TWICE, *wide, once()])


def once() -> str:
    """IR of a b + c with an exact product, by Dekker's and Knuth's sums: right but for the last bit."""
    body = Lines(1)

    def op(name: str, x: str, y: str) -> str:
        return body.put(f"{name} double {x}, {y}")

    def halves(x: str) -> tuple[str, str]:
        big = op("fmul", x, body.d(2.0**27 + 1.0))
        high = op("fsub", big, op("fsub", big, x))
        return high, op("fsub", x, high)

    p, (ah, al), (bh, bl) = op("fmul", "%a", "%b"), halves("%a"), halves("%b")
    error = op("fsub", op("fmul", ah, bh), p)
    for x, y in ((ah, bl), (al, bh), (al, bl)):
        error = op("fadd", error, op("fmul", x, y))
    s = op("fadd", p, "%c")
    other = op("fsub", s, p)
    lost = op("fadd", op("fsub", p, op("fsub", s, other)), op("fsub", "%c", other))
    y = op("fadd", s, op("fadd", lost, error))
    sound = body.put(f"fcmp ord double {y}, {y}")                              # of what is not finite, or splits to what is not, the plain sum
    y = body.put(f"select i1 {sound}, double {y}, double {s}")
    return "\n".join(["define internal double @once(double %a, double %b, double %c) {", *body.lines, f"  ret double {y}", "}"])


# ---------------------------------------------------------------- the format


def leb(n: int, signed: bool = False) -> bytes:
    """A whole number in seven bits a byte."""
    out = bytearray()
    while True:
        byte, n = n & 0x7F, n >> 7
        done = n in ((0, -1) if signed else (0,)) and not (signed and (byte >> 6 & 1) != (n & 1))
        out.append(byte if done else byte | 0x80)
        if done:
            return bytes(out)


class Reader:
    """Bytes that are read from the beginning on."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def bytes(self, n: int) -> bytes:
        self.at += n
        return self.data[self.at - n : self.at]

    def number(self) -> int:
        n = shift = 0
        while True:
            byte = self.bytes(1)[0]
            n, shift = n | (byte & 0x7F) << shift, shift + 7
            if byte < 0x80:
                return n

    def name(self) -> bytes:
        return self.bytes(self.number())

    @property
    def more(self) -> bool:
        return self.at < len(self.data)


def sections(code: bytes) -> Iterator[tuple[int, bytes]]:
    """The sections of a module, of a kind each."""
    r = Reader(code[8:])
    while r.more:
        kind = r.bytes(1)[0]
        yield kind, r.name()


def imported(content: bytes) -> tuple[list[bytes], list[str]]:
    """Imports of functions, as they stand, and their names."""
    r, kept, names = Reader(content), [], []
    for _ in range(r.number()):
        begin = r.at
        _, name, kind = r.name(), r.name(), r.bytes(1)[0]
        if kind == FUNCTION:
            r.number()
            kept.append(r.data[begin : r.at])
            names.append(name.decode())
        elif kind == GLOBAL:
            r.bytes(2)
            if name != b"__stack_pointer":
                raise ExportError(f"the object asks for the global '{name.decode()}'; expected its stack's alone")
        else:                                                                  # a memory or a table, with its limits
            r.bytes(1 if kind == TABLE_KIND else 0)
            limited = r.bytes(1)[0] & 1
            r.number()
            if limited:
                r.number()
    return kept, names


def number_of(content: bytes, wanted: str) -> int:
    """The number of a function by its name, of the custom section "linking"."""
    r = Reader(content)
    r.number()                                                                 # of the version
    while r.more:
        kind, table = r.bytes(1)[0], Reader(r.name())
        for _ in range(table.number() if kind == 8 else 0):                    # the table of symbols
            symbol, flags = table.bytes(1)[0], table.number()
            if symbol == 1:                                                    # data
                table.name()
                if not flags & 0x10:
                    _ = table.number(), table.number(), table.number()
                continue
            n = table.number()
            name = table.name() if symbol != 3 and (not flags & 0x10 or flags & 0x40) else b""  # imports have theirs, sections none
            if symbol == 0 and name == wanted.encode():
                return n
    raise ExportError(f"the object has no function '{wanted}'; expected one")


def end_of_data(content: bytes) -> int:
    """Where data end."""
    r, end = Reader(content), 0
    for _ in range(r.number()):
        if r.number() != 0 or r.bytes(1) != b"\x41":
            raise ExportError("the object has data that lie nowhere; expected places")
        at = r.number()                                                        # below 2³¹, and not negative
        r.bytes(1)
        end = max(end, at + len(r.name()))
    return end


def section(kind: int, items: list[bytes]) -> bytes:
    """A section of items."""
    content = leb(len(items)) + b"".join(items)
    return bytes([kind]) + leb(len(content)) + content


def text_of(x: str) -> bytes:
    return leb(len(x.encode())) + x.encode()


def constant(n: int, changes: bool = False) -> bytes:
    """A global whole number."""
    return I32 + bytes([changes]) + b"\x41" + leb(n, signed=True) + b"\x0b"


def linked(e: Exported, code: bytes, work: int) -> tuple[bytes, dict[str, int]]:
    """A module of an object, and where its arrays lie."""
    parts = dict[int, bytes]()
    custom = dict[bytes, bytes]()
    for kind, content in sections(code):
        if kind == CUSTOM:
            r = Reader(content)
            name = r.name()
            custom[name] = content[r.at :]
        else:
            parts[kind] = content
    kept, _ = imported(parts.get(IMPORTS, b"\0"))
    at = -(-end_of_data(parts[DATA]) // 64) * 64 + 64 if DATA in parts else 64
    places: dict[str, int] = {}
    for n, size in [*((x.name, x.size) for x in (*e.parameters, *e.returned)), *([("work", work)] if work else [])]:
        places[n], at = at, at + 8 * size
    top = -(-at // 16) * 16 + STACK
    exports = [text_of("memory") + bytes([MEMORY_KIND, 0]), text_of(e.name) + bytes([FUNCTION]) + leb(number_of(custom[b"linking"], e.name))]
    values = [constant(top, True)]
    for n, value in [*((n, p) for n, p in places.items()), *((f"{x.name}_size", x.size) for x in (*e.parameters, *e.returned))]:
        exports.append(text_of(n if n != e.name and n != "memory" else f"{n}_") + bytes([GLOBAL]) + leb(len(values)))
        values.append(constant(value))
    out = code[:8] + b"".join(bytes([k]) + leb(len(parts[k])) + parts[k] for k in (TYPES,))
    out += section(IMPORTS, kept) if kept else b""
    out += bytes([FUNCTIONS]) + leb(len(parts[FUNCTIONS])) + parts[FUNCTIONS]
    out += section(MEMORY, [b"\x00" + leb(-(-top // PAGE))]) + section(GLOBALS, values) + section(EXPORTS, exports)
    for kind in (12, CODE, DATA):                                              # data are counted before code
        out += bytes([kind]) + leb(len(parts[kind])) + parts[kind] if kind in parts else b""
    return out, places
