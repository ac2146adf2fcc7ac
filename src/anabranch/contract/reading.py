"""The digest of how event time is decoded: with another digest, the same record may have another event time."""

from __future__ import annotations

import hashlib
import json

from anabranch.contract.pipeline import PipelineSpec

VERSION = 1
"""Version of the decoding. Increased when it gives the same record another event time."""


def reading_digest(spec: PipelineSpec) -> str:
    """SHA-256 over the format, the declared columns, and field and format of event time. The slack is not included."""
    reading = {
        "version": VERSION,
        "format": spec.source.format,
        "columns": list(spec.source.columns.items()),
        "event_time": [spec.event_time.field, spec.event_time.format],
    }
    return hashlib.sha256(json.dumps(reading).encode()).hexdigest()
