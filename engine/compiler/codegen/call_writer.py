"""LLVM IR of a function that Python calls: reads arguments, which are arrays or numbers, and makes objects of the results."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from engine.compiler.graph.program import COUNTED, Shape, is_table, size
from engine.compiler.kernels.instructions import Writer

#: objects and functions of NumPy, and types of Python, that compiled code uses: a table filled in when it is loaded
API = ("ndarray", "float64", "PyArray_New", "PyArray_Scalar", "double", "float", "int")
HEADER = object.__basicsize__  # the fields of PyArrayObject and PyArray_Descr follow Python's object header, and a tuple's size
ITEMS = tuple.__basicsize__  # a tuple's items
DATA, ND, DIMS, DESCR, FLAGS = (HEADER + k for k in (0, 8, 16, 40, 48))
BYTEORDER, TYPE_NUM = HEADER + 10, HEADER + 12
CARRAY, DOUBLE = 0x0101, 12  # C-contiguous and aligned; float64
PROMISED = 8  # a state beside the arena's: a table has not as many rows as the signature promises

#: arguments that are to have as many rows, and results that are to have as many as these
Equal = tuple[tuple[int, ...], tuple[int, ...]]


class CallWriter(Writer):
    """Writes a function that Python calls: ``%self`` holds the handlers, ``%args`` the arguments."""

    def __init__(self, lines: list[str]) -> None:
        super().__init__(lines)
        self.number = itertools.count()
        self.failures: list[str] = []  # blocks at the end: what is left to do when memory runs out
        self.counts: dict[int, str] = {}  # of the arguments that are tables: how many rows they have

    def api(self, which: str) -> str:
        """Load NumPy's address of that name from the table ``@api``."""
        return self.put(f"load ptr, ptr getelementptr ([{len(API)} x ptr], ptr @api, i64 0, i64 {API.index(which)})")

    def handler(self, k: int) -> str:
        """Handler k: ``Gufunc._general`` or ``Gufunc._not_finite``."""
        return self.put(f"call ptr @PyTuple_GetItem(ptr %self, i64 {k})")

    def field(self, base: str, offset: int, kind: str) -> str:
        """A field of a C structure."""
        return self.put(f"load {kind}, ptr {self.byte(base, offset)}")

    def copy(self, to: str, source: str, n: int) -> None:
        """Copy n doubles."""
        self.lines.append(f"  call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {source}, i64 {n * 8}, i1 false)")

    def answer(self, handler: int, arguments: list[str]) -> str:
        """Call a handler on some objects, and return its result."""
        shown = ", ".join(f"ptr {x}" for x in [*arguments, "null"])
        return self.put(f"call ptr (ptr, ...) @PyObject_CallFunctionObjArgs(ptr {self.handler(handler)}, {shown})")

    def returned(self, target: str, shapes: list[Shape], arrays: list[str], result: str, ndarray: str, straight: bool,
                 cleanup: list[str]) -> str:  # fmt: skip
        """Return the results at ``target`` as objects: the only one, or those of the tuple made before."""
        here = 0
        for k, shape in enumerate(shapes):
            source = self.byte(target, here * 8)
            here += size(shape)
            if shape and not is_table(shape):
                if not straight:
                    self.copy(self.field(arrays[k], DATA, "ptr"), source, size(shape))
                continue
            if shape:
                made = self.rows(source, shape, ndarray, *cleanup)
            else:
                make, float64 = self.api("PyArray_Scalar"), self.api("float64")
                made = self.guard(self.put(f"call ptr {make}(ptr {source}, ptr {float64}, ptr null)"), *cleanup)
            if len(shapes) > 1:
                self.put(f"call i32 @PyTuple_SetItem(ptr {result}, i64 {k}, ptr {made})")
            else:
                result = made
        return result

    def finite(self, target: str, shapes: list[Shape]) -> str:
        """Test that all results are finite, rows of tables included."""
        if not any(map(is_table, shapes)):
            return self.put(f"call i1 @all_finite(ptr {target}, i64 {sum(map(size, shapes))})")
        good, here = "true", 0
        for shape in shapes:
            x, n = self.byte(target, 8 * here), str(size(shape))
            if is_table(shape):
                d = self.field(x, 0, "ptr")
                x, n = self.field(d, 8, "ptr"), self.put(f"mul i64 {self.field(d, 0, 'i64')}, {math.prod(shape[1:])}")
            good = self.put(f"and i1 {good}, {self.put(f'call i1 @all_finite(ptr {x}, i64 {n})')}")
            here += size(shape)
        return good

    def rows(self, source: str, shape: Shape, ndarray: str, *cleanup: str) -> str:
        """A new array of the rows of a table, by its handle at ``source``."""
        d, dims = self.field(source, 0, "ptr"), self.put(f"alloca [{len(shape)} x i64]")
        n = self.field(d, 0, "i64")
        for k, x in enumerate((n, *shape[1:])):
            self.lines.append(f"  store i64 {x}, ptr {self.byte(dims, 8 * k)}")
        new = f"ptr {ndarray}, i32 {len(shape)}, ptr {dims}, i32 {DOUBLE}, ptr null, ptr null, i32 0, i32 0, ptr null"
        made = self.guard(self.put(f"call ptr {self.api('PyArray_New')}({new})"), *cleanup)
        bytes_ = self.put(f"mul i64 {n}, {8 * math.prod(shape[1:])}")
        to, rows = self.field(made, DATA, "ptr"), self.field(d, 8, "ptr")
        self.lines.append(f"  call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {rows}, i64 {bytes_}, i1 false)")
        return made

    def require(self, condition: str, otherwise: str = "general") -> None:
        """Go on if the condition holds, else at the label ``otherwise``."""
        here = f"ok{next(self.number)}"
        self.lines.extend([f"  br i1 {condition}, label %{here}, label %{otherwise}", f"{here}:"])

    def guard(self, pointer: str, *cleanup: str) -> str:
        """End the call, after ``cleanup``, if a pointer is null."""
        failed = f"failed{next(self.number)}"
        self.require(self.put(f"icmp ne ptr {pointer}, null"), failed)
        self.failures.extend([f"{failed}:", *cleanup, "  ret ptr null"])
        return pointer

    def arrays(self, shapes: list[Shape], equal: Sequence[Equal]) -> tuple[str, list[str], list[str]]:
        """Read the arguments: return ``numpy.ndarray``, the arguments, and pointers to their data. An argument that is not a float64 array
        of its shape in C order, or a number for a scalar, goes to the handler, as do tables of different numbers of rows where these are to
        be ``equal``."""
        places = [self.put("alloca double") if not shape else "" for shape in shapes]
        self.require(self.put("icmp eq ptr %kwargs, null"))
        self.require(self.put(f"icmp eq i64 {self.field('%args', HEADER, 'i64')}, {len(shapes)}"))
        ndarray = self.api("ndarray")
        given, data = [], []
        for a, shape in enumerate(shapes):
            x = self.field("%args", ITEMS + 8 * a, "ptr")
            given.append(x)
            kind = self.field(x, HEADER - 8, "ptr")
            if not shape:
                self.number_to(places[a], x, kind, f"array{a}", f"done{a}")
            self.require(self.put(f"icmp eq ptr {kind}, {ndarray}"))
            self.require(self.put(f"icmp eq i32 {self.field(x, ND, 'i32')}, {len(shape)}"))
            descr, dims = self.field(x, DESCR, "ptr"), self.field(x, DIMS, "ptr")
            flags = self.put(f"and i32 {self.field(x, FLAGS, 'i32')}, {CARRAY}")
            type_num, order = self.field(descr, TYPE_NUM, "i32"), self.field(descr, BYTEORDER, "i8")
            tests = [f"i32 {flags}, {CARRAY}", f"i32 {type_num}, {DOUBLE}", f"i8 {order}, {ord('=')}"]
            tests += [f"i64 {self.field(dims, 8 * d, 'i64')}, {n}" for d, n in enumerate(shape) if n != COUNTED]
            good = "true"
            for test in tests:
                good = self.put(f"and i1 {good}, {self.put(f'icmp eq {test}')}")
            self.require(good)
            data.append(self.field(x, DATA, "ptr"))
            if is_table(shape):                                                # what is passed on is its descriptor's address
                address, d = self.put("alloca ptr"), self.put("alloca [2 x i64]")
                self.counts[a] = self.field(dims, 0, "i64")
                self.lines += [f"  store i64 {self.counts[a]}, ptr {d}", f"  store ptr {data[a]}, ptr {self.byte(d, 8)}",
                               f"  store ptr {d}, ptr {address}"]  # fmt: skip
                data[a] = address
            if not shape:
                value = self.put(f"load double, ptr {data[a]}")
                self.lines.extend([f"  store double {value}, ptr {places[a]}", f"  br label %done{a}", f"done{a}:"])
                data[a] = places[a]
        for same, _ in equal:
            for a in same[1:]:
                self.require(self.put(f"icmp eq i64 {self.counts[a]}, {self.counts[same[0]]}"))
        return ndarray, given, data

    def promised(self, state: str, equal: Sequence[Equal], target: str, shapes: list[Shape]) -> str:
        """Return the arena's state, marked if a result has another number of rows than the arguments of its size."""
        for same, made in equal:
            for k in made:
                d = self.field(target, 8 * sum(map(size, shapes[:k])), "ptr")
                other = self.put(f"icmp ne i64 {self.field(d, 0, 'i64')}, {self.counts[same[0]]}")
                state = self.put(f"or i64 {state}, {self.put(f'select i1 {other}, i64 {PROMISED}, i64 0')}")
        return state

    def number_to(self, place: str, x: str, kind: str, otherwise: str, done: str) -> None:
        """Store a float, or an int of 64 bits, at a place, and go on at the label ``done``; other objects go to ``otherwise``."""
        is_double, is_float, whole = (self.put(f"icmp eq ptr {kind}, {self.api(name)}") for name in ("double", "float", "int"))
        real = self.put(f"or i1 {is_double}, {is_float}")
        self.lines.extend([f"  br i1 {real}, label %{done}float, label %{done}other", f"{done}float:"])
        value = self.field(x, HEADER, "double")
        self.lines.extend([f"  store double {value}, ptr {place}", f"  br label %{done}", f"{done}other:",
                           f"  br i1 {whole}, label %{done}int, label %{otherwise}", f"{done}int:"])  # fmt: skip
        found = self.put(f"call i64 @PyLong_AsLongLongAndOverflow(ptr {x}, ptr {place})")              # the flag, for a moment
        self.require(self.put(f"icmp eq i32 {self.put(f'load i32, ptr {place}')}, 0"))
        value = self.put(f"sitofp i64 {found} to double")
        self.lines.extend([f"  store double {value}, ptr {place}", f"  br label %{done}", f"{otherwise}:"])
