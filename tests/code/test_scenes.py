"""Steps of scenes whose contacts are tables as C: the bits of a run, in memory that the caller lends, and in FMUs."""

import ctypes
import re

import numpy as np
import pytest

import engine
from engine.code import export_code
from engine.code.memory import NO_ROOM
from tests.code.programs import FLAGS, FMA, needed, reported, run
from tests.contact.test_many import UPRIGHT, heap, simulator, state
from tests.contact.test_rows import scene, start

pytestmark = pytest.mark.skipif(not FMA, reason="no fused multiply-adds")


class Stepped:
    """A simulator's step in C, built and called with as much memory as its header says, or less."""

    def __init__(self, simulator, folder, *flags, **begin):
        needed("gcc")
        export_code(simulator, folder / "scene.c", **begin)
        self.header = (folder / "scene.h").read_text()
        command = ["gcc", *FLAGS, *(flags or ("-O0",)), *FMA, "-ffp-contract=off", "-fPIC", "-shared", "scene.c"]
        run([*command, "-o", "scene.so", "-lm"], folder)
        self.go = ctypes.CDLL(str(folder / "scene.so")).scene
        (work,) = re.findall(r"#define SCENE_WORK (\d+)", self.header)
        (self.rows,) = map(int, re.findall(r"#define SCENE_ROWS (\d+)", self.header))
        ((own, each),) = re.findall(r"#define SCENE_MEMORY\(rows\) \((\d+) \+ (\d+) \* \(size_t\)\(rows\)\)", self.header)
        self.memory, self.work = int(own) + int(each) * self.rows, np.zeros(int(work))

    def __call__(self, k, p, x, memory=None):
        """What it returns, and the state after the step; nothing beyond what it is lent is touched."""
        lent = self.memory if memory is None else memory
        own, after = np.full(lent + 8, np.pi), np.full(len(x), np.pi)
        given = [ctypes.c_double(k), *[p] * bool(p.size), x, after, *[self.work] * bool(self.work.size), own]
        status = self.go(*(ctypes.c_void_p(a.ctypes.data) if isinstance(a, np.ndarray) else a for a in given), ctypes.c_size_t(lent))
        assert (own[lent:] == np.pi).all(), "memory beyond what is lent was written"
        return status, after


def assert_steps(simulator, c, q, v, steps, every):
    """To the bit those of a run."""
    run, (p, x) = simulator.run(q, v, steps * simulator.dt, record_every=every), simulator.stepper.begin(q, v)
    for k in range(steps):
        status, x = c(k, p, x)
        assert status == 0
        if not (k + 1) % every:
            found = np.concatenate([run.q[(k + 1) // every], run.v[(k + 1) // every]])
            np.testing.assert_array_equal(x[: len(found)].view(np.int64), found.view(np.int64))
    return x


@pytest.fixture(scope="module")
def boxes():
    """Ten boxes that fall on each other, and on the ground."""
    return simulator(["box"] * 10), *state(heap(10), v=0.3)


def test_boxes_that_meet_step_as_in_a_run(boxes, tmp_path):
    """In the memory that its header says, of which some is enough; with less a step says so, and what it was given stays."""
    made, q, v = boxes
    c = Stepped(made, tmp_path, q0=q, v0=v)
    x = assert_steps(made, c, q, v, 150, 50)
    first = c.header.split("SCENE_INITIAL_X {")[1].split("}")[0].replace("\\", "").split(",")
    np.testing.assert_array_equal(np.array(first, dtype=float), made.stepper.begin(q, v)[1])
    p, before = np.zeros(0), x.copy()
    said = [c(150.0, p, x, memory)[0] for memory in range(0, 20_000, 997)]
    assert said[0] == NO_ROOM and said[-1] == 0 and sorted(said, reverse=True) == said
    assert (x == before).all()
    words = " ".join(c.header.replace("\n *", " ").split())
    assert "(n) are enough where no table, nor an array of a procedure, has more than n rows, which is SCENE_ROWS as a rule" in words


def test_bodies_in_each_other_are_no_start(boxes, tmp_path):
    made, q, v = boxes
    with pytest.raises(engine.ContactError, match=r"overlap by 0\.2 m at the start.*the model.s file has it; expected another state: q0=…"):
        export_code(made, tmp_path / "scene.c")
    with pytest.raises(engine.ExportError, match=r"q0 and v0 are a batch \(2,\); expected one state of 70 and 60 numbers"):
        export_code(made, tmp_path / "scene.c", q0=np.stack([q, q]), v0=v)
    with pytest.raises(engine.ExportError, match=r"q0 and v0 are given beside .*; expected them of a Simulator only"):
        export_code(engine.gufunc(lambda x: 2.0 * x, "(n)->(n)"), tmp_path / "twice.c", q0=q)


def test_fifty_boxes_for_a_thousand_steps(tmp_path):
    """As people compile it."""
    made, (q, v) = simulator(["box"] * 50), state(heap(50), v=0.3)
    assert_steps(made, Stepped(made, tmp_path, "-O2", q0=q, v0=v), q, v, 1000, 100)
    assert reported(tmp_path, "scene", "gcc", *FLAGS, "-O1", *FMA).startswith("ok: scene, ")


def test_links_whose_contacts_are_rows_step_as_in_a_run(monkeypatch, tmp_path):
    """A snake and a ball that fall on the ground."""
    made = scene(monkeypatch, True)
    assert_steps(made, Stepped(made, tmp_path), *start(made.model), 400, 100)


@pytest.mark.parametrize("tables", [True, False])
def test_what_resists_turning_steps_as_in_a_run(tables, monkeypatch, tmp_path):
    surface = engine.ContactMaterial(4e4, 2.0, 0.5, torsional_friction=0.02, rolling_friction=0.01)
    if tables:
        made, (q, v) = simulator(["box"] * 7, material=surface), state(heap(7), v=0.3)
    else:
        made = scene(monkeypatch, True, material=surface)
        q, v = start(made.model)
    assert_steps(made, Stepped(made, tmp_path, q0=q, v0=v), q, v, 200, 50)


# ------------------------------------------------------------ as FMUs


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_an_fmu_of_a_scene(boxes, tmp_path, version):
    """FMPy has nothing to say of it; it steps to the bits of a run, goes back to what it has saved, and says what it sees."""
    validation = pytest.importorskip("fmpy.validation")
    from tests.fmu.instances import Instance

    needed("cc")
    made, q, v = boxes
    path = engine.export_fmu(made, tmp_path / "boxes.fmu", q0=q, v0=v, version=version, outputs=["q", "v", "vdot", "contacts.wrench"],
                             poses=["b3/body"])  # fmt: skip
    assert validation.validate_fmu(str(path)) == []
    h, f = 20 * made.dt, Instance(path).begin()
    expected, back = made.run(q, v, 10 * h, record_every=20), None
    for k in range(10):
        if k == 7:
            back = f.written(f.saved())
        f.step(k * h, h)
        np.testing.assert_array_equal(f.get("q"), expected.q[k + 1])
        np.testing.assert_array_equal(f.get("v"), expected.v[k + 1])
    wrench = expected.signals["contacts.wrench"][10]
    np.testing.assert_allclose(f.get("vdot"), expected.vdot[10], rtol=1e-9, atol=1e-9)           # sums of parts that are found alike
    np.testing.assert_allclose(f.get("contacts.wrench"), wrench.ravel(), rtol=1e-9, atol=1e-9 * np.abs(wrench).max())
    f.restore(f.read(back))
    f.step(7 * h, h)
    np.testing.assert_array_equal(f.get("q"), expected.q[8])
    f.close()


def test_an_fmu_without_room_discards_a_step(boxes, tmp_path):
    from tests.fmu.instances import Instance

    needed("cc")
    made, *_ = boxes
    apart = state(np.arange(10)[:, None] * [0.0, 0.0, 0.4] + [0.0, 0.0, 0.3], UPRIGHT)
    path = engine.export_fmu(made, tmp_path / "boxes.fmu", q0=apart[0], room=1)
    f = Instance(path).begin()
    f.step(0.0, made.dt)
    before = f.get("q")
    f.refused("needs memory for more than 1 rows of contacts; expected an FMU that was exported with a larger room", f.step, made.dt,
              400 * made.dt)  # fmt: skip
    np.testing.assert_array_equal(f.get("q"), before)
    f.close()
    with pytest.raises(engine.ExportError, match="room is 0; expected a number of rows from 1"):
        engine.export_fmu(made, tmp_path / "boxes.fmu", q0=apart[0], room=0)
    with pytest.raises(engine.SimulationError, match="has contacts; expected a smooth field of q and v alone"):
        engine.export_fmu(made, tmp_path / "boxes.fmu", q0=apart[0], model_exchange=True)
