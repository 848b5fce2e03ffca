"""Fonts: Pillow's own for ASCII and a little more, DejaVu for Latin, Greek, Cyrillic and signs, and a machine's own for the rest."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from engine.checks import EngineWarning, warn

#: parts of the names of files that hold Chinese, Japanese and Korean, the most even first
EASTERN = ("NotoSansCJK", "SourceHanSans", "wqy", "DroidSansFallback", "msyh", "PingFang", "Hiragino", "simsun", "Unifont")
#: characters that no font has, and those of them that were told
NOWHERE, TOLD = set[str](), set[str]()


class FontWarning(EngineWarning):
    """A character is drawn as a box."""


@functools.cache
def font(file: str, size: int) -> Any:
    """Return a font by its file; Pillow's own for an empty name."""
    from PIL import ImageFont

    return ImageFont.truetype(file, size) if file else ImageFont.load_default(size)


@functools.cache
def files() -> tuple[str, ...]:
    """Return the files of fonts that are looked through: Pillow's own (""), that which comes with matplotlib, and the machine's."""
    import matplotlib
    from matplotlib.font_manager import findSystemFonts

    own = str(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf")
    found = sorted(findSystemFonts(), key=lambda f: next((k for k, name in enumerate(EASTERN) if name in f), len(EASTERN)))
    return "", own, *found


def has(file: str, character: str) -> bool:
    """Return whether a font draws a character as itself, not as it draws what it does not know."""
    try:
        shape, unknown = (bytes(font(file, 24).getmask(c, "L")) for c in (character, "\uffff"))
    except (OSError, ValueError):                                              # a file that is no font, or half a character
        return False
    return shape != unknown


@functools.cache
def file_with(character: str) -> str:
    """Return the file of the first font that has a character; where none has, Pillow's own, which draws a box."""
    if character.isascii() or has("", character):
        return ""
    for file in files()[1:]:
        if has(file, character):
            return file
    NOWHERE.add(character)
    return ""


def tell_boxes(text: str) -> None:
    """Warn, once for each character, of those of a text that no font has."""
    new = [c for c in dict.fromkeys(text) if c in NOWHERE and c not in TOLD]
    TOLD.update(new)
    if new:
        known = ", ".join(f"'{c}'" for c in new[:5]) + (f" and {len(new) - 5} more" if len(new) > 5 else "")
        warn(f"no font here has {known}, which becomes a box; expected one that has, such as Noto Sans CJK (on Debian and Ubuntu "
             "'apt install fonts-noto-cjk')", FontWarning)  # fmt: skip
