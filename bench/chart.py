"""The results as a picture: each figure beside what it is meant to be, from build/bench.json into build/bench.svg."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from bench.workbench import RESULTS

PICTURE = Path("build/bench.svg")
ROW, LEFT, WIDTH, RIGHT = 34, 260, 480, 150
GREEN, RED, GREY = "#2e7d32", "#c62828", "#607d8b"


@dataclass(frozen=True)
class Aim:
    """What a figure is meant to be: at least, or at most."""

    limit: float
    least: bool = True

    def met(self, figure: float) -> bool:
        return figure >= self.limit if self.least else figure <= self.limit

    def __str__(self) -> str:
        return f"{'≥' if self.least else '≤'} {self.limit:g}"


AIMS = {
    "replay_vs_plain_stream": Aim(2.0),
    "replay_vs_plain_batch": Aim(1.7),
    "replay_vs_tuned_batch": Aim(0.95),
    "replay_vs_bare_consumer": Aim(0.30),
    "promote_vs_insert_overwrite": Aim(30),
    "rollback_vs_insert_overwrite": Aim(30),
    "promote_growth": Aim(1.5, least=False),
    "resume_waste": Aim(0.05, least=False),
    "memory_growth": Aim(1.1, least=False),
    "live_latency_p99_ratio": Aim(1.2, least=False),
    "governed_rate_vs_best_fixed": Aim(0.6),
    "cli_help_vs_python": Aim(12, least=False),
    "plan_vs_scan": Aim(1, least=False),
}


def draw(found: dict[str, float]) -> str:
    """One bar for each figure that was measured, as a share of its aim, which is the line in the middle."""
    shown = {key: aim for key, aim in AIMS.items() if key in found}
    height = ROW * (len(shown) + 2)
    middle = LEFT + WIDTH / 2
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + RIGHT}" height="{height}" '
        'font-family="sans-serif" font-size="14">',
        f'<rect width="100%" height="100%" fill="white"/><text x="12" y="24" font-weight="bold">Measured, and meant '
        f'to be</text><text x="{middle}" y="24" text-anchor="middle" fill="{GREY}">as it is meant to be</text>',
    ]
    for number, (key, aim) in enumerate(shown.items(), start=1):
        figure, y = float(found[key]), ROW * number + 14
        # Twice as good is as far to the right as half as good is to the left.
        share = math.log2(figure / aim.limit) if aim.least else math.log2(aim.limit / max(figure, 1e-6))
        reach = middle + max(-2.0, min(2.0, share)) * WIDTH / 4
        colour = GREEN if aim.met(figure) else RED
        parts.append(
            f'<text x="12" y="{y + 15}">{escape(key)}</text>'
            f'<rect x="{min(middle, reach):.0f}" y="{y}" width="{max(2.0, abs(reach - middle)):.0f}" height="20" '
            f'fill="{colour}"/><text x="{LEFT + WIDTH + 8}" y="{y + 15}">{figure:g} ({aim})</text>'
        )
    top, bottom = ROW + 6, height - ROW / 2
    parts.append(f'<line x1="{middle}" y1="{top}" x2="{middle}" y2="{bottom}" stroke="{GREY}" stroke-dasharray="4"/>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def main() -> None:
    PICTURE.write_text(draw(json.loads(RESULTS.read_text())), encoding="utf-8")


if __name__ == "__main__":
    main()
