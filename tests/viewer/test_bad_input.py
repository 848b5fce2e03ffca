"""What cannot be drawn, or hardly as it was meant, is said in a sentence, before there is too much of it."""

import warnings

import numpy as np
import pytest

import engine
from engine import sensors
from engine.viewer.scene import Camera
from engine.viewer.scene.errors import ViewerWarning

SIZE = (64, 48)


@pytest.fixture(scope="module")
def run():
    builder = engine.Builder("craft")
    cube = engine.Geometry("box", (1.0, 1.0, 1.0))
    builder.add_link("bus", inertia=engine.spatial.inertia.box(1.0, (1.0, 1.0, 1.0)), visuals=[cube])
    builder.add_link("eye", inertia=engine.spatial.inertia.sphere(1.0, 0.1))
    builder.add_joint("mount", "fixed", "bus", "eye", engine.spatial.se3.pose(np.eye(3), np.array([0.0, 0.0, 0.8])))
    simulator = engine.Simulator(builder.model(floating_base=True), dt=0.01, gravity=(0, 0, 0))
    return simulator.run([1.0, 0, 0, 0, 0, 0, 0], np.zeros(6), 0.2)


@pytest.mark.parametrize(("place", "inside"), [((0.0, 0.0, 0.0), True), ((0.49, 0.49, -0.49), True), ((0.51, 0.0, 0.0), False)])
def test_a_camera_within_a_body_is_told(run, place, inside):
    camera = Camera(target=np.array(place) - Camera(distance=0.01).axes[:, 2] * 0.01, distance=0.01)
    np.testing.assert_allclose(camera.eye, place, atol=1e-15)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        engine.render(run, size=SIZE, camera=camera, samples=0)
    found = [str(w.message) for w in told if issubclass(w.category, ViewerWarning)]
    assert found == (["the camera is within 'bus' at t = 0.2 s, of which it sees nothing, or a part; expected a place outside, or "
                      "Shown(hidden=…) with those links"] if inside else [])  # fmt: skip


def test_a_camera_on_a_link_within_a_body_is_told_at_its_shot(run, tmp_path):
    inner = engine.Onboard("bus", eye=(0.1, 0.0, 0.0))
    with pytest.warns(ViewerWarning, match=r"the camera is within 'bus' at t = 0 s"):
        engine.render(run, tmp_path / "a.gif", size=SIZE, samples=0, shots=[(0.0, inner), (0.19, "front")])


def test_shots_out_of_order_are_refused(run, tmp_path):
    with pytest.raises(engine.ViewerError, match=r"shots begin at 0\.1, 0 s; expected each later than the one before"):
        engine.render(run, tmp_path / "a.gif", size=SIZE, shots=[(0.1, "front"), (0.0, "left")])


@pytest.mark.parametrize("data", [None, b"no picture"])
def test_a_texture_that_is_none_is_left_out_with_a_word(tmp_path, data):
    path = tmp_path / "print.png"
    if data:
        path.write_bytes(data)
    builder = engine.Builder("box")
    builder.add_link("box", visuals=[engine.Geometry("box", (1.0, 1.0, 1.0), material=engine.Material("print", None, path))])
    with pytest.warns(UserWarning, match=r"print.png: the texture cannot be read .*; expected a picture; its shape is drawn without it"):
        assert engine.render(builder.model(), size=SIZE, samples=0).shape == (48, 64, 3)


def test_a_texture_that_a_robots_file_names_and_that_is_not_there_is_told(tmp_path):
    look = '<material name="p"><texture filename="gone.png"/></material>'
    shape = f'<visual><geometry><box size="1 1 1"/></geometry>{look}</visual>'
    (tmp_path / "r.urdf").write_text(f'<robot name="r"><link name="a">{shape}</link></robot>')
    with pytest.warns(engine.RobotFileWarning, match=r"r.urdf:1: .*texture 'gone.png' is not there; .*its shape is drawn without it$"):
        assert engine.render(engine.load_urdf(tmp_path / "r.urdf"), size=SIZE, samples=0).shape == (48, 64, 3)
    model = engine.io.model_from_text(engine.io.model_text(engine.load_urdf(tmp_path / "r.urdf")))
    assert "'gone.png' is not there" in model.link("a").visuals[0].material.fault


def test_an_epoch_that_is_none_is_refused_and_an_earth_without_one_is_there():
    with pytest.raises(engine.ViewerError, match=r"epoch is 'today'; expected an engine\.space\.Epoch"):
        engine.Sky(epoch="today")
    globe = engine.Sky().globe(0.0, None)
    assert globe is not None and np.isfinite(globe.sun).all()


def test_so_many_rays_are_refused_by_the_memory_they_would_take(run, monkeypatch):
    monkeypatch.setattr("engine.sensors.ray_sensors.memory", lambda: 8 << 30)
    many = sensors.DepthCamera("eye", width=10_000, height=10_000)
    with pytest.raises(engine.SimulationError, match=r"would read 21 times 100000000 distances, .* GiB, and this machine has"):
        many.frames(run)
    with pytest.raises(engine.SimulationError, match=r"has 100000000 rays, .*; expected 20000 at most"):
        engine.Simulator(run.model, sensors=[many])
    with pytest.raises(engine.ViewerError, match=r"depth_camera has 100000000 rays, which take 8\.94 GiB .*; expected at most 4000000"):
        engine.render(run, size=SIZE, shown=engine.Shown(eyes=(many,)))
    with pytest.raises(engine.ViewerError, match="the size is"):
        engine.images(run, many)
    with pytest.raises(engine.ViewerError, match=r"20001 images of depth_camera, 8000 x 8000, take .* GiB, and this machine has"):
        engine.images(run, sensors.DepthCamera("eye", width=8000, height=8000, period=1e-5))
    assert "rays" not in vars(many)                                            # none of them was made


def test_a_font_without_the_letters_says_so_once(run, monkeypatch):
    from engine.viewer.draw import fonts
    from engine.viewer.draw.fonts import FontWarning

    monkeypatch.setattr(fonts, "has", lambda file, character: False)
    monkeypatch.setattr(fonts, "NOWHERE", set())
    fonts.file_with.cache_clear()
    fonts.TOLD.clear()
    with pytest.warns(FontWarning, match="no font here has '\U00013000', '\U00013001', which becomes a box; expected one that has") as told:
        engine.render(run, size=(320, 240), caption="\U00013000\U00013001\U00013000", samples=0)
    assert sum(issubclass(w.category, FontWarning) for w in told) == 1
