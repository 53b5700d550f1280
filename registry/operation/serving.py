"""The registry as a service: its log, its start, and its end in good order.

The first signal ends it once the requests in progress are answered, the second at once. Handlers only note the signal:
what they would do beside that could meet a lock that the main thread holds.
"""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC
from queue import SimpleQueue
from typing import TYPE_CHECKING

from loguru import logger

from gcom import __version__
from gcom.errors import BadValue, Unavailable
from registry.operation.settings import NOTICE, RegistrySettings
from registry.server import DRAIN_S, RegistryServer

if TYPE_CHECKING:
    import loguru

EXIT_INTERRUPTED = 130
NOTICE_LEVEL = 28  # below WARNING, which asks for somebody's attention


def run(settings: RegistrySettings, say: Callable[[str], None]) -> int:
    """Serve until a signal; return the exit status. Raises BadValue or Unavailable if it cannot start."""
    stop: SimpleQueue[int] = SimpleQueue()  # its put, unlike Event.set, may interrupt its own get
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda caught, _frame: stop.put(caught))
    log_to_stderr(settings)
    if settings.data is None and settings.place.ports[0]:
        logger.warning("it keeps nothing: after its end nobody can tell who has a name, nor let a group's rest go on")
    try:
        server = _server(settings)
        metrics = _metrics(server, settings.metrics)
    except BadValue as error:
        raise settings.wrong(error) from error
    with metrics:
        return _serve(server, say, stop)


def _server(settings: RegistrySettings) -> RegistryServer:
    files = (settings.tls_cert, settings.tls_key, settings.tls_ca)
    if settings.listen is None and not any(files):
        if settings.advertise is not None:
            raise BadValue("--advertise is for --listen: on loopback the address is what it is")
        return RegistryServer(settings.place, data=settings.data)
    from registry.secure import secure_server

    return secure_server(settings.place, settings.data, settings.authority, files, _tell)


def _metrics(server: RegistryServer, where: str | None) -> AbstractContextManager[object]:
    """Serve the registry's figures, if it is wanted, from before it is ready until it has ended."""
    if where is None:
        return nullcontext()
    from registry.operation.metrics import serve_metrics  # nobody else needs its library

    try:
        serving = serve_metrics(where, server.look)
    except (BadValue, Unavailable):
        server.close()
        raise
    _tell(f"metrics at {serving.url}")
    return serving


def _serve(server: RegistryServer, say: Callable[[str], None], stop: SimpleQueue[int]) -> int:
    server.start()
    say(f"gcom-registry {__version__} {server.address} ready")
    logger.info("ready at {}", server.address)
    if server.grace_s:
        logger.warning(
            "starting: it waits {:.0f} s for groups that are there, before it gives a name away", server.grace_s
        )
    caught = stop.get()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)  # a second signal ends the process at once
    logger.info("stopping: {}", signal.Signals(caught).name)
    server.close(DRAIN_S)
    return EXIT_INTERRUPTED if caught == signal.SIGINT else 0


def _tell(text: str) -> None:
    """Log what an operator is to see, though nothing is amiss."""
    logger.log(NOTICE, "{}", text)


def log_to_stderr(settings: RegistrySettings) -> None:
    """Log as the settings say; a peer's text is never part of a record (gcom/runtime/pyro/server.py)."""
    logger.remove()
    logger.level(NOTICE, no=NOTICE_LEVEL)
    if sys.stderr is None:
        return
    level = settings.log_level.upper()
    if settings.log_format == "json":
        logger.add(_write_json, level=level, diagnose=False)
    else:
        logger.add(sys.stderr, level=level, format="gcom-registry: {message}", diagnose=False)
    logger.enable("gcom")


def _write_json(message: loguru.Message) -> None:
    """Write one record as one line."""
    record = message.record
    row = {
        "time": record["time"].astimezone(UTC).isoformat(timespec="milliseconds"),
        "level": record["level"].name.lower(),
        "module": record["name"],
        "thread": record["thread"].name,
        "message": record["message"],
    }
    if record["exception"] is not None:
        # The text that loguru made: the message, then the traceback, without values of variables.
        row["exception"] = str(message).partition("\n")[2]
    sys.stderr.write(json.dumps(row, ensure_ascii=False) + "\n")
    sys.stderr.flush()
