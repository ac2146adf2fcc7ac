"""The law by which a replay yields to live: state, pressure and time give the rate, and why. Pure.

| pressure (the highest of all signals over their targets) | what the replay does |
|---|---|
| up to 0.8 on three ticks | doubles each three ticks from 5 % of the reference to 50 %; then adds 5 % if 90 % is used |
| 0.8 to 1 | holds |
| above 1 | x 0.7, then holds for six ticks; again within them if it rises by 0.25 |
| above 2, or errors of live | lowest rate, rests for 12 ticks (doubling to 180), resumes at half the last good rate |
| a signal lost | holds, then the lowest rate, then no slice begins |

The 5 % are of the reference, or of the lowest bad rate where that is lower. The lowest rate at which live was pressed
is remembered, and the rate stays 10 % below it. It rises by 10 % every 36 ticks, and by half after 12 ticks in a row
with a pressure of at most 0.4: live's load is another one then. Nothing ever aborts the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from anabranch.project.quantities import format_rate
from anabranch.replay.pressure import Pressure

CALM_TICKS, QUIET_TICKS = 3, 12
HOLD_TICKS, REST_TICKS, LONGEST_REST_TICKS, GRACE_TICKS, AGEING_TICKS = 6, 12, 180, 12, 36
START, SLOW_START_END, STEP = 0.05, 0.5, 0.05
QUIET, GOOD, HIGH, CRITICAL = 0.4, 0.8, 1.0, 2.0
REDUCTION, BELOW_BAD, AGEING, USED, RISING, LEAST_RAISE, QUIET_AGEING = 0.7, 0.9, 1.1, 0.9, 0.25, 1.02, 1.5


@dataclass(frozen=True)
class Law:
    """The numbers that a project can set."""

    reference: float
    """Bytes per second of the replay alone, as rehearsed or as the context assumes."""
    minimum: float = 1_000_000.0
    """Bytes per second that the replay always has, except while no slice may begin."""
    tick: float = 5.0
    """Seconds between two decisions. All other times of the law are multiples of it, except those of lost signals."""
    lost_hold: float = 15.0
    lost_floor: float = 30.0
    lost_pause: float = 300.0

    @property
    def start(self) -> float:
        return max(self.minimum, START * self.reference)


@dataclass(frozen=True)
class Sight:
    """What the law judges at one tick."""

    pressures: tuple[Pressure, ...] = ()
    """The highest first; empty: nothing can be judged yet."""
    lost: Mapping[str, float] = field(default_factory=dict)
    """Seconds for which each signal could not be read, of those that should be."""
    used: float = 0.0
    """Bytes per second that the replay has read, the most in one of the last three ticks."""
    undecided: bool = False
    """Whether live has not committed often enough since the last reduction to judge its latency."""
    stop: str = ""
    """A broker metric that lets no slice begin, in words; empty: none."""


@dataclass(frozen=True)
class GovernorState:
    began: float
    rate: float
    good: float
    """The last rate at which live was not pressed."""
    calm: int = 0
    """Ticks in a row with a pressure of at most 0.8."""
    quiet: int = 0
    """Ticks in a row with a pressure of at most 0.4."""
    raised_at: float = 0.0
    hold_until: float = 0.0
    held_at: float = 0.0
    """The pressure at the last reduction."""
    rest_until: float | None = None
    rest: float = 0.0
    """Seconds of the next rest."""
    rested_at: float | None = None
    """When the last rest ended."""
    bad: float | None = None
    bad_at: float = 0.0
    pressed: bool = False
    """Whether live is pressed, or has not been calm for three ticks since: lower rates are not marked as bad then."""


@dataclass(frozen=True)
class Decision:
    bytes_per_second: int
    paused: bool
    reason: str
    reduced: bool = False
    """Whether this tick slowed the replay down."""
    alert: bool = False


def begin(law: Law, now: float) -> GovernorState:
    return GovernorState(now, law.start, law.start, raised_at=now, rest=REST_TICKS * law.tick)


def decide(law: Law, state: GovernorState, sight: Sight, now: float) -> tuple[GovernorState, Decision]:
    """One tick."""
    worst = sight.pressures[0] if sight.pressures else None
    ratio = worst.ratio if worst is not None else 0.0
    words = worst.words if worst is not None else "no signal of live can be judged yet"
    lost = _lost(law, state, sight, now)
    former = state.rate
    if ratio > CRITICAL or (worst is not None and worst.signal == "errors" and worst.value > 0):
        state, words = _drop(law, state, now), words
    elif state.rest_until is not None:
        state, words = _rest(law, state, ratio, words, now)
    elif ratio > HIGH:
        state, words = _reduce(law, state, sight.used, ratio, words, now)
    elif ratio > GOOD:
        state, words = replace(state, calm=0, quiet=0), f"{words}: held"
    else:
        state = _calm(state, ratio)
        # A signal in doubt holds: without a reading nothing is known to be good.
        if worst is not None and lost is None and not sight.undecided and not sight.stop:
            state, words = _raise(law, state, sight.used, words, now)
    if state.rest_until is not None:
        words = f"{words}: resting for {max(0.0, state.rest_until - now):.0f} s"
    decision = Decision(round(state.rate), paused=False, reason=words, reduced=state.rate < former)
    if sight.stop:
        state, decision = _stopped(law, state, decision, sight.stop, now)
    if lost is not None:
        state, decision = _without(law, state, decision, lost, now)
    return state, decision


def ceiling(law: Law, state: GovernorState, now: float) -> float | None:
    """The remembered bad rate, aged; None: none was met."""
    if state.bad is None:
        return None
    return state.bad * float(AGEING ** ((now - state.bad_at) / (AGEING_TICKS * law.tick)))


def document(law: Law, state: GovernorState, now: float) -> dict[str, Any]:
    bad = ceiling(law, state, now)
    return {
        "rate": round(state.rate),
        "reference": round(law.reference),
        "last_good": round(state.good),
        "lowest_bad": None if bad is None else round(bad),
        "resting_seconds": None if state.rest_until is None else round(max(0.0, state.rest_until - now)),
    }


def _drop(law: Law, state: GovernorState, now: float) -> GovernorState:
    """To the lowest rate at once. A rest is not prolonged: at the lowest rate it is others who press live."""
    if state.rest_until is not None:
        return replace(state, calm=0, quiet=0)
    state = _mark(law, state, now)
    longest = LONGEST_REST_TICKS * law.tick
    # Forgiven after a time as long as the longest rest without another drop.
    forgiven = state.rested_at is None or now - state.rested_at > longest
    rest = REST_TICKS * law.tick if forgiven else state.rest
    state = replace(state, rate=law.minimum, calm=0, quiet=0, hold_until=now)
    return replace(state, rest_until=now + rest, rest=min(2 * rest, longest))


def _rest(law: Law, state: GovernorState, ratio: float, words: str, now: float) -> tuple[GovernorState, str]:
    if state.rest_until is not None and (now < state.rest_until or ratio > HIGH):
        return replace(state, calm=state.calm + 1 if ratio <= GOOD else 0), words
    rate = max(law.minimum, state.good / 2)
    resumed = replace(state, rate=rate, good=rate, calm=0, quiet=0, rest_until=None, rested_at=now, raised_at=now)
    return resumed, f"{words}: resumed at half the last good rate"


def _reduce(
    law: Law, state: GovernorState, used: float, ratio: float, words: str, now: float
) -> tuple[GovernorState, str]:
    """By 30 %, then hold; again within the hold if the pressure goes on rising: the reduction was too small then.

    Of what is read, where another limit holds the replay below the reduced rate: it would change nothing.
    """
    state = replace(_mark(law, state, now), calm=0, quiet=0)
    if now < state.hold_until and ratio <= state.held_at + RISING:
        return state, f"{words}: held for {state.hold_until - now:.0f} s after a reduction"
    is_known = now - state.raised_at >= CALM_TICKS * law.tick  # `used` is of three ticks
    reading = used if is_known and 0 < used < REDUCTION * state.rate else state.rate
    rate = max(law.minimum, REDUCTION * reading)
    state = replace(state, rate=rate, hold_until=now + HOLD_TICKS * law.tick, held_at=ratio)
    return state, f"{words}: reduced"


def _mark(law: Law, state: GovernorState, now: float) -> GovernorState:
    """Remember the rate as bad, if it is the one that pressed live.

    Not the lower rates that follow while live works off its lag, and not the lowest: it would be the end of the replay.
    """
    if state.pressed or state.rate <= law.minimum:
        return replace(state, pressed=True)
    former = ceiling(law, state, now)
    bad = state.rate if former is None else min(former, state.rate)
    return replace(state, pressed=True, bad=bad, bad_at=now)


def _calm(state: GovernorState, ratio: float) -> GovernorState:
    calm = state.calm + 1
    state = replace(state, quiet=state.quiet + 1 if ratio <= QUIET else 0)
    pressed = state.pressed and calm < CALM_TICKS
    return replace(state, calm=calm, pressed=pressed, good=state.rate if calm >= CALM_TICKS else state.good)


def _raise(law: Law, state: GovernorState, used: float, words: str, now: float) -> tuple[GovernorState, str]:
    due = state.calm >= CALM_TICKS and now >= max(state.hold_until, state.raised_at + CALM_TICKS * law.tick)
    if not due:
        return state, words
    if used <= 0:
        return state, f"{words}: held, nothing is read"
    if state.quiet >= QUIET_TICKS and state.bad is not None:
        state = replace(state, bad=QUIET_AGEING * state.bad, quiet=0)
    bad = ceiling(law, state, now)
    known = law.reference if bad is None else min(law.reference, bad)
    if state.rate < SLOW_START_END * known:
        rate = min(2 * state.rate, SLOW_START_END * known)
    elif used < USED * state.rate:
        return state, f"{words}: held, {format_rate(used)} are used"
    else:
        rate = state.rate + STEP * known
    if bad is not None:
        rate = min(rate, max(law.minimum, BELOW_BAD * bad))
    if rate < LEAST_RAISE * state.rate:  # each change is on record
        return state, f"{words}: held below {format_rate(bad)}, which pressed live" if bad else words
    return replace(state, rate=rate, raised_at=now), f"{words}: raised"


def _lost(law: Law, state: GovernorState, sight: Sight, now: float) -> tuple[str, float] | None:
    """The signal that is lost for longest, and for how many seconds; None: none beyond the first limit.

    In the first 12 ticks a signal that was never read is not lost yet; the rate is not raised either.
    """
    if not sight.lost or (now - state.began < GRACE_TICKS * law.tick and not sight.pressures):
        return None
    name, seconds = max(sight.lost.items(), key=lambda each: each[1])
    return (name, seconds) if seconds > law.lost_hold else None


def _stopped(
    law: Law, state: GovernorState, decision: Decision, stop: str, now: float
) -> tuple[GovernorState, Decision]:
    reduced = replace(state, rate=law.minimum, calm=0, quiet=0, raised_at=now)
    return reduced, Decision(round(law.minimum), paused=True, reason=stop, reduced=decision.reduced)


def _without(
    law: Law, state: GovernorState, decision: Decision, lost: tuple[str, float], now: float
) -> tuple[GovernorState, Decision]:
    """While a signal is lost: hold, then the lowest rate, then no slice begins. It resumes by itself."""
    name, seconds = lost
    words = f"{name} could not be read for {seconds:.0f} s"
    state = replace(state, calm=0, quiet=0, raised_at=now)
    if seconds <= law.lost_floor:
        return state, replace(decision, reason=f"{words}: held")
    state = replace(state, rate=law.minimum)
    paused = seconds > law.lost_pause
    words = f"{words}: no slice begins" if paused else f"{words}: lowest rate"
    return state, Decision(round(law.minimum), paused or decision.paused, words, decision.reduced, alert=paused)
