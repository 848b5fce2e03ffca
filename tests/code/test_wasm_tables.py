"""Functions and scenes with tables in WebAssembly, by zig: in Node.js the bits of the interpreter, of machine code and of a run."""

import importlib.util
import json
import re

import numpy as np
import pytest

import engine
from engine.code import export_code
from engine.code.memory import DIFFERENT, NO_ROOM
from engine.compiler import interpret
from tests.bench import rows as bench
from tests.code.programs import needed, run
from tests.compiler import test_tables as exact
from tests.contact.test_many import heap, simulator, state

#: steps of a scene, and what is left of it as bits; then a step with too little memory
STEPS = """import {readFileSync} from "node:fs";
const {instance: {exports: m}} = await WebAssembly.instantiate(readFileSync("scene.wasm"), {});
const memory = m.free.value, n = LENT;
m.memory.grow(Math.ceil(8 * n / 65536) + 1);
const at = (name) => new Float64Array(m.memory.buffer, m[name].value, m[`${name}_size`].value);
at("x").set(FIRST);
let bad = 0;
for (let k = 0; k < COUNT; ++k) {
    bad |= m.scene(k, m.x.value, m.x_next.value, ...(m.work ? [m.work.value] : []), memory, n);
    at("x").set(at("x_next"));
}
const less = m.scene(COUNT, m.x.value, m.x_next.value, ...(m.work ? [m.work.value] : []), memory, 100);
console.log(JSON.stringify({bad, less, x: [...new BigInt64Array(m.memory.buffer, m.x.value, m.x_size.value)].map(String)}));
"""
ONE = """import {readFileSync} from "node:fs";
const {instance: {exports: m}} = await WebAssembly.instantiate(readFileSync("f.wasm"), {});
const x = GIVEN, at = m.free.value;
m.memory.grow(1);
new Float64Array(m.memory.buffer, at, x.length).set(x);
const status = m.f(at, x.length, 0.3, m.result.value, ...(m.work ? [m.work.value] : []), at + 8 * x.length, 4000);
console.log(status, new BigInt64Array(m.memory.buffer, m.result.value, 1)[0]);
"""
FUNCTIONS = {bench.gravity: "(n,3),(n)->(n,3)", bench.cloth: "(n,3),(k),(k)->(n,3)", bench.heat: "(n)->(n)", **exact.SIGNATURES}


@pytest.fixture(autouse=True)
def tools():
    needed("node")
    if importlib.util.find_spec("ziglang") is None:
        pytest.skip("there is no ziglang here")


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f"{f.__module__.rpartition('.')[2]}.{f.__name__}")
def test_functions_of_rows(f, tmp_path):
    """What loops over rows read and make: the samples in the module's own test are machine code's, bit for bit; it asks for nothing."""
    export_code(engine.gufunc(f, FUNCTIONS[f]), tmp_path / "f.wasm")
    assert re.fullmatch(r"ok: f, \d+ samples, bit for bit\n", run(["node", "f_test.mjs"], tmp_path))


def test_machine_code_has_the_same_bits_and_the_interpreter_to_rounding(tmp_path):
    """Elementary functions, multiply-adds that round once, and a sum of rows, of 37 and of none."""
    f = engine.gufunc(lambda x, a: engine.ops.total(np.exp(-x * x) * np.sin(1e3 * x) + a * x), "(n),()->()")
    export_code(f, tmp_path / "f.wasm")
    for n in (37, 0):
        x = np.random.default_rng(1).standard_normal(n)
        (tmp_path / "one.mjs").write_text(ONE.replace("GIVEN", json.dumps(x.tolist())))
        status, bits = run(["node", "one.mjs"], tmp_path).split()
        found = np.int64(int(bits.rstrip("n"))).view(np.float64)
        assert int(status) == 0 and found == f(x, 0.3)
        assert abs(found - np.ravel(interpret(f.program, x, 0.3))[0]) <= 37 * np.finfo(float).eps * 37


def test_boxes_step_as_in_a_run(tmp_path):
    """Ten boxes that fall on each other and on the ground; with too little memory a step says so."""
    made, (q, v) = simulator(["box"] * 10), state(heap(10), v=0.3)
    path = export_code(made, tmp_path / "scene.wasm", q0=q, v0=v)
    assert run(["node", "scene_test.mjs"], tmp_path).endswith("bit for bit\n")
    steps, (_, x) = 150, made.stepper.begin(q, v)
    head = path.with_suffix(".h").read_text()
    (rows,) = re.findall(r"#define SCENE_ROWS (\d+)", head)
    ((own, each),) = re.findall(r"#define SCENE_MEMORY\(rows\) \((\d+) \+ (\d+) \* \(size_t\)\(rows\)\)", head)
    lent = int(own) + int(each) * int(rows)
    text = STEPS.replace("LENT", str(lent)).replace("FIRST", json.dumps(x.tolist())).replace("COUNT", str(steps))
    (tmp_path / "steps.mjs").write_text(text)
    found = json.loads(run(["node", "steps.mjs"], tmp_path))
    assert (found["bad"], found["less"]) == (0, NO_ROOM)
    end = made.run(q, v, steps * made.dt, record_every=steps)
    expected = np.concatenate([end.q[-1], end.v[-1]])
    assert np.abs(end.v[-1]).max() > 0.1
    assert [int(b) for b in found["x"][: len(expected)]] == expected.view(np.int64).tolist()


def test_tables_that_do_not_go_together_are_said(tmp_path):
    export_code(engine.gufunc(bench.gravity, FUNCTIONS[bench.gravity]), tmp_path / "g.wasm")
    (tmp_path / "odd.mjs").write_text("""import {readFileSync} from "node:fs";
const {instance: {exports: m}} = await WebAssembly.instantiate(readFileSync("g.wasm"), {});
const at = m.free.value;
m.memory.grow(1);
console.log(m.g(at, 5, at + 400, 4, at + 800, 5, at + 1600, ...(m.work ? [m.work.value] : []), at + 2000, 4000));""")
    assert int(run(["node", "odd.mjs"], tmp_path)) == DIFFERENT
