"""Gate: the closure record can be written, and the audit chain verifies."""

from __future__ import annotations

from collections.abc import Iterator

from anabranch.gates.facts import GateFacts
from anabranch.gates.gate import GateFinding, Judgement, failed, judged, untested

NAME = "closure"
LITTLE = 256 * 1024 * 1024
"""Bytes. Records are small, but tables, logs and checkpoints may share the disk."""


def judge_closure(facts: GateFacts) -> Judgement:
    closing = facts.closing
    return judged(
        NAME,
        list(_findings(facts)),
        f"records can be written, and the audit chain of {closing.audit.head.seq:,} records verifies",
        owner=facts.contract.spec.owner,
        at=facts.now,
        figures={"folder": closing.folder, "free_bytes": closing.free, "audit_records": closing.audit.head.seq},
    )


def _findings(facts: GateFacts) -> Iterator[GateFinding]:
    closing = facts.closing
    if closing.refused is not None:
        yield failed(f"{closing.folder} can't be written to: {closing.refused}", f"make {closing.folder} writable")
    elif closing.free < LITTLE:
        words = f"{closing.free // 2**20} MiB are free on the disk of {closing.folder}"
        yield untested(words, f"free at least {LITTLE // 2**20} MiB")
    if not closing.audit.intact:
        words = f"the audit chain is broken at record {closing.audit.seq}: {closing.audit.reason}"
        yield failed(words, "run `anabranch audit verify`, and find out who changed the record before anything else")
