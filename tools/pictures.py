"""Writes docs/validation.png, the validation page of sample data as chromium shows it: `make pictures`."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from random import Random
from typing import Any

from tests.unit.validate.evidence import report

from anabranch.pages.validation import render_page
from anabranch.plan.target_range import Grain, PartitionRange, TimeAxis, ordinal
from anabranch.replay.ledger import Account
from anabranch.validate.measures import Checksum, Difference, Differences
from anabranch.validate.report import Bucket, Report

PICTURE = Path(__file__).parents[1] / "docs" / "validation.png"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
WIDTH, HEIGHT = 1120, 1690
START, HOURS = datetime(2025, 6, 2, tzinfo=timezone.utc), 12


def sample_report() -> Report:
    """Half a day in which every hour has pounds at a wrong rate, and one hour lacks rows."""
    random = Random(7)  # noqa: S311 - sample data needs no secrets
    buckets = []
    for hour in range(HOURS):
        after = random.randrange(2_300, 3_400)
        before = after - (410 if hour == 8 else 0)
        sums = [random.getrandbits(64) for _ in range(4)]
        start = START + timedelta(hours=hour)
        buckets.append(Bucket(start, Checksum(before, *sums[:2]), Checksum(after, *sums[2:])))
    digest = sum((each.staged for each in buckets), Checksum())
    account = Account(41_250, digest.rows, 310, 41_250 - digest.rows - 310, rows=digest.rows)
    first = ordinal(Grain.HOUR, START)
    row = {"order_id": "o-0066671", "customer": "c-0412", "currency": "GBP", "amount": "120.50"}
    differences = (
        Difference({**row, "amount_eur": "110.86"}, {**row, "amount_eur": "140.99"}),
        Difference(
            {**row, "order_id": "o-0066682", "customer": "c-3119", "amount": "19.90", "amount_eur": "18.31"},
            {**row, "order_id": "o-0066682", "customer": "c-3119", "amount": "19.90", "amount_eur": "23.28"},
        ),
    )
    texts: dict[str, dict[str, Any]] = {
        "conservation": {"expected": "8 slices, each once; 41,250 offsets, none lost", "found": "41,250 offsets"},
        "rows written": {
            "expected": f"{digest.rows:,} rows, by the ledger",
            "found": f"{digest.rows:,} rows in staging",
        },
        "rows per hour": {
            "expected": "at least as many as before",
            "found": f"{digest.rows:,} rows, 410 more than before",
        },
        "checksums": {"found": f"{HOURS} of {HOURS} hours changed; digest {digest.text}"},
    }
    found = report(run="20250602-101502-4f1c")
    return replace(
        found,
        buckets=tuple(buckets),
        range=PartitionRange(TimeAxis("ordered_at", Grain.HOUR), first, first + HOURS),
        digest=digest,
        rows_before=sum(each.base.rows for each in buckets),
        ledger=account,
        partitions={0: account},
        differences=Differences(True, tuple(range(first, first + HOURS)), differences),
        results=tuple(replace(each, **texts.get(each.check, {})) for each in found.results),
    )


def main() -> int:
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        print(f"No browser found: install one of {', '.join(BROWSERS)}.", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "validation.html"
        page.write_text(render_page(sample_report()), encoding="utf-8")
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-device-scale-factor=1"]
        command = [browser, *options, f"--window-size={WIDTH},{HEIGHT}", f"--screenshot={PICTURE}", page.as_uri()]
        subprocess.run(command, check=True, capture_output=True, timeout=120)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
