"""Gate: live's lag and the replay's progress can be monitored separately while the replay runs."""

from __future__ import annotations

from collections.abc import Iterator

from anabranch.gates.facts import GateFacts
from anabranch.gates.gate import GateFinding, Judgement, judged, unknown, untested

NAME = "observability"
LIVE_LAG, REPLAYED = "anabranch_live_lag_records", "anabranch_records_total"
METRICS = (LIVE_LAG, REPLAYED)
"""The metrics that an endpoint must serve of the pipeline: live's lag and the replay's progress."""
_BY = {"group": "its consumer group", "table": "its commits to the table"}


def judge_observability(facts: GateFacts) -> Judgement:
    live, metrics = facts.live, facts.metrics
    return judged(
        NAME,
        list(_findings(facts)),
        f"live is {live.lag or 0:,} offsets behind, by {_BY.get(live.by or '', '')}; {metrics.url} serves "
        f"{' and '.join(METRICS)}",
        owner=facts.pipeline.spec.owner,
        at=facts.now,
        figures={"lag": live.lag, "lag_by": live.by, "metrics_url": metrics.url, "metrics": list(metrics.names)},
    )


def _findings(facts: GateFacts) -> Iterator[GateFinding]:
    live, metrics, group = facts.live, facts.metrics, facts.pipeline.spec.consumer_group
    serve = "anabranch metrics serve" if metrics.url else "set metrics.port, then: anabranch metrics serve"
    if live.refused is not None:
        words = f"live's lag can't be read: {live.refused}"
        yield unknown(words, f"let this user describe the group {group} and the topic")
    elif live.lag is None:
        words = "live's lag is unknown: neither its consumer group nor a commit to the table has a position"
        yield unknown(words, f"anabranch live start {facts.plan.pipeline}")
    seen = "" if live.lag is None else f"live is {live.lag:,} offsets behind, by {_BY[live.by or 'group']}; "
    if metrics.url is None:
        yield untested(f"{seen}`anabranch status` shows the replay, and no metrics endpoint is configured", serve)
    elif metrics.refused is not None:
        yield untested(f"{seen}{metrics.url} can't be read: {metrics.refused}", serve)
    elif metrics.missing:
        lacking = " and ".join(metrics.missing)
        yield untested(f"{seen}{metrics.url} does not serve {lacking} of {facts.plan.pipeline}", serve)
