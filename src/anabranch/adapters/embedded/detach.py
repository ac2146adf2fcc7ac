"""Started as a script: runs a command as nobody's child, prints its pid and ends.

The broker must outlive the command that started it, and must not stay behind as a zombie of a longer-lived one;
so the process in between ends at once. Arguments: the file for the command's output, then the command.
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
