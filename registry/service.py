"""The registry as a service: its log, its start, and its end in good order.

The first signal ends it once the requests in progress are answered, the second at once. Handlers only note the signal:
what they would do beside that could meet a lock that the main thread holds.
"""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable
from datetime import UTC
from queue import SimpleQueue
from typing import TYPE_CHECKING

from loguru import logger

from gcom import __version__
from gcom.errors import BadValue
from registry.server import RegistryServer
from registry.settings import RegistrySettings

if TYPE_CHECKING:
    import loguru

EXIT_INTERRUPTED = 130
DRAIN_S = 5.0  # a request takes milliseconds; a peer that does not read its answer is not waited for longer


def run(settings: RegistrySettings, say: Callable[[str], None]) -> int:
    """Serve until a signal; return the exit status. Raises BadValue or Unavailable if it cannot start."""
    stop: SimpleQueue[int] = SimpleQueue()  # its put, unlike Event.set, may interrupt its own get
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda caught, _frame: stop.put(caught))
    log_to_stderr(settings)
    _warn_of_forgetting(settings)
    try:
        server = RegistryServer(settings.host, settings.port, settings.data)
    except BadValue as error:
        raise settings.wrong(error) from error
    server.start()
    _tell_ready(server, settings, say)
    caught = stop.get()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)  # a second signal ends the process at once
    logger.info("stopping: {}", signal.Signals(caught).name)
    server.drain(DRAIN_S)
    server.close()
    return EXIT_INTERRUPTED if caught == signal.SIGINT else 0


def _warn_of_forgetting(settings: RegistrySettings) -> None:
    if settings.data is None and settings.port:
        logger.warning("it keeps nothing: after its end nobody can tell who has a name, nor let a group's rest go on")


def _tell_ready(server: RegistryServer, settings: RegistrySettings, say: Callable[[str], None]) -> None:
    say(f"gcom-registry {__version__} {server.address} ready")
    kept = f"what it knows is kept in {str(settings.data)!r}" if settings.data else "it keeps nothing"
    logger.info("ready at {}; only processes of this machine can reach it; {}", server.address, kept)
    if server.grace_s:
        logger.warning(
            "starting: it waits {:.0f} s for groups that are there, before it gives a name away", server.grace_s
        )


def log_to_stderr(settings: RegistrySettings) -> None:
    """Log as the settings say; a peer's text is never part of a record (gcom/runtime/pyro/server.py)."""
    logger.remove()
    if sys.stderr is None:
        return
    level = settings.log_level.upper()
    if settings.log_format == "json":
        logger.add(_write_json, level=level, diagnose=False)
    else:
        logger.add(sys.stderr, level=level, format="gcom-registry: {message}", diagnose=False)
    for package in ("gcom", "registry"):
        logger.enable(package)


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
