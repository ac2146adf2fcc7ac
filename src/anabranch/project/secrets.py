"""Secrets by reference only: `${env:NAME}` or `${file:path}`, resolved on use and never stored."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from anabranch.errors import NOTHING_CHANGED, AnabranchError, ExitCode
from anabranch.project.model import surroundings
from anabranch.project.paths import OutsideError, inside
from anabranch.project.refusals import Problem, refusal

MAX_SECRET_BYTES = 64 * 1024
REFERENCE_PATTERN = r"\$\{(env:[A-Za-z_][A-Za-z0-9_]*|file:[^{}\x00-\x1f]+)\}"


class SecretMissingError(AnabranchError):
    """A secret could not be resolved. The error has the reference, never a value."""

    code = "project.secret-missing"
    exit_code = ExitCode.USAGE


@dataclass(frozen=True)
class Secret:
    """A reference to a secret. It has no value, so printing, logging or pickling it is safe."""

    reference: str
    folder: Path

    def __str__(self) -> str:
        return self.reference

    def __repr__(self) -> str:
        return f"Secret({self.reference!r})"

    def reveal(self, environment: Mapping[str, str] | None = None) -> str:
        """Read the value now. Raises SecretMissingError. The caller must not store it."""
        source, _, name = self.reference[2:-1].partition(":")
        variables = os.environ if environment is None else environment
        value = self._from_file(Path(name)) if source == "file" else variables.get(name)
        if not value:
            raise self._missing("the variable is not set" if source == "env" else "the file is empty")
        return value

    def _from_file(self, path: Path) -> str:
        try:
            with (self.folder / path).open("rb") as stream:
                content = stream.read(MAX_SECRET_BYTES + 1)
            if len(content) > MAX_SECRET_BYTES:
                raise self._missing("the file is too large to be a secret")
            return content.decode().rstrip("\r\n")
        except OSError as error:
            raise self._missing(f"the file can't be read ({error.strerror})") from None
        except UnicodeDecodeError:
            # The cause is dropped because it quotes the invalid bytes.
            raise self._missing("the file is not UTF-8 text") from None

    def _missing(self, reason: str) -> SecretMissingError:
        return SecretMissingError(
            f"Secret {self.reference} is not available: {reason}.",
            state=NOTHING_CHANGED,
            hint="set the variable or create the file, then repeat the command",
            reference=self.reference,
        )

    @classmethod
    def parse(cls, value: object, folder: Path) -> Secret:
        """A reference as written in a file. Any other value is refused without being repeated."""
        if not isinstance(value, str) or not re.fullmatch(REFERENCE_PATTERN, value):
            raise refusal(INLINE)
        source, _, name = value[2:-1].partition(":")
        if source == "file" and not Path(name).is_absolute():
            try:
                inside(folder, name)
            except OutsideError as outside:
                raise refusal(Problem(f"a relative secret file must be in the project: {outside}", ABSOLUTE)) from None
        return cls(value, folder)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        def validate(value: object, info: ValidationInfo) -> Secret:
            return value if isinstance(value, Secret) else cls.parse(value, surroundings(info).folder)

        return core_schema.with_info_plain_validator_function(
            validate, serialization=core_schema.to_string_ser_schema(when_used="always")
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"type": "string", "pattern": f"^{REFERENCE_PATTERN}$"}


ABSOLUTE = "an absolute path: ${file:/run/secrets/name}"
INLINE = Problem(
    "a secret must be a reference, not the value itself",
    "${env:NAME}, or ${file:/run/secrets/name}",
)
