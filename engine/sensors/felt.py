"""What a sensor feels of accelerations and forces: what it declares by ``feels``, and nothing else."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any, cast

from engine.checks import nearest
from engine.components.component import Context, Felt, SimulationError

#: the words of ``feels``
WORDS = Felt._fields


def require_felt(name: str, feels: Any) -> None:
    """Refuse what the ``feels`` of the sensor of that name is, if it is not some of :class:`~engine.components.component.Felt`'s fields.

    >>> require_felt("wrist", ("taw",))
    Traceback (most recent call last):
        ...
    engine.components.component.SimulationError: wrist: feels is ('taw',) (did you mean 'tau'?); expected a tuple of some of vdot, tau, \
loads, contacts, such as ('tau',)
    """
    each = feels if isinstance(feels, (tuple, list)) else None
    unknown = [str(n) for n in each or () if n not in WORDS]
    if each is None or unknown:
        near = nearest(unknown[0], WORDS) if unknown else ""
        raise SimulationError(f"{name}: feels is {feels!r}{near}; expected a tuple of some of {', '.join(WORDS)}, such as ('tau',)")


class Declared:
    """The parts of what is felt that a sensor ``feels``: the others may be filled or not, by what other sensors ask for."""

    def __init__(self, name: str, feels: Sequence[str], felt: Any) -> None:
        self._name, self._feels, self._felt = name, (*feels,), felt

    def __getattr__(self, part: str) -> Any:
        if part in self._feels:
            return getattr(self._felt, part)
        if part not in WORDS:
            raise SimulationError(f"'{self._name}' reads s.felt.{part}{nearest(part, WORDS)}; expected one of {', '.join(WORDS)}")
        asked = "s.vdot" if part == "vdot" else f"s.felt.{part}"
        raise SimulationError(f"'{self._name}' reads {asked}, which it does not declare; expected feels = {(*self._feels, part)}")


@contextlib.contextmanager
def only_declared(s: Context, name: str, feels: Sequence[str]) -> Iterator[None]:
    """Let the sensor of that name read of ``s.felt`` what it feels alone; the error of another part says which word declares it.

    >>> import numpy as np
    >>> from types import SimpleNamespace
    >>> s = SimpleNamespace(felt=Felt(*np.zeros((2, 1)), *np.zeros((2, 1, 6))))
    >>> with only_declared(s, "wrist", ("tau",)):
    ...     s.felt.loads
    Traceback (most recent call last):
        ...
    engine.components.component.SimulationError: 'wrist' reads s.felt.loads, which it does not declare; expected feels = ('tau', 'loads')
    """
    felt, s.felt = s.felt, cast("Felt", Declared(name, feels, s.felt))
    try:
        yield
    finally:
        s.felt = felt
