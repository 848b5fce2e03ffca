"""The relations, each a function of a generator: it makes a scene, and raises where the law does not hold."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from tests.fuzz.metamorphic import descriptions, frames, units
from tests.fuzz.metamorphic.random_scenes import random_scene
from tests.fuzz.metamorphic.seen import same_motion

Rng = np.random.Generator


def turned(rng: Rng, folder: Path) -> None:
    """The motion of a world that is turned and shifted is turned and shifted: :func:`frames.turned`."""
    scene = random_scene(rng)
    same_motion(scene, *frames.turned(scene, rng), rng)


def reflected(rng: Rng, folder: Path) -> None:
    """The motion of a mirrored scene is mirrored: :func:`frames.reflected`."""
    scene = random_scene(rng)
    same_motion(scene, *frames.reflected(scene, rng), rng)


def rescaled(rng: Rng, folder: Path) -> None:
    """The motion in other units is the same: :func:`units.rescaled`."""
    scene = random_scene(rng)
    same_motion(scene, *units.rescaled(scene, rng), rng)


def shuffled(rng: Rng, folder: Path) -> None:
    """The order of declarations says nothing: :func:`descriptions.shuffled`."""
    scene = random_scene(rng)
    same_motion(scene, *descriptions.shuffled(scene, rng), rng)


def flipped(rng: Rng, folder: Path) -> None:
    """Signs of axes and quaternions say nothing: :func:`descriptions.flipped`."""
    scene = random_scene(rng)
    same_motion(scene, *descriptions.flipped(scene, rng), rng)


def split_body(rng: Rng, folder: Path) -> None:
    """Two halves that are welded are the whole: :func:`descriptions.halved_body`."""
    scene = random_scene(rng)
    same_motion(scene, *descriptions.halved_body(scene, rng), rng)


def rerooted(rng: Rng, folder: Path) -> None:
    """A tree that floats may hang on any of its links, but for the steps' own errors: :func:`descriptions.rerooted`."""
    scene = random_scene(rng, smooth=True, free=True, apart=0.1)
    same_motion(scene, *descriptions.rerooted(scene, rng), rng, truncated=True)


def boosted(rng: Rng, folder: Path) -> None:
    """Galilei's relativity, but for the steps' own errors: :func:`frames.boosted`."""
    scene = random_scene(rng, free=True, smooth=True)
    same_motion(scene, *frames.boosted(scene, rng), rng, truncated=True)


def lifted(rng: Rng, folder: Path) -> None:
    """Gravity is a frame that accelerates, but for the steps' own errors: :func:`frames.lifted`."""
    scene = random_scene(rng, free=True, smooth=True)
    same_motion(scene, *frames.lifted(scene, rng), rng, truncated=True)


def welded(rng: Rng, folder: Path) -> None:
    """A weld is a fixed joint, but for the steps' own errors: :func:`descriptions.welded`."""
    (fixed, loose), view = descriptions.welded(random_scene(rng, smooth=True, constraints=False, bodies=2), rng)
    same_motion(replace(fixed, joint_dynamics="explicit"), replace(loose, joint_dynamics="explicit"), view, rng, truncated=True)


LAWS = (turned, reflected, rescaled, shuffled, flipped, split_body, rerooted, boosted, lifted, welded)
