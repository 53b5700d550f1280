"""The service of a replica for sessions of processes that are no members."""

from __future__ import annotations

import gcom
from gcom.errors import BadValue, GComError, MalformedFrame, MessageTooLarge
from gcom.replicated.machine import MachineKind
from gcom.runtime.api.services import NodeService
from gcom.sessions.access import LocalReplica, SessionAnswer
from gcom.sessions.requests import SessionRequest, encode_answer, encode_error
from gcom.sessions.table import SessionRecords
from gcom.sessions.tokens import SessionToken
from gcom.values.limits import FRAME_BYTES_MAX
from gcom.values.rights import Right

ANSWER_BYTES_MAX = FRAME_BYTES_MAX - 1_024
WAIT_S_MAX = 60.0  # of one request: it holds a connection, of which a node has some hundreds


def object_id(group: str) -> str:
    """Return the name by which a node serves the sessions of a group."""
    return f"gcom.sessions/{group}"


class SessionService:
    """Answers requests of remote sessions, each in a thread of its connection."""

    def __init__(self, node: gcom.Node, kind: MachineKind, table: SessionRecords, replica: LocalReplica) -> None:
        self._kind = kind
        self._replica = replica
        self._group: str = table.replicas.group.name
        self._service = NodeService.of(node, object_id(self._group), self._answer)

    def close(self) -> None:
        """Serve no more."""
        self._service.close()

    def _answer(self, data: bytes) -> bytes:
        request = SessionRequest.decode(data)
        try:
            found = encode_answer(self._carry_out(request))
            if len(found) > ANSWER_BYTES_MAX:
                text = f"the answer of {request.name} has {len(found):,} bytes; a remote one has {ANSWER_BYTES_MAX:,}"
                raise MessageTooLarge(f"{text} at most: ask for less")
        except GComError as error:
            return encode_error(error)
        return found

    def _carry_out(self, request: SessionRequest) -> SessionAnswer:
        self._service.raise_if_not_permitted(Right.JOIN if request.ask == "read" else Right.SEND, self._group)
        if request.machine != self._kind.name:
            raise BadValue(f"{self._group!r} has a {self._kind.name}, and not a {request.machine}")
        limit_s = min(request.timeout_s, WAIT_S_MAX)
        if request.ask == "begin":
            return self._replica.begin(request.token, limit_s)
        token = SessionToken.decode(request.token)
        if request.ask == "end":
            self._replica.end(token, limit_s)
            return SessionAnswer(b"", 0, self._replica.name)
        self._check(request)
        if request.ask == "read":
            return self._replica.read(token, request.name, request.body, limit_s)
        return self._replica.write(token, request.name, request.body, limit_s)

    def _check(self, request: SessionRequest) -> None:
        """Raise BadValue for what the machine does not take: here, before it is everybody's command."""
        methods = self._kind.queries if request.ask == "read" else self._kind.commands
        if request.name not in methods:
            kind = "query" if request.ask == "read" else "command"
            raise BadValue(f"the machine of {self._group!r} has no {kind} {request.name!r}: give all the same program")
        try:
            arguments, keywords = self._kind.codec.unpack(request.body)
            self._kind.check(request.name, tuple(arguments), dict(keywords))
        except (TypeError, ValueError, MalformedFrame) as error:
            raise BadValue(f"{request.name} does not take these arguments: {error}") from error
