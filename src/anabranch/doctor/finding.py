"""The finding of one check: green, yellow or red, with a message and a remedy."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from anabranch.errors import AnabranchError


class Level(str, Enum):
    GREEN = "green"
    """Tested; it works."""
    YELLOW = "yellow"
    """Works with limits, or could not be tested."""
    RED = "red"
    """Does not work until it is fixed."""


class DoctorSubject(str, Enum):
    """Subjects in the order of checking: each depends on those before it."""

    PYTHON = "python"
    JAVA = "java"
    MEMORY = "memory"
    DISK = "disk"
    JARS = "jars"
    PROJECT = "project"
    KAFKA = "kafka"
    CATALOG = "catalog"
    DATABASE = "database"
    SPARK = "spark"


@dataclass(frozen=True)
class DoctorFinding:
    subject: str
    level: Level
    says: str
    remedy: str = ""

    def as_dict(self) -> dict[str, str]:
        return {"subject": self.subject, "level": self.level.value, "says": self.says, "remedy": self.remedy}


def green(subject: str, says: str) -> DoctorFinding:
    return DoctorFinding(subject, Level.GREEN, says)


def yellow(subject: str, says: str, remedy: str) -> DoctorFinding:
    return DoctorFinding(subject, Level.YELLOW, says, remedy)


def red(subject: str, says: str, remedy: str) -> DoctorFinding:
    return DoctorFinding(subject, Level.RED, says, remedy)


def from_error(subject: str, error: AnabranchError) -> DoctorFinding:
    """The finding for an error that a check raised."""
    says = f"{error.what} ({error.cause})" if error.cause else error.what
    return red(subject, says, error.remedy)


def from_unexpected(subject: str, error: Exception) -> DoctorFinding:
    """The finding for an unexpected exception, so that the other checks still run."""
    says = f"{type(error).__name__}: {error}".strip().removesuffix(":")
    return red(subject, says, "`anabranch --debug doctor` shows the traceback; report it")
