"""The robots of our own making: their files are what the scripts make, their inertias their solids', and they move as robots should."""

from __future__ import annotations

import itertools
import runpy
from pathlib import Path

import numpy as np
import pytest
import trimesh

import engine
from engine import dynamics, ops
from engine.io import load_mesh
from engine.spatial import quaternion, se3
from tests.dynamics.oracle_pinocchio import Pinocchio, from_urdf
from tests.dynamics.support import error

ASSETS = Path(__file__).parents[2] / "assets"
NAMES = ["seven_joint_arm", "quadruped", "dual_arm_servicer"]
GRAVITY = (0.3, -0.2, -9.81)
FEET = [f"{end}_{side}_foot" for end in ("front", "rear") for side in ("left", "right")]


def model_of(name: str) -> engine.Model:
    return engine.load_urdf(engine.example(name), floating_base=name != "seven_joint_arm")


def solid_of(name: str, link: engine.Link):
    """The triangles of a link, in its frame; those of cells, which are drawn as a sheet, from the script."""
    (shape,) = link.visuals
    if "solar_panel" in link.name:
        looks = runpy.run_path(str(ASSETS / f"{name}.py"))["solar_panel"]()
        return trimesh.util.concatenate([solid for group in looks.values() for solid in group])
    return load_mesh(shape).apply_transform(shape.placement)


@pytest.mark.parametrize("name", NAMES)
def test_the_files_are_what_the_script_makes(name, tmp_path, monkeypatch):
    """The same bytes in every run; on another machine, whose sines may differ in their last bits, the same to nine digits."""
    monkeypatch.syspath_prepend(ASSETS)
    made = []
    for run in ("first", "second"):
        folder = tmp_path / run
        monkeypatch.setattr("robots.EXAMPLES", folder)
        runpy.run_path(str(ASSETS / f"{name}.py"), run_name="__main__")
        made.append({path.relative_to(folder / name): path.read_bytes() for path in folder.rglob("*.*") if path.is_file()})
    shipped = engine.example(name).parent
    assert made[0] == made[1] and {*made[0]} == {path.relative_to(shipped) for path in shipped.rglob("*.*")}
    assert all(len(data) == (shipped / path).stat().st_size for path, data in made[0].items() if path.suffix == ".glb")
    ours, theirs = (engine.load_urdf(folder / name / f"{name}.urdf") for folder in (tmp_path / "first", shipped.parent))
    for a, b in zip(ours.links, theirs.links, strict=True):
        np.testing.assert_allclose(a.inertia, b.inertia, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_masses_are_those_of_the_solids(name, monkeypatch):
    """Of one density for each link, which hollow parts, motors or rubber have."""
    monkeypatch.syspath_prepend(ASSETS)
    for link in model_of(name).links:
        solid = solid_of(name, link)
        assert solid.is_watertight and 150 < link.mass / solid.volume < 8000
        solid.density = link.mass / solid.volume
        G = engine.spatial.inertia.from_mass(link.mass, solid.center_mass, solid.moment_inertia)
        np.testing.assert_allclose(link.inertia, G, rtol=1e-4, atol=1e-4 * np.abs(G).max())


@pytest.mark.parametrize("name", NAMES)
def test_pinocchio_agrees(name):
    model = model_of(name)
    reference = Pinocchio(model, from_urdf(engine.example(name), floating_base=name != "seven_joint_arm"), GRAVITY)
    rng = np.random.default_rng(0)
    for _ in range(3):
        q, v = model.random(rng)
        vdot = rng.standard_normal(model.nv)
        tau = dynamics.rnea(model, q, v, vdot, GRAVITY)
        assert error(tau, reference.rnea(q, v, vdot)) < 1e-12
        assert error(dynamics.crba(model, q), reference.crba(q)) < 1e-12
        assert error(vdot, reference.aba(q, v, tau)) < 1e-9


@pytest.mark.parametrize("name", NAMES)
def test_nothing_touches_at_zero_angles(name, monkeypatch):
    """No two links that may touch lie in each other: a warning would say that they are left out of contacts."""
    monkeypatch.setattr("engine.simulation.contacts.number_of_points", lambda a, b: 1)       # which takes long to find
    assert len(engine.Contacts().bind(model_of(name)).pairs) > 40


@pytest.mark.parametrize("name, joints", [
    ("seven_joint_arm", ""), ("dual_arm_servicer", "left"), ("quadruped", "front_left"), ("quadruped", "rear_right"),
])  # fmt: skip
def test_no_link_goes_through_another(name, joints, monkeypatch):
    """Of links that one joint or two join, over their ranges: nothing that lies 2 mm below the surface of one is in the other."""
    pytest.importorskip("embreex")
    monkeypatch.syspath_prepend(ASSETS)
    model = model_of(name)
    solids = {link.name: solid_of(name, link) for link in model.links}
    below = {k: solid.triangles_center - 2e-3 * solid.face_normals for k, solid in solids.items()}
    parts = {k: [p for p in solid.split(only_watertight=True) if p.volume > 0] for k, solid in solids.items()}
    turning = {j.child: j for j in model.joints if j.kind == "revolute"}

    def meet(q, *links):
        T = [dynamics.forward_kinematics(model, q)[model.link_index(k)] for k in links]
        for (a, T_a), (b, T_b) in itertools.permutations(zip(links, T, strict=True)):
            T_ba = se3.inv(T_b) @ T_a
            points = below[a] @ T_ba[:3, :3].T + T_ba[:3, 3]
            for part in parts[b]:
                near = ((points > part.bounds[0]) & (points < part.bounds[1])).all(axis=1)
                if near.any() and part.contains(points[near]).any():
                    return True
        return False

    for joint in (j for j in turning.values() if j.name.startswith(joints)):
        chain = [joint, *([turning[joint.parent]] if joint.parent in turning else [])]
        for angles in itertools.product(*(np.linspace(j.limits.lower, j.limits.upper, 3) for j in chain)):
            q = model.neutral()
            for j, angle in zip(chain, angles, strict=True):
                q[model.q_slice(j.name)] = angle
            pairs = [(j.parent, j.child) for j in chain] + [(chain[-1].parent, joint.child)] * (len(chain) - 1)
            assert not any(meet(q, *pair) for pair in pairs), (joint.name, angles)


def test_the_quadruped_stands():
    """On its feet, by a controller that holds the joints at zero."""
    model = model_of("quadruped")
    contacts = engine.Contacts(engine.HalfSpace(), [("world", foot) for foot in FEET])
    hold = lambda t, q, v: np.concatenate([np.zeros(6), ops.clip(-60.0 * q[7:] - 1.5 * v[6:], -24.0, 24.0)])
    q = model.neutral()
    q[6] = 0.345
    motion = engine.Simulator(model, dt=1e-3, contacts=contacts, controller=hold).run(q, np.zeros(model.nv), 2.0, record_every=10)
    upright, weight = quaternion.to_matrix(motion.q[:, :4])[:, 2, 2], 9.81 * sum(link.mass for link in model.links)
    assert upright.min() > 0.999 and 0.30 < motion.q[-1, 6] < 0.345 and np.abs(motion.v[-1]).max() < 1e-2
    force = motion("contacts.force")[-1]
    assert force[:, 2].min() > 0.2 * weight and abs(force[:, 2].sum() / weight - 1.0) < 0.01


def test_the_servicer_keeps_its_momentum():
    """Its arms swing, and its base turns the other way."""
    model = model_of("dual_arm_servicer")
    goal = np.zeros(14)
    goal[[1, 3, 8, 10]] = 0.8, -1.2, 0.5, 1.0
    gains = np.tile([8.0, 80.0, 5.0, 40.0, 2.0, 5.0, 0.5], 2)  # small about the arms' own axes, where there is little to turn
    swing = lambda t, q, v: np.concatenate([np.zeros(6), gains * (goal * ops.minimum(0.1 * t, 1.0) - q[7:] - v[6:])])
    simulator = engine.Simulator(model, dt=5e-3, gravity=(0, 0, 0), controller=swing)
    motion = simulator.run(model.neutral(), np.zeros(model.nv), 15.0, record_every=20)
    assert np.abs(motion.momentum()).max() < 1e-9
    assert np.abs(motion.q[-1, 7:] - goal).max() < 0.1 and np.degrees(np.linalg.norm(quaternion.log(motion.q[-1, :4]))) > 0.5
