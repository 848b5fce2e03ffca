"""C of LLVM instructions on numbers, as expressions: operations and elementary functions are written in LLVM IR once, for both."""

from __future__ import annotations

import math
import re
import struct

#: LLVM's type -> that of C; of truth values int
TYPES = {"double": "double", "i64": "uint64_t", "i1": "int", "{double, double}": "pair"}
#: of numbers, and of whole ones, an operator each
OPERATORS = {"fadd": "+", "fsub": "-", "fmul": "*", "fdiv": "/", "add": "+", "sub": "-", "shl": "<<", "lshr": ">>"}
#: of whole numbers, and of truth values
BITWISE = {"and": ("&", "&&"), "or": ("|", "||"), "xor": ("^", "!=")}
COMPARISONS = {"olt": "<", "ole": "<=", "ogt": ">", "oge": ">=", "oeq": "==", "une": "!="}
#: functions -> their names in C
FUNCTIONS = {"near1": "sincos_near", "sincos": "sincos_of", "stumpff": "stumpff_of", "stumpff.far": "stumpff_far",
             "exp.lanes": "exp_of", "log.lanes": "log_of", "tanh.lanes": "tanh_of"}  # fmt: skip
#: what needs no parentheses: a name, a constant, a call without calls within, an entry of an array
ATOM = re.compile(r"\w[\w.]*(?:(?<=e)[-+]\d+)?(\([^()]*\)|\[[^][]*\])?")


def decimal(x: float) -> str:
    """A double as C writes it: the shortest that is read as the same bits.

    >>> decimal(0.1), decimal(-0.0), decimal(math.inf)
    ('0.1', '-0.0', 'INFINITY')
    """
    if math.isnan(x):
        return "NAN"
    return repr(float(x)) if math.isfinite(x) else "INFINITY" if x > 0.0 else "-INFINITY"


def constant(text: str, kind: str) -> str:
    """A constant of LLVM's."""
    if kind == "double":
        return decimal(struct.unpack("<d", int(text, 16).to_bytes(8, "little"))[0] if text.startswith("0x") else float(text))
    return text if kind == "i1" or 0 <= int(text) < 64 else f"UINT64_C({int(text) % 2**64:#x})"


class Expressions:
    """C expressions of values, by their names in LLVM's text."""

    def __init__(self, of: dict[str, str] | None = None) -> None:
        self.of = of or {}

    def put(self, text: str) -> str:
        """Assign an instruction's result to a name that other instructions read."""
        name = f"%{len(self.of)}"
        self.of[name] = self.expression(text)[0]
        return name

    def atom(self, x: str, kind: str) -> str:
        """Return an operand, in parentheses where it is more than a name, a constant or a call."""
        c = self.of[x] if x.startswith("%") else constant(x, kind)
        return c if ATOM.fullmatch(c) else f"({c})"

    def expression(self, text: str) -> tuple[str, str]:
        """Return an instruction as an expression in C, and its type.

        >>> Expressions({"%x": "x", "%y": "y"}).expression("fcmp olt double %x, %y")
        ('x < y', 'i1')
        """
        op, rest = text.split(" ", 1)
        if op == "call":
            return self.call(rest)
        if op in ("insertvalue", "extractvalue"):
            return self.paired(op, rest.removeprefix("{double, double} "))
        if op in ("bitcast", "trunc", "sitofp", "uitofp"):
            return self.converted(op, *re.fullmatch(r"(\S+) (\S+) to (\S+)", rest).groups())  # type: ignore[union-attr]
        if op == "select":
            condition, first, second = (part.split(" ") for part in rest.split(", "))
            c, a, b = (self.atom(x, kind) for kind, x in (condition, first, second))
            return f"{c} ? {a} : {b}", first[0]
        if op in ("fcmp", "icmp"):
            op, rest = rest.split(" ", 1)
        kind, rest = rest.split(" ", 1)
        x = [self.atom(y, kind) for y in rest.split(", ")]
        if op in COMPARISONS:
            return f"{x[0]} {COMPARISONS[op]} {x[1]}", "i1"
        if op == "ne":                                                         # than 0, of a truth value
            return x[0], "i1"
        if op == "uno":                                                        # with a constant
            return f"isnan({x[0]})", "i1"
        if op == "fneg":
            return f"-{x[0]}", kind
        if op == "ashr":
            return f"(uint64_t)((int64_t){x[0]} >> {x[1]})", kind
        if op == "xor" and x[1] == "1" and kind == "i1":
            return f"!{x[0]}", kind
        operator = BITWISE[op][kind == "i1"] if op in BITWISE else OPERATORS[op]
        return f"{x[0]} {operator} {x[1]}", kind

    def call(self, text: str) -> tuple[str, str]:
        """A call of a function."""
        kind, name, given = re.fullmatch(r"(double|\{double, double\}) @(\S+?)\((.*)\)", text).groups()  # type: ignore[union-attr]
        name = FUNCTIONS.get(name) or name.removeprefix("llvm.").removesuffix(".f64")
        operands = re.findall(r"(double|\{double, double\}) ([^, ]+)", given)
        return f"{name}({', '.join(self.of[x] if x in self.of else constant(x, k) for k, x in operands)})", kind

    def converted(self, op: str, kind: str, x: str, to: str) -> tuple[str, str]:
        """A conversion."""
        y = self.atom(x, kind)
        if op == "bitcast":
            return f"{'bits_of' if to == 'i64' else 'number_of'}({self.of[x]})", to
        return {"trunc": f"(int)({y} & 1)", "sitofp": f"(double)(int64_t){y}", "uitofp": f"{y} ? 1.0 : 0.0"}[op], to

    def paired(self, op: str, text: str) -> tuple[str, str]:
        """A part of a pair, or a pair, of whose parts the first is put in first."""
        if op == "extractvalue":
            x, k = text.split(", ")
            return f"{self.atom(x, '')}.{'ab'[int(k)]}", "double"
        whole, number, k = text.split(", ")
        x = self.atom(number.removeprefix("double "), "double")
        return (x, "half") if k == "0" else (f"(pair){{{self.of[whole]}, {x}}}", "{double, double}")
