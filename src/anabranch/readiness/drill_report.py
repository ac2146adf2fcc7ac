"""The four questions of a readiness drill, answered from the measurements of a small real replay. Pure.

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
"""How long a drill is valid. After that, people, code and data may have changed."""

TELLING_RECORDS = 100_000
"""With fewer, the time of a drill is mostly that of starting, and its rate does not predict a larger replay."""


@dataclass(frozen=True)
class Seconds:
    """How long each part took. The time of people (detect, diagnose, fix) is declared by the topic's class."""

    plan: float
    replay: float
    """Includes Spark's start, if it was not running."""
    slices: float
    """Of the replay, the slices alone."""
    validate: float
    close: float

    @property
    def recovery(self) -> float:
        return self.plan + self.replay + self.validate + self.close


@dataclass(frozen=True)
class Exercise:
    """Observations of a small range that was replayed beside production, validated and removed."""

    run: str
    plan: Plan
    pipeline_class: PipelineClass
    kept: TopicVerdict | None
    """The topic's retention; None: the audit did not find the topic."""
    isolation_held: bool
    group_fates: Mapping[str, str]
    """By consumer group, what happened to it during the run."""
    readers: Readers
    lag_before: int | None
    lag_after: int | None
    accepted: bool
    checks: Mapping[str, str]
    """By check of the validation, its outcome."""
    accounted: int
    """Offsets that the ledger accounts for."""
    rows_before: int
    rows_after: int
    changed: bool
    """Whether the replayed rows differ from the table's."""
    same_code: bool | None
    """Whether the code on disk wrote every live commit of the table; None: unknown."""
    seconds: Seconds


@dataclass(frozen=True)
class DrillAnswer:
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
    answers: tuple[DrillAnswer, ...]
    recovery: DrillAnswer

    @property
    def colour(self) -> Colour:
        return worst(each.colour for each in (*self.answers, self.recovery))

    def document(self) -> dict[str, Any]:
        """Plain JSON values, printed and recorded as evidence."""
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


def drill_history(reader: RunReader, pipeline: str) -> Sequence[Evidence]:
    """Every drill of the pipeline, the oldest first."""
    found = map(read_evidence, reader.audit(action=f"{ACTION}{KIND}"))
    return [each for each in found if each.subject == f"pipeline/{pipeline}"]


def _how_far_back(seen: Exercise) -> DrillAnswer:
    question, kept = "How far back can we go?", seen.kept
    if kept is None:
        return DrillAnswer(
            question, Colour.RED, f"unknown: the cluster does not show topic {seen.plan.source.topic}", {}
        )
    back = "to the beginning of the topic" if kept.reach is None else f"{roughly(kept.reach)}, to {kept.oldest}"
    document = kept.document()
    figures = {name: document[name] for name in ("class", "demanded", "replay_from", "kept")}
    return DrillAnswer(question, kept.colour, f"{back}; {kept.words}", figures)


def _which_offsets(seen: Exercise) -> DrillAnswer:
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
    return DrillAnswer("Which offsets would that be?", colour, words, figures)


def _who_sees_duplicates(seen: Exercise) -> DrillAnswer:
    held = seen.isolation_held
    words = (
        "none: every consumer group was moved by its own members only, and the run committed nothing to main"
        if held
        else "a consumer group was moved or main was written to by the run: see `groups`"
    )
    replaced = "is merged by key" if seen.plan.strategy.whole_table else "replaces its range"
    after = (
        f"a promotion {replaced} in one commit, so no row is duplicated; streaming readers of {seen.plan.target.table} "
        f"stop at that commit; {seen.readers.of_the_topic()}"
    )
    figures = {"isolation_held": held, "groups": dict(seen.group_fates), "readers": seen.readers.document()}
    return DrillAnswer("Who sees duplicates?", Colour.GREEN if held else Colour.RED, f"{words}; {after}", figures)


def _what_proves_it(seen: Exercise) -> DrillAnswer:
    planned = offsets_in(seen.plan.source.ranges)
    colour, words = Colour.GREEN, [f"the ledger accounts for {seen.accounted:,} of {planned:,} offsets"]
    if not seen.accepted or seen.accounted < planned:
        colour = Colour.RED
        words.append(f"failed: {', '.join(name for name, how in seen.checks.items() if how == 'failed')}")
    if seen.lag_after is None:
        colour = worst((colour, Colour.YELLOW))
        words.append("live's lag is unknown: its consumer group has committed no offset")
    else:
        before = "unknown" if seen.lag_before is None else f"{seen.lag_before:,}"
        words.append(f"live was {before} offsets behind before and {seen.lag_after:,} after")
    if seen.changed and seen.same_code:
        late = seen.pipeline_class == "windowed"
        colour = worst((colour, Colour.YELLOW if late else Colour.RED))
        words.append(
            "its windows contain events that live dropped as late"
            if late
            else "the same code gave other rows than live: the transform is not deterministic"
        )
    elif not seen.changed:
        words.append(f"the replay gave exactly the table's rows ({seen.rows_after:,})")
    figures = {
        "offsets_planned": planned,
        "offsets_accounted": seen.accounted,
        "live_lag_before": seen.lag_before,
        "live_lag_after": seen.lag_after,
        "checks": dict(seen.checks),
        "rows": {"before": seen.rows_before, "after": seen.rows_after, "changed": seen.changed},
        "same_code": seen.same_code,
    }
    return DrillAnswer("Which metrics prove that we have caught up?", colour, "; ".join(words), figures)


def _recovery(seen: Exercise) -> DrillAnswer:
    seconds = seen.seconds
    records = offsets_in(seen.plan.source.ranges)
    rate = records / max(seconds.slices, 0.001)
    partitions = {} if seen.kept is None else seen.kept.topic.partitions or {}
    everything = timedelta(seconds=sum(each.offsets for each in partitions.values()) / rate)
    allowed = None if seen.kept is None or seen.kept.classified is None else seen.kept.classified.needs.replay
    words = (
        f"{records:,} offsets in {seconds.recovery:.1f} s, from plan to closure; at this rate the whole topic takes "
    )
    words += roughly(everything)
    colour = Colour.GREEN
    if allowed is None:
        words += "; the topic has no class that limits it (spec.topicClasses)"
        colour = Colour.YELLOW
    elif everything > allowed:
        telling = records >= TELLING_RECORDS
        words += f", and its class allows {roughly(allowed)}"
        words += (
            "" if telling else "; with so few records most of it is starting: `anabranch rehearse` measures the rate"
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
    return DrillAnswer("How long does it take?", colour, words, figures)
