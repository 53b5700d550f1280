"""The certificate of a running node: another one that is put in its place on the disk is taken up, without a restart.

A member whose certificate was revoked, has expired, or is of an authority that its registry left, is refused by all. It
says so once, and what to do: its operator gets an invitation and accepts it (`gcom accept`), which replaces the files.
"""

from __future__ import annotations

from collections.abc import Callable
from os import stat_result
from pathlib import Path
from threading import Lock

from loguru import logger

from gcom.errors import GComError, Untrusted
from gcom.runtime import pyro
from gcom.values.names import Address

_Stamps = tuple[tuple[int, int, int] | None, ...]


class CertificateWatch:
    """The files of one node, whose member has this name. Any thread may call.

    `take_up` is called when they were replaced, behind the credentials.
    """

    def __init__(self, credentials: pyro.Credentials, name: str, take_up: Callable[[], None]) -> None:
        self._credentials, self._name, self._take_up = credentials, name, take_up
        self._lock = Lock()
        self._in_use = self._found = self._stamps()
        self._refused = False  # and said so

    def look(self) -> bool:
        """Take up files that were replaced since the last looks; return whether there were some."""
        with self._lock:
            before, self._found = self._found, self._stamps()
            # Twice the same: until then they are being replaced, one after the other.
            if self._found == self._in_use or self._found != before or None in self._found:
                return False
            self._in_use = self._found
            try:
                self._reload()
            except GComError as error:
                logger.warning("{} is not taken up: {}", self._credentials.files.cert, error)
                return False
        logger.warning("took up {}, valid until {:%F %H:%M} UTC", self._credentials.files.cert, self._credentials.ends)
        return True

    def _reload(self) -> None:
        """Use the files from now on; raises BadValue, and then those of before stay in use."""
        found = pyro.Credentials(self._credentials.files)
        if self._name not in found.identity.members:
            raise Untrusted(f"it is of {found.identity}, and not of member/{self._name}")
        self._credentials.reload()
        self._take_up()
        self._refused = False

    def renewed(self) -> None:
        """Use files that this process itself has replaced just now; raises BadValue."""
        with self._lock:
            self._credentials.reload()
            self._take_up()
            self._in_use = self._found = self._stamps()

    def on_refusal(self, registry: Address, error: Untrusted) -> None:
        """Say once that the registry does not believe this node's certificate, and what to do."""
        with self._lock:
            if self._refused:
                return
            self._refused = True
        cert = self._credentials.files.cert
        logger.warning(
            "registry {} refuses the certificate {}: {}. Get another one (there: gcom-registry invite {}; here: gcom "
            "accept): this member takes it up by itself, and needs no restart",
            registry, cert, error, self._name,
        )  # fmt: skip

    def on_answer(self) -> None:
        """Have it said again where a registry refuses the certificate later."""
        self._refused = False

    def _stamps(self) -> _Stamps:
        files = self._credentials.files
        return tuple(_stamp(Path(path)) for path in (files.cert, files.key, files.ca))


def _stamp(path: Path) -> tuple[int, int, int] | None:
    """Return what changes when a file is written or replaced; None where it is not there."""
    try:
        found: stat_result = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
