"""Standard input, line by line, as messages.

A line is sent as text if it is UTF-8, else as bytes; an empty one too. One over the limit is told by its number and
skipped, without being held in memory.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from gcom.values import limits

READ_BYTES = 64 * 1024  # as much as a pipe holds, so that one read takes all that is there


class LineReader:
    """The lines of a file descriptor. It is read directly: a buffered reader's lock would hold up the exit."""

    def __init__(self, descriptor: int, refuse: Callable[[int, int], None]) -> None:
        self._descriptor = descriptor
        self._refuse = refuse  # told the line's number and its size in bytes
        self._number = 0
        self._rest: list[bytes] = []  # of a line whose end has not come; joined once, since a line may be large
        self._size = 0  # of the rest
        self._skipped = 0  # bytes of a line over the limit, so far

    def batches(self) -> Iterator[list[bytes | str]]:
        """Yield lines that came together, without their ends; the last line may have none. Raises OSError."""
        # As much as is there, and no more: what was typed is sent at once, and a file's lines come many at a time.
        while data := os.read(self._descriptor, READ_BYTES):
            *lines, rest = data.split(b"\n")
            if lines and (batch := self._messages([self._end(lines[0]), *lines[1:]])):
                yield batch
            self._rest.append(rest)
            self._size += len(rest)
            if self._size > limits.MESSAGE_BYTES_MAX:
                # The line is over the limit already: its bytes are counted from here on, and not kept.
                self._skipped += self._size
                self._rest, self._size = [], 0
        if (self._size or self._skipped) and (batch := self._messages([self._end(b"")])):
            yield batch

    def _end(self, last: bytes) -> bytes:
        # Without the bytes that were skipped: `_messages` adds their number, so that a refusal names the whole size.
        line = b"".join([*self._rest, last])
        self._rest, self._size = [], 0
        return line

    def _messages(self, lines: list[bytes]) -> list[bytes | str]:
        batch: list[bytes | str] = []
        for line in lines:
            # Counted where a line is refused, too: users look for it by the number that an editor shows.
            self._number += 1
            size = len(line) + self._skipped
            self._skipped = 0
            if size > limits.MESSAGE_BYTES_MAX:
                self._refuse(self._number, size)
            else:
                batch.append(as_message(line))
        return batch


def as_message(line: bytes) -> bytes | str:
    """Return text where the bytes are UTF-8, else the bytes."""
    # By its bytes and not by the terminal's settings: what stands in a file is sent as what it is, on every machine.
    try:
        return line.decode()
    except UnicodeDecodeError:
        return line
