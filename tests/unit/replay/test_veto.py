"""The veto: only 200 with {"allow": true} lets a slice begin, asked of a real server."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Event, Thread
from typing import Any

import pytest

from anabranch.adapters.http.veto import ask_veto
from anabranch.replay.allowance import UNLIMITED
from anabranch.replay.veto import read_veto


@dataclass
class Server:
    url: str = ""
    status: int = 200
    body: bytes = b'{"allow": true}'
    headers: dict[str, str] = field(default_factory=dict)
    asked: list[dict[str, str]] = field(default_factory=list)
    hang: Event | None = None


@pytest.fixture
def server() -> Iterator[Server]:
    told = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            told.asked.append(dict(self.headers))
            if told.hang is not None:
                told.hang.wait(30)
            self.send_response(told.status)
            for name, value in told.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(told.body)

        def log_message(self, *_: Any) -> None: ...

    listening = HTTPServer(("127.0.0.1", 0), Handler)
    told.url = f"http://127.0.0.1:{listening.server_port}/may"
    Thread(target=listening.serve_forever, daemon=True).start()
    yield told
    listening.shutdown()
    listening.server_close()


def test_an_allowing_answer_lets_slices_begin(server: Server) -> None:
    assert ask_veto(server.url, {"Anabranch-Run": "r1"}, 5) is UNLIMITED
    assert server.asked[0]["Anabranch-Run"] == "r1"


@pytest.mark.parametrize("status", [201, 204, 301, 403, 404, 500, 503])
def test_any_other_status_holds_whatever_the_body_says(server: Server, status: int) -> None:
    server.status = status
    held = ask_veto(server.url, {}, 5)
    assert (held.source, held.paused) == ("veto", True)
    assert str(status) in held.reason


def test_a_redirect_to_an_allowing_address_is_not_followed(server: Server) -> None:
    server.status, server.headers = 302, {"Location": server.url}
    assert ask_veto(server.url, {}, 5).paused
    assert len(server.asked) == 1


def test_a_late_answer_is_none(server: Server) -> None:
    server.hang = Event()
    held = ask_veto(server.url, {}, 0.2)
    server.hang.set()
    assert held.paused
    assert "did not answer" in held.reason


def test_nobody_listening_holds() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    held = ask_veto(f"http://127.0.0.1:{port}/", {}, 5)
    assert (held.paused, "refused" in held.reason) == (True, True)


@pytest.mark.parametrize(
    "body",
    [b"", b"yes", b"true", b"[]", b"{}", b'{"allow": "true"}', b'{"allow": 1}', b'{"allow": null}', b"\xff"],
)
def test_an_answer_that_does_not_allow_in_so_many_words_holds(body: bytes) -> None:
    assert read_veto(200, body).paused


def test_a_veto_is_shown_with_its_reason_on_one_short_line() -> None:
    assert read_veto(200, json.dumps({"allow": False, "reason": "release\n20:00"}).encode()).reason == (
        "vetoed: release 20:00"
    )
    assert len(read_veto(200, json.dumps({"allow": False, "reason": "x" * 5000}).encode()).reason) < 250
