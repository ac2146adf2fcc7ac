"""Asks a Prometheus server for one number."""

from __future__ import annotations

import json
import math
import urllib.error
import urllib.request
from dataclasses import dataclass
from http.client import HTTPException
from urllib.parse import urlencode

from anabranch.adapters.http.no_redirect import NoRedirect
from anabranch.errors import AnabranchError

SECONDS, BYTES = 3.0, 1024 * 1024


class PrometheusError(AnabranchError):
    code = "prometheus.no-value"


@dataclass(frozen=True)
class Prometheus:
    url: str
    token: str | None = None

    def values(self, query: str) -> list[float]:
        """The values of an instant query, one of each series. Raises PrometheusError, also if there are none."""
        headers = {} if self.token is None else {"Authorization": f"Bearer {self.token}"}
        address = f"{self.url.rstrip('/')}/api/v1/query?{urlencode({'query': query})}"
        request = urllib.request.Request(address, headers=headers)  # noqa: S310 - settings allow http and https only
        opener = urllib.request.build_opener(NoRedirect, urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=SECONDS) as answer:
                found = json.loads(answer.read(BYTES))["data"]
            one = found["resultType"] == "scalar"
            pairs = [found["result"]] if one else [each["value"] for each in found["result"]]
            values = [float(value) for _, value in pairs]
        except urllib.error.HTTPError as error:
            raise self._failed(query, f"HTTP status {error.code}") from error
        except (OSError, HTTPException, ValueError, KeyError, TypeError, IndexError) as error:
            raise self._failed(query, str(error) or type(error).__name__) from error
        known = [value for value in values if not math.isnan(value)]
        if not known:
            raise self._failed(query, "the query has no series")
        return known

    def _failed(self, query: str, reason: str) -> PrometheusError:
        return PrometheusError(
            f"Prometheus at {self.url} gave no value for {query}: {reason}.",
            state="The request only reads. Nothing was changed.",
            hint="Run the query in Prometheus' own page",
            query=query,
        )
