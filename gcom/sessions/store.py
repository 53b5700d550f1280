"""`open`, and the store that it returns: a replicated state with sessions."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, Self, TypeVar, overload

import gcom
import gcom.replicated
from gcom.certificates.identity_files import CertificateFiles
from gcom.errors import BadValue
from gcom.replicated import ReplicatedState
from gcom.replicated.machine import Machine, MachineKind
from gcom.runtime.user_process.entry import uninterrupted
from gcom.sessions.errors import BadToken
from gcom.sessions.opening import SessionOpening
from gcom.sessions.recorded import RecordedReplica
from gcom.sessions.remote import SCHEME, RemoteSessionStore, connect
from gcom.sessions.serving import SessionService
from gcom.sessions.table import SessionRecords
from gcom.sessions.tokens import SessionToken

M = TypeVar("M", bound=Machine)
PATIENCE_S = 1.0


class SessionStore(SessionOpening[M]):
    """A replicated state whose users see their own writes, wherever they read. Any thread may use it."""

    _replica: RecordedReplica

    def __init__(self, kind: MachineKind, table: SessionRecords, timeout_s: float) -> None:
        super().__init__(kind, RecordedReplica(table), timeout_s)
        self._table = table
        self._service: SessionService | None = None
        self._replica.identity(timeout_s)

    @property
    def replicas(self) -> ReplicatedState:
        """The replicated state: its group, its members, its index."""
        found: ReplicatedState = self._table.replicas
        return found

    @property
    def sessions(self) -> int:
        """How many sessions are open, as this replica knows."""
        return self._table.size()

    def written(self, token: str) -> int:
        """Return how many writes of a token's session this replica has; raises BadToken, SessionUnknown."""
        found = self._known(token)
        return self._table.progress(found.session, found.secret)

    def retire(self, before: int) -> int:
        """Close the sessions that have not written since an index of `replicas.index`; return how many."""
        return self._table.retire(before)

    @uninterrupted()
    def close(self) -> None:
        """Leave the group; sessions go on at other replicas by their tokens. May be called again."""
        if self._service is not None:
            self._service.close()
        self._replica.close()
        self._table.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def serve(self, node: gcom.Node) -> None:
        """Answer remote sessions over a node's server; `open` does that."""
        self._service = SessionService(node, self._kind, self._table, self._replica)

    def _known(self, text: str) -> SessionToken:
        token = SessionToken.decode(text)
        if token.store != self._replica.identity(self._timeout_s):
            raise BadToken(
                f"the token is of another store than {self.replicas.group.name!r}, or of a state of it that was lost: "
                "open a new session"
            )
        return token


@overload
def open(
    node: gcom.Node, name: str, machine: type[M] | Callable[[], M], *, timeout_s: float = 10.0, **options: Any
) -> SessionStore[M]: ...


@overload
def open(
    node: str,
    name: str,
    machine: type[M] | Callable[[], M],
    *,
    timeout_s: float = 10.0,
    patience_s: float = PATIENCE_S,
    certificates: CertificateFiles | None = None,
) -> RemoteSessionStore[M]: ...


@uninterrupted(closes=True)
def open(
    node: gcom.Node | str, name: str, machine: type[M] | Callable[[], M], *, timeout_s: float = 10.0, **options: Any
) -> SessionStore[M] | RemoteSessionStore[M]:
    """Enter the replicated state of that name, and return it as a store with sessions.

        with gcom.connect("alice") as node, gcom.sessions.open(node, "bank", Bank) as store:
            with store.session() as s:
                s.state.deposit("ann", 100)

    All members must open it so. Arguments and errors as `gcom.replicated.open` has them.

    With `gcom://HOST:PORT`, a registry, in place of a node this process is no member. It asks whichever replica the
    registry lists, and another one after `patience_s` seconds. Raises UnknownGroup and RegistryUnavailable, too.
    """
    kind = MachineKind.of(machine)
    if isinstance(node, str):
        if not node.startswith(SCHEME):
            raise BadValue(f"a store is opened with a node, or with {SCHEME}HOST:PORT; got {node!r:.80}")
        return connect(node, name, kind, timeout_s, **{"patience_s": PATIENCE_S, "certificates": None} | options)
    table = gcom.replicated.open(node, name, lambda: SessionRecords(kind), timeout_s=timeout_s, **options)
    with ExitStack() as undo:
        undo.callback(table.close)
        store: SessionStore[M] = SessionStore(kind, table, timeout_s)
        store.serve(node)
        undo.pop_all()
    return store
