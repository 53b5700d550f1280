"""Standard input, line by line, as messages.

A line is sent as text if it is UTF-8, else as bytes; an empty one too. One over the limit is told by its number and
skipped, without being held in memory.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from gcom.values import limits

READ_BYTES = 64 * 1024


class LineReader:
    """Splits a file descriptor into lines. It reads directly: a buffered reader's lock would hold up the exit."""

    def __init__(self, descriptor: int, refuse: Callable[[int, int], None]) -> None:
        self._descriptor = descriptor
        self._refuse = refuse  # told the line's number and its size in bytes
        self._number = 0
        self._rest = b""
        self._skipped = 0  # bytes of a line over the limit, so far

    def batches(self) -> Iterator[list[bytes | str]]:
        """Lines that came together, without their ends; the last line may have none. Raises OSError."""
        while data := os.read(self._descriptor, READ_BYTES):
            lines = (self._rest + data).split(b"\n")
            self._rest = lines.pop()
            if batch := self._messages(lines):
                yield batch
            if len(self._rest) > limits.MESSAGE_BYTES_MAX:
                self._skipped += len(self._rest)
                self._rest = b""
        if (self._rest or self._skipped) and (batch := self._messages([self._rest])):
            yield batch

    def _messages(self, lines: list[bytes]) -> list[bytes | str]:
        batch: list[bytes | str] = []
        for line in lines:
            self._number += 1
            size = len(line) + self._skipped
            self._skipped = 0
            if size > limits.MESSAGE_BYTES_MAX:
                self._refuse(self._number, size)
            else:
                batch.append(as_message(line))
        return batch


def as_message(line: bytes) -> bytes | str:
    """Text where the bytes are UTF-8, else the bytes."""
    try:
        return line.decode()
    except UnicodeDecodeError:
        return line
