"""What a person does at the window, as scenarios that run one after the other on a virtual display:

    xvfb-run -a python -m tests.viewer.desk NAME …
"""

import ctypes
import doctest
import gc
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from pyglet.window import key, mouse
from pytest import approx

import engine
from engine.simulation import Live
from engine.viewer import Viewer
from engine.viewer.window.keys import KEYS
from tests.viewer import mechanism

SIZE = (480, 360)


def servicer():
    return engine.load_urdf(engine.example("free_flyer"), floating_base=True)


def motion(model, duration=2.0):
    v = np.zeros(model.nv)
    v[:3], v[6:] = (0.1, -0.2, 0.3), 0.2
    return engine.Simulator(model, dt=5e-3, gravity=(0, 0, 0)).run(model.neutral(), v, duration, record_every=4)


def pixel(viewer, point):
    """A point's place in the window as events give it: from the lower left corner."""
    x, y = viewer.camera.project(point, viewer.window.get_framebuffer_size())[0]
    return int(x), viewer.window.get_size()[1] - 1 - int(y)


def press(viewer, symbol, modifiers=0):
    viewer.window.dispatch_event("on_key_press", symbol, modifiers)
    viewer.window.dispatch_event("on_key_release", symbol, modifiers)
    viewer.frame()


def click(viewer, x, y, button=mouse.LEFT, modifiers=0):
    viewer.window.dispatch_event("on_mouse_press", x, y, button, modifiers)
    viewer.window.dispatch_event("on_mouse_release", x, y, button, modifiers)
    viewer.frame()


def drag(viewer, x, y, dx, dy, button=mouse.LEFT, modifiers=0, release=True):
    viewer.window.dispatch_event("on_mouse_press", x, y, button, modifiers)
    viewer.frame()
    for _ in range(4):
        x, y = x + dx // 4, y + dy // 4
        viewer.window.dispatch_event("on_mouse_drag", x, y, dx // 4, dy // 4, button, modifiers)
        viewer.frame()
    if release:
        viewer.window.dispatch_event("on_mouse_release", x, y, button, modifiers)
        viewer.frame()


# ---------------------------------------------------------------- scenarios


def trajectory():
    """Look at a motion: play, scrub, turn, pick, press every key, resize, save, close."""
    os.chdir(tempfile.mkdtemp())
    model = servicer()
    viewer = Viewer(motion(model), SIZE)
    viewer.frame()
    assert viewer.playback.playing and np.ptp(viewer.picture()) > 100
    first = viewer.t
    time.sleep(0.05)
    viewer.frame()
    assert viewer.t > first
    press(viewer, key.SPACE)
    still, before = viewer.t, viewer.picture()
    viewer.frame()
    assert viewer.t == still and not viewer.playback.playing

    press(viewer, key.TAB)                                      # without the display pictures depend on the scene alone
    before = viewer.picture()
    viewer.frame()
    assert np.array_equal(viewer.picture(), before)
    press(viewer, key.RIGHT)
    assert abs(viewer.t - still - 1 / 60) < 1e-9
    press(viewer, key.RIGHT, key.MOD_SHIFT)
    assert np.abs(viewer.scene.actors[0].source.trajectory.t - viewer.t).min() < 1e-12
    press(viewer, key.END)
    assert viewer.t == 2.0 and not np.array_equal(viewer.picture(), before)
    press(viewer, key.HOME)
    assert viewer.t == 0.0

    eye, target, distance = viewer.camera.eye, viewer.camera.target, viewer.camera.distance
    drag(viewer, 100, 100, 80, 40)
    assert np.linalg.norm(viewer.camera.eye - eye) > 0.1 * distance and np.allclose(viewer.camera.target, target)
    drag(viewer, 100, 100, 80, 0, mouse.RIGHT)
    assert np.linalg.norm(viewer.camera.target - target) > 0.05
    viewer.window.dispatch_event("on_mouse_scroll", 100, 100, 0.0, 3.0)
    viewer.frame()
    assert viewer.camera.distance < 0.8 * distance
    press(viewer, key.F)
    assert abs(viewer.camera.distance - distance) < 0.5 * distance

    bus = viewer.scene.actors[0].poses(viewer.t)[0, model.link_index("bus"), :3, 3]
    click(viewer, *pixel(viewer, bus))
    assert viewer.picked is not None and viewer.picked[2] == "bus", viewer.picked
    before = viewer.picture()
    press(viewer, key.ESCAPE)
    assert viewer.picked is None and not np.array_equal(viewer.picture(), before)
    click(viewer, *pixel(viewer, bus))
    click(viewer, *pixel(viewer, bus))                          # double click: it is in the middle now
    assert np.linalg.norm(viewer.camera.target - bus) < 2.0

    press(viewer, key.END)
    press(viewer, key.F)
    changes = {"J", "K", "M", "I", "P", "N", "L", "W", "T", "C", "E", "_1", "_2", "_3", "_4", "_5", "_6", "TAB", "H"}
    for name in KEYS:
        if name in ("ESCAPE", "S", "F"):
            continue
        before = viewer.picture()
        press(viewer, getattr(key, name))
        assert name not in changes or not np.array_equal(viewer.picture(), before), f"{name} changes nothing"
        press(viewer, getattr(key, name))
        viewer.playback.pause()
        press(viewer, key.END)
    assert not viewer.closed

    viewer.window.set_size(400, 300)
    for _ in range(20):
        viewer.frame()
        if viewer.picture().shape == (300, 400, 3):
            break
        time.sleep(0.05)
    assert viewer.picture().shape == (300, 400, 3), viewer.picture().shape
    with tempfile.TemporaryDirectory() as folder:
        path = viewer.save(Path(folder) / "picture.png")
        from PIL import Image

        with Image.open(path) as image:
            assert image.size == (400, 300)

    viewer.display = True
    viewer.frame()
    x, y, w, h = viewer.hud.boxes["bar"]
    click(viewer, int(x + 0.25 * w), int(300 - 1 - (y + h / 2)))
    assert abs(viewer.t - 0.5) < 0.05
    drag(viewer, int(x + 0.25 * w), int(300 - 1 - (y + h / 2)), int(0.5 * w), 0)
    assert abs(viewer.t - 1.5) < 0.05
    press(viewer, key.ESCAPE)
    press(viewer, key.ESCAPE)
    assert viewer.closed
    viewer.close()


def joints():
    """A model at rest: Ctrl and drag move the joints above a link, within their limits, and the link follows the mouse; the base stays."""
    model = servicer()
    viewer = Viewer(model, SIZE)
    viewer.frame()
    press(viewer, key.TAB)
    link = model.link_index("elbow_pitch_link")
    where = viewer.scene.actors[0].poses(0.0)[0, link, :3, 3]
    before = viewer.scene.actors[0].source.q.copy()
    x, y = pixel(viewer, where)
    point = viewer.pick((x, SIZE[1] - 1 - y))[3]
    drag(viewer, x, y, 12, 0, modifiers=key.MOD_CTRL)
    assert viewer.picked is not None
    q = viewer.scene.actors[0].source.q
    assert np.abs(q - before)[0, 7:].max() > 1e-3 and np.array_equal(q[0, :7], before[0, :7]), q
    assert np.array_equal(model.within_limits(q[0]), q[0])
    T0, T1 = (viewer.scene.actors[0].source.robot.forward_kinematics(x)[link] for x in (before[0], q[0]))
    now = T1[:3, :3] @ T0[:3, :3].T @ (point - T0[:3, 3]) + T1[:3, 3]
    assert np.linalg.norm(np.subtract(pixel(viewer, now), (x + 12, y))) < 3.0
    viewer.close()


def live():
    """A simulation that runs: pause, go on, look back, pull, reset."""
    model = servicer()
    simulator = engine.Simulator(model, dt=2e-3, gravity=(0, 0, 0))
    viewer = Viewer(Live(simulator, model.neutral(), np.zeros(model.nv)), SIZE)
    begun = time.perf_counter()
    while viewer.t < 0.5 and time.perf_counter() - begun < 30:
        viewer.frame()
    assert viewer.t >= 0.5
    bus = viewer.scene.actors[0].poses(viewer.t)[0, model.link_index("bus"), :3, 3]
    drag(viewer, *pixel(viewer, bus), 60, 0, modifiers=key.MOD_CTRL, release=False)
    begun, speed = time.perf_counter(), 0.0
    while speed < 0.01 and time.perf_counter() - begun < 30:
        viewer.frame()
        speed = float(np.linalg.norm(viewer.live.state.v[3:6]))
    assert speed >= 0.01
    viewer.window.dispatch_event("on_mouse_release", 0, 0, mouse.LEFT, 0)
    press(viewer, key.SPACE)
    assert viewer.live.paused
    time.sleep(0.1)
    now = viewer.live.state.t
    press(viewer, key.RIGHT)                                                   # a frame further, by steps of the simulation
    assert viewer.live.paused and viewer.live.state.t - now == approx(8 * 2e-3)
    now = viewer.live.state.t
    press(viewer, key.LEFT)                                                    # and back, in what is remembered
    assert viewer.t == approx(now - 1 / 60) and viewer.live.state.t == now
    press(viewer, key.HOME)
    assert viewer.t < 0.1 and viewer.live.state.t == now
    press(viewer, key.SPACE)
    begun = time.perf_counter()
    while viewer.t <= now and time.perf_counter() - begun < 30:
        viewer.frame()
    assert viewer.t > now
    viewer.close()
    assert viewer.live.paused or not viewer.live._thread.is_alive()


def pilot():
    """All keys but a few are the pilot's; arrows turn the camera."""
    seen = []
    viewer = Viewer(servicer(), SIZE, keys=lambda held, pressed: seen.append((held, pressed)))
    for _ in range(5):                                          # the window is there, and what it says of itself is heard
        viewer.frame()
    seen.clear()
    viewer.window.dispatch_event("on_key_press", key.W, 0)
    viewer.frame()
    viewer.frame()
    viewer.window.dispatch_event("on_key_release", key.W, 0)
    viewer.frame()
    assert seen == [(frozenset({"W"}), "W"), (frozenset({"W"}), None), (frozenset(), None)], seen
    azimuth = viewer.camera.azimuth
    viewer.window.dispatch_event("on_key_press", key.LEFT, 0)
    time.sleep(0.02)
    viewer.frame()
    assert viewer.camera.azimuth != azimuth
    press(viewer, key.H)
    assert viewer.helping
    viewer.close()


def again():
    """Opened and closed nine times: no crash, and no memory that stays."""
    trajectory = motion(servicer(), 0.5)

    def resident():
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)  # what the allocator keeps for later is not kept by us
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    sizes = []
    for _ in range(9):
        viewer = Viewer(trajectory, SIZE)
        viewer.frame()
        viewer.close()
        sizes.append(resident())
    assert np.median(np.diff(sizes)[2:]) < 1.2e6, np.diff(sizes)


def playing():
    """A hundred and fifty frames: the memory is flat."""
    viewer = Viewer(mechanism.motion(mechanism.mechanism()), (160, 120))
    sizes = []
    for k in range(150):
        viewer.playback.advance(1 / 60)
        viewer.frame()
        if k % 15 == 14:
            gc.collect()
            sizes.append(int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE"))
    viewer.close()
    assert sizes[-1] - sizes[1] < 2e6, np.diff(sizes)


def examples():
    """Those of the methods' docstrings, each at a window of its own."""
    methods = {name: x for name, x in vars(Viewer).items() if not name.startswith("_") and ">>>" in (x.__doc__ or "")}
    assert len(methods) > 30
    for name, x in methods.items():
        text = x.__doc__.replace("# doctest: +SKIP", "")
        test = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            assert not doctest.DocTestRunner().run(test, clear_globs=False).failed, name
            os.chdir("/")
        test.globs["viewer"].close()


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(name, end=" ", flush=True)
        globals()[name]()
    print("done")
