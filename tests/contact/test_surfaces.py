"""Surfaces of shapes: materials of their own, priorities, narrowed pairs, and belts, by pairs, as rows, and of free bodies as tables."""

from dataclasses import replace

import numpy as np
import pytest

import engine
from engine.contact import ContactLaws
from engine.contact.many import RowLaws
from engine.simulation import contacts as choice
from engine.spatial import inertia, se3
from tests.contact.scenes import UPRIGHT, point

G = 9.81
SURFACE = engine.ContactMaterial(stiffness=2e5, dissipation=5.0, friction=0.4)


def pads(*names, floating=False):
    """A block on rails along x and z, or one that floats, on two balls, whose weight they share."""
    made = engine.Builder("block")
    if not floating:
        made.add_link("world")
        made.add_link("rail", inertia=inertia.sphere(1e-6, 0.1))
    balls = [engine.Geometry("sphere", (0.1,), se3.pose(np.eye(3), [x, 0.0, 0.0]), name=n) for x, n in zip((-1.0, 1.0), names, strict=True)]
    made.add_link("block", inertia=inertia.box(2.0, (2.0, 2.0, 2.0)), collisions=balls)
    if not floating:
        made.add_joint("x", "prismatic", "world", "rail", axis=(1, 0, 0))
        made.add_joint("z", "prismatic", "rail", "block", axis=(0, 0, 1))
    return made.model(floating_base=floating)


def of_kind(patch, rows):
    """Laws of pairs by themselves, or as rows."""
    patch.setattr(choice, "FEW_PAIRS", 0 if rows else 10**6)
    patch.setattr(choice.Contacts, "many", lambda *_: None)


def brakes(model, contacts, **options):
    """The deceleration, of g, of a block that slides."""
    run = engine.Simulator(model, dt=1e-3, contacts=contacts, **options).run([0.0, 0.1], [3.0, 0.0], 0.3, record_every=100)
    return -np.diff(run.v[:, 0])[1:] / 0.1 / G


@pytest.mark.parametrize("rows", [False, True])
def test_each_shape_rubs_as_its_own_material_says(monkeypatch, rows):
    """Friction per point, of one link pair; a shape's parameter counts for it, its link's for the others."""
    of_kind(monkeypatch, rows)
    materials = {"block/left": replace(SURFACE, friction=0.2), "block": replace(SURFACE, friction=0.6)}
    contacts = engine.Contacts(engine.HalfSpace(material=replace(SURFACE, friction=0.1)), materials=materials, combine="max")
    np.testing.assert_allclose(brakes(pads("left", "right"), contacts), 0.4, rtol=1e-3)
    given = {"contact_friction.block": 0.8, "contact_friction.block/left": 0.3}
    np.testing.assert_allclose(brakes(pads("left", "right"), contacts, parameters=given), 0.55, rtol=1e-3)


def test_materials_that_all_shapes_share_are_the_links_to_the_bit():
    own = {f"block/{n}": SURFACE for n in ("0", "right")}
    ends = [brakes(pads("", "right"), engine.Contacts(engine.HalfSpace(material=SURFACE), materials=materials)).tobytes()
            for materials in ({"block": SURFACE}, own, {"world": SURFACE, ("world", "block"): SURFACE.with_surface(SURFACE)})]  # fmt: skip
    assert len({*ends}) == 1


def friction(contacts, model):
    return {(p.a.part or p.a.link, p.b.part): p.material.friction for p in contacts.bind(model).pairs}


def test_priorities_pairs_of_shapes_and_overrides():
    """The higher priority alone counts; of two shapes the material that is nearest to them; pairs of shapes are narrowed."""
    model = pads("left", "right")
    high, low = replace(SURFACE, friction=0.9, priority=1), replace(SURFACE, friction=0.2, priority=-1)
    ground = engine.HalfSpace(material=SURFACE)
    contacts = engine.Contacts(ground, materials={"block": high, "block/right": low}, combine="mean")
    assert friction(contacts, model) == {("world", "block/left"): 0.9, ("world", "block/right"): 0.4}
    contacts = engine.Contacts(ground, materials={("block", "world"): high, ("world", "block/right"): low})
    assert friction(contacts, model) == {("world", "block/left"): 0.9, ("world", "block/right"): 0.2}
    narrow = contacts.with_pairs([("world", "block/right")])
    assert friction(narrow, model) == {("world", "block/right"): 0.2} and narrow.materials == contacts.materials
    assert friction(contacts.with_pairs([("block/right", "world"), ("world", "block")]), model).keys() == {
        ("world", "block/left"), ("world", "block/right")}  # fmt: skip
    with pytest.raises(engine.ContactError, match=r"contacts name a link 'block/lift'.*did you mean 'block/left'"):
        contacts.with_pairs([("world", "block/lift")]).bind(model)
    with pytest.raises(engine.EngineError, match="nothing of 'block' may touch"):
        engine.Simulator(model, contacts=narrow, parameters={"contact_friction.block": 0.3})
    with pytest.raises(engine.EngineError, match=r"nothing of 'blok' may touch \(did you mean 'block'\?\); expected"):
        engine.Simulator(model, contacts=engine.Contacts(ground), parameters={"contact_friction.blok": 0.3})


def test_a_links_parameter_is_not_of_shapes_with_a_material_of_their_own():
    model, own = pads("left", "right"), {"block/left": replace(SURFACE, friction=0.2)}
    laws = engine.Contacts(engine.HalfSpace(material=SURFACE), materials=own, combine="min").bind(model)
    assert {"world", "block", "block/left", "block/right"} == laws.surfaces
    cases = ({"block": 0.1}, [0.2, 0.1]), ({"block": 0.1, "block/right": 0.3}, [0.2, 0.3]), ({"block/left": 0.1}, [0.1, 0.4])
    for given, expected in cases:
        moved = laws.of(model, {f"contact_friction.{n}": x for n, x in given.items()})
        assert [p.material.friction for p in moved.pairs] == expected


@pytest.mark.parametrize("what", [{"priority": 1.5}, {"surface_velocity": (1.0, 2.0)}, {"surface_velocity": "fast"}])
def test_what_no_surface_is_is_refused(what):
    with pytest.raises(engine.ContactError, match=f"{next(iter(what))} of a ContactMaterial is .*expected"):
        engine.ContactMaterial(**what)


def test_the_grounds_material_is_its_own_or_that_of_world():
    """All ways to give it are one; two different ones are refused, and so is one without a ground."""
    model, slick = pads("left", "right"), replace(SURFACE, friction=0.1)
    of_world = engine.Contacts(engine.HalfSpace(), material=SURFACE, materials={"world": slick})
    own = engine.Contacts(engine.HalfSpace(material=slick), material=SURFACE)
    assert friction(of_world, model) == friction(own, model)
    assert replace(of_world, combine="max").with_pairs([("world", "block")]).ground == own.ground
    assert replace(own, materials={"world": slick}).ground == own.ground
    with pytest.raises(engine.ContactError, match=r"two materials, HalfSpace\(material=.*\) and materials=\{'world': .*\}; expected one"):
        replace(own, materials={"world": SURFACE})
    for key in ("world", ("world", "block")):
        with pytest.raises(engine.ContactError, match=r"a material of 'world', .* no ground; expected ground=HalfSpace"):
            engine.Contacts(materials={key: slick}).bind(model)


def test_free_bodies_in_tables_stand_on_the_material_of_world():
    one, slick = pads("left", "right", floating=True), replace(SURFACE, friction=0.0)
    model, q = engine.combine(**{f"b{k}": one for k in range(6)}), np.ravel([[*UPRIGHT, 0.0, 5.0 * k, 0.1] for k in range(6)])
    ends = [engine.Simulator(model, contacts=contacts).run(q, np.tile([0.0, 0.0, 0.0, 1.0, 0.0, 0.0], 6), 0.1, record_every=50).v.tobytes()
            for contacts in (engine.Contacts(engine.HalfSpace(), materials={"world": slick}),
                             engine.Contacts(engine.HalfSpace(material=slick)))]  # fmt: skip
    assert len({*ends}) == 1


def test_materials_of_what_cannot_touch_are_refused():
    """Of links without shapes, also of free bodies in tables, and of pairs that are not among those that may touch."""
    model, ground = pads("left", "right"), engine.HalfSpace()
    for key in ("rail", ("rail", "block")):
        with pytest.raises(engine.ContactError, match=r"a material of 'rail', .* 'block' has no collision shapes; expected"):
            engine.Contacts(ground, materials={key: SURFACE}).bind(model)
    bare = engine.Builder("bare")
    bare.add_link("l")
    scene = engine.combine(**{f"b{k}": pads("left", "right", floating=True) for k in range(6)}, bare=bare.model())
    with pytest.raises(engine.ContactError, match="a material of 'bare/l'"):
        engine.Contacts(ground, materials={"bare/l": SURFACE}).many(scene)
    two = engine.combine(a=pads("left", "right", floating=True), b=pads("left", "right", floating=True))
    for key in (("a/block", "b/block"), ("b/block/left", "a/block/right")):
        contacts = engine.Contacts(ground, materials={key: SURFACE})
        contacts.bind(two)
        with pytest.raises(engine.ContactError, match=rf"a material of \('{key[0]}', '{key[1]}'\), .* expected .*pairs"):
            replace(contacts, pairs=[("world", "a/block")]).bind(two)
        assert contacts.with_pairs([("world", "a/block")]).materials == {}
    with pytest.raises(engine.ContactError, match=r"a material of \('a/block', 'a/block/left'\)"):
        engine.Contacts(ground, materials={("a/block", "a/block/left"): SURFACE}).bind(two)


def test_a_pair_has_no_belt_of_its_own():
    with pytest.raises(engine.ContactError, match=r"the material of \('a', 'b'\) has a surface_velocity"):
        engine.Contacts(materials={("a", "b"): replace(SURFACE, surface_velocity=(1.0, 0.0, 0.0))})


def test_free_bodies_in_tables_have_surfaces_of_shapes():
    """Six blocks side by side, each on a rough and a smooth ball: a push is braked by both, and turns them."""
    one = pads("left", "right", floating=True)
    model = engine.combine(**{f"b{k}": one for k in range(6)})
    own = {f"b{k}/block/right": replace(SURFACE, friction=0.05) for k in range(6)}
    contacts = engine.Contacts(engine.HalfSpace(material=SURFACE), None, SURFACE, own, combine="min")
    simulator = engine.Simulator(model, dt=2e-3, contacts=contacts)
    assert simulator._step.meeting is not None
    q = np.ravel([[*UPRIGHT, 0.0, 5.0 * k, 0.1] for k in range(6)])
    run = simulator.run(q, np.tile([0.0, 0.0, 0.0, 0.0, 1.0, 0.0], 6), 0.1, record_every=50)
    table = run("contacts").at(-1)
    smooth = np.linalg.norm(table.force[:, :2], axis=1) / table.force[:, 2]
    assert np.allclose(np.sort(smooth), np.repeat([0.05, 0.4], 6), rtol=1e-2)


# ---------------------------------------------------------------- belts


@pytest.mark.parametrize("rows", [False, True])
def test_a_belt_carries_a_block_to_its_speed_and_holds_it_there(monkeypatch, rows):
    """By μ g until it has the belt's speed, v²/(2 μ g) behind; then it goes along to rounding."""
    of_kind(monkeypatch, rows)
    belt = engine.HalfSpace(material=replace(SURFACE, surface_velocity=(0.5, 0.0, 3.0)))
    made = engine.Simulator(point(), dt=1e-3, contacts=engine.Contacts(belt, material=SURFACE))
    assert type(made.plant.contacts) is (RowLaws if rows else ContactLaws)
    run = made.run([0.0, 0.0, 0.1 - G / 1e5], np.zeros(3), 0.5, record_every=20)
    a = SURFACE.friction * G
    np.testing.assert_allclose(np.diff(run.v[:6, 0]) / 0.02, a, rtol=1e-6)
    assert abs(run.v[-1, 0] - 0.5) < 1e-9 and abs(run.q[-1, 0] - (0.25 - 0.5**2 / (2.0 * a))) < 1e-5
    assert run("contacts.slip")[1].min() > 0.3 and run("contacts.slip")[-1].max() < 1e-9
    assert np.abs(run("contacts.force")[-1].sum(axis=0) - [0.0, 0.0, G]).max() < 1e-6


def test_a_belt_brings_the_power_that_friction_and_the_block_take():
    """Momentum and work: what the belt does is F v, of which a half goes into the block and a half is lost, as it slips from rest."""
    belt = engine.HalfSpace(material=replace(SURFACE, surface_velocity=(0.0, 0.5, 0.0)))
    made = engine.Simulator(point(), dt=1e-3, contacts=engine.Contacts(belt, material=SURFACE))
    run = made.run([0.0, 0.0, 0.1 - G / 1e5], np.zeros(3), 0.2)
    work = 0.5 * run("contacts.force")[:-1, 0, 1].sum() * 1e-3
    assert work == pytest.approx(0.5 * 1.0 * 0.5, rel=1e-6) and 0.5 * run.v[-1, 1] ** 2 == pytest.approx(work / 2.0, rel=1e-6)


def test_a_belt_goes_along_with_its_link():
    """A crawler, whose belt is turned with it, goes off the other way on a ground at rest."""
    made = engine.Builder("plate")
    made.add_link("plate", inertia=inertia.box(1.0, (1.0, 1.0, 0.1)), collisions=[engine.Geometry("box", (1.0, 1.0, 0.1))])
    model = made.model(floating_base=True)
    own = {"plate": replace(SURFACE, surface_velocity=(0.2, 0.0, 0.0))}
    made = engine.Simulator(model, dt=1e-3, contacts=engine.Contacts(engine.HalfSpace(material=SURFACE), materials=own))
    turned = [np.cos(np.pi / 4), 0.0, 0.0, np.sin(np.pi / 4)]
    run = made.run([*turned, 0.0, 0.0, 0.05], np.zeros(6), 0.3, record_every=300)
    np.testing.assert_allclose(run.v[-1, 3:], [-0.2, 0.0, 0.0], atol=1e-6)    # in its own axes
    assert run.q[-1, 5] < -0.04
