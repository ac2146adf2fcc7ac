"""The one factory of Spark sessions: explicit jars, task retries, the same Python for workers, quiet logs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import current_thread, main_thread
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from anabranch.adapters.jvm.java import find_java
from anabranch.adapters.spark.native.functions import OPTIONS, functions_jar
from anabranch.adapters.spark.session.jvm import Jvm, death, is_dead, remember
from anabranch.errors import NOTHING_CHANGED, AnabranchError, text_of

LOGGING = Path(__file__).with_name("log4j2.properties")

DEFAULTS = {
    "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    # Event times are instants; without this they would depend on the machine's zone.
    "spark.sql.session.timeZone": "UTC",
    # Small jobs on a laptop: 200 shuffle partitions would be 200 almost empty files.
    "spark.sql.shuffle.partitions": "4",
    # An idle consumer keeps megabytes of fetched records, for five minutes by default.
    "spark.kafka.consumer.cache.timeout": "30s",
    "spark.kafka.consumer.cache.evictorThreadRunInterval": "10s",
    "spark.kafka.consumer.fetchedData.cache.timeout": "30s",
    "spark.kafka.consumer.fetchedData.cache.evictorThreadRunInterval": "10s",
    # All sources but Kafka: with V1 each record would be converted to a row twice.
    "spark.sql.sources.useV1SourceList": "avro,csv,json,orc,parquet,text",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}

LOOPBACK = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
"""With a local master the driver listens on loopback only.

On a cluster the executors connect to the driver: if its host name does not resolve there, set spark.driver.host,
spark.driver.bindAddress and spark.driver.port in the project's Spark options.
"""

LOCAL_FILES = {"spark.hadoop.fs.file.impl": "anabranch.LocalFiles"}
"""Hadoop's implementation starts a process for every file that it creates. Only with a local master: executors of a
cluster open files before they load this jar."""

ON_A_CLUSTER = {"spark.plugins": "anabranch.MeterPlugin"}
"""Sends executors their share of a byte-rate limit, and the driver their bytes read. Projects can't set plugins."""

COLLECTOR = "-XX:+UseParallelGC"
"""With a local master throughput matters, not pauses: measured 1/6 more records per second."""

PATIENT_COMPILER = (
    "-XX:Tier4InvocationThreshold=50000",
    "-XX:Tier4MinInvocationThreshold=20000",
    "-XX:Tier4CompileThreshold=150000",
)
"""Code that handles records is called millions of times; code that builds queries is not, and Java's C2 compiler would
compile it for most of a short run: measured 1/5 less compiler time."""

STOP_SECONDS = 30


class SparkStartError(AnabranchError):
    code = "spark.did-not-start"


def start_spark(
    name: str,
    *,
    master: str,
    jars: Sequence[Path],
    options: Mapping[str, str],
    log: Path,
    driver_memory: str = "1g",
    inherit: Sequence[int] = (),
) -> SparkSession:
    """A session on `master`, or the one this process already has. The JVM's output goes to `log`.

    `options` override the defaults and the loopback addresses of a local master. They are passed over the gateway, not
    on the JVM's command line, where any user of the machine could read a password in the process list.

    The JVM inherits the open files in `inherit`: a file lock then outlives a killed Python process until the JVM,
    which may be committing, has ended too.
    """
    running = SparkSession.getActiveSession()
    if running is not None:
        return running
    # Another interpreter would lack the user's transform, or disagree about its version.
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    java = find_java()
    os.environ["JAVA_HOME"] = str(java.home)
    here = master.startswith("local")
    launch = {
        "spark.master": master,
        "spark.app.name": name,
        "spark.driver.memory": driver_memory,
        "spark.driver.extraJavaOptions": " ".join(java_options(local=here)),
        "spark.jars": ",".join(str(jar) for jar in (*jars, functions_jar(java, jars))),
    }
    local = {**LOOPBACK, **LOCAL_FILES} if here else ON_A_CLUSTER
    log.parent.mkdir(parents=True, exist_ok=True)
    gateway: Any = None
    try:
        with log.open("ab") as words:
            log_begins = words.tell()
            popen = {"stdout": words, "stderr": words, "pass_fds": tuple(inherit)}
            gateway = launch_gateway(_conf(launch), popen)  # type: ignore[no-untyped-call]
        remember(Jvm(gateway.proc, log, log_begins, driver_memory))
        with _own_interrupts():
            context = SparkContext(gateway=gateway, conf=_conf({**DEFAULTS, **OPTIONS, **local, **options, **launch}))
        if here:
            _use_local_files(context)
    except (PySparkException, Py4JError, OSError) as error:
        died = None if gateway is None else death(error, "Spark had read and written nothing.", "anabranch doctor")
        reason = _in_one_line(error)
        if gateway is not None:
            _end(gateway)
        if died is not None:
            raise died from reason
        raise SparkStartError(
            f"Spark did not start on {master}.",
            state=NOTHING_CHANGED,
            hint=f"read {log}, then `anabranch doctor`",
            master=master,
        ) from reason
    return SparkSession(context)


def stop_spark(session: SparkSession) -> None:
    """Stop the session and its JVM, so that this process may start another one with other settings.

    A JVM that died is discarded without a call.
    """
    gateway = session.sparkContext._gateway
    if not is_dead():
        with suppress(Py4JError, OSError):  # an ending JVM may not answer
            session.stop()
    SparkContext._active_spark_context = None
    _end(gateway)


def _use_local_files(context: SparkContext) -> None:
    """Hadoop caches one file system per scheme and has created its own before this setting."""
    jvm: Any = context._jvm
    files, settings = jvm.java.net.URI("file:///"), context._jsc.hadoopConfiguration()
    jvm.org.apache.hadoop.fs.FileSystem.get(files, settings).close()
    jvm.org.apache.hadoop.fs.FileSystem.get(files, settings)


@contextmanager
def _own_interrupts() -> Iterator[None]:
    """PySpark's SIGINT handler cancels all jobs. The command decides what Ctrl-C does."""
    former = signal.getsignal(signal.SIGINT)
    yield
    if current_thread() is main_thread():
        signal.signal(signal.SIGINT, former)


def _end(gateway: Any) -> None:
    """End the JVM. PySpark would reuse it for the next session with its old settings."""
    remember(None)
    gateway.shutdown()
    with suppress(OSError):
        gateway.proc.stdin.close()  # the JVM ends when its input does
    try:
        gateway.proc.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        gateway.proc.kill()
        gateway.proc.wait()
    SparkContext._gateway = SparkContext._jvm = None


def _in_one_line(error: Exception) -> Exception:
    """An error with only the reason as text, fetched while the JVM runs; the full error stays for `--debug`."""
    reason = error.java_exception if isinstance(error, Py4JJavaError) else error
    short = RuntimeError(" ".join(text_of(reason).split()))
    short.__cause__ = error
    return short


def java_options(*, local: bool) -> list[str]:
    given = " ".join(os.environ.get(name, "") for name in ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"))
    logging = f"-Dlog4j2.configurationFile={LOGGING.as_uri()}"
    if not local:
        return [logging]
    # Java does not start with two collectors; options that the user has set stay.
    collector = () if "GC" in given else (COLLECTOR,)
    compiler = () if "Tier" in given else PATIENT_COMPILER
    return [logging, *collector, *compiler]


def _conf(settings: Mapping[str, str]) -> SparkConf:
    return SparkConf(loadDefaults=False).setAll(list(settings.items()))
