"""Allowed Spark options: sizing, cluster and object store; no code, no listeners, none that Anabranch sets."""

from __future__ import annotations

import re

from anabranch.project.options.passing import not_listed
from anabranch.project.refusals import Problem

ALLOWED = frozenset(
    {
        "spark.blockManager.port",
        "spark.cores.max",
        "spark.default.parallelism",
        "spark.driver.bindAddress",
        "spark.driver.cores",
        "spark.driver.host",
        "spark.driver.maxResultSize",
        "spark.driver.memoryOverhead",
        "spark.driver.memoryOverheadFactor",
        "spark.driver.port",
        "spark.eventLog.compress",
        "spark.eventLog.enabled",
        "spark.executor.cores",
        "spark.executor.heartbeatInterval",
        "spark.executor.instances",
        "spark.executor.memory",
        "spark.executor.memoryOverhead",
        "spark.executor.memoryOverheadFactor",
        "spark.io.compression.codec",
        "spark.kryoserializer.buffer.max",
        "spark.locality.wait",
        "spark.memory.fraction",
        "spark.memory.offHeap.enabled",
        "spark.memory.offHeap.size",
        "spark.memory.storageFraction",
        "spark.network.timeout",
        "spark.port.maxRetries",
        "spark.rpc.askTimeout",
        "spark.rpc.message.maxSize",
        "spark.scheduler.mode",
        "spark.speculation",
        "spark.sql.autoBroadcastJoinThreshold",
        "spark.sql.files.maxPartitionBytes",
        "spark.sql.shuffle.partitions",
        "spark.sql.streaming.minBatchesToRetain",
        "spark.sql.streaming.stateStore.maintenanceInterval",
        "spark.task.cpus",
        "spark.task.maxFailures",
        "spark.ui.enabled",
        "spark.ui.port",
        "spark.ui.retainedJobs",
        "spark.yarn.maxAppAttempts",
        "spark.yarn.queue",
        "spark.yarn.tags",
    }
)
PREFIXES = (
    "spark.dynamicAllocation.",
    "spark.executor.resource.",
    "spark.hadoop.fs.azure.",
    "spark.hadoop.fs.gs.",
    "spark.hadoop.fs.s3a.",
    "spark.kubernetes.",
    "spark.shuffle.",
    "spark.sql.adaptive.",
)

_REMOVE = "nothing: remove this line"
_CODE = "it loads code or settings by name"
_REASONS: tuple[tuple[str, str, str], ...] = (
    (r"spark\.master", "the master has its own key", "spark.master"),
    (r"spark\.driver\.memory", "the driver's memory has its own key", "spark.driverMemory: 2g"),
    (r"spark\.app\.name|spark\.app\.id", "Anabranch names its applications after the run", _REMOVE),
    (r"spark\.jars.*|spark\.yarn\.(jars|archive|dist\..*)", "Anabranch chooses and checks the jars itself", _REMOVE),
    (r"spark\.submit\..*|spark\.files|spark\.archives", "it adds other code to the job", _REMOVE),
    (r".*extraJavaOptions|.*defaultJavaOptions", "Java options can load agents or open ports", _REMOVE),
    (
        r".*extraClassPath|.*extraLibraryPath|.*userClassPathFirst",
        "it puts other code before Anabranch's on the class path",
        _REMOVE,
    ),
    (r"spark\.(plugins|extraListeners|driver\.plugins|executor\.plugins)(\..*)?", _CODE, _REMOVE),
    (r"spark\.sql\.(extensions|queryExecutionListeners|streaming\.streamingQueryListeners)", _CODE, _REMOVE),
    (r"spark\.sql\.catalog.*", "the catalog has its own section", "catalog with type, uri and warehouse"),
    (
        r"spark\.pyspark\..*|spark\.executorEnv\..*|spark\.yarn\.appMasterEnv\..*",
        "it changes the Python interpreter",
        _REMOVE,
    ),
    (r"spark\.sql\.iceberg\.snapshot-property\..*", "Anabranch identifies its commits by these properties", _REMOVE),
    (r".*failOnDataLoss.*", "without it lost data goes unnoticed; Anabranch sets it to true", _REMOVE),
    (r"spark\.sql\.session\.timeZone", "Anabranch runs the session in UTC", _REMOVE),
    (r"spark\.sql\.iceberg\..*", "it may change how Iceberg reads and commits", _REMOVE),
    # Also in the middle of a name: some of these options take an account or a bucket behind them.
    (
        r".*(class|factory|provider|plugin|listener|interceptor|signer|featureStep|allocator|binding|shuffle\.manager"
        r"|handler|impl($|\.)).*",
        _CODE,
        _REMOVE,
    ),
    (
        r".*podTemplate.*",
        "a pod template can replace the container and what it mounts",
        "single spark.kubernetes options",
    ),
    (r"spark\.hadoop\..*", "only Hadoop options of object stores are allowed", "spark.hadoop.fs.s3a.…"),
)


def check_spark_option(name: str, value: object) -> Problem | None:
    """Why a Spark option is refused; None if it is allowed. A refused name is refused below an allowed prefix too."""
    del value
    if name in ALLOWED:
        return None
    if not name.startswith(PREFIXES) or _refused_below_prefix(name):
        return _why_not(name)
    return None


def _refused_below_prefix(name: str) -> bool:
    # The last reason is about Hadoop as a whole, whose object stores are allowed prefixes.
    return any(re.fullmatch(pattern, name, re.IGNORECASE) for pattern, _, _ in _REASONS[:-1])


def _why_not(name: str) -> Problem:
    for pattern, reason, write in _REASONS:
        if re.fullmatch(pattern, name, re.IGNORECASE):
            return Problem(f'the Spark option "{name}" is refused: {reason}', write)
    return not_listed("Spark", name, ALLOWED)
