"""Machine: Python, Java, memory, disk."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from anabranch.doctor.finding import DoctorFinding, green, red, yellow

GIB = 1 << 30
MEMORY_COMFORTABLE, MEMORY_LEAST = 4 * GIB, 2 * GIB
"""Spark's driver needs 1 GiB, the broker 0.5 GiB, Python workers the rest."""
DISK_COMFORTABLE, DISK_LEAST = 5 * GIB, 1 * GIB


def python(version: tuple[int, int] = sys.version_info[:2]) -> DoctorFinding:
    name = f"{version[0]}.{version[1]}"
    if (3, 10) <= version <= (3, 12):
        return green("python", f"Python {name} at {sys.executable}")
    return red("python", f"Spark 4.0 does not support Python {name}", "use Python 3.10, 3.11 or 3.12")


def java() -> DoctorFinding:
    from anabranch.adapters.jvm.java import find_java

    found = find_java()
    return green("java", f"Java {found.major} at {found.executable}")


def memory(available: int | None = None) -> DoctorFinding:
    import psutil

    free = psutil.virtual_memory().available if available is None else available
    says = f"{free / GIB:.1f} GiB of memory available"
    if free < MEMORY_LEAST:
        return red("memory", says, "free memory: Spark and a broker need 2 GiB")
    if free < MEMORY_COMFORTABLE:
        return yellow("memory", says, "4 GiB or more are recommended for Spark and the broker")
    return green("memory", says)


def disk(folder: Path, free: int | None = None) -> DoctorFinding:
    space = shutil.disk_usage(folder).free if free is None else free
    says = f"{space / GIB:.1f} GiB free below {folder}"
    if space < DISK_LEAST:
        return red("disk", says, "free space: 1 GiB is the minimum, a broker on a full disk stops")
    if space < DISK_COMFORTABLE:
        return yellow("disk", says, "5 GiB or more are recommended: staging holds a second copy of the range")
    return green("disk", says)
