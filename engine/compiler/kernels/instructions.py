"""A writer of LLVM IR that numbers instructions as they are appended."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from engine.compiler.graph.program import Shape


class Writer:
    """Numbered instructions at the end of a list of lines."""

    def __init__(self, lines: list[str]) -> None:
        self.lines, self.count = lines, 0

    def put(self, text: str) -> str:
        self.count += 1
        self.lines.append(f"  %v{self.count} = {text}")
        return f"%v{self.count}"

    def element(self, base: str, k: int, kind: str = "i64") -> str:
        """Element k of an array in memory."""
        return self.put(f"load {kind}, ptr {self.put(f'getelementptr {kind}, ptr {base}, i64 {k}')}")

    def byte(self, base: str, offset: int | str) -> str:
        """A pointer ``offset`` bytes further."""
        return self.put(f"getelementptr i8, ptr {base}, i64 {offset}")

    def contiguous(self, shape: Shape, strides: list[str]) -> str:
        """Test that an array of doubles lies in C order without gaps."""
        flag, expected = "true", 8
        for n, stride in reversed(list(zip(shape, strides, strict=True))):
            if n != 1:
                flag = self.put(f"and i1 {flag}, {self.put(f'icmp eq i64 {stride}, {expected}')}")
            expected *= n
        return flag

    def aligned(self, size: int) -> tuple[str, str]:
        """Allocate ``size`` bytes from the heap; return the pointer to free, and one that is a multiple of 64."""
        raw = self.put(f"call ptr @malloc(i64 {size + 64})")
        above = self.put(f"add i64 {self.put(f'ptrtoint ptr {raw} to i64')}, 63")
        return raw, self.put(f"inttoptr i64 {self.put(f'and i64 {above}, -64')} to ptr")


def exchanged(put: Callable[[str], str], rows: Sequence[str], lanes: int = 0) -> list[str]:
    """Vectors, rows and columns exchanged: in steps, blocks between those that differ in one bit of their number. Where there are more
    ``lanes`` than vectors, each block of as many lanes is exchanged by itself."""
    v, n = list(rows), len(rows)
    W = lanes or n
    D, distance = f"<{W} x double>", n // 2
    while distance:
        low = [lane if not lane & distance else W + lane - distance for lane in range(W)]
        high = [lane + distance if not lane & distance else W + lane for lane in range(W)]
        for i in range(n):
            if not i & distance:
                a, b = v[i], v[i + distance]
                for k, order in ((i, low), (i + distance, high)):
                    v[k] = put(f"shufflevector {D} {a}, {D} {b}, <{W} x i32> <{', '.join(f'i32 {x}' for x in order)}>")
        distance //= 2
    return v
