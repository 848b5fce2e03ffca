"""MuJoCo's force and torque sensors: where equalities hold, by a state at rest; and where a tool presses on the ground, at rest."""

import numpy as np
import pytest

import engine
from engine import sensors as S

#: an arm with a tool that holds a load of two links, and presses a ball under it to the ground
MJCF = """<mujoco><option timestep="0.0005"/><worldbody><geom type="plane" size="5 5 .1" condim="1"/>
<body name="slide" pos="0 0 0.6"><joint name="lift" type="slide" axis="0 0 1" damping="60" stiffness="300" springref="LIFTED"/>
 <inertial pos="0 0 0" mass="2" diaginertia=".02 .02 .02"/>
 <body name="fore" pos="0 0.02 0"><joint name="swing" axis="0 1 0.2" stiffness="30" damping="3"/>
  <inertial pos="0.05 0 -0.02" mass="0.3" diaginertia=".001 .001 .001"/>
  <body name="tool" pos="0.1 0 -0.1" euler="0 20 30"><inertial pos="0.02 0.01 0" mass="0.5" diaginertia=".002 .003 .002"/>
   <site name="w" pos="0.01 0.02 0.03" euler="10 20 30"/>
   <geom type="sphere" size="0.05" mass="0" condim="1" contype="0" conaffinity="TOUCHES"/></body></body></body>
<body name="load" pos="0.15 0.05 0.42"><freejoint/><inertial pos="0.01 0 0.02" mass="0.7" diaginertia=".002 .003 .002"/>
 <body name="flap" pos="0.1 0 0"><joint name="flap" axis="0 1 0"/><inertial pos="0.1 0 0" mass="0.2" diaginertia=".001 .001 .001"/></body>
</body></worldbody><equality>EQUALITY</equality>
<sensor><force name="force" site="w"/><torque name="moment" site="w"/></sensor></mujoco>"""
HARD = 'solref="0.002 1" solimp="0.9999 0.9999 0.001"'


def measured(mujoco, xml, steps=0):
    """Return force and moment (6) in MuJoCo, at first or so many steps later, and how soft what holds is there: forces of equalities solve
    (A + R) f = b instead of A f = b, which is off by R/λ of A's least λ."""
    m = mujoco.MjModel.from_xml_string(xml)
    d = mujoco.MjData(m)
    for _ in range(steps):
        mujoco.mj_step(m, d)
    mujoco.mj_forward(m, d)
    J = d.efc_J.reshape(-1, m.nv)
    mujoco.mj_solveM(m, d, Y := np.zeros(J.shape), J)
    return d.sensordata[:6].copy(), d.efc_R.max() / np.linalg.eigvalsh(J @ Y.T)[0]


@pytest.mark.parametrize("equality", [
    f'<weld body1="tool" body2="load" {HARD}/>', f'<weld body1="load" body2="tool" {HARD}/>',
    f'<connect body1="tool" body2="load" anchor="0.05 0.02 -0.06" {HARD}/>',
    f'<connect body1="load" body2="tool" anchor="0.05 0.02 -0.06" {HARD}/>',
])  # fmt: skip
def test_what_equalities_hold_is_felt_as_there(equality):
    """As all begins from rest, at the limit of MuJoCo's softness R: what is off is a R + b R², with ten times as much softness says a, and
    10 b R² is left."""
    mujoco = pytest.importorskip("mujoco")
    xml = MJCF.replace("EQUALITY", equality).replace("TOUCHES", "0").replace("LIFTED", "0.1")
    (there, soft), (softer, _) = measured(mujoco, xml), measured(mujoco, xml.replace("0.9999 0.9999", "0.999 0.999"))
    model = engine.load(xml)
    run = engine.simulator_of(model, sensors=S.of(model)).run(model.described.q, np.zeros(model.nv), 0.002)
    for part, name in ((slice(3), "force.force"), (slice(3, 6), "moment.moment")):
        left = (there[part] - softer[part]) / 9.0
        tolerance = 10.0 * soft * np.linalg.norm(left)
        assert tolerance < 1e-3 * np.linalg.norm(there[part])
        np.testing.assert_allclose(run.signals[name][0], there[part] + left, rtol=0, atol=tolerance)


def hard(xml, s):
    """The same with a ground that gives way with a time constant of s in MuJoCo."""
    return xml.replace('conaffinity="1"/>', f'conaffinity="1" priority="1" solref="{s} 1" solimp="0.9999 0.9999 0.001"/>')


def felt(xml, stiffness):
    """Return force and moment of the engine's at rest, with a tool and a ground of a stiffness."""
    model, material = engine.load(xml), engine.ContactMaterial(stiffness=stiffness, friction=0.0)
    contacts = engine.Contacts(ground=engine.HalfSpace(material=material), material=material)
    simulator = engine.simulator_of(model, sensors=S.of(model), contacts=contacts)
    run = simulator.run(model.described.q, np.zeros(model.nv), 4.0, record_every=400)
    return np.concatenate([run.signals["force.force"][-1], run.signals["moment.moment"][-1]])


@pytest.mark.parametrize("equality", ["", f'<weld body1="tool" body2="load" {HARD}/>'])
def test_what_presses_on_the_ground_is_felt_as_there(equality):
    """When all has come to rest, on a ground that gives way to nobody: what both still do there falls as 1/k, and as s² in MuJoCo, to less
    than the change from four times as soft a one."""
    mujoco = pytest.importorskip("mujoco")
    xml = MJCF.replace("EQUALITY", equality).replace("TOUCHES", "1").replace("LIFTED", "-0.5")
    xml = xml.replace("<joint name=\"flap\"", "<joint damping=\"0.05\" name=\"flap\"")
    soft, there = (measured(mujoco, hard(xml, s), steps=8000)[0] for s in (0.004, 0.002))
    softer, here = (felt(xml, k) for k in (5e6, 2e7))
    off = np.abs(here - softer) + np.abs(there - soft)
    assert (off < 1e-3 * np.linalg.norm(here)).all()
    assert (np.abs(here - there) < off).all(), (here, there, off)
