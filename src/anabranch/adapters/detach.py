"""Run as a script: starts a command detached from the caller, prints its pid and exits.

The command must outlive its starter, and must not become a zombie of a long-lived one. Because this script exits at
once, the command is adopted by init. Arguments: the file for the command's output, then the command.
"""

import subprocess
import sys
from pathlib import Path

if __name__ == "__main__":
    with Path(sys.argv[1]).open("wb") as output:
        started = subprocess.Popen(
            sys.argv[2:], stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
        )
    sys.stdout.write(str(started.pid))
