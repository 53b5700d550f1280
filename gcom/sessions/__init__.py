"""Session guarantees on a replicated state: a user sees what he wrote and read, at any replica (docs/sessions.md).

with gcom.connect("alice") as node, gcom.sessions.open(node, "bank", Bank) as store:
    with store.session(guarantees={"RYW", "MR", "MW", "WFR"}) as s:
        s.state.deposit("ann", 100)
        token = s.token            # another process goes on: store.session(token=token)
"""

from __future__ import annotations

from gcom.sessions.errors import BadToken, SessionForked, SessionTimeout, SessionUnknown, WriteMissing
from gcom.sessions.remote import RemoteSessionStore
from gcom.sessions.session import ClientSession
from gcom.sessions.store import SessionStore, open
from gcom.sessions.tokens import GUARANTEES, SessionToken

__all__ = [
    "GUARANTEES",
    "BadToken",
    "ClientSession",
    "RemoteSessionStore",
    "SessionForked",
    "SessionStore",
    "SessionTimeout",
    "SessionToken",
    "SessionUnknown",
    "WriteMissing",
    "open",
]
