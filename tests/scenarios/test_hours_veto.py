"""The hours of a contract hold a run before its first slice and a veto between slices; both release it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from anabranch.replay.replayer import ReplayEnd
from tests.fixtures.broker import eventually
from tests.scenarios.backfills import Onlooker, edit
from tests.scenarios.shop import CONTRACT, Shop, hours, staged_slices
from tests.scenarios.test_rate_limit import replay

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.long]


class Veto(ThreadingHTTPServer):
    """Allows or denies, and counts the answers since it last changed its mind."""

    allow, answers = True, 0

    def decide(self, allow: bool) -> None:
        self.allow, self.answers = allow, 0


class Answer(BaseHTTPRequestHandler):
    server: Veto

    def do_GET(self) -> None:
        body = json.dumps({"allow": self.server.allow, "reason": "sale"}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.server.answers += 1

    def log_message(self, *_: Any) -> None: ...


@contextmanager
def asked() -> Iterator[Veto]:
    server = Veto(("127.0.0.1", 0), Answer)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def opening() -> datetime:
    """The next minute that begins after the run has been submitted and waits."""
    return (datetime.now(timezone.utc) + timedelta(seconds=75)).replace(second=0, microsecond=0)


def test_hours_and_a_veto_hold_a_run_and_release_it(new_shop: Callable[..., Shop]) -> None:
    shop = new_shop()
    shop.produce(hours())
    shop.live()
    with asked() as veto:
        section = f"veto: {{url: 'http://127.0.0.1:{veto.server_port}/', every: 1s}}\n      spark:"
        edit(shop.project_context.folder / "anabranch.yaml", {"spark:": section})
        opens = opening()
        closes = opens + timedelta(hours=12)
        contract: dict[str, Any] = deepcopy(CONTRACT)
        times = {"from": f"{opens:%H:%M}", "to": f"{closes:%H:%M}", "timeZone": "UTC"}
        contract["spec"]["schedule"] = {"hours": times}
        shop.contract.write_text(json.dumps(contract))
        run = shop.plan(slices=3)
        held: list[tuple[str, int]] = []

        def refuse(slice_: str) -> None:
            if slice_ == run.plan.slices[0].id:
                veto.decide(allow=False)
                eventually(lambda: veto.answers >= 2)  # the answer before the last one counts by now

        class Waiting(Onlooker):
            def resting(self, seconds: float, reason: str) -> None:
                held.append((reason, len(self.seen)))
                if sum("veto" in each for each, _ in held) == 3:
                    veto.decide(allow=True)

        watch = Waiting(after_slice=refuse)
        assert replay(run, watch) is ReplayEnd.STAGED

    outside = [slices for reason, slices in held if "outside the contract's hours" in reason]
    assert outside, "it was held by the hours"
    assert set(outside) == {0}, "before the first slice"
    vetoed = [slices for reason, slices in held if "sale" in reason]
    assert len(vetoed) >= 3, "it was held by the veto"
    assert set(vetoed) == {1}, "between the first slice and the second"
    assert watch.seen == [each.id for each in run.plan.slices]
    assert staged_slices(run) == 3
