"""The login modules that a JAAS line names, parsed as Kafka parses it."""

from __future__ import annotations

import re

_KNOWN = frozenset(
    {
        "org.apache.kafka.common.security.scram.ScramLoginModule",
        "org.apache.kafka.common.security.plain.PlainLoginModule",
        "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule",
    }
)
_QUOTED = re.compile(r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'")
_REFERENCE = re.compile(r"\$\{[^{}]*\}")


def foreign_modules(text: str) -> tuple[str, ...]:
    """Modules in the text other than the three known ones. Text that can't be parsed with certainty is foreign."""
    if _REFERENCE.fullmatch(text.strip()):
        return ()
    bare = _QUOTED.sub("quoted", text)
    if any(sign in bare for sign in "\"'/#"):  # an open quote, or a comment that could hide a module
        return (text,)
    entries = [entry.split() for entry in bare.split(";")]
    return tuple(entry[0] for entry in entries if entry and entry[0] not in _KNOWN)
