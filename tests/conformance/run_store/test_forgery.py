"""Random chains, random forgeries: none gets past verification."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from tests.conformance.run_store.forging import head_of, put, rehashed, relinked, verdict_of
from tests.fixtures.properties import effort

from anabranch.adapters.sql.engine import writing
from anabranch.adapters.sql.store import SqlRunStore
from anabranch.runs.audit import AuditRecord

# Printable by what they are made of: with unprintable ones thrown away afterwards, a run now and then had too few left.
words = st.text(st.characters(exclude_categories=("C", "Z"), include_characters=" "), min_size=1, max_size=8)


def forged_once(draw: st.DrawFn, records: list[AuditRecord]) -> list[AuditRecord]:
    """One change of any kind."""
    place = draw(st.integers(0, len(records) - 1))
    match draw(st.sampled_from(["actor", "action", "details", "delete", "swap", "insert", "truncate"])):
        case "delete":
            return [*records[:place], *records[place + 1 :]]
        case "swap":
            other = draw(st.integers(0, len(records) - 1))
            order = {place: other, other: place}
            return [records[order.get(index, index)] for index in range(len(records))]
        case "insert":
            return [*records[:place], replace(records[0], actor=draw(words)), *records[place:]]
        case "truncate":
            return records[:place]
        case "actor":
            changed = replace(records[place], actor=draw(words))
        case "action":
            changed = replace(records[place], action=draw(words))
        case _:
            changed = replace(records[place], details=draw(words))
    return [*records[:place], changed, *records[place + 1 :]]


@st.composite
def forgeries(draw: st.DrawFn, honest: list[AuditRecord]) -> list[AuditRecord]:
    """The chain after one to three changes, and after mending nothing, each record's own hash, or the whole chain."""
    forged = honest
    for _ in range(draw(st.integers(1, 3))):
        forged = forged_once(draw, forged) if forged else forged
    match draw(st.sampled_from(["nothing", "own hashes", "all"])):
        case "all":
            return relinked(forged)
        case "own hashes":
            return [rehashed(record) for record in renumbered(forged)]
        case _:
            return renumbered(forged)


def renumbered(records: list[AuditRecord]) -> list[AuditRecord]:
    """Numbered as they stand. The database lets no hash stand twice, so that a copied record gets hashes of its own."""
    hashes = [record.hash for record in records]
    return [
        replace(record, seq=seq)
        if hashes.index(record.hash) == seq - 1
        else replace(record, seq=seq, previous=f"p{seq}", hash=f"h{seq}")
        for seq, record in enumerate(records, start=1)
    ]


def first_difference(one: list[AuditRecord], other: list[AuditRecord]) -> int:
    """How many records the two begin with in common."""
    for index, (mine, yours) in enumerate(zip(one, other, strict=False)):
        if mine != yours:
            return index
    return min(len(one), len(other))


@effort(40, soak=5000)
@given(data=st.data(), actors=st.lists(words, min_size=1, max_size=6), mends_head=st.booleans())
def test_every_forgery_is_found_at_the_first_record_that_differs_or_after(
    store: SqlRunStore, data: st.DataObject, actors: list[str], mends_head: bool
) -> None:
    with writing(store.engine) as connection:
        put(connection, [], head_of([]))
    for actor in actors:
        store.writer.record_act("test.act", actor=actor, details={"said": actor})
    honest = list(store.reader.audit())
    assert store.reader.verify_audit(head_of(honest)).intact

    forged = data.draw(forgeries(honest))
    same = first_difference(forged, honest)
    # Whoever leaves the head alone is given away by it; whoever mends it, by the anchor kept elsewhere.
    head, witness = (head_of(forged), head_of(honest)) if mends_head else (head_of(honest), None)
    verdict = verdict_of(store, lambda db: put(db, forged, head), witness)
    only_extended = same == len(honest) and mends_head and forged == relinked(forged)
    assert verdict.intact is (forged == honest or only_extended)
    if not verdict.intact:
        assert verdict.seq is not None
        assert verdict.seq > same
