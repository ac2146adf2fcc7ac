"""The names of what validation will look at, as far as the contract and the pipeline decide it."""

from __future__ import annotations

from anabranch.contract.backfill import Backfill
from anabranch.contract.pipeline import Pipeline


def checks_of(backfill: Backfill, pipeline: Pipeline) -> tuple[str, ...]:
    """In the order in which they are shown."""
    spec, keys = backfill.spec, pipeline.spec.target.keys
    names = ["every offset accounted for", "schema as it was", "rows and sums by time"]
    if spec.control is not None:
        names.append("what the fix changes, and what differed before it")
    if pipeline.spec.window is not None:
        names.append("events that live dropped as late")
    if spec.expect is not None:
        names.append(f"{spec.expect.rows} rows, give or take {spec.expect.tolerance * 100:.10g}%")
    if keys:
        names.append(f"unique: {', '.join(keys)}")
    if spec.validation.not_null:
        names.append(f"not null: {', '.join(spec.validation.not_null)}")
    if spec.validation.known_records is not None:
        names.append(f"known records: {spec.validation.known_records}")
    names.extend(f"query: {name}" for name in sorted(spec.validation.queries))
    return tuple(names)
