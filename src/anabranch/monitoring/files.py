"""The alert rules and the dashboard, as files of this package."""

from __future__ import annotations

from importlib.resources import files

RULES, DASHBOARD = "alerts.yaml", "dashboard.json"


def read_file(name: str) -> str:
    return (files("anabranch.monitoring") / name).read_text(encoding="utf-8")
