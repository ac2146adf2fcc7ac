"""The scorecard as one self-contained HTML page, for approvers who don't use the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from anabranch.gates.colour import Colour
from anabranch.gates.gate import Judgement
from anabranch.gates.scorecard import Scorecard
from anabranch.pages.environment import render

_MEANING = {Colour.GREEN: "tested", Colour.YELLOW: "designed, not tested", Colour.RED: "unknown or failed"}


class _Verdict(NamedTuple):
    kind: str
    title: str
    words: str


def render_scorecard(card: Scorecard, contract: str) -> str:
    def answers(gate: str) -> Iterator[tuple[str, str, datetime, str]]:
        if override := card.overrides.get(gate):
            yield "Overridden", override.by, override.at, override.reason
        if known := card.acknowledged.get(gate):
            yield "Red, acknowledged", known.by, known.at, known.reason

    return render(
        "gates.html",
        card=card,
        subject=contract if card.run is None else f"{contract}, run {card.run}",
        verdict=_verdict(card),
        tiles=[
            *((str(card.counts[colour.value]), f"{colour.value}: {words}") for colour, words in _MEANING.items()),
            (str(len(card.overrides)), "overridden"),
        ],
        answers=answers,
        figures=_figures,
    )


def _verdict(card: Scorecard) -> _Verdict:
    stakes = f"{card.stakes.words[:1].upper()}{card.stakes.words[1:]}."
    if card.closed:
        names = ", ".join(each.gate for each in card.closed)
        words = "Replay and promotion are blocked until the cause is fixed or the gate is overridden."
        return _Verdict("rejected", f"Closed by {names}", f"{words} {stakes}")
    red = [each.gate for each in card.judgements if each.colour is Colour.RED]
    if red:
        return _Verdict("waiting", "Open", f"Red and not blocking: {', '.join(red)}. {stakes}")
    if card.colour is Colour.GREEN:
        return _Verdict("accepted", "Open", "Every gate was tested.")
    return _Verdict("waiting", "Open", f"No gate blocks. Designed, not tested: {card.counts[Colour.YELLOW.value]}.")


def _figures(judgement: Judgement) -> str:
    return json.dumps(dict(judgement.figures), indent=2, ensure_ascii=False)
