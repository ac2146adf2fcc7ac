"""Settings of the veto, hooks, metrics, outages and the replay budget: defaults, and what they refuse."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from anabranch.project.model import Part, Surroundings
from anabranch.project.sections.hooks import HookSettings
from anabranch.project.sections.metrics import MetricsSettings, metrics_url
from anabranch.project.sections.outage import OutageSettings
from anabranch.project.sections.replay_budget import ReplayBudgetSettings
from anabranch.project.sections.veto import VetoSettings

URL = "https://change.example.com/may-replay"
TOKEN = "${env:VETO_TOKEN}"


def settings(section: type[Part], keys: dict[str, Any]) -> Any:
    return section.model_validate(keys, context=Surroundings(Path()))


def test_the_defaults_are_those_of_the_documentation() -> None:
    veto = settings(VetoSettings, {"url": URL})
    assert (veto.token, veto.timeout, veto.every) == (None, timedelta(seconds=5), timedelta(seconds=10))
    hooks = settings(HookSettings, {})
    assert (hooks.commands, hooks.timeout, dict(hooks.environment)) == ({}, timedelta(minutes=1), {})
    assert settings(ReplayBudgetSettings, {"bytesPerSecond": "50MiB"}).runs == 2
    assert settings(OutageSettings, {}).pause_after == timedelta(minutes=15)
    metrics = settings(MetricsSettings, {})
    assert (metrics.port, metrics.bind) == (None, "127.0.0.1")


@pytest.mark.parametrize(
    ("section", "keys", "words"),
    [
        (VetoSettings, {}, "required"),
        (VetoSettings, {"url": "ftp://change.example.com"}, "must start with https:// or http://"),
        (VetoSettings, {"url": "https://ann:secret@change.example.com"}, "must not contain a password"),
        (VetoSettings, {"url": "https://change.example.com?token=secret"}, "must not contain a password"),
        (VetoSettings, {"url": "http://change.example.com", "token": TOKEN}, "plain text"),
        (VetoSettings, {"url": URL, "token": "secret"}, "reference"),
        (VetoSettings, {"url": URL, "timeout": "0s"}, "zero"),
        (HookSettings, {"beforeReplay": []}, "at least 1"),
        (HookSettings, {"beforeReplay": "scale-up.sh 4"}, "tuple"),
        (HookSettings, {"environment": {"ANABRANCH_RUN": TOKEN}}, "not a name for a variable of a hook"),
        (HookSettings, {"environment": {"1ST": TOKEN}}, "not a name for a variable of a hook"),
        (HookSettings, {"environment": {"PAGER": "secret"}}, "reference"),
        (ReplayBudgetSettings, {"bytesPerSecond": "50MiB", "runs": 0}, "greater than"),
        (ReplayBudgetSettings, {"runs": 2}, "required"),
        (ReplayBudgetSettings, {"bytesPerSecond": "0MB"}, "not a size"),
        (OutageSettings, {"pauseAfter": "soon"}, "not a duration"),
        (MetricsSettings, {"bind": "localhost"}, "not an IP address"),
        (MetricsSettings, {"port": 70_000}, "65535"),
    ],
)
def test_what_makes_no_sense_is_refused(section: type[Part], keys: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError) as refused:
        settings(section, keys)
    assert words in str(refused.value.errors())
    assert "secret" not in str([each["msg"] for each in refused.value.errors()])


def test_a_token_goes_over_https_only() -> None:
    assert settings(VetoSettings, {"url": URL, "token": TOKEN}).token is not None
    assert settings(VetoSettings, {"url": "http://127.0.0.1:8080/may"}).token is None


def test_hooks_are_known_by_the_key_in_the_file() -> None:
    given = {"beforeReplay": ["scale.sh", "4"], "afterClose": ["announce.sh"], "environment": {"PAGER": TOKEN}}
    assert settings(HookSettings, given).commands == {"beforeReplay": ("scale.sh", "4"), "afterClose": ("announce.sh",)}


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:9464/metrics"),
        ("0.0.0.0", "http://127.0.0.1:9464/metrics"),  # noqa: S104
        ("::", "http://[::1]:9464/metrics"),
        ("2001:db8::7", "http://[2001:db8::7]:9464/metrics"),
    ],
)
def test_an_endpoint_that_listens_everywhere_is_read_from_this_machine(host: str, url: str) -> None:
    assert metrics_url(host, 9464) == url
