"""The `database` section: the control database with runs, approvals and the audit log."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from anabranch.project.model import Part, Words
from anabranch.project.refusals import Problem, refusal, refuse
from anabranch.project.secrets import Secret
from anabranch.project.urls import split_url

EMBEDDED = "embedded"
_EXAMPLE = "postgresql://anabranch@db.example.com:5432/anabranch"


def _url(text: str) -> str:
    if text == EMBEDDED:
        return text
    parts = split_url(text, ("postgresql",), f"embedded, or {_EXAMPLE}")
    if not parts.username or not re.fullmatch(r"/[A-Za-z0-9_-]+", parts.path):
        raise refuse("the address must contain user, host and database", _EXAMPLE)
    if parts.query:
        raise refuse("the address must not have parameters", "sslMode and caFile as separate keys")
    return text


class DatabaseSettings(Part):
    """The control database."""

    url: Annotated[str, AfterValidator(_url)] = Field(
        default=EMBEDDED,
        description="`embedded` for a SQLite file below .anabranch/, or the address of a PostgreSQL database.",
        examples=[_EXAMPLE],
    )
    password: Secret | None = Field(
        default=None, description="Reference to the database password.", examples=["${env:DATABASE_PASSWORD}"]
    )
    ssl_mode: Literal["disable", "prefer", "require", "verify-ca", "verify-full"] | None = Field(
        default=None, description="TLS mode of the PostgreSQL connection.", examples=["verify-full"]
    )
    ca_file: Words | None = Field(
        default=None,
        description="PEM file of the authority that signed the database's certificate.",
        examples=["/etc/postgres/ca.pem"],
    )

    @model_validator(mode="after")
    def _consistent(self) -> DatabaseSettings:
        given = {"password": self.password, "sslMode": self.ssl_mode, "caFile": self.ca_file}
        if self.url == EMBEDDED and any(given.values()):
            stray = [key for key, value in given.items() if value is not None]
            raise refusal(
                *(Problem(f"{key} has no effect for the embedded database", f"no {key}", (key,)) for key in stray)
            )
        if self.ca_file is not None and self.ssl_mode not in ("verify-ca", "verify-full"):
            raise refuse("caFile needs sslMode verify-ca or verify-full", "sslMode: verify-full", "caFile")
        return self

    @property
    def embedded(self) -> bool:
        return self.url == EMBEDDED
