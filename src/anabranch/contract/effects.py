"""Side effects of a transform, as its pipeline declares them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, SerializerFunctionWrapHandler, WrapSerializer

from anabranch.project.model import Part, Switch, Words
from anabranch.project.refusals import refuse

NONE = "none"


class Effect(Part):
    """One side effect per event outside the table, such as a mail or an API call."""

    name: Words = Field(description="What the transform does.", examples=["mail to the customer"])
    idempotent: Switch = Field(default=False, description="Whether repeating it for the same event changes nothing.")
    suppressed: Switch = Field(default=False, description="Whether the transform skips it in a replay.")

    @property
    def repeats(self) -> bool:
        """Whether a replay would repeat it with consequences."""
        return not (self.idempotent or self.suppressed)


def _declared(value: object) -> object:
    if value == NONE:
        return ()
    if not isinstance(value, list) or not value:
        raise refuse("this must be `none` or a list of effects", "none, or [{name: mail to the customer}]")
    return value


def _written(effects: tuple[Effect, ...], write: SerializerFunctionWrapHandler) -> object:
    """The form that the file has, so that a stored pipeline can be loaded again."""
    return write(effects) if effects else NONE


def _or_none(schema: dict[str, Any]) -> None:
    """`none` stands for the empty list: an empty list can't be told from a forgotten one."""
    listed = {key: schema.pop(key) for key in ("type", "items") if key in schema}
    schema["anyOf"] = [{"const": NONE}, {**listed, "minItems": 1}]


Effects = Annotated[
    tuple[Effect, ...], BeforeValidator(_declared), WrapSerializer(_written), Field(json_schema_extra=_or_none)
]
"""All declared side effects; empty for `none`."""
