"""What hands do at the window: panels, handles, files, and events of the X server's own; as tests.viewer.desk:

    xvfb-run -a python -m tests.viewer.hands NAME …
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from pyglet.window import key

import engine
from engine.simulation import Live
from engine.viewer import Viewer
from engine.viewer.display.facts import figure
from engine.viewer.scene import Actor
from tests.viewer import mechanism
from tests.viewer.desk import SIZE, click, drag, pixel, press, servicer


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


def plots():
    """Plots stand where they are asked for, the card of a picked link above or beside them; another place is refused."""
    model = engine.load_urdf(engine.example("free_flyer"), floating_base=True)
    run = engine.Simulator(model, dt=0.01, gravity=(0, 0, 0)).run(model.neutral(), np.ones(model.nv), 1.0)
    for place in ("right", "left", "lower right", "lower left"):
        viewer = Viewer(run, (800, 600), signals=[("q.elbow_pitch", "q.shoulder_pitch")], plots=place)
        viewer.choose(viewer.scene.actors[0], 0, "gripper")
        viewer.frame()
        (x, y, *_), card = viewer.hud.boxes["plots"], viewer.hud.boxes["card"]
        first, *others = viewer.facts().plots
        assert [n for n, *_ in first.others] == ["shoulder_pitch"] and "energy change" in [p.name for p in others], viewer.facts().plots
        assert (x < 400) == ("left" in place) and (y > 200) == ("lower" in place or place == "left"), (place, x, y)
        assert x >= card[0] + card[2] or y >= card[1] + card[3], (place, card)
        viewer.close()
    try:
        Viewer(run, (800, 600), plots="middle")
    except engine.ViewerError as error:
        assert "plots is 'middle'; expected one of right, left" in str(error)
    else:
        raise AssertionError("a place that is none was taken")


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

    go(1.0)
    viewer.live.pause()
    go(0.1)
    first, last = viewer.recording.runs[0].pieces[0].t[0], viewer.live.state.t
    viewer.clock.reset()
    viewer.live.resume()
    go(0.3)
    until = time.monotonic() + 30.0
    while viewer.live.state.t < 0.2 and time.monotonic() < until:
        go(0.1)
    viewer.window.set_size(500, 400)
    go(0.5)
    assert viewer.recording is None and "another size" in viewer.toast and "saved" in viewer.toast, viewer.toast
    whole, again = (engine.load_trajectory(f"{model.name}-000{k}.h5") for k in ("", "-run2"))
    assert whole.t[0] == first and whole.t[-1] == last and (np.diff(whole.t) > 0).all() and len(whole) > 20
    assert again.t[0] < last and len(again) > 1                 # how soon after its beginning is a matter of the machine
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
    for name in sys.argv[1:]:
        print(name, end=" ", flush=True)
        globals()[name]()
    print("done")
