"""End of a command: its exit code, every failure as one line on stderr, and Ctrl-C."""

import contextlib
import functools
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import typer

from engine.checks import EngineError


class Failure(EngineError):
    """The end of a command: one sentence for stderr, and the exit code."""

    def __init__(self, text: str, code: int = 1) -> None:
        super().__init__(text)
        self.code = code


def note(text: str) -> None:
    """Print a remark on stderr."""
    print(f"note: {text}", file=sys.stderr)


@contextlib.contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Print warnings, such as of a mesh that is not there, as notes on stderr."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = lambda message, *_, **__: note(" ".join(str(message).split()))
        yield


def finishing(command: Callable[..., None]) -> Callable[..., NoReturn]:
    """Return the command as one that leaves with its exit code; whatever goes wrong is one line on stderr."""

    @functools.wraps(command)
    def finishes(*arguments: Any, **options: Any) -> NoReturn:
        code, text = 0, ""
        try:
            with warnings_as_notes():
                command(*arguments, **options)
            sys.stdout.flush()
        except BrokenPipeError:                       # the reader, as in `engine info FILE | head`, has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except KeyboardInterrupt:
            calm()
            code, text = 130, "interrupted"
        except typer.BadParameter:                    # typer shows it, below the command's usage
            raise
        except EngineError as problem:
            code, text = getattr(problem, "code", 1), str(problem)
        except OSError as problem:
            code, text = 1, f"'{problem.filename}': {problem.strerror}" if problem.filename else str(problem)
        except MemoryError:
            code, text = 1, "this takes more memory than there is"
        except Exception as problem:
            if os.environ.get("ENGINE_TRACEBACK"):
                raise
            code, text = 1, f"{type(problem).__name__}: {problem}; this is a fault of the engine itself (ENGINE_TRACEBACK=1 shows where)"
        if text:
            with contextlib.suppress(BrokenPipeError):
                print(f"engine: {' '.join(text.split())}", file=sys.stderr)
        raise typer.Exit(code)

    return finishes


def refuse_unread(why: str, **options: object) -> None:
    """Refuse options that have been given although nothing would read them."""
    for name, given in options.items():
        if given:
            raise typer.BadParameter(f"--{name.replace('_', '-')} {why}")


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C raise KeyboardInterrupt; a bit later where Python would drop it, in finalizers."""

    def on_interrupt(number: int, frame: Any) -> None:
        while frame is not None:
            if frame.f_code.co_name == "__del__" or frame.f_code.co_filename.endswith("weakref.py"):
                signal.setitimer(signal.ITIMER_REAL, 0.005)
                return
            frame = frame.f_back
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    before = signal.signal(signal.SIGALRM, on_interrupt)
    signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGALRM, before)


def calm() -> None:
    """After one Ctrl-C, ignore further ones, so that they do not disturb the end."""
    with contextlib.suppress(ValueError):             # of another thread than the main one, which gets no Ctrl-C
        signal.signal(signal.SIGINT, signal.SIG_IGN)
