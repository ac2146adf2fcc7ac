"""Addresses in project files: parsed without being repeated in messages, and refused with a password."""

from __future__ import annotations

import re
from urllib.parse import SplitResult, urlsplit

from anabranch.project.refusals import refuse

_PASSWORD_BEFORE_HOST = re.compile(r"://[^\s/?#@]*:[^\s/?#]*@")
_PASSWORD_IN_QUERY = re.compile(
    r"://\S*[?&;](password|passwd|pwd|secret|token|sslpassword|access_token)=", re.IGNORECASE
)
HOST = r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)"

PASSWORD_IN_URL = "an address must not contain a password"  # noqa: S105
WITHOUT_PASSWORD = "the address without the password, and the password as ${env:NAME} in its own key"  # noqa: S105


def holds_password(text: str) -> bool:
    """Whether the text contains an address with a password, before the host or in the parameters."""
    return bool(_PASSWORD_BEFORE_HOST.search(text) or _PASSWORD_IN_QUERY.search(text))


def split_url(text: str, schemes: tuple[str, ...], example: str) -> SplitResult:
    """The parts of an address with one of these schemes, without password and fragment."""
    if holds_password(text):
        raise refuse(PASSWORD_IN_URL, WITHOUT_PASSWORD)
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise refuse("this is not an address", example) from None
    if parts.scheme not in schemes:
        raise refuse(f"the address must start with {' or '.join(f'{s}://' for s in schemes)}", example)
    well_formed = re.fullmatch(r"[\x21-\x7e]+", text) and re.fullmatch(HOST, _host(parts)) and port != 0
    if not well_formed or parts.password or parts.fragment or "@" in parts.path + parts.query:
        raise refuse("this is not an address", example)
    return parts


def _host(parts: SplitResult) -> str:
    host = parts.hostname or ""
    return f"[{host}]" if ":" in host else host
