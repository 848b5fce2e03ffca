"""OpenGL's objects as Python's: programs, buffers, textures, framebuffers. Nothing here knows what is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import POINTER, byref, c_char, c_char_p, c_int, c_uint, c_void_p, cast, create_string_buffer, pointer
from pathlib import Path
from typing import Any

import numpy as np

import engine.viewer.draw.opengl as gl

Array = np.ndarray
SHADERS = Path(__file__).parent / "shaders"
HEADER = "#version 330 core\n"


def address(x: Array) -> Any:
    """Return the address of an array's data."""
    return x.ctypes.data_as(c_void_p)


class Program:
    """A vertex and a fragment shader, each of one or more files in shaders/, linked; its uniforms are set by name."""

    def __init__(self, vertex: tuple[str, ...], fragment: tuple[str, ...], **defines: Any) -> None:
        self.id = gl.glCreateProgram()
        defined = "".join(f"#define {n} {x}\n" for n, x in defines.items())
        shaders = []
        for kind, names in ((gl.GL_VERTEX_SHADER, vertex), (gl.GL_FRAGMENT_SHADER, fragment)):
            text = HEADER + defined + "".join((SHADERS / n).read_text() for n in names)
            shaders.append(compiled(kind, text, " + ".join(names)))
            gl.glAttachShader(self.id, shaders[-1])
        gl.glLinkProgram(self.id)
        ok = c_int()
        gl.glGetProgramiv(self.id, gl.GL_LINK_STATUS, byref(ok))
        if not ok.value:
            log = create_string_buffer(8192)
            gl.glGetProgramInfoLog(self.id, 8192, None, log)
            raise RuntimeError(f"shaders {vertex} and {fragment} do not link: {log.value.decode(errors='replace')}")
        for shader in shaders:
            gl.glDeleteShader(shader)
        self._places: dict[str, int] = {}

    def place(self, name: str) -> int:
        """Return a uniform's location; −1 where the shaders do not use it."""
        if name not in self._places:
            self._places[name] = gl.glGetUniformLocation(self.id, name.encode())
        return self._places[name]

    def use(self, **values: Any) -> None:
        """Make the program current, and set uniforms: integers, floats, vectors, and matrices (4, 4)."""
        gl.glUseProgram(self.id)
        for name, value in values.items():
            self.set(name, value)

    def set(self, name: str, value: Any) -> None:
        """Set a uniform of the current program."""
        at = self.place(name)
        if isinstance(value, (bool, int, np.integer)):
            gl.glUniform1i(at, int(value))
            return
        x = np.ascontiguousarray(value, dtype=np.float32)
        data = x.ctypes.data_as(POINTER(gl.GLfloat))
        if x.ndim == 2:
            gl.glUniformMatrix4fv(at, 1, gl.GL_TRUE, data)
        else:
            [gl.glUniform1fv, gl.glUniform2fv, gl.glUniform3fv, gl.glUniform4fv][max(x.size, 1) - 1](at, 1, data)

    def delete(self) -> None:
        gl.glDeleteProgram(self.id)


def compiled(kind: int, text: str, name: str) -> int:
    """Compile a shader; return its handle."""
    shader = gl.glCreateShader(kind)
    source = c_char_p(text.encode())
    gl.glShaderSource(shader, 1, cast(pointer(source), POINTER(POINTER(c_char))), None)
    gl.glCompileShader(shader)
    ok = c_int()
    gl.glGetShaderiv(shader, gl.GL_COMPILE_STATUS, byref(ok))
    if not ok.value:
        log = create_string_buffer(8192)
        gl.glGetShaderInfoLog(shader, 8192, None, log)
        raise RuntimeError(f"the shader {name} does not compile: {log.value.decode(errors='replace')}")
    return shader


def made(make: Any) -> int:
    """Return the name of a new buffer, texture or framebuffer."""
    name = c_uint()
    make(1, byref(name))
    return name.value


class Buffer:
    """A buffer that is filled anew, and grows as it needs to."""

    def __init__(self, target: int, usage: int) -> None:
        self.id, self.target, self.usage, self.size = made(gl.glGenBuffers), target, usage, 0
        self.parts = 0                                                         # of those that are appended, which it holds

    def bind(self) -> None:
        gl.glBindBuffer(self.target, self.id)

    def fill(self, data: Array) -> None:
        self.bind()
        if data.nbytes > self.size:
            self.size = data.nbytes
            gl.glBufferData(self.target, data.nbytes, address(data), self.usage)
        else:
            gl.glBufferSubData(self.target, 0, data.nbytes, address(data))

    def append(self, parts: Sequence[Array]) -> None:
        """Fill it with parts one after another, of which those of the last time are there already; with room for as many more where it
        grows."""
        self.bind()
        if (total := sum(part.nbytes for part in parts)) > self.size:
            self.size, self.parts = 2 * total, 0
            gl.glBufferData(self.target, self.size, None, self.usage)
        at = sum(part.nbytes for part in parts[: self.parts])
        for part in parts[self.parts :]:
            gl.glBufferSubData(self.target, at, part.nbytes, address(part))
            at += part.nbytes
        self.parts = len(parts)

    def delete(self) -> None:
        gl.glDeleteBuffers(1, byref(c_uint(self.id)))


def attributes(vertex: np.dtype[Any]) -> None:
    """Tell OpenGL how the fields of a vertex lie in the bound array buffer: attribute k is field k; bytes are fractions."""
    for k, name in enumerate(vertex.names or ()):
        kind, offset = vertex.fields[name][:2]  # type: ignore[index]
        bytes_ = kind.base == np.uint8
        gl.glEnableVertexAttribArray(k)
        gl.glVertexAttribPointer(k, kind.shape[0], gl.GL_UNSIGNED_BYTE if bytes_ else gl.GL_FLOAT, bytes_, vertex.itemsize, offset)


def bind_texture(unit: int, name: int) -> None:
    """Make a 2D texture the one that a unit's samplers read."""
    gl.glActiveTexture(gl.GL_TEXTURE0 + unit)
    gl.glBindTexture(gl.GL_TEXTURE_2D, name)


class Rows:
    """A table of vec4 that shaders read by index (a buffer texture): a row of ``width`` of them for every instance."""

    def __init__(self) -> None:
        self.buffer = Buffer(gl.GL_TEXTURE_BUFFER, gl.GL_STREAM_DRAW)
        self.id = made(gl.glGenTextures)

    def fill(self, data: Array) -> None:
        """Upload rows (n, 4 width), float32."""
        self.buffer.fill(np.ascontiguousarray(data, np.float32))
        gl.glBindTexture(gl.GL_TEXTURE_BUFFER, self.id)
        gl.glTexBuffer(gl.GL_TEXTURE_BUFFER, gl.GL_RGBA32F, self.buffer.id)

    def bind(self, unit: int) -> None:
        gl.glActiveTexture(gl.GL_TEXTURE0 + unit)
        gl.glBindTexture(gl.GL_TEXTURE_BUFFER, self.id)

    def delete(self) -> None:
        gl.glDeleteTextures(1, byref(c_uint(self.id)))
        self.buffer.delete()


class Texture:
    """A 2D texture of 8-bit RGBA or of one channel, with mipmaps, first row on top."""

    def __init__(self, image: Array, mipmaps: bool = True) -> None:
        self.id = made(gl.glGenTextures)
        self.bind(0)
        image = np.ascontiguousarray(image, np.uint8)
        layout, inside = (gl.GL_RED, gl.GL_R8) if image.ndim == 2 else (gl.GL_RGBA, gl.GL_RGBA8)
        gl.glPixelStorei(gl.GL_UNPACK_ALIGNMENT, 1)
        gl.glTexImage2D(gl.GL_TEXTURE_2D, 0, inside, image.shape[1], image.shape[0], 0, layout, gl.GL_UNSIGNED_BYTE, address(image))
        if mipmaps:
            gl.glGenerateMipmap(gl.GL_TEXTURE_2D)
        parameters(gl.GL_TEXTURE_2D, gl.GL_LINEAR_MIPMAP_LINEAR if mipmaps else gl.GL_LINEAR, gl.GL_LINEAR,
                   gl.GL_REPEAT if mipmaps else gl.GL_CLAMP_TO_EDGE)  # fmt: skip

    def bind(self, unit: int) -> None:
        bind_texture(unit, self.id)

    def delete(self) -> None:
        gl.glDeleteTextures(1, byref(c_uint(self.id)))


def parameters(target: int, smaller: int, larger: int, wrap: int) -> None:
    """Set filters and wrapping of the bound texture."""
    gl.glTexParameteri(target, gl.GL_TEXTURE_MIN_FILTER, smaller)
    gl.glTexParameteri(target, gl.GL_TEXTURE_MAG_FILTER, larger)
    gl.glTexParameteri(target, gl.GL_TEXTURE_WRAP_S, wrap)
    gl.glTexParameteri(target, gl.GL_TEXTURE_WRAP_T, wrap)


class Framebuffer:
    """A framebuffer, which is drawn into: colour (of a format, or none), a second one if it has a format, and depth, multisampled or not.

    Without samples all are textures: ``color``, ``second`` and ``depth``; with samples :meth:`copy_to` brings the colour to another
    framebuffer.
    """

    def __init__(self, size: tuple[int, int], color: int | None, samples: int = 0, depth: bool = True,
                 second: int | None = None) -> None:  # fmt: skip
        self.size, self.samples = size, samples
        self.id = made(gl.glGenFramebuffers)
        gl.glBindFramebuffer(gl.GL_FRAMEBUFFER, self.id)
        self.color = 0 if color is None else self._attached(gl.GL_COLOR_ATTACHMENT0, color)
        self.depth = self._attached(gl.GL_DEPTH_ATTACHMENT, gl.GL_DEPTH_COMPONENT24) if depth else 0
        self.second = 0 if second is None else self._attached(gl.GL_COLOR_ATTACHMENT1, second)
        if self.second:
            gl.glDrawBuffers(2, (gl.GLenum * 2)(gl.GL_COLOR_ATTACHMENT0, gl.GL_COLOR_ATTACHMENT1))
        if color is None:
            gl.glDrawBuffer(gl.GL_NONE)
            gl.glReadBuffer(gl.GL_NONE)
        if gl.glCheckFramebufferStatus(gl.GL_FRAMEBUFFER) != gl.GL_FRAMEBUFFER_COMPLETE:
            raise RuntimeError(f"a framebuffer of {size} with {samples} samples is not complete")

    def _attached(self, point: int, form: int) -> int:
        if self.samples:
            name = made(gl.glGenRenderbuffers)
            gl.glBindRenderbuffer(gl.GL_RENDERBUFFER, name)
            gl.glRenderbufferStorageMultisample(gl.GL_RENDERBUFFER, self.samples, form, *self.size)
            gl.glFramebufferRenderbuffer(gl.GL_FRAMEBUFFER, point, gl.GL_RENDERBUFFER, name)
            return name
        name = made(gl.glGenTextures)
        bind_texture(0, name)
        layout, kind = {
            gl.GL_DEPTH_COMPONENT24: (gl.GL_DEPTH_COMPONENT, gl.GL_UNSIGNED_INT), gl.GL_RG32F: (gl.GL_RG, gl.GL_FLOAT),
            gl.GL_RGBA8: (gl.GL_RGBA, gl.GL_UNSIGNED_BYTE), gl.GL_R32UI: (gl.GL_RED_INTEGER, gl.GL_UNSIGNED_INT),
        }[form]  # fmt: skip
        gl.glTexImage2D(gl.GL_TEXTURE_2D, 0, form, *self.size, 0, layout, kind, None)
        exact = form in (gl.GL_R32UI, gl.GL_DEPTH_COMPONENT24)
        filtered = gl.GL_NEAREST if exact else gl.GL_LINEAR
        parameters(gl.GL_TEXTURE_2D, filtered, filtered, gl.GL_CLAMP_TO_EDGE)
        gl.glFramebufferTexture2D(gl.GL_FRAMEBUFFER, point, gl.GL_TEXTURE_2D, name, 0)
        return name

    def bind(self) -> None:
        gl.glBindFramebuffer(gl.GL_FRAMEBUFFER, self.id)
        gl.glViewport(0, 0, *self.size)

    def copy_to(self, other: int, what: int = 0, within: tuple[int, int, int, int] | None = None) -> None:
        """Copy the colour, or GL_DEPTH_BUFFER_BIT for the depth, to another framebuffer (0 is the window's) of this size; all of it, or
        what lies within a rectangle: left, bottom, width, height, pixels."""
        left, bottom, wide, high = within or (0, 0, *self.size)
        corners = left, bottom, left + wide, bottom + high
        gl.glBindFramebuffer(gl.GL_READ_FRAMEBUFFER, self.id)
        gl.glBindFramebuffer(gl.GL_DRAW_FRAMEBUFFER, other)
        gl.glBlitFramebuffer(*corners, *corners, what or gl.GL_COLOR_BUFFER_BIT, gl.GL_NEAREST)

    def pixels(self) -> Array:
        """Return the colour (height, width, 4) uint8, first row on top."""
        w, h = self.size
        data = np.empty((h, w, 4), np.uint8)
        gl.glBindFramebuffer(gl.GL_READ_FRAMEBUFFER, self.id)
        gl.glPixelStorei(gl.GL_PACK_ALIGNMENT, 1)
        gl.glReadPixels(0, 0, w, h, gl.GL_RGBA, gl.GL_UNSIGNED_BYTE, address(data))
        return data[::-1]

    def delete(self) -> None:
        for name in (self.color, self.second, self.depth):
            if name:
                (gl.glDeleteRenderbuffers if self.samples else gl.glDeleteTextures)(1, byref(c_uint(name)))
        gl.glDeleteFramebuffers(1, byref(c_uint(self.id)))
