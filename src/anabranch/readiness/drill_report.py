"""The four questions of a readiness drill, answered from a real small replay that was measured. Pure.

How far back can we go? Which offsets would that be? Who sees duplicates? Which metrics prove that we have caught up?
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from anabranch.contract.pipeline import PipelineClass
from anabranch.gates.colour import Colour, worst
from anabranch.gates.evidence import ACTION, Evidence, read_evidence
from anabranch.plan.offsets.completeness import Proof
from anabranch.plan.plan import Plan, ranges_document
from anabranch.plan.slices import offsets_in
from anabranch.project.quantities import roughly
from anabranch.readiness.readers import Readers
from anabranch.readiness.retention import TopicVerdict
from anabranch.runs.store import RunReader

KIND = "drill"
COUNTS_FOR = timedelta(days=30)
"""How long a drill is believed. After that, people, code and data are no longer those that were drilled."""

TELLING_RECORDS = 100_000
"""With fewer, a drill says how long it takes at all, and little about how fast it goes on."""


@dataclass(frozen=True)
class Seconds:
    """How long each part took. What people take (detect, diagnose, fix) is declared by the topic's class."""

    plan: float
    replay: float
    """With Spark's start, if it was not running."""
    slices: float
    """Of the replay, what the slices themselves took."""
    validate: float
    close: float

    @property
    def recovery(self) -> float:
        return self.plan + self.replay + self.validate + self.close


@dataclass(frozen=True)
class Exercise:
    """What was seen while a small range was replayed beside production, validated, and thrown away again."""

    run: str
    plan: Plan
    pipeline_class: PipelineClass
    kept: TopicVerdict | None
    """Of the topic; None: the audit did not find it."""
    isolation_held: bool
    group_fates: Mapping[str, str]
    """What became of each consumer group while the run was under way."""
    readers: Readers
    lag_before: int | None
    lag_after: int | None
    accepted: bool
    checks: Mapping[str, str]
    """Each check of the validation and its outcome."""
    accounted: int
    """Offsets whose fate the ledger tells."""
    rows_before: int
    rows_after: int
    changed: bool
    """Whether the replayed rows are others than the table's."""
    same_code: bool | None
    """Whether the code on disk has written all that the table has; None: not known."""
    seconds: Seconds


@dataclass(frozen=True)
class Answer:
    question: str
    colour: Colour
    words: str
    figures: Mapping[str, Any]

    def document(self) -> dict[str, Any]:
        return {
            "question": self.question,
            "colour": self.colour.value,
            "words": self.words,
            "figures": dict(self.figures),
        }


@dataclass(frozen=True)
class DrillReport:
    pipeline: str
    run: str
    answers: tuple[Answer, ...]
    recovery: Answer

    @property
    def colour(self) -> Colour:
        return worst(each.colour for each in (*self.answers, self.recovery))

    def document(self) -> dict[str, Any]:
        """Plain JSON values: what is printed, and kept as evidence."""
        return {
            "pipeline": self.pipeline,
            "run": self.run,
            "colour": self.colour.value,
            "answers": [each.document() for each in self.answers],
            "recovery": self.recovery.document(),
        }


def answer(seen: Exercise) -> DrillReport:
    answers = (_how_far_back(seen), _which_offsets(seen), _who_sees_duplicates(seen), _what_proves_it(seen))
    return DrillReport(seen.plan.pipeline, seen.run, answers, _recovery(seen))


def history(reader: RunReader, pipeline: str) -> Sequence[Evidence]:
    """Every drill of the pipeline, the oldest first."""
    found = map(read_evidence, reader.audit(action=f"{ACTION}{KIND}"))
    return [each for each in found if each.subject == f"pipeline/{pipeline}"]


def _how_far_back(seen: Exercise) -> Answer:
    question, kept = "How far back can we go?", seen.kept
    if kept is None:
        return Answer(question, Colour.RED, f"not known: the cluster did not tell of {seen.plan.source.topic}", {})
    back = "to the beginning of the topic" if kept.reach is None else f"{roughly(kept.reach)}, to {kept.oldest}"
    document = kept.document()
    figures = {name: document[name] for name in ("class", "demanded", "replay_from", "kept")}
    return Answer(question, kept.colour, f"{back}; {kept.words}", figures)


def _which_offsets(seen: Exercise) -> Answer:
    source = seen.plan.source
    shown = ", ".join(f"{p}: {each[0][0]:,}–{each[-1][1]:,}" for p, each in sorted(source.ranges.items()))
    proven = set(source.proof.values()) <= {Proof.MAP, Proof.WHOLE}
    build = f"`anabranch zones build {seen.plan.pipeline}` proves it"
    why = "is proven" if proven else f"rests on timestamps and the declared slack; {build}"
    figures = {
        "topic": source.topic,
        "uuid": source.uuid,
        "offsets": ranges_document(source.ranges),
        "proof": {str(p): proof.value for p, proof in sorted(source.proof.items())},
    }
    colour = Colour.GREEN if proven else Colour.YELLOW
    words = f"for the drill, by partition, {shown}; that no event is left out {why}"
    return Answer("Which offsets would that be?", colour, words, figures)


def _who_sees_duplicates(seen: Exercise) -> Answer:
    held = seen.isolation_held
    words = (
        "nobody: every consumer group is where its own members have brought it, and the run has put nothing on main"
        if held
        else "a group was moved or something was written to main that should not have been: see `groups`"
    )
    replaced = "is merged by key" if seen.plan.strategy.whole_table else "replaces its range"
    after = (
        f"promoted, it {replaced} in one commit, so no row is there twice; who reads {seen.plan.target.table} as a "
        f"stream stops at that commit; {seen.readers.of_the_topic()}"
    )
    figures = {"isolation_held": held, "groups": dict(seen.group_fates), "readers": seen.readers.document()}
    return Answer("Who sees duplicates?", Colour.GREEN if held else Colour.RED, f"{words}; {after}", figures)


def _what_proves_it(seen: Exercise) -> Answer:
    planned = offsets_in(seen.plan.source.ranges)
    colour, words = Colour.GREEN, [f"the ledger tells the fate of {seen.accounted:,} of {planned:,} offsets"]
    if not seen.accepted or seen.accounted < planned:
        colour = Colour.RED
        words.append(f"failed: {', '.join(name for name, how in seen.checks.items() if how == 'failed')}")
    if seen.lag_after is None:
        colour = worst((colour, Colour.YELLOW))
        words.append("live's lag is not known, as its consumer group has committed nothing")
    else:
        before = "unknown" if seen.lag_before is None else f"{seen.lag_before:,}"
        words.append(f"live was {before} offsets behind before and {seen.lag_after:,} after")
    if seen.changed and seen.same_code:
        late = seen.pipeline_class == "windowed"
        colour = worst((colour, Colour.YELLOW if late else Colour.RED))
        words.append(
            "its windows have events that live has dropped as late"
            if late
            else "the same code gave other rows than live: it does not give the same each time"
        )
    elif not seen.changed:
        words.append(f"the replay gave the very rows the table has ({seen.rows_after:,})")
    figures = {
        "offsets_planned": planned,
        "offsets_accounted": seen.accounted,
        "live_lag_before": seen.lag_before,
        "live_lag_after": seen.lag_after,
        "checks": dict(seen.checks),
        "rows": {"before": seen.rows_before, "after": seen.rows_after, "changed": seen.changed},
        "same_code": seen.same_code,
    }
    return Answer("Which metrics prove that we have caught up?", colour, "; ".join(words), figures)


def _recovery(seen: Exercise) -> Answer:
    seconds = seen.seconds
    records = offsets_in(seen.plan.source.ranges)
    rate = records / max(seconds.slices, 0.001)
    partitions = {} if seen.kept is None else seen.kept.topic.partitions or {}
    everything = timedelta(seconds=sum(each.offsets for each in partitions.values()) / rate)
    allowed = None if seen.kept is None or seen.kept.classified is None else seen.kept.classified.needs.replay
    words = (
        f"{records:,} offsets in {seconds.recovery:.1f} s, from plan to record; at this rate all that is kept takes "
    )
    words += roughly(everything)
    colour = Colour.GREEN
    if allowed is None:
        words += "; nobody has said how long it may take (topicClasses)"
        colour = Colour.YELLOW
    elif everything > allowed:
        telling = records >= TELLING_RECORDS
        words += f", and its class allows {roughly(allowed)}"
        words += (
            "" if telling else "; of so few records most is the cost of starting: `anabranch rehearse` knows better"
        )
        colour = Colour.RED if telling else Colour.YELLOW
    figures = {
        "plan_seconds": round(seconds.plan, 3),
        "replay_seconds": round(seconds.replay, 3),
        "validate_seconds": round(seconds.validate, 3),
        "close_seconds": round(seconds.close, 3),
        "recovery_seconds": round(seconds.recovery, 3),
        "records": records,
        "records_per_second": round(rate, 1),
        "seconds_to_replay_all_that_is_kept": round(everything.total_seconds(), 1),
    }
    return Answer("How long does it take?", colour, words, figures)
