"""Asks the address of the veto. Follows no redirect: only what the named address answers itself counts."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Mapping
from http.client import HTTPException

from anabranch.adapters.http.no_redirect import NoRedirect
from anabranch.replay.allowance import Allowance
from anabranch.replay.veto import denied, read_veto

MOST_BYTES = 64 << 10


def ask_veto(url: str, headers: Mapping[str, str], timeout: float) -> Allowance:
    """The allowance by a GET now. Raises nothing: what fails is a denial with its reason."""
    request = urllib.request.Request(url, headers={"Accept": "application/json", **headers})  # noqa: S310 - checked
    try:
        with urllib.request.build_opener(NoRedirect).open(request, timeout=timeout) as answer:
            return read_veto(answer.status, answer.read(MOST_BYTES))
    except urllib.error.HTTPError as error:
        return read_veto(error.code, b"")
    except (OSError, ValueError, HTTPException) as error:  # timeouts and refused connections are OSError
        reason = getattr(error, "reason", None) or error
        return denied(f"the veto did not answer: {reason}")
