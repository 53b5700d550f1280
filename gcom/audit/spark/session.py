"""A Spark session for the audit: local unless told otherwise, quiet, and with the limits that this work needs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from socket import create_connection
from traceback import walk_tb
from types import TracebackType
from typing import IO, Any
from urllib.parse import urlsplit

from gcom.errors import AuditUnavailable, ExtraMissing

CONNECT_PORT = 15002  # Spark Connect's own
REACH_S = 5.0  # its client would try for minutes before it says that nobody is there
JAVA = 17  # what Spark 4 needs at least
_SUBMITTED = "PYSPARK_GATEWAY_PORT"  # set by spark-submit, whose Java waits there


def is_submitted() -> bool:
    """Tell whether `spark-submit` runs this process."""
    return _SUBMITTED in os.environ


def is_installed() -> bool:
    """Tell whether PySpark and a Java are here; whether they will do is found out when they start."""
    home = os.environ.get("JAVA_HOME")
    java = os.path.exists(os.path.join(home, "bin", "java")) if home else shutil.which("java") is not None
    return java and find_spec("pyspark") is not None


def given_session() -> Any:
    """Return the session that this process has already, if any."""
    # Asking takes an import of PySpark, and a process that has not made it has no session.
    if "pyspark.sql" not in sys.modules:
        return None
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession()


def open_session(master: str | None, remote: str | None, memory: str = "3g") -> Any:
    """Return a session on this machine, on a cluster's `master`, or on a Spark Connect server. Raises AuditUnavailable.

    Under `spark-submit` its master and settings are used. On this machine Java is set to start soon, since the costly
    work is done in Arrow and NumPy.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise ExtraMissing("pyspark is not installed: pip install 'gcom[audit]'") from None
    # Tasks must run in this Python, which has gcom and its libraries, and not in the first one on the PATH.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    remote = remote if remote is not None or master is not None else os.environ.get("SPARK_REMOTE")
    if remote is not None:
        _reach(remote)
        return _opened(SparkSession.builder.remote(remote), f"the Spark Connect server {remote}")
    os.environ.setdefault("SPARK_LOG_LEVEL", "OFF")
    builder = SparkSession.builder.appName("gcom audit")
    if is_submitted():
        builder = _submitted(builder, master)
        return _opened(builder, "Spark, as spark-submit gave it")
    _find_java()
    local = master is None or master.startswith("local")
    if local:
        # Without it Spark listens at the host's name, which others may reach, and which may not resolve.
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = builder.master(master or "local[*]")
    for name, value in _settings(memory, local=local).items():
        builder = builder.config(name, value)
    return _opened(builder, f"Spark at {master or 'local[*]'}")


def _submitted(builder: Any, master: str | None) -> Any:
    """Return a builder with the master and settings of `spark-submit`, and ours where it says nothing."""
    from pyspark import SparkConf

    given = SparkConf()
    for name, value in _SHARED.items():
        builder = builder if given.contains(name) else builder.config(name, value)
    return builder if master is None else builder.master(master)


def _opened(builder: Any, what: str) -> Any:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    with tempfile.TemporaryFile() as said:
        try:
            with _standard_error_to(said):
                return builder.getOrCreate()
        except (PySparkException, Py4JError, OSError, ImportError) as error:
            said.seek(0)
            java = said.read().decode(errors="replace").splitlines()
            # Java's last line that is no stack frame says what failed; PySpark's own error only says that Java ended.
            told = [line for line in java if line.strip() and not line.lstrip().startswith("at ")]
            lines = [*str(error).strip().splitlines()[:1], *told[-1:]]
            raise AuditUnavailable(
                f"{what} did not start: {' / '.join(lines)}; check --master or --remote, and Java"
            ) from None
        finally:
            _end_java(sys.exc_info()[2])


def _reach(remote: str) -> None:
    """Raise AuditUnavailable if no server listens: Connect's own client would try again and again."""
    if remote.startswith("local"):  # PySpark starts a server of its own
        return
    place = urlsplit(remote)
    try:
        host, port = place.hostname, place.port or CONNECT_PORT
    except ValueError:
        host = None
    if place.scheme != "sc" or host is None:
        raise AuditUnavailable(
            f"--remote must name a Spark Connect server: expected sc://HOST or sc://HOST:PORT, got {remote!r}"
        )
    try:
        create_connection((host, port), REACH_S).close()
    except OSError as error:
        why = error.strerror or str(error)
        raise AuditUnavailable(
            f"no Spark Connect server answers at {host}:{port}: {why}; start one there, or leave --remote out"
        ) from None


def errors_of_java() -> tuple[type[Exception], ...]:
    """Return the types of exception that a call of Java raises after Java's end."""
    from py4j.protocol import Py4JError

    return Py4JError, ConnectionError


def _end_java(trace: TracebackType | None) -> None:
    """End the Java process that PySpark was waiting for when a signal came.

    1. PySpark starts Java, and waits until it has written its port to a file. 2. A signal ends the wait; PySpark
    removes the folder. 3. Java cannot write, its main thread ends, and its other threads do not notice that PySpark is
    gone: it would stay. PySpark keeps the process only in the frame that waits.
    """
    for frame, _ in walk_tb(trace):
        for each in frame.f_locals.values():
            if isinstance(each, subprocess.Popen):
                each.kill()
                each.wait()


@contextmanager
def _standard_error_to(file: IO[bytes]) -> Iterator[None]:
    """Redirect standard error: Java and its workers, which start here, would write to it before the verdict."""
    # The descriptor and not sys.stderr: Java is another process, and writes to what it inherited.
    kept = os.dup(2)
    try:
        os.dup2(file.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


_SHARED = {
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # What is shuffled is kilobytes per group, or excerpts of what differs; Spark's own 200 partitions
    # would be 200 starts.
    "spark.sql.shuffle.partitions": "8",
    "spark.sql.adaptive.enabled": "true",
    # Nobody looks at Spark's page, and other users of this machine could.
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
    # It would write to standard error, where the verdict's notes belong.
    "spark.python.worker.faulthandler.enabled": "false",
}


def _settings(memory: str, *, local: bool) -> dict[str, str]:
    if not local:
        return _SHARED
    java = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # a tenth less from start to verdict
    here = {
        "spark.driver.memory": memory,
        # No other machine takes part, so none may reach it.
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": f"{java} -Dlog4j2.level=OFF",
    }
    return {**_SHARED, **here}


def _find_java() -> None:
    """Raise AuditUnavailable unless a Java that Spark can use is found."""
    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else shutil.which("java")
    advice = (
        f"Spark needs Java {JAVA} or newer: `make setup` fetches one, "
        f"or install one (Debian, Ubuntu: apt-get install openjdk-{JAVA}-jre-headless) or set JAVA_HOME"
    )
    if java is None or not os.path.exists(java):
        raise AuditUnavailable(f"no Java {'at JAVA_HOME ' + home if home else 'found'}. {advice}")
    # `1.8` is Java 8: the major number came first only from 9 on.
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "(?:1\.)?(\d+)', said)
    if version is None or int(version[1]) < JAVA:
        raise AuditUnavailable(f"{java} is Java {version[1] if version else 'of no known version'}. {advice}")
