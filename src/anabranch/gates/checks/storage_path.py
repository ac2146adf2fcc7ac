"""Gate: the range can be read from its storage, and retention leaves enough time to read it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from anabranch.contract.backfill import Backfill
from anabranch.gates.binding import of_rehearsal, of_storage
from anabranch.gates.evidence import ACTION, Evidence, read_evidence
from anabranch.gates.facts import GateFacts
from anabranch.gates.gate import (
    CLUSTER_OWNER,
    GateFinding,
    Judgement,
    aged,
    failed,
    judged,
    never_measured,
    unknown,
    untested,
)
from anabranch.plan.forecast.estimates import HEADROOM_PER_DURATION, LEAST_HEADROOM
from anabranch.plan.forecast.rehearsed import KIND as REHEARSAL
from anabranch.plan.forecast.rehearsed import read_rehearsed
from anabranch.plan.plan import Plan
from anabranch.plan.retention.decision import RaceAnswer, RaceDecision, decide
from anabranch.plan.retention.planning import race_options
from anabranch.plan.retention.rate import ReplayRate, planned_rate
from anabranch.plan.target_range import EPOCH
from anabranch.project.quantities import format_duration, format_moment, format_rate
from anabranch.runs.store import RunReader

NAME = "storage-path"
KIND = "storage"
LIFETIME = timedelta(days=1)


@dataclass(frozen=True)
class StoragePath:
    """Where the offsets of a plan are stored, and how fast they read."""

    offsets: int
    tiered: int | None
    """Of these, how many are no longer on the brokers' disks; None: the cluster did not report it."""
    bytes: int | None
    """Estimated, of all of them."""
    read_bytes: int
    read_seconds: float
    """Of the probe, which reads from the first offset on."""
    refused: str | None
    """Why the probe could not read."""
    first_ms: int | None
    """The timestamp of the oldest record that is needed."""
    settings_seen: bool
    retention_ms: int | None
    """None: for ever, if the settings were seen."""
    retention_bytes: int | None

    def document(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def read(cls, found: Mapping[str, Any]) -> StoragePath:
        return cls(**{name: found[name] for name in cls.__dataclass_fields__})

    @property
    def bytes_per_second(self) -> float | None:
        """Of one consumer; a replay reads with several, and is rarely slower."""
        return self.read_bytes / self.read_seconds if self.read_bytes and self.read_seconds > 0 else None

    @property
    def gone_from(self) -> datetime | None:
        """When retention may delete its first record; None: never, or unknown."""
        if self.retention_ms is None or self.first_ms is None:
            return None
        return EPOCH + timedelta(milliseconds=self.first_ms + self.retention_ms)

    def duration(self, most: int | None) -> timedelta:
        """How long reading takes at the probed rate, or at the contract's if that is less."""
        rates = [rate for rate in (self.bytes_per_second, most) if rate]
        return timedelta(seconds=(self.bytes or 0) / min(rates)) if rates else timedelta()


def judge_storage_path(facts: GateFacts) -> Judgement:
    evidence = facts.evidence.get(KIND)
    race = _race(facts)
    if evidence is None and race is not None and race.answer is RaceAnswer.LOST:
        return judged(
            NAME, [_lost(facts, race)], "", owner=CLUSTER_OWNER, at=facts.now, figures={"race": race.document()}
        )
    if evidence is None:
        words = "the storage of the range and its read rate were not measured"
        return never_measured(NAME, words, owner=CLUSTER_OWNER, at=facts.now, to_green=facts.measure)
    path = StoragePath.read(evidence.found)
    budget = facts.contract.spec.budget
    duration = path.duration(None if budget is None else budget.bytes_per_second)
    rate = path.bytes_per_second
    tiered = "none of it tiered" if not path.tiered else f"{path.tiered / max(1, path.offsets):.0%} of it tiered"
    left = "for ever" if path.gone_from is None else f"until {format_moment(path.gone_from)} at least"
    speed = "" if rate is None else f", read at {format_rate(rate)} by one consumer"
    judgement = judged(
        NAME,
        list(_findings(facts, path, duration, race)),
        f"{path.offsets:,} offsets, {tiered}{speed}; retained {left}",
        owner=CLUSTER_OWNER,
        at=evidence.at,
        figures={
            "offsets": path.offsets,
            "tiered_share": None if path.tiered is None else round(path.tiered / max(1, path.offsets), 4),
            "bytes": path.bytes,
            "bytes_per_second": None if rate is None else round(rate),
            "gone_from": None if path.gone_from is None else format_moment(path.gone_from),
            "race": None if race is None else race.document(),
        },
    )
    return aged(judgement, evidence, facts.now, facts.measure)


def evidenced_rate(
    evidence: Mapping[str, Evidence], plan: Plan, contract: Backfill, now: datetime
) -> ReplayRate | None:
    """The replay's rate by the rehearsal, or by the contract's rate and the probe of the storage; None: unknown."""
    rehearsal, storage = evidence.get(REHEARSAL), evidence.get(KIND)
    rehearsed = read_rehearsed(rehearsal.found) if rehearsal is not None and rehearsal.counts(now) else None
    path = None if storage is None else StoragePath.read(storage.found)
    budget = contract.spec.budget
    return planned_rate(
        plan,
        rehearsed,
        None if budget is None else budget.bytes_per_second,
        None if path is None or path.bytes is None or not path.offsets else path.bytes / path.offsets,
        None if path is None else path.bytes_per_second,
    )


def recorded_rate(reader: RunReader, plan: Plan, contract: Backfill, now: datetime) -> ReplayRate | None:
    """The same, by what is on record about this plan and contract."""
    bound = {REHEARSAL: of_rehearsal(plan, contract), KIND: of_storage(plan)}
    found: dict[str, Evidence] = {}
    for kind, binding in bound.items():
        for each in map(read_evidence, reader.audit(action=f"{ACTION}{kind}")):
            if binding.holds(each):
                found[kind] = each
    return evidenced_rate(found, plan, contract, now)


def _race(facts: GateFacts) -> RaceDecision | None:
    """The race of what is left to read, as `plan` and the replay judge it; None: nothing is left, or it is unknown when
    the topic deletes it."""
    reading = facts.retention
    if reading is None:
        return None
    rate = evidenced_rate(facts.evidence, facts.plan, facts.contract, facts.now)
    options = race_options(facts.plan, facts.contract, withheld=reading.withheld)
    seconds, words = (None, None) if rate is None else (rate.seconds, rate.words)
    decision = decide(reading.slices, seconds, reading.facts, options, words)
    return None if any(each.loss is None for each in decision.race) else decision


def _findings(
    facts: GateFacts, path: StoragePath, duration: timedelta, race: RaceDecision | None
) -> Iterator[GateFinding]:
    topic = facts.plan.source.topic
    if path.refused is not None:
        yield failed(f"the range could not be read: {path.refused}", "let this user read the topic")
    elif not path.read_bytes:
        yield unknown("the probe found no record to read in the range", facts.measure)
    if not path.settings_seen:
        words = f"the settings of {topic} are hidden: its retention is unknown"
        yield unknown(words, f"allow DescribeConfigs on topic {topic}")
    if path.tiered is None:
        words = "how much of the range is tiered is unknown"
        yield unknown(words, "upgrade the cluster to Kafka 3.9 or later, which reports the earliest local offset")
    if path.retention_bytes is not None:
        words = f"{topic} is also limited by size: its retention depends on traffic"
        yield untested(words, f"set retention.bytes=-1 on {topic} until the backfill is closed")
    if race is not None and race.answer is not RaceAnswer.ENOUGH_TIME:
        yield _of_race(facts, race)
    elif path.gone_from is not None:
        yield from _of_retention(facts, topic, path.gone_from - facts.now, duration)


def _of_race(facts: GateFacts, race: RaceDecision) -> GateFinding:
    topic = facts.plan.source.topic
    longer = f"raise retention.ms of {topic} for the time of the replay, then {facts.measure}"
    match race.answer:
        case RaceAnswer.LOST:
            return _lost(facts, race)
        case RaceAnswer.EXTENSION:
            words = (
                "retention deletes the range before it is read, unless the replay extends it, as the contract permits"
            )
            return untested(f"{words}: {race.words}", longer)
        case _:
            return untested(f"retention leaves enough time only {race.words}", longer)


def _lost(facts: GateFacts, race: RaceDecision) -> GateFinding:
    topic = facts.plan.source.topic
    words = f"retention deletes the range before it is read: {race.words}"
    if race.extension_withheld is not None:
        return failed(f"{words}; {race.extension_withheld}", f"let the plan be approved, then {facts.measure}")
    return failed(
        words,
        f"raise retention.ms of {topic}, or write retention: {{extendUpTo: …}} in the contract, then {facts.measure}",
    )


def _of_retention(facts: GateFacts, topic: str, headroom: timedelta, duration: timedelta) -> Iterator[GateFinding]:
    longer = f"raise retention.ms of {topic}, then {facts.measure}"
    if headroom <= duration:
        when = "at any moment" if headroom <= timedelta() else f"in {_about(headroom)}"
        yield failed(f"retention may delete the first of the range {when}, before it is read", longer)
    elif headroom < max(LEAST_HEADROOM, HEADROOM_PER_DURATION * duration):
        words = f"retention leaves {_about(headroom)}, too little for a replay that is paused or retried"
        yield untested(words, longer)


def _about(duration: timedelta) -> str:
    return format_duration(timedelta(seconds=round(duration.total_seconds()))) or "0s"
