"""Gate: how live is can be seen while the replay runs."""

from __future__ import annotations

from collections.abc import Iterator

from anabranch.gates.colour import Colour
from anabranch.gates.facts import Facts
from anabranch.gates.gate import Finding, Judgement, judged

NAME = "observability"
_WHO = {"group": "its consumer group", "table": "its commits to the table"}


def judge(facts: Facts) -> Judgement:
    live = facts.live
    return judged(
        NAME,
        list(_findings(facts)),
        f"live is {live.lag or 0:,} offsets behind, by {_WHO.get(live.by or '', '')}; metrics are served",
        owner=facts.pipeline.spec.owner,
        at=facts.now,
        figures={"lag": live.lag, "lag_by": live.by, "metrics": facts.metrics},
    )


def _findings(facts: Facts) -> Iterator[Finding]:
    live, group = facts.live, facts.pipeline.spec.consumer_group
    if live.refused is not None:
        words = f"how far live is can't be read: {live.refused}"
        yield Finding(Colour.RED, words, f"let this user describe the group {group} and the topic")
    elif live.lag is None:
        words = "nobody says how far live is: neither its consumer group nor a commit to the table"
        yield Finding(Colour.YELLOW, words, f"anabranch live start {facts.plan.pipeline}")
    if not facts.metrics:
        words = "no metrics are served" if live.lag is None else f"live is {live.lag:,} offsets behind; no metrics"
        yield Finding(Colour.YELLOW, words, "metrics: {port: 9464} in the context")
