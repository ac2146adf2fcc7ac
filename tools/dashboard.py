"""Writes the Grafana dashboard, src/anabranch/monitoring/dashboard.json: `make monitoring`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DOCUMENT = Path(__file__).parents[1] / "src" / "anabranch" / "monitoring" / "dashboard.json"
UID = "anabranch"
_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
_PIPELINE, _RUN = 'pipeline=~"$pipeline"', 'run=~"$run"'
_WIDTH, _HEIGHT = 24, 8


@dataclass(frozen=True)
class Panel:
    title: str
    unit: str
    queries: tuple[tuple[str, str], ...]
    """Expression and legend of each."""
    kind: str = "timeseries"
    width: int = 8
    description: str = ""


ROWS: tuple[tuple[str, tuple[Panel, ...]], ...] = (
    (
        "Now",
        (
            Panel("Sources", "none", (("anabranch_up", "{{source}}"),), "stat", 8, "1: the source can be read."),
            Panel(
                "Open runs by state",
                "none",
                ((f"count by (state) (anabranch_run_state{{{_RUN}}})", "{{state}}"),),
                "stat",
                8,
            ),
            Panel("Audit chain", "none", (("anabranch_audit_chain_intact", "intact"),), "stat", 4),
            Panel(
                "Since the last promotion",
                "s",
                ((f"time() - anabranch_last_success_timestamp_seconds{{{_PIPELINE}}}", "{{pipeline}}"),),
                "stat",
                4,
            ),
        ),
    ),
    (
        "Live",
        (
            Panel("Lag", "short", ((f"anabranch_live_lag_records{{{_PIPELINE}}}", "{{pipeline}}"),)),
            Panel("Drain rate", "cps", ((f"anabranch_drain_rate_records_per_second{{{_PIPELINE}}}", "{{pipeline}}"),)),
            Panel("Lag in time", "s", ((f"anabranch_live_lag_seconds{{{_PIPELINE}}}", "{{pipeline}}"),)),
            Panel("Commit latency", "s", ((f"anabranch_live_commit_latency_seconds{{{_PIPELINE}}}", "{{pipeline}}"),)),
            Panel("Freshness", "s", ((f"anabranch_live_freshness_seconds{{{_PIPELINE}}}", "{{pipeline}}"),)),
            Panel(
                "Quarantined by live",
                "cps",
                (
                    (
                        f'rate(anabranch_quarantined_total{{traffic="live",{_PIPELINE}}}[$__rate_interval])',
                        "{{pipeline}}",
                    ),
                ),
            ),
            Panel("Data files", "short", (("anabranch_table_files", "{{table}}"),)),
            Panel("Snapshots", "short", (("anabranch_table_snapshots", "{{table}}"),)),
        ),
    ),
    (
        "Backfill",
        (
            Panel("Progress", "percentunit", ((f"anabranch_run_progress_ratio{{{_RUN}}}", "{{run}}"),)),
            Panel("Time left", "s", ((f"anabranch_run_eta_seconds{{{_RUN}}}", "{{run}}"),)),
            Panel("Byte rate", "Bps", ((f"anabranch_rate_bytes_per_second{{{_RUN}}}", "{{run}} {{kind}}"),)),
            Panel(
                "Records by outcome",
                "cps",
                (
                    (
                        f"sum by (outcome) (rate(anabranch_records_total{{{_PIPELINE}}}[$__rate_interval]))",
                        "{{outcome}}",
                    ),
                ),
            ),
            Panel(
                "Bytes read",
                "Bps",
                ((f"rate(anabranch_read_bytes_total{{{_PIPELINE}}}[$__rate_interval])", "{{pipeline}}"),),
            ),
            Panel(
                "Slices by outcome",
                "short",
                ((f"sum by (state) (increase(anabranch_slices_total{{{_PIPELINE}}}[1h]))", "{{state}}"),),
                description="In the last hour.",
            ),
            Panel(
                "Held by a limit",
                "percentunit",
                (
                    (
                        f"sum by (reason) (rate(anabranch_throttled_seconds_total{{{_PIPELINE}}}[$__rate_interval]))",
                        "{{reason}}",
                    ),
                ),
                description="Share of the time, over all replays, in which each source of limits held one.",
            ),
            Panel("Pressure", "percentunit", ((f"anabranch_governor_pressure_ratio{{{_RUN}}}", "{{run}} {{signal}}"),)),
            Panel("Age of signals", "s", ((f"anabranch_signal_age_seconds{{{_RUN}}}", "{{run}} {{signal}}"),)),
            Panel("Effect on live", "percentunit", ((f"anabranch_impact_ratio{{{_RUN}}}", "{{run}} {{bound}}"),)),
            Panel("Retention headroom", "s", ((f"anabranch_retention_headroom_seconds{{{_RUN}}}", "{{run}}"),)),
            Panel("Waiting runs", "short", (("anabranch_queue_length", "waiting"),)),
            Panel("Replay budget", "Bps", (("anabranch_budget_bytes_per_second", "budget"),)),
            Panel("Orphan quotas", "short", (("anabranch_orphan_quotas", "orphans"),)),
            Panel("Cost of the budget", "percentunit", ((f"anabranch_cost_ratio{{{_RUN}}}", "{{run}}"),)),
            Panel(
                "Quarantined by replay",
                "cps",
                (
                    (
                        f'rate(anabranch_quarantined_total{{traffic="replay",{_PIPELINE}}}[$__rate_interval])',
                        "{{pipeline}}",
                    ),
                ),
            ),
        ),
    ),
)


def dashboard() -> dict[str, Any]:
    panels: list[dict[str, Any]] = []
    top = 0
    for title, row in ROWS:
        place = {"h": 1, "w": _WIDTH, "x": 0, "y": top}
        panels.append({"id": len(panels) + 1, "type": "row", "title": title, "collapsed": False, "gridPos": place})
        panels[-1]["panels"] = []
        top, left = top + 1, 0
        for panel in row:
            if left + panel.width > _WIDTH:
                top, left = top + _HEIGHT, 0
            panels.append(_panel(len(panels) + 1, panel, left, top))
            left += panel.width
        top += _HEIGHT
    return {
        "uid": UID,
        "title": "Anabranch",
        "description": "Live and backfills of Anabranch, from `anabranch metrics serve`.",
        "tags": ["anabranch", "kafka"],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "timezone": "browser",
        "templating": {"list": _variables()},
        "panels": panels,
    }


def _panel(number: int, panel: Panel, left: int, top: int) -> dict[str, Any]:
    return {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        "description": panel.description,
        "datasource": _SOURCE,
        "gridPos": {"h": _HEIGHT, "w": panel.width, "x": left, "y": top},
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "targets": [
            {"refId": chr(ord("A") + index), "datasource": _SOURCE, "expr": expression, "legendFormat": legend}
            for index, (expression, legend) in enumerate(panel.queries)
        ],
    }


def _variables() -> list[dict[str, Any]]:
    def labels(name: str, query: str) -> dict[str, Any]:
        return {
            "name": name,
            "type": "query",
            "datasource": _SOURCE,
            "query": {"query": query, "refId": name},
            "refresh": 2,
            "includeAll": True,
            "multi": True,
            "allValue": ".*",
            "current": {"text": ["All"], "value": ["$__all"]},
        }

    return [
        {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"},
        labels("pipeline", "label_values(anabranch_records_total, pipeline)"),
        labels("run", f"label_values(anabranch_run_info{{{_PIPELINE}}}, run)"),
    ]


def render() -> str:
    return json.dumps(dashboard(), indent=2) + "\n"


def main() -> None:
    DOCUMENT.write_text(render(), encoding="utf-8")


if __name__ == "__main__":
    main()
