"""The replica of this process with records of what sessions read and wrote, for the audit (docs/DELIVERY_LOG.md)."""

from __future__ import annotations

import json
from collections import OrderedDict
from threading import Lock

from gcom.sessions.access import LocalReplica, SessionAnswer
from gcom.sessions.table import SessionRecords
from gcom.sessions.tokens import SessionToken

SESSIONS_MAX = 4_096  # of which the last read is known: the same once more is not recorded again


class RecordedReplica(LocalReplica):
    """Records reads and writes where the state has a delivery log."""

    def __init__(self, table: SessionRecords) -> None:
        super().__init__(table)
        self._records = table.replicas.records
        self._last: OrderedDict[int, tuple[int, int, int]] = OrderedDict()
        self._remembering = Lock()

    def write(self, token: SessionToken, name: str, body: bytes, timeout_s: float) -> SessionAnswer:
        """Carry out a write, and record its index."""
        found, repeated = self.write_once(token, name, body, timeout_s)
        if self._records.enabled:
            # The session may have read what came after the first attempt: that is no older than the write.
            seen = 0 if repeated else token.read_index
            self._note("write", token, f'"number":{token.written + 1},"seen":{seen},"index":{found.version}')
        return found

    def read(self, token: SessionToken, name: str, body: bytes, timeout_s: float) -> SessionAnswer:
        """Answer a query, and record the index of the state that was read."""
        found = super().read(token, name, body, timeout_s)
        if self._records.enabled and self._is_news(token, found.version):
            self._note("read", token, f'"written":{token.written},"seen":{token.read_index},"index":{found.version}')
        return found

    def _is_news(self, token: SessionToken, index: int) -> bool:
        """Tell whether the session's last read here was another one."""
        now = token.written, token.read_index, index
        with self._remembering:
            known = self._last.pop(token.session, None)
            self._last[token.session] = now
            if len(self._last) > SESSIONS_MAX:
                self._last.popitem(last=False)
        return known != now

    def _note(self, kind: str, token: SessionToken, fields: str) -> None:
        guarantees = json.dumps(token.guarantees, separators=(",", ":"))
        self._records.note(kind, f'"session":{token.session},{fields},"guarantees":{guarantees}')
