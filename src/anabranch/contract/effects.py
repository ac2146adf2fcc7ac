"""What a transform does to the world besides giving rows, as its pipeline declares it."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, SerializerFunctionWrapHandler, WrapSerializer

from anabranch.project.model import Part, Switch, Words
from anabranch.project.refusals import refuse

NONE = "none"


class Effect(Part):
    """One thing that is done outside the table for an event, such as a mail or a call."""

    name: Words = Field(description="What is done.", examples=["mail to the customer"])
    idempotent: Switch = Field(
        default=False, description="Whether doing it once more for the same event changes nothing."
    )
    suppressed: Switch = Field(default=False, description="Whether the transform leaves it out in a replay.")

    @property
    def repeats(self) -> bool:
        """Whether a replay would do it a second time, to somebody's harm."""
        return not (self.idempotent or self.suppressed)


def _declared(value: object) -> object:
    if value == NONE:
        return ()
    if not isinstance(value, list) or not value:
        raise refuse("this must be `none` or a list of effects", "none, or [{name: mail to the customer}]")
    return value


def _written(effects: tuple[Effect, ...], write: SerializerFunctionWrapHandler) -> object:
    """As it is read: a pipeline that is kept as a file is loaded from it again."""
    return write(effects) if effects else NONE


def _or_none(schema: dict[str, Any]) -> None:
    """The word stands for the empty list, which nobody could tell from a forgotten one."""
    listed = {key: schema.pop(key) for key in ("type", "items") if key in schema}
    schema["anyOf"] = [{"const": NONE}, {**listed, "minItems": 1}]


Effects = Annotated[
    tuple[Effect, ...], BeforeValidator(_declared), WrapSerializer(_written), Field(json_schema_extra=_or_none)
]
"""Every one of them; empty for `none`."""
