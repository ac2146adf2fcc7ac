"""Errors of the control database, raised for those of SQLAlchemy; none contains a password."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

from sqlalchemy import URL
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError

from anabranch.errors import AnabranchError

_STATE = "A transaction under way was committed completely or not at all."


class StoreError(AnabranchError):
    """An operation of the control database failed."""

    code = "store.failed"
    advised_command: ClassVar[str | None] = "anabranch doctor"
    advised_hint: ClassVar[str | None] = None

    def __init__(self, url: URL, what: str) -> None:
        shown = url.render_as_string(hide_password=True)
        super().__init__(
            what.format(url=shown), state=_STATE, command=self.advised_command, hint=self.advised_hint, url=shown
        )


class StoreUnreachableError(StoreError):
    code = "store.unreachable"
    advised_hint = "Check that the database is up and that its name, user and password are right"


class StoreRefusedError(StoreError):
    code = "store.refused"
    advised_hint = "Check user, password and privileges of that user in the database"


class StoreReadOnlyError(StoreError):
    code = "store.read-only"
    advised_command = None
    advised_hint = "Make the database writable for this user, then run the same command again"


class StoreFullError(StoreError):
    code = "store.full"
    advised_command = None
    advised_hint = "Free space on the disk of the database, then run the same command again"


class StoreBusyError(StoreError):
    code = "store.busy"
    advised_command = None
    advised_hint = "Run the same command again; if it fails again, find the process that holds a transaction open"


class StoreDamagedError(StoreError):
    code = "store.damaged"
    advised_command = None
    advised_hint = "Move the file away and restore it from a backup"


class StoreConstraintError(StoreError):
    """A constraint of the schema refused a row: two active runs on one range, for example."""

    code = "store.constraint"


_BY_SQLITE_TEXT: tuple[tuple[str, type[StoreError], str], ...] = (
    ("unable to open database file", StoreUnreachableError, "The control database {url} cannot be opened."),
    ("readonly database", StoreReadOnlyError, "The control database {url} is read-only."),
    ("disk is full", StoreFullError, "The disk of the control database {url} is full."),
    ("locked", StoreBusyError, "The control database {url} is locked by another process; the lock timeout expired."),
    ("not a database", StoreDamagedError, "The control database {url} is not a SQLite database."),
    ("malformed", StoreDamagedError, "The control database {url} is damaged."),
)

_BY_SQLSTATE: tuple[tuple[str, type[StoreError], str], ...] = (
    ("28", StoreRefusedError, "The control database {url} refused the login of this user."),
    ("3D", StoreUnreachableError, "The control database {url} does not exist."),
    ("42501", StoreRefusedError, "The control database {url} denied this operation to this user."),
    ("25006", StoreReadOnlyError, "The control database {url} is read-only."),
    ("53100", StoreFullError, "The disk of the control database {url} is full."),
    ("53300", StoreBusyError, "The control database {url} has reached its connection limit."),
    (
        "40",
        StoreBusyError,
        "The control database {url} aborted the transaction: it conflicts with another one.",
    ),
    ("55P03", StoreBusyError, "The control database {url} is locked by another process; the lock timeout expired."),
    ("57P", StoreUnreachableError, "The control database {url} is shutting down or starting up."),
    ("08", StoreUnreachableError, "The connection to the control database {url} was lost."),
)


@contextmanager
def store_errors(url: URL) -> Iterator[None]:
    """Raise a StoreError for any error of SQLAlchemy in the block.

    The driver's error becomes the cause. SQLAlchemy's is omitted, because its text repeats statements and values.
    """
    try:
        yield
    except DBAPIError as error:
        driver_error = error.orig or error
        raise _classified(url, error, driver_error) from _without_password(driver_error, url)
    except SQLAlchemyError as error:
        raise StoreError(url, "An operation on the control database {url} failed.") from _without_password(error, url)


def _classified(url: URL, error: DBAPIError, driver_error: BaseException) -> StoreError:
    if isinstance(error, IntegrityError):
        return StoreConstraintError(url, "A constraint of the control database {url} refused a row.")
    sqlstate = getattr(driver_error, "sqlstate", None)
    if isinstance(sqlstate, str):
        for prefix, kind, what in _BY_SQLSTATE:
            if sqlstate.startswith(prefix):
                return kind(url, what)
    elif url.get_backend_name() == "sqlite":
        for text, kind, what in _BY_SQLITE_TEXT:
            if text in str(driver_error):
                return kind(url, what)
    else:  # psycopg has no SQLSTATE for a failed connection
        return StoreUnreachableError(url, "The control database {url} cannot be reached.")
    return StoreError(url, "The control database {url} refused a statement.")


def _without_password(error: BaseException, url: URL) -> BaseException:
    """The error itself, or only its type if its text contains the password."""
    if url.password and url.password in str(error):
        return RuntimeError(f"{type(error).__name__} (text withheld: it contains the password)")
    return error
