"""The `anabranch` command: runs the app and turns every outcome into a message and an exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from anabranch.cli import pasteable
from anabranch.cli.app import app, debugging
from anabranch.cli.current_command import internal_error, jvm_death, reset
from anabranch.cli.output import report
from anabranch.errors import AnabranchError, ExitCode


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. Raises only with `--debug`, which shows tracebacks."""
    reset()
    pasteable.reset()
    try:
        app(args=list(sys.argv[1:] if arguments is None else arguments), prog_name="anabranch")
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(ExitCode.FAILED)
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return int(ExitCode.INTERRUPTED)
    except AnabranchError as error:
        if debugging():
            raise
        return _fail(jvm_death(error) or error)
    except Exception as fault:
        if debugging():
            raise
        return _fail(jvm_death(fault) or internal_error(fault))
    return int(ExitCode.DONE)


def _fail(error: AnabranchError) -> int:
    report(error)
    return int(error.exit_code)
