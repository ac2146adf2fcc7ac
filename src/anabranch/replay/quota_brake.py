"""A broker quota that follows a replay's allowance: set, read back, verified, changed, and removed at the end.

It is the only brake on bytes that brokers are sending already. What prevents it is shown; the client's limit, which
always holds, is then the only one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Event as Signal
from threading import Lock, Thread
from types import TracebackType

from anabranch.crashpoints import reach
from anabranch.errors import AnabranchError, text_of
from anabranch.plan.quotas import Quota, QuotaEntity, matching
from anabranch.replay.allowance import Allowance
from anabranch.replay.quota_ports import BrokerQuotas, QuotaRefusedError
from anabranch.replay.quota_steps import CHANGE_SECONDS, WINDOW_SECONDS, next_value, wanted_value
from anabranch.runs.lease import SupersededError
from anabranch.runs.quotas import QuotaEnd, QuotaRecord
from anabranch.runs.run_lease import RunLease
from anabranch.runs.states import State

SET, REMOVED = "quota.set", "quota.removed"
"""Actions under which the first setting and the removal of a quota are audited."""
CHECK_SECONDS = 30.0
"""How often the quota, the leaders and the quotas of others are read again."""
METRIC_SECONDS = 60.0
"""How far back the throttle time goes that consumers count."""
STATE_SECONDS = 2.0
READ_BACK_TRIES = 49
READ_BACK_PAUSE = 0.1
"""A broker answers from its own copy of the cluster's metadata, which is behind for a moment."""
ONLY_CLIENT = "Only the client limits this replay."


@dataclass
class QuotaBrake:
    """`Brake`: one replay's quota. A thread of its own talks to the cluster, so that `apply` returns at once."""

    lease: RunLease
    brokers: BrokerQuotas
    entity: QuotaEntity
    client_id: str
    notice: Callable[[str], object]
    throttled_ms: Callable[[], float]
    """The longest that brokers throttled one of the replay's fetches within METRIC_SECONDS; 0: none was seen."""
    clock: Callable[[], float] = time.monotonic
    _record: QuotaRecord | None = None
    _allowance: Allowance | None = None
    _was_unlimited: bool = False
    _not_before: float = float("-inf")
    """No change before this moment."""
    _due: dict[str, float] = field(default_factory=dict)
    """When each repeated look is due again."""
    _leaders: dict[int, int] = field(default_factory=dict)
    _others: Sequence[Quota] = ()
    _provable: bool = True
    """Whether a throttle time of the replay's consumers can only come from our quota."""
    _verify_from: float = 0.0
    """Throttle times read before this moment may be older than the quota."""
    _paused: bool = False
    _given_up: bool = False
    _noticed: set[str] = field(default_factory=set)
    _lock: Lock = field(default_factory=Lock)
    _wake: Signal = field(default_factory=Signal)
    _stop: Signal = field(default_factory=Signal)
    _thread: Thread | None = None

    def apply(self, allowance: Allowance) -> None:
        with self._lock:
            former, self._allowance = self._allowance, allowance
        if former is None or former.bytes_per_second != allowance.bytes_per_second:
            self._wake.set()

    def __enter__(self) -> QuotaBrake:
        self._thread = Thread(target=self._follow, daemon=True, name="quota")
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stop.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join()
        self.release()

    def release(self) -> None:
        """Remove the quota. If the cluster does not answer, its record stays open, and the next command finds it."""
        try:
            self._remove()
        except SupersededError:
            pass  # the process that took over has found and ended the record
        except AnabranchError as error:
            left = f"The broker quota for {self.entity.words} was not removed: {error.what}"
            self.notice(f"{left} The next command removes it, or `anabranch quotas sweep`.")

    def _follow(self) -> None:
        while not self._stop.is_set():
            self._wake.wait(1.0)
            self._wake.clear()
            if self._stop.is_set():
                continue
            if self._given_up:
                self._remove_again(self.clock())
                continue
            try:
                self.step(self.clock())
            except SupersededError:
                return
            except QuotaRefusedError as refused:
                self._give_up(refused.what)
            except AnabranchError as error:
                self._notice_once(f"The broker quota can't be managed now: {error.what} It is tried again.")
                self._not_before = self.clock() + CHANGE_SECONDS
            except Exception as error:
                self._give_up(f"Internal error: {type(error).__name__}: {text_of(error)}.")

    def step(self, now: float) -> None:
        """Do what is due: follow the allowance, read the quota again, note that brokers throttle by it."""
        with self._lock:
            allowance = self._allowance
        if allowance is None or self._given_up:
            return
        self._look_at_state(now)
        if allowance.paused and allowance.bytes_per_second is None and not self._paused:
            return  # a slice in flight may still be read; what was set holds it
        limited = allowance.bytes_per_second is not None and not self._paused
        if self._was_unlimited and limited:
            # Bytes sent without a limit are still in the brokers' window. The client's limit holds meanwhile.
            self._not_before = max(self._not_before, now + WINDOW_SECONDS)
        self._was_unlimited = not limited and not self._paused
        if limited and not self._survey(now):
            return
        value = self._value
        wanted = self._respecting_others(wanted_value(allowance, self._leaders)) if limited else None
        following = next_value(value, wanted)
        if following != value:
            if now >= self._not_before:
                self._change(following)
                self._not_before = self.clock() + CHANGE_SECONDS
        elif value is not None:
            self._verify(now)

    @property
    def _value(self) -> int | None:
        return None if self._record is None or not self._record.is_open else self._record.value

    @property
    def _is_open(self) -> bool:
        """Whether a quota of this run may be set."""
        return self._record is not None and self._record.is_open

    def _is_due(self, what: str, now: float, seconds: float) -> bool:
        if now < self._due.get(what, float("-inf")):
            return False
        self._due[what] = now + seconds
        return True

    def _look_at_state(self, now: float) -> None:
        """An operator's pause is a state of the run: nothing is read in it, so that it needs no quota."""
        if self._is_due("state", now, STATE_SECONDS):
            self._paused = self.lease.run.state is State.PAUSED

    def _survey(self, now: float) -> bool:
        """Look at leaders and quotas if that is due. Returns whether the quota is still ours to change."""
        if not self._is_due("survey", now, CHECK_SECONDS):
            return True
        self._leaders = dict(self.brokers.leader_bytes())
        quotas = self.brokers.all()
        found = next((each.value for each in quotas if each.entity == self.entity), None)
        self._others = matching((q for q in quotas if q.entity != self.entity), self.entity.user, self.client_id)
        self._provable = self.entity.user is not None or not any(q.entity.user for q in quotas)
        record = self._record if self._record is not None and self._record.is_open else None
        if record is not None and found is not None and record.is_ours(found):
            return True  # also one that was set and whose answer was lost
        if self._value is not None:
            self._lost(found)
            return False
        if found is not None:
            raise QuotaRefusedError(
                f"A quota for {self.entity.words} exists that this run did not set ({found:,} bytes/s).",
                state="It was left as it is.",
                command="anabranch quotas",
            )
        return True

    def _respecting_others(self, wanted: int | None) -> int | None:
        """None where an operator's quota is not higher: a quota of ours would win over it, and lift it."""
        other = self._others[0] if self._others else None
        if wanted is None or other is None or other.value > wanted:
            return wanted
        self._notice_once(f"An operator's quota holds this replay: {other.words}. None is set beside it.")
        return None

    def _change(self, value: int | None) -> None:
        if value is None:
            self._remove()
            return
        first = self._value is None
        earlier = first and (bool(self._others) or self.throttled_ms() > 0)
        writer, entity = self.lease.writer, self.entity
        record = writer.intend_quota(
            self.lease.run_id,
            self.lease.epoch,
            cluster=self.brokers.cluster(),
            user=entity.user,
            client_id=self.client_id,
            value=value,
        )
        self._record = record
        reach("quota.set.before")
        try:
            self.brokers.set(entity, value)
        except QuotaRefusedError as refused:
            if record.value is None:
                self._record = writer.end_quota(record.number, QuotaEnd.REFUSED, refused.what)
            raise
        reach("quota.set.after")
        found = read_back(self.brokers, entity, value)
        if found != value:
            self._lost(found)
            return
        self._record = writer.confirm_quota(record.number, self.lease.epoch)
        if first:
            self._verify_from = self.clock() + (METRIC_SECONDS if earlier else 0.0)
            self._audit(SET, {"bytes_per_second_per_broker": value})
            self.notice(f"Broker quota set and read back: {Quota(entity, value).words}.")

    def _lost(self, found: int | None) -> None:
        """Somebody else has changed or removed the quota: it is neither set again nor removed."""
        if self._record is not None:
            how = QuotaEnd.GONE if found is None else QuotaEnd.CHANGED
            self._record = self.lease.writer.end_quota(self._record.number, how, f"found {found}")
        state = "is not there" if found is None else f"is {found:,} bytes/s, which this run did not set"
        self._give_up(f"The broker quota for {self.entity.words} {state}.")

    def _verify(self, now: float) -> None:
        """Note the first throttle time of the replay's own consumers that no other quota can have caused."""
        if self._record is None or self._record.verified_at is not None or not self._provable:
            return
        longest = self.throttled_ms()
        if now < self._verify_from or longest <= 0 or not self._is_due("verify", now, CHECK_SECONDS):
            return
        if any(self._may_hold(each) for each in self.brokers.request_quotas()):
            return
        self._record = self.lease.writer.verify_quota(self._record.number)
        self.notice(f"Broker quota verified: brokers throttled this replay's fetches, by up to {longest:,.0f} ms.")

    def _may_hold(self, entity: QuotaEntity) -> bool:
        is_user_unknown = self.entity.user is None and entity.user is not None
        return is_user_unknown or entity.matches(self.entity.user, self.client_id)

    def _remove(self) -> None:
        if self._record is None:
            return
        open_records = self.lease.reader.quotas(run_id=self.lease.run_id, only_open=True)
        record = next((each for each in open_records if each.number == self._record.number), None)
        if record is None:
            self._record = None
            return
        end, note = remove_quota(self.brokers, record)
        self._record = self.lease.writer.end_quota(record.number, end, note)
        self._audit(REMOVED, {"outcome": end.value, "note": note})
        self.notice(end_words(self.entity, end, note))

    def _give_up(self, why: str) -> None:
        """Follow the allowance no more. A quota of this run would hold it at its last value, so it is removed."""
        self._given_up = True
        self._remove_again(self.clock())
        if self._is_open:
            self.notice(f"{why} The broker quota for {self.entity.words} may hold until it can be removed.")
        else:
            self.notice(f"{why} {ONLY_CLIENT}")

    def _remove_again(self, now: float) -> None:
        """Remove what is still set, if that is due. The end of the replay reports a failure."""
        if self._is_open and self._is_due("removal", now, CHECK_SECONDS):
            with suppress(Exception):
                self._remove()

    def _notice_once(self, words: str) -> None:
        if words not in self._noticed:
            self._noticed.add(words)
            self.notice(words)

    def _audit(self, action: str, details: dict[str, object]) -> None:
        about = {"entity": self.entity.document(), **details}
        self.lease.writer.record_act(action, actor=self.lease.actor, run_id=self.lease.run_id, details=about)


def entity_of(record: QuotaRecord) -> QuotaEntity:
    return QuotaEntity(record.user, record.client_id)


def read_back(brokers: BrokerQuotas, entity: QuotaEntity, expected: int | None) -> int | None:
    """The quota as the brokers have it, once that is what is expected, or after five seconds."""
    found = brokers.read(entity)
    for _ in range(READ_BACK_TRIES):
        if found == expected:
            break
        time.sleep(READ_BACK_PAUSE)
        found = brokers.read(entity)
    return found


def remove_quota(brokers: BrokerQuotas, record: QuotaRecord) -> tuple[QuotaEnd, str | None]:
    """Remove the quota of a record, if it is there and its value is one that the record set. Idempotent."""
    entity = entity_of(record)
    found = brokers.read(entity)
    if found is None:
        return QuotaEnd.GONE, None
    if not record.is_ours(found):
        ours = record.value if record.value is not None else record.intended
        return QuotaEnd.CHANGED, f"its value is {found:,} bytes/s and ours was {ours:,}"
    reach("quota.remove.before")
    brokers.remove(entity)
    reach("quota.remove.after")
    still = read_back(brokers, entity, None)
    return QuotaEnd.REMOVED, None if still is None else f"the brokers confirmed it and still show {still:,} bytes/s"


def end_words(entity: QuotaEntity, end: QuotaEnd, note: str | None) -> str:
    match end:
        case QuotaEnd.REMOVED:
            return f"Broker quota for {entity.words} removed{f', but {note}' if note else ''}."
        case QuotaEnd.CHANGED:
            return f"Broker quota for {entity.words} left: another user changed it; {note}."
        case _:
            return f"Broker quota for {entity.words} was not there any more."
