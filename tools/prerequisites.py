"""Say at once, in one message, when the Python or Java on this machine will not do."""

import os
import re
import shutil
import subprocess
import sys

if not (3, 10) <= sys.version_info[:2] <= (3, 12):
    sys.exit(
        f"Anabranch needs Python 3.10, 3.11 or 3.12; this is {sys.version.split()[0]}.\n"
        "Name another one: make PYTHON=python3.11"
    )

INSTALL_JAVA = (
    "macOS:         brew install openjdk@17"
    if sys.platform == "darwin"
    else "Debian/Ubuntu: sudo apt-get install -y openjdk-17-jre-headless"
)


def java_major() -> int | None:
    home = os.environ.get("JAVA_HOME")
    java = f"{home}/bin/java" if home else shutil.which("java")
    if not java:
        return None
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, check=True).stderr
    except (OSError, subprocess.CalledProcessError):
        return None
    found = re.search(r'version "(\d+)', said)
    return int(found.group(1)) if found else None


major = java_major()
if major not in (17, 21):
    sys.exit(
        f"Anabranch needs Java 17 or 21; {'none was found' if major is None else f'this is Java {major}'}.\n"
        f"{INSTALL_JAVA}"
    )
