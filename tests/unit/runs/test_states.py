"""The transition table: every pair of state and event is either in it, or refused with what is legal."""

from __future__ import annotations

from itertools import product

import pytest

from anabranch.errors import ExitCode
from anabranch.runs.states import (
    ACTIVE,
    INACTIVE,
    TERMINAL,
    TRANSITIONS,
    Event,
    IllegalTransitionError,
    State,
    legal_events,
    next_state,
)


def walk(*events: Event) -> State:
    state = State.PLANNED
    for event in events:
        state = next_state(state, event)
    return state


STAGED = (Event.START, Event.STAGE)
PROMOTED = (*STAGED, Event.ACCEPT, Event.PROMOTE, Event.FINISH_PROMOTION)
ROLLED_BACK = (*PROMOTED, Event.ROLL_BACK, Event.FINISH_ROLLBACK)
CLOSED = (Event.CLOSE, Event.FINISH_CLOSING)


@pytest.mark.parametrize(
    ("events", "end"),
    [
        ((*PROMOTED, *CLOSED), State.CLOSED),
        ((Event.START, Event.PAUSE, Event.RESUME, Event.STAGE), State.STAGED),
        ((Event.START, Event.FAIL, Event.RETRY, Event.STAGE), State.STAGED),
        ((Event.START, Event.CANCEL, *CLOSED), State.CLOSED),
        ((*STAGED, Event.REJECT, Event.ACCEPT), State.VALIDATED),
        ((*STAGED, Event.ACCEPT, Event.PROMOTE, Event.BACK_OUT), State.VALIDATED),
        ((*STAGED, Event.ACCEPT, Event.PROMOTE, Event.BACK_OUT, Event.CATCH_UP, Event.STAGE), State.STAGED),
        ((*PROMOTED, Event.ROLL_BACK, Event.BACK_OUT), State.PROMOTED),
        ((*ROLLED_BACK, Event.PROMOTE, Event.FINISH_PROMOTION, Event.ROLL_BACK), State.ROLLING_BACK),
        ((*ROLLED_BACK, *CLOSED), State.CLOSED),
    ],
)
def test_the_lives_a_run_may_lead(events: tuple[Event, ...], end: State) -> None:
    assert walk(*events) is end


@pytest.mark.parametrize(("state", "event"), sorted(set(product(State, Event)) - set(TRANSITIONS)))
def test_whatever_is_not_in_the_table_is_refused_with_what_is_legal(state: State, event: Event) -> None:
    with pytest.raises(IllegalTransitionError) as refused:
        next_state(state, event)
    assert refused.value.fields == {
        "run_state": state.value,
        "event": event.value,
        "legal": [each.value for each in legal_events(state)],
    }
    assert state.value in refused.value.what
    assert event.value in refused.value.what
    assert refused.value.exit_code is ExitCode.CONFLICT


@pytest.mark.parametrize("state", [State.REPLAYING, State.PAUSED, State.FAILED, State.STAGED, State.REJECTED])
def test_only_a_validated_run_is_promoted(state: State) -> None:
    assert Event.PROMOTE not in legal_events(state)


@pytest.mark.parametrize("state", [State.PROMOTING, State.PROMOTED, State.ROLLING_BACK, State.ROLLED_BACK])
def test_cancelling_is_for_runs_that_have_not_touched_production(state: State) -> None:
    assert Event.CANCEL not in legal_events(state)


@pytest.mark.parametrize("state", [State.PROMOTING, State.ROLLING_BACK])
def test_an_act_under_way_ends_by_finishing_or_by_backing_out_and_by_nothing_else(state: State) -> None:
    assert len(legal_events(state)) == 2
    assert Event.BACK_OUT in legal_events(state)


def test_a_range_once_let_go_is_never_taken_back() -> None:
    assert not [(state, event) for (state, event), to in TRANSITIONS.items() if state in INACTIVE and to in ACTIVE]


def test_every_state_can_be_reached_and_only_closed_is_the_end() -> None:
    assert {State.PLANNED, *TRANSITIONS.values()} == set(State)
    assert {State.CLOSED} == TERMINAL


def test_every_run_can_still_be_closed_wherever_it_stands() -> None:
    closable = {State.CLOSED}
    while more := {state for (state, _), to in TRANSITIONS.items() if to in closable} - closable:
        closable |= more
    assert closable == set(State)


def test_the_table_is_frozen() -> None:
    with pytest.raises(TypeError):
        TRANSITIONS[State.CLOSED, Event.START] = State.REPLAYING  # type: ignore[index]
