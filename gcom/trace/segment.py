"""A file of a delivery log: a dot-file while it is written, then sealed (DELIVERY_LOG.md, Files).

When the disk refuses, the file is cut back to its last whole line: it never claims what did not happen, nor half of
what did.
"""

from __future__ import annotations

import os
import re
import zlib
from contextlib import suppress
from pathlib import Path

_UNSAFE = re.compile(rb"[^A-Za-z0-9.-]")


class Segment:
    """Segment `number` in `folder`. Lines wait until `write`. Methods that touch the disk raise OSError."""

    def __init__(self, folder: Path, number: int) -> None:
        self.number = number
        self.records = 0
        self.size = 0
        self._lines: list[str] = []
        self._written = 0
        self._crc = 0
        self._folder = folder
        self._name = f"{number:06}.jsonl"
        # O_EXCL: a file that is there belongs to another writer of the same incarnation, and must not be overwritten.
        self._file = os.open(folder / f".{self._name}", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)

    def append(self, line: str) -> None:
        """Add a line, given without its line break. It must be ASCII: its length counts as its size in bytes."""
        self._lines.append(line)
        self.records += 1
        self.size += len(line) + 1

    def write(self) -> None:
        """Write all lines that wait; on an OSError cut the file back to its last whole line, and raise."""
        if not self._lines:
            return
        data = "\n".join([*self._lines, ""]).encode("ascii")
        self._lines.clear()
        done = 0
        try:
            while done < len(data):
                # A full disk takes a part of it, and only the next call says so.
                done += os.write(self._file, data[done:])
        except OSError:
            self._cut_back(data[:done])
            raise
        self._written += len(data)
        # As it is written, so that sealing 64 MiB need not read them again.
        self._crc = zlib.crc32(data, self._crc)

    def seal(self, at: int, reason: str) -> None:
        """Write the `close` line and what waits before it, and name the file as complete."""
        self.write()
        fields = f'"type":"close","at":{at},"records":{self.records},"crc32":{self._crc},"reason":"{reason}"'
        self.append(f"{{{fields}}}")
        self.write()
        # Complete, on the disk, and named without the dot, in this order: a reader that ignores dot-files never sees
        # half a file. The folder is synced too, or the new name could be lost with a power cut.
        os.fsync(self._file)
        os.rename(self._folder / f".{self._name}", self._folder / self._name)
        _sync_folder(self._folder)
        self.abandon()

    def abandon(self) -> None:
        """Close the file as it is; a second time does nothing."""
        file, self._file = self._file, -1
        if file >= 0:
            with suppress(OSError):  # the disk has refused already
                os.close(file)

    def _cut_back(self, written: bytes) -> None:
        # What the disk took of the last write ends in the middle of a line: up to the last newline it is true.
        whole = written.rfind(b"\n") + 1
        with suppress(OSError):  # if even this fails, a half line stays, and readers drop it
            os.ftruncate(self._file, self._written + whole)


def folder_name(text: str) -> str:
    """Return `text` as the name of a folder: percent-encoded outside [A-Za-z0-9.-], never with a dot in front."""
    encoded = _UNSAFE.sub(lambda match: b"%%%02X" % match[0][0], text.encode()).decode()
    # With a dot in front readers would pass over the whole folder, as over segments that are still written.
    return "%2E" + encoded[1:] if encoded.startswith(".") else encoded


def _sync_folder(folder: Path) -> None:
    # A name is its folder's content, and on the disk only when the folder is.
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
