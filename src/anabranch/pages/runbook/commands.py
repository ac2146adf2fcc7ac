"""The commands of a run as they are to be typed, when each works, and who may."""

from __future__ import annotations

from collections.abc import Iterable

from anabranch.pages.runbook.document import Block, Code, Paragraph, Text, grid
from anabranch.pages.runbook.situation import Situation

EVERYBODY = "everybody"


def commands(now: Situation) -> tuple[Block, ...]:
    run = now.run.id
    rows: list[tuple[str, str, str, str]] = [
        ("See where it stands", f"status {run}", "always", EVERYBODY),
        ("Pause the replay", f"pause {run}", "while it replays; after the slice at hand", EVERYBODY),
        ("Let it go on", f"resume {run}", "while it is paused", steering(now)),
        ("Slow it down", f"throttle {run} --rate 10MiB", "while it replays, the slice at hand included", steering(now)),
        ("Go on after a crash", f"retry {run}", "failed, paused, or its process is gone", EVERYBODY),
        ("Validate again", f"validate {run}", "everything is staged, and nothing is promoted", EVERYBODY),
        ("Approve", f"approve {run}", "until it is promoted", approving(now)),
        ("Take approvals back", f'revoke {run} --reason "…"', "until it is promoted", EVERYBODY),
        ("Promote", f"promote {run}", f"validated{' and approved' if now.needs_approval else ''}", promoting(now)),
        ("Roll back", f"rollback {run}", "promoted, and not closed", rolling_back(now)),
        (
            "Roll back in an emergency",
            f'rollback {run} --override --reason "…"',
            "promoted, and not closed",
            f"{EVERYBODY}; it goes on record",
        ),
        ("Abandon, before promotion", f"cancel {run}", "then close it", steering(now)),
        ("Abandon, after promotion", f"rollback {run}", "then close it", rolling_back(now)),
        ("Close", f"close {run}", closing(now), steering(now)),
        (
            "Close within the rollback horizon",
            f'close {run} --forfeit-rollback --reason "…"',
            "promoted; it can't be rolled back afterwards",
            f"{steering(now)}; it goes on record",
        ),
        ("Read what happened", f"log {run}", "always", EVERYBODY),
        ("Write this page anew", f"runbook {run}", "always", EVERYBODY),
    ]
    shown: Iterable[tuple[Text, ...]] = ((to, Code(now.command(words)), when, who) for to, words, when, who in rows)
    return (
        Paragraph("Type them in the project's folder. Each can be typed again: what is done is not done twice."),
        grid(("To", "Type", "Works when", "Who may"), shown),
    )


def steering(now: Situation) -> str:
    return _people((*now.roles.operators, now.run.author)) if now.roles.operators else EVERYBODY


def approving(now: Situation) -> str:
    if not now.roles.approvers:
        return f"{EVERYBODY} but the author, {now.run.author}" if now.needs_approval else EVERYBODY
    others = [each for each in now.roles.approvers if each != now.run.author or not now.needs_approval]
    return _people(others) or f"nobody: {now.run.author} is the only approver, and the author"


def promoting(now: Situation) -> str:
    barred = {now.run.author} if now.needs_approval and not now.author_may_promote else set()
    if not now.roles.operators:
        return f"{EVERYBODY} but the author, {now.run.author}" if barred else EVERYBODY
    others = [each for each in now.roles.operators if each not in barred]
    return _people(others) or f"nobody: {now.run.author} is the only operator, and the author"


def rolling_back(now: Situation) -> str:
    return _people((*now.roles.rollback, now.authority))


def closing(now: Situation) -> str:
    horizon = now.rollback_horizon
    if horizon is None:
        return "rolled back or cancelled; promoted, once the rollback horizon is over"
    return f"from {horizon.ends_at:%Y-%m-%d %H:%M} on, when the rollback horizon is over"


def _people(names: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(names))
