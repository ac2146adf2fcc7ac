"""The price book: what each meter of a backfill costs, who answers for it, and from when on somebody is told."""

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
"""The book that is used where a project has none, beside this file."""


def _currency(text: str) -> str:
    if not (len(text) == 3 and text.isascii() and text.isupper() and text.isalpha()):
        raise refuse("this is not a currency", "three capital letters: EUR")
    return text


def _dated(text: str) -> str:
    try:
        date.fromisoformat(text)
    except ValueError:
        raise refuse("this is not a day", "year, month and day: 2025-11-01") from None
    return text


Amount = Annotated[float, Strict(), Field(ge=0)]


class MeterPrice(Part):
    """One meter: its price, and who hears of it when it runs high."""

    price: Amount = Field(description="For one unit, in the book's currency.", examples=[0.02])
    owner: Words = Field(description="Who answers for this cost.", examples=["platform@example.com"])
    threshold: Amount = Field(
        description="The amount for one backfill above which the alert is given.", examples=[25.0]
    )
    alert: Words = Field(description="What is said then, and to whom.", examples=["Ask the platform team first"])


class Meters(Part):
    """All that a backfill is charged for."""

    storage_reads: MeterPrice = Field(
        description="A GiB read from the tables' storage, by validation.", examples=[{"price": 0.01}]
    )
    inter_zone: MeterPrice = Field(description="A GiB that goes from one zone to another.", examples=[{"price": 0.02}])
    object_requests: MeterPrice = Field(
        description="A thousand requests to the tables' storage.", examples=[{"price": 0.005}]
    )
    core_hours: MeterPrice = Field(description="An hour of one core.", examples=[{"price": 0.05}])
    broker_egress: MeterPrice = Field(description="A GiB read from the brokers.", examples=[{"price": 0.05}])


class Assumptions(Part):
    """What an estimate takes for granted where nobody has measured."""

    inter_zone_share: Percentage = Field(
        description="How much of what is read from Kafka comes from another zone.", examples=["67%"]
    )
    bytes_per_core_second: Size = Field(
        description="What one core replays in a second, until a rehearsal has measured it.", examples=["4MiB"]
    )


class PriceBookSpec(Part):
    currency: Annotated[str, AfterValidator(_currency), WithJsonSchema({"type": "string", "pattern": "^[A-Z]{3}$"})] = (
        Field(description="Of all amounts, also of budget.cost in contracts.", examples=["EUR"])
    )
    dated: Annotated[str, AfterValidator(_dated), WithJsonSchema({"type": "string", "format": "date"})] = Field(
        description="The day on which somebody last looked the prices up.", examples=["2025-11-01"]
    )
    assume: Assumptions = Field(description="What an estimate takes for granted.", examples=[{"interZoneShare": "67%"}])
    meters: Meters = Field(description="The prices, by meter.", examples=[{"coreHours": {"price": 0.05}}])


class PriceBook(Envelope):
    """What a backfill costs, meter by meter."""

    kind: Literal["PriceBook"] = Field(description="What this file is.")
    spec: PriceBookSpec = Field(description="The book itself.", examples=[{"currency": "EUR"}])


def load_price_book(loaded: LoadedProject) -> PriceBook:
    """The project's own book, or the one that comes with Anabranch. Raises BadFilesError with everything found."""
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
