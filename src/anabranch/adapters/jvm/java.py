"""Finds the Java for brokers and Spark, or names the command that installs one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from anabranch.errors import NOTHING_CHANGED, AnabranchError

SUPPORTED = (17, 21)
"""Versions that both Spark 4 and Kafka 4 support."""


@dataclass(frozen=True)
class Java:
    executable: Path
    major: int

    @property
    def home(self) -> Path:
        """The value for JAVA_HOME, with links resolved."""
        return self.executable.resolve().parent.parent


class JavaMissingError(AnabranchError):
    code = "java.missing"


class JavaUnsupportedError(AnabranchError):
    code = "java.unsupported"


def install_command(platform: str = sys.platform) -> str:
    """The command that installs a supported Java on this platform."""
    if platform == "darwin":
        return "brew install openjdk@17"
    return "sudo apt-get install -y openjdk-17-jre-headless"


def find_java(environment: Mapping[str, str] | None = None) -> Java:
    """The Java of JAVA_HOME, otherwise the first on the PATH.

    Raises JavaMissingError, or JavaUnsupportedError for another version than 17 or 21.
    """
    env = os.environ if environment is None else environment
    home = Path(env["JAVA_HOME"]) if env.get("JAVA_HOME") else None
    found = str(home / "bin" / "java") if home else shutil.which("java", path=env.get("PATH", ""))
    if found is None or not Path(found).exists():
        place = f"JAVA_HOME={home} has no bin/java" if home else "java is not on the PATH"
        raise JavaMissingError(
            f"Java not found: {place}. Java 17 or 21 is required.", state=NOTHING_CHANGED, command=install_command()
        )
    major = _major(Path(found))
    if major not in SUPPORTED:
        raise JavaUnsupportedError(
            f"{found} is {f'Java {major}' if major else 'of an unknown version'}. Java 17 or 21 is required.",
            state=NOTHING_CHANGED,
            command=install_command(),
            hint="Install Java 17 or 21 and set JAVA_HOME to it",
            found=found,
            major=major,
        )
    return Java(Path(found), major)


def _major(executable: Path) -> int | None:
    try:
        output = subprocess.run([executable, "-version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    version = re.search(r'version "(?:1\.)?(\d+)', output.stderr + output.stdout)
    return int(version.group(1)) if version else None
