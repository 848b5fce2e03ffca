"""The page of validation: ``python -m tests.validation`` flies published cases, and writes engine/docs/validation.md.

A case is a function that returns rows: what, what it is measured by, ours, and theirs. Those of spacecraft are tests too (``tests/space``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from scipy.optimize import brentq

import engine
from engine import dynamics
from engine.space import Tank, Thrusters
from tests.constraints import mechanisms
from tests.constraints.test_mechanisms import FOUR_BARS, crank
from tests.contact import published
from tests.dynamics.test_free_floating import of_planar
from tests.space import cases
from tests.space.numbers import values
from tests.space.test_builders import frequencies, nearest, winged
from tests.space.test_tank import VAR, hull, var

PAGE = Path(engine.__file__).parent / "docs" / "validation.md"
#: of JEOD's runs: their errors against DOP853 at tight tolerances, of place, m, and rates, rad/s
THEIRS = {"RUN_2": (1.4e-6, 6e-17), "RUN_9D": (1.1e-6, 2e-16), "RUN_10A": (1.3e-6, 7e-16), "RUN_10C": (1.2e-5, 6e-16),
          "RUN_10D": (1.2e-5, 2e-15)}  # fmt: skip
NAMES = {"RUN_2": "the ISS in a Kepler orbit", "RUN_9D": "pushed and turned for 1000 s", "RUN_10A": "a cylinder in the gradient, circle",
         "RUN_10C": "the same, ellipse", "RUN_10D": "the same, turning"}  # fmt: skip
Row = tuple[str, str, str, str]


def shown(x: float, unit: str) -> str:
    """Return an error as text, with one digit."""
    return f"{x:.0e} {unit}"


def jeod() -> Iterator[Row]:
    """NASA's verification of JEOD: 28800 s at steps of 1 s."""
    for name in cases.JEOD:
        place, rates, _ = cases.jeod(name)
        yield f"JEOD {name}: {NAMES[name]}", "position after 8 h, from JEOD's", shown(place, "m"), shown(THEIRS[name][0], "m")
        yield "", "angular velocity", shown(rates, "rad/s"), shown(THEIRS[name][1], "rad/s")


def other_tools() -> Iterator[Row]:
    """Basilisk's own test of its spacecraft, and NESC's second check case."""
    place, rates = cases.basilisk()
    yield "Basilisk, test_spacecraft", "position after 10 s, from DOP853's", shown(place, "m"), "4e-08 m"
    yield "", "angular velocity", shown(rates, "rad/s"), "–"
    off = shown(cases.nesc(), "deg/s")
    yield "NESC 2, a tumbling brick", "angular velocity after 30 s, from sim 01's", off, "2e-10 … 3e-3 deg/s (five tools)"


def digits() -> Iterator[Row]:
    """Two bodies under J2 for an orbit, against 40 digits."""
    for name in ("cg4", "rkmk4"):
        place, apart, _ = cases.two_bodies(name, 0.5)
        yield f"Two rotating bodies, 100 m apart, J2, {name}", "relative position after an orbit", shown(apart, "m"), "–"
        yield "", "position", shown(place, "m"), "–"
    off = np.abs(cases.tip(0.03125, 300.0)[0] - cases.TIP).max()
    end = np.linalg.norm(cases.tip(0.03125, 5554.0)[0] - cases.TIP_ORBIT)
    yield "The tip of a servicer's arm, both arms moving, J2", "after 300 s, from long doubles", shown(off, "m"), "–"
    yield "", "after an orbit, from long doubles", shown(end, "m"), "–"


def variable_mass() -> Iterator[Row]:
    """A body whose propellant flows off its axis, against DOP853, and Tsiolkovsky's formula."""
    flight, expected = var(dt=0.02, integrator="rkmk5").run(VAR["q"], VAR["v"], 60.0, record_every=500), values("VAR")
    whole = flight.momentum() + flight("tank.momentum")
    rates = np.abs(flight.v[-1, :3] - expected[:3]).max()
    yield "An off-centre tank, a skewed nozzle, 60 s", "angular velocity, from DOP853's", shown(rates, "rad/s"), "–"
    yield "", "momentum with the exhaust, of 8e3 N·m·s", shown(np.abs(whole - whole[0]).max(), "N·m·s"), "–"
    thrust, model, tank = 150.0 / 3000.0 * 220.0 * 9.80665, hull(650.0).model(floating_base=True), Tank("hull", 200.0)
    jet = Thrusters("hull", [[0, 0, -1.0]], [[0, 0, 1.0]], most=thrust, tank=tank, isp=220.0)
    simulator = engine.Simulator(model, dt=0.5, gravity=(0, 0, 0), integrator="rkmk5", actuators=[jet, tank],
                                 controller=lambda t, q, v: {"thrusters": np.array([thrust])})  # fmt: skip
    run = simulator.run(model.neutral(), np.zeros(6), 3000.0, record_every=6000)
    yield "Tsiolkovsky, 850 to 700 kg", "velocity, of 419 m/s", shown(abs(run.v[-1, 5] - values("ROC")[0]), "m/s"), "–"


def panels() -> Iterator[Row]:
    """A hub with two panels, whose frequencies a transcendental equation gives."""
    for name, add, n in (("8 modes", engine.space.add_modes, 8), ("20 hinges", engine.space.add_chain, 20)):
        found = frequencies(*winged(add, n))
        yield f"Hub and two panels by {name}", "first rotational frequency", f"{nearest(found, values('HUB')[:1])[0]:.0e}", "–"
        yield "", "first translational frequency", f"{nearest(found, values('HU2')[:1])[0]:.0e}", "–"


def bodies_that_bend() -> Iterator[Row]:
    """A panel that swings on a hub, to the second order, against DOP853."""
    from tests.space.test_flexible import V0
    from tests.space.test_flexible import winged as modal

    run, expected = modal("full", dt=0.0025).run([1, 0, 0, 0, 0, 0, 0], V0, 30.0, record_every=1200), values("LEA")
    P, E = run.momentum() + run("panel.momentum"), sum(run.energy())
    yield "A hub with a bending panel, 30 s", "modes, from DOP853's", shown(np.abs(run("panel.eta")[-1] - expected[:4]).max(), ""), "–"
    yield "", "momentum and energy", f"{np.abs(P - P[0]).max() / np.abs(P).max():.0e} and {np.ptp(E) / E[0]:.0e}", "2e-13"


def mechanisms_known() -> Iterator[Row]:
    """Papadopoulos and Dubowsky's singular posture, Andrews' squeezer, and IFToMM's four-bars."""
    q2 = brentq(lambda x: float(np.linalg.det(of_planar(np.radians(-65), x)[2][1:])), np.radians(-20), np.radians(-5), xtol=1e-15)
    model, q, _ = of_planar(np.radians(-65), q2)
    least = float(dynamics.dynamic_singularity(model, q, "tip", "linear"))
    yield "Papadopoulos & Dubowsky, dynamic singularity at q₁ = −65°", "q₂", f"{np.degrees(q2):.2f}°", "−11.41°"
    yield "", "smallest singular value there", f"{least:.0e}", "–"
    model, loops, drive, q = mechanisms.squeezer()
    simulator = engine.Simulator(model, integrator="rkmk5", gravity=(0, 0, 0), forces=[drive], constraints=loops)
    end, _ = simulator.solve(q, np.zeros(7), 0.03, tolerance=1e-10)(0.03)
    off = np.abs(end[:2] - mechanisms.ANDREWS_END).max()
    yield "Andrews' squeezer (IFToMM A03)", "angles at 0.03 s, from the test set's", shown(off, "rad"), "–"
    model, loops = mechanisms.four_bars(1)
    run = engine.Simulator(model, constraints=loops).run(*mechanisms.upright(model), 10.0, record_every=1000)
    yield "Four-bars in line (IFToMM A02)", "the crank's end at 10 s", shown(np.abs(crank(run) - FOUR_BARS[1, 10]).max(), "m"), "–"


def rolling_and_sliding() -> Iterator[Row]:
    """Whipple's bicycle, a tippe top, a ball on a turntable, and Hunt and Crossley's bounce."""
    off = np.abs(published.bicycle_eigenvalues() - published.BICYCLE).max()
    yield "Whipple's bicycle at 5 m/s (benchmark)", "eigenvalues, of 14 1/s", shown(off, "1/s"), "1e-14 (two programs)"
    first, last, lost = published.tippe_top(dt=2e-5)
    turned = f"{np.degrees(first):.0f}° to {np.degrees(last):.0f}°"
    yield "A tippe top on smooth ground, Coulomb's friction of 0.02, 25 s", "inclination, first and last", turned, "turns over"
    yield "", "Jellett's constant", shown(lost, "of it"), "–"
    yield "A ball on a turntable", "angular velocity of its path, over 2/7 of the table's", f"{published.turntable():.5f}", "1"
    found, e = published.bounce()
    yield "Hunt & Crossley's bounce, 200 steps", f"restitution, of {e:.6f}", shown(abs(found - e), ""), "–"


CASES: tuple[Callable[[], Iterator[Row]], ...] = (
    jeod, other_tools, digits, variable_mass, panels, bodies_that_bend, mechanisms_known, rolling_and_sliding,
)  # fmt: skip


HEAD = """# Validation

Published test cases, simulated by this engine; `python -m tests.validation` measures them and writes this table. *Ours* is the difference
between this engine's final state and the reference, relative if without a unit, or a value; *theirs* is the error of the other program's
published final state against an integration at tighter tolerances, if known. `cg4` and `rkmk4` are integrators; DOP853 and "long doubles"
are independent integrations of the same equations.

| case | quantity | ours | theirs |
|---|---|---|---|
"""
TAIL = """
In the cylinder cases only the moment of the gravity gradient is simulated, not its force (`GravityField(gradient="moment")`), as in JEOD;
with the force, the cylinder ends 3.6e-4 m away. JEOD's published positions have numerical errors, and ours differ from them by no more
than these errors. Tests check all figures (`tests/space`, `tests/constraints`, `tests/dynamics`), and further cases with closed-form
solutions: fields, eclipses, drag, jet damping, slosh, modes.

Two common closed forms neglect what the engine includes. The dark fraction of an orbit is often computed from angles seen from the
planet's centre, which gives 0.388619 at a radius of 6778 km. Seen from the satellite, the umbra lasts longer by 1.35e-5 of an orbit, R/(π
AU) with the planet's radius R and the astronomical unit AU: `tests/space/test_surfaces.py` checks both to 1e-10. A decay of −12.7014 m
per orbit is of first order in drag: the simulated orbit agrees within a thousandth.

A closed system (a vehicle with exhaust, slosh, a panel, a boom, wheels and an arm, and the target that it holds) conserves linear
momentum to 1e-13 and angular momentum to 1e-12 of the sum of its parts over a million steps (`python -m tests.bench.closed`), and its
energy never rises while nothing is driven. After the arm has released the target, both bodies move on straight paths whose rounding
errors have the same sign at each step: the total drifts by 2e-11 of the sum, each body's momentum by 1e-13.
"""


def page(rows: list[Row]) -> str:
    """Return the page's text."""
    return HEAD + "".join(f"| {' | '.join(row)} |\n" for row in rows) + TAIL


def main() -> None:
    """Measure all cases and write the page."""
    PAGE.write_text(page([row for case in CASES for row in case()]), encoding="utf-8")
    print(PAGE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
