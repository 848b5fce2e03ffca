"""Facets, drag, light, eclipses, plumes and magnets: closed forms, laws of closed surfaces, and what a run makes of them."""

import itertools

import numpy as np
import pytest

import engine
from engine import gufunc
from engine.components.component import Context
from engine.space import (
    ASTRONOMICAL_UNIT,
    Atmosphere,
    Dipole,
    Drag,
    Eclipse,
    Facets,
    GravityField,
    Igrf,
    Magnetorquers,
    Plume,
    ReferenceOrbit,
    SimulationError,
    SolarPressure,
    Thrusters,
    lit,
    mean_motion,
)
from engine.spatial import inertia
from tests.space.numbers import MU, PLACE, values

A = 6778137.0
SPEED = np.sqrt(MU / A)
CALM = Atmosphere([(0.0, 1e-12, np.inf)], rate=0.0)
PLATE = Facets({"sat": [((0, 0, 0), (1, 0, 0), 10.0)]})


def satellite(name="sat", mass=500.0):
    builder = engine.Builder(name)
    builder.add_link(name, inertia=inertia.box(mass, [1.0, 2.0, 3.0]), visuals=[engine.Geometry("box", (1.0, 2.0, 3.0))])
    return builder.model(floating_base=True)


def effect(c, r, v, q=(1, 0, 0, 0, 0, 0, 0), w=(0, 0, 0, 0, 0, 0), t=0.0, model=None):
    """What a component does on floats at a place in an orbit."""
    model = model or satellite()
    frame = ReferenceOrbit((A, 0, 0), (0, SPEED, 0), GravityField(MU))
    frame.place = lambda t, state: (np.asarray(r, dtype=float), np.asarray(v, dtype=float))
    c.bind(model, 0.1)
    s = Context(model, t, np.array(q, dtype=float), np.array(w, dtype=float), {}, (0, 0, 0), {"frame": np.zeros(6)}, frame=frame)
    return c.act(s, c.state, c.memory, None)


# ---------------------------------------------------------------- facets


def test_sides_of_boxes_are_closed():
    facets = Facets.boxes(satellite())
    _, normals, areas = facets.of("sat")
    assert sorted(areas) == [2.0, 2.0, 3.0, 3.0, 6.0, 6.0]
    assert np.abs(areas @ normals).max() == 0.0


@pytest.mark.parametrize(("most", "share"), [(6, 0.16), (14, 0.12), (26, 0.05)])
def test_facets_of_a_ball_look_alike_from_everywhere(most, share):
    """Closed, and seen from any side about π r²: the more directions, the nearer."""
    builder = engine.Builder("ball")
    builder.add_link("ball", inertia=inertia.sphere(1.0, 1.0), visuals=[engine.Geometry("sphere", (1.0,))])
    facets = Facets.of_meshes(builder.model(floating_base=True), most)
    _, normals, areas = facets.of("ball")
    assert len(areas) == most
    assert np.abs(areas @ normals).max() < 1e-9
    seen = [areas @ np.maximum(normals @ np.array(d) / np.linalg.norm(d), 0.0) for d in itertools.product((-2.0, 0.5, 1.0), repeat=3)]
    assert np.abs(np.array(seen) / np.mean(seen) - 1.0).max() < share


def test_an_open_surface_is_refused(tmp_path):
    (tmp_path / "sheet.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    builder = engine.Builder("sheet")
    builder.add_link("sheet", inertia=inertia.sphere(1.0, 1.0), visuals=[engine.Geometry("mesh", (1, 1, 1), mesh=tmp_path / "sheet.obj")])
    with pytest.raises(SimulationError, match="'sheet' is open"):
        Facets.of_meshes(builder.model(floating_base=True))


# ---------------------------------------------------------------- drag


def test_drag_on_a_plate():
    drag = Drag(PLATE, CALM, cd=2.2)
    found = effect(drag, (A, 0, 0), (7600.0, 0, 0)).wrenches["sat"]
    assert -found[3] == pytest.approx(values("DRG")[0], rel=1e-14)
    assert np.abs(found[[0, 1, 2, 4, 5]]).max() == 0.0
    behind = effect(drag, (A, 0, 0), (-7600.0, 0, 0)).wrenches["sat"]
    assert np.abs(behind).max() == 0.0
    leaning = effect(drag, (A, 0, 0), (7600.0 * 0.6, 7600.0 * 0.8, 0)).wrenches["sat"]
    assert leaning[3:] == pytest.approx(-values("DRG")[0] * 0.6 * np.array([0.6, 0.8, 0.0]), rel=1e-13)


def test_an_orbit_decays():
    """ȧ of a circle, by the closed form to the first order."""
    rate, fall = values("DEC")
    n, T = mean_motion(MU, A)
    plate = Facets({"sat": [((0, 0, 0), (0, 1, 0), 10.0)]})
    simulator = engine.Simulator(satellite(), dt=4.0, gravity=(0, 0, 0), forces=[Drag(plate, CALM, cd=2.2)], integrator="rkmk4",
                                 frame=ReferenceOrbit((A, 0, 0), (0, SPEED, 0), GravityField(MU, gradient=False)))  # fmt: skip
    flight = simulator.run([1, 0, 0, 0, 0, 0, 0], [0, 0, n, 0, 0, 0], T, record_every=10**6)
    r_O, rho = flight.orbit("sat")
    R = engine.spatial.quaternion.to_matrix(flight.q[-1, :4])
    r, v = r_O[-1] + rho[-1], flight("frame.velocity")[-1] + R @ flight.v[-1, 3:]
    a = 1.0 / (2.0 / np.linalg.norm(r) - v @ v / MU)
    assert a - A == pytest.approx(fall, rel=1e-3)
    assert (a - A) / T == pytest.approx(rate, rel=1e-3)


def test_the_air_turns_with_the_earth_and_thins():
    air = Atmosphere()
    assert air.density(400e3) == pytest.approx(3.725e-12, rel=1e-12)
    assert air.density(430e3) == pytest.approx(3.725e-12 * np.exp(-30.0 / 58.515), rel=1e-12)
    still, turning = (effect(Drag(PLATE, Atmosphere([(0.0, 1e-12, np.inf)], rate=w)), (0, A, 0), (7600.0, 0, 0)) for w in (0.0, 7.29e-5))
    assert turning.wrenches["sat"][3] / still.wrenches["sat"][3] == pytest.approx((1.0 + 7.29e-5 * A / 7600.0) ** 2, rel=1e-12)
    spinning = effect(Drag(Facets({"sat": [((0, 1.0, 0), (1, 0, 0), 10.0)]}), CALM), (A, 0, 0), (0, 0, 0), w=(0, 0, -2.0, 0, 0, 0))
    f = spinning.wrenches["sat"]
    assert f[3] == pytest.approx(-0.5e-12 * 2.2 * 10.0 * 4.0, rel=1e-12)        # the plate's own 2 m/s
    assert f[2] == pytest.approx(-f[3], rel=1e-12)


def test_a_table_by_times_and_heights():
    times, heights = np.array([0.0, 100.0]), np.array([3e5, 4e5, 5e5])
    logs = np.log(np.array([[2e-11, 3e-12, 6e-13], [4e-11, 6e-12, 1.2e-12]]))
    air = Atmosphere((heights, logs), times=times)
    assert air.density(4e5, 0.0) == pytest.approx(3e-12, rel=1e-12)
    assert air.density(4e5, 50.0) == pytest.approx(3e-12 * np.sqrt(2.0), rel=1e-12)
    assert gufunc(lambda h, t: air.density(h, t), "(),()->()")(4.2e5, 30.0) == pytest.approx(air.density(4.2e5, 30.0), rel=1e-14)


def test_below_its_table_there_is_no_air():
    air = Atmosphere([(2e5, 1e-10, 4e4)])
    with pytest.raises(SimulationError, match="the air is asked for at 100000 m"):
        air.density(1e5)
    with pytest.warns(RuntimeWarning, match="NaN"):
        assert np.isnan(gufunc(lambda h: air.density(h), "()->()")(1e5))


# ---------------------------------------------------------------- light


def test_light_on_a_plate():
    facets = Facets({"sat": [((0, 0, 0), (0, 0, 1), 2.0)]})
    way = np.array([np.sin(np.pi / 3), 0.0, np.cos(np.pi / 3)])
    light = SolarPressure(facets, lambda t: ASTRONOMICAL_UNIT * way, specular=0.3, diffuse=0.2)
    found = effect(light, (0, 0, 0), (0, 0, 0)).wrenches["sat"]
    assert found[3:] == pytest.approx(values("SRP"), rel=1e-12, abs=1e-22)
    near = SolarPressure(facets, lambda t: 0.5 * ASTRONOMICAL_UNIT * way, specular=0.3, diffuse=0.2)
    assert effect(near, (0, 0, 0), (0, 0, 0)).wrenches["sat"][3:] == pytest.approx(4.0 * values("SRP"), rel=1e-12, abs=1e-22)


def test_a_dark_closed_body_is_pushed_by_what_it_shades():
    """Without mirrors the force is the shadow's area times the pressure, along the light: of a box, from anywhere."""
    facets = Facets.boxes(satellite())
    for way in ([1.0, 2.0, 3.0], [-2.0, 0.3, 1.0]):
        d = np.array(way) / np.linalg.norm(way)
        f = effect(SolarPressure(facets, lambda t, d=d: ASTRONOMICAL_UNIT * d), (0, 0, 0), (0, 0, 0)).wrenches["sat"]
        shadow = np.abs(d) @ [6.0, 3.0, 2.0]
        assert f[3:] == pytest.approx(-1361.0 / 299792458.0 * shadow * d, rel=1e-13)
        assert np.abs(f[:3]).max() < 1e-20                                       # and its centre of shadow is its own


def test_penumbra_and_annular():
    a, b = 4.650484023614976e-3, 1.225534094797317
    assert [float(lit(a, b, b + x)) for x in (-0.002, 0.0, 0.002)] == pytest.approx(values("ECL"), abs=1e-10)
    sun = lambda t: np.array([ASTRONOMICAL_UNIT, 0.0, 0.0])
    far = Eclipse(lambda t: np.array([ASTRONOMICAL_UNIT - 2e9, 0.0, 0.0]))
    assert float(far(np.array([-2e9, 0.0, 0.0]), 0.0)) == pytest.approx(values("EC2")[0], abs=1e-10)
    grid = np.linspace(0.0, 0.02, 41)
    for a, b in ((0.01, 0.006), (0.006, 0.01), (0.01, 0.01)):
        shares = [float(lit(a, b, c)) for c in grid]
        assert (np.diff(shares) >= -1e-12).all()                                 # never darker as it moves away
        assert max(np.abs(np.diff(shares))) < 0.1                                # and without a jump
        assert [float(gufunc(lit, "(),(),()->()")(a, b, c)) for c in grid] == pytest.approx(shares, abs=1e-13)
    assert float(Eclipse(sun)(np.array([A, 0.0, 0.0]), 0.0)) == 1.0


def test_how_much_of_an_orbit_is_dark():
    """By angles as seen from the planet's centre, as the table has it: (b − a)/π, and of a cylinder b/π. An eclipse sees the Sun from where
    it is: the cone that touches both, of the half angle asin((R_s − R)/d), through which A sin(θ + α) = R leads, to rounding; which is
    1.4e-5 of an orbit longer, the planet's own radius seen from the Sun."""
    cone, cylinder = values("EC3")
    R, A_S = 6378137.0, ASTRONOMICAL_UNIT
    a, b = np.arcsin(695700000.0 / A_S), np.arcsin(R / A)
    assert [(b - a) / np.pi, b / np.pi] == pytest.approx([cone, cylinder], abs=1e-12)
    assert bisected(lambda x: lit(a, b, np.pi - x) == 0.0) / np.pi == pytest.approx(cone, abs=1e-10)
    eclipse = Eclipse(lambda t: np.array([A_S, 0.0, 0.0]))
    dark = bisected(lambda x: float(eclipse(A * np.array([np.cos(x), np.sin(x), 0.0]), 0.0)) == 0.0) / np.pi
    assert dark == pytest.approx((b - np.arcsin((695700000.0 - R) / A_S)) / np.pi, abs=1e-10)
    assert dark - cone == pytest.approx(R / A_S / np.pi, rel=1e-4)


def bisected(dark):
    """How far from the middle of the night, rad, it ends."""
    low, top = 0.0, np.pi
    for _ in range(50):
        middle = 0.5 * (low + top)
        low, top = (middle, top) if dark(np.pi - middle) else (low, middle)
    return low


# ---------------------------------------------------------------- plumes


def test_a_half_space_of_facets_catches_all_of_a_plume():
    """A quarter of a ball's surface of small facets, of radius 2 m about the nozzle: F, to the facets' size."""
    u, z = np.meshgrid(np.linspace(0, 2 * np.pi, 61)[:-1], (np.arange(60) + 0.5) / 60)
    d = np.stack([np.sqrt(1 - z**2) * np.cos(u), np.sqrt(1 - z**2) * np.sin(u), z], axis=-1).reshape(-1, 3)
    area = 4.0 * 2.0 * np.pi / len(d)
    facets = Facets({"target": [(2.0 * x, -x, area) for x in d]})
    model = engine.combine(sat=satellite(), target=satellite("target"))
    names = {link.name.rsplit("/", 1)[-1]: link.name for link in model.links if "/" in link.name}
    facets = Facets({names["target"]: [(2.0 * x, -x, area) for x in d]})
    plume = Plume(names["sat"], [[0, 0, 0]], [[0, 0, -1]], facets, exponent=6.0)
    plume.bind(model, 0.1)
    s = Context(model, 0.0, model.neutral(), np.zeros(model.nv), {}, (0, 0, 0), {})
    found = plume.act(s, plume.state, plume.memory, np.array([10.0])).signals["force"]
    assert found[2] == pytest.approx(10.0, rel=2e-3)
    assert np.abs(found[:2]).max() < 1e-9


def test_thrusters_tell_their_plume():
    model = engine.combine(sat=satellite(), target=satellite("target"))
    names = {link.name.rsplit("/", 1)[-1]: link.name for link in model.links if "/" in link.name}
    facets = Facets({names["target"]: [((0, 0, 0), (0, 0, 1), 0.01)]})
    where = ([[0, 0, -1.5]], [[0, 0, 1]])
    plume = Plume(names["sat"], *where, facets, exponent=4.0)
    jet = Thrusters(names["sat"], *where, most=20.0, plume=plume)
    q = model.neutral()
    q[model.q_slice(next(b.joint.name for b in model.bodies if b.joint.child == names["target"])).start + 6] -= 11.5
    simulator = engine.Simulator(model, dt=0.1, gravity=(0, 0, 0), actuators=[jet, plume],
                                 controller=lambda t, q, v: {"thrusters": np.array([15.0])})  # fmt: skip
    flight = simulator.run(q, np.zeros(model.nv), 0.1)
    assert flight("plume.force")[0] == pytest.approx([0, 0, -15.0 * 6.0 / (2 * np.pi * 100.0) * 0.01], rel=1e-12, abs=1e-15)


# ---------------------------------------------------------------- magnets


def test_a_dipole_and_its_moment_on_a_coil():
    B, moment = values("DIP")[:3], values("DIP")[3:]
    field = Dipole(3.12e-5, (0, 0, -1))
    assert field(PLACE) == pytest.approx(B, rel=1e-12)
    coil = Magnetorquers("sat", [[1, 0, 0]], 10.0, field)
    coil.bind(satellite(), 0.1)
    frame = ReferenceOrbit((A, 0, 0), (0, SPEED, 0), GravityField(MU))
    frame.place = lambda t, state: (PLACE, np.zeros(3))
    s = Context(satellite(), 0.0, np.array([1.0, 0, 0, 0, 0, 0, 0]), np.zeros(6), {}, (0, 0, 0), {"frame": np.zeros(6)}, frame=frame)
    found = coil.act(s, coil.state, coil.memory, np.array([50.0]))
    assert found.wrenches["sat"][:3] == pytest.approx(moment, rel=1e-12, abs=1e-20)
    assert found.signals["saturated"][0] == 1.0


def test_the_igrf_s_first_degree_is_a_dipole():
    field = Igrf({(1, 0): (-29442.0, 0.0), (1, 1): (-1501.0, 4797.1)})
    size = 1e-9 * np.sqrt(29442.0**2 + 1501.0**2 + 4797.1**2)
    like = Dipole(size, np.array([-1501.0, 4797.1, -29442.0]), 6371200.0)
    assert field(PLACE) == pytest.approx(like(PLACE), rel=1e-13)


def test_the_igrf_against_another_reader():
    """East, north and up at 50° N 10° E, 400 km over the ellipsoid, in nT, by the coefficients that package has."""
    ppigrf = pytest.importorskip("ppigrf")
    from pathlib import Path

    a, f = 6378137.0, 1 / 298.257223563
    lat, lon, h = np.radians(50.0), np.radians(10.0), 4e5
    N = a / np.sqrt(1 - f * (2 - f) * np.sin(lat) ** 2)
    r = np.array([(N + h) * np.cos(lat) * np.cos(lon), (N + h) * np.cos(lat) * np.sin(lon), (N * (1 - f) ** 2 + h) * np.sin(lat)])
    B = 1e9 * Igrf.of_file(Path(ppigrf.__file__).parent / "IGRF14.shc", 2025.0 + 5.0 * 365.0 / 1826.0)(r)      # by days, as it counts
    east = np.array([-np.sin(lon), np.cos(lon), 0.0])
    up = np.array([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])
    assert [B @ east, B @ np.cross(up, east), B @ up] == pytest.approx(values("IGRF"), abs=1e-3)
    with pytest.raises(SimulationError, match="the year 1800 is not in"):
        Igrf.of_file(Path(ppigrf.__file__).parent / "IGRF14.shc", 1800.0)


# ---------------------------------------------------------------- in runs


def test_plain_is_compiled_of_all_of_it():
    sun = lambda t: ASTRONOMICAL_UNIT * np.array([0.6, 0.0, 0.8])
    model, facets = satellite(), Facets.boxes(satellite())
    found = []
    for compiled in (True, False):
        simulator = engine.Simulator(
            model, dt=0.5, gravity=(0, 0, 0), compiled=compiled, frame=ReferenceOrbit((A, 0, 0), (0, SPEED, 0), GravityField(MU)),
            forces=[Drag(facets), SolarPressure(facets, sun, Eclipse(sun), specular=0.2, diffuse=0.3)], actuators=[Magnetorquers("sat")],
            controller=lambda t, q, v: {"magnetorquers": np.array([5.0, -3.0, 2.0])})  # fmt: skip
        found.append(simulator.run([1, 0, 0, 0, 1.0, 2.0, 3.0], [0.1, -0.2, 0.3, 0, 0, 0], 2.0))
    a, b = found
    assert np.abs(a.q - b.q).max() < 1e-12
    for name in ("drag.force", "light.force", "magnetorquers.field", "light.light"):
        assert np.abs(a(name) - b(name)).max() < 1e-11 * np.abs(b(name)).max()


@pytest.mark.parametrize(("what", "text"), [
    (lambda: Facets({}), "there are no facets"),
    (lambda: Facets({"a": [((0, 0, 0), (0, 0, 0), 1.0)]}), "three numbers each, and a length"),
    (lambda: Facets({"a": [((0, 0, 0), (0, 0, 1), -1.0)]}), "has the area -1.0"),
    (lambda: Facets({"a": [1.0]}), r"expected \(centre \(3\), normal \(3\), area\)"),
    (lambda: Drag(PLATE, cd=-1.0), "cd is -1.0"),
    (lambda: Drag(PLATE, cd={"sat": [1.0, 2.0]}), "for each of 1 facets"),
    (lambda: Drag(3.0), "expected engine.space.Facets"),
    (lambda: Drag(PLATE, 1e-12), "expected an engine.space.Atmosphere"),
    (lambda: Atmosphere([(1e5, 1.0, 1.0), (0.0, 1.0, 1.0)]), "rows by rising heights"),
    (lambda: Atmosphere([(0.0, -1.0, 1.0)]), "a density below 0"),
    (lambda: SolarPressure(PLATE, lambda t: t, specular=0.7, diffuse=0.4), "add up to 1.1"),
    (lambda: SolarPressure(PLATE, 1.0), "the sun is 1.0"),
    (lambda: Eclipse(1.0), "an eclipse's sun is 1.0"),
    (lambda: Igrf({(14, 0): (1.0, 0.0)}), "no degree and order"),
    (lambda: Igrf.of_file(__file__, 2026.0), "cannot be read"),
    (lambda: Plume("sat", [[0, 0, 0]], [[0, 0, 1]], PLATE), "expected those of other links"),
    (lambda: Magnetorquers("sat", [[0, 0, 0]]), "expected .n, 3. vectors"),
    (lambda: Drag(Facets({"wing": [((0, 0, 0), (0, 0, 1), 1.0)]})).bind(satellite(), 0.1), "which 'sat' has not"),
])  # fmt: skip
def test_what_is_none_of_these_is_refused(what, text):
    with pytest.raises(SimulationError, match=text):
        what()


def test_air_and_shade_are_those_at_the_craft_not_at_the_origin():
    """A craft that has drifted 100 km from where its orbit is reckoned from: thinner air, and another end of the shadow."""
    model, air = satellite(), Atmosphere()
    away = (1.0, 0.0, 0.0, 0.0, 3e4, 1e5, 0.0)
    place = np.array(PLACE) + away[4:]
    found = effect(Drag(Facets.boxes(model), air), PLACE, (0.0, 7.6e3, 0.0), away, model=model)
    assert found.signals["density"] == pytest.approx(air.density(np.linalg.norm(place) - air.radius), rel=1e-12)
    sun = lambda t: np.array([-1.5e11, 0.0, 0.0])
    shade, edge = Eclipse(sun), np.array([3e6, 6.38e6, 0.0])
    light = effect(SolarPressure(Facets.boxes(model), sun, eclipse=shade), edge, (0.0, 0.0, 0.0), away, model=model).signals["light"]
    assert light == pytest.approx(shade(edge + away[4:], 0.0), rel=1e-12) and abs(light - shade(edge, 0.0)) > 0.1
