"""Binaries for other machines by zig: what is in them, and that they step to the bits of a run, by Wine and by qemu."""

import importlib.util
import os
import re
import shutil
import struct
import subprocess
import xml.etree.ElementTree as ElementTree
import zipfile
from pathlib import Path

import numpy as np
import pytest

import engine
from engine.fmu import binaries
from engine.fmu.binaries import PLATFORMS, WINDOWS, commands
from tests.code.programs import run
from tests.fmu.robots import flyer

STEPS = 50
#: an importer that knows FMI 3.0's own types: it steps, and prints the bits of an array; for Windows without MinGW's C library, too
IMPORTER = r"""
#include <stdint.h>
#include <stdio.h>
#ifdef _WIN32
#define LOAD(file) LoadLibraryA(file)
#define FIND(library, name) GetProcAddress(library, name)
void *__stdcall LoadLibraryA(const char *file);
void *__stdcall GetProcAddress(void *library, const char *name);
void __stdcall ExitProcess(unsigned status);
#else
#include <dlfcn.h>
#define LOAD(file) dlopen(file, RTLD_NOW)
#define FIND(library, name) dlsym(library, name)
#endif
typedef void *make(const char *, const char *, const char *, _Bool, _Bool, _Bool, _Bool, const uint32_t *, size_t, void *,
                   void (*)(void *, int, const char *, const char *), void *);
typedef int enter(void *, _Bool, double, double, _Bool, double);
typedef int leave(void *);
typedef int move(void *, double, double, _Bool, _Bool *, _Bool *, _Bool *, double *);
typedef int ask(void *, const uint32_t *, size_t, double *, size_t);
static void said(void *environment, int status, const char *category, const char *text)
{
    (void)environment, (void)status, (void)category;
    puts(text);
}
int go(void)
{
    void *const library = LOAD("LIBRARY");
    if (!library)
        return puts("no library"), 1;
    make *const instantiate = (make *)FIND(library, "fmi3InstantiateCoSimulation");
    enter *const initialize = (enter *)FIND(library, "fmi3EnterInitializationMode");
    leave *const initialized = (leave *)FIND(library, "fmi3ExitInitializationMode");
    move *const step = (move *)FIND(library, "fmi3DoStep");
    ask *const get = (ask *)FIND(library, "fmi3GetFloat64");
    void *const i = instantiate("one", "TOKEN", "", 0, 1, 0, 0, NULL, 0, NULL, said, NULL);
    if (!i)
        return puts("no instance"), 1;
    int bad = initialize(i, 0, 0.0, 0.0, 0, 0.0) | initialized(i);
    _Bool event, ends, early;
    double now;
    for (int k = 0; k < STEPS; ++k)
        bad |= step(i, k * DT, DT, 1, &event, &ends, &early, &now);
    bad |= step(i, 0.0, DT, 1, &event, &ends, &early, &now) != 3;              /* back in time: an error, in words */
    const uint32_t r[] = REFERENCES;
    union { double x[SIZE]; uint64_t bits[SIZE]; } q;
    bad |= get(i, r, SIZE, q.x, SIZE);
    for (int c = 0; c < SIZE; ++c) {
        char text[32];
        snprintf(text, sizeof text, "%llx", (unsigned long long)q.bits[c]);
        puts(text);
    }
    return bad;
}
#ifdef _WIN32
void start(void) { ExitProcess((unsigned)go()); }
#else
int main(void) { return go(); }
#endif
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A flyer by a law with a memory, for all platforms; what it is to print, and the importer's own text for a library."""
    if importlib.util.find_spec("ziglang") is None:
        pytest.skip("there is no ziglang here")
    simulator, folder = flyer(), tmp_path_factory.mktemp("platforms")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(binaries, "compiler", lambda: None)                      # this machine's too is zig's
        path = engine.export_fmu(simulator, folder / "flyer.fmu", version="3.0", outputs=["q"], platforms=[*PLATFORMS])
    archive = zipfile.ZipFile(path)
    root = ElementTree.fromstring(archive.read("modelDescription.xml"))
    references = [v.get("valueReference") for v in root.find("ModelVariables") if v.get("name").startswith("q.")]
    q = simulator.run(simulator.model.initial(), np.zeros(simulator.model.nv), STEPS * simulator.dt).q[-1]
    values = {"TOKEN": root.get("instantiationToken"),
              "REFERENCES": "{" + ", ".join(references) + "}", "SIZE": len(q), "STEPS": STEPS, "DT": simulator.dt}
    text = IMPORTER
    for name, x in values.items():
        text = re.sub(rf"\b{name}\b", str(x), text)
    return {p: archive.read(f"binaries/{p}/flyer{x.suffix}") for p, x in PLATFORMS.items()}, text, [*map(int, q.view(np.uint64))]


def answers(made, folder, platform, *emulator):
    """What a platform's binary says, under an emulator."""
    libraries, text, _ = made
    file = f"flyer{PLATFORMS[platform].suffix}"
    (folder / file).write_bytes(libraries[platform])
    (folder / "main.c").write_text(text.replace("LIBRARY", file if "windows" in platform else f"./{file}"))
    windows, compile_ = "windows" in platform, commands(platform)[0]
    own = ["main.c", *[str(Path(binaries.__file__).parent / "c" / "windows.c")] * windows]
    for k, name in enumerate(own):
        run([*compile_, "-std=gnu99", "-c", name, "-o", f"{k}.o"], folder)
    linked = [*WINDOWS, "-lkernel32", "-Wl,--entry=start"] if windows else ["-ldl"]
    run([*compile_, "-o", "importer.exe", *(f"{k}.o" for k in range(len(own))), *linked], folder, 600.0)
    done = subprocess.run([*emulator, "./importer.exe"], cwd=folder, capture_output=True, text=True, timeout=600, check=False)
    return done.returncode, done.stdout.split("\n")[:-1]


def right(made, answer):
    status, (*said, words) = answer[0], (*answer[1][:-len(made[2])], answer[1][-len(made[2]):])
    assert status == 0, answer
    assert said == ["the communication point is 0 s; expected 0.1 s, where the last step ended, or a state that was saved there"]
    assert [int(w, 16) for w in words] == made[2]


def test_they_are_what_their_folders_say_and_export_the_standards_names(made):
    libraries = made[0]
    for p, processor in {"x86_64-linux": 62, "aarch64-linux": 183}.items():
        assert libraries[p][:6] == b"\x7fELF\x02\x01"
        assert struct.unpack("<H", libraries[p][18:20]) == (processor,)
    for p, processor in {"x86_64-darwin": 0x01000007, "aarch64-darwin": 0x0100000C}.items():
        assert struct.unpack("<IIII", libraries[p][:16])[::3] == (0xFEEDFACF, 6)                  # a library, of 64 bits
        assert struct.unpack("<I", libraries[p][4:8]) == (processor,)
    dll = libraries["x86_64-windows"]
    at = struct.unpack("<I", dll[60:64])[0]
    assert (dll[:2], dll[at: at + 6]) == (b"MZ", b"PE\x00\x00\x64\x86")
    names = re.findall(r"EXPORT \w+ \**FMI\((\w+)\)", "".join((Path(binaries.__file__).parent / "c" / n).read_text()
                                                             for n in ("fmi3.c", "both.h")))  # fmt: skip
    names = [n for n in names if n != "name"]                                  # of a macro
    assert len(names) > 30
    for p, data in libraries.items():
        assert not [n for n in names if b"fmi3" + n.encode() not in data], p
        assert len(data) < 2e5, p
    assert {*re.findall(rb"[\w.-]+\.dll", dll.lower())} <= {b"flyer.dll", *(x[2:].encode() + b".dll" for x in WINDOWS if x[:2] == "-l")}


def test_in_windows_they_have_the_bits_of_a_run(made, tmp_path, monkeypatch):
    wine = shutil.which("wine64") or shutil.which("wine")
    if wine is None:
        pytest.skip("there is no wine here")
    for name, x in {"WINEPREFIX": str(tmp_path / "wine"), "WINEDEBUG": "-all", "WINEDLLOVERRIDES": "mscoree,mshtml=d"}.items():
        monkeypatch.setenv(name, x)
    monkeypatch.delenv("DISPLAY", raising=False)
    right(made, answers(made, tmp_path, "x86_64-windows", wine))


def test_on_arm_they_have_the_bits_of_a_run(made, tmp_path):
    qemu = shutil.which("qemu-aarch64") or shutil.which("qemu-aarch64-static")
    libraries = Path(os.environ.get("QEMU_LD_PREFIX", "/usr/aarch64-linux-gnu"))
    if qemu is None or not libraries.exists():
        pytest.skip("there is no qemu-aarch64 here, or no C library of Arm's")
    right(made, answers(made, tmp_path, "aarch64-linux", qemu, "-L", str(libraries)))


@pytest.mark.skipif(binaries.here() != "x86_64-linux" or shutil.which("cc") is None, reason="of this machine alone")
def test_here_too_and_old_processors_are_told_what_is_missing(made, tmp_path):
    if "fma" in Path("/proc/cpuinfo").read_text().split():
        right(made, answers(made, tmp_path, "x86_64-linux"))
    qemu = shutil.which("qemu-x86_64") or shutil.which("qemu-x86_64-static")
    if qemu is None:
        pytest.skip("there is no qemu-x86_64 here")
    status, said = answers(made, tmp_path, "x86_64-linux", qemu, "-cpu", "Nehalem")
    assert (status, said) == (1, ["this processor has no AVX2 and FMA; expected one of x86-64-v3, or a binary built from the FMU's sources "
                                  "for it", "no instance"])  # fmt: skip


def test_without_zig_it_is_said_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(engine.ExportError, match=r"a binary for x86_64-windows needs ziglang, which is not installed; expected pip install "
                                                 r'"\.\[fmu\]"'):  # fmt: skip
        engine.export_fmu(flyer(), tmp_path / "arm.fmu", platforms=["x86_64-windows"])
