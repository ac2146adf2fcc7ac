import json
from pathlib import Path

import pytest

from anabranch.adapters.embedded.errors import StackStateUnreadableError
from anabranch.adapters.embedded.state import Broker, Ports, Stack, load, save
from anabranch.adapters.processes import Process

STACK = Stack("cluster", (Broker(1, Ports(1001, 1002), Process(77, 1234.5)), Broker(2, Ports(1003, 1004))))


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    save(tmp_path / "stack.json", STACK)

    assert load(tmp_path / "stack.json") == STACK
    assert [p.name for p in tmp_path.iterdir()] == ["stack.json"]


def test_nothing_saved_is_nothing_known(tmp_path: Path) -> None:
    assert load(tmp_path / "stack.json") is None


def test_a_save_that_fails_leaves_the_former_state_and_no_litter(tmp_path: Path) -> None:
    occupied = tmp_path / "stack.json"
    (occupied / "a file inside").mkdir(parents=True)

    with pytest.raises(OSError, match=r"stack\.json"):
        save(occupied, STACK)

    assert [p.name for p in tmp_path.iterdir()] == ["stack.json"]


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"version": None},
        {"cluster_id": 7},
        {"brokers": []},
        {"brokers": "three"},
        {"brokers": [{"node": 1, "ports": {"client": 1001}, "process": None}]},
        {"brokers": [{"node": 1, "ports": {"client": 1001, "controller": 1002}, "process": {"pid": "77"}}]},
        {"brokers": [{"node": 1, "ports": {"client": 1001, "controller": 1002}}]},
    ],
)
def test_a_state_that_is_not_ours_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    path = tmp_path / "stack.json"
    save(path, STACK)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))

    with pytest.raises(StackStateUnreadableError, match=r"stack\.json"):
        load(path)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "\x00"])
def test_a_state_that_is_cut_short_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "stack.json"
    path.write_text(text)

    with pytest.raises(StackStateUnreadableError) as caught:
        load(path)

    assert str(path) in caught.value.remedy


def test_ports_and_processes_change_without_touching_the_rest() -> None:
    moved = STACK.with_ports((Ports(1, 2), Ports(3, 4)))
    stopped = STACK.with_process(1, None)

    assert [b.ports for b in moved.brokers] == [Ports(1, 2), Ports(3, 4)]
    assert [b.process for b in moved.brokers] == [b.process for b in STACK.brokers]
    assert stopped.brokers == (Broker(1, Ports(1001, 1002)), STACK.brokers[1])
