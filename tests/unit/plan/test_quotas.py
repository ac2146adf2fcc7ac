"""Precedence as Kafka defines it, the share of one broker, and what a plan says."""

from __future__ import annotations

from itertools import product

import pytest

from anabranch.plan.quotas import DEFAULT, FLOOR, Quota, QuotaEntity, QuotaForecast, matching, per_broker

KINDS = {"named": "ann", "default": DEFAULT, "absent": None}
BY_THE_DOCUMENTATION = [
    # https://kafka.apache.org/documentation/#design_quotasconfig, most specific first.
    ("named", "named"),
    ("named", "default"),
    ("named", "absent"),
    ("default", "named"),
    ("default", "default"),
    ("default", "absent"),
    ("absent", "named"),
    ("absent", "default"),
]


def entity(user: str, client: str) -> QuotaEntity:
    return QuotaEntity(KINDS[user], {"named": "replay", "default": DEFAULT, "absent": None}[client])


def test_of_all_quotas_that_match_the_most_specific_comes_first() -> None:
    every = [Quota(entity(u, c), 1) for u, c in product(KINDS, KINDS) if (u, c) != ("absent", "absent")]
    found = [each.entity for each in matching(reversed(every), "ann", "replay")]
    assert found == [entity(*each) for each in BY_THE_DOCUMENTATION]


def test_a_quota_of_the_client_id_alone_loses_to_any_user_s() -> None:
    quotas = [Quota(QuotaEntity(None, "replay"), 1), Quota(QuotaEntity(DEFAULT, None), 2)]
    assert [each.value for each in matching(quotas, "ann", "replay")] == [2, 1]


def test_quotas_of_other_users_and_clients_do_not_match() -> None:
    quotas = [
        Quota(QuotaEntity("bob", None), 1),
        Quota(QuotaEntity(None, "other"), 2),
        Quota(QuotaEntity("ann", "x"), 3),
    ]
    assert matching(quotas, "ann", "replay") == []
    assert matching(quotas, None, "replay") == [], "an unknown user may be any of them, and is taken for none"


@pytest.mark.parametrize(
    ("leader_bytes", "expected"),
    [
        ({1: 10}, 9_000_000),
        ({1: 10, 2: 10, 3: 10}, 3_000_000),
        ({1: 50, 2: 30, 3: 20}, 4_500_000),
        ({1: 1, 2: 1, 3: 0}, 4_500_000),
        ({}, 9_000_000),
        (dict.fromkeys(range(100), 1), FLOOR),
    ],
)
def test_a_broker_gets_the_share_of_the_one_that_leads_most(leader_bytes: dict[int, int], expected: int) -> None:
    assert per_broker(9_000_000, leader_bytes) == expected


OURS = QuotaEntity("ann", "anabranch-replay-RUN")
OPERATORS = Quota(QuotaEntity("ann", None), 2_000_000)


@pytest.mark.parametrize(
    ("forecast", "words"),
    [
        (QuotaForecast(enabled=False), "none (kafka.quota: false): only the client limits the replay"),
        (QuotaForecast(True, OURS, refused="denied"), "none: only the client limits the replay; denied"),
        (
            QuotaForecast(True, OURS, value=5_000_000),
            "5.0 MB/s on each broker for user ann, client-id anabranch-replay-RUN, removed at the end",
        ),
        (
            QuotaForecast(True, OURS, others=(OPERATORS,), value=5_000_000),
            "2.0 MB/s per broker for user ann applies already and is not higher; none is set beside it",
        ),
        (
            QuotaForecast(True, OURS, others=(OPERATORS,), value=1_000_000),
            "1.0 MB/s on each broker for user ann, client-id anabranch-replay-RUN, removed at the end; "
            "applies already: 2.0 MB/s per broker for user ann",
        ),
    ],
)
def test_the_plan_says_what_the_brokers_will_do(forecast: QuotaForecast, words: str) -> None:
    assert forecast.words == words
    assert forecast.document()["words"] == words
