"""Keys and buttons: what they do, in words and in methods of the window."""

from __future__ import annotations

from typing import Any

#: what a key does: its meaning, and the method of Viewer it calls with what
KEYS: dict[str, tuple[str, str, tuple[Any, ...]]] = {
    "SPACE": ("play or pause", "clock.toggle", ()),
    "RIGHT": ("a frame further (Shift: a record)", "clock.step", (1,)),
    "LEFT": ("a frame back (Shift: a record)", "clock.step", (-1,)),
    "UP": ("faster", "clock.faster", ()),
    "DOWN": ("slower", "clock.slower", ()),
    "HOME": ("to the beginning", "clock.scrub_to", (0.0,)),
    "END": ("to the end", "clock.scrub_to", (1.0,)),
    "B": ("backwards or forwards", "clock.reverse", ()),
    "O": ("begin again at the end, or not", "clock.loop", ()),
    "F": ("show everything", "fit", ()),
    "V": ("go along with the picked link, or not", "go_along", ()),
    "_1": ("view from the front", "look", ("front",)),
    "_2": ("from the back", "look", ("back",)),
    "_3": ("from the left", "look", ("left",)),
    "_4": ("from the right", "look", ("right",)),
    "_5": ("from above", "look", ("top",)),
    "_6": ("from below", "look", ("bottom",)),
    "J": ("joint frames", "switch", ("joint_frames",)),
    "K": ("link frames", "switch", ("link_frames",)),
    "M": ("centres of mass", "switch", ("centers",)),
    "I": ("inertia ellipsoids", "switch", ("inertias",)),
    "P": ("momentum", "switch", ("momentum",)),
    "U": ("joint forces", "switch", ("torques",)),
    "X": ("contact forces", "switch", ("contacts",)),
    "N": ("names of the links", "switch", ("labels",)),
    "L": ("the trail of the picked link", "trail", ()),
    "Z": ("ω, its polhode and herpolhode", "switch", ("polhode",)),
    "Y": ("the path of the centre of mass", "switch", ("center_path",)),
    "G": ("of an orbit the ground track", "switch", ("track",)),
    "W": ("wireframe", "switch", ("wireframe",)),
    "T": ("see through the links", "switch", ("transparent",)),
    "C": ("collision shapes", "shapes", ()),
    "E": ("ground, space, plain, studio, Mars, Moon", "surroundings", ()),
    "A": ("side panel: joints, links, views", "tabs.toggle", ()),
    "Q": ("four views", "four_views", ()),
    "D": ("measure between two points", "measure", ()),
    "S": ("save a picture", "save", ()),
    "R": ("record a film, and the run", "record", ()),
    "F11": ("whole screen", "fullscreen", ()),
    "TAB": ("display on or off", "switch_display", ()),
    "H": ("this help", "help", ()),
    "ESCAPE": ("let go; close", "escape", ()),
}
MOUSE = (("drag", "turn"), ("Shift + drag, right drag", "move"), ("wheel", "closer or farther"), ("click", "pick a link"),
         ("double click", "look at it"), ("Ctrl + drag", "move a link at rest; pull one that runs"))  # fmt: skip
#: keys that are not a pilot's; and what the arrows do then
OURS, PILOTED = ("H", "TAB", "ESCAPE"), {"arrows": "turn the camera", "others": "the pilot's"}


def help_rows(pilot: Any) -> list[tuple[str, str]]:
    """Return rows of (key, meaning); where a pilot has most of the keys, its own, as its ``keys`` say, and the others."""
    keys = {name: meaning for name, (meaning, *_) in KEYS.items() if pilot is None or name in OURS}
    if pilot is not None:
        own = getattr(pilot, "keys", None)
        keys = {**own, **keys, "arrows": PILOTED["arrows"]} if own else keys | PILOTED
    return [*((name.strip("_").capitalize(), meaning) for name, meaning in keys.items()), *MOUSE]
