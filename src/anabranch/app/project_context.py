"""A project in one context, ready to work with: where adapters get their settings, and their secrets are revealed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from anabranch.adapters.iceberg.catalog import IcebergCatalog, jdbc, rest
from anabranch.adapters.iceberg.embedded import EmbeddedCatalog
from anabranch.adapters.kafka.access import KafkaAccess, Login
from anabranch.app.control_database import control_database_url
from anabranch.project.load import LoadedProject, load_project
from anabranch.project.location import find_project_folder, state_folder
from anabranch.project.options.passing import OptionValue
from anabranch.project.secrets import Secret

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from anabranch.adapters.sql.store import SqlRunStore


def open_project(project: Path | None = None, context: str | None = None) -> ProjectContext:
    """The project at or above `project` (or the current folder). Connects to nothing yet."""
    return ProjectContext(load_project(find_project_folder(project or Path.cwd()), context))


@dataclass(frozen=True)
class ProjectContext:
    """Everything is opened when it is first asked for, so that a command pays only for what it uses."""

    loaded: LoadedProject

    @property
    def folder(self) -> Path:
        return self.loaded.folder

    @property
    def state(self) -> Path:
        return state_folder(self.loaded.folder)

    @cached_property
    def kafka(self) -> KafkaAccess:
        settings = self.loaded.settings.kafka
        if settings.embedded:
            from anabranch.adapters.embedded.stack import EmbeddedKafka

            bootstrap = EmbeddedKafka(self.state).bootstrap()
        else:
            bootstrap = settings.bootstrap
        login = None
        if settings.security is not None:
            login = Login(
                **{
                    **settings.security.model_dump(by_alias=False),
                    "password": _revealed(settings.security.password),
                    "key_password": _revealed(settings.security.key_password),
                }
            )
        return KafkaAccess(bootstrap, login, _plain(settings.librdkafka_options), _plain(settings.java_options))

    @cached_property
    def catalog(self) -> IcebergCatalog:
        settings = self.loaded.settings.catalog
        options = _plain(settings.options)
        match settings.type:
            case "embedded":
                embedded = EmbeddedCatalog.below(self.state)
                if not embedded.exists():
                    embedded.create()
                return embedded.catalog(settings.name)
            case "rest":
                login = {"token": _revealed(settings.token), "credential": _revealed(settings.credential)}
                given = {key: value for key, value in login.items() if value}
                return rest(settings.name, settings.uri or "", settings.warehouse, given, options)
            case "jdbc":
                return jdbc(
                    settings.name,
                    settings.uri or "",
                    settings.warehouse or "",
                    settings.username,
                    _revealed(settings.password),
                    options,
                )

    def store(self, *, create: bool = True) -> SqlRunStore:
        """The memory of runs. With `create=False` a database that is not there is an error."""
        from anabranch.adapters.sql.store import open_store

        if create:
            self.state.mkdir(exist_ok=True)
        return open_store(control_database_url(self.loaded), create=create)

    def spark(self, name: str, *, inherit: Sequence[int] = ()) -> SparkSession:
        """The Spark session of this process, started now if there is none; its JVM keeps `inherit` open."""
        from anabranch.adapters.jvm.artifacts import ArtifactCache, locked
        from anabranch.adapters.spark.session.session import start_spark

        settings = self.loaded.settings.spark
        return start_spark(
            name,
            master=settings.master,
            jars=ArtifactCache().fetch(locked("spark")),
            options={**self.catalog.spark_options(), **_plain(settings.options)},
            log=self.state / "logs" / "spark.log",
            driver_memory=settings.driver_memory,
            inherit=inherit,
        )


def _revealed(secret: Secret | None) -> str | None:
    return None if secret is None else secret.reveal()


def _plain(options: Mapping[str, OptionValue]) -> dict[str, str]:
    return {key: value.reveal() if isinstance(value, Secret) else value for key, value in options.items()}
