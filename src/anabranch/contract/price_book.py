"""The price book: price, owner and alert threshold of each meter of a backfill."""

from __future__ import annotations

from datetime import date
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, Strict, WithJsonSchema

from anabranch.project.documents import read_document
from anabranch.project.findings import BadFilesError
from anabranch.project.load import LoadedProject
from anabranch.project.model import Envelope, Part, Surroundings, Words
from anabranch.project.paths import inside
from anabranch.project.quantities import Percentage, Size
from anabranch.project.refusals import refuse
from anabranch.project.validation import validate_document

KIND = "PriceBook"
SHIPPED = "prices.yaml"
"""The default price book, beside this file."""


def _currency(text: str) -> str:
    if not (len(text) == 3 and text.isascii() and text.isupper() and text.isalpha()):
        raise refuse("this is not a currency code", "three capital letters: EUR")
    return text


def _dated(text: str) -> str:
    try:
        date.fromisoformat(text)
    except ValueError:
        raise refuse("this is not a date", "year, month and day: 2025-11-01") from None
    return text


Amount = Annotated[float, Strict(), Field(ge=0)]


class MeterPrice(Part):
    """One meter: its price, owner and alert."""

    price: Amount = Field(description="Price of one unit, in the book's currency.", examples=[0.02])
    owner: Words = Field(description="Who is responsible for this cost.", examples=["platform@example.com"])
    threshold: Amount = Field(description="Amount of one backfill above which the alert is shown.", examples=[25.0])
    alert: Words = Field(
        description="The alert: what to do, and whom to ask.", examples=["Ask the platform team first"]
    )


class Meters(Part):
    """The five meters of a backfill."""

    storage_reads: MeterPrice = Field(
        description="1 GiB read from the tables' storage by validation.", examples=[{"price": 0.01}]
    )
    inter_zone: MeterPrice = Field(
        description="1 GiB transferred between availability zones.", examples=[{"price": 0.02}]
    )
    object_requests: MeterPrice = Field(
        description="1,000 requests to the tables' storage.", examples=[{"price": 0.005}]
    )
    core_hours: MeterPrice = Field(description="One core for one hour.", examples=[{"price": 0.05}])
    broker_egress: MeterPrice = Field(description="1 GiB read from the brokers.", examples=[{"price": 0.05}])


class Assumptions(Part):
    """Values that an estimate assumes until they are measured."""

    inter_zone_share: Percentage = Field(
        description="Share of the bytes read from Kafka that comes from another availability zone.", examples=["67%"]
    )
    bytes_per_core_second: Size = Field(
        description="Bytes that one core replays per second, until a rehearsal has measured it.", examples=["4MiB"]
    )


class PriceBookSpec(Part):
    currency: Annotated[str, AfterValidator(_currency), WithJsonSchema({"type": "string", "pattern": "^[A-Z]{3}$"})] = (
        Field(description="Currency of all amounts, also of budget.cost in contracts.", examples=["EUR"])
    )
    dated: Annotated[str, AfterValidator(_dated), WithJsonSchema({"type": "string", "format": "date"})] = Field(
        description="The day on which the prices were last updated.", examples=["2025-11-01"]
    )
    assume: Assumptions = Field(
        description="Values that an estimate assumes until they are measured.", examples=[{"interZoneShare": "67%"}]
    )
    meters: Meters = Field(description="The prices, by meter.", examples=[{"coreHours": {"price": 0.05}}])


class PriceBook(Envelope):
    """Prices of a backfill, by meter."""

    kind: Literal["PriceBook"] = Field(description="What this file is.")
    spec: PriceBookSpec = Field(description="The book itself.", examples=[{"currency": "EUR"}])


def load_price_book(loaded: LoadedProject) -> PriceBook:
    """The project's own book, or the default one. Raises BadFilesError with every problem."""
    file = loaded.project.spec.prices
    if file is None:
        return shipped_price_book()
    return _read(inside(loaded.folder, file), file, loaded.surroundings)


@cache
def shipped_price_book() -> PriceBook:
    here = Path(__file__).parent
    return _read(here / SHIPPED, SHIPPED, Surroundings(here))


def _read(path: Path, file: str, around: Surroundings) -> PriceBook:
    book, findings = validate_document(read_document(path, file), PriceBook, KIND, around)
    if book is None:
        raise BadFilesError(findings)
    return book
