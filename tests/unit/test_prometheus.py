"""Values from a Prometheus server, and what is refused of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import ClassVar, cast

import pytest

from anabranch.adapters.prometheus import Prometheus, PrometheusError

ANSWERS = {
    "one": {"resultType": "vector", "result": [{"metric": {}, "value": [1.0, "0.25"]}]},
    "two": {"resultType": "vector", "result": [{"value": [1.0, "3"]}, {"value": [1.0, "NaN"]}, {"value": [1.0, "5"]}]},
    "scalar": {"resultType": "scalar", "result": [1.0, "7"]},
    "none": {"resultType": "vector", "result": []},
}


class Handler(BaseHTTPRequestHandler):
    seen: ClassVar[list[tuple[str, str | None]]] = []

    def do_GET(self) -> None:
        self.seen.append((self.path, self.headers.get("Authorization")))
        query = self.path.partition("query=")[2]
        if query == "elsewhere":
            self.send_response(302)
            self.send_header("Location", f"http://127.0.0.1:{cast(HTTPServer, self.server).server_port}/stolen")
            self.end_headers()
            return
        if query == "cut":
            self.wfile.write(b"not HTTP\r\n")
            return
        self.send_response(200 if query in ANSWERS else 500)
        self.end_headers()
        self.wfile.write(json.dumps({"status": "success", "data": ANSWERS.get(query)}).encode())

    def log_message(self, *_arguments: object) -> None: ...


@pytest.fixture
def server() -> Iterator[Prometheus]:
    httpd = HTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=httpd.serve_forever, daemon=True)
    thread.start()
    Handler.seen.clear()
    yield Prometheus(f"http://127.0.0.1:{httpd.server_address[1]}", "secret")
    httpd.shutdown()
    httpd.server_close()
    thread.join()


@pytest.mark.parametrize(("query", "values"), [("one", [0.25]), ("two", [3.0, 5.0]), ("scalar", [7.0])])
def test_the_values_of_all_series_are_read(server: Prometheus, query: str, values: list[float]) -> None:
    assert server.values(query) == values
    assert Handler.seen == [(f"/api/v1/query?query={query}", "Bearer secret")]


@pytest.mark.parametrize("query", ["none", "wrong", "cut"])
def test_a_query_without_a_value_is_an_error(server: Prometheus, query: str) -> None:
    with pytest.raises(PrometheusError, match="gave no value"):
        server.values(query)


def test_a_redirect_gets_no_token(server: Prometheus) -> None:
    with pytest.raises(PrometheusError, match="HTTP status 302"):
        server.values("elsewhere")
    assert [path for path, _ in Handler.seen] == ["/api/v1/query?query=elsewhere"]


def test_a_server_that_is_not_there_is_an_error() -> None:
    with pytest.raises(PrometheusError, match="refused"):
        Prometheus("http://127.0.0.1:9").values("one")
