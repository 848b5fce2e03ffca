"""What tests of exported code share: compilers that may be missing, code built and called on many rows, and a board that is emulated."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.code.export import export_code
from engine.code.sources import exported

#: no warning of these is allowed
FLAGS = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic")
#: processors with fused multiply-adds need to be told
FMA = ("-mfma",) if "fma" in (Path("/proc/cpuinfo").read_text().split() if Path("/proc/cpuinfo").exists() else ()) else ()
CORTEX_M7 = ("-mcpu=cortex-m7", "-mfpu=fpv5-d16", "-mfloat-abi=hard", "-mthumb")
CORTEX_M4 = ("-mcpu=cortex-m4", "-mthumb")


def needed(*programs: str) -> None:
    """Skip a test where a program is missing."""
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"there is no {program} here")


def run(command: list[Any], folder: Path, seconds: float = 120.0) -> str:
    """What a command prints, which must succeed."""
    done = subprocess.run([str(x) for x in command], cwd=folder, capture_output=True, text=True, timeout=seconds, check=False)
    assert done.returncode == 0, f"{' '.join(map(str, command))}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def reported(folder: Path, name: str, *command: Any, emulator: tuple[str, ...] = (), files: tuple[str, ...] = ()) -> str:
    """What the self-test of exported code prints, compiled by a command."""
    run([*command, *(files or (f"{name}.c",)), f"{name}_test.c", "-o", f"{name}.run", "-lm"], folder)
    return run([*emulator, f"./{name}.run"], folder)


LOOP = """#include "NAME.h"
#if NAME_WORK_SIZE
static double work[NAME_WORK_SIZE];
#endif
void NAME_rows(long rows, const double *given, double *found, int *bad)
{
    for (long k = 0; k < rows; ++k, given += GIVEN, found += FOUND)
        bad[k] = NAME(ARGUMENTS);
}
"""


#: rows from the standard input to the standard output
MAIN = """#include <stdio.h>
void NAME_rows(long rows, const double *given, double *found, int *bad);
int main(void)
{
    static double given[GIVEN], found[FOUND];
    int bad;
    while (fread(given, sizeof given, 1, stdin)) {
        NAME_rows(1, given, found, &bad);
        fwrite(found, sizeof found, 1, stdout);
        fwrite(&bad, sizeof bad, 1, stdout);
    }
    return 0;
}
"""


class Rows:
    """Functions as C, built into one library, which are called on many rows."""

    def __init__(self, folder: Path, functions: dict[str, tuple[Any, str | None]]) -> None:
        """``functions`` by their names in C, of which a simulator has a part."""
        folder.mkdir(exist_ok=True)
        self.folder, self.source, self.of = folder, functions, {n: exported(f, n, part) for n, (f, part) in functions.items()}
        for n, (f, part) in functions.items():
            export_code(f, folder / f"{n}.c", part=part)
            self.loop(n)

    def loop(self, n: str) -> None:
        """Write a loop over rows, of what is exported under a name."""
        e, k, passed = self.of[n], 0, []
        for a in e.parameters:
            passed.append(f"given + {k}" if a.shape else f"given[{k}]")
            k += a.size
        sizes = np.cumsum([0, *(r.size for r in e.returned)])
        passed += [f"found + {i}" for i in sizes[:-1]]
        work = self.work(n)
        passed += ["work"] if work else []
        text = LOOP.replace("NAME_WORK_SIZE", str(work)).replace("NAME", n).replace("ARGUMENTS", ", ".join(passed))
        for end, c in (("rows", text), ("main", MAIN.replace("NAME", n))):
            (self.folder / f"{n}_{end}.c").write_text(c.replace("GIVEN", str(k)).replace("FOUND", str(sizes[-1])))

    def work(self, name: str) -> int:
        """Doubles that a function must be lent."""
        (line,) = (x for x in (self.folder / f"{name}.h").read_text().splitlines() if x.startswith(f"#define {name.upper()}_WORK "))
        return int(line.split()[-1])

    def built(self, compiler: str, *flags: str) -> ctypes.CDLL:
        """The library."""
        needed(compiler)
        files = [f"{n}{end}.c" for n in self.of for end in ("", "_rows")]
        library = self.folder / f"rows_{compiler}{''.join(flags)}.so"                # one of the same name is loaded only once
        run([compiler, *FLAGS, *(flags or ("-O1",)), *FMA, "-fPIC", "-shared", *files, "-o", library, "-lm"], self.folder)
        return ctypes.CDLL(str(library))

    def drawn(self, name: str, rows: int, seed: int = 0) -> list[np.ndarray]:
        """Arguments of a function (rows, *shape), at random."""
        rng = np.random.default_rng(seed)
        return [np.array(x, dtype=float) for x in zip(*(self.of[name].draw(rng) for _ in range(rows)), strict=True)]

    def called(self, library: ctypes.CDLL, name: str, arguments: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Results (rows, n), and which rows are said to be bad."""
        go, found, bad = self.ready(library, name, arguments)
        go()
        return found, bad

    def flat(self, name: str, arguments: list[np.ndarray]) -> np.ndarray:
        """Arguments as C has them, a row each (rows, n)."""
        passed = [a.reshape(len(a), -1) for a, of in zip(arguments, self.of[name].given, strict=True) if of.passed]
        return np.ascontiguousarray(np.concatenate([np.zeros((len(arguments[0]), 0)), *passed], axis=1))

    def elsewhere(self, name: str, arguments: list[np.ndarray], compiler: tuple[str, ...], emulator: str) -> tuple[np.ndarray, np.ndarray]:
        """The same on another processor, which is emulated."""
        run([*compiler, "-std=c99", "-O2", *(f"{name}{end}.c" for end in ("", "_rows", "_main")), "-o", f"{name}.run", "-lm"], self.folder)
        done = subprocess.run([emulator, f"./{name}.run"], cwd=self.folder, input=self.flat(name, arguments).tobytes(), capture_output=True)
        n = sum(r.size for r in self.of[name].returned)
        rows = np.frombuffer(done.stdout, dtype=[("found", float, n), ("bad", np.int32)])
        return rows["found"].reshape(len(rows), n), rows["bad"]

    def ready(self, library: ctypes.CDLL, name: str, arguments: list[np.ndarray]) -> tuple[Callable[[], Any], np.ndarray, np.ndarray]:
        """What runs a function on all rows, and where it writes."""
        rows, given = len(arguments[0]), self.flat(name, arguments)
        found, bad = np.full((rows, sum(r.size for r in self.of[name].returned)), np.pi), np.full(rows, 7, dtype=np.int32)
        rows_of, count = getattr(library, f"{name}_rows"), ctypes.c_long(rows)

        def go() -> None:
            rows_of(count, *(ctypes.c_void_p(x.ctypes.data) for x in (given, found, bad)))

        return go, found, bad

    def expected(self, name: str, arguments: list[np.ndarray]) -> np.ndarray:
        """The engine's results (rows, n), one at a time."""
        call = self.of[name].call
        return np.array([np.concatenate([np.ravel(y) for y in call(*row)]) for row in zip(*arguments, strict=True)])

    def require_same(self, library: ctypes.CDLL, name: str, arguments: list[np.ndarray]) -> None:
        """The same bits as the engine's, and bad rows where something is not finite."""
        self.compare(name, arguments, self.expected(name, arguments), *self.called(library, name, arguments))

    def compare(self, name: str, arguments: list[np.ndarray], expected: np.ndarray, found: np.ndarray, bad: np.ndarray) -> None:
        """Refuse results that are others than expected."""
        assert found.shape == expected.shape
        wrong = np.argwhere((found.view(np.int64) != expected.view(np.int64)) & ~(np.isnan(found) & np.isnan(expected)))
        assert not len(wrong), f"{name}: {len(wrong)} of {found.size} differ, first at {wrong[0]}: {found[tuple(wrong[0])]!r}"
        finite = np.isfinite(expected).all(axis=1)
        given = [np.isfinite(a.reshape(len(a), -1)).all(axis=1) for a in arguments] if self.of[name].strict else []
        np.testing.assert_array_equal(bad == 0, np.all([finite, *given], axis=0))


def board(folder: Path) -> list[Any]:
    """Arguments of arm-none-eabi-gcc for an emulated board without an operating system, which prints to the emulator."""
    (folder / "board.ld").write_text(LINKER)
    (folder / "start.c").write_text(START)
    return ["--specs=rdimon.specs", "-nostartfiles", "-Wl,--no-warn-rwx-segments", "-T", "board.ld", "start.c"]


def emulated(machine: str) -> tuple[str, ...]:
    """The emulator of a board."""
    return ("qemu-system-arm", "-M", machine, "-nographic", "-semihosting", "-kernel")


LINKER = """MEMORY { CODE (rx) : ORIGIN = 0x00000000, LENGTH = 4M
         RAM (rwx) : ORIGIN = 0x20000000, LENGTH = 4M }
ENTRY(reset)
SECTIONS {
  .text : { KEEP(*(.vectors)) *(.text*) *(.rodata*) *(.ARM.extab*) } > CODE
  .ARM.exidx : { __exidx_start = .; *(.ARM.exidx*) __exidx_end = .; } > CODE
  .init_array : { KEEP(*(.preinit_array*)) KEEP(*(.init_array*)) KEEP(*(.fini_array*)) } > CODE
  .data : { *(.data*) } > RAM
  __bss_start__ = .;
  .bss : { *(.bss*) *(COMMON) } > RAM
  __bss_end__ = .;
  end = .;
}
"""
START = """#include <stdint.h>
extern int main(void);
extern void initialise_monitor_handles(void);
extern void exit(int);
extern uint32_t __bss_start__, __bss_end__;
void _init(void) {}
void _fini(void) {}
void reset(void)
{
    *(volatile uint32_t *)0xE000ED88 |= 0xF << 20; /* lets the floating-point unit work */
    __asm volatile ("dsb\\n isb");
    for (uint32_t *p = &__bss_start__; p < &__bss_end__; ++p)
        *p = 0;
    initialise_monitor_handles();
    exit(main());
}
__attribute__((section(".vectors"), used)) static const uintptr_t vectors[2] = {0x20400000, (uintptr_t)reset};
"""
