"""Shapes and text on a canvas: their pixels against areas that are known, and against Pillow's own rendering."""

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

import engine.viewer.draw.opengl as gl
from engine.viewer.draw.canvas import ATLAS, FAR, VERTEX, Canvas
from engine.viewer.draw.fonts import FontWarning

WHITE, RED, GREEN = (1.0, 1.0, 1.0, 1.0), (1.0, 0.0, 0.0, 1.0), (0.0, 1.0, 0.0, 1.0)
SIZE = (220, 90)
PENTAGON = [(20, 20), (60, 10), (100, 30), (90, 60), (30, 65)]


@pytest.fixture(scope="module")
def drawn():
    """A function that draws a canvas on black, or on a colour, and returns the pixels (h, w, 4)."""
    from engine.viewer.draw.context import open_window

    window = open_window(visible=False, width=16, height=16)
    from pyglet import gl

    from engine.viewer.draw.objects import Framebuffer
    from engine.viewer.draw.painter import Painter

    painter, target = Painter(), Framebuffer(SIZE, gl.GL_RGBA8, depth=False)

    def draw(canvas, ground=(0.0, 0.0, 0.0)):
        window.switch_to()
        target.bind()
        gl.glClearColor(*ground, 1.0)
        gl.glClear(gl.GL_COLOR_BUFFER_BIT)
        painter.draw(canvas, SIZE)
        return target.pixels()

    yield draw
    painter.delete()
    target.delete()
    window.close()


def by_pillow(text, x, y, size):
    """Coverage (h, w) of a text on its baseline, 0 … 255."""
    image = Image.new("L", SIZE)
    ImageDraw.Draw(image).text((x, y), text, font=ImageFont.load_default(size), fill=255, anchor="ls")
    return np.asarray(image).astype(int)


def area(pixels):
    """The white of a picture, in pixels."""
    return pixels[..., 0].sum() / 255.0


# ---------------------------------------------------------------- text


@pytest.mark.parametrize("size", [9, 11, 12, 14, 25])
def test_text_is_pillows_to_the_pixel(drawn, size):
    text = "Wheels.torque[0]=1.25e-7°"
    canvas = Canvas()
    canvas.text(7, 40, text[:12], WHITE, size)
    pixels = drawn(canvas)
    assert np.abs(pixels[..., 1].astype(int) - by_pillow(text[:12], 7, 40, size)).max() <= 1
    assert canvas.width(text, size) == ImageFont.load_default(size).getlength(text)


def test_text_stands_where_its_anchor_says(drawn):
    for anchor, shift in (("left", 0.0), ("center", 0.5), ("right", 1.0)):
        canvas = Canvas()
        canvas.text(110, 40, "anchor", WHITE, 14, anchor)
        left = round(110 - shift * canvas.width("anchor", 14))
        assert np.abs(drawn(canvas)[..., 0].astype(int) - by_pillow("anchor", left, 40, 14)).max() <= 1


def test_twice_the_scale_is_a_font_of_twice_the_size(drawn):
    canvas = Canvas(2.0)
    canvas.text(5, 20, "scale", WHITE, 12)
    canvas.rect(60, 10, 10, 5, WHITE)
    pixels = drawn(canvas)[..., 0].astype(int)
    assert np.abs(pixels[:, :115] - by_pillow("scale", 10, 40, 24)[:, :115]).max() <= 1
    assert (pixels[20:30, 120:140] == 255).all() and area(pixels[:, 115:, None]) == 200


def test_digits_are_of_one_width():
    for size in (10, 11, 12, 13, 14, 24, 28):
        assert len({Canvas().width(digit, size) for digit in "0123456789"}) == 1


def test_what_the_font_lacks_is_a_box_or_what_looks_like_it(drawn):
    def seen(text):
        canvas = Canvas()
        canvas.text(10, 40, text, WHITE, 20)
        return drawn(canvas)[..., 0]

    with pytest.warns(FontWarning, match="becomes a box; expected one that has, such as Noto Sans CJK"):
        box = seen("\U0010fff0")
    assert area(box[..., None]) > 20
    for odd in ("\n", "\0"):
        assert (seen(odd) == box).all()
    for letter in "éñßαΩЖ":                                                    # with matplotlib's font at least
        assert (seen(letter) != box).any() and area(seen(letter)[..., None]) > 20
    assert (seen("×") == seen("x")).all()
    minus, plus = seen("−"), seen("+")
    assert 0 < area(minus[..., None]) < area(plus[..., None]) and (minus != box).any()
    assert np.flatnonzero(seen("²").any(axis=1)).max() < np.flatnonzero(seen("2").any(axis=1)).mean()      # above the middle


def test_a_space_is_never_too_narrow_to_be_seen():
    for size in range(8, 30):
        assert Canvas().width("a b", size) - Canvas().width("ab", size) >= round(0.28 * size)
    assert Canvas().width("") == 0.0


def test_the_atlas_grows_without_losing_what_it_holds(drawn):
    canvas = Canvas()
    canvas.text(7, 40, "before", WHITE, 12)
    first = drawn(canvas)
    held, tall = ATLAS.image, ATLAS.image.shape[0]
    for size in range(40, 120, 2):
        canvas.width("ABCDEFGHIJKLMNOPQRSTUVWXYZ", size)
        if ATLAS.image.shape[0] > tall:
            break
    assert ATLAS.image.shape[0] > tall and (ATLAS.image[:tall][held > 0] == held[held > 0]).all()
    assert (drawn(canvas) == first).all()


def test_long_text_is_cut_to_what_fits():
    canvas = Canvas()
    text = "a_rather_long_name_of_a_link"
    for width in (0, 3, 20, 50, 90, 140, 400):
        cut = canvas.elided(text, width, 12)
        assert canvas.width(cut, 12) <= width
        assert cut == text or cut == "" or (cut.endswith("…") and text.startswith(cut[:-1]))
    assert canvas.elided(text, 400, 12) == text
    longer = text[: len(canvas.elided(text, 90, 12))] + "…"
    assert canvas.width(longer, 12) > 90                                       # no more would have fitted


def test_a_halo_makes_white_text_legible_on_white(drawn):
    for halo, darkest in ((False, 255), (True, 150)):
        canvas = Canvas()
        canvas.text(20, 40, "label", WHITE, 12, halo=halo)
        assert drawn(canvas, (1.0, 1.0, 1.0))[..., 0].min() <= darkest
    assert drawn(Canvas(), (1.0, 1.0, 1.0))[..., 0].min() == 255


# ---------------------------------------------------------------- shapes


def test_a_rectangle_is_exact(drawn):
    canvas = Canvas()
    canvas.rect(10, 20, 30, 15, (1.0, 0.5, 0.0, 1.0))
    pixels = drawn(canvas)
    assert (pixels[20:35, 10:40, :3] == [255, 128, 0]).all()
    assert pixels[..., 0].sum() == 255 * 30 * 15 and (pixels[..., 3] == 255).all()


@pytest.mark.parametrize(
    "shape, expected",
    [
        (lambda c: c.rect(10, 10, 60, 40, WHITE, 12.0), 60 * 40 - (4 - np.pi) * 12**2),
        (lambda c: c.rect(10, 10, 60, 40, WHITE, 12.0, outline=3.0), (4 - np.pi) * (9**2 - 12**2) + 60 * 40 - 54 * 34),
        (lambda c: c.disc(50.3, 40.6, 20.0, WHITE), np.pi * 20**2),
        (lambda c: c.disc(50.3, 40.6, 20.0, WHITE, outline=2.0), np.pi * (20**2 - 18**2)),
        (lambda c: c.line([(10, 20.5), (90, 20.5)], WHITE, 1.0), 80),
        (lambda c: c.line([(10, 12), (70, 57)], WHITE, 3.0), 75 * 3),
        (lambda c: c.line([(10, 10), (60, 40), (120, 40), (160, 70)], WHITE, 4.0), 4 * (np.hypot(50, 30) + 60 + 50)),
        (lambda c: c.polygon([(10, 10), (80, 25), (30, 70)], WHITE), 0.5 * (70 * 60 - 20 * 15)),
        (lambda c: c.polygon([(30, 70), (80, 25), (10, 10)], WHITE), 0.5 * (70 * 60 - 20 * 15)),
        (lambda c: c.polygon(PENTAGON, WHITE), 0.5 * abs(np.linalg.det(np.stack([PENTAGON, np.roll(PENTAGON, -1, axis=0)], axis=1)).sum())),
        (lambda c: c.polygon(((0, 0), (70, 15), (20, 60)), WHITE, (10, 10)), 0.5 * (70 * 60 - 20 * 15)),
        (lambda c: c.area([(10, 40), (50, 20), (90, 30)], 60.0, WHITE), 0.5 * 40 * (20 + 40) + 0.5 * 40 * (40 + 30)),
    ],
)
def test_shapes_cover_their_areas(drawn, shape, expected):
    canvas = Canvas()
    shape(canvas)
    assert area(drawn(canvas)) == pytest.approx(expected, rel=0.012)


def test_edges_are_smooth_and_shapes_have_no_seams(drawn):
    canvas = Canvas()
    canvas.polygon(PENTAGON, (1.0, 1.0, 1.0, 0.5))
    canvas.line([(110, 20), (150, 35), (200, 30), (215, 60)], (1.0, 1.0, 1.0, 0.5), 6.0)
    pixels = drawn(canvas)[..., 0]
    assert pixels.max() <= 128                                                 # nothing is drawn twice
    assert (pixels[30:55, 40:85] >= 127).all()
    assert len(np.unique(pixels)) > 12


def test_a_line_is_interrupted_where_there_is_no_number(drawn):
    x = np.arange(10.0, 200.0, 10.0)
    y = np.full(len(x), 40.5)
    y[[6, 7]] = np.nan
    canvas = Canvas()
    canvas.line(np.stack([x, y], axis=1), WHITE, 1.0)
    canvas.area(np.stack([x, y], axis=1), 60.0, WHITE)
    columns = drawn(canvas)[..., 0].any(axis=0)
    assert columns[10:60].all() and not columns[61:89].any() and columns[90:190].all()
    for points in ([], [(1, 1)], [(5, 5), (5, 5)], [(np.nan, 1), (2, 2)]):
        canvas.line(points, WHITE)
        canvas.area(points, 3.0, WHITE)


def test_nothing_is_drawn_outside_a_clip_nor_outside_an_outer_one(drawn):
    canvas = Canvas()
    with canvas.clip(20, 10, 50, 40):
        with canvas.clip(0, 30, 60, 60):
            canvas.rect(0, 0, 220, 90, RED)
        canvas.disc(70, 10, 12, GREEN)
        canvas.text(0, 25, "mmmmmmmm", GREEN, 14)
    canvas.rect(200, 80, 5, 5, WHITE)
    pixels = drawn(canvas)
    red, green = pixels[..., 0] > 0, pixels[..., 1] > 0
    assert red[30:50, 20:60].all() and red.sum() == 20 * 40 + 25
    assert green[10:17, 62:70].all() and not green[:10].any() and not green[:, :20].any() and not green[:80, 70:].any()


def test_later_shapes_lie_over_earlier_ones(drawn):
    canvas = Canvas()
    canvas.rect(10, 10, 50, 50, RED)
    canvas.text(15, 40, "MMM", GREEN, 20)
    canvas.rect(10, 10, 20, 50, (0.0, 0.0, 1.0, 0.5))
    pixels = drawn(canvas)
    assert (np.abs(pixels[15, 12, :3] - [127.5, 0, 127.5]) <= 0.5).all() and (pixels[15, 50, :3] == [255, 0, 0]).all()
    assert (pixels[..., 1] > 200).any() and (pixels[..., 3] == 255).all()


# ---------------------------------------------------------------- how it is drawn


def test_everything_is_one_draw_call(drawn, monkeypatch):
    import pyglet

    calls = []
    for name in [n for n in dir(pyglet.gl) if n.startswith(("glDraw", "glMultiDraw")) and "Buffer" not in n and "Pixels" not in n]:
        monkeypatch.setattr(gl, name, lambda *a, original=getattr(gl, name), name=name: (calls.append(name), original(*a)))
    canvas = Canvas()
    for k in range(40):
        canvas.rect(k, 2 * k, 10, 10, RED, 2.0)
        canvas.text(k, 2 * k, f"label {k}", WHITE, 10 + k % 3)
        canvas.line([(0, k), (100, k), (120, 2 * k)], GREEN, 1.5)
    assert drawn(canvas)[..., 0].any()
    assert calls == ["glDrawElements"]
    drawn(Canvas())
    assert len(calls) == 1                                                     # nothing, for nothing


def test_vertices_hold_what_was_asked_for():
    canvas = Canvas(2.0)
    canvas.rect(1, 2, 3, 4, (0.2, 0.4, 0.6, 0.8), 1.0)
    with canvas.clip(5, 6, 7, 8):
        canvas.disc(10, 20, 3, WHITE, outline=1.0)
    rect, disc = canvas.vertices()
    assert canvas.vertices().dtype == VERTEX
    assert rect["position"].min(axis=0).tolist() == [1.0, 3.0] and rect["position"].max(axis=0).tolist() == [9.0, 13.0]   # a pixel around
    assert rect["shape"][0].tolist() == [3.0, 4.0, 2.0, 0.0] and rect["color"][0].tolist() == [51, 102, 153, 204]
    assert rect["clip"][0].tolist() == [-FAR, -FAR, FAR, FAR]
    assert disc["clip"][0].tolist() == [10.0, 12.0, 24.0, 28.0] and disc["shape"][0].tolist() == [6.0, 6.0, 6.0, 2.0]
    assert Canvas().vertices().shape == (0, 4)


def test_a_combining_accent_lies_over_its_letter_and_takes_no_room():
    from engine.viewer.draw.canvas import Canvas, glyph

    canvas = Canvas()
    assert canvas.width("θ\u0308", 20.0) == canvas.width("θ", 20.0)
    canvas.text(0.0, 40.0, "θ\u0308", (1.0, 1.0, 1.0, 1.0), 20.0)
    letter, accent = canvas.vertices()["position"]
    assert abs(letter[:, 0].mean() - accent[:, 0].mean()) < 3.0
    assert 0.0 < letter[:, 1].min() - accent[:, 1].max() < 6.0 and glyph("\u0308", 20)[0].shape[0] < 6
