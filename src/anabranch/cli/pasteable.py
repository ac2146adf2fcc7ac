"""Completes a printed command by the project, context and contract of the current one, so that it can be pasted."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Any

CONTRACT = "-f CONTRACT"
"""Placeholder in the commands of rooms, which don't know the file."""

_given: dict[str, str] = {}


def reset() -> None:
    """Forget the options of the command before; one process may run several."""
    _given.clear()


def note_project(folder: Path) -> Path:
    if folder != Path():
        _given["--project"] = str(folder)
    return folder


def note_context(name: str | None) -> str | None:
    if name is not None:
        _given["--context"] = name
    return name


def note_contract(file: Path | None) -> Path | None:
    if file is not None:
        _given["-f"] = str(file)
    return file


def pasteable(command: str) -> str:
    """The command with the options that the user gave to the current one, where it accepts them. Idempotent."""
    return " && ".join(_complete(part) for part in command.split(" && "))


def with_contract(text: str) -> str:
    """The text with the contract's file for its placeholder, if the current command has one."""
    return text.replace(CONTRACT, f"-f {quote(_given['-f'])}") if "-f" in _given else text


def _complete(command: str) -> str:
    words = command.split()
    if words[:1] != ["anabranch"]:
        return command
    accepted = _options(words[1:])
    missing = [name for name in ("--project", "--context") if name in _given and name in accepted and name not in words]
    return " ".join([with_contract(command), *(f"{name} {quote(_given[name])}" for name in missing)])


def _options(words: list[str]) -> set[str]:
    """The options of the command that these words name. A group that runs a command by default accepts that one's."""
    import typer

    from anabranch.cli.app import app

    node: Any = typer.main.get_command(app)
    for word in words:
        if word not in getattr(node, "commands", {}):
            break
        node = node.commands[word]
    leaves = list(node.commands.values()) if hasattr(node, "commands") else [node]
    return {name for leaf in leaves for option in leaf.params for name in option.opts}
