"""A table transaction that is committed once, only on the metadata it was built from, without retries."""

from __future__ import annotations

from collections.abc import Callable

from pyiceberg.exceptions import CommitFailedException, ValidationException
from pyiceberg.table import Table, Transaction
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update import TableUpdate

from anabranch.promote.ports import ConcurrentCommitError


class CommitOnce:
    """Commits at the end of its block unless the block raised."""

    def __init__(self, table: Table, moved: Callable[[], ConcurrentCommitError]) -> None:
        self._table, self._made_from = table, table.metadata_location
        self._transaction = _CachingTransaction(table)
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
            # A commit to any branch takes the next sequence number. If another commit took ours, the catalog reports a
            # ValueError instead of a conflict.
            if self._table.catalog.load_table(self._table.name()).metadata_location == self._made_from:
                raise
            raise self._moved() from refused


class _CachingTransaction(Transaction):
    """Computes the metadata once per change.

    PyIceberg's transaction computes it at every access, about 20 times per commit, and copies every snapshot each time.
    Live makes thousands of snapshots, and a slower promotion conflicts with live's commits more often.
    """

    _made_from: tuple[TableMetadata, tuple[TableUpdate, ...]] | None = None
    _made: TableMetadata

    @property
    def table_metadata(self) -> TableMetadata:
        before = self._made_from
        if before is None or before[0] is not self._table.metadata or before[1] is not self._updates:
            self._made_from, self._made = (self._table.metadata, self._updates), super().table_metadata
        return self._made
