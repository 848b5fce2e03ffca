"""WebAssembly: links one object of LLVM's to a module that runs by itself.

LLVM writes objects for a linker. Of a single one there is little to link: its functions keep their numbers, its data stay where they are,
from address 0 on; what is missing is a memory, a stack, and room for arguments and results, all of which follow the data. WebAssembly has
no fused multiply-add: a product is rounded before the sum, but for elementary functions, whose reductions need it exact.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.code.exported import WRITER, Exported
from engine.code.functions import ExportError
from engine.code.objects import TARGETS, Portable, assembled, with_entry
from engine.compiler.graph.exponentials import Lines

#: bytes of a page of memory, and of the stack
PAGE, STACK = 65536, 65536
#: kinds of sections, of imports and exports, and types
CUSTOM, TYPES, IMPORTS, FUNCTIONS, MEMORY, GLOBALS, EXPORTS, CODE, DATA, COUNT = 0, 1, 2, 3, 5, 6, 7, 10, 11, 12
FUNCTION, TABLE_KIND, MEMORY_KIND, GLOBAL = 0, 1, 2, 3
I32 = b"\x7f"
#: functions that whoever loads a module gives it: JavaScript's Math has all but the last
GIVEN = ("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "pow", "fmod")
#: functions of LLVM IR that stand for @llvm.fma: rounded twice, or once but where numbers overflow or vanish (Boldo and Melquiond,
#: *Emulation of FMA and correctly rounded sums*, 2008, without its rounding to odd: the last bit may be another)
TWICE = """define internal double @twice(double %a, double %b, double %c) alwaysinline {
  %p = fmul double %a, %b
  %s = fadd double %p, %c
  ret double %s
}"""

#: what LLVM calls for products of 128 bits, those of random numbers
MULTIPLIED = """define hidden void @__multi3(ptr %r, i64 %al, i64 %ah, i64 %bl, i64 %bh) {
  %a0 = and i64 %al, 4294967295
  %b0 = and i64 %bl, 4294967295
  %a1 = lshr i64 %al, 32
  %b1 = lshr i64 %bl, 32
  %p00 = mul i64 %a0, %b0
  %p01 = mul i64 %a0, %b1
  %p10 = mul i64 %a1, %b0
  %p11 = mul i64 %a1, %b1
  %m0 = lshr i64 %p00, 32
  %m1 = and i64 %p01, 4294967295
  %m2 = and i64 %p10, 4294967295
  %m3 = add i64 %m0, %m1
  %middle = add i64 %m3, %m2
  %h0 = lshr i64 %middle, 32
  %h1 = lshr i64 %p01, 32
  %h2 = lshr i64 %p10, 32
  %h3 = mul i64 %al, %bh
  %h4 = mul i64 %ah, %bl
  %s0 = add i64 %p11, %h0
  %s1 = add i64 %s0, %h1
  %s2 = add i64 %s1, %h2
  %s3 = add i64 %s2, %h3
  %high = add i64 %s3, %h4
  %low = mul i64 %al, %bl
  %there = getelementptr i64, ptr %r, i64 1
  store i64 %low, ptr %r
  store i64 %high, ptr %there
  ret void
}"""


def wasm(e: Exported) -> tuple[bytes, int]:
    """Return the module, and the doubles of scratch memory that the function needs."""
    text, work = with_entry(e, Portable(TARGETS["wasm"]))
    return linked(e, assembled(without_fma(text), "wasm"), work), work


# ---------------------------------------------------------------- multiply-adds


def without_fma(text: str) -> str:
    """Return IR text in which each fma is a product and a sum, rounded twice; in elementary functions the product is exact."""
    parts = re.split(r"(?m)(?=^define )", text)
    exact = re.compile(r"define internal \S+(?: \S+)? @(near1|exp\.lanes|log\.lanes|tanh\.lanes)\(")
    made = [part.replace("@llvm.fma.f64(", "@once(" if exact.match(part) else "@twice(") for part in parts]
    whole = re.sub(r"@llvm\.fma\.v(\d+)f64\(", r"@twice.v\1(", "".join(made))
    more = [MULTIPLIED] if "i128" in whole else []
    widths = sorted(set(re.findall(r"@twice\.v(\d+)", whole)))
    wide = [TWICE.replace("double", f"<{n} x double>").replace("@twice", f"@twice.v{n}") for n in widths]
    return "\n".join([whole, TWICE, *wide, once(), *more])


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
    sound = body.put(f"fcmp ord double {y}, {y}")                              # what is not finite is as if rounded twice
    y = body.put(f"select i1 {sound}, double {y}, double {s}")
    return "\n".join(["define internal double @once(double %a, double %b, double %c) {", *body.lines, f"  ret double {y}", "}"])


# ---------------------------------------------------------------- the format


def leb(n: int, signed: bool = False) -> bytes:
    """Encode an integer as LEB128, seven bits a byte."""
    out = bytearray()
    while True:
        byte, n = n & 0x7F, n >> 7
        done = n in ((0, -1) if signed else (0,)) and not (signed and (byte >> 6 & 1) != (n & 1))
        out.append(byte if done else byte | 0x80)
        if done:
            return bytes(out)


class Reader:
    """Reads bytes from the beginning on."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, n: int) -> bytes:
        self.at += n
        return self.data[self.at - n : self.at]

    def number(self) -> int:
        n = shift = 0
        while True:
            byte = self.take(1)[0]
            n, shift = n | (byte & 0x7F) << shift, shift + 7
            if byte < 0x80:
                return n

    def name(self) -> bytes:
        return self.take(self.number())

    @property
    def more(self) -> bool:
        return self.at < len(self.data)


def sections(code: bytes) -> Iterator[tuple[int, bytes]]:
    """The sections of a module, of a kind each."""
    r = Reader(code[8:])
    while r.more:
        kind = r.take(1)[0]
        yield kind, r.name()


def imported(content: bytes) -> list[bytes]:
    """Imports of functions, as they stand."""
    r, kept = Reader(content), []
    for _ in range(r.number()):
        begin = r.at
        _, name, kind = r.name(), r.name(), r.take(1)[0]
        if kind == FUNCTION:
            r.number()
            if (called := name.decode()) not in GIVEN:
                raise ExportError(f"the operation '{called}' has no code in WebAssembly, as JavaScript's Math has nothing by that name; "
                                  "expected a function as '.c' or '.o', a simulator's run as a page that plays, engine.export(run, "
                                  "'run.html'), or engine.serve(simulator)")  # fmt: skip
            kept.append(r.data[begin : r.at])
        elif kind == GLOBAL:
            r.take(2)
            if name != b"__stack_pointer":
                raise ExportError(f"the object asks for the global '{name.decode()}'; expected its stack's alone")
        else:                                                                  # a memory or a table, with its limits
            r.take(1 if kind == TABLE_KIND else 0)
            limited = r.take(1)[0] & 1
            r.number()
            if limited:
                r.number()
    return kept


def number_of(content: bytes, wanted: str) -> int:
    """The number of a function by its name, of the custom section "linking"."""
    r = Reader(content)
    r.number()                                                                 # of the version
    while r.more:
        kind, table = r.take(1)[0], Reader(r.name())
        for _ in range(table.number() if kind == 8 else 0):                    # the table of symbols
            symbol, flags = table.take(1)[0], table.number()
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
    """Return the address where the data segments end."""
    r, end = Reader(content), 0
    for _ in range(r.number()):
        if r.number() != 0 or r.take(1) != b"\x41":
            raise ExportError("the object has data that lie nowhere; expected places")
        at = r.number()                                                        # below 2³¹, and not negative
        r.take(1)
        end = max(end, at + len(r.name()))
    return end


def items(each: list[bytes]) -> bytes:
    """A section's content."""
    return leb(len(each)) + b"".join(each)


def text_of(x: str) -> bytes:
    return leb(len(x.encode())) + x.encode()


def constant(n: int, changes: bool = False) -> bytes:
    """A global whole number."""
    return I32 + bytes([changes]) + b"\x41" + leb(n, signed=True) + b"\x0b"


def linked(e: Exported, code: bytes, work: int) -> bytes:
    """A module of an object."""
    parts = dict[int, bytes]()
    custom = dict[bytes, bytes]()
    for kind, content in sections(code):
        if kind == CUSTOM:
            r = Reader(content)
            name = r.name()
            custom[name] = content[r.at :]
        else:
            parts[kind] = content
    kept = imported(parts.get(IMPORTS, b"\0"))
    at = -(-end_of_data(parts[DATA]) // 64) * 64 + 64 if DATA in parts else 64
    places: dict[str, int] = {}
    for n, size in [*((x.name, x.size) for x in (*e.parameters, *e.returned)), *([("work", work)] if work else [])]:
        places[n], at = at, at + 8 * size
    top = -(-at // 16) * 16 + STACK
    own = number_of(custom[b"linking"], e.name)
    exports = [text_of("memory") + bytes([MEMORY_KIND, 0]), text_of(e.name) + bytes([FUNCTION]) + leb(own)]
    values = [constant(top, True)]
    for n, value in [*((n, p) for n, p in places.items()), *((f"{x.name}_size", x.size) for x in (*e.parameters, *e.returned))]:
        exports.append(text_of(n) + bytes([GLOBAL]) + leb(len(values)))
        values.append(constant(value))
    parts |= {IMPORTS: items(kept), MEMORY: items([b"\x00" + leb(-(-top // PAGE))]), GLOBALS: items(values), EXPORTS: items(exports)}
    order = (TYPES, IMPORTS, FUNCTIONS, MEMORY, GLOBALS, EXPORTS, COUNT, CODE, DATA)
    mark = text_of(WRITER)
    return code[:8] + b"".join(bytes([k]) + leb(len(parts[k])) + parts[k] for k in order if k in parts) + bytes([CUSTOM, len(mark)]) + mark
