"""The command line: look at robots and recordings, simulate, go on with what was interrupted, compute torques, plot, film and export."""

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; a wrong command line leaves by SystemExit(2)."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")      # a terminal that has no '└' shows '?'
    try:
        from engine.cli.application import app  # here: who only imports this package needs no typer
        from engine.cli.ending import interruptible

        with interruptible():
            app(args=list(sys.argv[1:] if arguments is None else arguments) or ["--help"], prog_name="engine")
    except SystemExit as end:
        if end.code == 2:
            raise
        if isinstance(end.code, str):                 # as programs leave with a sentence
            print(end.code, file=sys.stderr)
            return 1
        return int(end.code or 0)
    except KeyboardInterrupt:
        return 130
    return 0
