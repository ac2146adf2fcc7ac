"""Digests of a pipeline's code and of its decoding of event time: with others, the same events may give other rows."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from anabranch.contract.pipeline import Pipeline, PipelineSpec

DECODING_VERSION = 1
"""Version of the decoding. Increased when it gives the same record another event time."""


def code_digest(folder: Path, pipeline: Pipeline) -> str:
    """SHA-256 over how events are decoded and rows are merged, and over every file beside the transform.

    All files of the transform's top folder are included, since a transform may import or read any of them. A file too
    many costs a new plan; a file too few would run changed code under an old plan.
    """
    transform = pipeline.spec.transform
    files = code_files(folder, pipeline)
    decoding: dict[str, object] = {
        "format": pipeline.spec.source.format,
        "columns": list(pipeline.spec.source.columns.items()),
        "event_time": [pipeline.spec.event_time.field, pipeline.spec.event_time.format],
        "transform": transform.python or transform.sql,
        "class": pipeline.spec.pipeline_class,
        "key": pipeline.spec.source.key,
        "keys": pipeline.spec.target.keys,
    }
    if pipeline.spec.target.columns is not None:
        decoding["target"] = list(pipeline.spec.target.columns.items())
    if pipeline.spec.window is not None:
        decoding["window"] = pipeline.spec.window.model_dump(mode="json")
    if pipeline.spec.lookups:
        decoding["lookups"] = sorted(pipeline.spec.lookups.items())
    hasher = hashlib.sha256(json.dumps(decoding).encode())
    for file in files:
        content = file.read_bytes()
        hasher.update(f"\0{file.relative_to(folder).as_posix()}\0{len(content)}\0".encode())
        hasher.update(content)
    return hasher.hexdigest()


def code_files(folder: Path, pipeline: Pipeline) -> list[Path]:
    """Every file of the digest, sorted: sources and the data they may read; no bytecode, no hidden files."""
    transform = pipeline.spec.transform
    if transform.python is None:
        return [folder / (transform.sql or "")]
    top = transform.python.split(":")[0].split(".")[0]
    package = folder / top
    if not package.is_dir():
        return [folder / f"{top}.py"]
    return sorted(path for path in package.rglob("*") if path.is_file() and not _is_excluded(path.relative_to(package)))


def _is_excluded(path: Path) -> bool:
    return path.suffix == ".pyc" or any(part == "__pycache__" or part.startswith(".") for part in path.parts)


def reading_digest(spec: PipelineSpec) -> str:
    """SHA-256 over the format, the declared columns, and field and format of event time. The slack is not included."""
    reading = {
        "version": DECODING_VERSION,
        "format": spec.source.format,
        "columns": list(spec.source.columns.items()),
        "event_time": [spec.event_time.field, spec.event_time.format],
    }
    return hashlib.sha256(json.dumps(reading).encode()).hexdigest()
