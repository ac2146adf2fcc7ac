"""Reading YAML: whatever is in a file, it becomes plain data with lines or our own error."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from anabranch.project.documents import MAX_BYTES, Document, parse_document, read_document
from anabranch.project.findings import BadFilesError

yamlish = st.text(alphabet=st.sampled_from("ab1 \t\n:-?[]{},&*!|>'\"%@`#\\0xuU~<.\r\x00é\ud7ff\u2028"), max_size=60)


@settings(max_examples=400, deadline=None)
@given(yamlish | st.text(max_size=60))
@example('a: "\\UFFFFFFFF"')
@example("a: !!python/object/apply:os.system [x]")
@example("? a\n: b\n? c")
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(BadFilesError):  # anything else that is raised fails the test
        document = parse_document(text, "any.yaml")
        assert repr(document.data).encode()  # nothing in it that can't be printed
        assert all(line >= 1 for line in document.lines.values())


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=80))
def test_any_bytes_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_bytes(content)
    with contextlib.suppress(BadFilesError):
        assert isinstance(read_document(path, "any.yaml"), Document)


def refused(path: Path) -> str:
    with pytest.raises(BadFilesError) as caught:
        read_document(path, "it.yaml")
    return str(caught.value)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    assert "the file does not exist. Write: the path of an existing file" in refused(tmp_path / "nothing.yaml")
    assert "the file does not exist. Write: `anabranch init DIR`" in refused(tmp_path / "anabranch.yaml")
    assert "a folder" in refused(tmp_path)
    os.mkfifo(tmp_path / "pipe.yaml")  # opening one without a writer would wait for ever
    assert "not a regular file" in refused(tmp_path / "pipe.yaml")


def test_a_file_above_the_limit_is_refused_and_one_at_the_limit_is_read(tmp_path: Path) -> None:
    path = tmp_path / "it.yaml"
    path.write_text("a: b #" + "x" * (MAX_BYTES - 6))
    assert read_document(path, "it.yaml").data == {"a": "b"}
    path.write_text("a: b #" + "x" * (MAX_BYTES - 5))
    assert "larger than 256 KiB" in refused(path)


def test_every_key_knows_its_line() -> None:
    document = parse_document("a:\n  b: 1\n  c:\n    - x\n    - d: 2\n", "it.yaml")
    assert document.line(("a", "b")) == 2
    assert document.line(("a", "c", 1, "d")) == 5
    assert document.line(("a", "nothing", "here")) == 1


def test_plain_words_mean_what_they_say() -> None:
    text = "a: yes\nb: true\nc: 012\nd: 12\ne: 1.5\nf: 2025-06-01\ng: '12'\nh: 1e999\ni: 0x1F\n1: one\n"
    assert parse_document(text, "it.yaml").data == {
        "a": "yes",
        "b": True,
        "c": "012",
        "d": 12,
        "e": 1.5,
        "f": "2025-06-01",
        "g": "12",
        "h": "1e999",
        "i": "0x1F",
        "1": "one",
    }


def test_all_repeated_keys_are_named_at_once() -> None:
    with pytest.raises(BadFilesError) as caught:
        parse_document("a: 1\nb: 2\na: 3\nc: {d: 1, d: 2}\n", "it.yaml")
    assert [(finding.line, finding.key) for finding in caught.value.findings] == [(3, "a"), (4, "c.d")]


def test_a_syntax_error_does_not_quote_the_line() -> None:
    with pytest.raises(BadFilesError) as caught:
        parse_document('password: "canary\n', "it.yaml")
    assert "canary" not in str(caught.value)
    assert caught.value.cause is None
