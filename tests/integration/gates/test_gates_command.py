"""`anabranch gates` on a real broker and a real catalog: a gate turns for a real reason, and nothing is left."""

from __future__ import annotations

import json
import shutil
import sqlite3
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
from confluent_kafka.admin import AdminClient
from tests.fixtures.broker import QUIET, eventually
from tests.integration.gates.scene import EVENTS, Scene
from tests.integration.plan.shop import HOUR, MINUTE, Event

from anabranch.cli.main import main
from anabranch.gates.checks.observability import METRICS
from anabranch.gates.scorecard import GateClosedError

pytestmark = [pytest.mark.long, pytest.mark.kafka]
SECONDS = 30


def clutter(scene: Scene) -> tuple[set[str], set[str]]:
    """Topics and groups of the cluster that are nobody's but ours."""
    client = AdminClient({"bootstrap.servers": scene.shop.kafka.bootstrap, **QUIET})
    groups = client.list_consumer_groups(request_timeout=SECONDS).result(SECONDS).valid
    return (
        {name for name in client.list_topics(timeout=SECONDS).topics if name.startswith("anabranch")},
        {group.group_id for group in groups if group.group_id.startswith("anabranch")},
    )


def test_a_good_backfill_is_open_and_what_was_measured_is_kept(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    contract = scene.stage(pipeline={"effects": "none"}, range={"everything": True})
    scene.enforce(False)
    before = scene.table()
    code, card = scene.gates(capsys, "-f", str(contract))
    assert code == 0, "what is unknown blocks nothing in a context that does not enforce gates"
    expected = {
        "compatibility": "green",
        "offset-control": "green",
        "storage-path": "green",
        "capacity": "red",
        "cost": "red",
        "governance": "red",
        "schema": "green",
        "rollback": "green",
        "observability": "yellow",
        "side-effects": "green",
        "closure": "green",
    }
    assert {gate: card[gate]["colour"] for gate in expected} == expected, card
    assert {each["cause"] for each in card.values()} == {"unknown", None}
    assert set(card["compatibility"]["figures"].values()) == {"works", "absent"}
    assert card["compatibility"]["figures"]["ACLs"] == "absent"
    assert card["storage-path"]["figures"]["bytes_per_second"] > 0
    assert card["schema"]["figures"]["sampled"] == 8 * 25
    assert card["rollback"]["figures"]["files_out"] >= 4
    assert all(each["owner"] and (each["to_green"] or each["colour"] == "green") for each in card.values())
    assert scene.table() == before, "main and every ref are as before, and no scratch is left"
    assert clutter(scene) == (set(), set())
    # Again: nothing is measured anew, and the page is there.
    assert scene.gates(capsys, "-f", str(contract))[1]["schema"]["at"] == card["schema"]["at"]
    page = (scene.shop.folder / ".anabranch" / "gates" / "fix.html").read_text()
    assert "Red and not blocking: capacity, cost, governance" in page
    assert "Context dev does not enforce gates" in page
    assert "storage-path" in page


def test_values_that_do_not_decode_close_the_schema_gate(scene: Scene, capsys: pytest.CaptureFixture[str]) -> None:
    """Half of the records are of another schema, far more than quarantine takes; what is in them is on no record."""
    contract = scene.stage(pipeline={"quarantine": {"maxRecords": 10}}, range={"everything": True})
    secret = [{"value": b'{"ordered_at": 17, "secret": "canary"}', "partition": 0}] * EVENTS
    scene.shop.kafka.produce(scene.topic(), secret)
    scene.shop.live("orders", [], {0: (EVENTS, 2 * EVENTS)})
    code, card = scene.gates(capsys, "-f", str(contract))
    assert (code, card["schema"]["colour"]) == (3, "red"), card["schema"]
    assert "quarantine.maxRecords is 10" in card["schema"]["words"]
    assert card["schema"]["figures"]["first_bad"][0]["reason"] == "ordered_at is not of its declared type"
    assert "canary" not in json.dumps(card)


@pytest.mark.parametrize(("left", "colour"), [(30 * MINUTE, "yellow"), (2 * MINUTE, "red")])
def test_a_topic_about_to_expire(
    scene: Scene, capsys: pytest.CaptureFixture[str], left: timedelta, colour: str
) -> None:
    """Reading takes some five minutes at the contract's rate; retention leaves that much, or not."""
    now = datetime.now(timezone.utc)
    events = [Event.on_time(now - HOUR + n * timedelta(seconds=10)) for n in range(60)]
    kept = str((HOUR + left) // timedelta(milliseconds=1))
    contract = scene.stage(events, config={"retention.ms": kept}, budget={"bytesPerSecond": 20})
    scene.enforce(False)
    code, card = scene.gates(capsys, "-f", str(contract))
    assert (card["storage-path"]["colour"], code) == (colour, 3 if colour == "red" else 0), card["storage-path"]


def test_a_target_elsewhere_and_a_record_that_was_changed(scene: Scene, capsys: pytest.CaptureFixture[str]) -> None:
    contract = scene.stage(pipeline={"residency": "eu"})
    table = scene.shop.catalog.load_table("shop.orders")
    table.transaction().set_properties({"residency": "us"}).commit_transaction()
    assert scene.gates(capsys, "-f", str(contract))[1]["governance"]["colour"] == "red"
    with sqlite3.connect(scene.shop.folder / ".anabranch" / "anabranch.db") as database:
        database.execute("UPDATE audit SET actor = 'eve' WHERE seq = 1")
    database.close()
    assert scene.gates(capsys, "-f", str(contract))[1]["closure"]["colour"] == "red"


def test_a_folder_that_takes_no_record(scene: Scene, capsys: pytest.CaptureFixture[str]) -> None:
    contract = scene.stage()
    state = scene.shop.folder / ".anabranch"
    shutil.rmtree(state / "runs", ignore_errors=True)
    (state / "runs").write_text("in the way")
    code, card = scene.gates(capsys, "--no-measure", "-f", str(contract))
    assert (code, card["closure"]["colour"]) == (3, "red"), card["closure"]
    assert "exists" in card["closure"]["words"]
    assert card["compatibility"]["cause"] == card["schema"]["cause"] == "unknown", "nothing was measured"


def test_offsets_that_are_gone_and_the_plan_of_a_table_that_is_another(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a run: retention took what is still to be read; then the table loses its partitions, and with them the way."""
    contract = scene.stage()
    with scene.run(contract) as run:
        scene.shop.delete_records(run.plan.source.topic, {0: 10})
        card = scene.gates(capsys, run.run_id)[1]
        assert [card[gate]["colour"] for gate in ("offset-control", "storage-path", "rollback")] == [
            "red",
            "red",
            "green",
        ]
        assert main(["runbook", run.run_id, "--project", str(scene.shop.folder)]) == 0
        assert "storage-path" in (run.folder / "runbook.md").read_text()
        capsys.readouterr()
        table = scene.shop.catalog.load_table("shop.orders")
        with table.update_spec() as change:
            change.remove_field("ordered_at_day")
        scene.shop.write("orders", [run.plan.target.partitions.start])  # type: ignore[list-item]
        card = scene.gates(capsys, "--no-measure", run.run_id)[1]
        assert card["rollback"]["cause"] == "unknown", "what was rehearsed on the former table does not count"
        code, card = scene.gates(capsys, run.run_id)
        assert (code, card["rollback"]["colour"]) == (3, "red"), card["rollback"]
        assert card["rollback"]["figures"]["code"] == "target.straddling-file"
        with pytest.raises(GateClosedError, match="rollback is red"):
            run.gates.require_for_promotion()
        client = AdminClient({"bootstrap.servers": scene.shop.kafka.bootstrap, **QUIET})
        client.delete_topics([run.plan.source.topic])[run.plan.source.topic].result(SECONDS)
        eventually(lambda: not scene.topic_is_there(run.plan.source.topic))
        card = scene.gates(capsys, "--no-measure", run.run_id)[1]
    assert card["observability"]["colour"] == card["offset-control"]["colour"] == "red", card


def test_a_gate_is_answered_for_by_name(
    scene: Scene, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANABRANCH_ACTOR", "ada")
    contract = scene.stage(pipeline={"effects": [{"name": "mail"}]})
    scene.enforce(False)
    here = ("--project", str(scene.shop.folder))
    assert scene.gates(capsys, "--no-measure", "-f", str(contract))[0] == 3
    assert main(["gates", "override", "side-effects", "-f", str(contract), *here]) == 2
    assert main(["gates", "override", "mails", "-f", str(contract), "--reason", "x", *here]) == 2
    assert "gates.unknown" in capsys.readouterr().err
    said = ["gates", "override", "side-effects", "-f", str(contract), "--reason", "mails are off", *here]
    assert main(said) == 0
    capsys.readouterr()
    code, card = scene.gates(capsys, "--no-measure", "-f", str(contract))
    assert (code, card["side-effects"]["colour"]) == (0, "red"), "red stays red, and does not block"
    kept = card["side-effects"]["override"]
    assert (kept["by"], kept["reason"], kept["colour"]) == ("ada", "mails are off", "red")
    page = Path(scene.shop.folder / ".anabranch" / "gates" / "fix.html").read_text()
    assert "Overridden by ada" in page
    project = scene.shop.folder / "anabranch.yaml"
    project.write_text(project.read_text().replace("    dev:\n", "    dev:\n      roles: {operators: [bob]}\n", 1))
    assert main(said) == 3
    assert "roles.not-operator" in capsys.readouterr().err


def test_a_small_replay_goes_on_with_what_is_unknown_once_it_is_acknowledged(
    scene: Scene, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Outside dev: the red is on record with a name and a reason, and does not help what is large or critical."""
    monkeypatch.setenv("ANABRANCH_ACTOR", "ada")
    contract = scene.stage(pipeline={"effects": "none"})
    here = ("-f", str(contract), "--project", str(scene.shop.folder))
    known = ["gates", "acknowledge", *here, "--reason", "four days of a test topic"]
    assert main(known) == 3, "nothing was measured yet: how much it reads is unknown"
    assert "size in bytes is unknown" in capsys.readouterr().err
    code, card = scene.gates(capsys, "-f", str(contract))
    red = {gate for gate, each in card.items() if each["colour"] == "red"}
    assert (code, red) == (3, {"capacity", "cost", "governance"}), card
    assert main(["gates", "acknowledge", *here]) == 2, "a reason is needed"
    capsys.readouterr()
    assert main(known) == 0
    capsys.readouterr()
    code, card = scene.gates(capsys, "-f", str(contract))
    assert (code, {card[gate]["colour"] for gate in red}) == (0, {"red"}), "red stays red, and does not block"
    kept = card["capacity"]["acknowledged"]
    assert (kept["by"], kept["reason"], kept["automatic"]) == ("ada", "four days of a test topic", False)
    with scene.run(contract) as run:
        run.gates.clear_for_replay()
    scene.context("gates: {highVolume: {records: 10}}")
    assert scene.gates(capsys, "-f", str(contract))[0] == 3, "an acknowledgement is not enough for high volume"
    assert main(known) == 3
    assert "exceed gates.highVolume.records, 10" in capsys.readouterr().err


def test_what_is_business_critical_is_blocked_by_what_is_unknown(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    contract = scene.stage(pipeline={"effects": "none", "businessCritical": True})
    assert scene.gates(capsys, "-f", str(contract))[0] == 3
    known = ["gates", "acknowledge", "-f", str(contract), "--project", str(scene.shop.folder), "--reason", "small"]
    assert main(known) == 3
    assert "the pipeline is business-critical" in capsys.readouterr().err
    with scene.run(contract) as run, pytest.raises(GateClosedError, match="business-critical"):
        run.gates.clear_for_replay()
    scene.enforce(False)
    assert scene.gates(capsys, "-f", str(contract))[0] == 0
    shown: list[str] = []
    with scene.run(contract) as run:
        for _ in range(2):
            replace(run, say=shown.append).gates.clear_for_replay()
        [record] = run.store.reader.audit(run_id=run.run_id, action="gate.acknowledge")
    assert set(json.loads(record.details)["red"]) == {"capacity", "cost", "governance"}, "on record, once"
    assert [line.split()[1] for line in shown] == ["capacity:", "cost:", "governance:"] * 2, "and shown each time"


def test_metrics_are_green_by_what_the_port_answers_and_not_by_the_setting(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    contract = scene.stage(pipeline={"effects": "none"})
    names = [*METRICS]

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(
                "".join(f'# TYPE {name} gauge\n{name}{{pipeline="orders"}} 1\n' for name in names).encode()
            )

        def log_message(self, *_: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        scene.context(f"metrics: {{port: {server.server_port}}}")
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        seen = scene.gates(capsys, "--no-measure", "-f", str(contract))[1]["observability"]
        assert seen["colour"] == "green", seen
        names.pop()
        seen = scene.gates(capsys, "--no-measure", "-f", str(contract))[1]["observability"]
        assert (seen["colour"], METRICS[1] in seen["words"]) == ("yellow", True), seen
        server.shutdown()
        thread.join()
    seen = scene.gates(capsys, "--no-measure", "-f", str(contract))[1]["observability"]
    assert (seen["colour"], "can't be read" in seen["words"]) == ("yellow", True), seen
