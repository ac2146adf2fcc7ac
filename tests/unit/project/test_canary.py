"""A canary in every secret field shows up nowhere, whether it is there by reference or written inline by mistake."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from anabranch.project.load import LoadedProject, load_project
from anabranch.project.model import as_plain

CANARY = "canary-7d1e55"
FIELDS = """apiVersion: anabranch/v1
kind: Project
metadata: {name: shop}
spec:
  defaultContext: jdbc
  contexts:
    jdbc:
      kafka:
        bootstrap: broker:9093
        security:
          protocol: SASL_SSL
          mechanism: SCRAM-SHA-512
          username: me
          password: ${env:S1}
          certFile: /c.pem
          keyFile: /k.pem
          keyPassword: ${env:S2}
      spark:
        options:
          spark.hadoop.fs.s3a.access.key: ${env:S3}
          spark.hadoop.fs.s3a.secret.key: ${env:S4}
      catalog:
        type: jdbc
        uri: jdbc:postgresql://db:5432/iceberg
        warehouse: s3://bucket/warehouse
        username: me
        password: ${env:S5}
        options:
          s3.secret-access-key: ${env:S6}
      database:
        url: postgresql://me@db:5432/anabranch
        password: ${env:S7}
    rest:
      catalog:
        type: rest
        uri: https://catalog.example.com
        credential: ${env:S8}
    token:
      catalog:
        type: rest
        uri: https://catalog.example.com
        token: ${env:S9}
"""
REFERENCES = re.findall(r"\$\{env:(S\d)\}", FIELDS)


def run(folder: Path, *arguments: str) -> str:
    """What a user would see of the command, with every secret really in the environment."""
    environment = {**os.environ, **{name: f"{CANARY}-{name}" for name in REFERENCES}}
    done = subprocess.run(
        [sys.executable, "-m", "anabranch", *arguments, "--project", str(folder)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


@pytest.fixture
def secretive(shop: Path) -> Path:
    (shop / "anabranch.yaml").write_text(FIELDS)
    return shop


def secrets_of(loaded: LoadedProject) -> list[str]:
    found = loaded.settings
    plain = [found.catalog.password, found.catalog.credential, found.catalog.token, found.database.password]
    if found.kafka.security is not None:
        plain += [found.kafka.security.password, found.kafka.security.key_password]
    options = [*found.spark.options.values(), *found.catalog.options.values()]
    return [s.reveal() for s in [*plain, *options] if s is not None and not isinstance(s, str)]


def test_by_reference_it_is_revealed_on_request_and_shown_nowhere(
    secretive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in REFERENCES:
        monkeypatch.setenv(name, f"{CANARY}-{name}")
    revealed: list[str] = []
    for context in ("jdbc", "rest", "token"):
        loaded = load_project(secretive, context, {})
        revealed += secrets_of(loaded)
        shown = [repr(loaded), str(loaded.settings), loaded.settings.model_dump_json(), repr(as_plain(loaded.settings))]
        assert CANARY not in "".join(shown)
        assert "${env:S" in "".join(shown)
    assert sorted(revealed) == sorted(f"{CANARY}-{name}" for name in REFERENCES)


def test_by_reference_no_command_prints_it(secretive: Path) -> None:
    printed = run(secretive, "check", "-o", "json") + run(secretive, "--debug", "check")
    assert CANARY not in printed
    assert '"ok": true' in printed


def test_inline_it_is_refused_and_not_repeated_even_with_debug(secretive: Path) -> None:
    (secretive / "anabranch.yaml").write_text(re.sub(r"\$\{env:(S\d)\}", rf"{CANARY}-\1", FIELDS))
    printed = run(secretive, "check", "-o", "json")
    assert printed.count("must be a reference") >= len(REFERENCES)
    debugged = run(secretive, "--debug", "check", "-o", "json")
    assert "Traceback" in debugged
    assert CANARY not in printed + debugged
