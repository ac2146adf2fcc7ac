"""The project's own price book: used where it is named, and refused with its lines where it is not a good one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from anabranch.cli.main import main
from anabranch.contract.price_book import load_price_book, shipped_price_book
from anabranch.project.findings import BadFilesError
from anabranch.project.load import load_project


def own_book(shop: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """As a user makes one: print what is used, keep it, and name it in the project."""
    assert main(["cost", "--book", "-o", "yaml", "--project", str(shop)]) == 0
    file = shop / "prices.yaml"
    file.write_text(capsys.readouterr().out)
    project = shop / "anabranch.yaml"
    named = "  defaultContext: dev\n"
    project.write_text(project.read_text().replace(named, f"{named}  prices: prices.yaml\n"))
    return file


def test_the_book_that_is_printed_can_be_edited_and_is_then_used(
    shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert load_price_book(load_project(shop, "dev", {})) == shipped_price_book()
    file = own_book(shop, capsys)
    file.write_text(file.read_text().replace("currency: USD", "currency: EUR"))
    found = load_price_book(load_project(shop, "dev", {}))
    assert found.spec.currency == "EUR"
    assert found.spec.meters == shipped_price_book().spec.meters
    assert main(["check", "--project", str(shop), "-o", "json"]) == 0
    checked = json.loads(capsys.readouterr().out)["files"]
    assert {"kind": "PriceBook", "name": "shipped", "file": "prices.yaml", "ok": True} in checked


@pytest.mark.parametrize(
    ("good", "bad", "words"),
    [
        ("currency: USD", "currency: dollars", "this is not a currency"),
        ("dated: 2025-11-01", "dated: last year", "this is not a date"),
        ("price: 0.01", "price: -1", "greater than or equal to 0"),
        ("price: 0.01", "price: cheap", "this must be a number"),
        ("coreHours:", "coreSeconds:", "unknown key"),
        ("interZoneShare: 67%", "interZoneShare: 2", "this is not a percentage"),
    ],
)
def test_a_bad_book_is_refused_by_its_line(
    shop: Path, capsys: pytest.CaptureFixture[str], good: str, bad: str, words: str
) -> None:
    file = own_book(shop, capsys)
    assert good in file.read_text().replace("'", "")
    file.write_text(file.read_text().replace("'", "").replace(good, bad, 1))
    with pytest.raises(BadFilesError) as refused:
        load_price_book(load_project(shop, "dev", {}))
    assert words in refused.value.what
    assert "prices.yaml:" in refused.value.what
    assert main(["check", "--project", str(shop), "-o", "json"]) == 2
    assert words in capsys.readouterr().out
