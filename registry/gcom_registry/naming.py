"""The Pyro5 name server, made safe to leave running.

Pyro5's own lets any caller overwrite or remove any name, grows without bound, and runs the caller's regular
expressions, of which one well chosen stops the process. Here the names of the system are its own, everything has a
bound, and expressions are refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from Pyro5 import core
from Pyro5.errors import NamingError
from Pyro5.nameserver import NameServer
from Pyro5.server import expose

from gcom.values.names import Address

NAME_SERVER = core.NAMESERVER_NAME  # the object id that Pyro5's locate_ns looks for
# Names under which stock programs find this registry's own objects: who could change one would get their calls.
PROTECTED = ("gcom.", "Pyro.")
ENTRIES_MAX = 1000  # so that a list of all fits one answer
NAME_CHARS_MAX = 200  # with the bound on URIs: a list of all names fits one answer
URI_CHARS_MAX = 500
TAGS_MAX = 8  # more than any program of Pyro5's own examples has
TAG_CHARS_MAX = 100


@expose
class SafeNameServer(NameServer):  # type: ignore[misc]
    """Pyro5's name server object; inherited methods stay exposed."""

    def register(self, name: object, uri: object, safe: bool = False, metadata: object = None) -> None:
        _check_name(name)
        if not isinstance(uri, str) or len(uri) > URI_CHARS_MAX:
            raise NamingError(f"a URI is at most {URI_CHARS_MAX} characters")
        tags = _tags(metadata)
        # Around the count and the registration: two callers at the bound must not both find room.
        with self.lock:
            # Registering again under a known name takes no room.
            if name not in self.storage and len(self.storage) >= ENTRIES_MAX:
                raise NamingError(f"this name server holds its {ENTRIES_MAX} names: remove some")
            # Within the lock, which Pyro5 takes again: it is an RLock.
            super().register(name, uri, safe, tags)

    def set_metadata(self, name: object, metadata: object) -> None:
        _check_name(name)
        super().set_metadata(name, _tags(metadata))

    def remove(self, name: str | None = None, prefix: str | None = None, regex: str | None = None) -> int:
        _no_regex(regex)
        if name:
            _check_name(name)
            # By name alone: Pyro5 looks at a prefix only where no name is given.
            return int(super().remove(name=name))
        with self.lock:
            # Without a prefix this is the list of all names, of which nothing is removed.
            doomed = [found for found in super().list(prefix=prefix) if not found.startswith(PROTECTED)]
            self.storage.remove_items(doomed if prefix else ())
        return len(doomed) if prefix else 0

    def list(
        self, prefix: str | None = None, regex: str | None = None, return_metadata: bool = False
    ) -> dict[str, Any]:
        _no_regex(regex)
        found: dict[str, Any] = super().list(prefix=prefix, return_metadata=return_metadata)
        return found


def list_system(server: SafeNameServer, ids: Iterable[str], address: Address) -> None:
    """List objects that the registry serves at `address`, under names that no caller can change."""
    for name in ids:
        # Past `register`, which refuses the names of the system to everybody.
        server.storage[name] = f"PYRO:{name}@{address}", set()


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not 0 < len(name) <= NAME_CHARS_MAX:
        raise NamingError(f"a name is 1 to {NAME_CHARS_MAX} characters")
    if name.startswith(PROTECTED):
        raise NamingError(f"names that begin with {' or '.join(PROTECTED)} belong to the registry: choose another")


def _no_regex(regex: object) -> None:
    if regex:
        raise NamingError("regular expressions are not served: use a prefix")


def _tags(metadata: object) -> list[str]:
    # With bounds on everything: what callers register stays in memory as long as this process lives.
    tags = metadata or []
    if (
        not isinstance(tags, list)
        or len(tags) > TAGS_MAX
        or not all(isinstance(tag, str) and len(tag) <= TAG_CHARS_MAX for tag in tags)
    ):
        raise NamingError(f"metadata are at most {TAGS_MAX} strings of at most {TAG_CHARS_MAX} characters")
    return tags
