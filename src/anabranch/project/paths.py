"""Paths in project files, which must stay inside the project after symbolic links are resolved."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Annotated

from pydantic import AfterValidator, ValidationInfo

from anabranch.project.model import surroundings
from anabranch.project.refusals import refuse


class OutsideError(ValueError):
    """The path is outside the project."""


def inside(folder: Path, text: str) -> Path:
    """The path below `folder`. Raises OutsideError for an absolute path, `..`, or a link to another place."""
    pure = PurePosixPath(text)
    if not text.strip() or any(ord(character) < 32 for character in text):
        raise OutsideError("it is not a path")
    if pure.is_absolute() or text.startswith("~") or "\\" in text:
        raise OutsideError("it is not relative to the project")
    if ".." in pure.parts:
        raise OutsideError("it contains `..`")
    path = folder / pure
    try:
        resolved, root = path.resolve(), folder.resolve()
    except (OSError, RuntimeError):
        raise OutsideError("its symbolic links form a loop") from None
    if not resolved.is_relative_to(root):
        raise OutsideError("a symbolic link points outside the project")
    return path


def _confined(text: str, info: ValidationInfo) -> str:
    try:
        inside(surroundings(info).folder, text)
    except OutsideError as outside:
        raise refuse(f"this path is outside the project: {outside}", "a path below the project's folder") from None
    return text


def _file(text: str, info: ValidationInfo) -> str:
    try:
        exists = (surroundings(info).folder / text).is_file()
    except OSError:  # a name longer than the file system allows
        exists = False
    if not exists:
        raise refuse(f"the project has no file {text!r}", "the path of a file, from the project's folder")
    return text


ProjectPath = Annotated[str, AfterValidator(_confined)]
"""A path inside the project, relative to its folder. It may not exist."""

ProjectFile = Annotated[str, AfterValidator(_confined), AfterValidator(_file)]
"""An existing file inside the project."""
