"""The self-test of a WebAssembly module, as a script for Node.js."""

from __future__ import annotations

import json

from engine.code.exported import Exported
from engine.code.memory import with_tables
from engine.code.room import grows, needed
from engine.code.texts import ROWS, SLACK, WRITTEN

#: of the largest entry of a result: how near it must be, without fused multiply-adds; with tables these round once
NEAR = 1e-12


def script(e: Exported, file: str) -> str:
    """Return a script that compares results of the module in a ``file`` beside it with the engine's: it prints ok, or which entry differs
    and by how much."""
    samples = [[[x.tolist() for x in part] for part in sample] for sample in e.samples()]
    takes, returns = [[a.name, bool(a.shape), a.columns] for a in e.parameters], [[r.name, r.columns] for r in e.returned]
    columns, tabled, lent = [a.columns for a in e.parameters], with_tables(e.program), 0
    if tabled:
        need = needed(e.program)
        most = max([len(x) // c for given, _ in samples for x, c in zip(given, columns, strict=True) if c], default=0)
        rows = most * (SLACK if grows(e.program) else 1) if e.tables else e.rows or ROWS
        lent = need.own + 2 * (1 + len(e.tables)) + need.each * rows
    near, told = (0.0, "bit for bit") if tabled else (NEAR, f"within {NEAR!r}")
    return (SCRIPT.replace("MODULE", json.dumps(file)).replace("NAME", e.name).replace("NEAR", repr(near)).replace("TOLD", told)
            .replace("LENT", str(lent))
            .replace("TABLED", json.dumps(tabled)).replace("TAKES", json.dumps(takes)).replace("WRITTEN", WRITTEN)
            .replace("RETURNS", json.dumps(returns)).replace("SAMPLES", json.dumps(samples)))  # fmt: skip


SCRIPT = """// NAME_test.mjs: MODULE compared with the results that the engine has recorded; run it by: node NAME_test.mjs
// WRITTEN
import {readFileSync} from "node:fs";

const takes = TAKES, returns = RETURNS, lent = LENT, tabled = TABLED;
const samples = SAMPLES;
const env = {__proto__: Math, fmod: (x, y) => x % y};
const {instance} = await WebAssembly.instantiate(readFileSync(new URL(encodeURIComponent(MODULE), import.meta.url)), {env});
const {exports: module} = instance;
let free = 0, wrong = 0;
// where n doubles lie: of an array that the module has a place for, or where nothing is
function place(name, n) {
    if (module[name]) return module[name].value;
    const at = free, end = free += 8 * n + 8;
    if (end > module.memory.buffer.byteLength) module.memory.grow(Math.ceil((end - module.memory.buffer.byteLength) / 65536));
    return at;
}
const at = (place, n) => new Float64Array(module.memory.buffer, place, n);
for (const [k, [given, expected]] of samples.entries()) {
    free = tabled ? module.free.value : 0;
    const passed = [], made = [];
    for (const [i, [name, array, columns]] of takes.entries()) {
        if (!array) { passed.push(given[i][0]); continue; }
        const there = place(name, given[i].length);
        at(there, given[i].length).set(given[i]);
        passed.push(there, ...(columns ? [given[i].length / columns] : []));
    }
    for (const [i, [name, columns]] of returns.entries()) {
        const n = expected[i] ? expected[i].length : 1, there = place(name, n), rows = columns ? place("", 1) : 0;
        passed.push(there, ...(columns ? [n / columns, rows] : []));
        made.push([there, rows]);
    }
    if (module.work) passed.push(module.work.value);
    if (tabled) passed.push(place("", lent), lent);
    const status = module.NAME(...passed);
    const finite = [...given, ...expected].flat().every(Number.isFinite);
    if (tabled && (expected.length ? status > 1 || (finite && status) : status < 3)) {
        console.log(`sample ${k}: returned ${status}; expected ${expected.length ? "0 or 1" : "3 or more"}`);
        ++wrong;
    }
    for (const [i, [name, columns]] of returns.entries()) {
        if (!expected[i]) continue;
        const [there, rows] = made[i], n = expected[i].length;
        if (columns && new Uint32Array(module.memory.buffer, rows, 1)[0] !== n / columns) {
            console.log(`sample ${k}: the table ${name} has another number of rows than ${n / columns}`);
            ++wrong;
        }
        const scale = Math.max(0, ...expected[i].map(Math.abs).filter(Number.isFinite));
        for (const [j, x] of at(there, n).entries()) {
            const y = expected[i][j];
            if (!(x === y || Math.abs(x - y) <= NEAR * scale || (x !== x && y !== y))) {
                console.log(`sample ${k}: ${name}[${j}] is ${x}; expected ${y}`);
                ++wrong;
            }
        }
    }
}
if (!wrong) console.log(`ok: NAME, ${samples.length} samples, TOLD`);
process.exitCode = wrong ? 1 : 0;
"""
