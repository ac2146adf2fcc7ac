"""The scorecard as one self-contained HTML page, for whoever has to say yes and was not at the terminal."""

from __future__ import annotations

import json
from importlib.resources import files

from anabranch.gates.colour import Colour
from anabranch.gates.gate import Judgement
from anabranch.gates.scorecard import Scorecard
from anabranch.pages.html import Html, join, moment, tag

_STYLE = """
.lamp { display: inline-block; min-width: 4.6rem; text-align: center; border-radius: 999px; padding: .05rem .6rem;
  font-weight: 600; font-size: .85rem; }
.lamp.green { background: var(--good-paper); color: var(--good); }
.lamp.yellow { background: var(--warn-paper); color: var(--warn); }
.lamp.red { background: var(--bad-paper); color: var(--bad); border: 1px solid var(--bad); }
time { white-space: nowrap; }
tr.closed > * { background: var(--bad-paper); }
.verdict.waiting { background: var(--warn-paper); border-color: var(--warn); }
.gates td { overflow-wrap: anywhere; }
.gates td:nth-child(3) { min-width: 18rem; }
.gates td:nth-child(2) { white-space: nowrap; font-weight: 600; }
.override { color: var(--mark); font-weight: 600; margin: .35rem 0 0; }
.gates details pre { margin: .25rem 0 0; white-space: pre-wrap; font-size: .8rem; }
@media (max-width: 40rem) {
  .gates thead { display: none; } .gates tr { display: block; padding: .5rem 0; border-top: 1px solid var(--line); }
  .gates td { display: block; border: 0; padding: .1rem .75rem; }
  .gates td[data-label]::before { content: attr(data-label) ": "; color: var(--soft); font-weight: 400; }
}
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'"


def render_scorecard(card: Scorecard, contract: str) -> str:
    style = files("anabranch.pages").joinpath("page.css").read_text(encoding="utf-8")
    subject = contract if card.run is None else f"{contract}, run {card.run}"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("meta", name_="viewport", content="width=device-width, initial-scale=1"),
        tag("title", f"Gates of {subject}"),
        tag("style", Html(style + _STYLE)),
    )
    main = tag("main", _header(card, subject), tag("section", tag("h2", "Gates"), _table(card)))
    body = tag("body", main, _footer(card))
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def _header(card: Scorecard, subject: str) -> Html:
    counts = {"tested": Colour.GREEN, "designed, not tested": Colour.YELLOW, "unknown or failed": Colour.RED}
    tiles = [
        *((f"{card.counts[colour.value]}", f"{colour.value}: {words}") for words, colour in counts.items()),
        (f"{len(card.overrides)}", "overridden by name"),
    ]
    facts = {"Plan": tag("code", card.plan), "Judged": join((moment(card.at, seconds=True), " UTC"))}
    return tag(
        "header",
        tag("h1", f"Gates of {subject}"),
        _verdict(card),
        tag("div", *(tag("div", tag("b", n), tag("span", words), class_="tile") for n, words in tiles), class_="tiles"),
        tag("dl", *(part for k, v in facts.items() for part in (tag("dt", k), tag("dd", v))), class_="facts"),
    )


def _verdict(card: Scorecard) -> Html:
    if card.closed:
        names = ", ".join(each.gate for each in card.closed)
        return tag(
            "div",
            tag("strong", f"Closed by {names}"),
            f"Nothing is replayed or promoted until this is fixed or somebody answers for it by name. "
            f"{card.stakes.words[0].upper()}{card.stakes.words[1:]}.",
            class_="verdict rejected",
        )
    untested = card.counts[Colour.YELLOW.value]
    red = [each.gate for each in card.judgements if each.colour is Colour.RED]
    if red:
        words = f"Red and not blocking: {', '.join(red)}. {card.stakes.words[0].upper()}{card.stakes.words[1:]}."
        return tag("div", tag("strong", "Open"), words, class_="verdict waiting")
    if card.colour is Colour.GREEN:
        return tag("div", tag("strong", "Open"), "Every gate was tested.", class_="verdict accepted")
    words = f"Nothing stands in the way. {untested} gates rest on design and not on a test."
    return tag("div", tag("strong", "Open"), words, class_="verdict waiting")


def _table(card: Scorecard) -> Html:
    names = ("", "Gate", "What is known", "Turns green by", "Answers for it", "Measured (UTC)")
    head = tag("thead", tag("tr", *(tag("th", name) for name in names)))
    return tag(
        "div",
        tag("table", head, tag("tbody", *(_row(card, each) for each in card.judgements)), class_="gates"),
        class_="scroll",
    )


def _row(card: Scorecard, each: Judgement) -> Html:
    override = card.overrides.get(each.gate)
    answered = (
        None
        if override is None
        else tag(
            "p", f"Overridden by {override.by} on {override.at:%Y-%m-%d %H:%M}: {override.reason}", class_="override"
        )
    )
    known = card.acknowledged.get(each.gate)
    acknowledged = (
        None
        if known is None
        else tag(
            "p", f"Red, acknowledged by {known.by} on {known.at:%Y-%m-%d %H:%M}: {known.reason}", class_="override"
        )
    )
    figures = json.dumps(dict(each.figures), indent=2, ensure_ascii=False)
    until = [] if each.good_until is None else [tag("br"), "good until ", moment(each.good_until)]
    return tag(
        "tr",
        tag("td", tag("span", each.colour.value, class_=f"lamp {each.colour.value}")),
        tag("td", each.gate, data_label="Gate"),
        tag(
            "td",
            each.words,
            answered,
            acknowledged,
            tag("details", tag("summary", "figures"), tag("pre", figures)),
            data_label="What is known",
        ),
        tag("td", each.to_green, data_label="Turns green by" if each.to_green else None),
        tag("td", each.owner, data_label="Answers for it"),
        tag("td", moment(each.at), *until, data_label="Measured"),
        class_="closed" if each in card.closed else None,
    )


def _footer(card: Scorecard) -> Html:
    again = f"anabranch gates {card.run or '-f CONTRACT'}"
    return tag("footer", "Again: ", tag("code", again), " · This page is one file and loads nothing.")
