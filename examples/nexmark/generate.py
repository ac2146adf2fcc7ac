"""An afternoon of an auction house, made up but always the same: persons, auctions and bids, some of them late.

In the manner of the Nexmark benchmark: of fifty events one is a person, three are auctions and the rest are bids, half
of them on the auction that is hot just then.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from random import Random
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

PERSONS, AUCTIONS, BIDS = "nexmark.persons", "nexmark.auctions", "nexmark.bids"
PARTITIONS = 2
DAY = datetime(2025, 6, 1, tzinfo=timezone.utc)
BEGINNING, SPAN = DAY + timedelta(hours=12), timedelta(hours=6)

_ROUND = 50
_FIRST_ID = 1000
_HOT_EVERY, _OPEN = 10, 40
"""Every tenth auction is a hot one; bids go to the last forty."""
_CHANNELS = ("web", "web", "phone", "phone", "saleroom", "partner", None)
_LATE, _LATEST = 0.05, timedelta(minutes=10)
_STRAY, _STRAYEST = 0.02, timedelta(hours=2)
"""One in fifty was sent by somebody who had been offline, long after anybody waits for it."""


@dataclass(frozen=True)
class Event:
    topic: str
    key: int
    sent: datetime
    value: Mapping[str, Any]


def events(count: int, seed: int) -> Iterator[Event]:
    """`count` events in the order in which they are sent, evenly over the afternoon. The same each time."""
    chance = Random(seed)  # noqa: S311 - made-up bids need no secrets
    for number in range(count):
        sent = BEGINNING + SPAN * number / count
        happened = max(BEGINNING, sent - _delay(chance))
        rounds, place = divmod(number, _ROUND)
        # The last person and auction so far: the first of a round is a person, the next three are auctions.
        person, auction = _FIRST_ID + rounds, _FIRST_ID + 3 * rounds + min(max(place - 1, 0), 2)
        at = _millis(happened)
        if place == 0:
            value = {"person": person, "name": f"person {person}", "city": _city(chance), "date_time": at}
            yield Event(PERSONS, person, sent, value)
        elif place <= 3:
            seller, reserve = _some(chance, person, _OPEN), _price(chance)
            value = {"auction": auction, "seller": seller, "reserve": reserve, "date_time": at}
            yield Event(AUCTIONS, auction, sent, value)
        else:
            hot = max(_FIRST_ID, auction - auction % _HOT_EVERY)
            on = hot if chance.random() < 0.5 else _some(chance, auction, _OPEN)
            value = {
                "bid": number,
                "auction": on,
                "bidder": _some(chance, person, _OPEN),
                "price": _price(chance),
                "channel": chance.choice(_CHANNELS),
                "date_time": at,
            }
            yield Event(BIDS, on, sent, value)


def send(bootstrap: str, sending: Iterable[Event]) -> int:
    """Produce the events and wait until each is acknowledged. Returns how many."""
    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all", "linger.ms": 50})
    failures: list[object] = []
    count = 0

    def heard(error: object, _message: object) -> None:
        if error is not None:
            failures.append(error)

    for event in sending:
        key, value = str(event.key).encode(), json.dumps(event.value).encode()
        while True:
            try:
                producer.produce(event.topic, value, key, on_delivery=heard, timestamp=_millis(event.sent))
                break
            except BufferError:
                producer.poll(0.1)
        producer.poll(0)
        count += 1
    producer.flush()
    if failures:
        raise SystemExit(f"{len(failures)} of {count} events were not acknowledged: {failures[0]}")
    return count


def make_topics(bootstrap: str) -> None:
    """Make those that are missing. Their records have old timestamps, so they are kept for ever."""
    client = AdminClient({"bootstrap.servers": bootstrap})
    wanted = [NewTopic(name, PARTITIONS, 1, config={"retention.ms": "-1"}) for name in (PERSONS, AUCTIONS, BIDS)]
    for made in client.create_topics(wanted).values():
        try:
            made.result()
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise


def _delay(chance: Random) -> timedelta:
    drawn = chance.random()
    if drawn < _STRAY:
        return _STRAYEST * chance.random()
    return _LATEST * chance.random() if drawn < _STRAY + _LATE else timedelta(seconds=2) * chance.random()


def _some(chance: Random, last: int, open_ones: int) -> int:
    return chance.randint(max(_FIRST_ID, last - open_ones + 1), last)


def _price(chance: Random) -> int:
    """In cents, from one dollar to a million, each order of magnitude as often."""
    return round(100 * 10 ** (6 * chance.random()))


def _city(chance: Random) -> str:
    return chance.choice(("Phoenix", "Boise", "Portland", "Seattle", "Cheyenne"))


def _millis(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)


def _hour(text: str) -> datetime:
    hours, minutes = text.split(":")
    return DAY + timedelta(hours=int(hours), minutes=int(minutes))


def _embedded() -> str:
    """Where the project's own broker is, as `anabranch dev status` says."""
    told = subprocess.run(["anabranch", "dev", "status", "-o", "json"], capture_output=True, text=True, check=False)
    if told.returncode:
        raise SystemExit("The stack is not up: `anabranch dev up`, or say where with --bootstrap HOST:PORT.")
    return ",".join(broker["bootstrap"] for broker in json.loads(told.stdout)["brokers"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bootstrap", metavar="HOST:PORT", help="the broker (default: the project's own)")
    parser.add_argument("--since", type=_hour, default=BEGINNING, metavar="HH:MM", help="only what was sent from then")
    parser.add_argument("--until", type=_hour, default=BEGINNING + SPAN, metavar="HH:MM", help="only what before then")
    parser.add_argument("--events", type=int, default=3000, help="of the whole afternoon (default: 3000)")
    parser.add_argument("--seed", type=int, default=7, help="another one, another afternoon")
    asked = parser.parse_args()
    bootstrap = asked.bootstrap or _embedded()
    make_topics(bootstrap)
    wanted = (event for event in events(asked.events, asked.seed) if asked.since <= event.sent < asked.until)
    print(f"{send(bootstrap, wanted):,} events were sent.")


if __name__ == "__main__":
    main()
