"""Reads one YAML file within limits, into plain data that records the line of every key."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from anabranch.project.findings import BadFilesError, FileProblem, KeyPath, dotted
from anabranch.project.location import PROJECT_FILE
from anabranch.project.scalars import plain_scalar

MAX_BYTES = 256 * 1024
MAX_DEPTH = 24
MAX_EVENTS = 20_000
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff]")


@dataclass(frozen=True)
class Document:
    """The content of one file: strings, numbers, booleans, lists and mappings with string keys."""

    file: str
    data: Mapping[str, Any]
    lines: Mapping[KeyPath, int]

    def line(self, path: KeyPath) -> int:
        """The line of a key, or of the nearest parent key if it is not in the file."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.lines:
                return self.lines[path[:length]]
        return self.lines[()]


class _RefusedError(Exception):
    """A problem found while reading: its line, what is wrong, what to write."""

    def __init__(self, line: int | None, what: str, write: str, path: KeyPath = ()) -> None:
        super().__init__(what)
        self.line, self.what, self.write, self.path = line, what, write, path


def read_document(path: Path, file: str) -> Document:
    """Read `path`, called `file` in messages. Raises BadFilesError and nothing else."""
    try:
        return parse_document(_text(path), file)
    except _RefusedError as refused:
        finding = FileProblem(file, refused.line, "", refused.what, refused.write)
        raise BadFilesError([finding]) from None


def parse_document(text: str, file: str) -> Document:
    """Turn text into a document. Raises BadFilesError with every problem."""
    # Causes are dropped (`from None`): the YAML library quotes the line at fault, which may contain a secret.
    try:
        reader = _Reader(_checked(text))
        data = reader.document()
    except _RefusedError as refused:
        finding = FileProblem(file, refused.line, dotted(refused.path), refused.what, refused.write)
        raise BadFilesError([finding]) from None
    if reader.repeated:
        raise BadFilesError([FileProblem(file, r.line, dotted(r.path), r.what, r.write) for r in reader.repeated])
    return Document(file, data, reader.lines)


def _text(path: Path) -> str:
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise _RefusedError(None, "this is a folder, not a file", "the path of a YAML file")
        if not stat.S_ISREG(mode):
            raise _RefusedError(None, "this is not a regular file", "the path of a YAML file")
        with path.open("rb") as stream:
            content = stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        is_project = path.name == PROJECT_FILE
        write = "`anabranch init DIR` to create a project" if is_project else "the path of an existing file"
        raise _RefusedError(None, "the file does not exist", write) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "the path is not valid"
        raise _RefusedError(None, f"the file can't be read ({reason})", "the path of a readable file") from None
    if len(content) > MAX_BYTES:
        raise _RefusedError(None, f"the file is larger than {MAX_BYTES // 1024} KiB", "a smaller file")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _RefusedError(line, "the file is not UTF-8 text", "the file saved as UTF-8") from None


def _checked(text: str) -> Iterator[Event]:
    """The parser's events. Raises at the first one outside the limits, so a YAML bomb is never expanded."""
    depth = documents = count = 0
    for event in _events(text):
        line, count = event.start_mark.line + 1, count + 1
        if count > MAX_EVENTS:
            raise _RefusedError(line, f"the file has more than {MAX_EVENTS} values", "a smaller file")
        if isinstance(event, AliasEvent) or (isinstance(event, NodeEvent) and event.anchor is not None):
            raise _RefusedError(line, "anchors and aliases (& and *) are not allowed", "the value itself in each place")
        if isinstance(event, MappingStartEvent | SequenceStartEvent | ScalarEvent) and event.tag is not None:
            raise _RefusedError(line, "tags (! and !!) are not allowed", "the value without its tag")
        if isinstance(event, DocumentStartEvent):
            documents += 1
            if documents > 1:
                raise _RefusedError(line, "a second document starts here (---)", "one document per file")
            if event.version is not None or event.tags:
                raise _RefusedError(line, "YAML directives (%) are not allowed", "the file without the % line")
        if isinstance(event, MappingStartEvent | SequenceStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise _RefusedError(line, f"nested deeper than {MAX_DEPTH} levels", "fewer levels")
        if isinstance(event, MappingEndEvent | SequenceEndEvent):
            depth -= 1
        yield event


def _events(text: str) -> Iterator[Event]:
    control = _CONTROL.search(text)
    if control is not None:
        line = text.count("\n", 0, control.start()) + 1
        raise _RefusedError(line, "this is not valid YAML: it contains a control character", "plain text")
    reached = 1
    try:
        for event in YAML(typ="safe", pure=True).parse(text):
            reached = event.end_mark.line + 1
            yield event
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = reached if mark is None else mark.line + 1
        if re.match(r" *\t", "".join(text.split("\n")[line - 1 : line])):
            raise _RefusedError(line, "a tab where YAML requires spaces", "spaces for indentation") from None
        raise _RefusedError(line, "this is not valid YAML", "`key: value` lines, indented with spaces") from None
    except (YAMLError, ValueError, OverflowError, IndexError, AssertionError):
        # Escapes beyond Unicode raise a bare ValueError without a mark; the last event's line is the nearest known.
        raise _RefusedError(reached, "this is not valid YAML", "plain UTF-8 text") from None


class _Reader:
    """Builds plain data from checked events and records the line of every key."""

    def __init__(self, events: Iterator[Event]) -> None:
        self._events = events
        self.lines: dict[KeyPath, int] = {}
        self.repeated: list[_RefusedError] = []

    def document(self) -> dict[str, Any]:
        event = next(e for e in self._events if isinstance(e, NodeEvent | StreamEndEvent))
        self.lines[()] = event.start_mark.line + 1
        if not isinstance(event, NodeEvent) or (isinstance(event, ScalarEvent) and not event.value):
            raise _RefusedError(1, "the file is empty", "apiVersion: anabranch/v1, kind, metadata and spec")
        if not isinstance(event, MappingStartEvent):
            raise _RefusedError(self.lines[()], "the file is not a mapping", "apiVersion, kind, metadata and spec")
        data = self._mapping(())
        for _ in self._events:  # check the rest of the file too
            pass
        return data

    def _mapping(self, path: KeyPath) -> dict[str, Any]:
        data: dict[str, Any] = {}
        while not isinstance(event := next(self._events), MappingEndEvent):
            line = event.start_mark.line + 1
            if not isinstance(event, ScalarEvent) or not event.value:
                raise _RefusedError(line, "a key must be text", "`key: value`", path)
            key = _clean(event)
            here = (*path, key)
            if key in data:
                first = self.lines[here]
                what = f'duplicate key "{key}", first on line {first}'
                self.repeated.append(_RefusedError(line, what, "the key once", here))
            else:
                self.lines[here] = line
            value = self._value(next(self._events), here)
            data.setdefault(key, value)
        return data

    def _value(self, event: Event, path: KeyPath) -> Any:
        if isinstance(event, MappingStartEvent):
            return self._mapping(path)
        if isinstance(event, SequenceStartEvent):
            return self._sequence(path)
        assert isinstance(event, ScalarEvent)  # noqa: S101 - the parser offers nothing else once aliases are refused
        return plain_scalar(_clean(event)) if event.style is None else _clean(event)

    def _sequence(self, path: KeyPath) -> list[Any]:
        items: list[Any] = []
        while not isinstance(event := next(self._events), SequenceEndEvent):
            here = (*path, len(items))
            self.lines.setdefault(here, event.start_mark.line + 1)
            items.append(self._value(event, here))
        return items


def _clean(event: ScalarEvent) -> str:
    """The text. Raises if it contains a NUL or an unpaired surrogate, which can't be printed or passed on."""
    text = str(event.value)
    if "\0" in text or any("\ud800" <= c <= "\udfff" for c in text):
        line = event.start_mark.line + 1
        raise _RefusedError(line, "this text contains an unprintable character", "plain text")
    return text
