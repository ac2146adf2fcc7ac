"""Short-lived stacks of their own: side by side, copied, half-started, misconfigured, on a full disk."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from tests.fixtures.broker import KafkaForTests, embedded_kafka
from tests.fixtures.mount import Mount

from anabranch.adapters.embedded.broker_process import mark
from anabranch.adapters.embedded.errors import BrokerDiedError, DiskFullError, PortTakenError, StackDownError
from anabranch.adapters.embedded.layout import Layout
from anabranch.adapters.embedded.stack import EmbeddedKafka
from anabranch.adapters.embedded.status import BrokerState
from anabranch.adapters.jvm.java import JavaMissingError
from anabranch.project.location import state_folder

pytestmark = [pytest.mark.long, pytest.mark.kafka]


def processes_of(project: Path) -> list[int]:
    wanted = mark(Layout(state_folder(project).resolve()), 1)
    return [p.pid for p in psutil.process_iter() if wanted in _arguments(p)]


def _arguments(process: psutil.Process) -> list[str]:
    try:
        return list(process.cmdline())
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return []


@contextmanager
def stopped_in_the_end(project: Path) -> Iterator[EmbeddedKafka]:
    """For a start that must fail: should it succeed after all, no process is left behind."""
    stack = EmbeddedKafka(state_folder(project))
    try:
        yield stack
    finally:
        stack.down()


def test_a_second_project_lives_its_own_life(kafka: KafkaForTests, tmp_path: Path) -> None:
    # A comma splits Kafka's log.dirs, and Java reads properties as Latin-1: neither may matter.
    project = tmp_path / "prö, ject ${x}"
    project.mkdir()
    with embedded_kafka(project) as second:
        topic = second.create_topic(second.unique_name("mine"))
        second.produce(topic, ["a", "b"])

        assert kafka.stack.status().all_running
        assert second.bootstrap != kafka.bootstrap
        assert topic not in topics(kafka)
        a_cluster_without_any_group_can_be_asked_for_lag(second, topic)
        a_copy_has_no_claim_on_the_original(second, tmp_path / "copy")
        a_lost_state_file_is_rebuilt(second)
        assert [r.value for r in second.read_all(topic)] == [b"a", b"b"]
        another_cluster_id_stops_the_start_and_is_told(second)
    assert processes_of(project) == []
    assert kafka.stack.status().all_running


def a_cluster_without_any_group_can_be_asked_for_lag(fresh: KafkaForTests, topic: str) -> None:
    """In a process of its own: the C client once took the process that asked down with it."""
    asking = (
        "import sys; from anabranch.adapters.kafka.groups import lag; "
        "from anabranch.adapters.kafka.topics import describe_topic; "
        "client = {'bootstrap.servers': sys.argv[1]}; "
        "print(lag(client, 'nobody', describe_topic(client, sys.argv[2])))"
    )
    done = subprocess.run([sys.executable, "-c", asking, fresh.bootstrap, topic], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "None\n"), done.stderr


def topics(kafka: KafkaForTests) -> set[str]:
    from confluent_kafka.admin import AdminClient

    return set(AdminClient({"bootstrap.servers": kafka.bootstrap}).list_topics(timeout=30).topics)


def a_copy_has_no_claim_on_the_original(original: KafkaForTests, copy: Path) -> None:
    shutil.copytree(original.project, copy)
    copied = EmbeddedKafka(state_folder(copy))

    assert [b.state for b in copied.status().brokers] == [BrokerState.DIED]
    with pytest.raises(PortTakenError, match="java"):
        copied.up()
    with pytest.raises(StackDownError):
        copied.bootstrap()
    copied.down()
    assert original.stack.status().all_running


def a_lost_state_file_is_rebuilt(second: KafkaForTests) -> None:
    before = second.stack.status().brokers[0]
    Layout(state_folder(second.project)).state.unlink()

    assert second.stack.status().all_running
    after = second.stack.up().brokers[0]
    assert (after.pid, after.port) == (before.pid, before.port)


def another_cluster_id_stops_the_start_and_is_told(second: KafkaForTests) -> None:
    second.stack.down()
    layout = Layout(state_folder(second.project))
    identity = layout.identity(1)
    right = identity.read_text()
    identity.write_text(right.replace("node.id=1", "node.id=7"))

    with pytest.raises(BrokerDiedError) as caught:
        second.stack.up()

    assert "7" in caught.value.what.partition("Last log lines:")[2]
    assert str(layout.log(1)) in caught.value.remedy
    identity.write_text(right)
    assert second.stack.up().all_running


def test_a_broker_whose_start_was_never_recorded_is_found_and_stopped(kafka: KafkaForTests) -> None:
    """As if `up` had been killed between starting the process and writing its pid down."""
    from anabranch.adapters.embedded import state

    path = Layout(state_folder(kafka.project)).state
    truth = state.load(path)
    assert truth is not None
    state.save(path, truth.with_process(1, None))

    assert kafka.stack.up().all_running
    assert state.load(path) == truth


def test_a_nearly_full_disk_is_refused_before_anything_starts(mount: Mount) -> None:
    project = mount("size=100m")

    with stopped_in_the_end(project) as stack:
        with pytest.raises(DiskFullError, match="needs 500 MB"):
            stack.up()

        assert processes_of(project) == []
        assert stack.status().brokers[0].state is BrokerState.STOPPED


def test_no_java_is_told_before_anything_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)

    with stopped_in_the_end(tmp_path) as stack:
        with pytest.raises(JavaMissingError):
            stack.up()

        assert processes_of(tmp_path) == []


def test_what_never_was_is_down(tmp_path: Path) -> None:
    stack = EmbeddedKafka(state_folder(tmp_path))

    assert stack.status().brokers == ()
    assert stack.down().brokers == ()
    with pytest.raises(StackDownError, match="not up"):
        stack.bootstrap()
    assert not state_folder(tmp_path).exists()
