"""A transaction on a table that is tried once, and never on another state than the one it was made from."""

from __future__ import annotations

from collections.abc import Callable

from pyiceberg.exceptions import CommitFailedException, ValidationException
from pyiceberg.table import Table, Transaction
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update import TableUpdate

from anabranch.promote.ports import ConcurrentCommitError


class CommitOnce:
    """Commits at the end of its block, unless the block failed."""

    def __init__(self, table: Table, moved: Callable[[], ConcurrentCommitError]) -> None:
        self._table, self._made_from = table, table.metadata_location
        self._transaction = _Remembering(table)
        self._moved = moved

    def __enter__(self) -> Transaction:
        return self._transaction

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if error is not None:
            return
        try:
            self._transaction.commit_transaction()
        except (CommitFailedException, ValidationException) as refused:
            raise self._moved() from refused
        except ValueError as refused:
            # A snapshot is numbered by the table it was made from, and a commit to any branch takes the next number:
            # what the catalog then refuses is no conflict to it, but a mistake of ours.
            if self._table.catalog.load_table(self._table.name()).metadata_location == self._made_from:
                raise
            raise self._moved() from refused


class _Remembering(Transaction):
    """Works the metadata out once for each change made to it.

    The stock transaction does so at every look, some twenty times a commit, and each copies every snapshot that the
    table has. Live makes thousands of them, and a promotion that takes seconds longer finds main moved more often.
    """

    _made_from: tuple[TableMetadata, tuple[TableUpdate, ...]] | None = None
    _made: TableMetadata

    @property
    def table_metadata(self) -> TableMetadata:
        before = self._made_from
        if before is None or before[0] is not self._table.metadata or before[1] is not self._updates:
            self._made_from, self._made = (self._table.metadata, self._updates), super().table_metadata
        return self._made
