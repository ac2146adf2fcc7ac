"""The pure Python client, for what the C client can't do: read in no group at all, and ask for sizes on disk."""

from __future__ import annotations

import logging
import warnings
from types import ModuleType

from anabranch.adapters.kafka.access import KafkaAccess


def python_client() -> ModuleType:
    """The library, loaded without its chatter.

    It writes its settings, passwords included, to a log at debug level, and its worries to the terminal; and it reads
    its own files in a way that newer Pythons warn of, which is nothing to tell a user.
    """
    logging.getLogger("kafka").setLevel(logging.CRITICAL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        import kafka
        import kafka.errors
    return kafka  # type: ignore[no-any-return]


def can_log_in(access: KafkaAccess) -> bool:
    """Not with OAUTHBEARER: somebody would have to fetch its tokens."""
    return access.login is None or access.login.mechanism != "OAUTHBEARER"
