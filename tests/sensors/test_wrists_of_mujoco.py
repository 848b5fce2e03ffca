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
    """Return force and moment in MuJoCo, at first or so many steps later, and by how much forces may be off there, N or N·m: those of
    equalities solve (A + R) f = b instead of A f = b."""
    m = mujoco.MjModel.from_xml_string(xml)
    d = mujoco.MjData(m)
    for _ in range(steps):
        mujoco.mj_step(m, d)
    mujoco.mj_forward(m, d)
    J = d.efc_J.reshape(-1, m.nv)
    mujoco.mj_solveM(m, d, Y := np.zeros(J.shape), J)
    least = np.linalg.eigvalsh(J @ Y.T)[0]
    return d.sensordata[:3].copy(), d.sensordata[3:6].copy(), d.efc_R.max() / least * np.linalg.norm(d.efc_force)


@pytest.mark.parametrize("equality", [
    f'<weld body1="tool" body2="load" {HARD}/>', f'<weld body1="load" body2="tool" {HARD}/>',
    f'<connect body1="tool" body2="load" anchor="0.05 0.02 -0.06" {HARD}/>',
    f'<connect body1="load" body2="tool" anchor="0.05 0.02 -0.06" {HARD}/>',
])  # fmt: skip
def test_what_equalities_hold_is_felt_as_there(equality):
    """As all begins from rest, to what MuJoCo's softness makes of it."""
    mujoco = pytest.importorskip("mujoco")
    xml = MJCF.replace("EQUALITY", equality).replace("TOUCHES", "0").replace("LIFTED", "0.1")
    force, moment, off = measured(mujoco, xml)
    model = engine.load(xml)
    simulator = engine.simulator_of(model, sensors=S.of(model))
    run = simulator.run(model.described.q, np.zeros(model.nv), 0.002)
    assert off < 0.02 * np.linalg.norm(force)
    np.testing.assert_allclose(run.signals["force.force"][0], force, rtol=0, atol=off)
    np.testing.assert_allclose(run.signals["moment.moment"][0], moment, rtol=0, atol=off)


@pytest.mark.parametrize("equality", ["", f'<weld body1="tool" body2="load" {HARD}/>'])
def test_what_presses_on_the_ground_is_felt_as_there(equality):
    """When all has come to rest; the ground gives way by less than 1 mm in both, which turns the arm by as much."""
    mujoco = pytest.importorskip("mujoco")
    xml = MJCF.replace("EQUALITY", equality).replace("TOUCHES", "1").replace("LIFTED", "-0.5")
    xml = xml.replace("<joint name=\"flap\"", "<joint damping=\"0.5\" name=\"flap\"")
    force, moment, _ = measured(mujoco, xml, steps=8000)
    model = engine.load(xml)
    run = engine.simulator_of(model, sensors=S.of(model)).run(model.described.q, np.zeros(model.nv), 4.0, record_every=400)
    np.testing.assert_allclose(run.signals["force.force"][-1], force, rtol=0, atol=0.02 * np.linalg.norm(force))
    np.testing.assert_allclose(run.signals["moment.moment"][-1], moment, rtol=0, atol=0.05 * np.linalg.norm(moment))
