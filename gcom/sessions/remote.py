"""Sessions of a process that is no member: it asks one replica, and another one where that is dead or slow.

A write goes to each with the same number, so it is applied once, whoever carries it out. A read carries the token, so
another replica answers only once it has what the session's guarantees demand.
"""

from __future__ import annotations

from contextlib import suppress
from os import getpid
from time import monotonic
from typing import Self, TypeVar

from gcom.certificates.identity_files import CertificateFiles
from gcom.errors import BadValue, Forked, GComError, GComTimeout, LocalError, Untrusted
from gcom.replicated import OutcomeUnknown
from gcom.replicated.machine import Machine, MachineKind
from gcom.runtime import pyro
from gcom.runtime.registry.directory_client import DirectoryClient
from gcom.runtime.security.process import credentials_for, registry_addresses
from gcom.runtime.user_process.entry import interruptible, uninterrupted
from gcom.runtime.user_process.uninterrupted import WholeEvent
from gcom.sessions.access import SessionAnswer
from gcom.sessions.choosing import ReplicaChoice, ReplicaSeat
from gcom.sessions.errors import SessionTimeout
from gcom.sessions.opening import SessionOpening
from gcom.sessions.requests import SessionRequest, answer_of
from gcom.sessions.serving import object_id
from gcom.sessions.tokens import SessionToken
from gcom.values.limits import FRAME_BYTES_MAX

M = TypeVar("M", bound=Machine)
SCHEME = "gcom://"
PAUSE_S = 0.1  # before all replicas are asked once more
REPLICA_SHARE = 0.8  # of a request's time is the replica's: so its own words arrive in time
REQUEST_BYTES_MAX = FRAME_BYTES_MAX - 1_024


class RemoteReplica:
    """Whichever replica answers. Any thread may use it."""

    def __init__(self, group: str, machine: str, directory: DirectoryClient, choice: ReplicaChoice, patience_s: float):
        self._group = group
        self._machine = machine
        self._directory = directory
        self._choice = choice
        self._patience_s = patience_s
        self._closed = WholeEvent()
        self._pid = getpid()

    def begin(self, secret: str, timeout_s: float) -> SessionAnswer:
        """Open a session: its number is the answer's index, and the store's identity its bytes."""
        return self._ask(SessionRequest("begin", self._machine, secret, timeout_s))

    def write(self, token: SessionToken, name: str, body: bytes, timeout_s: float) -> SessionAnswer:
        """Carry out the next write of a session, at any replica, once in all."""
        return self._ask(SessionRequest("write", self._machine, token.encode(), timeout_s, name, body))

    def read(self, token: SessionToken, name: str, body: bytes, timeout_s: float) -> SessionAnswer:
        """Answer a query at a replica that has what the session's guarantees demand."""
        return self._ask(SessionRequest("read", self._machine, token.encode(), timeout_s, name, body))

    def end(self, token: SessionToken, timeout_s: float) -> None:
        """Close a session."""
        self._ask(SessionRequest("end", self._machine, token.encode(), timeout_s))

    def close(self) -> None:
        """End the requests that wait, and all connections."""
        self._closed.set()
        self._choice.close()
        self._directory.close()

    @uninterrupted()
    def learn(self) -> None:
        """Ask the registry for the replicas; raises UnknownGroup, RegistryUnavailable."""
        entry = interruptible(self._directory.lookup, self._group)
        self._choice.learn(zip(entry.members, entry.addresses, strict=True))

    @uninterrupted()
    def _ask(self, request: SessionRequest) -> SessionAnswer:
        """Put a request to one replica after another, until one answers or the time is over."""
        if getpid() != self._pid:
            raise Forked("the connections of this store are the parent's: open it anew in the child")
        asking = _Asking(request, self._choice, monotonic() + request.timeout_s)
        patience_s = self._patience_s
        while True:
            for seat in self._choice.ordered():
                if asking.left_s <= 0 or self._closed.is_set():
                    break
                if (found := asking.try_at(seat, patience_s)) is not None:
                    return found
            if self._closed.is_set():
                raise LocalError("this store was closed")
            # All failed: they may be new ones by now, or only slower than this client was patient.
            if asking.left_s <= 0 or self._closed.wait(min(PAUSE_S, asking.left_s)):
                raise asking.failure(self._group)
            patience_s *= 2
            with suppress(GComError):  # the last list stays where no registry answers
                self.learn()


class _Asking:
    """A request on its way from replica to replica."""

    def __init__(self, request: SessionRequest, choice: ReplicaChoice, deadline: float) -> None:
        self._request = request
        self._choice = choice
        self._deadline = deadline
        self._maybe_done = False  # some replica may have carried it out, or may do so later
        self._last: GComError | None = None

    @property
    def left_s(self) -> float:
        """The seconds that are left."""
        return self._deadline - monotonic()

    def try_at(self, seat: ReplicaSeat, patience_s: float) -> SessionAnswer | None:
        """Return a replica's answer, or None where another one is to be asked; raises what no other one would mend."""
        limit_s, began = min(self.left_s, patience_s), monotonic()
        request = self._request
        sent = SessionRequest(
            request.ask, request.machine, request.token, limit_s * REPLICA_SHARE, request.name, request.body
        ).encode()
        if len(sent) > REQUEST_BYTES_MAX:
            raise BadValue(f"{request.name} has {len(sent):,} bytes; a remote one has {REQUEST_BYTES_MAX:,} at most")
        try:
            found = answer_of(self._choice.call(seat, sent, limit_s))
        except LocalError:
            raise  # every replica would say so
        except GComError as error:
            self._maybe_done |= isinstance(error, pyro.ConnectionLost | pyro.TimedOut | OutcomeUnknown)
            # A replica's word that it lacks a write says more than another's silence after it.
            if not (isinstance(self._last, SessionTimeout) and isinstance(error, pyro.TimedOut)):
                self._last = error
            self._choice.avoid(seat)
            return None
        if monotonic() - began > patience_s / 2:
            self._choice.avoid(seat)  # it answers, but others may be faster
        else:
            self._choice.prefer(seat)
        return found

    def failure(self, group: str) -> GComError:
        """Return the error of a request that no replica has answered in time."""
        last = self._last
        if self._maybe_done and self._request.ask == "write":
            return OutcomeUnknown(f"no replica of {group!r} has confirmed {self._request.name} in time: {last}")
        if isinstance(last, GComTimeout | Untrusted):  # a SessionTimeout names the missing write
            return last
        reason = last or "the registry lists none, or there was no time"
        return GComTimeout(f"no replica of {group!r} answered after {self._request.timeout_s:g} s: {reason}")


class RemoteSessionStore(SessionOpening[M]):
    """A replicated state of others, with sessions in it. Any thread may use it."""

    _replica: RemoteReplica

    def __init__(self, kind: MachineKind, replica: RemoteReplica, choice: ReplicaChoice, timeout_s: float) -> None:
        super().__init__(kind, replica, timeout_s)
        self._choice = choice

    @property
    def replica(self) -> str:
        """The name of the replica that is asked first now; empty: none is known."""
        return next((it.name for it in self._choice.ordered()), "")

    @uninterrupted()
    def close(self) -> None:
        """End the connections; sessions go on elsewhere by their tokens. May be called again."""
        self._replica.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def connect(
    url: str,
    group: str,
    kind: MachineKind,
    timeout_s: float,
    patience_s: float,
    certificates: CertificateFiles | None,
) -> RemoteSessionStore[M]:
    """Return the store of a replicated state whose members others are; `open` says more."""
    if not 0 < patience_s < float("inf"):
        raise BadValue(f"patience_s must be a number of seconds above 0; got {patience_s!r}")
    addresses = registry_addresses(url.removeprefix(SCHEME).rstrip("/") or None)
    credentials = credentials_for(addresses[0], files=certificates)
    directory = DirectoryClient(",".join(addresses), credentials=credentials)
    choice = ReplicaChoice(object_id(group), credentials)
    replica = RemoteReplica(group, kind.name, directory, choice, patience_s)
    done = False
    try:
        replica.learn()
        done = True
    finally:
        if not done:
            replica.close()
    return RemoteSessionStore(kind, replica, choice, timeout_s)
