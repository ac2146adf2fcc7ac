from pathlib import Path

import pytest

from anabranch.adapters.embedded.status import BrokerState, BrokerStatus, StackStatus, broker_state


@pytest.mark.parametrize(
    ("recorded", "process", "answers", "state"),
    [
        (True, True, True, BrokerState.RUNNING),
        (False, True, True, BrokerState.RUNNING),
        (True, True, False, BrokerState.UNRESPONSIVE),
        (False, True, False, BrokerState.UNRESPONSIVE),
        (True, False, False, BrokerState.DIED),
        (False, False, False, BrokerState.STOPPED),
    ],
)
def test_state_from_what_is_seen(recorded: bool, process: bool, answers: bool, state: BrokerState) -> None:
    assert broker_state(recorded=recorded, process=process, answers=answers) is state


def broker(node: int, state: BrokerState) -> BrokerStatus:
    return BrokerStatus(node, state, 9000 + node, None, None, 0, Path("log"))


def test_the_stack_is_up_only_if_every_broker_is() -> None:
    up, died = broker(1, BrokerState.RUNNING), broker(2, BrokerState.DIED)

    assert StackStatus(Path(), (up,)).all_running
    assert not StackStatus(Path(), (up, died)).all_running
    assert not StackStatus(Path(), ()).all_running
    assert StackStatus(Path(), (up, died)).bootstrap == "127.0.0.1:9001,127.0.0.1:9002"
