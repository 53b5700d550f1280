"""Notices and the log of a registry, on standard error, as text or as one JSON object a line."""

from __future__ import annotations

import json
import os
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from loguru import logger

if TYPE_CHECKING:
    from loguru import Message


class ServiceOutput:
    """The output of a registry, as `text`, or as `json` with the fields time, level and message."""

    def __init__(self, log_format: str = "text", level: str = "WARNING") -> None:
        self._json = log_format == "json"
        # loguru writes in colours and a form of its own, which no reader of this service's log expects.
        logger.remove()
        if sys.stderr is not None:
            # diagnose=False: else a traceback shows the values of variables, of which one may be a secret.
            logger.add(self._log, level=level, format="{message}", diagnose=False)
        logger.enable("gcom")
        logger.enable("gcom_registry")

    def say(self, line: str) -> None:
        """Print a line of data to standard output, which may be closed: a service that nobody reads goes on."""
        try:
            print(_row("INFO", line) if self._json else line, flush=True)
        except (OSError, ValueError):
            sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - lives as long as the process

    def tell(self, text: str, level: str = "INFO") -> None:
        """Print a notice to standard error, whatever the level of the log."""
        # Where it is closed, print would take standard output, whose first line programs read as "it serves at".
        if sys.stderr is not None:
            print(_row(level, text) if self._json else f"gcom-registry: {text}", file=sys.stderr, flush=True)

    def _log(self, message: Message) -> None:
        record = message.record
        if not self._json:
            return self.tell(str(message).rstrip("\n"))
        # loguru puts the traceback behind the message; as a field of its own it stays one line of JSON.
        traceback = str(message)[len(record["message"]) :].strip()
        print(_row(record["level"].name, record["message"], traceback), file=sys.stderr, flush=True)
        return None


def _row(level: str, message: str, traceback: str = "") -> str:
    row = {"time": datetime.now(UTC).isoformat(timespec="milliseconds"), "level": level, "message": message}
    return json.dumps({**row, "traceback": traceback} if traceback else row, ensure_ascii=False)
