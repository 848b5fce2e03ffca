"""What a person does at the window, as scenarios that run in a process of their own on a virtual display:

    xvfb-run -a python -m tests.viewer.desk NAME
"""

import gc
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from pyglet.window import key, mouse

import engine
from engine.simulation import Live
from engine.viewer import Viewer
from engine.viewer.display.facts import figure
from engine.viewer.scene import Actor
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


def handles():
    """The picked link's handles: an arrow shifts it along its axis alone, an arc turns it about it alone."""
    arm = mechanism.arm()
    viewer = Viewer(Actor(arm, q=np.array([0.3, -0.6, 0.9, 0.5, 0.9, 0.2])), SIZE)
    viewer.frame()
    press(viewer, key.TAB)
    viewer.camera.dolly(1.6)
    link = arm.links[-1].name
    actor = viewer.scene.actors[0]
    viewer.choose(actor, 0, link)
    viewer.frame()
    for handle in range(6):
        T0 = actor.poses(0.0)[0, -1]
        line = viewer._gizmo(viewer.camera).lines()[handle]
        begin, end = (line[-1], line[5]) if handle < 3 else (line[8], line[12])
        x, y = pixel(viewer, begin)
        assert viewer._gizmo(viewer.camera).hit((x, SIZE[1] - 1 - y), SIZE) == handle
        dx, dy = np.subtract(pixel(viewer, end), (x, y)) // 4 * 4
        drag(viewer, x, y, int(dx), int(dy))
        assert viewer.grip is None and viewer.picked[2] == link
        T1, axis = actor.poses(0.0)[0, -1], np.eye(3)[handle % 3]
        shift, turn = T1[:3, 3] - T0[:3, 3], engine.spatial.so3.log(T1[:3, :3] @ T0[:3, :3].T)
        own, other = (shift, turn) if handle < 3 else (turn, shift)
        assert abs(own @ axis) > 0.01, (handle, own)
        assert np.linalg.norm(own - (own @ axis) * axis) < 2e-3 and np.linalg.norm(other) < 2e-3, (handle, own, other)
    viewer.close()


def panel():
    """The side panel: sliders, typed values, overlays, links hidden and found, views kept, four views, measuring."""
    model = servicer()
    viewer = Viewer(model, (900, 600))
    viewer.frame()
    source = viewer.scene.actors[0].source

    def on(name, across=0.5):
        x, y, w, h = viewer.hud.panel.boxes[name]
        click(viewer, int(x + across * w), int(599 - (y + 0.5 * h)))

    def write(text, end=key.RETURN):
        for letter in text:
            viewer.window.dispatch_event("on_text", letter)
        press(viewer, end)

    press(viewer, key.A)
    assert viewer.tabs.open == "Joints"
    k = model.labels("q").index("elbow_pitch")
    viewer.hud.panel.scroll = 1e6                               # the last rows
    viewer.frame()
    limits = next(j for j in model.joints if j.name == "elbow_pitch").limits
    on("elbow_pitch", 0.75)
    slid = source.q[0, k]
    assert 0.0 < slid < float(limits.upper)
    on("value elbow_pitch")
    write("−0.25")
    assert source.q[0, k] == -0.25
    on("value elbow_pitch")
    write("0x2")
    assert source.q[0, k] == -0.25 and "is no number" in viewer.toast
    on("value elbow_pitch")
    write("99")
    assert source.q[0, k] == float(limits.upper) and "within" in viewer.toast
    on("value elbow_pitch")
    write("1", key.ESCAPE)
    assert source.q[0, k] == float(limits.upper) and not viewer.closed
    on("as at first")
    assert np.array_equal(source.q, source.first)

    on("tab Show")
    before = viewer.picture()
    on("centres of mass")
    assert viewer.shown.centers is True and not np.array_equal(viewer.picture(), before)
    on("tab Links")
    on("find a link")
    for letter in "elbow":
        viewer.window.dispatch_event("on_text", letter)
    viewer.frame()
    assert [n for n in viewer.hud.panel.boxes if n.startswith("hide ")] == ["hide elbow_pitch_link"]
    press(viewer, key.RETURN)
    on("elbow_pitch_link")
    assert viewer.picked[2] == "elbow_pitch_link"
    on("only elbow_pitch_link")
    assert "bus" in viewer.shown.hidden and "elbow_pitch_link" not in viewer.shown.hidden
    bus = viewer.scene.actors[0].poses(0.0)[0, model.link_index("bus"), :3, 3]
    assert viewer.pick(viewer.hands._point(*pixel(viewer, bus))) is None
    on("show all")
    assert not viewer.shown.hidden and viewer.pick(viewer.hands._point(*pixel(viewer, bus)))[2] == "bus"

    on("tab Views")
    on("keep this view")
    kept = viewer.camera.eye
    on("from the left")
    assert not np.allclose(viewer.camera.eye, kept)
    on("view 1")
    assert np.allclose(viewer.camera.eye, kept)
    on("remove view 1")
    assert not viewer.tabs.kept
    on("four views")
    quarters = [part for half in np.split(viewer.picture(), 2) for part in np.split(half, 2, axis=1)]
    assert len(viewer.cameras) == 4 and all(np.ptp(part) > 60 for part in quarters)
    before = [camera.distance for camera in viewer.cameras]
    viewer.window.dispatch_event("on_mouse_scroll", 700, 100, 0.0, 3.0)
    viewer.frame()
    assert [camera.distance < d for camera, d in zip(viewer.cameras, before, strict=True)] == [False, False, False, True]
    press(viewer, key.Q)
    assert len(viewer.cameras) == 1
    press(viewer, key.A)
    assert viewer.tabs.open == ""

    press(viewer, key.ESCAPE)
    press(viewer, key.D)
    click(viewer, *pixel(viewer, bus))
    click(viewer, *pixel(viewer, bus + 0.2 * viewer.camera.axes[:, 0]))
    assert not viewer.measuring and len(viewer.measured) == 2
    (label,) = viewer.drawing().labels
    assert 0.1 < float(label[1].split(" m")[0]) < 0.4, label
    press(viewer, key.D)
    assert not viewer.measured
    viewer.close()


def files():
    """A film of a run, with the run; files dropped on the window, whole and broken."""
    os.chdir(tempfile.mkdtemp())
    model = servicer()
    viewer = Viewer(Live(engine.Simulator(model, dt=2e-3, gravity=(0, 0, 0)), model.neutral(), np.full(model.nv, 0.1)), SIZE)
    viewer.frame()
    press(viewer, key.R)
    begun = time.perf_counter()
    while time.perf_counter() - begun < 1.5:
        viewer.frame()
    press(viewer, key.R)
    assert "saved" in viewer.toast, viewer.toast
    import av

    with av.open(f"{model.name}-000.mp4") as film:
        frames = sum(1 for _ in film.decode(video=0))
    assert 30 <= frames < 150, frames
    run = engine.load_trajectory(f"{model.name}-000.h5")
    assert 0.5 < run.t[-1] - run.t[0] < 5.0
    live = viewer.live
    viewer.window.dispatch_event("on_file_drop", 10, 10, [f"{model.name}-000.h5"])
    viewer.frame()
    assert viewer.live is None and viewer.clock.playback.span == (run.t[0], run.t[-1]) and not live._thread.is_alive()
    viewer.window.dispatch_event("on_file_drop", 10, 10, [str(engine.example("free_flyer"))])
    viewer.frame()
    assert viewer.scene.actors[0].model.nv == model.nv - 6 and viewer.clock.playback.span == (0.0, 0.0)
    Path("broken.urdf").write_text("<robot name='x'><link")
    viewer.window.dispatch_event("on_file_drop", 10, 10, ["broken.urdf"])
    viewer.frame()
    assert "broken.urdf" in viewer.toast and viewer.scene.actors[0].model.nv == model.nv - 6
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
    """Opened and closed twelve times: no crash, and no memory that stays."""
    trajectory = motion(servicer(), 0.5)

    def resident():
        gc.collect()
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    sizes = []
    for _ in range(12):
        viewer = Viewer(trajectory, SIZE)
        viewer.frame()
        viewer.close()
        sizes.append(resident())
    assert np.median(np.diff(sizes)[4:]) < 1.2e6, np.diff(sizes)  # what comes and goes by blocks of the allocator's is none that stays


def playing():
    """Four hundred frames: the memory is flat."""
    viewer = Viewer(mechanism.motion(mechanism.mechanism()), (160, 120))
    sizes = []
    for k in range(400):
        viewer.playback.advance(1 / 60)
        viewer.frame()
        if k % 50 == 49:
            gc.collect()
            sizes.append(int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE"))
    viewer.close()
    assert sizes[-1] - sizes[1] < 3e6, np.diff(sizes)


def records():
    """A film without pictures, one whose window is resized, and a run that begins again and goes on for longer than is remembered."""
    os.chdir(tempfile.mkdtemp())
    model = servicer()
    viewer = Viewer(model, SIZE)
    viewer.frame()
    viewer.record()
    viewer.record()
    assert "there is no film" in viewer.toast, viewer.toast
    viewer.record()
    viewer.close()                                              # which ends it

    simulator = engine.Simulator(model, dt=1e-2, gravity=(0, 0, 0))
    viewer = Viewer(Live(simulator, model.neutral(), np.full(model.nv, 0.1)), SIZE)
    viewer.live.trace = viewer.live.trace.__class__(viewer.live.simulator, kept=20)
    viewer.live.trace.append(viewer.live.state)
    viewer.frame()
    viewer.record()

    def go(seconds):
        begun = time.perf_counter()
        while time.perf_counter() - begun < seconds:
            viewer.frame()

    go(1.5)
    viewer.live.pause()
    go(0.1)
    first, last = viewer.recording.runs[0].pieces[0].t[0], viewer.live.state.t
    viewer.clock.reset()
    viewer.live.resume()
    go(0.7)
    viewer.window.set_size(500, 400)
    go(0.5)
    assert viewer.recording is None and "another size" in viewer.toast and "saved" in viewer.toast, viewer.toast
    whole, again = (engine.load_trajectory(f"{model.name}-000{k}.h5") for k in ("", "-run2"))
    assert whole.t[0] == first and whole.t[-1] == last and (np.diff(whole.t) > 0).all() and len(whole) > 20
    assert again.t[0] < 0.1 < again.t[-1]
    viewer.close()


def rollouts():
    """Readings are of the robot that is picked, and say so; its mass is the rollout's."""
    model = servicer()
    masses = np.array([50.0, 5000.0])
    simulator = engine.Simulator(model, dt=1e-2, gravity=(0, 0, 0), parameters={"mass.bus": 400.0})
    batch = simulator.run(np.tile(model.neutral(), (2, 1)), np.full((2, model.nv), 0.1), 0.1, parameters={"mass.bus": masses})
    viewer = Viewer(batch, SIZE)
    viewer.frame()
    for k, mass in enumerate(("50.00 kg", "5000 kg")):
        viewer.choose(viewer.scene.actors[0], k, "bus")
        facts = viewer.facts()
        assert facts.title == f"free_flyer, rollout {k} of 2" and ("mass", mass) in facts.card.rows, (facts.title, facts.card)
        K = float(batch.rollout(k).at([viewer.t]).energy()[0][0])
        assert dict(facts.lines)["kinetic energy"] == f"{figure(K)} J"
    viewer.close()


def real():
    """The X server's own events, as a keyboard and a mouse make them: every kind of control once."""
    model = servicer()
    viewer = Viewer(model, (900, 600))

    def x(*words):
        subprocess.run(["xdotool", *map(str, words)], check=True)

    def until(what, happened):
        begun = time.perf_counter()
        while not happened():
            assert time.perf_counter() - begun < 20, what
            viewer.frame()
            time.sleep(0.01)

    def point(name, across=0.5):
        left, top, w, h = viewer.hud.panel.boxes[name]
        x("mousemove", int(left + across * w), int(top + 0.5 * h))

    for _ in range(5):
        viewer.frame()
    x("windowfocus", viewer.window._window)                      # there is no window manager to do that
    x("mousemove", 450, 300)
    until("the pointer", lambda: viewer.hands.mouse == (450, 300))
    x("key", "a")
    until("a key", lambda: viewer.tabs.open == "Joints")
    azimuth, distance, target = viewer.camera.azimuth, viewer.camera.distance, viewer.camera.target
    x("mousemove", 300, 400, "mousedown", 1, "mousemove", 360, 400, "mouseup", 1)
    until("a drag", lambda: viewer.camera.azimuth != azimuth)
    x("click", 4)
    until("the wheel", lambda: viewer.camera.distance < distance)
    x("mousemove", 300, 400, "mousedown", 3, "mousemove", 330, 420, "mouseup", 3)
    until("the right button", lambda: not np.array_equal(viewer.camera.target, target))
    source = viewer.scene.actors[0].source
    point(next(n for n in viewer.hud.panel.boxes if n.endswith(" y")))
    x("mousedown", 1)
    x("mousemove_relative", 30, 0, "mouseup", 1)
    until("a slider", lambda: source.q[0, 5] > 0.0)
    value = next(n for n in viewer.hud.panel.boxes if n.startswith("value") and n.endswith(" z"))
    point(value)
    x("click", 1)
    until("a number's place", lambda: viewer.hands.typed is not None)
    x("key", "minus", "1", "period", "9", "BackSpace", "5", "Return")
    until("a typed number", lambda: source.q[0, 6] == -1.5)
    distance = viewer.camera.distance
    x("key", "f")
    until("all of it", lambda: viewer.camera.distance != distance)
    bus = viewer.scene.actors[0].poses(0.0)[0, model.link_index("bus"), :3, 3]
    across, up = pixel(viewer, bus)
    x("mousemove", across, 599 - up, "click", 1)
    until("a click", lambda: viewer.picked is not None and viewer.picked[2] == "bus")
    before = source.q.copy()
    x("keydown", "ctrl", "mousemove", across, 599 - up, "mousedown", 1)
    until("a hold", lambda: viewer.grip is not None)
    x("mousemove_relative", 40, 0, "mouseup", 1, "keyup", "ctrl")
    until("a pull", lambda: viewer.grip is None and not np.array_equal(source.q, before))
    x("key", "h")
    until("help", lambda: viewer.helping)
    x("key", "Escape")
    until("an end of help", lambda: not viewer.helping)
    x("key", "Escape", "Escape")
    until("the end", lambda: viewer.closed)
    viewer.close()


if __name__ == "__main__":
    globals()[sys.argv[1]]()
    print("done")
