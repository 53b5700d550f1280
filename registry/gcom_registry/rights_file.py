"""The file of the rules about rights (`rights.toml`), read when the registry starts, and anew when it is told to.

A file that is wrong, or gone, changes nothing: the rules that are in force stay so, and the registry says why.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from gcom.certificates import private_files
from gcom.errors import BadValue, GComError
from gcom.values.rights import AccessRule, RightsTable, table_of

FILE = "rights.toml"
BYTES_MAX = 256 * 1024  # each member is told all rules, in one answer
_FIRST = "[[rule]]"
_HEAD = """\
# Who may do what in which group. The first rule that is about a right, a member and a group decides; where none is,
# holders of a certificate may create, join and send, and only creators and administrators remove.
# Rights: create, join, send, remove, admin. After a change: gcom-registry rights --reread, or SIGHUP.
"""


class RightsFile:
    """The rules in force, and the file that they are from. Without a path there is no file, and all is as by default.

    Raises BadValue for a file that is wrong, or is not there though it is `wanted`.
    """

    def __init__(self, path: Path | None, *, wanted: bool = False) -> None:
        self.path = path
        self.table = RightsTable() if path is None or not (wanted or path.exists()) else read(path)
        self.trouble = ""  # why the file is not in force
        self.on_change: Callable[[list[str]], None] = lambda rules: None
        self.digest = _digest(self.table)
        # A file that was there and is gone is a mistake, most likely; one that never was means the defaults.
        self._was_there = path is not None and path.exists()

    def reread(self) -> str:
        """Read the file anew; return what is wrong with it, in which case nothing changes, or an empty text."""
        self.trouble = ""
        if self.path is None or not (self._was_there or self.path.exists()):
            return ""
        try:
            # Whole or not at all: `read` raises before anything of the old rules is replaced.
            self.table, before = read(self.path), self.digest
            self.digest = _digest(self.table)
            self._was_there = True
            if self.digest != before:
                self.on_change([str(rule) for rule in self.table.rules])
        except GComError as error:
            self.trouble = f"{error}; the rules that were in force before stay so"
        return self.trouble


def read(path: Path) -> RightsTable:
    """Return the rules in a file; raises BadValue, saying what is wrong and where."""
    return _parsed(private_files.read(path), path)


def _digest(table: RightsTable) -> str:
    """Return a short text that is another for other rules."""
    return hashlib.sha256(json.dumps(table.as_rows()).encode()).hexdigest()


def _parsed(data: bytes, path: Path) -> RightsTable:
    if len(data) > BYTES_MAX:
        raise BadValue(f"rights file {str(path)!r} has {len(data)} bytes: at most {BYTES_MAX}; patterns have *")
    try:
        found = tomllib.loads(data.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadValue(f"rights file {str(path)!r} is not TOML: {error}") from error
    unknown = next((key for key in found if key != "rule"), None)
    if unknown is not None:
        raise BadValue(f"rights file {str(path)!r} has an unknown key {unknown!r}: it has [[rule]] tables alone")
    try:
        return table_of(found.get("rule", []))
    except BadValue as error:
        raise BadValue(f"rights file {str(path)!r}: {error}") from error


def put_first(path: Path, rule: AccessRule) -> None:
    """Write a rule before all others, which stay as they are written; raises BadValue, and then nothing is changed."""
    private_files.make_folder(path.parent)
    with _locked(path):
        before = private_files.read(path).decode() if path.exists() else _HEAD
        # What is wrong already is told as the file's fault, and not as that of the new rule.
        if path.exists():
            _parsed(before.encode(), path)
        # In front of the first rule and behind what precedes it, so that the file's own remarks stay at its top.
        head, found, rest = before.partition(f"\n{_FIRST}")
        if before.startswith(_FIRST):
            head, found, rest = "", _FIRST, before.removeprefix(_FIRST)
        after = f"{head.rstrip()}\n\n{_text(rule)}\n{found.lstrip()}{rest}".lstrip()
        written = _parsed(after.encode(), path)
        # The file is another's work, too: what was there must still be there, in its order.
        if written.rules != (rule, *(_parsed(before.encode(), path).rules)):
            raise BadValue(f"rights file {str(path)!r} is written in a way that cannot be added to: edit it by hand")
        private_files.write(path, after.encode())


def _text(rule: AccessRule) -> str:
    # What JSON writes of texts and lists of them is TOML as well.
    lines = [f"{key} = {json.dumps(value)}" for key, value in rule.as_row().items()]
    return "\n".join([_FIRST, *lines, ""])


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Keep others that would write the file out: of two commands at once none undoes the other's."""
    # A file of its own, and never removed. Else: 1. A command locks rights.toml, and replaces it by a rename. 2. One
    #    that waited gets the lock of the old file, and one that comes now that of the new file: both write.
    descriptor = os.open(path.with_name(f".{path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
