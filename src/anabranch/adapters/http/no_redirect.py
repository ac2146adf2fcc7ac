"""Follows no redirect: it would send a token to an address that is not configured."""

from __future__ import annotations

import urllib.request
from typing import Any


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """With it a redirect is an HTTPError with the redirect's status."""

    def redirect_request(self, *_arguments: Any, **_more: Any) -> None:
        return None
