"""The client of a registry's directory.

A request may be asked again when the connection breaks: the directory answers the repetition of each as it answered
the first time (gcom/core/directory/table.py), except that a `Remove` carried out twice finds no group.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from threading import Event
from time import monotonic

from gcom import errors
from gcom.core.codec.registry import decode_answer, encode_request
from gcom.core.messages.registry import (
    Answer,
    Create,
    Entries,
    Fork,
    GroupInfo,
    ListGroups,
    Lookup,
    Refusal,
    Remove,
    Request,
)
from gcom.runtime import pyro
from gcom.runtime.security.process import Security, credentials_for
from gcom.values import names
from gcom.values.definition import Definition
from gcom.values.names import Address

STARTING_S, STARTING_POLL_S = 15.0, 0.25  # how long a registry that starts is waited for, and how often it is asked
_IDLE_MAX = 2  # connections kept between requests


class DirectoryClient:
    """A client of the registry at `address`; any thread may ask, none waits for another.

    Every method raises RegistryUnavailable within `timeout_s` seconds if there is no registry, and VersionMismatch if
    it speaks another protocol version.
    """

    def __init__(
        self,
        address: Address,
        timeout_s: float = 2.5,
        put: Callable[[pyro.Caller, bytes, float], bytes] = pyro.Caller.call,
        credentials: Security | None = None,
    ) -> None:
        """Have calls made by `put`, in place of `Caller.call`, and with credentials, else as this user may.

        Raises BadValue for an address off loopback where this user has no identity.
        """
        self.address = names.address(address)
        self._credentials = credentials or credentials_for(self.address)
        self._put = put
        self._timeout_s = timeout_s
        self._idle: list[pyro.Caller] = []  # append and pop are atomic
        self._closed = Event()

    def ask(self, request: Request) -> Answer:
        """Return the directory's answer; a refusal is an answer."""
        deadline = monotonic() + self._timeout_s
        try:
            data = self._call(encode_request(request), deadline)
            answer = decode_answer(data)
        except pyro.ConnectionRefused as error:
            raise errors.RegistryUnavailable(f"no registry at {self.address}: {self._how_to_start()}") from error
        except (pyro.ConnectionLost, pyro.TimedOut) as error:
            raise errors.RegistryUnavailable(
                f"no answer from the registry: {error}; if it does not run, {self._how_to_start()}"
            ) from error
        except errors.VersionMismatch as error:
            raise errors.VersionMismatch(f"registry {self.address}: {error}") from error
        except errors.Untrusted as error:
            raise errors.Untrusted(f"registry {error}") from error
        except errors.PeerError as error:
            raise errors.RegistryUnavailable(f"what answers at {self.address} is no gcom-registry: {error}") from error
        if isinstance(answer, Refusal) and answer.code == "VersionMismatch":
            raise errors.VersionMismatch(f"registry {self.address}: {answer.text}")
        return answer

    def groups(self) -> tuple[GroupInfo, ...]:
        """Return all groups, sorted by name."""
        found: list[GroupInfo] = []
        more = True
        while more:
            page = _accepted(self.ask(ListGroups(found[-1].definition.group if found else "")))
            # A page with nothing on it that promises more would be asked for again without end.
            if not isinstance(page, Entries) or (page.more and not page.groups):
                raise errors.PeerError(f"registry {self.address} answered a list with {type(page).__name__}")
            found += page.groups
            more = page.more
        return tuple(found)

    def lookup(self, group: str) -> GroupInfo:
        """Return a group; raises UnknownGroup."""
        return self._entry(Lookup(names.group_name(group)))

    def create(self, definition: Definition) -> GroupInfo:
        """Make a group, or return the equal one that is there; raises GroupExists if its definition is another."""
        return self._entry(Create(definition))

    def remove(self, group: str) -> None:
        """Remove an empty group; raises UnknownGroup, GroupInUse."""
        _accepted(self.ask(Remove(names.group_name(group))))

    def fork(self, entry: GroupInfo) -> None:
        """Let what is left of the entry's group begin a successor without proof; raises UnknownGroup, Unavailable."""
        _accepted(self.ask(Fork(entry.definition.group, entry.instance)))

    def starting(self) -> bool:
        """Tell whether the registry gives no name away yet, since groups that have one may still register."""
        answer = self.ask(Lookup(f"none-{secrets.token_hex(8)}"))  # of a name that it does not know it says so
        return isinstance(answer, Refusal) and answer.code == "RegistryStarting"

    def close(self) -> None:
        """Drop the connections; requests in progress go on."""
        self._closed.set()
        while self._idle:
            self._idle.pop().close()

    def __repr__(self) -> str:
        return f"<gcom.Directory at {self.address}>"

    def _entry(self, request: Request) -> GroupInfo:
        answer = _accepted(self._ask_patiently(request))
        if not isinstance(answer, GroupInfo):
            raise errors.PeerError(f"registry {self.address} answered a {type(request).__name__} with {answer!r:.80}")
        return answer

    def _ask_patiently(self, request: Request) -> Answer:
        """Ask, and wait for a registry that starts: it gives no name away for some seconds."""
        deadline = monotonic() + STARTING_S
        while True:
            answer = self.ask(request)
            starting = isinstance(answer, Refusal) and answer.code == "RegistryStarting"
            if not starting or monotonic() >= deadline or self._closed.wait(STARTING_POLL_S):
                return answer

    def _call(self, data: bytes, deadline: float) -> bytes:
        try:
            caller = self._idle.pop()
        except IndexError:
            caller = pyro.Caller(self.address, pyro.DIRECTORY, self._credentials)
        try:
            answer = self._call_by(caller, data, deadline)
        except errors.GComError:
            caller.close()  # as it is after a failure of its own, but not after one that was put in on purpose
            raise
        self._keep(caller)
        return answer

    def _call_by(self, caller: pyro.Caller, data: bytes, deadline: float) -> bytes:
        kept = caller.connected
        try:
            # Never 0: to a socket that means not to wait at all, not even for an answer that is there.
            return self._put(caller, data, max(0.001, deadline - monotonic()))
        except (pyro.ConnectionLost, pyro.ConnectionRefused):
            if not kept:
                raise
            # The connection was kept from an earlier request, and the registry was restarted since.
            return self._put(caller, data, max(0.001, deadline - monotonic()))

    def _keep(self, caller: pyro.Caller) -> None:
        if self._closed.is_set() or len(self._idle) >= _IDLE_MAX:
            caller.close()
        else:
            self._idle.append(caller)

    def _how_to_start(self) -> str:
        host, port = names.split_address(self.address)
        where = "" if host in ("127.0.0.1", "localhost", "::1") else " on that machine"
        return f"start one{where} with: gcom-registry --port {port}"


def _accepted(answer: Answer) -> Answer:
    """Raise what a refusal says, as the exception of that name."""
    if not isinstance(answer, Refusal):
        return answer
    # The code comes from the network, so only the name of an error of GCom's becomes an exception.
    kind = getattr(errors, answer.code, None)
    if not (isinstance(kind, type) and issubclass(kind, errors.GComError)):
        raise errors.PeerError(f"the registry refused ({answer.code}): {answer.text}")
    raise kind(answer.text)
