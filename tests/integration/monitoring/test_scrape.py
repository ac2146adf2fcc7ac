"""Prometheus scrapes the endpoint while a replay runs: its values against the control database, topic and table."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.crash.shop import BUGGY, TABLE, Process, Shop
from tests.crash.story import CONTRACT
from tests.fixtures.broker import KafkaForTests, embedded_kafka, eventually
from tests.fixtures.prometheus import Prometheus, PrometheusTools, running_prometheus

from anabranch.monitoring.files import DASHBOARD, RULES, read_file

pytestmark = [pytest.mark.long, pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(900)]

EVENTS, SLICES = 12_000, 6
UNREAD = 500
"""Orders that live has not written."""
RATE = 150_000
WITHOUT_DATA = {
    *("Freshness", "Quarantined by live", "Cost of the budget", "Since the last promotion", "Effect on live"),
    *("Waiting runs", "Replay budget", "Retention headroom"),
    *("Commit latency", "Pressure", "Age of signals"),
}
"""Live is not our own driver here, no budget is set, nothing expires, and no run was promoted or measured;
live commits nothing during the replay."""
RAISED = {"AnabranchSourceDown", "AnabranchAuditChainBroken"}
"""When an audit record was changed, which is seen within a minute, and the broker is gone."""


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    """On a broker of its own, which the test stops."""
    folder = tmp_path / "broker"
    folder.mkdir()
    (folder / "anabranch.yaml").touch()
    with embedded_kafka(folder) as kafka:
        shop = Shop.open(tmp_path / "shop", kafka)
        contract = shop.folder / CONTRACT
        contract.write_text(contract.read_text().replace("bytesPerSecond: 20MiB", f"bytesPerSecond: {RATE // 1000}kB"))
        try:
            shop.live(shop.sell(EVENTS), BUGGY)
            yield shop
        finally:
            shop.end()


def serve(shop: Shop) -> tuple[Process, str]:
    """The endpoint on a free port, and its host and port."""
    process = shop.start("metrics", "serve", "--port", "0", "-o", "json")
    eventually(lambda: "url" in process.out.read_text() or process.popen.poll() is not None)
    found = re.search(r"http://(127\.0\.0\.1:\d+)/metrics", process.out.read_text())
    assert found is not None, process.err.read_text()
    return process, found[1]


def ledgers(shop: Shop) -> list[dict[str, Any]]:
    """Of every staged slice, from the journal."""
    found = shop.ask("SELECT outcome_details FROM journal WHERE step = 'slice' AND outcome = 'succeeded'")
    return [json.loads(details)["ledger"] for (details,) in found]


def fates(shop: Shop) -> Counter[str]:
    return sum((Counter(part) for each in ledgers(shop) for part in each["partitions"].values()), Counter())


def check_runs(shop: Shop, prometheus: Prometheus) -> None:
    run, found = shop.run_id, fates(shop)
    assert found.pop("offsets") == sum(end - start for s in shop.plan["slices"] for start, end in s["offsets"].values())
    rows = found.pop("rows")
    records = prometheus.values("anabranch_records_total", "pipeline", "outcome")
    assert {fate: count for (_, fate), count in records.items() if count} == dict(found)
    assert rows >= found["output"] > 0
    assert prometheus.values("anabranch_slices_total", "pipeline", "state") == {
        ("orders", "succeeded"): len(shop.plan["slices"]),
        ("orders", "failed"): 0,
    }
    assert prometheus.values("anabranch_read_bytes_total") == {(): sum(each["bytes"] for each in ledgers(shop))}
    assert prometheus.values("anabranch_run_state", "run", "state") == {(run, shop.state): 1}
    assert prometheus.values("anabranch_run_info", "run", "table") == {(run, TABLE): 1}
    assert prometheus.values("anabranch_run_progress_ratio", "run") == {(run,): 1}


def check_live(shop: Shop, prometheus: Prometheus) -> None:
    assert prometheus.values("anabranch_live_lag_records", "pipeline") == {("orders",): UNREAD}
    table = shop.table
    head = table.current_snapshot()
    assert head is not None
    assert head.summary is not None
    files = int(head.summary.additional_properties["total-data-files"])
    assert prometheus.values("anabranch_table_files", "table") == {(TABLE,): files}
    assert prometheus.values("anabranch_table_snapshots", "table") == {(TABLE,): len(table.snapshots())}


def check_the_past(shop: Shop, prometheus: Prometheus) -> None:
    """What was scraped while the replay ran."""
    run = shop.run_id
    seen = prometheus.values('max_over_time(anabranch_run_state{state="replaying"}[10m])', "run")
    assert seen == {(run,): 1}
    least, most = (
        prometheus.values(f"{each}_over_time(anabranch_run_progress_ratio[10m])")[()] for each in ("min", "max")
    )
    assert (least < 1, most) == (True, 1)
    allowed = 'max_over_time(anabranch_rate_bytes_per_second{kind="allowed"}[10m])'
    assert prometheus.values(allowed, "run") == {(run,): RATE}
    actual = prometheus.values('max_over_time(anabranch_rate_bytes_per_second{kind="actual"}[10m])')[()]
    assert 0 < actual < 2 * RATE
    assert prometheus.values("max_over_time(anabranch_run_eta_seconds[10m])", "run")[run,] > 0
    held = prometheus.values("anabranch_throttled_seconds_total", "pipeline", "reason")
    assert held["orders", "contract"] > 1


def check_dashboard(prometheus: Prometheus) -> None:
    """Each query is answered, and all panels have data but those that nothing here is the source of."""
    empty = set()
    for panel in json.loads(read_file(DASHBOARD))["panels"]:
        for target in panel.get("targets", ()):
            expression = target["expr"].replace("$__rate_interval", "1m")
            expression = expression.replace("$pipeline", ".*").replace("$run", ".*")
            if not prometheus.query(f"last_over_time(({expression})[10m:1s])"):
                empty.add(panel["title"])
    assert empty == WITHOUT_DATA


def observability(shop: Shop, address: str) -> dict[str, Any]:
    """What the gate says of this endpoint."""
    port = address.rpartition(":")[2]
    shown = shop.start("gates", shop.run_id, "--no-measure", "-o", "json", ANABRANCH_METRICS__PORT=port).wait().out
    return next(each for each in json.loads(shown)["gates"] if each["gate"] == "observability")


def alter_the_first_audit_record(shop: Shop) -> None:
    with closing(sqlite3.connect(shop.folder / ".anabranch" / "anabranch.db", timeout=60)) as database, database:
        database.execute("UPDATE audit SET actor = 'somebody else' WHERE seq = 1")


def stop_broker(kafka: KafkaForTests) -> None:
    [broker] = kafka.stack.status().brokers
    assert broker.pid is not None
    os.kill(broker.pid, signal.SIGKILL)


def test_prometheus_sees_what_the_control_database_says(
    shop: Shop, prometheus_tools: PrometheusTools, tmp_path: Path
) -> None:
    exporter, address = serve(shop)
    rules = {"alerts.yaml": read_file(RULES)}
    with running_prometheus(prometheus_tools, tmp_path / "prometheus", [address], rules) as prometheus:
        eventually(lambda: prometheus.values("anabranch_build_info") == {(): 1})
        assert set(prometheus.values("anabranch_up", "source").values()) == {1}
        assert prometheus.values("anabranch_slices_total", "state") == {("succeeded",): 0, ("failed",): 0}
        shop.do("plan", "-f", CONTRACT, "--slice-size", str(EVENTS // SLICES), "--out", "plan.json")
        shop.do("apply", "plan.json")
        shop.sell(UNREAD)
        eventually(lambda: prometheus.values("anabranch_run_state", "state") == {("validated",): 1})
        eventually(lambda: prometheus.values("anabranch_live_lag_records") == {(): UNREAD})
        check_runs(shop, prometheus)
        check_live(shop, prometheus)
        check_the_past(shop, prometheus)
        check_dashboard(prometheus)
        assert prometheus.ask("alerts")["alerts"] == []
        assert prometheus.values("anabranch_audit_chain_intact") == {(): 1}
        exposition = shop.do("metrics", "show").out
        assert prometheus_tools.check("check", "metrics", text=exposition) == ""
        assert observability(shop, address)["colour"] == "green"

        alter_the_first_audit_record(shop)
        assert "anabranch_audit_chain_intact 0.0" in shop.do("metrics", "show").out
        stop_broker(shop.kafka)
        eventually(lambda: prometheus.values('anabranch_up{source="kafka"}') == {(): 0})
        assert prometheus.values("anabranch_live_lag_records") == {}
        check_runs(shop, prometheus)
        assert "kafka: " in exporter.err.read_text()
        eventually(lambda: {each["labels"]["alertname"] for each in prometheus.ask("alerts")["alerts"]} == RAISED, 180)
    exporter.signal(signal.SIGTERM)
    assert exporter.wait(60).code == 0
