"""The life of a run as one transition table: which event leads from which state to which."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType

from anabranch.errors import NOTHING_CHANGED, AnabranchError, ExitCode


class State(str, Enum):
    """Where a run stands. What production sees is said for each."""

    PLANNED = "planned"
    """Submitted. The plan is pinned and the range is held; nothing has been written."""
    REPLAYING = "replaying"
    """Slices are being written to staging. Production is as before."""
    PAUSED = "paused"
    """Replay stopped between slices on request. What is staged stays."""
    FAILED = "failed"
    """Replay stopped on an error, which the run carries. What is staged stays; a retry goes on from there."""
    STAGED = "staged"
    """Every slice is in staging, not yet judged."""
    REJECTED = "rejected"
    """Validation judged staging and said no."""
    VALIDATED = "validated"
    """Validation judged staging and said yes. Production is as before, and promotion may be asked for."""
    PROMOTING = "promoting"
    """The intent to promote is on record. Whether production changed is known only by looking the commit up."""
    PROMOTED = "promoted"
    """Production has the staged rows."""
    ROLLING_BACK = "rolling_back"
    """The intent to roll back is on record. Whether production changed is known only by looking the commit up."""
    ROLLED_BACK = "rolled_back"
    """Production has its former rows again; staging is still there, so promotion may be asked for anew."""
    CANCELLED = "cancelled"
    """Given up before production was touched. The range is free; staging waits to be removed by closing."""
    CLOSING = "closing"
    """Staging is being removed. Production no longer changes through this run, and the range is free."""
    CLOSED = "closed"
    """Over. The closure record says what was achieved; nothing can follow."""


class Event(str, Enum):
    """What happens to a run. `finish_…` and `back_out` report an act whose intent was recorded before it."""

    START = "start"
    PAUSE = "pause"
    RESUME = "resume"
    FAIL = "fail"
    RETRY = "retry"
    STAGE = "stage"
    CATCH_UP = "catch_up"
    """Live has written into the range since the base: replay what it added, then validate again."""
    ACCEPT = "accept"
    REJECT = "reject"
    PROMOTE = "promote"
    FINISH_PROMOTION = "finish_promotion"
    ROLL_BACK = "roll_back"
    FINISH_ROLLBACK = "finish_rollback"
    BACK_OUT = "back_out"
    """The commit was looked up and is not there: back to where promotion or rollback began."""
    CANCEL = "cancel"
    CLOSE = "close"
    FINISH_CLOSING = "finish_closing"


_JUDGED_OR_TO_JUDGE: dict[Event, State] = {
    Event.ACCEPT: State.VALIDATED,
    Event.REJECT: State.REJECTED,
    Event.CATCH_UP: State.REPLAYING,
}

_LIFE: dict[State, dict[Event, State]] = {
    State.PLANNED: {Event.START: State.REPLAYING, Event.CANCEL: State.CANCELLED},
    State.REPLAYING: {
        Event.PAUSE: State.PAUSED,
        Event.FAIL: State.FAILED,
        Event.STAGE: State.STAGED,
        Event.CANCEL: State.CANCELLED,
    },
    State.PAUSED: {Event.RESUME: State.REPLAYING, Event.CANCEL: State.CANCELLED},
    State.FAILED: {Event.RETRY: State.REPLAYING, Event.CANCEL: State.CANCELLED},
    State.STAGED: {**_JUDGED_OR_TO_JUDGE, Event.CANCEL: State.CANCELLED},
    State.REJECTED: {**_JUDGED_OR_TO_JUDGE, Event.CANCEL: State.CANCELLED},
    State.VALIDATED: {**_JUDGED_OR_TO_JUDGE, Event.PROMOTE: State.PROMOTING, Event.CANCEL: State.CANCELLED},
    State.PROMOTING: {Event.FINISH_PROMOTION: State.PROMOTED, Event.BACK_OUT: State.VALIDATED},
    State.PROMOTED: {Event.ROLL_BACK: State.ROLLING_BACK, Event.CLOSE: State.CLOSING},
    State.ROLLING_BACK: {Event.FINISH_ROLLBACK: State.ROLLED_BACK, Event.BACK_OUT: State.PROMOTED},
    State.ROLLED_BACK: {**_JUDGED_OR_TO_JUDGE, Event.PROMOTE: State.PROMOTING, Event.CLOSE: State.CLOSING},
    State.CANCELLED: {Event.CLOSE: State.CLOSING},
    State.CLOSING: {Event.FINISH_CLOSING: State.CLOSED},
    State.CLOSED: {},
}

TRANSITIONS: Mapping[tuple[State, Event], State] = MappingProxyType(
    {(state, event): target for state, events in _LIFE.items() for event, target in events.items()}
)

INACTIVE = frozenset({State.CANCELLED, State.CLOSING, State.CLOSED})
ACTIVE = frozenset(State) - INACTIVE
"""The run holds its target range: no other run may touch it. Once let go, a range is never taken back by the
same run, so that a run which was told to stop cannot return into somebody else's way."""

TERMINAL = frozenset(state for state, events in _LIFE.items() if not events)


class IllegalTransitionError(AnabranchError):
    """The event does not follow from the state the run is in."""

    code = "run.illegal-transition"
    exit_code = ExitCode.CONFLICT


def legal_events(state: State) -> tuple[Event, ...]:
    """What may happen next, in the order of the table."""
    return tuple(_LIFE[state])


def next_state(state: State, event: Event) -> State:
    """The state that `event` leads to, or a refusal that says what is legal now."""
    target = TRANSITIONS.get((state, event))
    if target is None:
        legal = [each.value for each in legal_events(state)]
        raise IllegalTransitionError(
            f"A run that is {state.value} can't {event.value}; it can {' or '.join(legal) or 'do nothing more'}.",
            state=NOTHING_CHANGED,
            command="anabranch status RUN",
            run_state=state.value,
            event=event.value,
            legal=legal,
        )
    return target
