"""Record batches by their headers: whole, cut off, and in a format without a count."""

from __future__ import annotations

import struct

import pytest

from anabranch.adapters.kafka.batch_headers import UnknownFormatError, read_batches
from anabranch.replay.gaps import RecordBatch

ABORT, COMMIT = b"\x00\x00\x00\x00", b"\x00\x00\x00\x01"
PLAIN = b"not decoded"


def batch(first: int, count: int, body: bytes = PLAIN, *, producer: int = -1, control: bool = False) -> bytes:
    attributes = 0b011 | (0x10 if producer >= 0 else 0) | (0x20 if control else 0)
    header = struct.pack(">IhiqqqhiI", 0, attributes, count - 1, 0, 0, producer, 0, 0, count) + body
    return struct.pack(">qiib", first, len(header) + 5, 0, 2) + header


def marker(first: int, key: bytes, producer: int) -> bytes:
    # Length, attributes, time (two bytes long) and offset relative to the batch, length of the key in zigzag, key.
    return batch(first, 1, b"\x20\x00\x80\x01\x00\x08" + key, producer=producer, control=True)


def test_batches_of_every_kind() -> None:
    data = b"".join(
        (
            batch(7, 3),
            batch(10, 40, producer=900),
            marker(50, COMMIT, 900),
            batch(51, 1, producer=901),
            marker(52, ABORT, 901),
        )
    )
    assert list(read_batches(memoryview(data))) == [
        RecordBatch(7, 9, 3),
        RecordBatch(10, 49, 40, 900, transactional=True),
        RecordBatch(50, 50, 1, 900, transactional=True, control=True),
        RecordBatch(51, 51, 1, 901, transactional=True),
        RecordBatch(52, 52, 1, 901, transactional=True, control=True, aborts=True),
    ]


def test_a_batch_that_a_fetch_cut_off_is_left_for_the_next_fetch() -> None:
    whole, next_ = batch(0, 5), batch(5, 5)
    for size in range(len(next_)):
        assert list(read_batches(whole + next_[:size])) == [RecordBatch(0, 4, 5)]


def test_a_format_whose_header_does_not_count_records_is_refused() -> None:
    message = struct.pack(">qiIbbq", 3, 30, 0, 1, 0, 0) + b"\x00" * 20
    with pytest.raises(UnknownFormatError, match="at offset 3 has record format 1"):
        list(read_batches(message))
