"""Relations that hold without knowing the answer: the same mechanics turned, mirrored, in other units, described or computed otherwise.

A case is a random scene, in a few states, and a relation: a law of :data:`LAWS`, whose docstring states it. What two computations may
differ by is derived: :mod:`tests.fuzz.metamorphic.seen`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.fuzz.metamorphic import computed, instants, laws, smooth
from tests.fuzz.metamorphic.seen import Unjudged, quiet

#: s that a case may take: it compiles
SECONDS = 120.0
#: all laws
LAWS = (*laws.LAWS, *computed.LAWS, *smooth.LAWS, *instants.LAWS)


def case(rng: np.random.Generator, folder: Path) -> str:
    """Hold a random scene to a random law, and say to which; or why it says nothing."""
    law = LAWS[int(rng.integers(len(LAWS)))]
    try:
        with quiet():
            law(rng, folder)
    except Unjudged as why:
        return f"{law.__name__}: {why}"
    except AssertionError as error:
        raise AssertionError(f"{law.__name__}: {error}") from error
    return law.__name__
