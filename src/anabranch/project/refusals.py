"""Errors of validators: what is wrong and what to write, for one or more keys at once."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic_core import PydanticCustomError

from anabranch.project.findings import KeyPath

REFUSED = "refused"


@dataclass(frozen=True)
class Problem:
    """A problem in the value under validation; `at` is the path from that value to the key."""

    what: str
    write: str
    at: KeyPath = ()


def refusal(*problems: Problem) -> PydanticCustomError:
    """The exception for a validator to raise. It has no input, so that it can't contain a secret."""
    return PydanticCustomError(REFUSED, "refused", {"problems": problems})


def refuse(what: str, write: str, *at: str | int) -> PydanticCustomError:
    """The same for a single problem."""
    return refusal(Problem(what, write, at))
