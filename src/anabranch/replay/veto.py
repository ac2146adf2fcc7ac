"""What an answer of the veto's address means. Fail closed: only 200 with {"allow": true} lets a slice begin. Pure."""

from __future__ import annotations

import json

from anabranch.replay.allowance import UNLIMITED, Allowance

LONGEST_REASON = 200


def read_veto(status: int, body: bytes) -> Allowance:
    """The allowance by an HTTP answer."""
    if status != 200:
        return denied(f"the veto answered with status {status}")
    try:
        answer = json.loads(body)
    except ValueError:
        return denied("the veto's answer is not JSON")
    if not isinstance(answer, dict) or not isinstance(answer.get("allow"), bool):
        return denied('the veto\'s answer has no "allow" of true or false')
    if answer["allow"]:
        return UNLIMITED
    reason = answer.get("reason")
    return denied(f"vetoed: {_printable(reason)}" if isinstance(reason, str) and reason.strip() else "vetoed")


def denied(reason: str) -> Allowance:
    return Allowance("veto", reason, paused=True)


def _printable(reason: str) -> str:
    return "".join(each if each.isprintable() else " " for each in reason)[:LONGEST_REASON].strip()
