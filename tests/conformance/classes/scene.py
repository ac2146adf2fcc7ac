"""A pipeline of some class, driven in-process by the code that live and backfills run, one batch at a time."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from itertools import count
from pathlib import Path
from typing import Any
from uuid import uuid4

from pyiceberg.table import Table
from tests.conformance.classes.kinds import SCHEMA, Kind, Rows
from tests.fixtures.broker import KafkaForTests, Record
from tests.fixtures.project import ALONE
from tests.fixtures.spark import SparkForTests
from tests.scenarios.shop import Onlooker

from anabranch.adapters.kafka.topics import describe_topic, offset_ranges
from anabranch.adapters.spark.kafka_source import read_offsets
from anabranch.adapters.spark.lookups import HeadLookups
from anabranch.adapters.spark.quarantine import Quarantine
from anabranch.adapters.spark.target_table import ensure_target
from anabranch.adapters.spark.transform import load_transform
from anabranch.adapters.sql.store import SqlRunStore
from anabranch.contract.kept_code import CodeStore
from anabranch.contract.load import load_pipelines
from anabranch.contract.pipeline import Pipeline
from anabranch.live.batch import BatchWriter
from anabranch.plan.slices import offsets_in
from anabranch.project.scaffold import plan_project, write_project
from anabranch.validate.report import Report
from anabranch.wiring.backfill import BackfillRun, submit
from anabranch.wiring.planning import plan_backfill
from anabranch.wiring.workplace import Workplace, open_workplace

JUNE = datetime(2025, 6, 1, tzinfo=timezone.utc)
NOW = datetime(2025, 7, 1, tzinfo=timezone.utc)
ACCOUNTS = 12
PARTITIONS = 2
RIGHT, WRONG = "1", "-1"


@dataclass
class Scene:
    kind: Kind
    workplace: Workplace
    store: SqlRunStore
    kafka: KafkaForTests
    spark: SparkForTests
    topic: str
    checkpoint: Path
    batches: list[tuple[dict[int, int], bool]] = field(default_factory=list)
    """Where each batch of live ended, and whether its code was right."""
    sign: str = RIGHT
    seconds: Iterator[int] = field(default_factory=count)

    @classmethod
    def open(cls, folder: Path, kafka: KafkaForTests, spark: SparkForTests, kind: Kind, **spec: Any) -> Scene:
        topic = kafka.create_topic(kafka.unique_name(kind.name), PARTITIONS, {"retention.ms": "-1", **spec})
        catalog = f"classes_{uuid4().hex[:12]}"
        write_project(plan_project(folder, "bank"))
        project = folder / "anabranch.yaml"
        text = project.read_text().replace("embedded\n      spark", f"{kafka.bootstrap}\n      {ALONE}\n      spark", 1)
        project.write_text(text.replace("type: embedded", f"type: embedded\n        name: {catalog}", 1))
        for file in (*(folder / "pipelines").iterdir(), *(folder / "contracts").iterdir()):
            file.unlink()
        (folder / "pipelines" / "accounts.yaml").write_text(json.dumps(_pipeline(kind, topic)))
        (folder / "contracts" / "fix.yaml").write_text(json.dumps(_contract(kind)))
        scene_code(folder, kind, RIGHT)
        workplace = open_workplace(folder, "dev")
        for key, value in workplace.catalog.spark_options().items():
            spark.session.conf.set(key, value)
        checkpoint = folder / "checkpoint"
        (checkpoint / "offsets").mkdir(parents=True)
        (checkpoint / "sources" / "0").mkdir(parents=True)
        (checkpoint / "sources" / "0" / "0").write_text(f'v1\n{{"{topic}":{{}}}}')
        (checkpoint / "metadata").write_text('{"id":"q"}')
        return cls(kind, workplace, workplace.store(), kafka, spark, topic, checkpoint)

    # The topic.

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

    # Live.

    @property
    def pipeline(self) -> Pipeline:
        return load_pipelines(self.workplace.loaded)["accounts"].pipeline

    def use(self, sign: str) -> None:
        """Put the right or the wrong code into the project."""
        self.sign = sign
        scene_code(self.workplace.folder, self.kind, sign)

    def live(self) -> None:
        """One batch of live with all that came since its last one, by the project's code."""
        client = self.workplace.kafka.client("tests")
        topic = describe_topic(client, self.topic)
        ends = {p: end for p, (_, end) in offset_ranges(client, topic).items()}
        number, reached = len(self.batches), self.position
        logged = json.dumps({self.topic: {str(p): end for p, end in ends.items()}})
        (self.checkpoint / "offsets" / str(number)).write_text(f"v1\n{{}}\n{logged}")
        self._redo(number, {p: (reached.get(p, 0), end) for p, end in ends.items()})
        self.batches.append((ends, self.sign == RIGHT))

    def live_again(self) -> None:
        """The last batch once more, as after a crash of live."""
        ends, _ = self.batches[-1]
        before = self.batches[-2][0] if len(self.batches) > 1 else {}
        self._redo(len(self.batches) - 1, {p: (before.get(p, 0), end) for p, end in ends.items()})

    def _redo(self, number: int, offsets: Mapping[int, tuple[int, int]]) -> None:
        session, catalog, pipeline = self.spark.session, self.workplace.catalog, self.pipeline
        transform = load_transform(self.workplace.folder, pipeline, HeadLookups.of(catalog, pipeline))
        CodeStore.below(self.workplace.state, pipeline.metadata.name).keep(self.workplace.folder, pipeline)
        columns = ensure_target(session, catalog, pipeline, transform)
        Quarantine(catalog, pipeline).prepare(session)
        writer = BatchWriter(
            catalog=catalog,
            pipeline=pipeline,
            transform=transform,
            columns=columns,
            topic=describe_topic(self.workplace.kafka.client("tests"), self.topic).uuid,
            checkpoint=self.checkpoint,
            still_same_topic=lambda: None,
            commit_group=lambda _: None,
            report=lambda *_: None,
        )
        batch = read_offsets(
            session, bootstrap=self.kafka.bootstrap, topic=self.topic, ranges=offsets, client_id="tests"
        )
        writer(batch, number)

    @property
    def position(self) -> dict[int, int]:
        return self.batches[-1][0] if self.batches else {}

    # The table.

    def table(self) -> Table:
        return self.workplace.catalog.open().load_table("bank.accounts")

    def rows(self, ref: str = "main") -> Rows:
        found = self.table().scan().use_ref(ref).to_arrow().to_pylist()
        return Counter((row["account"], row["amount"], row["at"].isoformat()) for row in found)

    def expected(self, *, corrected_from: int | None = None) -> Rows:
        """By plain Python: each record as live's code was when it was written, all from a batch on corrected."""

        def is_right(record: Record) -> bool:
            batch = next(i for i, (ends, _) in enumerate(self.batches) if record.offset < ends[record.partition])
            return self.batches[batch][1] or (corrected_from is not None and batch >= corrected_from)

        written = [r for r in self.records() if r.offset < self.position.get(r.partition, 0)]
        return self.kind.table(written, is_right)

    # Backfills.

    def plan(self, slices: int = 2, *, control: bool = False, store: SqlRunStore | None = None) -> BackfillRun:
        contract = self.workplace.folder / "contracts" / "fix.yaml"
        planned = plan_backfill(self.workplace, contract, now=NOW)
        size = -(-offsets_in(planned.plan.source.ranges) // slices)
        planned = plan_backfill(self.workplace, contract, now=NOW, offsets_per_slice=size, control=control)
        moment = NOW + next(self.seconds) * timedelta(seconds=1)
        run = submit(store or self.store, planned.plan, planned.asked.contract, now=moment, actor="ann")
        return self.again(run.id, store)

    def again(self, run_id: str, store: SqlRunStore | None = None) -> BackfillRun:
        """The run as another process would take it in hand."""
        run = BackfillRun(open_workplace(self.workplace.folder, "dev"), store or self.store, run_id)
        run.__dict__["_spark"] = self.spark.session
        return run

    def apply(self, run: BackfillRun, watch: Onlooker | None = None) -> Report:
        with run.hold() as hold:
            run.replay(hold, watch or Onlooker())
            return run.validate(hold, NOW)

    def promote(self, run: BackfillRun, watch: Onlooker | None = None) -> int:
        with run.hold() as hold:
            return run.promote(hold, watch or Onlooker(), NOW)

    def roll_back(self, run: BackfillRun) -> int:
        with run.hold() as hold:
            return run.roll_back(hold)


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
            "target": {"table": "bank.accounts", **kind.spec},
            "consumerGroup": topic,
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
