"""Allowed options of an Iceberg catalog: location of objects and access to them, nothing that names a class."""

from __future__ import annotations

import re

from anabranch.project.options.passing import not_listed
from anabranch.project.refusals import Problem

ALLOWED = frozenset(
    {
        "adls.account-key",
        "adls.account-name",
        "adls.sas-token",
        "audience",
        "cache-enabled",
        "cache.expiration-interval-ms",
        "client.region",
        "gcs.oauth2.token",
        "gcs.project-id",
        "gcs.service.host",
        "jdbc.schema-version",
        "oauth2-server-uri",
        "resource",
        "rest.signing-region",
        "s3.acceleration-enabled",
        "s3.access-key-id",
        "s3.checksum-enabled",
        "s3.endpoint",
        "s3.multipart.part-size-bytes",
        "s3.path-style-access",
        "s3.region",
        "s3.secret-access-key",
        "s3.session-token",
        "s3.sse.key",
        "s3.sse.type",
        "scope",
    }
)


def check_catalog_option(name: str, value: object) -> Problem | None:
    """Why a catalog option is refused; None if it is allowed."""
    if name == "oauth2-server-uri" and not str(value).startswith("https://"):
        return Problem("credentials are sent to this address, so it must use TLS", "an address with https://")
    if name in ALLOWED:
        return None
    own = {"uri": "uri", "warehouse": "warehouse", "type": "type", "credential": "credential", "token": "token"}
    if name in own:
        return Problem(f'the catalog option "{name}" has its own key', f"catalog.{own[name]}")
    if re.search(r"impl$|class|factory|provider|listener|reporter", name, re.IGNORECASE):
        return Problem(f'the catalog option "{name}" is refused: it loads code by name', "nothing: remove this line")
    return not_listed("catalog", name, ALLOWED)
