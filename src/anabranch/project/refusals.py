"""How a model says no: what is wrong and what to write, at the exact key, several at once if need be."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic_core import PydanticCustomError

from anabranch.project.findings import KeyPath

REFUSED = "refused"


@dataclass(frozen=True)
class Problem:
    """Something wrong below the value under validation; `at` leads from that value to the key at fault."""

    what: str
    write: str
    at: KeyPath = ()


def refusal(*problems: Problem) -> PydanticCustomError:
    """The exception a validator raises. It carries no input, so that no secret can travel in it."""
    return PydanticCustomError(REFUSED, "refused", {"problems": problems})


def refuse(what: str, write: str, *at: str | int) -> PydanticCustomError:
    """The same for a single problem."""
    return refusal(Problem(what, write, at))
