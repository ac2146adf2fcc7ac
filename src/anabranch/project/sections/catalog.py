"""The `catalog` section: the Iceberg catalog of the tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from anabranch.project.model import Part, Words, surroundings
from anabranch.project.options.catalog import check_catalog_option
from anabranch.project.options.passing import OptionValue, first_problem, pass_options
from anabranch.project.refusals import Problem, refusal, refuse
from anabranch.project.secrets import Secret
from anabranch.project.urls import holds_password, split_url

_OWN_KEYS = {
    "embedded": frozenset[str](),
    "jdbc": frozenset({"uri", "warehouse", "username", "password", "options"}),
    "rest": frozenset({"uri", "warehouse", "credential", "token", "options"}),
}


def _name(text: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,62}", text) or text in ("spark_catalog", "system", "session"):
        raise refuse("this is not a catalog name", "lower-case letters, digits and underscores: lake")
    return text


def _warehouse(text: str) -> str:
    if holds_password(text) or not re.fullmatch(r"[A-Za-z0-9._~:/+=-]+", text):
        raise refuse("this is not a warehouse", "the address of a folder: s3://bucket/warehouse")
    return text


def _options(value: object, info: ValidationInfo) -> dict[str, OptionValue]:
    return pass_options(value, check_catalog_option, surroundings(info).folder)


class CatalogSettings(Part):
    """The Iceberg catalog."""

    type: Literal["embedded", "jdbc", "rest"] = Field(
        default="embedded",
        description="`embedded` for a catalog below .anabranch/, or a jdbc or rest catalog.",
        examples=["rest"],
    )
    name: Annotated[str, AfterValidator(_name)] = Field(
        default="lake", description="Name of the catalog in SQL.", examples=["lake"]
    )
    uri: Words | None = Field(
        default=None,
        description="Address of the catalog: jdbc:postgresql://host:5432/db for jdbc, https://host/path for rest.",
        examples=["https://catalog.example.com/api"],
    )
    warehouse: Annotated[str, AfterValidator(_warehouse)] | None = Field(
        default=None,
        description="Location of new tables' files; for rest, the catalog's name of the warehouse.",
        examples=["s3://lake/warehouse"],
    )
    username: Words | None = Field(
        default=None, description="The database user of a jdbc catalog.", examples=["iceberg"]
    )
    password: Secret | None = Field(
        default=None,
        description="Reference to the database password of a jdbc catalog.",
        examples=["${env:CATALOG_PASSWORD}"],
    )
    credential: Secret | None = Field(
        default=None,
        description="Reference to the id:secret for logging in to a rest catalog.",
        examples=["${env:CATALOG_CREDENTIAL}"],
    )
    token: Secret | None = Field(
        default=None, description="Reference to a bearer token for a rest catalog.", examples=["${env:CATALOG_TOKEN}"]
    )
    options: Annotated[
        Mapping[str, OptionValue],
        BeforeValidator(_options),
        WithJsonSchema({"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}}),
    ] = Field(
        default_factory=dict,
        description="Options of the object store and the catalog, from an allowlist.",
        examples=[{"s3.region": "eu-central-1"}],
    )

    @model_validator(mode="after")
    def _consistent(self) -> CatalogSettings:
        problems = [*self._stray(), *self._missing()]
        if not problems and self.uri is not None:
            problems += self._uri_problems(self.uri)
        if problems:
            raise refusal(*problems)
        return self

    def _stray(self) -> Iterator[Problem]:
        for key in ("uri", "warehouse", "username", "password", "credential", "token", "options"):
            if getattr(self, key) and key not in _OWN_KEYS[self.type]:
                yield Problem(
                    f"{key} has no effect for a catalog of type {self.type}", f"no {key}, or another type", (key,)
                )
        if self.credential is not None and self.token is not None and self.type == "rest":
            yield Problem("credential and token are alternatives", "one of them", ("token",))

    def _missing(self) -> Iterator[Problem]:
        if self.type != "embedded" and self.uri is None:
            yield Problem(f"a catalog of type {self.type} needs a uri", f"uri: {_EXAMPLES[self.type]}")
        if self.type == "jdbc" and self.warehouse is None:
            yield Problem("a catalog of type jdbc needs a warehouse", "warehouse: s3://bucket/warehouse")
        if self.password is not None and self.username is None and self.type == "jdbc":
            yield Problem("password needs a username", "username: iceberg", ("password",))

    def _uri_problems(self, uri: str) -> list[Problem]:
        example = _EXAMPLES[self.type]
        if self.type == "jdbc" and not uri.startswith("jdbc:"):
            return [Problem("a jdbc catalog is a PostgreSQL database", f"uri: {example}", ("uri",))]
        schemes = ("https", "http") if self.type == "rest" else ("postgresql",)
        try:
            parts = split_url(uri.removeprefix("jdbc:") if self.type == "jdbc" else uri, schemes, example)
        except PydanticCustomError as refused:
            problem = first_problem(refused)
            return [Problem(problem.what, problem.write, ("uri",))]
        if self.type == "rest":
            return []
        if parts.username or not re.fullmatch(r"/[A-Za-z0-9_-]+", parts.path):
            return [Problem("the uri must contain host, port and database, and no user", f"uri: {example}", ("uri",))]
        return []


_EXAMPLES = {"jdbc": "jdbc:postgresql://db.example.com:5432/iceberg", "rest": "https://catalog.example.com/api"}
