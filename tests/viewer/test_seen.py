"""What was found wrong with looking at things: Mars that was grey, a window that was black, labels on each other, arrows in a body."""

import numpy as np
import pytest

import engine
from engine.components.forces import PointForce
from engine.viewer.draw.canvas import Canvas
from engine.viewer.scene.shown import Shown
from tests.bench.robots import ROBOTS
from tests.viewer.test_hud import Written
from tests.viewer.test_hud import apart as clear

PANDA = "panda_description/urdf/panda.urdf"


def box(size=1.0, **more):
    builder = engine.Builder("bus")
    builder.add_link("bus", inertia=engine.spatial.inertia.box(1.0, [size] * 3), visuals=[engine.Geometry("box", [size] * 3, **more)])
    return builder.model(floating_base=True)


def test_mars_is_red_and_the_moon_grey_under_a_black_sky():
    """The ground, and the sky at the top, of a picture of a box."""
    colours = {}
    for name in ("mars", "moon"):
        picture = engine.render(box(), size=(160, 120), samples=0, environment=name).astype(float)
        colours[name] = picture[-8:].mean(axis=(0, 1)), picture[:4].mean(axis=(0, 1))
    ground, sky = colours["mars"]
    assert ground[0] > 1.3 * ground[2] and sky[0] > sky[2]
    ground, sky = colours["moon"]
    assert np.ptp(ground) < 0.15 * ground.mean() and sky.mean() < 40.0


def test_a_window_says_what_it_does_before_anything_is_read_or_compiled(monkeypatch):
    from engine.viewer.window import greeting

    drawn, flips = [], []

    class Brush:
        def draw(self, canvas, size):
            drawn.append((canvas, size))

        def delete(self):
            drawn.append(None)

    class Glass:
        get_size, get_framebuffer_size, flip = lambda _: (400, 300), lambda _: (800, 600), lambda _: flips.append(len(drawn))

    monkeypatch.setattr(greeting, "Painter", Brush)
    monkeypatch.setattr(greeting, "Canvas", Written)
    greeting.greet(Glass())
    (canvas, size), *_ = drawn
    assert canvas.words == ["reading shapes, compiling …"] and size == (800, 600) and canvas.scale == 2.0
    assert len(flips) >= 2 and flips[0] == 1 and drawn[-1] is None             # each of two buffers, once it is drawn


def test_labels_of_links_beside_each_other_do_not_overlap(monkeypatch):
    """Two fingers a millimetre apart, as a hand that is closed has them."""
    builder = engine.Builder("hand")
    look = [engine.Geometry("box", (0.3, 0.3, 0.3))]
    builder.add_link("hand", visuals=look)
    for k, name in enumerate(("left_finger", "right_finger", "thumb")):
        builder.add_link(name, visuals=look)
        builder.add_joint(f"joint {name}", "fixed", "hand", name, engine.spatial.se3.pose(np.eye(3), [0.0, 0.001 * k, 0.2]))
    boxes, plain = {}, Canvas.text

    def text(self, x, y, text, color, size=12.0, anchor="left", halo=False):
        plain(self, x, y, text, color, size, anchor, halo)
        boxes[text] = x - 0.5 * self.width(text, size), y - 0.75 * size, self.width(text, size), 0.75 * size

    monkeypatch.setattr(Canvas, "text", text)
    engine.render(builder.model(), size=(320, 240), samples=0, shown=Shown(labels=("left_finger", "right_finger", "thumb")))
    assert {*boxes} == {"left_finger", "right_finger", "thumb"}
    assert all(clear(boxes[a], boxes[b]) for a in boxes for b in boxes if a < b)


@pytest.mark.skipif(not (ROBOTS / PANDA).exists(), reason="needs example-robot-data")
def test_every_link_of_a_robot_is_named_in_a_small_picture(monkeypatch):
    said, plain = set(), Canvas.text
    monkeypatch.setattr(Canvas, "text", lambda self, x, y, text, *look, **more: (said.add(text), plain(self, x, y, text, *look, **more)))
    model = engine.load_urdf(ROBOTS / PANDA)
    engine.render(model, size=(400, 300), samples=0, shown=Shown(labels=True))
    assert {link.name for link in model.links if link.visuals} <= said


def test_arrows_within_a_body_shine_through_it():
    """A pull of 5 N in the middle of a bus of 1 m: its arrow is shorter than the bus is wide, and seen through its sides."""
    model = box(material=engine.Material("grey", (0.5, 0.5, 0.5, 1.0)))
    pull = PointForce("bus", force=(0.0, 0.0, 5.0), point=(0.0, 0.0, -0.17))
    run = engine.Simulator(model, dt=0.01, gravity=(0, 0, 0), forces=[pull]).run(model.neutral(), np.zeros(6), 0.02)
    camera = engine.Scene(run).camera((320, 240), "front")
    looks = [{}, {"forces": (pull,)}, {"hidden": ("bus",)}, {"forces": (pull,), "hidden": ("bus",)}]
    plain, through, empty, bare = (engine.render(run, size=(320, 240), samples=0, camera=camera, environment="plain",
                                                 shown=Shown(**look)).astype(int) for look in looks)  # fmt: skip
    arrow, seen = (np.abs(a - b).max(axis=2) > 12 for a, b in ((bare, empty), (through, plain)))
    assert arrow.sum() > 40 and (seen & arrow).sum() > 0.9 * arrow.sum()
