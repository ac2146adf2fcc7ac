"""A replay in a process of its own that notes when each slice is begun and made, for whoever kills it.

What is in flight at a kill is known to nobody else: the journal has the slice whose turn it is, not those begun ahead.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from bench.lifecycle import run_of
from bench.workbench import Bench, Quiet

from anabranch.adapters.spark.native.append_writer import NativeAppendWriter
from anabranch.app.project_context import open_project
from anabranch.plan.slices import Slice


def noting(notes: Path) -> None:
    made = NativeAppendWriter._write_files

    def noted(self: NativeAppendWriter, slice_: Slice, query: Any) -> Any:
        note(notes, "begun", slice_)
        found = made(self, slice_, query)
        note(notes, "made", slice_)
        return found

    NativeAppendWriter._write_files = noted  # type: ignore[method-assign]


def note(notes: Path, word: str, slice_: Slice) -> None:
    with notes.open("a") as file:
        file.write(f"{word} {slice_.id} {time.time()}\n")


def main() -> None:
    folder, contract, notes = (Path(each) for each in sys.argv[1:])
    noting(notes)
    with run_of(Bench(open_project(folder, "dev")), contract) as run, run.lease() as lease:
        run.replay(lease, Quiet())


if __name__ == "__main__":
    main()
