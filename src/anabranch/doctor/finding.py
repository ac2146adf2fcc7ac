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


@dataclass(frozen=True)
class Finding:
    subject: str
    level: Level
    says: str
    remedy: str = ""

    def as_dict(self) -> dict[str, str]:
        return {"subject": self.subject, "level": self.level.value, "says": self.says, "remedy": self.remedy}


def green(subject: str, says: str) -> Finding:
    return Finding(subject, Level.GREEN, says)


def yellow(subject: str, says: str, remedy: str) -> Finding:
    return Finding(subject, Level.YELLOW, says, remedy)


def red(subject: str, says: str, remedy: str) -> Finding:
    return Finding(subject, Level.RED, says, remedy)


def from_error(subject: str, error: AnabranchError) -> Finding:
    """An error met while looking is itself the finding."""
    says = f"{error.what} ({error.cause})" if error.cause else error.what
    return red(subject, says, error.next_step)
