"""Gates over a shop on a real broker and a real catalog: what the command says, and what it must have left alone."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka.admin import AdminClient
from tests.fixtures.broker import QUIET
from tests.integration.plan.shop import DAY, FOR_EVER, JUNE, MINUTE, Event, Shop, every

from anabranch.app.backfill import BackfillRun
from anabranch.app.planning import plan_backfill
from anabranch.app.project_context import open_project
from anabranch.cli.main import main
from anabranch.plan.submission import submit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

DAYS = 4
EVENTS = DAYS * 144


@dataclass(frozen=True)
class Scene:
    shop: Shop

    def stage(
        self,
        events: list[Event] | None = None,
        *,
        config: Mapping[str, str] = FOR_EVER,
        pipeline: Mapping[str, Any] | None = None,
        **spec: Any,
    ) -> Path:
        """A topic, a table that live has filled from it, and a contract for all of it; returns the contract's file."""
        found = every(10 * MINUTE, JUNE, JUNE + DAYS * DAY) if events is None else events
        topic = self.shop.topic(found, config=config)
        self.shop.pipeline("orders", topic, **(pipeline or {}))
        self.shop.table("orders")
        self.shop.live("orders", [each.at for each in found], {0: (0, len(found))})
        return self.contract(found[0].at, found[-1].at, **spec)

    def contract(self, start: datetime, end: datetime, **spec: Any) -> Path:
        return self.shop.contract("orders", start, end + timedelta(seconds=1), **spec)

    def context(self, setting: str) -> None:
        """One line more in the context; a later one of the same section replaces it."""
        project = self.shop.folder / "anabranch.yaml"
        section = setting.split(":")[0]
        lines = [line for line in project.read_text().split("\n") if not line.startswith(f"      {section}: {{")]
        at = lines.index("    dev:") + 1
        project.write_text("\n".join([*lines[:at], f"      {setting}", *lines[at:]]))

    def enforce(self, wanted: bool) -> None:
        self.context(f"gates: {{enforce: {str(wanted).lower()}}}")

    def gates(self, capsys: pytest.CaptureFixture[str], *subject: str) -> tuple[int, dict[str, dict[str, Any]]]:
        """The exit code of `anabranch gates` and what it says of each gate."""
        code = main(["gates", *subject, "--project", str(self.shop.folder), "-o", "json"])
        printed = capsys.readouterr()
        assert printed.out, printed.err
        card = json.loads(printed.out)
        return code, {each["gate"]: each for each in card["gates"]}

    @contextmanager
    def run(self, contract: Path) -> Iterator[BackfillRun]:
        """A run that was submitted and has replayed nothing."""
        project_context = open_project(self.shop.folder, "dev")
        now = JUNE + 365 * DAY
        planned = plan_backfill(project_context, contract, now=now)
        with project_context.store() as store:
            yield BackfillRun(
                project_context,
                store,
                submit(store.writer, planned.plan, planned.request.contract, now=now, actor="ann").id,
            )

    def topic(self) -> str:
        pipeline = json.loads((self.shop.folder / "pipelines" / "orders.yaml").read_text())
        return str(pipeline["spec"]["source"]["topic"])

    def topic_is_there(self, name: str) -> bool:
        client = AdminClient({"bootstrap.servers": self.shop.kafka.bootstrap, **QUIET})
        return name in client.list_topics(timeout=30).topics

    def table(self) -> tuple[Any, Counter[str]]:
        """Every ref of the table with its snapshot, and the rows of main."""
        table = self.shop.catalog.load_table("shop.orders")
        refs = {name: ref.snapshot_id for name, ref in table.metadata.refs.items()}
        return refs, Counter(str(row) for row in table.scan().to_arrow().to_pylist())
