"""The `hooks` section: commands that run around a replay, a promotion and a closure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic.alias_generators import to_camel

from anabranch.project.model import Part, Words
from anabranch.project.quantities import Duration
from anabranch.project.refusals import Problem, refusal
from anabranch.project.secrets import Secret

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def _variables(given: Mapping[str, Secret]) -> Mapping[str, Secret]:
    problems = [
        Problem("this is not a name for a variable of a hook", "letters, digits and _, not ANABRANCH_…", (name,))
        for name in given
        if not _VARIABLE.fullmatch(name) or name.startswith("ANABRANCH_")
    ]
    if problems:
        raise refusal(*problems)
    return given


Command = Annotated[tuple[Words, ...], Field(min_length=1)]
"""A program and its arguments, run in the project's folder without a shell."""


class HookSettings(Part):
    """Commands as argument lists. If one of `before…` fails or takes too long, the step does not begin."""

    before_replay: Command | None = Field(
        default=None,
        description="Before the first slice of a replay, after its gates.",
        examples=[["hooks/scale-up.sh", "4"]],
    )
    after_replay: Command | None = Field(
        default=None, description="When all slices are staged.", examples=[["hooks/scale-down.sh"]]
    )
    before_promote: Command | None = Field(
        default=None,
        description="Before the promotion's commit, after approval.",
        examples=[["hooks/pause-consumers.sh"]],
    )
    after_promote: Command | None = Field(
        default=None, description="After the promotion's commit.", examples=[["hooks/resume-consumers.sh"]]
    )
    after_close: Command | None = Field(
        default=None, description="When the run is closed.", examples=[["hooks/announce.sh"]]
    )
    timeout: Duration = Field(
        default=timedelta(seconds=60),
        description="How long a hook may take; then it is killed with its children and counts as failed.",
        examples=["60s"],
    )
    environment: Annotated[Mapping[str, Secret], AfterValidator(_variables)] = Field(
        default_factory=dict,
        description="Further variables of the hooks' environment, as references to secrets.",
        examples=[{"PAGER_TOKEN": "${env:PAGER_TOKEN}"}],
    )

    @property
    def commands(self) -> dict[str, tuple[str, ...]]:
        """By the key in the file; only those that are set."""
        keys = ("before_replay", "after_replay", "before_promote", "after_promote", "after_close")
        given = {to_camel(key): getattr(self, key) for key in keys}
        return {key: command for key, command in given.items() if command is not None}
