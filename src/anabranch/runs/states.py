"""The life of a run as one transition table: which event leads from which state to which."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType

from anabranch.errors import NOTHING_CHANGED, AnabranchError, ExitCode


class State(str, Enum):
    """The state of a run, with what production contains in each."""

    PLANNED = "planned"
    """Submitted. The plan is pinned and the range is held; no data has been written."""
    REPLAYING = "replaying"
    """Slices are being written to staging. Production is unchanged."""
    PAUSED = "paused"
    """Replay stopped between slices on request. Staged slices remain."""
    FAILED = "failed"
    """Replay stopped on an error, which is recorded in the run. Staged slices remain; a retry continues after them."""
    STAGED = "staged"
    """Every slice is staged; validation is outstanding."""
    REJECTED = "rejected"
    """Validation rejected staging."""
    VALIDATED = "validated"
    """Validation accepted staging. Production is unchanged; the run can be promoted."""
    PROMOTING = "promoting"
    """The intent to promote is recorded. Whether production changed is known only after looking the commit up."""
    PROMOTED = "promoted"
    """Production has the staged rows."""
    ROLLING_BACK = "rolling_back"
    """The intent to roll back is recorded. Whether production changed is known only after looking the commit up."""
    ROLLED_BACK = "rolled_back"
    """Production has its former rows again; staging still exists, so the run can be promoted again."""
    CANCELLED = "cancelled"
    """Cancelled before promotion. Production is unchanged and the range is free; closing removes staging."""
    CLOSING = "closing"
    """Staging is being removed. Production no longer changes through this run, and the range is free."""
    CLOSED = "closed"
    """Final. The closure record has the result; no event can follow."""


class Event(str, Enum):
    """An event of a run. `finish_…` and `back_out` report an act whose intent was recorded before it."""

    START = "start"
    PAUSE = "pause"
    RESUME = "resume"
    FAIL = "fail"
    RETRY = "retry"
    STAGE = "stage"
    CATCH_UP = "catch_up"
    """Live committed to the range after the base: replay those records, then validate again."""
    ACCEPT = "accept"
    REJECT = "reject"
    PROMOTE = "promote"
    FINISH_PROMOTION = "finish_promotion"
    ROLL_BACK = "roll_back"
    FINISH_ROLLBACK = "finish_rollback"
    BACK_OUT = "back_out"
    """The commit was looked up and did not take effect: back to the state before promotion or rollback."""
    CANCEL = "cancel"
    CLOSE = "close"
    FINISH_CLOSING = "finish_closing"


_VALIDATION: dict[Event, State] = {
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
    State.STAGED: {**_VALIDATION, Event.CANCEL: State.CANCELLED},
    State.REJECTED: {**_VALIDATION, Event.CANCEL: State.CANCELLED},
    State.VALIDATED: {**_VALIDATION, Event.PROMOTE: State.PROMOTING, Event.CANCEL: State.CANCELLED},
    State.PROMOTING: {Event.FINISH_PROMOTION: State.PROMOTED, Event.BACK_OUT: State.VALIDATED},
    State.PROMOTED: {Event.ROLL_BACK: State.ROLLING_BACK, Event.CLOSE: State.CLOSING},
    State.ROLLING_BACK: {Event.FINISH_ROLLBACK: State.ROLLED_BACK, Event.BACK_OUT: State.PROMOTED},
    State.ROLLED_BACK: {**_VALIDATION, Event.PROMOTE: State.PROMOTING, Event.CLOSE: State.CLOSING},
    State.CANCELLED: {Event.CLOSE: State.CLOSING},
    State.CLOSING: {Event.FINISH_CLOSING: State.CLOSED},
    State.CLOSED: {},
}

TRANSITIONS: Mapping[tuple[State, Event], State] = MappingProxyType(
    {(state, event): next_ for state, events in _LIFE.items() for event, next_ in events.items()}
)

INACTIVE = frozenset({State.CANCELLED, State.CLOSING, State.CLOSED})
ACTIVE = frozenset(State) - INACTIVE
"""In these states the run holds its target range and no other run may write to it. A run that released its range never
takes it again, so that a cancelled run cannot collide with the next one."""

TERMINAL = frozenset(state for state, events in _LIFE.items() if not events)


class IllegalTransitionError(AnabranchError):
    """The event is not legal in the run's state."""

    code = "run.illegal-transition"
    exit_code = ExitCode.CONFLICT


def legal_events(state: State) -> tuple[Event, ...]:
    """The events that are legal in `state`, in the order of the table."""
    return tuple(_LIFE[state])


def next_state(state: State, event: Event) -> State:
    """The state after `event`. Raises IllegalTransitionError, which lists the legal events."""
    target = TRANSITIONS.get((state, event))
    if target is None:
        legal = [each.value for each in legal_events(state)]
        raise IllegalTransitionError(
            f"Event {event.value} is not allowed in state {state.value}; allowed: {', '.join(legal) or 'none'}.",
            state=NOTHING_CHANGED,
            hint="`anabranch status RUN` shows the state and the next command",
            run_state=state.value,
            event=event.value,
            legal=legal,
        )
    return target
