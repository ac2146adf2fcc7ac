"""Gate: what is achieved can be put on record, and the record so far can be trusted."""

from __future__ import annotations

from collections.abc import Iterator

from anabranch.gates.facts import GateFacts
from anabranch.gates.gate import GateFinding, Judgement, failed, judged, untested

NAME = "closure"
LITTLE = 256 * 1024 * 1024
"""Bytes. Pages and records are small, but the disk is shared with tables, logs and everything else."""


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
        yield failed(f"nothing can be written to {closing.folder}: {closing.refused}", "make it writable")
    elif closing.free < LITTLE:
        words = f"{closing.free // 2**20} MiB are left on the disk of {closing.folder}"
        yield untested(words, f"free some space: {LITTLE // 2**20} MiB at least")
    if not closing.audit.intact:
        words = f"the audit chain is broken at record {closing.audit.seq}: {closing.audit.reason}"
        yield failed(words, "anabranch audit verify; find out who changed it before anything else")
