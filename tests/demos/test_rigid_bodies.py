"""The demos of single bodies: what they print is so."""

import itertools
import re

import engine


def numbers(pattern, text):
    return [float(x) for x in re.findall(pattern, text)]


def test_tossed_cube(demo):
    """Falling, to (h ω)⁴ of a method of order 4, gathered over the turns; free, to rounding."""
    h, w, T = 1e-3, 14**0.5, 3.0
    falls, flies = demo("tossed_cube", "--duration", T), demo("tossed_cube", "--duration", 1, "--gravity", 0, looks=False)
    for said, energy, momentum in ((falls, (h * w) ** 4, (h * w) ** 4 * w * T), (flies, 1e-14, 1e-11)):
        drifts = [float(line.split()[-1]) for line in said.splitlines()[:4]]
        assert drifts[0] <= energy and drifts[1] < momentum and max(drifts[2:]) < 1e-14


def test_dzhanibekov(demo):
    said = demo("dzhanibekov")
    apart, closed = numbers(r"every (\S+) s", said), numbers(r"closed form (\S+) s", said)
    assert len(apart) == 3 and all(abs(a - b) < 1e-3 for a, b in zip(apart, closed, strict=True))
    assert re.findall(r"(\d+) flips", said) == ["5", "4", "6", "0"]


def test_integrators(demo):
    said = demo("integrators", "--duration", 5)
    rows = re.findall(r"^(\w+) +(\d) +(\S+) +(\S+)$", said, re.M)
    assert len(rows) >= 8
    for name, order, measured, drift in rows:
        assert abs(float(measured) - int(order)) < 0.2, name
        assert name != "implicit_midpoint" or abs(float(drift)) < 1e-13


def test_underwater(demo, monkeypatch):
    """What is shown of it hangs together."""
    seen, render = [], engine.render
    monkeypatch.setattr(engine, "render", lambda source, *given, **options: seen.append(source) or render(source, *given, **options))
    said = demo("underwater")
    (link,) = seen[0].model.links
    boxes = [engine.load_mesh(g).apply_transform(g.placement).bounds for g in link.visuals]
    joined = {0}
    for _ in boxes:
        joined |= {k for k, b in enumerate(boxes) if any((b[0] < boxes[j][1]).all() and (boxes[j][0] < b[1]).all() for j in joined)}
    assert len(joined) == len(boxes)
    trends = dict(re.findall(r"^(\w+) +energy .* trend (\S+) J", said, re.M))
    assert abs(float(trends["dqvi"])) < 0.05 < float(trends["cg4"])
    assert numbers(r"upright to (\S+) deg", said)[0] < 3


def test_satellite(demo):
    said = demo("satellite_lqr")
    costs, promised = numbers(r"cost +(\S+?),? ", said + " "), numbers(r"promised (\S+),", said)
    assert len(promised) < 25 and promised[-1] < 1e-6                          # converged, and downhill all the way
    assert all(b < a for a, b in itertools.pairwise(costs))
    assert numbers(r"(\S+) at the end", said)[-1] < 0.02
