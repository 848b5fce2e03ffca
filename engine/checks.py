"""The engine's own error, and checks of arguments: one sentence that says what is wrong and what was expected."""

from __future__ import annotations

import contextlib
import errno
import functools
import importlib.util
import inspect
import itertools
import math
import os
import pickle
import sys
import traceback
import types
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray


class EngineError(ValueError):
    """Base of every error that the engine raises on purpose; its text says what is wrong, where, and what was expected.

    >>> import engine
    >>> try:
    ...     engine.load_urdf("gone.urdf")
    ... except engine.EngineError as error:
    ...     type(error).__name__, isinstance(error, ValueError)
    ('RobotFileError', True)
    """

    def __reduce__(self) -> Any:
        return type(self).__new__, (type(self), *self.args), vars(self)        # whatever the constructor takes


class Fixed:
    """An object compiled from its attributes: once ``_made`` is set, those without an underscore cannot be set."""

    _made = False

    def __setattr__(self, name: str, value: Any) -> None:
        if self._made and not name.startswith("_"):
            raise EngineError(f"'{name}' of a {type(self).__name__} cannot be set: it was compiled with what it has; expected a new one")
        super().__setattr__(name, value)


class Range(NamedTuple):
    """Interval that a number must lie in; ``above`` excludes the lower end.

    >>> Range(0.0, above=True).words, Range(0.0, 60.0).words, Range().words
    ('above 0', 'from 0 to 60', '')
    """

    least: float = -math.inf
    most: float = math.inf
    above: bool = False

    @property
    def words(self) -> str:
        """The interval in words, for the end of an error: "from 0 to 1", "above 0"."""
        low = "" if self.least == -math.inf else f"{'above' if self.above else 'from'} {self.least:.9g}"
        return low if self.most == math.inf else f"{low} to {self.most:.9g}".strip()


class EngineWarning(UserWarning):
    """Base of every warning of the engine: what goes on, but is hardly what was meant.

    >>> import engine, warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", engine.EngineWarning)               # what is doubtful ends the program
    ...     warnings.simplefilter("ignore", engine.RobotFileWarning)           # but not what is of files alone
    >>> issubclass(engine.SimulationWarning, engine.EngineWarning), issubclass(engine.EngineWarning, UserWarning)
    (True, True)
    """


def warn(text: str, category: type[Warning] = EngineWarning) -> None:
    """Warn at the line of the user's that called the engine."""
    frames = traceback.walk_stack(sys._getframe())
    inside = itertools.takewhile(lambda f: f[0].f_globals.get("__name__", "").startswith(("engine.", "functools")), frames)
    warnings.warn(text, category, stacklevel=1 + len(list(inside)))


def free_memory() -> float:
    """Return how many bytes of memory programs may take; infinite where the system does not say."""
    try:
        with open("/proc/meminfo") as file:
            return 1024.0 * next(int(line.split()[1]) for line in file if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        return math.inf


def shown(x: Any, most: int = 80) -> str:
    """Return a value's repr in one line, cut where it is long.

    >>> shown(np.eye(2))
    'array([[1., 0.], [0., 1.]])'
    """
    try:
        text = " ".join(repr(x).split())
    except ValueError:                                                         # whole numbers of thousands of digits
        text = f"{type(x).__name__}(…)"
    return text if len(text) <= most else text[: most - 1] + "…"


def nearest(name: str, names: Iterable[str], alike: float = 0.5) -> str:
    """Return `` (did you mean '…'?)`` where a name is close to one there is, ``alike`` by difflib's ratio, else nothing.

    >>> nearest("sholder", ["shoulder", "elbow"])
    " (did you mean 'shoulder'?)"
    """
    return f" (did you mean '{close[0]}'?)" if (close := closest(name, names, alike)) else ""


def closest(name: str, names: Iterable[str], alike: float) -> list[str]:
    """Return the name that is closest to one, whatever their case, in a list; none where none is ``alike`` by difflib's ratio.

    >>> closest("sholder", ["shoulder", "elbow"], 0.8), closest("RK4", ["cg4", "rk4"], 0.8)
    (['shoulder'], ['rk4'])
    """
    import difflib

    names = list(names)
    small = {n.lower(): n for n in names}
    return difflib.get_close_matches(name, names, 1, alike) or [small[n] for n in difflib.get_close_matches(name.lower(), small, 1, alike)]


def listed(expected: str, names: Iterable[str], nothing: str) -> str:
    """Return what is expected, "one of" say, with the names; or ``nothing`` where there are none.

    >>> listed("one of", ["x", "y"], "no axis, as there are none"), listed("one of", [], "no axis, as there are none")
    ('one of x, y', 'no axis, as there are none')
    """
    return f"{expected} {', '.join(names)}" if (names := list(names)) else nothing


def one_of(what: str, x: Any, names: Iterable[str], error: type[EngineError] = EngineError) -> str:
    """Return x, which must be one of the names.

    >>> one_of("base", "fixt", ["fixed", "floating"])
    Traceback (most recent call last):
        ...
    engine.checks.EngineError: base is 'fixt' (did you mean 'fixed'?); expected one of fixed, floating
    """
    names = list(names)
    if not isinstance(x, str) or x not in names:
        raise error(f"{what} is {shown(x)}{nearest(str(x), names)}; expected one of {', '.join(names)}")
    return x


def number(what: str, x: Any, expected: str, above: float = -np.inf, below: float = np.inf, least: float = -np.inf,
           most: float = np.inf, error: type[EngineError] = EngineError) -> float:  # fmt: skip
    """Return x as a float; refuse what is no number, is not finite, or lies outside ``above < x < below`` and ``least <= x <= most``.

    Infinity is refused whatever the bounds: what may be infinite needs a check of its own.

    >>> number("dt", 1e-3, "a step in seconds greater than zero", above=0)
    0.001
    >>> number("dt", -1, "a step in seconds greater than zero", above=0)
    Traceback (most recent call last):
        ...
    engine.checks.EngineError: dt is -1; expected a step in seconds greater than zero
    """
    good = isinstance(x, (int, float, np.integer, np.floating)) and not isinstance(x, bool)
    try:
        value = float(x) if good else np.nan
    except OverflowError:
        value = np.inf
    if not np.isfinite(value) or not (above < value < below and least <= value <= most):
        raise error(f"{what} is {shown(x)}; expected {expected}")
    return value


def whole(what: str, x: Any, expected: str, least: int = 0, error: type[EngineError] = EngineError) -> int:
    """Return x as an int; refuse what is no whole number from ``least`` on.

    >>> whole("record_every", np.int64(3), "a whole number of steps from 1", least=1)
    3
    """
    if isinstance(x, bool) or not isinstance(x, (int, np.integer)) or x < least:
        raise error(f"{what} is {shown(x)}; expected {expected}")
    return int(x)


def truth(what: str, x: Any, error: type[EngineError] = EngineError) -> bool:
    """Return x as a bool; refuse what is no truth value, such as the text "False".

    >>> truth("sources", "no")
    Traceback (most recent call last):
        ...
    engine.checks.EngineError: sources is 'no'; expected True or False
    """
    if not isinstance(x, (bool, np.bool_)):
        raise error(f"{what} is {shown(x)}; expected True or False")
    return bool(x)


#: bytes of a file's name
LONGEST = 255


def path_of(x: Any, error: type[EngineError] = EngineError) -> Path:
    """Return x as a path.

    >>> path_of(3)
    Traceback (most recent call last):
        ...
    engine.checks.EngineError: a file is 3; expected its path (str or pathlib.Path)
    """
    if not isinstance(x, (str, os.PathLike)):
        raise error(f"a file is {shown(x)}; expected its path (str or pathlib.Path)")
    path = Path(x)
    if "\0" in str(path) or any(len(os.fsencode(part)) > LONGEST for part in path.parts):
        raise error(f"a file is {shown(str(path))}; expected names of at most {LONGEST} bytes, without NUL")
    return path


def writable(path: Any, suffixes: Iterable[str], error: type[EngineError] = EngineError) -> Path:
    """Return the path of a file of one of the suffixes, or raise where it cannot be written: asked before the work is done.

    >>> writable("arm.png", [".glb", ".html"])
    Traceback (most recent call last):
        ...
    engine.checks.EngineError: 'arm.png' ends in '.png'; expected one of .glb, .html
    """
    path = path_of(path, error)
    if path.suffix.lower() not in (known := [*suffixes]):
        raise error(f"'{path}' ends in '{path.suffix}'; expected one of {', '.join(known)}")
    with writing(path, error, begun=False):                                    # names that no system takes
        if path.is_dir():
            raise error(f"'{path}' is a folder; expected the path of a file")
        if not path.parent.is_dir():
            raise error(f"'{path}': there is no folder '{path.parent}'; expected one that exists")
        if not os.access(path if path.exists() else path.parent, os.W_OK):
            raise error(f"'{path}' cannot be written; expected a path with permission to write")
    return path


def numbers(what: str, x: Any, error: type[EngineError] = EngineError) -> Array:
    """Return x as a new array of floats, all of them finite.

    >>> numbers("point", (1, 2))
    array([1., 2.])
    """
    try:
        real = not np.iscomplexobj(x)
        a = np.array(x if real else np.nan, dtype=float)
    except (TypeError, ValueError):
        raise error(f"{what} is {shown(x)}; expected numbers") from None
    if not real:
        raise error(f"{what} is {shown(x)}; expected real numbers")
    if not np.isfinite(a).all():
        raise error(f"{what} holds NaN or infinity; expected finite numbers")
    return a


@contextlib.contextmanager
def writing(path: Path, error: type[EngineError] = EngineError, begun: bool = True) -> Iterator[None]:
    """Turn the system's refusal to write a file into the engine's error; of a file that was begun, what is there is deleted.

    >>> with writing(Path("run.csv")):
    ...     raise OSError(errno.ENOSPC, "No space left on device")
    Traceback (most recent call last):
        ...
    engine.checks.EngineError: 'run.csv' cannot be written (No space left on device); expected a place with room for it
    """
    try:
        yield
    except OSError as problem:
        full = problem.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        if begun and full and path.is_file():
            with contextlib.suppress(OSError):
                path.unlink()
        expected = "a place with room for it" if full else "a path that can be written"
        raise error(f"'{path}' cannot be written ({problem.strerror or problem}); expected {expected}") from problem


def require_packages(what: str, extra: str, *packages: str, error: type[EngineError] = EngineError) -> None:
    """Refuse where packages that an extra of the installation brings are not there.

    >>> require_packages("a dozen", "eggs", "numpy", "henhouse")
    Traceback (most recent call last):
    engine.checks.EngineError: a dozen needs henhouse, which is not installed; expected pip install ".[eggs]" in the engine's checkout
    """
    missing = [p for p in packages if not (sys.modules.get(p) or importlib.util.find_spec(p))]
    if missing:
        names, verb = " and ".join(missing), "is" if len(missing) == 1 else "are"
        raise error(f"{what} needs {names}, which {verb} not installed; expected pip install \".[{extra}]\" in the engine's checkout")


def beside(path: Path) -> Path:
    """Return where a file waits until it is whole and takes a path's place: in the same folder, under a name that is nobody's.

    >>> waiting = beside(Path("film.mp4"))
    >>> waiting.parent == Path("film.mp4").resolve().parent, waiting.suffix
    (True, '.mp4')
    """
    path = path.resolve()
    return path.with_name(f".{path.stem}.{os.urandom(4).hex()}{path.suffix}")


def require_importable(what: str, fn: Any) -> None:
    """Raise pickle.PicklingError for a function that is not found in its module by its name, unless it is pickled as code (cloudpickle).

    >>> require_importable("the controller", lambda t, q, v: q)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    _pickle.PicklingError: the controller, <lambda> (...), cannot be pickled; expected a function that a module has by its name
    """
    if not isinstance(fn, types.FunctionType):
        return
    try:
        found = functools.reduce(getattr, fn.__qualname__.split("."), sys.modules[fn.__module__])
    except (AttributeError, KeyError):
        found = None
    if found is fn:
        return
    callers = [frame.f_globals.get("__name__", "") for frame, _ in traceback.walk_stack(None)]
    if not any("cloudpickle" in name or "dill" in name for name in callers):
        place = f"{fn.__code__.co_filename}:{fn.__code__.co_firstlineno}"
        raise pickle.PicklingError(f"{what}, {fn.__name__} ({place}), cannot be pickled; expected a function that a module has by its name")


def in_order(what: str, fn: Any, expected: tuple[str, ...], error: type[EngineError] = EngineError) -> None:
    """Refuse a function that has the names of its first arguments, by which it is not called, in other places.

    >>> in_order("f", lambda q, v, t: q, ("t", "q", "v"))
    Traceback (most recent call last):
        ...
    engine.checks.EngineError: f takes (q, v, t), and is called as (t, q, v); expected them in this order
    """
    try:
        signature = inspect.signature(fn)
    except (TypeError, ValueError):                                            # a builtin without a signature
        return
    names = [p.name for p in signature.parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if any(name in expected and expected.index(name) != k for k, name in enumerate(names)):
        raise error(f"{what} takes {signature}, and is called as ({', '.join(expected)}); expected them in this order")


def takes(what: str, fn: Any, expected: tuple[str, ...], error: type[EngineError] = EngineError) -> None:
    """Refuse a function that cannot be called with these arguments, or that has their names in other places (:func:`in_order`).

    >>> takes("f", lambda x, u: x, ("x", "u", "t"))
    Traceback (most recent call last):
        ...
    engine.checks.EngineError: f takes (x, u), and is called as (x, u, t); expected it to take these
    """
    in_order(what, fn, expected, error)
    try:
        signature = inspect.signature(fn)
    except (TypeError, ValueError):                                            # a builtin without a signature: the call will tell
        return
    try:
        signature.bind(*expected)
    except TypeError:
        raise error(f"{what} takes {signature}, and is called as ({', '.join(expected)}); expected it to take these") from None


def memory() -> int:
    """Return how much memory this machine has, bytes."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def numeric(a: Array) -> bool:
    """Return whether an array holds real numbers, or traced ones.

    >>> numeric(np.eye(2)), numeric(np.array("one")), numeric(np.array([1j]))
    (True, False, False)
    """
    known = (int, float, np.number, np.bool_)
    return a.dtype.kind in "fiub" or (a.dtype == object and all(hasattr(y, "g") or isinstance(y, known) for y in a.flat))


def array(what: str, x: Any, error: type[EngineError] = EngineError) -> Array:
    """Return x as an array of floats, or as it stands where its entries are traced; refuse what is ragged, and what is no number.

    >>> array("p", (1, 2))
    array([1., 2.])
    """
    try:
        a = np.asarray(x)
    except ValueError:
        raise error(f"{what} is {shown(x)}; expected an array of numbers") from None
    if not numeric(a):
        raise error(f"{what} is {shown(x)}; expected an array of numbers" if a.dtype == object else
                    f"{what} holds {a.dtype}; expected real numbers")  # fmt: skip
    return a if a.dtype == object else a.astype(float, copy=False)


def shaped(what: str, x: Any, *shape: int) -> Array:
    """Return x as an :func:`array` (..., *shape).

    >>> shaped("p", [1, 2], 3)
    Traceback (most recent call last):
        ...
    engine.checks.EngineError: p has shape (2,); expected (..., 3)
    """
    a = x if type(x) is np.ndarray and x.dtype.char in "dO" else array(what, x)
    if shape and a.shape[-len(shape) :] != shape:
        raise EngineError(f"{what} has shape {a.shape}; expected (..., {', '.join(map(str, shape))})")
    return a
