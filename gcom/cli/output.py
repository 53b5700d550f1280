"""Standard output carries data and nothing else; standard error carries words for people.

Output goes to the file descriptor in large writes: a delivery costs a list slot, and whoever calls `flush` when there
is nothing more to print decides how late a line may be.
"""

from __future__ import annotations

import errno
import json
import os
import select
import sys
from collections.abc import Mapping

from gcom.cli.signals import SIGNALLED

BUFFER_BYTES = 64 * 1024  # a pipe's usual size: a larger write would be cut up there
POLL_MS = 100  # how late a closed output is noticed while nothing is printed
PATIENCE = 10  # polls after a signal; then the rest is dropped, unread

# Control characters, and those that turn the direction of writing; a line break is up to the caller.
_CONTROLS = [*range(32), *range(127, 160), 0x061C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A)]
# Tab and line break stay. What turns the direction of writing could show a name backwards, so that
# it passes for another.
_STRIP = dict.fromkeys(code for code in _CONTROLS if code not in (9, 10))


class OutputClosed(Exception):
    """A standard output whose reader is gone: there is nobody to tell, and nothing more to do."""


class Output:
    """The lines for a descriptor. Raises OutputClosed when its reader is gone, OSError for any other failure."""

    def __init__(self, descriptor: int = 1) -> None:
        self.descriptor = descriptor
        self.terminal = os.isatty(descriptor)
        self._lines: list[bytes] = []
        self._size = 0

    def line(self, line: bytes) -> None:
        """Add one line, given without its end."""
        self._lines.append(line)
        self._size += len(line)
        # Not line by line: a system call for each would cost more than all that makes the line.
        if self._size >= BUFFER_BYTES:
            self.flush()

    def text(self, text: str) -> None:
        # Halves of surrogates, which names of files may hold, cannot be written as UTF-8; question marks in their
        # place can.
        self.line(text.encode("utf-8", "replace"))

    def row(self, row: Mapping[str, object]) -> None:
        """Add one JSON object."""
        self.text(json.dumps(row, ensure_ascii=False, separators=(",", ":")))

    def flush(self) -> None:
        """Write all lines; those that could not be written are dropped."""
        if self._lines:
            data = b"\n".join([*self._lines, b""])
            # Before writing: if the reader is gone, a later flush must not write the same lines again.
            self.discard()
            self._write(memoryview(data))

    def discard(self) -> None:
        """Drop the lines that are not written yet."""
        self._lines.clear()
        self._size = 0

    def _write(self, rest: memoryview) -> None:
        """Write in pieces that cannot block: a reader that has stopped reading must not hold up the end."""
        patience = PATIENCE
        ready = select.poll()  # `select` refuses descriptors from 1,024 on
        # A reader that is gone wakes it as well (POLLERR), and the write then says EPIPE.
        ready.register(self.descriptor, select.POLLOUT)
        try:
            while rest:
                # 1. poll says that PIPE_BUF bytes fit. 2. A write of no more than these cannot block. 3. So a signal
                #    is seen within POLL_MS, also where the reader has stopped reading (`gcom join | less`).
                if ready.poll(POLL_MS):
                    rest = rest[self._write_some(rest[: select.PIPE_BUF]) :]
                elif SIGNALLED.caught is not None:
                    patience -= 1
                    if not patience:
                        raise OutputClosed
        except OSError as error:
            if error.errno in (errno.EPIPE, errno.EBADF):
                raise OutputClosed from error
            raise

    def _write_some(self, data: memoryview) -> int:
        try:
            return os.write(self.descriptor, data)
        except BlockingIOError:  # another process shares the descriptor, made it non-blocking, and was faster
            return 0


def harmless(text: str) -> str:
    """Return foreign text without the characters that could play tricks on a terminal."""
    return text.translate(_STRIP)


def notice(text: str) -> None:
    """Print one line on standard error, or nothing where that is closed."""
    try:
        sys.stderr.write(f"gcom: {harmless(text)}\n")
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):  # full, closed since, closed from the start
        pass


def open_standard_descriptors() -> None:
    """Put the null device where a standard descriptor is closed, lest a socket takes its number and gets our lines."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number: this one


def log_to_stderr() -> None:
    """Print the log of the library, which is silent by itself, on standard error."""
    from loguru import logger

    # loguru writes to standard error in a form of its own; here a warning is one line like all others.
    logger.remove()
    logger.add(
        lambda message: notice(str(message).strip()),
        level="INFO",
        filter=lambda record: record["level"].no >= logger.level("WARNING").no or "progress" in record["extra"],
        format="{message}",
        diagnose=False,
    )
    logger.enable("gcom")
