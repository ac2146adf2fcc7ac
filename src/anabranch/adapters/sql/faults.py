"""What a database may do to us, told as our own errors, with no password in any of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import URL
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError

from anabranch.errors import AnabranchError

_UNTOUCHED = "The control database has a change that was under way whole or not at all."


class StoreError(AnabranchError):
    """The control database did not do what was asked."""

    code = "store.failed"
    remedy = "anabranch doctor"

    def __init__(self, url: URL, what: str) -> None:
        shown = url.render_as_string(hide_password=True)
        super().__init__(what.format(url=shown), state=_UNTOUCHED, hint=self.remedy, url=shown)


class StoreUnreachableError(StoreError):
    code = "store.unreachable"
    remedy = "check that the database is up and that name, user and password are right; then `anabranch doctor`"


class StoreRefusedError(StoreError):
    code = "store.refused"
    remedy = "check user, password and the rights of that user on the database; then `anabranch doctor`"


class StoreReadOnlyError(StoreError):
    code = "store.read-only"
    remedy = "make the database writable for this user; then run the same command again"


class StoreFullError(StoreError):
    code = "store.full"
    remedy = "free some space on the disk of the database; then run the same command again"


class StoreBusyError(StoreError):
    code = "store.busy"
    remedy = "run the same command again; if it stays busy, look for a process that holds a transaction open"


class StoreDamagedError(StoreError):
    code = "store.damaged"
    remedy = "put the file aside and restore it from a backup"


class StoreConstraintError(StoreError):
    """A row that the constraints of the schema forbid: two active runs on one range, say."""

    code = "store.constraint"


_BY_SQLITE_WORDS: tuple[tuple[str, type[StoreError], str], ...] = (
    ("unable to open database file", StoreUnreachableError, "The control database {url} can't be opened."),
    ("readonly database", StoreReadOnlyError, "The control database {url} is read-only."),
    ("disk is full", StoreFullError, "There is no room left for the control database {url}."),
    ("locked", StoreBusyError, "The control database {url} was kept locked by another process for too long."),
    ("not a database", StoreDamagedError, "The control database {url} is not a SQLite database."),
    ("malformed", StoreDamagedError, "The control database {url} is damaged."),
)

_BY_SQLSTATE: tuple[tuple[str, type[StoreError], str], ...] = (
    ("28", StoreRefusedError, "The control database {url} does not let this user in."),
    ("3D", StoreUnreachableError, "The control database {url} does not exist."),
    ("42501", StoreRefusedError, "The control database {url} does not let this user do what was asked."),
    ("25006", StoreReadOnlyError, "The control database {url} is read-only."),
    ("53100", StoreFullError, "There is no room left for the control database {url}."),
    ("53300", StoreBusyError, "The control database {url} takes no more connections."),
    ("40", StoreBusyError, "The control database {url} gave way to another transaction."),
    ("55P03", StoreBusyError, "The control database {url} was kept locked by another process for too long."),
    ("57P", StoreUnreachableError, "The control database {url} is shutting down or starting up."),
    ("08", StoreUnreachableError, "The connection to the control database {url} broke."),
)


@contextmanager
def told_as_ours(url: URL) -> Iterator[None]:
    """Turn whatever SQLAlchemy raises inside into a StoreError.

    The driver's own error becomes the cause. SQLAlchemy's is left out: its text repeats statements and values.
    """
    try:
        yield
    except DBAPIError as error:
        driver_error = error.orig or error
        raise _classified(url, error, driver_error) from _without_password(driver_error, url)
    except SQLAlchemyError as error:
        raise StoreError(url, "The control database {url} could not be used.") from _without_password(error, url)


def _classified(url: URL, error: DBAPIError, driver_error: BaseException) -> StoreError:
    if isinstance(error, IntegrityError):
        return StoreConstraintError(url, "The control database {url} refused a row that contradicts another.")
    sqlstate = getattr(driver_error, "sqlstate", None)
    if isinstance(sqlstate, str):
        for prefix, kind, what in _BY_SQLSTATE:
            if sqlstate.startswith(prefix):
                return kind(url, what)
    elif url.get_backend_name() == "sqlite":
        for words, kind, what in _BY_SQLITE_WORDS:
            if words in str(driver_error):
                return kind(url, what)
    else:  # psycopg has no code for what happens before or after the server speaks
        return StoreUnreachableError(url, "The control database {url} can't be reached.")
    return StoreError(url, "The control database {url} refused a statement.")


def _without_password(error: BaseException, url: URL) -> BaseException:
    """The error itself, unless its text has the password in it; then its kind only."""
    if url.password and url.password in str(error):
        return RuntimeError(f"{type(error).__name__} (its text is withheld: it holds the password)")
    return error
