"""An Iceberg catalog, opened by PyIceberg (no JVM) and by Spark from the same settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from anabranch.errors import NOTHING_CHANGED, AnabranchError

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog


class CatalogUnreachableError(AnabranchError):
    code = "catalog.unreachable"


@dataclass(frozen=True)
class IcebergCatalog:
    """A catalog's settings, with secrets in clear text: never print one."""

    name: str
    python: Mapping[str, str] = field(repr=False)
    spark: Mapping[str, str] = field(repr=False)

    def open(self) -> Catalog:
        from pyiceberg.catalog import load_catalog

        try:
            return load_catalog(self.name, **self.python)
        except Exception as error:
            # The client's error may quote its settings with secrets, so only its type is shown.
            raise CatalogUnreachableError(
                f"Catalog {self.name} could not be opened ({type(error).__name__}).",
                state=NOTHING_CHANGED,
                command="anabranch doctor",
                catalog=self.name,
            ) from None

    def spark_options(self) -> dict[str, str]:
        prefix = f"spark.sql.catalog.{self.name}"
        named = {f"{prefix}.{key}": value for key, value in self.spark.items()}
        # With Spark's cache a table stays as first loaded, without branches created since.
        return {prefix: "org.apache.iceberg.spark.SparkCatalog", f"{prefix}.cache-enabled": "false", **named}


def rest(
    name: str, uri: str, warehouse: str | None, login: Mapping[str, str], options: Mapping[str, str]
) -> IcebergCatalog:
    """A REST catalog. `login` is a token or a credential to obtain one."""
    same = {"type": "rest", "uri": uri, **login, **options}
    if warehouse is not None:
        same["warehouse"] = warehouse
    return IcebergCatalog(name, same, same)


def jdbc(
    name: str, uri: str, warehouse: str, username: str | None, password: str | None, options: Mapping[str, str]
) -> IcebergCatalog:
    """A JDBC catalog on PostgreSQL. Both sides share its tables, so both must use the same schema version."""
    from sqlalchemy import make_url

    address = make_url(uri.removeprefix("jdbc:")).set(
        drivername="postgresql+psycopg", username=username, password=password
    )
    python = {
        "type": "sql",
        "uri": address.render_as_string(hide_password=False),
        "warehouse": warehouse,
        **options,
    }
    spark = {"type": "jdbc", "uri": uri, "warehouse": warehouse, "jdbc.schema-version": "V1", **options}
    login = {"jdbc.user": username, "jdbc.password": password}
    return IcebergCatalog(name, python, {**spark, **{key: value for key, value in login.items() if value}})
