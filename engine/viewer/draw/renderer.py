"""The renderer, which draws a scene at a time: shadow maps, background, ground, surfaces, lines, and labels."""

from __future__ import annotations

from ctypes import byref, c_char_p, cast
from dataclasses import dataclass
from typing import Any

import numpy as np

import engine.viewer.draw.opengl as gl
from engine.viewer.draw import wording
from engine.viewer.draw.ambient_occlusion import AmbientOcclusion, beside
from engine.viewer.draw.canvas import Canvas
from engine.viewer.draw.cells import WHOLE, Cells, on_screen
from engine.viewer.draw.deferred import Deferred
from engine.viewer.draw.environment_map import EnvironmentMap
from engine.viewer.draw.gl_state import OVER, SHARED, GLState
from engine.viewer.draw.ground import far, near_origin, shaded, square
from engine.viewer.draw.lines import Lines
from engine.viewer.draw.mesh_buffers import LEVELS, MeshBuffers
from engine.viewer.draw.objects import Framebuffer, Program, Rows, bind_texture, parameters
from engine.viewer.draw.painter import Painter
from engine.viewer.draw.space import Space
from engine.viewer.draw.thin import widened
from engine.viewer.scene.camera import Camera
from engine.viewer.scene.drawing import Drawing, about, measure
from engine.viewer.scene.light import GROUNDS, LIGHTS, SHARES, Light, unit
from engine.viewer.scene.planets import BACKDROP

Array = np.ndarray
SHADOW, SKY = 1024, 192                     # texels along the side of the key light's map, and of the one from above
COARSE = 0.12                               # of a map's texels, what its casters' detail is measured by: shadows are soft
LARGE = 20.0                                # texels across, from which on stand-ins' edges are seen in the map: a twentieth of them
DETAIL = 0.05                               # triangles of a surface for the square of its size in pixels
FINER = 4.0                                 # times as many with samples: with twice as many again hardly a pixel is another
SUNK = 1e-4                                 # of the robots' size: what is no deeper stands on the ground
VEIL = 0.3                                  # how much the ground hides from below
ENOUGH = 200                                # triangles that whatever is not tiny has
BELOW = 1.4                                 # a level may have so many times fewer triangles than are wanted
MOST = 350_000                              # triangles of a picture, about; FINER times as many with samples
BEHIND = 0.12                               # opacity of lines that a planet hides
SOFT = 14.0 / SKY                           # of the radius of all that is seen, how far the map from above is blurred
MANY = 1000                                 # instances, above which they are taken together


@dataclass(frozen=True)
class Seen:
    """Spheres about the instances, centres (n, 3) and radii (n), and boxes, half their edges as columns (n, 3, 3); their opacity (n), and a
    sphere about all of them; m, world axes. And the instances' rows (n, 20), as shaders read them."""

    centres: Array
    radii: Array
    boxes: Array
    opacity: Array
    middle: Array
    radius: float
    rows: Array


class Renderer:
    """Draws into a framebuffer of its own; its context (:func:`engine.viewer.draw.context.open_window`) must be current.

    Parameters
    ----------
    samples : of a pixel, as many as the driver has at most; 0 smooths edges afterwards. By default 4, and 0 where OpenGL is software
    scale : device pixels of a pixel of text
    occlusion : whether creases are darkened (ambient occlusion), which costs a fifth of a picture without samples; by default where
        there are samples

    Attributes
    ----------
    foot : height at the bottom of a picture that something else lies over, px
    """

    def __init__(self, samples: int | None = None, scale: float = 1.0, occlusion: bool | None = None) -> None:
        self.scale, self.foot = scale, 0.0
        software = b"llvmpipe" in (name := cast(gl.glGetString(gl.GL_RENDERER), c_char_p).value or b"") or b"softpipe" in name
        most = gl.GLint()
        gl.glGetIntegerv(gl.GL_MAX_SAMPLES, byref(most))
        self.samples = min((0 if software else 4) if samples is None else samples, most.value)
        self.detail = DETAIL * (FINER if self.samples else 1.0)
        self.meshes, self.rows, self.casters = MeshBuffers(), Rows(), Rows()
        self.lines, self.painter, self.cells = Lines(), Painter(), Cells()
        self.occlusion = AmbientOcclusion() if (self.samples > 0 if occlusion is None else occlusion) else None
        self.space: Space | None = None
        self.environment_map: EnvironmentMap | None = None
        sized = self.sized = {"SHADOW_SIZE": f"{SHADOW}.0"}
        lit = ("light.frag", "surface.frag")
        self.surface = Program(("rows.vert", "surface.vert"), lit, **sized)
        self.textured = Program(("rows.vert", "surface.vert"), lit, TEXTURED=1, **sized)
        self.lit = Program(("corner.vert", "part.vert"), ("light.frag", "deferred.frag"), **sized)
        self.deferred = None if self.samples else Deferred()
        self.depth = Program(("rows.vert", "depth.vert"), ("depth.frag",))
        self.moments = Program(("rows.vert", "depth.vert"), ("moments.frag",))
        self.number = Program(("rows.vert", "depth.vert"), ("number.frag",))
        self.blur = Program(("screen.vert",), ("blur.frag",))
        self.smooth = Program(("corner.vert", "part.vert"), ("smooth.frag",))
        self.sky = Program(("screen.vert",), ("sky.frag",))
        self.ground = Program(("corner.vert", "ground.vert"), ("light.frag", "ground.frag"), **sized)
        self.shaded_ground = Program(("corner.vert", "ground.vert"), ("light.frag", "ground.frag"), SHADOWED=1, **sized)
        self.shadow_map = Framebuffer((SHADOW, SHADOW), None)
        bind_texture(0, self.shadow_map.depth)
        gl.glTexParameteri(gl.GL_TEXTURE_2D, gl.GL_TEXTURE_COMPARE_MODE, gl.GL_COMPARE_REF_TO_TEXTURE)
        gl.glTexParameteri(gl.GL_TEXTURE_2D, gl.GL_TEXTURE_COMPARE_FUNC, gl.GL_LEQUAL)
        parameters(gl.GL_TEXTURE_2D, gl.GL_LINEAR, gl.GL_LINEAR, gl.GL_CLAMP_TO_EDGE)
        self.sky_map = Framebuffer((SKY, SKY), gl.GL_RG32F)
        self.sky_blurred = Framebuffer((SKY, SKY), gl.GL_RG32F, depth=False)
        self.target: Framebuffer | None = None
        self.behind: Framebuffer | None = None
        self._seen_from: Any = None
        self._behind_key: Any = None
        self.picture: Framebuffer | None = None

    # ------------------------------------------------------------ the picture

    def draw(self, drawing: Drawing, camera: Camera, size: tuple[int, int]) -> Framebuffer:
        """Draw; return the framebuffer that holds the picture, with no samples."""
        drawing, camera = near_origin(drawing, camera)
        self._resize(size)
        assert self.target is not None and self.picture is not None
        around, aspect = self._environment_map(drawing), size[0] / size[1]
        seen = self._seen(drawing)
        light = around.surroundings.light if around else drawing.globe.light(seen.middle) if drawing.globe else LIGHTS[drawing.environment]
        depth = (camera.eye - seen.centres) @ camera.axes[:, 2]
        pixels = 0.5 * size[1] / np.tan(0.5 * camera.fov) / np.maximum(depth - seen.radii, camera.planes[0])      # to the metre
        middle = 0.5 * size[1] / np.tan(0.5 * camera.fov) / np.maximum(depth, camera.planes[0])
        if (fine := widened(drawing, middle, camera.axes)) is not drawing:
            drawing, seen = fine, self._seen(fine)
        solid, marks = seen.opacity > 0.995, drawing.numbers == 0
        casting = (seen.opacity > 0.5) & ~marks
        runs = self._fill(self.rows, drawing, seen, solid & ~marks, pixels)    # first: shadows' stand-ins are made from these
        shade = self._shadows(drawing, seen, light, casting, pixels) | {
            "eye": camera.eye, "key": light.key, "key_color": light.key_color, "fill": light.fill, "fill_color": light.fill_color,
            "sky_color": light.sky_color, "ground_color": light.ground_color, "matrix": camera.matrix(aspect),
            "shadow_map": 1, "sky_map": 2,
        }  # fmt: skip
        if around:
            shade |= around.shade(5)
        bind_texture(1, self.shadow_map.depth)
        bind_texture(2, self.sky_map.color)
        there = self._kept(drawing, light, camera, size, shade)
        self.target.bind()
        GLState(lines=drawing.wireframe).set()
        gl.glClear(gl.GL_DEPTH_BUFFER_BIT)                      # what lies in front first: what it hides costs little
        lit = around or self
        cells = WHOLE if self.samples else on_screen(camera, size, seen.centres, seen.boxes, 2.0)
        if self.deferred:
            self.deferred.begin(size)
            self._pass(runs, shade, self.deferred)
            self.deferred.light(self.target, lit.lit, camera, shade, self.cells, cells)
        else:
            self._pass(runs, shade, lit)
        grounded, above = drawing.environment in GROUNDS, camera.eye[2] > drawing.floor
        marked = bool(marks.any() or len(drawing.lines[0]))
        if grounded and above:
            lowest = seen.centres[:, 2] - np.abs(seen.boxes[:, 2]).sum(axis=1)
            sunk = bool((lowest < drawing.floor - SUNK * seen.radius).any())                                 # the ground hides some
            GLState().set()
            middle, halves, dark = shaded(seen.centres[casting], seen.boxes[casting], light, drawing.floor, SOFT * seen.radius)
            self._square("shaded_ground", drawing, camera, light, shade, middle, halves, dark)
            if sunk or marked or not there or self.occlusion or not solid.all():   # of what is kept only depths are wanted, if any
                near = None if marked or not there else beside(self._around(drawing, camera, 0.03 * size[1]), size)
                GLState(behind=True, colors=sunk or not there, within=near).set()
                self._ground(drawing, camera, light, shade, middle, halves)
                self._square("ground", drawing, camera, light, shade | {"hole": np.zeros(3)}, middle, halves, ~dark)
        if not there:
            self._background(drawing, light, camera, size)
        if self.occlusion and not drawing.wireframe:
            self.occlusion.draw(self.target, camera, self._around(drawing, camera, 0.03 * size[1]))
        clear = np.flatnonzero(~solid)
        if len(clear):                                          # from the back to the front
            clear = clear[np.argsort(-depth[clear])]
            places = np.array([self.meshes.number(drawing.surfaces[k], len(LEVELS)) for k in drawing.which[clear]])
            GLState(blend=OVER, writes=False, lines=drawing.wireframe).set()
            self._pass(self._upload(self.rows, seen, clear, places), shade, lit)
        if grounded and not above:                              # seen from below it is a veil
            GLState(blend=SHARED, share=VEIL, writes=False).set()
            self._ground(drawing, camera, light, shade)
        self._marks(drawing, seen, solid & marks, pixels, shade, lit)
        segments, colors, widths = drawing.lines
        if drawing.globe is not None and len(segments):
            colors = colors * np.where(drawing.globe.hides(camera.eye, segments.mean(axis=1)), BEHIND, [1.0])[:, None] ** [0, 0, 0, 1]
        self.lines.draw(segments, colors, self.scale * widths, camera.matrix(aspect), size)
        GLState().set()                                          # copies too keep within
        self.target.copy_to(self.picture.id)
        if not self.samples:
            self._smooth(cells)
        if drawing.labels or drawing.legend or drawing.beacons:
            canvas = Canvas(self.scale)
            wording.draw(canvas, drawing, camera, size, self.foot)
            self.overlay(canvas)
        return self.picture

    def overlay(self, canvas: Canvas) -> None:
        """Draw a canvas over the last picture."""
        assert self.picture is not None
        self.picture.bind()
        self.painter.draw(canvas, self.picture.size)

    def _marks(self, drawing: Drawing, seen: Seen, chosen: Array, pixels: Array, shade: dict[str, Any],
               lit: Renderer | EnvironmentMap) -> None:  # fmt: skip
        """Draw marks, and faintly where a surface hides them."""
        if not chosen.any():
            return
        runs = self._fill(self.rows, drawing, seen, chosen, pixels)
        for state in (GLState("GREATER", writes=False, blend=SHARED, share=0.6), GLState()):
            state.set()
            self._pass(runs, shade, lit)

    def pixels(self) -> Array:
        """Return the last picture (height, width, 3) uint8, first row on top."""
        assert self.picture is not None
        return self.picture.pixels()[..., :3]

    def _resize(self, size: tuple[int, int]) -> None:
        if self.target is None or self.target.size != size:
            for old in (self.target, self.picture):
                if old is not None:
                    old.delete()
            self.target = Framebuffer(size, gl.GL_RGBA8, self.samples)
            self.picture = Framebuffer(size, gl.GL_RGBA8, depth=False)

    # ------------------------------------------------------------ parts of it

    def _seen(self, drawing: Drawing) -> Seen:
        """Return spheres about the instances, and about everything."""
        boxes = np.array([measure(s).box for s in drawing.surfaces]).reshape(-1, 2, 3)
        opacity = drawing.colors[:, 3] * np.array([s.color[3] * measure(s).opacity for s in drawing.surfaces])[drawing.which]
        turned = drawing.poses[:, :3, :3]
        centres = np.einsum("nij,nj->ni", turned, 0.5 * boxes.sum(axis=1)[drawing.which]) + drawing.poses[:, :3, 3]
        scales = np.sqrt(np.einsum("nij,nij->nj", turned, turned).max(axis=1))
        radii = 0.5 * np.linalg.norm(np.ptp(boxes, axis=1), axis=1)[drawing.which] * scales
        edges = turned * 0.5 * np.ptp(boxes, axis=1)[drawing.which, None]
        rows, c, r = table(drawing), centres[drawing.numbers > 0], radii[drawing.numbers > 0]
        if not len(c):
            return Seen(centres, radii, edges, opacity, np.zeros(3), 1.0, rows)
        middle = 0.5 * ((c - r[:, None]).min(axis=0) + (c + r[:, None]).max(axis=0))
        return Seen(centres, radii, edges, opacity, middle, float((np.linalg.norm(c - middle, axis=1) + r).max()), rows)

    def _environment_map(self, drawing: Drawing) -> EnvironmentMap | None:
        """Return what draws in the light of a drawing's picture, if it has one."""
        if drawing.around is None:
            return None
        if self.environment_map is None or self.environment_map.surroundings is not drawing.around:
            if self.environment_map is not None:
                self.environment_map.delete()
            self.environment_map = EnvironmentMap(drawing.around, **self.sized)
        return self.environment_map

    def _shadows(self, drawing: Drawing, seen: Seen, light: Light, casting: Array, pixels: Array) -> dict[str, Any]:
        """Draw the maps of the key light and from above; return the matrices from the world into them.

        What casts a sharp shadow is no coarser than what is seen, so large to the metre: what a stand-in's edges stick out of it lies in
        their shadow, in streaks; but for what is so small on the map that they stick out by less than the shadow is looked up beside them.
        """
        key, above = (orthographic(d, seen.middle, seen.radius) for d in (light.key, np.array([0.0, 0.0, 1.0])))
        GLState().set()
        gl.glClearColor(1.0, 1.0, 1.0, 1.0)
        for program, target, matrix in ((self.depth, self.shadow_map, key), (self.moments, self.sky_map, above)):
            target.bind()
            gl.glClear(gl.GL_DEPTH_BUFFER_BIT | (gl.GL_COLOR_BUFFER_BIT if target.color else 0))
            texels = np.full(len(casting), COARSE * target.size[0] / seen.radius)
            if target is self.shadow_map:
                texels = np.where(seen.radii * SHADOW < LARGE * seen.radius, texels, np.maximum(texels, pixels))
            runs = self._fill(self.casters, drawing, seen, casting, texels)
            program.use(matrix=matrix, rows=0)
            self.casters.bind(0)
            for number, first, count in runs:
                self.meshes.draw(program, number, first, count)
        GLState(None).set()
        for source, target, along in ((self.sky_map, self.sky_blurred, (1 / SKY, 0.0)), (self.sky_blurred, self.sky_map, (0.0, 1 / SKY))):
            target.bind()
            bind_texture(0, source.color)
            self.blur.use(image=0, along=along)
            gl.glDrawArrays(gl.GL_TRIANGLES, 0, 3)
        half = np.array([[0.5, 0, 0, 0.5], [0, 0.5, 0, 0.5], [0, 0, 0.5, 0.5], [0, 0, 0, 1.0]])
        return {"shadow_matrix": half @ key, "sky_matrix": half @ above, "shadow_texel": 2.0 * seen.radius / SHADOW}

    def _fill(self, rows: Rows, drawing: Drawing, seen: Seen, chosen: Array, pixels: Array) -> list[tuple[int, int, int]]:
        """Upload the chosen instances' rows, each at the level for its size in pixels; return (place, first, count) of every run."""
        index = np.flatnonzero(chosen & (seen.radii * pixels > 0.5))        # a pixel across
        if not len(index):
            return []
        across = 2.0 * seen.radii[index] * pixels[index]
        wanted = self.detail * across**2 + np.minimum(across**2, ENOUGH)
        total = float(np.minimum(wanted, np.array([len(s.faces) for s in drawing.surfaces])[drawing.which[index]]).sum())
        level = np.searchsorted(LEVELS, wanted * min(1.0, MOST * self.detail / DETAIL / total) / BELOW)
        kinds = drawing.which[index] * 16 + level
        of_kind = np.zeros(16 * len(drawing.surfaces), int)
        for kind in np.flatnonzero(np.bincount(kinds)):
            of_kind[kind] = self.meshes.number(drawing.surfaces[kind // 16], kind % 16)
        places = of_kind[kinds]
        order = np.lexsort((-pixels[index], places))
        runs = self._upload(rows, seen, index[order], places[order])
        near = pixels[index[order]]
        return sorted(runs, key=lambda run: -near[run[1]])      # what is near hides what is far before it is lit

    def _upload(self, rows: Rows, seen: Seen, index: Array, places: Array) -> list[tuple[int, int, int]]:
        rows.fill(seen.rows[index])
        self.meshes.bind()
        starts = np.flatnonzero(np.r_[True, places[1:] != places[:-1]])
        ends = np.r_[starts[1:], len(places)]
        return [(int(places[a]), int(a), int(b - a)) for a, b in zip(starts, ends, strict=True)]

    def _background(self, drawing: Drawing, light: Light, camera: Camera, size: tuple[int, int]) -> None:
        """Draw the background, at the far plane."""
        GLState().set()
        if drawing.environment == "space":
            self.space = self.space or Space()
            self.space.draw(camera, light, size, drawing.globe or BACKDROP)
            return
        gl.glBindVertexArray(self.meshes.array)
        rays = camera.rays(size[0] / size[1])
        if drawing.around and self.environment_map:
            self.environment_map.draw(rays)
            return
        self.sky.use(rays=rays, horizon=light.horizon, zenith=light.zenith)
        gl.glDrawArrays(gl.GL_TRIANGLES, 0, 3)

    def _kept(self, drawing: Drawing, light: Light, camera: Camera, size: tuple[int, int], shade: dict[str, Any]) -> bool:
        """Copy the background from where it was kept, as long as the camera stands still; return whether there was one."""
        assert self.target is not None
        globe = () if drawing.globe is None else (*drawing.globe.axes[0], *drawing.globe.seen_from(camera.eye)[0], *drawing.globe.sun)
        key = (size, drawing.environment, id(drawing.around), drawing.floor, *drawing.extent[0], drawing.extent[1], *globe,
               *camera.eye, *camera.target, *camera.axes[0], camera.fov)  # fmt: skip
        same, self._seen_from = self._seen_from == key, key
        if not same:
            return False
        if self.behind is None or self.behind.size != size:
            if self.behind is not None:
                self.behind.delete()
            self.behind = Framebuffer(size, gl.GL_RGBA8, self.samples)
        if self._behind_key != key:
            self.behind.bind()
            GLState(behind=True).set()
            gl.glClear(gl.GL_DEPTH_BUFFER_BIT)
            if drawing.environment in GROUNDS and camera.eye[2] > drawing.floor:
                self._ground(drawing, camera, light, shade)
            self._background(drawing, light, camera, size)
            self._behind_key = key
        self.behind.copy_to(self.target.id)
        return True

    def _ground(self, drawing: Drawing, camera: Camera, light: Light, shade: dict[str, Any], middle: Any = None,
                across: Any = np.eye(2)) -> None:  # fmt: skip
        """Draw the ground as far as it is seen, without shadows, but for a rectangle that is drawn already, if there is one."""
        spans = across / (across**2).sum(axis=1, keepdims=True)                # a point's share of the way to the sides
        shade = shade | {"hole": np.zeros(3) if middle is None else (*middle, 0.99), "spans": spans.reshape(-1)}
        self._square("ground", drawing, camera, light, shade, drawing.extent[0][:2], far(drawing, camera) * np.eye(2))

    def _square(self, name: str, drawing: Drawing, camera: Camera, light: Light, shade: dict[str, Any], middle: Array,
                halves: Array, chosen: Array = WHOLE) -> None:  # fmt: skip
        """Draw cells of a rectangle of the ground: its middle (2), and from there to the middles of two of its sides (2, 2), m."""
        grid = (*drawing.extent[0][:2], far(drawing, camera), square(drawing))
        color, shares = (drawing.around.ground, drawing.around.shares) if drawing.around else (GROUNDS[drawing.environment], SHARES)
        if drawing.around and self.environment_map:
            shade = shade | self.environment_map.backdrop(6)
        program = getattr(self.environment_map if drawing.around else self, name)
        program.use(**shade, grid=grid, horizon=np.sqrt(light.horizon), open_color=color, shares=shares,
                    middle=(*middle, drawing.floor), halves=halves.reshape(-1))  # fmt: skip
        self.cells.draw(program, chosen)

    def _around(self, drawing: Drawing, camera: Camera, margin: float = 0.0) -> tuple[int, int, int, int]:
        """Return a rectangle about the instances: left, bottom, width, height, pixels."""
        assert self.target is not None
        w, h = self.target.size
        at = camera.project(drawing.corners(), (w, h)) if len(drawing.which) <= MANY else np.array([[np.nan]])
        at = np.array([[0.0, 0.0], [w, h]]) if np.isnan(at).any() or not len(at) else at
        low, high = np.clip(np.floor(at.min(axis=0) - margin), 0, (w, h)), np.clip(np.ceil(at.max(axis=0) + margin), 0, (w, h))
        return int(low[0]), int(h - high[1]), int(high[0] - low[0]), int(high[1] - low[1])

    def _smooth(self, cells: Array) -> None:
        """Smooth the edges of a picture without samples, in cells where the instances are."""
        assert self.target is not None and self.picture is not None
        self.picture.bind()
        GLState(None).set()
        bind_texture(0, self.target.color)
        self.smooth.use(image=0, texel=1.0 / np.array(self.target.size))
        self.cells.draw(self.smooth, cells)

    def _pass(self, runs: list[tuple[int, int, int]], shade: dict[str, Any], owner: Renderer | EnvironmentMap | Deferred) -> None:
        """Draw runs of instances by an owner's programs, those with textures by their own; in their order."""
        current: Program | None = None
        self.meshes.bind()
        for number, first, count in runs:
            texture = self.meshes.textures[number]
            program = owner.surface if texture is None else owner.textured
            if program is not current:
                program.use(**shade, rows=0, image=3)
                self.rows.bind(0)
                current = program
            if texture is not None:
                texture.bind(3)
            self.meshes.draw(program, number, first, count)

    def pick(self, drawing: Drawing, camera: Camera, x: int, y: int, size: tuple[int, int]) -> tuple[int, Array]:
        """Return the number of the instance at a pixel from the upper left corner, 0 where there is none, and the point there (3), m."""
        far_away, camera = camera, near_origin(drawing, camera)[1]
        drawing = about(drawing, far_away.target - camera.target)
        target = Framebuffer(size, gl.GL_R32UI)
        target.bind()
        GLState(within=(x, size[1] - 1 - y, 1, 1)).set()
        gl.glClearBufferuiv(gl.GL_COLOR, 0, (gl.GLuint * 4)(0, 0, 0, 0))
        gl.glClear(gl.GL_DEPTH_BUFFER_BIT)
        exactly = np.full(len(drawing.which), np.inf)
        runs = self._fill(self.rows, drawing, self._seen(drawing), drawing.numbers > 0, exactly)
        self.number.use(matrix=camera.matrix(size[0] / size[1]), rows=0)
        self.rows.bind(0)
        for number, first, count in runs:
            self.meshes.draw(self.number, number, first, count)
        found, depth = gl.GLuint(), gl.GLfloat()
        gl.glReadPixels(x, size[1] - 1 - y, 1, 1, gl.GL_RED_INTEGER, gl.GL_UNSIGNED_INT, byref(found))
        gl.glReadPixels(x, size[1] - 1 - y, 1, 1, gl.GL_DEPTH_COMPONENT, gl.GL_FLOAT, byref(depth))
        target.delete()
        at = np.array([2 * (x + 0.5) / size[0] - 1, 1 - 2 * (y + 0.5) / size[1], 2 * depth.value - 1, 1.0])
        point = np.linalg.solve(camera.matrix(size[0] / size[1]), at)
        return int(found.value), point[:3] / point[3] + (far_away.target - camera.target)

    def delete(self) -> None:
        """Free what lies on the graphics card."""
        for owned in vars(self).values():
            if hasattr(owned, "delete"):
                owned.delete()


def table(drawing: Drawing) -> Array:
    """Return the rows (n, 20) of instances as ``rows.vert`` reads them: pose, colour, looks, and number."""
    looks = np.array([(*s.color, s.metallic, s.roughness) for s in drawing.surfaces], np.float32).reshape(-1, 6)[drawing.which]
    rows = np.zeros((len(drawing.which), 20), np.float32)
    rows[:, :12] = drawing.poses[:, :3].reshape(-1, 12)
    np.multiply(drawing.colors, looks[:, :4], out=rows[:, 12:16], casting="same_kind")
    rows[:, 16:18] = looks[:, 4:]
    rows[:, 19] = drawing.numbers.astype(np.int32).view(np.float32)
    return rows


def orthographic(towards: Array, middle: Array, radius: float) -> Array:
    """Return the matrix (4, 4) from the world to clip coordinates of a light from far away in a direction (3), about a sphere."""
    z = towards
    x = unit(np.cross([0.0, 1.0, 0.0] if abs(z[1]) < 0.99 else [0.0, 0.0, 1.0], z))
    R = np.stack([x, np.cross(z, x), -z]) / radius
    return np.vstack([np.column_stack([R, -R @ middle]), [0, 0, 0, 1.0]])
