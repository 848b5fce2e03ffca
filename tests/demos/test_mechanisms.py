"""Mechanisms with loops: they stay closed, their forces do no work, and what nothing drives keeps its energy."""

import re


def test_three_mechanisms(demo):
    said = demo("mechanisms")
    assert "four-bar" in said and "andrews" in said and "(5 rows, one redundancy)" in said
    assert all(float(x) < 1e-12 for x in re.findall(r"loops open by (\S+) at most", said))
    assert all(float(x) < 1e-9 for x in re.findall(r"do work at (\S+) W", said))
    drifts = [float(x) for x in re.findall(r"relative drift (\S+)", said)]
    assert len(drifts) == 2 and max(drifts) < 1e-9
