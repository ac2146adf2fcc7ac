"""A checkpoint as Spark lays it out on disk, with nothing in it that a copy would have to understand."""

from __future__ import annotations

import json
from pathlib import Path

TOPIC = "orders"


def spark_checkpoint(folder: Path, batches: int, *, begun: int = 0) -> Path:
    """So many batches done, `begun` more begun: batch n reads up to offset 10 (n + 1) and leaves state n + 1."""
    (folder / "sources" / "0").mkdir(parents=True)
    (folder / "sources" / "0" / "0").write_text(f'\0v1\n{{"{TOPIC}":{{"0":0}}}}')
    (folder / "metadata").write_text(json.dumps({"id": "q-of-live"}))
    for name in ("offsets", "commits", "state/0/_metadata", "state/0/0", "state/0/1"):
        (folder / name).mkdir(parents=True)
    (folder / "state" / "0" / "_metadata" / "metadata").write_text("v1")
    for batch in range(batches + begun):
        notes = json.dumps({"batchWatermarkMs": 1000 * batch, "batchTimestampMs": 1, "conf": {"a": "b"}})
        (folder / "offsets" / str(batch)).write_text(f'v1\n{notes}\n{{"{TOPIC}":{{"0":{10 * (batch + 1)}}}}}')
        (folder / "offsets" / f".{batch}.crc").write_text("crc")
    for batch in range(batches):
        (folder / "commits" / str(batch)).write_text('v1\n{"nextBatchWatermarkMs":0}')
        add_state(folder, batch + 1)
    return folder


def add_state(folder: Path, version: int) -> None:
    for partition in ("0", "1"):
        (folder / "state" / "0" / partition / f"{version}.delta").write_text(f"state {version}")
        (folder / "state" / "0" / partition / f".{version}.delta.crc").write_text("crc")
