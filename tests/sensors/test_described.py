"""Sensors of files: MJCF's read as MuJoCo has them, SDF's with their noise, rates and poses."""

import warnings

import numpy as np
import pytest

import engine
from engine import sensors as S

MJCF = """<mujoco><worldbody><body name="b" pos="0 0 1"><joint name="hip" axis="0 1 0"/><geom size="0.1" pos="0 0 -.3" mass="2"/>
  <site name="s" pos="0 0.1 -.3" euler="30 0 0"/><body name="c" pos="0 0 -0.4"><joint name="knee" axis="0 1 0" armature="0.01"/>
  <geom type="box" size="0.1 0.05 0.2" pos="0.05 0 -0.2" mass="1"/>
  <site name="k" pos="0.02 0 0.03" euler="0 40 10"/></body></body></worldbody>
  <actuator><motor joint="hip" name="motor"/></actuator>
  <sensor><gyro name="rate" site="k" noise="0.01"/><accelerometer site="k" name="acc"/>
  <jointpos name="angle" joint="knee"/><jointvel name="speed" joint="knee" cutoff="0.2"/><force name="force" site="k"/>
  <torque name="moment" site="s"/><framequat objtype="site" objname="k" name="attitude"/>
  <framepos objtype="xbody" objname="c" name="place"/>
  <jointactuatorfrc joint="hip" name="effort"/><rangefinder site="s"/></sensor></mujoco>"""


def test_mjcf_is_what_mujoco_measures():
    """Outside reference: MuJoCo's own sensors at the same state, to the rounding of both."""
    mujoco = pytest.importorskip("mujoco")
    model = engine.load(MJCF)
    simulator = engine.simulator_of(model, sensors=S.of(model), contacts=None, joint_dynamics=None,
                                    controller=lambda t, q, v: {"motor": 3.0})  # fmt: skip
    run = simulator.run([0.4, -0.7], [0.5, 1.5], 0.1)
    m = mujoco.MjModel.from_xml_string(MJCF)
    d, k, s = mujoco.MjData(m), 30, run.signals
    d.qpos[:], d.qvel[:], d.ctrl[:] = run.q[k], run.v[k], 3.0
    mujoco.mj_forward(m, d)
    np.testing.assert_allclose(run.vdot[k], d.qacc, rtol=1e-10)
    found = {m.sensor(i).name: d.sensordata[m.sensor_adr[i] : m.sensor_adr[i] + m.sensor_dim[i]] for i in range(m.nsensor)}
    ours = {"rate": s["rate.true"], "acc": s["acc"], "angle": s["angle"], "speed": s["speed"], "force": s["force.force"],
            "moment": s["moment.moment"], "place": s["place.position"], "effort": s["effort"]}  # fmt: skip
    for name, x in ours.items():
        np.testing.assert_allclose(x[k], np.squeeze(found[name]), rtol=1e-9, atol=1e-9, err_msg=name)
    assert abs(abs(s["attitude.q"][k] @ found["attitude"]) - 1.0) < 1e-12
    assert abs(s["speed"][k]) == 0.2 < abs(run.v[k, 1])
    assert 0.003 < (s["rate"] - s["rate.true"]).std() < 0.03


def test_sdf_says_rates_noise_and_poses():
    axis = "<{0}><noise type='gaussian'><stddev>{1}</stddev><bias_mean>{2}</bias_mean></noise></{0}>"
    each = "".join(axis.format(a, 0.01, 0.5 * (a == "z")) for a in "xyz")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = engine.load_sdf(f"""<sdf version="1.9"><model name="stone"><link name="stone">
      <sensor name="imu1" type="imu"><pose>0 0 1 0 0 0</pose>
      <update_rate>100</update_rate><imu><angular_velocity>{each}</angular_velocity></imu></sensor>
      <sensor name="fix" type="navsat"/></link><link name="hand"/><joint name="j" type="revolute"><parent>stone</parent><child>hand</child>
      <axis><xyz>0 0 1</xyz></axis><sensor name="wrist" type="force_torque"/></joint></model></sdf>""")
    imu, fix, wrist = S.of(model)
    assert (imu.called.law.period, fix.link, wrist.link) == (0.01, "stone", "hand")
    np.testing.assert_allclose(imu.parameters["imu1.rate.noise"], 0.01 * np.sqrt(0.01))
    np.testing.assert_array_equal(imu.parameters["imu1.rate.bias"], [0, 0, 0.5])
    np.testing.assert_array_equal(imu.placement[:3, 3], [0, 0, 1])
    two = engine.combine(a=model, b=model)
    assert [x.link for x in S.of(two)] == ["a/stone", "a/stone", "a/hand", "b/stone", "b/stone", "b/hand"]
    with pytest.raises(engine.SimulationError, match="describes no sensors that there are"):
        S.of(engine.load(engine.example("seven_joint_arm")))
