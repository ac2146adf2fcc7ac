"""Finds the Java that brokers and Spark run on, or says how to install one."""

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
"""What Spark 4 and Kafka 4 both run on."""


@dataclass(frozen=True)
class Java:
    executable: Path
    major: int

    @property
    def home(self) -> Path:
        """What JAVA_HOME would be, links followed."""
        return self.executable.resolve().parent.parent


class JavaMissingError(AnabranchError):
    code = "java.missing"


class JavaUnsupportedError(AnabranchError):
    code = "java.unsupported"


def install_command(platform: str = sys.platform) -> str:
    """The one command that puts a suitable Java on this kind of machine."""
    if platform == "darwin":
        return "brew install openjdk@17"
    return "sudo apt-get install -y openjdk-17-jre-headless"


def find_java(environment: Mapping[str, str] | None = None) -> Java:
    """The Java of JAVA_HOME, or else the first on the PATH; refused unless it is a supported version."""
    env = os.environ if environment is None else environment
    home = Path(env["JAVA_HOME"]) if env.get("JAVA_HOME") else None
    found = str(home / "bin" / "java") if home else shutil.which("java", path=env.get("PATH", ""))
    if found is None or not Path(found).exists():
        place = f"JAVA_HOME is {home}, and there is no bin/java below it" if home else "there is no java on the PATH"
        raise JavaMissingError(f"Java 17 or 21 is needed, and {place}.", state=NOTHING_CHANGED, hint=install_command())
    major = _major(Path(found))
    if major not in SUPPORTED:
        raise JavaUnsupportedError(
            f"Java 17 or 21 is needed, and {found} is {f'Java {major}' if major else 'not a Java we can read'}.",
            state=NOTHING_CHANGED,
            hint=f"{install_command()}, and point JAVA_HOME at it",
            found=found,
            major=major,
        )
    return Java(Path(found), major)


def _major(executable: Path) -> int | None:
    try:
        said = subprocess.run([executable, "-version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    version = re.search(r'version "(?:1\.)?(\d+)', said.stderr + said.stdout)
    return int(version.group(1)) if version else None
