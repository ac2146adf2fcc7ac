from pathlib import Path

import pytest

from anabranch.adapters.embedded.errors import StackStateUnreadableError
from anabranch.adapters.embedded.layout import Layout
from anabranch.adapters.embedded.properties import broker_properties, render
from anabranch.adapters.embedded.recovery import has_data, recover
from anabranch.adapters.embedded.state import Broker, Ports, Stack

STACK = Stack("cluster", (Broker(1, Ports(1001, 1002)), Broker(2, Ports(1003, 1004))))


def write_data(layout: Layout, node: int, cluster: str) -> None:
    layout.data(node).mkdir(parents=True)
    layout.identity(node).write_text(f"#\n#a date\nnode.id={node}\nversion=1\ncluster.id={cluster}\n")


def test_the_stack_is_rebuilt_from_data_and_configuration(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    for broker in STACK.brokers:
        write_data(layout, broker.node, "cluster")
        layout.config(broker.node).write_text(render(broker_properties(STACK, broker.node)))

    assert has_data(layout)
    assert recover(layout) == STACK


def test_with_no_configuration_ports_are_chosen_anew(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    write_data(layout, 1, "cluster")

    found = recover(layout)

    assert found is not None
    assert (found.cluster_id, [b.node for b in found.brokers]) == ("cluster", [1])


def test_no_data_is_no_stack(tmp_path: Path) -> None:
    assert not has_data(Layout(tmp_path))
    assert recover(Layout(tmp_path)) is None


def test_folders_of_two_clusters_are_not_mixed(tmp_path: Path) -> None:
    write_data(Layout(tmp_path), 1, "one")
    write_data(Layout(tmp_path), 2, "other")

    with pytest.raises(StackStateUnreadableError, match="different clusters"):
        recover(Layout(tmp_path))
