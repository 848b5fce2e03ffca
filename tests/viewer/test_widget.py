"""The page as a widget of a notebook: what goes to the kernel and back, and the frame in a browser."""

import base64
import json
import sys
import time

import numpy as np
import pytest

import engine
from engine.viewer.serve import widget as widgets
from engine.viewer.serve.stage import PAGE
from engine.viewer.serve.watcher import AHEAD
from tests.viewer.browser import Browser, until
from tests.viewer.mechanism import mechanism

MODEL = mechanism()
#: a notebook's own page: a widget's model, whose messages wait in ``sent``
NOTEBOOK = """<!doctype html><meta charset="utf-8"><body><script>
const heard = [], sent = [], model = {get: name => state[name], on: (_, f) => heard.push(f), off: () => {}, send: x => sent.push(x)};
const bytes = data => new DataView(Uint8Array.from(atob(data), c => c.charCodeAt(0)).buffer);
const tell = (message, data) => heard.forEach(f => f(message, data ? [bytes(data)] : []));
@widget@; const state = @state@; widget.render({model, el: document.body});
</script>"""


class Frame:
    """What anywidget would make: its state, and messages that are sent."""

    def __init__(self, **state):
        self.state, self.sent = state, []

    def on_msg(self, handler):
        self.handler = handler

    def send(self, content, buffers=()):
        self.sent.append((content, *buffers))

    def order(self, order, **fields):
        self.handler(self, json.dumps({"order": order, **fields}), [])


@pytest.fixture
def shown(monkeypatch):
    """shown(source) -> widget, frame."""
    made = []
    monkeypatch.setattr(widgets, "frame_class", lambda: Frame)

    def show(source, **options):
        made.append(engine.Widget(source, **options))
        return made[-1], made[-1]._frame

    yield show
    for widget in made:
        widget.close()


def frames(frame):
    return [rest[0] for content, *rest in frame.sent if rest]


def test_a_widget_waits_for_a_page_and_sends_what_it_takes(shown):
    simulator = engine.Simulator(MODEL, dt=2e-3, gravity=(0, 0, 0))
    widget, frame = shown(simulator, v0=0.1 * np.ones(MODEL.nv))
    time.sleep(0.1)
    assert not frames(frame) and widget.live.paused and repr(widget) == "<widget of 'mechanism'>"
    frame.order("watch")
    until(lambda: len(frames(frame)) == AHEAD)
    time.sleep(0.2)
    assert len(frames(frame)) == AHEAD
    frame.order("seen")
    until(lambda: len(frames(frame)) == AHEAD + 1)
    first, last = (np.frombuffer(data, "<f8", 1)[0] for data in (frames(frame)[0], frames(frame)[-1]))
    assert last > first
    frame.order("watch")                                                       # it was shown anew
    frame.order("reboot")
    until(lambda: any("reboot" in str(content) for content, *_ in frame.sent))
    frame.order("pause")
    until(lambda: widget.live.paused)
    widget.close()
    widget.close()                                                             # twice does no harm
    frame.order("resume")
    assert widget.live.paused


def test_the_frame_passes_everything_on(shown, tmp_path):
    _, frame = shown(MODEL, height=300)
    code = (PAGE / "widget.js").read_text(encoding="utf-8").replace("export default", "const widget =")
    state = json.dumps(frame.state).replace("</", "<\\/")
    notebook = tmp_path / "notebook.html"
    notebook.write_text(NOTEBOOK.replace("@widget@", code).replace("@state@", state), encoding="utf-8")
    browser = Browser(tmp_path / "profile", (480, 360))
    try:
        browser("Page.navigate", url=notebook.as_uri())

        def carried(true):
            """Carry messages until an expression is true."""
            end = time.monotonic() + 20.0
            while not browser.evaluate(f"Boolean(frames[0] && frames[0].page && ({true}))"):
                assert time.monotonic() < end, browser.faults
                for message in browser.evaluate("typeof sent === 'undefined' ? [] : sent.splice(0)"):
                    frame.handler(frame, message, [])
                for content, *buffers in [frame.sent.pop(0) for _ in range(len(frame.sent))]:
                    data = [base64.b64encode(b).decode() for b in buffers]
                    browser.evaluate(f"tell({json.dumps(content)}, {json.dumps(data[0] if data else None)})")
                time.sleep(0.02)

        carried("frames[0].page.status")
        assert browser.evaluate("document.querySelector('iframe').clientHeight") == 300
        browser.evaluate("frames[0].page.order('turn', {actor: 0, joint: 'arm_joint', value: 0.5})")
        carried("frames[0].page.status.joints[0].arm_joint === 0.5")
        assert not browser.faults
    finally:
        browser.close()


def test_what_is_no_widget_is_a_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with pytest.raises(engine.ViewerError, match=r'pip install "\.\[web\]"'):
        engine.Widget(MODEL)
    with pytest.raises(engine.ViewerError, match="height is 0; expected"):
        engine.Widget(MODEL, height=0)


def test_anywidget_makes_the_frame():
    pytest.importorskip("anywidget")
    widget = engine.Widget(MODEL)
    assert "mechanism" in widget._frame.page and "application/vnd.jupyter.widget-view+json" in str(widget._repr_mimebundle_())
    widget.close()
