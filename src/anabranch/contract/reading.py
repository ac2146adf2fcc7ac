"""The digest of how a pipeline reads event time: by another reading the same record has another time, or none."""

from __future__ import annotations

import hashlib
import json

from anabranch.contract.pipeline import PipelineSpec

VERSION = 1
"""Of the decoding itself. Raised when the same record may be given another event time than before."""


def reading_digest(spec: PipelineSpec) -> str:
    """SHA-256 over the format, the declared columns and the event time's field and form. The slack is no part of it."""
    reading = {
        "version": VERSION,
        "format": spec.source.format,
        "columns": list(spec.source.columns.items()),
        "event_time": [spec.event_time.field, spec.event_time.format],
    }
    return hashlib.sha256(json.dumps(reading).encode()).hexdigest()
