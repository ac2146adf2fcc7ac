"""Base of all models of project files: strict, frozen, camelCase in the file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, Strict, ValidationInfo, WithJsonSchema
from pydantic.alias_generators import to_camel

from anabranch.project.refusals import refuse

API_VERSION = "anabranch/v1"


class Part(BaseModel):
    """A mapping in a file. Unknown keys are refused, and an error never repeats a value."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        hide_input_in_errors=True,
        allow_inf_nan=False,
    )


@dataclass(frozen=True)
class Surroundings:
    """What validators need to know: the project's folder. Passed as pydantic's validation context."""

    folder: Path


def surroundings(info: ValidationInfo) -> Surroundings:
    """The surroundings passed to validation. Raises TypeError without them."""
    if not isinstance(info.context, Surroundings):
        raise TypeError("models of a project need Surroundings as validation context")
    return info.context


def _name(text: str) -> str:
    if not re.fullmatch(NAME_PATTERN, text):
        raise refuse(f"{text!r} is not a name", "lower-case letters, digits and hyphens, 63 at most: my-name")
    return text


def _words(text: str) -> str:
    if not text.strip():
        raise refuse("this is blank", "a few words")
    return text


NAME_PATTERN = "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"

Name = Annotated[str, AfterValidator(_name), WithJsonSchema({"type": "string", "pattern": f"^{NAME_PATTERN}$"})]
"""Of a project, context, pipeline or contract: safe in file names, labels and consumer groups."""

Words = Annotated[str, AfterValidator(_words), Field(min_length=1)]
"""Free text for people."""

Whole = Annotated[int, Strict(), Field(ge=0, le=2**63 - 1)]
Positive = Annotated[int, Strict(), Field(ge=1, le=2**63 - 1)]
Port = Annotated[int, Strict(), Field(ge=1, le=65535)]
Switch = Annotated[bool, Strict()]


class Metadata(Part):
    name: Name = Field(description="The name by which other files and commands refer to it.", examples=["orders"])
    labels: Mapping[str, str] = Field(
        default_factory=dict, description="Free labels for your own use.", examples=[{"team": "shop"}]
    )


class Envelope(Part):
    """The keys that every file has beside `spec`."""

    api_version: Literal["anabranch/v1"] = Field(description="The version of this file's format.")
    metadata: Metadata = Field(description="Name and labels.", examples=[{"name": "orders"}])


def as_plain(model: BaseModel) -> dict[str, Any]:
    """A model as JSON data with the file's own keys; secrets appear as their references."""
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)
