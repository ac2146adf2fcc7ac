"""`status` names the commands that a run's state allows, not the events of its state machine."""

from __future__ import annotations

import pytest

from anabranch.cli.app import app
from anabranch.cli.runs import _COMMANDS, _commands
from anabranch.runs.states import State, legal_events


def named(state: State) -> str:
    return _commands(event.value for event in legal_events(state))


@pytest.mark.parametrize(
    ("state", "commands"),
    [
        (State.PLANNED, "anabranch retry | cancel"),
        (State.REPLAYING, "anabranch pause | cancel"),
        (State.PAUSED, "anabranch resume | cancel"),
        (State.FAILED, "anabranch retry | cancel"),
        (State.STAGED, "anabranch validate | cancel"),
        (State.VALIDATED, "anabranch validate | promote | cancel"),
        (State.PROMOTED, "anabranch rollback | close"),
        (State.ROLLED_BACK, "anabranch validate | promote | close"),
        (State.CANCELLED, "anabranch close"),
        (State.CLOSED, "none"),
    ],
)
def test_the_commands_of_a_state(state: State, commands: str) -> None:
    assert named(state) == commands


def test_every_named_command_exists() -> None:
    existing = {command.name or command.callback.__name__ for command in app.registered_commands if command.callback}
    assert set(_COMMANDS.values()) <= existing
