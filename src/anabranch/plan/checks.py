"""The names of the checks that validation will run, by contract and pipeline."""

from __future__ import annotations

from anabranch.contract.backfill import Backfill
from anabranch.contract.pipeline import Pipeline


def checks_of(backfill: Backfill, pipeline: Pipeline) -> tuple[str, ...]:
    """The names in display order."""
    spec, keys = backfill.spec, pipeline.spec.target.keys
    names = ["every offset accounted for", "schema unchanged", "rows and sums by time"]
    if spec.control is not None:
        names.append("changes by the fix, and differences before it")
    if pipeline.spec.window is not None:
        names.append("events that live dropped as late")
    if spec.expect is not None:
        names.append(f"{spec.expect.rows} rows, within {spec.expect.tolerance * 100:.10g}%")
    if keys:
        names.append(f"unique: {', '.join(keys)}")
    if spec.validation.not_null:
        names.append(f"not null: {', '.join(spec.validation.not_null)}")
    if spec.validation.known_records is not None:
        names.append(f"known records: {spec.validation.known_records}")
    names.extend(f"query: {name}" for name in sorted(spec.validation.queries))
    return tuple(names)
