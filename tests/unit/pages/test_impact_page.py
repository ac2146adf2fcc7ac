"""The page of an experiment: what it says, what it draws, and that nothing in it can become markup."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime, timezone
from math import log

import pytest
from tests.unit.gates.facts import impact

from anabranch.gates.evidence import Evidence
from anabranch.gates.impact.effect import paired_effect
from anabranch.gates.impact.measured import read_impact
from anabranch.pages.impact import interval_chart, pairs_chart, render_impact

NOW = datetime(2025, 7, 1, 12, tzinfo=timezone.utc)
HARM = (1.4, 1.6, 1.5, 1.45, 1.55, 1.5)
NONE = (1.02, 0.98, 1.01, 0.99, 1.03, 0.97)


def page(found: dict[str, object], subject: str = "run r1") -> str:
    return render_impact(Evidence("impact", "contract/c", NOW, None, "ann", found), subject)


def test_harm_no_harm_and_too_few_pairs_have_their_verdict() -> None:
    assert "The replay slows live down" in page(impact(*HARM))
    assert "No harm to live found" in page(impact(*NONE))
    assert "No 95 % statement: 5 pairs count, 6 are needed" in page(impact(*NONE[:5]))


def test_every_pair_is_drawn_and_every_block_is_listed() -> None:
    text = page(impact(*HARM))
    assert text.count('<circle class="on"') == text.count('<circle class="off"') == 2 * len(HARM)
    assert len(re.findall(r"<td>\d+</td><td>\d+</td><td>(?:on|off)</td>", text)) == 2 * len(HARM)
    assert text.count('class="span"') == 2, "an interval of latency and one of lag"


def test_without_any_measurement_the_page_says_so() -> None:
    found = read_impact(impact(*HARM))
    nothing = replace(found, blocks=tuple(replace(each, latency=None, lag=None) for each in found.blocks))
    text = page(nothing.document())
    assert text.count("Not measured in both blocks of any pair.") == 2
    assert "No 95 % statement" in text


def test_the_interval_is_drawn_where_it_is() -> None:
    effect = paired_effect([log(each) for each in HARM])
    assert effect is not None
    chart = interval_chart("latency", effect, "", lambda value: f"{value:.2f}")
    assert chart.low is not None
    assert chart.high is not None
    assert chart.none < chart.low < chart.mean < chart.high
    assert chart.detectable is None, "an effect was found"
    few = paired_effect([0.1, 0.2])
    assert few is not None
    assert interval_chart("latency", few, "", str).low is None


@pytest.mark.parametrize("logarithmic", [True, False])
def test_higher_values_are_drawn_higher_and_within_the_plot(logarithmic: bool) -> None:
    chart = pairs_chart(
        read_impact(impact(*HARM)), "latency", "Latency", lambda each: each.latency, logarithmic=logarithmic
    )
    assert chart is not None
    for pair in chart.pairs:
        assert 12 <= pair.on < pair.off <= 196
        assert pair.x_on < pair.x_off, "the block with the replay came first"


def test_a_name_can_not_become_markup() -> None:
    assert "<script>" not in page(impact(*HARM), "<script>alert(1)</script>")
