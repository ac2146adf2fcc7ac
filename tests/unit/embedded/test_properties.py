import pytest

from anabranch.adapters.embedded.properties import broker_properties, log4j_properties, render
from anabranch.adapters.embedded.state import Broker, Ports, Stack


def stack_of(count: int) -> Stack:
    return Stack("id", tuple(Broker(n, Ports(9000 + n, 9100 + n)) for n in range(1, count + 1)))


@pytest.mark.parametrize(("brokers", "replicas", "in_sync"), [(1, 1, 1), (2, 2, 1), (3, 3, 2), (5, 3, 2)])
def test_internal_topics_are_replicated_as_far_as_there_are_brokers(brokers: int, replicas: int, in_sync: int) -> None:
    properties = broker_properties(stack_of(brokers), node=1)

    assert properties["offsets.topic.replication.factor"] == str(replicas)
    assert properties["transaction.state.log.replication.factor"] == str(replicas)
    assert properties["default.replication.factor"] == str(replicas)
    assert properties["transaction.state.log.min.isr"] == str(in_sync)
    assert properties["min.insync.replicas"] == str(in_sync)


def test_each_broker_has_its_own_ports_and_all_have_the_same_voters() -> None:
    stack = stack_of(3)
    each = [broker_properties(stack, b.node) for b in stack.brokers]

    assert [p["listeners"] for p in each] == [
        f"CLIENT://127.0.0.1:{9000 + n},CONTROLLER://127.0.0.1:{9100 + n}" for n in (1, 2, 3)
    ]
    assert {p["controller.quorum.voters"] for p in each} == {"1@127.0.0.1:9101,2@127.0.0.1:9102,3@127.0.0.1:9103"}
    assert len({p["log.dirs"] for p in each}) == 3


def test_no_value_needs_escaping() -> None:
    written = render(broker_properties(stack_of(2), 2)) + render(log4j_properties())

    assert written.isascii()
    assert "\\" not in written
    assert "node.id=2\n" in written
