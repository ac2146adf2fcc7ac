"""The `spark` section: master, memory and tuning."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, WithJsonSchema

from anabranch.project.model import Part, Switch, surroundings
from anabranch.project.options.passing import OptionValue, pass_options
from anabranch.project.options.spark import check_spark_option
from anabranch.project.refusals import refuse
from anabranch.project.urls import HOST

_CLUSTERS = (
    rf"spark://{HOST}:[0-9]{{1,5}}(,{HOST}:[0-9]{{1,5}})*",
    "yarn",
    rf"k8s://(https://)?{HOST}(:[0-9]{{1,5}})?",
)


def _master(text: str) -> str:
    local = re.fullmatch(r"local(\[(\*|[1-9][0-9]{0,3})(,\s*([0-9]{1,3}))?\])?", text)
    if local is not None:
        # Refused, not corrected silently: local[N] never retries a task, so one failed task fails the slice,
        # and the file should show the master that is used.
        if local[4] is None or int(local[4]) < 2:
            cores = local[2] or "*"
            raise refuse("this local master never retries a failed task", f"local[{cores},4]")
        return f"local[{local[2]},{local[4]}]"
    if not any(re.fullmatch(pattern, text) for pattern in _CLUSTERS):
        raise refuse("this is not a Spark master", "local[*,4], spark://host:7077, yarn or k8s://https://host:6443")
    return text


def _memory(text: str) -> str:
    if not re.fullmatch(r"[1-9][0-9]{0,6}[mgMG]", text):
        raise refuse("this is not an amount of memory", "a number with m or g: 2g")
    return text.lower()


def _options(value: object, info: ValidationInfo) -> dict[str, OptionValue]:
    return pass_options(value, check_spark_option, surroundings(info).folder)


class SparkSettings(Part):
    """The Spark master and its options."""

    master: Annotated[str, AfterValidator(_master)] = Field(
        default="local[*,4]",
        description="local[CORES,TRIES] on this machine (`*` for all cores), spark://host:port, yarn or k8s://…",
        examples=["local[*,4]"],
    )
    driver_memory: Annotated[str, AfterValidator(_memory)] = Field(
        default="2g", description="Memory of the driver's Java process.", examples=["2g"]
    )
    native: Switch = Field(
        default=True,
        description="Whether slices are decoded and written by Anabranch's own Java code where it fits. false: by "
        "Spark's and Iceberg's own code, to the same rows and the same ledger, more slowly",
        examples=[True],
    )
    options: Annotated[
        Mapping[str, OptionValue],
        BeforeValidator(_options),
        WithJsonSchema({"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}}),
    ] = Field(
        default_factory=dict,
        description="Spark options, from an allowlist without code loading and without settings that Anabranch "
        "relies on.",
        examples=[{"spark.sql.shuffle.partitions": 64}],
    )
