"""The chain by itself, with no database: what a verdict says and what goes into a hash."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from anabranch.runs.audit import GENESIS, Anchor, AuditRecord, ChainFlaw, record_hash, verify_chain


def chain(length: int) -> list[AuditRecord]:
    records: list[AuditRecord] = []
    for seq in range(1, length + 1):
        previous = records[-1].hash if records else GENESIS
        record = AuditRecord(seq, "2025-06-01", "ada", "r1", "run.start", "planned", "replaying", 1, "{}", previous, "")
        records.append(replace(record, hash=record_hash(record)))
    return records


def head_of(records: list[AuditRecord]) -> Anchor:
    return Anchor(records[-1].seq, records[-1].hash) if records else Anchor(0, GENESIS)


@pytest.mark.parametrize("length", [0, 1, 7])
def test_an_untouched_chain_is_intact_and_its_head_is_the_last_record(length: int) -> None:
    records = chain(length)
    verdict = verify_chain(records, head_of(records), head_of(records[: length // 2]))
    assert verdict.intact
    assert verdict.head == head_of(records)


def test_the_hash_of_a_record_is_the_same_on_every_machine_for_ever() -> None:
    assert chain(1)[0].hash == "fb701c95a9434941179117a91852de7f79fc492be5612bcb18e198107a65693d"


@pytest.mark.parametrize("name", [each.name for each in fields(AuditRecord) if each.name != "hash"])
def test_every_field_goes_into_the_hash(name: str) -> None:
    record = chain(1)[0]
    other: object = 99 if isinstance(getattr(record, name), int) else "other"
    assert record_hash(replace(record, **{name: other})) != record.hash  # type: ignore[arg-type]


def test_a_value_that_json_has_no_word_for_is_a_flaw_and_no_crash() -> None:
    records = chain(3)
    records[1] = replace(records[1], details=b"\xff")  # type: ignore[arg-type]
    verdict = verify_chain(records, head_of(records))
    assert (verdict.flaw, verdict.seq) == (ChainFlaw.ALTERED, 2)


def test_a_rewritten_chain_that_fits_together_is_caught_by_an_anchor_alone() -> None:
    honest = chain(5)
    forged = honest[:2]
    for record in honest[2:]:
        changed = replace(record, actor="eve", previous=forged[-1].hash)
        forged.append(replace(changed, hash=record_hash(changed)))
    assert verify_chain(forged, head_of(forged)).intact
    for seq in (3, 4, 5):
        verdict = verify_chain(forged, head_of(forged), Anchor(seq, honest[seq - 1].hash))
        assert (verdict.flaw, verdict.seq) == (ChainFlaw.REWRITTEN, seq)


def test_a_tail_cut_off_together_with_the_head_is_caught_by_an_anchor_alone() -> None:
    honest = chain(5)
    cut = honest[:3]
    assert verify_chain(cut, head_of(cut)).intact
    verdict = verify_chain(cut, head_of(cut), head_of(honest))
    assert (verdict.flaw, verdict.seq) == (ChainFlaw.TRUNCATED, 4)


def test_a_lost_head_is_a_flaw() -> None:
    assert verify_chain(chain(2), None).flaw is ChainFlaw.TRUNCATED


def test_the_verdict_as_data_carries_what_a_later_verification_takes() -> None:
    records = chain(2)
    assert verify_chain(records, head_of(records)).as_dict() == {
        "intact": True,
        "head": {"seq": 2, "hash": records[1].hash},
        "flaw": None,
        "seq": None,
        "reason": None,
    }
