"""The one way an option passes: named in an allowlist, a plain value, and a secret only by reference."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from pydantic_core import PydanticCustomError

from anabranch.project.keys import closest
from anabranch.project.refusals import REFUSED, Problem, refusal
from anabranch.project.secrets import Secret

OptionValue = str | Secret
OptionCheck = Callable[[str, object], Problem | None]
"""Says why an option of this name (and value) may not pass, or None if it may."""

_SECRET_WORDS = re.compile(
    r"password|passphrase|passwd|secret|token|credential|jaas|access[-.]?key|account[-.]?key|private[-.]?key|sas[-.]"
    r"|(^|\.)ssl\.keystore\.key$|(^|\.)ssl\.key\.pem$|[-.]sse[-.]key$|encryption[-.]key$",
    re.IGNORECASE,
)
_NOT_SECRET = re.compile(
    r"(file|path|location|uri|url|enabled|type|expiration|endpoint|pullSecrets)$|\.secretKeyRef\.|\.secrets\.",
    re.IGNORECASE,
)


def holds_secret(name: str) -> bool:
    """Whether an option of this name holds a secret, judged by its name; a doubtful one counts as a secret."""
    return bool(_SECRET_WORDS.search(name)) and not _NOT_SECRET.search(name)


def pass_options(options: object, check: OptionCheck, folder: Path) -> dict[str, OptionValue]:
    """The options as text and references. Raises one refusal with a problem for each option that may not pass."""
    if not isinstance(options, Mapping):
        raise refusal(Problem("this must be a mapping of options", "name: value lines"))
    passed: dict[str, OptionValue] = {}
    problems: list[Problem] = []
    for name, value in options.items():
        outcome = _one(str(name), value, check, folder)
        if isinstance(outcome, Problem):
            problems.append(Problem(outcome.what, outcome.write, (str(name),)))
        else:
            passed[str(name)] = outcome
    if problems:
        raise refusal(*problems)
    return passed


def _one(name: str, value: object, check: OptionCheck, folder: Path) -> OptionValue | Problem:
    if isinstance(value, Secret):
        return value
    if not re.fullmatch(r"[A-Za-z0-9._-]+", name):
        return Problem("this is not an option's name", "letters, digits, dots, hyphens and underscores")
    problem = check(name, value)
    if problem is not None:
        return problem
    if holds_secret(name) or (isinstance(value, str) and "${" in value):
        try:
            return Secret.parse(value, folder)
        except PydanticCustomError as refused:
            return first_problem(refused)
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str | int | float):
        return Problem("an option has one plain value", f"{name}: value")
    text = str(value)
    if any(ord(character) < 32 for character in text):
        return Problem("an option's value is a single line", f"{name}: value")
    return text


def not_listed(whose: str, name: str, allowed: Iterable[str]) -> Problem:
    """The problem with an option nobody has judged harmless yet."""
    meant = closest(name, allowed)
    write = f'"{meant}", or remove this line' if meant else "nothing: remove this line"
    return Problem(f'the {whose} option "{name}" is not on the list of options that may pass', write)


def first_problem(refused: PydanticCustomError) -> Problem:
    """The problem inside a refusal."""
    if refused.type != REFUSED or refused.context is None:
        raise refused
    problem = refused.context["problems"][0]
    if not isinstance(problem, Problem):
        raise refused
    return problem
