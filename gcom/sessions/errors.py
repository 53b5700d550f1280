"""The errors of sessions, below those of gcom/errors.py.

GComError
├── LocalError
│   ├── BadToken              no token, a damaged one, or one of another store
│   └── CommandRefused
│       ├── SessionUnknown    the session was closed, or never opened
│       ├── SessionForked     two go on with one token, or its state is behind
│       └── WriteMissing      an earlier write of the session has not come
└── GComTimeout
    └── SessionTimeout        what the session has seen has not reached this replica in time
"""

from __future__ import annotations

from gcom.errors import GComTimeout, LocalError
from gcom.replicated import Refused


class BadToken(LocalError):
    """A text that is no token of this store."""


class SessionUnknown(Refused):
    """A session that was closed, or that was never opened in this store."""


class SessionForked(Refused):
    """Another holder of a copied token has written in this session. Open a new session; one token has one holder."""


class WriteMissing(Refused):
    """A write was refused because an earlier one of its session has not come."""


class SessionTimeout(GComTimeout):
    """A replica has not applied in time what the session has written or read."""
