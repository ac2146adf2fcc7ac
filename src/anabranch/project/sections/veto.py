"""The `veto` section: an address that is asked before a replay starts and between its slices."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from anabranch.project.model import Part
from anabranch.project.quantities import Duration
from anabranch.project.refusals import refuse
from anabranch.project.secrets import Secret
from anabranch.project.urls import split_url

_EXAMPLE = "https://change.example.com/may-replay"


def _url(text: str) -> str:
    split_url(text, ("https", "http"), _EXAMPLE)
    return text


class VetoSettings(Part):
    """No slice begins unless this address answers 200 with {"allow": true}."""

    url: Annotated[str, AfterValidator(_url)] = Field(
        description="Address for a GET request; redirects are not followed.", examples=[_EXAMPLE]
    )
    token: Secret | None = Field(
        default=None,
        description="Reference to a bearer token; https only.",
        examples=["${env:VETO_TOKEN}"],
    )
    timeout: Duration = Field(
        default=timedelta(seconds=5), description="How long the address may take to answer.", examples=["5s"]
    )
    every: Duration = Field(
        default=timedelta(seconds=10),
        description="How often it is asked while a replay waits or runs; an answer counts until the next one.",
        examples=["10s"],
    )

    @model_validator(mode="after")
    def _token_is_protected(self) -> VetoSettings:
        if self.token is not None and not self.url.startswith("https://"):
            raise refuse("a token would be sent in plain text", "an https address, or no token", "token")
        return self
