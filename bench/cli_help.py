"""How long `anabranch --help` takes, as a ratio to `python -c pass`, alternating, median of the rounds."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

from bench.workbench import keep

ROUNDS = 11


def seconds(*command: str) -> float:
    started = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def main() -> None:
    bare = (sys.executable, "-c", "pass")
    ours = (str(Path(sys.executable).with_name("anabranch")), "--help")
    seconds(*bare), seconds(*ours)  # warm the file cache
    pairs = [(seconds(*bare), seconds(*ours)) for _ in range(ROUNDS)]
    bare_median, ours_median = (statistics.median(column) for column in zip(*pairs, strict=True))
    keep(
        {
            "cli_help_vs_python": round(ours_median / bare_median, 1),
            "cli_help_seconds": round(ours_median, 3),
        }
    )


if __name__ == "__main__":
    main()
