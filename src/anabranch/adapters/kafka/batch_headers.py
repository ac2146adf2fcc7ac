"""Reads the headers of record batches as a broker sends them. Records are not decompressed or decoded."""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct

from anabranch.replay.gaps import RecordBatch

_PREFIX = Struct(">qiib")
"""First offset, length of the rest, leader epoch, format version: common to all versions of the format."""
_HEADER = Struct(">qiibIhiqqqhii")
_LENGTH_ENDS = 12
_FORMAT = 2
_TRANSACTIONAL, _CONTROL = 0x10, 0x20
_ABORT = 0


class UnknownFormatError(Exception):
    """The batch is in record format 0 or 1 (before Kafka 0.11), whose header has no record count."""


def read_batches(data: bytes | memoryview) -> Iterator[RecordBatch]:
    """The complete batches of the data. A broker truncates the last batch at the fetch size.

    Raises UnknownFormatError for a batch of record format 0 or 1.
    """
    at = 0
    while at + _PREFIX.size <= len(data):
        first, length, _, version = _PREFIX.unpack_from(data, at)
        if version != _FORMAT:
            raise UnknownFormatError(f"the record batch at offset {first} has record format {version}")
        after = at + _LENGTH_ENDS + length
        if after > len(data):
            return
        header = _HEADER.unpack_from(data, at)
        attributes, last_delta, producer, records = header[5], header[6], header[9], header[12]
        control = bool(attributes & _CONTROL)
        yield RecordBatch(
            first,
            first + last_delta,
            records,
            producer,
            transactional=bool(attributes & _TRANSACTIONAL),
            control=control,
            aborts=control and records > 0 and _marker(data, at + _HEADER.size) == _ABORT,
        )
        at = after


def _marker(data: bytes | memoryview, at: int) -> int:
    """The type of a control record, from its key. Control batches are never compressed."""
    at = _after_varint(data, at) + 1  # the record's length and attributes
    for _ in range(3):  # its timestamp and offset, relative to the batch, and the length of its key
        at = _after_varint(data, at)
    return int.from_bytes(data[at + 2 : at + 4], "big")


def _after_varint(data: bytes | memoryview, at: int) -> int:
    while data[at] & 0x80:
        at += 1
    return at + 1
