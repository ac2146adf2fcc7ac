"""What the doctor says of one thing: green, yellow or red, in words, with the remedy."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from anabranch.errors import AnabranchError


class Level(str, Enum):
    GREEN = "green"
    """Tried, and it works."""
    YELLOW = "yellow"
    """Works, but will be a nuisance, or could not be tried yet."""
    RED = "red"
    """Will not work until mended."""


class DoctorSubject(str, Enum):
    """What can be looked at, in the order in which it is: each stands on those before it."""

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
    """An error met while looking is itself the finding."""
    says = f"{error.what} ({error.cause})" if error.cause else error.what
    return red(subject, says, error.remedy)


def from_surprise(subject: str, surprise: Exception) -> DoctorFinding:
    """Something nobody foresaw, told by its kind and its words: the doctor goes on with the next patient."""
    says = f"{type(surprise).__name__}: {surprise}".strip().removesuffix(":")
    return red(subject, says, f"run `anabranch --debug doctor` and report what it says of {subject}")
