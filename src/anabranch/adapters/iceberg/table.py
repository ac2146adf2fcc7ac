"""One Iceberg table: reloaded before each commit, which is tried once. No JVM."""

from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table, Transaction
from pyiceberg.table.snapshots import Snapshot

from anabranch.adapters.iceberg.commit_once import CommitOnce
from anabranch.adapters.iceberg.commits import MAIN, back
from anabranch.adapters.iceberg.refs import head_of, snapshot_of
from anabranch.adapters.iceberg.silence import did_not_answer, is_silence
from anabranch.errors import NOTHING_CHANGED, AnabranchError, ExitCode
from anabranch.promote.ports import ConcurrentCommitError
from anabranch.runs.heads import Head

ATTEMPTS = 100


class TargetMissingError(AnabranchError):
    code = "target.missing"
    exit_code = ExitCode.USAGE


class HistoryGoneError(AnabranchError):
    code = "target.history-gone"
    exit_code = ExitCode.REFUSED


class IcebergTable:
    """Every method reloads the table; nothing is cached between calls."""

    def __init__(self, catalog: Catalog, name: str) -> None:
        self._catalog = catalog
        self.name = name

    def load(self) -> Table:
        try:
            table = self._catalog.load_table(self.name)
        except NoSuchTableError as error:
            raise TargetMissingError(
                f"Table {self.name} does not exist.",
                state=NOTHING_CHANGED,
                hint="check target.table in the pipeline; `anabranch live start` creates the table",
                table=self.name,
            ) from error
        except Exception as error:
            if not is_silence(error):
                raise
            raise did_not_answer(self._catalog.name, error) from None
        # PyIceberg would retry a stale commit on the newer head without checking the range.
        table.metadata.properties["commit.retry.num-retries"] = "0"
        return table

    def head(self, ref: str = MAIN) -> Head | None:
        """The head of a branch or tag; None: it does not exist, or the table has no snapshot yet."""
        found = self.load().metadata.refs.get(ref)
        return head_of(found.snapshot_id) if found else None

    def change_refs(self, change: Callable[[Table, Transaction], None]) -> None:
        """Change only Anabranch's refs; repeated on the newer metadata if another commit was first."""
        for attempt in range(ATTEMPTS):
            table = self.load()
            try:
                with self.commit(table) as tx:
                    change(table, tx)
            except ConcurrentCommitError:
                if attempt == ATTEMPTS - 1:
                    raise
            except Exception as error:
                if not is_silence(error):
                    raise
                raise did_not_answer(self._catalog.name, error) from None
            else:
                return

    def commit(self, table: Table) -> CommitOnce:
        return CommitOnce(table, self.moved)

    def moved(self) -> ConcurrentCommitError:
        return ConcurrentCommitError(
            f"Another writer committed to {self.name} first.",
            state="This command committed nothing; the other commit stands.",
            hint="repeat the command, which reads the new snapshot",
            table=self.name,
        )

    def line(self, table: Table, ref: str, base: Head) -> list[Snapshot]:
        """The snapshots after `base` up to the ref's head, oldest first."""
        kept = list(back(table, ref))
        after = list(takewhile(lambda snapshot: snapshot.snapshot_id != snapshot_of(base), kept))
        if len(after) == len(kept):
            raise HistoryGoneError(
                f"Snapshots of {self.name} between base snapshot {base} and {ref} have expired.",
                state=NOTHING_CHANGED,
                hint="plan again, and retain snapshots for longer than a backfill takes",
                table=self.name,
                base=base,
            )
        return after[::-1]
