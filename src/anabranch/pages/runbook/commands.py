"""The commands of a run, when each is possible, and who may run it."""

from __future__ import annotations

from collections.abc import Iterable

from anabranch.pages.runbook.document import Block, Code, Paragraph, Text, grid
from anabranch.pages.runbook.situation import Situation

EVERYBODY = "everyone"


def commands(now: Situation) -> tuple[Block, ...]:
    run = now.run.id
    rows: list[tuple[str, str, str, str]] = [
        ("Show its state", f"status {run}", "always", EVERYBODY),
        ("Pause the replay", f"pause {run}", "replaying; after the current slice", EVERYBODY),
        ("Resume the replay", f"resume {run}", "paused", steering(now)),
        (
            "Limit its rate",
            f"throttle {run} --rate 10MiB",
            "replaying; within the current slice",
            steering(now),
        ),
        ("Continue after a crash", f"retry {run}", "failed, paused, or its process has ended", EVERYBODY),
        ("Validate again", f"validate {run}", "every slice is staged; not promoted", EVERYBODY),
        ("Approve", f"approve {run}", "not promoted", approving(now)),
        ("Revoke approvals", f'revoke {run} --reason "…"', "not promoted", EVERYBODY),
        ("Promote", f"promote {run}", f"validated{' and approved' if now.needs_approval else ''}", promoting(now)),
        ("Roll back", f"rollback {run}", "promoted, not closed", rolling_back(now)),
        (
            "Roll back in an emergency",
            f'rollback {run} --override --reason "…"',
            "promoted, not closed",
            f"{EVERYBODY}; recorded in the audit chain",
        ),
        ("Abandon, before promotion", f"cancel {run}", "then close it", steering(now)),
        ("Abandon, after promotion", f"rollback {run}", "then close it", rolling_back(now)),
        ("Close", f"close {run}", closing(now), steering(now)),
        (
            "Close within the rollback horizon",
            f'close {run} --forfeit-rollback --reason "…"',
            "promoted; no rollback afterwards",
            f"{steering(now)}; recorded in the audit chain",
        ),
        ("Show its history", f"log {run}", "always", EVERYBODY),
        ("Update this page", f"runbook {run}", "always", EVERYBODY),
    ]
    shown: Iterable[tuple[Text, ...]] = ((to, Code(now.command(words)), when, who) for to, words, when, who in rows)
    return (
        Paragraph("Run them in the project's folder. Each is idempotent."),
        grid(("To", "Command", "When", "Who"), shown),
    )


def steering(now: Situation) -> str:
    return _people((*now.roles.operators, now.run.author)) if now.roles.operators else EVERYBODY


def approving(now: Situation) -> str:
    if not now.roles.approvers:
        return f"{EVERYBODY} but the author, {now.run.author}" if now.needs_approval else EVERYBODY
    others = [each for each in now.roles.approvers if each != now.run.author or not now.needs_approval]
    return _people(others) or f"no one: the only approver, {now.run.author}, is the author"


def promoting(now: Situation) -> str:
    barred = {now.run.author} if now.needs_approval and not now.author_may_promote else set()
    if not now.roles.operators:
        return f"{EVERYBODY} but the author, {now.run.author}" if barred else EVERYBODY
    others = [each for each in now.roles.operators if each not in barred]
    return _people(others) or f"no one: the only operator, {now.run.author}, is the author"


def rolling_back(now: Situation) -> str:
    return _people((*now.roles.rollback, now.authority))


def closing(now: Situation) -> str:
    horizon = now.rollback_horizon
    if horizon is None:
        return "rolled back or cancelled; promoted, after the rollback horizon"
    return f"from {horizon.ends_at:%Y-%m-%d %H:%M} on, after the rollback horizon"


def _people(names: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(names))
