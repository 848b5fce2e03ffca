"""A page that shows a scene in a browser: one file with everything in it."""

from __future__ import annotations

import base64
import html
import json
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from engine.viewer.draw.objects import SHADERS
from engine.viewer.files.glb import downward, png, see_through, tinted, unit
from engine.viewer.files.motion import Motion, sample_times, sampled
from engine.viewer.files.page_plots import plots_of
from engine.viewer.files.sampled_marks import of_pages, sampled_marks
from engine.viewer.scene.actor import Actor
from engine.viewer.scene.earth import grain, world_map
from engine.viewer.scene.heavens import STARS, stars
from engine.viewer.scene.light import GROUNDS, LIGHTS, SHARES
from engine.viewer.scene.lod import decimated
from engine.viewer.scene.marks import reach
from engine.viewer.scene.orbit_marks import about, ellipse, floats
from engine.viewer.scene.planets import BACKDROP
from engine.viewer.scene.scene import BEACONS, Scene
from engine.viewer.scene.shown import Shown
from engine.viewer.scene.surface import Surface

Array = np.ndarray
PAGE = Path(__file__).parent / "page"
SCRIPTS = ("motion.js", "camera.js", "sky.js", "marks.js", "scene.js", "renderer.js", "main.js")
#: what pages of simulations have besides
HANDS, HAND_STYLES = (PAGE / "pick.js", PAGE / "hands.js", PAGE / "sliders.js"), (PAGE / "hands.css", PAGE / "sliders.css")
#: and those with plots
PLOTS = [PAGE / "plots.js"], [PAGE / "plots.css"]
#: entries of a parameter that has sliders, at most
SMALL = 8
SHARED = ("depth.vert", "depth.frag", "moments.frag", "blur.frag", "screen.vert", "sky.frag", "ground.vert", "ground.frag", "light.frag",
          "surface.vert", "surface.frag", "globe.frag", "stars.vert", "stars.frag", "line.vert", "line.frag")  # fmt: skip
#: what pages read otherwise, as WebGL has no buffer textures, and what they have alone
OWN = ("rows.vert", "corner.vert", "segments.vert", "dots.vert", "dots.frag")

#: triangles that a page keeps, and that it draws at a time, at most
DIFFERENT, DRAWN = 1_000_000, 1_000_000
#: of a surface's triangles, how many a stand-in has, which casts shadows, and is drawn where a browser is slow; and how few need none
COARSE, WHOLE = 1 / 24, 120
#: pixels along the sides of the map of the Earth and of what is finer; places of a planet in a motion, at most
CHART, FINER, PLACES = 512, 256, 2000


def page(scene: Scene, fps: float, play: bool = True, different: int = DIFFERENT, shown: Shown | None = None,
         signals: Sequence[str | Sequence[str]] = (), plots: str = "right") -> str:  # fmt: skip
    """Return the scene as an HTML page that needs neither a server nor a network.

    It plays the motion over and over; ``#t=1.5`` at the end of its address shows that time, s, and stays there. ``&speed=0.1``, ``&play``,
    ``&loop=0`` and ``&camera=azimuth,elevation,distance,x,y,z`` (degrees, metres) say more.

    Parameters
    ----------
    fps : samples of the motion per second
    play : whether it plays as soon as it is opened
    different : triangles, above which surfaces are made coarser; so they are where a picture would have more than ``DRAWN`` of them
    shown : what is drawn besides the robots
    signals, plots : names of what is plotted, and where, as of :func:`engine.render`

    Raises
    ------
    ViewerError : there are too many poses, something is to be shown that pages do not have, or there is no such signal or place
    """
    times = sample_times(scene, fps)
    sampled(scene.actors[0], times[:1])                                        # which says what of its motion is no number
    header = {"play": play, "plots": plots_of(scene, signals, plots)}
    pack, more = Pack(lightened(scene, different, DRAWN)), PLOTS if signals else ([], [])
    return document(scene, times, pack, header, *more, shown=of_pages(shown))


def document(scene: Scene, times: Array, pack: Pack, header: dict[str, Any], scripts: Sequence[Path] = (), styles: Sequence[Path] = (),
             shown: Shown | None = None, marked: bool = False, turn: Array | None = None) -> str:  # fmt: skip
    """Return the page of a scene at times (T), s, with more in its header, and with scripts and styles after its own.

    What it shows besides is sampled; ``marked``: it can draw marks, whether there are any now or not. Of times of a
    ``turn`` (K), s, its sky goes round as from the first to the last, over and over, and its camera with it.
    """
    shown = shown or Shown()
    motions = [sampled(actor, times) for actor in scene.actors]
    actors = [pack.actor(actor, motion, shown.hidden) for actor, motion in zip(scene.actors, motions, strict=True)]
    light = {name: np.asarray(x).tolist() for name, x in vars(LIGHTS[scene.environment]).items()}
    light |= {"open_color": GROUNDS.get(scene.environment), "shares": SHARES}
    marks = pack.marks(sampled_marks(scene, times, shown, pack.surface, marked))
    space = pack.space(scene, times, turn) if scene.environment == "space" else None
    title = ", ".join(dict.fromkeys(actor.model.name for actor in scene.actors))
    points = outline(np.concatenate([scene.points, scene.planet_around(float(times[0])), reach(scene, shown)]))
    extent = [scene.extent[0].tolist(), scene.extent[1]]
    header = {**header, "times": [times[0], times[-1], len(times)], "environment": scene.environment,
              "grounded": scene.environment in GROUNDS, "light": light, "floor": scene.floor, "extent": extent,
              "frame": scene.upright(float(times[0])).tolist(), "azimuth": scene.camera((16, 9), when=float(times[0])).azimuth,
              "points": points.tolist(), "surfaces": pack.surfaces, "images": pack.images, "actors": actors, "space": space, "marks": marks,
              "shaders": shaders()}  # fmt: skip
    filled = {"title": html.escape(title), "style": "".join(text(path) for path in (PAGE / "page.css", *styles)),
              "script": "".join(text(path) for path in (*(PAGE / name for name in SCRIPTS), *scripts)),
              "scene": json.dumps(header, separators=(",", ":")).replace("<", "\\u003c"), "data": pack.data()}  # fmt: skip
    pieces = text(PAGE / "page.html").split("@")
    return "".join(filled[piece] if i % 2 else piece for i, piece in enumerate(pieces))


def text(path: Path) -> str:
    """Return a file of this package as text."""
    return path.read_text(encoding="utf-8")


def shaders() -> dict[str, str]:
    """Return the shaders' texts by name: the window's, and the page's own way to read an instance's row."""
    return {name: text((PAGE if name in OWN else SHADERS) / name) for name in (*OWN, *SHARED)}


def lightened(scene: Scene, different: int, drawn: int) -> dict[Surface, Surface]:
    """Return stand-ins for a scene's surfaces, so that at most about so many different triangles are kept, and so many drawn at a time."""
    counts: dict[Surface, int] = {}
    for actor in scene.actors:
        for part in actor.parts:
            counts[part.surface] = counts.get(part.surface, 0) + actor.instances
    share = min(different / sum(len(s.faces) for s in counts), drawn / sum(n * len(s.faces) for s, n in counts.items()))
    return {s: decimated(s, int(share * len(s.faces)) + 12, edged=True) if share < 1.0 else s for s in counts}


def outline(points: Array) -> Array:
    """Return those of points (n, 3) that lie farthest in some direction (m, 3): seen from afar they take as much room as all."""
    k = np.arange(400)
    up = 1 - (2 * k + 1) / len(k)
    turn = np.pi * (3 - 5**0.5) * k
    directions = np.stack([np.sqrt(1 - up * up) * np.cos(turn), np.sqrt(1 - up * up) * np.sin(turn), up])

    def farthest(x: Array) -> Array:
        return x[np.unique((x @ directions).argmax(axis=0))]

    return farthest(np.concatenate([farthest(block) for block in np.array_split(points, len(points) // 50_000 + 1)]))


class Pack:
    """The page's numbers as one block of bytes, and where in it what begins."""

    def __init__(self, stand_ins: dict[Surface, Surface]) -> None:
        self.stand_ins = stand_ins
        self.block = bytearray()
        self.surfaces: list[dict[str, Any]] = []
        self.images: list[tuple[int, int]] = []
        self.numbers: dict[Surface, int] = {}
        self.textures: dict[int, int] = {}

    def data(self) -> str:
        """Return the block, deflated, in base 64."""
        return base64.b64encode(zlib.compress(bytes(self.block), 9)).decode()

    def add(self, x: Array) -> int:
        """Add an array; return where its bytes begin."""
        self.block += bytes(-len(self.block) % 8)
        start = len(self.block)
        self.block += np.ascontiguousarray(x).tobytes()
        return start

    def surface(self, surface: Surface) -> int:
        """Add a surface, and its coarse stand-in; return its number."""
        if surface not in self.numbers:
            low, high = surface.positions.min(axis=0), surface.positions.max(axis=0)
            scale = float((high - low).max()) or 1.0
            few = max(int(COARSE * len(surface.faces)), WHOLE)
            coarse = self.shape(decimated(surface, few, edged=True), low, scale) if few < len(surface.faces) else None
            self.numbers[surface] = len(self.surfaces)
            self.surfaces.append({
                **self.shape(surface, low, scale), "coarse": coarse, "origin": low.tolist(), "size": (high - low).tolist(), "scale": scale,
                "texture": self.texture(surface.texture) if surface.texture is not None and surface.uv is not None else None,
                "metallic": surface.metallic, "roughness": surface.roughness,
            })  # fmt: skip
        return self.numbers[surface]

    def shape(self, surface: Surface, low: Array, scale: float) -> dict[str, Any]:
        """Add a surface's vertices and triangles; positions are 16-bit fractions of a scale from the lowest on, normals have 10 bits."""
        grid = np.zeros((len(surface.positions), 4), np.uint16)                            # the fourth keeps rows aligned
        grid[:, :3] = np.rint(np.clip((surface.positions - low) / scale, 0.0, 1.0) * 0xFFFF)
        return {"vertices": len(surface.positions), "triangles": len(surface.faces),
                "positions": self.add(grid),
                "normals": self.add(ten_bits(unit(surface.normals))),
                "faces": self.add(surface.faces.astype(np.uint16 if len(surface.positions) <= 0xFFFF else np.uint32)),
                "colors": None if surface.colors is None else self.add(surface.colors.astype(np.uint8)),
                "uv": None if surface.texture is None or surface.uv is None else self.add(downward(surface.uv))}  # fmt: skip

    def image(self, pixels: Array) -> int:
        """Add a picture; return its number."""
        file = np.frombuffer(png(pixels), np.uint8)
        self.images.append((self.add(file), len(file)))
        return len(self.images) - 1

    def texture(self, pixels: Array) -> int:
        """Add a texture, which surfaces may share; return its number."""
        if id(pixels) not in self.textures:
            self.textures[id(pixels)] = self.image(pixels)
        return self.textures[id(pixels)]

    def space(self, scene: Scene, times: Array, turn: Array | None = None) -> dict[str, Any]:
        """Add the stars and the planet at some of the times (T), s, or of a turn that is repeated; return where they are."""
        times = times if turn is None else turn
        globes = [scene.globe(float(t)) or BACKDROP for t in np.linspace(times[0], times[-1], min(len(times), PLACES))]
        there = globes[0].center is not None
        flying = [a.source for a in scene.actors if there and a.source.moves and floats(a.source)]
        orbits = [ellipse(*about(source, float(times[0]), globes[0])[:2], globes[0].body.mu) for source in flying[:BEACONS]]
        return {"count": STARS, "orbits": [x.round().tolist() for x in orbits],
                "stars": self.add(np.hstack(stars(STARS)).astype(np.float32)), **vars(globes[0].body), "places": len(globes),
                "times": [times[0], times[-1]], "frames": None if turn is None else self.add(np.array([scene.upright(t) for t in turn])),
                "chart": self.image(world_map(CHART)), "grain": self.image(grain(FINER)),
                "centers": self.add(np.array([g.center for g in globes])) if there else None, "height": globes[0].seen_from(np.zeros(3))[1],
                "axes": self.add(np.array([g.axes for g in globes])), "suns": self.add(np.array([g.sun for g in globes]))}  # fmt: skip

    def marks(self, found: dict[str, Any] | None) -> dict[str, Any] | None:
        """Add the arrays of marks; return where they are."""
        return found and {**found, "arrays": {name: self.add(x) for name, x in found["arrays"].items()}}

    def actor(self, actor: Actor, motion: Motion, hidden: Sequence[str] = ()) -> dict[str, Any]:
        """Add an actor; return what the page knows of it: its links as a tree, the parts on them, and their motion where there is any.

        Positions keep their 64 bits: an orbit's are of 10⁷ m, of which single precision knows no less than a metre.
        """
        parts = [{"surface": self.surface(self.stand_ins[p.surface]), "link": p.link, "placement": p.placement[:3].reshape(-1).tolist(),
                  "color": tinted(actor, p), "clear": see_through(p.surface, tinted(actor, p))}
                 for p in actor.parts if actor.model.links[p.link].name not in hidden]  # fmt: skip
        moves, turns = np.flatnonzero(motion.moves), np.flatnonzero(motion.turns)
        rest = np.concatenate([motion.positions[0], motion.rotations[0]], axis=-1)
        return {"name": actor.model.name, "links": [link.name for link in actor.model.links], "parents": motion.parents,
                "instances": motion.positions.shape[1], "parts": parts, "rest": self.add(rest),
                "moves": moves.tolist(), "positions": self.add(motion.positions[:, :, moves]),
                "turns": turns.tolist(), "rotations": self.add(motion.rotations[:, :, turns].astype(np.float32))}  # fmt: skip


def ten_bits(normals: Array) -> Array:
    """Return unit vectors (n, 3) as three signed numbers of ten bits in a word (n), the first lowest."""
    n = np.rint(normals * 511).astype(np.int64) & 0x3FF
    return (n[:, 0] | n[:, 1] << 10 | n[:, 2] << 20).astype(np.uint32)
