"""A pipeline of some class, driven in-process by the code that live and backfills run, a step at a time."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from tests.conformance.classes.kinds import SCHEMA, Kind, Rows
from tests.fixtures.broker import KafkaForTests, Record
from tests.fixtures.spark import SparkForTests
from tests.scenarios.backfills import JUNE, Backfills, Flow, open_scene, write_scene
from tests.scenarios.windowed_live import WindowedLive

from anabranch.adapters.kafka.topics import describe_topic
from anabranch.adapters.spark.source.kafka_source import read_offsets
from anabranch.adapters.spark.transform.load import load_transform
from anabranch.adapters.spark.transform.lookups import HeadLookupTables
from anabranch.adapters.spark.write.quarantine import QuarantineTable
from anabranch.adapters.spark.write.target_table import ensure_target
from anabranch.contract.code_store import CodeStore
from anabranch.live.batch import BatchWriter

ACCOUNTS = 12
PARTITIONS = 2
RIGHT, WRONG = "1", "-1"


@dataclass
class Bank(Flow):
    """Accounts in a topic and in a table, and by plain Python what must be in it."""

    table_name: ClassVar[str] = "bank.accounts"
    pipeline_name: ClassVar[str] = "accounts"

    kind: Kind
    batches: list[tuple[dict[int, int], bool]] = field(default_factory=list, kw_only=True)
    """Where live stood after each step, and whether its code was right."""

    @classmethod
    def write(cls, folder: Path, kafka: KafkaForTests, kind: Kind) -> str:
        """The project; returns its topic."""
        topic = kafka.create_topic(kafka.unique_name(kind.name), PARTITIONS, {"retention.ms": "-1"})
        write_scene(folder, "bank", kafka)
        for file in (*(folder / "pipelines").iterdir(), *(folder / "contracts").iterdir()):
            file.unlink()
        (folder / "pipelines" / "accounts.yaml").write_text(json.dumps(_pipeline(kind, topic)))
        (folder / "contracts" / "fix.yaml").write_text(json.dumps(_contract(kind)))
        scene_code(folder, kind, RIGHT)
        return topic

    def produce(self, hour: int, number: int, seed: int) -> None:
        """Events of one hour: an account is in one partition, and every tenth record is a tombstone."""
        chance = random.Random(seed)
        records = []
        for each in range(number):
            account = chance.randrange(ACCOUNTS)
            at = JUNE + timedelta(hours=hour, seconds=3000 * each // number)
            event = {"account": f"a{account}", "amount": chance.randrange(1, 1000), "at": at.isoformat()}
            value = None if self.kind.keyed and chance.random() < 0.1 else json.dumps(event).encode()
            stamp = round(at.timestamp() * 1000)
            records.append(
                {"key": f"a{account}".encode(), "value": value, "partition": account % 2, "timestamp": stamp}
            )
        self.kafka.produce(self.topic, records)

    def records(self) -> list[Record]:
        return sorted(self.kafka.read_all(self.topic), key=lambda r: (r.partition, r.offset))

    @property
    def position(self) -> dict[int, int]:
        return self.batches[-1][0] if self.batches else {}

    def rows(self, ref: str = "main") -> Rows:
        found = self.table().scan().use_ref(ref).to_arrow().to_pylist()
        return Counter((row["account"], row["amount"], row[self.kind.when].isoformat()) for row in found)

    def expected(self, *, corrected: bool = False) -> Rows:
        """By plain Python: each record as live's code was when it was read, or right where a backfill corrects it."""

        def is_right(record: Record) -> bool:
            batch = next(i for i, (ends, _) in enumerate(self.batches) if record.offset < ends[record.partition])
            return self.batches[batch][1] or (corrected and _hour(record) in self.kind.corrects)

        written = [r for r in self.records() if r.offset < self.position.get(r.partition, 0)]
        return self.kind.table(written, is_right)


@dataclass
class Scene(Bank, Backfills):
    """A bank whose live and whose backfills run in this process."""

    sign: str = field(default=RIGHT, kw_only=True)

    @classmethod
    def open(cls, folder: Path, kafka: KafkaForTests, spark: SparkForTests, kind: Kind) -> Scene:
        topic = cls.write(folder, kafka, kind)
        project_context = open_scene(folder, spark)
        return cls(project_context, kafka, topic, project_context.store(), spark, kind)

    def use(self, sign: str) -> None:
        """Put the right or the wrong code into the project."""
        self.sign = sign
        scene_code(self.project_context.folder, self.kind, sign)

    def live(self) -> None:
        """Live with all that came since it stood last, by the project's code."""
        ends = self.ends()
        if self.kind.windowed:
            newest = max(datetime.fromisoformat(json.loads(r.value or b"")["at"]) for r in self.records())
            with self.windows.running() as writer:
                self.windows.await_closed(writer, newest)
        else:
            self.by_hand.run(len(self.batches), self.position, ends)
        self.batches.append((ends, self.sign == RIGHT))

    @cached_property
    def windows(self) -> WindowedLive:
        return WindowedLive(self)

    @cached_property
    def by_hand(self) -> LiveByHand:
        return LiveByHand(self, self.project_context.folder / "checkpoint")


@dataclass
class LiveByHand:
    """Live's batches without a stream: a checkpoint as Spark would write it, and the writer called."""

    scene: Scene
    checkpoint: Path

    def __post_init__(self) -> None:
        (self.checkpoint / "offsets").mkdir(parents=True)
        (self.checkpoint / "sources" / "0").mkdir(parents=True)
        (self.checkpoint / "sources" / "0" / "0").write_text(f'v1\n{{"{self.scene.topic}":{{}}}}')
        (self.checkpoint / "metadata").write_text('{"id":"q"}')

    def run(self, number: int, before: Mapping[int, int], ends: Mapping[int, int]) -> None:
        scene, session = self.scene, self.scene.spark.session
        logged = json.dumps({scene.topic: {str(p): end for p, end in ends.items()}})
        (self.checkpoint / "offsets" / str(number)).write_text(f"v1\n{{}}\n{logged}")
        catalog, pipeline = scene.project_context.catalog, scene.pipeline
        transform = load_transform(scene.project_context.folder, pipeline, HeadLookupTables.of(catalog, pipeline))
        CodeStore.below(scene.project_context.state, pipeline.metadata.name).keep(
            scene.project_context.folder, pipeline
        )
        columns = ensure_target(session, catalog, pipeline, transform)
        QuarantineTable(catalog, pipeline).prepare(session)
        writer = BatchWriter(
            catalog=catalog,
            pipeline=pipeline,
            transform=transform,
            columns=columns,
            topic=describe_topic(scene.project_context.kafka.client("tests"), scene.topic).uuid,
            checkpoint=self.checkpoint,
            still_same_topic=lambda: None,
            commit_group=lambda _: None,
            report=lambda *_: None,
        )
        offsets = {p: (before.get(p, 0), end) for p, end in ends.items()}
        batch = read_offsets(
            session, bootstrap=scene.kafka.bootstrap, topic=scene.topic, ranges=offsets, client_id="tests"
        )
        writer(batch, number)


def _hour(record: Record) -> int | None:
    if record.value is None:
        return None
    return (datetime.fromisoformat(json.loads(record.value)["at"]) - JUNE) // timedelta(hours=1)


def scene_code(folder: Path, kind: Kind, sign: str) -> None:
    (folder / "transforms" / "accounts.py").write_text(kind.code.replace("SIGN", sign))


def _pipeline(kind: Kind, topic: str) -> dict[str, Any]:
    return {
        "apiVersion": "anabranch/v1",
        "kind": "Pipeline",
        "metadata": {"name": "accounts"},
        "spec": {
            "class": kind.name,
            "owner": "bank",
            "source": {"topic": topic, "schema": SCHEMA, **({"key": "account"} if kind.keyed else {})},
            "eventTime": {"field": "at", "slack": "5m"},
            "transform": {"python": "transforms.accounts:transform"},
            "target": {"table": "bank.accounts", **kind.target},
            "consumerGroup": topic,
            **kind.spec,
        },
    }


def _contract(kind: Kind) -> dict[str, Any]:
    return {
        "apiVersion": "anabranch/v1",
        "kind": "Backfill",
        "metadata": {"name": "fix"},
        "spec": {
            "pipeline": "accounts",
            "reason": "the wrong sign",
            "owner": "bank",
            "range": {"eventTime": dict(kind.span)},
            "rollback": {"authority": "oncall"},
        },
    }
