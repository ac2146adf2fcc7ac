"""Client quotas of consumers' bytes by the wire protocol: the C client has none."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any, TypeVar

from anabranch.adapters.kafka.access import KafkaAccess
from anabranch.adapters.kafka.python_client import can_log_in, partition_sizes, python_client
from anabranch.adapters.kafka.topics import describe_topic, offset_ranges, unreachable
from anabranch.errors import NOTHING_CHANGED
from anabranch.plan.quotas import DEFAULT, Quota, QuotaEntity
from anabranch.plan.slices import Ranges, offsets_in
from anabranch.replay.quota_ports import QuotaRefusedError

T = TypeVar("T")

CLIENT_ID = "anabranch-quotas"
"""Of the requests about quotas, so that they do not count towards the replay's."""
SECONDS = 10.0
_RATE = "consumer_byte_rate"
_REQUESTS = "request_percentage"
_USER, _CLIENT = "user", "client-id"
_EXACTLY, _DEFAULT = 0, 1
NEEDED = "AlterConfigs and DescribeConfigs on the cluster"


@dataclass(frozen=True)
class KafkaQuotas:
    """`replay.quota_ports.BrokerQuotas`, for the replay of some ranges of a topic."""

    access: KafkaAccess
    topic: str = ""
    ranges: Ranges | None = None

    def cluster(self) -> str:
        def ask(client: Any) -> str:
            return str(client.describe_cluster()["cluster_id"])

        return self._ask(ask)

    def all(self) -> Sequence[Quota]:
        return self._describe([], strict=False)

    def of_client(self, client_id: str) -> list[str]:
        """The quotas that name this client id, in words."""
        return [each.words for each in self.all() if each.entity.client_id == client_id]

    def read(self, entity: QuotaEntity) -> int | None:
        Request = _protocol().DescribeClientQuotasRequest  # noqa: N806 - a class of the library

        names = {_USER: entity.user, _CLIENT: entity.client_id}
        components = [
            Request.ComponentData(
                entity_type=kind,
                match_type=_DEFAULT if name == DEFAULT else _EXACTLY,
                match=None if name == DEFAULT else name,
            )
            for kind, name in names.items()
            if name is not None
        ]
        found = self._describe(components, strict=True)
        return next((each.value for each in found if each.entity == entity), None)

    def set(self, entity: QuotaEntity, value: int) -> None:
        self._alter(entity, {"key": _RATE, "value": float(value), "remove": False})

    def try_set(self, entity: QuotaEntity, value: int) -> None:
        self._alter(entity, {"key": _RATE, "value": float(value), "remove": False}, validate_only=True)

    def remove(self, entity: QuotaEntity) -> None:
        self._alter(entity, {"key": _RATE, "value": 0.0, "remove": True})

    def request_quotas(self) -> Sequence[QuotaEntity]:
        return [each.entity for each in self._describe([], strict=False, key=_REQUESTS)]

    def leader_bytes(self) -> Mapping[int, int]:
        def ask(client: Any) -> dict[int, int]:
            return _leaders(client, self.topic)

        leaders, ends = self._ask(ask), self._offset_ranges()
        sizes = partition_sizes(self.access, CLIENT_ID, self.topic, tuple(leaders))
        led: dict[int, int] = {}
        read = {p: each for p, each in (self.ranges or {}).items() if p in leaders and p in ends}
        for partition, intervals in read.items():
            offsets, kept = offsets_in({partition: intervals}), ends[partition][1] - ends[partition][0]
            known = sizes.keys() >= leaders.keys() and kept > 0
            size = offsets * sizes[partition] // kept if known else offsets
            led[leaders[partition]] = led.get(leaders[partition], 0) + size
        return led

    def _offset_ranges(self) -> dict[int, tuple[int, int]]:
        client = self.access.client(CLIENT_ID)
        return offset_ranges(client, describe_topic(client, self.topic))

    def _describe(self, components: Sequence[Any], *, strict: bool, key: str = _RATE) -> list[Quota]:
        Request = _protocol().DescribeClientQuotasRequest  # noqa: N806 - a class of the library

        def ask(client: Any) -> list[Quota]:
            answer = client._manager.run(client._manager.send, Request(components=list(components), strict=strict))
            _require_done(answer)
            return list(_quotas(answer.entries or (), key))

        return self._ask(ask)

    def _alter(self, entity: QuotaEntity, operation: dict[str, Any], *, validate_only: bool = False) -> None:
        Request = _protocol().AlterClientQuotasRequest  # noqa: N806 - a class of the library

        names = {_USER: entity.user, _CLIENT: entity.client_id}
        parts = [
            Request.EntryData.EntityData(entity_type=kind, entity_name=None if name == DEFAULT else name)
            for kind, name in names.items()
            if name is not None
        ]
        entry = Request.EntryData(entity=parts, ops=[Request.EntryData.OpData(**operation)])

        def ask(client: Any) -> None:
            request = Request(entries=[entry], validate_only=validate_only)
            for result in client._manager.run(client._manager.send, request).entries:
                _require_done(result)

        self._ask(ask)

    def _ask(self, request: Callable[[Any], T]) -> T:
        errors = python_client().errors
        try:
            with self._client() as client:
                return request(client)
        except (
            errors.ClusterAuthorizationFailedError,
            errors.TopicAuthorizationFailedError,
            errors.UnsupportedVersionError,
            errors.IncompatibleBrokerVersion,
            errors.InvalidRequestError,
        ) as error:
            denied = isinstance(error, errors.ClusterAuthorizationFailedError)
            raise QuotaRefusedError(
                f"This user may not manage quotas: it needs {NEEDED}."
                if denied
                else f"The cluster refuses client quotas: {type(error).__name__}.",
                state=NOTHING_CHANGED,
                hint=f"Allow this user {NEEDED}, or set kafka.quota: false in the context",
            ) from error
        except errors.KafkaError as error:
            raise unreachable(self.access.client(CLIENT_ID)) from error

    @contextmanager
    def _client(self) -> Iterator[Any]:
        if not can_log_in(self.access):
            raise QuotaRefusedError(
                "The client that manages quotas cannot log in with OAUTHBEARER.",
                state=NOTHING_CHANGED,
                hint="Set kafka.quota: false in the context; the client's limit holds without a quota",
            )
        wait = {"bootstrap_timeout_ms": int(SECONDS * 1000), "request_timeout_ms": int(SECONDS * 1000)}
        with python_client().KafkaAdminClient(**self.access.kafka_python(CLIENT_ID), **wait) as client:
            yield client


def _protocol() -> ModuleType:
    """The library's messages, imported after its warnings are silenced."""
    python_client()
    import kafka.protocol.admin

    return kafka.protocol.admin  # type: ignore[no-any-return]


def _require_done(answer: Any) -> None:
    kind = python_client().errors.for_code(answer.error_code)
    if kind is not python_client().errors.NoError:
        raise kind(answer.error_message)


def _quotas(entries: Sequence[Any], key: str) -> Iterator[Quota]:
    for entry in entries:
        names = {each.entity_type: DEFAULT if each.entity_name is None else each.entity_name for each in entry.entity}
        if names.keys() <= {_USER, _CLIENT}:
            for value in entry.values:
                if value.key == key:
                    yield Quota(QuotaEntity(names.get(_USER), names.get(_CLIENT)), round(value.value))


def _leaders(client: Any, topic: str) -> dict[int, int]:
    """The leader of each partition that has one."""
    [found] = client.describe_topics([topic])
    return {each["partition_index"]: each["leader_id"] for each in found["partitions"] if each["leader_id"] >= 0}
