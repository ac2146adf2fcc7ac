"""Checks options: the name is on an allowlist, the value is plain, and a secret is a reference."""

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
"""Returns why an option of this name and value is refused; None if it is allowed."""

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
    """Whether an option is a secret, by its name; a doubtful name counts as one."""
    return bool(_SECRET_WORDS.search(name)) and not _NOT_SECRET.search(name)


def pass_options(options: object, check: OptionCheck, folder: Path) -> dict[str, OptionValue]:
    """The options as text and references. Raises one refusal with a problem for each refused option."""
    if not isinstance(options, Mapping):
        raise refusal(Problem("this must be a mapping of options", "name: value lines"))
    passed: dict[str, OptionValue] = {}
    problems: list[Problem] = []
    for name, value in options.items():
        checked = _one(str(name), value, check, folder)
        if isinstance(checked, Problem):
            problems.append(Problem(checked.what, checked.write, (str(name),)))
        else:
            passed[str(name)] = checked
    if problems:
        raise refusal(*problems)
    return passed


def _one(name: str, value: object, check: OptionCheck, folder: Path) -> OptionValue | Problem:
    if isinstance(value, Secret):
        return value
    if not re.fullmatch(r"[A-Za-z0-9._-]+", name):
        return Problem("this is not an option name", "letters, digits, dots, hyphens and underscores")
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
        return Problem("an option must have one plain value", f"{name}: value")
    text = str(value)
    if any(ord(character) < 32 for character in text):
        return Problem("an option's value must be a single line", f"{name}: value")
    return text


def not_listed(whose: str, name: str, allowed: Iterable[str]) -> Problem:
    """The problem with an option that is not on the allowlist."""
    meant = closest(name, allowed)
    write = f'"{meant}", or remove this line' if meant else "nothing: remove this line"
    return Problem(f'the {whose} option "{name}" is not on the allowlist', write)


def first_problem(refused: PydanticCustomError) -> Problem:
    """The problem inside a refusal."""
    if refused.type != REFUSED or refused.context is None:
        raise refused
    problem = refused.context["problems"][0]
    if not isinstance(problem, Problem):
        raise refused
    return problem
