"""Extends a topic's retention.ms while a replay reads, and restores it: intent before act, read back, orphans found.

The journal's intent stays open for as long as the extension stands, so that after a crash it says what to restore.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from anabranch.crashpoints import reach
from anabranch.errors import AnabranchError
from anabranch.plan.retention.facts import RetentionFacts
from anabranch.runs.journal import JournalEntry, Outcome
from anabranch.runs.run_lease import RunLease

STEP = "retention-extension"
EXTENDED = "retention.extended"
RESTORED = "retention.restored"
"""Actions of the audit chain."""


@dataclass(frozen=True)
class TopicRetention:
    """retention.ms of a topic."""

    topic: str
    uuid: str
    milliseconds: int
    """-1: for ever."""
    is_own: bool
    """Whether the topic itself has the value; it inherits the broker's otherwise."""


class RetentionControl(Protocol):
    """Reads and changes retention.ms of a topic. Each change is read back before it returns."""

    def read(self, topic: str) -> TopicRetention | None:
        """None: the topic does not exist."""

    def write(self, topic: str, milliseconds: int) -> None: ...

    def remove(self, topic: str) -> None:
        """Let the topic inherit the broker's value again."""


OpenExtensions = Callable[[], Sequence[JournalEntry]]
"""The extensions of all runs that are not settled yet, oldest first."""


@dataclass(frozen=True)
class ExtensionIntent:
    """What the journal says of an extension."""

    run: str
    topic: str
    uuid: str
    was_ms: int
    was_own: bool
    to_ms: int

    @classmethod
    def of(cls, entry: JournalEntry) -> ExtensionIntent:
        found: Mapping[str, Any] = entry.details
        return cls(entry.run_id, found["topic"], found["uuid"], found["was_ms"], found["was_own"], found["to_ms"])

    def document(self) -> dict[str, object]:
        return {
            "topic": self.topic,
            "uuid": self.uuid,
            "was_ms": self.was_ms,
            "was_own": self.was_own,
            "to_ms": self.to_ms,
        }


def without_extensions(facts: RetentionFacts, entries: Sequence[JournalEntry]) -> RetentionFacts:
    """The facts as if no run had extended the topic's retention: an extension ends with its run."""
    standing = [ExtensionIntent.of(each) for each in entries if each.details.get("topic") == facts.topic]
    if not standing or facts.settings is None:
        return facts
    former = standing[0].was_ms
    return replace(facts, settings=replace(facts.settings, retention_ms=None if former < 0 else former))


@dataclass
class RetentionExtension:
    """The extension of one run: at most one is open at a time."""

    lease: RunLease
    control: RetentionControl
    topic: str
    open_extensions: OpenExtensions
    notice: Callable[[str], object] = lambda _: None

    def hold(self, to_ms: int) -> None:
        """Have retention.ms at `to_ms` at least. Idempotent; an extension that an earlier process left is continued.

        Raises if the change is refused; the intent is then settled and nothing is left extended.
        """
        entry = self._own()
        if entry is None:
            entry = self._intend(to_ms)
            if entry is None:
                return
        intent = ExtensionIntent.of(entry)
        found = self.control.read(self.topic)
        if found is None or found.uuid != intent.uuid or _is_at_least(found.milliseconds, intent.to_ms):
            return
        reach("retention.extend.before")
        try:
            self.control.write(self.topic, intent.to_ms)
        except AnabranchError:
            self.restore()
            raise
        reach("retention.extend.after")
        self.lease.writer.record_act(
            EXTENDED, actor=self.lease.actor, run_id=self.lease.run_id, details=intent.document()
        )
        self.notice(
            f"retention.ms of {self.topic} was {intent.was_ms}; extended to {intent.to_ms} while the replay reads"
        )

    def restore(self) -> None:
        """Undo what this run has extended, if anything. Idempotent."""
        entry = self._own()
        if entry is not None:
            others = [each for each in self._of_topic() if each.run_id != self.lease.run_id]
            settle(self.lease, self.control, entry, others, self.notice)

    def _intend(self, to_ms: int) -> JournalEntry | None:
        found = self.control.read(self.topic)
        if found is None:
            return None
        standing = [ExtensionIntent.of(each) for each in self._of_topic()]
        # Under another run's extension the value to restore is the one before it.
        was = (standing[0].was_ms, standing[0].was_own) if standing else (found.milliseconds, found.is_own)
        intent = ExtensionIntent(self.lease.run_id, self.topic, found.uuid, *was, to_ms)
        number = self.lease.number(STEP)
        return self.lease.record_intent(STEP, intent.document(), intent=f"{self.lease.run_id}-{STEP}-{number}")

    def _own(self) -> JournalEntry | None:
        return next((each for each in self._of_topic() if each.run_id == self.lease.run_id), None)

    def _of_topic(self) -> list[JournalEntry]:
        return [each for each in self.open_extensions() if each.details.get("topic") == self.topic]


def settle(
    lease: RunLease,
    control: RetentionControl,
    entry: JournalEntry,
    others: Sequence[JournalEntry],
    notice: Callable[[str], object],
) -> None:
    """Restore what the extension changed, and record its outcome. `others` stand on the same topic: while there is
    one, the value stays, and the last of them restores it.

    A value that is not the extension's was set by another user and is not changed.
    """
    lease.check_epoch()
    intent = ExtensionIntent.of(entry)
    what = _restore(control, intent, others)
    reach("retention.restore.after")
    lease.record_outcome(entry, Outcome.SUCCEEDED, {"what": what})
    lease.writer.record_act(
        RESTORED, actor=lease.actor, run_id=lease.run_id, details={**intent.document(), "what": what}
    )
    notice(f"retention.ms of {intent.topic}: {what}")


def _restore(control: RetentionControl, intent: ExtensionIntent, others: Sequence[JournalEntry]) -> str:
    found = control.read(intent.topic)
    if found is None:
        return "the topic no longer exists"
    if found.uuid != intent.uuid:
        return "the topic was deleted and recreated; its settings are its own"
    if others:
        return _leave_to(control, intent, found.milliseconds, others)
    if (found.milliseconds, found.is_own) == (intent.was_ms, intent.was_own):
        return f"is {intent.was_ms}, as before"
    if found.milliseconds != intent.to_ms:
        return f"was set to {found.milliseconds} by another user and stays; it was {intent.was_ms} before the run"
    reach("retention.restore.before")
    if intent.was_own:
        control.write(intent.topic, intent.was_ms)
        return f"restored to {intent.was_ms}"
    control.remove(intent.topic)
    return f"inherits the broker's value again, which was {intent.was_ms}"


def _leave_to(
    control: RetentionControl, intent: ExtensionIntent, milliseconds: int, others: Sequence[JournalEntry]
) -> str:
    """Have it as long as the other extensions need it, so that the last of them finds its own value."""
    longest = max(ExtensionIntent.of(each).to_ms for each in others)
    if milliseconds == intent.to_ms and longest < milliseconds:
        control.write(intent.topic, longest)
        milliseconds = longest
    runs = ", ".join(each.run_id for each in others)
    return f"stays at {milliseconds} for run {runs}, which restores {intent.was_ms}"


def _is_at_least(milliseconds: int, wanted: int) -> bool:
    return milliseconds < 0 or milliseconds >= wanted
