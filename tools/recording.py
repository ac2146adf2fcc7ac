"""Runs `anabranch demo` and writes its output to docs/demo.svg, line by line as it came: `make recording`.

The SVG loads nothing and runs no script. Pauses are cut to a second; the seconds behind each step were measured.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = Path("build") / "demo"
PICTURE = ROOT / "docs" / "demo.svg"
WIDTH, LINE, MARGIN, BAR = 860, 19, 20, 34
LONGEST_PAUSE = 1.0
HEAD = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-labelledby="title">
<title id="title">Output of anabranch demo: two backfills from bug to proof</title>
<style>
text {{ font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #d6dde6; white-space: pre; }}
.heading {{ font-weight: 700; fill: #ffffff; }} .done {{ fill: #56d364; }} .prompt {{ fill: #58a6ff; }}
.line {{ animation: appear .15s linear both; }}
@keyframes appear {{ from {{ opacity: 0; }} to {{ opacity: 1; }} }}
@media (prefers-reduced-motion: reduce) {{ .line {{ animation: none; }} }}
</style>
<rect width="{width}" height="{height}" rx="10" fill="#0f141a"/>
<circle cx="22" cy="18" r="5.5" fill="#ff5f57"/><circle cx="40" cy="18" r="5.5" fill="#febc2e"/>
<circle cx="58" cy="18" r="5.5" fill="#28c840"/>
"""


def record(command: list[str]) -> list[tuple[float, str]]:
    """Each line of the command's standard output with its time in seconds. Raises if the command fails."""
    started = time.monotonic()
    lines = []
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None  # noqa: S101 - it was asked for one line above
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append((time.monotonic() - started, line.rstrip("\n")))
    if process.returncode:
        raise SystemExit(process.returncode)
    return lines


def draw(lines: list[tuple[float, str]]) -> str:
    parts, at, former = [], 0.6, 0.0
    for number, (moment, text) in enumerate([(0.0, "$ anabranch demo"), *lines]):
        at += min(LONGEST_PAUSE, max(0.06, moment - former))
        former = moment
        words = text.replace(f"{ROOT}/", "")
        kind = "prompt" if text.startswith("$") else "done" if "✓" in text else ""
        kind = kind or ("heading" if re.match(r"\S", text) else "")
        y = BAR + MARGIN + number * LINE
        parts.append(
            f'<text class="line {kind}" x="{MARGIN}" y="{y}" style="animation-delay:{at:.2f}s">{escape(words)}</text>'
        )
    height = BAR + 2 * MARGIN + len(parts) * LINE
    return HEAD.format(width=WIDTH, height=height) + "\n".join(parts) + "\n</svg>\n"


def main() -> None:
    lines = record([sys.executable, "-u", "-m", "anabranch", "demo", "--folder", str(FOLDER)])
    PICTURE.write_text(draw(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
