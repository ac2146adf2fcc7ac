"""Writes the tables of docs/monitoring.md, of metrics and alerts, from their definitions: `make monitoring`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ruamel.yaml import YAML

from anabranch.monitoring.definitions import DEFINITIONS
from anabranch.monitoring.files import RULES, read_file

DOCUMENT = Path(__file__).parents[1] / "docs" / "monitoring.md"


def metrics_table() -> Iterator[str]:
    yield "| metric | kind | labels | source | meaning |"
    yield "|---|---|---|---|---|"
    for each in DEFINITIONS:
        labels = ", ".join(f"`{label}`" for label in each.labels)
        yield f"| `{each.name}` | {each.kind.value} | {labels} | {each.source.value} | {each.help} |"


def alerts_table() -> Iterator[str]:
    yield "| alert | severity | for | summary |"
    yield "|---|---|---|---|"
    for group in YAML(typ="safe").load(read_file(RULES))["groups"]:
        for rule in group["rules"]:
            summary = re.sub(r"\{\{ \$labels\.(\w+) \}\}", r"*\1*", rule["annotations"]["summary"])
            summary = re.sub(r"\{\{ .*? \}\}", "…", summary)
            yield f"| `{rule['alert']}` | {rule['labels']['severity']} | {rule.get('for', '0s')} | {summary} |"


def render(page: str) -> str:
    """The page with both tables replaced, each between its marks."""
    for name, table in (("metrics", metrics_table()), ("alerts", alerts_table())):
        before, begin, rest = page.partition(f"<!-- {name} -->\n")
        _, end, after = rest.partition(f"<!-- end of {name} -->")
        if not (begin and end):
            raise ValueError(f"{DOCUMENT.name} has no place for the table of {name}")
        page = "".join((before, begin, "\n".join(table), "\n", end, after))
    return page


def main() -> None:
    DOCUMENT.write_text(render(DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
