"""The self-test of a WebAssembly module, as a script for Node.js."""

from __future__ import annotations

import json

from engine.code.exported import Exported
from engine.code.texts import WRITTEN

#: of the largest entry of a result: how near it must be, without fused multiply-adds
NEAR = 1e-12


def script(e: Exported, file: str) -> str:
    """A script that compares results of the module in a ``file`` beside it with the engine's: it prints ok, or which entry differs and by
    how much."""
    samples = [[[x.tolist() for x in part] for part in sample] for sample in e.samples()]
    takes, returns = [[a.name, bool(a.shape)] for a in e.parameters], [r.name for r in e.returned]
    return (SCRIPT.replace("MODULE", json.dumps(file)).replace("NAME", e.name).replace("NEAR", repr(NEAR))
            .replace("TAKES", json.dumps(takes)).replace("WRITTEN", WRITTEN).replace("RETURNS", json.dumps(returns))
            .replace("SAMPLES", json.dumps(samples)))  # fmt: skip


SCRIPT = """// NAME_test.mjs: MODULE compared with the results that the engine has recorded; run it by: node NAME_test.mjs
// WRITTEN
import {readFileSync} from "node:fs";

const takes = TAKES, returns = RETURNS;
const samples = SAMPLES;
const env = {__proto__: Math, fmod: (x, y) => x % y};
const {instance} = await WebAssembly.instantiate(readFileSync(new URL(encodeURIComponent(MODULE), import.meta.url)), {env});
const {exports: module} = instance;
const at = (name) => new Float64Array(module.memory.buffer, module[name].value, module[`${name}_size`].value);
let wrong = 0;
for (const [k, [given, expected]] of samples.entries()) {
    const passed = takes.map(([name, array], i) => array ? (at(name).set(given[i]), module[name].value) : given[i][0]);
    module.NAME(...passed, ...returns.map((name) => module[name].value), ...(module.work ? [module.work.value] : []));
    for (const [i, name] of returns.entries()) {
        const scale = Math.max(0, ...expected[i].map(Math.abs).filter(Number.isFinite));
        for (const [j, x] of at(name).entries()) {
            const y = expected[i][j];
            if (!(x === y || Math.abs(x - y) <= NEAR * scale || (x !== x && y !== y))) {
                console.log(`sample ${k}: ${name}[${j}] is ${x}; expected ${y}`);
                ++wrong;
            }
        }
    }
}
if (!wrong) console.log(`ok: NAME, ${samples.length} samples, within NEAR`);
process.exitCode = wrong ? 1 : 0;
"""
